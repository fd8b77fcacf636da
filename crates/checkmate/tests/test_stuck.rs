//! Going in circles, the moderator, and summaries of long runs.

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, adds, approves, asks_for, builds, builds_with, issue, reshout, shout};

fn decides(decision: &str) -> Value {
    json!({"decision": decision, "reasoning": "I weighed both sides."})
}

fn with_moderator(more: Value) -> TestEnvironment {
    let environment = TestEnvironment::new();
    let mut keys =
        json!({"enable_moderator": true, "moderator_provider": "anthropic", "moderator_model": "m"});
    keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    environment.config(keys);
    environment
}

/// The builder sends its first patch again after a review.
fn repeats() -> Script {
    Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[issue("loud", "major", "not loud enough")]))
        .builder(builds(&shout("$1!")))
}

#[test]
fn the_same_patch_again_stops_the_run_with_a_reason() {
    let environment = TestEnvironment::new();
    let output = environment.cycle(&repeats());
    assert_has(
        output.ended(2),
        &[
            "stopped by oscillation: The builder sent the same patch as in turn 1.",
            "Still open: loud: not loud enough",
        ],
    );
    assert_eq!(environment.order(), "builder reviewer builder", "no moderator unless it is enabled");
}

#[test]
fn nearly_the_same_large_patch_counts_and_small_variants_do_not() {
    let large = |last: &str| {
        let mut lines: Vec<String> = (0..60).map(|n| format!("# line {n}")).collect();
        lines.push(format!("large() {{ echo {last}; }}"));
        adds("src/large.sh", &lines.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let red =
        |patch: &str| builds(&format!("{patch}{}", adds("test/large_test.sh", &["expect l \"$(large)\" 9"])));
    // A red candidate stays; the second patch has to be a rewrite of the file to look alike.
    let environment = TestEnvironment::new();
    let rewrite = large("2").replace("--- /dev/null", "--- a/src/large.sh");
    let second = rewrite.replace("@@ -0,0 +1,61 @@", "@@ -61,1 +61,61 @@\n-large() { echo 1; }");
    let output = environment.cycle(&Script::new().builder(red(&large("1"))).builder(builds(&second)));
    assert_has(output.ended(2), &["stopped by oscillation", "% of the lines of the one before"]);
    let environment = TestEnvironment::new();
    let script = Script::new()
        .builder(builds(&shout("$1?")))
        .builder(builds(&reshout("$1?", "$1.")))
        .builder(builds(&reshout("$1.", "$1!")))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
}

#[test]
fn the_same_blockers_in_three_reviews_stop_the_run() {
    let environment = TestEnvironment::new();
    environment.config(json!({"max_iterations": 9}));
    let vague = json!({"severity": "major", "description": "feels wrong", "issue_id": "vibe"});
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(std::slice::from_ref(&vague)))
        .builder(builds(&reshout("$1!", "${1}!")))
        .reviewer(asks_for(std::slice::from_ref(&vague)))
        .builder(builds(&adds("test/more_test.sh", &["expect more 1 1"])))
        .reviewer(asks_for(&[vague]));
    let output = environment.cycle(&script);
    assert_has(output.ended(2), &["stopped by oscillation: The same findings are open for 3 reviews: vibe."]);
}

#[test]
fn the_moderator_decides_and_its_reasoning_is_shown() {
    for (decision, code, stopped_by) in [
        ("accept_builder", 0, Value::Null),
        ("accept_reviewer", 2, json!("moderator")),
        ("reject_both", 2, json!("needs_human")),
    ] {
        let environment = with_moderator(json!({}));
        let output = environment.cycle_with(&repeats().moderator(decides(decision)), &["--events"]);
        assert_has(output.ended(code), &[decision, "I weighed both sides."]);
        assert_eq!(environment.result()["stopped_by"], stopped_by);
        let event = output.events().into_iter().find(|event| event["type"] == "moderator_decision").unwrap();
        assert_eq!(event["decision"]["reasoning"], "I weighed both sides.");
        assert_eq!(environment.has("src/shout.sh"), code == 0);
        let prompt = environment.prompts("moderator").remove(0);
        assert_has(
            &prompt,
            &[
                "## GOAL",
                "Nobody may want to shout",
                "Write shout",
                "+shout() { echo \"$1!\"; }",
                "## ISSUES HISTORY",
                "[loud] raised in turn 1; open",
                "tap: 2 passed",
            ],
        );
    }
}

#[test]
fn no_moderator_approves_over_red_tests() {
    let environment = with_moderator(json!({}));
    let script = Script::new()
        .builder(builds(&shout("$1?")))
        .builder(builds(&shout("$1?")))
        .moderator(decides("accept_builder"));
    let output = environment.cycle(&script);
    assert_has(output.ended(2), &["no moderator approves over missing or red evidence"]);
    assert!(!environment.has("src/shout.sh"));
}

#[test]
fn the_moderator_is_asked_at_the_limit() {
    let environment = with_moderator(json!({"max_iterations": 1}));
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[issue("loud", "major", "not loud enough")]))
        .moderator(decides("accept_builder"));
    environment.cycle(&script).ended(0);
}

#[test]
fn a_long_history_is_summarised_once_and_open_issues_stay() {
    let environment = TestEnvironment::new();
    environment.config(json!({"max_iterations": 4, "context_summary_threshold": 60}));
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[issue("loud", "major", "it is not loud enough for a hall")]))
        .builder(builds_with("", json!({"answers": [{"to": "loud", "answer": "disagree", "text": "No."}]})))
        .reviewer(asks_for(&[issue(
            "rude",
            "major",
            "documentation of the library says nothing about manners",
        )]))
        .builder(json!("In short: shout was written, its volume was disputed."))
        .builder(builds(&reshout("$1!", "${1}!")))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    let asked = environment.asked();
    let summaries: Vec<&str> =
        asked.iter().filter(|asked| asked.purpose == "summarise").map(|asked| asked.role.as_str()).collect();
    assert_eq!(summaries, ["builder"], "one call of the builder's model");
    let last = environment.prompts("builder").pop().unwrap();
    assert_has(&last, &["## SUMMARY OF TURNS 1 TO 1", "In short: shout was written", "[rude] major"]);
    let first = environment.prompts("builder").remove(0);
    assert_has_not(&first, &["SUMMARY"]);
}
