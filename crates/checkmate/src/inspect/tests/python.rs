//! Tests of `pytest` and `unittest`.

use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::facts::{Lost, Strength};

use super::strength::{condition, equality};
use super::{Dialect, Found, Helper, Helpers, Marks, Scope, by_hand, mark_behind};
use crate::inspect::outline::{Outline, clip};
use crate::inspect::roles;

/// Exceptions whose handlers catch failed assertions.
const CATCHES: [&str; 4] = ["AssertionError", "Exception", "BaseException", "failureException"];

pub(super) struct Python {
    /// Classes of the file that are test cases, directly or by what they inherit.
    cases: BTreeSet<String>,
    /// Classes of the file that others of it inherit from.
    bases: BTreeSet<String>,
    collected: bool,
}

impl Python {
    pub(super) fn new(outline: &Outline<'_>) -> Self {
        let classes: Vec<usize> =
            outline.all().filter(|at| outline.kind(*at) == "class_definition").collect();
        let (mut cases, mut bases) = (BTreeSet::new(), BTreeSet::new());
        // Classes come after what they inherit from, so one pass finds all.
        for class in classes {
            let inherits =
                outline.field(class, "superclasses").map(|list| outline.children(list)).unwrap_or_default();
            let names = inherits.into_iter().map(|base| clip(outline.text(base), 200));
            let names: Vec<&str> = names.map(|name| name.rsplit('.').next().unwrap_or(name)).collect();
            if names.iter().any(|name| name.ends_with("TestCase") || cases.contains(*name)) {
                cases.insert(outline.field_text(class, "name").to_owned());
            }
            bases.extend(names.into_iter().map(str::to_owned));
        }
        Self { cases, bases, collected: roles::may_hold_tests(&outline.source.path) }
    }
}

impl Dialect for Python {
    fn tests(&self, outline: &Outline<'_>) -> Vec<Found> {
        let mut walk = Walk { python: self, outline, found: Vec::new(), gone: BTreeMap::new() };
        walk.block(0, &Above { prefix: String::new(), class: None, skipped: module_skip(outline) });
        walk.finish()
    }

    fn functions<'t>(&self, outline: &Outline<'t>) -> Helpers<'t> {
        let mut helpers = BTreeMap::new();
        for at in outline.all().filter(|at| outline.kind(*at) == "function_definition") {
            let Some(body) = outline.field(at, "body") else { continue };
            let name = outline.field_text(at, "name");
            // A method of the same name does not hide a function.
            if outline.above(at).into_iter().take(3).any(|up| outline.kind(up) == "class_definition") {
                helpers.entry(name).or_insert(Helper { body, waits: false });
            } else {
                helpers.insert(name, Helper { body, waits: false });
            }
        }
        helpers
    }

    fn assertion(&self, scope: &Scope<'_, '_>, at: usize) -> Option<Strength> {
        let outline = scope.outline;
        match outline.kind(at) {
            "assert_statement" => {
                let what = outline.children(at).first().copied()?;
                if outline.kind(what) == "tuple" {
                    return Some(Strength::Trivial);
                }
                Some(condition(scope, outline.head(what, 4000)))
            }
            "raise_statement" => {
                let raised = outline.head(at, 200);
                let fails = raised.contains("AssertionError") || raised.contains("failureException");
                fails.then(|| by_hand(outline, at, &["if_statement", "elif_clause"]))
            }
            "call" => self.call(scope, at),
            _ => None,
        }
    }

    fn mark(&self, scope: &Scope<'_, '_>, at: usize, marks: &mut Marks) {
        let outline = scope.outline;
        match outline.kind(at) {
            "block" | "module" => mark_behind(outline, at, |statement| ends(outline, statement), marks),
            "if_statement" => mark_if(outline, at, marks),
            "while_statement" if is_false(outline.field_text(at, "condition")) => {
                mark_field(outline, at, "body", Lost::Unreachable, marks);
            }
            "for_statement"
                if matches!(outline.field_text(at, "right"), "[]" | "()" | "{}" | "\"\"" | "range(0)") =>
            {
                mark_field(outline, at, "body", Lost::Unreachable, marks);
            }
            "try_statement" => mark_try(outline, at, marks),
            "with_statement" => {
                let with = outline.children(at).first().map_or("", |clause| outline.head(*clause, 400));
                let caught = CATCHES.iter().any(|name| with.contains(name));
                if caught && (with.contains("suppress(") || with.contains("aises(")) {
                    mark_field(outline, at, "body", Lost::Swallowed, marks);
                }
            }
            "function_definition" => {
                let decorated =
                    outline.parent(at).is_some_and(|above| outline.kind(above) == "decorated_definition");
                let inside_class =
                    outline.above(at).iter().take(3).any(|up| outline.kind(*up) == "class_definition");
                if !decorated && !inside_class && !scope.uses(outline.field_text(at, "name")) {
                    marks.set(at, Lost::Unreachable);
                }
            }
            "lambda" if outline.parent(at).is_some_and(|up| outline.kind(up) == "expression_statement") => {
                marks.set(at, Lost::Unreachable);
            }
            "assignment" => {
                let made = outline.field(at, "right").is_some_and(|value| outline.kind(value) == "lambda");
                if made && !scope.uses(outline.field_text(at, "left")) {
                    marks.set(at, Lost::Unreachable);
                }
            }
            _ => {}
        }
    }

    fn called<'t>(&self, outline: &Outline<'t>, at: usize) -> Option<&'t str> {
        if outline.kind(at) != "call" {
            return None;
        }
        let function = outline.field(at, "function")?;
        match outline.kind(function) {
            "identifier" => Some(outline.text(function)),
            "attribute" if matches!(outline.field_text(function, "object"), "self" | "cls") => {
                Some(outline.field_text(function, "attribute"))
            }
            _ => None,
        }
    }
}

