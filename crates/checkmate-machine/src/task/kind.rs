//! What sort of change a task is.

use super::words::{forbids, sentences, words};
use crate::spec::{Task, TaskKind};

/// The sort of a change, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The sort; `None` if neither the task file nor the goal tells.
    pub kind: Option<TaskKind>,
    /// Whether the task file says so, rather than the words of the goal.
    pub told: bool,
}

impl Kind {
    /// Tells whether it is one of these.
    pub fn is(self, kinds: &[TaskKind]) -> bool {
        self.kind.is_some_and(|kind| kinds.contains(&kind))
    }
}

/// Returns the sort of a task: what the task file says, else what the goal's words tell.
pub fn kind(task: &Task) -> Kind {
    match task.kind {
        Some(kind) => Kind { kind: Some(kind), told: true },
        None if task.given_red => Kind { kind: Some(TaskKind::Bugfix), told: false },
        None => Kind { kind: infer(&task.goal), told: false },
    }
}

/// Words of a goal that something is wrong.
const BROKEN: [&str; 15] = [
    "bug",
    "bugfix",
    "bug:",
    "fix",
    "fixes",
    "fails",
    "failing",
    "crash",
    "crashes",
    "wrong",
    "incorrect",
    "incorrectly",
    "broken",
    "regression",
    "fail",
];

/// Reads the sort off the words of a goal. The order is from what a goal says of itself to what it merely mentions.
fn infer(goal: &str) -> Option<TaskKind> {
    let lower = goal.to_lowercase();
    let first = sentences(goal).first().map(|sentence| words(sentence)).unwrap_or_default();
    let starts = |heads: &[&str]| first.first().is_some_and(|word| heads.contains(&word.as_str()));
    let first_has = |wanted: &[&str]| first.iter().any(|word| wanted.contains(&word.as_str()));
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let forbidden = |what: &str| {
        sentences(goal).iter().any(|sentence| forbids(sentence) && sentence.to_lowercase().contains(what))
    };
    let text = [
        "comment",
        "comments",
        "docstring",
        "docstrings",
        "readme",
        "readme.md",
        "changelog",
        "docs",
        "documentation",
    ];
    if starts(&["document", "explain", "describe", "docs"])
        || (first_has(&text)
            && (forbidden("code") || forbidden("behavio") || !says(&["bug", "must", "implement"])))
    {
        return Some(TaskKind::Docs);
    }
    if first_has(&[
        "refactor",
        "refactoring",
        "restructure",
        "tidy",
        "simplify",
        "extract",
        "inline",
        "deduplicate",
    ]) || says(&[
        "behaviour must not change",
        "behavior must not change",
        "no behaviour change",
        "no behavior change",
    ]) || says(&[
        "same behaviour",
        "same behavior",
        "keep the behaviour",
        "keep the behavior",
        "without changing behavio",
    ]) {
        return Some(TaskKind::Refactor);
    }
    let tests = ["test", "tests", "coverage"];
    if starts(&["test", "tests", "cover"])
        || (starts(&["add", "write", "extend", "improve"])
            && first.iter().skip(1).take(3).any(|word| tests.contains(&word.as_str())))
    {
        return Some(TaskKind::Tests);
    }
    if first_has(&BROKEN) || starts(&["repair", "correct"]) {
        return Some(TaskKind::Bugfix);
    }
    if starts(&["upgrade", "bump", "format", "configure", "chore", "pin", "release"]) {
        return Some(TaskKind::Chore);
    }
    let wanted = [
        "add",
        "implement",
        "support",
        "introduce",
        "allow",
        "accept",
        "let",
        "make",
        "give",
        "return",
        "provide",
        "extend",
        "change",
        "new",
        "must",
        "should",
        "remove",
        "rename",
        "replace",
        "teach",
        "feature",
        "drop",
        "raise",
    ];
    if first_has(&wanted) {
        return Some(TaskKind::Feature);
    }
    says(&["bug", "fix "]).then_some(TaskKind::Bugfix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_tells_its_sort() {
        use TaskKind::{Bugfix, Chore, Docs, Feature, Refactor, Tests};
        let table = [
            (
                "Bug: slugify(\"a  b\") returns \"a--b\". Runs must collapse. Add a test that fails without the fix.",
                Some(Bugfix),
            ),
            (
                "Two tests fail: test_touching and test_nested. Fix merge(). Do not change the tests.",
                Some(Bugfix),
            ),
            ("Add truncate(text, limit) to textkit and export it. Add tests.", Some(Feature)),
            ("parse() must collect repeated keys into an array in order. Add tests.", Some(Feature)),
            ("Document wrap_words in README.md with one example. Do not change code.", Some(Docs)),
            ("Explain in a comment why wrap_words never splits a word. No behaviour change.", Some(Docs)),
            ("Refactor wrap_words for readability. Behaviour must not change.", Some(Refactor)),
            (
                "Add tests for wrap_words covering long words and empty text. Do not change the code.",
                Some(Tests),
            ),
            ("Upgrade serde to 1.2.", Some(Chore)),
            ("Hello.", None),
        ];
        for (goal, kind) in table {
            assert_eq!(infer(goal), kind, "{goal}");
        }
    }
}
