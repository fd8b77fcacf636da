//! Checks the values of a file against its schema, and says what is wrong with every one of them.

use std::collections::{BTreeMap, BTreeSet};

use jsonc_parser::ast::{Object, Value as Node};
use serde_json::Value;

use super::syntax::{self, Document, Position};

/// One thing that is wrong or odd, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where, in the file.
    pub at: Position,
    /// What, in full sentences.
    pub message: String,
}

/// What a check found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
    /// The keys of the file that are set to something usable, and where.
    pub(super) sound: BTreeMap<String, Position>,
    /// Every known key of the file, those in objects with a dot before their name, and where.
    pub(super) places: BTreeMap<String, Position>,
    /// The keys of the file that are set to something unusable; nothing more is said about them.
    pub(super) broken: BTreeSet<String>,
}

/// Checks a file.
pub(super) fn check(document: &Document<'_>, schema: &Value) -> Findings {
    let mut checker = Checker { document, schema, findings: Findings::default() };
    for pair in &document.root.properties {
        let key = pair.name.as_str();
        let at = document.position(pair.range.start);
        if checker.pair("", schema, &document.root, pair) {
            checker.findings.sound.insert(key.to_owned(), at);
        } else {
            checker.findings.broken.insert(key.to_owned());
        }
    }
    let Findings { sound, broken, .. } = &mut checker.findings;
    sound.retain(|key, _| !broken.contains(key) && schema["properties"].get(key).is_some());
    checker.findings
}

/// Tells whether a text has something in it that looks like a key of a well-known service.
pub(super) fn looks_like_a_key(text: &str) -> bool {
    const STARTS: [&str; 8] = ["sk-", "AIza", "ghp_", "gho_", "github_pat_", "xoxb-", "AKIA", "gsk_"];
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).any(|word| {
        let rest = STARTS.iter().find_map(|start| word.strip_prefix(start));
        rest.is_some_and(|rest| {
            rest.len() >= 14 && rest.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase())
        })
    })
}

struct Checker<'a> {
    document: &'a Document<'a>,
    schema: &'a Value,
    findings: Findings,
}

impl<'a> Checker<'a> {
    /// Checks one key with its value; `path` names the object that it is in, and ends with a dot unless it is empty.
    fn pair(
        &mut self,
        path: &str,
        schema: &'a Value,
        object: &Object<'_>,
        pair: &jsonc_parser::ast::ObjectProp<'_>,
    ) -> bool {
        let name = pair.name.as_str();
        let key = format!("{path}{}", printable(name));
        let start = pair.range.start;
        if looks_like_a_key(name) {
            return self.secret(start, "The name of a key has");
        }
        let twins = object.properties.iter().filter(|other| other.name.as_str() == name);
        if twins.map(|twin| twin.range.start).min() != Some(start) {
            return self.error(start, format!("`{key}` is there twice. Keep one of them."));
        }
        if let Some(known) = schema.get("properties").and_then(Value::as_object) {
            let Some(rule) = known.get(name) else {
                let hint = nearest(name, known.keys().map(String::as_str))
                    .map_or_else(|| "Remove it.".into(), |near| format!("Did you mean `{path}{near}`?"));
                if !self.secrets(&key, &pair.value) {
                    return false;
                }
                self.warn(start, format!("`{key}` is not a key of this file and is ignored. {hint}"));
                return true;
            };
            self.note(&key, start);
            return self.value(&key, &pair.value, rule);
        }
        self.note(&key, start);
        schema.get("additionalProperties").is_none_or(|rule| self.value(&key, &pair.value, rule))
    }

    fn note(&mut self, key: &str, start: usize) {
        let at = self.document.position(start);
        self.findings.places.entry(key.to_owned()).or_insert(at);
    }

