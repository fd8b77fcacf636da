//! What a task allows although a gate would object.
//!
//! A permit is bound: where the goal names code, tests or files, it holds for what has to do with these. A permit that
//! names nothing, of a goal that names nothing, holds for all.

use std::collections::BTreeSet;

use super::words::{forbids, identifiers, sentences, words};
use crate::spec::Task;

/// Something that can be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Existing tests may say something else.
    ChangeTests,
    /// Existing tests may go.
    DeleteTests,
    /// Configuration of tests, build and continuous integration may change.
    Config,
    /// Dependencies may change.
    Deps,
    /// Paths beyond `allow_paths` may change; never protected ones.
    Paths,
}

impl Permission {
    const ALL: [Permission; 5] = [
        Permission::ChangeTests,
        Permission::DeleteTests,
        Permission::Config,
        Permission::Deps,
        Permission::Paths,
    ];

    /// Returns its name in a task file.
    pub fn name(self) -> &'static str {
        match self {
            Permission::ChangeTests => "change_tests",
            Permission::DeleteTests => "delete_tests",
            Permission::Config => "config",
            Permission::Deps => "deps",
            Permission::Paths => "paths",
        }
    }
}

/// The permits of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permits {
    /// What a permit is bound to; empty = everything.
    held: Vec<(Permission, BTreeSet<String>)>,
    /// Whether the goal speaks of taking something away, or a permit names a test that may go.
    deletes: bool,
}

impl Permits {
    /// Reads the permits of a task file and those that the goal's own words give.
    ///
    /// In a task file a permit is a name, `change_tests`, or a name with what it is bound to,
    /// `delete_tests: test_a, tests/test_b.py`.
    pub fn of(task: &Task) -> Self {
        let named = identifiers(&task.goal);
        let mut held = Vec::new();
        for permit in &task.permits {
            let (name, bound) = permit.split_once(':').unwrap_or((permit, ""));
            let bound: BTreeSet<String> = bound
                .split([',', ' '])
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect();
            for permission in Permission::ALL.into_iter().filter(|one| one.name() == name.trim()) {
                held.push((
                    permission,
                    if bound.is_empty() { binding(permission, &named) } else { bound.clone() },
                ));
            }
        }
        for sentence in sentences(&task.goal).into_iter().filter(|sentence| !forbids(sentence)) {
            held.extend(spoken(sentence, &named));
        }
        let bound = task.permits.iter().any(|permit| permit.trim().starts_with("delete_tests:"));
        let away = [
            "remove", "removes", "removed", "delete", "deletes", "deleted", "drop", "drops", "dropped",
            "retire", "obsolete", "away", "longer", "without", "less", "unneeded",
        ];
        let speaks = words(&task.goal).iter().any(|word| away.contains(&word.as_str()));
        Self { held, deletes: bound || speaks }
    }

    /// Tells whether a change is allowed that has to do with any of these names: a test's name and what it mentions,
    /// a file's path, a dependency.
    pub fn allow<'a>(&self, permission: Permission, names: impl IntoIterator<Item = &'a str>) -> bool {
        let names: Vec<&str> = names.into_iter().collect();
        self.held.iter().filter(|(held, _)| *held == permission).any(|(_, bound)| {
            bound.is_empty() || bound.iter().any(|word| names.iter().any(|name| is_about(name, word)))
        })
    }

    /// Tells whether the task speaks of taking something away at all; one that only moves or renames does not.
    pub fn deletes(&self) -> bool {
        self.deletes
    }

    /// Tells whether there is such a permit at all, whatever it is bound to.
    pub fn has(&self, permission: Permission) -> bool {
        self.held.iter().any(|(held, _)| *held == permission)
    }
}

/// Returns the names of a goal that can bind a permit of a task file.
fn binding(permission: Permission, named: &BTreeSet<String>) -> BTreeSet<String> {
    match permission {
        Permission::ChangeTests | Permission::DeleteTests => named.clone(),
        // A goal that names a function says nothing about which file may change with it.
        Permission::Config | Permission::Deps => BTreeSet::new(),
        Permission::Paths => named.iter().filter(|word| word.contains(['.', '/'])).cloned().collect(),
    }
}

