//! Values that a program writes down as literals, read from one source and written into another.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tree_sitter::Node;

use crate::inspect::language::{Language, Source, children};

/// A longer text is not repeated in a call, in characters.
const LONGEST: usize = 4000;

/// A value without names in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Undefined,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    /// ASCII only.
    Bytes(String),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Set(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

/// The values of names.
pub(super) type Names = BTreeMap<String, Value>;

/// The arguments of one call.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Args {
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(String, Value)>,
}

impl Args {
    /// Returns every argument, to be changed.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.positional.iter_mut().chain(self.named.iter_mut().map(|(_, value)| value))
    }

    /// Returns the arguments as they stand in a call.
    pub(super) fn source(&self, language: Language) -> String {
        let positional = self.positional.iter().map(|value| value.source(language));
        let named = self.named.iter().map(|(name, value)| format!("{name}={}", value.source(language)));
        positional.chain(named).collect::<Vec<_>>().join(", ")
    }
}

/// Reads the arguments of a call; `None` if one of them is no literal.
pub(super) fn arguments(source: &Source, list: Node<'_>, names: &Names) -> Option<Args> {
    let mut args = Args::default();
    for child in children(list) {
        match child.kind() {
            "comment" => {}
            "keyword_argument" => {
                let name = source.of(child.child_by_field_name("name")?).to_owned();
                args.named.push((name, value(source, child.child_by_field_name("value")?, names)?));
            }
            _ => args.positional.push(value(source, child, names)?),
        }
    }
    Some(args)
}

/// Reads a literal; `None` if it is none.
pub(super) fn value(source: &Source, node: Node<'_>, names: &Names) -> Option<Value> {
    let text = source.of(node);
    let items = || all(source, &children(node), names);
    Some(match node.kind() {
        "none" | "null" => Value::Null,
        "undefined" => Value::Undefined,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "identifier" => return names.get(text).cloned(),
        "integer" | "float" | "number" => number(text)?,
        "string" | "template_string" => string(source, node)?,
        "concatenated_string" => Value::Text(joined(&items()?)?),
        "list" | "array" => Value::List(items()?),
        "tuple" => Value::Tuple(items()?),
        "set" => Value::Set(items()?),
        "parenthesized_expression" => return value(source, node.named_child(0)?, names),
        "dictionary" | "object" => map(source, node, names)?,
        "unary_operator" | "unary_expression" => negated(source, node, names)?,
        "binary_operator" | "binary_expression" => repeated(source, node, names)?,
        "new_expression" if text.starts_with("new Set") => {
            match all(source, &children(node.child_by_field_name("arguments")?), names)?.as_slice() {
                [] => Value::Set(Vec::new()),
                [Value::List(items)] => Value::Set(items.clone()),
                _ => return None,
            }
        }
        _ => return None,
    })
}

fn all(source: &Source, nodes: &[Node<'_>], names: &Names) -> Option<Vec<Value>> {
    nodes.iter().filter(|node| node.kind() != "comment").map(|node| value(source, *node, names)).collect()
}

fn number(text: &str) -> Option<Value> {
    let text = text.replace('_', "");
    let radix = match text.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0b" | "0B") => 2,
        Some("0o" | "0O") => 8,
        _ => 10,
    };
    if radix != 10 {
        return i128::from_str_radix(text.get(2..)?, radix).ok().map(Value::Int);
    }
    text.parse().map(Value::Int).ok().or_else(|| text.parse().map(Value::Float).ok())
}

fn string(source: &Source, node: Node<'_>) -> Option<Value> {
    if children(node).iter().any(|child| matches!(child.kind(), "interpolation" | "template_substitution")) {
        return None;
    }
    let text = source.of(node);
    let open = text.find(['"', '\'', '`'])?;
    let (prefix, quoted) = text.split_at(open);
    let prefix = prefix.to_ascii_lowercase();
    let width =
        if prefix.len() < 3 && (quoted.starts_with("\"\"\"") || quoted.starts_with("'''")) { 3 } else { 1 };
    let inner = quoted.get(width..quoted.len().checked_sub(width)?)?;
    let inner = if prefix.contains('r') { inner.to_owned() } else { unescaped(inner)? };
    match (prefix.contains('f'), prefix.contains('b')) {
        (true, _) => None,
        (false, true) => inner.is_ascii().then_some(Value::Bytes(inner)),
        (false, false) => (inner.len() <= LONGEST).then_some(Value::Text(inner)),
    }
}

fn unescaped(text: &str) -> Option<String> {
    let (mut plain, mut rest) = (String::new(), text.chars());
    while let Some(next) = rest.next() {
        if next != '\\' {
            plain.push(next);
            continue;
        }
        let width = match rest.next()? {
            'n' => {
                plain.push('\n');
                continue;
            }
            't' => {
                plain.push('\t');
                continue;
            }
            'r' => {
                plain.push('\r');
                continue;
            }
            'b' => {
                plain.push('\u{8}');
                continue;
            }
            'f' => {
                plain.push('\u{c}');
                continue;
            }
            'v' => {
                plain.push('\u{b}');
                continue;
            }
            '\n' => continue,
            '0' => {
                plain.push('\0');
                continue;
            }
            quote @ ('\\' | '\'' | '"' | '`' | '/' | '$') => {
                plain.push(quote);
                continue;
            }
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => return None,
        };
        let digits: String = if rest.as_str().starts_with('{') {
            rest.by_ref().skip(1).take_while(|c| *c != '}').collect()
        } else {
            rest.by_ref().take(width).collect()
        };
        plain.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
    }
    Some(plain)
}

