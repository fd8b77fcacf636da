//! New tests can fail: they assert something, and a failure is noticed.

use super::GateName;
use super::evidence::{Evidence, Objection, Opinion, listed};
use crate::facts::{Lost, SpotKind, Strength, TestFunction};
use crate::spec::TaskKind;

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let fresh = evidence.fresh_tests();
    if fresh.is_empty() {
        return Opinion::Absent("The change adds no test.".into());
    }
    let telling = fresh.iter().any(|(_, test)| weakness(test).is_none());
    let mut objections: Vec<Objection> = fresh
        .iter()
        .filter_map(|(file, test)| {
            let weakness = weakness(test)?;
            // A test that only has to end without an error may stand beside one that looks closer.
            if telling && weakness == Weakness::Silent {
                return None;
            }
            let text =
                format!("The test `{}` in {}:{} {}.", test.name, file.path, test.line, weakness.told());
            Some(evidence.objection(GateName::Assertions, &format!("{}{}", file.path, test.name), text))
        })
        .collect();
    objections.extend(by_the_clock(evidence));
    objections.extend(left_out(evidence));
    if objections.is_empty() {
        return Opinion::Passed("Every new test can fail.".into());
    }
    Opinion::Objected(objections)
}

/// Objects to values that the goal lists one by one and no test uses.
fn left_out(evidence: &Evidence<'_>) -> Option<Objection> {
    let values = &evidence.inspection.untested_values;
    let asked = evidence.kind.is(&[TaskKind::Feature, TaskKind::Bugfix]);
    (asked && !values.is_empty()).then(|| {
        let text = format!(
            "The goal lists values that no test uses: {}. Test each of them, or say why it needs no test.",
            listed(values.iter().map(String::as_str))
        );
        evidence.objection(GateName::Assertions, &values.join(" "), text)
    })
}

/// Why a test cannot fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weakness {
    Silent,
    Trivial,
    Swallowed,
    Unreachable,
}

impl Weakness {
    fn told(self) -> &'static str {
        match self {
            Weakness::Silent => "asserts nothing; assert what should come out",
            Weakness::Trivial => "asserts only what is always true; compare with what the goal says",
            Weakness::Swallowed => "swallows the failure of its assertions; let them fail",
            Weakness::Unreachable => "never reaches its assertions; let them run",
        }
    }
}

fn weakness(test: &TestFunction) -> Option<Weakness> {
    let telling = test.assertions.iter().any(|one| one.lost.is_none() && one.strength != Strength::Trivial);
    if telling || test.skipped.is_some() {
        return None;
    }
    let lost = |wanted: Lost| test.assertions.iter().any(|one| one.lost == Some(wanted));
    Some(if test.assertions.is_empty() {
        Weakness::Silent
    } else if lost(Lost::Swallowed) {
        Weakness::Swallowed
    } else if lost(Lost::Unreachable) {
        Weakness::Unreachable
    } else {
        Weakness::Trivial
    })
}

/// Objects to tests that wait for time to pass or read a clock or chance, unless they are about threads or tasks.
fn by_the_clock(evidence: &Evidence<'_>) -> Vec<Objection> {
    let concurrent = |name: &String| {
        let name = name.to_lowercase();
        [
            "thread", "async", "await", "spawn", "promise", "worker", "lock", "queue", "timer", "timeout",
            "clock", "ttl", "expire",
        ]
        .iter()
        .any(|word| name.contains(word))
    };
    let mut objections = Vec::new();
    for file in &evidence.inspection.files {
        let threads = |name: &String| {
            let name = name.to_lowercase();
            ["thread", "async", "await", "spawn", "promise", "worker", "monotonic", "perf_counter"]
                .iter()
                .any(|word| name.contains(word))
        };
        let concurrently = file.tests_after.iter().any(|test| test.mentions.iter().any(threads));
        let about_time = file
            .tests_after
            .iter()
            .any(|test| concurrent(&test.name) || test.mentions.iter().any(concurrent));
        for spot in &file.spots {
            let told = match spot.kind {
                SpotKind::Sleep if !about_time => "waits for time to pass",
                SpotKind::Chance if !concurrently => "depends on chance or on the clock",
                SpotKind::Sleep
                | SpotKind::Chance
                | SpotKind::TestProbe
                | SpotKind::Exit
                | SpotKind::ExitHook
                | SpotKind::FrameworkPatch
                | SpotKind::CollectionHook
                | SpotKind::AlwaysEqual
                | SpotKind::TreeWrite
                | SpotKind::SharedLiteral
                | SpotKind::Swallow
                | SpotKind::Silencer => continue,
            };
            let text = format!(
                "`{}` in {}:{} {told}. Make the test independent of it, or say why it has to be so.",
                spot.text, file.path, spot.line
            );
            objections.push(evidence.objection(
                GateName::Assertions,
                &format!("{}{}", file.path, spot.text),
                text,
            ));
        }
    }
    objections.truncate(5);
    objections
}
