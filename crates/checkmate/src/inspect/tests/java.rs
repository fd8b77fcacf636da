//! Tests of `JUnit` and `TestNG`.

use std::collections::BTreeMap;

use checkmate_machine::facts::{Lost, Strength};

use super::strength::{condition, equality};
use super::{Dialect, Found, Helper, Helpers, Marks, Scope, by_hand, mark_behind};
use crate::inspect::outline::{Outline, clip, compact};

/// Annotations that make a method a test.
const TESTS: [&str; 5] = ["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate"];

pub(super) struct Java;

impl Dialect for Java {
    fn tests(&self, outline: &Outline<'_>) -> Vec<Found> {
        let mut found = Vec::new();
        let mut open: Vec<(usize, String, Option<String>)> = Vec::new();
        // Where the last test ends: what lies in a test is none.
        let mut behind = 0;
        for at in outline.all() {
            while open.last().is_some_and(|(end, ..)| *end <= at) {
                open.pop();
            }
            let (prefix, above) =
                open.last().map_or(("", None), |(_, prefix, above)| (prefix.as_str(), above.clone()));
            let name = || clip(outline.field_text(at, "name"), 200);
            match outline.kind(at) {
                "class_declaration" if prefix.len() < 400 => {
                    let marks = marks_of(outline, at);
                    let skipped = marks.into_iter().find(|mark| keeps_out(mark)).map(str::to_owned).or(above);
                    open.push((outline.end(at), format!("{prefix}{}.", name()), skipped));
                }
                "method_declaration" if at >= behind => {
                    let marks = marks_of(outline, at);
                    if !marks.iter().any(|mark| TESTS.contains(&annotation(mark))) {
                        continue;
                    }
                    behind = outline.end(at);
                    let body = outline.field(at, "body");
                    let modifiers =
                        outline.children(at).into_iter().find(|child| outline.kind(*child) == "modifiers");
                    let pieces =
                        modifiers.into_iter().chain(outline.field(at, "parameters")).chain(body).collect();
                    let skipped = marks.into_iter().find(|mark| keeps_out(mark)).map(str::to_owned).or(above);
                    let name = format!("{prefix}{}", name());
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
                _ => {}
            }
        }
        found
    }

    fn functions<'t>(&self, outline: &Outline<'t>) -> Helpers<'t> {
        let mut helpers = BTreeMap::new();
        for at in outline.all().filter(|at| outline.kind(*at) == "method_declaration") {
            if let Some(body) = outline.field(at, "body") {
                helpers.insert(outline.field_text(at, "name"), Helper { body, waits: false });
            }
        }
        helpers
    }

    fn assertion(&self, scope: &Scope<'_, '_>, at: usize) -> Option<Strength> {
        let outline = scope.outline;
        if outline.kind(at) == "assert_statement" {
            return Some(condition(scope, outline.head(outline.children(at).first().copied()?, 4000)));
        }
        if outline.kind(at) != "method_invocation" {
            return None;
        }
        let name = outline.field_text(at, "name");
        let owner = clip(outline.field_text(at, "object"), 4000);
        if owner.is_empty() && scope.helpers.contains_key(name) {
            return None;
        }
        let arguments = outline.field(at, "arguments").map(|list| outline.children(list)).unwrap_or_default();
        let argument =
            |number: usize| arguments.get(number).map_or("", |argument| outline.head(*argument, 4000));
        match name {
            "assertEquals"
            | "assertArrayEquals"
            | "assertIterableEquals"
            | "assertSame"
            | "assertLinesMatch" => Some(equality(scope, argument(0), argument(1))),
            "assertNotNull" | "assertInstanceOf" | "assertDoesNotThrow" => Some(Strength::Trivial),
            "assertNull" => Some(Strength::Exact),
            "assertTrue" => Some(condition(scope, argument(0))),
            "assertFalse" => Some(condition(scope, argument(0)).min(Strength::Loose)),
            "fail" if owner.is_empty() || owner.starts_with("Assert") => {
                Some(by_hand(outline, at, &["if_statement"]))
            }
            // The chain behind it asserts.
            "assertThat" if arguments.len() == 1 => None,
            "isEqualTo" | "isSameAs" | "containsExactly" | "hasSize" | "isNull" | "isEmpty"
                if owner.contains("assertThat(") =>
            {
                Some(Strength::Exact)
            }
            "isNotNull" | "isInstanceOf" if owner.contains("assertThat(") => Some(Strength::Trivial),
            "verify" => Some(Strength::Loose),
            name if name.starts_with("assert") => Some(Strength::Loose),
            name if owner.starts_with("assertThat(")
                && name.starts_with(['i', 'c', 'h', 'm', 'd', 's', 'e']) =>
            {
                Some(Strength::Loose)
            }
            _ => None,
        }
    }

    fn mark(&self, scope: &Scope<'_, '_>, at: usize, marks: &mut Marks) {
        let outline = scope.outline;
        match outline.kind(at) {
            "block" => mark_behind(
                outline,
                at,
                |statement| {
                    matches!(
                        outline.kind(statement),
                        "return_statement" | "throw_statement" | "continue_statement" | "break_statement"
                    ) || outline.head(statement, 12) == "System.exit("
                },
                marks,
            ),
            "if_statement" if compact(clip(outline.field_text(at, "condition"), 40)) == "(false)" => {
                if let Some(body) = outline.field(at, "consequence") {
                    marks.set(body, Lost::Unreachable);
                }
            }
            "try_statement" => {
                let swallows = outline.children(at).into_iter().any(|clause| swallows(outline, clause));
                if let Some(body) = outline.field(at, "body").filter(|_| swallows) {
                    marks.set(body, Lost::Swallowed);
                }
            }
            "variable_declarator" => {
                let made = outline
                    .field(at, "value")
                    .is_some_and(|value| outline.kind(value) == "lambda_expression");
                if made && !scope.uses(outline.field_text(at, "name")) {
                    marks.set(at, Lost::Unreachable);
                }
            }
            _ => {}
        }
    }

    fn called<'t>(&self, outline: &Outline<'t>, at: usize) -> Option<&'t str> {
        let own = outline.kind(at) == "method_invocation"
            && matches!(outline.field_text(at, "object"), "" | "this");
        own.then(|| outline.field_text(at, "name"))
    }
}

