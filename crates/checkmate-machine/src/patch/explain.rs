//! What a rejection says: the file's real lines, the nearest place, and how far the hunk gets there.

use std::collections::BTreeMap;
use std::ops::Range;

use super::choose::Misplaced;
use super::compare::{Proofs, compare};
use super::read::shorten;
use super::text::{Text, bare};
use super::{Hunk, Line};

/// How many lines of the file a rejection shows.
const SHOWN: usize = 12;

/// How many places a rejection lists, and of how many it shows the lines.
const LISTED: usize = 10;
const PICTURED: usize = 3;

/// How many lines of a hunk are looked for when the nearest place is sought, and in how many places each.
const COMPARED: usize = 64;
const VOTES: usize = 1000;

/// Says in full sentences why a hunk has no place.
pub(super) fn misplaced(why: &Misplaced, hunk: &Hunk, text: &Text<'_>) -> String {
    match why {
        Misplaced::Applied(start) => format!(
            "This change is already in the file, from line {}. Leave the hunk out; if the same lines are wanted once \
             more, give more context before and after them.",
            start + 1
        ),
        Misplaced::Several(starts) => several(starts, hunk, text),
        Misplaced::NoContext => format!(
            "It adds lines without saying where: it has no context line and no deleted line. Give the lines around the \
             place.{}",
            excerpt(text, 0..SHOWN)
        ),
        Misplaced::Nowhere => nowhere(hunk, text),
    }
}

fn several(starts: &[usize], hunk: &Hunk, text: &Text<'_>) -> String {
    let mut numbers: Vec<String> = starts.iter().take(LISTED).map(|start| (start + 1).to_string()).collect();
    if starts.len() > LISTED {
        numbers.push("…".to_owned());
    }
    let number = match hunk.numbered() {
        Some(number) => {
            format!(", and line {}, which its header names, is clearly near to none of them", number + 1)
        }
        None => String::new(),
    };
    let length = hunk.old_lines().count().clamp(1, SHOWN);
    let shown: String = starts
        .iter()
        .take(PICTURED)
        .map(|start| excerpt(text, start.saturating_sub(2)..start + length + 2))
        .collect();
    format!(
        "Its lines stand in the file in more than one place, starting at lines {}{number}. Give more of the lines before \
         and after, so that only one place fits.{shown}",
        numbers.join(", "),
    )
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
    let pairs: Vec<(usize, &Line, bool)> = against(hunk, start, text).collect();
    let there = pairs.iter().filter(|(_, _, alike)| *alike).count();
    let Some((at, line, _)) = pairs.iter().find(|(_, _, alike)| !alike) else {
        return format!(
            "Its lines stand at line {}, but they are indented in different ways there, so nobody can say how its added \
             lines are meant. Copy the lines with their indentation.{}",
            start + 1,
            excerpt(text, start.saturating_sub(2)..start + SHOWN)
        );
    };
    let real = match text.lines.get(*at) {
        Some(real) => format!("line {} of the file is `{}`", at + 1, shown(real)),
        None => format!("the file ends after line {}", text.lines.len()),
    };
    let from = at.saturating_sub(SHOWN / 2).min(text.lines.len().saturating_sub(SHOWN));
    format!(
        "It does not match. Nearest to it is line {}, where {there} of its {} context and deleted lines stand: the hunk \
         expects `{}`, but {real}. Copy the context lines and the deleted lines from the file as it is now.{}",
        start + 1,
        pairs.len(),
        shorten(&line.text),
        excerpt(text, from..from + SHOWN)
    )
}

/// Holds a hunk's old lines against the file from a line on: the file's line, the hunk's, and whether they are alike.
pub(super) fn against<'h>(
    hunk: &'h Hunk,
    start: usize,
    text: &Text<'_>,
) -> impl Iterator<Item = (usize, &'h Line, bool)> {
    (start..).zip(hunk.old_lines()).map(|(at, line)| {
        let alike = text.line(at).and_then(|real| compare(&line.text, real, &mut Proofs::default()));
        (at, line, alike.is_some())
    })
}

/// Finds the start at which most of the hunk's old lines stand in the file; of equals the one nearest to its number.
pub(super) fn nearest(hunk: &Hunk, text: &Text<'_>) -> Option<usize> {
    // Empty lines and lone brackets are everywhere, so they count only where nothing else is found.
    nearest_by(hunk, text, 2).or_else(|| nearest_by(hunk, text, 0))
}

fn nearest_by(hunk: &Hunk, text: &Text<'_>, least: usize) -> Option<usize> {
    let index = text.index();
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    for (offset, line) in hunk.old_lines().take(COMPARED).enumerate() {
        if line.text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count() < least {
            continue;
        }
        let places = index.number(&line.text).map_or(&[][..], |number| index.places(number));
        for start in places.iter().take(VOTES).filter_map(|at| at.checked_sub(offset)) {
            *votes.entry(start).or_default() += 1;
        }
    }
    let number = hunk.old_start.unwrap_or_default();
    let most = votes.values().copied().max()?;
    let best = votes.into_iter().filter(|(_, count)| *count == most).map(|(start, _)| start);
    best.min_by_key(|start| number.abs_diff(*start))
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

/// Shows a line of the file as far as it can be printed.
pub(super) fn shown(line: &[u8]) -> String {
    shorten(&String::from_utf8_lossy(bare(line)))
}
