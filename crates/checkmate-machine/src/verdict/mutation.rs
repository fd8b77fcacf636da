//! Small changes of the changed code turn a test red, and every changed block is reached by one.
//!
//! Few mutants say little: below four only all of them surviving counts, and from four on more than a third.

use super::evidence::{Evidence, Opinion, Reddened, Want, reddened};
use super::{GateName, comparison};
use crate::compared;
use crate::effect::CheckKind;
use crate::evidence::{Ended, Standing, standing};
use crate::excerpt;
use crate::facts::Mutant;
use crate::spec::{Level, TaskKind};

/// The most mutants that count.
const MOST: usize = 10;
/// The most under a budget, and how many are tried before the first look.
const BUDGETED: usize = 6;
/// Under a budget, no mutants are tried if a test run takes longer than this, in milliseconds.
const LONG_MS: u64 = 60_000;
/// From how many mutants on a share of them counts.
const SHARE_FROM: usize = 4;

/// What became of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Killed,
    Survived,
    /// It does not compile or does not load, so it is none.
    Unfit,
    Unknown,
}

pub(super) fn wants(evidence: &Evidence<'_>) -> Vec<Want> {
    if !applies(evidence) {
        return Vec::new();
    }
    let plan = plan(evidence);
    let open: Vec<u32> = plan
        .iter()
        .filter(|(number, _)| fate(evidence, *number) == Fate::Unknown)
        .map(|(number, _)| *number)
        .collect();
    if open.is_empty() || decided(evidence, &plan).is_some() {
        let mut wants = compared(evidence, &plan);
        if wants.is_empty() {
            wants.extend(reaching(evidence).into_iter().map(|number| want(evidence, number)));
        }
        return wants;
    }
    // Whether a survivor changes anything at all is known before more are tried.
    let doubts = compared(evidence, &plan);
    if !doubts.is_empty() {
        return doubts;
    }
    // As many at once as could settle it.
    let batch = if open.len() == plan.len() { SHARE_FROM } else { 1 };
    open.into_iter().take(batch).map(|number| want(evidence, number)).collect()
}

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    if !applies(evidence) {
        return Opinion::Absent("There is nothing that its tests should notice.".into());
    }
    if !wants(evidence).is_empty() {
        return Opinion::Pending("It needs runs of mutants.".into());
    }
    let mut objections = unreached(evidence);
    let plan = plan(evidence);
    let of = |wanted: Fate| plan.iter().filter(move |(number, _)| fate(evidence, *number) == wanted);
    let (killed, survived) = (of(Fate::Killed).count(), of(Fate::Survived).count());
    if objections.is_empty() && too_many(survived, killed + survived) {
        let survivors: Vec<String> = of(Fate::Survived)
            .map(|(number, mutant)| {
                let shown = witness(evidence, *number).flatten();
                let shown = shown.map_or_else(String::new, |call| format!(" ({call})"));
                let line = |text: &str| excerpt::line(text, 120);
                let (was, now) = (line(&mutant.was), line(&mutant.now));
                format!("{}:{} `{was}` as `{now}`{shown}", mutant.path, mutant.line)
            })
            .collect();
        let text = format!(
            "The tests do not notice {survived} of {} small changes of the new code: {}. Add tests that pin this \
             behaviour, or say why it does not matter.",
            killed + survived,
            survivors.iter().take(5).cloned().collect::<Vec<_>>().join("; ")
        );
        objections.push(evidence.objection(GateName::Mutation, &survivors.join(" "), text));
    }
    if objections.is_empty() {
        objections = unpinned(evidence, &plan);
    }
    if !objections.is_empty() {
        return Opinion::Objected(objections);
    }
    match killed + survived {
        0 => Opinion::Absent("No small change of the new code could be tried.".into()),
        all => Opinion::Passed(format!("The tests notice {killed} of {all} small changes of the new code.")),
    }
}

fn applies(evidence: &Evidence<'_>) -> bool {
    let kind = match evidence.kind.kind {
        Some(TaskKind::Feature | TaskKind::Bugfix | TaskKind::Tests) | None => true,
        Some(TaskKind::Refactor | TaskKind::Docs | TaskKind::Chore) => false,
    };
    let affordable = match evidence.level(GateName::Mutation) {
        Level::Off => false,
        Level::On => true,
        Level::Budget => evidence.one_run_ms() <= LONG_MS,
    };
    kind && affordable && !evidence.inspection.mutants.is_empty()
}

