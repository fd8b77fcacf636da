//! Which lines of which functions get mutants.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use checkmate_machine::facts::{FileFacts, FileRole};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::inspect::functions::{Function, Functions, Item, Kind, items};
use crate::inspect::language::{Language, descend};
use crate::inspect::{Source, Wish};

/// Functions that get mutants.
const MOST: usize = 40;

/// Files that are searched for what tests mention.
const MOST_FILES: usize = 200;

/// Longer items are compared line by line without regard to order.
const MOST_LINES: usize = 2_000;

/// A function or constant that gets mutants.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) path: String,
    /// The function, if it is one.
    pub(super) function: Option<String>,
    /// All of it, in bytes.
    pub(super) range: Range<usize>,
    /// Its body, in bytes.
    pub(super) body: Option<Range<usize>>,
    /// The lines that matter, from 0.
    pub(super) rows: BTreeSet<usize>,
}

impl Target {
    /// Tells whether it makes text for people out of a value, which no test need pin down.
    pub(super) fn describes(&self) -> bool {
        let name = self.function.as_deref().and_then(|name| name.rsplit('.').next());
        matches!(name, Some("__repr__" | "fmt" | "__rich_repr__"))
    }
}

/// Targets with the files they lie in.
#[derive(Debug, Default)]
pub(super) struct Targets {
    pub(super) list: Vec<Target>,
    pub(super) sources: BTreeMap<String, Source>,
}

/// Returns the lines that a change touches, by function.
pub(super) fn touched(wish: &Wish<'_>, functions: &Functions) -> Targets {
    let mut targets = Targets::default();
    for path in functions.paths() {
        if targets.list.len() >= MOST {
            break;
        }
        let Some(after) = wish.after.source(path) else { continue };
        let before = wish.before.text(path).unwrap_or_default();
        let starts = line_starts(&after.text);
        for function in functions.0.iter().filter(|function| function.path == path) {
            if function.kind == Kind::Type || targets.list.len() >= MOST {
                continue;
            }
            let rows = touched_rows(&before, &after.text, function, &starts);
            targets.list.push(Target {
                path: path.to_owned(),
                function: (function.kind != Kind::Constant).then(|| function.name.clone()),
                range: function.new.item.clone(),
                body: function.new.body.clone(),
                rows,
            });
        }
        targets.sources.insert(path.to_owned(), after);
    }
    targets
}

/// Returns where each line of a text starts.
fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// Returns the line of a byte, from 0.
fn row_of(starts: &[usize], at: usize) -> usize {
    starts.partition_point(|start| *start <= at).saturating_sub(1)
}

fn touched_rows(before: &str, after: &str, function: &Function, starts: &[usize]) -> BTreeSet<usize> {
    let new = after.get(function.new.item.clone()).unwrap_or("");
    let first = row_of(starts, function.new.item.start);
    let new: Vec<&str> = new.lines().map(str::trim).collect();
    let Some(old) = function.old.as_ref().and_then(|old| before.get(old.item.clone())) else {
        return (first..first + new.len()).collect();
    };
    let old: Vec<&str> = old.lines().map(str::trim).collect();
    if old.len().max(new.len()) > MOST_LINES {
        let old: BTreeSet<&str> = old.into_iter().collect();
        let added = new.iter().enumerate().filter(|(_, line)| !old.contains(*line));
        return added.map(|(row, _)| first + row).collect();
    }
    let mut rows = BTreeSet::new();
    for change in capture_diff_slices(Algorithm::Myers, &old, &new) {
        match change {
            DiffOp::Equal { .. } => {}
            // Where lines are gone, what stands around the gap is what the change is about.
            DiffOp::Delete { new_index, .. } => {
                rows.extend([first + new_index.saturating_sub(1), first + new_index.min(new.len() - 1)]);
            }
            DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
                rows.extend((first + new_index)..(first + new_index + new_len));
            }
        }
    }
    rows
}

