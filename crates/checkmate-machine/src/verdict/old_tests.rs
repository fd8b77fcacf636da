//! The tests as they were, with their configuration as it was, pass on the new code.

use super::GateName;
use super::evidence::{Evidence, Opinion, Want, listed};
use crate::effect::CheckKind;
use crate::evidence::{Signal, Standing, fewer, standing};
use crate::spec::Level;
use crate::task::Permission;

pub(super) fn wants(evidence: &Evidence<'_>) -> Vec<Want> {
    let needed = evidence.level(GateName::OldTests) != Level::Off
        && !evidence.inspection.old_tests.is_empty()
        && evidence.receipt(CheckKind::OldTests).is_none();
    let want = || {
        let want = evidence.want_tests(
            CheckKind::OldTests,
            &evidence.candidate.tree,
            &evidence.inspection.old_tests,
        );
        Want { limit_s: Some(evidence.generous_s()), ..want }
    };
    needed.then(want).into_iter().collect()
}

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    if evidence.inspection.old_tests.is_empty() {
        return Opinion::Passed("The change touches no test and no configuration of tests.".into());
    }
    let Some(receipt) = evidence.receipt(CheckKind::OldTests) else {
        return Opinion::Pending("It needs a run of the old tests on the new code.".into());
    };
    let permitted =
        [Permission::ChangeTests, Permission::DeleteTests].into_iter().any(|one| evidence.permits.has(one));
    let blocked = |what: String| {
        Opinion::Blocked(format!(
            "The tests as they were before the change do not pass on it: {what} If the goal and a test contradict each \
             other, say so in `conflict`; the goal or a permit can allow to change a test."
        ))
    };
    match standing(receipt, evidence.baseline) {
        Standing::Green(_) | Standing::KnownRed(_) => match fewer(receipt, evidence.baseline) {
            Some(before) if !permitted => blocked(format!(
                "{} of them passed, where {before} did before.",
                receipt.report.as_ref().map_or(0, |report| report.passed)
            )),
            Some(_) | None => Opinion::Passed("The old tests pass on the new code.".into()),
        },
        Standing::Red => {
            let report = receipt.report.as_ref();
            let known = evidence.baseline.and_then(|baseline| baseline.report.as_ref());
            let names: Vec<&str> = report
                .map_or(&[][..], |report| &report.failing)
                .iter()
                .filter(|name| known.is_none_or(|known| !known.failing.contains(name)))
                .map(String::as_str)
                .collect();
            let loaded = report.is_some_and(|report| report.errors == 0);
            // A test that is permitted to go may use what went with it, and then nothing of its file loads.
            if permitted && !loaded {
                return Opinion::Absent(
                    "The old tests do not load on the new code, and the task permits to change them.".into(),
                );
            }
            let covered = |name: &&str| may_fail(evidence, name);
            if permitted && !names.is_empty() && names.iter().all(covered) {
                return Opinion::Passed(format!(
                    "Of the old tests only some fail that may change: {}.",
                    listed(names)
                ));
            }
            blocked(super::tests::red_message(receipt))
        }
        Standing::Flaky => blocked("they pass and fail on the same tree.".into()),
        Standing::Absent | Standing::Unreported if !had_tests(evidence) => {
            Opinion::Passed("There was no test before the change.".into())
        }
        Standing::Absent | Standing::Unreported => blocked("none of them ran.".into()),
        Standing::Infra(reason) => blocked(reason),
    }
}

/// Tells whether any test ran before the change.
fn had_tests(evidence: &Evidence<'_>) -> bool {
    evidence.baseline.is_some_and(|baseline| baseline.signal() != Signal::Absent)
}

/// Tells whether a failing test is one that the task permits to change or to delete.
fn may_fail(evidence: &Evidence<'_>, name: &str) -> bool {
    let facts = evidence.inspection.files.iter().flat_map(|file| &file.tests_before);
    let last = |test: &str| test.rsplit(['.', ':', '>']).next().unwrap_or(test).trim().to_owned();
    let mentions = facts.filter(|test| name.contains(&last(&test.name))).flat_map(|test| &test.mentions);
    let names: Vec<&str> = std::iter::once(name).chain(mentions.map(String::as_str)).collect();
    [Permission::ChangeTests, Permission::DeleteTests]
        .into_iter()
        .any(|permission| evidence.permits.allow(permission, names.iter().copied()))
}
