//! Patches from agents, from text to the exact bytes to write.
//!
//! Stages, each a module of its own:
//!
//! ```text
//! text ─ unwrap ─► lines ─ read ─► Patch ─ place ─► places in the old file ─ choose ─► one each ─ plan ─► Plan
//! ```
//!
//! Models quote lines well and count badly, and what they quote is changed a little on its way. So neither counts nor
//! line numbers are trusted, a hunk may have several readings, and lines are known in spite of other whitespace,
//! typography or indentation. But a hunk is only placed where its own lines stand, and only if one place is proven:
//! there is no score of likeness. Context stays as the file has it. Whatever does not fit is rejected with the file's
//! real lines, and one rejection rejects the whole patch.

mod assemble;
mod choose;
mod compare;
mod explain;
mod indent;
mod picture;
mod place;
mod plan;
mod read;
mod text;
mod unwrap;
mod whole;

use std::collections::BTreeSet;
use std::fmt;

use crate::gate::paths::shown;

pub use self::compare::Likeness;
pub use self::picture::{Picture, Row, pictures};
pub use self::plan::plan;
pub(crate) use self::unwrap::join_lines;

/// Reads a patch out of a text that may have prose and code fences around it.
///
/// A patch is made of unified diffs, plain or of git, of SEARCH/REPLACE blocks, and of whole files.
///
/// Every path in the result has passed [`check_path`](crate::gate::paths::check_path).
pub fn parse(text: &str) -> Result<Patch, Vec<Rejection>> {
    read::read(text)
}

/// A patch that was read but not yet held against any file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    files: Vec<FilePatch>,
}

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FilePatch {
    action: Action,
    /// The executable bit the file gets; `None` leaves it as it is.
    executable: Option<bool>,
    hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Create {
        path: String,
    },
    Edit {
        path: String,
    },
    /// The file gets these lines and no others, whether it is there or not.
    Replace {
        path: String,
    },
    Delete {
        path: String,
    },
    Rename {
        from: String,
        to: String,
    },
}

/// Lines that belong together; the numbers and the heading are the header's, as far as it had any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Hunk {
    old_start: Option<usize>,
    new_start: Option<usize>,
    /// How many old and new lines the header says it has.
    counts: Option<(usize, usize)>,
    heading: Option<String>,
    /// Whether it, or another hunk of the patch, has lines without any sign.
    lost_signs: bool,
    /// What its lines may be, the most likely first; never empty.
    readings: Vec<Vec<Line>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    kind: Kind,
    text: String,
    /// False if `\ No newline at end of file` follows.
    newline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Context,
    Deleted,
    Added,
}

impl Patch {
    /// Returns every path the patch reads or writes; the caller gives [`plan`] the original of each.
    pub fn paths(&self) -> BTreeSet<&str> {
        self.files.iter().flat_map(|file| file.action.paths()).collect()
    }

    /// Returns the patch without line numbers, headings, hashes and trailing whitespace.
    ///
    /// Two patches with the same normal form make the same edits in the same surroundings.
    pub fn normalised(&self) -> String {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|file| file.action.paths());
        let mut text = String::new();
        for file in files {
            text.push_str(&file.action.to_string());
            match file.executable {
                Some(true) => text.push_str(" executable"),
                Some(false) => text.push_str(" not executable"),
                None => {}
            }
            text.push('\n');
            for line in file.hunks.iter().flat_map(Hunk::lines) {
                text.push(line.kind.sign());
                text.push_str(&line.text);
                text.truncate(text.trim_end_matches([' ', '\t', '\r']).len());
                text.push('\n');
            }
        }
        text
    }

    /// Returns every added and deleted line as `+PATH: TEXT` or `-PATH: TEXT`, for measuring how alike two patches are.
    ///
    /// The lines of files that are given whole are not among them: most of them change nothing.
    pub fn changed_lines(&self) -> Vec<String> {
        let mut changed = Vec::new();
        for file in self.files.iter().filter(|file| !matches!(file.action, Action::Replace { .. })) {
            for line in file.hunks.iter().flat_map(Hunk::lines) {
                let text = line.text.trim_end();
                match line.kind {
                    Kind::Context => {}
                    Kind::Deleted => changed.push(format!("-{}: {text}", file.action.source())),
                    Kind::Added => changed.push(format!("+{}: {text}", file.action.target())),
                }
            }
        }
        changed
    }
}

impl Action {
    fn paths(&self) -> Vec<&str> {
        match self {
            Action::Create { path }
            | Action::Edit { path }
            | Action::Replace { path }
            | Action::Delete { path } => vec![path],
            Action::Rename { from, to } => vec![from, to],
        }
    }

    /// The path that is read.
    fn source(&self) -> &str {
        match self {
            Action::Create { path }
            | Action::Edit { path }
            | Action::Replace { path }
            | Action::Delete { path } => path,
            Action::Rename { from, .. } => from,
        }
    }

    /// The path that is written.
    fn target(&self) -> &str {
        match self {
            Action::Create { path }
            | Action::Edit { path }
            | Action::Replace { path }
            | Action::Delete { path } => path,
            Action::Rename { to, .. } => to,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Create { path } => write!(f, "create {path}"),
            Action::Edit { path } => write!(f, "edit {path}"),
            Action::Replace { path } => write!(f, "replace {path}"),
            Action::Delete { path } => write!(f, "delete {path}"),
            Action::Rename { from, to } => write!(f, "rename {from} to {to}"),
        }
    }
}

impl Line {
    /// The text without a carriage return at its end.
    fn bare(&self) -> &str {
        self.text.strip_suffix('\r').unwrap_or(&self.text)
    }
}

