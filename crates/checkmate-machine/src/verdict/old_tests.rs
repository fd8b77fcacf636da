//! The tests as they were, with their configuration as it was, pass on the new code. Where the configuration may change,
//! the test command still has to notice tests that are broken on purpose.

use super::GateName;
use super::evidence::{Evidence, Opinion, Want, listed};
use crate::effect::CheckKind;
use crate::evidence::{Ended, Receipt, Signal, Standing, fewer, standing};
use crate::spec::Level;
use crate::task::Permission;

pub(super) fn wants(evidence: &Evidence<'_>) -> Vec<Want> {
    if evidence.level(GateName::OldTests) == Level::Off {
        return Vec::new();
    }
    let (inspection, new) = (evidence.inspection, &evidence.candidate.tree);
    [
        (CheckKind::OldTests, new, &inspection.old_tests),
        (CheckKind::BrokenTests, new, &inspection.broken_tests),
        (CheckKind::BrokenBase, evidence.base, &inspection.broken_tests),
    ]
    .into_iter()
    .filter(|(kind, _, layers)| !layers.is_empty() && evidence.receipt(*kind).is_none())
    .map(|(kind, tree, layers)| Want {
        limit_s: Some(evidence.generous_s()),
        ..evidence.want_tests(kind, tree, layers)
    })
    .collect()
}

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    match (noticed(evidence), on_the_new_code(evidence)) {
        (_, Opinion::Blocked(message)) | (Opinion::Blocked(message), _) => Opinion::Blocked(message),
        (noticed @ (Opinion::Pending(_) | Opinion::Objected(_)), _) => noticed,
        (noticed @ Opinion::Passed(_), _) if evidence.inspection.old_tests.is_empty() => noticed,
        (_, opinion) => opinion,
    }
}

/// Tells whether the test command notices tests that are broken on purpose, if it did before the change: one that a
/// permitted change of configuration made blind is green whatever the code does.
fn noticed(evidence: &Evidence<'_>) -> Opinion {
    if evidence.inspection.broken_tests.is_empty() || !had_tests(evidence) {
        return Opinion::Absent("The change does not touch what decides how tests run.".into());
    }
    let (Some(before), Some(after)) =
        (evidence.receipt(CheckKind::BrokenBase), evidence.receipt(CheckKind::BrokenTests))
    else {
        return Opinion::Pending("It needs runs with tests that are broken on purpose.".into());
    };
    let ends_well = |receipt: &Receipt| receipt.ended == Ended::Exited { code: 0 };
    match (standing(before, evidence.baseline), standing(after, evidence.baseline)) {
        (Standing::Green(_) | Standing::KnownRed(_) | Standing::Infra(_), _) | (_, Standing::Infra(_)) => {
            Opinion::Absent("The test command did not notice broken tests before the change either.".into())
        }
        (_, Standing::Green(_) | Standing::KnownRed(_)) => Opinion::Blocked(
            "The change alters how tests run, and the test command does not notice any more when every test file is broken \
             on purpose: it is green whatever the code does. Have it run the tests again."
                .into(),
        ),
        // Its report may say no; whoever goes by its exit code hears yes.
        _ if ends_well(after) && !ends_well(before) => {
            let text = "The change alters how tests run, and the test command ends well now although tests fail in it. Let \
                        it end with an error, or say why it may not.";
            Opinion::Objected(vec![evidence.objection(GateName::OldTests, "ends well", text.to_owned())])
        }
        _ => match evidence.tests.and_then(|tests| fewer(tests, evidence.baseline)) {
            Some(count) if !may_lose_tests(evidence) => {
                let text = format!(
                    "The change alters how tests run, and fewer of them run now: {count} passed before. Have all of them \
                     run, or say which ones may go."
                );
                Opinion::Objected(vec![evidence.objection(GateName::OldTests, "fewer run", text)])
            }
            Some(_) | None => Opinion::Passed("The test command notices tests that are broken on purpose.".into()),
        },
    }
}

/// Tells whether the task permits that existing tests change or go.
fn may_lose_tests(evidence: &Evidence<'_>) -> bool {
    [Permission::ChangeTests, Permission::DeleteTests].into_iter().any(|one| evidence.permits.has(one))
}

fn on_the_new_code(evidence: &Evidence<'_>) -> Opinion {
    if evidence.inspection.old_tests.is_empty() {
        return Opinion::Passed("The change touches no test and no configuration of tests.".into());
    }
    let Some(receipt) = evidence.receipt(CheckKind::OldTests) else {
        return Opinion::Pending("It needs a run of the old tests on the new code.".into());
    };
    let permitted = may_lose_tests(evidence);
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
