//! Which small changes of the changed code its tests should notice.

mod literals;
mod operators;
mod reach;
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use checkmate_machine::effect::Layer;
use checkmate_machine::facts::{FileFacts, Mutant};
use checkmate_machine::spec::TaskKind;

use self::targets::{Target, Targets};
use super::functions::Functions;
use super::{Source, Wish};

/// Mutants in all, those that only ask whether a place is reached left out.
const MOST: usize = 12;

/// Mutants of one line.
const MOST_OF_LINE: usize = 2;

/// Blocks that are asked whether they are reached.
const MOST_REACHED: usize = 3;

/// Candidates that are tried until there are enough.
const MOST_TRIED: usize = 48;

/// A change of some bytes that may become a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    rank: Rank,
    range: Range<usize>,
    text: String,
    /// The line, from 0.
    row: usize,
}

/// How telling a mutant is, the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Boundary,
    Condition,
    Negation,
    Branch,
    Return,
    Argument,
    Arithmetic,
    Bound,
    Call,
    Statement,
    Number,
    Text,
}

impl Rank {
    /// Tells whether two mutants of a line would tell much the same.
    fn is_like(self, other: Rank) -> bool {
        let returned = |rank| matches!(rank, Rank::Return | Rank::Argument);
        self == other || (returned(self) && returned(other))
    }
}

/// Returns mutants of the changed code, the most telling first; those that ask whether a place is reached come last.
pub(super) fn of(wish: &Wish<'_>, files: &[FileFacts], functions: &Functions) -> Vec<Mutant> {
    let targets = match wish.kind {
        TaskKind::Feature | TaskKind::Bugfix | TaskKind::Refactor | TaskKind::Chore => {
            targets::touched(wish, functions)
        }
        TaskKind::Tests => targets::mentioned(wish, files, &|path| super::roles::of(wish, path)),
        TaskKind::Docs => Targets::default(),
    };
    of_targets(&targets)
}

fn of_targets(targets: &Targets) -> Vec<Mutant> {
    let mut candidates = Vec::new();
    for target in &targets.list {
        let Some(source) = targets.sources.get(&target.path).filter(|_| !target.describes()) else {
            continue;
        };
        candidates.extend(operators::candidates(source, target).into_iter().map(|found| (target, found)));
    }
    candidates.sort_by(|one, other| {
        let order = |(target, found): &(&Target, Candidate)| {
            (found.rank, target.path.clone(), found.row, found.range.start, found.text.clone())
        };
        order(one).cmp(&order(other))
    });
    // The same change may come from two rules; the more telling one stays.
    let mut seen = BTreeSet::new();
    candidates.retain(|(target, found)| {
        seen.insert((target.path.as_str(), found.range.start, found.range.end, found.text.clone()))
    });
    // A condition that is written twice is decided once: its second mutant tells nothing new.
    let mut alike = BTreeSet::new();
    candidates.retain(|(target, found)| {
        let around = targets.sources.get(&target.path).and_then(|source| around(source, found));
        around.is_none_or(|around| {
            alike.insert((target.path.clone(), target.function.clone(), around, found.text.clone()))
        })
    });
    let mut made = chosen(targets, &candidates);
    let bodies = targets.list.iter().filter(|target| target.body.is_some() && !target.describes());
    let reached = bodies.filter_map(|target| {
        let source = targets.sources.get(&target.path)?;
        made_of(source, target, &reach::candidate(source, target)?, true)
    });
    made.extend(reached.take(MOST_REACHED));
    made
}

/// Returns the expression that a candidate changes a part of, with what it changes marked.
fn around(source: &Source, found: &Candidate) -> Option<String> {
    let node = source.root().descendant_for_byte_range(found.range.start, found.range.end)?;
    let whole = if node.byte_range() == found.range { node.parent()? } else { node };
    let (from, to) = (whole.start_byte(), whole.end_byte());
    let short = to - from <= 200;
    let text = |range: Range<usize>| source.text.get(range);
    short.then_some(())?;
    Some(format!("{}\0{}", text(from..found.range.start)?, text(found.range.end..to)?))
}

/// Chooses among sorted candidates: one for each line, then one of another kind, then any other.
fn chosen(targets: &Targets, candidates: &[(&Target, Candidate)]) -> Vec<Mutant> {
    let mut chosen: Vec<(Rank, Mutant)> = Vec::new();
    let mut of_line: BTreeMap<(&str, usize), Vec<Rank>> = BTreeMap::new();
    let mut done = BTreeSet::new();
    let order = spread(candidates);
    for (most, alike) in [(1, false), (MOST_OF_LINE, false), (MOST_OF_LINE, true)] {
        for index in &order {
            let Some((target, found)) = candidates.get(*index) else { continue };
            if chosen.len() >= MOST || done.len() >= MOST_TRIED {
                break;
            }
            let line = of_line.entry((target.path.as_str(), found.row)).or_default();
            let known = !alike && line.iter().any(|rank| rank.is_like(found.rank));
            if line.len() >= most || known || !done.insert(*index) {
                continue;
            }
            let source = targets.sources.get(&target.path);
            if let Some(mutant) = source.and_then(|source| made_of(source, target, found, false)) {
                line.push(found.rank);
                chosen.push((found.rank, mutant));
            }
        }
    }
    chosen.sort_by(|(one, first), (other, second)| {
        (one, &first.path, first.line, &first.now).cmp(&(other, &second.path, second.line, &second.now))
    });
    chosen.into_iter().map(|(_, mutant)| mutant).collect()
}

/// Returns the order in which candidates are tried: by rank, and within a rank far lines before near ones.
fn spread(candidates: &[(&Target, Candidate)]) -> Vec<usize> {
    let mut ranks: BTreeMap<Rank, Vec<usize>> = BTreeMap::new();
    for (index, (_, found)) in candidates.iter().enumerate() {
        ranks.entry(found.rank).or_default().push(index);
    }
    let mut order = Vec::new();
    for group in ranks.into_values() {
        let step = group.len().div_ceil(MOST).max(1);
        for offset in 0..step {
            order.extend(group.iter().skip(offset).step_by(step));
        }
    }
    order
}

/// Makes a mutant; `None` if it does not parse or changes no code.
fn made_of(source: &Source, target: &Target, found: &Candidate, reaches: bool) -> Option<Mutant> {
    let Range { start, end } = found.range;
    let line_start = source.text.get(..start)?.rfind('\n').map_or(0, |newline| newline + 1);
    let rest = source.text.get(end..)?;
    let line_end = end + rest.find('\n').unwrap_or(rest.len());
    let was = source.text.get(line_start..line_end)?;
    let now = [source.text.get(line_start..start)?, &found.text, source.text.get(end..line_end)?].concat();
    let replaced = source.text.get(start..end)?;
    if replaced.split_whitespace().eq(found.text.split_whitespace()) {
        return None;
    }
    source.with(&found.range, &found.text)?;
    Some(Mutant {
        path: target.path.clone(),
        line: u32::try_from(found.row).unwrap_or(u32::MAX - 1) + 1,
        function: target.function.clone(),
        was: on_one_line(was),
        now: on_one_line(&now),
        reaches,
        boundary: found.rank == Rank::Boundary,
        layer: Layer::Edit {
            path: target.path.clone(),
            start: start as u64,
            end: end as u64,
            text: found.text.clone(),
        },
    })
}

/// Returns a text on one line, at most 200 characters.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

#[cfg(test)]
mod tests;
