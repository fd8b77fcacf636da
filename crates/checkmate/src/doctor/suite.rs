//! What does the test command say in a run's own tree? It runs once, as the baseline of a run does.

use checkmate_machine::evidence::{Receipt, Signal};

use super::{Finding, Subject};
use crate::config::Config;
use crate::trial;

const CHECK: &str = "tests";
/// How many failing tests are named.
const NAMED: usize = 3;
/// How much of what a command printed is shown, in characters.
const QUOTE: usize = 200;

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    let (project, loaded) = match subject.ready(CHECK) {
        Ok(ready) => ready,
        Err(finding) => return vec![*finding],
    };
    if !subject.order.tests {
        return vec![Finding::skipped(CHECK, "Not run: `--no-tests` leaves the test command alone.")];
    }
    let config = &loaded.config;
    let ran = match trial::run(project, config, &subject.cancel) {
        Ok(Ok(ran)) => ran,
        Ok(Err(error)) => return vec![Finding::skipped(CHECK, format!("Not run to its end: {error}."))],
        Err(error) => return vec![Finding::of_error(CHECK, &error)],
    };
    vec![finding(&ran, config)]
}

fn finding(receipt: &Receipt, config: &Config) -> Finding {
    #[expect(clippy::cast_precision_loss, reason = "nobody waits for 2^53 milliseconds")]
    let time = format!("{:.1} s", receipt.duration_ms as f64 / 1000.0);
    let where_it_ran = if config.sandbox.is_some() { ", confined as in a run" } else { ", unconfined" };
    let report = receipt.report.as_ref();
    match receipt.signal() {
        Signal::Pass { tests } if report.is_some() => {
            let skipped = report.map_or(0, |report| report.skipped);
            let skipped = if skipped == 0 { String::new() } else { format!(" and {skipped} were skipped") };
            let count =
                if tests.get() == 1 { "1 test passed".into() } else { format!("{tests} tests passed") };
            Finding::ok(CHECK, format!("{count}{skipped} in {time}{where_it_ran}."))
        }
        Signal::Pass { .. } => Finding::warn(
            CHECK,
            format!(
                "The test command ended well in {time}, but no test report was recognised in its output; it counts as one test."
            ),
            "Let it print its report (configuration.md lists the known ones), or name a JUnit XML file as `test_report`: \
             without counts, most evidence cannot be gathered.",
        ),
        Signal::Absent => Finding::warn(
            CHECK,
            format!("The test command ended well in {time}, but no test ran; zero tests are no evidence."),
            "Write at least one test that it runs, or correct `test_command`.",
        ),
        Signal::Flaky => Finding::warn(
            CHECK,
            format!(
                "The tests pass and fail on the same tree: {}.",
                named(&report.map(|report| report.flaky.clone()).unwrap_or_default())
            ),
            "Make them deterministic, or leave them out of `test_command`: an unstable test is no evidence.",
        ),
        Signal::Fail => failed(receipt, &time),
        Signal::Infra { reason } => {
            let tail = tail(receipt);
            let said = if tail.is_empty() { String::new() } else { format!(" It said: {tail}") };
            Finding::fail(
                CHECK,
                format!("{reason}{said}"),
                "Correct `test_command`, provide what it lacks (`link_paths` brings in what git does not track), or raise \
                 `test_time_limit_s`.",
            )
        }
    }
}

fn failed(receipt: &Receipt, time: &str) -> Finding {
    let advice = "If it is green in your own terminal, it needs more than commands of a run have: what git ignores \
                  (`link_paths`), or files and network (`sandbox`, `network`).";
    let counted = receipt.report.as_ref().filter(|report| report.ran() + report.errors > 0);
    let Some(report) = counted else {
        let tail = tail(receipt);
        let said = if tail.is_empty() { "It said nothing.".into() } else { format!("It said: {tail}") };
        return Finding::fail(
            CHECK,
            format!("The test command failed in {time} and no test was counted. {said}"),
            format!("Correct `test_command`, or mend what it says. {advice}"),
        );
    };
    let red = report.failed.saturating_add(report.errors);
    let all = report.ran().saturating_add(report.errors);
    let names = named(&report.failing);
    let names = if names.is_empty() { String::new() } else { format!(": {names}") };
    Finding::warn(
        CHECK,
        format!("{red} of {all} tests failed in {time}{names}."),
        format!(
            "What is red before a change is not charged to it, but hides what the change breaks. {advice}"
        ),
    )
}

fn named(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMED).map(|name| crate::ui::printable(name)).collect();
    if names.len() > NAMED {
        shown.push("…".into());
    }
    shown.join(", ")
}

/// Returns the last line that a command printed.
fn tail(receipt: &Receipt) -> String {
    let last = |text: &str| text.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
    let line = last(&receipt.stderr.text).or_else(|| last(&receipt.stdout.text)).unwrap_or_default();
    crate::ui::printable(line.trim()).chars().take(QUOTE).collect()
}
