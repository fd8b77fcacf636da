//! Replies as models really send them.

use serde_json::json;

use crate::environment::{TestEnvironment, assert_has};
use crate::script::{Script, adds, approves, builds, reshout, shout, shout_line};

#[test]
fn a_patch_may_be_an_array_of_lines() {
    let mut trees = Vec::new();
    for as_lines in [false, true] {
        let environment = TestEnvironment::new();
        let mut reply = builds(&shout("$1!"));
        if as_lines {
            reply["patch"] = shout("$1!").lines().collect();
        }
        environment.cycle(&Script::new().builder(reply).reviewer(approves())).ended(0);
        trees.push(environment.files());
    }
    assert_eq!(trees[0], trees[1]);
}

#[test]
fn blocks_whole_files_and_sloppy_diffs_come_to_the_same_tree() {
    let test = "expect \"shout ends with a mark\" \"$(shout hey)\" 'hey!'";
    let source = shout_line("$1!");
    let file = |path: &str, line: &str| format!("<file path=\"{path}\">\n{line}\n</file>\n");
    let block =
        |path: &str, line: &str| format!("{path}\n<<<<<<< SEARCH\n=======\n{line}\n>>>>>>> REPLACE\n");
    let sloppy = |path: &str, line: &str| format!("--- a/{path}\n+++ b/{path}\n@@\n+{line}\n");
    let mut trees = Vec::new();
    for form in [&file as &dyn Fn(&str, &str) -> String, &block, &sloppy] {
        let environment = TestEnvironment::new();
        let patch = format!("{}{}", form("src/shout.sh", &source), form("test/shout_test.sh", test));
        environment.cycle(&Script::new().builder(builds(&patch)).reviewer(approves())).ended(0);
        trees.push(environment.files());
    }
    assert_eq!(trees[0], trees[1]);
    assert_eq!(trees[0], trees[2]);
}

#[test]
fn several_places_show_the_builder_the_real_text_of_each() {
    let environment = TestEnvironment::new();
    let twins = "one() {\n  :\n}\n\ntwo() {\n  :\n}\n";
    let unclear = "--- a/src/twins.sh\n+++ b/src/twins.sh\n@@ ... @@\n-  :\n+  true\n";
    let script = Script::new()
        .builder(builds(&format!(
            "{}{}",
            shout("$1?"),
            adds("src/twins.sh", &twins.lines().collect::<Vec<_>>())
        )))
        .builder(builds(unclear))
        .builder(builds(&reshout("$1?", "$1!")))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    assert_has(
        &environment.prompts("builder")[2],
        &["in more than one place, starting at lines 2, 6", "     1 | one() {", "     5 | two() {"],
    );
    assert_eq!(environment.read("src/twins.sh"), twins, "nothing of it was applied");
}

#[test]
fn fences_and_chatter_are_accepted() {
    let environment = TestEnvironment::new();
    let script = Script::new()
        .builder(json!(format!("Here you are!\n```json\n{}\n```\nHappy shouting.", builds(&shout("$1!")))))
        .reviewer(json!(format!("I think that\n{}\nis my verdict.", approves())));
    environment.cycle(&script).ended(0);
}

#[test]
fn a_missing_field_is_asked_for_by_name() {
    let environment = TestEnvironment::new();
    let mut partial = builds(&shout("$1!"));
    partial.as_object_mut().unwrap().remove("risks");
    let script = Script::new().builder(partial).builder(builds(&shout("$1!"))).reviewer(approves());
    environment.cycle(&script).ended(0);
    let second = &environment.prompts("builder")[1];
    assert_has(second, &["## YOUR LAST REPLY COULD NOT BE USED", "`risks`"]);
    assert_eq!(environment.result()["turns"], 1);
}

#[test]
fn a_role_that_never_gives_a_usable_reply_is_named() {
    for (role, script) in [
        ("builder", Script::new().builder(json!("I would rather not.")).then("repeat_last_of_role")),
        ("builder", Script::new().then("empty")),
        (
            "reviewer",
            Script::new()
                .builder(builds(&shout("$1!")))
                .reviewer(json!({"verdict": "approve", "issues": []}))
                .then("repeat_last_of_role"),
        ),
    ] {
        let environment = TestEnvironment::new();
        let output = environment.cycle(&script);
        let wanted = format!("The {role} did not give a usable reply in three attempts.");
        assert_has(output.ended(2), &["stopped by unusable_reply", &wanted]);
        assert_eq!(environment.prompts(role).len(), 3);
        assert!(!environment.has("src/shout.sh"));
    }
}

#[test]
fn a_patch_that_is_empty_for_ever_ends() {
    let environment = TestEnvironment::new();
    let reply = json!({"plan": [], "patch": "", "tests": [], "run": [], "risks": [],
                       "answers": [{"to": "x", "answer": "fixed", "text": "Done."}]});
    let output = environment.cycle(&Script::new().builder(reply).then("repeat_last_of_role"));
    assert_has(output.ended(2), &["stopped by unusable_reply", "`patch` is empty"]);
}

#[test]
fn a_model_that_declines_is_unusable_and_no_error() {
    let environment = TestEnvironment::new();
    let script =
        (0..3).fold(Script::new(), |script, _| script.entry(json!({"role": "builder", "fail": "refusal"})));
    let output = environment.cycle(&script);
    assert_has(output.ended(2), &["stopped by unusable_reply", "declined to answer"]);
}

#[test]
fn an_unplaceable_patch_is_a_turn_with_a_reason_per_hunk() {
    let environment = TestEnvironment::new();
    let wrong = "--- a/src/text.sh\n+++ b/src/text.sh\n@@ -1 +1 @@\n-lower() { :; }\n+lower() { echo; }\n";
    let script = Script::new().builder(builds(wrong)).builder(builds(&shout("$1!"))).reviewer(approves());
    environment.cycle(&script).ended(0);
    assert_has(
        &environment.prompts("builder")[1],
        &["The patch could not be applied; nothing changed.", "src/text.sh"],
    );
}

#[test]
fn terminal_sequences_in_a_reply_are_printed_harmlessly() {
    let environment = TestEnvironment::new();
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}";
    let mut reply = builds(&shout("$1!"));
    reply["plan"] = json!([format!("plan {evil}")]);
    reply["risks"] = json!([format!("risk {evil}")]);
    reply["run"] = json!([format!("run {evil}")]);
    let review = json!({"verdict": "approve", "stopping": format!("stop {evil}"), "extra_tests": [format!("t {evil}")],
        "issues": [{"severity": "minor", "description": format!("d {evil}"), "how_to_verify": evil, "issue_id": evil}]});
    let output = environment.cycle(&Script::new().builder(reply).reviewer(review));
    output.ended(0);
    let shown = environment.run(&["show", "latest"]).stdout;
    let talk = environment.run(&["show", "latest", "--prompts"]).stdout;
    for text in [&output.stderr, &shown, &talk] {
        let bad: Vec<char> =
            text.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
        assert!(bad.is_empty(), "{bad:?} in {text}");
    }
    assert_has(&output.stderr, &["plan ", "risk ", "stop "]);
}
