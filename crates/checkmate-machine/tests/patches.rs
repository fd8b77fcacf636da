//! Patches: every folder of `fixtures/patches` holds `input/`, `patch.diff`, and `expected/` or `rejected.txt`.
//!
//! `placed.txt`, where there is one, says where each hunk goes and how it fits. With `BLESS=1` both texts are written
//! anew where they exist.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use checkmate_machine::patch::{Obstacle, Original, Plan, Write, parse, plan};
use proptest::prelude::*;

/// Content and executable bit of every regular file below a directory.
type Tree = BTreeMap<String, (Vec<u8>, bool)>;

fn tree(dir: &Path) -> Tree {
    let mut files = Tree::new();
    let mut open = vec![dir.to_owned()];
    while let Some(at) = open.pop() {
        // Git keeps no empty directories.
        let Ok(entries) = fs::read_dir(&at) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                files.insert(name, (fs::read(&path).unwrap(), kind.permissions().mode() & 0o100 != 0));
            }
        }
    }
    files
}

fn original(dir: &Path, name: &str) -> Original {
    let path = dir.join(name);
    let parents = path.ancestors().skip(1).take_while(|parent| *parent != dir);
    if parents.into_iter().any(|parent| fs::symlink_metadata(parent).is_ok_and(|kind| !kind.is_dir())) {
        return Original::Other(Obstacle::Prefix);
    }
    match fs::symlink_metadata(&path) {
        Err(_) => Original::Absent,
        Ok(kind) if kind.is_symlink() => Original::Other(Obstacle::Symlink),
        Ok(kind) if kind.is_dir() => Original::Other(Obstacle::Directory),
        Ok(kind) => Original::File {
            bytes: fs::read(&path).unwrap(),
            executable: kind.permissions().mode() & 0o100 != 0,
        },
    }
}

fn apply(tree: &mut Tree, plan: Plan) {
    for write in plan.writes {
        match write {
            Write::Put { path, bytes, executable } => {
                tree.insert(path, (bytes, executable));
            }
            Write::Delete { path } => {
                assert!(tree.remove(&path).is_some(), "{path} is not there to be deleted")
            }
        }
    }
}

fn check(dir: &Path) -> Result<(), String> {
    let text = fs::read_to_string(dir.join("patch.diff")).unwrap();
    let input = dir.join("input");
    let planned = parse(&text).and_then(|patch| {
        let originals =
            patch.paths().into_iter().map(|path| (path.to_owned(), original(&input, path))).collect();
        plan(&patch, &originals)
    });
    let rejected = fs::read_to_string(dir.join("rejected.txt"));
    match (planned, rejected) {
        (Ok(_), Ok(_)) => Err("applied, but should be rejected".to_owned()),
        (Ok(planned), Err(_)) => {
            let mut real = tree(&input);
            let placed: String = planned.placements.iter().map(|place| format!("{place}\n")).collect();
            if let Ok(expected) = fs::read_to_string(dir.join("placed.txt")) {
                same(&dir.join("placed.txt"), &placed, Some(expected))?;
            }
            apply(&mut real, planned);
            let expected = tree(&dir.join("expected"));
            if real == expected { Ok(()) } else { Err(format!("differs:\n{real:?}\n{expected:?}")) }
        }
        (Err(reasons), expected) => {
            let real: String = reasons.iter().map(|reason| format!("{reason}\n")).collect();
            same(&dir.join("rejected.txt"), &real, expected.ok())
        }
    }
}

/// Holds a text against the one in a file; with `BLESS=1` it is written there instead, if there is one.
fn same(path: &Path, real: &str, expected: Option<String>) -> Result<(), String> {
    match expected {
        Some(expected) if expected == real => Ok(()),
        #[expect(clippy::disallowed_methods, reason = "a fixture is written by whoever asks for it")]
        Some(_) if std::env::var_os("BLESS").is_some() => {
            fs::write(path, real).unwrap();
            Ok(())
        }
        Some(_) | None => Err(format!("{}:\n{real}", path.file_name().unwrap().display())),
    }
}

