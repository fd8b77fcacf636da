//! Bad days with the configuration, the test command, the state folder and the journal: `docs/bad-days.md`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::bad_days::{Kept, holds};
use crate::environment::{TestEnvironment, assert_has_not};
use crate::script::{Script, approves, builds, shout};

// What goes wrong: with a file, with a line by its number, anywhere.
type OnFile<'a> = &'a dyn Fn(&Path);
type OnLine<'a> = &'a dyn Fn(usize, &str) -> Option<String>;
type OnWorld<'a> = &'a dyn Fn(&TestEnvironment);

/// Makes a file or folder with a mode.
pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Starts a command so that permissions count, also for root.
pub(crate) fn under_permissions(environment: &TestEnvironment, arguments: &[&str]) -> Command {
    if !rustix::process::getuid().is_root() {
        return environment.checkmate(arguments);
    }
    let mut command = environment.command("setpriv");
    command.args(["--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]);
    command.arg(env!("CARGO_BIN_EXE_checkmate")).args(arguments);
    command
}

/// The arguments of a run with the usual script.
pub(crate) fn run_arguments(environment: &TestEnvironment) -> Vec<String> {
    let script = environment.script(&Script::approved());
    ["run", "Add shout", "--replay", &script].map(str::to_owned).to_vec()
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

#[test]
fn configurations() {
    let large = format!("{{\"test_command\": \"{}\"}}", "x".repeat(2 << 20));
    let cases: [(&str, OnFile<'_>); 8] = [
        ("config-missing", &|path| std::fs::remove_file(path).unwrap()),
        ("config-folder", &|path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }),
        ("config-empty", &|path| std::fs::write(path, "").unwrap()),
        ("config-not-text", &|path| std::fs::write(path, b"{\"test_command\": \"\xff\xfe\"}").unwrap()),
        ("config-large", &|path| std::fs::write(path, &large).unwrap()),
        ("config-broken", &|path| std::fs::write(path, "{\"test_command\": \"sh test/run.sh\"").unwrap()),
        ("config-types", &|path| std::fs::write(path, "{\"test_command\": 7}").unwrap()),
        ("config-unreadable", &|path| set_mode(path, 0)),
    ];
    for (case, spoil) in cases {
        let environment = TestEnvironment::new();
        spoil(&environment.root().join(".dualagent.json"));
        let arguments = run_arguments(&environment);
        let files =
            |environment: &TestEnvironment| (environment.index(), environment.git(&["rev-parse", "HEAD"]));
        let before = files(&environment);
        let output = environment.output(&mut under_permissions(&environment, &words(&arguments)));
        holds(case, &output);
        assert_eq!(files(&environment), before, "{case}");
        assert!(environment.runs().is_empty(), "{case}: nothing was begun");
    }
}

/// Runs the usual script with a test command that begins with something bad.
fn tested_by(case: &str, keys: Value, bad: &str) -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("bad.sh", bad);
    let mut all = json!({"test_command": "sh bad.sh", "max_iterations": 1});
    all.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    environment.config(all);
    let before = Kept::of(&environment);
    let output = environment.cycle(&Script::approved());
    holds(case, &output);
    assert_has_not(&output.stderr, &["\u{1b}"]);
    match output.code {
        Some(0) => before.is_whole_but_for_the_change(&environment, case),
        _ => before.is_whole(&environment, case),
    }
    environment.wait_for(|| environment.processes().is_empty());
    environment.run(&["replay", "latest"]).ended(0);
    environment.run(&["show", "latest"]).ended(0);
    environment
}

#[test]
fn test_commands_that_cannot_work() {
    tested_by("tests-missing", json!({"test_command": "mytest"}), "");
    tested_by("tests-not-executable", json!({"test_command": "./bad.sh"}), "#!/bin/sh\n");
    tested_by("tests-hang", json!({"test_time_limit_s": 1}), "sleep 1000\n");
    tested_by("tests-signal", json!({}), "kill -SEGV $$\n");
    tested_by("tests-kill-parent", json!({}), "sh test/run.sh\nkill -9 $PPID\nsleep 1\n");
    tested_by("tests-kill-group", json!({}), "sh test/run.sh\nkill -9 0\n");
    tested_by("tests-close-output", json!({}), "exec >&- 2>&-\nsh test/run.sh\n");
}

#[test]
fn test_commands_that_behave_badly() {
    let run = "sh test/run.sh\n";
    let flood = "yes 'a line that says nothing at all' | head -c 200000000\n";
    tested_by("tests-flood", json!({}), &format!("{flood}{run}"));
    let binary = "head -c 100000 /dev/urandom\nprintf '\\033[31m\\033]0;title\\007\\n'\n";
    tested_by("tests-binary", json!({}), &format!("{binary}{run}"));
    let swarm = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1000 & done\n";
    tested_by("tests-swarm", json!({}), &format!("{swarm}{run}"));
    let daemon = "setsid sh -c 'sleep 1000 & setsid sleep 1000' >/dev/null 2>&1 </dev/null &\n";
    tested_by("tests-daemon", json!({}), &format!("{daemon}{run}"));
    tested_by("tests-stdin", json!({}), &format!("cat\n{run}"));
    let delete = "sh test/run.sh\ncode=$?\nrm -rf -- * .[a-z]* \"$PWD\" 2>/dev/null\nexit $code\n";
    tested_by("tests-delete", json!({}), delete);
    tested_by("tests-read-only", json!({}), &format!("{run}code=$?\nchmod -R a-w .\nexit $code\n"));
}

#[test]
fn a_test_command_that_writes_a_gigabyte() {
    let write = "fallocate -l 1073741824 big 2>/dev/null || head -c 1073741824 /dev/zero > big\n";
    tested_by("tests-gigabyte", json!({}), &format!("{write}[ -s big ] && sh test/run.sh\n"));
}

#[test]
fn without_a_place_for_runs() {
    let environment = TestEnvironment::new();
    let (before, arguments) = (Kept::of(&environment), run_arguments(&environment));
    let mut command = environment.checkmate(&words(&arguments));
    holds("state-nowhere", &environment.output(command.env_remove("HOME").env_remove("XDG_STATE_HOME")));
    std::fs::write(environment.path("file"), "").unwrap();
    let mut command = environment.checkmate(&words(&arguments));
    holds("state-file", &environment.output(command.env("XDG_STATE_HOME", environment.path("file"))));
    set_mode(&environment.path("state"), 0o555);
    holds("state-read-only", &environment.output(&mut under_permissions(&environment, &words(&arguments))));
    set_mode(&environment.path("state"), 0o755);
    before.is_whole(&environment, "state");
    environment.run(&words(&arguments)).ended(0);
}

#[test]
fn the_state_folder_is_removed_in_mid_run() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let before = Kept::of(&environment);
    let child = environment.start_and_wait(environment.cycle_command(&Script::approved()));
    std::fs::remove_dir_all(environment.path("state")).unwrap();
    environment.let_go();
    let output = environment.end_of(child);
    holds("state-removed-running", &output);
    before.is_whole(&environment, "state-removed-running");
    environment.wait_for(|| environment.processes().is_empty());
    environment.cycle(&Script::approved()).ended(0);
}

#[test]
fn the_state_folder_is_removed_after_the_run() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    let before = Kept::of(&environment);
    std::fs::remove_dir_all(environment.path("state")).unwrap();
    for command in [&["land", "latest"][..], &["undo", "latest"], &["resume", "latest"], &["show", "latest"]]
    {
        holds("state-removed-after", &environment.run(command));
    }
    before.is_whole(&environment, "state-removed-after");
}