/// Returns the mutants that count, with their numbers.
fn plan<'a>(evidence: &Evidence<'a>) -> Vec<(u32, &'a Mutant)> {
    let most = if evidence.level(GateName::Mutation) == Level::On { MOST } else { BUDGETED };
    let all = (0..).zip(&evidence.inspection.mutants).filter(|(_, mutant)| !mutant.reaches);
    // One that is none makes room for the next.
    let mut room = most;
    all.take_while(|(number, _)| {
        let unfit = fate(evidence, *number) == Fate::Unfit;
        let fits = room > 0;
        room = room.saturating_sub(usize::from(!unfit));
        fits
    })
    .take(2 * MOST)
    .collect()
}

fn fate(evidence: &Evidence<'_>, number: u32) -> Fate {
    let Some(receipt) = evidence.receipt(CheckKind::Mutant(number)) else { return Fate::Unknown };
    if matches!(receipt.ended, Ended::TimedOut { .. } | Ended::Killed { .. }) {
        return Fate::Killed;
    }
    // Tests that stop running or reporting were noticed to do so.
    let silent = matches!(
        standing(receipt, evidence.tests),
        Standing::Absent | Standing::Unreported | Standing::Flaky
    );
    if silent {
        return Fate::Killed;
    }
    let reports = evidence.tests.is_some_and(|tests| tests.report.is_some());
    match reddened(receipt, evidence.tests) {
        Reddened::ByTest(names) if is_noticed(evidence, &names) => Fate::Killed,
        // Tests that were there already notice it; those that the task asks for do not.
        Reddened::ByTest(_) => Fate::Survived,
        // A runner that reports and now does not: the mutant does not compile.
        Reddened::ByLoading if reports && receipt.report.is_none() => Fate::Unfit,
        Reddened::ByLoading => Fate::Killed,
        Reddened::Not if witness(evidence, number) == Some(None) => Fate::Unfit,
        Reddened::Not => Fate::Survived,
        Reddened::Unknown(_) => Fate::Unfit,
    }
}

/// Tells whether the failing tests count: where the task is to write tests, one of those has to be among them.
fn is_noticed(evidence: &Evidence<'_>, failing: &[String]) -> bool {
    if !evidence.kind.is(&[TaskKind::Tests]) || failing.is_empty() {
        return true;
    }
    let last = |name: &str| name.rsplit(['.', ':', '>']).next().unwrap_or(name).trim().to_owned();
    let fresh: Vec<String> = evidence.fresh_tests().iter().map(|(_, test)| last(&test.name)).collect();
    fresh.is_empty() || failing.iter().any(|name| fresh.iter().any(|test| name.contains(test.as_str())))
}

/// How many calls have to agree before a mutant is taken for the same program in other words.
const AGREEING: usize = 8;

/// Returns a call whose result a mutant changes, with both results: `None` if that is not known, `Some(None)` if no call
/// shows a difference.
fn witness(evidence: &Evidence<'_>, number: u32) -> Option<Option<String>> {
    let comparison = comparison::asked(evidence)?;
    let (good, mutant) =
        (evidence.receipt(CheckKind::Compare)?, evidence.receipt(CheckKind::CompareMutant(number))?);
    let after = compared::results(comparison, &mutant.stdout.text);
    let told = compared::results(comparison, &good.stdout.text)
        .keys()
        .filter(|call| after.contains_key(call))
        .count();
    if told < AGREEING {
        return None;
    }
    let difference = compared::differences(comparison, good, mutant).into_iter().next();
    Some(difference.and_then(|difference| {
        let call = comparison.calls.get(difference.call as usize)?;
        let line = |text: &str| excerpt::line(text, 80);
        Some(format!(
            "{} gives {} and would give {}",
            line(&call.text),
            line(&difference.before),
            line(&difference.after)
        ))
    }))
}

/// Returns the calls that show whether a survivor changes anything, for those not called yet.
fn compared(evidence: &Evidence<'_>, plan: &[(u32, &Mutant)]) -> Vec<Want> {
    let called = evidence.receipt(CheckKind::Compare).is_some();
    let Some(comparison) = comparison::asked(evidence).filter(|_| called) else { return Vec::new() };
    plan.iter()
        .filter(|(number, _)| fate(evidence, *number) == Fate::Survived)
        .map(|(number, mutant)| (CheckKind::CompareMutant(*number), mutant))
        .filter(|(kind, _)| evidence.receipt(*kind).is_none())
        .map(|(kind, mutant)| {
            comparison::calls(comparison, kind, &evidence.candidate.tree, Some(&mutant.layer))
        })
        .collect()
}

/// Tells whether so many survivors are too many.
fn too_many(survived: usize, all: usize) -> bool {
    match all {
        0 | 1 => false,
        2 | 3 => survived == all,
        _ => survived * 3 > all,
    }
}

