//! `kill -9` at any moment costs at most what was in flight.
//!
//! A hundred moments are tried, spread over [`plays`](crate::plays) that take every path of the cycle.
//! `KILLS=1000 cargo test -p checkmate --test runner kill_sweep -- --nocapture` tries a thousand and says how many there
//! were of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::environment::TestEnvironment;
use crate::plays::{self, Play, Step};

/// Moments that every run of the tests tries.
const MOMENTS: u32 = 100;
/// What a kill may wait for, in the run's folder, or in the repository's `.git` behind a slash.
const SIGNS: [&str; 8] = [
    "landing.json",
    "landing.json.new",
    "landed.json",
    "undo",
    "tree/src/shout.sh",
    "scratch/processes",
    "/checkmate/*/files",
    "/index.lock",
];

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// When the program is killed.
#[derive(Debug, Clone)]
enum Moment {
    /// After a while.
    After(Duration),
    /// When the journal has so many lines.
    Lines(usize),
    /// When this is there.
    Sign(&'static str),
}

/// What is killed.
#[derive(Debug, Clone, Copy)]
enum Victim {
    /// Checkmate and nothing else.
    Program,
    /// Every process of its group; only those that made a group of their own live on.
    Group,
    /// Everything that it started, as when the power fails.
    Everything,
}

/// What is to be seen after a step.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    code: i32,
    files: BTreeMap<PathBuf, String>,
    /// The index, without what it remembers of files.
    index: String,
    /// The trees of HEAD and of its ancestors: a second landing would be one more.
    history: String,
    refs: String,
    stash: String,
    /// How the run ended, and how often something was run for it.
    outcome: Value,
    checks: usize,
    landings: usize,
    replayed: Option<i32>,
    verified: Option<i32>,
}

/// How a play goes when nobody kills anything.
struct Undisturbed {
    play: Play,
    before: BTreeMap<PathBuf, String>,
    steps: Vec<Seen>,
    durations: Vec<Duration>,
    /// Lines of the journal after each step.
    lines: Vec<usize>,
}

/// What a sweep did.
#[derive(Debug, Default)]
struct Tally {
    /// Moments at which the program was killed at least once.
    moments: u32,
    /// Kills that met a living program.
    hits: u32,
    /// Commands that were given again.
    again: u32,
    /// Locks of git's that a killed git left, and that the user removed.
    locks: u32,
}

fn see(environment: &TestEnvironment, code: i32) -> Seen {
    let journal = environment.journal();
    let checks = journal.iter().filter(|line| digest(line).starts_with("check ")).count();
    let landed = std::fs::read(environment.run_folder().join("landed.json")).unwrap_or(b"[]".to_vec());
    let landed: Vec<Value> = serde_json::from_slice(&landed).unwrap();
    let refs = environment.git(&["for-each-ref", "--format=%(refname)"]);
    Seen {
        code,
        files: readable(&environment.files()),
        index: environment.git(&["ls-files", "--stage"]),
        history: environment.git(&["log", "--format=%T"]),
        refs: refs.lines().filter(|name| !name.starts_with("refs/checkmate/")).collect(),
        stash: environment.git(&["stash", "list"]),
        outcome: shown(environment)["outcome"].clone(),
        checks,
        landings: landed.len(),
        replayed: environment.run(&["replay", "latest"]).code,
        verified: environment.run(&["verify", "latest"]).code,
    }
}

/// Returns the result of the latest run as it stands.
fn shown(environment: &TestEnvironment) -> Value {
    let shown = environment.run(&["show", "latest", "--json"]);
    serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{}", shown.stderr))
}

/// Tells whether the run has come to an error: the same command would be the next step then. It may have been killed
/// between its last event and the note of its end.
fn has_failed(environment: &TestEnvironment) -> bool {
    let failed = |shown: Value| {
        shown["reasons"].as_array().is_some_and(|all| all.iter().any(|one| one["gate"] == "error"))
    };
    !environment.runs().is_empty() && failed(shown(environment))
}

