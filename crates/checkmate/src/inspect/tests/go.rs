//! Tests of Go.

use std::collections::BTreeMap;

use checkmate_machine::facts::{Lost, Strength};

use super::strength::equality;
use super::{Dialect, Found, Helper, Helpers, Marks, Scope, by_hand, mark_behind};
use crate::inspect::outline::{Outline, compact};

pub(super) struct Go;

impl Dialect for Go {
    fn tests(&self, outline: &Outline<'_>) -> Vec<Found> {
        if !outline.source.path.ends_with("_test.go") {
            return Vec::new();
        }
        let never = constraint(&outline.source.text);
        let functions = outline.children(0).into_iter();
        let functions =
            functions.filter(|at| matches!(outline.kind(*at), "function_declaration" | "method_declaration"));
        let mut found = Vec::new();
        for at in functions {
            let name = outline.field_text(at, "name");
            let parameters = outline.field(at, "parameters");
            let takes_test = parameters.is_some_and(|list| outline.head(list, 200).contains("testing."));
            let suite = outline.kind(at) == "method_declaration";
            let kind = ["Test", "Fuzz"].iter().any(|start| {
                name.strip_prefix(start).is_some_and(|rest| !rest.starts_with(char::is_lowercase))
            });
            if !kind || name == "TestMain" || takes_test == suite {
                continue;
            }
            let Some(body) = outline.field(at, "body") else { continue };
            let skipped = never.clone().or_else(|| skip(outline, body));
            let pieces = parameters.into_iter().chain([body]).collect();
            let whole = test(name.to_owned(), at, body, pieces, skipped.clone());
            found.push(whole);
            found.extend(subtests(outline, body, name, skipped.as_ref()));
        }
        found
    }

    fn functions<'t>(&self, outline: &Outline<'t>) -> Helpers<'t> {
        let mut helpers = BTreeMap::new();
        for at in outline.children(0) {
            if let Some(body) =
                outline.field(at, "body").filter(|_| outline.kind(at).ends_with("_declaration"))
            {
                helpers.insert(outline.field_text(at, "name"), Helper { body, waits: false });
            }
        }
        helpers
    }

    fn assertion(&self, scope: &Scope<'_, '_>, at: usize) -> Option<Strength> {
        let outline = scope.outline;
        if outline.kind(at) != "call_expression" {
            return None;
        }
        let function = outline.field(at, "function")?;
        let (owner, name) = (outline.field_text(function, "operand"), outline.field_text(function, "field"));
        let arguments = outline.field(at, "arguments").map(|list| outline.children(list)).unwrap_or_default();
        let argument =
            |number: usize| arguments.get(number).map_or("", |argument| outline.head(*argument, 4000));
        // The test itself comes first in a call of a package, and not in one of an object.
        let first = usize::from(matches!(argument(0), "t" | "b" | "f" | "s.T()" | "tb"));
        match name {
            "Error" | "Errorf" | "Fatal" | "Fatalf" | "Fail" | "FailNow" if owner.len() < 4 => {
                Some(by_hand(outline, at, &["if_statement"]))
            }
            _ if !matches!(
                owner,
                "assert" | "require" | "is" | "qt" | "c" | "s" | "suite" | "s.Require()"
            ) =>
            {
                None
            }
            "Equal" | "Equalf" | "EqualValues" | "Exactly" | "JSONEq" | "ElementsMatch" | "EqualError"
            | "DeepEqual" => Some(equality(scope, argument(first), argument(first + 1))),
            "Nil" | "Empty" | "Len" | "Zero" | "InDelta" => Some(Strength::Exact),
            "NotNil" | "IsType" | "NotPanics" | "Implements" => Some(Strength::Trivial),
            "True" | "Truef" | "False" | "Falsef" => {
                let condition = super::strength::condition(scope, argument(first));
                Some(if name.starts_with('F') { condition.min(Strength::Loose) } else { condition })
            }
            "T" | "Run" | "Require" | "Assert" | "New" => None,
            name => name.starts_with(char::is_uppercase).then_some(Strength::Loose),
        }
    }

    fn mark(&self, scope: &Scope<'_, '_>, at: usize, marks: &mut Marks) {
        let outline = scope.outline;
        match outline.kind(at) {
            "block" | "statement_list" => {
                mark_behind(outline, at, |statement| ends(outline, statement), marks)
            }
            "if_statement" if outline.field_text(at, "condition") == "false" => {
                if let Some(body) = outline.field(at, "consequence") {
                    marks.set(body, Lost::Unreachable);
                }
            }
            "for_statement" if compact(outline.head(at, 20)).starts_with("forfalse") => {
                marks.set(at, Lost::Unreachable);
            }
            "short_var_declaration" | "assignment_statement" => {
                let function = outline.within(at).take(6).any(|part| outline.kind(part) == "func_literal");
                let name = outline.field_text(at, "left");
                if function && (name == "_" || !scope.uses(name)) {
                    marks.set(at, Lost::Unreachable);
                }
            }
            _ => {}
        }
    }

    fn called<'t>(&self, outline: &Outline<'t>, at: usize) -> Option<&'t str> {
        let function = outline.field(at, "function").filter(|_| outline.kind(at) == "call_expression")?;
        (outline.kind(function) == "identifier").then(|| outline.text(function))
    }
}

