//! What a task allows although a gate would object.
//!
//! A permit is bound: where the goal names code, tests or files, it holds for what has to do with these. A permit that
//! names nothing, of a goal that names nothing, holds for all.

use std::collections::BTreeSet;

use super::words::{Word, forbids, identifiers, marked, sentences, words};
use crate::spec::{Task, TaskKind};

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

/// A permit.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    permission: Permission,
    /// What it is bound to; empty = everything.
    bound: BTreeSet<String>,
    /// Whether the task file says so, rather than the words of the goal.
    told: bool,
}

/// The permits of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permits {
    held: Vec<Held>,
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
                let bound = if bound.is_empty() { binding(permission, &named) } else { bound.clone() };
                held.push(Held { permission, bound, told: true });
            }
        }
        // A goal about text alone permits nothing by the files that it mentions.
        if super::kind(task).kind != Some(TaskKind::Docs) {
            for sentence in sentences(&task.goal).into_iter().filter(|sentence| !forbids(sentence)) {
                let spoken = spoken(sentence, &named).into_iter();
                held.extend(spoken.map(|(permission, bound)| Held { permission, bound, told: false }));
            }
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
        self.allowed(permission, names, false)
    }

    /// Tells whether the task file itself allows it; the words of the goal alone do not count.
    pub fn told<'a>(&self, permission: Permission, names: impl IntoIterator<Item = &'a str>) -> bool {
        self.allowed(permission, names, true)
    }

    fn allowed<'a>(
        &self,
        permission: Permission,
        names: impl IntoIterator<Item = &'a str>,
        told: bool,
    ) -> bool {
        let names: Vec<&str> = names.into_iter().collect();
        let about = |held: &Held| {
            held.bound.is_empty()
                || held.bound.iter().any(|word| names.iter().any(|name| is_about(name, word)))
        };
        self.held.iter().any(|held| held.permission == permission && (held.told || !told) && about(held))
    }

    /// Tells whether the task speaks of taking something away at all; one that only moves or renames does not.
    pub fn deletes(&self) -> bool {
        self.deletes
    }

    /// Tells whether there is such a permit at all, whatever it is bound to.
    pub fn has(&self, permission: Permission) -> bool {
        self.held.iter().any(|held| held.permission == permission)
    }
}

/// Returns the names of a goal that can bind a permit of a task file.
fn binding(permission: Permission, named: &BTreeSet<String>) -> BTreeSet<String> {
    match permission {
        Permission::ChangeTests | Permission::DeleteTests => {
            // A goal that names a test means that one, and not all that has to do with the code it names.
            let tests: BTreeSet<String> =
                named.iter().filter(|word| word.starts_with("test_")).cloned().collect();
            if tests.is_empty() { named.clone() } else { tests }
        }
        // A goal that names a function says nothing about which file may change with it.
        Permission::Config | Permission::Deps => BTreeSet::new(),
        Permission::Paths => named.iter().filter(|word| word.contains(['.', '/'])).cloned().collect(),
    }
}

/// Tells whether a name has to do with a word of the goal: it is it, or it is a path that ends in it, or it has it as
/// a part between underscores, dots or colons.
fn is_about(name: &str, word: &str) -> bool {
    // A file's path has to do with the name of a file, not with code that its name is made of.
    if is_path(name) && !word.contains(['.', '/']) {
        return false;
    }
    let (name, word) = (name.to_lowercase(), word.to_lowercase());
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    // A file's name is no part of another's.
    let start = |c: Option<char>| {
        if word.contains(['.', '/']) { c.is_none_or(|c| matches!(c, '/' | '.')) } else { boundary(c) }
    };
    name.match_indices(&word).any(|(at, _)| {
        start(name[..at].chars().next_back()) && boundary(name[at + word.len()..].chars().next())
    })
}

