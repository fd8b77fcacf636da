//! What a rejection says: the file's real lines, and the first one that differs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use super::choose::Misplaced;
use super::read::shorten;
use super::text::{Text, bare};
use super::{Hunk, Line};

/// How many lines of the file a rejection shows.
const SHOWN: usize = 12;

/// How many lines of a hunk are looked for when the nearest place is sought.
const COMPARED: usize = 64;

/// Says in full sentences why a hunk has no place.
pub(super) fn misplaced(why: &Misplaced, hunk: &Hunk, text: &Text<'_>) -> String {
    match why {
        Misplaced::Applied(start) => format!(
            "This change is already in the file, from line {}. Leave the hunk out; if the same lines are wanted once \
             more, give more context before and after them.",
            start + 1
        ),
        Misplaced::Several(starts) => {
            let numbers: Vec<String> = starts.iter().map(|start| (start + 1).to_string()).collect();
            format!(
                "Its lines stand in the file in more than one place, starting at lines {}, and the number in its header \
                 is none of these. Correct the number, or give more context.",
                numbers.join(", ")
            )
        }
        Misplaced::NoContext => format!(
            "It adds lines without saying where: it has no context line and no deleted line. Give the lines around the \
             place.{}",
            excerpt(text, 0..SHOWN)
        ),
        Misplaced::Nowhere => nowhere(hunk, text),
    }
}

/// Says where the file differs from a hunk, in the place that has the most lines of it.
pub(super) fn nowhere(hunk: &Hunk, text: &Text<'_>) -> String {
    if text.lines.is_empty() {
        return "It expects lines, but the file is empty. Give a hunk that only adds lines.".to_owned();
    }
    let Some(start) = nearest(hunk, text) else {
        let near = hunk.old_start.unwrap_or(1).saturating_sub(1).min(text.lines.len().saturating_sub(1));
        let around = near.saturating_sub(SHOWN / 2);
        return format!(
            "None of its context lines and deleted lines is in the file. Copy them from the file as it is now.{}",
            excerpt(text, around..around + SHOWN)
        );
    };
    let (offset, wanted) = first_difference(hunk, text, start);
    let at = start.saturating_add_signed(offset);
    let real = match text.lines.get(at) {
        Some(real) => format!("line {} of the file is `{}`", at + 1, shown(real)),
        None => format!("the file ends after line {}", text.lines.len()),
    };
    let from = at.saturating_sub(SHOWN / 2).min(text.lines.len().saturating_sub(SHOWN));
    match wanted {
        Some(line) if text.lines.get(at).is_some_and(|real| bare(real) == bare(line.text.as_bytes())) => {
            format!(
                "It ends with `\\ No newline at end of file` after `{}`, but that is not the last line of the file. Leave \
             that mark out.{}",
                shorten(&line.text),
                excerpt(text, from..from + SHOWN)
            )
        }
        Some(line) => format!(
            "It does not match. Nearest to it is line {}: the hunk expects `{}`, but {real}. Copy the context lines and \
             the deleted lines from the file as it is now.{}",
            start + 1,
            shorten(&line.text),
            excerpt(text, from..from + SHOWN)
        ),
        None => format!("It does not match, but {real}.{}", excerpt(text, from..from + SHOWN)),
    }
}

/// Returns the first old line of a hunk that differs when its first old line is put at `start`.
///
/// Where every line is there, the last one is returned: then only its mark of a missing newline is wrong.
fn first_difference<'h>(hunk: &'h Hunk, text: &Text<'_>, start: usize) -> (isize, Option<&'h Line>) {
    let mut last = (0, None);
    for (offset, line) in hunk.old_lines().enumerate() {
        let real = text.lines.get(start + offset);
        last = (isize::try_from(offset).unwrap_or(isize::MAX), Some(line));
        if real.is_none_or(|real| bare(real) != bare(line.text.as_bytes())) {
            break;
        }
    }
    last
}

/// Finds the start at which most of the hunk's old lines stand in the file; of equals the one nearest to its number.
fn nearest(hunk: &Hunk, text: &Text<'_>) -> Option<usize> {
    // Empty lines and lone brackets are everywhere, so they count only where nothing else is found.
    nearest_by(hunk, text, 2).or_else(|| nearest_by(hunk, text, 0))
}

fn nearest_by(hunk: &Hunk, text: &Text<'_>, least: usize) -> Option<usize> {
    let mut offsets: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (offset, line) in hunk.old_lines().take(COMPARED).enumerate() {
        let wanted = bare(line.text.as_bytes());
        if wanted.iter().filter(|byte| !byte.is_ascii_whitespace()).count() >= least {
            offsets.entry(wanted).or_default().push(offset);
        }
    }
    let mut votes = vec![0_usize; text.lines.len()];
    for (at, line) in text.lines.iter().enumerate() {
        for offset in offsets.get(bare(line)).into_iter().flatten() {
            if let Some(vote) = at.checked_sub(*offset).and_then(|start| votes.get_mut(start)) {
                *vote += 1;
            }
        }
    }
    let number = hunk.old_start.unwrap_or_default();
    let best = (0..).zip(&votes).max_by_key(|(start, count)| (**count, Reverse(number.abs_diff(*start))))?;
    (*best.1 > 0).then_some(best.0)
}

/// Shows lines of the file with their numbers.
fn excerpt(text: &Text<'_>, lines: Range<usize>) -> String {
    let end = lines.end.min(text.lines.len());
    let Some(real) = text.lines.get(lines.start..end).filter(|real| !real.is_empty()) else {
        return String::new();
    };
    let mut excerpt = format!("\nThe file's real lines {} to {end}:", lines.start + 1);
    for (number, line) in (lines.start + 1..).zip(real) {
        excerpt.push_str(&format!("\n{number:>6} | {}", shown(line)));
    }
    excerpt
}

fn shown(line: &[u8]) -> String {
    shorten(&String::from_utf8_lossy(bare(line)))
}
