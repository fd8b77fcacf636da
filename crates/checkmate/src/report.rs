//! Reads the counts that test runners print.
//!
//! A report is a fact about output, and the output is hostile: a test can print whatever it likes. Hence three rules.
//! A summary counts only in the exact shape and place in which its runner prints it; where one run of a runner seems
//! to have several summaries, the one with the most failures is taken, and among equals the last; and whatever a
//! summary says of failures is never made up for by another that says "passed". The exit code is judged elsewhere,
//! so a report that is too green never turns a failed command green.

/// Compiles a constant pattern once.
macro_rules! pattern {
    ($pattern:expr) => {
        std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("the pattern is constant and tested"))
    };
}

mod cargo;
mod go;
mod javascript;
mod junit;
mod nextest;
mod node;
mod pytest;
mod tap;
#[cfg(test)]
mod tests;
mod unittest;

use std::sync::LazyLock;

use checkmate_machine::evidence::TestReport;
use regex::Regex;

/// The most names that a list of a report keeps.
const MAX_NAMES: usize = 200;
/// The most characters that a name keeps.
const MAX_NAME_CHARS: usize = 300;

/// Reads the report of a command, or of several in one line, from what it wrote.
///
/// `junit` is the text of a JUnit XML file that the same command wrote. Reports of different runners are added up and
/// their names joined by `+`. `None` means that no runner was recognised; a runner that says it ran nothing gives a
/// report of zeros.
pub fn read(stdout: &str, stderr: &str, junit: Option<&str>) -> Option<TestReport> {
    let (stdout, stderr) = (plain(stdout), plain(stderr));
    let lines: Vec<&str> = stdout.lines().chain(stderr.lines()).collect();
    let printed = printed(&lines);
    let report = match junit.and_then(junit::read) {
        Some(file) => with_file(file, printed),
        None => sum(printed),
    };
    report.map(capped)
}

/// Reads every runner's own summary.
fn printed(lines: &[&str]) -> Vec<TestReport> {
    let node = node::read(lines);
    // Node's TAP has the same points as every other TAP, and its own summary below them; its list of failures is
    // never shorter than that of the points at the top.
    let tap = tap::read(lines).filter(|tap| node.as_ref().is_none_or(|node| red(tap) > red(node)));
    let readers = [cargo::read, nextest::read, pytest::read, unittest::read];
    let more = [javascript::jest, javascript::vitest, javascript::mocha, go::read];
    readers.into_iter().chain(more).filter_map(|reader| reader(lines)).chain(node).chain(tap).collect()
}

/// Holds the report of a file against what was printed, and prefers the worse.
///
/// pytest's file stands for what pytest printed; the user's own file stands for the whole command.
fn with_file(file: TestReport, printed: Vec<TestReport>) -> Option<TestReport> {
    let (same, mut rest): (Vec<_>, Vec<_>) =
        printed.into_iter().partition(|report| file.runner != "pytest" || report.runner == "pytest");
    let chosen = match sum(same) {
        Some(text) if (red(&text), text.failing.len()) > (red(&file), file.failing.len()) => text,
        // The file does not tell that a test was run again.
        Some(text) if file.flaky.is_empty() => TestReport { flaky: text.flaky, ..file },
        Some(_) | None => file,
    };
    rest.insert(0, chosen);
    sum(rest)
}

fn sum(reports: Vec<TestReport>) -> Option<TestReport> {
    reports.into_iter().reduce(|mut total, next| {
        if !total.runner.split('+').any(|name| name == next.runner) {
            total.runner = format!("{}+{}", total.runner, next.runner);
        }
        total.passed = total.passed.saturating_add(next.passed);
        total.failed = total.failed.saturating_add(next.failed);
        total.errors = total.errors.saturating_add(next.errors);
        total.skipped = total.skipped.saturating_add(next.skipped);
        total.failing.extend(next.failing);
        total.flaky.extend(next.flaky);
        total
    })
}

fn red(report: &TestReport) -> u32 {
    report.failed.saturating_add(report.errors)
}

fn capped(mut report: TestReport) -> TestReport {
    for names in [&mut report.failing, &mut report.flaky] {
        names.truncate(MAX_NAMES);
        for name in names {
            if let Some((end, _)) = name.char_indices().nth(MAX_NAME_CHARS) {
                name.truncate(end);
            }
        }
    }
    report
}

/// Removes colours and other terminal control sequences.
fn plain(text: &str) -> std::borrow::Cow<'_, str> {
    static CONTROL: LazyLock<Regex> =
        pattern!(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])");
    CONTROL.replace_all(text, "")
}

/// The four counts of one summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    passed: u32,
    failed: u32,
    errors: u32,
    skipped: u32,
}

impl Counts {
    fn red(self) -> u32 {
        self.failed.saturating_add(self.errors)
    }

    fn add(&mut self, other: Counts) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.errors = self.errors.saturating_add(other.errors);
        self.skipped = self.skipped.saturating_add(other.skipped);
    }

    fn report(self, runner: &str, failing: Names, flaky: Names) -> TestReport {
        TestReport {
            runner: runner.to_owned(),
            passed: self.passed,
            failed: self.failed,
            errors: self.errors,
            skipped: self.skipped,
            failing: failing.0,
            flaky: flaky.0,
        }
    }
}

/// Chooses among several summaries where only one can be the runner's own: the worst, and among equals the last.
fn worst(summaries: impl IntoIterator<Item = Counts>) -> Option<Counts> {
    summaries.into_iter().max_by_key(|counts| counts.red())
}

/// Adds a name when several summaries tell of failures and only one was taken.
///
/// There are then more names than counted failures, so nobody takes the names for all that failed.
fn note_others(summaries: &[Counts], failing: &mut Names) {
    if summaries.iter().filter(|counts| counts.red() > 0).count() > 1 {
        failing.push("another summary tells of failures");
    }
}

/// Names in the order of their first mention, each once.
#[derive(Debug, Default)]
struct Names(Vec<String>);

impl Names {
    fn push(&mut self, name: &str) {
        let name = name.trim();
        // Quadratic, and therefore bounded: nothing beyond the cap is kept anyway.
        if !name.is_empty() && self.0.len() < MAX_NAMES && !self.0.iter().any(|known| known == name) {
            self.0.push(name.to_owned());
        }
    }

    fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}

/// Splits lines into runs of a runner: each begins with a line for which `starts` holds, the first possibly without.
fn segments<'a, 'b>(lines: &'a [&'b str], starts: impl Fn(&str) -> bool) -> Vec<&'a [&'b str]> {
    let mut segments = Vec::new();
    let mut from = 0;
    for (at, line) in lines.iter().enumerate() {
        if at > from && starts(line) {
            segments.push(&lines[from..at]);
            from = at;
        }
    }
    segments.push(&lines[from..]);
    segments.retain(|segment| !segment.is_empty());
    segments
}

/// Reads a count; one that is too large for a report is as large as a report can say.
fn number(digits: &str) -> u32 {
    digits.parse().unwrap_or(u32::MAX)
}
