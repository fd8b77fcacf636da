//! Assertions of JavaScript whose failures nobody notices.

use checkmate_machine::facts::Lost;

use super::is_function;
use crate::inspect::outline::{Outline, clip, compact};
use crate::inspect::tests::{Marks, Scope, mark_behind};

/// Handlers are read so far, in nodes: handlers in handlers would be read again and again.
const LONGEST: usize = 3000;

pub(super) fn mark(scope: &Scope<'_, '_>, at: usize, marks: &mut Marks) {
    let outline = scope.outline;
    match outline.kind(at) {
        "statement_block" | "program" => {
            mark_behind(outline, at, |statement| ends(outline, statement), marks)
        }
        "if_statement" => {
            if is_false(outline.field_text(at, "condition")) {
                mark_field(outline, at, "consequence", Lost::Unreachable, marks);
            }
            if matches!(outline.field_text(at, "condition"), "(true)" | "(1)") {
                mark_field(outline, at, "alternative", Lost::Unreachable, marks);
            }
        }
        "while_statement" if is_false(outline.field_text(at, "condition")) => {
            mark_field(outline, at, "body", Lost::Unreachable, marks);
        }
        "for_in_statement" if outline.field_text(at, "right") == "[]" => {
            mark_field(outline, at, "body", Lost::Unreachable, marks);
        }
        "try_statement" => mark_try(outline, at, marks),
        "function_declaration" if !scope.uses(outline.field_text(at, "name")) => {
            marks.set(at, Lost::Unreachable)
        }
        "variable_declarator" => {
            let made = outline.field(at, "value").is_some_and(|value| is_function(outline.kind(value)));
            if made && !scope.uses(outline.field_text(at, "name")) {
                marks.set(at, Lost::Unreachable);
            }
        }
        "expression_statement" => mark_statement(scope, at, marks),
        "call_expression" => mark_call(scope, at, marks),
        _ => {}
    }
}

fn ends(outline: &Outline<'_>, at: usize) -> bool {
    match outline.kind(at) {
        "return_statement" | "throw_statement" | "continue_statement" | "break_statement" => true,
        "expression_statement" => {
            let call = outline.head(at, 60).split('(').next().unwrap_or_default();
            matches!(
                call,
                "process.exit" | "process.abort" | "process.reallyExit" | "Deno.exit" | "this.skip"
            )
        }
        _ => false,
    }
}

fn is_false(condition: &str) -> bool {
    let condition = condition.trim_matches(['(', ')', ' ']);
    matches!(
        condition,
        "false" | "0" | "null" | "undefined" | "\"\"" | "''" | "!true" | "!1" | "1 > 2" | "1 === 2"
    )
}

fn mark_field(outline: &Outline<'_>, at: usize, field: &str, lost: Lost, marks: &mut Marks) {
    if let Some(child) = outline.field(at, field) {
        marks.set(child, lost);
    }
}

/// Marks the body of a `try` whose handler goes on as if nothing had happened.
fn mark_try(outline: &Outline<'_>, at: usize, marks: &mut Marks) {
    if let Some(handler) = outline.field(at, "handler") {
        let error = outline.field_text(handler, "parameter");
        if !notices(outline, handler, error) {
            mark_field(outline, at, "body", Lost::Swallowed, marks);
        }
    }
    if let Some(last) = outline.field(at, "finalizer")
        && outline.within(last).take(200).any(|at| outline.kind(at) == "return_statement")
    {
        mark_field(outline, at, "body", Lost::Swallowed, marks);
    }
}

