//! From text to JSON with positions. A byte order mark, comments and trailing commas are accepted.

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Number, Value};

/// A place in the file; both numbers count from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A file that is an object.
pub(super) struct Document<'a> {
    text: &'a str,
    pub(super) root: Object<'a>,
}

/// Why a text is no such file: where, and what is wrong there.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: Position,
    pub(super) what: String,
}

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<Document<'_>, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| Fault {
        at: Position { line: error.line_display(), column: error.column_display() },
        what: error.kind().to_string(),
    })?;
    match parsed.value {
        Some(Node::Object(root)) => Ok(Document { text, root }),
        Some(other) => Err(Fault {
            at: position(text, start(&other)),
            what: format!("Expected an object in braces, but found {}", shown(&other)),
        }),
        None => Err(Fault {
            at: Position { line: 1, column: 1 },
            what: "Expected an object in braces, but the file is empty".into(),
        }),
    }
}

impl Document<'_> {
    /// Returns the position of a byte.
    pub(super) fn position(&self, byte: usize) -> Position {
        position(self.text, byte)
    }

    /// Returns the whole file as JSON; of a key that is there twice, the last one counts.
    pub(super) fn to_json(&self) -> Value {
        object(&self.root)
    }
}

fn position(text: &str, byte: usize) -> Position {
    let before = text.get(..byte).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Position { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}

fn object(node: &Object<'_>) -> Value {
    let pairs = node.properties.iter();
    Value::Object(pairs.map(|pair| (pair.name.as_str().to_owned(), to_json(&pair.value))).collect())
}

/// Returns a value as JSON; a number that no machine can hold becomes null.
pub(super) fn to_json(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => Value::String(text.value.to_string()),
        Node::NumberLit(number) => number.value.parse::<Number>().map_or(Value::Null, Value::Number),
        Node::BooleanLit(truth) => Value::Bool(truth.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(list) => Value::Array(list.elements.iter().map(to_json).collect()),
        Node::Object(node) => object(node),
    }
}

/// Returns the byte at which a value starts.
pub(super) fn start(node: &Node<'_>) -> usize {
    match node {
        Node::StringLit(text) => text.range.start,
        Node::NumberLit(number) => number.range.start,
        Node::BooleanLit(truth) => truth.range.start,
        Node::NullKeyword(null) => null.range.start,
        Node::Array(list) => list.range.start,
        Node::Object(object) => object.range.start,
    }
}

/// Names a value in a message: small ones as they are written, others by what they are.
pub(super) fn shown(node: &Node<'_>) -> String {
    match node {
        Node::StringLit(text) if text.value.is_empty() => "empty".into(),
        Node::StringLit(text) if text.value.chars().count() > 60 => "a long text".into(),
        Node::StringLit(text) => Value::String(text.value.to_string()).to_string(),
        Node::NumberLit(number) if number.value.len() > 30 => "a number too long to use".into(),
        Node::NumberLit(number) => number.value.to_owned(),
        Node::BooleanLit(truth) => truth.value.to_string(),
        Node::NullKeyword(_) => "null".into(),
        Node::Array(_) => "a list".into(),
        Node::Object(_) => "an object".into(),
    }
}
