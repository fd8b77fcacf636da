//! Files that a patch gives whole, held against the files that are there.

use std::rc::Rc;

use similar::{Algorithm, ChangeTag, capture_diff_slices};

use super::compare::Likeness;
use super::place::{Spot, Step, is_elision};
use super::text::{Text, bare};
use super::{Fit, Kind, Line, Shape};

/// Longer files are not taken whole: models lose lines of them.
const MOST_LINES: usize = 400;
const MOST_BYTES: usize = 32 * 1024;

/// Returns the change from the file that is there to the one that is given; the error is a sentence or two.
pub(super) fn replacing<'l>(
    path: &str,
    given: impl Iterator<Item = &'l Line>,
    text: &Text<'_>,
) -> Result<Spot, String> {
    let given: Vec<&Line> = given.collect();
    if given.is_empty() {
        return Err("The patch gives this file whole, but without any line. Give its lines; to delete it, give a unified \
                    diff."
            .to_owned());
    }
    let (lines, bytes) = (text.lines.len(), text.lines.iter().map(|line| line.len()).sum::<usize>());
    if lines > MOST_LINES || bytes > MOST_BYTES {
        return Err(format!(
            "The patch gives this file whole, but it has {lines} lines and {bytes} bytes. Who writes a file of more than \
             {MOST_LINES} lines or {MOST_BYTES} bytes anew loses some of them: give a unified diff or SEARCH/REPLACE \
             blocks."
        ));
    }
    let spot = difference(given.into_iter(), text);
    if let Some((line, _)) =
        spot.walk().find(|(line, _)| line.kind == Kind::Added && leaves_out(&line.text, path))
    {
        return Err(format!(
            "The patch gives this file whole, but leaves lines out where it says `{}`. Give all lines, or a unified diff \
             of those that change.",
            line.text.trim()
        ));
    }
    Ok(spot)
}

/// Lines that both have are context, so that they stay as the file has them, their endings included.
fn difference<'l>(given: impl Iterator<Item = &'l Line>, text: &Text<'_>) -> Spot {
    let bare_text = |line: &[u8]| String::from_utf8_lossy(bare(line)).into_owned();
    let old: Vec<String> = text.lines.iter().map(|line| bare_text(line)).collect();
    let new: Vec<String> = given.map(|line| bare_text(line.text.as_bytes())).collect();
    let mut lines = Vec::new();
    let mut steps = Vec::new();
    let mut at = 0;
    for operation in capture_diff_slices(Algorithm::Myers, &old, &new) {
        for change in operation.iter_changes(&old, &new) {
            let (kind, old) = match change.tag() {
                ChangeTag::Equal => (Kind::Context, 1),
                ChangeTag::Delete => (Kind::Deleted, 1),
                ChangeTag::Insert => (Kind::Added, 0),
            };
            steps.push(Step { line: lines.len(), at });
            lines.push(Line { kind, text: change.value(), newline: true });
            at += old;
        }
    }
    let fit = Fit { shape: Shape::Whole, likeness: Likeness::Exact };
    Spot { lines: Rc::from(lines), steps, lead: 0, fit }
}

/// Tells whether a hunk adds a comment about code that it does not give, and that the file does not have either.
pub(super) fn points_elsewhere(spot: &Spot, text: &Text<'_>) -> bool {
    let added = spot.lines.iter().filter(|line| line.kind == Kind::Added && is_about_rest(&line.text));
    let mut new = added.filter(|line| text.index().number(&line.text).is_none());
    new.next().is_some()
}

/// Tells whether a line stands in place of others: `...`, or a comment about the rest of the code.
fn leaves_out(line: &str, path: &str) -> bool {
    // In Python three dots are a statement.
    let statement = line.trim() == "..." && (path.ends_with(".py") || path.ends_with(".pyi"));
    is_elision(line) && !statement || is_about_rest(line)
}

/// Tells whether a line is a comment with three dots about code that stays as it is.
fn is_about_rest(line: &str) -> bool {
    const REST: [&str; 4] = ["rest of the", "existing code", "remains the same", "unchanged"];
    let comment = line.trim_start().starts_with(['#', '/', '*', '<', '-', ';', '%', '{']);
    let lower = line.to_lowercase();
    let dots = lower.contains("...") || lower.contains('\u{2026}');
    comment && dots && REST.iter().any(|rest| lower.contains(rest))
}
