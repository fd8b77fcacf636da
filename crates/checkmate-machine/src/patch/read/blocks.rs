//! Two more forms that models write well: SEARCH/REPLACE blocks and whole files.
//!
//! A block becomes a hunk: the lines that both sides share are context, so that they stay as the file has them. A whole
//! file is held against the file that is there when it is placed.

use similar::{Algorithm, ChangeTag, capture_diff_slices};

use super::super::unwrap::is_fence;
use super::super::{Hunk, Kind, Line};
use super::shorten;

/// A block, and the number of the line after it.
pub(super) struct Block {
    /// The path before the block; `None` if it goes on with the file of the block before; else a sentence.
    pub(super) path: Result<Option<String>, String>,
    /// No hunk at all if the SEARCH part is empty: then these lines fill a file.
    pub(super) content: Content,
    pub(super) end: usize,
}

pub(super) enum Content {
    Hunk(Hunk),
    NewFile(Hunk),
}

/// A file with all its lines, and the number of the line after it.
pub(super) struct WholeFile {
    pub(super) path: String,
    pub(super) lines: Vec<Line>,
    pub(super) end: usize,
}

/// Tells whether a SEARCH/REPLACE block starts here.
pub(super) fn starts_block(line: &str) -> bool {
    marks(line, '<', "SEARCH") || marks(line, '-', "SEARCH")
}

/// Tells whether a whole file starts here: `<file path="PATH">`.
pub(super) fn starts_whole_file(line: &str) -> bool {
    file_tag(line).is_some()
}

/// Tells whether a line is a run of one sign, five or more, and then a word.
fn marks(line: &str, sign: char, word: &str) -> bool {
    let rest = line.trim_end().trim_start_matches(sign);
    line.trim_end().len() - rest.len() >= 5 && rest.trim() == word
}

fn divides(line: &str) -> bool {
    marks(line, '=', "")
}

fn ends(line: &str) -> bool {
    marks(line, '>', "REPLACE") || marks(line, '+', "REPLACE")
}

fn file_tag(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("<file ")?.trim_start().strip_prefix("path=")?;
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let (path, end) = rest.get(1..)?.split_once(quote)?;
    (end.trim() == ">").then_some(path)
}

/// Reads the block that starts at a line; the error is a sentence.
pub(super) fn block(lines: &[&str], start: usize) -> Result<Block, String> {
    let number = start + 1;
    let after = |from: usize, found: fn(&str) -> bool| {
        let within = lines.iter().enumerate().skip(from).take_while(|(_, line)| !starts_block(line));
        within.filter(|(_, line)| found(line)).map(|(at, _)| at).collect::<Vec<_>>()
    };
    let Some(end) = after(start + 1, ends).first().copied() else {
        return Err(format!(
            "The block that starts at line {number} of the patch has no end. Put `>>>>>>> REPLACE` on a line of its own \
             after it."
        ));
    };
    let dividers: Vec<usize> = after(start + 1, divides).into_iter().filter(|at| *at < end).collect();
    let [middle] = dividers.as_slice() else {
        return Err(format!(
            "The block that starts at line {number} of the patch has {} lines of `=======`. Put one between what is \
             searched and what takes its place; where the file has such lines itself, give a unified diff.",
            dividers.len()
        ));
    };
    let (search, replace) = (&lines[start + 1..*middle], &lines[middle + 1..end]);
    let content = if search.iter().all(|line| line.trim().is_empty()) {
        Content::NewFile(Hunk {
            readings: vec![replace.iter().map(|line| added(line)).collect()],
            ..Hunk::default()
        })
    } else {
        Content::Hunk(Hunk { readings: vec![difference(search, replace)], ..Hunk::default() })
    };
    Ok(Block { path: path_before(lines, start), content, end: end + 1 })
}

/// Reads the file that starts at a line; the error is a sentence.
pub(super) fn whole_file(lines: &[&str], start: usize) -> Result<WholeFile, String> {
    let path = file_tag(lines[start]).unwrap_or_default().to_owned();
    let is_end = |at: &usize| lines[*at].trim_end() == "</file>";
    let end = (start + 1..lines.len()).find(|at| is_end(at) || starts_whole_file(lines[*at]));
    let Some(end) = end.filter(is_end) else {
        return Err(format!(
            "The file that starts at line {} of the patch has no end. Put `</file>` on a line of its own after its last \
             line.",
            start + 1
        ));
    };
    let mut content = &lines[start + 1..end];
    if let [first, inner @ .., last] = content
        && is_fence(first)
        && last.trim_end() == "```"
    {
        content = inner;
    }
    Ok(WholeFile { path, lines: content.iter().map(|line| added(line)).collect(), end: end + 1 })
}

fn added(text: &str) -> Line {
    Line { kind: Kind::Added, text: text.to_owned(), newline: true }
}

/// The lines of a block as those of a hunk.
fn difference(search: &[&str], replace: &[&str]) -> Vec<Line> {
    let line = |kind: Kind, text: &str| Line { kind, text: text.to_owned(), newline: true };
    let operations = capture_diff_slices(Algorithm::Myers, search, replace);
    let changes = operations.iter().flat_map(|operation| operation.iter_changes(search, replace));
    changes
        .map(|change| match change.tag() {
            ChangeTag::Equal => line(Kind::Context, change.value()),
            ChangeTag::Delete => line(Kind::Deleted, change.value()),
            ChangeTag::Insert => line(Kind::Added, change.value()),
        })
        .collect()
}

/// Finds the path of a block on the line before it: alone there, perhaps with a fence between.
fn path_before(lines: &[&str], start: usize) -> Result<Option<String>, String> {
    let line = lines[..start].iter().rev().find(|line| !line.trim().is_empty() && !is_fence(line));
    let Some(line) = line.filter(|line| !ends(line)) else { return Ok(None) };
    let bare = line.trim().trim_start_matches('#').trim().trim_matches('*').trim();
    let label = ["File:", "file:", "Path:", "path:"].iter().find_map(|label| bare.strip_prefix(label));
    let bare = label.unwrap_or(bare).trim().trim_matches('*').trim();
    let quoted = ['`', '"'].iter().find_map(|quote| bare.strip_prefix(*quote)?.strip_suffix(*quote));
    let path = quoted.unwrap_or(bare);
    let path = path.strip_suffix(':').unwrap_or(path);
    let path = path.strip_prefix("./").unwrap_or(path);
    // A single word may be a path, but one before a colon is rather somebody's.
    let named = path.contains(['/', '.']) || quoted.is_some() || label.is_some() || !bare.ends_with(':');
    if !path.is_empty() && named && (quoted.is_some() || !path.contains(' ')) {
        return Ok(Some(path.to_owned()));
    }
    Err(format!(
        "Before the block at line {} of the patch stands `{}`, which is no path. Put the file's path alone on the line \
         before each block.",
        start + 1,
        shorten(line)
    ))
}
