//! How alike a line of a patch and a line of a file are, and what their differences prove.
//!
//! A model sees a file through prompts, tokenisers and transports, and gives its lines back a little changed:
//! trailing whitespace, curly quotes, HTML entities, another indentation. Such a line is still known for what it is.
//! What the differences prove about the way of the patch is kept, because the added lines came the same way.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// How alike two lines are, or all lines of a hunk and their lines in the file; the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Likeness {
    /// Equal, but for line endings.
    Exact,
    /// Whitespace at the end of lines differs.
    TrailingSpace,
    /// Quotes, dashes, entities, escapes or spaces within lines are written in another way.
    Typography,
    /// The indentation differs.
    Indentation,
}

/// Ways in which text is rewritten on its way, each as a whole: whoever escapes `<` escapes `&` too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rewriting {
    DoubleQuotes,
    SingleQuotes,
    Dashes,
    Ellipsis,
    Spaces,
    Invisible,
    Entities,
    EntityQuotes,
    Backslashes,
}

/// What two matching lines, or many, prove about how the patch was rewritten on its way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Proofs {
    /// The patch has a rewritten form where the file has the plain one.
    rewritten: BTreeSet<Rewriting>,
    /// The file itself has the form that a rewriting would have made.
    genuine: BTreeSet<Rewriting>,
}

/// Two lines that stand for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alike<'a> {
    pub(super) likeness: Likeness,
    /// The indentation in the patch and in the file, unless the lines are blank.
    pub(super) indents: Option<(&'a str, &'a str)>,
}

impl Proofs {
    pub(super) fn merge(&mut self, other: &Self) {
        self.rewritten.extend(&other.rewritten);
        self.genuine.extend(&other.genuine);
    }

    /// Undoes in a line of the patch what is proven to have been done to it.
    ///
    /// `None` if the line has a form that is proven to be rewritten in one place and genuine in another.
    pub(super) fn undo<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        if self.rewritten.is_empty() || !may_hold_token(text) {
            return Some(Cow::Borrowed(text));
        }
        let mut undone = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let step = match token(rest).filter(|token| self.rewritten.contains(&token.rewriting)) {
                Some(token) if self.genuine.contains(&token.rewriting) => return None,
                Some(token) => {
                    undone.push_str(token.plain);
                    token.len
                }
                None => {
                    undone.push(first);
                    first.len_utf8()
                }
            };
            rest = rest.get(step..).unwrap_or_default();
        }
        Some(Cow::Owned(undone))
    }
}

/// A form that a rewriting makes, at the start of a text.
struct Token {
    len: usize,
    plain: &'static str,
    rewriting: Rewriting,
}

/// The entities that escaping for HTML or XML makes.
const ENTITIES: [(&str, &str, Rewriting); 8] = [
    ("&lt;", "<", Rewriting::Entities),
    ("&gt;", ">", Rewriting::Entities),
    ("&amp;", "&", Rewriting::Entities),
    ("&quot;", "\"", Rewriting::EntityQuotes),
    ("&#34;", "\"", Rewriting::EntityQuotes),
    ("&#39;", "'", Rewriting::EntityQuotes),
    ("&#x27;", "'", Rewriting::EntityQuotes),
    ("&apos;", "'", Rewriting::EntityQuotes),
];

fn token(text: &str) -> Option<Token> {
    match text.chars().next()? {
        '&' => ENTITIES
            .iter()
            .find(|(written, _, _)| text.starts_with(written))
            .map(|(written, plain, rewriting)| Token { len: written.len(), plain, rewriting: *rewriting }),
        '\\' => text.starts_with("\\\"").then_some(Token {
            len: 2,
            plain: "\"",
            rewriting: Rewriting::Backslashes,
        }),
        first => {
            typographic(first).map(|(plain, rewriting)| Token { len: first.len_utf8(), plain, rewriting })
        }
    }
}

/// Returns what a typographic character stands for in source text.
fn typographic(c: char) -> Option<(&'static str, Rewriting)> {
    Some(match c {
        '\u{201c}'..='\u{201f}' | '\u{2033}' => ("\"", Rewriting::DoubleQuotes),
        '\u{2018}'..='\u{201b}' | '\u{2032}' => ("'", Rewriting::SingleQuotes),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => ("-", Rewriting::Dashes),
        '\u{2026}' => ("...", Rewriting::Ellipsis),
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => (" ", Rewriting::Spaces),
        '\u{200b}' | '\u{2060}' | '\u{feff}' => ("", Rewriting::Invisible),
        _ => return None,
    })
}

fn may_hold_token(text: &str) -> bool {
    !text.is_ascii() || text.bytes().any(|byte| matches!(byte, b'&' | b'\\'))
}

fn is_blank(c: char) -> bool {
    c.is_whitespace()
}

/// Splits a line into its indentation and the rest without trailing whitespace.
pub(super) fn split_indent(line: &str) -> (&str, &str) {
    let line = line.trim_end();
    let rest = line.trim_start_matches([' ', '\t']);
    (line.get(..line.len() - rest.len()).unwrap_or_default(), rest)
}

