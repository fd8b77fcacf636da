//! Fourth stage: from placed hunks to the bytes to write, all or nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::explain;
use super::place::{Spot, Text, bare, place};
use super::{Action, FilePatch, How, Hunk, Kind, Original, Patch, Placement, Plan, Rejection, Write};

/// Works out what a patch makes of the files it names.
///
/// `originals` must have an entry for every path of [`Patch::paths`]. Nothing is planned if anything is rejected.
pub fn plan(patch: &Patch, originals: &BTreeMap<String, Original>) -> Result<Plan, Vec<Rejection>> {
    let mut planner = Planner { originals, deletes: Vec::new(), puts: Vec::new(), placements: Vec::new() };
    let mut rejections = Vec::new();
    for file in &patch.files {
        if let Err(mut reasons) = planner.file(file) {
            rejections.append(&mut reasons);
        }
    }
    planner.check_directories(&mut rejections);
    if rejections.is_empty() && planner.deletes.is_empty() && planner.puts.is_empty() {
        let reason =
            "The patch changes nothing: every file it names is already as it says. Give the lines to change.";
        rejections.push(Rejection::of_patch(reason));
    }
    if !rejections.is_empty() {
        return Err(rejections);
    }
    let mut writes = planner.deletes;
    writes.append(&mut planner.puts);
    Ok(Plan { writes, placements: planner.placements })
}

/// How many misplaced hunks of one file are explained with the file's lines.
const EXPLAINED: usize = 8;

struct Planner<'a> {
    originals: &'a BTreeMap<String, Original>,
    deletes: Vec<Write>,
    puts: Vec<Write>,
    placements: Vec<Placement>,
}

impl<'a> Planner<'a> {
    fn file(&mut self, file: &FilePatch) -> Result<(), Vec<Rejection>> {
        match &file.action {
            Action::Create { path } => self.create(path, file).map_err(|reason| vec![reason]),
            Action::Delete { path } => self.delete(path, file).map_err(|reason| vec![reason]),
            Action::Edit { path } => self.edit(path, path, file),
            Action::Rename { from, to } => {
                self.absent(to).map_err(|reason| vec![reason])?;
                self.edit(from, to, file)?;
                self.deletes.push(Write::Delete { path: from.clone() });
                Ok(())
            }
        }
    }

    fn create(&mut self, path: &str, file: &FilePatch) -> Result<(), Rejection> {
        let bytes = created(path, file)?;
        if let Some(Original::File { bytes: there, .. }) =
            self.originals.get(path).filter(|_| !bytes.is_empty())
            && *there == bytes
        {
            let reason =
                "The patch creates this file, but it is already there with this content. Leave it out.";
            return Err(Rejection::of_file(path, reason));
        }
        self.absent(path)?;
        if !bytes.is_empty() {
            let place = Placement {
                path: path.to_owned(),
                hunk: 1,
                line: 1,
                how: How::AtNumber,
                endings_kept: false,
            };
            self.placements.push(place);
        }
        self.put(path, bytes, file.executable.unwrap_or(false));
        Ok(())
    }

    fn delete(&mut self, path: &str, file: &FilePatch) -> Result<(), Rejection> {
        let (bytes, _) = self.existing(path)?;
        let text = Text::new(bytes);
        let lines = || file.hunks.iter().flat_map(|hunk| &hunk.lines);
        if lines().any(|line| line.kind != Kind::Deleted) {
            let reason = "The patch deletes this file but keeps or adds lines. Delete all its lines, or do not delete it.";
            return Err(Rejection::of_file(path, reason));
        }
        let same =
            lines().map(|line| bare(line.text.as_bytes())).eq(text.lines.iter().map(|line| bare(line)));
        if !same {
            let whole = Hunk { old_start: Some(1), new_start: Some(0), lines: lines().cloned().collect() };
            let detail = if whole.lines.is_empty() {
                format!(
                    "It has {} lines. To delete it, give all of them with `-` before each.",
                    text.lines.len()
                )
            } else if whole.lines.len() < text.lines.len() && place(&whole, &text).is_ok() {
                format!(
                    "It has {} lines, and the patch deletes only {}.",
                    text.lines.len(),
                    whole.lines.len()
                )
            } else {
                explain::nowhere(&whole, &text)
            };
            let reason = format!("The patch deletes this file, but its content is another. {detail}");
            return Err(Rejection::of_file(path, reason));
        }
        self.deletes.push(Write::Delete { path: path.to_owned() });
        Ok(())
    }

