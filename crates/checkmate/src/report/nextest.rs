//! `cargo nextest run`.

use std::sync::LazyLock;

use checkmate_machine::evidence::TestReport;
use regex::Regex;

use super::{Counts, Names, note_others, number, segments, worst};

static STARTING: LazyLock<Regex> = pattern!(r"^ +Starting \d+ tests? across \d+ binar");
static SUMMARY: LazyLock<Regex> = pattern!(r"^ +Summary \[[^\]]*\] +(?:\d+/)?\d+ tests? run: (.*)$");
static COUNT: LazyLock<Regex> = pattern!(r"(\d+) (passed|failed|timed out|exec failed|skipped)");
/// A line of the list below the summary: status, time, progress, name.
static LISTED: LazyLock<Regex> =
    pattern!(r"^ *(?:TRY \d+ )?([A-Z][A-Z0-9/ +-]*?) +\[[^\]]*\] +(?:\([^)]*\) +)?(\S.*)$");

/// Reads the summary and the list below it.
pub(super) fn read(lines: &[&str]) -> Option<TestReport> {
    let (mut counts, mut failing, mut flaky) = (Counts::default(), Names::default(), Names::default());
    let mut runs = 0;
    for segment in segments(lines, |line| STARTING.is_match(line)) {
        if !STARTING.is_match(segment[0]) {
            continue;
        }
        runs += 1;
        let summaries: Vec<Counts> = segment.iter().filter_map(|line| summary(line)).collect();
        note_others(&summaries, &mut failing);
        let Some(own) = worst(summaries) else {
            counts.errors += 1;
            failing.push("nextest ended before its summary");
            continue;
        };
        counts.add(own);
        let below =
            segment.iter().rposition(|line| SUMMARY.is_match(line)).map_or(segment.len(), |at| at + 1);
        for found in segment[below..].iter().filter_map(|line| LISTED.captures(line)) {
            match &found[1] {
                "PASS" | "LEAK" | "SLOW" | "SKIP" => {}
                status if status.starts_with("FLAKY") => flaky.push(&found[2]),
                _ => failing.push(&found[2]),
            }
        }
    }
    (runs > 0).then(|| counts.report("nextest", failing, flaky))
}

/// Returns the lines without the runs of nextest, in which every failed test repeats libtest's own summary.
pub(super) fn without<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut inside = false;
    let outside = |line: &&&'a str| {
        inside = (inside || STARTING.is_match(line)) && !SUMMARY.is_match(line);
        !inside
    };
    lines.iter().filter(outside).copied().collect()
}

fn summary(line: &str) -> Option<Counts> {
    let mut counts = Counts::default();
    for found in COUNT.captures_iter(SUMMARY.captures(line)?.get(1)?.as_str()) {
        let n = number(&found[1]);
        let field = match &found[2] {
            "passed" => &mut counts.passed,
            "skipped" => &mut counts.skipped,
            _ => &mut counts.failed,
        };
        *field = field.saturating_add(n);
    }
    Some(counts)
}
