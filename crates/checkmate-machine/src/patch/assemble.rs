//! Puts a new file together: context as the file has it, added lines as the patch means them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::compare::{Proofs, split_indent};
use super::indent::{Indents, Shift, shifts};
use super::place::Spot;
use super::text::{Text, bare};
use super::{Kind, Line};

/// A placed hunk and its number within its file, from 1.
pub(super) struct Placed {
    pub(super) number: usize,
    pub(super) spot: Spot,
}

/// Puts the new file together; the error names a hunk and says why.
///
/// `elsewhere` is what the other files of the patch prove about its indentation.
pub(super) fn assemble(
    text: &Text<'_>,
    placed: &[Placed],
    proofs: &Proofs,
    elsewhere: &Indents,
) -> Result<Vec<u8>, (usize, String)> {
    let mut edits = Edits::default();
    let indents = indents(text, placed);
    // A file of one line without an ending has none to follow.
    let endless = !text.lines.iter().any(|line| line.ends_with(b"\n"));
    for Placed { number, spot } in placed {
        let shifts = shifts_of(spot, text, &indents, elsewhere);
        let identical = spot.is_identical(text);
        // Lines without any ending tell nothing about how the others end.
        let told = spot.old().any(|(line, _)| line.newline);
        let mut as_given = identical;
        for (line, at) in spot.walk() {
            match line.kind {
                Kind::Context => {}
                Kind::Deleted => _ = edits.deleted.insert(at),
                Kind::Added => {
                    let mut bytes = added(line, &shifts, proofs)
                        .map_err(|reason| (*number, format!("{reason} The line is `{}`.", line.text.trim())))?
                        .into_bytes();
                    as_given = identical && told || (identical || endless) && bytes.ends_with(b"\r");
                    if as_given {
                        bytes.push(b'\n');
                    } else {
                        bytes.truncate(
                            bytes.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1),
                        );
                        bytes.extend_from_slice(text.ending(at));
                    }
                    edits.added.entry(at).or_default().push(bytes);
                }
            }
        }
        if spot.end() == text.lines.len() && ends_unterminated(spot, text) {
            edits.unterminated = Some(as_given);
        }
    }
    Ok(edits.make(text))
}

#[derive(Default)]
struct Edits {
    deleted: BTreeSet<usize>,
    /// The lines to put before a line of the old file, with their endings.
    added: BTreeMap<usize, Vec<Vec<u8>>>,
    /// Whether the new file ends without a line feed, and then whether a carriage return before it is kept.
    unterminated: Option<bool>,
}

impl Edits {
    fn make(&self, text: &Text<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |line: &[u8]| {
            // The line that was the last of the old file may lack a line feed and not be the last any more.
            if out.last().is_some_and(|last| *last != b'\n') {
                out.extend_from_slice(text.ending(0));
            }
            out.extend_from_slice(line);
        };
        for at in 0..=text.lines.len() {
            self.added.get(&at).into_iter().flatten().for_each(|line| put(line));
            text.lines.get(at).filter(|_| !self.deleted.contains(&at)).into_iter().for_each(|line| put(line));
        }
        // An empty line is nothing but its line feed.
        let empty = bare(&out).last().is_none_or(|last| *last == b'\n');
        match self.unterminated.filter(|_| !empty) {
            Some(true) => out.truncate(out.len().saturating_sub(1)),
            Some(false) => out.truncate(bare(&out).len()),
            None => {}
        }
        out
    }
}

/// What the hunks of a file prove about its indentation.
pub(super) fn indents(text: &Text<'_>, placed: &[Placed]) -> Indents {
    let mut indents = Indents::new();
    for Placed { spot, .. } in placed {
        spot.prove(text, &mut Proofs::default(), &mut indents);
    }
    indents
}

/// Returns the shifts that explain a hunk's indentation: those that explain the whole file too, if there are any.
fn shifts_of(spot: &Spot, text: &Text<'_>, all: &Indents, elsewhere: &Indents) -> Vec<Shift> {
    let common = shifts(all);
    if common.is_empty() {
        let mut own = Indents::new();
        spot.prove(text, &mut Proofs::default(), &mut own);
        return shifts(&own);
    }
    if all.iter().any(|(patch, _)| !patch.is_empty()) {
        return common;
    }
    // These hunks prove nothing, but whoever turned tabs into spaces, or spaces into tabs, did so in every file.
    let tabs: Vec<Shift> = shifts(elsewhere).into_iter().filter(|shift| is_style(shift, text)).collect();
    if tabs.is_empty() { common } else { tabs }
}

/// Tells whether nothing in a file is indented otherwise than a shift between tabs and spaces would have it.
fn is_style(shift: &Shift, text: &Text<'_>) -> bool {
    let indented = |by: &[u8]| text.lines.iter().any(|line| line.starts_with(by));
    match shift {
        Shift::SpacesToTabs(_) => !indented(b"  "),
        Shift::TabsToSpaces(_) => !indented(b"\t"),
        Shift::Same | Shift::Deeper(_) | Shift::Shallower(_) => false,
    }
}

/// Returns an added line as the file would have it.
fn added(line: &Line, shifts: &[Shift], proofs: &Proofs) -> Result<String, String> {
    let undone = proofs.undo(&line.text).ok_or(
        "It adds a line with quotes or escapes that stand in the file in one place and are written otherwise in \
         another, so it is not clear what is meant. Write them as the file does.",
    )?;
    if undone.trim().is_empty() || shifts.first() == Some(&Shift::Same) {
        return Ok(undone.into_owned());
    }
    let (indent, _) = split_indent(&undone);
    let rest = undone.get(indent.len()..).unwrap_or_default();
    let mut wanted: Vec<Cow<'_, str>> =
        shifts.iter().filter_map(|shift| shift.apply(indent)).map(Cow::Owned).collect();
    wanted.dedup();
    match wanted.as_slice() {
        [one] => Ok(format!("{one}{rest}")),
        _ => Err(
            "It adds a line whose indentation cannot be told from the lines around it, because these are \
                  indented otherwise than in the file. Indent the hunk as the file is."
                .to_owned(),
        ),
    }
}

/// Tells whether a hunk that reaches the end of the file, and changes what stands there, ends it without a line feed.
///
/// A patch that does not mark a missing line feed of the old file leaves it missing; one that marks a line feed as
/// missing on both sides although it is there is wrong on both.
fn ends_unterminated(spot: &Spot, text: &Text<'_>) -> bool {
    let Some((last, _)) = spot.walk().next_back() else { return false };
    let new = spot.walk().rfind(|(line, _)| line.kind != Kind::Deleted).map(|(new, _)| new);
    let marked = spot.old().next_back().is_some_and(|(old, _)| !old.newline);
    match (last.kind, new) {
        (Kind::Context, _) => false,
        (Kind::Added | Kind::Deleted, Some(new)) if new.kind == Kind::Added => match (marked, new.newline) {
            (true, false) | (false, true) => !text.is_terminated(),
            (false, false) => true,
            (true, true) => false,
        },
        (Kind::Added | Kind::Deleted, _) => !marked && !text.is_terminated(),
    }
}
