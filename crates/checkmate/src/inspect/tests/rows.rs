//! The rows of tables that a test goes through: what a parametrized test is given, what a loop runs over.
//!
//! A row that goes takes a case with it, although the test and its assertions stay as they were. A table stands where it
//! is gone through, or in the same file under a name. Rust's files hold code beside tests, so its names are not followed.

use std::collections::BTreeMap;

use crate::inspect::language::{Language, tokens};
use crate::inspect::outline::Outline;

/// Rows of a test; a test with more has none, since a part of them would look as if others had gone.
const MOST: usize = 100;

/// Bytes of a row; a longer one is none.
const LONGEST: usize = 300;

/// Values that are made of values, in the five languages.
const COMPOSITES: [&str; 9] = [
    "list",
    "tuple",
    "dictionary",
    "array",
    "object",
    "array_expression",
    "tuple_expression",
    "literal_value",
    "array_initializer",
];

/// Returns the tables that stand outside of every function, by their names.
pub(super) fn tables<'t>(outline: &Outline<'t>) -> BTreeMap<&'t str, usize> {
    let mut found = BTreeMap::new();
    if outline.source.language == Language::Rust {
        return found;
    }
    for at in outline.all() {
        let (name, value) = match outline.kind(at) {
            "assignment" => ("left", "right"),
            "variable_declarator" | "var_spec" => ("name", "value"),
            _ => continue,
        };
        let inside = outline.above(at).iter().any(|up| {
            ["function", "method", "class", "lambda"].iter().any(|word| outline.kind(*up).contains(word))
        });
        if let (false, Some(value)) = (inside, outline.field(at, value)) {
            found.insert(outline.field_text(at, name), value);
        }
    }
    found
}

/// Returns the rows of a test: what its decorators and its `each` are given, and what its loops run over.
pub(super) fn of(
    outline: &Outline<'_>,
    pieces: &[usize],
    body: Option<usize>,
    tables: &BTreeMap<&str, usize>,
) -> Vec<String> {
    let mut places: Vec<usize> = Vec::new();
    for piece in pieces {
        let given = outline.kind(*piece) == "decorator" || outline.head(*piece, 400).contains(".each");
        if given && Some(*piece) != body {
            places.extend(outline.within(*piece));
        }
    }
    for at in body.map(|body| outline.within(body)).into_iter().flatten() {
        let field = match outline.kind(at) {
            "for_statement" | "for_in_statement" | "range_clause" => "right",
            "enhanced_for_statement" | "for_expression" => "value",
            _ => continue,
        };
        places.extend(outline.field(at, field));
    }
    let mut rows = Vec::new();
    let mut end = 0;
    for place in places {
        // What lies in a row is a part of it.
        if place < end {
            continue;
        }
        let named = tables.get(outline.head(place, 120)).copied();
        let mut list = named.unwrap_or(place);
        if outline.kind(list) == "composite_literal" {
            list = outline.field(list, "body").unwrap_or(list);
        }
        if !COMPOSITES.contains(&outline.kind(list)) {
            continue;
        }
        let items = outline.children(list).into_iter().map(|item| bare(outline, item));
        let made: Vec<usize> = items.filter(|item| is_row(outline, *item)).collect();
        if named.is_none() && !made.is_empty() {
            end = outline.end(place);
        }
        rows.extend(made.into_iter().map(|item| text(outline, item)).filter(|text| text.len() <= LONGEST));
    }
    if rows.len() > MOST { Vec::new() } else { rows }
}

/// Returns the value of an item: Go wraps each, and those of a map stand behind keys.
fn bare(outline: &Outline<'_>, item: usize) -> usize {
    match outline.kind(item) {
        "literal_element" | "keyed_element" => {
            outline.children(item).last().map_or(item, |inner| bare(outline, *inner))
        }
        _ => item,
    }
}

/// Tells whether an item is a row: a value made of values, or what `pytest.param` makes of some.
fn is_row(outline: &Outline<'_>, item: usize) -> bool {
    COMPOSITES.contains(&outline.kind(item)) || outline.head(item, 13) == "pytest.param("
}

/// Returns a row's tokens with blanks between, without its brackets, so that a row that gets another column still has what
/// it had; in the same quotes everywhere.
fn text(outline: &Outline<'_>, item: usize) -> String {
    let all = tokens(outline.source, outline.node(item)).join(" ").replace('\'', "\"");
    let closed = [" , )", " , ]", " , }"].iter().fold(all, |text, end| text.replace(end, &end[2..]));
    let inner = closed.strip_prefix("pytest . param").unwrap_or(&closed);
    let inner = inner.trim_start_matches(['(', '[', '{', ' ']).trim_end_matches([')', ']', '}', ',', ' ']);
    inner.to_owned()
}