#[test]
fn fixtures() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/patches");
    let mut count = 0;
    let mut failures = String::new();
    for entry in fs::read_dir(dir).unwrap() {
        let dir = entry.unwrap().path();
        count += 1;
        if let Err(failure) = check(&dir) {
            failures.push_str(&format!("{}: {failure}\n", dir.file_name().unwrap().display()));
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count >= 70, "only {count} fixtures were found");
}

fn file(content: &str) -> BTreeMap<String, Original> {
    let original = Original::File { bytes: content.as_bytes().to_vec(), executable: false };
    BTreeMap::from([("t".to_owned(), original)])
}

fn planned(diff: &str, content: &str) -> Result<Plan, String> {
    parse(diff)
        .and_then(|patch| plan(&patch, &file(content)))
        .map_err(|reasons| reasons.iter().map(|reason| format!("{reason}\n")).collect())
}

#[test]
fn placements_say_where_and_how() {
    let content = "a\nb\nc\nd\ne\nf\n";
    let diff = "--- a/t\n+++ b/t\n@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -9,2 +9,1 @@\n d\n-e\n@@ @@\n-f\n+g\n";
    let plan = planned(diff, content).unwrap();
    let placed: Vec<_> = plan.placements.iter().map(|p| (p.hunk, p.line, p.old_line, p.moved)).collect();
    assert_eq!(placed, [(1, 1, 1, Some(0)), (2, 5, 4, Some(-5)), (3, 6, 6, None)]);
    let shown: Vec<String> = planned(diff, &content.replace('\n', "\r\n"))
        .unwrap()
        .placements
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        shown,
        [
            "t hunk 1 at line 1, with the line endings of the file",
            "t hunk 2 at line 5 (moved by -5 lines), with the line endings of the file",
            "t hunk 3 at line 6 (found without a number), with the line endings of the file",
        ]
    );
}

#[test]
fn the_normal_form_knows_the_edit_and_not_where_it_was_counted() {
    let normal = |diff: &str| parse(diff).unwrap().normalised();
    let one = normal(
        "diff --git a/t b/t\nindex 1..2 100644\n--- a/t\n+++ b/t\n@@ -1,2 +1,2 @@ fn x\n a \n-b\n+c\t\n",
    );
    assert_eq!(one, normal("--- t\n+++ t\n@@ -7 +7 @@\n a\n-b  \n+c\n"));
    assert_ne!(one, normal("--- t\n+++ t\n@@ -7 +7 @@\n a\n-b\n+d\n"));
    assert_ne!(one, normal("--- u\n+++ u\n@@ -7 +7 @@\n a\n-b\n+c\n"));
    let changed = parse("--- t\n+++ t\n@@ -7 +7 @@\n a\n-b  \n+c\n").unwrap().changed_lines();
    assert_eq!(changed, ["-t: b", "+t: c"]);
}

/// Lines of an alphabet so small that they repeat, with those that look like parts of a patch among them.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = prop_oneof![
        4 => "[abc]{0,2}",
        1 => prop::sample::select(vec!["-- a", "++ a", "--- a", "+++ a", "@@ -1 +1 @@", "diff --git a/x b/x", "```", " ", "\\ x", "-- "])
            .prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ];
    prop::collection::vec(line, 0..30)
}

fn content(lines: &[String], ending: &str, last: bool) -> String {
    let mut content: String = lines.iter().flat_map(|line| [line.as_str(), ending]).collect();
    if !last && lines.last().is_some_and(|line| !line.is_empty()) {
        content.truncate(content.len() - ending.len());
    }
    content
}

