//! The tests say the same whatever the hash seed, the number of threads and their order.

use super::GateName;
use super::evidence::{Evidence, Opinion, Reddened, Want, listed, reddened};
use crate::effect::CheckKind;
use crate::evidence::{Ended, Receipt, Signal, Standing, standing};
use crate::facts::FileRole;
use crate::spec::Level;

/// How often the tests run again: with the first run five times.
const AGAIN: u32 = 4;
/// Under a budget, test runs longer than this are repeated only once, in milliseconds.
const LONG_MS: u64 = 60_000;

pub(super) fn wants(evidence: &Evidence<'_>) -> Vec<Want> {
    if evidence.level(GateName::Determinism) == Level::Off {
        return Vec::new();
    }
    let mut wants = Vec::new();
    for seed in 1..=times(evidence) {
        let kind = CheckKind::Repeat(seed);
        match evidence.receipt(kind) {
            None => wants.push(again(evidence, kind, seed)),
            Some(receipt) => {
                let base = CheckKind::RepeatBase(seed);
                if unlike(receipt, evidence.tests).is_some() && evidence.receipt(base).is_none() {
                    wants.push(again(evidence, base, seed));
                }
            }
        }
    }
    wants
}

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let times = times(evidence);
    if times == 0 {
        return Opinion::Absent("The change touches neither code nor tests.".into());
    }
    if !wants(evidence).is_empty() {
        return Opinion::Pending("It needs the tests to run again with other seeds.".into());
    }
    let mut unstable = Vec::new();
    for seed in 1..=times {
        let Some(receipt) = evidence.receipt(CheckKind::Repeat(seed)) else { continue };
        let Some(names) = unlike(receipt, evidence.tests) else { continue };
        // What is as unstable on the old code was so before, and is not charged.
        let base = evidence.receipt(CheckKind::RepeatBase(seed));
        match base.and_then(|base| unlike(base, evidence.baseline)) {
            Some(before) if before.is_empty() && names.is_empty() => {}
            Some(before) => unstable.extend(names.into_iter().filter(|name| !before.contains(name))),
            None if names.is_empty() => unstable.push("the command itself".to_owned()),
            None => unstable.extend(names),
        }
    }
    unstable.sort();
    unstable.dedup();
    if unstable.is_empty() {
        return Opinion::Passed(format!("Green {} times, with other seeds and orders.", times + 1));
    }
    Opinion::Blocked(format!(
        "The tests pass and fail on the same code: {}. Make them independent of hash order, time, randomness and of each \
         other.",
        listed(unstable.iter().map(String::as_str))
    ))
}

/// Returns what a run says otherwise than the one before it: the tests that fail, none where the command itself says no,
/// hangs or runs nothing. `None` if it says the same, or could not be run at all.
fn unlike(receipt: &Receipt, before: Option<&Receipt>) -> Option<Vec<String>> {
    match standing(receipt, before) {
        Standing::Green(_) | Standing::KnownRed(_) => None,
        Standing::Infra(_) => match receipt.ended {
            Ended::TimedOut { .. } | Ended::Killed { .. } => Some(Vec::new()),
            Ended::NotStarted { .. } | Ended::Exited { .. } => None,
        },
        Standing::Absent => before.is_none_or(|before| before.signal() != Signal::Absent).then(Vec::new),
        Standing::Unreported | Standing::Flaky => Some(Vec::new()),
        Standing::Red => match reddened(receipt, before) {
            Reddened::ByTest(names) => Some(names),
            Reddened::ByLoading | Reddened::Not | Reddened::Unknown(_) => Some(Vec::new()),
        },
    }
}

fn times(evidence: &Evidence<'_>) -> u32 {
    let tests = !evidence.fresh_tests().is_empty()
        || !evidence.effective(&[FileRole::Test, FileRole::TestSupport]).is_empty();
    let code = !evidence.effective(&[FileRole::Code, FileRole::Other]).is_empty();
    let times = match (tests, code) {
        (true, _) => AGAIN,
        (false, true) => 1,
        (false, false) => 0,
    };
    let long = evidence.level(GateName::Determinism) == Level::Budget && evidence.one_run_ms() > LONG_MS;
    if long { times.min(1) } else { times }
}

fn again(evidence: &Evidence<'_>, kind: CheckKind, seed: u32) -> Want {
    let tree =
        if matches!(kind, CheckKind::RepeatBase(_)) { evidence.base } else { &evidence.candidate.tree };
    let want = evidence.want_tests(kind, tree, &[]);
    Want { vary: Some(seed), limit_s: Some(evidence.generous_s()), ..want }
}
