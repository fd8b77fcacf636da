//! Commands: the user's, which may be shell lines, and the agents', which never are.

use serde_json::json;

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, approves, builds, builds_with, shout};

/// A review that asks for commands.
fn unsure(commands: &[&str]) -> serde_json::Value {
    json!({"verdict": "block", "block_reason": "uncertainty", "issues": [], "diagnostics_needed": commands,
           "stopping": "I cannot tell."})
}

#[test]
fn a_command_of_the_builder_does_not_run_without_permission() {
    let environment = TestEnvironment::new();
    let marker = environment.path("marker");
    let reply = builds_with(&shout("$1!"), json!({"run": [format!("touch {}", marker.display())]}));
    environment.cycle(&Script::new().builder(reply).reviewer(approves())).ended(0);
    assert!(!marker.exists());
    assert_has(&environment.prompts("reviewer")[0], &["Refused: `touch ", "is not permitted"]);
}

#[test]
fn a_permitted_command_of_the_builder_runs_on_the_candidate() {
    let environment = TestEnvironment::new();
    environment.config(json!({"allow_commands": ["cat *"]}));
    let reply = builds_with(&shout("$1!"), json!({"run": ["cat src/shout.sh"]}));
    environment.cycle(&Script::new().builder(reply).reviewer(approves())).ended(0);
    assert_has(
        &environment.prompts("reviewer")[0],
        &["$ cat src/shout.sh\nexit code 0", "shout() { echo \"$1!\"; }"],
    );
}

#[test]
fn diagnostics_go_back_to_the_reviewer_and_not_to_the_builder() {
    let environment = TestEnvironment::new();
    environment.config(json!({"allow_commands": ["cat src/shout.sh", "ls no-such-file"]}));
    let commands = ["cat src/shout.sh", "ls no-such-file", "rm -rf src; echo hi", "whoami"];
    let script =
        Script::new().builder(builds(&shout("$1!"))).reviewer(unsure(&commands)).reviewer(approves());
    let output = environment.cycle_with(&script, &["--events"]);
    output.ended(0);
    assert_eq!(environment.order(), "builder reviewer reviewer");
    let second = &environment.prompts("reviewer")[1];
    assert_has(
        second,
        &[
            "$ cat src/shout.sh\nexit code 0",
            "$ ls no-such-file\nexit code 2",
            "<<<DATA stderr",
            "$ rm -rf src; echo hi\nRefused: the command",
            "uses shell syntax (`;`)",
            "$ whoami\nRefused: `whoami` is not permitted",
        ],
    );
    assert!(environment.has("src/text.sh"));
    let event = output.events().into_iter().find(|event| event["type"] == "diagnostic_run").unwrap();
    assert_eq!(event["commands"], json!(commands), "refused ones are told too");
    assert_eq!(environment.result()["turns"], 1);
}

#[test]
fn endless_diagnostics_end() {
    let environment = TestEnvironment::new();
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(unsure(&["whoami"]))
        .then("repeat_last_of_role");
    assert_has(environment.cycle(&script).ended(2), &["stopped by unusable_reply", "The reviewer"]);
}

#[test]
fn time_and_variables_are_understood_without_a_shell() {
    let environment = TestEnvironment::new();
    environment.config(json!({"allow_commands": ["printenv *"]}));
    let commands = [
        "time printenv HOME",
        "GREETING=hello printenv GREETING",
        "PATH=/tmp printenv PATH",
        "LD_PRELOAD=/tmp/x printenv HOME",
        "time rm -rf src",
    ];
    let script =
        Script::new().builder(builds(&shout("$1!"))).reviewer(unsure(&commands)).reviewer(approves());
    environment.cycle(&script).ended(0);
    let second = &environment.prompts("reviewer")[1];
    assert_has(
        second,
        &[
            "$ printenv HOME\nexit code 0",
            "hello\n",
            "Refused: `PATH=/tmp printenv PATH` sets PATH",
            "sets LD_PRELOAD",
            "Refused: `time rm -rf src` is not permitted",
        ],
    );
}

