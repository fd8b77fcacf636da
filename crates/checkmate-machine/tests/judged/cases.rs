//! Cases of any kind: names come from small pools, so that they meet.

use checkmate_machine::command::CommandLine;
use checkmate_machine::effect::{CheckKind, Layer};
use checkmate_machine::event::{Candidate, Change, ChangeKind, FileFact};
use checkmate_machine::evidence::{Ended, Output, Receipt, TestReport};
use checkmate_machine::facts::{
    Assertion, CallOrigin, ComparedCall, Comparison, Entry, FileFacts, FileRole, Inspection, Lost, Mutant,
    Reading, Section, Spot, SpotKind, Strength, TestFunction,
};
use checkmate_machine::ids::TreeId;
use checkmate_machine::probe::{Probe, Probes};
use checkmate_machine::reply::{AnswerKind, FindingAnswer};
use checkmate_machine::spec::{
    EvidenceRules, Examples, LandPolicy, Level, PatchForm, Policy, ReviewMode, Strictness, Task, TaskKind,
};
use checkmate_machine::task::{self, Permits};
use checkmate_machine::verdict::evidence::{Evidence, Want};
use checkmate_machine::verdict::{Case, GateName, ReviewState, Verdict, judge};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

const TESTS: [&str; 4] = ["test_a", "test_b", "test_c", "Sum.test_d"];
const PATHS: [&str; 5] =
    ["src/sum.py", "tests/test_sum.py", "package.json", "pytest.ini", "tests/numbers.json"];
const GOALS: [&str; 8] = [
    "Hello.",
    "Fix sum() for repeated numbers.",
    "Add a test for sum().",
    "Document sum() in README.md.",
    "Refactor sum().",
    "Remove `sum` and its tests.",
    "Make test_a and test_b pass.",
    "Add the semver package as a dependency.",
];

/// Everything that a verdict is computed from.
#[derive(Debug, Clone)]
pub(super) struct Told {
    policy: Policy,
    task: Task,
    permits: Permits,
    base: TreeId,
    inspection: Inspection,
    candidate: Candidate,
    files: Vec<FileFact>,
    probes: Probes,
    baseline: Option<Receipt>,
    /// What commands say, in some order.
    says: Vec<Say>,
    pub(super) tests: Vec<Receipt>,
    pub(super) receipts: Vec<(CheckKind, Receipt)>,
    pub(super) answers: Vec<FindingAnswer>,
    risks: Vec<String>,
    pub(super) review: ReviewState,
}

/// What a command says.
#[derive(Debug, Clone)]
enum Say {
    /// What an honest change would let it say.
    Pleasant,
    /// The opposite.
    Unpleasant,
    Any(Box<Receipt>),
}

impl Told {
    pub(super) fn evidence<'a>(&'a self, answers: &'a [FindingAnswer]) -> Evidence<'a> {
        Evidence {
            read: true,
            policy: &self.policy,
            task: &self.task,
            kind: task::kind(&self.task),
            permits: &self.permits,
            base: &self.base,
            candidate: &self.candidate,
            inspection: &self.inspection,
            baseline: self.baseline.as_ref(),
            tests: self.tests.first(),
            receipts: &self.receipts,
            probes: &self.probes,
            answers,
            risks: &self.risks,
            files: &self.files,
            nonce: "nonce",
        }
    }

    pub(super) fn judge(&self, answers: &[FindingAnswer], review: ReviewState) -> Verdict {
        judge(&Case {
            policy: &self.policy,
            candidate: &self.candidate.tree,
            tests: &self.tests.iter().collect::<Vec<_>>(),
            baseline: self.baseline.as_ref(),
            review,
            findings: &[],
            evidence: Some(self.evidence(answers)),
        })
    }

