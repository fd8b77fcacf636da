//! What brings the old tests, the new tests or the old code back, or breaks the tests.

mod broken;
mod inline_tests;
mod reverted;
mod stubs;

use std::ops::Range;

use checkmate_machine::effect::Layer;
use checkmate_machine::facts::{FileFacts, FileRole, Section};
use checkmate_machine::ids::TreeId;

pub(super) use self::broken::broken;
pub(super) use self::reverted::reverted;
use super::language::Language;
use super::{Side, Wish};

/// Lays the tests and the test configuration of the base over the candidate: what the change added of them goes.
pub(super) fn old_tests(wish: &Wish<'_>, files: &[FileFacts]) -> Vec<Layer> {
    let paths = files.iter().filter(|file| match file.role {
        FileRole::Test | FileRole::TestSupport | FileRole::TestConfig | FileRole::Environment => true,
        // A manifest holds much that the candidate needs; it comes back only if it has nothing else new.
        FileRole::Manifest => {
            !file.entries.is_empty()
                && file.entries.iter().all(|entry| match entry.section {
                    Section::TestScript | Section::TestConfig => true,
                    Section::Dependency | Section::InstallScript | Section::Build | Section::Description => {
                        false
                    }
                })
        }
        FileRole::Code
        | FileRole::Docs
        | FileRole::BuildConfig
        | FileRole::Ci
        | FileRole::Lock
        | FileRole::Git
        | FileRole::Other => false,
    });
    let mut layers = files_of(wish.base, wish.before, paths);
    layers.extend(inline(files, wish.after, wish.before));
    layers
}

/// Lays the candidate's tests over the base.
pub(super) fn new_tests(wish: &Wish<'_>, files: &[FileFacts]) -> Vec<Layer> {
    let edits = inline(files, wish.before, wish.after);
    let tested = !edits.is_empty()
        || files.iter().any(|file| match file.role {
            FileRole::Test => true,
            // What a test expects, kept beside it.
            FileRole::TestSupport => file.path.ends_with(".snap") || file.path.contains("snapshot"),
            FileRole::Code
            | FileRole::Docs
            | FileRole::TestConfig
            | FileRole::BuildConfig
            | FileRole::Ci
            | FileRole::Manifest
            | FileRole::Lock
            | FileRole::Environment
            | FileRole::Git
            | FileRole::Other => false,
        });
    let paths = files.iter().filter(|file| matches!(file.role, FileRole::Test | FileRole::TestSupport));
    let mut layers = files_of(wish.tree, wish.after, paths.filter(|_| tested));
    layers.extend(edits);
    layers
}

/// Returns a layer with the files as one side has them.
fn files_of<'f>(from: &TreeId, side: &Side<'_>, files: impl Iterator<Item = &'f FileFacts>) -> Vec<Layer> {
    let mut paths: Vec<String> = files.map(|file| file.path.clone()).collect();
    // A file that stands where the side has a folder gives way to the files of that folder.
    let folder = |path: &str| {
        let inside = format!("{path}/");
        !side.has(path)
            && side.files.range(inside.clone()..).next().is_some_and(|(next, _)| next.starts_with(&inside))
    };
    paths.retain(|path| !folder(path));
    if paths.is_empty() { Vec::new() } else { vec![Layer::Files { from: from.clone(), paths }] }
}

/// Returns edits that put the tests inside of Rust's code files of one side in place of those of the side below.
fn inline(files: &[FileFacts], below: &Side<'_>, from: &Side<'_>) -> Vec<Layer> {
    let code = files.iter().filter(|file| file.role == FileRole::Code);
    let rust = code.filter(|file| Language::of(&file.path) == Some(Language::Rust));
    let mut layers = Vec::new();
    for file in rust {
        let (Some(onto), wanted) = (below.source(&file.path), from.source(&file.path)) else { continue };
        if wanted.is_none() && from.has(&file.path) {
            continue;
        }
        layers.extend(layers_of(&file.path, inline_tests::edits(&onto, wanted.as_ref())));
    }
    layers
}

/// Another text in place of some bytes.
pub(super) type Edit = (Range<usize>, String);

/// Returns edits of a file as layers.
fn layers_of(path: &str, edits: Vec<Edit>) -> impl Iterator<Item = Layer> {
    edits.into_iter().map(|(range, text)| Layer::Edit {
        path: path.to_owned(),
        start: range.start as u64,
        end: range.end as u64,
        text,
    })
}

/// Returns a text with edits made; `None` if they overlap or lie outside.
pub(super) fn edited(text: &str, edits: &[Edit]) -> Option<String> {
    let mut order: Vec<&Edit> = edits.iter().collect();
    order.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut made, mut at) = (String::with_capacity(text.len()), 0);
    for (range, with) in order {
        made.push_str(text.get(at..range.start)?);
        made.push_str(with);
        at = range.end;
    }
    made.push_str(text.get(at..)?);
    Some(made)
}

#[cfg(test)]
mod tests;
