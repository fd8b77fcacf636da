//! Literals that code compares its arguments with and that tests use as well.

use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::facts::{Spot, SpotKind};

use crate::inspect::language::{Language, line_of, one_line};
use crate::inspect::outline::{Outline, clip, compact, unquoted};
use crate::inspect::{Source, Wish, roles};

/// At most so many literals are looked up, in at most so many bytes of tests.
const MOST: usize = 100;
const MOST_BYTES: usize = 20_000_000;

/// A literal that an argument is compared with.
struct Candidate {
    line: u32,
    text: String,
    literal: Literal,
}

enum Literal {
    Text(String),
    Number(String),
    /// A list, tuple or the like, with every bracket as `(` and without blank space.
    Compound(String),
}

/// Returns the comparisons with literals of tests that the goal does not name.
pub(super) fn shared(wish: &Wish<'_>, source: &Source, before: Option<&Source>) -> Vec<Spot> {
    let old: BTreeSet<String> =
        before.map(candidates).unwrap_or_default().into_iter().map(|old| compact(&old.text)).collect();
    let goal = (wish.goal, bracketed(wish.goal));
    let mut open: Vec<Candidate> = candidates(source);
    open.retain(|new| !old.contains(&compact(&new.text)) && !new.literal.is_in(goal.0, &goal.1, false));
    open.truncate(MOST);
    if open.is_empty() {
        return Vec::new();
    }
    let mut spots = Vec::new();
    let mut left = MOST_BYTES;
    for text in tests(wish, source) {
        if left < text.len() {
            break;
        }
        left -= text.len();
        let brackets = bracketed(&text);
        open.retain(|candidate| {
            let found = candidate.literal.is_in(&text, &brackets, true);
            if found {
                let (line, text) = (candidate.line, candidate.text.clone());
                spots.push(Spot { kind: SpotKind::SharedLiteral, line, text });
            }
            !found
        });
    }
    spots
}

impl Literal {
    /// Returns a literal that is long enough to tell something.
    fn of(outline: &Outline<'_>, at: usize) -> Option<Self> {
        let text = outline.text(at).trim_start_matches('&');
        let kind = outline.kind(at);
        if text.len() > 2000 {
            return None;
        }
        if kind.contains("string") || unquoted(text).is_some() && !kind.contains("char") {
            let content = unquoted(text)?;
            return (content.chars().count() >= 3).then(|| Literal::Text(content.to_owned()));
        }
        if kind.contains("integer")
            || kind.contains("float")
            || kind.contains("number")
            || kind == "int_literal"
        {
            let digits = text.chars().filter(char::is_ascii_digit).count();
            return (digits >= 3).then(|| Literal::Number(text.to_owned()));
        }
        let compound =
            ["list", "tuple", "dictionary", "set", "array", "object", "tuple_expression", "array_expression"];
        if !compound.contains(&kind) {
            return None;
        }
        let leaves = outline.within(at).filter(|leaf| outline.end(*leaf) == leaf + 1);
        let leaves: Vec<&str> = leaves.map(|leaf| outline.kind(leaf)).collect();
        let plain = leaves.iter().all(|kind| {
            ["string", "integer", "float", "number", "true", "false", "none", "null", "escape", "literal"]
                .iter()
                .any(|word| kind.contains(word))
                || *kind == "property_identifier"
                || compound.contains(kind)
        });
        let brackets = bracketed(text);
        (plain && leaves.len() > 1 && brackets.len() >= 5).then_some(Literal::Compound(brackets))
    }

    fn is_in(&self, text: &str, brackets: &str, quoted: bool) -> bool {
        match self {
            Literal::Text(content) if quoted => {
                ['"', '\'', '`'].iter().any(|quote| text.contains(&format!("{quote}{content}{quote}")))
            }
            Literal::Text(content) => text.contains(content.as_str()),
            Literal::Number(digits) => text.match_indices(digits.as_str()).any(|(at, _)| {
                let part = |letter: char| letter.is_alphanumeric() || letter == '.' || letter == '_';
                let before = text.get(..at).and_then(|before| before.chars().next_back());
                let after = text.get(at + digits.len()..).and_then(|after| after.chars().next());
                !before.is_some_and(part)
                    && !after.is_some_and(|after| after.is_alphanumeric() || after == '_')
            }),
            Literal::Compound(literal) => brackets.contains(literal.as_str()),
        }
    }
}

/// Writes all brackets and quotes alike and leaves blank space out.
fn bracketed(text: &str) -> String {
    let letters = text.chars().filter(|letter| !letter.is_whitespace());
    letters
        .map(|letter| match letter {
            '[' | '{' => '(',
            ']' | '}' => ')',
            '\'' | '`' => '"',
            letter => letter,
        })
        .collect()
}