fn is_path(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    name.contains('/') || ((1..=5).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_lowercase()))
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
    let marked = marked(sentence);
    if !named.is_empty() && aims_at_tests(&marked, named, REMOVE) {
        held.push((Permission::DeleteTests, binding(Permission::DeleteTests, named)));
    }
    let removed = removed(&marked, named);
    if !removed.is_empty() {
        held.push((Permission::DeleteTests, removed));
    }
    // With nothing named, a permit would hold for every test: it takes a verb that is said of tests.
    let change = if named.is_empty() {
        "update adjust adapt rewrite correct"
    } else {
        "update adjust adapt rewrite correct rename change replace"
    };
    if aims_at_tests(&marked, named, change) {
        held.push((Permission::ChangeTests, binding(Permission::ChangeTests, named)));
    }
    let files: BTreeSet<String> = marked
        .iter()
        .enumerate()
        .filter(|(at, word)| {
            let name = word.text.rsplit('/').next().unwrap_or(&word.text);
            let config = CONFIG.contains(&name)
                || name.contains(".config.")
                || word.text.starts_with(".github")
                || word.text.contains("workflows/");
            config && is_changed(&marked[..*at])
        })
        .map(|(_, word)| word.text.clone())
        .collect();
    if !files.is_empty() {
        held.push((Permission::Config, files));
    }
    let dependency =
        has(&["dependency", "dependencies", "crate", "package", "library", "requirement", "requirements"]);
    if dependency
        && has(&["add", "use", "upgrade", "bump", "update", "remove", "replace", "pin", "drop", "switch"])
    {
        const PLAIN: [&str; 24] = [
            "dependency",
            "dependencies",
            "devdependencies",
            "crate",
            "package",
            "packages",
            "library",
            "requirement",
            "requirements",
            "add",
            "use",
            "upgrade",
            "bump",
            "update",
            "remove",
            "replace",
            "pin",
            "drop",
            "switch",
            "the",
            "and",
            "from",
            "for",
            "version",
        ];
        let names: BTreeSet<String> =
            words.into_iter().filter(|word| word.len() > 1 && !PLAIN.contains(&word.as_str())).collect();
        if !names.is_empty() {
            held.push((Permission::Deps, names));
        }
    }
    held
}

/// Verbs of taking away.
const REMOVE: &str = "remove delete drop";
/// Words that may stand between a verb and what it is done to.
const BETWEEN: &str = "the its their existing old all any and or both affected corresponding \
                       accordingly related";
/// Words that may stand before or behind the name of a piece of code.
const PIECE: &str = "deprecated obsolete unused dead legacy function functions method methods class classes module \
                     helper command";

/// Tells whether one of these verbs is about tests: they follow it, with nothing between but articles and names.
fn aims_at_tests(words: &[Word], named: &BTreeSet<String>, verbs: &str) -> bool {
    const FOLLOWS: &str = "for of in to that which and so as too accordingly case cases suite file files";
    const RESULT: &str = "pass passes passing still fail run stay remain must should will are is";
    let names = |word: &Word| word.code || named.iter().any(|name| name.to_lowercase() == word.text);
    let is_test = |at: usize| {
        let next = words.get(at + 1);
        match words[at].text.as_str() {
            "tests" => next.is_none_or(|next| !next.is(RESULT)),
            // A test runner is no test.
            "test" => next.is_none_or(|next| next.is(FOLLOWS)),
            name => name.starts_with("test_"),
        }
    };
    let passes = |at: usize| {
        let word = &words[at];
        // "Rename `a` to `b` and its tests."
        let becomes = word.is("to by with") && words.get(at + 1).is_some_and(|next| next.code);
        names(word) || becomes || word.is(BETWEEN) || word.is(PIECE) || word.is(verbs)
    };
    words.iter().enumerate().filter(|(_, word)| word.is(verbs)).any(|(at, _)| {
        let end = (at + 1..words.len()).find(|&at| !passes(at)).unwrap_or(words.len());
        // What ends the run may be the tests themselves.
        (at + 1..words.len().min(end + 1)).any(is_test)
    })
}

