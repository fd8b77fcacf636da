//! Takes changed functions back.

use std::collections::BTreeSet;

use checkmate_machine::effect::Layer;

use super::stubs::{indent, stub};
use super::{Edit, edited, layers_of};
use crate::inspect::functions::{Function, Functions, Item, Kind, items};
use crate::inspect::language::{Language, children, leaves};
use crate::inspect::{Source, Wish};

/// Takes the changed functions of the candidate back: to their old bodies, or to a stub where they are new. What old
/// bodies need and the change deleted comes back too.
pub(in crate::inspect) fn reverted(wish: &Wish<'_>, functions: &Functions) -> Vec<Layer> {
    let mut layers = Vec::new();
    for path in functions.paths() {
        let Some(after) = wish.after.source(path) else { continue };
        let before = wish.before.source(path);
        let here: Vec<&Function> = functions.0.iter().filter(|function| function.path == path).collect();
        let mut edits = edits(before.as_ref(), &after, &here);
        if edits.is_empty() {
            continue;
        }
        if let Some(before) = &before {
            let lost = lost(before, &after, &edits);
            if !lost.is_empty() {
                edits.push((after.text.len()..after.text.len(), lost));
            }
        }
        // Better no layer for a file than one that breaks it.
        let parses = edited(&after.text, &edits).and_then(|text| Source::parse(path, text));
        if parses.is_some() {
            layers.extend(layers_of(path, edits));
        }
    }
    layers
}

