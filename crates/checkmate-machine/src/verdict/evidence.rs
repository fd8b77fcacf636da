//! What gates of evidence judge, and how they say what they need.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::CommandLine;
use crate::effect::{CheckKind, Layer, short_hash};
use crate::event::{Candidate, FileFact};
use crate::evidence::{Ended, Receipt, Signal};
use crate::excerpt;
use crate::facts::{FileFacts, FileRole, Inspection, TestFunction};
use crate::ids::TreeId;
use crate::probe::Probes;
use crate::reply::{AnswerKind, FindingAnswer};
use crate::spec::{Level, Policy, Task};
use crate::task::{Kind, Permits};

use super::GateName;

/// Everything that is known about one candidate beyond what its tests and its checker say.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The rules.
    pub policy: &'a Policy,
    /// The task.
    pub task: &'a Task,
    /// What sort of change the task is.
    pub kind: Kind,
    /// What the task permits.
    pub permits: &'a Permits,
    /// The tree before the change.
    pub base: &'a TreeId,
    /// The change.
    pub candidate: &'a Candidate,
    /// Whether what follows is about this change; until it was read, nothing is.
    pub read: bool,
    /// What was found out by reading it.
    pub inspection: &'a Inspection,
    /// The test command on the base.
    pub baseline: Option<&'a Receipt>,
    /// The test command on the candidate, once it is green.
    pub tests: Option<&'a Receipt>,
    /// What else was run for this candidate, oldest first.
    pub receipts: &'a [(CheckKind, Receipt)],
    /// The examiner's probes.
    pub probes: &'a Probes,
    /// What the maker said to objections, oldest first.
    pub answers: &'a [FindingAnswer],
    /// What the maker called risks, oldest first.
    pub risks: &'a [String],
    /// The files of the base.
    pub files: &'a [FileFact],
    /// Unpredictable text of this run.
    pub nonce: &'a str,
}

/// A command that a gate needs before it can judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Why.
    pub kind: CheckKind,
    /// The command.
    pub command: CommandLine,
    /// The tree.
    pub tree: TreeId,
    /// What lies over it.
    pub layers: Vec<Layer>,
    /// The seed of what is varied.
    pub vary: Option<u32>,
    /// The time it may take, in seconds.
    pub limit_s: Option<u64>,
}

/// Something that the maker has to mend or to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Objection {
    /// Its name, which an answer gives.
    pub id: String,
    /// What is objected to, in full sentences.
    pub text: String,
    /// The maker's answer, once it gave one that is none.
    pub answer: Option<String>,
}

/// What a gate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opinion {
    /// It lets the change through.
    Passed(String),
    /// It does not apply, or nothing can be known; it stands in nobody's way.
    Absent(String),
    /// It lets the change through once each of these is mended, or answered and reviewed.
    Objected(Vec<Objection>),
    /// It keeps the change from landing, whoever says what.
    Blocked(String),
    /// It has not seen what it needs.
    Pending(String),
}

impl<'a> Evidence<'a> {
    /// Returns the latest receipt of a kind. A command that could not be started is given another chance: its first
    /// receipt is as good as none.
    pub fn receipt(&self, kind: CheckKind) -> Option<&'a Receipt> {
        let mut of_kind =
            self.receipts.iter().rev().filter(|(of, _)| *of == kind).map(|(_, receipt)| receipt);
        let latest = of_kind.next()?;
        let started = !matches!(latest.ended, Ended::NotStarted { .. });
        (started || of_kind.next().is_some()).then_some(latest)
    }

    /// Returns the level of a gate.
    pub fn level(&self, gate: GateName) -> Level {
        self.policy.evidence.level(gate)
    }

    /// Makes a want of the test command.
    pub fn want_tests(&self, kind: CheckKind, tree: &TreeId, layers: &[Layer]) -> Want {
        Want {
            kind,
            command: self.policy.test_command.clone(),
            tree: tree.clone(),
            layers: layers.to_vec(),
            vary: None,
            limit_s: None,
        }
    }

    /// Returns the milliseconds of one test run: of the candidate, else of the base.
    pub fn one_run_ms(&self) -> u64 {
        self.tests.or(self.baseline).map_or(0, |receipt| receipt.duration_ms).max(1)
    }

    /// Returns a generous time for a command that should take as long as a test run, in seconds.
    pub fn generous_s(&self) -> u64 {
        self.one_run_ms().saturating_mul(5) / 1000 + 20
    }

    /// Returns what changed effectively in files of some roles.
    pub fn effective(&self, roles: &[FileRole]) -> Vec<&'a FileFacts> {
        self.inspection.files.iter().filter(|file| file.effective && roles.contains(&file.role)).collect()
    }

    /// Returns the tests that the change adds or changes and that would run.
    pub fn fresh_tests(&self) -> Vec<(&'a FileFacts, &'a TestFunction)> {
        let known: BTreeSet<(&str, &str)> = self
            .inspection
            .files
            .iter()
            .flat_map(|file| &file.tests_before)
            .map(|test| (test.name.as_str(), test.body.as_str()))
            .collect();
        self.inspection
            .files
            .iter()
            .flat_map(|file| file.tests_after.iter().map(move |test| (file, test)))
            .filter(|(_, test)| !known.contains(&(test.name.as_str(), test.body.as_str())))
            .collect()
    }

    /// Makes an objection whose name stays the same while its key does.
    pub fn objection(&self, gate: GateName, key: &str, text: String) -> Objection {
        let mut id = short_hash(&format!("{}{key}", gate.name()));
        id.truncate(4);
        let id = format!("{}-{id}", gate.name());
        let answer = self.answers.iter().rev().find(|answer| answer.to == id);
        let answer = answer.filter(|answer| match answer.answer {
            AnswerKind::Justified | AnswerKind::Disagree => !answer.text.trim().is_empty(),
            AnswerKind::Fixed => false,
        });
        Objection { id, text, answer: answer.map(|answer| excerpt::line(&answer.text, 500)) }
    }
}

