//! Values that a program writes down as literals, read from one source and written into another.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use tree_sitter::Node;

use crate::inspect::language::{Language, Source, children};

/// A longer text is not repeated in a call, in characters.
const LONGEST: usize = 4000;
/// A value with more levels is not read: whatever prints, copies or drops it calls itself for every level.
const DEEPEST: usize = 60;
/// The arguments of one call hold at most so many values, with those that names stand for.
const LARGEST: usize = 20_000;

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
    let reader = Reader::new(source, names);
    let mut args = Args::default();
    for child in children(list) {
        match child.kind() {
            "comment" => {}
            "keyword_argument" => {
                let name = source.of(child.child_by_field_name("name")?).to_owned();
                args.named.push((name, reader.value(child.child_by_field_name("value")?, 0)?));
            }
            _ => args.positional.push(reader.value(child, 0)?),
        }
    }
    Some(args)
}

/// Reads a literal; `None` if it is none, or if it is too deep or too large to be worked with.
pub(super) fn value(source: &Source, node: Node<'_>, names: &Names) -> Option<Value> {
    Reader::new(source, names).value(node, 0)
}

/// Reads literals. What it returns is at most [`DEEPEST`] values deep, so that whatever walks it may call itself.
struct Reader<'a> {
    source: &'a Source,
    names: &'a Names,
    /// How many more values can be read.
    room: Cell<usize>,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source, names: &'a Names) -> Self {
        Self { source, names, room: Cell::new(LARGEST) }
    }

    fn take(&self, values: usize) -> Option<()> {
        self.room.set(self.room.get().checked_sub(values)?);
        Some(())
    }

    /// Returns what a name stands for. It must not become deeper by it than what is written out.
    fn named(&self, name: &str, depth: usize) -> Option<Value> {
        let value = self.names.get(name)?;
        let (deep, large) = value.extent();
        self.take(large)?;
        (depth + deep <= DEEPEST).then(|| value.clone())
    }

    fn value(&self, node: Node<'_>, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        self.take(1)?;
        let text = self.source.of(node);
        let items = || self.all(&children(node), depth + 1);
        Some(match node.kind() {
            "none" | "null" => Value::Null,
            "undefined" => Value::Undefined,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "identifier" => return self.named(text, depth),
            "integer" | "float" | "number" => number(text)?,
            "string" | "template_string" => string(self.source, node)?,
            "concatenated_string" => Value::Text(joined(&items()?)?),
            "list" | "array" => Value::List(items()?),
            "tuple" => Value::Tuple(items()?),
            "set" => Value::Set(items()?),
            "parenthesized_expression" => return self.value(node.named_child(0)?, depth + 1),
            "dictionary" | "object" => self.map(node, depth + 1)?,
            "unary_operator" | "unary_expression" => self.negated(node, depth + 1)?,
            "binary_operator" | "binary_expression" => self.repeated(node, depth + 1)?,
            "new_expression" if text.starts_with("new Set") => {
                match self.all(&children(node.child_by_field_name("arguments")?), depth + 1)?.as_slice() {
                    [] => Value::Set(Vec::new()),
                    [Value::List(items)] => Value::Set(items.clone()),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    fn all(&self, nodes: &[Node<'_>], depth: usize) -> Option<Vec<Value>> {
        let nodes = nodes.iter().filter(|node| node.kind() != "comment");
        nodes.map(|node| self.value(*node, depth)).collect()
    }

    fn map(&self, node: Node<'_>, depth: usize) -> Option<Value> {
        let mut pairs = Vec::new();
        for child in children(node).into_iter().filter(|child| child.kind() != "comment") {
            if child.kind() == "shorthand_property_identifier" {
                let name = self.source.of(child);
                pairs.push((Value::Text(name.to_owned()), self.named(name, depth)?));
                continue;
            }
            let key = (child.kind() == "pair").then(|| child.child_by_field_name("key")).flatten()?;
            let key = match key.kind() {
                "property_identifier" => Value::Text(self.source.of(key).to_owned()),
                "computed_property_name" => self.value(key.named_child(0)?, depth)?,
                _ => self.value(key, depth)?,
            };
            pairs.push((key, self.value(child.child_by_field_name("value")?, depth)?));
        }
        Some(Value::Map(pairs))
    }

    fn negated(&self, node: Node<'_>, depth: usize) -> Option<Value> {
        let value = self.value(node.named_child(0)?, depth)?;
        match (self.source.of(node).chars().next()?, value) {
            // JavaScript has a zero below zero.
            ('-', Value::Int(0)) if self.source.language != Language::Python => Some(Value::Float(-0.0)),
            ('-', Value::Int(number)) => number.checked_neg().map(Value::Int),
            ('-', Value::Float(number)) => Some(Value::Float(-number)),
            ('!', Value::Int(number)) => Some(Value::Bool(number == 0)),
            (_, _) => None,
        }
    }

    /// Reads `"ab" * 20`, `[0] * 3` and `"a" + "b"`.
    fn repeated(&self, node: Node<'_>, depth: usize) -> Option<Value> {
        let side = |name| self.value(node.child_by_field_name(name)?, depth);
        let operator = self.source.of(node.child_by_field_name("operator")?);
        let times = |count: i128, length: usize| {
            usize::try_from(count.max(0)).ok().filter(|count| count.saturating_mul(length) <= LONGEST)
        };
        match (operator, side("left")?, side("right")?) {
            ("*", Value::Text(text), Value::Int(count)) | ("*", Value::Int(count), Value::Text(text)) => {
                Some(Value::Text(text.repeat(times(count, text.len())?)))
            }
            ("*", Value::List(items), Value::Int(count)) => {
                let count = times(count, items.len())?.min(200);
                let large = items.iter().map(|item| item.extent().1).sum::<usize>();
                self.take(large.checked_mul(count)?)?;
                Some(Value::List(std::iter::repeat_n(items, count).flatten().collect()))
            }
            ("+", Value::Text(one), Value::Text(two)) => {
                (one.len() + two.len() <= LONGEST).then(|| Value::Text(one + &two))
            }
            ("+", Value::Int(one), Value::Int(two)) => Some(Value::Int(one.checked_add(two)?)),
            (_, _, _) => None,
        }
    }
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
    let texts: Vec<&str> = items.iter().map(Value::text).collect::<Option<_>>()?;
    (texts.iter().map(|text| text.len()).sum::<usize>() <= LONGEST).then(|| texts.concat())
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

    /// Returns how deep the value is, 0 for one that holds nothing, and how many values it is made of. Calls itself:
    /// what [`value`] returns is never deep.
    fn extent(&self) -> (usize, usize) {
        let of = |values: &mut dyn Iterator<Item = &Value>| {
            values.map(Value::extent).fold((1_usize, 1_usize), |(deep, large), (depth, size)| {
                (deep.max(depth + 1), large.saturating_add(size))
            })
        };
        match self {
            Value::List(items) | Value::Tuple(items) | Value::Set(items) => of(&mut items.iter()),
            Value::Map(pairs) => of(&mut pairs.iter().flat_map(|(key, value)| [key, value])),
            Value::Null
            | Value::Undefined
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Bytes(_) => (0, 1),
        }
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
