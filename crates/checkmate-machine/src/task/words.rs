//! The words of a goal.

use std::collections::BTreeSet;

/// Splits a goal into sentences; a full stop inside of a name or a number ends none.
pub fn sentences(goal: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut from = 0;
    let bytes = goal.as_bytes();
    for (at, c) in goal.char_indices() {
        let ends = match c {
            '.' | '!' | '?' | ';' => bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace),
            '\n' => bytes.get(at + 1) == Some(&b'\n'),
            _ => false,
        };
        if ends {
            sentences.push(goal[from..at].trim());
            from = at + 1;
        }
    }
    sentences.push(goal[from..].trim());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Returns the words of a sentence in lower case, names and paths in one piece.
pub(super) fn words(sentence: &str) -> Vec<String> {
    sentence
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '\'')))
        .map(|word| word.trim_matches(['.', '-', '\'']).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// A word of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The word in lower case, a name or a path in one piece.
    pub(super) text: String,
    /// Whether it is written as code: between backticks, called, or by its look.
    pub(super) code: bool,
}

impl Word {
    /// Tells whether it is one of these, in plain English.
    pub(super) fn is(&self, list: &str) -> bool {
        !self.code && among(&self.text, list)
    }
}

/// Tells whether a word is in a list with blanks between.
pub(super) fn among(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Returns the words of a sentence, code told from English.
pub(super) fn marked(sentence: &str) -> Vec<Word> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '\'');
    let mut found = Vec::new();
    for (piece, text) in sentence.split('`').enumerate() {
        let mut rest = text;
        while let Some(start) = rest.find(part) {
            rest = &rest[start..];
            let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
            let word = rest[..end].trim_matches(['.', '-', '\'']);
            rest = &rest[end..];
            if !word.is_empty() {
                let code = piece % 2 == 1 || looks_like_code(word) || rest.starts_with('(');
                found.push(Word { text: word.to_lowercase(), code });
            }
        }
    }
    found
}

/// Tells whether a sentence forbids rather than asks.
pub fn forbids(sentence: &str) -> bool {
    let words = words(&sentence.replace('’', "'"));
    let held = words.windows(2).any(|pair| matches!(pair[0].as_str(), "leave" | "keep"));
    // `None` within a sentence is a value.
    let value = words.first().is_none_or(|word| word != "none") && !sentence.contains("none");
    let denies = |at: usize, word: &str| {
        let next = words.get(at + 1).map_or("", String::as_str);
        match word {
            "no" => next != "longer",
            "none" => !value,
            "nothing" | "avoid" | "avoiding" | "never" | "without" | "cannot" => true,
            // What is not used is a reason, not an order.
            _ => (word == "not" || word.ends_with("n't")) && !among(next, "used called referenced only"),
        }
    };
    held || words.iter().enumerate().any(|(at, word)| denies(at, word))
}

/// Returns the names of code and files that a goal mentions: `snake_case`, `CamelCase`, `called()`, `a/path.py`, and
/// whatever stands between backticks.
pub fn identifiers(goal: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut quoted = false;
    for part in goal.split_inclusive('`') {
        let text = part.trim_end_matches('`');
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_alphanumeric() || c == '_') {
            rest = &rest[start..];
            let end = rest
                .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-')))
                .unwrap_or(rest.len());
            let word = rest[..end].trim_end_matches(['.', '-', '/']);
            rest = &rest[end..];
            if is_name(word) && (quoted || looks_like_code(word) || rest.starts_with('(')) {
                found.insert(word.to_owned());
                // `Cache.get` names `get` as well.
                found.extend(
                    word.rsplit_once('.').map(|(_, last)| last.to_owned()).filter(|last| is_name(last)),
                );
            }
        }
        quoted = !quoted && part.ends_with('`');
    }
    found
}

fn is_name(word: &str) -> bool {
    word.len() > 1 && word.chars().any(char::is_alphabetic)
}

fn looks_like_code(word: &str) -> bool {
    let inner = |c: char| word.trim_matches(c).contains(c);
    let humps = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let file = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        stem.len() > 1 && (1..=4).contains(&ending.len()) && ending.chars().all(char::is_alphanumeric)
    });
    inner('_') || humps || inner('/') || file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_words() {
        let of = |goal: &str| identifiers(goal).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(of("Fix merge() so that touching spans merge."), "merge");
        assert_eq!(of("Two tests fail: test_touching and test_nested."), "test_nested test_touching");
        assert_eq!(
            of("Remove `old` and Cache.evict(), see README.md."),
            "Cache.evict README.md evict md old"
        );
        assert_eq!(of("Add a test that fails without the fix."), "");
    }

    #[test]
    fn a_full_stop_in_a_name_ends_no_sentence() {
        assert_eq!(sentences("Change a.py. Do not touch b.py!"), ["Change a.py", "Do not touch b.py"]);
    }

    #[test]
    fn an_order_is_told_from_a_ban() {
        for sentence in [
            "Do not change the tests",
            "You can't change the tests",
            "You can’t change the tests",
            "There is no need to update the tests",
            "Change no tests",
            "Change none of the tests",
            "None of the tests may change",
            "Avoid having to change existing tests",
            "Change nothing in the tests",
        ] {
            assert!(forbids(sentence), "{sentence}");
        }
        for sentence in [
            "Change the tests",
            "Change find() to return None, and update the tests",
            "Remove `old`, which is no longer needed, and its tests",
            "Remove `old`, which is not used, and its tests",
        ] {
            assert!(!forbids(sentence), "{sentence}");
        }
    }
}