/// Returns the texts of the tests of the same language, new and old.
fn tests(wish: &Wish<'_>, source: &Source) -> Vec<String> {
    let family = |language: Language| match language {
        Language::JavaScript | Language::TypeScript | Language::Tsx => Language::JavaScript,
        Language::Python => Language::Python,
        Language::Rust => Language::Rust,
        Language::Go => Language::Go,
        Language::Java => Language::Java,
    };
    let rust = source.language == Language::Rust;
    let mut texts = Vec::new();
    for side in [wish.after, wish.before] {
        let same =
            side.paths().filter(|path| Language::of(path).map(family) == Some(family(source.language)));
        let tests = same.filter(|path| {
            roles::may_hold_tests(path) && (!rust || path.contains("tests") || *path == source.path)
        });
        for text in tests.take(400).filter_map(|path| side.text(path).map(|text| (path, text))) {
            let (path, text) = text;
            let only = if rust && path == source.path {
                text.split_once("#[cfg(test)]").map_or("", |(_, test)| test)
            } else {
                &text
            };
            texts.push(only.to_owned());
        }
    }
    texts
}

fn candidates(source: &Source) -> Vec<Candidate> {
    let outline = Outline::new(source);
    let functions = outline.nearest(&[
        "function_definition",
        "function_declaration",
        "function_item",
        "method_definition",
        "method_declaration",
        "arrow_function",
        "function_expression",
        "func_literal",
        "lambda",
    ]);
    let tables = tables(&outline);
    let mut parameters: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let mut found = Vec::new();
    for at in outline.all() {
        let Some(function) = functions.get(at).copied().flatten() else { continue };
        let names = parameters.entry(function).or_insert_with(|| names(&outline, function));
        if names.is_empty() || found.len() > 20 * MOST {
            continue;
        }
        for literal in compared(&outline, at, names, &tables) {
            if let Some(known) = Literal::of(&outline, literal) {
                // An entry of a table is told by itself, a comparison as a whole.
                let inside = outline.within(at).contains(&literal);
                let shown = if inside && outline.text(at).len() < 200 {
                    at
                } else {
                    outline.parent(literal).unwrap_or(literal)
                };
                let text = one_line(outline.head(shown, 1000));
                found.push(Candidate { line: line_of(outline.node(literal)), text, literal: known });
            }
        }
    }
    found
}

/// Returns the names of a function's parameters.
fn names(outline: &Outline<'_>, function: usize) -> BTreeSet<String> {
    let list = outline.field(function, "parameters").map(|list| outline.children(list)).unwrap_or_default();
    let single = outline.field(function, "parameter");
    let mut names = BTreeSet::new();
    for parameter in list.into_iter().chain(single).take(100) {
        let several = outline.kind(parameter) == "parameter_declaration";
        let plain = outline.within(parameter).take(60).filter(|at| outline.kind(*at) == "identifier");
        names.extend(plain.take(if several { 8 } else { 1 }).map(|at| outline.text(at).to_owned()));
    }
    names.remove("self");
    names
}

/// Returns the literal tables of a file by their names.
fn tables<'t>(outline: &Outline<'t>) -> BTreeMap<&'t str, usize> {
    let mut tables = BTreeMap::new();
    for at in outline.all() {
        let (name, value) = match outline.kind(at) {
            "assignment" => (outline.field_text(at, "left"), outline.field(at, "right")),
            "variable_declarator" => (outline.field_text(at, "name"), outline.field(at, "value")),
            "const_spec" | "var_spec" => (outline.field_text(at, "name"), outline.field(at, "value")),
            _ => continue,
        };
        if let Some(value) = value.filter(|_| name.len() < 100) {
            tables.insert(name, value);
        }
    }
    tables
}

/// Tells whether an expression is a whole parameter, or a tuple or list of parameters.
fn is_subject(text: &str, names: &BTreeSet<String>) -> bool {
    const WRAPS: [&str; 12] = [
        "list(",
        "tuple(",
        "str(",
        "repr(",
        "sorted(",
        "JSON.stringify(",
        "String(",
        "Array.from(",
        "dict(",
        "set(",
        "switch(",
        "(",
    ];
    const ENDS: [&str; 7] =
        [".as_str()", ".to_string()", ".as_ref()", ".strip()", ".trim()", ".toString()", ".lower()"];
    let mut text = compact(clip(text, 200));
    for _ in 0..3 {
        let inner =
            WRAPS.iter().find_map(|wrap| text.strip_prefix(wrap).and_then(|rest| rest.strip_suffix(')')));
        let ended = ENDS.iter().find_map(|end| text.strip_suffix(end));
        let Some(next) = inner.or(ended).or_else(|| text.strip_prefix(['&', '*'])) else { break };
        text = next.to_owned();
    }
    let text = text.trim_matches(['[', ']', '(', ')']);
    !text.is_empty() && text.split(',').filter(|part| !part.is_empty()).all(|part| names.contains(part))
}

