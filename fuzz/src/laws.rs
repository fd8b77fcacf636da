//! What holds for every patch, whatever the text.

use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::gate::paths::check_path;
use checkmate_machine::patch::{self, Obstacle, Original, Patch, Plan, Rejection, Write};

use crate::case::{Case, Promise};
use crate::diff;
use crate::tree::{File, Tree};

/// Holds a case to every law; a broken one panics with what is needed to see why.
pub fn hold(case: &Case) {
    let planned = match planned(&case.patch, &case.before) {
        Err(rejections) => {
            let sentences: String = rejections.iter().map(|rejection| format!("{rejection}\n")).collect();
            assert!(!matches!(case.promise, Promise::Applies { .. }), "rejected: {sentences}\n{case:?}");
            return;
        }
        Ok(planned) => planned,
    };
    let made = written(&planned, &case.before);
    let shown = || format!("\nmade: {made:?}\nplan: {:?}\n{case:?}", planned.placements);
    assert_ne!(made, case.before, "it changes nothing{}", shown());
    if case.promise != Promise::Nothing {
        same(&made, &case.after, "not what was meant", &shown);
    }
    if case.promise == (Promise::Applies { unique: true }) {
        let again = self::planned(&case.patch, &made);
        assert!(again.is_err(), "it applies twice{}", shown());
    }
    placements_are_lines(&planned, &made, &shown);
    if is_diff(&case.patch) {
        lines_stay(case, &made, &shown);
    }
    endings_stay(case, &made, &shown);
    way_back(&case.before, &made, &shown);
}

/// Reads a patch and plans it, each twice, and checks what the answers have in common.
fn planned(text: &str, tree: &Tree) -> Result<Plan, Vec<Rejection>> {
    let read = patch::parse(text);
    assert_eq!(read, patch::parse(text), "read in two ways: {text:?}");
    let patch = checked(read)?;
    let paths: BTreeSet<String> = patch.paths().into_iter().map(str::to_owned).collect();
    assert!(!paths.is_empty(), "a patch without a path: {text:?}");
    for path in &paths {
        assert!(check_path(path).is_ok(), "{path:?} is allowed: {text:?}");
    }
    describe(&patch);
    let originals = paths.iter().map(|path| (path.clone(), original(tree, path))).collect();
    let planned = patch::plan(&patch, &originals);
    assert_eq!(planned, patch::plan(&patch, &originals), "planned in two ways: {text:?}");
    let planned = checked(planned)?;
    let mut seen = BTreeSet::new();
    for write in &planned.writes {
        let (Write::Put { path, .. } | Write::Delete { path }) = write;
        assert!(paths.contains(path), "{path:?} is written but not named: {text:?}");
        assert!(seen.insert(path), "{path:?} is written twice: {text:?}");
    }
    Ok(planned)
}

/// Checks that a refusal gives reasons.
fn checked<T>(result: Result<T, Vec<Rejection>>) -> Result<T, Vec<Rejection>> {
    if let Err(rejections) = &result {
        assert!(!rejections.is_empty(), "rejected without a reason");
        assert!(rejections.iter().all(|rejection| !rejection.reason.trim().is_empty()), "an empty reason");
    }
    result
}

/// Calls what only looks at a patch, for its panics.
fn describe(patch: &Patch) {
    assert_eq!(patch.normalised(), patch.clone().normalised());
    patch.changed_lines();
}

/// Returns what the shell would find at a path.
fn original(tree: &Tree, path: &str) -> Original {
    let below = |dir: &str, path: &str| path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
    match tree.get(path) {
        Some(file) => Original::File { bytes: file.text.as_bytes().to_vec(), executable: file.executable },
        None if tree.keys().any(|known| below(path, known)) => Original::Other(Obstacle::Directory),
        None if tree.keys().any(|known| below(known, path)) => Original::Other(Obstacle::Prefix),
        None => Original::Absent,
    }
}

