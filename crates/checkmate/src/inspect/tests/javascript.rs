//! Tests of `node:test`, jest, vitest, mocha and those that write like them.

mod asserts;
mod lost;

use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::facts::Strength;

use super::{Dialect, Found, Helper, Helpers, Marks, Scope};
use crate::inspect::outline::{Outline, clip, compact, unquoted};

/// Modules whose functions define tests.
const RUNNERS: [&str; 11] = [
    "node:test",
    "vitest",
    "@jest/globals",
    "mocha",
    "bun:test",
    "ava",
    "tape",
    "tap",
    "uvu",
    "@playwright/test",
    "qunit",
];

/// Modules whose functions assert.
const ASSERTING: [&str; 7] =
    ["assert", "node:assert", "assert/strict", "node:assert/strict", "chai", "uvu/assert", "power-assert"];

/// Subtests in subtests are read so far.
const DEEPEST: usize = 6;

pub(super) struct JavaScript {
    /// Names that define tests, with what they stand for.
    runners: BTreeMap<String, String>,
    /// Imported functions that assert.
    asserting: BTreeMap<String, String>,
}

impl JavaScript {
    pub(super) fn new(outline: &Outline<'_>) -> Self {
        let plain = [
            "test",
            "it",
            "describe",
            "suite",
            "context",
            "specify",
            "xit",
            "xtest",
            "xdescribe",
            "xcontext",
        ];
        let plain = plain.into_iter().chain(["xspecify", "fit", "ftest", "fdescribe", "fcontext"]);
        let mut found = Self {
            runners: plain.map(|name| (name.to_owned(), name.to_owned())).collect(),
            asserting: BTreeMap::new(),
        };
        for at in outline.children(0).into_iter().take(2000) {
            let text = clip(outline.text(at), 1000);
            match outline.kind(at) {
                "import_statement" => found.import(text, outline.field_text(at, "source")),
                "lexical_declaration" | "variable_declaration" => {
                    let module = text.split_once("require(").and_then(|(_, rest)| rest.split_once(')'));
                    found.import(text, module.map_or("", |(module, _)| module));
                }
                _ => {}
            }
        }
        found
    }