/// Returns the literals that a node compares a parameter with.
fn compared(
    outline: &Outline<'_>,
    at: usize,
    names: &BTreeSet<String>,
    tables: &BTreeMap<&str, usize>,
) -> Vec<usize> {
    let subject = |at: usize| is_subject(outline.text(at), names);
    let field = |name: &str| outline.field(at, name);
    match outline.kind(at) {
        "comparison_operator" => {
            let [left, right] = outline.children(at)[..] else { return Vec::new() };
            let between = outline.node(left).end_byte()..outline.node(right).start_byte();
            match outline.source.text.get(between).map(str::trim) {
                Some("==" | "is" | "!=") => either(outline, left, right, &subject),
                Some("in" | "not in") if subject(left) => entries(outline, right, tables),
                Some(_) | None => Vec::new(),
            }
        }
        "binary_expression" => {
            let (Some(left), Some(right)) = (field("left"), field("right")) else { return Vec::new() };
            let between = outline.node(left).end_byte()..outline.node(right).start_byte();
            match outline.source.text.get(between).map(str::trim) {
                Some("==" | "===" | "!=" | "!==") => either(outline, left, right, &subject),
                Some("in") if subject(left) => entries(outline, right, tables),
                Some(_) | None => Vec::new(),
            }
        }
        "subscript" | "subscript_expression" => {
            let (Some(table), Some(key)) =
                (field("value").or_else(|| field("object")), field("subscript").or_else(|| field("index")))
            else {
                return Vec::new();
            };
            if subject(key) { entries(outline, table, tables) } else { Vec::new() }
        }
        "call" | "call_expression" | "method_invocation" => {
            let arguments = field("arguments").map(|list| outline.children(list)).unwrap_or_default();
            let function = field("function");
            let owner = function.or(Some(at)).and_then(|function| outline.field(function, "object"));
            let method = function.map_or_else(
                || outline.field_text(at, "name"),
                |function| {
                    outline.field_text(function, "attribute").max(outline.field_text(function, "property"))
                },
            );
            let (Some(owner), Some(first)) = (owner, arguments.first().copied()) else { return Vec::new() };
            match method {
                "get" | "has" | "includes" | "hasOwnProperty" | "contains" | "containsKey"
                    if subject(first) =>
                {
                    entries(outline, owner, tables)
                }
                "equals" | "contentEquals" => either(outline, owner, first, &subject),
                _ => Vec::new(),
            }
        }
        "switch_statement"
        | "match_statement"
        | "match_expression"
        | "expression_switch_statement"
        | "switch_expression" => {
            let value = field("value").or_else(|| field("subject")).or_else(|| field("condition"));
            if value.is_some_and(subject) { cases(outline, at) } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}

fn either(outline: &Outline<'_>, left: usize, right: usize, subject: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let literal = |at: usize| {
        if outline.kind(at) == "reference_expression" {
            outline.children(at).first().copied().unwrap_or(at)
        } else {
            at
        }
    };
    if subject(left) {
        vec![literal(right)]
    } else if subject(right) {
        vec![literal(left)]
    } else {
        Vec::new()
    }
}

/// Returns the keys or elements of a table that is written out, or named and written out elsewhere in the file.
fn entries(outline: &Outline<'_>, at: usize, tables: &BTreeMap<&str, usize>) -> Vec<usize> {
    let at = tables.get(clip(outline.text(at), 100)).copied().unwrap_or(at);
    let inner = match outline.kind(at) {
        "new_expression" | "call" | "call_expression" => {
            let arguments =
                outline.field(at, "arguments").map(|list| outline.children(list)).unwrap_or_default();
            arguments.first().copied().unwrap_or(at)
        }
        _ => at,
    };
    let written = ["dictionary", "set", "list", "tuple", "object", "array"].contains(&outline.kind(inner));
    if !written {
        return Vec::new();
    }
    let parts = outline.children(inner).into_iter().take(200);
    parts
        .map(|part| match outline.kind(part) {
            "pair" => outline.field(part, "key").unwrap_or(part),
            "array" => outline.children(part).first().copied().unwrap_or(part),
            _ => part,
        })
        .collect()
}

/// Returns the literals in the patterns of a `match` or `switch`.
fn cases(outline: &Outline<'_>, at: usize) -> Vec<usize> {
    let kinds = ["case_clause", "match_arm", "switch_case", "expression_case", "switch_label"];
    let mut found = Vec::new();
    for case in
        outline.within(at).skip(1).take(5000).filter(|case| kinds.contains(&outline.kind(*case))).take(300)
    {
        let pattern = outline.field(case, "pattern").or_else(|| outline.field(case, "value"));
        let pattern = pattern.or_else(|| outline.children(case).first().copied());
        if let Some(pattern) = pattern {
            found.extend(outline.within(pattern).take(20).filter(|at| {
                let kind = outline.kind(*at);
                kind.contains("string") && !kind.contains("content") && !kind.contains("fragment")
                    || kind.contains("integer")
                    || kind == "number"
                    || kind == "int_literal"
            }));
        }
    }
    found
}
