//! Secrets stay out of everything that is written down, shown or sent.

use serde_json::json;

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, approves, builds, shout};

const SECRET: &str = "vq8Zr2Lx0TnW5bYk7HsD1fGj4MpC9uEa-and-a-long-tail";

/// Everything that the run left in the state folder.
fn state(environment: &TestEnvironment) -> Vec<u8> {
    fn collect(folder: &std::path::Path, all: &mut Vec<u8>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                collect(&path, all);
            } else if path.file_name().is_some_and(|name| name != "script.json") {
                all.extend(std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    let mut all = Vec::new();
    collect(&environment.path("state"), &mut all);
    all
}

#[test]
fn what_a_test_prints_of_a_key_is_redacted_everywhere() {
    let mut environment = TestEnvironment::new();
    environment.set("MY_API_KEY", SECRET);
    environment.config(
        json!({"keep_env": ["MY_API_KEY"], "test_command": "echo key=$MY_API_KEY && sh test/run.sh"}),
    );
    let script = Script::new()
        .builder(builds(&shout("$1?")))
        .builder(builds(&crate::script::reshout("$1?", "$1!")))
        .reviewer(approves());
    let output = environment.cycle_with(&script, &["--events"]);
    output.ended(0);
    let result = std::fs::read_to_string(environment.path("result.json")).unwrap();
    let shown = environment.run(&["show", "latest", "--prompts"]).stdout;
    for text in [
        &output.stdout,
        &output.stderr,
        &result,
        &shown,
        &String::from_utf8_lossy(&state(&environment)).into(),
    ] {
        assert_has_not(text, &[SECRET]);
    }
    assert_has(&environment.prompts("builder")[1], &["key=[redacted]"]);
}

#[test]
fn commands_do_not_even_see_keys_that_nobody_gave_them() {
    let mut environment = TestEnvironment::new();
    environment.set("MY_API_KEY", SECRET);
    environment.config(json!({"test_command": "echo key=$MY_API_KEY && sh test/run.sh"}));
    environment.cycle(&Script::approved()).ended(0);
    assert!(environment.evidence()[0]["receipt"]["stdout"]["text"].as_str().unwrap().starts_with("key=\n"));
}

#[test]
fn a_key_in_a_reply_is_redacted_even_if_it_arrives_in_pieces() {
    let mut environment = TestEnvironment::new();
    environment.set("MY_API_KEY", SECRET);
    let mut reply = builds(&shout("$1!"));
    reply["plan"] = json!([format!("Use {SECRET} to shout")]);
    let output = environment.cycle_with(&Script::new().builder(reply).reviewer(approves()), &["--events"]);
    output.ended(0);
    let mut streamed = String::new();
    for event in output.events().iter().filter(|event| event["type"] == "stream_chunk") {
        streamed.push_str(event["chunk"].as_str().unwrap());
    }
    assert_has_not(&streamed, &[SECRET, &SECRET[..20], &SECRET[20..]]);
    assert_has(&streamed, &["Use [redacted] to shout"]);
    assert_has_not(&String::from_utf8_lossy(&state(&environment)), &[SECRET]);
}

#[test]
fn a_key_in_a_file_does_not_reach_a_prompt() {
    let mut environment = TestEnvironment::new();
    environment.set("MY_API_KEY", SECRET);
    environment.write("src/settings.sh", format!("API_KEY={SECRET}\n"));
    environment.commit();
    let script = Script::new()
        .builder(json!({"files_needed": ["src/settings.sh"]}))
        .builder(builds(&shout("$1!")))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    assert_has(&environment.prompts("builder")[1], &["API_KEY=[redacted]"]);
    assert_eq!(environment.read("src/settings.sh"), format!("API_KEY={SECRET}\n"));
}

#[test]
fn a_key_in_the_goal_is_not_written_down() {
    let mut environment = TestEnvironment::new();
    environment.set("MY_API_KEY", SECRET);
    let script = environment.script(&Script::approved());
    let goal = format!("Add shout; the key is {SECRET}");
    let output = environment.run(&["run", &goal, "--replay", &script, "--events"]);
    output.ended(0);
    assert_has_not(&output.stdout, &[SECRET]);
    assert_has_not(&output.stderr, &[SECRET]);
    assert_has_not(&String::from_utf8_lossy(&state(&environment)), &[SECRET]);
}

#[test]
fn a_patch_cannot_fish_for_the_lines_of_a_secret_file() {
    let guess = "--- a/.env\n+++ b/.env\n@@ -1,3 +1,3 @@\n HOST=db\n-PIN=guess\n+PIN=other\n USER=me\n";
    let beside = "--- a/.env\n+++ b/.env\n@@ -1,1 +1,2 @@\n HOST=db\n+PORT=1\n";
    let moved =
        "diff --git a/.env b/shown.txt\nsimilarity index 100%\nrename from .env\nrename to shown.txt\n";
    for patch in [guess, beside, moved] {
        let environment = TestEnvironment::new();
        environment.write(".env", "HOST=db\nPIN=hunter2hunter2\nUSER=me\n");
        environment.commit();
        let script = Script::new().builder(builds(patch)).builder(builds(&shout("$1!"))).reviewer(approves());
        let output = environment.cycle(&script);
        assert_has(output.ended(0), &["`.env` is a file that holds secrets"]);
        assert_eq!(environment.order(), "builder builder reviewer", "{patch}");
        for prompt in environment.prompts("builder").iter().chain(&environment.prompts("reviewer")) {
            assert_has_not(prompt, &["hunter2"]);
        }
    }
}

#[test]
fn a_repository_cannot_have_a_key_sent_to_an_address_of_its_own() {
    let mut environment = TestEnvironment::new();
    environment.set("OPENAI_API_KEY", SECRET);
    let role = json!({"provider": "openai", "model": "m", "base_url": "https://gate.invalid/v1"});
    environment.config(json!({"builder": role, "reviewer": role}));
    let said = environment.run(&["run", "Add shout"]);
    assert_has(
        said.ended(1),
        &[
            "OPENAI_API_KEY would be sent to `gate.invalid`",
            "export CHECKMATE_TRUSTED_HOSTS=\"gate.invalid\"",
        ],
    );
    assert!(environment.runs().is_empty());
    let found = environment.run(&["doctor", "--no-tests"]);
    assert_has(&found.stdout, &["would be sent to `gate.invalid`"]);
    assert_has_not(&found.stdout, &[SECRET]);
}
