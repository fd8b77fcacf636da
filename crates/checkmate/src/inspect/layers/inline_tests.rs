//! The tests that stand beside the code in a Rust file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Edit;
use crate::inspect::Source;
use crate::inspect::functions::is_test_attribute;
use crate::inspect::language::{children, tokens};

/// Modules that lie deeper in each other are not opened.
const DEEPEST: usize = 12;

/// What names a test item: the modules it lies in, its kind, its name, its place among those of the same name.
type Key = (String, u16, String, usize);

/// An item that is compiled for tests only.
struct TestItem {
    range: Range<usize>,
    tokens: Vec<String>,
}

/// The test items of a file, and where its modules end.
#[derive(Default)]
struct Found {
    items: BTreeMap<Key, TestItem>,
    ends: BTreeMap<String, usize>,
}

/// Returns edits of a file that put the test items of another version in place of its own: what it has beyond them
/// goes, what it lacks comes at the end of the module or of the file.
pub(super) fn edits(onto: &Source, wanted: Option<&Source>) -> Vec<Edit> {
    let here = found(onto);
    let there = wanted.map(found).unwrap_or_default();
    let mut edits = Vec::new();
    for (key, item) in &here.items {
        match there.items.get(key) {
            Some(other) if other.tokens == item.tokens => {}
            Some(other) => edits.push((item.range.clone(), text(wanted, &other.range))),
            None => {
                let before = onto.text.get(..item.range.start).unwrap_or("").trim_end().len();
                edits.push((before..item.range.end, String::new()));
            }
        }
    }
    let known: BTreeSet<&Key> = here.items.keys().collect();
    let mut lacking: Vec<_> = there.items.iter().filter(|(key, _)| !known.contains(key)).collect();
    lacking.sort_by_key(|(_, item)| item.range.start);
    let mut added: BTreeMap<usize, String> = BTreeMap::new();
    for (key, item) in lacking {
        let end = here.ends.get(&key.0).copied().unwrap_or(onto.text.len());
        let text = text(wanted, &item.range);
        added.entry(end).or_default().push_str(&format!("\n{text}\n"));
    }
    edits.extend(added.into_iter().map(|(at, text)| (at..at, text)));
    edits
}

fn text(source: Option<&Source>, range: &Range<usize>) -> String {
    source.and_then(|source| source.text.get(range.clone())).unwrap_or("").to_owned()
}

fn found(source: &Source) -> Found {
    let mut found = Found::default();
    let mut seen = BTreeMap::new();
    let mut open = vec![(source.root(), String::new(), 0)];
    while let Some((container, within, depth)) = open.pop() {
        let (mut start, mut test) = (None, false);
        for child in children(container) {
            match child.kind() {
                "attribute_item" => {
                    start = start.or(Some(child.start_byte()));
                    test |= is_test_attribute(source.of(child));
                    continue;
                }
                "line_comment" | "block_comment" => continue,
                _ => {}
            }
            let start = start.take().unwrap_or(child.start_byte());
            let field = ["name", "type"].iter().find_map(|field| child.child_by_field_name(field));
            let name = field.map_or("", |field| source.of(field));
            let body = child.child_by_field_name("body");
            if std::mem::take(&mut test) {
                let count = seen.entry((within.clone(), child.kind_id(), name.to_owned())).or_insert(0_usize);
                let key = (within.clone(), child.kind_id(), name.to_owned(), *count);
                *count += 1;
                // An attribute such as `#[ignore]` is a part of it.
                let attributes = source.text.get(start..child.start_byte()).unwrap_or("");
                let mut tokens = tokens(source, child);
                tokens.extend(attributes.split_whitespace().map(str::to_owned));
                found.items.insert(key, TestItem { range: start..child.end_byte(), tokens });
            } else if let Some(body) =
                body.filter(|body| body.kind() == "declaration_list" && depth < DEEPEST)
            {
                let within = format!("{within}{name}::");
                found.ends.insert(within.clone(), body.end_byte().saturating_sub(1));
                open.push((body, within, depth + 1));
            }
        }
    }
    found
}
