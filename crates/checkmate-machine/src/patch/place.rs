//! Third stage: where in the old file a hunk may belong.
//!
//! A hunk is tried in classes, the strictest first: as it stands, then with a context line that lost its `+`, with
//! lines left out, without one outermost context line, and as several hunks whose `@@` are missing. In each class
//! lines that stand in the file exactly beat lines that differ in trailing whitespace, these beat typography, and
//! these beat indentation. All places of the first class that has any are returned: which of them is meant is decided
//! by other evidence, never by how similar they are. A deleted line that is not in the file has no place at all.

mod align;
mod gaps;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::compare::{Likeness, Proofs, compare, split_indent};
use super::indent::{Indents, shifts};
use super::text::{Text, Wanted};
use super::{Fit, Hunk, Kind, Line, Shape};
use gaps::{apart, with_gaps};

pub(super) use gaps::is_elision;

/// A place for a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    /// The hunk as it was read.
    pub(super) lines: Rc<[Line]>,
    /// One step per line of the hunk, but for lines that say that something is left out.
    pub(super) steps: Vec<Step>,
    /// How many old lines before the first step were left out of the hunk.
    pub(super) lead: usize,
    pub(super) fit: Fit,
}

/// A line of a hunk and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The line's number in the hunk.
    pub(super) line: usize,
    /// For an old line its number in the file, for an added line the number of the line that it comes before.
    pub(super) at: usize,
}

/// What a hunk does to a file, whatever context it has.
pub(super) type Effect = (Vec<usize>, Vec<(usize, String)>);

impl Spot {
    fn line(&self, step: &Step) -> Option<&Line> {
        self.lines.get(step.line)
    }

    /// The steps with their lines.
    pub(super) fn walk(&self) -> impl DoubleEndedIterator<Item = (&Line, usize)> {
        self.steps.iter().filter_map(|step| Some((self.line(step)?, step.at)))
    }

    /// The old lines with their numbers in the file.
    pub(super) fn old(&self) -> impl DoubleEndedIterator<Item = (&Line, usize)> {
        self.walk().filter(|(line, _)| line.kind != Kind::Added)
    }

    /// The first line of the file that the hunk knows, from 0.
    pub(super) fn start(&self) -> usize {
        self.steps.first().map_or(0, |step| step.at)
    }

    /// The line of the file after the last that the hunk knows, from 0.
    pub(super) fn end(&self) -> usize {
        self.old().next_back().map_or(0, |(_, at)| at + 1)
    }

    /// Tells whether any of the old lines says something about where it stands.
    pub(super) fn is_telling(&self) -> bool {
        self.old().any(|(line, _)| is_telling(&line.text))
    }

    pub(super) fn effect(&self) -> Effect {
        let deleted = self.old().filter(|(line, _)| line.kind == Kind::Deleted).map(|(_, at)| at).collect();
        let added = self.walk().filter(|(line, _)| line.kind == Kind::Added);
        (deleted, added.map(|(line, at)| (at, line.text.clone())).collect())
    }

    /// Tells whether every old line stands there byte for byte, its ending included.
    pub(super) fn is_identical(&self, text: &Text<'_>) -> bool {
        self.fit.likeness == Likeness::Exact && self.old().all(|(line, at)| text.is_identical(line, at))
    }

    /// Tells whether line endings or a missing final line feed differ between the hunk and the file.
    pub(super) fn keeps_endings(&self, text: &Text<'_>) -> bool {
        self.old().any(|(line, at)| {
            let real = text.lines.get(at).copied().unwrap_or_default();
            real.ends_with(b"\n") != line.newline || real.ends_with(b"\r\n") != line.text.ends_with('\r')
        })
    }

    /// Adds what the hunk's old lines prove at this place.
    pub(super) fn prove(
        &self,
        text: &Text<'_>,
        proofs: &mut Proofs,
        indents: &mut Indents,
    ) -> Option<Likeness> {
        let mut worst = Likeness::Exact;
        for (line, at) in self.old() {
            let alike = compare(line.bare(), text.line(at)?, proofs)?;
            worst = worst.max(alike.likeness);
            indents.extend(alike.indents.map(|(patch, file)| (patch.to_owned(), file.to_owned())));
        }
        Some(worst)
    }

    /// Settles how alike the lines are; `None` if they are not, or if nobody could say how to indent the added ones.
    fn judged(mut self, text: &Text<'_>) -> Option<Self> {
        let mut indents = Indents::new();
        self.fit.likeness = self.prove(text, &mut Proofs::default(), &mut indents)?;
        let indented = |line: &Line| line.kind == Kind::Added && !line.text.trim().is_empty();
        // Where a hunk leaves lines out, lines that differ in indentation only may be others.
        let must_indent = self.fit.shape != Shape::Whole || self.lines.iter().any(indented);
        (!must_indent || !shifts(&indents).is_empty()).then_some(self)
    }
}