    /// Says something to what is wanted.
    pub(super) fn say(&self, want: &Want, at: usize) -> Receipt {
        let pleasant = match &self.says[at % self.says.len()] {
            Say::Any(receipt) => return Receipt { tree: want.tree.clone(), ..(**receipt).clone() },
            Say::Pleasant => true,
            Say::Unpleasant => false,
        };
        let red_is_pleasant = matches!(
            want.kind,
            CheckKind::NewTests | CheckKind::Reverted | CheckKind::Mutant(_) | CheckKind::ProbeBase(_)
        );
        let compares =
            matches!(want.kind, CheckKind::Compare | CheckKind::CompareBase | CheckKind::CompareMutant(_));
        let text = if compares {
            let odd = u8::from(pleasant == matches!(want.kind, CheckKind::CompareMutant(_)));
            (0..12).map(|call| format!("t0 {call} {}\n", call * odd)).collect()
        } else {
            ended(want)
        };
        let receipt = if pleasant == red_is_pleasant {
            super::redder(&self.tests[0])
        } else {
            Receipt { stdout: output(text), ..self.tests[0].clone() }
        };
        Receipt { tree: want.tree.clone(), ..receipt }
    }
}

/// Returns what a program prints that comes to its end.
fn ended(want: &Want) -> String {
    let texts = want.layers.iter().filter_map(|layer| match layer {
        Layer::Text { text, .. } => Some(text),
        Layer::Files { .. } | Layer::Edit { .. } => None,
    });
    let nonce = |text: &String| text.find("checkmate-end-").map(|at| text[at..at + 30].to_owned());
    texts.filter_map(nonce).collect()
}

fn output(text: String) -> Output {
    Output { bytes: text.len() as u64, text, sha256: String::new() }
}

pub(super) fn told() -> impl Strategy<Value = Told> {
    let rules = (levels(), task(), vec(say(), 1..9));
    let facts = (inspection(), probes(), prop::bool::weighted(0.1));
    let runs = (option::weighted(0.9, any_or_green()), any_or_green(), vec((check_kind(), receipt()), 0..6));
    let risk = prop::bool::weighted(0.9).prop_map(|named| {
        if named { "Reads versions with semver." } else { "None that I know of." }.to_owned()
    });
    let words = (vec(answer(), 0..3), vec(risk, 1..3), review());
    (rules, facts, runs, words).prop_map(|((evidence, task, says), facts, runs, (answers, risks, review))| {
        let (inspection, probes, leaks) = facts;
        // Put together here, so that no scanner takes this file for a leak.
        let key = ["9fK2mQ7x", "T4bV8nZ1c"].concat();
        let diff = if leaks { format!("@@ -1 +1 @@\n+api_key = \"{key}\"\n") } else { String::new() };
        let (baseline, tests, receipts) = runs;
        let candidate = TreeId::new("candidate");
        let changes = inspection.files.iter().map(|file| Change {
            path: file.path.clone(),
            kind: if file.tests_before.is_empty() { ChangeKind::Added } else { ChangeKind::Modified },
            old_mode: if file.tests_before.is_empty() { "000000" } else { "100644" }.into(),
            new_mode: "100644".into(),
            added: 1,
            removed: 1,
        });
        Told {
            policy: policy(evidence),
            permits: Permits::of(&task),
            task,
            base: TreeId::new("base"),
            candidate: Candidate { tree: candidate.clone(), changes: changes.collect(), diff },
            inspection,
            files: vec![FileFact { path: "src/old.py".into(), bytes: 1, symbols: Vec::new() }],
            probes,
            baseline,
            says,
            tests: vec![Receipt { tree: candidate, ..tests }],
            receipts,
            answers,
            risks,
            review,
        }
    })
}

fn policy(evidence: EvidenceRules) -> Policy {
    Policy {
        max_iterations: 3,
        review_mode: ReviewMode::Always,
        review_on_test_pass: true,
        strictness: Strictness::Balanced,
        patch_form: PatchForm::default(),
        moderator: false,
        context_summary_threshold: 2000,
        allow_paths: Vec::new(),
        allow_commands: Vec::new(),
        test_command: CommandLine::from_user("npm test").unwrap(),
        approve_patches: false,
        interactive: false,
        land: LandPolicy::Apply,
        evidence,
        examiner: true,
        budget: Default::default(),
    }
}

