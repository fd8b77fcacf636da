//! What follows from a review: verdicts, modes, strictness, and what the builder is told.

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, adds, approves, asks_for, builds, builds_with, issue, reshout, shout};

/// A builder whose second patch answers a review of its first.
fn two_turns(review: Value) -> Script {
    Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(review)
        .builder(builds(&reshout("$1!", "${1}!")))
        .reviewer(approves())
}

#[test]
fn blockers_go_back_to_the_builder_with_how_to_verify() {
    let loud = issue("loud", "critical", "it is not loud enough");
    let blocks =
        json!({"verdict": "block", "block_reason": "definite_bug", "issues": [loud], "stopping": "A bug."});
    for review in [asks_for(std::slice::from_ref(&loud)), blocks] {
        let environment = TestEnvironment::new();
        environment.cycle(&two_turns(review)).ended(0);
        assert_eq!(environment.order(), "builder reviewer builder reviewer");
        let second = &environment.prompts("builder")[1];
        assert_has(
            second,
            &["[loud] critical", "it is not loud enough", "How to verify: call shout and look at loud"],
        );
        assert_eq!(environment.read("src/shout.sh"), "shout() { echo \"${1}!\"; }\n");
    }
}

#[test]
fn an_approving_word_beside_a_blocker_is_no_approval() {
    let environment = TestEnvironment::new();
    let review =
        json!({"verdict": "approve", "stopping": "Fine.", "issues": [issue("loud", "major", "not loud")]});
    environment.cycle(&two_turns(review)).ended(0);
    assert_eq!(environment.result()["turns"], 2);
}

#[test]
fn suggestions_do_not_block() {
    let environment = TestEnvironment::new();
    let script = Script::new().builder(builds(&shout("$1!"))).reviewer(asks_for(&[issue(
        "name",
        "minor",
        "a better name",
    )]));
    let output = environment.cycle(&script);
    assert_has(output.ended(0), &["minor [name] a better name", "APPROVED"]);
}

#[test]
fn a_person_is_told_what_to_decide() {
    let environment = TestEnvironment::new();
    let script = Script::new().builder(builds(&shout("$1!"))).reviewer(json!({
        "verdict": "block", "block_reason": "needs_human", "issues": [],
        "stopping": "Decide whether shouting is polite in this house."
    }));
    let output = environment.cycle(&script);
    assert_has(
        output.ended(2),
        &["stopped by needs_human", "Decide whether shouting is polite in this house."],
    );
    assert_eq!(environment.result()["stopped_by"], "needs_human");
    assert!(!environment.has("src/shout.sh"));
}

#[test]
fn a_proposal_goes_to_the_builder_and_nowhere_else() {
    let environment = TestEnvironment::new();
    let mut review = asks_for(&[issue("loud", "major", "not loud")]);
    review["suggested_patch"] = json!(adds("src/proposed.sh", &["proposed() { :; }"]));
    environment.cycle(&two_turns(review)).ended(0);
    assert_has(&environment.prompts("builder")[1], &["## SUGGESTED_PATCH", "+proposed() { :; }"]);
    assert!(!environment.has("src/proposed.sh"));
}

#[test]
fn missing_tests_are_tracked_until_they_are_answered() {
    let environment = TestEnvironment::new();
    let mut review = asks_for(&[issue("loud", "major", "not loud")]);
    review["extra_tests"] = json!(["shouting an empty string", "shouting numbers like 42"]);
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(review)
        .builder(builds_with(&reshout("$1!", "${1}!"), json!({"tests": ["shouting an empty string"]})))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    assert_has(&environment.prompts("builder")[1], &["[test-1] open: shouting an empty string"]);
    let second = &environment.prompts("reviewer")[1];
    assert_has(second, &["[test-1] the builder says", "[test-2] open: shouting numbers like 42"]);
}

#[test]
fn a_finding_without_a_way_to_verify_is_an_objection() {
    let environment = TestEnvironment::new();
    let vague = json!({"severity": "critical", "description": "feels wrong", "issue_id": "vibe"});
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(std::slice::from_ref(&vague)))
        .builder(builds_with(
            "",
            json!({"answers": [{"to": "vibe", "answer": "justified", "text": "It is tested."}]}),
        ))
        .reviewer(approves());
    let output = environment.cycle(&script);
    assert_has_not(output.ended(0), &["arbiter"]);
    assert_has(
        &environment.prompts("builder")[1],
        &["[vibe] critical, objection, not reproducible as stated"],
    );
    assert_has(&environment.prompts("reviewer")[1], &["It is tested."]);
}

#[test]
fn a_skipped_review_is_said_and_counted() {
    let environment = TestEnvironment::new();
    environment.config(json!({"review_mode": "selective", "review_on_test_pass": false}));
    let output = environment.cycle(&Script::new().builder(builds(&shout("$1!"))));
    assert_has(output.ended(0), &["Review skipped by configuration."]);
    assert_eq!(environment.result()["usage"]["calls_by_role"], json!({"builder": 1}));
}

#[test]
fn selective_reviews_everything_after_a_red_first_turn() {
    for flag in [true, false] {
        let environment = TestEnvironment::new();
        environment.config(json!({"review_mode": "selective", "review_on_test_pass": flag}));
        let script = Script::new()
            .builder(builds(&shout("$1?")))
            .builder(builds(&reshout("$1?", "$1!")))
            .reviewer(approves());
        environment.cycle(&script).ended(0);
        assert_eq!(environment.order(), "builder builder reviewer");
    }
}

#[test]
fn final_only_asks_once_the_run_would_end() {
    let environment = TestEnvironment::new();
    environment.config(json!({"review_mode": "final_only"}));
    let script = Script::new()
        .builder(builds(&shout("$1?")))
        .builder(builds(&reshout("$1?", "$1.")))
        .builder(builds(&reshout("$1.", "$1!")))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    assert_eq!(environment.order(), "builder builder builder reviewer");
}

#[test]
fn strictness_is_a_rule_and_a_prompt() {
    let finding = |category: &str, severity: &str| {
        json!({"severity": severity, "description": format!("a matter of {category}"), "issue_id": "x",
               "how_to_verify": "read it", "category": category})
    };
    for (strictness, category, severity, blocks) in [
        ("lenient", "style", "major", false),
        ("lenient", "bug", "major", false),
        ("lenient", "bug", "critical", true),
        ("lenient", "security", "major", true),
        ("balanced", "style", "major", true),
        ("balanced", "performance", "major", false),
        ("balanced", "bug", "minor", false),
        ("strict", "style", "minor", true),
        ("strict", "performance", "major", true),
    ] {
        let environment = TestEnvironment::new();
        environment.config(json!({"review_strictness": strictness, "max_iterations": 1}));
        let script =
            Script::new().builder(builds(&shout("$1!"))).reviewer(asks_for(&[finding(category, severity)]));
        let code = environment.cycle(&script).code;
        assert_eq!(code, Some(if blocks { 2 } else { 0 }), "{strictness} {category} {severity}");
    }
}

#[test]
fn strictness_changes_the_reviewers_prompt() {
    let prompt = |keys: Value| {
        let environment = TestEnvironment::new();
        environment.config(keys);
        environment.cycle(&Script::approved()).ended(0);
        environment.asked().into_iter().find(|asked| asked.role == "reviewer").unwrap().system
    };
    let [lenient, balanced, strict] =
        ["lenient", "balanced", "strict"].map(|level| prompt(json!({"review_strictness": level})));
    assert_eq!(prompt(json!({})), balanced);
    assert!(lenient != balanced && balanced != strict && lenient != strict);
}
