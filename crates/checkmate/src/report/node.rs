//! Node's own runner (`node --test`), with the reporters `spec` and `tap`.

use std::sync::LazyLock;

use checkmate_machine::evidence::TestReport;
use regex::Regex;

use super::{Counts, Names, note_others, number, worst};

static COUNT: LazyLock<Regex> =
    pattern!(r"^[#ℹ] (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) (\d+)(?:\.\d+)?$");
/// `test at node/mixed/a.test.mjs:5:3`
static AT: LazyLock<Regex> = pattern!(r"^test at (.+):\d+:\d+$");
static FAILED: LazyLock<Regex> = pattern!(r"^✖ (.+) \(\d+(?:\.\d+)?ms\)");
static NOT_OK: LazyLock<Regex> = pattern!(r"^ *not ok \d+ - (.+)$");
static SCRIPT: LazyLock<Regex> = pattern!(r"\.[cm]?[jt]sx?$");

/// Reads the summary with the most failures, and the failures that are not just those of a subtest.
pub(super) fn read(lines: &[&str]) -> Option<TestReport> {
    let summaries: Vec<Counts> = (0..lines.len()).filter_map(|at| summary(&lines[at..])).collect();
    let mut failures = Failures::default();
    spec(lines, &mut failures);
    tap(lines, &mut failures);
    note_others(&summaries, &mut failures.names);
    let mut own = worst(summaries)?;
    // Node counts a test again for each test around it; the list, where it is complete, has every failure once.
    let complete = !lines.iter().any(|line| line.ends_with(" bytes left out]"));
    if complete && failures.listed > 0 {
        own.failed = own.failed.min(failures.listed);
    }
    own.errors = failures.unloaded.min(own.failed);
    own.failed -= own.errors;
    Some(own.report("node", failures.names, Names::default()))
}

/// Reads the block of counts that starts the lines; Node prints all of them, in this order.
fn summary(lines: &[&str]) -> Option<Counts> {
    if !lines.first()?.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut counts = Counts::default();
    let mut seen = Vec::new();
    for found in lines.iter().take(8).map_while(|line| COUNT.captures(line)) {
        let n = number(&found[2]);
        let field = match &found[1] {
            "pass" => &mut counts.passed,
            "fail" | "cancelled" => &mut counts.failed,
            "skipped" | "todo" => &mut counts.skipped,
            // `suites` is missing before Node 20.
            "suites" => continue,
            name => {
                seen.push(name.to_owned());
                continue;
            }
        };
        *field = field.saturating_add(n);
        seen.push(found[1].to_owned());
    }
    let complete = ["tests", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms"];
    (seen == complete).then_some(counts)
}

/// What the reporters list below or between the tests.
#[derive(Debug, Default)]
struct Failures {
    names: Names,
    /// How many failures there are, whether or not their names could be read.
    listed: u32,
    /// How many of them are files that could not be loaded.
    unloaded: u32,
}

impl Failures {
    fn push(&mut self, name: &str, details: &[&str]) {
        let says = |text: &str| details.iter().any(|line| line.contains(text));
        let syntax = says("SyntaxError") && (says("node:internal/modules/") || says("internal/vm"));
        if SCRIPT.is_match(name) || says("ERR_MODULE_NOT_FOUND") || syntax {
            self.unloaded += 1;
        }
        self.names.push(name);
    }
}

/// Reads the list below the summary of the reporter `spec`.
fn spec(lines: &[&str], failures: &mut Failures) {
    let after = lines.iter().rposition(|line| *line == "✖ failing tests:").map_or(lines.len(), |at| at + 1);
    let (mut places, mut marks) = (0, 0);
    for (at, line) in lines.iter().enumerate().skip(after) {
        places += u32::from(AT.is_match(line));
        marks += u32::from(line.starts_with("✖ "));
        if let Some(found) = FAILED.captures(line) {
            failures.push(&found[1], block(&lines[at + 1..], str::is_empty));
        }
    }
    // A name may have a line break in it; its failure counts all the same.
    failures.listed += places.max(marks);
}

/// Reads the failed points of the reporter `tap`, at every depth, without those that only hold others.
fn tap(lines: &[&str], failures: &mut Failures) {
    for (at, pair) in lines.windows(2).enumerate() {
        let Some(found) = NOT_OK.captures(pair[0]).filter(|_| pair[1].trim() == "---") else { continue };
        let details = block(&lines[at + 2..], |line| line.trim() == "...");
        let around = details.iter().any(|line| line.contains("failureType: 'subtestsFailed'"));
        if !around && !found[1].contains(" # TODO") && !found[1].contains(" # SKIP") {
            failures.listed += 1;
            failures.push(&found[1], details);
        }
    }
}

fn block<'a>(lines: &'a [&'a str], ends: impl Fn(&str) -> bool) -> &'a [&'a str] {
    let end = lines.iter().take(100).position(|line| ends(line)).unwrap_or(lines.len().min(100));
    &lines[..end]
}
