//! Which calls show a difference between old and new code.
//!
//! A program of one file calls the functions that a change reaches, in Python and in JavaScript, on whatever tree it
//! lies in. The arguments are those of tests and of the goal, renamed ones of the same shape, and made-up ones of the
//! same types. Nothing is called that reads or writes more than its arguments, as far as its file shows.
//!
//! | file | question |
//! |---|---|
//! | `reach` | which functions and classes does the change reach |
//! | `literals` | which value does an expression stand for |
//! | `calls` | how do tests and goals call them |
//! | `arguments` | which other arguments fit |
//! | `program` | what does the program say |

mod arguments;
mod calls;
mod literals;
mod program;
mod reach;
#[cfg(test)]
mod tests;

use checkmate_machine::facts::{CallOrigin, ComparedCall, Comparison, FileFacts, FileRole};
use checkmate_machine::spec::TaskKind;

use self::calls::Call;
use self::reach::Target;
use super::language::Language;
use super::{Source, Wish, roles};

/// So many calls are made at most.
const CALLS: usize = 200;
/// So many functions are called at most.
const TARGETS: usize = 25;
/// So many calls of tests are made of one function.
const TESTS: usize = 12;
/// So many calls are made up for one function.
const GENERATED: usize = 20;
/// So many test files are read.
const FILES: usize = 100;

/// A call and where it comes from; its place in the list is its number.
struct Planned {
    call: Call,
    origin: CallOrigin,
}

/// Returns a program that calls the functions that the change touches, where they can be called by themselves.
pub(super) fn of(wish: &Wish<'_>, files: &[FileFacts]) -> Option<Comparison> {
    if wish.kind == TaskKind::Tests {
        return None;
    }
    let mut comparison = None;
    for python in [true, false] {
        let mut targets = Vec::new();
        for file in files.iter().filter(|file| file.effective && !is_test(wish, &file.path)) {
            let language = Language::of(&file.path);
            let fits =
                if python { file.path.ends_with(".py") } else { language == Some(Language::JavaScript) };
            // A file that is new stands beside an empty one.
            let before = if wish.before.has(&file.path) {
                wish.before.source(&file.path)
            } else {
                Source::parse(&file.path, String::new())
            };
            if let (true, Some(before), Some(after)) = (fits, before, wish.after.source(&file.path)) {
                targets.extend(reach::targets(&before, &after));
            }
        }
        targets.truncate(TARGETS);
        let planned = plan(&targets, &found(wish, &targets));
        // One program speaks one language: the one with more to call.
        let larger = comparison.as_ref().is_none_or(|known: &Comparison| known.calls.len() < planned.len());
        if !planned.is_empty() && larger {
            comparison = Some(written(wish, &targets, &planned));
        }
    }
    comparison
}

fn written(wish: &Wish<'_>, targets: &[Target], planned: &[Planned]) -> Comparison {
    let token = format!("checkmate-{:016x}", fastrand::u64(..));
    let calls = planned.iter().filter_map(|planned| {
        let target = targets.get(planned.call.target)?;
        let mut text = planned.call.source(target);
        if text.chars().count() > 300 {
            text = text.chars().take(299).chain(['\u{2026}']).collect();
        }
        let member = planned.call.steps.last().map(|(name, _)| name).or(planned.call.member.as_ref());
        let member = member.map_or_else(String::new, |name| format!(".{name}"));
        let function = format!("{}{member}", program::name(wish, target));
        Some(ComparedCall { function, text, origin: planned.origin })
    });
    let calls = calls.collect();
    let python = targets.iter().any(|target| target.language == Language::Python);
    let (path, text) = program::of(wish, &token, targets, planned.iter().map(|planned| &planned.call));
    let argv = vec![if python { "python3" } else { "node" }.to_owned(), path.clone()];
    Comparison { token, argv, layers: vec![checkmate_machine::effect::Layer::Text { path, text }], calls }
}