impl Python {
    fn call(&self, scope: &Scope<'_, '_>, at: usize) -> Option<Strength> {
        let outline = scope.outline;
        let function = outline.field(at, "function")?;
        let (name, owner) = match outline.kind(function) {
            "identifier" => (outline.text(function), ""),
            "attribute" => {
                (outline.field_text(function, "attribute"), outline.field_text(function, "object"))
            }
            _ => return None,
        };
        let own = owner.is_empty() || matches!(owner, "self" | "cls");
        if own && scope.helpers.contains_key(name) {
            return None;
        }
        let arguments = outline.field(at, "arguments").map(|list| outline.children(list)).unwrap_or_default();
        let argument =
            |number: usize| arguments.get(number).map_or("", |argument| outline.head(*argument, 4000));
        Some(match name {
            "assertIsNotNone" | "assertIsInstance" => Strength::Trivial,
            "assertTrue" | "assert_" => condition(scope, argument(0)),
            "assertFalse" => condition(scope, argument(0)).min(Strength::Loose),
            "assertIs" | "assertIsNone" if arguments.len() < 2 => Strength::Exact,
            "assert_called_with"
            | "assert_called_once_with"
            | "assert_has_calls"
            | "assert_awaited_once_with" => Strength::Exact,
            "assertNotEqual" | "assertIsNot" | "assertNotAlmostEqual" => {
                equality(scope, argument(0), argument(1)).min(Strength::Loose)
            }
            name if name.starts_with("assert") => {
                let lower = name.to_lowercase();
                let exact = ["equal", "close", "approx", "assertis"].iter().any(|word| lower.contains(word));
                if exact && !lower.contains("not") && arguments.len() > 1 {
                    equality(scope, argument(0), argument(1))
                } else {
                    Strength::Loose
                }
            }
            "raises" | "warns" | "deprecated_call" if matches!(owner, "pytest" | "") => Strength::Loose,
            "fail" if matches!(owner, "pytest" | "self") => {
                by_hand(outline, at, &["if_statement", "elif_clause"])
            }
            _ => return None,
        })
    }
}

/// What a definition lies in.
struct Above {
    prefix: String,
    /// Whether it is a class, and one of `unittest`.
    class: Option<bool>,
    skipped: Option<String>,
}

struct Walk<'a, 't> {
    python: &'a Python,
    outline: &'a Outline<'t>,
    /// Tests with the scope and the name that a later definition may take.
    found: Vec<(Found, String)>,
    /// Names that are taken away or given another value, with what they lie in, and where that happens last.
    gone: BTreeMap<String, usize>,
}