/// Tells whether a handler catches failed assertions and goes on. An `Exception` is no failed assertion.
fn swallows(outline: &Outline<'_>, clause: usize) -> bool {
    if outline.kind(clause) != "catch_clause" {
        return false;
    }
    let caught = outline.children(clause).first().map_or("", |caught| outline.head(*caught, 200));
    let caught = ["Throwable", "Error"].iter().any(|word| caught.contains(word));
    let notices = outline.within(clause).take(3000).any(|at| {
        outline.kind(at) == "throw_statement"
            || outline.kind(at) == "method_invocation"
                && (outline.field_text(at, "name").starts_with("assert")
                    || outline.field_text(at, "name") == "fail")
    });
    caught && !notices
}

/// Returns the annotations of a declaration.
fn marks_of<'t>(outline: &Outline<'t>, at: usize) -> Vec<&'t str> {
    let modifiers = outline.children(at).into_iter().find(|child| outline.kind(*child) == "modifiers");
    let marks = modifiers.map(|modifiers| outline.children(modifiers)).unwrap_or_default();
    marks.into_iter().map(|mark| outline.head(mark, 300)).collect()
}

/// Returns the name of an annotation.
fn annotation(mark: &str) -> &str {
    let name = mark.trim_start_matches('@').split(['(', ' ']).next().unwrap_or_default();
    name.rsplit('.').next().unwrap_or(name)
}

fn keeps_out(mark: &str) -> bool {
    let name = annotation(mark);
    matches!(name, "Disabled" | "Ignore")
        || name.starts_with("DisabledIf")
        || name.starts_with("EnabledIf")
        || name == "Test" && compact(mark).contains("enabled=false")
}
