//! Fourth stage: from placed hunks to the bytes to write, all or nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::assemble::{Placed, assemble, indents};
use super::choose::choose;
use super::compare::{Likeness, Proofs, compare};
use super::explain;
use super::indent::Indents;
use super::text::{Text, bare};
use super::{
    Action, FilePatch, Fit, Hunk, Kind, Line, Original, Patch, Placement, Plan, Rejection, Shape, Write,
    whole,
};

/// Works out what a patch makes of the files it names.
///
/// `originals` must have an entry for every path of [`Patch::paths`]. Nothing is planned if anything is rejected.
pub fn plan(patch: &Patch, originals: &BTreeMap<String, Original>) -> Result<Plan, Vec<Rejection>> {
    let hunks: usize = patch.files.iter().map(|file| file.hunks.len()).sum();
    if hunks > MOST_HUNKS {
        let reason =
            format!("The patch has {hunks} hunks; more than {MOST_HUNKS} are not taken at once. Split it.");
        return Err(vec![Rejection::of_patch(reason)]);
    }
    let mut planner = Planner::new(originals);
    let mut rejections = Vec::new();
    let mut works = Vec::new();
    for file in &patch.files {
        match planner.place(file) {
            Ok(work) => works.push(work),
            Err(mut reasons) => rejections.append(&mut reasons),
        }
    }
    // What the lines of one hunk prove about the way of the patch holds for all of it.
    let proofs = proofs(&works);
    let indents = works.iter().flat_map(Work::indents).collect();
    for work in &works {
        if let Err(reason) = planner.write(work, &proofs, &indents) {
            rejections.push(reason);
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

/// Nobody reads more hunks than these.
const MOST_HUNKS: usize = 5000;

/// How many misplaced hunks of one file are explained with the file's lines.
const EXPLAINED: usize = 8;

struct Planner<'a> {
    originals: &'a BTreeMap<String, Original>,
    deletes: Vec<Write>,
    puts: Vec<Write>,
    placements: Vec<Placement>,
}

/// A file whose hunks are placed.
enum Work<'a> {
    Create { path: &'a str, file: &'a FilePatch },
    Delete { path: &'a str },
    Edit(Box<Edit<'a>>),
}

struct Edit<'a> {
    from: &'a str,
    to: &'a str,
    file: &'a FilePatch,
    /// What stands before the text: a byte order mark, like line endings, is the file's own matter.
    mark: &'static [u8],
    text: Text<'a>,
    placed: Vec<Placed>,
}

impl Work<'_> {
    /// What the hunks prove about the indentation of the patch, if it differs from the file's.
    fn indents(&self) -> Indents {
        match self {
            Work::Edit(edit)
                if edit.placed.iter().any(|placed| placed.spot.fit.likeness == Likeness::Indentation) =>
            {
                indents(&edit.text, &edit.placed)
            }
            Work::Edit(_) | Work::Create { .. } | Work::Delete { .. } => Indents::new(),
        }
    }
}

/// Collects what all hunks prove; a patch that fits exactly was not rewritten, and nothing is to be undone.
fn proofs(works: &[Work<'_>]) -> Proofs {
    let mut proofs = Proofs::default();
    let edits = || {
        works.iter().flat_map(|work| match work {
            Work::Edit(edit) => edit.placed.iter().map(|placed| (&edit.text, &placed.spot)).collect(),
            Work::Create { .. } | Work::Delete { .. } => Vec::new(),
        })
    };
    if edits().any(|(_, spot)| spot.fit.likeness >= Likeness::Typography) {
        for (text, spot) in edits() {
            spot.prove(text, &mut proofs, &mut Indents::new());
        }
    }
    proofs
}

impl<'a> Planner<'a> {
    fn new(originals: &'a BTreeMap<String, Original>) -> Self {
        Self { originals, deletes: Vec::new(), puts: Vec::new(), placements: Vec::new() }
    }

    fn place(&self, file: &'a FilePatch) -> Result<Work<'a>, Vec<Rejection>> {
        match &file.action {
            Action::Create { path } => self.create(path, file).map_err(|reason| vec![reason]),
            Action::Delete { path } => self.delete(path, file).map_err(|reason| vec![reason]),
            Action::Edit { path } if self.is_new(path, file) => {
                self.create(path, file).map_err(|reason| vec![reason])
            }
            Action::Edit { path } => self.edit(path, path, file),
            Action::Replace { path } => self.replace(path, file).map_err(|reason| vec![reason]),
            Action::Rename { from, to } => {
                self.absent(to).map_err(|reason| vec![reason])?;
                self.edit(from, to, file)
            }
        }
    }

    /// Tells whether a section that does not say so makes a new file: it only adds lines, and there is none.
    fn is_new(&self, path: &str, file: &FilePatch) -> bool {
        let [hunk] = file.hunks.as_slice() else { return false };
        let adds = hunk.lines().iter().all(|line| line.kind == Kind::Added);
        adds && hunk.numbered().is_none() && self.originals.get(path) == Some(&Original::Absent)
    }

    fn create(&self, path: &'a str, file: &'a FilePatch) -> Result<Work<'a>, Rejection> {
        let bytes = created(path, file, &Proofs::default())?;
        if let Some(Original::File { bytes: there, .. }) = self.originals.get(path)
            && *there == bytes
        {
            let reason =
                "The patch creates this file, but it is already there with this content. Leave it out.";
            return Err(Rejection::of_file(path, reason));
        }
        self.absent(path)?;
        Ok(Work::Create { path, file })
    }

    fn delete(&self, path: &'a str, file: &'a FilePatch) -> Result<Work<'a>, Rejection> {
        let (bytes, _) = self.existing(path)?;
        let text = Text::new(bytes);
        let lines: Vec<&Line> = file.hunks.iter().flat_map(Hunk::lines).collect();
        if lines.iter().any(|line| line.kind != Kind::Deleted) {
            let reason = "The patch deletes this file but keeps or adds lines. Delete all its lines, or do not delete it.";
            return Err(Rejection::of_file(path, reason));
        }
        let same = |(at, line): (usize, &&Line)| {
            let real = text.lines.get(at).is_some_and(|real| bare(real) == bare(line.text.as_bytes()));
            real || text
                .line(at)
                .is_some_and(|real| compare(&line.text, real, &mut Proofs::default()).is_some())
        };
        if lines.len() == text.lines.len() && lines.iter().enumerate().all(same) {
            return Ok(Work::Delete { path });
        }
        let lines: Vec<Line> = lines.into_iter().cloned().collect();
        let whole = Hunk { old_start: Some(1), readings: vec![lines], ..Hunk::default() };
        let count = whole.lines().len();
        let placed = || choose(std::slice::from_ref(&whole), &text).iter().all(Result::is_ok);
        let detail = if count == 0 {
            format!("It has {} lines. To delete it, give all of them with `-` before each.", text.lines.len())
        } else if count < text.lines.len() && placed() {
            format!("It has {} lines, and the patch deletes only {count}.", text.lines.len())
        } else {
            explain::nowhere(&whole, &text)
        };
        let reason = format!("The patch deletes this file, but its content is another. {detail}");
        Err(Rejection::of_file(path, reason))
    }

    fn edit(&self, from: &'a str, to: &'a str, file: &'a FilePatch) -> Result<Work<'a>, Vec<Rejection>> {
        let (bytes, _) = self.existing(from).map_err(|reason| vec![reason])?;
        let (mark, bytes) = split_mark(bytes, file);
        let text = Text::new(bytes);
        let placed = place(from, &file.hunks, &text)?;
        Ok(Work::Edit(Box::new(Edit { from, to, file, mark, text, placed })))
    }

    /// Holds a file that is given whole against the one that is there.
    fn replace(&self, path: &'a str, file: &'a FilePatch) -> Result<Work<'a>, Rejection> {
        let bytes = match self.original(path)? {
            Original::File { bytes, .. } if !bytes.is_empty() => bytes,
            Original::File { .. } | Original::Absent | Original::Other(_) => return self.create(path, file),
        };
        let (mark, bytes) = split_mark(bytes, file);
        let text = Text::new(bytes);
        let given = file.hunks.iter().flat_map(Hunk::lines);
        let spot = whole::replacing(path, given, &text).map_err(|reason| Rejection::of_file(path, reason))?;
        let placed = vec![Placed { number: 1, spot }];
        Ok(Work::Edit(Box::new(Edit { from: path, to: path, file, mark, text, placed })))
    }

    fn write(&mut self, work: &Work<'_>, proofs: &Proofs, elsewhere: &Indents) -> Result<(), Rejection> {
        match work {
            Work::Create { path, file } => {
                let bytes = created(path, file, proofs)?;
                if !bytes.is_empty() {
                    self.placements.push(Placement {
                        path: (*path).to_owned(),
                        hunk: 1,
                        line: 1,
                        old_line: 1,
                        moved: Some(0),
                        fit: Fit { shape: Shape::Whole, likeness: Likeness::Exact },
                        endings_kept: false,
                    });
                }
                // An empty file that is filled keeps its mode.
                let before =
                    matches!(self.originals.get(*path), Some(Original::File { executable: true, .. }));
                self.put(path, bytes, file.executable.unwrap_or(before));
            }
            Work::Delete { path } => self.deletes.push(Write::Delete { path: (*path).to_owned() }),
            Work::Edit(edit) => return self.write_edit(edit, proofs, elsewhere),
        }
        Ok(())
    }

    fn write_edit(&mut self, edit: &Edit<'_>, proofs: &Proofs, elsewhere: &Indents) -> Result<(), Rejection> {
        let Edit { from, to, file, mark, text, placed } = edit;
        let new = assemble(text, placed, proofs, elsewhere)
            .map_err(|(number, reason)| Rejection::of_hunk(from, number, reason))?;
        let new = [*mark, &new].concat();
        let (bytes, executable) = self.existing(from)?;
        self.placements.append(&mut placements(to, &file.hunks, text, placed));
        let wanted = file.executable.unwrap_or(executable);
        if from != to || new != bytes || wanted != executable {
            self.put(to, new, wanted);
        }
        if from != to {
            self.deletes.push(Write::Delete { path: (*from).to_owned() });
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
            Some(Original::File { bytes, .. }) if bytes.contains(&0) => {
                let reason = "This file is binary: it holds NUL characters. Only text files can be patched.";
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

/// Splits a byte order mark off, unless the patch itself deals with it.
fn split_mark<'b>(bytes: &'b [u8], file: &FilePatch) -> (&'static [u8], &'b [u8]) {
    const MARK: &str = "\u{feff}";
    let mut lines = file.hunks.iter().flat_map(Hunk::lines);
    match bytes.strip_prefix(MARK.as_bytes()) {
        Some(rest) if !lines.any(|line| line.text.starts_with(MARK)) => (MARK.as_bytes(), rest),
        Some(_) | None => (b"", bytes),
    }
}

fn put_path(write: &Write) -> Option<&str> {
    match write {
        Write::Put { path, .. } => Some(path),
        Write::Delete { .. } => None,
    }
}

/// Returns the content of a new file.
fn created(path: &str, file: &FilePatch, proofs: &Proofs) -> Result<Vec<u8>, Rejection> {
    let mut bytes = Vec::new();
    let lines: Vec<&Line> = file.hunks.iter().flat_map(Hunk::lines).collect();
    for (number, line) in (1..).zip(&lines) {
        if line.kind != Kind::Added {
            let reason = "The patch makes a new file here, but some of its lines have no `+` before them. Put it there.";
            return Err(Rejection::of_file(path, reason));
        }
        let text = proofs.undo(&line.text).unwrap_or_else(|| line.text.as_str().into());
        bytes.extend_from_slice(text.as_bytes());
        // Only the last line of a file can lack a line feed.
        if line.newline || number < lines.len() {
            bytes.push(b'\n');
        }
    }
    Ok(bytes)
}

/// Places every hunk of a file, without two of them dealing with the same lines.
fn place(path: &str, hunks: &[Hunk], text: &Text<'_>) -> Result<Vec<Placed>, Vec<Rejection>> {
    let mut placed: Vec<Placed> = Vec::new();
    let mut effects = BTreeSet::new();
    let mut rejections = Vec::new();
    for ((number, hunk), chosen) in (1..).zip(hunks).zip(choose(hunks, text)) {
        match chosen {
            // A hunk that is given twice is meant once.
            Ok(spot) if whole::points_elsewhere(&spot, text) => {
                let reason = "It adds a comment in place of code that is there, such as `... existing code ...`. Give \
                              the lines themselves, or leave them out.";
                rejections.push(Rejection::of_hunk(path, number, reason));
            }
            Ok(spot) => {
                if effects.insert(spot.effect()) {
                    placed.push(Placed { number, spot });
                }
            }
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
        && let Err((number, line)) = check_overlaps(&placed)
    {
        let reason =
            format!("Another hunk edits the file at line {line} too. Give one hunk for these lines.");
        rejections.push(Rejection::of_hunk(path, number, reason));
    }
    if rejections.is_empty() { Ok(placed) } else { Err(rejections) }
}

/// Checks that hunks share context at most; the error names a hunk and a line.
fn check_overlaps(placed: &[Placed]) -> Result<(), (usize, usize)> {
    let mut deleted: BTreeMap<usize, bool> = BTreeMap::new();
    let mut gaps: BTreeSet<usize> = BTreeSet::new();
    for Placed { number, spot } in placed {
        let mut own_gaps = BTreeSet::new();
        for (line, at) in spot.walk() {
            if line.kind == Kind::Added {
                own_gaps.insert(at);
                continue;
            }
            let deletes = line.kind == Kind::Deleted;
            if deleted.insert(at, deletes).is_some_and(|before| before || deletes) {
                return Err((*number, at + 1));
            }
        }
        if let Some(gap) = own_gaps.intersection(&gaps).next() {
            return Err((*number, gap + 1));
        }
        gaps.extend(own_gaps);
    }
    Ok(())
}

/// Says where each hunk stands in the new file.
fn placements(path: &str, hunks: &[Hunk], text: &Text<'_>, placed: &[Placed]) -> Vec<Placement> {
    let at = |kind: Kind| {
        let steps = placed.iter().flat_map(|placed| placed.spot.walk());
        let mut at: Vec<usize> = steps.filter(|(line, _)| line.kind == kind).map(|(_, at)| at).collect();
        at.sort_unstable();
        at
    };
    let (added, deleted) = (at(Kind::Added), at(Kind::Deleted));
    let placement = |Placed { number, spot }: &Placed| {
        let start = spot.start();
        let before = added.partition_point(|at| *at < start);
        let gone = deleted.partition_point(|at| *at < start);
        let numbered = hunks.get(number - 1).and_then(Hunk::numbered);
        Placement {
            path: path.to_owned(),
            hunk: *number,
            line: (start + 1 + before).saturating_sub(gone),
            old_line: start + 1,
            moved: numbered.map(|number| start as i64 - (number + spot.lead) as i64),
            fit: spot.fit,
            endings_kept: spot.keeps_endings(text),
        }
    };
    placed.iter().map(placement).collect()
}