/// Makes the files of a failure readable; no two contents become the same.
fn readable(files: &Files) -> BTreeMap<PathBuf, String> {
    files.iter().map(|(path, bytes)| (path.clone(), bytes.escape_ascii().to_string())).collect()
}

fn digest(line: &Value) -> &str {
    line["digest"].as_str().unwrap_or_default()
}

fn command(environment: &TestEnvironment, play: &Play, step: usize) -> Command {
    let arguments = play.steps[step].arguments;
    if step > 0 {
        return environment.checkmate(arguments);
    }
    // After a crash before there was a run, the same is said again.
    if environment.runs().is_empty() {
        let mut command = environment.cycle_command(&(play.script)());
        command.args(arguments);
        return command;
    }
    environment.checkmate(&["resume", "latest"])
}

fn undisturbed(play: Play) -> Undisturbed {
    let environment = play.world();
    let before = readable(&environment.files());
    let (mut steps, mut durations, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..play.steps.len() {
        let start = Instant::now();
        let output = environment.output(&mut command(&environment, &play, step));
        durations.push(start.elapsed());
        output.ended(play.steps[step].code);
        steps.push(see(&environment, play.steps[step].code));
        lines.push(environment.journal().len());
    }
    assert_eq!(steps.last().unwrap().replayed, Some(0));
    assert!(steps.iter().any(|seen| seen.verified == Some(0)), "an approval verifies");
    Undisturbed { play, before, steps, durations, lines }
}

/// Starts the program and kills it at a moment; returns its exit code if it had ended before.
fn kill(environment: &TestEnvironment, mut command: Command, moment: &Moment, victim: Victim) -> Option<i32> {
    use std::os::unix::process::CommandExt as _;
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
    let start = Instant::now();
    let has_come = || match moment {
        // The moment of a crash is the one thing here that time decides.
        Moment::After(pause) => start.elapsed() >= *pause,
        Moment::Lines(lines) => environment.runs().pop().is_some_and(|run| {
            let text = std::fs::read(run.join("journal.jsonl")).unwrap_or_default();
            text.iter().filter(|byte| **byte == b'\n').count() >= *lines
        }),
        Moment::Sign(sign) => is_there(environment, sign),
    };
    while !has_come() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(500));
    }
    end(environment, &mut child, victim)
}

fn end(environment: &TestEnvironment, child: &mut Child, victim: Victim) -> Option<i32> {
    if child.try_wait().unwrap().is_none() {
        let pid = Pid::from_child(child);
        match victim {
            Victim::Program => kill_process(pid, Signal::KILL).unwrap(),
            Victim::Group => kill_process_group(pid, Signal::KILL).unwrap(),
            Victim::Everything => {
                kill_process(pid, Signal::KILL).unwrap();
                environment.kill_processes();
            }
        }
    }
    child.wait().unwrap().code()
}

fn is_there(environment: &TestEnvironment, sign: &str) -> bool {
    let folders = |path: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let Some(in_git) = sign.strip_prefix('/') else {
        return environment.runs().pop().is_some_and(|run| run.join(sign).exists());
    };
    let git = environment.root().join(".git");
    match in_git.split_once("/*/") {
        Some((above, below)) => folders(&git.join(above)).iter().any(|folder| folder.join(below).exists()),
        None => git.join(in_git).exists(),
    }
}

/// The user's files are as before or after a step, unless a landing is written down that the next command finishes.
fn is_whole(environment: &TestEnvironment, undisturbed: &Undisturbed, when: &str) {
    if environment.runs().iter().any(|run| run.join("landing.json").exists()) {
        return;
    }
    let edited = undisturbed.play.edited.map(Path::new);
    let without_edit = |files: &BTreeMap<PathBuf, String>| {
        let mut files = files.clone();
        files.retain(|path, _| edited != Some(path));
        files
    };
    let files = without_edit(&readable(&environment.files()));
    let mut whole = undisturbed.steps.iter().map(|seen| &seen.files).chain([&undisturbed.before]);
    assert!(
        whole.any(|whole| without_edit(whole) == files),
        "{when}: the tree is neither as before nor as after"
    );
}