fn joined(items: &[Value]) -> Option<String> {
    items.iter().map(Value::text).collect()
}

fn map(source: &Source, node: Node<'_>, names: &Names) -> Option<Value> {
    let mut pairs = Vec::new();
    for child in children(node).into_iter().filter(|child| child.kind() != "comment") {
        if child.kind() == "shorthand_property_identifier" {
            let name = source.of(child);
            pairs.push((Value::Text(name.to_owned()), names.get(name)?.clone()));
            continue;
        }
        let key = (child.kind() == "pair").then(|| child.child_by_field_name("key")).flatten()?;
        let key = match key.kind() {
            "property_identifier" => Value::Text(source.of(key).to_owned()),
            "computed_property_name" => value(source, key.named_child(0)?, names)?,
            _ => value(source, key, names)?,
        };
        pairs.push((key, value(source, child.child_by_field_name("value")?, names)?));
    }
    Some(Value::Map(pairs))
}

fn negated(source: &Source, node: Node<'_>, names: &Names) -> Option<Value> {
    let value = value(source, node.named_child(0)?, names)?;
    match (source.of(node).chars().next()?, value) {
        // JavaScript has a zero below zero.
        ('-', Value::Int(0)) if source.language != Language::Python => Some(Value::Float(-0.0)),
        ('-', Value::Int(number)) => Some(Value::Int(-number)),
        ('-', Value::Float(number)) => Some(Value::Float(-number)),
        ('!', Value::Int(number)) => Some(Value::Bool(number == 0)),
        (_, _) => None,
    }
}

/// Reads `"ab" * 20`, `[0] * 3` and `"a" + "b"`.
fn repeated(source: &Source, node: Node<'_>, names: &Names) -> Option<Value> {
    let side = |name| value(source, node.child_by_field_name(name)?, names);
    let operator = source.of(node.child_by_field_name("operator")?);
    let times = |count: i128, length: usize| {
        usize::try_from(count.max(0)).ok().filter(|count| count.saturating_mul(length) <= LONGEST)
    };
    match (operator, side("left")?, side("right")?) {
        ("*", Value::Text(text), Value::Int(count)) | ("*", Value::Int(count), Value::Text(text)) => {
            Some(Value::Text(text.repeat(times(count, text.len())?)))
        }
        ("*", Value::List(items), Value::Int(count)) => {
            let count = times(count, items.len())?.min(200);
            Some(Value::List(std::iter::repeat_n(items, count).flatten().collect()))
        }
        ("+", Value::Text(one), Value::Text(two)) => Some(Value::Text(one + &two)),
        ("+", Value::Int(one), Value::Int(two)) => Some(Value::Int(one.checked_add(two)?)),
        (_, _, _) => None,
    }
}

impl Value {
    /// Returns the text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the items of a list or a tuple.
    pub(super) fn items(&self) -> Option<&[Value]> {
        if let Value::List(items) | Value::Tuple(items) = self { Some(items) } else { None }
    }

    /// Writes the value down; in ASCII, so that no encoding matters.
    pub(super) fn source(&self, language: Language) -> String {
        let python = language == Language::Python;
        let each =
            |items: &[Value]| items.iter().map(|item| item.source(language)).collect::<Vec<_>>().join(", ");
        match self {
            Value::Null | Value::Undefined if python => "None".into(),
            Value::Null => "null".into(),
            Value::Undefined => "undefined".into(),
            Value::Bool(true) if python => "True".into(),
            Value::Bool(false) if python => "False".into(),
            Value::Bool(yes) => yes.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => format!("{number:?}"),
            Value::Text(text) => quoted(text, python),
            Value::Bytes(text) => format!("b{}", quoted(text, python)),
            Value::List(items) => format!("[{}]", each(items)),
            Value::Tuple(items) if items.len() == 1 => format!("({},)", each(items)),
            Value::Tuple(items) => format!("({})", each(items)),
            Value::Set(items) if !python => format!("new Set([{}])", each(items)),
            Value::Set(items) if items.is_empty() => "set()".into(),
            Value::Set(items) => format!("{{{}}}", each(items)),
            Value::Map(pairs) => {
                let pairs: Vec<String> =
                    pairs.iter().map(|(key, value)| pair(key, value, language)).collect();
                format!("{{{}}}", pairs.join(", "))
            }
        }
    }
}

fn pair(key: &Value, value: &Value, language: Language) -> String {
    let script = language != Language::Python;
    let key = match (key, key.source(language)) {
        // `__proto__: ...` would set a prototype.
        (Value::Text(name), _) if script && name == "__proto__" => "[\"__proto__\"]".to_owned(),
        (Value::Int(number), _) if script && *number < 0 => format!("\"{number}\""),
        (_, written) => written,
    };
    format!("{key}: {}", value.source(language))
}

fn quoted(text: &str, python: bool) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            '"' | '\\' => write!(quoted, "\\{c}"),
            '\n' => write!(quoted, "\\n"),
            '\t' => write!(quoted, "\\t"),
            ' '..='~' => write!(quoted, "{c}"),
            c if u32::from(c) < 256 => write!(quoted, "\\x{:02x}", u32::from(c)),
            c if python => write!(quoted, "\\U{:08x}", u32::from(c)),
            c => write!(quoted, "\\u{{{:x}}}", u32::from(c)),
        };
    }
    quoted.push('"');
    quoted
}
