//! Second stage: from lines to a [`Patch`].
//!
//! A hunk's body can be read in several ways. The counts in its header win where they fit and nothing is left over
//! that looks like more of the hunk; otherwise it goes on to the next header or fence. Lines without a sign may be
//! context that lost its space, or somebody's words after the patch. All readings that drop no changed line are kept:
//! the file decides between them.

mod blocks;
mod header;

use std::collections::{BTreeMap, BTreeSet};

use super::unwrap::{is_fence, lines, unpack};
use super::{Action, FilePatch, Hunk, Kind, Line, Patch, Rejection};
use crate::gate::paths::check_path;
use blocks::{Content, starts_block, starts_whole_file};
use header::{Header, HunkHeader, is_frame, is_plain_header, starts_git_section, starts_section};

const EXPECTED: &str = "The text holds no patch. Give a unified diff with a file header for each file: `--- a/PATH`, \
    `+++ b/PATH` (or `/dev/null` for a file that is created or deleted), then hunks that start with `@@ ... @@`. Or give \
    SEARCH/REPLACE blocks, each after a line with its file's path.";

pub(super) fn read(text: &str) -> Result<Patch, Vec<Rejection>> {
    if let Some(at) = text.find('\0') {
        let line = text[..at].matches('\n').count() + 1;
        let reason =
            format!("Line {line} of the patch holds a NUL character. Only text files can be patched.");
        return Err(vec![Rejection::of_patch(reason)]);
    }
    let text = unpack(text);
    if text.contains('\0') {
        let reason = "The patch holds a NUL character. Only text files can be patched.";
        return Err(vec![Rejection::of_patch(reason)]);
    }
    let mut reader = Reader {
        lines: lines(&text),
        at: 0,
        files: Vec::new(),
        known: BTreeMap::new(),
        rejections: Vec::new(),
        fenced: false,
        changes_follow: Vec::new(),
        block_path: None,
        closing: BTreeSet::new(),
    };
    reader.look_around();
    reader.sections();
    if reader.files.is_empty() && reader.rejections.is_empty() {
        reader.rejections.push(Rejection::of_patch(EXPECTED));
    }
    // Who forgets the space before one context line forgets it before others.
    if reader.files.iter().flat_map(|file| &file.hunks).any(|hunk| hunk.lost_signs) {
        reader.files.iter_mut().flat_map(|file| &mut file.hunks).for_each(|hunk| hunk.lost_signs = true);
    }
    if reader.rejections.is_empty() { Ok(Patch { files: reader.files }) } else { Err(reader.rejections) }
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
    files: Vec<FilePatch>,
    /// Which section deals with a path.
    known: BTreeMap<String, usize>,
    rejections: Vec<Rejection>,
    /// Whether a code fence stands before the patch.
    fenced: bool,
    /// For each line whether something after it looks like a change.
    changes_follow: Vec<bool>,
    /// The file of the latest block.
    block_path: Option<String>,
    /// The ends of tags that stand around the patch, such as `</patch>`.
    closing: BTreeSet<String>,
}

/// What a hunk's lines may be, and the number of the line after them.
struct Body {
    readings: Vec<Vec<Line>>,
    /// Whether there are lines without any sign.
    lost_signs: bool,
    end: usize,
}

