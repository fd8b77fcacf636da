//! Hunks that leave lines of the file out: a few in silence, any number where they say so or where a `@@` is missing.

use std::rc::Rc;

use super::super::compare::{Likeness, Proofs, compare};
use super::super::text::{MOST_PLACES, Text};
use super::super::{Fit, Kind, Line, Shape};
use super::align::{Bridge, MOST_PAIRS, NEAR, align};
use super::{Spot, Step, is_telling};

/// What a context line stands for that is not looked for in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Lines that are left out.
    Elision,
    /// Nothing: it only separates hunks.
    Separator,
}

pub(super) fn with_gaps(lines: &Rc<[Line]>, text: &Text<'_>) -> Vec<Spot> {
    aligned(lines, &marks(lines, false), text, false)
}

/// Reads a hunk as several whose `@@` are missing, perhaps with empty lines in their place.
pub(super) fn apart(lines: &Rc<[Line]>, text: &Text<'_>) -> Vec<Spot> {
    let told = |separated: bool| -> Vec<Spot> {
        aligned(lines, &marks(lines, separated), text, true).into_iter().filter(parts_tell).collect()
    };
    let spots = told(false);
    if spots.is_empty() { told(true) } else { spots }
}

fn marks(lines: &[Line], separated: bool) -> Vec<Option<Mark>> {
    let context = |at: Option<usize>| {
        at.and_then(|at| lines.get(at))
            .is_some_and(|line| line.kind == Kind::Context && !line.text.is_empty())
    };
    let mark = |(at, line): (usize, &Line)| {
        let between = context(at.checked_sub(1)) && context(Some(at + 1));
        let separator = separated && line.text.is_empty() && between;
        match line.kind {
            Kind::Context if is_elision(&line.text) => Some(Mark::Elision),
            Kind::Context if separator => Some(Mark::Separator),
            Kind::Context | Kind::Deleted | Kind::Added => None,
        }
    };
    lines.iter().enumerate().map(mark).collect()
}

/// Tells whether every part of a hunk that stands apart changes something and says where.
fn parts_tell(spot: &Spot) -> bool {
    let mut before = None;
    let (mut changes, mut tells) = (false, false);
    for (line, at) in spot.walk() {
        if before.is_some_and(|before| at > before + NEAR) {
            if !(changes && tells) {
                return false;
            }
            (changes, tells) = (false, false);
        }
        changes |= line.kind != Kind::Context;
        tells |= line.kind != Kind::Added && is_telling(&line.text);
        before = Some(if line.kind == Kind::Added { at } else { at + 1 });
    }
    changes && tells
}

/// Finds the old lines of a hunk in the file's order, with lines of the file between them that the hunk leaves out.
fn aligned(lines: &Rc<[Line]>, marks: &[Option<Mark>], text: &Text<'_>, far: bool) -> Vec<Spot> {
    let old: Vec<usize> = (0..lines.len())
        .filter(|at| lines.get(*at).is_some_and(|line| line.kind != Kind::Added) && !is_marked(marks, *at))
        .collect();
    let bridges: Vec<Bridge> =
        old.windows(2).map(|ends| bridge(lines, marks, ends[0], ends[1], far)).collect();
    let fit = Fit { shape: if far { Shape::Apart } else { Shape::Gaps }, likeness: Likeness::Exact };
    let pairs = |at: &usize| {
        lines.get(*at).and_then(|line| text.index().number(&line.text)).map(|n| text.index().places(n).len())
    };
    let pairs: usize = old.iter().filter_map(pairs).sum();
    // Each is looked at in four ways and more than once.
    if pairs > MOST_PAIRS || !text.index().may_compare(pairs * 8) {
        return Vec::new();
    }
    let levels = [Likeness::Exact, Likeness::TrailingSpace, Likeness::Typography, Likeness::Indentation];
    for level in levels {
        let places: Vec<Vec<usize>> = old.iter().map(|at| alike(lines.get(*at), text, level)).collect();
        if places.len() < 2 || places.iter().any(Vec::is_empty) {
            continue;
        }
        let spot = |at: &Vec<usize>| {
            let steps = steps(lines, marks, &old, at);
            Spot { lines: Rc::clone(lines), steps, lead: 0, fit }.judged(text)
        };
        let spots: Vec<Spot> = align(&places, &bridges).iter().filter_map(spot).take(MOST_PLACES).collect();
        if !spots.is_empty() {
            return spots;
        }
    }
    Vec::new()
}

