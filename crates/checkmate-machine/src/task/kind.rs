//! What sort of change a task is.

use super::words::{Word, forbids, identifiers, marked, sentences, words};
use crate::spec::{Task, TaskKind};

/// The sort of a change, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The sort; `None` if neither the task file nor the goal tells.
    pub kind: Option<TaskKind>,
    /// Whether the task file says so, rather than the words of the goal.
    pub told: bool,
    /// Whether the task file says so, or the goal in so many words.
    pub sure: bool,
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
        Some(kind) => Kind { kind: Some(kind), told: true, sure: true },
        None if task.given_red => Kind { kind: Some(TaskKind::Bugfix), told: false, sure: true },
        None => Kind { kind: infer(&task.goal), told: false, sure: is_sure(&task.goal) },
    }
}

/// Tells whether a goal names a wrong behaviour, or asks for something new or for tests, in so many words.
fn is_sure(goal: &str) -> bool {
    const SURE: [&str; 15] = [
        "bug",
        "fix",
        "fixes",
        "fails",
        "crash",
        "crashes",
        "wrong",
        "regression",
        "add",
        "implement",
        "support",
        "introduce",
        "must",
        "test",
        "tests",
    ];
    let faster = sentences(goal).first().is_some_and(|first| is_invisible(&marked(first)));
    !faster && words(goal).iter().any(|word| SURE.contains(&word.as_str()))
}

/// What a sentence about text writes.
const TEXT: &str =
    "comment comments docstring docstrings readme readme.md changelog changelog.md docs documentation";
/// First words that ask for the same behaviour in other words.
const SAME: &str = "refactor refactoring restructure tidy simplify extract inline deduplicate";
/// Those of them that a program does to its data as well.
const EITHER: &str = "simplify extract inline";
/// Pieces of code that one can extract.
const PIECE: &str = "helper helpers function functions method methods class module constant constants variable trait \
                     interface component hook code logic duplication";
/// Phrases that do so anywhere.
const KEEP: [&str; 9] = [
    "behaviour must not change",
    "behavior must not change",
    "no behaviour change",
    "no behavior change",
    "same behaviour",
    "same behavior",
    "keep the behaviour",
    "keep the behavior",
    "without changing behavio",
];
/// Words of a first sentence that tell of something wrong.
const BROKEN: &str = "bug bugfix fix fixes fails failing crash crashes crashing wrong incorrect incorrectly broken \
                      regression fail";
/// First words of what is done around the code.
const AROUND: &str = "upgrade bump format configure chore pin release";
/// Those of them that a program does as well, unless they are done to one of `TOOLING`.
const AMBIGUOUS: &str = "format configure pin release";
/// What such words are done to around the code.
const TOOLING: &str = "code source sources codebase repository repo files dependency dependencies version versions \
                       package packages crate crates library requirement requirements toolchain ci lint linter \
                       linting build workflow workflows pre-commit rustfmt clippy prettier eslint black ruff mypy \
                       gofmt pytest renovate dependabot";
/// Words of a first sentence that ask for something.
const WANTED: &str = "add implement support introduce allow accept let make give return provide extend change new must \
                      should remove rename replace teach feature drop raise";