/// Returns the judgement once no mutant that is left can change it.
fn decided(evidence: &Evidence<'_>, plan: &[(u32, &Mutant)]) -> Option<bool> {
    let of = |wanted: Fate| plan.iter().filter(|(number, _)| fate(evidence, *number) == wanted).count();
    let (killed, survived, open) = (of(Fate::Killed), of(Fate::Survived), of(Fate::Unknown));
    let all = killed + survived + open;
    if killed + survived < SHARE_FROM.min(all) {
        return None;
    }
    let (best, worst) = (too_many(survived, all), too_many(survived + open, all));
    (best == worst).then_some(best)
}

/// Returns the mutants that show whether a block is reached, where another mutant of it survived.
fn reaching(evidence: &Evidence<'_>) -> Vec<u32> {
    doubtful(evidence).into_iter().filter(|number| fate(evidence, *number) == Fate::Unknown).take(2).collect()
}

fn doubtful(evidence: &Evidence<'_>) -> Vec<u32> {
    let survivors: Vec<&Mutant> = plan(evidence)
        .into_iter()
        .filter(|(number, _)| fate(evidence, *number) == Fate::Survived)
        .map(|(_, mutant)| mutant)
        .collect();
    (0..)
        .zip(&evidence.inspection.mutants)
        .filter(|(_, mutant)| {
            mutant.reaches
                && survivors
                    .iter()
                    .any(|other| other.path == mutant.path && other.function == mutant.function)
        })
        .map(|(number, _)| number)
        .take(2)
        .collect()
}

/// Objects to boundaries that no test pins where the next one would keep the behaviour of before. Others may be as the goal
/// wants them: to ask for each would stop honest changes.
fn unpinned(evidence: &Evidence<'_>, plan: &[(u32, &Mutant)]) -> Vec<super::evidence::Objection> {
    plan.iter()
        .filter(|(number, mutant)| mutant.boundary && fate(evidence, *number) == Fate::Survived)
        .filter_map(|(number, mutant)| {
            let call = regression(evidence, *number)?;
            let line = |text: &str| excerpt::line(text, 120);
            let text = format!(
                "No test pins the boundary at {}:{}: with `{}` every test passes as well, but {call}. Add a test of such a \
                 case with what the goal asks for there, or say why it does not matter.",
                mutant.path,
                mutant.line,
                line(&mutant.now),
            );
            Some(evidence.objection(GateName::Mutation, &format!("{}{}{}", mutant.path, mutant.line, mutant.now), text))
        })
        .collect()
}

/// Returns a call whose result the change alters and a mutant does not, with all three results.
fn regression(evidence: &Evidence<'_>, number: u32) -> Option<String> {
    let comparison = comparison::asked(evidence)?;
    let of = |kind| evidence.receipt(kind).map(|receipt| compared::results(comparison, &receipt.stdout.text));
    let (base, good) = (of(CheckKind::CompareBase)?, of(CheckKind::Compare)?);
    let mutant = of(CheckKind::CompareMutant(number))?;
    let (call, before) = base.iter().find(|(call, before)| {
        good.get(*call).is_some_and(|after| after != *before)
            && mutant.get(*call) == Some(*before)
            && !comparison::is_crash(before)
    })?;
    let line = |text: &str| excerpt::line(text, 80);
    Some(format!(
        "{} gave {} before the change and would still do so, where now it gives {}",
        line(&comparison.calls.get(*call as usize)?.text),
        line(before),
        line(good.get(call)?)
    ))
}

/// Objects to blocks that no test reaches.
fn unreached(evidence: &Evidence<'_>) -> Vec<super::evidence::Objection> {
    let alive: Vec<&Mutant> = doubtful(evidence)
        .into_iter()
        .filter(|number| fate(evidence, *number) == Fate::Survived)
        .filter_map(|number| evidence.inspection.mutants.get(number as usize))
        .collect();
    alive
        .into_iter()
        .map(|mutant| {
            let name = mutant.function.as_deref().unwrap_or("the changed code");
            let text = format!(
                "No test reaches `{name}` at {}:{}: it can fail there and every test still passes. Add a test that runs it, \
                 or say why none can.",
                mutant.path, mutant.line
            );
            evidence.objection(GateName::Mutation, &format!("{}{name}", mutant.path), text)
        })
        .collect()
}

fn want(evidence: &Evidence<'_>, number: u32) -> Want {
    let layers: Vec<_> = evidence
        .inspection
        .mutants
        .get(number as usize)
        .map(|mutant| mutant.layer.clone())
        .into_iter()
        .collect();
    let want = evidence.want_tests(CheckKind::Mutant(number), &evidence.candidate.tree, &layers);
    Want { limit_s: Some(evidence.generous_s()), ..want }
}
