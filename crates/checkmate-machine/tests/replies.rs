//! Replies: every file of `fixtures/replies` has three sections, `== shape`, `== reply` and `== expected`.
//!
//! Expected is one line per problem, `problem: …`, and what was read, as JSON, or `none`.

use std::fs;
use std::path::Path;

use checkmate_machine::reply::{Reply, Shape, parse, schema};
use proptest::prelude::*;

fn shape(name: &str) -> Shape {
    serde_json::from_value(serde_json::Value::String(name.to_owned())).unwrap()
}

fn summary(reply: Option<Reply>) -> String {
    match reply {
        None => "none".to_owned(),
        Some(Reply::Builder(reply)) => serde_json::to_string(&reply).unwrap(),
        Some(Reply::Review(reply)) => serde_json::to_string(&reply).unwrap(),
        Some(Reply::Decision(reply)) => serde_json::to_string(&reply).unwrap(),
        Some(Reply::Confirmation(reply)) => serde_json::to_string(&reply).unwrap(),
        Some(Reply::Probes(probes)) => format!("{probes:#?}"),
        Some(Reply::Text(text)) => format!("text: {text}"),
    }
}

fn read(text: &str, shape: Shape) -> String {
    let (reply, problems) = parse(text, shape);
    let mut read: String = problems.iter().map(|problem| format!("problem: {}\n", problem.0)).collect();
    read.push_str(&summary(reply));
    read.push('\n');
    read
}

#[test]
fn fixtures() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/replies");
    let mut count = 0;
    let mut failures = String::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let fixture = fs::read_to_string(&path).unwrap();
        let (head, rest) = fixture.split_once("\n== reply\n").unwrap();
        let (reply, expected) = rest.rsplit_once("\n== expected\n").unwrap();
        let real = read(reply, shape(head.strip_prefix("== shape\n").unwrap()));
        if real != expected {
            failures.push_str(&format!("{}:\n{real}\n", path.file_name().unwrap().display()));
        }
        count += 1;
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count >= 45, "only {count} fixtures were found");
}

#[test]
fn long_replies_are_refused() {
    let reply =
        format!(r#"{{"decision": "accept_builder", "reasoning": "{}"}}"#, "x".repeat(2 * 1024 * 1024));
    let (read, problems) = parse(&reply, Shape::Decision);
    assert_eq!(read, None);
    assert!(problems[0].0.contains("Give a shorter one"), "{problems:?}");
}

/// Texts that invite a reader to begin again and again, or to go deeper and deeper.
#[test]
fn tangled_replies_end() {
    for piece in
        ["{", "[", "{\"a\":", "{\"a\":[", "{/*", "{\"a\":1,/*", "{\"", "\"", "{\u{201c}", "{\"a\":1 ", "{//"]
    {
        let text = piece.repeat(200_000 / piece.len());
        for shape in [Shape::Builder, Shape::Review] {
            let (reply, problems) = parse(&text, shape);
            assert_eq!(reply, None);
            assert!(!problems.is_empty());
        }
    }
}

#[test]
fn what_the_schema_asks_for_has_no_problems() {
    let builder = r#"{"files_needed": null, "plan": ["p"], "patch": "d", "tests": [], "run": [], "risks": [],
        "answers": null, "conflict": null}"#;
    let review = r#"{"verdict": "approve", "issues": [], "suggested_patch": null, "extra_tests": null,
        "stopping": "s", "block_reason": null, "diagnostics_needed": null}"#;
    let decision = r#"{"decision": "reject_both", "reasoning": "r"}"#;
    let confirmation = r#"{"states_claim": false, "reason": "r"}"#;
    for (shape, reply) in [
        (Shape::Builder, builder),
        (Shape::Review, review),
        (Shape::Decision, decision),
        (Shape::Confirmation, confirmation),
    ] {
        let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&serde_json::from_str(reply).unwrap()), keys(&schema(shape).unwrap()["properties"]));
        let (read, problems) = parse(reply, shape);
        assert!(read.is_some() && problems.is_empty(), "{problems:?}");
    }
}

const SHAPES: [Shape; 5] = [Shape::Builder, Shape::Review, Shape::Decision, Shape::Confirmation, Shape::Text];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_and_nothing_is_lost_in_silence(
        text in prop_oneof![
            any::<String>(),
            prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "\\ud83d", "d83d", "\u{201c}", "\u{201d}", "\n", "//", "/*", "*/", "null",
                "true", "1e", "-", "\"verdict\"", "\"approve\"", "\"block\"", "\"issues\"", "\"stopping\"", "\"plan\"", "\"patch\"", "é", "```",
            ]), 0..40).prop_map(|pieces| pieces.concat()),
        ],
    ) {
        for shape in SHAPES {
            let (reply, problems) = parse(&text, shape);
            prop_assert!(reply.is_some() || !problems.is_empty());
        }
    }

    #[test]
    fn any_string_comes_through(patch in any::<String>(), plan in any::<Vec<String>>(), pretty: bool) {
        let value = serde_json::json!({"plan": plan, "patch": format!("x{patch}"), "tests": [], "run": [], "risks": []});
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        let (reply, problems) = parse(&format!("Sure:\n```json\n{text}\n```\nDone {{}}."), Shape::Builder);
        prop_assert_eq!(problems, []);
        let Some(Reply::Builder(reply)) = reply else { return Err(TestCaseError::fail("no reply")) };
        prop_assert_eq!((reply.patch, reply.plan), (format!("x{patch}"), plan));
    }
}