impl Walk<'_, '_> {
    fn block(&mut self, at: usize, above: &Above) {
        // Classes in classes and conditions in conditions: a list in place of recursion.
        let mut open = vec![(at, above.prefix.clone(), above.class, above.skipped.clone())];
        while let Some((block, prefix, class, skipped)) = open.pop() {
            let mut below = Vec::new();
            for statement in self.outline.children(block) {
                let (definition, decorators) = undecorated(self.outline, statement);
                let kind = self.outline.kind(definition);
                match kind {
                    "function_definition" => {
                        let above = Above { prefix: prefix.clone(), class, skipped: skipped.clone() };
                        self.function(definition, &decorators, &above);
                    }
                    "class_definition" => {
                        below.extend(self.class(definition, &decorators, &prefix, skipped.as_ref()));
                    }
                    "if_statement" => {
                        let test = self.outline.field_text(definition, "condition");
                        let never =
                            is_false(test) || test.contains("__name__") || test.contains("TYPE_CHECKING");
                        for part in self.outline.children(definition) {
                            let clause = self.outline.kind(part) == "else_clause";
                            let marker = format!("if {}", clip(test, 100));
                            let why = (never && !clause).then_some(marker).or_else(|| skipped.clone());
                            let body = if clause { self.outline.field(part, "body") } else { Some(part) };
                            let body = body.filter(|body| self.outline.kind(*body) == "block");
                            below.extend(body.map(|body| (body, prefix.clone(), class, why)));
                        }
                    }
                    "try_statement" | "with_statement" => {
                        for part in self.outline.children(definition) {
                            if self.outline.kind(part) == "block" {
                                below.push((part, prefix.clone(), class, skipped.clone()));
                            }
                        }
                    }
                    "expression_statement" | "delete_statement" => self.statement(definition, &prefix),
                    _ => {}
                }
            }
            open.extend(below.into_iter().rev().take(2000));
        }
    }

    fn function(&mut self, at: usize, decorators: &[usize], above: &Above) {
        let outline = self.outline;
        let name = outline.field_text(at, "name");
        let scoped = format!("{}{name}", above.prefix);
        // A later function takes the name of an earlier test, whatever it is.
        self.shadow(&scoped, at);
        let method = above.class.unwrap_or(false);
        if !name.starts_with("test") || above.class.is_none() && !self.python.collected {
            return;
        }
        let Some(body) = outline.field(at, "body") else { return };
        let marker =
            decorators.iter().map(|decorator| outline.text(*decorator)).find(|text| keeps_from_running(text));
        let skipped =
            marker.map(str::to_owned).or_else(|| first_skip(outline, body)).or_else(|| above.skipped.clone());
        let mut pieces = decorators.to_vec();
        pieces.extend(outline.field(at, "parameters"));
        pieces.push(body);
        let waits = outline.head(at, 8).starts_with("async ");
        let yields = outline.within(body).any(|at| {
            outline.kind(at) == "yield"
                && outline
                    .above(at)
                    .iter()
                    .find(|up| outline.kind(**up) == "function_definition")
                    .is_some_and(|up| outline.field(*up, "body") == Some(body))
        });
        let plain = waits
            && method
            && !outline.source.text.contains("IsolatedAsyncio")
            && !outline.source.text.contains("AsyncTestCase");
        let lost = (yields || plain).then_some(Lost::Unreachable);
        let found = Found {
            name: scoped.clone(),
            at,
            body: Some(body),
            pieces,
            skipped,
            shadowed: false,
            declared: Vec::new(),
            lost,
        };
        self.found.push((found, scoped));
    }

    fn class(
        &mut self,
        at: usize,
        decorators: &[usize],
        prefix: &str,
        skipped: Option<&String>,
    ) -> Option<(usize, String, Option<bool>, Option<String>)> {
        let outline = self.outline;
        let name = outline.field_text(at, "name");
        let scoped = format!("{prefix}{name}");
        self.shadow(&scoped, at);
        let case = self.python.cases.contains(name);
        let plain = name.starts_with("Test") && self.python.collected;
        if !case && !plain && !self.python.bases.contains(name) {
            return None;
        }
        let body = outline.field(at, "body")?;
        let marker =
            decorators.iter().map(|decorator| outline.text(*decorator)).find(|text| keeps_from_running(text));
        let inside = marker.map(str::to_owned).or_else(|| class_skip(outline, body, case));
        Some((body, format!("{scoped}."), Some(case), inside.or_else(|| skipped.cloned())))
    }

