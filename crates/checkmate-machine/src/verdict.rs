//! May it be approved? A pure function of rules, receipts and findings; nothing here reads an agent's prose.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::evidence::{self, Receipt, Signal, Standing};
use crate::excerpt;
use crate::finding::{Finding, Status, Weight};
use crate::ids::TreeId;
use crate::spec::Policy;

/// What a verdict is computed from.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The rules.
    pub policy: &'a Policy,
    /// What is judged.
    pub candidate: &'a TreeId,
    /// Every receipt of the test command for exactly this candidate, oldest first.
    pub tests: &'a [&'a Receipt],
    /// The test command's receipt for the tree before the change.
    pub baseline: Option<&'a Receipt>,
    /// What the checker's part is.
    pub review: ReviewState,
    /// Every finding of the run.
    pub findings: &'a [Finding],
}

/// What came of the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// There was none for this candidate.
    Missing,
    /// The checker was asked about this candidate, and its findings are in the list.
    Done,
    /// The user's own `review_mode` skipped it.
    SkippedByConfiguration,
    /// The moderator called the open findings matters of taste.
    Moderated,
}

/// The judgement of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the change may land.
    pub decision: Decision,
    /// Every gate with its result, in the order in which they are judged.
    pub gates: Vec<Gate>,
}

/// What a verdict says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Every gate passed.
    Approved,
    /// The checker's side is open.
    Objections,
    /// Evidence is missing or red; no agent can change that by talking.
    Blocked,
}

/// One gate of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Its name in `reasons` and on the verdict card.
    pub gate: GateName,
    /// Whether it lets the change through.
    pub passed: bool,
    /// What was seen, as a sentence.
    pub message: String,
}

/// The gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateName {
    /// The test command is green on this very candidate.
    Tests,
    /// What the tests said before the change.
    Baseline,
    /// The checker was asked, or the user's configuration skipped it.
    Review,
    /// No finding stands.
    Findings,
}

impl GateName {
    /// Returns the gate's name for people and for `--json`.
    pub fn name(self) -> &'static str {
        match self {
            GateName::Tests => "tests",
            GateName::Baseline => "baseline",
            GateName::Review => "review",
            GateName::Findings => "findings",
        }
    }
}

/// Judges a case.
///
/// | gate | lets through |
/// |---|---|
/// | tests | a receipt of the test command for this very tree with at least one passed test and nothing newly red |
/// | review | the checker saw this candidate, or the user's configuration skipped it, or the moderator decided |
/// | findings | nothing confirmed by a red test; nothing standing unless the moderator called it taste |
pub fn judge(case: &Case<'_>) -> Verdict {
    let tests = tests_gate(case);
    let mut gates = vec![tests];
    gates.extend(baseline_gate(case));
    gates.push(review_gate(case));
    gates.push(findings_gate(case));
    let failed = |name: GateName| gates.iter().any(|gate| gate.gate == name && !gate.passed);
    let decision = if failed(GateName::Tests) {
        Decision::Blocked
    } else if failed(GateName::Review) || failed(GateName::Findings) {
        Decision::Objections
    } else {
        Decision::Approved
    };
    Verdict { decision, gates }
}

fn tests_gate(case: &Case<'_>) -> Gate {
    let gate = |passed, message| Gate { gate: GateName::Tests, passed, message };
    let on_candidate = || case.tests.iter().filter(|receipt| receipt.tree == *case.candidate);
    // A run that could not be made says nothing; the latest that could counts.
    let usable = |receipt: &&&Receipt| !matches!(receipt.signal(), Signal::Infra { .. });
    let Some(receipt) = on_candidate().rfind(usable).or_else(|| on_candidate().next_back()) else {
        return gate(false, "The test command did not run on this candidate.".into());
    };
    let saw = |wanted: fn(&Signal) -> bool| on_candidate().any(|receipt| wanted(&receipt.signal()));
    if saw(|signal| matches!(signal, Signal::Pass { .. })) && saw(|signal| matches!(signal, Signal::Fail)) {
        return gate(false, "The tests pass and fail on this very candidate.".into());
    }
    match evidence::standing(receipt, case.baseline) {
        Standing::Green(tests) if receipt.report.is_none() => gate(
            true,
            format!(
                "`{}` ended well; it prints no report that Checkmate knows, so its exit code counts as {tests} test.",
                receipt.command()
            ),
        ),
        Standing::Green(tests) => gate(true, green_message(tests, receipt, case.baseline)),
        Standing::KnownRed(names) => gate(
            true,
            format!(
                "Nothing newly red; {} failed before the change as well: {}.",
                count_of(&names),
                names.join(", ")
            ),
        ),
        Standing::Red => gate(false, red_message(receipt)),
        Standing::Absent => gate(false, "No test ran: zero tests are no evidence.".into()),
        Standing::Unreported => gate(false, unreported_message(receipt)),
        Standing::Infra(reason) => gate(false, reason),
        Standing::Flaky => gate(false, "The tests pass and fail on the same tree.".into()),
    }
}

