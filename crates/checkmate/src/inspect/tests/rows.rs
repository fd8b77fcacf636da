//! The rows of tables that tests go through: what a parametrized test gets, what a loop runs over.
//!
//! A row that goes takes a case with it, although the test and its assertions stay as they were.

use std::collections::{BTreeMap, BTreeSet};

use super::is_name;
use crate::inspect::outline::{Outline, clip, compact};

/// At most so many rows of a test are read.
const MOST: usize = 200;

/// Lists of values.
const LISTS: [&str; 8] = [
    "list",
    "tuple",
    "set",
    "array",
    "array_expression",
    "tuple_expression",
    "literal_value",
    "array_initializer",
];

/// Values that are made of values.
const COMPOSITES: [&str; 12] = [
    "list",
    "tuple",
    "set",
    "dictionary",
    "array",
    "object",
    "array_expression",
    "tuple_expression",
    "struct_expression",
    "literal_value",
    "literal_element",
    "array_initializer",
];

/// Returns the tables that stand outside of every function, by their names.
pub(super) fn tables(outline: &Outline<'_>) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for at in outline.all() {
        let (name, value) = match outline.kind(at) {
            "assignment" => ("left", "right"),
            "variable_declarator" | "const_item" | "static_item" | "var_spec" | "const_spec" => {
                ("name", "value")
            }
            _ => continue,
        };
        let inside = outline.above(at).iter().any(|up| {
            let kind = outline.kind(*up);
            kind.contains("function") || kind.contains("method") || kind.contains("class")
        });
        if let (false, Some(value)) = (inside, outline.field(at, value)) {
            found.insert(outline.field_text(at, name).to_owned(), value);
        }
    }
    found
}

/// Returns the rows of the tables in what a test is made of, and in the tables that it names.
pub(super) fn of(outline: &Outline<'_>, pieces: &[usize], tables: &BTreeMap<String, usize>) -> Vec<String> {
    let names: BTreeSet<&str> = pieces
        .iter()
        .flat_map(|piece| outline.within(*piece))
        .filter(|at| is_name(outline.kind(*at)))
        .map(|at| outline.head(at, 120))
        .collect();
    let named = names.into_iter().filter_map(|name| tables.get(name));
    let mut rows = Vec::new();
    for place in pieces.iter().chain(named) {
        let mut end = 0;
        for at in outline.within(*place) {
            // What lies in a row is a part of it.
            if at < end || !LISTS.contains(&outline.kind(at)) {
                continue;
            }
            let items = outline.children(at);
            let made = items.iter().filter(|item| is_row(outline, **item)).count();
            if made < 2 || rows.len() + items.len() > MOST {
                continue;
            }
            end = outline.within(at).end;
            let texts =
                items.iter().filter(|item| is_row(outline, **item)).map(|item| outline.head(*item, 400));
            rows.extend(texts.map(|text| clip(&inner(text), 200).to_owned()));
        }
    }
    rows
}

/// Tells whether an item is a row: a value made of values, or what `pytest.param` makes of some.
fn is_row(outline: &Outline<'_>, item: usize) -> bool {
    COMPOSITES.contains(&outline.kind(item)) || outline.head(item, 13) == "pytest.param("
}

/// Returns what stands in a row's brackets, so that a row that gets another column is still there.
fn inner(text: &str) -> String {
    let text = compact(text);
    let text = text.strip_prefix("pytest.param").unwrap_or(&text);
    let text = text.trim_start_matches(['(', '[', '{']).trim_end_matches([')', ']', '}', ',']);
    text.to_owned()
}