    /// Reads `test_x = None`, `del test_x`, `Case.test_x = …`.
    fn statement(&mut self, at: usize, prefix: &str) {
        let outline = self.outline;
        let deletes = outline.kind(at) == "delete_statement";
        for what in outline.children(at).into_iter().take(20) {
            let name = match outline.kind(what) {
                "assignment" => outline.field_text(what, "left"),
                "identifier" | "attribute" if deletes => outline.text(what),
                "expression_list" if deletes => {
                    let names = outline.children(what).into_iter().take(50).map(|name| outline.text(name));
                    for name in names.map(str::to_owned).collect::<Vec<_>>() {
                        self.shadow(&format!("{prefix}{name}"), at);
                    }
                    continue;
                }
                "call" => {
                    let call = clip(outline.text(what), 200);
                    let set = call.starts_with("setattr(") || call.starts_with("delattr(");
                    let mut words =
                        call.split(['(', ',', ')']).map(|word| word.trim().trim_matches(['"', '\'']));
                    if let (true, Some(owner), Some(name)) = (set, words.nth(1), words.next()) {
                        self.shadow(&format!("{prefix}{owner}.{name}"), at);
                    }
                    continue;
                }
                _ => continue,
            };
            if name.ends_with(".__test__") && outline.field_text(what, "right") == "False" {
                self.shadow(&format!("{prefix}{}", name.trim_end_matches(".__test__")), at);
            } else {
                self.shadow(&format!("{prefix}{}", clip(name, 300)), at);
            }
        }
    }

    /// Remembers that a name is given to something else from a node on.
    fn shadow(&mut self, name: &str, at: usize) {
        let last = self.gone.entry(name.to_owned()).or_insert(at);
        *last = at.max(*last);
    }

    fn finish(self) -> Vec<Found> {
        let gone = self.gone;
        let mut found = Vec::with_capacity(self.found.len());
        for (mut test, scoped) in self.found {
            let taken = |name: &str| gone.get(name).is_some_and(|last| *last > test.at);
            let classes =
                scoped.match_indices('.').any(|(at, _)| taken(scoped.get(..at).unwrap_or_default()));
            test.shadowed = taken(&scoped) || classes;
            found.push(test);
        }
        found.sort_by_key(|test| test.at);
        found
    }
}

/// Returns a definition without its decorators, and the decorators.
fn undecorated(outline: &Outline<'_>, at: usize) -> (usize, Vec<usize>) {
    if outline.kind(at) != "decorated_definition" {
        return (at, Vec::new());
    }
    let decorators =
        outline.children(at).into_iter().filter(|child| outline.kind(*child) == "decorator").collect();
    (outline.field(at, "definition").unwrap_or(at), decorators)
}

fn keeps_from_running(decorator: &str) -> bool {
    let decorator = clip(decorator, 4000);
    let name = decorator.split('(').next().unwrap_or(decorator).to_lowercase();
    let empty = name.ends_with("parametrize")
        && decorator.split_once(',').is_some_and(|(_, rest)| rest.trim_start().starts_with("[]"));
    name.contains("skip")
        || name.contains("xfail")
        || name.contains("expectedfailure")
        || empty
        || ["mark.skip", "mark.xfail"].iter().any(|mark| decorator.contains(mark))
}

/// Returns a skip of the whole file.
fn module_skip(outline: &Outline<'_>) -> Option<String> {
    outline.children(0).into_iter().filter(|at| outline.kind(*at) != "decorated_definition").find_map(|at| {
        let text = outline.head(at, 300);
        let marks = text.starts_with("pytestmark") && keeps_from_running_anywhere(text);
        let called = outline.kind(at) == "expression_statement"
            && ["pytest.skip(", "pytest.importorskip(", "skip(", "pytest.xfail("]
                .iter()
                .any(|call| text.starts_with(call));
        let raised = outline.kind(at) == "raise_statement" && text.contains("Skip");
        let denied = outline.kind(at) == "expression_statement" && text.replace(' ', "") == "__test__=False";
        (marks || called || raised || denied).then(|| text.to_owned())
    })
}

fn keeps_from_running_anywhere(text: &str) -> bool {
    text.contains("skip") || text.contains("xfail")
}

/// Returns what keeps a class from running.
fn class_skip(outline: &Outline<'_>, body: usize, case: bool) -> Option<String> {
    outline.children(body).into_iter().find_map(|at| {
        let text = outline.head(at, 300);
        if outline.kind(at) == "expression_statement" {
            let marks = text.starts_with("pytestmark") && keeps_from_running_anywhere(text);
            let denied = text.replace(' ', "") == "__test__=False";
            return (marks || denied).then(|| text.to_owned());
        }
        let (definition, _) = undecorated(outline, at);
        if outline.kind(definition) != "function_definition" {
            return None;
        }
        match outline.field_text(definition, "name") {
            "setUp" | "setUpClass" | "setup_method" | "setup_class" | "asyncSetUp" => {
                first_skip(outline, outline.field(definition, "body")?)
            }
            // Runners pass over classes that have to be made with arguments.
            "__init__" if !case => Some("def __init__".to_owned()),
            _ => None,
        }
    })
}

