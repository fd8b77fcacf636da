//! What commands showed, as rows: a run of the tests, or many runs of one kind in one row.

use checkmate_machine::effect::CheckKind;
use checkmate_machine::evidence::{Ended, Receipt, Signal};
use checkmate_machine::verdict::red_message;

use super::lines::{Row, Sign, seconds};

/// Returns what a check is called, in at most nine letters.
pub(super) fn label(check: CheckKind) -> &'static str {
    match check {
        CheckKind::Baseline => "baseline",
        CheckKind::Tests => "tests",
        CheckKind::BuilderRun | CheckKind::Diagnostic => "command",
        CheckKind::Arbiter | CheckKind::ArbiterBase => "its test",
        CheckKind::Merged => "merged",
        CheckKind::OldTests => "old tests",
        CheckKind::BrokenTests | CheckKind::BrokenBase => "broken",
        CheckKind::NewTests => "new tests",
        CheckKind::Reverted => "reverted",
        CheckKind::Repeat(_) | CheckKind::RepeatBase(_) => "repeats",
        CheckKind::Example => "examples",
        CheckKind::Probe(_) | CheckKind::ProbeAgain(_) | CheckKind::ProbeBase(_) => "probes",
        CheckKind::CompareBase | CheckKind::Compare => "calls",
        CheckKind::Mutant(_) | CheckKind::CompareMutant(_) => "mutants",
    }
}

/// Tells whether many of these go into one row.
pub(super) fn is_one_of_many(check: CheckKind) -> bool {
    match check {
        CheckKind::Repeat(_)
        | CheckKind::RepeatBase(_)
        | CheckKind::Probe(_)
        | CheckKind::ProbeAgain(_)
        | CheckKind::ProbeBase(_)
        | CheckKind::CompareBase
        | CheckKind::Compare
        | CheckKind::Mutant(_)
        | CheckKind::CompareMutant(_) => true,
        CheckKind::Baseline
        | CheckKind::Tests
        | CheckKind::BuilderRun
        | CheckKind::Diagnostic
        | CheckKind::Arbiter
        | CheckKind::ArbiterBase
        | CheckKind::Merged
        | CheckKind::OldTests
        | CheckKind::BrokenTests
        | CheckKind::BrokenBase
        | CheckKind::NewTests
        | CheckKind::Reverted
        | CheckKind::Example => false,
    }
}

/// Returns the row of receipts that belong together.
pub(super) fn row(receipts: &[(CheckKind, Receipt)]) -> Option<Row> {
    let (check, first) = receipts.first()?;
    let (sign, text) = match (receipts, label(*check)) {
        (_, "repeats") => repeats(receipts),
        (_, "mutants") => mutants(receipts),
        (_, "probes") => probes(receipts),
        (_, "calls") => (Sign::Dot, format!("of changed functions compared in {}", runs(receipts.len()))),
        (_, _) => one(*check, first),
    };
    let spent: u64 = receipts.iter().map(|(_, receipt)| receipt.duration_ms).sum();
    let cached = receipts.iter().all(|(_, receipt)| receipt.cached);
    let time = if cached { "earlier run".to_owned() } else { seconds(spent) };
    Some(Row::new(sign, label(*check), text).took(time))
}

/// Says what one run showed. What is red on the old code, or with something taken back, is as a rule how it should be;
/// the verdict says which.
fn one(check: CheckKind, receipt: &Receipt) -> (Sign, String) {
    let signal = receipt.signal();
    let green = matches!(signal, Signal::Pass { .. });
    let said = said(&signal, receipt);
    match check {
        CheckKind::BuilderRun | CheckKind::Diagnostic => {
            let well = receipt.ended == (Ended::Exited { code: 0 });
            (Sign::of(well), format!("{} {}", receipt.command(), ended(receipt)))
        }
        CheckKind::NewTests if signal == Signal::Fail => (Sign::Good, format!("red on the old code: {said}")),
        CheckKind::NewTests => (Sign::Attention, format!("on the old code: {said}")),
        CheckKind::ArbiterBase => (Sign::Dot, format!("on the old code: {said}")),
        CheckKind::Arbiter => (Sign::Dot, format!("on the change: {said}")),
        CheckKind::OldTests => (Sign::of(green), format!("on the new code: {said}")),
        CheckKind::Reverted if signal == Signal::Fail => {
            (Sign::Good, format!("red without the changed functions: {said}"))
        }
        CheckKind::Reverted => (Sign::Attention, format!("without the changed functions: {said}")),
        CheckKind::BrokenTests => (Sign::Dot, format!("tests, on the change: {said}")),
        CheckKind::BrokenBase => (Sign::Dot, format!("tests, on the old code: {said}")),
        CheckKind::Baseline
        | CheckKind::Tests
        | CheckKind::Merged
        | CheckKind::Repeat(_)
        | CheckKind::RepeatBase(_)
        | CheckKind::Example
        | CheckKind::Probe(_)
        | CheckKind::ProbeAgain(_)
        | CheckKind::ProbeBase(_)
        | CheckKind::CompareBase
        | CheckKind::Compare
        | CheckKind::Mutant(_)
        | CheckKind::CompareMutant(_) => (Sign::of(green), said),
    }
}