impl Reader<'_> {
    /// Notes what stands around the patch.
    fn look_around(&mut self) {
        let first = (0..self.lines.len()).find(|at| starts_section(&self.lines, *at)).unwrap_or_default();
        self.closing = closing_tags(&self.lines[..first]);
        self.fenced = self.lines[..first].iter().any(|line| is_fence(line));
        let mut follow = false;
        let mut changes_follow: Vec<bool> = (0..self.lines.len())
            .rev()
            .map(|at| {
                let after = follow;
                follow |= looks_changed(self.lines[at]);
                after
            })
            .collect();
        changes_follow.reverse();
        self.changes_follow = changes_follow;
    }

    /// Reads every section; what stands between sections is somebody's prose.
    fn sections(&mut self) {
        while let Some(line) = self.lines.get(self.at) {
            if starts_block(line) {
                self.block();
            } else if starts_whole_file(line) {
                self.whole_file();
            } else if let Some(reason) = stray(line) {
                let reason = format!("Line {} of the patch: {reason}", self.at + 1);
                self.rejections.push(Rejection::of_patch(reason));
                self.at += 1;
            } else if HunkHeader::read(line).is_some() {
                self.rejections.push(Rejection::of_patch(format!(
                    "Line {} of the patch starts a hunk, but no file header stands before it. Put `--- a/PATH` and \
                     `+++ b/PATH` there.",
                    self.at + 1
                )));
                self.at += 1;
            } else if is_frame(line) {
                self.at += 1;
            } else if starts_section(&self.lines, self.at) {
                self.section();
            } else {
                self.at += 1;
            }
        }
    }

    /// Reads a SEARCH/REPLACE block.
    fn block(&mut self) {
        let read = blocks::block(&self.lines, self.at);
        let number = self.at + 1;
        self.at = read.as_ref().map_or(number, |block| block.end);
        let block = match read {
            Ok(block) => block,
            Err(reason) => return self.rejections.push(Rejection::of_patch(reason)),
        };
        let path = match block.path {
            Ok(path) => path.or_else(|| self.block_path.clone()),
            Err(reason) => return self.rejections.push(Rejection::of_patch(reason)),
        };
        let Some(path) = path else {
            return self.rejections.push(Rejection::of_patch(format!(
                "No path stands before the block at line {number} of the patch. Put the file's path on a line of its own \
                 there."
            )));
        };
        if let Err(error) = check_path(&path) {
            return self.rejections.push(Rejection::of_patch(error.to_string()));
        }
        self.block_path = Some(path.clone());
        let (action, hunk) = match block.content {
            Content::Hunk(hunk) => (Action::Edit { path }, hunk),
            Content::NewFile(hunk) => (Action::Create { path }, hunk),
        };
        self.file(Header { action, executable: None }, vec![hunk]);
    }

    fn whole_file(&mut self) {
        let read = blocks::whole_file(&self.lines, self.at);
        self.at = read.as_ref().map_or(self.at + 1, |file| file.end);
        let file = match read {
            Ok(file) => file,
            Err(reason) => return self.rejections.push(Rejection::of_patch(reason)),
        };
        if let Err(error) = check_path(&file.path) {
            return self.rejections.push(Rejection::of_patch(error.to_string()));
        }
        let hunk = Hunk { readings: vec![file.lines], ..Hunk::default() };
        self.file(Header { action: Action::Replace { path: file.path }, executable: None }, vec![hunk]);
    }

    fn section(&mut self) {
        let (header, after) = match Header::read(&self.lines, self.at) {
            Ok(read) => read,
            Err(reason) => {
                let line = self.at + 1;
                self.rejections.push(Rejection::of_patch(format!("Line {line} of the patch: {reason}")));
                self.skip_header();
                self.skip_section();
                return;
            }
        };
        self.at = after;
        let path = header.name().to_owned();
        for path in header.action.paths() {
            if let Err(error) = check_path(path) {
                self.rejections.push(Rejection::of_patch(error.to_string()));
                return self.skip_section();
            }
        }
        match self.hunks() {
            Ok(hunks) if hunks.is_empty() && self.lacks_hunks(&header) => {
                let reason = "It has a header but no hunk. Give its changes in hunks that start with `@@`.";
                self.rejections.push(Rejection::of_file(&path, reason));
                self.skip_section();
            }
            Ok(hunks) => self.file(header, hunks),
            Err((hunk, reason)) => {
                self.rejections.push(Rejection::of_hunk(&path, hunk, reason));
                self.skip_section();
            }
        }
    }

    /// Tells whether a section without hunks must have some: it changes nothing else, or lines without `@@` follow.
    fn lacks_hunks(&self, header: &Header) -> bool {
        let nothing_else = matches!(header.action, Action::Edit { .. }) && header.executable.is_none();
        nothing_else || self.leftover(self.at, false).is_some()
    }

    /// Goes on behind git's lines of a header that cannot be read.
    fn skip_header(&mut self) {
        self.at += 1;
        while starts_git_section(&self.lines, self.at) && !self.lines[self.at].starts_with("diff --git ") {
            self.at += 1;
        }
    }

    /// Goes on to the next file header, so that one bad section does not hide another.
    fn skip_section(&mut self) {
        while self.at < self.lines.len() && !starts_section(&self.lines, self.at) {
            self.at += 1;
        }
    }

    fn hunks(&mut self) -> Result<Vec<Hunk>, (usize, String)> {
        let mut hunks = Vec::new();
        loop {
            let blank = self.lines[self.at..].iter().take_while(|line| line.trim().is_empty()).count();
            let Some(line) = self.lines.get(self.at + blank) else { break };
            if line.starts_with("*** End of File") {
                self.at += blank + 1;
                continue;
            }
            if line.starts_with("@@@") {
                let reason =
                    "Diffs of merges (`@@@`) cannot be applied. Give a diff against one version of the file.";
                return Err((hunks.len() + 1, reason.to_owned()));
            }
            // Some leave `@@` out before the only hunk.
            let bare = hunks.is_empty() && (line.starts_with(' ') || looks_changed(line));
            let header = match HunkHeader::read(line) {
                Some(header) => header,
                None if bare => HunkHeader::default(),
                None => break,
            };
            let start = self.at + blank + usize::from(line.starts_with("@@"));
            if header.old_start.is_none() && self.lines.get(start).is_some_and(|next| next.starts_with("@@"))
            {
                // One heading within another: the inner one is the nearer.
                self.at = start;
                continue;
            }
            let body = self.body(start, &header).map_err(|reason| (hunks.len() + 1, reason))?;
            self.at = body.end;
            let mut readings = body.readings;
            readings.iter_mut().for_each(|lines| drop_wrong_marks(lines));
            let counts = header.old_count.zip(header.new_count);
            let HunkHeader { old_start, new_start, heading, .. } = header;
            hunks.push(Hunk { old_start, new_start, counts, heading, lost_signs: body.lost_signs, readings });
        }
        Ok(hunks)
    }

    fn body(&self, start: usize, header: &HunkHeader) -> Result<Body, String> {
        let counted = self.counted(start, header).filter(|(_, end)| self.leftover(*end, true).is_none());
        let Some((lines, end)) = counted else { return self.signed(start) };
        let readings = with_other(lines, unsigned(&self.lines[start..end]));
        if self.is_end(end) || self.is_signature(end) {
            return Ok(Body { readings, lost_signs: false, end });
        }
        // Too small a count may fit by chance; but after an empty line there may be somebody's words.
        let mut body = self.signed(start)?;
        if self.lines[end].is_empty() {
            body.readings.extend(readings);
        }
        Ok(body)
    }

    /// Tells whether a body may end here: nothing that looks like a line of it comes before the next header.
    fn is_end(&self, at: usize) -> bool {
        let blank = self.lines[at..].iter().take_while(|line| line.trim().is_empty()).count();
        let next = self.lines.get(at + blank).copied().unwrap_or_default();
        next.is_empty()
            || self.is_boundary(at + blank)
            || !is_body(next)
            || blank > 0 && !next.starts_with(' ')
    }

    /// Reads as many lines as the header says; `None` if the header does not say or is wrong.
    fn counted(&self, start: usize, header: &HunkHeader) -> Option<(Vec<Line>, usize)> {
        let (mut old, mut new) = (header.old_count?, header.new_count?);
        if old == 0 && new == 0 {
            return None;
        }
        let mut lines: Vec<Line> = Vec::new();
        let mut at = start;
        while old > 0 || new > 0 {
            let text = self.lines.get(at)?;
            if self.is_whole_header(at) {
                return None;
            }
            if text.starts_with('\\') {
                lines.last_mut()?.newline = false;
            } else {
                let line = body_line(text)?;
                if line.kind != Kind::Added {
                    old = old.checked_sub(1)?;
                }
                if line.kind != Kind::Deleted {
                    new = new.checked_sub(1)?;
                }
                lines.push(line);
            }
            at += 1;
        }
        if self.lines.get(at).is_some_and(|line| line.starts_with("\\ ")) {
            lines.last_mut()?.newline = false;
            at += 1;
        }
        Some((lines, at))
    }

    /// Reads lines up to the next header or fence.
    fn signed(&self, start: usize) -> Result<Body, String> {
        let mut end = start;
        while end < self.lines.len() && !self.is_boundary(end) && !self.is_signature(end) {
            let next = self.lines.get(end + 1).copied().unwrap_or_default();
            if self.lines[end].starts_with("--- ") && next.starts_with("@@") {
                return Err(format!(
                    "The counts in the header do not fit, and line {} of the patch may be a deleted line or the \
                     header of another file. Correct the counts.",
                    end + 1
                ));
            }
            end += 1;
        }
        if !self.is_signature(end)
            && let Some(at) = self.leftover(end, true)
        {
            return Err(format!(
                "The hunk ends before line {} of the patch, but line {} looks like another part of it: `{}`. Correct \
                 the counts, and leave no line of a hunk without ` `, `-` or `+` before it.",
                end + 1,
                at + 1,
                shorten(self.lines[at])
            ));
        }
        let body = &self.lines[start..end];
        // Empty lines after the last sign may stand between the hunk and what follows.
        let trimmed =
            |lines: usize| body[..lines].iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
        let whole = trimmed(body.len());
        if whole == 0 {
            return Err("The hunk is empty. Give its lines, each with ` `, `-` or `+` before it.".to_owned());
        }
        let mut ends = Vec::new();
        // Words after an empty line are not the hunk's, if nothing in them looks like a change.
        let words =
            (0..whole).find(|at| !is_body(body[*at])).filter(|at| *at > 0 && body[*at - 1].is_empty());
        let changed = |at: usize| body[at..].iter().any(|line| looks_changed(line));
        ends.extend(words.filter(|at| !changed(*at)).map(trimmed));
        ends.extend([whole, body.len()]);
        ends.dedup();
        let lost_signs = ends.first().is_some_and(|end| body[..*end].iter().any(|line| !is_body(line)));
        let mut readings: Vec<Vec<Line>> = Vec::new();
        for end in ends.into_iter().filter(|end| *end > 0) {
            let lines = body_lines(&body[..end], false)?;
            readings.extend(with_other(lines, unsigned(&body[..end])));
        }
        Ok(Body { readings, lost_signs, end })
    }

    /// Finds a line that looks like a part of a hunk, before the next header.
    fn leftover(&self, from: usize, through_fences: bool) -> Option<usize> {
        (from..self.lines.len())
            .take_while(|at| !self.is_header(*at) && (through_fences || !self.is_fence(*at)))
            .find(|at| looks_changed(self.lines[*at]))
    }

    /// Tells whether a line can only start something else than more of a hunk.
    fn is_boundary(&self, at: usize) -> bool {
        self.is_header(at) || self.is_fence(at)
    }

    /// Tells whether another hunk or file starts here, or the patch ends.
    fn is_header(&self, at: usize) -> bool {
        let Some(line) = self.lines.get(at) else { return true };
        let hunk_follows = self.lines.get(at + 1).is_some_and(|next| next.starts_with("@@"));
        starts_git_section(&self.lines, at)
            || is_index(line)
            || line.starts_with("@@")
            || starts_block(line)
            || starts_whole_file(line)
            || self.closing.contains(line.trim_end())
            || line.starts_with("--- ")
                && is_plain_header(&self.lines, at)
                && (self.lines[at + 1].starts_with("+++ ") || is_prefixed(line, "--- a/"))
            || hunk_follows && is_prefixed(line, "+++ b/")
    }

    /// Tells whether all three lines of a header as git writes it stand here, whatever the counts say.
    fn is_whole_header(&self, at: usize) -> bool {
        let named = |at: usize, sign: &str| {
            let name = self.lines.get(at).and_then(|line| line.strip_prefix(sign)).unwrap_or_default();
            name.starts_with(['a', 'b']) && name.get(1..2) == Some("/") || name.starts_with("/dev/null")
        };
        named(at, "--- ")
            && named(at + 1, "+++ ")
            && self.lines.get(at + 2).is_some_and(|line| line.starts_with("@@"))
    }

    /// Tells whether a code fence ends the patch here. A file's own fence may have lost its sign: then no fence stands
    /// before the patch, and changes follow.
    fn is_fence(&self, at: usize) -> bool {
        let fence = self.lines.get(at).is_some_and(|line| is_fence(line));
        fence && (self.fenced || !self.changes_follow.get(at).copied().unwrap_or_default())
    }

    /// Tells whether the signature of a mailed patch stands here: `-- ` and git's version.
    fn is_signature(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| line.trim_end() == "--")
            && self.lines.get(at + 1).is_some_and(|line| line.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// Takes over a section, together with an earlier one that edits the same file.
    fn file(&mut self, header: Header, mut hunks: Vec<Hunk>) {
        let new_by_numbers = hunks.len() == 1
            && hunks[0].old_start == Some(0)
            && hunks[0]
                .lines()
                .iter()
                .all(|line| line.kind == Kind::Added || line.text.is_empty() && line.kind == Kind::Context);
        let action = match header.action {
            Action::Edit { path } if new_by_numbers => Action::Create { path },
            action @ (Action::Create { .. }
            | Action::Edit { .. }
            | Action::Replace { .. }
            | Action::Delete { .. }
            | Action::Rename { .. }) => action,
        };
        // A new file has no context: an empty line in it lost its sign.
        let whole = match action {
            Action::Create { .. } => Some(Kind::Added),
            Action::Delete { .. } => Some(Kind::Deleted),
            Action::Edit { .. } | Action::Replace { .. } | Action::Rename { .. } => None,
        };
        if let Some(kind) = whole {
            let empty = |line: &&mut Line| line.kind == Kind::Context && line.text.is_empty();
            let lines = hunks.iter_mut().flat_map(|hunk| &mut hunk.readings).flatten();
            lines.filter(empty).for_each(|line| line.kind = kind);
        }
        for path in action.paths() {
            let Some(earlier) = self.known.get(path).and_then(|at| self.files.get_mut(*at)) else { continue };
            if let (Action::Edit { .. }, Action::Edit { .. }, true, None) =
                (&action, &earlier.action, earlier.executable.is_none(), header.executable)
            {
                earlier.hunks.append(&mut hunks);
                return;
            }
            let reason =
                "Two sections of the patch deal with this path in different ways. Keep one section per file.";
            self.rejections.push(Rejection::of_file(path, reason));
            return;
        }
        for path in action.paths() {
            self.known.insert(path.to_owned(), self.files.len());
        }
        self.files.push(FilePatch { action, executable: header.executable, hunks });
    }
}