/// Returns a form of a line that is the same for all lines that [`compare`] finds alike.
pub(super) fn key(line: &str) -> String {
    let mut key = String::with_capacity(line.len());
    if !may_hold_token(line) {
        key.extend(line.chars().filter(|c| !is_blank(*c)));
        return key;
    }
    // From the right, so that what an entity or a backslash stands for is known when it is met: a line that was escaped
    // twice holds entities within entities.
    let mut stack: Vec<char> = Vec::with_capacity(line.len());
    for c in line.chars().rev() {
        match typographic(c) {
            Some((" ", _)) => {}
            Some((plain, _)) => stack.extend(plain.chars().rev()),
            None if is_blank(c) => {}
            None if c == '\\' && stack.last() == Some(&'"') => {}
            None => stack.push(c),
        }
        while stack.last() == Some(&'&')
            && let Some((written, plain, _)) =
                ENTITIES.iter().find(|(written, _, _)| ends_with(&stack, written))
        {
            stack.truncate(stack.len() - written.len());
            stack.extend(plain.chars());
        }
    }
    key.extend(stack.iter().rev());
    key
}

/// Tells whether a stack has these characters on top, the first uppermost; all of them are ASCII.
fn ends_with(stack: &[char], written: &str) -> bool {
    stack.len() >= written.len() && stack.iter().rev().zip(written.chars()).all(|(have, want)| *have == want)
}

/// Holds a line of a patch against a line of a file, both without their endings, and adds to what is proven.
pub(super) fn compare<'a>(patch: &'a str, file: &'a str, proofs: &mut Proofs) -> Option<Alike<'a>> {
    let (patch_indent, patch_rest) = split_indent(patch);
    let (file_indent, file_rest) = split_indent(file);
    let trailing = |line: &str, indent: &str, rest: &str| line.len() - indent.len() - rest.len();
    let same_end = trailing(patch, patch_indent, patch_rest) == trailing(file, file_indent, file_rest)
        && patch.ends_with(file.get(file_indent.len() + file_rest.len()..).unwrap_or_default());
    let mut likeness = if same_end { Likeness::Exact } else { Likeness::TrailingSpace };
    if patch_rest.is_empty() && file_rest.is_empty() {
        let likeness = if patch == file { Likeness::Exact } else { Likeness::TrailingSpace };
        return Some(Alike { likeness, indents: None });
    }
    // Equal texts may still hold a form that others rewrite, which proves it genuine.
    if (patch_rest != file_rest || may_hold_token(patch_rest)) && !walk(patch_rest, file_rest, proofs)? {
        likeness = likeness.max(Likeness::Typography);
    }
    if patch_indent != file_indent {
        likeness = Likeness::Indentation;
    }
    Some(Alike { likeness, indents: Some((patch_indent, file_indent)) })
}

/// Walks through two texts at once; the answer says whether they are equal, and is `None` if they are not alike.
fn walk(patch: &str, file: &str, proofs: &mut Proofs) -> Option<bool> {
    let (mut patch, mut file) = (patch, file);
    let mut seen = Proofs::default();
    let mut equal = true;
    while !(patch.is_empty() && file.is_empty()) {
        let (ours, theirs) = step(patch, file, &mut seen)?;
        equal &= patch.get(..ours) == file.get(..theirs);
        patch = patch.get(ours..)?;
        file = file.get(theirs..)?;
    }
    proofs.merge(&seen);
    Some(equal)
}

/// Returns how many bytes at the start of both texts stand for each other.
fn step(patch: &str, file: &str, proofs: &mut Proofs) -> Option<(usize, usize)> {
    let (in_patch, in_file) = (token(patch), token(file).filter(|token| is_typography(token.rewriting)));
    if let Some(token) = in_patch {
        if patch.get(..token.len).is_some_and(|written| file.starts_with(written)) {
            proofs.genuine.insert(token.rewriting);
            return Some((token.len, token.len));
        }
        if file.starts_with(token.plain) {
            proofs.rewritten.insert(token.rewriting);
            return Some((token.len, token.plain.len()));
        }
        // Opening and closing quotes that were confused prove nothing.
        let other = in_file.filter(|other| other.rewriting == token.rewriting)?;
        return Some((token.len, other.len));
    }
    if let Some(token) = in_file {
        return patch.starts_with(token.plain).then_some((token.plain.len(), token.len));
    }
    let spaces = |text: &str| text.len() - text.trim_start_matches(is_blank).len();
    match (spaces(patch), spaces(file)) {
        (0, 0) => {
            let (ours, theirs) = (patch.chars().next()?, file.chars().next()?);
            (ours == theirs).then_some((ours.len_utf8(), theirs.len_utf8()))
        }
        (0, _) | (_, 0) => None,
        (ours, theirs) => Some((ours, theirs)),
    }
}

/// Only typography is looked through in the file: an entity in it means what it says.
fn is_typography(rewriting: Rewriting) -> bool {
    !matches!(rewriting, Rewriting::Entities | Rewriting::EntityQuotes | Rewriting::Backslashes)
}
