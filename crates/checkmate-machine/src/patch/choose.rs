//! Which of its places a hunk belongs to.
//!
//! A hunk with one place belongs there. Where there are several, something else than the hunk's lines must prove one
//! of them: the number in its header, a number that is clearly nearer to one place than to any other, the heading
//! after `@@`, or the order of the hunks that are placed already. What is not proven is rejected.

use super::compare::{Likeness, Proofs, compare, key};
use super::place::{Spot, filling, places, standing};
use super::text::{MOST_PLACES, Text, Wanted};
use super::{Hunk, Kind, Line, Shape};

/// Why a hunk has no place. Lines count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// Its old lines are not in the file.
    Nowhere,
    /// Its new lines stand here already.
    Applied(usize),
    /// Its old lines stand here and there, and nothing says which is meant.
    Several(Vec<usize>),
    /// It has no old lines.
    NoContext,
}

/// How many times nearer to its number than any other a place must be.
const CLEARLY: usize = 3;

/// How many lines a number may be off and still prove a place.
const NEARBY: usize = 200;

/// Among how many places a heading can choose, and how many lines it can stand above one.
const HEADED: usize = 16;
const FAR_BELOW: usize = 5000;

/// Chooses a place for every hunk of a file, or says for each why it has none.
pub(super) fn choose(hunks: &[Hunk], text: &Text<'_>) -> Vec<Result<Spot, Misplaced>> {
    let mut found: Vec<Result<Vec<Spot>, Misplaced>> =
        hunks.iter().map(|hunk| candidates(hunk, text)).collect();
    let one = |(hunk, found): (&Hunk, &mut Result<Vec<Spot>, Misplaced>)| {
        let spots = found.as_ref().map_or(&[][..], Vec::as_slice);
        // What is left of a hunk must have one place only: whatever else names one may mean what was left out.
        let whole = spots.iter().all(|spot| spot.fit.shape <= Shape::Gaps);
        let chosen = match spots {
            [spot] => is_alone(hunk, spot, text).then_some(0),
            spots => one_of(hunk, spots, text).filter(|_| whole),
        };
        let applied = match spots {
            [] => None,
            [_] => standing_at_number(hunk, spots, text),
            spots => standing_at_number(hunk, spots, text).or_else(|| standing_instead(hunk, spots, text)),
        };
        match applied {
            Some(start) => {
                *found = Err(Misplaced::Applied(start));
                None
            }
            None => chosen,
        }
    };
    let mut chosen: Vec<Option<usize>> = hunks.iter().zip(&mut found).map(one).collect();
    by_order(&found, &mut chosen);
    found
        .into_iter()
        .zip(chosen)
        .zip(hunks)
        .map(|((found, chosen), hunk)| {
            let mut spots = found?;
            // A place where the change is done already says nothing for the others.
            let all_done = spots.iter().all(|spot| is_applied(hunk, spot, text));
            match chosen.or_else(|| all_done.then_some(0)).map(|chosen| spots.swap_remove(chosen)) {
                Some(spot) if is_applied(hunk, &spot, text) => Err(Misplaced::Applied(spot.start())),
                Some(spot) => Ok(spot),
                // Among several places for a part of the hunk, none is the hunk's.
                None if spots.iter().all(|spot| spot.fit.shape > Shape::Gaps) => Err(Misplaced::Nowhere),
                // Several readings for one place.
                None if spots.iter().all(|spot| Some(spot.start()) == spots.first().map(Spot::start)) => {
                    Err(Misplaced::Nowhere)
                }
                None => Err(Misplaced::Several(spots.iter().map(Spot::start).collect())),
            }
        })
        .collect()
}

fn candidates(hunk: &Hunk, text: &Text<'_>) -> Result<Vec<Spot>, Misplaced> {
    let no_old = |lines: &Vec<Line>| lines.iter().all(|line| line.kind == Kind::Added);
    if hunk.readings.iter().all(no_old) {
        return if text.lines.is_empty() { Ok(vec![filling(hunk)]) } else { Err(Misplaced::NoContext) };
    }
    let spots = places(hunk, text);
    if spots.is_empty() {
        return Err(standing_already(hunk, text).map_or(Misplaced::Nowhere, Misplaced::Applied));
    }
    Ok(spots)
}

/// Tells whether a hunk's only place of the best likeness proves itself: brackets stand everywhere, so they must not
/// fit anywhere else however little alike, or be where the number says.
fn is_alone(hunk: &Hunk, spot: &Spot, text: &Text<'_>) -> bool {
    let numbered = hunk.numbered().is_some_and(|number| number + spot.lead == spot.start());
    let numbers =
        || spot.old().map(|(line, _)| text.index().number(&line.text)).collect::<Option<Vec<usize>>>();
    numbered || spot.is_telling() || numbers().is_none_or(|numbers| text.index().runs(&numbers).len() < 2)
}