impl Hunk {
    /// The lines as they most likely are.
    fn lines(&self) -> &[Line] {
        self.readings.first().map_or(&[], Vec::as_slice)
    }

    /// The lines that must stand in the old file.
    fn old_lines(&self) -> impl DoubleEndedIterator<Item = &Line> + Clone {
        self.lines().iter().filter(|line| line.kind != Kind::Added)
    }

    /// The lines that stand in the new file.
    fn new_lines(&self) -> impl DoubleEndedIterator<Item = &Line> + Clone {
        self.lines().iter().filter(|line| line.kind != Kind::Deleted)
    }

    /// The line, from 0, that the header says the hunk starts at.
    fn numbered(&self) -> Option<usize> {
        self.old_start?.checked_sub(1)
    }
}

impl Kind {
    fn sign(self) -> char {
        match self {
            Kind::Context => ' ',
            Kind::Deleted => '-',
            Kind::Added => '+',
        }
    }
}

/// What stands at a path before the patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Original {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// Its content; not necessarily UTF-8.
        bytes: Vec<u8>,
        /// Whether it may be executed.
        executable: bool,
    },
    /// Something that no patch may touch or reach through.
    Other(Obstacle),
}

/// Things at a path, or on the way to it, that no patch may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// A symbolic link.
    Symlink,
    /// A submodule.
    Submodule,
    /// A directory.
    Directory,
    /// A part of the path before the last is a file, a symbolic link or a submodule.
    Prefix,
    /// A socket, a device or the like.
    Special,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obstacle::Symlink => "it is a symbolic link",
            Obstacle::Submodule => "it is a submodule",
            Obstacle::Directory => "it is a directory",
            Obstacle::Prefix => "a part of the path is not a directory of this repository",
            Obstacle::Special => "it is not a regular file",
        })
    }
}

/// Everything that has to be written, and where each hunk went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Deletions first, so that a rename that only changes the case of a name works on every file system.
    pub writes: Vec<Write>,
    /// One entry per hunk that was placed, in the patch's order.
    pub placements: Vec<Placement>,
}

/// One file to write or to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// The file gets this content.
    Put {
        /// From the repository's root, with `/`.
        path: String,
        /// All of it.
        bytes: Vec<u8>,
        /// Whether it may be executed.
        executable: bool,
    },
    /// The file goes away.
    Delete {
        /// From the repository's root, with `/`.
        path: String,
    },
}

/// Where a hunk went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The path after the patch.
    pub path: String,
    /// The hunk's number within its file, from 1.
    pub hunk: usize,
    /// The hunk's first line in the new file, from 1.
    pub line: usize,
    /// The hunk's first line in the old file, from 1.
    pub old_line: usize,
    /// How many lines the header's number was off by; `None` if it had no number.
    pub moved: Option<i64>,
    /// How the hunk fits there.
    pub fit: Fit,
    /// Whether line endings or a missing final newline were taken from the file instead of the patch.
    pub endings_kept: bool,
}

/// How a hunk fits where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fit {
    /// What had to be done to the hunk.
    pub shape: Shape,
    /// How its lines differ from those of the file.
    pub likeness: Likeness,
}

/// What had to be done to a hunk before it fitted, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// Nothing.
    Whole,
    /// A context line between added lines was taken for an added line.
    LostSign,
    /// It leaves lines of the file out.
    Gaps,
    /// Its first or last context line was left out.
    Edge,
    /// It was taken apart where a `@@` is missing.
    Apart,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hunk {} at line {}", shown(&self.path), self.hunk, self.line)?;
        let moved = match self.moved {
            Some(0) => None,
            Some(by) => Some(format!("moved by {by:+} lines")),
            None => Some("found without a number".to_owned()),
        };
        let shape = match self.fit.shape {
            Shape::Whole => None,
            Shape::LostSign => Some("a context line taken for an added line"),
            Shape::Gaps => Some("lines left out by it are kept"),
            Shape::Edge => Some("without its outermost context line"),
            Shape::Apart => Some("taken apart where `@@` is missing"),
        };
        let likeness = match self.fit.likeness {
            Likeness::Exact => None,
            Likeness::TrailingSpace => Some("but for trailing whitespace"),
            Likeness::Typography => Some("but for quotes, escapes or spaces"),
            Likeness::Indentation => Some("but for indentation"),
        };
        let notes: Vec<String> =
            moved.into_iter().chain([shape, likeness].into_iter().flatten().map(str::to_owned)).collect();
        if !notes.is_empty() {
            write!(f, " ({})", notes.join(", "))?;
        }
        if self.endings_kept {
            f.write_str(", with the line endings of the file")?;
        }
        Ok(())
    }
}

/// Why a patch is not applied, in words that a model can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The file it is about, unless it is about the patch as a whole.
    pub path: Option<String>,
    /// The hunk's number within its file, from 1.
    pub hunk: Option<usize>,
    /// Full sentences; more than one line where lines of the file are shown.
    pub reason: String,
}

impl Rejection {
    fn of_patch(reason: impl Into<String>) -> Self {
        Self { path: None, hunk: None, reason: reason.into() }
    }

    fn of_file(path: &str, reason: impl Into<String>) -> Self {
        Self { path: Some(path.to_owned()), hunk: None, reason: reason.into() }
    }

    fn of_hunk(path: &str, hunk: usize, reason: impl Into<String>) -> Self {
        Self { path: Some(path.to_owned()), hunk: Some(hunk), reason: reason.into() }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.hunk) {
            (Some(path), Some(hunk)) => write!(f, "`{}`, hunk {hunk}: {}", shown(path), self.reason),
            (Some(path), None) => write!(f, "`{}`: {}", shown(path), self.reason),
            (None, Some(_) | None) => f.write_str(&self.reason),
        }
    }
}
