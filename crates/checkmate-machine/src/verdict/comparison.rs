//! Old and new code called with the same arguments: a refactor changes no result, a fix acts on more than the very
//! literals of its tests.

use super::GateName;
use super::evidence::{Evidence, Opinion, Want, listed};
use crate::command::CommandLine;
use crate::compared;
use crate::effect::CheckKind;
use crate::excerpt;
use crate::facts::Comparison;
use crate::spec::{Level, TaskKind};

/// The seconds that the calls may take.
const LIMIT_S: u64 = 40;

pub(super) fn wants(evidence: &Evidence<'_>) -> Vec<Want> {
    let Some(comparison) = asked(evidence) else { return Vec::new() };
    let command = CommandLine {
        argv: comparison.argv.clone(),
        env: Vec::new(),
        shell: false,
        text: comparison.argv.join(" "),
    };
    [(CheckKind::CompareBase, evidence.base), (CheckKind::Compare, &evidence.candidate.tree)]
        .into_iter()
        .filter(|(kind, _)| evidence.receipt(*kind).is_none())
        .map(|(kind, tree)| Want {
            kind,
            command: command.clone(),
            tree: tree.clone(),
            layers: comparison.layers.clone(),
            vary: None,
            limit_s: Some(LIMIT_S),
        })
        .collect()
}

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let Some(comparison) = asked(evidence) else {
        return Opinion::Absent("No changed function can be called by itself.".into());
    };
    let (Some(base), Some(candidate)) =
        (evidence.receipt(CheckKind::CompareBase), evidence.receipt(CheckKind::Compare))
    else {
        return Opinion::Pending(
            "It needs calls of the changed functions on the old and the new code.".into(),
        );
    };
    let told = compared::results(comparison, &base.stdout.text)
        .len()
        .min(compared::results(comparison, &candidate.stdout.text).len());
    if told == 0 {
        return Opinion::Absent("No call of a changed function gave a result on both sides.".into());
    }
    if keeps_behaviour(evidence) {
        let differences = compared::differences(comparison, base, candidate);
        let shown: Vec<String> = differences
            .iter()
            .take(3)
            .filter_map(|difference| {
                let call = comparison.calls.get(difference.call as usize)?;
                Some(format!(
                    "`{}` gave {} and gives {}",
                    excerpt::line(&call.text, 120),
                    excerpt::line(&difference.before, 120),
                    excerpt::line(&difference.after, 120)
                ))
            })
            .collect();
        if shown.is_empty() {
            return Opinion::Passed(format!("{told} calls give the same on the old and the new code."));
        }
        let message = format!(
            "The task is to keep the behaviour, but {} of {told} calls differ: {}.",
            differences.len(),
            shown.join("; ")
        );
        if evidence.kind.told || evidence.kind.is(&[TaskKind::Refactor]) {
            return Opinion::Blocked(message);
        }
        return Opinion::Objected(vec![evidence.objection(GateName::Comparison, "differs", message)]);
    }
    let narrow: Vec<&str> = compared::calls_only_at_literals(comparison, base, candidate)
        .into_iter()
        .filter_map(|call| comparison.calls.get(call as usize))
        .map(|call| call.text.as_str())
        .filter(|call| !is_meant(&evidence.task.goal, call))
        .collect();
    if narrow.is_empty() {
        return Opinion::Passed(format!(
            "{told} calls compared; the change acts on more than its tests' values."
        ));
    }
    let text = format!(
        "The change acts on the very values of a test and on nothing like them: {} differs from before, but calls with \
         other values of the same shape do not. Implement the rule instead of its examples, or say why only these values \
         are meant.",
        listed(narrow.iter().copied())
    );
    Opinion::Objected(vec![evidence.objection(GateName::Comparison, &narrow.join(" "), text)])
}

/// Tells whether the goal itself is about the values of a call: it states all of them, and says nothing of others like
/// them.
fn is_meant(goal: &str, call: &str) -> bool {
    const GENERAL: [&str; 16] = [
        "any", "all", "every", "each", "always", "never", "whatever", "whenever", "longer", "shorter",
        "more", "repeated", "runs", "several", "general", "other",
    ];
    let general = goal
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| GENERAL.contains(&word.to_lowercase().as_str()));
    let inside = call.split_once('(').map_or(call, |(_, inside)| inside).trim_end_matches(')');
    !general && !inside.is_empty() && goal.contains(inside)
}

fn asked<'a>(evidence: &Evidence<'a>) -> Option<&'a Comparison> {
    let on = evidence.level(GateName::Comparison) != Level::Off;
    evidence.inspection.comparison.as_ref().filter(|comparison| on && !comparison.calls.is_empty())
}

fn keeps_behaviour(evidence: &Evidence<'_>) -> bool {
    match evidence.kind.kind {
        Some(TaskKind::Refactor | TaskKind::Docs | TaskKind::Tests) => true,
        Some(TaskKind::Feature | TaskKind::Bugfix | TaskKind::Chore) | None => false,
    }
}