    fn value(&mut self, key: &str, node: &Node<'_>, rule: &'a Value) -> bool {
        let rule = self.resolve(rule);
        if matches!(node, Node::StringLit(_)) && !self.secrets(key, node) {
            return false;
        }
        if let Some(choices) = rule.get("anyOf").and_then(Value::as_array) {
            // The kind of a value decides which alternative was meant, so that the message is about that one.
            let meant = choices.iter().find(|choice| self.accepts(self.resolve(choice), node));
            let meant = meant.or_else(|| {
                choices.iter().find(|choice| matches!(node, Node::Object(_)) && self.is_object(choice))
            });
            return match meant {
                Some(choice) => self.value(key, node, choice),
                None => self.mismatch(key, node, rule),
            };
        }
        match node {
            Node::Object(object) if self.is_object(rule) => self.object(key, object, rule),
            Node::Array(list) if rule.get("items").is_some() => {
                let items = &rule["items"];
                let entries = list.elements.iter().enumerate();
                let sound: Vec<bool> =
                    entries.map(|(at, node)| self.value(&format!("{key}[{at}]"), node, items)).collect();
                sound.into_iter().all(|sound| sound)
            }
            Node::Object(_)
            | Node::Array(_)
            | Node::StringLit(_)
            | Node::NumberLit(_)
            | Node::BooleanLit(_)
            | Node::NullKeyword(_) => self.accepts(rule, node) || self.mismatch(key, node, rule),
        }
    }

