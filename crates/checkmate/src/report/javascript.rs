//! jest, vitest and mocha.

use std::sync::LazyLock;

use checkmate_machine::evidence::TestReport;
use regex::Regex;

use super::{Counts, Names, note_others, number, segments, worst};

static COUNT: LazyLock<Regex> = pattern!(r"(\d+) (passed|failed|skipped|todo|errors?|total)");

/// Reads the counts of a line such as `1 failed, 1 skipped, 1 todo, 1 passed, 4 total`.
fn counts(text: &str) -> Counts {
    let mut counts = Counts::default();
    for found in COUNT.captures_iter(text) {
        let n = number(&found[1]);
        let field = match &found[2] {
            "passed" => &mut counts.passed,
            "failed" => &mut counts.failed,
            "skipped" | "todo" => &mut counts.skipped,
            "error" | "errors" => &mut counts.errors,
            _ => continue,
        };
        *field = field.saturating_add(n);
    }
    counts
}

/// Reads jest. What tests print is indented by jest, so a summary starts at the line's start.
pub(super) fn jest(lines: &[&str]) -> Option<TestReport> {
    static SUITES: LazyLock<Regex> = pattern!(r"^Test Suites: (.*)\d+ total$");
    static TESTS: LazyLock<Regex> = pattern!(r"^Tests: +(.*)\d+ total$");
    let (mut total, mut unloaded_suites) = (Counts::default(), 0_u32);
    let mut runs = 0;
    let (mut failing, flaky, suites) = jest_names(lines);
    for segment in segments(lines, |line| line.starts_with("Ran all test suites")) {
        let summaries = segment.windows(2).filter_map(|pair| {
            let suites = counts(&SUITES.captures(pair[0])?[1]);
            let tests = counts(&TESTS.captures(pair[1])?[1]);
            // A failed suite of which no test failed could not be loaded; without names nothing finer is known.
            let errors = if tests.failed == 0 { suites.failed } else { 0 };
            Some(Counts { errors, ..tests })
        });
        let summaries: Vec<Counts> = summaries.collect();
        note_others(&summaries, &mut failing);
        if let Some(own) = worst(summaries) {
            runs += 1;
            unloaded_suites = unloaded_suites.saturating_add(own.errors);
            total.add(Counts { errors: 0, ..own });
        }
    }
    let none = lines.iter().any(|line| line.starts_with("No tests found, exiting with code"));
    if runs == 0 && !none {
        return None;
    }
    total.errors = suites.max(unloaded_suites);
    Some(total.report("jest", failing, flaky))
}

/// Returns the names of what failed, of what passed when tried again, and how many suites could not be loaded.
fn jest_names(lines: &[&str]) -> (Names, Names, u32) {
    let (mut failing, mut unloaded, mut retried) = (Names::default(), Names::default(), Names::default());
    let mut file = "";
    for line in lines {
        // With colours the label has a space on either side.
        if let Some(path) = line.strip_prefix(' ').unwrap_or(line).strip_prefix("FAIL ") {
            file = path.trim().split(" (").next().unwrap_or(path);
        } else if let Some(name) = line.strip_prefix(" LOGGING RETRY ERRORS ") {
            retried.push(name);
        } else if let Some(name) = line.strip_prefix("  ● ") {
            match name {
                "Console" => {}
                "Test suite failed to run" => unloaded.push(if file.is_empty() { name } else { file }),
                name => failing.push(name),
            }
        }
    }
    let suites = unloaded.len();
    unloaded.0.iter().for_each(|name| failing.push(name));
    retried.0.retain(|name| !failing.0.contains(name));
    (failing, retried, suites)
}