/// Finds the new side of a hunk where its number says that it will stand, while its old side is elsewhere.
fn standing_at_number(hunk: &Hunk, spots: &[Spot], text: &Text<'_>) -> Option<usize> {
    let number = hunk.numbered()?;
    if spots.iter().any(|spot| spot.start() == number + spot.lead) || !adds_words(hunk) {
        return None;
    }
    let new = Wanted::new(hunk.new_lines());
    let starts = [hunk.new_start.and_then(|number| number.checked_sub(1)), Some(number)];
    starts.into_iter().flatten().find(|start| text.stands_at(&new, *start))
}

/// Finds the new side of a hunk where number and heading choose it before all places of the old side.
fn standing_instead(hunk: &Hunk, spots: &[Spot], text: &Text<'_>) -> Option<usize> {
    if !adds_words(hunk) || spots.len() > MOST_PLACES {
        return None;
    }
    let new: Option<Vec<usize>> = hunk.new_lines().map(|line| text.index().number(&line.text)).collect();
    let stands = new.map_or_else(Vec::new, |new| text.index().runs(&new));
    let stands = stands.into_iter().map(|start| standing(hunk, start));
    let with: Vec<Spot> = spots.iter().cloned().chain(stands).collect();
    let chosen = one_of(hunk, &with, text).filter(|chosen| *chosen >= spots.len())?;
    with.get(chosen).map(Spot::start)
}

/// Tells whether a hunk adds more than brackets and line endings.
fn adds_words(hunk: &Hunk) -> bool {
    let added = |line: &Line| line.kind == Kind::Added && line.text.contains(char::is_alphanumeric);
    let old = hunk.old_lines().map(Line::bare);
    hunk.lines().iter().any(added) && !old.eq(hunk.new_lines().map(Line::bare))
}

/// Chooses by number and heading; where they disagree, nothing is proven.
fn one_of(hunk: &Hunk, spots: &[Spot], text: &Text<'_>) -> Option<usize> {
    if spots.len() > MOST_PLACES {
        return None;
    }
    let mut distances: Vec<(usize, usize)> = Vec::new();
    if let Some(number) = hunk.numbered() {
        distances.extend((0..).zip(spots).map(|(at, spot)| (spot.start().abs_diff(number + spot.lead), at)));
    }
    distances.sort_unstable();
    // A bracket is everywhere, so neither a number that is not exact nor a heading proves anything for it.
    let tells = |at: usize| spots.get(at).is_some_and(Spot::is_telling);
    let near = match distances.as_slice() {
        [(0, at), (next, _), ..] if *next > 0 => return Some(*at),
        [(near, at), (far, _), ..] => {
            let clearly = near < far && *near <= NEARBY && near * CLEARLY <= *far;
            (clearly && tells(*at)).then_some(*at)
        }
        _ => None,
    };
    match (near, by_heading(hunk, spots, text).filter(|below| tells(*below))) {
        (Some(near), Some(below)) => (near == below).then_some(near),
        (near, below) => near.or(below),
    }
}