/// Says how many tests passed, and whether that is fewer than before the change.
fn green_message(tests: NonZeroU32, receipt: &Receipt, baseline: Option<&Receipt>) -> String {
    let passed = count(tests.get());
    match evidence::fewer(receipt, baseline) {
        Some(before) => format!("{passed} passed, but {before} did before the change."),
        None => format!("{passed} passed."),
    }
}

/// Says that a command ended well without the report that it printed before the change.
pub fn unreported_message(receipt: &Receipt) -> String {
    format!(
        "`{}` ended well, but without the test report that it printed before the change, so nothing says that a test ran. \
         Something may end the process too early.",
        excerpt::line(&receipt.command(), 200)
    )
}

/// Says what is red, in one sentence.
pub fn red_message(receipt: &Receipt) -> String {
    match &receipt.report {
        Some(report) if !report.failing.is_empty() => {
            let shown: Vec<String> =
                report.failing.iter().take(5).map(|name| excerpt::line(name, 200)).collect();
            let more = report.failing.len() - shown.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!(
                "{} of {} failed: {}{more}.",
                report.failing.len(),
                count(report.ran().max(report.errors)),
                shown.join(", ")
            )
        }
        Some(report) if report.failed == 0 && report.errors == 0 => format!(
            "`{}` ended with an error, though no test failed; its output says why.",
            excerpt::line(&receipt.command(), 200)
        ),
        Some(report) => format!("{} failed and {} could not be loaded.", report.failed, report.errors),
        None => format!("`{}` ended with an error.", excerpt::line(&receipt.command(), 200)),
    }
}

fn baseline_gate(case: &Case<'_>) -> Option<Gate> {
    let baseline = case.baseline?;
    let message = match baseline.signal() {
        Signal::Pass { tests } => format!("{} passed before the change.", count(tests.get())),
        Signal::Fail => format!("Red before the change: {}", red_message(baseline)),
        Signal::Absent => "There was no test before the change.".into(),
        Signal::Flaky => "The tests were unstable before the change.".into(),
        Signal::Infra { reason } => reason,
    };
    Some(Gate { gate: GateName::Baseline, passed: true, message })
}

fn review_gate(case: &Case<'_>) -> Gate {
    let (passed, message) = match case.review {
        ReviewState::Missing => (false, "The reviewer has not seen this candidate."),
        ReviewState::Done => (true, "The reviewer has seen this candidate and its evidence."),
        ReviewState::SkippedByConfiguration => (true, "Review skipped by configuration."),
        ReviewState::Moderated => (true, "The moderator settled the open findings as matters of taste."),
    };
    Gate { gate: GateName::Review, passed, message: message.into() }
}

fn findings_gate(case: &Case<'_>) -> Gate {
    let gate = |passed, message| Gate { gate: GateName::Findings, passed, message };
    let confirmed: Vec<&str> = case
        .findings
        .iter()
        .filter(|finding| matches!(finding.status, Status::Confirmed { .. }))
        .map(|finding| finding.id.as_str())
        .collect();
    if !confirmed.is_empty() {
        return gate(false, format!("A test confirms: {}.", confirmed.join(", ")));
    }
    let standing: Vec<String> = case
        .findings
        .iter()
        .filter(|finding| match finding.weight(case.policy.strictness) {
            Weight::Blocks | Weight::Objection => true,
            Weight::Suggestion => false,
        })
        .map(|finding| format!("{}: {}", finding.id, finding.issue.description))
        .collect();
    match (standing.is_empty(), case.review) {
        (true, _) => gate(true, "No finding stands.".into()),
        (false, ReviewState::Moderated) => {
            gate(true, format!("Settled by the moderator: {}.", standing.join("; ")))
        }
        (false, ReviewState::Missing | ReviewState::Done | ReviewState::SkippedByConfiguration) => {
            gate(false, format!("Open: {}.", standing.join("; ")))
        }
    }
}

fn count(tests: u32) -> String {
    if tests == 1 { "1 test".into() } else { format!("{tests} tests") }
}

fn count_of(names: &[String]) -> String {
    if names.len() == 1 { "1 test".into() } else { format!("{} tests", names.len()) }
}
