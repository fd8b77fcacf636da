//! Makes a changed place fail whenever it is reached.

use tree_sitter::Node;

use super::targets::Target;
use super::{Candidate, Rank};
use crate::inspect::Source;
use crate::inspect::language::{Language, children};

/// Kinds of nodes whose children are statements.
const BLOCKS: [&str; 4] = ["block", "statement_block", "statement_list", "constructor_body"];

/// Returns what makes the first changed line of a body fail when it is reached.
pub(super) fn candidate(source: &Source, target: &Target) -> Option<Candidate> {
    let body = target.body.clone()?;
    let statements = statements(source, body.start, body.end);
    if statements.is_empty() {
        return expression(source, target);
    }
    // The outermost that starts there; else the innermost around it, which comes last, because parents come first.
    let inside = |row: usize| {
        let starts = statements.iter().find(|node| node.start_position().row == row);
        let around = |node: &&Node<'_>| node.start_position().row <= row && row <= node.end_position().row;
        starts.or_else(|| statements.iter().rev().find(around))
    };
    let at = target.rows.iter().find_map(|row| inside(*row)).or(statements.first())?;
    let start = at.start_byte();
    let line = source.text.get(..start)?.rfind('\n').map_or(0, |newline| newline + 1);
    let lead = source.text.get(line..start)?;
    let text = match source.language {
        Language::Python if lead.trim().is_empty() => format!("raise RuntimeError(\"reached\")\n{lead}"),
        Language::Python => "raise RuntimeError(\"reached\"); ".to_owned(),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            "throw new Error(\"reached\"); ".to_owned()
        }
        Language::Rust => "panic!(\"reached\"); ".to_owned(),
        Language::Go => "panic(\"reached\"); ".to_owned(),
        // Without the condition what follows would not compile.
        Language::Java => "if (true) throw new RuntimeException(\"reached\"); ".to_owned(),
    };
    Some(Candidate { rank: Rank::Statement, range: start..start, text, row: at.start_position().row })
}

/// Does so for a function of JavaScript whose body is an expression.
fn expression(source: &Source, target: &Target) -> Option<Candidate> {
    let range = target.body.clone()?;
    if !matches!(source.language, Language::JavaScript | Language::TypeScript | Language::Tsx) {
        return None;
    }
    let row = source.root().descendant_for_byte_range(range.start, range.end)?.start_position().row;
    let text = "{ throw new Error(\"reached\"); }".to_owned();
    Some(Candidate { rank: Rank::Statement, range, text, row })
}

/// Returns the statements in a range of bytes, parents first.
fn statements(source: &Source, start: usize, end: usize) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    let mut open = vec![source.root()];
    while let Some(node) = open.pop() {
        if node.end_byte() <= start || node.start_byte() >= end {
            continue;
        }
        let below = children(node);
        if BLOCKS.contains(&node.kind()) && node.start_byte() >= start && node.end_byte() <= end {
            let stands = |child: &&Node<'_>| match child.kind() {
                "statement_list"
                | "explicit_constructor_invocation"
                | "attribute_item"
                | "inner_attribute_item" => false,
                // Documentation.
                "expression_statement" if source.language == Language::Python => {
                    child.named_child(0).is_none_or(|inner| inner.kind() != "string")
                }
                kind => !kind.contains("comment"),
            };
            found.extend(below.iter().filter(stands).copied());
        }
        open.extend(below.into_iter().rev());
    }
    found.sort_by_key(|node| (node.start_byte(), std::cmp::Reverse(node.end_byte())));
    found
}