/// Chooses the one place that stands below the heading, with no other line like a heading between.
fn by_heading(hunk: &Hunk, spots: &[Spot], text: &Text<'_>) -> Option<usize> {
    let heading = hunk.heading.as_deref().filter(|heading| !heading.is_empty())?;
    if spots.len() > HEADED {
        return None;
    }
    let heads = text.index().beginning(heading);
    let below = |spot: &Spot| {
        let head =
            heads.partition_point(|head| *head < spot.start()).checked_sub(1).and_then(|at| heads.get(at))?;
        let depth = indent(text, *head);
        let other =
            |at: usize| indent(text, at).is_some_and(|other| Some(other) <= depth) && is_heading(text, at);
        (spot.start() - head <= FAR_BELOW && !(head + 1..spot.start()).any(other)).then_some(())
    };
    let mut under = (0..).zip(spots).filter(|(_, spot)| below(spot).is_some());
    match (under.next(), under.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

/// The width of a line's indentation; `None` for a blank line.
fn indent(text: &Text<'_>, at: usize) -> Option<usize> {
    let line = text.line(at)?;
    let rest = line.trim_start();
    (!rest.is_empty()).then_some(line.len() - rest.len())
}

/// Tells whether git would take a line for a heading: it starts with a letter, `_` or `$`.
fn is_heading(text: &Text<'_>, at: usize) -> bool {
    let first = text.line(at).and_then(|line| line.trim_start().chars().next());
    first.is_some_and(|first| first.is_alphabetic() || matches!(first, '_' | '$'))
}

/// Chooses the one place that lies between the hunks before and after, if all that are placed come in their order.
fn by_order(found: &[Result<Vec<Spot>, Misplaced>], chosen: &mut [Option<usize>]) {
    loop {
        let placed: Vec<Option<&Spot>> = found
            .iter()
            .zip(chosen.iter())
            .map(|(found, chosen)| found.as_ref().ok()?.get((*chosen)?))
            .collect();
        let starts: Vec<usize> = placed.iter().flatten().map(|spot| spot.start()).collect();
        if !starts.is_sorted() {
            return;
        }
        let next = (0..found.len()).find_map(|at| {
            let spots =
                found.get(at)?.as_ref().ok().filter(|_| placed.get(at).is_some_and(Option::is_none))?;
            let above = placed.get(..at)?.iter().flatten().next_back();
            let below = placed.get(at + 1..)?.iter().flatten().next();
            if above.is_none() && below.is_none() || spots.len() > MOST_PLACES {
                return None;
            }
            let between = |spot: &Spot| {
                above.is_none_or(|above| spot.start() > above.start() && spot.end() > above.end())
                    && below.is_none_or(|below| spot.start() < below.start() && spot.end() < below.end())
            };
            let mut fitting = (0..).zip(spots).filter(|(_, spot)| between(spot));
            match (fitting.next(), fitting.next()) {
                // Brackets stand in every other place too, only less alike.
                (Some((chosen, spot)), None) if spot.is_telling() => Some((at, chosen)),
                _ => None,
            }
        });
        match next {
            Some((at, spot)) => chosen[at] = Some(spot),
            None => return,
        }
    }
}

/// Tells whether what a hunk does at a place is done there already.
///
/// A hunk that only adds lines may still find its old lines when it is applied for the second time: where it begins or
/// ends with them, or where the added lines end as the context before them does.
///
/// ```text
///  hunk    file
///   }       }      the old side, `}` and `last`, stands below the block; but so does the new side, from the first
///  +block   block  `}` on, with the same `last`
///  +}       }
///   last    last
/// ```
///
/// Lines without a word are added beside their like all the time, so for them a number that is exact proves more. And a
/// hunk that changes whitespace finds its old lines, but for whitespace, in what it made of them.
fn is_applied(hunk: &Hunk, spot: &Spot, text: &Text<'_>) -> bool {
    let new: Vec<&Line> =
        spot.walk().map(|(line, _)| line).filter(|line| line.kind != Kind::Deleted).collect();
    if new.iter().all(|line| line.kind != Kind::Added) {
        return false;
    }
    if spot.lines.iter().any(|line| line.kind == Kind::Deleted) {
        let ends =
            (spot.old().next_back().map(|(last, _)| last.newline), new.last().map(|last| last.newline));
        if spot.end() == text.lines.len() && ends.0 != ends.1 && ends.0 == Some(text.is_terminated()) {
            // What it does to the end of the file is still to be done.
            return false;
        }
        let likeness = |(line, at): (&&Line, usize)| {
            Some(compare(line.bare(), text.line(at)?, &mut Proofs::default())?.likeness)
        };
        let stands: Option<Vec<Likeness>> = new.iter().zip(spot.start()..).map(likeness).collect();
        // Of two sides that both stand there, the longer one says more, and the beginning of the other says nothing.
        let old: Vec<&Line> = spot.old().map(|(line, _)| line).collect();
        let longer = new.len() > old.len();
        if new.len() < old.len() && new.iter().zip(&old).all(|(new, old)| key(&new.text) == key(&old.text)) {
            return false;
        }
        let worst = stands.and_then(|all| all.into_iter().max());
        return worst.is_some_and(|worst| worst < spot.fit.likeness || longer && worst == spot.fit.likeness);
    }
    let exact = spot.fit.likeness == Likeness::Exact;
    let word = |line: &Line| line.kind == Kind::Added && line.text.contains(char::is_alphanumeric);
    let told = new.iter().any(|line| word(line));
    if !told && spot.fit.shape == Shape::Whole && hunk.numbered() == Some(spot.start()) {
        return false;
    }
    // A hunk that is exact in all is taken at its word.
    let numbered = exact && spot.fit.shape == Shape::Whole && hunk.numbered() == Some(spot.start());
    let identical = spot.is_identical(text);
    let same = |line: &Line, at: usize| {
        text.line(at).is_some_and(|real| match numbered {
            true if identical => text.is_identical(line, at),
            true => line.bare() == real,
            false => key(&line.text) == key(real),
        })
    };
    let stands = |from: usize| new.iter().zip(from..).all(|(line, at)| same(line, at));
    let is_context = |line: &&&Line| line.kind == Kind::Context;
    let above = new.iter().take_while(|line| !is_context(line)).count();
    let below = new.iter().rev().take_while(|line| !is_context(line)).count();
    // From the first context line, and up to the last; where the number is exact, only from there.
    let after = |at: usize| new.iter().rev().take(below).rev().zip(at..).all(|(line, at)| same(line, at));
    spot.start().checked_sub(above).is_some_and(stands)
        || numbered && stands(spot.start())
        || spot.fit.shape == Shape::Gaps && below > 0 && after(spot.end())
        || !numbered && (spot.end() + below).checked_sub(new.len()).is_some_and(stands)
}

/// Finds where the new side of a hunk stands that has lost its old side.
fn standing_already(hunk: &Hunk, text: &Text<'_>) -> Option<usize> {
    let new: Option<Vec<usize>> = hunk.new_lines().map(|line| text.index().number(&line.text)).collect();
    let changes = hunk.lines().iter().any(|line| line.kind == Kind::Added);
    let new = new.filter(|new| changes && !new.is_empty())?;
    text.index().runs(&new).first().copied()
}
