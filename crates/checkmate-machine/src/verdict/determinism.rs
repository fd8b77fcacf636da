//! The tests say the same whatever the hash seed, the number of threads and their order.

use super::GateName;
use super::evidence::{Evidence, Opinion, Reddened, Want, listed, reddened};
use crate::effect::CheckKind;
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
                let red =
                    matches!(reddened(receipt, evidence.tests), Reddened::ByTest(_) | Reddened::ByLoading);
                if red && evidence.receipt(base).is_none() {
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
        let names = match reddened(receipt, evidence.tests) {
            Reddened::ByTest(names) => names,
            Reddened::ByLoading => Vec::new(),
            Reddened::Not | Reddened::Unknown(_) => continue,
        };
        // What is as unstable on the old code was so before, and is not charged.
        let base =
            evidence.receipt(CheckKind::RepeatBase(seed)).map(|base| reddened(base, evidence.baseline));
        let before = match base {
            Some(Reddened::ByTest(before)) => before,
            Some(Reddened::ByLoading | Reddened::Not | Reddened::Unknown(_)) | None => Vec::new(),
        };
        let charged: Vec<String> = names.iter().filter(|name| !before.contains(name)).cloned().collect();
        if charged.is_empty() && names.is_empty() {
            unstable.push("the command itself".to_owned());
        }
        unstable.extend(charged);
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
