//! Which values that the goal lists does no test use.
//!
//! A goal that lists values ("4, 9, 40 and 90") promises something for each of them. Only lists count, of three numbers or
//! two quoted texts and more: a single value may be an example, a limit, or an address. What a call is given and what a
//! result is made of are parts of one example.

use std::sync::LazyLock;

use checkmate_machine::facts::{FileFacts, FileRole};
use regex::Regex;

use super::functions::items;
use super::{Wish, roles};

/// So many test files are read.
const FILES: usize = 200;

/// One value: a quoted text, or a number that is no part of a name.
const VALUE: &str = r#"(?:"[^"\n]{1,40}"|'[^'\n]{1,40}'|-?\b\d+(?:\.\d+)?\b)"#;

static LIST: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(r"{VALUE}(?:\s*(?:,\s*and|,\s*or|,|and|or)\s+{VALUE})+");
    Regex::new(&pattern).expect("the pattern is constant and tested")
});
static ONE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(VALUE).expect("the pattern is constant and tested"));

/// Returns the values of the goal's lists that stand in no test, in the goal's order. Nothing is said where the change
/// touches no test: then others judge it.
pub(super) fn untested(wish: &Wish<'_>, files: &[FileFacts]) -> Vec<String> {
    let values: Vec<String> = lists(wish.goal)
        .into_iter()
        .flat_map(|list| ONE.find_iter(list))
        .map(|value| value.as_str().trim_matches(['"', '\'']).to_owned())
        .filter(|value| !value.is_empty())
        .collect();
    let touched = files.iter().any(|file| !file.tests_after.is_empty());
    if values.is_empty() || !touched {
        return Vec::new();
    }
    let texts: Vec<String> = wish
        .after
        .paths()
        .filter(|path| is_test(wish, path))
        .take(FILES)
        .filter_map(|path| tests_of(wish, path))
        .collect();
    let untested = values.into_iter().filter(|value| !texts.iter().any(|text| stands_in(text, value)));
    // A single one may be a default, or stand in a test in other words.
    Some(untested.collect::<Vec<_>>()).filter(|untested| untested.len() > 1).unwrap_or_default()
}

/// Returns the lists of a text that are long enough.
fn lists(text: &str) -> Vec<&str> {
    let long = |list: &&str| {
        let quoted = |value: &regex::Match<'_>| value.as_str().starts_with(['"', '\'']);
        let (all, quoted) = (ONE.find_iter(list).count(), ONE.find_iter(list).filter(quoted).count());
        all >= 3 || quoted >= 2
    };
    let lists = LIST.find_iter(text).filter(|list| !is_inside(&text[..list.start()]));
    lists.map(|list| list.as_str()).filter(long).collect()
}

/// Tells whether what follows a text lies in the brackets of a call or of a value.
fn is_inside(before: &str) -> bool {
    let mut open = Vec::new();
    let mut last = ' ';
    for c in before.chars() {
        match c {
            '[' | '{' => open.push(true),
            '(' => open.push(last.is_alphanumeric() || matches!(last, '_' | ')' | ']')),
            ')' | ']' | '}' => drop(open.pop()),
            // No call goes on after the end of its line.
            '\n' => open.clear(),
            _ => {}
        }
        last = c;
    }
    open.contains(&true)
}

fn is_test(wish: &Wish<'_>, path: &str) -> bool {
    match roles::of(wish, path) {
        FileRole::Test | FileRole::TestSupport => true,
        // Rust keeps tests beside the code.
        FileRole::Code => path.ends_with(".rs"),
        FileRole::Docs
        | FileRole::TestConfig
        | FileRole::BuildConfig
        | FileRole::Ci
        | FileRole::Manifest
        | FileRole::Lock
        | FileRole::Environment
        | FileRole::Git
        | FileRole::Other => false,
    }
}

/// Returns a file's text without its code that is no test.
fn tests_of(wish: &Wish<'_>, path: &str) -> Option<String> {
    let text = wish.after.text(path)?;
    if !path.ends_with(".rs") {
        return Some(text);
    }
    let source = super::Source::parse(path, text.clone())?;
    let mut rest = text;
    for item in items(&source).iter().rev() {
        if rest.get(item.range.clone()).is_some() {
            rest.replace_range(item.range.clone(), " ");
        }
    }
    Some(rest)
}

/// Tells whether a value stands in a text by itself, and not as a part of a longer number or word. Where digits end, a word
/// may begin: `x` stands in `080442957x`.
fn stands_in(text: &str, value: &str) -> bool {
    let word = value.chars().all(char::is_alphabetic);
    let within =
        |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() || c == '_' || (!word && c.is_numeric()));
    let bare = |edge: Option<char>| edge.is_some_and(char::is_alphanumeric);
    text.match_indices(value).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + value.len()..].chars().next());
        let starts = !(bare(value.chars().next()) && within(before));
        let ends = !(bare(value.chars().next_back()) && within(after));
        starts && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_told_from_single_values() {
        let lists = |goal: &str| lists(goal).join(" | ");
        assert_eq!(lists("Use subtractive notation for all of 4, 9, 40, 90: to_roman(4)."), "4, 9, 40, 90");
        assert_eq!(
            lists("except \"a\", \"an\", \"of\", and \"the\" unless first"),
            "\"a\", \"an\", \"of\", and \"the\""
        );
        assert_eq!(lists("stay (\"3.5\", \"a:b\")"), "\"3.5\", \"a:b\"");
        assert_eq!(lists("between 1 and 10; Python 3.12, f(1, 2)"), "");
        assert_eq!(
            lists(
                "parse_field(\"75\", \"minute\") is [75, 76, 77]; at(date(2026, 1, 1, 23, 0)) == {1, 2, 3}"
            ),
            ""
        );
        assert_eq!(lists("f() keeps its order (for 3, 4, 5)"), "3, 4, 5");
    }

    #[test]
    fn a_number_stands_by_itself() {
        assert!(stands_in("f(40)", "40") && !stands_in("f(4000)", "40") && !stands_in("x40", "40"));
        assert!(stands_in("a-b", "-"));
        assert!(stands_in("\"080442957x\"", "x") && !stands_in("expect", "x"));
    }
}