/// Returns the lines that a diff adds, with their paths and numbers.
pub fn added_lines(diff: &str) -> Vec<(&str, u32, &str)> {
    let mut added = Vec::new();
    let (mut path, mut line) = ("", 0_u32);
    let mut head = true;
    for text in diff.lines() {
        if text.starts_with("diff --git ") {
            head = true;
        } else if let Some(name) = text.strip_prefix("+++ ").filter(|_| head) {
            path = name.strip_prefix("b/").unwrap_or(name);
        } else if let Some(hunk) = text.strip_prefix("@@ ") {
            head = false;
            line = new_start(hunk);
        } else if let Some(text) = text.strip_prefix('+') {
            added.push((path, line, text));
            line = line.saturating_add(1);
        } else if text.starts_with(' ') {
            line = line.saturating_add(1);
        }
    }
    added
}

/// Reads the first line of the new side off a hunk's header, `-1,2 +3,4 @@`.
fn new_start(hunk: &str) -> u32 {
    let new = hunk.split(' ').find_map(|word| word.strip_prefix('+'));
    new.and_then(|range| range.split(',').next()).and_then(|start| start.parse().ok()).unwrap_or(0)
}

/// How a run of the tests on other code differs from the one before the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reddened {
    /// Tests failed that did not before; their names where the runner gives names.
    ByTest(Vec<String>),
    /// Something could not be loaded or compiled, or the command ended badly without a failing test.
    ByLoading,
    /// Nothing.
    Not,
    /// The command could not be run to its end.
    Unknown(String),
}

/// Holds a run against the baseline: what is red in it that was not.
pub fn reddened(run: &Receipt, baseline: Option<&Receipt>) -> Reddened {
    match run.signal() {
        Signal::Infra { reason } => return Reddened::Unknown(reason),
        Signal::Pass { .. } | Signal::Absent | Signal::Flaky => return Reddened::Not,
        Signal::Fail => {}
    }
    let before = baseline.and_then(|baseline| baseline.report.as_ref());
    let Some(report) = &run.report else {
        let was_red = baseline.is_some_and(|baseline| baseline.signal() == Signal::Fail);
        return match (before, was_red) {
            // A runner that prints no report either way: its exit code is all there is.
            (None, false) if baseline.is_some() => Reddened::ByTest(Vec::new()),
            (None, true) => Reddened::Not,
            (_, _) => Reddened::ByLoading,
        };
    };
    let known: BTreeSet<&str> =
        before.into_iter().flat_map(|report| &report.failing).map(String::as_str).collect();
    let names: Vec<String> =
        report.failing.iter().filter(|name| !known.contains(name.as_str())).cloned().collect();
    let (failed, errors) = before.map_or((0, 0), |before| (before.failed, before.errors));
    if report.failed > failed || (report.failed > 0 && !names.is_empty() && report.errors <= errors) {
        return Reddened::ByTest(names);
    }
    if report.errors > errors || known.is_empty() {
        return Reddened::ByLoading;
    }
    Reddened::Not
}

/// Lists names for a sentence, a few of them.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| excerpt::line(name, 120)).collect();
    let more = names.len().saturating_sub(5);
    let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