/// Tells whether a path is one that runners collect tests from.
fn is_test(wish: &Wish<'_>, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let folder =
        path.split('/').rev().skip(1).any(|part| ["tests", "test", "__tests__", "spec"].contains(&part));
    let named = stem.starts_with("test_") || stem.ends_with("_test") || stem == "tests" || stem == "conftest";
    folder
        || named
        || name.contains(".test.")
        || name.contains(".spec.")
        || roles::of(wish, path) == FileRole::Test
}

/// Returns the calls that the goal and the tests of either side make; what is new in the tests comes first.
fn found(wish: &Wish<'_>, targets: &[Target]) -> Vec<Call> {
    if targets.is_empty() {
        return Vec::new();
    }
    let changed = wish.changed();
    let mut paths: Vec<&str> = wish.after.paths().chain(wish.before.paths()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.retain(|path| {
        matches!(Language::of(path), Some(Language::Python | Language::JavaScript)) && is_test(wish, path)
    });
    // What changed comes first, then what bears the name of the code.
    let stems: Vec<String> = targets.iter().map(Target::stem).collect();
    let named = |path: &str| stems.iter().any(|stem| path.contains(stem.as_str()));
    paths.sort_by_key(|path| (!changed.contains(path), !named(path)));
    paths.truncate(FILES);
    let (mut new, mut old, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let [before, after] = [wish.before, wish.after]
            .map(|side| side.source(path).map(|source| calls::of(&source, targets)).unwrap_or_default());
        for call in &after {
            let list = if before.contains(call) { &mut old } else { &mut new };
            list.push(call.clone());
        }
        lost.extend(before.into_iter().filter(|call| !after.contains(call)));
    }
    let mut found: Vec<Call> = Vec::new();
    for call in [calls::quoted(wish.goal, targets), new, lost, old].concat() {
        if !found.contains(&call) {
            found.push(call);
        }
    }
    found
}

/// Chooses calls of every target, each test call before what was made from it.
fn plan(targets: &[Target], found: &[Call]) -> Vec<Planned> {
    let called = |place: &usize| found.iter().any(|call| call.target == *place);
    let called: Vec<usize> = (0..targets.len()).filter(called).collect();
    let mut planned: Vec<Planned> = Vec::new();
    for (at, place) in called.iter().enumerate() {
        let calls: Vec<&Call> = found.iter().filter(|call| call.target == *place).collect();
        // What one function does not need is there for the next.
        let quota = (CALLS - planned.len()) / (called.len() - at);
        let end = planned.len() + quota;
        let reserve = (quota / 4).min(GENERATED);
        for call in calls.iter().take(TESTS) {
            let siblings = arguments::renamed(call);
            if planned.len() + 1 + siblings.len() + reserve > end {
                break;
            }
            let of = u32::try_from(planned.len()).unwrap_or(u32::MAX);
            planned.push(Planned { call: (*call).clone(), origin: CallOrigin::Test });
            let siblings = siblings.into_iter().filter(|sibling| !found.contains(sibling));
            planned.extend(siblings.map(|call| Planned { call, origin: CallOrigin::Renamed { of } }));
        }
        let most = GENERATED.min(end.saturating_sub(planned.len()));
        for call in made_up(&calls, &planned).into_iter().take(most) {
            planned.push(Planned { call, origin: CallOrigin::Generated });
        }
    }
    planned
}

/// Returns made-up calls after the first few calls of a function, in turn, so that no single call decides.
fn made_up(calls: &[&Call], planned: &[Planned]) -> Vec<Call> {
    let lists: Vec<Vec<Call>> =
        calls.iter().take(3).map(|call| arguments::generated(call, GENERATED)).collect();
    let mut made: Vec<Call> = Vec::new();
    for round in 0..GENERATED {
        for call in lists.iter().filter_map(|list| list.get(round)) {
            if !made.contains(call) && !planned.iter().any(|planned| planned.call == *call) {
                made.push(call.clone());
            }
        }
    }
    made
}