/// Returns the functions that new or changed tests mention, with all of their lines.
pub(super) fn mentioned(wish: &Wish<'_>, files: &[FileFacts], role: &dyn Fn(&str) -> FileRole) -> Targets {
    let mut wanted: BTreeMap<Language, (BTreeSet<&str>, BTreeSet<String>)> = BTreeMap::new();
    for file in files {
        let old: BTreeSet<_> = file.tests_before.iter().map(|test| (&test.name, &test.body)).collect();
        let mut new =
            file.tests_after.iter().filter(|test| !old.contains(&(&test.name, &test.body))).peekable();
        let (Some(language), Some(_)) = (Language::of(&file.path), new.peek()) else { continue };
        let (names, words) = wanted.entry(family(language)).or_default();
        names.extend(new.flat_map(|test| test.mentions.iter().map(String::as_str)));
        words.extend(wish.after.source(&file.path).map(|source| import_words(&source)).unwrap_or_default());
        words.extend(stem(&file.path).map(str::to_owned));
    }
    let mut targets = Targets::default();
    for (language, (names, words)) in wanted {
        search(wish, role, language, &names, &words, &mut targets);
    }
    targets
}

/// Returns the language whose files can import each other.
fn family(language: Language) -> Language {
    match language {
        Language::TypeScript | Language::Tsx | Language::JavaScript => Language::JavaScript,
        Language::Python | Language::Rust | Language::Go | Language::Java => language,
    }
}

/// Returns a file's name without its ending; the folder's, if the file speaks for its folder.
fn stem(path: &str) -> Option<&str> {
    let mut parts = path.rsplit('/');
    let stem = parts.next()?.split('.').next()?;
    if matches!(stem, "__init__" | "index" | "mod" | "lib" | "main") { parts.next() } else { Some(stem) }
}

/// Returns the words of a file's imports.
fn import_words(source: &Source) -> BTreeSet<String> {
    let kinds =
        ["import_statement", "import_from_statement", "use_declaration", "import_declaration", "import_spec"];
    let mut words = BTreeSet::new();
    for node in descend(source.root()) {
        let required = node.kind() == "call_expression" && source.of(node).starts_with("require(");
        if required || kinds.contains(&node.kind()) {
            let text = source.of(node).split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            words.extend(text.filter(|word| !word.is_empty()).map(str::to_owned));
        }
    }
    words
}

fn search(
    wish: &Wish<'_>,
    role: &dyn Fn(&str) -> FileRole,
    language: Language,
    names: &BTreeSet<&str>,
    words: &BTreeSet<String>,
    targets: &mut Targets,
) {
    let is_imported = |path: &str| stem(path).is_some_and(|stem| words.contains(stem));
    let paths = wish.after.paths().filter(|path| Language::of(path).map(family) == Some(language));
    let (mut order, others): (Vec<&str>, Vec<&str>) = paths.partition(|path| is_imported(path));
    order.extend(others);
    order.retain(|path| role(path) == FileRole::Code);
    // For each name: where it is, and whether an imported file has it.
    let mut found: BTreeMap<String, Vec<(bool, Target)>> = BTreeMap::new();
    for path in order.into_iter().take(MOST_FILES) {
        let Some(source) = wish.after.source(path) else { continue };
        let mut any = false;
        let starts = line_starts(&source.text);
        for item in items(&source) {
            let name = item.name.rsplit('.').next().unwrap_or("");
            let callable = matches!(item.kind, Kind::Function | Kind::Constructor);
            if callable && item.body.is_some() && names.contains(name) {
                any = true;
                let target = (is_imported(path), whole(path, &item, &starts));
                found.entry(name.to_owned()).or_default().push(target);
            }
        }
        if any {
            targets.sources.insert(path.to_owned(), source);
        }
    }
    for mut places in found.into_values() {
        if places.iter().any(|(imported, _)| *imported) {
            places.retain(|(imported, _)| *imported);
        } else if places.len() > 1 {
            continue;
        }
        targets.list.extend(places.into_iter().map(|(_, target)| target));
    }
    targets.list.sort_by(|one, other| (&one.path, one.range.start).cmp(&(&other.path, other.range.start)));
    targets.list.truncate(MOST);
}

fn whole(path: &str, item: &Item<'_>, starts: &[usize]) -> Target {
    let rows = row_of(starts, item.range.start)..=row_of(starts, item.range.end);
    Target {
        path: path.to_owned(),
        function: Some(item.name.clone()),
        range: item.range.clone(),
        body: item.body.clone(),
        rows: rows.collect(),
    }
}
