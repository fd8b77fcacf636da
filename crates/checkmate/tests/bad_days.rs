//! The table of `docs/bad-days.md`, which the cases of the bad days are held against.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::environment::{Output, TestEnvironment, assert_has};

const PAGE: &str = include_str!("../../../docs/bad-days.md");

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// The case's name.
    pub(crate) case: &'static str,
    /// What Checkmate says, in parts.
    says: Vec<&'static str>,
    code: i32,
}

/// Returns every row of the page.
pub(crate) fn rows() -> Vec<Row> {
    let lines = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(" | ").collect();
            let [case, _, says, code, kept] = cells[..] else { panic!("`{line}` has no five cells") };
            assert!(kept.ends_with('.'), "`{line}` does not say what is kept");
            let says = says.split(" … ").map(str::trim).filter(|part| *part != "–").collect();
            Row { case: case.trim_end_matches('`'), says, code: code.parse().unwrap() }
        })
        .collect()
}

/// Makes sure that a command ended as the page says of this case: exit code, words, and a whole sentence.
#[track_caller]
pub(crate) fn holds(case: &str, output: &Output) {
    let row = rows().into_iter().find(|row| row.case == case);
    let row = row.unwrap_or_else(|| panic!("`{case}` is not in docs/bad-days.md:\n{}", output.stderr));
    eprintln!("{case}: {}", output.stderr);
    assert_has(output.ended(row.code), &row.says);
    for line in output.stderr.lines().filter(|line| line.starts_with("checkmate: ")) {
        assert!(line.ends_with(['.', ':']), "`{line}` is no sentence");
    }
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
}

/// What must not be lost.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    files: BTreeMap<PathBuf, String>,
    index: Vec<u8>,
    head: String,
    refs: Vec<String>,
    stash: String,
    config: Vec<u8>,
}

impl Kept {
    /// Looks at everything of the user's.
    pub(crate) fn of(environment: &TestEnvironment) -> Self {
        let refs = environment.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        let files = environment.files().into_iter();
        Self {
            files: files.map(|(path, bytes)| (path, bytes.escape_ascii().to_string())).collect(),
            index: environment.index(),
            head: std::fs::read_to_string(environment.root().join(".git/HEAD")).unwrap(),
            refs: refs
                .lines()
                .filter(|line| !line.starts_with("refs/checkmate/"))
                .map(str::to_owned)
                .collect(),
            stash: environment.git(&["stash", "list"]),
            config: std::fs::read(environment.root().join(".git/config")).unwrap(),
        }
    }

    /// Makes sure that everything is as it was.
    #[track_caller]
    pub(crate) fn is_whole(&self, environment: &TestEnvironment, case: &str) {
        assert_eq!(*self, Self::of(environment), "{case}");
    }

    /// The same where a change has landed in the files: it added the usual two and nothing else.
    #[track_caller]
    pub(crate) fn is_whole_but_for_the_change(&self, environment: &TestEnvironment, case: &str) {
        let mut now = Self::of(environment);
        for path in ["src/shout.sh", "test/shout_test.sh"] {
            assert!(now.files.remove(Path::new(path)).is_some(), "{case}: {path} has not landed");
        }
        assert_eq!(*self, now, "{case}");
    }
}

#[test]
fn every_row_has_its_case() {
    let sources = [
        include_str!("test_bad_days.rs"),
        include_str!("test_bad_days_disk.rs"),
        include_str!("test_bad_days_git.rs"),
    ]
    .concat();
    let rows = rows();
    for row in &rows {
        // That every case has its row, `holds` makes sure.
        assert!(sources.contains(&format!("\"{}\"", row.case)), "no test has the case `{}`", row.case);
    }
    let mut names: Vec<&str> = rows.iter().map(|row| row.case).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rows.len(), "a case stands there twice");
    assert!(rows.len() >= 35);
}