#[test]
fn no_command_of_an_agent_runs_in_a_shell_even_if_its_parts_may() {
    let environment = TestEnvironment::new();
    environment.config(json!({"allow_commands": ["echo *", "touch *"]}));
    let marker = environment.path("marker");
    let touch = format!("touch {}", marker.display());
    let commands: Vec<String> =
        ["&&", ";", "|", "||", "&", "\n"].map(|op| format!("echo a {op} {touch}")).into();
    let lines: Vec<&str> = commands.iter().map(String::as_str).collect();
    let script = Script::new().builder(builds(&shout("$1!"))).reviewer(unsure(&lines)).reviewer(approves());
    environment.cycle(&script).ended(0);
    assert!(!marker.exists());
}

#[test]
fn a_test_command_with_operators_is_run_by_a_shell_and_the_receipt_says_so() {
    let environment = TestEnvironment::new();
    for (command, shell, argv) in [
        ("sh test/run.sh && echo linted", true, json!(["sh", "-c", "sh test/run.sh && echo linted"])),
        ("sh 'test/run.sh'", false, json!(["sh", "test/run.sh"])),
    ] {
        environment.config(json!({"test_command": command}));
        let script = Script::approved();
        environment.cycle(&script).ended(0);
        let receipt = &environment.evidence()[1]["receipt"];
        assert_eq!((&receipt["shell"], &receipt["argv"]), (&json!(shell), &argv));
        environment.git(&["clean", "-fdq"]);
    }
}

#[test]
fn commands_run_in_the_runs_own_tree() {
    let environment = TestEnvironment::new();
    environment.config(json!({"test_command": "pwd && git rev-parse --show-toplevel && sh test/run.sh"}));
    environment.cycle(&Script::approved()).ended(0);
    for evidence in environment.evidence() {
        let out = evidence["receipt"]["stdout"]["text"].as_str().unwrap();
        let lines: Vec<&str> = out.lines().take(2).collect();
        assert!(lines[0].starts_with(environment.path("state").to_str().unwrap()), "{out}");
        assert_eq!(lines[0], lines[1]);
        assert_has_not(out, &[environment.root().to_str().unwrap()]);
    }
}

#[test]
fn what_tests_leave_behind_is_nobodys_change() {
    let environment = TestEnvironment::new();
    environment.write("test/zz_litter_test.sh", "echo litter > src/litter.sh\nrm -f test/text_test.sh\n");
    environment.commit();
    environment.cycle(&Script::approved()).ended(0);
    assert!(!environment.has("src/litter.sh"));
    assert!(environment.has("test/text_test.sh"));
    assert_eq!(environment.result()["landed"]["files"], json!(["src/shout.sh", "test/shout_test.sh"]));
}

#[test]
fn git_in_a_test_reaches_only_the_runs_own_repository() {
    let environment = TestEnvironment::new();
    environment.write(
        "test/git_test.sh",
        "git config core.hooksPath /tmp/evil >/dev/null 2>&1\ngit update-ref refs/heads/evil HEAD >/dev/null 2>&1\n\
         git checkout -q -b other >/dev/null 2>&1\nexpect \"git works\" \"$(git rev-parse --is-inside-work-tree)\" true\n",
    );
    environment.commit();
    let config = std::fs::read(environment.root().join(".git/config")).unwrap();
    environment.cycle(&Script::approved()).ended(0);
    assert_eq!(std::fs::read(environment.root().join(".git/config")).unwrap(), config);
    assert_eq!(environment.git(&["branch", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn a_test_command_that_cannot_start_is_an_error_and_not_a_verdict() {
    let environment = TestEnvironment::new();
    environment.config(json!({"test_command": "no-such-program --test"}));
    let output = environment.cycle(&Script::approved());
    assert_has(output.ended(1), &["could not be started", "correct `test_command` in .dualagent.json"]);
    assert_eq!(environment.result()["outcome"], "error");
}