/// Tells whether a line names a file as git does: nobody deletes a line that says `-- a/PATH`, or adds `++ b/PATH`.
fn is_prefixed(line: &str, prefix: &str) -> bool {
    line.strip_prefix(prefix).is_some_and(|path| path.contains(['/', '.']) && !path.trim_end().contains(' '))
}

/// Tells whether a line is git's note of the versions that a section leads from and to.
fn is_index(line: &str) -> bool {
    let versions =
        line.strip_prefix("index ").and_then(|rest| rest.split_whitespace().next()?.split_once(".."));
    let is_hash = |text: &str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    versions.is_some_and(|(old, new)| is_hash(old) && is_hash(new))
}

/// Reads a line of a hunk; `None` for anything else, the mark of a missing newline included.
fn body_line(text: &str) -> Option<Line> {
    let kind = match text.as_bytes().first() {
        // Editors and mailers cut the one space that an empty context line consists of.
        Some(b' ') | None => Kind::Context,
        Some(b'-') => Kind::Deleted,
        Some(b'+') => Kind::Added,
        Some(_) if text == "\r" => {
            return Some(Line { kind: Kind::Context, text: text.to_owned(), newline: true });
        }
        Some(_) => return None,
    };
    Some(Line { kind, text: text.get(1..).unwrap_or_default().to_owned(), newline: true })
}

