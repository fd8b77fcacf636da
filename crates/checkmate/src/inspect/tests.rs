//! Which tests a file defines, and what they assert.
//!
//! Every language finds its tests, its assertions and the places whose failures nobody notices; this file walks.

mod go;
mod java;
mod javascript;
mod python;
mod rows;
mod rust;
mod strength;

use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::facts::{Assertion, Lost, Strength, TestFunction};
use sha2::{Digest, Sha256};

use super::Source;
use super::language::{Language, line_of, one_line, tokens};
use super::outline::{Outline, clip};

/// At most so many tests of a file are read.
const MOST_TESTS: usize = 2000;

/// At most so many assertions of a test are read.
const MOST_ASSERTIONS: usize = 200;

/// Helpers that call helpers are followed so far.
const DEEPEST_HELPER: usize = 5;

/// Returns the tests of a file, in its order.
pub(super) fn of(source: &Source) -> Vec<TestFunction> {
    let outline = Outline::new(source);
    let dialect: Box<dyn Dialect> = match source.language {
        Language::Python => Box::new(python::Python::new(&outline)),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            Box::new(javascript::JavaScript::new(&outline))
        }
        Language::Rust => Box::new(rust::Rust),
        Language::Go => Box::new(go::Go),
        Language::Java => Box::new(java::Java),
    };
    let found = dialect.tests(&outline);
    if found.is_empty() {
        return Vec::new();
    }
    let helpers = dialect.functions(&outline);
    let tables = rows::tables(&outline);
    let mut reader =
        Reader { outline: &outline, dialect: &*dialect, helpers, tables, known: BTreeMap::new() };
    found.into_iter().take(MOST_TESTS).map(|found| reader.read(found)).collect()
}

/// A test as a language finds it.
struct Found {
    name: String,
    /// The node of its definition, for the line.
    at: usize,
    /// What it executes; `None` if it has no body.
    body: Option<usize>,
    /// What its hash is made of.
    pieces: Vec<usize>,
    skipped: Option<String>,
    shadowed: bool,
    /// Assertions that its attributes make.
    declared: Vec<Assertion>,
    /// Why nothing in it can fail.
    lost: Option<Lost>,
}

/// A function that tests may call.
struct Helper {
    body: usize,
    /// Whether a caller has to wait for it.
    waits: bool,
}

type Helpers<'t> = BTreeMap<&'t str, Helper>;

/// What is known about the function that is being read.
struct Scope<'a, 't> {
    outline: &'a Outline<'t>,
    /// How often names are mentioned.
    mentions: BTreeMap<&'t str, usize>,
    /// Names that are given a value once, with the source of the value.
    locals: BTreeMap<&'t str, Option<&'t str>>,
    helpers: &'a Helpers<'t>,
}

impl<'t> Scope<'_, 't> {
    /// Tells whether a name is mentioned besides where it is defined.
    fn uses(&self, name: &str) -> bool {
        self.mentions.get(name).is_none_or(|times| *times > 1)
    }

    /// Returns a local name's value, or the text itself: also of a name that something else is done with, which may change
    /// what it stands for.
    fn value<'x>(&self, text: &'x str) -> &'x str
    where
        't: 'x,
    {
        // It is defined once and asserted once.
        let changed = self.mentions.get(text).is_some_and(|times| *times > 2);
        self.locals.get(text).copied().flatten().filter(|_| !changed).unwrap_or(text)
    }
}

/// Why failures of nodes are not noticed.
struct Marks {
    start: usize,
    marks: Vec<Option<Lost>>,
}

impl Marks {
    fn get(&self, at: usize) -> Option<Lost> {
        at.checked_sub(self.start).and_then(|at| self.marks.get(at).copied()).flatten()
    }

    /// Marks a node; whatever lies in it inherits that.
    fn set(&mut self, at: usize, lost: Lost) {
        if let Some(mark) = at.checked_sub(self.start).and_then(|at| self.marks.get_mut(at)) {
            mark.get_or_insert(lost);
        }
    }
}

trait Dialect {
    /// Returns the tests of a file.
    fn tests(&self, outline: &Outline<'_>) -> Vec<Found>;

    /// Returns every function that has a name, tests included.
    fn functions<'t>(&self, outline: &Outline<'t>) -> Helpers<'t>;

    /// Returns what a node asserts.
    fn assertion(&self, scope: &Scope<'_, '_>, at: usize) -> Option<Strength>;

    /// Marks what lies in a node and is not noticed if it fails.
    fn mark(&self, scope: &Scope<'_, '_>, at: usize, marks: &mut Marks);

    /// Returns the name of the function that a node calls, if it may be one of the same file.
    fn called<'t>(&self, outline: &Outline<'t>, at: usize) -> Option<&'t str>;
}

struct Reader<'a, 't> {
    outline: &'a Outline<'t>,
    dialect: &'a dyn Dialect,
    helpers: Helpers<'t>,
    /// Tables outside of functions, by their names.
    tables: BTreeMap<&'t str, usize>,
    /// What helpers assert, by their bodies.
    known: BTreeMap<usize, Vec<Assertion>>,
}