/// The place of a hunk that only adds lines, in an empty file.
pub(super) fn filling(hunk: &Hunk) -> Spot {
    let whole = Fit { shape: Shape::Whole, likeness: Likeness::Exact };
    run(&Rc::from(hunk.lines()), 0, whole)
}

/// A place where a hunk's new side stands already, in the form of one for its old side.
pub(super) fn standing(hunk: &Hunk, start: usize) -> Spot {
    let new = hunk.new_lines().map(|line| Line { kind: Kind::Context, ..line.clone() });
    run(&new.collect(), start, Fit { shape: Shape::Whole, likeness: Likeness::Exact })
}

/// A way to fit a reading of a hunk into a file.
type Class = fn(&Rc<[Line]>, &Text<'_>) -> Vec<Spot>;

/// Finds every place that a hunk may belong to.
pub(super) fn places(hunk: &Hunk, text: &Text<'_>) -> Vec<Spot> {
    let readings: Vec<Rc<[Line]>> = hunk.readings.iter().map(|lines| Rc::from(lines.as_slice())).collect();
    let whole = Fit { shape: Shape::Whole, likeness: Likeness::Exact };
    let exactly = |lines: &Rc<[Line]>| -> Vec<Spot> {
        let old = Wanted::new(lines.iter().filter(|line| line.kind != Kind::Added));
        let starts = numbers(lines, text).filter(|numbers| !numbers.is_empty());
        let starts = starts.map_or_else(Vec::new, |numbers| text.index().runs(&numbers));
        let starts = starts.into_iter().filter(|start| text.stands_at(&old, *start));
        at_the_end(starts.map(|start| run(lines, start, whole)).collect(), text)
    };
    // Most hunks stand where they say, and then nothing has to be sought.
    let numbered = |lines: &Rc<[Line]>| {
        let old = Wanted::new(lines.iter().filter(|line| line.kind != Kind::Added));
        let start = hunk.numbered().filter(|start| !old.is_empty() && text.stands_at(&old, *start))?;
        Some(run(lines, start, whole)).filter(|spot| is_at_its_end(spot, text))
    };
    if let Some(spot) = readings.iter().find_map(numbered) {
        return or_shifted(vec![spot], hunk, &readings, as_it_stands, text);
    }
    let exact = fewest(readings.iter().map(exactly));
    if !exact.is_empty() {
        return or_shifted(exact, hunk, &readings, as_it_stands, text);
    }
    let found = |class: Class| {
        let spots = fewest(readings.iter().map(|lines| best(at_the_end(class(lines, text), text))));
        or_shifted(spots, hunk, &readings, class, text)
    };
    let stands = found(as_it_stands);
    if !stands.is_empty() {
        return stands;
    }
    let listed: Vec<Rc<[Line]>> =
        readings.iter().filter_map(|lines| with_list_items(hunk, lines, text)).collect();
    let listed = fewest(listed.iter().map(|lines| best(runs(lines, text, Shape::LostSign))));
    if !listed.is_empty() {
        return listed;
    }
    let classes: [Class; 4] = [with_a_lost_sign, with_gaps, without_an_edge, apart];
    classes.into_iter().map(found).find(|spots| !spots.is_empty()).unwrap_or_default()
}

/// Context that seems to have lost its sign may as well be indented one space less, together with the added lines.
/// Then the added lines tell: those of the file are indented like others of it. Where they do not, a patch that lost
/// signs has lines that start with none.
fn or_shifted(
    found: Vec<Spot>,
    hunk: &Hunk,
    readings: &[Rc<[Line]>],
    class: Class,
    text: &Text<'_>,
) -> Vec<Spot> {
    let [spot] = found.as_slice() else { return found };
    let added = |line: &Line| line.kind == Kind::Added && !line.text.trim().is_empty();
    if !spot.lines.iter().any(added) {
        return found;
    }
    let signed = |lines: &Rc<[Line]>| {
        let mut pairs = lines.iter().zip(spot.lines.iter());
        lines.len() == spot.lines.len()
            && pairs.all(|(line, raw)| match line.kind {
                Kind::Context => raw.text.strip_prefix(' ').unwrap_or(&raw.text) == line.text,
                Kind::Deleted | Kind::Added => raw == line,
            })
    };
    let others = readings.iter().filter(|lines| **lines != spot.lines && signed(lines));
    let same_place =
        |other: &Spot| other.steps.iter().map(|step| step.at).eq(spot.steps.iter().map(|step| step.at));
    let shifted: Vec<Spot> = others.flat_map(|lines| class(lines, text)).filter(same_place).collect();
    if shifted.is_empty() {
        return found;
    }
    let like_others = |less: usize| -> usize {
        let added = spot.lines.iter().filter(|line| added(line));
        let indents = added.map(|line| " ".repeat(less) + split_indent(&line.text).0);
        indents.filter_map(|indent| text.indents().get(indent.as_str())).sum()
    };
    match like_others(1).cmp(&like_others(0)) {
        Ordering::Less => found,
        Ordering::Equal if hunk.lost_signs => found,
        // Both are left, and so nothing is proven.
        Ordering::Equal => found.into_iter().chain(shifted).collect(),
        Ordering::Greater => shifted,
    }
}

/// Takes list items for context whose sign was lost, so that their dash looks like one: the file has them with the dash
/// and not without, and the counts in the header say the same or other context lost its sign too.
fn with_list_items(hunk: &Hunk, lines: &Rc<[Line]>, text: &Text<'_>) -> Option<Rc<[Line]>> {
    let dashed = |line: &Line| format!("{}{}", line.kind.sign(), line.text);
    let is_there = |line: &str| text.index().number(line).is_some();
    let is_item = |line: &Line| match line.kind {
        Kind::Context => false,
        Kind::Deleted => !is_there(&line.text) && is_there(&dashed(line)),
        Kind::Added => is_there(&dashed(line)),
    };
    // Who adds ` item` after `- item` has only forgotten the dash of the list.
    let replaced = |(at, line): (usize, &Line)| {
        let next = lines.get(at + 1).filter(|next| next.kind == Kind::Added && next.text.starts_with(' '));
        line.kind == Kind::Deleted && is_item(line) && next.is_some_and(|next| !is_item(next))
    };
    if lines.iter().enumerate().any(replaced) {
        return None;
    }
    let read = |line: &Line| match is_item(line) {
        true => Line { kind: Kind::Context, text: dashed(line), newline: line.newline },
        false => line.clone(),
    };
    let read: Rc<[Line]> = lines.iter().map(read).collect();
    let count = |skipped: Kind| read.iter().filter(|line| line.kind != skipped).count();
    let counted = hunk.counts == Some((count(Kind::Added), count(Kind::Deleted)));
    let only_dashes = !lines.iter().any(|line| line.kind == Kind::Added && is_item(line));
    ((counted || hunk.lost_signs && only_dashes) && read != *lines).then_some(read)
}

/// Chooses the reading whose lines are the most alike, and of those the one with the fewest places.
fn fewest(readings: impl Iterator<Item = Vec<Spot>>) -> Vec<Spot> {
    let found = readings.filter(|spots| !spots.is_empty());
    found.min_by_key(|spots| (spots.first().map(|spot| spot.fit), spots.len())).unwrap_or_default()
}

/// Keeps the spots with the best likeness, and of those with the same effect the first.
fn best(mut spots: Vec<Spot>) -> Vec<Spot> {
    let least = spots.iter().map(|spot| spot.fit.likeness).min();
    let mut seen = BTreeSet::new();
    spots.retain(|spot| Some(spot.fit.likeness) == least && seen.insert(spot.effect()));
    spots
}

/// Tells whether a hunk that marks the end of the file stands there.
fn is_at_its_end(spot: &Spot, text: &Text<'_>) -> bool {
    spot.end() == text.lines.len() || spot.old().next_back().is_none_or(|(last, _)| last.newline)
}

/// Follows the mark of a missing line feed where it leads to the end of the file; elsewhere it is a slip.
fn at_the_end(spots: Vec<Spot>, text: &Text<'_>) -> Vec<Spot> {
    let ends = |spot: &Spot| {
        spot.end() == text.lines.len() && spot.old().next_back().is_some_and(|(last, _)| !last.newline)
    };
    if spots.iter().any(ends) { spots.into_iter().filter(ends).collect() } else { spots }
}

/// A spot whose old lines stand one after the other.
fn run(lines: &Rc<[Line]>, start: usize, fit: Fit) -> Spot {
    let mut at = start;
    let step = |(line, real): (usize, &Line)| {
        let step = Step { line, at };
        at += usize::from(real.kind != Kind::Added);
        step
    };
    Spot { lines: Rc::clone(lines), steps: lines.iter().enumerate().map(step).collect(), lead: 0, fit }
}

/// The keys of a hunk's old lines as numbers; `None` if one of them is not in the file.
fn numbers(lines: &[Line], text: &Text<'_>) -> Option<Vec<usize>> {
    let old = lines.iter().filter(|line| line.kind != Kind::Added);
    old.map(|line| text.index().number(&line.text)).collect()
}

fn runs(lines: &Rc<[Line]>, text: &Text<'_>, shape: Shape) -> Vec<Spot> {
    let Some(numbers) = numbers(lines, text).filter(|numbers| !numbers.is_empty()) else { return Vec::new() };
    let fit = Fit { shape, likeness: Likeness::Exact };
    let starts = text.index().runs(&numbers);
    starts.into_iter().filter_map(|start| run(lines, start, fit).judged(text)).collect()
}

fn as_it_stands(lines: &Rc<[Line]>, text: &Text<'_>) -> Vec<Spot> {
    runs(lines, text, Shape::Whole)
}

/// Takes context lines between added lines for added ones: those that are not in the file at all, and one more line
/// that stands alone between two.
fn with_a_lost_sign(lines: &Rc<[Line]>, text: &Text<'_>) -> Vec<Spot> {
    let flanked = flanked(lines);
    let absent = |at: &usize| lines.get(*at).is_some_and(|line| text.index().number(&line.text).is_none());
    let blank = |at: &usize| lines.get(*at).is_some_and(|line| line.text.trim().is_empty());
    let missing: BTreeSet<usize> = flanked.iter().copied().filter(absent).collect();
    let mut sets = BTreeSet::from([missing.clone()]);
    sets.insert(flanked.iter().copied().filter(|at| absent(at) || blank(at)).collect());
    let added = |at: usize| lines.get(at).is_some_and(|line| line.kind == Kind::Added);
    let lone = flanked.iter().filter(|at| added(**at - 1) && added(**at + 1)).take(MOST_FLANKED);
    sets.extend(lone.map(|at| missing.iter().copied().chain([*at]).collect()));
    sets.remove(&BTreeSet::new());
    // What stands beside context that stays may as well be context that is wrong.
    sets.retain(|set| {
        set.iter().all(|at| [at - 1, at + 1].iter().all(|next| added(*next) || set.contains(next)))
    });
    let read = |set: &BTreeSet<usize>| -> Rc<[Line]> {
        let line = |(at, line): (usize, &Line)| {
            if set.contains(&at) { Line { kind: Kind::Added, ..line.clone() } } else { line.clone() }
        };
        lines.iter().enumerate().map(line).collect()
    };
    // Of several sets the smallest is meant.
    let mut sets: Vec<BTreeSet<usize>> = sets.into_iter().collect();
    sets.sort_by_key(BTreeSet::len);
    let sizes = sets.chunk_by(|one, other| one.len() == other.len());
    let found = |sets: &[BTreeSet<usize>]| -> Vec<Spot> {
        sets.iter().flat_map(|set| runs(&read(set), text, Shape::LostSign)).collect()
    };
    sizes.map(found).find(|spots| !spots.is_empty()).unwrap_or_default()
}

/// How many lone context lines between added lines are tried one by one.
const MOST_FLANKED: usize = 16;

/// Returns the context lines that have only context between them and an added line, before and after.
fn flanked(lines: &[Line]) -> Vec<usize> {
    let mut flanked = Vec::new();
    let mut after = None;
    for (at, line) in lines.iter().enumerate() {
        match line.kind {
            Kind::Context => {}
            Kind::Added => flanked.extend(after.replace(at + 1).into_iter().flat_map(|from| from..at)),
            Kind::Deleted => after = None,
        }
    }
    flanked
}

/// Leaves out one outermost context line, unless it stands next to a pure insertion and so says where that goes.
fn without_an_edge(lines: &Rc<[Line]>, text: &Text<'_>) -> Vec<Spot> {
    let mut spots = Vec::new();
    let edges = [(lines.first(), lines.get(1..)), (lines.last(), lines.get(..lines.len().saturating_sub(1)))];
    for (first, (edge, rest)) in [true, false].into_iter().zip(edges) {
        let (Some(edge), Some(rest)) = (edge, rest) else { continue };
        let mut nearest: Box<dyn Iterator<Item = &Line>> =
            if first { Box::new(rest.iter()) } else { Box::new(rest.iter().rev()) };
        let inserts =
            nearest.find(|line| line.kind != Kind::Added).is_none_or(|line| line.kind == Kind::Context);
        let beside = if first { rest.first() } else { rest.last() };
        let needed = beside.is_none_or(|line| line.kind == Kind::Added) && inserts;
        let telling = rest.iter().any(|line| line.kind != Kind::Added && is_telling(&line.text));
        if edge.kind == Kind::Context && !needed && telling {
            let lead = usize::from(first);
            spots.extend(
                runs(&Rc::from(rest), text, Shape::Edge).into_iter().map(|spot| Spot { lead, ..spot }),
            );
        }
    }
    spots
}

/// Tells whether a line says anything about where it stands; empty lines and brackets are everywhere.
fn is_telling(line: &str) -> bool {
    line.chars().filter(|c| c.is_alphanumeric()).count() >= 2
}
