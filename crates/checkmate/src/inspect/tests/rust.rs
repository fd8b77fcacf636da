//! Tests of Rust.

use std::collections::BTreeMap;

use checkmate_machine::facts::{Assertion, Lost, Strength};

use super::strength::{condition, equality, split};
use super::{Dialect, Found, Helper, Helpers, Marks, Scope, by_hand, mark_behind};
use crate::inspect::outline::{Outline, clip, compact};

/// Conditions that hold wherever the tests of most projects run.
const USUAL: [&str; 10] = [
    "test",
    "all(test)",
    "unix",
    "not(windows)",
    "not(miri)",
    "debug_assertions",
    "target_os=\"linux\"",
    "all(test,unix)",
    "not(loom)",
    "all(test,not(miri))",
];

pub(super) struct Rust;

impl Dialect for Rust {
    fn tests(&self, outline: &Outline<'_>) -> Vec<Found> {
        let mut found = Vec::new();
        let mut open = vec![(0, String::new(), file_marker(outline))];
        while let Some((block, prefix, skipped)) = open.pop() {
            let (mut attributes, mut below) = (Vec::new(), Vec::new());
            for at in outline.children(block) {
                match outline.kind(at) {
                    "attribute_item" => {
                        attributes.push(at);
                        continue;
                    }
                    "function_item" => {
                        found.extend(test(outline, at, &attributes, &prefix, skipped.as_ref()))
                    }
                    "mod_item" => {
                        let marker = marker(outline, &attributes).or_else(|| skipped.clone());
                        let name = outline.field_text(at, "name");
                        if let Some(body) = outline.field(at, "body").filter(|_| prefix.len() < 400) {
                            below.push((body, format!("{prefix}{name}::"), marker));
                        }
                    }
                    _ => {}
                }
                attributes.clear();
            }
            open.extend(below.into_iter().rev());
        }
        found.sort_by_key(|test: &Found| test.at);
        found
    }

    fn functions<'t>(&self, outline: &Outline<'t>) -> Helpers<'t> {
        let mut helpers = BTreeMap::new();
        for at in outline.all().filter(|at| outline.kind(*at) == "function_item") {
            if let Some(body) = outline.field(at, "body") {
                helpers.insert(outline.field_text(at, "name"), Helper { body, waits: false });
            }
        }
        helpers
    }

    fn assertion(&self, scope: &Scope<'_, '_>, at: usize) -> Option<Strength> {
        let outline = scope.outline;
        match outline.kind(at) {
            "macro_invocation" => {
                let name = outline.field_text(at, "macro");
                let tokens =
                    outline.children(at).into_iter().find(|child| outline.kind(*child) == "token_tree")?;
                asserted(scope, name, outline.head(tokens, 4000), at)
            }
            // An assertion in the arguments of another macro is no node of its own.
            "identifier" if outline.parent(at).is_some_and(|up| outline.kind(up) == "token_tree") => {
                let name = outline.text(at);
                let behind = outline.source.text.get(outline.node(at).end_byte()..)?;
                let tokens = behind.strip_prefix('!').filter(|_| name.starts_with("assert"))?;
                let outer =
                    outline.above(at).into_iter().find(|up| outline.kind(*up) == "macro_invocation")?;
                if outline.field_text(outer, "macro").contains("assert") {
                    return None;
                }
                asserted(scope, name, enclosed(clip(tokens, 4000)), at)
            }
            "call_expression" => {
                let function = outline.field(at, "function")?;
                let method = outline.field_text(function, "field");
                let asserts = matches!(method, "unwrap" | "expect" | "unwrap_err" | "expect_err" | "assert");
                let named = outline.kind(function) == "identifier"
                    && outline.text(function).starts_with("assert")
                    && !scope.helpers.contains_key(outline.text(function));
                (asserts || named).then_some(Strength::Loose)
            }
            "try_expression" => Some(Strength::Loose),
            _ => None,
        }
    }

    fn mark(&self, scope: &Scope<'_, '_>, at: usize, marks: &mut Marks) {
        let outline = scope.outline;
        match outline.kind(at) {
            "block" => mark_behind(outline, at, |statement| ends(outline, statement), marks),
            "if_expression" | "while_expression" => {
                let condition = compact(outline.head(at, 200));
                let never = ["iffalse", "whilefalse", "if!true", "ifcfg!(any())", "ifcfg!(not(test))"];
                if never.iter().any(|never| condition.starts_with(never)) {
                    let body = outline.field(at, "consequence").or_else(|| outline.field(at, "body"));
                    if let Some(body) = body {
                        marks.set(body, Lost::Unreachable);
                    }
                }
            }
            "function_item" if !scope.uses(outline.field_text(at, "name")) => {
                marks.set(at, Lost::Unreachable)
            }
            "let_declaration" => mark_let(scope, at, marks),
            "expression_statement" => {
                if let Some(what) = outline.children(at).first().copied() {
                    if matches!(outline.kind(what), "closure_expression" | "async_block") {
                        marks.set(what, Lost::Unreachable);
                    }
                    mark_dropped(scope, what, marks);
                }
            }
            _ => {}
        }
    }

    fn called<'t>(&self, outline: &Outline<'t>, at: usize) -> Option<&'t str> {
        if outline.kind(at) != "call_expression" {
            return None;
        }
        let function = outline.field(at, "function")?;
        match outline.kind(function) {
            "identifier" => Some(outline.text(function)),
            "scoped_identifier"
                if matches!(outline.field_text(function, "path"), "Self" | "self" | "super") =>
            {
                Some(outline.field_text(function, "name"))
            }
            "field_expression" => Some(outline.field_text(function, "field")),
            _ => None,
        }
    }
}

