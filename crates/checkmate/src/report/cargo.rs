//! `cargo test`: one summary per test binary and one for the documentation tests.

use std::sync::LazyLock;

use checkmate_machine::evidence::TestReport;
use regex::Regex;

use super::{Counts, Names, nextest, note_others, number, segments, worst};

static RUNNING: LazyLock<Regex> = pattern!(r"^running \d+ tests?$");
static RESULT: LazyLock<Regex> = pattern!(
    r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; \d+ measured; \d+ filtered out"
);

/// Reads the sum over all test binaries; a compile error leaves none, and therefore no report.
pub(super) fn read(lines: &[&str]) -> Option<TestReport> {
    let lines = nextest::without(lines);
    let mut counts = Counts::default();
    let mut failing = Names::default();
    let mut binaries = 0_u32;
    for segment in segments(&lines, |line| RUNNING.is_match(line)) {
        if !RUNNING.is_match(segment[0]) {
            continue;
        }
        binaries += 1;
        let results: Vec<Counts> = segment.iter().filter_map(|line| result(line)).collect();
        note_others(&results, &mut failing);
        match worst(results) {
            Some(own) => counts.add(own),
            // `std::process::exit(0)` within a test, or a crash: cargo sees the first as success.
            None => {
                counts.errors = counts.errors.saturating_add(1);
                failing.push(&format!("test binary {binaries} ended before its summary"));
            }
        }
        failures(segment).for_each(|name| failing.push(name));
    }
    (binaries > 0).then(|| counts.report("cargo", failing, Names::default()))
}

fn result(line: &str) -> Option<Counts> {
    let found = RESULT.captures(line)?;
    Some(Counts {
        passed: number(&found[1]),
        failed: number(&found[2]),
        skipped: number(&found[3]),
        errors: 0,
    })
}

/// Returns the names in the last `failures:` list; earlier ones head the captured output, or are printed by a test.
fn failures<'a>(segment: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let after = segment.iter().rposition(|line| *line == "failures:").map_or(segment.len(), |at| at + 1);
    segment[after..].iter().map_while(|line| line.strip_prefix("    "))
}