    fn import(&mut self, text: &str, module: &str) {
        let Some(module) = unquoted(module.trim()) else { return };
        let (runs, asserts) = (RUNNERS.contains(&module), ASSERTING.contains(&module));
        if !runs && !asserts {
            return;
        }
        let names =
            text.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map_or("", |(names, _)| names);
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let (original, local) =
                name.split_once(" as ").or_else(|| name.split_once(':')).unwrap_or((name, name));
            let (original, local) = (original.trim().to_owned(), local.trim().to_owned());
            match original.as_str() {
                "test" | "it" | "describe" | "suite" | "specify" if runs => {
                    self.runners.insert(local, original)
                }
                "mock" | "before" | "after" | "beforeEach" | "afterEach" | "vi" | "jest" | "expect" => None,
                _ if asserts => self.asserting.insert(local, original),
                _ => None,
            };
        }
        let default = text
            .trim_start_matches("import")
            .trim_start_matches("const")
            .trim_start_matches("let")
            .trim_start();
        let default =
            default.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '$').next();
        if let Some(default) = default.filter(|name| !name.is_empty()) {
            if runs {
                self.runners.insert(default.to_owned(), "test".to_owned());
            } else {
                self.asserting.insert(default.to_owned(), String::new());
            }
        }
    }

    /// Reads a call that defines a test or a group of tests.
    fn defines<'t>(
        &self,
        outline: &Outline<'t>,
        at: usize,
        handles: &BTreeSet<&str>,
    ) -> Option<Definition<'t>> {
        if outline.kind(at) != "call_expression" {
            return None;
        }
        let mut function = outline.field(at, "function")?;
        let mut modifiers = Vec::new();
        // `test.skip.each([…])("…", …)`: calls and members in a row.
        for _ in 0..6 {
            match outline.kind(function) {
                "call_expression" => {
                    function = outline.field(function, "function")?;
                }
                "member_expression" => {
                    modifiers.push(outline.field_text(function, "property"));
                    function = outline.field(function, "object")?;
                }
                _ => break,
            }
        }
        let root = outline.text(function);
        let stands = match self.runners.get(root) {
            Some(stands) => stands.as_str(),
            None if (handles.contains(root) || matches!(root, "Deno" | "QUnit" | "tap"))
                && modifiers.iter().any(|modifier| matches!(*modifier, "test" | "it")) =>
            {
                "test"
            }
            None => return None,
        };
        let known = [
            "skip",
            "only",
            "todo",
            "each",
            "concurrent",
            "sequential",
            "serial",
            "failing",
            "fails",
            "test",
            "it",
            "describe",
            "skipIf",
            "runIf",
            "if",
            "parallel",
            "for",
            "fixme",
            "slow",
            "fail",
            "retries",
        ];
        if !modifiers.iter().all(|modifier| known.contains(modifier)) {
            return None;
        }
        let arguments = outline.children(outline.field(at, "arguments")?);
        let callback = arguments.iter().copied().find(|argument| is_function(outline.kind(*argument)));
        let named = callback.or_else(|| {
            arguments.iter().skip(1).copied().find(|argument| outline.kind(*argument) == "identifier")
        });
        let group = matches!(
            stands,
            "describe" | "suite" | "context" | "xdescribe" | "xcontext" | "fdescribe" | "fcontext"
        ) || modifiers.contains(&"describe");
        let first = arguments.first().copied()?;
        let text = outline.text(first);
        let name = if is_function(outline.kind(first)) { "" } else { unquoted(text).unwrap_or(text) };
        let pending = modifiers.is_empty() && matches!(outline.kind(first), "string" | "template_string");
        if named.is_none() && !modifiers.contains(&"todo") && !pending {
            return None;
        }
        let name = clip(name, 300).split_whitespace().collect::<Vec<_>>().join(" ");
        let skipped = self.skipped(outline, at, (root, stands), &modifiers, &arguments, named);
        Some(Definition {
            group,
            name,
            arguments,
            callback,
            skipped,
            handle: callback.and_then(|at| handle(outline, at)),
        })
    }

    fn skipped(
        &self,
        outline: &Outline<'_>,
        at: usize,
        (root, stands): (&str, &str),
        modifiers: &[&str],
        arguments: &[usize],
        callback: Option<usize>,
    ) -> Option<String> {
        let marks = ["skip", "todo", "failing", "fails", "fixme", "skipIf", "runIf", "fail"];
        if let Some(marker) = modifiers.iter().find(|modifier| marks.contains(modifier)) {
            return Some(format!("{root}.{marker}"));
        }
        if stands.starts_with('x') {
            return Some(root.to_owned());
        }
        for argument in arguments.iter().filter(|argument| outline.kind(**argument) == "object") {
            for pair in outline.children(*argument).into_iter().take(50) {
                let (key, value) = (outline.field_text(pair, "key"), outline.field_text(pair, "value"));
                let key = unquoted(key).unwrap_or(key);
                let off = matches!(value, "false" | "undefined" | "0" | "null" | "\"\"" | "''");
                let shorthand = matches!(outline.text(pair), "skip" | "todo");
                if matches!(key, "skip" | "todo" | "fails" | "ignore" | "expectFailure") && !off || shorthand
                {
                    return Some(outline.line(*argument));
                }
            }
        }
        let Some(callback) = callback else { return Some(outline.line(at)) };
        let each = compact(outline.head(at, 40));
        if each.contains(".each([])") {
            return Some(".each([])".to_owned());
        }
        let body = outline.field(callback, "body")?;
        outline.children(body).into_iter().take(3).find_map(|statement| {
            let text = outline.head(statement, 100).trim_start_matches("return ");
            let call = text.split('(').next().unwrap_or_default();
            let owner = call.strip_suffix(".skip").or_else(|| call.strip_suffix(".todo"))?;
            let own = owner == "this" || handle(outline, callback).as_deref() == Some(owner);
            own.then(|| outline.line(statement))
        })
    }
}

struct Definition<'t> {
    group: bool,
    name: String,
    arguments: Vec<usize>,
    callback: Option<usize>,
    skipped: Option<String>,
    /// The name under which the callback knows its test.
    handle: Option<std::borrow::Cow<'t, str>>,
}