/// Tells whether a name has to do with a word of the goal: it is it, or it is a path that ends in it, or it has it as
/// a part between underscores, dots or colons.
fn is_about(name: &str, word: &str) -> bool {
    let (name, word) = (name.to_lowercase(), word.to_lowercase());
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    name.match_indices(&word).any(|(at, _)| {
        boundary(name[..at].chars().next_back()) && boundary(name[at + word.len()..].chars().next())
    })
}

/// Reads the permits that a sentence gives in so many words.
fn spoken(sentence: &str, named: &BTreeSet<String>) -> Vec<(Permission, BTreeSet<String>)> {
    const CONFIG: [&str; 12] = [
        "makefile",
        "dockerfile",
        "package.json",
        "cargo.toml",
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "tox.ini",
        "pytest.ini",
        "conftest.py",
        "build.rs",
        "tsconfig.json",
    ];
    let words = words(sentence);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let mut held = Vec::new();
    let tests = has(&["test", "tests"]) || words.iter().any(|word| word.starts_with("test_"));
    if tests && has(&["remove", "delete", "drop"]) && !named.is_empty() {
        held.push((Permission::DeleteTests, named.clone()));
    }
    if tests && has(&["update", "adjust", "adapt", "rewrite", "rename", "change", "replace", "correct"]) {
        held.push((Permission::ChangeTests, named.clone()));
    }
    let files: BTreeSet<String> = words
        .iter()
        .filter(|word| {
            let name = word.rsplit('/').next().unwrap_or(word);
            CONFIG.contains(&name)
                || name.contains(".config.")
                || word.starts_with(".github")
                || word.contains("workflows/")
        })
        .cloned()
        .collect();
    if !files.is_empty() {
        held.push((Permission::Config, files));
    }
    let dependency =
        has(&["dependency", "dependencies", "crate", "package", "library", "requirement", "requirements"]);
    if dependency
        && has(&["add", "use", "upgrade", "bump", "update", "remove", "replace", "pin", "drop", "switch"])
    {
        let names: BTreeSet<String> = words.into_iter().filter(|word| word.len() > 2).collect();
        held.push((Permission::Deps, names));
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(goal: &str, permits: &[&str]) -> Permits {
        Permits::of(&Task {
            goal: goal.into(),
            kind: None,
            permits: permits.iter().map(|&permit| permit.into()).collect(),
            given_red: false,
            examples: None,
        })
    }

    #[test]
    fn a_permit_is_bound_to_what_the_goal_names() {
        let held = permits("Remove `legacy_parse` and its tests.", &["delete_tests"]);
        assert!(held.allow(Permission::DeleteTests, ["test_legacy_parse_empty"]));
        assert!(held.allow(Permission::DeleteTests, ["test_old", "legacy_parse"]));
        assert!(!held.allow(Permission::DeleteTests, ["test_total", "total"]));
        assert!(!held.allow(Permission::ChangeTests, ["test_legacy_parse_empty"]));
        assert!(permits("Less.", &["delete_tests"]).allow(Permission::DeleteTests, ["anything"]));
        assert!(!permits("Less.", &["delete_tests: test_a"]).allow(Permission::DeleteTests, ["test_b"]));
    }

    #[test]
    fn a_goal_permits_in_so_many_words_only() {
        let held = permits("Fix merge(). Do not change the tests.", &[]);
        assert!(!held.has(Permission::ChangeTests));
        assert!(!permits("Fix it. Add a test that fails without the fix.", &[]).has(Permission::ChangeTests));
        assert!(
            permits("Change parse() to trim; update the tests.", &[])
                .allow(Permission::ChangeTests, ["parse trims"])
        );
        let held = permits("Add a lint script to package.json.", &[]);
        assert!(held.allow(Permission::Config, ["package.json"]));
        assert!(!held.allow(Permission::Config, ["pytest.ini"]) && !held.has(Permission::Deps));
        assert!(
            permits("Add the semver package as a dependency.", &[])
                .allow(Permission::Deps, ["dependencies.semver"])
        );
    }
}
