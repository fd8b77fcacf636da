//! The verdict alone, over random receipts: only those of the very tree count.

use checkmate_machine::command::CommandLine;
use checkmate_machine::evidence::{Ended, Output, Receipt, TestReport};
use checkmate_machine::ids::TreeId;
use checkmate_machine::spec::{EvidenceRules, LandPolicy, PatchForm, Policy, ReviewMode, Strictness};
use checkmate_machine::verdict::{Case, Decision, ReviewState, judge};
use fastrand::Rng;

fn receipt(rng: &mut Rng) -> Receipt {
    let (passed, failed) = (rng.u32(0..3), rng.u32(0..2));
    let failing: Vec<String> = (0..failed).map(|_| format!("t{}", rng.u32(0..3))).collect();
    let ended = match rng.u32(0..6) {
        0 => Ended::TimedOut { limit_s: 1 },
        1 => Ended::Exited { code: 1 },
        _ => Ended::Exited { code: i32::from(failed > 0) },
    };
    Receipt {
        tree: TreeId::new(*rng.choice(&["one", "two"]).expect("there are two")),
        saw: None,
        seed: None,
        argv: vec!["run".into()],
        shell: false,
        of_repository: true,
        ended,
        report: Some(TestReport { passed, failed, failing, runner: "tap".into(), ..TestReport::default() }),
        stdout: Output::default(),
        stderr: Output::default(),
        duration_ms: 1,
        cached: false,
    }
}

#[test]
fn an_approval_has_a_passing_receipt_of_its_own_tree() {
    let policy = Policy {
        max_iterations: 1,
        review_mode: ReviewMode::Always,
        review_on_test_pass: true,
        strictness: Strictness::Balanced,
        patch_form: PatchForm::default(),
        moderator: false,
        context_summary_threshold: 1,
        allow_paths: Vec::new(),
        allow_commands: Vec::new(),
        test_command: CommandLine::from_user("run").expect("it is a command"),
        approve_patches: false,
        interactive: false,
        land: LandPolicy::Apply,
        evidence: EvidenceRules::default(),
        examiner: false,
        budget: Default::default(),
    };
    let mut approvals = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::with_seed(seed);
        let receipts: Vec<Receipt> = (0..rng.usize(0..4)).map(|_| receipt(&mut rng)).collect();
        let baseline = receipt(&mut rng);
        let candidate = TreeId::new("one");
        let review =
            *rng.choice(&[ReviewState::Done, ReviewState::Moderated, ReviewState::Missing]).expect("three");
        let tests: Vec<&Receipt> = receipts.iter().collect();
        let case = Case {
            policy: &policy,
            candidate: &candidate,
            tests: &tests,
            baseline: Some(&baseline),
            review,
            findings: &[],
            evidence: None,
        };
        let verdict = judge(&case);
        if verdict.decision != Decision::Approved {
            continue;
        }
        approvals += 1;
        assert_ne!(review, ReviewState::Missing, "seed {seed}");
        let own = receipts.iter().filter(|receipt| receipt.tree == candidate);
        let good = own.filter(|receipt| {
            let Some(report) = &receipt.report else { return false };
            let known =
                |name: &String| baseline.report.as_ref().is_some_and(|old| old.failing.contains(name));
            let green = report.failed == 0 && receipt.ended == Ended::Exited { code: 0 };
            let known_red = report.failed > 0 && report.failing.iter().all(known);
            report.passed > 0 && (green || known_red)
        });
        assert!(good.count() > 0, "seed {seed}: {receipts:?} against {baseline:?}");
    }
    assert!(approvals > 500, "{approvals} approvals are too few to mean anything");
}