/// Tells whether a handler throws, asserts, fails or hands the error on.
fn notices(outline: &Outline<'_>, handler: usize, error: &str) -> bool {
    outline.within(handler).take(LONGEST).any(|at| match outline.kind(at) {
        "throw_statement" => true,
        "call_expression" => {
            let call = outline.head(at, 200);
            let name = call.split('(').next().unwrap_or_default();
            let arguments =
                outline.field(at, "arguments").map(|list| outline.children(list)).unwrap_or_default();
            let hands_on =
                !error.is_empty() && arguments.iter().any(|argument| outline.text(*argument) == error);
            name.starts_with("t.")
                || ["assert", "expect", "fail", "done", "reject", "process.exit"]
                    .iter()
                    .any(|word| name.contains(word))
                || hands_on && !name.starts_with("console.")
        }
        "return_statement" => outline.head(at, 40).contains("reject("),
        // Kept and judged later.
        "assignment_expression" => !error.is_empty() && outline.field_text(at, "right") == error,
        _ => false,
    })
}

/// Marks a statement that starts something and does not wait for it.
fn mark_statement(scope: &Scope<'_, '_>, at: usize, marks: &mut Marks) {
    let outline = scope.outline;
    let Some(mut what) = outline.children(at).first().copied() else { return };
    if outline.kind(what) == "unary_expression" && outline.head(what, 5) == "void " {
        what = outline.field(what, "argument").unwrap_or(what);
    }
    if matches!(outline.kind(what), "arrow_function" | "function_expression") {
        marks.set(what, Lost::Unreachable);
    }
    let Some(function) = outline.field(what, "function").filter(|_| outline.kind(what) == "call_expression")
    else {
        return;
    };
    let property = outline.field_text(function, "property");
    let object = outline.field_text(function, "object");
    let name = outline.text(function);
    let chain =
        matches!(property, "then" | "catch" | "finally") || object == "Promise" && property != "resolve";
    let started =
        outline.kind(function) == "identifier" && scope.helpers.get(name).is_some_and(|helper| helper.waits);
    let later =
        matches!(name, "setTimeout" | "setImmediate" | "setInterval" | "queueMicrotask" | "process.nextTick");
    let inner = if outline.kind(function) == "parenthesized_expression" {
        outline.children(function).first().copied()
    } else {
        None
    };
    let at_once =
        inner.is_some_and(|inner| is_function(outline.kind(inner)) && outline.head(inner, 5) == "async");
    let resolves = clip(name, 2000).contains(").resolves")
        || clip(name, 2000).contains(").rejects")
        || clip(name, 100) == "assert.rejects"
        || clip(name, 100) == "assert.doesNotReject";
    // A callback such as `done`, or the `resolve` of a promise, waits by itself.
    let waits = || {
        let names = outline.within(what).take(500).filter(|at| outline.kind(*at) == "identifier");
        let planned = ["plan", "end"].iter().any(|name| scope.mentions.contains_key(name));
        planned || names.into_iter().any(|at| ["done", "resolve"].contains(&outline.text(at)))
    };
    if (chain || started || later || at_once || resolves) && !waits() {
        marks.set(what, Lost::Swallowed);
    }
}

/// Marks what a call swallows or never runs.
fn mark_call(scope: &Scope<'_, '_>, at: usize, marks: &mut Marks) {
    let outline = scope.outline;
    let Some(function) = outline.field(at, "function") else { return };
    let arguments = outline.field(at, "arguments").map(|list| outline.children(list)).unwrap_or_default();
    match outline.field_text(function, "property") {
        "catch" => {
            let handler = arguments.first().copied().filter(|handler| is_function(outline.kind(*handler)));
            if let Some(handler) = handler {
                let parameter = super::parameter(outline, handler).unwrap_or_default();
                if !notices(outline, handler, parameter) {
                    mark_field(outline, function, "object", Lost::Swallowed, marks);
                }
            }
        }
        // `forEach` waits for nobody.
        "forEach" => {
            for argument in arguments {
                if is_function(outline.kind(argument)) && outline.head(argument, 5) == "async" {
                    marks.set(argument, Lost::Swallowed);
                }
            }
            if compact(outline.head(function, 12)).starts_with("[].") {
                marks.set(at, Lost::Unreachable);
            }
        }
        _ => {}
    }
}
