//! `go test`: plain, with `-v`, and with `-json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use checkmate_machine::evidence::TestReport;
use regex::Regex;
use serde_json::Value;

use super::{Counts, Names};

/// `--- FAIL: TestSum/negative (0.00s)`, indented by four spaces for each test around it.
static TEST: LazyLock<Regex> = pattern!(r"^ *--- (PASS|FAIL|SKIP): (\S+) \(\d+(?:\.\d+)?s\)$");
/// `ok`, `FAIL` or `?`, the package, and a time or a note such as `[build failed]`, with tabs between them.
static PACKAGE: LazyLock<Regex> = pattern!(r"^(ok  |FAIL|\?   )\t(\S+)(?:\s+(.*))?$");

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Skip,
    Pass,
    Fail,
}

/// What is known of one package; the key of the tests is the name.
#[derive(Debug, Default)]
struct Package {
    tests: BTreeMap<String, Outcome>,
    failed: bool,
    passed: bool,
}

/// Reads packages and tests. Without `-v` go does not say how many tests passed: a package that is `ok` counts as one.
pub(super) fn read(lines: &[&str]) -> Option<TestReport> {
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    let mut plain = BTreeMap::new();
    let mut events = false;
    for line in lines {
        if line.starts_with('{') {
            events |= json(line, &mut packages).is_some();
        } else if let Some(found) = TEST.captures(line) {
            let outcome = match &found[1] {
                "PASS" => Outcome::Pass,
                "FAIL" => Outcome::Fail,
                _ => Outcome::Skip,
            };
            raise(&mut plain, &found[2], outcome);
        } else if let Some(found) = PACKAGE.captures(line) {
            let package = packages.entry(found[2].to_owned()).or_default();
            package.tests.append(&mut plain);
            let note = found.get(3).map_or("", |note| note.as_str());
            package.failed |= &found[1] == "FAIL";
            package.passed |= &found[1] == "ok  " && !note.contains("[no tests to run]");
        }
    }
    // A crash prints the tests, but no package; alone, these lines could be anybody's.
    if packages.is_empty() && !events {
        return None;
    }
    Some(report(packages))
}

fn report(packages: BTreeMap<String, Package>) -> TestReport {
    let (mut counts, mut failing) = (Counts::default(), Names::default());
    for (name, package) in packages {
        let mut own = Counts::default();
        for (test, outcome) in leaves(&package.tests) {
            match outcome {
                Outcome::Pass => own.passed += 1,
                Outcome::Skip => own.skipped += 1,
                Outcome::Fail => {
                    own.failed += 1;
                    failing.push(&format!("{name} {test}"));
                }
            }
        }
        if package.failed && own.failed == 0 {
            own.errors = 1;
            failing.push(&name);
        }
        if package.passed && package.tests.is_empty() {
            own.passed = 1;
        }
        counts.add(own);
    }
    counts.report("go", failing, Names::default())
}

/// Returns the tests without those that only hold subtests.
fn leaves(tests: &BTreeMap<String, Outcome>) -> impl Iterator<Item = (&String, Outcome)> {
    tests.iter().filter_map(|(name, outcome)| {
        let below = format!("{name}/");
        let subtests = || tests.range(below.clone()..).take_while(|(other, _)| other.starts_with(&below));
        let holds = match outcome {
            // A test may fail although its subtests pass.
            Outcome::Fail => subtests().any(|(_, subtest)| *subtest == Outcome::Fail),
            Outcome::Pass | Outcome::Skip => subtests().next().is_some(),
        };
        (!holds).then_some((name, *outcome))
    })
}

/// Notes an outcome; the worst of several stays.
fn raise(tests: &mut BTreeMap<String, Outcome>, name: &str, outcome: Outcome) {
    let known = tests.entry(name.to_owned()).or_insert(outcome);
    *known = outcome.max(*known);
}

/// Reads one event of `-json`.
fn json(line: &str, packages: &mut BTreeMap<String, Package>) -> Option<()> {
    let event: Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    let name = text("Package").or_else(|| text("ImportPath"))?;
    let outcome = match text("Action")? {
        "pass" => Outcome::Pass,
        "fail" | "build-fail" => Outcome::Fail,
        "skip" => Outcome::Skip,
        "start" | "run" | "output" | "pause" | "cont" | "bench" | "build-output" => return Some(()),
        _ => return None,
    };
    // The import path of a build is `example.com/sum [example.com/sum.test]`.
    let package = packages.entry(name.split(' ').next().unwrap_or(name).to_owned()).or_default();
    match text("Test") {
        Some(test) => raise(&mut package.tests, test, outcome),
        None => {
            package.failed |= outcome == Outcome::Fail;
        }
    }
    Some(())
}