    fn object(&mut self, key: &str, object: &Object<'_>, rule: &'a Value) -> bool {
        let mut sound = true;
        for pair in &object.properties {
            sound &= self.pair(&format!("{key}."), rule, object, pair);
        }
        for name in rule.get("required").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = name.as_str() else { continue };
            if !object.properties.iter().any(|pair| pair.name.as_str() == name) {
                sound = self.error(
                    object.range.start,
                    format!(
                        "`{key}.{name}` is missing; it must be {}.",
                        self.expected(&rule["properties"][name])
                    ),
                );
            }
        }
        sound
    }

    /// Refuses the first key of a service, however deep it stands; the message does not repeat it.
    fn secrets(&mut self, key: &str, node: &Node<'_>) -> bool {
        let found = match node {
            Node::StringLit(text) => looks_like_a_key(&text.value),
            Node::Array(list) => return list.elements.iter().all(|node| self.secrets(key, node)),
            Node::Object(object) => {
                return object.properties.iter().all(|pair| self.secrets(key, &pair.value));
            }
            Node::NumberLit(_) | Node::BooleanLit(_) | Node::NullKeyword(_) => false,
        };
        !found || self.secret(syntax::start(node), &format!("`{key}` has"))
    }

    fn secret(&mut self, byte: usize, where_it_is: &str) -> bool {
        self.error(
            byte,
            format!(
                "{where_it_is} something in it that looks like a secret key. Keys never stand in this file: take it \
                 out, replace it at its provider if the file was ever shared, and put the new one into the \
                 environment, such as OPENAI_API_KEY or the variable that `api_key_env` names."
            ),
        )
    }

    fn mismatch(&mut self, key: &str, node: &Node<'_>, rule: &Value) -> bool {
        let advice =
            if matches!(node, Node::NullKeyword(_)) { " Leave the key out for its default." } else { "" };
        let message =
            format!("`{key}` must be {}, but it is {}.{advice}", self.expected(rule), syntax::shown(node));
        self.error(syntax::start(node), message)
    }

    fn is_object(&self, rule: &Value) -> bool {
        self.resolve_in(rule).get("type").is_some_and(|kind| kind == "object")
    }

    /// Tells whether a rule accepts a value; of objects and lists only the kind is looked at.
    fn accepts(&self, rule: &Value, node: &Node<'_>) -> bool {
        let rule = self.resolve_in(rule);
        if let Some(choices) = rule.get("anyOf").and_then(Value::as_array) {
            return choices.iter().any(|choice| self.accepts(choice, node));
        }
        if let Some(words) = words(rule) {
            return words.contains(&&syntax::to_json(node));
        }
        match (rule.get("type").and_then(Value::as_str).unwrap_or_default(), node) {
            ("string", Node::StringLit(text)) => {
                rule.get("minLength").is_none() || !text.value.trim().is_empty()
            }
            ("boolean", Node::BooleanLit(_)) | ("array", Node::Array(_)) | ("object", Node::Object(_)) => {
                true
            }
            (kind @ ("integer" | "number"), Node::NumberLit(_)) => {
                let number = syntax::to_json(node);
                let whole = number.is_u64() || number.is_i64();
                let bound = |name: &str| rule.get(name).and_then(Value::as_f64);
                number.as_f64().is_some_and(|value| {
                    (whole || kind == "number")
                        && bound("minimum").is_none_or(|least| value >= least)
                        && bound("maximum").is_none_or(|most| value <= most)
                })
            }
            (_, _) => false,
        }
    }

    /// Says what a rule wants.
    fn expected(&self, rule: &Value) -> String {
        let rule = self.resolve_in(rule);
        if let Some(choices) = rule.get("anyOf").and_then(Value::as_array) {
            return or(&choices.iter().map(|choice| self.expected(choice)).collect::<Vec<_>>());
        }
        if let Some(words) = words(rule) {
            return or(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        }
        let range = match (rule.get("minimum"), rule.get("maximum")) {
            (Some(least), Some(most)) => format!(" from {} to {}", plain(least), plain(most)),
            (Some(least), None) => format!(" of at least {}", plain(least)),
            (None, Some(most)) => format!(" of at most {}", plain(most)),
            (None, None) => String::new(),
        };
        match rule.get("type").and_then(Value::as_str).unwrap_or_default() {
            "string" if rule.get("minLength").is_some() => "a text that is not empty".into(),
            "string" => "a text".into(),
            "boolean" => "true or false".into(),
            "integer" => format!("a whole number{range}"),
            "number" => format!("a number{range}"),
            "array" => "a list of texts in square brackets".into(),
            _ => "an object in braces".into(),
        }
    }

    fn resolve(&self, rule: &'a Value) -> &'a Value {
        follow(self.schema, rule)
    }

    fn resolve_in<'b>(&'b self, rule: &'b Value) -> &'b Value {
        follow(self.schema, rule)
    }

    fn error(&mut self, byte: usize, message: String) -> bool {
        self.findings.errors.push(Problem { at: self.document.position(byte), message });
        false
    }

    fn warn(&mut self, byte: usize, message: String) {
        self.findings.warnings.push(Problem { at: self.document.position(byte), message });
    }
}

/// Follows a reference to a named definition.
fn follow<'b>(schema: &'b Value, rule: &'b Value) -> &'b Value {
    rule.get("$ref")
        .and_then(Value::as_str)
        .and_then(|name| schema.get("$defs")?.get(name.strip_prefix("#/$defs/")?))
        .unwrap_or(rule)
}

/// Returns the values that a rule lists, if it lists values.
fn words(rule: &Value) -> Option<Vec<&Value>> {
    if let Some(word) = rule.get("const") {
        return Some(vec![word]);
    }
    if let Some(words) = rule.get("enum").and_then(Value::as_array) {
        return Some(words.iter().collect());
    }
    let rows = rule.get("oneOf").and_then(Value::as_array)?;
    Some(rows.iter().filter_map(|row| row.get("const")).collect())
}

fn or(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Writes a bound without the `.0` that it has in a rule about fractions.
fn plain(bound: &Value) -> String {
    bound.as_f64().map_or_else(String::new, |bound| bound.to_string())
}

fn printable(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_debug).collect()
}

/// Returns the name most like `name`, if one is like it at all.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let flat =
        |text: &str| text.chars().filter(|c| c.is_alphanumeric()).take(60).collect::<String>().to_lowercase();
    let wanted = flat(name);
    known
        .map(|known| (strsim::normalized_damerau_levenshtein(&wanted, &flat(known)), known))
        .filter(|(likeness, _)| *likeness >= 0.7)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}