/// Every reply in the journal is the next one of its role's script: nothing is paid twice, nothing is left out.
fn nothing_is_paid_twice(environment: &TestEnvironment, play: &Play, when: &str) {
    let journal = environment.journal();
    for role in ["builder", "reviewer", "examiner", "moderator"] {
        let call = format!("call {role} ");
        let said: Vec<String> = journal
            .iter()
            .filter(|line| digest(line).starts_with(&call))
            .filter_map(|line| line["event"]["answer"]["text"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(said, (play.script)().replies(role), "{when}");
    }
}

/// Gives a command until it comes to its end, as a user does who reads what it says.
fn goes_on(
    environment: &TestEnvironment,
    undisturbed: &Undisturbed,
    step: usize,
    tally: &mut Tally,
    when: &str,
) {
    let wanted = undisturbed.play.steps[step].code;
    if wanted == 1 && has_failed(environment) {
        return;
    }
    let mut said = String::new();
    let mut next = command(environment, &undisturbed.play, step);
    for _ in 0..4 {
        let output = environment.output(&mut next);
        tally.again += 1;
        if output.code == Some(wanted) {
            return;
        }
        said.push_str(&output.stderr);
        next = command(environment, &undisturbed.play, step);
        if output.stderr.contains("is not over. `checkmate resume") {
            next = environment.checkmate(&["resume", "latest"]);
        }
        // Nobody but the user can know that no git of theirs is at work; the message names the file.
        // Git may leave two at once, and comes upon one after the other.
        let left = locks(environment);
        let is_named = |lock: &&PathBuf| said.contains(&environment.normal(&lock.display().to_string()));
        let named: Vec<&PathBuf> = left.iter().filter(is_named).collect();
        assert!(left.is_empty() || !named.is_empty(), "{when}: {left:?} is not named: {said}");
        for lock in named {
            std::fs::remove_file(lock).unwrap();
            tally.locks += 1;
        }
    }
    panic!("{when}: the command did not come to its end:\n{said}");
}

/// Returns the locks in the user's git directory.
fn locks(environment: &TestEnvironment) -> Vec<PathBuf> {
    let mut waiting = vec![environment.root().join(".git")];
    let mut found = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => waiting.push(path),
                false if path.extension().is_some_and(|extension| extension == "lock") => found.push(path),
                false => {}
            }
        }
    }
    found
}

/// Plays a play and kills it at these moments, all in the step with this number; false if it always had ended before.
fn crash(undisturbed: &Undisturbed, at: usize, moments: &[(Moment, Victim)], tally: &mut Tally) -> bool {
    let before = tally.hits;
    let play = undisturbed.play;
    let when = format!("{}: step {at} killed at {moments:?}", play.name);
    let environment = play.world();
    let index = environment.index();
    for (step, Step { code, .. }) in play.steps.iter().enumerate() {
        if step == at {
            let mut ended = None;
            for (number, (moment, victim)) in moments.iter().enumerate() {
                if number > 0 && *code == 1 && has_failed(&environment) {
                    ended = Some(*code);
                    break;
                }
                tally.again += u32::from(number > 0);
                ended = kill(&environment, command(&environment, &play, step), moment, *victim);
                is_whole(&environment, undisturbed, &when);
                if ended == Some(*code) {
                    break;
                }
                tally.hits += u32::from(ended.is_none());
            }
            if ended != Some(*code) {
                goes_on(&environment, undisturbed, step, tally, &when);
            }
        } else {
            environment.output(&mut command(&environment, &play, step)).ended(*code);
        }
        if step == at || step + 1 == play.steps.len() {
            assert_eq!(see(&environment, *code), undisturbed.steps[step], "{when}: after step {step}");
        }
    }
    let is_commit = |word: &&str| word.ends_with("commit");
    if !play.steps.iter().any(|step| step.arguments.iter().any(is_commit)) {
        assert_eq!(environment.index(), index, "{when}: the index, byte for byte");
    }
    nothing_is_paid_twice(&environment, &play, &when);
    environment.wait_for(|| environment.processes().is_empty());
    assert_eq!(environment.git(&["fsck", "--no-dangling", "--no-progress"]), "", "{when}");
    assert_eq!(locks(&environment), [] as [PathBuf; 0], "{when}");
    let staged: Vec<_> =
        std::fs::read_dir(environment.root().join(".git/checkmate")).into_iter().flatten().collect();
    assert!(staged.is_empty(), "{when}: {staged:?} is left");
    tally.hits > before
}