fn is_marked(marks: &[Option<Mark>], at: usize) -> bool {
    marks.get(at).is_some_and(Option::is_some)
}

/// Finds the lines of the file that are at least so much alike to a line of a hunk.
fn alike(line: Option<&Line>, text: &Text<'_>, level: Likeness) -> Vec<usize> {
    let Some((line, number)) = line.and_then(|line| Some((line, text.index().number(&line.text)?))) else {
        return Vec::new();
    };
    let alike = |at: &usize| {
        let real = text.line(*at).and_then(|real| compare(line.bare(), real, &mut Proofs::default()));
        real.is_some_and(|alike| alike.likeness <= level)
    };
    text.index().places(number).iter().copied().filter(alike).collect()
}

/// Says how far two old lines that follow each other in a hunk may be apart in the file.
fn bridge(lines: &[Line], marks: &[Option<Mark>], from: usize, to: usize, far: bool) -> Bridge {
    let between = || marks.get(from..to).into_iter().flatten().flatten();
    if between().any(|mark| *mark == Mark::Elision) {
        return Bridge::Marked;
    }
    let deleted = |at: usize| lines.get(at).is_some_and(|line| line.kind == Kind::Deleted);
    let changed = deleted(from) || deleted(to);
    let added = lines.get(from..to).into_iter().flatten().any(|line| line.kind == Kind::Added);
    match (added, changed) {
        // A pure insertion stands between the two lines, and nowhere if they are apart.
        (true, false) => Bridge::Adjacent,
        (false, false) if far => Bridge::Far,
        _ if deleted(from) && deleted(to) => Bridge::Inside,
        _ => Bridge::Near,
    }
}

/// Places added lines beside the old line that they belong to where the hunk leaves lines out.
fn steps(lines: &[Line], marks: &[Option<Mark>], old: &[usize], at: &[usize]) -> Vec<Step> {
    let deleted = |number: Option<usize>| {
        number.and_then(|number| lines.get(*old.get(number)?)).is_some_and(|line| line.kind == Kind::Deleted)
    };
    let mut steps = Vec::with_capacity(lines.len());
    let (mut passed, mut marked) = (0, false);
    for (number, line) in lines.iter().enumerate() {
        if is_marked(marks, number) {
            marked = true;
            continue;
        }
        if line.kind != Kind::Added {
            steps.extend(at.get(passed).map(|at| Step { line: number, at: *at }));
            passed += 1;
            marked = false;
            continue;
        }
        let last = passed.checked_sub(1);
        let to_next = marked || last.is_none() || !deleted(last) && deleted(Some(passed));
        let place = match (last.and_then(|last| at.get(last)), at.get(passed)) {
            (_, Some(next)) if to_next => *next,
            (Some(last), _) => last + 1,
            (None, next) => next.copied().unwrap_or_default(),
        };
        steps.push(Step { line: number, at: place });
    }
    steps
}

/// Tells whether a context line stands for lines that are left out: `...`, perhaps in a comment.
pub(in super::super) fn is_elision(line: &str) -> bool {
    const LEADERS: [&str; 9] = ["{/*", "<!--", "//", "/*", "--", "#", ";", "%", "*"];
    let line = line.trim();
    let comment = LEADERS.iter().find_map(|leader| line.strip_prefix(leader));
    let text = comment.unwrap_or(line).trim_start();
    let dots = |text: &str| text.starts_with("...") || text.starts_with('\u{2026}');
    match comment {
        Some(_) => dots(text),
        None => matches!(text, "..." | "\u{2026}" | "[...]" | "(...)" | "{...}"),
    }
}