fn levels() -> impl Strategy<Value = EvidenceRules> {
    let level = select(vec![Level::Off, Level::On, Level::Budget]);
    let levels = vec((select(GateName::SWITCHED.to_vec()), level), 0..4);
    levels.prop_map(|levels| {
        let mut rules = EvidenceRules::usual();
        rules.levels.extend(levels);
        rules
    })
}

fn task() -> impl Strategy<Value = Task> {
    let kinds = vec![
        TaskKind::Feature,
        TaskKind::Bugfix,
        TaskKind::Bugfix,
        TaskKind::Refactor,
        TaskKind::Docs,
        TaskKind::Tests,
        TaskKind::Chore,
    ];
    let permits = vec(select(vec!["change_tests", "delete_tests: test_a", "config", "deps: semver"]), 0..3);
    let example = option::weighted(
        0.2,
        Just(Examples {
            path: "examples/sum.py".into(),
            run: "python3 examples/sum.py".into(),
            content: "assert True".into(),
        }),
    );
    (select(GOALS.to_vec()), option::of(select(kinds)), permits, prop::bool::weighted(0.1), example).prop_map(
        |(goal, kind, permits, given_red, examples)| Task {
            goal: goal.into(),
            kind,
            permits: permits.into_iter().map(str::to_owned).collect(),
            given_red,
            examples,
            follows: None,
        },
    )
}

fn probes() -> impl Strategy<Value = Probes> {
    let probe =
        select(vec!["probe_1.py", "tests/test_probe.py", "src/old.py", "../x.py"]).prop_map(|path| Probe {
            id: path.into(),
            criterion: "it sums".into(),
            path: path.into(),
            run: format!("python3 {path}"),
            content: "assert True".into(),
        });
    (vec(probe, 0..3), any::<bool>()).prop_map(|(list, dismissed)| {
        let mut probes = Probes::new(list);
        if dismissed {
            probes.dismiss("probe_1.py");
        }
        probes
    })
}

fn say() -> impl Strategy<Value = Say> {
    prop_oneof![8 => Just(Say::Pleasant), 2 => Just(Say::Unpleasant), 1 => receipt().prop_map(|receipt| Say::Any(Box::new(receipt)))]
}

fn answer() -> impl Strategy<Value = FindingAnswer> {
    let to = select(vec!["red_green-9fa4", "mutation-1edd", "scope-6efe", "x"]);
    let answer = select(vec![AnswerKind::Fixed, AnswerKind::Justified, AnswerKind::Disagree]);
    (to, answer).prop_map(|(to, answer)| FindingAnswer { to: to.into(), answer, text: "so".into() })
}

fn review() -> impl Strategy<Value = ReviewState> {
    select(vec![
        ReviewState::Missing,
        ReviewState::Done,
        ReviewState::SkippedByConfiguration,
        ReviewState::Moderated,
    ])
}

fn check_kind() -> impl Strategy<Value = CheckKind> {
    let kinds: [fn(u32) -> CheckKind; 16] = [
        |_| CheckKind::OldTests,
        |_| CheckKind::BrokenTests,
        |_| CheckKind::BrokenBase,
        |_| CheckKind::NewTests,
        |_| CheckKind::Reverted,
        |_| CheckKind::Example,
        |_| CheckKind::Compare,
        |_| CheckKind::CompareBase,
        |_| CheckKind::Merged,
        CheckKind::Repeat,
        CheckKind::RepeatBase,
        CheckKind::Probe,
        CheckKind::ProbeAgain,
        CheckKind::ProbeBase,
        CheckKind::Mutant,
        CheckKind::CompareMutant,
    ];
    (select(kinds.to_vec()), 0_u32..6).prop_map(|(kind, number)| kind(number))
}

