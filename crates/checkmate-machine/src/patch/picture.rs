//! Small pictures of hunks beside the lines of their files, for people.

use std::collections::BTreeMap;
use std::fmt;

use super::choose::choose;
use super::explain::{against, nearest, shown};
use super::place::Spot;
use super::read::shorten;
use super::text::Text;
use super::{Action, Hunk, Kind, Original, Patch};

/// A hunk beside the file's lines: where it is placed, or where it comes nearest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The file's path before the patch.
    pub path: String,
    /// The hunk's number within its file, from 1.
    pub hunk: usize,
    /// Whether it is placed there.
    pub placed: bool,
    /// From the top.
    pub rows: Vec<Row>,
}

/// A row of a picture; lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A line of the file that the hunk knows and keeps.
    Kept(usize, String),
    /// A line of the file that the hunk deletes.
    Deleted(usize, String),
    /// A line that the hunk adds.
    Added(String),
    /// So many lines of the file that the hunk leaves out.
    LeftOut(usize),
    /// A line of the file, if it has so many, where the hunk has another.
    Differs(usize, Option<String>, String),
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = if self.placed { "is placed here" } else { "comes nearest here, but does not fit" };
        writeln!(f, "{}, hunk {} {fits}:", crate::gate::paths::shown(&self.path), self.hunk)?;
        for row in &self.rows {
            match row {
                Row::Kept(at, line) => writeln!(f, "{at:>6}   {line}")?,
                Row::Deleted(at, line) => writeln!(f, "{at:>6} - {line}")?,
                Row::Added(line) => writeln!(f, "       + {line}")?,
                Row::LeftOut(count) => writeln!(f, "     ⋮   {count} more")?,
                Row::Differs(at, real, wanted) => {
                    writeln!(f, "{at:>6} ≠ {}", real.as_deref().unwrap_or("(the file ends before)"))?;
                    writeln!(f, "   hunk: {wanted}")?;
                }
            }
        }
        Ok(())
    }
}

/// Draws every hunk of a patch that edits a file which is there.
///
/// `originals` are those that [`plan`](super::plan()) gets.
pub fn pictures(patch: &Patch, originals: &BTreeMap<String, Original>) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for file in &patch.files {
        let (Action::Edit { path } | Action::Rename { from: path, .. }) = &file.action else { continue };
        let Some(Original::File { bytes, .. }) = originals.get(path) else { continue };
        let text = Text::new(bytes);
        for ((number, hunk), chosen) in (1..).zip(&file.hunks).zip(choose(&file.hunks, &text)) {
            let rows = match &chosen {
                Ok(spot) => Some(placed(spot, &text)),
                Err(_) => nearest(hunk, &text).map(|start| misplaced(hunk, start, &text)),
            };
            let picture = |rows| Picture { path: path.clone(), hunk: number, placed: chosen.is_ok(), rows };
            pictures.extend(rows.map(picture));
        }
    }
    pictures
}

fn placed(spot: &Spot, text: &Text<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut next = spot.start();
    for (line, at) in spot.walk() {
        if at > next {
            rows.push(Row::LeftOut(at - next));
        }
        let real = || text.lines.get(at).map_or_else(String::new, |line| shown(line));
        rows.push(match line.kind {
            Kind::Added => Row::Added(shorten(&line.text)),
            Kind::Context => Row::Kept(at + 1, real()),
            Kind::Deleted => Row::Deleted(at + 1, real()),
        });
        next = at + usize::from(line.kind != Kind::Added);
    }
    rows
}

fn misplaced(hunk: &Hunk, start: usize, text: &Text<'_>) -> Vec<Row> {
    let rows = against(hunk, start, text).map(|(at, line, alike)| {
        let real = text.lines.get(at).map(|line| shown(line));
        match (alike, line.kind) {
            (true, Kind::Deleted) => Row::Deleted(at + 1, real.unwrap_or_default()),
            (true, Kind::Context | Kind::Added) => Row::Kept(at + 1, real.unwrap_or_default()),
            (false, _) => Row::Differs(at + 1, real, shorten(&line.text)),
        }
    });
    rows.collect()
}
