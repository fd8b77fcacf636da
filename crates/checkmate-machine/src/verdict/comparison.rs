//! Old and new code called with the same arguments: a refactor changes no result, a fix acts on more than the very
//! literals of its tests.

use super::GateName;
use super::evidence::{Evidence, Opinion, Want, added_lines, listed};
use crate::command::CommandLine;
use crate::compared;
use crate::effect::{CheckKind, Layer};
use crate::excerpt;
use crate::facts::{Comparison, FileRole};
use crate::ids::TreeId;
use crate::spec::{Level, TaskKind};
use crate::task::{forbids, sentences};

/// The seconds that the calls may take.
const LIMIT_S: u64 = 40;

pub(super) fn wants(evidence: &Evidence<'_>) -> Vec<Want> {
    let Some(comparison) = asked(evidence) else { return Vec::new() };
    [(CheckKind::CompareBase, evidence.base), (CheckKind::Compare, &evidence.candidate.tree)]
        .into_iter()
        .filter(|(kind, _)| evidence.receipt(*kind).is_none())
        .map(|(kind, tree)| calls(comparison, kind, tree, None))
        .collect()
}

/// Makes a want of the calls on a tree, with a mutant laid over it where one is to be called.
pub(super) fn calls(comparison: &Comparison, kind: CheckKind, tree: &TreeId, mutant: Option<&Layer>) -> Want {
    let command = CommandLine {
        argv: comparison.argv.clone(),
        env: Vec::new(),
        shell: false,
        text: comparison.argv.join(" "),
    };
    Want {
        kind,
        command,
        tree: tree.clone(),
        layers: comparison.layers.iter().chain(mutant).cloned().collect(),
        vary: None,
        limit_s: Some(LIMIT_S),
    }
}

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let Some(comparison) = asked(evidence) else {
        return Opinion::Absent("No changed function can be called by itself.".into());
    };
    let (Some(base), Some(candidate)) =
        (evidence.receipt(CheckKind::CompareBase), evidence.receipt(CheckKind::Compare))
    else {
        return Opinion::Pending(
            "It needs calls of the changed functions on the old and the new code.".into(),
        );
    };
    let told = compared::results(comparison, &base.stdout.text)
        .len()
        .min(compared::results(comparison, &candidate.stdout.text).len());
    if told == 0 {
        return Opinion::Absent("No call of a changed function gave a result on both sides.".into());
    }
    let unasked = evidence.kind.told && evidence.kind.is(&[TaskKind::Chore]);
    if keeps_behaviour(evidence) || unasked {
        let mut differences = compared::differences(comparison, base, candidate);
        differences.retain(|difference| {
            !is_crash(&difference.before)
                && !is_renamed(&evidence.task.goal, &difference.before, &difference.after)
        });
        if unasked {
            let call = |at: u32| comparison.calls.get(at as usize);
            differences.retain(|found| {
                call(found.call).is_some_and(|call| !is_named(&evidence.task.goal, &call.function))
            });
        }
        let shown: Vec<String> = differences
            .iter()
            .take(3)
            .filter_map(|difference| {
                let call = comparison.calls.get(difference.call as usize)?;
                Some(format!(
                    "`{}` gave {} and gives {}",
                    excerpt::line(&call.text, 120),
                    excerpt::line(&difference.before, 120),
                    excerpt::line(&difference.after, 120)
                ))
            })
            .collect();
        if shown.is_empty() {
            return Opinion::Passed(format!("{told} calls give the same on the old and the new code."));
        }
        let differ = format!("{} of {told} calls differ: {}.", differences.len(), shown.join("; "));
        if unasked {
            let text = format!(
                "A chore asks for no new behaviour, but {differ} Take that back, or say where the goal asks for it."
            );
            return Opinion::Objected(vec![evidence.objection(GateName::Comparison, "differs", text)]);
        }
        let message = format!("The task is to keep the behaviour, but {differ}");
        if evidence.kind.told || evidence.kind.is(&[TaskKind::Refactor]) {
            return Opinion::Blocked(message);
        }
        return Opinion::Objected(vec![evidence.objection(GateName::Comparison, "differs", message)]);
    }
    let narrow: Vec<&str> = compared::calls_only_at_literals(comparison, base, candidate)
        .into_iter()
        .filter_map(|call| comparison.calls.get(call as usize))
        .map(|call| call.text.as_str())
        .filter(|call| is_written(evidence, call) && !is_meant(&evidence.task.goal, call))
        .collect();
    if narrow.is_empty() {
        return Opinion::Passed(format!(
            "{told} calls compared; the change acts on more than its tests' values."
        ));
    }
    let text = format!(
        "The change acts on the very values of a test and on nothing like them: {} differs from before, but calls with \
         other values of the same shape do not. Implement the rule instead of its examples, or say why only these values \
         are meant.",
        listed(narrow.iter().copied())
    );
    Opinion::Objected(vec![evidence.objection(GateName::Comparison, &narrow.join(" "), text)])
}