/// Returns a skip among the first statements of a body.
fn first_skip(outline: &Outline<'_>, body: usize) -> Option<String> {
    outline.children(body).into_iter().take(3).find_map(|at| {
        let text = outline.head(at, 300);
        let call = text.split('(').next().unwrap_or_default();
        let called =
            matches!(call, "pytest.skip" | "self.skipTest" | "cls.skipTest" | "pytest.xfail" | "skip")
                && outline.kind(at) == "expression_statement";
        let raised = outline.kind(at) == "raise_statement" && text.contains("Skip");
        (called || raised).then(|| text.to_owned())
    })
}

/// Tells whether a statement ends its block.
fn ends(outline: &Outline<'_>, at: usize) -> bool {
    match outline.kind(at) {
        "return_statement" | "raise_statement" | "continue_statement" | "break_statement" => true,
        "expression_statement" => {
            let call = outline.head(at, 60).split('(').next().unwrap_or_default();
            let ends = [
                "pytest.skip",
                "self.skipTest",
                "sys.exit",
                "os._exit",
                "exit",
                "quit",
                "pytest.exit",
                "pytest.xfail",
            ];
            ends.contains(&call) || matches!(call, "os.abort" | "self.fail" | "pytest.fail")
        }
        "if_statement" => {
            let always = matches!(outline.field_text(at, "condition"), "True" | "1");
            let body =
                outline.field(at, "consequence").map(|body| outline.children(body)).unwrap_or_default();
            always
                && body.iter().any(|at| {
                    matches!(outline.kind(*at), "return_statement" | "raise_statement" | "continue_statement")
                })
        }
        _ => false,
    }
}

fn is_false(text: &str) -> bool {
    let text = text.trim_matches(['(', ')', ' ']);
    matches!(
        text,
        "False"
            | "0"
            | "None"
            | "\"\""
            | "''"
            | "[]"
            | "not True"
            | "not 1"
            | "TYPE_CHECKING"
            | "1 == 2"
            | "1 == 0"
            | "0 == 1"
    )
}

fn mark_field(outline: &Outline<'_>, at: usize, field: &str, lost: Lost, marks: &mut Marks) {
    if let Some(child) = outline.field(at, field) {
        marks.set(child, lost);
    }
}

fn mark_if(outline: &Outline<'_>, at: usize, marks: &mut Marks) {
    let condition = outline.field_text(at, "condition");
    if is_false(condition) {
        mark_field(outline, at, "consequence", Lost::Unreachable, marks);
    }
    if matches!(condition, "True" | "1") {
        for clause in outline.children(at) {
            if matches!(outline.kind(clause), "else_clause" | "elif_clause") {
                marks.set(clause, Lost::Unreachable);
            }
        }
    }
}

/// Marks the body of a `try` whose handlers catch failed assertions and go on.
fn mark_try(outline: &Outline<'_>, at: usize, marks: &mut Marks) {
    for clause in outline.children(at) {
        let kind = outline.kind(clause);
        let parts = outline.children(clause);
        let Some(body) = parts.iter().copied().find(|part| outline.kind(*part) == "block") else { continue };
        let caught = parts.first().filter(|first| **first != body).map(|first| outline.head(*first, 300));
        let catches = match kind {
            "except_clause" | "except_group_clause" => {
                caught.is_none_or(|caught| CATCHES.iter().any(|name| names(caught, name)))
            }
            "finally_clause" => {
                outline.children(body).iter().any(|at| outline.kind(*at) == "return_statement")
            }
            _ => false,
        };
        let fails = outline.within(body).take(3000).any(|at| match outline.kind(at) {
            "raise_statement" | "assert_statement" => true,
            "call" => {
                let call = outline.head(at, 200).split('(').next().unwrap_or_default();
                call.ends_with(".fail")
                    || call.contains(".assert")
                    || call == "sys.exit"
                    || call == "os._exit"
            }
            _ => false,
        });
        if catches && (kind == "finally_clause" || !fails) {
            mark_field(outline, at, "body", Lost::Swallowed, marks);
        }
    }
}

/// Tells whether a list of exceptions has one of a name.
fn names(list: &str, name: &str) -> bool {
    list.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == name)
}