fn is_body(line: &str) -> bool {
    body_line(line).is_some() || line.starts_with("\\ ")
}

/// Tells whether a line after a hunk looks like a changed line rather than like prose: lists have `- ` or `+ ` before words.
fn looks_changed(line: &str) -> bool {
    let item = line.get(1..).and_then(|rest| rest.strip_prefix(' ')).is_some_and(starts_words);
    let rule = line.trim_end().len() >= 2 && line.trim_end().bytes().all(|byte| byte == b'-');
    line.starts_with(['+', '-']) && !item && !rule
}

fn starts_words(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '`' | '"' | '\'' | '('))
}

/// Says what is wrong with a line outside of all sections that can only be a part of one.
fn stray(line: &str) -> Option<&'static str> {
    let bare = line.trim();
    if bare == "</file>" {
        return Some("`</file>` ends no file. Where a file itself has such a line, give a unified diff.");
    }
    if line.starts_with("<file") && !starts_whole_file(line) {
        return Some("A whole file starts with `<file path=\"PATH\">`, and nothing else in that line.");
    }
    if line.starts_with("*** Move to: ") {
        return Some("`*** Move to:` must follow `*** Update File:` at once.");
    }
    (bare.starts_with("<<<<<") || bare.starts_with(">>>>>")).then_some(
        "It looks like a part of a block, but is none. A block is `<<<<<<< SEARCH`, lines, `=======`, lines, \
         `>>>>>>> REPLACE`, all at the start of their lines.",
    )
}

