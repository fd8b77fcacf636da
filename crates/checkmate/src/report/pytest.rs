//! pytest, from its text; its JUnit file is preferred where there is one.

use std::sync::LazyLock;

use checkmate_machine::evidence::TestReport;
use regex::Regex;

use super::{Counts, Names, note_others, number, segments, worst};

static HEADER: LazyLock<Regex> = pattern!(r"^=+ test session starts =+$");
static SUMMARY: LazyLock<Regex> = pattern!(r"^(?:=+ )?(\S.*) in \d+\.\d+s(?: \([^)]*\))?(?: =+)?$");
static COUNT: LazyLock<Regex> = pattern!(
    r"^(\d+)(?:/\d+)? (passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|reruns?|tests? collected|subtests (?:passed|failed))(?: \(.*\))?$"
);
static SHORT_SUMMARY: LazyLock<Regex> = pattern!(r"^=+ short test summary info =+$");
static PROGRESS: LazyLock<Regex> = pattern!(r"^([.FEsxXR]+) +\[ *\d+%\]$");

/// Reads one run per `test session starts`; with `-q` there is no such line, and one run.
pub(super) fn read(lines: &[&str]) -> Option<TestReport> {
    let (mut counts, mut failing, mut flaky) = (Counts::default(), Names::default(), Names::default());
    let mut runs = 0;
    for segment in segments(lines, |line| HEADER.is_match(line)) {
        let summaries: Vec<(Counts, u32)> = segment.iter().filter_map(|line| summary(line)).collect();
        let reruns = summaries.iter().map(|(_, reruns)| *reruns).max().unwrap_or(0);
        let summaries: Vec<Counts> = summaries.into_iter().map(|(own, _)| own).collect();
        note_others(&summaries, &mut failing);
        let own = match worst(unsummed(segment).into_iter().chain(summaries)) {
            Some(own) => own,
            None if HEADER.is_match(segment[0]) => {
                failing.push("pytest ended before its summary");
                Counts { errors: 1, ..Counts::default() }
            }
            None => continue,
        };
        runs += 1;
        counts.add(own);
        listed(segment, &["FAILED ", "ERROR "]).for_each(|(_, name)| failing.push(name));
        listed(segment, &["RERUN "]).for_each(|(_, name)| flaky.push(name));
        if reruns > 0 && flaky.len() == 0 {
            flaky.push(&format!("{reruns} run again"));
        }
    }
    (runs > 0).then(|| counts.report("pytest", failing, flaky))
}

/// Counts the marks of `-q` and the names in the list of failures: `-qq` prints nothing else.
fn unsummed(segment: &[&str]) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut recognised = false;
    for found in segment.iter().filter_map(|line| PROGRESS.captures(line)) {
        recognised = true;
        for mark in found[1].chars() {
            match mark {
                '.' | 'X' => counts.passed += 1,
                's' | 'x' => counts.skipped += 1,
                'F' => counts.failed += 1,
                'E' => counts.errors += 1,
                _ => {}
            }
        }
    }
    let listed: Vec<&str> = listed(segment, &["FAILED ", "ERROR "]).map(|(kind, _)| kind).collect();
    let count = |kind| u32::try_from(listed.iter().filter(|k| **k == kind).count()).unwrap_or(u32::MAX);
    counts.failed = counts.failed.max(count("FAILED "));
    counts.errors = counts.errors.max(count("ERROR "));
    (recognised || counts.red() > 0).then_some(counts)
}

fn summary(line: &str) -> Option<(Counts, u32)> {
    let found = SUMMARY.captures(line)?;
    let (mut counts, mut reruns) = (Counts::default(), 0);
    for part in found[1].split(", ") {
        if matches!(part, "no tests ran" | "no tests collected") || part.starts_with("no tests collected (") {
            continue;
        }
        let count = COUNT.captures(part)?;
        let n = number(&count[1]);
        let field = match &count[2] {
            // An xpassed test ran and failed nothing; where that is forbidden, pytest itself says failed.
            "passed" | "xpassed" => &mut counts.passed,
            "failed" | "subtests failed" => &mut counts.failed,
            "error" | "errors" => &mut counts.errors,
            "skipped" | "xfailed" => &mut counts.skipped,
            "rerun" | "reruns" => &mut reruns,
            _ => continue,
        };
        *field = field.saturating_add(n);
    }
    Some((counts, reruns))
}

/// Returns kind and name of the entries of the last short test summary.
fn listed<'a>(
    segment: &'a [&'a str],
    kinds: &'a [&'static str],
) -> impl Iterator<Item = (&'static str, &'a str)> {
    let after =
        segment.iter().rposition(|line| SHORT_SUMMARY.is_match(line)).map_or(segment.len(), |at| at + 1);
    segment[after..].iter().take_while(|line| summary(line).is_none()).filter_map(|line| {
        let (kind, rest) = kinds.iter().find_map(|kind| Some((*kind, line.strip_prefix(kind)?)))?;
        Some((kind, rest.split_once(" - ").map_or(rest, |(name, _)| name)))
    })
}