/// Chooses a step by how long it takes, and moments in it, the first of this kind.
fn choose(undisturbed: &Undisturbed, kind: u32, number: u32, of: u32) -> (usize, Vec<(Moment, Victim)>) {
    let whole: Duration = undisturbed.durations.iter().sum();
    let mut rest = whole.mul_f64((f64::from(number) + fastrand::f64()) / f64::from(of));
    let mut step = 0;
    while step + 1 < undisturbed.durations.len() && rest > undisturbed.durations[step] {
        rest -= undisturbed.durations[step];
        step += 1;
    }
    let from = if step == 0 { 0 } else { undisturbed.lines[step - 1] };
    let first = match kind % 4 {
        0 | 2 => Moment::After(rest),
        1 => Moment::Lines(fastrand::usize(from + 1..=undisturbed.lines[step].max(from + 1))),
        _ => Moment::Sign(SIGNS[fastrand::usize(..SIGNS.len())]),
    };
    let further = [0, 0, 1, 2][fastrand::usize(..4)];
    let further =
        (0..further).map(|_| Moment::After(undisturbed.durations[step].mul_f64(fastrand::f64() * 0.7)));
    let victim = || match fastrand::u8(..6) {
        0 => Victim::Everything,
        1 => Victim::Group,
        _ => Victim::Program,
    };
    (step, std::iter::once(first).chain(further).map(|moment| (moment, victim())).collect())
}

/// Spreads the play's share of the moments over its whole duration, each at random within its part.
fn kill_sweep(play: Play) {
    let seed =
        std::env::var("KILLS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(fastrand::u64(..));
    fastrand::seed(seed);
    let kills = std::env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(MOMENTS);
    let moments = (kills * play.share).div_ceil(100);
    let undisturbed = undisturbed(play);
    let mut tally = Tally::default();
    for moment in 0..moments {
        // Not every file comes up in every play, and a run may be faster than the undisturbed one: then it is tried again.
        for attempt in 0..5 {
            let (kind, number) = if attempt == 0 { (moment, moment) } else { (0, fastrand::u32(..moments)) };
            let (step, kills) = choose(&undisturbed, kind, number, moments);
            if crash(&undisturbed, step, &kills, &mut tally) {
                tally.moments += 1;
                break;
            }
        }
    }
    eprintln!("kill sweep, {} (seed {seed}): {tally:?}", play.name);
}

macro_rules! plays {
    ($($name:ident: $play:ident),+ $(,)?) => {
        const ALL: &[Play] = &[$(plays::$play),+];
        $(#[test] fn $name() { kill_sweep(plays::$play); })+
    };
}

plays! {
    kill_sweep_refuted: REFUTED,
    kill_sweep_confirmed: CONFIRMED,
    kill_sweep_committed: COMMITTED,
    kill_sweep_moderated: MODERATED,
    kill_sweep_examined: EXAMINED,
    kill_sweep_mutated: MUTATED,
    kill_sweep_merged: MERGED,
    kill_sweep_contradicted: CONTRADICTED,
    kill_sweep_landed_later: LATER,
    kill_sweep_committed_later: COMMITTED_LATER,
    kill_sweep_limited: LIMITED,
    kill_sweep_failed: FAILED,
}

#[test]
fn the_shares_of_the_plays_are_a_hundred() {
    assert_eq!(ALL.iter().map(|play| play.share).sum::<u32>(), 100);
}
