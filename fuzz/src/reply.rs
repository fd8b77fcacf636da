//! Replies: any text, pieces of JSON, and whole replies with an agent's words around them.

use std::fmt;

use arbitrary::{Arbitrary, Unstructured};
use checkmate_machine::reply::{BuilderReply, Decision, DecisionKind, GoalConflict, Reply, Shape, parse};
use serde_json::Value;

use crate::choose::Choose;

/// A text, and what was asked for.
pub struct Case {
    shape: Shape,
    text: String,
    /// What must be read without a problem.
    meant: Option<Reply>,
}

const SHAPES: [Shape; 5] = [Shape::Builder, Shape::Review, Shape::Decision, Shape::Confirmation, Shape::Text];

const PIECES: [&str; 46] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "'",
    "\\",
    "\\u",
    "\\ud83d",
    "d83d",
    "“",
    "”",
    "\n",
    "//",
    "/*",
    "*/",
    "null",
    "true",
    "false",
    "1e9",
    "-",
    "é",
    "```",
    "```json\n",
    "\\n",
    "\\\"",
    "\"verdict\":",
    "\"approve\"",
    "\"block\"",
    "\"request_changes\"",
    "\"issues\":",
    "\"severity\":",
    "\"critical\"",
    "\"description\":",
    "\"stopping\":",
    "\"plan\":",
    "\"patch\":",
    "\"tests\":",
    "\"run\":",
    "\"risks\":",
    "\"decision\":",
    "\"accept_builder\"",
    "\"reasoning\":",
    "\"states_claim\":",
];

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let rest = bytes.bytes(bytes.len())?;
        let mut choose = Choose(Unstructured::new(rest));
        let shape = choose.one(&SHAPES);
        Ok(match choose.up_to(3) {
            0 => {
                let bytes = choose.0.bytes(choose.0.len()).unwrap_or_default();
                Case { shape, text: String::from_utf8_lossy(bytes).into_owned(), meant: None }
            }
            1 | 2 => {
                let mut text = String::new();
                for _ in 0..choose.up_to(60) {
                    text.push_str(choose.one(&PIECES));
                    if choose.chance(2) {
                        text.push_str(&choose.text());
                    }
                }
                Case { shape, text, meant: None }
            }
            _ => whole(&mut choose),
        })
    }
}

fn whole(choose: &mut Choose<'_>) -> Case {
    let (shape, meant, value) = if choose.chance(10) { builder(choose) } else { decision(choose) };
    let text = if choose.chance(8) { format!("{value:#}") } else { value.to_string() };
    let text = match choose.up_to(3) {
        0 => text,
        1 => format!("```json\n{text}\n```"),
        2 => format!("Sure:\n```json\n{text}\n```\nDone {{}}."),
        _ => format!("\u{feff}Here it is: {text}\r\n"),
    };
    Case { shape, text, meant: Some(meant) }
}

fn builder(choose: &mut Choose<'_>) -> (Shape, Reply, Value) {
    let texts = |choose: &mut Choose<'_>| -> Vec<String> {
        (0..choose.up_to(2)).map(|_| format!("x{}", choose.text())).collect()
    };
    let reply = BuilderReply {
        plan: texts(choose),
        patch: format!("x{}", choose.text()),
        tests: texts(choose),
        run: texts(choose),
        risks: texts(choose),
        conflict: choose
            .chance(4)
            .then(|| GoalConflict { reason: "x".to_owned(), evidence: format!("x{}", choose.text()) }),
        ..BuilderReply::default()
    };
    let value = serde_json::to_value(&reply).expect("strings are JSON");
    (Shape::Builder, Reply::Builder(reply), value)
}

fn decision(choose: &mut Choose<'_>) -> (Shape, Reply, Value) {
    let kinds = [DecisionKind::AcceptBuilder, DecisionKind::AcceptReviewer, DecisionKind::RejectBoth];
    let reply = Decision { decision: choose.one(&kinds), reasoning: format!("x{}", choose.text()) };
    let value = serde_json::to_value(&reply).expect("strings are JSON");
    (Shape::Decision, Reply::Decision(reply), value)
}

/// Holds a case to every law; a broken one panics with what is needed to see why.
pub fn hold(case: &Case) {
    let read = parse(&case.text, case.shape);
    assert_eq!(read, parse(&case.text, case.shape), "read in two ways: {case:?}");
    let (reply, problems) = read;
    assert!(reply.is_some() || !problems.is_empty(), "nothing was read, and nobody is told: {case:?}");
    assert!(problems.iter().all(|problem| !problem.0.trim().is_empty()), "an empty problem: {case:?}");
    if let Some(meant) = &case.meant {
        assert_eq!((reply.as_ref(), problems.as_slice()), (Some(meant), [].as_slice()), "{case:?}");
    }
    let Some(reply) = reply else { return };
    let shape = match &reply {
        Reply::Builder(_) => Shape::Builder,
        Reply::Review(_) => Shape::Review,
        Reply::Decision(_) => Shape::Decision,
        Reply::Confirmation(_) => Shape::Confirmation,
        Reply::Text(_) => Shape::Text,
    };
    assert_eq!(shape, case.shape, "a reply of another shape: {case:?}");
    if problems.is_empty() {
        let again = parse(&written(&reply), shape);
        assert_eq!(again, (Some(reply), Vec::new()), "written and read again: {case:?}");
    }
}

fn written(reply: &Reply) -> String {
    let written = match reply {
        Reply::Builder(reply) => serde_json::to_string(reply),
        Reply::Review(reply) => serde_json::to_string(reply),
        Reply::Decision(reply) => serde_json::to_string(reply),
        Reply::Confirmation(reply) => serde_json::to_string(reply),
        Reply::Text(text) => return text.clone(),
    };
    written.expect("strings are JSON")
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}, meant: {:?}\n{:?}\n{}", self.shape, self.meant, self.text, self.text)
    }
}
