//! Which functions, methods and types a change touches outside of tests.

mod items;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use checkmate_machine::facts::{FileFacts, FileRole};
use tree_sitter::Node;

pub(super) use self::items::{Item, is_test_attribute, items};
use super::language::{Language, descend, differs, leaves};
use super::{Source, Wish};

/// What an item of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A function or a method.
    Function,
    /// What makes a value of a class.
    Constructor,
    /// A class, a struct, an interface.
    Type,
    /// A value at the top of a file or of a class.
    Constant,
}

/// Where an item stands on one side, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// All of it, decorators and attributes included.
    pub(super) item: Range<usize>,
    /// What another body can come in place of: with its braces, or all behind Python's colon.
    pub(super) body: Option<Range<usize>>,
    /// Its parameters by name; a pattern as its source.
    pub(super) parameters: Vec<String>,
}

/// A function, method, constant or type that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    /// The file.
    pub(super) path: String,
    /// Its name with what it lies in, such as `Cache.get`.
    pub(super) name: String,
    /// What it is.
    pub(super) kind: Kind,
    /// Whether the base has none of this name.
    pub(super) added: bool,
    /// Whether other files can name it.
    pub(super) public: bool,
    /// Before the change.
    pub(super) old: Option<Part>,
    /// After the change.
    pub(super) new: Part,
}

/// Tells whether what is no test in a file differs effectively. Only Rust keeps tests beside the code: elsewhere it is
/// whether the file does. What cannot be parsed differs.
pub(super) fn code_differs(before: Option<&Source>, after: Option<&Source>) -> bool {
    let rust = |source: Option<&Source>| source.is_none_or(|source| source.language == Language::Rust);
    if !(rust(before) && rust(after)) {
        return differs(before, after);
    }
    match (before.map(outside_of_tests), after.map(outside_of_tests)) {
        (Some(before), Some(after)) => before != after,
        (Some(only), None) | (None, Some(only)) => !only.is_empty(),
        (None, None) => true,
    }
}

/// Returns the code of a Rust file that no test attribute stands before, with its depth in blocks.
fn outside_of_tests(source: &Source) -> Code<'_> {
    // Attributes stand beside what they belong to.
    let (mut tests, mut attributes, mut test) = (Vec::new(), Vec::new(), false);
    for node in descend(source.root()) {
        match node.kind() {
            "attribute_item" => {
                attributes.push(node);
                test |= is_test_attribute(source.of(node));
            }
            kind if kind.contains("comment") => {}
            _ if attributes.last().is_some_and(|last: &Node<'_>| last.parent() == node.parent()) => {
                if std::mem::take(&mut test) {
                    tests.extend(attributes.iter().map(Node::byte_range).chain([node.byte_range()]));
                }
                attributes.clear();
            }
            _ => {}
        }
    }
    // In the order of the source, so that each is looked at once.
    let mut tests = tests.into_iter().peekable();
    let mut end = 0;
    let outside = leaves(source, source.root()).into_iter().filter(|leaf| {
        while let Some(test) = tests.next_if(|test| test.start <= leaf.start) {
            end = end.max(test.end);
        }
        leaf.start >= end
    });
    outside.map(|leaf| (leaf.text, leaf.depth)).collect()
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Functions(pub(super) Vec<Function>);

impl Functions {
    /// Returns the names of those that are new, constants left out.
    pub(super) fn added(&self) -> Vec<String> {
        let added = self.0.iter().filter(|function| function.added && function.kind != Kind::Constant);
        added.map(|function| function.name.clone()).collect()
    }

    /// Returns the paths they lie in, in order.
    pub(super) fn paths(&self) -> BTreeSet<&str> {
        self.0.iter().map(|function| function.path.as_str()).collect()
    }
}

/// The code of an item with its depth in blocks.
type Code<'t> = Vec<(&'t str, u32)>;

/// Returns what the change touches, in the order of paths and lines. What only moved to another file is not touched.
pub(super) fn changed(wish: &Wish<'_>, files: &[FileFacts]) -> Functions {
    let paths = files.iter().filter(|file| file.role == FileRole::Code).map(|file| file.path.as_str());
    let sides: Vec<_> = paths.map(|path| (path, wish.before.source(path), wish.after.source(path))).collect();
    let mut gone = BTreeSet::new();
    let mut found = Vec::new();
    for (path, before, after) in &sides {
        // Nothing can be said to be new beside an old side that cannot be read.
        if before.is_none() && wish.before.has(path) {
            continue;
        }
        let old = before.as_ref().map(code).unwrap_or_default();
        let new = after.as_ref().map(code).unwrap_or_default();
        let kept: BTreeSet<_> = new.keys().collect();
        let lost = old.iter().filter(|(key, _)| !kept.contains(key));
        gone.extend(lost.map(|(key, (_, code))| (key.0.clone(), code.clone())));
        let mut here: Vec<_> = new.into_iter().map(|(key, (item, code))| (key, item, code)).collect();
        here.sort_by_key(|(_, item, _)| item.range.start);
        for (key, item, code) in here {
            let before = old.get(&key);
            if before.is_some_and(|(_, before)| *before == code) {
                continue;
            }
            let function = Function {
                path: (*path).to_owned(),
                name: item.name.clone(),
                kind: item.kind,
                added: before.is_none(),
                public: item.public,
                old: before.map(|(item, _)| item.part()),
                new: item.part(),
            };
            found.push((function, (key.0, code)));
        }
    }
    found.retain(|(function, moved)| !function.added || !gone.contains(moved));
    Functions(found.into_iter().map(|(function, _)| function).collect())
}

/// Returns the items of a file that are no tests, by key and place among those of the same key, with their code.
fn code(source: &Source) -> BTreeMap<(String, usize), (Item<'_>, Code<'_>)> {
    let items = items(source);
    let leaves = leaves(source, source.root());
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeMap::new();
    // An item is compared without the items in it: each leaf belongs to the innermost.
    let mut owners: Vec<Vec<(&str, u32)>> = vec![Vec::new(); items.len()];
    let mut starts: Vec<(usize, usize)> =
        items.iter().enumerate().map(|(index, item)| (item.range.start, index)).collect();
    starts.sort_unstable();
    let (mut next, mut inside) = (0, Vec::<usize>::new());
    for leaf in &leaves {
        while let Some((_, index)) = starts.get(next).filter(|(start, _)| *start <= leaf.start) {
            inside.push(*index);
            next += 1;
        }
        while inside
            .last()
            .and_then(|index| items.get(*index))
            .is_some_and(|item| item.range.end <= leaf.start)
        {
            inside.pop();
        }
        if let Some(owner) = inside.last().and_then(|index| owners.get_mut(*index)) {
            owner.push((leaf.text, leaf.depth));
        }
    }
    for (item, mut code) in items.into_iter().zip(owners) {
        let least = code.iter().map(|(_, depth)| *depth).min().unwrap_or(0);
        code.iter_mut().for_each(|(_, depth)| *depth -= least);
        let count = seen.entry(item.key.clone()).or_default();
        found.insert((item.key.clone(), *count), (item, code));
        *count += 1;
    }
    found
}

#[cfg(test)]
pub(super) mod tests;
