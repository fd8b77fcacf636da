//! `kill -9` at any moment costs at most what was in flight.
//!
//! `SWEEP=100 cargo nextest run -p checkmate -E 'test(crash)'` tries a hundred moments for each kind of crash.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::script::{Script, adds, approves, asks_for, builds, builds_with, issue, replaces};

/// Moments that every run of the tests tries, for each kind of crash.
const MOMENTS: u32 = 14;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Two turns with diagnostics, a disagreement that a test settles, and a landing that adds, changes and deletes.
fn scenario() -> Script {
    let change = format!(
        "{}{}{}{}",
        adds("src/shout.sh", &["shout() { echo \"$1!\"; }"]),
        replaces(
            "src/text.sh",
            "upper() { printf '%s\\n' \"$1\" | tr a-z A-Z; }",
            "upper() { echo \"$1\" | tr a-z A-Z; }"
        ),
        "--- a/src/old.sh\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-old() { :; }\n",
        adds("test/deep/er/notes.txt", &["shouting is tested"]),
    );
    let claim = || issue("empty", "major", "shout of an empty word prints no single mark");
    let test = adds("test/claim_test.sh", &["expect \"shout of nothing\" \"$(shout '')\" '!'"]);
    let unsure = json!({"verdict": "block", "block_reason": "uncertainty", "issues": [],
        "diagnostics_needed": ["cat src/shout.sh", "whoami"], "stopping": "I want to see it."});
    Script::new()
        .builder(json!({"files_needed": ["src/old.sh"]}))
        .builder(builds(&change))
        .reviewer(unsure)
        .entry(json!({"role": "reviewer", "fail": "rate_limit"}))
        .reviewer(asks_for(&[claim()]))
        .builder(builds_with(
            "",
            json!({"answers": [{"to": "empty", "answer": "disagree", "text": "It does."}]}),
        ))
        .reviewer(asks_for(&[claim()]))
        .builder(builds(&test))
        .reviewer(json!({"states_claim": true, "reason": "It calls shout with nothing."}))
}

/// Two turns with evidence, the second of which mends what a probe of the examiner shows.
fn examined() -> Script {
    let content =
        ". ./src/shout.sh\n[ \"$(shout '')\" = '!' ] || { echo 'AssertionError: no mark' >&2; exit 1; }\n";
    let probe = json!({"id": "empty", "criterion": "shout ends with a mark", "path": "zz_probe.sh",
        "run": "sh zz_probe.sh", "content": content});
    let first = "shout() { [ -z \"$1\" ] || echo \"$1!\"; }";
    let old = "--- a/src/old.sh\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-old() { :; }\n";
    let test = adds("test/shout_test.sh", &["expect shout \"$(shout hey)\" 'hey!'"]);
    Script::new()
        .entry(json!({"role": "examiner", "reply": "I have no idea."}))
        .entry(json!({"role": "examiner", "reply": {"probes": [probe]}}))
        .builder(builds(&format!("{}{test}{old}", adds("src/shout.sh", &[first]))))
        .builder(builds(&replaces("src/shout.sh", first, "shout() { echo \"$1!\"; }")))
        .reviewer(approves())
}

/// What is played, and in which world.
#[derive(Clone, Copy)]
struct Play {
    script: fn() -> Script,
    evidence: bool,
}

/// Everything but evidence.
const ARGUED: Play = Play { script: scenario, evidence: false };
/// An exam in each turn.
const EXAMINED: Play = Play { script: examined, evidence: true };

/// A repository in the middle of the user's own work.
fn world(play: Play) -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("src/old.sh", "old() { :; }\n");
    let keys = json!({"allow_commands": ["cat *"], "evidence": play.evidence, "examiner": play.evidence});
    environment.config(keys);
    environment.write("staged.txt", "staged\n");
    environment.git(&["add", "staged.txt"]);
    environment.write("staged.txt", "staged and edited\n");
    environment.write("untracked.bin", [0, 255, 13, 10]);
    environment
}

/// How the undisturbed run ends.
struct Undisturbed {
    play: Play,
    before: Files,
    after: Files,
    outcome: Value,
    duration: Duration,
}

fn undisturbed(play: Play) -> Undisturbed {
    let environment = world(play);
    let before = environment.files();
    let start = Instant::now();
    environment.cycle(&(play.script)()).ended(0);
    let duration = start.elapsed();
    let after = environment.files();
    assert!(after.len() > before.len());
    Undisturbed { play, before, after, outcome: outcome(&environment), duration }
}

