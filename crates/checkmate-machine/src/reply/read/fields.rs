//! Typed access to the fields of one JSON object; what is wrong with them is collected.

use serde_json::{Map, Value};

use super::{Names, Problem};
use crate::patch::join_lines;

/// An object's fields, and where complaints about them go.
pub(super) struct Fields<'a, 'p> {
    pub(super) object: &'a Map<String, Value>,
    problems: &'p mut Vec<Problem>,
    /// What stands before a field's name in complaints, such as `issues[0].`.
    prefix: String,
}

impl<'a, 'p> Fields<'a, 'p> {
    pub(super) fn new(object: &'a Map<String, Value>, problems: &'p mut Vec<Problem>) -> Self {
        Self { object, problems, prefix: String::new() }
    }

    /// Returns the fields of an object that lies in this one.
    pub(super) fn within<'q>(&'q mut self, object: &'a Map<String, Value>, prefix: String) -> Fields<'a, 'q> {
        Fields { object, problems: self.problems, prefix }
    }

    pub(super) fn problem(&mut self, sentence: impl Into<String>) {
        self.problems.push(Problem(sentence.into()));
    }

    /// Tells whether a field is there; null is as good as absent.
    pub(super) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn missing(&mut self, name: &str, kind: &str) {
        let field = format!("{}{name}", self.prefix);
        self.problem(format!("`{field}` is missing; it must be {kind}."));
    }

    pub(super) fn wrong(&mut self, name: &str, kind: &str) {
        let field = format!("{}{name}", self.prefix);
        self.problem(format!("`{field}` must be {kind}."));
    }

    /// Reads a text that has to be there and say something.
    pub(super) fn required_text(&mut self, name: &str) -> String {
        match self.text(name) {
            Some(text) => text,
            None => {
                // A wrong type was complained about already.
                if self.value(name).is_none_or(|value| as_text(value).is_some()) {
                    self.missing(name, "a string that says something");
                }
                String::new()
            }
        }
    }

    /// Reads a text; an empty one is as good as absent.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let value = self.value(name)?;
        match as_text(value) {
            Some(text) => Some(text).filter(|text| !text.trim().is_empty()),
            None => {
                self.wrong(name, "a string");
                None
            }
        }
    }

    /// Reads a list of texts; a single text is a list of one. `None` if there is none.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        match self.value(name)? {
            Value::String(one) if one.trim().is_empty() => Some(Vec::new()),
            Value::String(one) => Some(vec![one.clone()]),
            Value::Array(many) => {
                let texts: Vec<String> = many.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                if texts.len() < many.len() {
                    self.wrong(name, "an array of strings");
                }
                Some(texts)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                self.wrong(name, "an array of strings");
                Some(Vec::new())
            }
        }
    }

    /// Reads a patch: a text, or an array of its lines.
    pub(super) fn patch(&mut self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Array(lines) if lines.iter().all(Value::is_string) => {
                Some(join_lines(lines.iter().filter_map(Value::as_str)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::Array(_) => {
                self.wrong(name, "a string with the patch, or an array of its lines");
                Some(String::new())
            }
        }
    }

    /// Reads the objects of an array and gives each to `read`; other elements are complained about.
    pub(super) fn objects<T>(
        &mut self,
        name: &str,
        mut read: impl FnMut(Fields<'a, '_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Value::Array(elements) = self.value(name)? else {
            self.wrong(name, "an array of objects");
            return Some(Vec::new());
        };
        let mut all = Vec::new();
        for (number, element) in elements.iter().enumerate() {
            match element.as_object() {
                Some(object) => all.extend(read(self.within(object, format!("{name}[{number}].")))),
                None => self.wrong(&format!("{name}[{number}]"), "an object"),
            }
        }
        Some(all)
    }

    /// Reads a name that has to be one of a few.
    pub(super) fn required_name<T: Copy>(&mut self, name: &str, names: &Names<'_, T>) -> Option<T> {
        let known = self.value(name).and_then(Value::as_str).and_then(|text| named(text, names));
        if known.is_none() {
            let kind = format!("one of {}", list(names));
            if self.has(name) { self.wrong(name, &kind) } else { self.missing(name, &kind) }
        }
        known
    }
}

/// Finds a name, whatever its case and whether its words are joined by `_`, `-` or a space.
pub(super) fn named<T: Copy>(text: &str, names: &Names<'_, T>) -> Option<T> {
    let wanted = normal(text);
    names.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
}

/// Returns a name in the form in which names are listed.
pub(super) fn normal(text: &str) -> String {
    text.trim().to_lowercase().replace([' ', '-'], "_")
}

pub(super) fn list<T>(names: &Names<'_, T>) -> String {
    names.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Reads a text; models also give numbers as names and arrays of steps.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(lines) => {
            lines.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|lines| lines.join("\n"))
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}