/// Returns the tree after a plan.
fn written(plan: &Plan, tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    for write in &plan.writes {
        match write {
            Write::Delete { path } => {
                assert!(tree.remove(path).is_some(), "{path:?} is not there to be deleted");
            }
            Write::Put { path, bytes, executable } => {
                let text = String::from_utf8(bytes.clone()).expect("text and text make text");
                tree.insert(path.clone(), File { text, executable: *executable });
            }
        }
    }
    tree
}

/// Compares trees file by file.
fn same(real: &Tree, meant: &Tree, what: &str, shown: &dyn Fn() -> String) {
    for path in real.keys().chain(meant.keys()) {
        let (real, meant) = (real.get(path), meant.get(path));
        if real.map(|file| &file.text) == meant.map(|file| &file.text) {
            assert_eq!(real, meant, "{what}, in the mode of {path:?}{}", shown());
        }
        assert_eq!(real, meant, "{what}, in {path:?}{}", shown());
    }
}

fn placements_are_lines(plan: &Plan, made: &Tree, shown: &dyn Fn() -> String) {
    for placement in &plan.placements {
        let file = made.get(&placement.path);
        // Where the only line was deleted, the place is before nothing.
        let lines = file.map_or(0, |file| file.text.split_inclusive('\n').count()) + 1;
        assert!(placement.hunk > 0 && (1..=lines).contains(&placement.line), "{placement:?}{}", shown());
    }
}

/// Tells whether a text can only be read as a diff, and not as blocks or whole files.
fn is_diff(text: &str) -> bool {
    let marks = ["@@", "--- ", "+++ "];
    let others = ["<<<", ">>>", "***", "<file", "&lt;&lt;", "&lt;file", "SEARCH", "REPLACE"];
    marks.iter().any(|mark| text.contains(mark)) && !others.iter().any(|mark| text.contains(mark))
}

/// A line goes only if the patch deletes it, and comes only if the patch has it.
///
/// From outside it is not known which line of a file a line of the patch speaks of. But no more lines of one text can
/// go than the patch deletes lines like it, and what is left must stand in the new file in the old order.
fn lines_stay(case: &Case, made: &Tree, shown: &dyn Fn() -> String) {
    let text = unpacked(&case.patch);
    let lines: Vec<&str> = text.lines().collect();
    let deleted: Vec<&str> = lines.iter().filter_map(|line| deleted(line)).collect();
    let deleted_like = counted(deleted.iter().map(|line| loose(line)));
    // Where a file was renamed, its lines stand under the other name.
    let moved = case.before.iter().filter(|(path, _)| !made.contains_key(*path));
    let moved = moved.flat_map(|(_, file)| file.text.lines());
    let like: BTreeSet<String> = lines.iter().copied().chain(moved).map(loose).collect();
    let (mut gone, mut deletions) = (0, BTreeMap::<String, usize>::new());
    for (path, file) in &case.before {
        let Some(new) = made.get(path) else { continue };
        let (old, new) = (bare_lines(&file.text), bare_lines(&new.text));
        gone += old.len() - common(&old, &new);
        let (old_counts, new_counts) = (counted(old.iter()), counted(new.iter()));
        for (line, count) in &old_counts {
            let missing = count.saturating_sub(new_counts.get(line).copied().unwrap_or_default());
            *deletions.entry(loose(line)).or_default() += missing;
        }
        for (line, count) in &new_counts {
            let more = count.saturating_sub(old_counts.get(line).copied().unwrap_or_default());
            assert!(more == 0 || like.contains(&loose(line)), "{line:?} comes from nowhere{}", shown());
        }
    }
    assert!(gone <= deleted.len(), "{gone} lines went for {} deletions{}", deleted.len(), shown());
    for (line, count) in deletions {
        let allowed = deleted_like.get(&line).copied().unwrap_or_default();
        assert!(count <= allowed, "{count} lines like {line:?} went, {allowed} were deleted{}", shown());
    }
}

