//! The test command is green on this very candidate, held against what it said before the change.

use std::num::NonZeroU32;

use super::{Case, Gate, GateName, State};
use crate::evidence::{self, Receipt, Signal, Standing};
use crate::excerpt;

pub(super) fn gate(case: &Case<'_>) -> Gate {
    let gate = |passed, message| Gate::of_runs(GateName::Tests, passed, message, case.tests);
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

pub(super) fn baseline(case: &Case<'_>) -> Option<Gate> {
    let baseline = case.baseline?;
    let message = match baseline.signal() {
        Signal::Pass { tests } => format!("{} passed before the change.", count(tests.get())),
        Signal::Fail => format!("Red before the change: {}", red_message(baseline)),
        Signal::Absent => "There was no test before the change.".into(),
        Signal::Flaky => "The tests were unstable before the change.".into(),
        Signal::Infra { reason } => reason,
    };
    let state = match baseline.signal() {
        Signal::Pass { .. } => State::Passed,
        Signal::Fail | Signal::Absent | Signal::Flaky | Signal::Infra { .. } => State::Absent,
    };
    Some(Gate { state, ..Gate::of_runs(GateName::Baseline, true, message, &[baseline]) })
}

fn count(tests: u32) -> String {
    if tests == 1 { "1 test".into() } else { format!("{tests} tests") }
}

fn count_of(names: &[String]) -> String {
    if names.len() == 1 { "1 test".into() } else { format!("{} tests", names.len()) }
}
