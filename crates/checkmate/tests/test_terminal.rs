//! What happens where a person sits at the terminal.

use serde_json::json;

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, approves, builds, builds_with, shout};

/// Runs a command at a terminal of its own, answers its questions, and exits as it does.
pub(crate) const TERMINAL: &str = r#"
import os, pty, sys
answers, command = sys.argv[1].split(","), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.execv(command[0], command)
seen, asked = b"", 0
while True:
    try:
        data = os.read(terminal, 4096)
    except OSError:
        break
    if not data:
        break
    seen += data
    while seen.count(b"[y/N] ") > asked and asked < len(answers):
        os.write(terminal, answers[asked].encode() + b"\n")
        asked += 1
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

fn at_terminal(environment: &TestEnvironment, answers: &str, script: &Script) -> (i32, String) {
    let path = environment.script(script);
    let mut command = environment.command("python3");
    command.args([
        "-c",
        TERMINAL,
        answers,
        env!("CARGO_BIN_EXE_checkmate"),
        "run",
        "Add shout",
        "--replay",
        &path,
    ]);
    let output = environment.output(&mut command);
    (output.code.unwrap(), environment.normal(&output.stdout))
}

#[test]
fn a_person_is_asked_before_anything_lands() {
    for (answer, code) in [("y", 0), ("n", 2), ("", 2)] {
        let environment = TestEnvironment::new();
        let (ended, seen) = at_terminal(&environment, answer, &Script::approved());
        assert_eq!(ended, code, "{seen}");
        assert_has(&seen, &["Bring the change into your working tree? [y/N]"]);
        assert_eq!(environment.has("src/shout.sh"), code == 0);
        if code == 2 {
            assert_has(&seen, &["you chose not to land it"]);
            environment.run(&["land", "latest"]).ended(0);
        }
    }
}

#[test]
fn a_person_may_allow_a_command_or_say_why_not() {
    for (answer, told) in
        [("y", "$ cat src/shout.sh\nexit code 0"), ("use your eyes", "They said: use your eyes")]
    {
        let environment = TestEnvironment::new();
        let reply = builds_with(&shout("$1!"), json!({"run": ["cat src/shout.sh"]}));
        let script = Script::new().builder(reply).reviewer(approves());
        let (ended, seen) = at_terminal(&environment, &format!("{answer},y"), &script);
        assert_eq!(ended, 0, "{seen}");
        assert_has(&seen, &["The builder would like to run `cat src/shout.sh`"]);
        assert_has(&environment.prompts("reviewer")[0], &[told]);
    }
}

#[test]
fn a_missing_configuration_is_offered() {
    let environment = TestEnvironment::new();
    environment.write("package.json", r#"{"name": "x", "scripts": {"test": "sh test/run.sh"}}"#);
    std::fs::remove_file(environment.root().join(".dualagent.json")).unwrap();
    let (ended, seen) = at_terminal(&environment, "n", &Script::approved());
    assert_eq!(ended, 1);
    assert_has(&seen, &["Write a good one for this repository now? [y/N]", "Config file not found"]);
    let (_, seen) = at_terminal(&environment, "y,n", &Script::new().builder(builds(&shout("$1!"))));
    assert_has(&seen, &["Wrote $TMP/repo/.dualagent.json", "turn 1/3"]);
}

#[test]
fn a_patch_shown_at_a_terminal_does_not_steer_it() {
    let environment = TestEnvironment::new();
    let patch = format!(
        "{}{}",
        shout("$1!"),
        crate::script::adds("src/colour.sh", &["# \u{1b}[2J\u{1b}]0;owned\u{7}"])
    );
    environment.cycle(&Script::new().builder(builds(&patch)).reviewer(approves())).ended(0);
    let mut command = environment.command("python3");
    command.args(["-c", TERMINAL, "", env!("CARGO_BIN_EXE_checkmate"), "show", "latest", "--patch"]);
    let output = environment.output(&mut command);
    assert_has(&output.stdout, &["+shout() {"]);
    assert_has_not(&output.stdout, &["\u{1b}[2J", "\u{1b}]0"]);
}
