//! What a turn costs that only decides and writes down: the machine and the journal, without git, commands and models.
//!
//! ```text
//! cargo bench -p checkmate --bench durable_turn
//! ```
//!
//! A turn is a builder's reply, a patch that is placed, a red test run and the files that the next prompt shows: four
//! events. `one_sync` is what the disk takes for a kilobyte, as something known.

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use checkmate::journal::{Header, HeaderTask, Journal, Shell};
use checkmate_machine::budget::Budget;
use checkmate_machine::command::CommandLine;
use checkmate_machine::effect::Action;
use checkmate_machine::event::{
    Answer, Called, Candidate, Change, ChangeKind, Event, FileFact, FileText, Prepared, Usage,
};
use checkmate_machine::evidence::{Ended, Output, Receipt};
use checkmate_machine::ids::{CommitId, RunId, TaskId, TreeId};
use checkmate_machine::prompt;
use checkmate_machine::run::Run;
use checkmate_machine::spec::{
    EvidenceRules, LandPolicy, PatchForm, Policy, Product, ReviewMode, Spec, Strictness, Task,
};
use criterion::{Criterion, Throughput};

/// Turns of a run; the figures are for one.
const TURNS: u32 = 50;

fn header() -> Header {
    let policy = Policy {
        max_iterations: TURNS,
        review_mode: ReviewMode::Always,
        review_on_test_pass: true,
        strictness: Strictness::Balanced,
        patch_form: PatchForm::Diff,
        moderator: false,
        context_summary_threshold: u32::MAX,
        allow_paths: Vec::new(),
        allow_commands: Vec::new(),
        test_command: CommandLine {
            argv: vec!["make".into(), "test".into()],
            env: Vec::new(),
            shell: false,
            text: "make test".into(),
        },
        interactive: false,
        approve_patches: false,
        land: LandPolicy::Apply,
        evidence: EvidenceRules::default(),
        examiner: false,
        budget: Budget::default(),
    };
    let goal = "Add a function to src/math.rs that calculates a factorial.".to_owned();
    let task = Task::of(goal);
    let spec = Spec { task, product: Product::Patch, policy, prompts: prompt::shipped() };
    let task = HeaderTask { id: TaskId::new("main"), depends_on: Vec::new(), spec };
    Header::new(RunId::new("bench"), "/bench".into(), vec![task], Shell::default())
}

/// Answers what is asked for, another patch and another failure each time.
fn answer(action: &Action, number: u32) -> Answer {
    match action {
        Action::Prepare => Answer::Prepared(Prepared {
            base: TreeId::new("base"),
            head: CommitId::new("head"),
            branch: Some("main".into()),
            files: (0..40)
                .map(|file| FileFact { path: format!("src/f{file}.rs"), bytes: 900, symbols: Vec::new() })
                .collect(),
            notes: Vec::new(),
            nonce: "n".into(),
        }),
        Action::Read { paths, .. } => Answer::Files {
            files: paths
                .iter()
                .map(|path| FileText { path: path.clone(), text: Ok("fn f() {}\n".repeat(60)) })
                .collect(),
        },
        Action::Call(_) => Answer::Called(Called {
            text: format!(
                r#"{{"plan":["Try {number}"],"patch":"--- /dev/null\n+++ b/src/n{number}.rs\n@@ -0,0 +1 @@\n+// {number}\n","tests":[],"run":[],"risks":[]}}"#
            ),
            model: "bench".into(),
            usage: Usage { input_tokens: 2_000, output_tokens: 200, ..Usage::default() },
            ..called()
        }),
        Action::Apply { .. } => Answer::Applied(Candidate {
            tree: TreeId::new(format!("tree-{number}")),
            changes: vec![Change {
                path: format!("src/n{number}.rs"),
                kind: ChangeKind::Added,
                old_mode: "000000".into(),
                new_mode: "100644".into(),
                added: 1,
                removed: 0,
            }],
            diff: format!("diff --git a/src/n{number}.rs b/src/n{number}.rs\n+// {number}\n"),
        }),
        Action::Check { tree, .. } => Answer::Ran(red(tree, number)),
        Action::Store { .. } | Action::Inspect { .. } | Action::Ask(_) | Action::Land { .. } => {
            unreachable!("a red run asks for none of these")
        }
    }
}

fn called() -> Called {
    serde_json::from_str(
        r#"{"text":"","model":"","usage":{"input_tokens":0,"cached_tokens":0,"output_tokens":0,"cost_micro_usd":null},
        "requests":1,"duration_ms":900}"#,
    )
    .expect("it is a reply")
}

fn red(tree: &TreeId, number: u32) -> Receipt {
    let text = format!("test number_{number} ... FAILED\n").repeat(20);
    let output = Output { bytes: text.len() as u64, sha256: "0".repeat(64), text };
    Receipt {
        tree: tree.clone(),
        saw: None,
        seed: None,
        argv: vec!["make".into(), "test".into()],
        shell: false,
        of_repository: true,
        ended: Ended::Exited { code: 1 },
        report: None,
        stdout: output.clone(),
        stderr: Output { text: String::new(), bytes: 0, ..output },
        duration_ms: 1_200,
        cached: false,
    }
}

fn next(run: &Run) -> Option<(TaskId, u32, u32, Action)> {
    let pending = run.pending().into_iter().next()?;
    Some((pending.task.clone(), pending.effect, pending.part, pending.action.clone()))
}

/// Plays a run of red turns; returns the time and the events.
fn play(mut journal: Option<Journal>) -> (Duration, u32) {
    let mut run = header().start().expect("one task is a schedule");
    let (mut number, start) = (0, Instant::now());
    while let Some((task, effect, part, action)) = next(&run) {
        if let (Some(journal), Action::Call(call)) = (&mut journal, &action) {
            journal.asked(&task, effect, part, call).expect("the disk takes it");
        }
        number += 1;
        let event = Event::Answered { task, effect, part, answer: answer(&action, number) };
        if let Some(journal) = &mut journal {
            journal.append(Some(&action), event.clone()).expect("the disk takes it");
        }
        black_box(run.handle(&event));
    }
    (start.elapsed(), number)
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let mut group = criterion.benchmark_group("durable_turn");
    group.throughput(Throughput::Elements(1));
    group.bench_function("decided", |bench| {
        bench.iter_custom(|times| (0..times).map(|_| play(None).0 / TURNS).sum());
    });
    group.bench_function("decided_and_written", |bench| {
        bench.iter_custom(|times| {
            let run = |_| {
                let run = tempfile::tempdir_in(&folder).expect("a folder can be made");
                let journal = Journal::create(run.path(), &header()).expect("the disk takes it");
                play(Some(journal)).0 / TURNS
            };
            (0..times).map(run).sum()
        });
    });
    group.bench_function("one_sync", |bench| {
        let mut file = File::create(folder.join("one_sync")).expect("a file can be made");
        bench.iter(|| {
            file.write_all(&[b'x'; 1024]).and_then(|()| file.sync_data()).expect("the disk takes it")
        });
    });
    group.finish();
    criterion.final_summary();
}