fn edits(before: Option<&Source>, after: &Source, functions: &[&Function]) -> Vec<Edit> {
    let (old, new) = (before.map(items).unwrap_or_default(), items(after));
    let mut edits: Vec<Edit> = Vec::new();
    for function in functions {
        let at = |items: &[Item<'_>], start: usize| items.iter().position(|item| item.range.start == start);
        let Some(item) = at(&new, function.new.item.start).and_then(|index| new.get(index)) else { continue };
        let was = function.old.as_ref().and_then(|old_part| at(&old, old_part.item.start));
        let was = was.and_then(|index| old.get(index));
        let edit = match (function.kind, was, before) {
            (Kind::Type, _, _) | (Kind::Constant, None, _) => None,
            (Kind::Constant, Some(was), Some(before)) => whole(before, was, after, item),
            (Kind::Function | Kind::Constructor, Some(was), Some(before)) => back(before, was, after, item),
            (_, _, _) => stubbed(after, item),
        };
        edits.extend(edit.filter(|(range, text)| after.text.get(range.clone()) != Some(text)));
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut end = 0;
    edits.retain(|(range, _)| {
        let fits = range.start >= end;
        end = end.max(range.end);
        fits
    });
    edits
}

/// Puts a stub in place of a body.
fn stubbed(after: &Source, item: &Item<'_>) -> Option<Edit> {
    Some((item.body.clone()?, stub(after, item)?))
}

/// Puts the old item in place of the new one.
fn whole(before: &Source, was: &Item<'_>, after: &Source, item: &Item<'_>) -> Option<Edit> {
    let text = before.text.get(was.range.clone())?;
    Some((item.range.clone(), moved(before, was, after, item, text)))
}

/// Puts the old body in place of the new one, if it still knows its names; else a stub.
fn back(before: &Source, was: &Item<'_>, after: &Source, item: &Item<'_>) -> Option<Edit> {
    let body = before.text.get(was.body.clone()?)?;
    let range = item.body.clone()?;
    match after.language {
        Language::Rust | Language::Go | Language::Java => {
            if signature(before, was) != signature(after, item) {
                return stubbed(after, item);
            }
            Some((range, body.to_owned()))
        }
        Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => {
            if was.parameters == item.parameters {
                return whole(before, was, after, item);
            }
            if was.parameters.iter().any(|name| !item.parameters.contains(name)) {
                return stubbed(after, item);
            }
            let block = after.text.get(range.clone()).is_some_and(|new| new.starts_with('{'));
            if after.language != Language::Python && block && !body.starts_with('{') {
                return Some((range, format!("{{ return ({body}); }}")));
            }
            Some((range, moved(before, was, after, item, body)))
        }
    }
}

/// Returns the code before a body, visibility left out.
fn signature<'t>(source: &'t Source, item: &Item<'t>) -> Vec<&'t str> {
    let end = item.body.as_ref().map_or(item.range.end, |body| body.start);
    let leaves = leaves(source, item.node).into_iter().filter(|leaf| leaf.start < end);
    leaves.map(|leaf| leaf.text).filter(|text| !matches!(*text, "pub" | "public")).collect()
}

/// Returns a piece of Python with the indentation of its new place.
fn moved(before: &Source, was: &Item<'_>, after: &Source, item: &Item<'_>, text: &str) -> String {
    let old = indent(&before.text, was.range.start);
    let new = indent(&after.text, item.range.start);
    if after.language != Language::Python || old == new {
        return text.to_owned();
    }
    let mut lines = text.split('\n');
    let mut moved = lines.next().unwrap_or("").to_owned();
    for line in lines {
        moved.push('\n');
        match line.strip_prefix(old).filter(|rest| !rest.trim().is_empty()) {
            Some(rest) => moved.extend([new, rest]),
            None => moved.push_str(line),
        }
    }
    moved
}

/// Returns the words of a text that may be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// Returns deleted items and imports of the old side that the restored texts mention.
fn lost(before: &Source, after: &Source, edits: &[Edit]) -> String {
    let mut names: BTreeSet<&str> = edits.iter().flat_map(|(_, text)| words(text)).collect();
    let kept: Vec<String> = items(after).into_iter().map(|item| item.name).collect();
    let kept: BTreeSet<&str> =
        kept.iter().filter(|name| !name.contains('.')).flat_map(|name| words(name)).collect();
    let lone = |item: &Item<'_>| match before.language {
        Language::Java => false,
        // Other items of Go have their keyword outside of them.
        Language::Go => item.kind == Kind::Function,
        Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Rust => {
            true
        }
    };
    let mut gone: Vec<Item<'_>> = items(before);
    gone.retain(|item| {
        !item.name.contains('.') && words(&item.name).all(|word| !kept.contains(word)) && lone(item)
    });
    let mut lost = String::new();
    // What comes back may need more of what is gone.
    for _ in 0..8 {
        let (wanted, rest) =
            gone.into_iter().partition(|item| words(&item.name).any(|word| names.contains(word)));
        gone = rest;
        if Vec::is_empty(&wanted) {
            break;
        }
        for item in wanted {
            let text = before.text.get(item.range.clone()).unwrap_or("");
            let keyword = if item_is_declarator(before, &item) { "const " } else { "" };
            lost.push_str(&format!("\n\n{keyword}{text}\n"));
            names.extend(words(text));
        }
    }
    for import in imports(before, after, &names) {
        lost.push_str(&format!("\n{import}\n"));
    }
    lost
}

/// Tells whether an item of JavaScript has its keyword outside of it.
fn item_is_declarator(source: &Source, item: &Item<'_>) -> bool {
    let script = matches!(source.language, Language::JavaScript | Language::TypeScript | Language::Tsx);
    script
        && source.text.get(item.range.clone()).is_some_and(|text| {
            let keywords =
                ["function", "async", "class", "abstract", "interface", "type", "enum", "exports", "module"];
            !keywords.contains(&words(text).next().unwrap_or(""))
        })
}

/// Returns the imports of the old side that are gone and bind one of the names.
fn imports<'t>(before: &'t Source, after: &'t Source, names: &BTreeSet<&str>) -> Vec<&'t str> {
    let all = |source: &'t Source| -> Vec<&'t str> {
        let kinds = ["import_statement", "import_from_statement", "use_declaration"];
        let nodes = children(source.root()).into_iter().filter(|node| kinds.contains(&node.kind()));
        nodes.map(|node| source.of(node)).collect()
    };
    if matches!(before.language, Language::Go | Language::Java) {
        return Vec::new();
    }
    let known: BTreeSet<&str> = all(after).into_iter().flat_map(words).collect();
    let mut gone = all(before);
    gone.retain(|import| words(import).any(|word| names.contains(word) && !known.contains(word)));
    gone
}