impl Dialect for JavaScript {
    fn tests(&self, outline: &Outline<'_>) -> Vec<Found> {
        let mut found = Vec::new();
        let mut handles: BTreeSet<&str> = BTreeSet::new();
        // The groups and tests that are open, with where they end.
        let mut open: Vec<(usize, String, Option<String>, usize)> = Vec::new();
        for at in outline.all() {
            while open.last().is_some_and(|(end, ..)| *end <= at) {
                open.pop();
            }
            let Some(definition) = self.defines(outline, at, &handles) else { continue };
            // `test.each([…])` is a part of the call that defines.
            let part = outline.parent(at).is_some_and(|up| {
                outline.kind(up) == "call_expression" && outline.field(up, "function") == Some(at)
            });
            let depth = open.last().map_or(0, |(.., depth)| *depth);
            if part || depth >= DEEPEST {
                continue;
            }
            let above = open.last();
            let name = match above {
                Some((_, prefix, ..)) if prefix.len() < 400 => format!("{prefix} > {}", definition.name),
                Some(_) | None => definition.name.clone(),
            };
            let skipped = definition.skipped.or_else(|| above.and_then(|(_, _, skipped, _)| skipped.clone()));
            if let Some(at) = definition.callback.filter(|_| definition.handle.is_some())
                && let Some(name) = parameter(outline, at)
            {
                handles.insert(name);
            }
            open.push((
                outline.end(at),
                name.clone(),
                skipped.clone(),
                depth + usize::from(!definition.group),
            ));
            if definition.group {
                continue;
            }
            let mut pieces: Vec<usize> = definition.arguments.iter().skip(1).copied().collect();
            if outline
                .field(at, "function")
                .is_some_and(|function| outline.kind(function) == "call_expression")
            {
                pieces.extend(outline.field(at, "function"));
            }
            let body = definition.callback.and_then(|callback| outline.field(callback, "body"));
            found.push(Found {
                name,
                at,
                body,
                pieces,
                skipped,
                shadowed: false,
                declared: Vec::new(),
                lost: None,
            });
        }
        found
    }

    fn functions<'t>(&self, outline: &Outline<'t>) -> Helpers<'t> {
        let mut helpers = BTreeMap::new();
        for at in outline.all() {
            let (name, function) = match outline.kind(at) {
                "function_declaration" | "method_definition" => (outline.field_text(at, "name"), Some(at)),
                "variable_declarator" => {
                    let value = outline.field(at, "value").filter(|value| is_function(outline.kind(*value)));
                    (outline.field_text(at, "name"), value)
                }
                _ => continue,
            };
            if let Some(function) = function
                && let Some(body) = outline.field(function, "body")
            {
                let waits = outline.head(function, 6).starts_with("async");
                helpers.insert(name, Helper { body, waits });
            }
        }
        helpers
    }

    fn assertion(&self, scope: &Scope<'_, '_>, at: usize) -> Option<Strength> {
        asserts::assertion(self, scope, at)
    }

    fn mark(&self, scope: &Scope<'_, '_>, at: usize, marks: &mut Marks) {
        lost::mark(scope, at, marks);
    }

    fn called<'t>(&self, outline: &Outline<'t>, at: usize) -> Option<&'t str> {
        if outline.kind(at) != "call_expression" {
            return None;
        }
        let function = outline.field(at, "function")?;
        match outline.kind(function) {
            "identifier" => Some(outline.text(function)),
            "member_expression" if outline.field_text(function, "object") == "this" => {
                Some(outline.field_text(function, "property"))
            }
            _ => None,
        }
    }
}

fn is_function(kind: &str) -> bool {
    matches!(kind, "arrow_function" | "function_expression" | "function" | "generator_function")
}

/// Returns the name of a function's first parameter.
fn parameter<'t>(outline: &Outline<'t>, function: usize) -> Option<&'t str> {
    let single = outline.field(function, "parameter");
    let listed = || outline.children(outline.field(function, "parameters")?).first().copied();
    let text = clip(outline.text(single.or_else(listed)?), 40);
    let plain = text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '$');
    plain.then_some(text)
}

fn handle<'t>(outline: &Outline<'t>, function: usize) -> Option<std::borrow::Cow<'t, str>> {
    parameter(outline, function).map(std::borrow::Cow::Borrowed)
}