fn test(name: String, at: usize, body: usize, pieces: Vec<usize>, skipped: Option<String>) -> Found {
    Found { name, at, body: Some(body), pieces, skipped, shadowed: false, declared: Vec::new(), lost: None }
}

/// Returns the subtests whose names are written out.
fn subtests(outline: &Outline<'_>, body: usize, above: &str, skipped: Option<&String>) -> Vec<Found> {
    let mut found = Vec::new();
    let mut behind = 0;
    for at in outline.within(body) {
        let function =
            outline.field(at, "function").filter(|_| at >= behind && outline.kind(at) == "call_expression");
        if function.is_none_or(|function| outline.field_text(function, "field") != "Run") {
            continue;
        }
        let arguments = outline.field(at, "arguments").map(|list| outline.children(list)).unwrap_or_default();
        let [name, callback] = arguments[..] else { continue };
        let name = outline.head(name, 200);
        let body = outline.field(callback, "body").filter(|_| outline.kind(callback) == "func_literal");
        if let Some(body) = body.filter(|_| name.starts_with(['"', '`'])) {
            let skipped = skip(outline, body).or_else(|| skipped.cloned());
            found.push(test(
                format!("{above}/{}", name.trim_matches(['"', '`'])),
                at,
                body,
                vec![body],
                skipped,
            ));
            behind = outline.end(at);
        }
    }
    found
}

/// Returns the statements of a body, which lie in a list of their own in newer grammars.
fn statements(outline: &Outline<'_>, body: usize) -> Vec<usize> {
    match outline.children(body)[..] {
        [list] if outline.kind(list) == "statement_list" => outline.children(list),
        _ => outline.children(body),
    }
}

/// Returns a skip among the first statements.
fn skip(outline: &Outline<'_>, body: usize) -> Option<String> {
    let first = statements(outline, body).into_iter().take(3);
    first.map(|at| (at, outline.head(at, 100))).find_map(|(at, text)| {
        let call = text.split('(').next().unwrap_or_default();
        let skips = [".Skip", ".Skipf", ".SkipNow"].iter().any(|end| call.ends_with(end));
        skips.then(|| outline.line(at))
    })
}

/// Returns the build constraint that keeps the file out.
fn constraint(text: &str) -> Option<String> {
    let head = text.lines().take(40).take_while(|line| !line.starts_with("package "));
    let mut constraints =
        head.filter(|line| line.starts_with("//go:build ") || line.starts_with("// +build "));
    constraints
        .find(|line| !matches!(line.trim_start_matches("//go:build ").trim(), "unix" | "linux" | "!windows"))
        .map(str::to_owned)
}

fn ends(outline: &Outline<'_>, at: usize) -> bool {
    match outline.kind(at) {
        "return_statement" | "continue_statement" | "break_statement" | "goto_statement" => true,
        "expression_statement" => {
            let call = outline.head(at, 40).split('(').next().unwrap_or_default();
            matches!(call, "panic" | "os.Exit" | "runtime.Goexit")
                || call.ends_with(".Skip")
                || call.ends_with(".SkipNow")
                || call.ends_with(".Skipf")
        }
        _ => false,
    }
}