impl<'t> Reader<'_, 't> {
    fn read(&mut self, found: Found) -> TestFunction {
        let mut assertions = found.declared;
        if let Some(body) = found.body {
            assertions.extend(self.assertions(body, 0));
        }
        if found.lost.is_some() {
            for assertion in &mut assertions {
                assertion.lost = assertion.lost.or(found.lost);
            }
        }
        TestFunction {
            name: found.name,
            line: line_of(self.outline.node(found.at)),
            body: self.hash(&found.pieces),
            skipped: found.skipped.map(|marker| one_line(&marker)),
            shadowed: found.shadowed,
            assertions,
            mentions: found.body.map(|body| self.mentions(body)).unwrap_or_default(),
            rows: rows::of(self.outline, &found.pieces, found.body, &self.tables),
        }
    }

    fn hash(&self, pieces: &[usize]) -> String {
        let mut hash = Sha256::new();
        for piece in pieces {
            for token in tokens(self.outline.source, self.outline.node(*piece)) {
                hash.update(token.as_bytes());
                hash.update([0]);
            }
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    fn mentions(&self, body: usize) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let names = self.outline.within(body).filter(|at| is_name(self.outline.kind(*at)));
        let names = names.map(|at| self.outline.head(at, 120)).filter(|name| seen.insert(*name));
        names.take(60).map(str::to_owned).collect()
    }

    fn assertions(&mut self, body: usize, depth: usize) -> Vec<Assertion> {
        let outline = self.outline;
        let (mut found, mut calls) = (Vec::new(), Vec::new());
        {
            let scope = scope(outline, body, &self.helpers);
            let range = outline.within(body);
            let mut marks = Marks { start: range.start, marks: vec![None; range.len()] };
            for at in range {
                if let Some(lost) = outline.parent(at).and_then(|parent| marks.get(parent)) {
                    marks.set(at, lost);
                }
                self.dialect.mark(&scope, at, &mut marks);
                let lost = marks.get(at);
                if let Some(strength) = self.dialect.assertion(&scope, at) {
                    found.push((at, Assertion { text: outline.line(at), strength, lost }));
                } else if let Some(helper) =
                    self.dialect.called(outline, at).and_then(|name| self.helpers.get(name))
                    && !outline.within(body).contains(&helper.body)
                {
                    calls.push((at, helper.body, lost));
                }
                if found.len() >= MOST_ASSERTIONS {
                    break;
                }
            }
        }
        for (at, helper, lost) in calls.into_iter().take(MOST_ASSERTIONS) {
            for assertion in self.of_helper(helper, depth + 1).into_iter().take(20) {
                let text =
                    clip(&format!("{}: {}", clip(&outline.line(at), 80), assertion.text), 200).to_owned();
                found.push((at, Assertion { text, lost: lost.or(assertion.lost), ..assertion }));
            }
        }
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, assertion)| assertion).take(MOST_ASSERTIONS).collect()
    }

    fn of_helper(&mut self, body: usize, depth: usize) -> Vec<Assertion> {
        if let Some(known) = self.known.get(&body) {
            return known.clone();
        }
        if depth > DEEPEST_HELPER {
            return Vec::new();
        }
        // A helper that calls itself asserts nothing by that.
        self.known.insert(body, Vec::new());
        let assertions = self.assertions(body, depth);
        self.known.insert(body, assertions.clone());
        assertions
    }
}

fn is_name(kind: &str) -> bool {
    kind.ends_with("identifier") || kind == "identifier"
}

fn scope<'a, 't>(outline: &'a Outline<'t>, body: usize, helpers: &'a Helpers<'t>) -> Scope<'a, 't> {
    let (mut mentions, mut locals) = (BTreeMap::new(), BTreeMap::new());
    for at in outline.within(body) {
        if is_name(outline.kind(at)) {
            *mentions.entry(outline.text(at)).or_insert(0) += 1;
        }
        let fields = match outline.kind(at) {
            "assignment" | "short_var_declaration" | "assignment_expression" => ("left", "right"),
            "variable_declarator" => ("name", "value"),
            "let_declaration" => ("pattern", "value"),
            _ => continue,
        };
        let (name, value) = (outline.field_text(at, fields.0), outline.field_text(at, fields.1));
        // A second value makes it unknown.
        let value = (!value.is_empty() && value.len() < 400).then_some(value);
        locals.entry(name).and_modify(|known| *known = None).or_insert(value);
    }
    Scope { outline, mentions, locals, helpers }
}

/// Marks what follows a statement that ends its block.
fn mark_behind(outline: &Outline<'_>, block: usize, ends: impl Fn(usize) -> bool, marks: &mut Marks) {
    let mut ended = false;
    for statement in outline.children(block) {
        if ended {
            marks.set(statement, Lost::Unreachable);
        }
        ended = ended || ends(statement);
    }
}

/// Returns how strong a failure by hand is: as strong as the condition that it stands behind.
fn by_hand(outline: &Outline<'_>, at: usize, ifs: &[&str]) -> Strength {
    let condition = outline.above(at).into_iter().take(4).find(|above| ifs.contains(&outline.kind(*above)));
    let condition = condition.map_or("", |above| outline.field_text(above, "condition"));
    let condition = clip(condition, 2000);
    let exact = condition.contains("!=") || condition.contains("Equal(") || condition.contains("is not");
    if exact && !condition.contains("err != nil") { Strength::Exact } else { Strength::Loose }
}

#[cfg(test)]
mod table;