fn test(
    outline: &Outline<'_>,
    at: usize,
    attributes: &[usize],
    prefix: &str,
    skipped: Option<&String>,
) -> Option<Found> {
    let is_test = attributes.iter().any(|attribute| is_test(outline.head(*attribute, 200)));
    if !is_test {
        return None;
    }
    let panics = attributes
        .iter()
        .map(|attribute| outline.line(*attribute))
        .find(|text| text.contains("should_panic"));
    let mut pieces: Vec<usize> = attributes.to_vec();
    pieces.extend(outline.field(at, "parameters"));
    let body = outline.field(at, "body");
    pieces.extend(body);
    Some(Found {
        name: format!("{prefix}{}", outline.field_text(at, "name")),
        at,
        body,
        pieces,
        skipped: marker(outline, attributes).or_else(|| skipped.cloned()),
        shadowed: false,
        declared: panics
            .map(|text| Assertion { text, strength: Strength::Loose, lost: None })
            .into_iter()
            .collect(),
        lost: None,
    })
}

fn is_test(attribute: &str) -> bool {
    let path = compact(attribute.trim_start_matches(['#', '[']));
    let path = path.split(['(', ']', '=']).next().unwrap_or_default();
    let last = path.rsplit("::").next().unwrap_or_default();
    matches!(
        last,
        "test" | "rstest" | "test_case" | "wasm_bindgen_test" | "quickcheck" | "proptest" | "gtest" | "case"
    ) || last.ends_with("_test")
}

/// Returns the attribute that keeps a test or a module from running.
fn marker(outline: &Outline<'_>, attributes: &[usize]) -> Option<String> {
    attributes
        .iter()
        .map(|attribute| outline.head(*attribute, 400))
        .find(|text| keeps_out(text))
        .map(str::to_owned)
}

fn keeps_out(attribute: &str) -> bool {
    let text = compact(attribute);
    let text = text.trim_start_matches(['#', '!', '[']).trim_end_matches(']');
    let condition = text.strip_prefix("cfg(").and_then(|rest| rest.strip_suffix(')'));
    text == "ignore"
        || text.starts_with("ignore=")
        || text.starts_with("cfg_attr(") && text.contains(",ignore")
        || condition.is_some_and(|condition| !USUAL.contains(&condition))
}