/// Returns how the run ended, and what it stands on: everything that was run for it, in order.
fn outcome(environment: &TestEnvironment) -> Value {
    let journal = environment.journal();
    let ended: Vec<&Value> = journal.iter().filter(|line| line["record"] == "ended").collect();
    let checks: Vec<&Value> = journal
        .iter()
        .filter(|line| line["digest"].as_str().is_some_and(|digest| digest.starts_with("check ")))
        .map(|line| &line["digest"])
        .collect();
    json!([ended.last().expect("the run has ended")["outcome"], checks.len()])
}

/// Starts the program and kills it, and only it, after a while.
fn kill_after(mut command: Command, pause: Duration) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The moment of a crash is the one thing here that time decides.
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The user's files are as before or as after, unless a landing is written down that the next command finishes.
fn is_whole(environment: &TestEnvironment, undisturbed: &Undisturbed, when: &str) {
    let under_way = environment.runs().iter().any(|run| {
        let folder = std::fs::read_dir(run).unwrap();
        folder.flatten().any(|entry| entry.file_name() == "landing.json")
    });
    let files = environment.files();
    assert!(
        under_way || files == undisturbed.before || files == undisturbed.after,
        "{when}: the tree is neither as before nor as after"
    );
}

/// Resumes, or starts again where the crash came before there was a run.
fn goes_on(environment: &TestEnvironment, play: Play) -> Command {
    match environment.runs().is_empty() {
        true => environment.cycle_command(&(play.script)()),
        false => environment.checkmate(&["resume", "latest"]),
    }
}

/// Every reply in the journal is the next one of its role's script: nothing is paid twice, nothing is left out.
fn nothing_is_paid_twice(environment: &TestEnvironment, play: Play, when: &str) {
    for role in ["builder", "reviewer", "examiner"] {
        let call = format!("call {role} ");
        let said: Vec<String> = environment
            .journal()
            .iter()
            .filter(|line| line["digest"].as_str().is_some_and(|digest| digest.starts_with(&call)))
            .filter_map(|line| line["event"]["answer"]["text"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(said, (play.script)().replies(role), "{when}");
    }
}

fn crash(undisturbed: &Undisturbed, pauses: &[Duration]) {
    let when = format!("killed after {pauses:?}");
    let play = undisturbed.play;
    let environment = world(play);
    let index = environment.index();
    for (number, pause) in pauses.iter().enumerate() {
        let command = if number == 0 {
            environment.cycle_command(&(play.script)())
        } else {
            goes_on(&environment, play)
        };
        kill_after(command, *pause);
        is_whole(&environment, undisturbed, &when);
    }
    let output = environment.output(&mut goes_on(&environment, play));
    assert_eq!(output.code, Some(0), "{when}: {}", output.stderr);
    assert_eq!(environment.files(), undisturbed.after, "{when}");
    assert_eq!(environment.index(), index, "{when}");
    assert_eq!(outcome(&environment), undisturbed.outcome, "{when}");
    nothing_is_paid_twice(&environment, play, &when);
    environment.wait_for(|| environment.processes().is_empty());
    assert_eq!(environment.git(&["fsck", "--no-dangling", "--no-progress"]), "", "{when}");
    let refs = environment.git(&["for-each-ref", "--format=%(refname)"]);
    let foreign: Vec<&str> = refs.lines().filter(|name| !name.starts_with("refs/checkmate/")).collect();
    assert_eq!(foreign, ["refs/heads/main"], "{when}");
    environment.run(&["replay", "latest"]).ended(0);
    environment.run(&["undo", "latest"]).ended(0);
    assert_eq!(environment.files(), undisturbed.before, "{when}: after the undo");
}

fn moments() -> u32 {
    std::env::var("SWEEP").ok().and_then(|moments| moments.parse().ok()).unwrap_or(MOMENTS)
}

/// Spreads moments over the whole duration, each at random within its share.
fn sweep(play: Play, kills: usize) {
    let undisturbed = undisturbed(play);
    // A run with evidence takes several times as long.
    let moments = if play.evidence { moments().div_ceil(2) } else { moments() };
    for moment in 0..moments {
        let mut pauses =
            vec![undisturbed.duration.mul_f64((f64::from(moment) + fastrand::f64()) / f64::from(moments))];
        pauses.extend((1..kills).map(|_| undisturbed.duration.mul_f64(fastrand::f64() * 0.7)));
        crash(&undisturbed, &pauses);
    }
}

#[test]
fn a_crash_costs_nothing_that_was_paid() {
    sweep(ARGUED, 1);
}

#[test]
fn a_crash_of_the_resume_costs_nothing_either() {
    sweep(ARGUED, 2);
}

#[test]
fn three_crashes_in_a_row_cost_nothing_either() {
    sweep(ARGUED, 3);
}

#[test]
fn a_crash_in_an_exam_costs_nothing_either() {
    sweep(EXAMINED, 1);
}
