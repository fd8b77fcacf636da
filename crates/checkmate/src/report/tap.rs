//! The Test Anything Protocol, and Perl's `prove`, which sums it up.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use checkmate_machine::evidence::TestReport;
use regex::Regex;

use super::{Counts, Names, number, segments};

static PLAN: LazyLock<Regex> = pattern!(r"^1\.\.(\d+)(?: *#.*)?$");
static POINT: LazyLock<Regex> = pattern!(r"^(not )?ok\b(?: \d+)?(?: -)? ?(.*)$");
static DIRECTIVE: LazyLock<Regex> = pattern!(r"(?i) ?# *(?:skip|todo)\b");

/// Reads test points at the line's start; those of subtests are indented and summed up by the point around them.
pub(super) fn read(lines: &[&str]) -> Option<TestReport> {
    let (mut counts, mut failing) = (Counts::default(), Names::default());
    let mut streams = 0;
    for segment in segments(lines, |line| line.starts_with("TAP version ")) {
        let versioned = segment[0].starts_with("TAP version ");
        let plan = segment.iter().filter_map(|line| PLAN.captures(line)).map(|found| number(&found[1])).max();
        if !versioned && plan.is_none() {
            continue;
        }
        streams += 1;
        let own = points(segment, &mut failing);
        let seen = own.passed.saturating_add(own.failed).saturating_add(own.skipped);
        counts.add(own);
        // A stream that ends early has no plan, or fewer points than planned.
        if plan.is_none_or(|planned| planned > seen) {
            counts.errors = counts.errors.saturating_add(1);
            failing.push("the stream ended before its plan");
        }
    }
    if streams > 0 {
        note_namesakes(lines, &mut failing);
    }
    if let Some(own) = prove(lines, &mut failing) {
        streams += 1;
        counts.add(own);
    }
    (streams > 0).then(|| counts.report("tap", failing, Names::default()))
}

/// Adds a name when a failed point has a namesake: which of the two failed, the name does not tell, and with a name too
/// many nobody takes the names for all that failed.
fn note_namesakes(lines: &[&str], failing: &mut Names) {
    let mut names = BTreeSet::new();
    let points = lines.iter().filter_map(|line| POINT.captures(line)?.get(2));
    let namesake = points
        .map(|name| name.as_str().trim())
        .find(|name| !names.insert(*name) && failing.0.iter().any(|failed| failed == name));
    if let Some(name) = namesake {
        failing.push(&format!("several tests are called `{name}`"));
    }
}

fn points(segment: &[&str], failing: &mut Names) -> Counts {
    let mut own = Counts::default();
    for line in segment {
        if line.starts_with("Bail out!") {
            own.errors += 1;
            failing.push(line);
        } else if let Some(found) = POINT.captures(line) {
            if DIRECTIVE.is_match(&found[2]) {
                own.skipped += 1;
            } else if found.get(1).is_some() {
                own.failed += 1;
                failing.push(&found[2]);
            } else {
                own.passed += 1;
            }
        }
    }
    own
}

/// Reads the summary of `prove`.
fn prove(lines: &[&str], failing: &mut Names) -> Option<Counts> {
    static TOTAL: LazyLock<Regex> = pattern!(r"^Files=\d+, Tests=(\d+), ");
    static RESULT: LazyLock<Regex> = pattern!(r"^Result: (PASS|FAIL|NOTESTS)$");
    static SCRIPT: LazyLock<Regex> = pattern!(r"^(\S+) +\(Wstat: .* Tests: \d+ Failed: (\d+)\)$");
    let (at, total) =
        lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, TOTAL.captures(line)?)))?;
    let result = RESULT.captures(lines.get(at + 1)?)?;
    let mut own = Counts::default();
    for found in lines[..at].iter().filter_map(|line| SCRIPT.captures(line)) {
        own.failed = own.failed.saturating_add(number(&found[2]));
        failing.push(&found[1]);
    }
    if &result[1] == "FAIL" && own.failed == 0 {
        own.errors = 1;
    }
    own.passed = number(&total[1]).saturating_sub(own.failed);
    Some(own)
}