/// Returns the attribute of the file itself that keeps it out.
fn file_marker(outline: &Outline<'_>) -> Option<String> {
    let own = outline.children(0).into_iter().filter(|at| outline.kind(*at) == "inner_attribute_item");
    own.map(|at| outline.head(at, 400)).find(|text| keeps_out(text)).map(str::to_owned)
}

/// Returns the strength of an assertion macro.
fn asserted(scope: &Scope<'_, '_>, name: &str, tokens: &str, at: usize) -> Option<Strength> {
    let name = name.rsplit("::").next().unwrap_or(name);
    let inner = tokens.strip_prefix(['(', '[', '{']).unwrap_or(tokens);
    let inner = inner.strip_suffix([')', ']', '}']).unwrap_or(inner);
    let arguments = split(inner, &[","]);
    let argument = |number: usize| arguments.get(number).copied().unwrap_or_default().trim();
    Some(match name {
        "assert" | "debug_assert" | "prop_assert" | "ensure" => condition(scope, argument(0)),
        "assert_ne" | "debug_assert_ne" | "prop_assert_ne" => {
            equality(scope, argument(0), argument(1)).min(Strength::Loose)
        }
        "panic" | "unreachable" => by_hand(scope.outline, at, &["if_expression"]),
        name if name.contains("assert") && name.contains("snapshot") => Strength::Exact,
        name if name.contains("assert") && name.contains("eq") => equality(scope, argument(0), argument(1)),
        name if name.starts_with("assert") || name.starts_with("prop_assert") => Strength::Loose,
        _ => return None,
    })
}

/// Returns a text up to the bracket that closes its first one.
fn enclosed(text: &str) -> &str {
    let mut depth = 0_u32;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return text.get(..=at).unwrap_or(text);
        }
    }
    text
}

fn ends(outline: &Outline<'_>, at: usize) -> bool {
    if outline.kind(at) != "expression_statement" {
        return false;
    }
    let Some(what) = outline.children(at).first().copied() else { return false };
    match outline.kind(what) {
        "return_expression" | "continue_expression" | "break_expression" => true,
        "macro_invocation" => {
            matches!(outline.field_text(what, "macro"), "panic" | "unreachable" | "todo" | "unimplemented")
        }
        "call_expression" => {
            let function = outline.field_text(what, "function");
            function.ends_with("process::exit") || function.ends_with("process::abort")
        }
        _ => false,
    }
}

/// Marks a value that is given to nobody.
fn mark_let(scope: &Scope<'_, '_>, at: usize, marks: &mut Marks) {
    let outline = scope.outline;
    let (pattern, Some(value)) = (outline.field_text(at, "pattern"), outline.field(at, "value")) else {
        return;
    };
    // `_` is no node with a name.
    let dropped = pattern.is_empty() || pattern.starts_with('_') || !scope.uses(pattern);
    if !dropped {
        return;
    }
    if matches!(outline.kind(value), "closure_expression" | "async_block") {
        marks.set(value, Lost::Unreachable);
    }
    mark_dropped(scope, value, marks);
}

/// Marks a caught panic or a thread whose result nobody looks at.
fn mark_dropped(scope: &Scope<'_, '_>, at: usize, marks: &mut Marks) {
    let outline = scope.outline;
    if outline.kind(at) != "call_expression" {
        return;
    }
    let head = compact(outline.head(at, 120));
    let (head, text) = (head.split(['(', '|']).next().unwrap_or_default(), outline.head(at, 4000));
    let waited = text.contains(".await")
        || text.contains(".join(")
        || text.contains(".unwrap()")
        || text.contains(".expect(");
    let method = outline.field(at, "function").map_or("", |function| outline.field_text(function, "field"));
    let caught = head.ends_with("catch_unwind") && !matches!(method, "unwrap" | "expect" | "unwrap_or_else");
    let started = head.ends_with("thread::spawn") || head == "tokio::spawn" || head.ends_with("task::spawn");
    if caught || started && !waited {
        marks.set(at, Lost::Swallowed);
    }
}
