//! Python's `unittest`, which is also Django's.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use checkmate_machine::evidence::TestReport;
use regex::Regex;

use super::{Counts, Names, note_others, number};

static RAN: LazyLock<Regex> = pattern!(r"^Ran (\d+) tests? in \d+\.\d+s$");
static RESULT: LazyLock<Regex> = pattern!(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$");
static COUNT: LazyLock<Regex> =
    pattern!(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d+)");
static HEADING: LazyLock<Regex> = pattern!(r"^(FAIL|ERROR|UNEXPECTED SUCCESS): (\S.*)$");

/// What a summary says.
#[derive(Debug, Clone, Copy, Default)]
struct Said {
    ran: u32,
    failures: u32,
    errors: u32,
    skipped: u32,
    expected: u32,
    unexpected: u32,
}

impl Said {
    fn red(&self) -> u32 {
        self.failures.saturating_add(self.errors).saturating_add(self.unexpected)
    }
}

/// What the headings of the failures say.
#[derive(Debug, Default)]
struct Headings {
    failing: Names,
    /// Modules that could not be imported; they count as tests that ran.
    unloaded: u32,
    /// Classes and modules whose fixture failed; they do not.
    unprepared: u32,
    /// Tests that failed, whatever the number of their subtests.
    tests: BTreeSet<String>,
}

/// Reads the summary with the most failures, and the headings.
///
/// unittest calls everything an error that is not a failed assertion. Here an error is what could not be loaded or
/// set up; a test that raised an exception failed, as it would under pytest.
pub(super) fn read(lines: &[&str]) -> Option<TestReport> {
    let said: Vec<Said> =
        lines.iter().enumerate().filter_map(|(at, line)| summary(line, &lines[at + 1..])).collect();
    let mut headings = headings(lines);
    let counts = |said: &Said| Counts { failed: said.red(), ..Counts::default() };
    note_others(&said.iter().map(counts).collect::<Vec<_>>(), &mut headings.failing);
    let said = said.into_iter().max_by_key(Said::red)?;
    let errors = headings.unloaded.saturating_add(headings.unprepared).min(said.errors);
    let raised = said.errors - errors;
    let failed = said.failures.saturating_add(raised);
    let tests = u32::try_from(headings.tests.len()).unwrap_or(u32::MAX);
    // Without headings (cut from a long output) every failure counts as a test of its own.
    let unsuccessful = if tests == 0 { failed } else { tests.min(failed) };
    let passed = [unsuccessful, headings.unloaded.min(errors), said.skipped, said.expected, said.unexpected]
        .into_iter()
        .fold(said.ran, u32::saturating_sub);
    let counts = Counts {
        passed,
        failed: failed.saturating_add(said.unexpected),
        errors,
        skipped: said.skipped.saturating_add(said.expected),
    };
    Some(counts.report("unittest", headings.failing, Names::default()))
}

fn summary(line: &str, below: &[&str]) -> Option<Said> {
    let mut said = Said { ran: number(&RAN.captures(line)?[1]), ..Said::default() };
    let result = below.iter().take(3).find(|line| !line.is_empty())?;
    let result = RESULT.captures(result)?;
    for found in COUNT.captures_iter(result.get(1).map_or("", |counts| counts.as_str())) {
        let n = number(&found[2]);
        match &found[1] {
            "failures" => said.failures = n,
            "errors" => said.errors = n,
            "skipped" => said.skipped = n,
            "expected failures" => said.expected = n,
            _ => said.unexpected = n,
        }
    }
    Some(said)
}

fn headings(lines: &[&str]) -> Headings {
    let mut headings = Headings::default();
    for (at, line) in lines.iter().enumerate().skip(1) {
        let Some(found) = HEADING.captures(line).filter(|_| lines[at - 1].starts_with("==========")) else {
            continue;
        };
        let name = &found[2];
        headings.failing.push(name);
        let import =
            lines[at + 1..].iter().take(3).any(|line| line.starts_with("ImportError: Failed to import"));
        if import
            || ["_FailedTest", "ModuleImportFailure", "LoadTestsFailure"]
                .iter()
                .any(|word| name.contains(word))
        {
            headings.unloaded += 1;
        } else if ["setUpClass ", "setUpModule ", "tearDownClass ", "tearDownModule "]
            .iter()
            .any(|w| name.starts_with(w))
        {
            headings.unprepared += 1;
        } else if &found[1] != "UNEXPECTED SUCCESS" {
            // `test (module.Class.test) (i=1)` is a subtest of `test (module.Class.test)`.
            headings.tests.insert(name.split_inclusive(')').next().unwrap_or(name).to_owned());
        }
    }
    headings
}