    fn edit(&mut self, from: &str, to: &str, file: &FilePatch) -> Result<(), Vec<Rejection>> {
        let (bytes, executable) = self.existing(from).map_err(|reason| vec![reason])?;
        let text = Text::new(bytes);
        let spots = spots(from, &file.hunks, &text)?;
        let new = assemble(&file.hunks, &spots, &text);
        let (mut added, mut deleted) = (0, 0);
        for ((number, hunk), spot) in (1..).zip(&file.hunks).zip(&spots) {
            self.placements.push(Placement {
                path: to.to_owned(),
                hunk: number,
                line: (spot.start + 1 + added).saturating_sub(deleted),
                how: spot.how,
                endings_kept: !spot.exact,
            });
            added += hunk.count(Kind::Added);
            deleted += hunk.count(Kind::Deleted);
        }
        let wanted = file.executable.unwrap_or(executable);
        if from != to || new != bytes || wanted != executable {
            self.put(to, new, wanted);
        }
        Ok(())
    }

    fn put(&mut self, path: &str, bytes: Vec<u8>, executable: bool) {
        self.puts.push(Write::Put { path: path.to_owned(), bytes, executable });
    }

    fn original(&self, path: &str) -> Result<&'a Original, Rejection> {
        match self.originals.get(path) {
            Some(Original::Other(obstacle)) => {
                let reason = format!("This path cannot be patched: {obstacle}. Work on regular files only.");
                Err(Rejection::of_file(path, reason))
            }
            Some(original @ (Original::Absent | Original::File { .. })) => Ok(original),
            None => {
                Err(Rejection::of_file(path, "The file was not read before the patch was held against it."))
            }
        }
    }

    fn existing(&self, path: &str) -> Result<(&'a [u8], bool), Rejection> {
        match self.original(path)? {
            Original::File { bytes, executable } => Ok((bytes, *executable)),
            Original::Absent | Original::Other(_) => {
                let reason = "The patch changes this file, but there is none. Check the path, or create the file with \
                              `--- /dev/null`.";
                Err(Rejection::of_file(path, reason))
            }
        }
    }

    fn absent(&self, path: &str) -> Result<(), Rejection> {
        match self.original(path)? {
            Original::File { bytes, .. } if !bytes.is_empty() => {
                let reason = "The patch makes a new file here, but there is one already. Edit it, or choose another path.";
                Err(Rejection::of_file(path, reason))
            }
            Original::File { .. } | Original::Absent | Original::Other(_) => Ok(()),
        }
    }

    /// Refuses a path that is a file and a directory at once.
    fn check_directories(&self, rejections: &mut Vec<Rejection>) {
        let puts: BTreeSet<&str> = self.puts.iter().filter_map(put_path).collect();
        for path in &puts {
            if let Some((dir, _)) = path.match_indices('/').find(|(at, _)| puts.contains(&path[..*at])) {
                let reason =
                    format!("The patch also makes a file of `{}`, a directory above it.", &path[..dir]);
                rejections.push(Rejection::of_file(path, reason));
            }
        }
    }
}

fn put_path(write: &Write) -> Option<&str> {
    match write {
        Write::Put { path, .. } => Some(path),
        Write::Delete { .. } => None,
    }
}

/// Returns the content of a new file.
fn created(path: &str, file: &FilePatch) -> Result<Vec<u8>, Rejection> {
    let mut bytes = Vec::new();
    for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
        if line.kind != Kind::Added {
            let reason = "The patch makes a new file here, but some of its lines have no `+` before them. Put it there.";
            return Err(Rejection::of_file(path, reason));
        }
        bytes.extend_from_slice(line.text.as_bytes());
        if line.newline {
            bytes.push(b'\n');
        }
    }
    Ok(bytes)
}

/// Places every hunk of a file, in order and without two of them dealing with the same lines.
fn spots(path: &str, hunks: &[Hunk], text: &Text<'_>) -> Result<Vec<Spot>, Vec<Rejection>> {
    let mut spots = Vec::new();
    let mut rejections = Vec::new();
    for (number, hunk) in (1..).zip(hunks) {
        match place(hunk, text) {
            Ok(spot) => spots.push(spot),
            Err(_) if rejections.len() == EXPLAINED => {
                let reason = "It does not match either. Hunks after it were not looked at.";
                rejections.push(Rejection::of_hunk(path, number, reason));
                break;
            }
            Err(why) => {
                rejections.push(Rejection::of_hunk(path, number, explain::misplaced(&why, hunk, text)))
            }
        }
    }
    if rejections.is_empty()
        && let Err((number, reason)) = check_order(hunks, &spots, text)
    {
        rejections.push(Rejection::of_hunk(path, number, reason));
    }
    if rejections.is_empty() { Ok(spots) } else { Err(rejections) }
}