/// Says what a run of the tests showed.
fn said(signal: &Signal, receipt: &Receipt) -> String {
    match signal {
        Signal::Pass { tests } => format!("{tests} passed"),
        Signal::Fail => red_message(receipt),
        Signal::Absent => "no test ran".into(),
        Signal::Flaky => "unstable".into(),
        Signal::Infra { reason } => reason.clone(),
    }
}

fn repeats(receipts: &[(CheckKind, Receipt)]) -> (Sign, String) {
    let on_base = receipts.iter().all(|(check, _)| matches!(check, CheckKind::RepeatBase(_)));
    let place = if on_base { " on the old code" } else { "" };
    let times = receipts.len();
    let often = if times == 1 { "once more".to_owned() } else { format!("{times} times more") };
    let other = receipts.iter().find(|(_, receipt)| !matches!(receipt.signal(), Signal::Pass { .. }));
    let (receipt, differing) = match other {
        Some((_, receipt)) => (receipt, true),
        None => match receipts.last() {
            Some((_, receipt)) => (receipt, false),
            None => return (Sign::Dot, String::new()),
        },
    };
    let said = said(&receipt.signal(), receipt);
    if !differing {
        return (Sign::Good, format!("{said}{place}, {often} with other seeds"));
    }
    let green = receipts.iter().filter(|(_, one)| matches!(one.signal(), Signal::Pass { .. })).count();
    let sign = if on_base { Sign::Dot } else { Sign::Bad };
    (sign, format!("{often}{place} with other seeds, green {green} times: {said}"))
}

/// Says what the tests made of small changes. Whether one that they do not notice matters is the verdict's to say.
fn mutants(receipts: &[(CheckKind, Receipt)]) -> (Sign, String) {
    let tested: Vec<Signal> = receipts
        .iter()
        .filter(|(check, _)| matches!(check, CheckKind::Mutant(_)))
        .map(|(_, receipt)| receipt.signal())
        .collect();
    let noticed = tested.iter().filter(|signal| **signal == Signal::Fail).count();
    let mut text = format!("the tests notice {noticed} of {} small changes", tested.len());
    let compared = receipts.len() - tested.len();
    if compared > 0 {
        text.push_str(&format!("; {compared} compared by calls"));
    }
    (if noticed == tested.len() { Sign::Good } else { Sign::Dot }, text)
}

/// Says how probes ended. Whether they hold is the verdict's to say: a probe has to prove that it was run to its end.
fn probes(receipts: &[(CheckKind, Receipt)]) -> (Sign, String) {
    let count = |of: fn(&CheckKind) -> bool| {
        let of: Vec<&Receipt> =
            receipts.iter().filter(|(check, _)| of(check)).map(|(_, receipt)| receipt).collect();
        let well = of.iter().filter(|receipt| receipt.ended == (Ended::Exited { code: 0 })).count();
        (well, of.len())
    };
    let mut parts = Vec::new();
    for (place, (well, all)) in [
        ("on the change", count(|check| matches!(check, CheckKind::Probe(_)))),
        ("on the old code", count(|check| matches!(check, CheckKind::ProbeBase(_)))),
        ("once more on the change", count(|check| matches!(check, CheckKind::ProbeAgain(_)))),
    ] {
        if all > 0 {
            parts.push(format!("{well} of {all} end well {place}"));
        }
    }
    (Sign::Dot, parts.join(", "))
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

fn ended(receipt: &Receipt) -> String {
    match &receipt.ended {
        Ended::Exited { code } => format!("(exit {code})"),
        Ended::Killed { signal } => format!("(signal {signal})"),
        Ended::TimedOut { limit_s } => format!("(over {limit_s} s)"),
        Ended::NotStarted { reason } => format!("({reason})"),
    }
}
