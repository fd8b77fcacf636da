//! A disputed finding is settled by a test.

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, assert_has};
use crate::script::{Script, adds, approves, asks_for, builds, builds_with, issue, reshout, shout};

/// The claim in dispute: about a shout of nothing.
fn claim(id: &str) -> Value {
    issue(id, "major", "shout of an empty word prints no single mark")
}

/// A builder that answers a review without giving in.
fn disagrees(to: &str) -> Value {
    builds_with("", json!({"answers": [{"to": to, "answer": "disagree", "text": "It prints one."}]}))
}

/// Both sides insist; the arbiter's test follows.
fn disputed(second: &str) -> Script {
    Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[claim("empty")]))
        .builder(disagrees("empty"))
        .reviewer(asks_for(&[claim(second)]))
}

fn test_of(expected: &str) -> Value {
    builds(&adds(
        "test/claim_test.sh",
        &[&format!("expect \"shout of nothing\" \"$(shout '')\" '{expected}'")],
    ))
}

fn confirms(states_claim: bool) -> Value {
    json!({"states_claim": states_claim, "reason": "I read it."})
}

fn results(events: &[Value]) -> Vec<&Value> {
    let results = events.iter().filter(|event| event["type"] == "arbiter_result");
    results.map(|event| &event["result"]["outcome"]).collect()
}

#[test]
fn a_green_test_refutes_and_stays_in_the_change() {
    let environment = TestEnvironment::new();
    let script = disputed("empty").builder(test_of("!")).reviewer(confirms(true));
    let output = environment.cycle_with(&script, &["--events"]);
    output.ended(0);
    assert_eq!(results(&output.events()), ["bug_refuted"]);
    let mode = output.events().into_iter().find(|event| event["type"] == "arbiter_mode").unwrap();
    assert_eq!(mode["issue"]["issue_id"], "empty");
    assert_eq!(mode["issue"]["severity"], "major");
    assert!(environment.has("test/claim_test.sh"));
    let asked = environment.asked();
    let purposes: Vec<&str> = asked.iter().map(|asked| asked.purpose.as_str()).collect();
    assert_eq!(purposes, ["build", "review", "build", "review", "arbiter_test", "confirm_test"]);
    assert_has(
        &asked[4].user,
        &["## THE CLAIM", "shout of an empty word", "How to verify: call shout and look"],
    );
}

#[test]
fn a_red_test_confirms_and_has_to_be_mended() {
    let environment = TestEnvironment::new();
    let script = disputed("empty")
        .builder(test_of("?!"))
        .reviewer(confirms(true))
        .builder(builds(&reshout("$1!", "${1:-?}!")))
        .reviewer(approves());
    let output = environment.cycle_with(&script, &["--events"]);
    output.ended(0);
    assert_eq!(results(&output.events()), ["bug_confirmed"]);
    let prompt = environment.prompts("builder").pop().unwrap();
    assert_has(
        &prompt,
        &[
            "confirmed by the failing test test/claim_test.sh",
            "not ok 1 - shout of nothing",
            "mend the code, keep the test",
        ],
    );
    assert!(environment.has("test/claim_test.sh"), "it stays as regression coverage");
}

#[test]
fn a_confirmed_bug_is_never_approved_while_its_test_is_red() {
    let environment = TestEnvironment::new();
    let script = disputed("empty")
        .builder(test_of("?!"))
        .reviewer(confirms(true))
        .builder(builds(&adds("test/more_test.sh", &["expect more 1 1"])))
        .reviewer(approves());
    environment.cycle(&script).ended(2);
    assert!(!environment.has("src/shout.sh"));
}

#[test]
fn a_trivial_test_is_invalid_twice_and_settles_nothing() {
    let environment = TestEnvironment::new();
    let trivial = |n: &str| builds(&adds(&format!("test/trivial{n}_test.sh"), &["expect trivial 1 1"]));
    let script = disputed("empty")
        .builder(trivial("1"))
        .reviewer(confirms(false))
        .builder(trivial("2"))
        .reviewer(confirms(true))
        .builder(builds(&reshout("$1!", "${1}!")))
        .reviewer(approves());
    let output = environment.cycle_with(&script, &["--events"]);
    output.ended(0);
    assert_eq!(results(&output.events()), ["test_invalid", "test_invalid"]);
    assert!(!environment.has("test/trivial1_test.sh") && !environment.has("test/trivial2_test.sh"));
}

#[test]
fn a_test_that_does_not_run_is_invalid() {
    let environment = TestEnvironment::new();
    environment.config(json!({"max_iterations": 2}));
    let broken = |n: &str| builds(&adds(&format!("test/broken{n}_test.sh"), &["exit 1 # never counted"]));
    let silent = |n: &str| builds(&adds(&format!("test/notes{n}.txt"), &["no test at all"]));
    for (one, two) in [(broken("1"), broken("2")), (silent("1"), silent("2"))] {
        let script =
            disputed("empty").builder(one).reviewer(confirms(true)).builder(two).reviewer(confirms(true));
        let output = environment.cycle_with(&script, &["--events"]);
        output.ended(2);
        assert_eq!(results(&output.events()), ["test_invalid", "test_invalid"]);
    }
}

#[test]
fn a_test_that_edits_existing_files_is_invalid() {
    let environment = TestEnvironment::new();
    environment.config(json!({"max_iterations": 2}));
    let script = disputed("empty").builder(builds(&reshout("$1!", "$1?"))).then("repeat_last_of_role");
    let output = environment.cycle_with(&script, &["--events"]);
    output.ended(2);
    assert_eq!(results(&output.events()), ["test_invalid", "test_invalid"]);
}

#[test]
fn a_renamed_issue_is_recognised() {
    let environment = TestEnvironment::new();
    let script = disputed("nothingness").builder(test_of("!")).reviewer(confirms(true));
    environment.cycle(&script).ended(0);
}

#[test]
fn only_two_consecutive_reviews_start_the_arbiter() {
    let environment = TestEnvironment::new();
    environment.config(json!({"max_iterations": 4}));
    let other = issue("other", "major", "documentation of the library says nothing about volume");
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[claim("empty")]))
        .builder(builds(&reshout("$1!", "${1}!")))
        .reviewer(asks_for(&[other]))
        .builder(builds(&reshout("${1}!", "$1\"!\"")))
        .reviewer(asks_for(&[claim("empty")]))
        .builder(builds(&reshout("$1\"!\"", "\"$1\"!")))
        .reviewer(approves());
    let output = environment.cycle_with(&script, &["--events"]);
    assert!(!output.stdout.contains("arbiter_mode"), "{}", output.stderr);
    output.ended(0);
}

#[test]
fn a_refuted_issue_does_not_come_back() {
    let environment = TestEnvironment::new();
    let other = issue("other", "major", "documentation of the library says nothing about volume");
    let mut second = asks_for(&[claim("empty"), other]);
    second["stopping"] = json!("Two things.");
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[claim("empty")]))
        .builder(disagrees("empty"))
        .reviewer(second)
        .builder(test_of("!"))
        .reviewer(confirms(true))
        .builder(builds(&reshout("$1!", "${1}!")))
        .reviewer(asks_for(&[claim("empty")]));
    environment.cycle(&script).ended(0);
    assert_has(&environment.prompts("builder").pop().unwrap(), &["Refuted by a test and settled: empty."]);
}
