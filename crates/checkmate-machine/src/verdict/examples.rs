//! The task's own executable examples hold on the candidate.

use super::evidence::{Evidence, Opinion, Want};
use crate::effect::CheckKind;
use crate::probe::{self, Runnable};

pub(super) fn wants(evidence: &Evidence<'_>) -> Vec<Want> {
    let Some(Ok(example)) = example(evidence) else { return Vec::new() };
    if evidence.receipt(CheckKind::Example).is_some() {
        return Vec::new();
    }
    vec![Want {
        kind: CheckKind::Example,
        command: example.command,
        tree: evidence.candidate.tree.clone(),
        layers: vec![example.layer],
        vary: None,
        limit_s: Some(evidence.generous_s() + probe::LIMIT_S),
    }]
}

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let example = match example(evidence) {
        None => return Opinion::Absent("The task brings no executable examples.".into()),
        Some(Err(reason)) => {
            return Opinion::Blocked(format!(
                "The task's examples cannot be run. {reason} Correct the task file."
            ));
        }
        Some(Ok(example)) => example,
    };
    let Some(receipt) = evidence.receipt(CheckKind::Example) else {
        return Opinion::Pending("It needs a run of the task's examples.".into());
    };
    let path = evidence.task.examples.as_ref().map_or("", |examples| &examples.path);
    match probe::result(receipt, &example.proof, path) {
        probe::Ending::Passed => Opinion::Passed("The task's examples hold.".into()),
        probe::Ending::Failed(said) => Opinion::Blocked(format!(
            "The task's own examples do not hold: {said}. Make the goal's examples true."
        )),
        probe::Ending::Invalid(reason) => Opinion::Blocked(format!(
            "The task's examples say nothing: {reason}. Correct the task file, or take them out of it."
        )),
    }
}

fn example(evidence: &Evidence<'_>) -> Option<Result<Runnable, String>> {
    let examples = evidence.task.examples.as_ref()?;
    Some(probe::runnable(&examples.path, &examples.run, &examples.content, evidence.nonce))
}
