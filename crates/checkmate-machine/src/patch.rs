//! Patches from agents, from text to the exact bytes to write.
//!
//! Four stages, each a module of its own:
//!
//! ```text
//! text ─ unwrap ─► lines ─ read ─► Patch ─ place ─► spots in the old file ─ plan ─► Plan
//! ```
//!
//! Placement is exact: every context line and every deleted line must stand in the file. Only line endings and a
//! missing final newline are the file's own matter. Whatever does not fit is rejected with the file's real lines,
//! and one rejection rejects the whole patch.

mod explain;
mod place;
mod plan;
mod read;
mod unwrap;

use std::collections::BTreeSet;
use std::fmt;

use crate::gate::paths::shown;

pub use self::plan::plan;
pub(crate) use self::unwrap::join_lines;

/// Reads a patch in unified format, plain or of git, out of a text that may have prose and code fences around it.
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
    Create { path: String },
    Edit { path: String },
    Delete { path: String },
    Rename { from: String, to: String },
}

/// Lines that belong together; the numbers are the header's, as far as it had any.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    old_start: Option<usize>,
    new_start: Option<usize>,
    lines: Vec<Line>,
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
            for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
                text.push(line.kind.sign());
                text.push_str(&line.text);
                text.truncate(text.trim_end_matches([' ', '\t', '\r']).len());
                text.push('\n');
            }
        }
        text
    }

    /// Returns every added and deleted line as `+PATH: TEXT` or `-PATH: TEXT`, for measuring how alike two patches are.
    pub fn changed_lines(&self) -> Vec<String> {
        let mut changed = Vec::new();
        for file in &self.files {
            for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
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
            Action::Create { path } | Action::Edit { path } | Action::Delete { path } => vec![path],
            Action::Rename { from, to } => vec![from, to],
        }
    }

    /// The path that is read.
    fn source(&self) -> &str {
        match self {
            Action::Create { path } | Action::Edit { path } | Action::Delete { path } => path,
            Action::Rename { from, .. } => from,
        }
    }

    /// The path that is written.
    fn target(&self) -> &str {
        match self {
            Action::Create { path } | Action::Edit { path } | Action::Delete { path } => path,
            Action::Rename { to, .. } => to,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Create { path } => write!(f, "create {path}"),
            Action::Edit { path } => write!(f, "edit {path}"),
            Action::Delete { path } => write!(f, "delete {path}"),
            Action::Rename { from, to } => write!(f, "rename {from} to {to}"),
        }
    }
}

impl Hunk {
    /// The lines that must stand in the old file.
    fn old_lines(&self) -> impl DoubleEndedIterator<Item = &Line> + Clone {
        self.lines.iter().filter(|line| line.kind != Kind::Added)
    }

    /// The lines that stand in the new file.
    fn new_lines(&self) -> impl DoubleEndedIterator<Item = &Line> + Clone {
        self.lines.iter().filter(|line| line.kind != Kind::Deleted)
    }

    fn count(&self, kind: Kind) -> usize {
        self.lines.iter().filter(|line| line.kind == kind).count()
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
    /// How the place was found.
    pub how: How,
    /// Whether line endings or a missing final newline were taken from the file instead of the patch.
    pub endings_kept: bool,
}

/// How a hunk's place was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// At the number in its header.
    AtNumber,
    /// The header's number was off by this many lines; it was the only match in the file.
    Moved(i64),
    /// The header has no number; it was the only match in the file.
    OnlyMatch,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hunk {} at line {}", self.path, self.hunk, self.line)?;
        match self.how {
            How::AtNumber => {}
            How::Moved(by) => write!(f, " (moved by {by:+} lines, the only match)")?,
            How::OnlyMatch => f.write_str(" (the only match)")?,
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
