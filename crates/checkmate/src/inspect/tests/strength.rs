//! How much an assertion can notice, by its source.

use checkmate_machine::facts::Strength;

use super::Scope;
use crate::inspect::outline::{clip, compact, unquoted};

/// A longer expression is judged by its beginning, in bytes.
const LONGEST: usize = 4000;

/// Returns the strength of `left == right`.
pub(super) fn equality(scope: &Scope<'_, '_>, left: &str, right: &str) -> Strength {
    let (left, right) = (clip(left.trim(), LONGEST), clip(right.trim(), LONGEST));
    let same = |a: &str, b: &str| compact(a) == compact(b);
    let kind = |text: &str| text.starts_with("type(") || text.starts_with("typeof ");
    let itself = same(left, right)
        || same(scope.value(left), right)
        || same(left, scope.value(right))
        // A tuple that is taken twice shows what happened between.
        || same(scope.value(left), scope.value(right))
            && !is_constant(scope.value(left))
            && !scope.value(left).starts_with('(');
    if itself || is_constant(left) && is_constant(right) || kind(left) || kind(right) {
        Strength::Trivial
    } else {
        Strength::Exact
    }
}

/// Returns the strength of a condition that has to hold.
pub(super) fn condition(scope: &Scope<'_, '_>, text: &str) -> Strength {
    // Written without recursion into parts of parts: two levels are what tests use.
    let text = bare(clip(text.trim(), LONGEST));
    let (any, all) = (split(text, &["||", " or "]), split(text, &["&&", " and "]));
    if any.len() > 1 {
        return any.into_iter().map(|part| simple(scope, part)).min().unwrap_or(Strength::Loose);
    }
    all.into_iter().map(|part| simple(scope, part)).max().unwrap_or(Strength::Loose)
}

fn simple(scope: &Scope<'_, '_>, text: &str) -> Strength {
    let text = bare(text.trim());
    for negation in ["not ", "!"] {
        if let Some(rest) = text.strip_prefix(negation).filter(|rest| !rest.starts_with('=')) {
            return simple_positive(scope, bare(rest.trim())).min(Strength::Loose);
        }
    }
    simple_positive(scope, text)
}

fn simple_positive(scope: &Scope<'_, '_>, text: &str) -> Strength {
    const NOTHING: [&str; 7] = ["None", "null", "undefined", "nil", "void 0", "NULL", "NaN"];
    for operator in ["===", "!==", "==", "!=", " is not ", " is "] {
        let [left, right] = split(text, &[operator])[..] else { continue };
        let (left, right) = (left.trim(), right.trim());
        let differs = operator.starts_with('!') || operator == " is not ";
        if differs && (NOTHING.contains(&right) || NOTHING.contains(&left)) {
            return Strength::Trivial;
        }
        let equal = equality(scope, left, right);
        return if differs { equal.min(Strength::Loose) } else { equal };
    }
    for operator in [">=", "<="] {
        if let [left, right] = split(text, &[operator])[..]
            && (right.trim() == "0" && operator == ">=" || left.trim() == "0" && operator == "<=")
            && (text.contains("len") || text.contains("size") || text.contains("count"))
        {
            return Strength::Trivial;
        }
    }
    let asks_kind = ["isinstance(", "issubclass(", "hasattr(", "callable("];
    if is_constant(text)
        || asks_kind.iter().any(|call| text.starts_with(call))
        || text.contains(" instanceof ")
    {
        return Strength::Trivial;
    }
    for call in ["reflect.DeepEqual(", "isDeepStrictEqual(", "Objects.equals(", "cmp.Equal(", "bytes.Equal("]
    {
        if let Some((_, rest)) = text.split_once(call)
            && let [left, right] = split(rest.trim_end_matches(')'), &[","])[..]
        {
            return equality(scope, left, right);
        }
    }
    if let Some((left, right)) = text.split_once(".equals(") {
        return equality(scope, left, right.trim_end_matches(')'));
    }
    Strength::Loose
}

/// Tells whether an expression always has the same value.
pub(super) fn is_constant(text: &str) -> bool {
    let text = text.trim();
    let tuple = text.starts_with('(') && text.ends_with(')');
    let parts = if tuple { split(bare(text), &[","]) } else { Vec::new() };
    is_value(text) || parts.len() > 1 && parts.into_iter().all(|part| is_value(part.trim()))
}

/// Tells whether a text is one value, written out.
fn is_value(text: &str) -> bool {
    let words = [
        "True",
        "False",
        "true",
        "false",
        "None",
        "null",
        "undefined",
        "nil",
        "()",
        "[]",
        "{}",
        "Boolean.TRUE",
    ];
    let number = text.trim_start_matches('-');
    words.contains(&text)
        || number.starts_with(|first: char| first.is_ascii_digit())
            && number.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '.' || letter == '_')
        || unquoted(text).is_some_and(|inner| !inner.contains(['"', '\'', '{', '+']))
            && text.ends_with(['"', '\'', '`'])
}

/// Takes outer parentheses away.
fn bare(text: &str) -> &str {
    let mut text = text.trim();
    for _ in 0..8 {
        let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { break };
        let mut depth = 0_i32;
        for letter in inner.chars() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if depth < 0 {
                return text;
            }
        }
        text = inner.trim();
    }
    text
}

/// Splits a text where one of the separators stands outside of brackets and strings.
pub(super) fn split<'x>(text: &'x str, separators: &[&str]) -> Vec<&'x str> {
    let bytes = text.as_bytes();
    let (mut parts, mut start, mut at, mut depth) = (Vec::new(), 0, 0, 0_u32);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' | b'`' => {
                if let Some(length) = string_at(bytes.get(at..).unwrap_or_default(), *byte) {
                    at += length;
                    continue;
                }
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let separator = separators.iter().find(|separator| {
            depth == 0 && rest.starts_with(separator.as_bytes()) && whole(text, at, separator)
        });
        match separator {
            Some(separator) => {
                parts.push(text.get(start..at).unwrap_or_default());
                at += separator.len();
                start = at;
            }
            None => at += 1,
        }
    }
    let last = text.get(start..).unwrap_or_default();
    if !(separators == [","] && last.trim().is_empty()) {
        parts.push(last);
    }
    parts
}

/// Tells whether `==` is not a piece of `===`, `!==` or the like.
fn whole(text: &str, at: usize, separator: &str) -> bool {
    if !separator.ends_with('=') {
        return true;
    }
    let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    let after = text.as_bytes().get(at + separator.len());
    !matches!(before, Some(b'=' | b'!' | b'<' | b'>')) && after != Some(&b'=')
}

/// Returns how long a string literal is; `None` if the quote starts none, as Rust's lifetimes do.
fn string_at(bytes: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}