/// Undoes JSON around a patch, and escapes of line feeds where it is one long line.
fn unpacked(text: &str) -> String {
    let bare = text.trim_start_matches('\u{feff}');
    let text = serde_json::from_str::<String>(bare)
        .or_else(|_| serde_json::from_str::<Vec<String>>(bare).map(|lines| lines.join("\n")))
        .unwrap_or_else(|_| bare.to_owned());
    if text.contains("\\n") { format!("{text}\n{}", text.replace("\\n", "\n")) } else { text }
}

/// Returns what a line of a patch deletes.
fn deleted(line: &str) -> Option<&str> {
    line.trim_start_matches(|c: char| c.is_whitespace() || c == '>' || c == '"').strip_prefix('-')
}

/// Leaves of a line what no reader may ignore: its letters and digits.
fn loose(line: &str) -> String {
    let mut text = line.to_owned();
    while text.contains("&amp;") {
        text = text.replace("&amp;", "&");
    }
    let mut loose = String::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let name = rest.find(';').filter(|end| {
            c == '&' && *end <= 8 && rest[..*end].chars().all(|c| c.is_ascii_alphanumeric() || c == '#')
        });
        if let Some(end) = name {
            rest = &rest[end + 1..];
        } else if c == '\\' {
            rest = rest.strip_prefix(['n', 'r', 't']).unwrap_or(rest);
        } else if c.is_ascii_alphanumeric() {
            loose.push(c);
        }
    }
    loose
}

fn bare_lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

fn counted<T: Ord>(items: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

/// Returns the length of the longest common subsequence.
fn common(old: &[&str], new: &[&str]) -> usize {
    let mut row = vec![0; new.len() + 1];
    for line in old {
        let mut diagonal = 0;
        for (at, other) in new.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if line == other { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[new.len()]
}

/// A patch without any carriage return brings none into a file without, and none is missing afterwards in a file that
/// had them everywhere.
fn endings_stay(case: &Case, made: &Tree, shown: &dyn Fn() -> String) {
    if ["\r", "\\r", "\\u", "&#"].iter().any(|carriage| case.patch.contains(carriage)) {
        return;
    }
    for (path, old) in &case.before {
        let Some(new) = made.get(path).filter(|_| !old.text.is_empty()) else { continue };
        if !old.text.contains('\r') {
            assert!(!new.text.contains('\r'), "{path} got a carriage return{}", shown());
        }
        let all_dos = |text: &str| text.matches('\n').count() == text.matches("\r\n").count();
        if old.text.contains("\r\n") && all_dos(&old.text) {
            assert!(all_dos(&new.text), "{path} lost a carriage return{}", shown());
        }
    }
}

/// The real diff from the new tree to the old one makes the old one again.
fn way_back(before: &Tree, made: &Tree, shown: &dyn Fn() -> String) {
    let plain = |path: &String| {
        path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./_-".contains(&byte))
            && path != "dev/null"
            && !path.starts_with("a/")
            && !path.starts_with("b/")
    };
    let changed = |path: &&String| before.get(*path) != made.get(*path);
    let mut paths = before.keys().chain(made.keys()).filter(changed);
    let diffable = |tree: &Tree| !tree.values().any(|file| file.text.contains('\0'));
    // A file in the place of a directory cannot come back in one patch.
    let nested = |path: &String| before.contains_key(path) == made.contains_key(path);
    if !paths.all(|path| plain(path) || before.contains_key(path) && nested(path)) || !diffable(made) {
        return;
    }
    let text = diff::text(&diff::lines(&diff::diff(made, before, &[], 3)));
    match planned(&text, made) {
        Ok(plan) => {
            let shown = || format!("\nthe way back: {text:?}{}", shown());
            same(&written(&plan, made), before, "the way back leads elsewhere", &shown);
        }
        // Among equal lines nobody can tell a change that is done from one that is not.
        Err(rejections) if rejections.iter().all(|why| why.reason.contains("is already in the file")) => {}
        Err(rejections) => {
            panic!("the way back is rejected:\n{rejections:?}\nthe way back: {text:?}{}", shown())
        }
    }
}