/// Reads the sort off the words of a goal. The order is from what a goal says of itself to what it merely mentions.
fn infer(goal: &str) -> Option<TaskKind> {
    let lower = goal.to_lowercase();
    let first = sentences(goal).first().map(|sentence| marked(sentence)).unwrap_or_default();
    let starts = |list: &str| first.first().is_some_and(|word| word.is(list));
    let has = |list: &str| first.iter().any(|word| word.is(list));
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let slip = has("typo typos") && says(&TEXT_FILES);
    // What a goal says of itself goes before what it mentions: to document a failure, or to test one, mends none.
    let itself = starts("document explain describe docs refactor")
        || (starts("add write extend improve")
            && first.iter().skip(1).take(2).any(|word| word.is("test tests")))
        || slip;
    if (has(BROKEN) || starts("repair")) && !itself {
        return Some(TaskKind::Bugfix);
    }
    if is_invisible(&first) {
        return Some(TaskKind::Refactor);
    }
    let forbidden = |what: &str| {
        sentences(goal).iter().any(|sentence| forbids(sentence) && sentence.to_lowercase().contains(what))
    };
    let silent = forbidden("code") || forbidden("behavio") || !says(&["bug", "must", "implement"]);
    let told = starts("document explain describe docs") || slip || (writes_text(&first) && silent);
    if told && !asks_for_tests(goal) {
        return Some(TaskKind::Docs);
    }
    if starts("rename") && identifiers(goal).len() > 1 {
        return Some(TaskKind::Refactor);
    }
    let kept = says(&KEEP);
    if starts(SAME) && (kept || is_about_code(goal, &first)) || kept && !asks_for_more(&lower) {
        return Some(TaskKind::Refactor);
    }
    let soon = first.iter().skip(1).take(3).any(|word| word.is("test tests coverage"));
    if starts("test tests cover") || (starts("add write extend improve") && soon) {
        return Some(TaskKind::Tests);
    }
    if starts("correct") {
        return Some(TaskKind::Bugfix);
    }
    // A version is no plain word: it has a full stop in it, or stands behind a name.
    let version = |word: &Word| word.text.contains('.') && word.text.contains(|c: char| c.is_ascii_digit());
    let tooling = || has(TOOLING) || (!starts("format") && first.iter().any(version));
    if starts(AROUND) && !tells_results(goal) && (!starts(AMBIGUOUS) || tooling()) {
        return Some(TaskKind::Chore);
    }
    if has(WANTED) || ((starts(SAME) || starts(AROUND)) && tells_results(goal)) {
        return Some(TaskKind::Feature);
    }
    says(&["bug", "fix "]).then_some(TaskKind::Bugfix)
}

/// Where a mistake in writing is one of text.
const TEXT_FILES: [&str; 6] = ["readme", "docs", "documentation", "comment", "docstring", "changelog"];

/// Tells whether a first sentence asks for what no test can see: types for a reader, or speed.
fn is_invisible(first: &[Word]) -> bool {
    let at = |at: usize, list: &str| first.get(at).is_some_and(|word| word.is(list));
    let types = (1..=3).any(|from| {
        at(from, "type typing")
            && at(from + 1, "hint hints annotation annotations")
            && first[1..from].iter().all(|word| word.is("the missing all python full complete static"))
    });
    let faster = at(0, "make") && first.iter().any(|word| word.is("faster quicker"));
    (at(0, "add write complete") && types)
        || faster
        || (at(0, "speed") && first.iter().any(|word| word.is("up")))
}

/// Tells whether text is what a first sentence's verb is done to.
fn writes_text(first: &[Word]) -> bool {
    const WRITE: &str = "document explain describe write update add mention correct";
    const ARTICLE: &str = "a an the its this";
    // What is about text, or made of it, is none.
    const OTHER: &str = "support for from of when that which before parsing";
    const FOLLOWS: &str = "to for of in about on with that which why how and so above at saying explaining describing \
                           where when as by entry section page line note file";
    let Some(verb) = first.iter().position(|word| word.is(WRITE)) else { return false };
    let rest = first[verb + 1..].iter().filter(|word| !word.is(ARTICLE)).collect::<Vec<_>>();
    let is_text = |word: &Word| TEXT.split_whitespace().any(|text| text == word.text);
    let Some(at) = rest.iter().take(4).position(|word| is_text(word)) else { return false };
    let whole = rest.get(at + 1).is_none_or(|next| next.is(FOLLOWS) || next.code);
    verb <= 2 && whole && !rest[..at].iter().any(|word| word.is(OTHER))
}

/// Tells whether a goal that starts like a refactoring is about the code rather than the data.
fn is_about_code(goal: &str, first: &[Word]) -> bool {
    let either = first.first().is_some_and(|word| word.is(EITHER));
    let extracts = first.first().is_some_and(|word| word.is("extract"));
    // One name out of another is code as well.
    let out_of = first.get(1).is_some_and(|word| word.code) && first[2..].iter().any(|word| word.code);
    let piece = out_of || first.iter().any(|word| word.is(PIECE));
    !either || (!tells_results(goal) && (!extracts || piece))
}

/// Tells whether a goal says what comes out, or asks for tests.
fn tells_results(goal: &str) -> bool {
    let results = |sentence: &str| {
        let words = marked(sentence);
        (0..words.len()).any(|at| words[at].is("returns gives") || demands(&words, at))
    };
    asks_for_tests(goal) || sentences(goal).into_iter().any(results)
}