/// Checks that hunks come in the file's order, share context at most, and mark only a real end of the file.
fn check_order(hunks: &[Hunk], spots: &[Spot], text: &Text<'_>) -> Result<(), (usize, String)> {
    let mut deleted: BTreeMap<usize, bool> = BTreeMap::new();
    let mut gaps: BTreeSet<usize> = BTreeSet::new();
    let mut previous = 0;
    for ((number, hunk), spot) in (1..).zip(hunks).zip(spots) {
        if spot.start < previous {
            let reason = format!(
                "It belongs to line {}, before the hunk in front of it, which belongs to line {}. Give the hunks in \
                 the order of the file.",
                spot.start + 1,
                previous + 1
            );
            return Err((number, reason));
        }
        previous = spot.start;
        let mut at = spot.start;
        let mut own_gaps = BTreeSet::new();
        for line in &hunk.lines {
            if line.kind == Kind::Added {
                own_gaps.insert(at);
                continue;
            }
            let deletes = line.kind == Kind::Deleted;
            if deleted.insert(at, deletes).is_some_and(|before| before || deletes) {
                return Err((number, twice(at + 1)));
            }
            at += 1;
        }
        if let Some(gap) = own_gaps.intersection(&gaps).next() {
            return Err((number, twice(gap + 1)));
        }
        gaps.extend(own_gaps);
        let marked = hunk.new_lines().next_back().is_some_and(|last| !last.newline);
        if marked && at != text.lines.len() {
            let reason = "It marks its last line as the end of the file, but more lines of the file follow. Leave out \
                          `\\ No newline at end of file`.";
            return Err((number, reason.to_owned()));
        }
    }
    Ok(())
}

fn twice(line: usize) -> String {
    format!("An earlier hunk already edits the file at line {line}. Give one hunk for these lines.")
}

/// Puts the new file together: context as the file has it, added lines as the patch has them.
fn assemble(hunks: &[Hunk], spots: &[Spot], text: &Text<'_>) -> Vec<u8> {
    let mut out = Output { bytes: Vec::new(), text };
    let mut at = 0;
    for (hunk, spot) in hunks.iter().zip(spots) {
        let mut cursor = spot.start;
        for line in &hunk.lines {
            match line.kind {
                Kind::Context => cursor += 1,
                Kind::Deleted => {
                    out.keep(at..cursor);
                    cursor += 1;
                    at = cursor;
                }
                Kind::Added => {
                    out.keep(at..cursor);
                    at = at.max(cursor);
                    out.add(line, spot.exact, cursor);
                }
            }
        }
        if cursor == text.lines.len() && ends_unterminated(hunk, text) {
            out.unterminate(spot.exact);
        }
    }
    out.keep(at..text.lines.len());
    out.bytes
}

/// Tells whether a hunk that reaches the end of the file, and ends with added lines, ends it without a line feed.
///
/// A patch that does not mark a missing line feed of the old file leaves it missing; one that marks a line feed as
/// missing on both sides although it is there is wrong on both.
fn ends_unterminated(hunk: &Hunk, text: &Text<'_>) -> bool {
    let Some(last) = hunk.new_lines().next_back().filter(|last| last.kind == Kind::Added) else {
        return false;
    };
    let marked = hunk.old_lines().next_back().is_some_and(|old| !old.newline);
    match (marked, last.newline) {
        (true, false) => !text.is_terminated(),
        (false, false) => true,
        (true, true) => false,
        (false, true) => !text.is_terminated(),
    }
}

struct Output<'a, 'b> {
    bytes: Vec<u8>,
    text: &'b Text<'a>,
}

impl Output<'_, '_> {
    /// Takes lines over from the old file.
    fn keep(&mut self, lines: std::ops::Range<usize>) {
        for line in self.text.lines.get(lines).into_iter().flatten() {
            self.terminate();
            self.bytes.extend_from_slice(line);
        }
    }

    /// Adds a line of the patch before old line `at`.
    fn add(&mut self, line: &super::Line, exact: bool, at: usize) {
        self.terminate();
        if exact {
            self.bytes.extend_from_slice(line.text.as_bytes());
            self.bytes.push(b'\n');
        } else {
            self.bytes.extend_from_slice(bare(line.text.as_bytes()));
            self.bytes.extend_from_slice(self.text.ending(at));
        }
    }

    /// Takes the line feed of the last line away, and the carriage return too unless it is the patch's.
    fn unterminate(&mut self, exact: bool) {
        let end = if exact { self.bytes.len().saturating_sub(1) } else { bare(&self.bytes).len() };
        self.bytes.truncate(end);
    }

    /// Ends the line that was the last of the old file, if it lacks a line feed and is not the last any more.
    fn terminate(&mut self) {
        if self.bytes.last().is_some_and(|last| *last != b'\n') {
            self.bytes.extend_from_slice(self.text.ending(0));
        }
    }
}