fn diff(old: &str, new: &str) -> String {
    similar::TextDiff::from_lines(old, new).unified_diff().header("a/t", "b/t").to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_makes_the_new_file_of_the_old_one(old in lines(), new in lines(), ends: (bool, bool)) {
        let (old, new) = (content(&old, "\n", ends.0), content(&new, "\n", ends.1));
        prop_assume!(old != new && !old.is_empty());
        match planned(&diff(&old, &new), &old) {
            Ok(plan) => {
                let bytes = new.into_bytes();
                prop_assert_eq!(plan.writes, [Write::Put { path: "t".to_owned(), bytes, executable: false }]);
            }
            Err(reasons) => prop_assert!(false, "{}\n{}", diff(&old, &new), reasons),
        }
    }

    #[test]
    fn a_crlf_file_stays_one(old in lines(), new in lines(), ends: bool) {
        let unix = diff(&content(&old, "\n", ends), &content(&new, "\n", ends));
        let (old, new) = (content(&old, "\r\n", ends), content(&new, "\r\n", ends));
        // A file of one line without an ending does not say which endings it has.
        prop_assume!(old != new && old.contains("\r\n"));
        let plan = planned(&unix, &old);
        prop_assert!(plan.is_ok(), "{}\n{:?}", unix, plan);
        let bytes = new.into_bytes();
        prop_assert_eq!(plan.unwrap().writes, [Write::Put { path: "t".to_owned(), bytes, executable: false }]);
    }

    #[test]
    fn no_patch_applies_twice(
        old in prop::collection::btree_set(0_u8..40, 1..30).prop_map(|set| set.into_iter().collect::<Vec<_>>()).prop_shuffle(),
        new in prop::collection::btree_set(0_u8..40, 1..30).prop_map(|set| set.into_iter().collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let text = |lines: &[u8]| lines.iter().map(|line| format!("line {line}\n")).collect::<String>();
        let (old, new) = (text(&old), text(&new));
        prop_assume!(old != new);
        let diff = diff(&old, &new);
        prop_assert!(planned(&diff, &old).is_ok());
        prop_assert!(planned(&diff, &new).is_err(), "{diff}");
    }

    #[test]
    fn no_text_panics(text in "\\PC*|(\\PC{0,9}\n)*", content in any::<Vec<u8>>()) {
        try_plan(&text, &content);
    }

    #[test]
    fn no_mixture_of_patch_lines_panics(
        lines in prop::collection::vec(prop::sample::select(vec![
            "diff --git a/t b/t", "diff --git \"a/t\" b/t", "--- a/t", "+++ b/t", "--- /dev/null", "+++ /dev/null", "@@", "@@ -1 +1 @@",
            "@@ -0,0 +1,2 @@", "@@ -4294967295,9 +4294967295,9 @@", "@@ -99999999999999999999 +0 @@", "new file mode 100644",
            "deleted file mode 100644", "old mode 100644", "new mode 100755", "rename from t", "rename to u", "index 1..2 120000",
            "\\ No newline at end of file", "\\", " a", "-a", "+a", "+b", " ", "", "\r", "```", "-- ", "2.1", "é",
        ]), 0..20),
        content in prop::sample::select(vec!["", "a", "a\n", "a\na\n", "b\r\na\r\n", "\n"]),
    ) {
        try_plan(&lines.join("\n"), content.as_bytes());
    }
}

fn try_plan(text: &str, content: &[u8]) {
    if let Ok(patch) = parse(text) {
        let file = Original::File { bytes: content.to_vec(), executable: false };
        let with = |original: &Original| {
            patch.paths().into_iter().map(|p| (p.to_owned(), original.clone())).collect()
        };
        for originals in [with(&file), with(&Original::Absent), BTreeMap::new()] {
            match plan(&patch, &originals) {
                Ok(plan) => assert!(!plan.writes.is_empty()),
                Err(reasons) => assert!(!reasons.is_empty()),
            }
        }
        patch.normalised();
        patch.changed_lines();
    }
}