/// Returns the names of code that a sentence takes away as a whole.
fn removed(words: &[Word], named: &BTreeSet<String>) -> BTreeSet<String> {
    const FOLLOWS: &str = "and or its from in with together along as because which that plus since altogether \
                           entirely completely now";
    let mut found = BTreeSet::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| word.is(REMOVE)) {
        for (at, word) in words.iter().enumerate().skip(at + 1) {
            let whole = words.get(at + 1).is_none_or(|next| next.code || next.is(FOLLOWS) || next.is(PIECE));
            if word.code && whole {
                let last = word.text.rsplit('.').next().filter(|_| !word.text.contains('/'));
                found.extend(
                    named
                        .iter()
                        .filter(|name| {
                            let name = name.to_lowercase();
                            name == word.text || last.is_some_and(|last| name == last)
                        })
                        .cloned(),
                );
            }
            let support = word.is("support") || (word.is("for") && words[at - 1].is("support"));
            if !(word.code && whole || word.is(BETWEEN) || word.is(PIECE) || support) {
                break;
            }
        }
    }
    found
}

/// Tells whether what follows these words is to change: a verb of change stands there, and behind it nothing that only
/// reads.
fn is_changed(words: &[Word]) -> bool {
    const CHANGE: &str = "add change update edit set raise bump extend configure adjust rename move";
    const READ: &str = "read reads reading return returns returning parse parses load loads print prints show shows \
                        list lists stands";
    words.iter().enumerate().filter(|(_, word)| word.is(CHANGE)).any(|(at, verb)| {
        let moves = verb.is("move rename");
        !words[at + 1..].iter().any(|word| word.is(READ) || (word.is("from") && !moves))
    })
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
            follows: None,
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

    #[test]
    fn a_ban_or_an_aside_permits_nothing() {
        for goal in [
            "You can't change the tests.",
            "There is no need to update the tests.",
            "Change no tests.",
            "Change none of the tests.",
            "Avoid having to change existing tests.",
            "Remove the limit in `slugify` but let all tests pass.",
            "Remove trailing blanks in `slugify` and its tests pass.",
            "Remove `slugify` limit, and add tests.",
            "Change total() until the tests pass.",
            "Change total() and its tests pass.",
            "Change slug() to lower case, and add tests.",
            "Change the tests.",
            "Change the test runner of run_all().",
            "Drop words of one letter, and add tests.",
            "Drop words of one letter in words_of(), and add tests.",
            "Read the version from package.json and print it.",
            "returns the version that stands in package.json",
            "version() returns the version that stands in package.json.",
            "Add version(), which returns the version that stands in package.json.",
        ] {
            assert_eq!(permits(goal, &[]).held, [], "{goal}");
        }
    }

    #[test]
    fn a_goal_permits_what_it_says() {
        use Permission::{ChangeTests, Config, DeleteTests};
        let table = [
            ("Change parse() to trim; update the tests.", ChangeTests, "parse trims", "total adds"),
            ("Rename `total` to `sum_of` and its tests too.", ChangeTests, "total", "parse"),
            ("Change `parse` and its tests.", ChangeTests, "parse trims", "total adds"),
            ("Remove `legacy_parse` and its tests.", DeleteTests, "test_legacy_parse", "test_total"),
            ("Remove the deprecated function old_total.", DeleteTests, "test_old_total", "test_total"),
            ("Delete `legacy`. Leave total() alone.", DeleteTests, "legacy", "total"),
            ("Drop support for parse_v1() in total().", DeleteTests, "parse_v1", "total"),
            ("Add a lint script to package.json.", Config, "package.json", "pytest.ini"),
            ("Move the settings from setup.cfg to pyproject.toml.", Config, "pyproject.toml", "tox.ini"),
        ];
        for (goal, permission, about, other) in table {
            let held = permits(goal, &[]);
            assert!(held.allow(permission, [about]) && !held.allow(permission, [other]), "{goal}");
        }
        assert!(permits("Adjust the existing tests.", &[]).allow(ChangeTests, ["anything"]));
    }
}