/// Tells whether the goal names a function, or what it lies in.
fn is_named(goal: &str, function: &str) -> bool {
    let names = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.filter(|word| word.len() > 2).map(str::to_lowercase).collect()
    };
    let goal = names(goal);
    // In front of it stands its file.
    let function = function.rsplit('#').next().unwrap_or(function);
    names(function).iter().any(|name| goal.contains(name))
}

/// Tells whether two results differ in nothing but the names of parts of objects that the goal renames: those that are gone
/// stand for those that are new, in the goal's order.
fn is_renamed(goal: &str, before: &str, after: &str) -> bool {
    let asked = |sentence: &&str| sentence.to_lowercase().contains("renam") && !forbids(sentence);
    let wishes: Vec<&str> = sentences(goal).into_iter().filter(asked).collect();
    let words: Vec<&str> = wishes.iter().flat_map(|wish| wish.split(|c: char| !is_part(c))).collect();
    let (old, new) = (keys(before), keys(after));
    let place = |key: &&str| words.iter().position(|word| word == key);
    let only = |these: &[(usize, &'_ str)], those: &[(usize, &str)]| {
        let mut only: Vec<String> = Vec::new();
        for (_, key) in these {
            if those.iter().all(|(_, other)| other != key) && !only.iter().any(|known| known == key) {
                only.push((*key).to_owned());
            }
        }
        only.sort_by_key(|key| place(&key.as_str()));
        only
    };
    let (gone, come) = (only(&old, &new), only(&new, &old));
    let named = |key: &String| place(&key.as_str()).is_some();
    if gone.is_empty() || gone.len() != come.len() || !gone.iter().chain(&come).all(named) {
        return false;
    }
    let mut renamed = String::with_capacity(after.len());
    let mut end = 0;
    for (at, key) in old {
        let name = gone.iter().position(|name| name == key).and_then(|index| come.get(index));
        renamed.push_str(&before[end..at]);
        renamed.push_str(name.map_or(key, String::as_str));
        end = at + key.len();
    }
    renamed.push_str(&before[end..]);
    // Some results list their parts by name.
    let parts = |text: &str| {
        let mut parts: Vec<String> =
            text.split([',', '(', ')', '{', '}']).map(|part| part.trim().to_owned()).collect();
        parts.sort_unstable();
        parts
    };
    renamed == after || parts(&renamed) == parts(after)
}

/// Returns the names of parts in a result, with their places: what stands before a `:` or a `=`, as a whole in quotes or
/// without any.
fn keys(result: &str) -> Vec<(usize, &str)> {
    let mut keys = Vec::new();
    let mut at = 0;
    while let Some(start) = result[at..].find(is_part).map(|found| at + found) {
        let end = result[start..].find(|c: char| !is_part(c)).map_or(result.len(), |length| start + length);
        let (before, after) = (&result[..start], &result[end..]);
        let quote = before.chars().next_back().filter(|c| matches!(c, '"' | '\''));
        let outside = quote.map_or(before, |quote| before.trim_end_matches(quote));
        let next = match quote {
            Some(quote) => after.strip_prefix(quote),
            None => Some(after),
        };
        let opened = outside.is_empty() || outside.ends_with(['(', '{', ' ']);
        if opened && next.is_some_and(|next| next.starts_with([':', '='])) {
            keys.push((start, &result[start..end]));
        }
        at = end;
    }
    keys
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// Tells whether the goal itself is about the values of a call: it states all of them, and says nothing of others like
/// them.
fn is_meant(goal: &str, call: &str) -> bool {
    const GENERAL: [&str; 16] = [
        "any", "all", "every", "each", "always", "never", "whatever", "whenever", "longer", "shorter",
        "more", "repeated", "runs", "several", "general", "other",
    ];
    let general = goal
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| GENERAL.contains(&word.to_lowercase().as_str()));
    let inside = call.split_once('(').map_or(call, |(_, inside)| inside).trim_end_matches(')');
    let bare = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let stands = goal.match_indices(inside).any(|(at, _)| {
        !bare(goal[..at].chars().next_back()) && !bare(goal[at + inside.len()..].chars().next())
    });
    !general && !inside.is_empty() && stands
}

/// Tells whether an old result was a failure that nobody promises: what comes in its place breaks no behaviour.
pub(super) fn is_crash(result: &str) -> bool {
    const CRASHES: [&str; 7] = [
        "IndexError",
        "TypeError",
        "AttributeError",
        "UnboundLocalError",
        "NameError",
        "RecursionError",
        "ReferenceError",
    ];
    CRASHES.iter().any(|name| result.starts_with(&format!("raises {name}")))
}

/// Tells whether the values of a call are written in the lines that the change adds to its code: its words and numbers,
/// in their order, in one line. A change without them does not know the answers by heart.
fn is_written(evidence: &Evidence<'_>, call: &str) -> bool {
    let inside = call.split_once('(').map_or(call, |(_, inside)| inside);
    let values = atoms(inside);
    let is_test = |path: &str| {
        let file = evidence.inspection.files.iter().find(|file| file.path == path);
        file.is_some_and(|file| matches!(file.role, FileRole::Test | FileRole::TestSupport))
    };
    !values.is_empty()
        && added_lines(&evidence.candidate.diff).into_iter().any(|(path, _, line)| {
            let mut written = atoms(line).into_iter();
            !is_test(path) && values.iter().all(|value| written.any(|other| other == *value))
        })
}

/// Splits source into its strings and numbers.
fn atoms(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit() || matches!(c, '"' | '\'' | '`')) {
        let in_word = rest[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let quote = rest[start..].chars().next().filter(|c| !c.is_ascii_digit());
        let inside = start + usize::from(quote.is_some());
        let length = match quote {
            Some(quote) => rest[inside..].find(quote),
            None => rest[inside..].find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_'))),
        };
        let end = length.map_or(rest.len(), |length| inside + length);
        if !in_word || quote.is_some() {
            found.push(&rest[inside..end]);
        }
        rest = rest.get(end + usize::from(quote.is_some())..).unwrap_or("");
    }
    found
}

pub(super) fn asked<'a>(evidence: &Evidence<'a>) -> Option<&'a Comparison> {
    let on = evidence.level(GateName::Comparison) != Level::Off;
    evidence.inspection.comparison.as_ref().filter(|comparison| on && !comparison.calls.is_empty())
}

fn keeps_behaviour(evidence: &Evidence<'_>) -> bool {
    match evidence.kind.kind {
        Some(TaskKind::Refactor | TaskKind::Docs | TaskKind::Tests) => true,
        Some(TaskKind::Feature | TaskKind::Bugfix | TaskKind::Chore) | None => false,
    }
}