fn any_or_green() -> impl Strategy<Value = Receipt> {
    let green = receipt().prop_map(|receipt| Receipt {
        ended: Ended::Exited { code: 0 },
        of_repository: true,
        report: receipt.report.map(|_| TestReport {
            passed: 3,
            runner: "tap".into(),
            ..TestReport::default()
        }),
        ..receipt
    });
    prop_oneof![4 => green, 1 => receipt()]
}

fn receipt() -> impl Strategy<Value = Receipt> {
    let ended = prop_oneof![
        4 => select(vec![0, 0, 1, 5, 126, 127]).prop_map(|code| Ended::Exited { code }),
        1 => Just(Ended::TimedOut { limit_s: 9 }),
        1 => Just(Ended::Killed { signal: 11 }),
        1 => Just(Ended::NotStarted { reason: "no such file".into() }),
    ];
    let report = option::weighted(0.8, report());
    let duration = select(vec![1_u64, 1, 1, 70_000, u64::MAX]);
    let text = select(vec!["", "t0 0 1\n", "t0 0 2\nt0 1 raises E\nt0 x y\n", "AssertionError: no\n"]);
    (ended, report, duration, text, any::<bool>(), any::<bool>()).prop_map(
        |(ended, report, duration_ms, text, shell, of_repository)| Receipt {
            tree: TreeId::new("candidate"),
            saw: None,
            seed: None,
            cached: false,
            argv: vec!["npm".into(), "test".into()],
            shell,
            of_repository,
            ended,
            report,
            stdout: output(text.to_owned()),
            stderr: Output::default(),
            duration_ms,
        },
    )
}

fn report() -> impl Strategy<Value = TestReport> {
    let count = || select(vec![0_u32, 1, 3, u32::MAX]);
    let names = || vec(select(TESTS.to_vec()).prop_map(str::to_owned), 0..3);
    let flaky = prop_oneof![5 => Just(Vec::new()), 1 => names()];
    (count(), count(), prop::bool::weighted(0.2), names(), flaky).prop_map(
        |(passed, failed, errors, failing, flaky)| TestReport {
            runner: "pytest".into(),
            passed,
            failed,
            errors: u32::from(errors),
            skipped: 0,
            failing,
            flaky,
        },
    )
}

fn inspection() -> impl Strategy<Value = Inspection> {
    let layers = || any::<bool>().prop_map(|some| if some { vec![layer()] } else { Vec::new() });
    let symbols = vec(Just("clamp".to_owned()), 0..2);
    let plain = (vec(file(), 0..4), layers(), layers(), layers(), layers(), symbols);
    let more = (vec(mutant(), 0..14), option::of(comparison()));
    (plain, more).prop_map(
        |((files, old_tests, broken_tests, new_tests, reverted, added_symbols), (mutants, comparison))| {
            Inspection {
                files,
                old_tests,
                broken_tests,
                new_tests,
                reverted,
                added_symbols,
                mutants,
                comparison,
                untested_values: Vec::new(),
                notes: Vec::new(),
            }
        },
    )
}

fn layer() -> Layer {
    Layer::Text { path: "x".into(), text: "x".into() }
}