/// Tells whether this word demands something, and not that something stays as it is.
fn demands(words: &[Word], at: usize) -> bool {
    let stays = |next: &Word| next.is("not never stay remain behave still pass continue compile build all");
    words[at].is("must should") && !words.get(at + 1).is_some_and(stays)
}

/// Tells whether a goal asks for tests to be written.
fn asks_for_tests(goal: &str) -> bool {
    sentences(goal).into_iter().filter(|sentence| !forbids(sentence)).any(|sentence| {
        let words = marked(sentence);
        words.iter().enumerate().any(|(at, word)| {
            let soon = &words[at + 1..words.len().min(at + 4)];
            let object = soon.iter().take_while(|word| !word.is("to for in why how that about of on above"));
            word.is("add write include") && object.into_iter().any(|word| word.is("test tests"))
        })
    })
}

/// Tells whether a goal that keeps the behaviour asks for something beside that.
fn asks_for_more(lower: &str) -> bool {
    const ASK: &str = "add implement support introduce";
    let rest = KEEP.iter().fold(lower.to_owned(), |rest, phrase| rest.replace(phrase, " "));
    sentences(&rest).into_iter().any(|sentence| {
        let words = marked(sentence);
        // A ban asks for nothing, unless it starts with what it asks for: "Add … without …".
        let asking = if forbids(sentence) { 1 } else { words.len() };
        (0..asking.min(words.len())).any(|at| words[at].is(ASK) || demands(&words, at))
    })
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
            ("Fix the typo in README.md.", Some(Docs)),
            ("Document what happens when parse fails.", Some(Docs)),
            ("Add tests for parse() covering wrong input.", Some(Tests)),
            ("Refactor the handling of failing requests.", Some(Refactor)),
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

    #[test]
    fn what_a_program_does_is_told_from_what_is_done_to_it() {
        use TaskKind::{Bugfix, Chore, Docs, Feature, Refactor};
        let table = [
            ("Bug: extract() drops the last element.", Some(Bugfix)),
            ("Fix crash when parsing comments in config files.", Some(Bugfix)),
            ("Inline images lose their alt text; they must keep it.", Some(Feature)),
            ("Extract the title from the page header.", None),
            ("Extract the domain: domain(…) returns the part behind @. Add tests.", Some(Feature)),
            ("Extract the loop of parse() into a helper.", Some(Refactor)),
            ("Extract parse_header() out of parse().", Some(Refactor)),
            ("Add a --json flag to list; keep the behaviour without it.", Some(Feature)),
            ("Move total() to sums.py; keep the behaviour. Do not add files.", Some(Refactor)),
            ("Simplify fractions: simplify(n, d) must return the lowest terms.", Some(Feature)),
            ("Simplify wrap_words. Its results must not change.", Some(Refactor)),
            ("Add support for block comments to the lexer.", Some(Feature)),
            ("Add a comments field to Post.", Some(Feature)),
            ("Strip comments from the input before parsing.", None),
            ("Add an example to the README.", Some(Docs)),
            ("Add comments to parse().", Some(Docs)),
            ("Clean up parse(). Same behaviour. The tests must pass.", Some(Refactor)),
            ("Upgrade serde to 1.2. The tests must still pass.", Some(Chore)),
            ("Format dates as ISO 8601.", None),
            ("Format amounts: format_amount(5) returns \"5.00\".", Some(Feature)),
            ("Format the code with black.", Some(Chore)),
            ("Pin the sidebar while scrolling.", None),
            ("Pin serde to 1.0.200.", Some(Chore)),
            ("Add type hints to total().", Some(Refactor)),
            ("Make total() faster.", Some(Refactor)),
            ("Speed up total(). Add tests.", Some(Refactor)),
        ];
        for (goal, kind) in table {
            assert_eq!(infer(goal), kind, "{goal}");
        }
        for goal in ["Add type hints to total().", "Make total() faster. Add tests.", "Speed up total()."] {
            assert!(!is_sure(goal), "{goal}");
        }
        assert!(is_sure("Add support for type hints to the parser."));
    }
}