/// A run whose reviewer refuses until it is resumed.
fn unfinished() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let busy = json!({"role": "reviewer", "fail": "overloaded"});
    let script =
        (0..18).fold(Script::new().builder(builds(&shout("$1!"))), |script, _| script.entry(busy.clone()));
    environment.cycle(&script.reviewer(approves())).ended(1);
    environment
}

/// Changes the lines of the latest run's journal.
fn edit(environment: &TestEnvironment, change: impl Fn(usize, &str) -> Option<String>) {
    let path = environment.run_folder().join("journal.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().enumerate().filter_map(|(number, line)| change(number, line));
    std::fs::write(&path, lines.map(|line| line + "\n").collect::<String>()).unwrap();
}

/// Adds something to the end of the journal.
fn append(environment: &TestEnvironment, bytes: &[u8]) {
    let path = environment.run_folder().join("journal.jsonl");
    let mut text = std::fs::read(&path).unwrap();
    text.extend(bytes);
    std::fs::write(&path, text).unwrap();
}

#[test]
fn journals_that_cannot_be_driven() {
    let header = |number: usize, line: &str, from: &str, to: &str| match number {
        0 => line.replacen(from, to, 1),
        _ => line.to_owned(),
    };
    let cases: [(&str, OnLine<'_>); 4] = [
        ("journal-older", &|n, line| Some(header(n, line, "\"version\":1,", "\"version\":0,"))),
        ("journal-newer", &|n, line| Some(header(n, line, "\"version\":1,", "\"version\":2,"))),
        ("journal-unknown-event", &|_, line| {
            Some(line.replacen("{\"event\":\"answered\"", "{\"event\":\"dreamed\"", 1))
        }),
        ("journal-elsewhere", &|n, line| {
            Some(header(n, line, "\"repository\":\"", "\"repository\":\"/elsewhere"))
        }),
    ];
    for (case, change) in cases {
        let environment = unfinished();
        let before = Kept::of(&environment);
        edit(&environment, change);
        for command in [&["resume", "latest"][..], &["land", "latest"], &["undo", "latest"]] {
            holds(case, &environment.run(command));
        }
        environment.run(&["runs"]).ended(0);
        before.is_whole(&environment, case);
    }
}

#[test]
fn journals_that_are_mended_or_ignored() {
    let note = b"{\"record\":\"weather\",\"rain\":true}\n";
    let future = |_: usize, line: &str| {
        // Every time but the first is in the future, and each is earlier than the one before it.
        Some(line.replace("\"at\":\"20", "\"at\":\"29"))
    };
    let cases: [(&str, OnWorld<'_>); 4] = [
        ("journal-unknown-note", &|environment| append(environment, note)),
        ("journal-torn", &|environment| append(environment, b"{\"record\":\"event\",\"seq\":9")),
        ("journal-zeros", &|environment| append(environment, &[&[0; 512][..], b"\n"].concat())),
        ("clock-back", &|environment| edit(environment, future)),
    ];
    for (case, change) in cases {
        let environment = unfinished();
        let before = Kept::of(&environment);
        change(&environment);
        holds(case, &environment.run(&["resume", "latest"]));
        before.is_whole_but_for_the_change(&environment, case);
        environment.run(&["replay", "latest"]).ended(0);
        environment.run(&["verify", "latest"]).ended(0);
        environment.run(&["undo", "latest"]).ended(0);
        before.is_whole(&environment, case);
    }
}

#[test]
fn a_journal_that_may_not_be_written() {
    let environment = unfinished();
    let before = Kept::of(&environment);
    let journal = environment.run_folder().join("journal.jsonl");
    set_mode(&journal, 0o444);
    let output = environment.output(&mut under_permissions(&environment, &["resume", "latest"]));
    holds("journal-read-only", &output);
    before.is_whole(&environment, "journal-read-only");
    set_mode(&journal, 0o644);
    environment.run(&["resume", "latest"]).ended(0);
    before.is_whole_but_for_the_change(&environment, "journal-read-only");
}