/// Reads lines of a hunk; with `raw` only `-` and `+` are signs, and everything else is context as it stands.
fn body_lines(texts: &[&str], raw: bool) -> Result<Vec<Line>, String> {
    let mut lines: Vec<Line> = Vec::new();
    for text in texts {
        let context = || Line { kind: Kind::Context, text: (*text).to_owned(), newline: true };
        match (body_line(text), lines.last_mut()) {
            (Some(line), _) if raw && line.kind == Kind::Context => lines.push(context()),
            (Some(line), _) => lines.push(line),
            (None, Some(last)) if text.starts_with("\\ ") => last.newline = false,
            (None, None) if text.starts_with("\\ ") => {
                return Err("The hunk starts with `\\`, which marks the line before it.".to_owned());
            }
            (None, _) => lines.push(context()),
        }
    }
    Ok(lines)
}

/// Reads lines of a hunk whose context may have lost the space before it.
fn unsigned(texts: &[&str]) -> Option<Vec<Line>> {
    texts.iter().any(|text| text.starts_with(' ')).then(|| body_lines(texts, true).ok()).flatten()
}

fn with_other(lines: Vec<Line>, other: Option<Vec<Line>>) -> Vec<Vec<Line>> {
    std::iter::once(lines).chain(other).collect()
}

