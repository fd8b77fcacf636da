//! Laws of the verdict, over any facts and any receipts.
//!
//! - It judges whatever it is given, twice the same, and approves exactly if every gate passes.
//! - Asking comes to an end, asks nothing twice, and leaves nothing pending unless something blocks.
//! - One more red test never turns what was not approved into something that is.
//! - Answers and reviews lift no blocked gate, and one answer less approves nothing.

mod cases;

use checkmate_machine::effect::CheckKind;
use checkmate_machine::evidence::{Ended, Receipt, Signal};
use checkmate_machine::reply::{AnswerKind, FindingAnswer};
use checkmate_machine::verdict::{Decision, GateName, ReviewState, State, Verdict, plan};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree as _;

use cases::{Told, told};

/// How many rounds of questions there may be, and how many questions in one.
const ROUNDS: usize = 60;
const AT_ONCE: usize = 60;

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, ..ProptestConfig::default() })]

    #[test]
    fn it_judges_whatever_it_is_given(case in told()) {
        let verdict = case.judge(&case.answers, case.review);
        prop_assert_eq!(&verdict, &case.judge(&case.answers, case.review));
        let passes = verdict.gates.iter().all(|gate| gate.passed);
        prop_assert_eq!(verdict.decision == Decision::Approved, passes);
        for gate in &verdict.gates {
            prop_assert!(!gate.message.is_empty(), "{gate:?}");
            prop_assert_eq!(gate.passed, !matches!(gate.state, State::Objected | State::Blocked | State::Pending), "{:?}", gate);
        }
        let evidence = case.evidence(&case.answers);
        prop_assert_eq!(plan::next(&evidence), plan::next(&evidence));
    }

    #[test]
    fn asking_ends(case in told()) {
        let (case, rounds) = examined(case);
        prop_assert!(rounds < ROUNDS, "{rounds} rounds");
        let verdict = case.judge(&case.answers, case.review);
        let blocked = verdict.gates.iter().any(|gate| gate.state == State::Blocked && is_evidence(gate.gate));
        if !blocked {
            prop_assert_eq!(verdict.gates.iter().find(|gate| gate.state == State::Pending), None);
        }
    }

    #[test]
    fn one_more_red_test_approves_nothing(case in told(), which in any::<Index>()) {
        let (mut case, _) = examined(case);
        let before = case.judge(&case.answers, case.review);
        let green: Vec<(CheckKind, Receipt)> = case
            .receipts
            .iter()
            .filter(|(kind, receipt)| should_be_green(*kind) && matches!(receipt.signal(), Signal::Pass { .. }))
            .cloned()
            .collect();
        if green.is_empty() || before.decision == Decision::Approved {
            return Ok(());
        }
        let (kind, receipt) = which.get(&green);
        case.receipts.push((*kind, redder(receipt)));
        let after = case.judge(&case.answers, case.review);
        prop_assert_ne!(after.decision, Decision::Approved, "{:?}: {:#?}\n{:#?}", kind, before, after);
    }

    #[test]
    fn a_red_run_of_the_tests_approves_nothing(case in told()) {
        let (mut case, _) = examined(case);
        let before = case.judge(&case.answers, case.review);
        if before.decision == Decision::Approved {
            return Ok(());
        }
        case.tests.push(redder(&case.tests[0]));
        let after = case.judge(&case.answers, case.review);
        prop_assert_ne!(after.decision, Decision::Approved);
    }

    #[test]
    fn words_lift_nothing_that_is_blocked(case in told(), which in any::<Index>()) {
        let (case, _) = examined(case);
        let silent = case.judge(&[], ReviewState::Missing);
        let answers: Vec<FindingAnswer> = silent
            .gates
            .iter()
            .flat_map(|gate| &gate.objections)
            .map(|objection| FindingAnswer {
                to: objection.id.clone(),
                answer: AnswerKind::Justified,
                text: "It has to be so.".into(),
            })
            .collect();
        let answered = case.judge(&answers, ReviewState::Moderated);
        for (before, after) in silent.gates.iter().zip(&answered.gates) {
            if is_evidence(before.gate) {
                prop_assert_eq!(before.state == State::Blocked, after.state == State::Blocked);
            }
        }
        if answers.is_empty() {
            return Ok(());
        }
        // Each objection is one of its own, so each answer is needed.
        let mut fewer = answers.clone();
        let gone = fewer.remove(which.index(answers.len()));
        if fewer.iter().all(|answer| answer.to != gone.to) {
            let less = case.judge(&fewer, ReviewState::Moderated);
            prop_assert_ne!(less.decision, Decision::Approved, "without {}", gone.to);
        }
        for review in [ReviewState::Missing, ReviewState::SkippedByConfiguration] {
            prop_assert_ne!(case.judge(&answers, review).decision, Decision::Approved, "nobody saw the answers");
        }
    }
}

/// The laws above would say little about cases that never come far.
#[test]
fn the_cases_come_far() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut approved, mut objected, mut mutants) = (0, 0, 0);
    for _ in 0..600 {
        let case = told().new_tree(&mut runner).unwrap().current();
        let (case, _) = examined(case);
        let verdict: Verdict = case.judge(&case.answers, ReviewState::Done);
        approved += u32::from(verdict.decision == Decision::Approved);
        objected += u32::from(verdict.decision == Decision::Objections);
        mutants += u32::from(case.receipts.iter().any(|(kind, _)| matches!(kind, CheckKind::Mutant(_))));
    }
    assert!(
        approved > 30 && objected > 30 && mutants > 30,
        "of 600: {approved} approved, {objected} with objections, {mutants} with mutants"
    );
}

/// Asks what the gates ask until they ask nothing more.
fn examined(mut case: Told) -> (Told, usize) {
    case.receipts.clear();
    for round in 0..ROUNDS {
        let wants = plan::next(&case.evidence(&case.answers));
        if wants.is_empty() {
            return (case, round);
        }
        assert!(wants.len() <= AT_ONCE, "{} questions at once", wants.len());
        for (at, want) in wants.iter().enumerate() {
            // What could not be started is asked once more, anything else once.
            let told = |(kind, receipt): &&(CheckKind, Receipt)| {
                *kind == want.kind && !matches!(receipt.ended, Ended::NotStarted { .. })
            };
            let asked = case.receipts.iter().filter(|(kind, _)| *kind == want.kind).count();
            assert!(!case.receipts.iter().any(|one| told(&one)), "{:?} is asked twice", want.kind);
            assert!(asked < 2, "{:?} is asked three times", want.kind);
            let receipt = case.say(want, round * 7 + at);
            case.receipts.push((want.kind, receipt));
        }
    }
    (case, ROUNDS)
}

fn is_evidence(gate: GateName) -> bool {
    GateName::SWITCHED.contains(&gate) || gate == GateName::Tests
}

/// Tells whether a red run of this kind speaks against the change.
fn should_be_green(kind: CheckKind) -> bool {
    matches!(kind, CheckKind::OldTests | CheckKind::Repeat(_) | CheckKind::Example | CheckKind::Probe(_))
}

/// Returns the same run with one more red test.
fn redder(receipt: &Receipt) -> Receipt {
    let mut red = receipt.clone();
    red.ended = Ended::Exited { code: 1 };
    red.stdout.text.clear();
    if let Some(report) = &mut red.report {
        report.failed = report.failed.saturating_add(1);
        report.passed = report.passed.saturating_sub(1);
        report.failing.push("test_more".into());
    }
    red
}
