//! Third stage: where in the old file a hunk belongs.
//!
//! Placement is exact, but for what a patch cannot be expected to know: a carriage return before a line feed, and
//! whether the last line of the file has a line feed at all.

use memchr::memmem;

use super::{How, Hunk, Kind, Line};

/// A file as lines, and as one text for searching.
pub(super) struct Text<'a> {
    /// The lines with their endings.
    pub(super) lines: Vec<&'a [u8]>,
    /// A line feed, then every line without its ending but with a line feed.
    search: Vec<u8>,
    /// Where each line starts in `search`, and where the text ends.
    starts: Vec<usize>,
}

/// A hunk's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    /// The first old line, from 0.
    pub(super) start: usize,
    pub(super) how: How,
    /// Whether every old line stands there byte for byte, its ending included.
    pub(super) exact: bool,
}

/// Why a hunk has no place. Lines count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// Its old lines are not in the file.
    Nowhere,
    /// Its old lines are not there, or their successor is there already.
    Applied(usize),
    /// Its old lines stand here and there, and its number is none of these.
    Several(Vec<usize>),
    /// It has no old lines.
    NoContext,
}

/// How many places a rejection lists.
const LISTED: usize = 10;

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let mut search = vec![b'\n'];
        let mut starts = vec![1];
        for line in &lines {
            search.extend_from_slice(bare(line));
            search.push(b'\n');
            starts.push(search.len());
        }
        Self { lines, search, starts }
    }

    /// Tells whether the last line has a line feed; an empty file lacks none.
    pub(super) fn is_terminated(&self) -> bool {
        self.lines.last().is_none_or(|line| line.ends_with(b"\n"))
    }

    /// Returns the ending that a line put in before line `at` gets: that of its neighbour.
    pub(super) fn ending(&self, at: usize) -> &'static [u8] {
        let near = [at.checked_sub(1), Some(at), Some(0)];
        let line =
            near.into_iter().flatten().filter_map(|at| self.lines.get(at)).find(|line| line.ends_with(b"\n"));
        if line.is_some_and(|line| line.ends_with(b"\r\n")) { b"\r\n" } else { b"\n" }
    }

    fn stands_at(&self, wanted: &Wanted, line: usize) -> bool {
        let Some(start) = self.starts.get(line) else { return false };
        let fits = self.search.get(start - 1..).is_some_and(|text| text.starts_with(&wanted.search));
        fits && (!wanted.at_end || start - 1 + wanted.search.len() == self.search.len())
    }

    /// Finds places from the top, at most a few more than a rejection lists.
    fn places(&self, wanted: &Wanted) -> Vec<usize> {
        let finder = memmem::Finder::new(&wanted.search);
        let mut found = Vec::new();
        let mut from = 0;
        if wanted.at_end {
            from = self.search.len().saturating_sub(wanted.search.len());
        }
        while let Some(at) = self.search.get(from..).and_then(|text| finder.find(text)) {
            // What was found starts with the line feed before its first line, so it starts where a line starts.
            let start = from + at + 1;
            found.push(self.starts.partition_point(|known| *known < start));
            if found.len() > LISTED {
                break;
            }
            from = start;
        }
        found
    }

    fn is_exact(&self, hunk: &Hunk, start: usize) -> bool {
        hunk.old_lines().zip(self.lines.iter().skip(start)).all(|(line, real)| {
            match real.strip_suffix(b"\n") {
                Some(real) => line.newline && real == line.text.as_bytes(),
                None => !line.newline && *real == line.text.as_bytes(),
            }
        })
    }
}

/// Lines to look for, in the form of [`Text::search`].
struct Wanted {
    search: Vec<u8>,
    /// Whether nothing may come after them.
    at_end: bool,
}

impl Wanted {
    fn new<'l>(lines: impl DoubleEndedIterator<Item = &'l Line> + Clone) -> Self {
        let mut search = vec![b'\n'];
        for line in lines.clone() {
            search.extend_from_slice(bare(line.text.as_bytes()));
            search.push(b'\n');
        }
        Self { search, at_end: lines.last().is_some_and(|last| !last.newline) }
    }

    fn is_empty(&self) -> bool {
        self.search.len() == 1
    }
}

/// Takes a line's ending away.
pub(super) fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Finds the place of a hunk: at its number if it stands there, else its only place in the file.
pub(super) fn place(hunk: &Hunk, text: &Text<'_>) -> Result<Spot, Misplaced> {
    let old = Wanted::new(hunk.old_lines());
    let new = Wanted::new(hunk.new_lines());
    if old.is_empty() {
        let spot = Spot { start: 0, how: how(hunk, 0), exact: true };
        return if text.lines.is_empty() { Ok(spot) } else { Err(Misplaced::NoContext) };
    }
    let numbered = hunk.old_start.and_then(|number| number.checked_sub(1));
    if let Some(start) = numbered.filter(|start| text.stands_at(&old, *start)) {
        return unless_applied(hunk, text, &new, start);
    }
    let adds = hunk.count(Kind::Added) > 0;
    let applied_at = hunk.new_start.and_then(|number| number.checked_sub(1));
    if let Some(start) = applied_at.filter(|start| adds && text.stands_at(&new, *start)) {
        return Err(Misplaced::Applied(start));
    }
    match text.places(&old).as_slice() {
        [start] => unless_applied(hunk, text, &new, *start),
        [] if new.is_empty() => Err(Misplaced::Nowhere),
        [] => Err(text.places(&new).first().map_or(Misplaced::Nowhere, |start| Misplaced::Applied(*start))),
        several => Err(Misplaced::Several(several.iter().copied().take(LISTED).collect())),
    }
}

/// Accepts a place, unless the hunk only adds lines and these stand there already.
///
/// A hunk that ends with added lines still finds its old lines when it is applied for the second time, and so does
/// one that starts with them:
///
/// ```text
///  hunk    file
///   a       a      the old side, `a`, is there; but so is the new side, `a b`
///  +b       b
/// ```
fn unless_applied(hunk: &Hunk, text: &Text<'_>, new: &Wanted, start: usize) -> Result<Spot, Misplaced> {
    let added = hunk.count(Kind::Added);
    if hunk.count(Kind::Deleted) == 0 && added > 0 {
        let ends = |line: Option<&Line>| line.is_some_and(|line| line.kind == Kind::Added);
        if ends(hunk.lines.last()) && text.stands_at(new, start) {
            return Err(Misplaced::Applied(start));
        }
        let above = hunk.lines.iter().take_while(|line| line.kind == Kind::Added).count();
        if let Some(earlier) = start.checked_sub(above).filter(|at| above > 0 && text.stands_at(new, *at)) {
            return Err(Misplaced::Applied(earlier));
        }
    }
    Ok(Spot { start, how: how(hunk, start), exact: text.is_exact(hunk, start) })
}

fn how(hunk: &Hunk, start: usize) -> How {
    let Some(number) = hunk.old_start else { return How::OnlyMatch };
    // A hunk without old lines is numbered by the line before it.
    let numbered = if hunk.old_lines().next().is_some() { number as i64 - 1 } else { number as i64 };
    match (start as i64).saturating_sub(numbered) {
        0 => How::AtNumber,
        by => How::Moved(by),
    }
}