/// Reads vitest, which prints the summary to one stream and the failures to the other.
pub(super) fn vitest(lines: &[&str]) -> Option<TestReport> {
    static FILES: LazyLock<Regex> = pattern!(r"^ Test Files  (.*)$");
    static TESTS: LazyLock<Regex> = pattern!(r"^      Tests  (.*)$");
    static ERRORS: LazyLock<Regex> = pattern!(r"^     Errors  (.*)$");
    static RETRIED: LazyLock<Regex> = pattern!(r"^ +✓ (.+?)(?: +\d+ms)? \(retry x\d+\)");
    let mut total = Counts::default();
    let (mut runs, mut failed_files) = (0, 0_u32);
    let (mut failing, mut flaky) = (Names::default(), Names::default());
    for segment in segments(lines, |line| line.starts_with(" RUN  v")) {
        let summaries = segment.windows(3).filter_map(|rows| {
            let files = counts(&FILES.captures(rows[0])?[1]);
            let tests = counts(&TESTS.captures(rows[1])?[1]);
            let errors = ERRORS.captures(rows[2]).map_or(0, |found| counts(&found[1]).errors);
            Some((files, Counts { errors, ..tests }))
        });
        let summaries: Vec<(Counts, Counts)> = summaries.collect();
        note_others(&summaries.iter().map(|(_, own)| *own).collect::<Vec<_>>(), &mut failing);
        let worst = summaries.into_iter().max_by_key(|(files, own)| (own.red(), files.failed));
        let Some((files, own)) = worst else { continue };
        runs += 1;
        failed_files = failed_files.saturating_add(files.failed);
        total.add(own);
    }
    let none = lines.iter().any(|line| line.starts_with("No test files found, exiting with code"));
    if runs == 0 && !none {
        return None;
    }
    let mut files = 0;
    for name in lines.iter().filter_map(|line| line.strip_prefix(" FAIL  ")) {
        if !name.contains(" > ") {
            files += 1;
        }
        failing.push(name);
    }
    // A file without tests among the failed ones could not be loaded.
    total.errors = total.errors.saturating_add(files);
    if total.red() == 0 {
        total.errors = failed_files;
    }
    lines.iter().filter_map(|line| RETRIED.captures(line)).for_each(|found| flaky.push(&found[1]));
    Some(total.report("vitest", failing, flaky))
}

/// Reads mocha's `spec` and `dot` reporters.
pub(super) fn mocha(lines: &[&str]) -> Option<TestReport> {
    static PASSING: LazyLock<Regex> = pattern!(r"^  (\d+) passing \(\d+m?s|^  (\d+) passing \(\d+m\)");
    static BELOW: LazyLock<Regex> = pattern!(r"^  (\d+) (pending|failing)$");
    let summaries = lines.iter().enumerate().filter_map(|(at, line)| {
        let found = PASSING.captures(line)?;
        let passed = found.get(1).or(found.get(2)).map_or(0, |n| number(n.as_str()));
        let mut own = Counts { passed, ..Counts::default() };
        for below in lines[at + 1..].iter().map_while(|line| BELOW.captures(line)) {
            match &below[2] {
                "pending" => own.skipped = number(&below[1]),
                _ => own.failed = number(&below[1]),
            }
        }
        Some(own)
    });
    let unloaded = lines.iter().find_map(|line| line.trim_start().strip_prefix("Exception during run: "));
    let summaries: Vec<Counts> = summaries.collect();
    let summary = worst(summaries.iter().copied());
    if summary.is_none() && unloaded.is_none() {
        return None;
    }
    let mut own = summary.unwrap_or_default();
    let mut failing = Names::default();
    let hooks = mocha_names(lines, &mut failing).min(own.failed);
    note_others(&summaries, &mut failing);
    own.failed -= hooks;
    own.errors = hooks;
    if let Some(reason) = unloaded {
        own.errors += 1;
        failing.push(reason);
    }
    Some(own.report("mocha", failing, Names::default()))
}

/// Collects the numbered failures below the summary and returns how many of them are hooks.
///
/// ```text
///   1) sum
///        adds badly:
/// ```
fn mocha_names(lines: &[&str], failing: &mut Names) -> u32 {
    static FIRST: LazyLock<Regex> = pattern!(r"^  \d+\) (.+)$");
    let after = lines.iter().rposition(|line| line.ends_with(" failing")).map_or(lines.len(), |at| at + 1);
    let mut hooks = 0;
    for (at, line) in lines.iter().enumerate().skip(after) {
        let Some(first) = FIRST.captures(line) else { continue };
        let rest = lines[at + 1..].iter().take_while(|line| !line.trim().is_empty());
        let mut words = vec![first[1].to_owned()];
        if !first[1].ends_with(':') {
            for line in rest.take(20) {
                words.push(line.trim().to_owned());
                if line.ends_with(':') {
                    break;
                }
            }
        }
        let name = words.join(" ");
        if name.contains("\" hook") {
            hooks += 1;
        }
        failing.push(name.trim_end_matches(':'));
    }
    hooks
}