/// A mark of a missing newline is only possible on the last old and on the last new line; elsewhere it is a slip.
///
/// Context between added lines may be an added line that lost its sign, so it is not the last old line for sure.
fn drop_wrong_marks(lines: &mut [Line]) {
    let added = |line: &Line| line.kind == Kind::Added;
    let last_added = lines.iter().rposition(added).unwrap_or_default();
    let last_deleted = lines.iter().rposition(|line| line.kind == Kind::Deleted);
    let doubtful =
        last_deleted.filter(|at| lines.get(at + 1).is_some_and(added) && last_added + 1 == lines.len());
    for skip in [Kind::Added, Kind::Deleted] {
        let side = lines.iter_mut().enumerate().filter(|(_, line)| line.kind != skip).rev();
        let wrong = side.skip(1).filter(|(at, _)| skip == Kind::Deleted || Some(*at) != doubtful);
        wrong.for_each(|(_, line)| line.newline = true);
    }
}

/// Finds the ends of the tags that are opened on lines of their own.
fn closing_tags(lines: &[&str]) -> BTreeSet<String> {
    let name = |line: &str| {
        let name = line.trim().strip_prefix('<')?.strip_suffix('>')?.split(' ').next()?.to_owned();
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)).then_some(name)
    };
    lines.iter().filter_map(|line| Some(format!("</{}>", name(line)?))).collect()
}

/// Shows the start of a line without anything that could not be printed.
pub(super) fn shorten(line: &str) -> String {
    const SHOWN: usize = 160;
    let mut shown: String =
        line.chars().take(SHOWN).map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect();
    if line.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
