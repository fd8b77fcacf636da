//! Was a run or a landing cut off?

use checkmate_machine::ids::{RunId, TaskId};
use checkmate_machine::outcome::Outcome;

use super::{Finding, Subject};
use crate::journal;
use crate::session::TASK;
use crate::state::RunsFolder;
use crate::ui::printable;

const CHECK: &str = "runs";
/// How many runs are looked at, the latest first.
const MOST: usize = 20;

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    let Some(project) = &subject.project else {
        return vec![Finding::skipped(CHECK, "Not looked at: there is no usable repository.")];
    };
    let runs = match project.runs.list() {
        Ok(runs) => runs,
        Err(error) => return vec![Finding::of_error(CHECK, &error)],
    };
    let latest = runs.last();
    let recent = runs.iter().rev().take(MOST);
    let mut found: Vec<Finding> =
        recent.filter_map(|id| look(&project.runs, id, latest == Some(id))).collect();
    if found.is_empty() {
        let message =
            if runs.is_empty() { "There are no runs yet." } else { "No run and no landing was cut off." };
        found.push(Finding::ok(CHECK, message));
    }
    found
}

fn look(runs: &RunsFolder, id: &RunId, latest: bool) -> Option<Finding> {
    let folder = runs.run(id);
    if let Some(process) = journal::driver(&folder) {
        return Some(
            Finding::ok(CHECK, format!("The run {id} is going on (process {process}).")).about(id.as_str()),
        );
    }
    if folder.join("landing.json").exists() {
        let finding = Finding::fail(
            CHECK,
            format!("The landing of the run {id} was cut off, so your files may be half written."),
            format!("`checkmate resume {id}` finishes it."),
        );
        return Some(finding.about(id.as_str()));
    }
    let contents = match journal::read(&folder) {
        Ok(contents) => contents,
        Err(error) => {
            let finding = Finding::of_error(CHECK, &error);
            return latest.then_some(Finding { state: super::State::Warn, ..finding }.about(id.as_str()));
        }
    };
    let goal = contents.header.tasks.first().map_or("", |task| task.spec.task.goal.as_str());
    let goal: String = printable(goal.lines().next().unwrap_or_default()).chars().take(60).collect();
    let outcome = contents.replay(|_, _| {}).ok()?.outcome(&TaskId::new(TASK));
    let what = match outcome {
        None => "was cut off",
        Some(Outcome::Error { .. }) if latest => "met an error",
        Some(_) => return None,
    };
    let finding = Finding::warn(
        CHECK,
        format!("The run {id} {what}: {goal}"),
        format!("`checkmate resume {id}` goes on with it; to begin anew, just start another one."),
    );
    Some(finding.about(id.as_str()))
}
