//! Other numbers, truth values and texts in place of literals.

use tree_sitter::Node;

use super::Rank;
use super::operators::{Around, Found, is_open};
use crate::inspect::language::Language;

/// A longer number may be at the end of its type.
const MOST_DIGITS: usize = 9;

/// Numbers whose successor does not fit into a type that they often have.
const LAST: [u64; 4] = [127, 255, 32_767, 65_535];

/// Finds literals.
pub(super) fn of(found: &mut Found<'_>, node: Node<'_>, around: Around<'_>) {
    let source = found.source;
    let open = is_open(source.language);
    match node.kind() {
        "true" | "True" => found.add(Rank::Number, node, if open_python(found) { "False" } else { "false" }),
        "false" | "False" => found.add(Rank::Number, node, if open_python(found) { "True" } else { "true" }),
        "boolean_literal" => {
            let other = if source.of(node) == "true" { "false" } else { "true" };
            found.add(Rank::Number, node, other);
        }
        "integer" | "number" | "integer_literal" | "int_literal" | "decimal_integer_literal" => {
            // The number of a tuple's part is a name.
            if around.parent == "field_expression" {
                return;
            }
            if let Some(next) = next(source.of(node), open) {
                found.add(Rank::Number, node, next);
            }
        }
        "string" if open => text(found, node, around),
        "return_statement" if open => {
            let value = node.named_child(0).filter(|value| value.kind() == "string");
            value.into_iter().for_each(|value| empty(found, value));
        }
        "regex" => pattern(found, node),
        "call" | "call_expression" if open => joined(found, node),
        _ => {}
    }
}

fn open_python(found: &Found<'_>) -> bool {
    found.source.language == Language::Python
}

/// Returns a number's successor, with its suffix.
fn next(text: &str, open: bool) -> Option<String> {
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (number, suffix) = text.split_at(digits);
    let octal = number.len() > 1 && number.starts_with('0');
    let plain = suffix.is_empty() || (!open && suffix.starts_with(['u', 'i', 'L', 'l']));
    if number.is_empty() || number.len() > MOST_DIGITS || octal || !plain {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    if !open && LAST.contains(&number) {
        return None;
    }
    Some(format!("{}{suffix}", number + 1))
}

/// Empties the texts of a table.
fn text(found: &mut Found<'_>, node: Node<'_>, around: Around<'_>) {
    let listed = matches!(
        around.parent,
        "list" | "set" | "tuple" | "pair" | "array" | "assignment" | "variable_declarator"
    );
    if around.constant && listed {
        empty(found, node);
    }
}

/// Empties what texts are joined by or replaced with.
fn joined(found: &mut Found<'_>, node: Node<'_>) {
    let Some(function) = node.child_by_field_name("function") else { return };
    let member =
        function.child_by_field_name("attribute").or_else(|| function.child_by_field_name("property"));
    let name = member.map_or("", |member| found.source.of(member));
    let object = function.child_by_field_name("object");
    if object.is_some_and(|object| found.source.of(object) == "re") {
        let first = node.child_by_field_name("arguments").and_then(|list| list.named_child(0));
        first.filter(|first| first.kind() == "string").into_iter().for_each(|first| pattern(found, first));
    }
    if !matches!(name, "join" | "replace" | "replaceAll" | "sub" | "get") {
        return;
    }
    let object = object.filter(|_| name == "join");
    let mut cursor = node.walk();
    let arguments = node.child_by_field_name("arguments");
    let list: Vec<Node<'_>> =
        arguments.map(|list| list.named_children(&mut cursor).collect()).unwrap_or_default();
    for text in object.into_iter().chain(list).filter(|text| text.kind() == "string") {
        empty(found, text);
    }
}

/// Loosens a regular expression: one repetition, one anchor or the search for all goes.
fn pattern(found: &mut Found<'_>, node: Node<'_>) {
    let text = found.source.of(node);
    let repeated = ["]+", ")+", "]*", ")*", "\\s+", "\\w+", "\\d+", "\\s*", "\\w*", "\\d*", "]?", ")?"];
    let places = repeated.iter().filter_map(|sign| text.find(sign).map(|at| at + sign.len() - 1));
    let anchors = ["\"^", "'^", "/^", "$\"", "$'", "$/"];
    let anchors =
        anchors.iter().filter_map(|sign| Some(text.find(sign)? + usize::from(!sign.starts_with('$'))));
    let all = text.ends_with("/g").then(|| text.len() - 1);
    if let Some(at) = places.min().or(anchors.min()).or(all)
        && let (Some(before), Some(behind)) = (text.get(..at), text.get(at + 1..))
    {
        found.add(Rank::Bound, node, format!("{before}{behind}"));
    }
}

fn empty(found: &mut Found<'_>, text: Node<'_>) {
    let source = found.source.of(text);
    let inner = source.trim_start_matches(|letter: char| letter.is_alphabetic()).trim_matches(['"', '\'']);
    if !inner.is_empty() {
        found.add(Rank::Text, text, "\"\"");
    }
}