fn file() -> impl Strategy<Value = FileFacts> {
    let roles = vec![
        FileRole::Code,
        FileRole::Code,
        FileRole::Code,
        FileRole::Test,
        FileRole::Test,
        FileRole::Test,
        FileRole::TestSupport,
        FileRole::Docs,
        FileRole::Other,
    ];
    let protected = vec![
        FileRole::TestConfig,
        FileRole::BuildConfig,
        FileRole::Ci,
        FileRole::Manifest,
        FileRole::Lock,
        FileRole::Environment,
        FileRole::Git,
    ];
    let role = prop_oneof![30 => select(roles), 1 => select(protected)];
    let reading = select(vec![Reading::Tree, Reading::Tree, Reading::Lines, Reading::Unread]);
    let tests = (vec(test(), 0..3), any::<bool>(), vec(test(), 0..3));
    let more = (
        prop_oneof![6 => Just(Vec::new()), 1 => vec(spot(), 1..3)],
        prop_oneof![9 => Just(Vec::new()), 1 => vec(entry(), 0..2)],
    );
    (select(PATHS.to_vec()), role, reading, any::<(bool, bool)>(), tests, more).prop_map(
        |(path, role, reading, (effective, code_differs), (before, kept, mut after), (spots, entries))| {
            if kept {
                after.splice(0..0, before.iter().cloned());
            }
            FileFacts {
                path: path.into(),
                role,
                reading,
                effective,
                code_differs,
                tests_before: if kept { before } else { Vec::new() },
                tests_after: after,
                spots,
                entries,
            }
        },
    )
}

fn test() -> impl Strategy<Value = TestFunction> {
    let strength = select(vec![Strength::Exact, Strength::Exact, Strength::Loose, Strength::Trivial]);
    let lost = option::weighted(0.1, select(vec![Lost::Swallowed, Lost::Unreachable]));
    let assertion = (select(vec!["assert a", "assert b"]), strength, lost)
        .prop_map(|(text, strength, lost)| Assertion { text: text.into(), strength, lost });
    let body = select(vec!["x", "y", "z"]);
    let name = select(TESTS.to_vec());
    let skipped = option::weighted(0.1, Just("@skip".to_owned()));
    (name, body, skipped, prop::bool::weighted(0.1), vec(assertion, 0..3)).prop_map(
        |(name, body, skipped, shadowed, assertions)| TestFunction {
            name: name.into(),
            line: 1,
            body: body.into(),
            skipped,
            shadowed,
            assertions,
            mentions: vec!["sum".into()],
            rows: Vec::new(),
        },
    )
}

fn spot() -> impl Strategy<Value = Spot> {
    let kinds = vec![
        SpotKind::TestProbe,
        SpotKind::Exit,
        SpotKind::ExitHook,
        SpotKind::FrameworkPatch,
        SpotKind::CollectionHook,
        SpotKind::AlwaysEqual,
        SpotKind::TreeWrite,
        SpotKind::Sleep,
        SpotKind::Chance,
        SpotKind::SharedLiteral,
        SpotKind::Swallow,
        SpotKind::Silencer,
    ];
    (select(kinds), 1_u32..9).prop_map(|(kind, line)| Spot { kind, line, text: format!("spot {line}") })
}

fn entry() -> impl Strategy<Value = Entry> {
    let sections = vec![
        Section::Dependency,
        Section::InstallScript,
        Section::TestScript,
        Section::TestConfig,
        Section::Build,
        Section::Description,
    ];
    select(sections).prop_map(|section| Entry {
        section,
        name: "dependencies.semver".into(),
        before: String::new(),
        after: "1".into(),
    })
}

fn mutant() -> impl Strategy<Value = Mutant> {
    (select(PATHS.to_vec()), 1_u32..9, option::of(Just("sum".to_owned())), prop::bool::weighted(0.3))
        .prop_map(|(path, line, function, reaches)| Mutant {
            path: path.into(),
            line,
            function,
            was: "<".into(),
            now: "<=".into(),
            reaches,
            boundary: line == 2,
            layer: layer(),
        })
}

fn comparison() -> impl Strategy<Value = Comparison> {
    let origin = prop_oneof![
        Just(CallOrigin::Test),
        Just(CallOrigin::Generated),
        (0_u32..12).prop_map(|of| CallOrigin::Renamed { of }),
    ];
    let call =
        origin.prop_map(|origin| ComparedCall { function: "sum".into(), text: "sum([1])".into(), origin });
    vec(call, 0..12).prop_map(|calls| Comparison {
        token: "t0".into(),
        argv: vec!["python3".into(), "compare.py".into()],
        layers: Vec::new(),
        calls,
    })
}
