//! Which gates of evidence there are, what each still needs, and when to stop asking.

use super::evidence::{Evidence, Objection, Opinion, Want};
use super::{
    Cost, Gate, GateName, ReviewState, State, assertions, comparison, dependencies, determinism, examples,
    existing_tests, mutation, old_tests, probes, protected, red_green, scope, secrets, suspicion,
};
use crate::effect::CheckKind;
use crate::probe::Probe;
use crate::spec::Level;

/// A gate of evidence.
struct Row {
    name: GateName,
    opinion: fn(&Evidence<'_>) -> Opinion,
    wants: fn(&Evidence<'_>) -> Vec<Want>,
    /// What is asked for together: reading costs nothing, and what settles most comes before what costs most.
    stage: u8,
}

/// The stages that run commands, in their order.
const STAGES: std::ops::RangeInclusive<u8> = 1..=3;

const ROWS: [Row; 14] = [
    Row { name: GateName::Scope, opinion: scope::opinion, wants: nothing, stage: 0 },
    Row { name: GateName::Protected, opinion: protected::opinion, wants: nothing, stage: 0 },
    Row { name: GateName::Dependencies, opinion: dependencies::opinion, wants: nothing, stage: 0 },
    Row { name: GateName::Secrets, opinion: secrets::opinion, wants: nothing, stage: 0 },
    Row { name: GateName::ExistingTests, opinion: existing_tests::opinion, wants: nothing, stage: 0 },
    Row { name: GateName::Assertions, opinion: assertions::opinion, wants: nothing, stage: 0 },
    Row { name: GateName::Suspicion, opinion: suspicion::opinion, wants: nothing, stage: 0 },
    Row { name: GateName::RedGreen, opinion: red_green::opinion, wants: red_green::wants, stage: 1 },
    Row { name: GateName::OldTests, opinion: old_tests::opinion, wants: old_tests::wants, stage: 1 },
    Row { name: GateName::Examples, opinion: examples::opinion, wants: examples::wants, stage: 1 },
    Row { name: GateName::Probes, opinion: probes::opinion, wants: probes::wants, stage: 1 },
    Row { name: GateName::Comparison, opinion: comparison::opinion, wants: comparison::wants, stage: 2 },
    Row { name: GateName::Determinism, opinion: determinism::opinion, wants: determinism::wants, stage: 2 },
    Row { name: GateName::Mutation, opinion: mutation::opinion, wants: mutation::wants, stage: 3 },
];

fn nothing(_: &Evidence<'_>) -> Vec<Want> {
    Vec::new()
}

/// Returns what a gate says; nothing while the change has not been read.
fn opinion(row: &Row, evidence: &Evidence<'_>) -> Opinion {
    if evidence.read {
        (row.opinion)(evidence)
    } else {
        Opinion::Pending("It needs the change to be read.".into())
    }
}

/// Returns the rows that the rules ask for.
fn rows<'a>(evidence: &'a Evidence<'_>) -> impl Iterator<Item = &'static Row> + 'a {
    ROWS.iter().filter(|row| evidence.level(row.name) != Level::Off)
}

/// Returns what is to be run next; nothing once every gate has seen what it needs, or one of an earlier stage blocks.
pub fn next(evidence: &Evidence<'_>) -> Vec<Want> {
    for stage in STAGES {
        let before = rows(evidence).filter(|row| row.stage < stage);
        if before.into_iter().any(|row| matches!(opinion(row, evidence), Opinion::Blocked(_))) {
            return Vec::new();
        }
        let wants: Vec<Want> =
            rows(evidence).filter(|row| row.stage == stage).flat_map(|row| (row.wants)(evidence)).collect();
        if !wants.is_empty() {
            return wants;
        }
    }
    Vec::new()
}

/// Returns why the candidate cannot land whatever its tests say, from reading it alone.
pub fn blocked_by_reading(evidence: &Evidence<'_>) -> Vec<String> {
    blocked_by(evidence, |row| row.stage == 0)
}

/// Returns why the candidate cannot land, whoever says what.
pub fn blocked(evidence: &Evidence<'_>) -> Vec<String> {
    blocked_by(evidence, |_| true)
}

fn blocked_by(evidence: &Evidence<'_>, wanted: fn(&Row) -> bool) -> Vec<String> {
    let (mut blocked, mut pending) = (Vec::new(), Vec::new());
    for row in rows(evidence).filter(|row| wanted(row)) {
        match opinion(row, evidence) {
            Opinion::Blocked(message) => blocked.push(message),
            Opinion::Pending(message) => pending.push(message),
            Opinion::Passed(_) | Opinion::Absent(_) | Opinion::Objected(_) => {}
        }
    }
    // What was not asked any more because something blocks says nothing against the change.
    if blocked.is_empty() { pending } else { blocked }
}

/// Returns the probes that fail on the candidate.
pub fn failing_probes(evidence: &Evidence<'_>) -> Vec<String> {
    probes::failing(evidence)
}

/// Returns the probes that fail without the change and hold with it.
pub fn proven_probes<'a>(evidence: &Evidence<'a>) -> Vec<&'a Probe> {
    probes::proven(evidence)
}

/// Returns a line for every gate that has something to say, and the notes that no gate judges.
pub fn summary(evidence: &Evidence<'_>) -> Vec<String> {
    let line = |row: &Row| match opinion(row, evidence) {
        Opinion::Passed(message) => Some(format!("{}: passed. {message}", row.name.name())),
        Opinion::Blocked(message) => Some(format!("{}: blocked. {message}", row.name.name())),
        Opinion::Pending(_) | Opinion::Absent(_) | Opinion::Objected(_) => None,
    };
    let notes = if evidence.read && evidence.level(GateName::Suspicion) != Level::Off {
        suspicion::notes(evidence)
    } else {
        Vec::new()
    };
    rows(evidence).filter_map(line).chain(notes).collect()
}

/// Returns every objection, answered ones included.
pub fn objections(evidence: &Evidence<'_>) -> Vec<Objection> {
    rows(evidence)
        .filter_map(|row| {
            if let Opinion::Objected(objections) = opinion(row, evidence) { Some(objections) } else { None }
        })
        .flatten()
        .collect()
}

/// Returns what every gate says.
pub(super) fn gates(evidence: &Evidence<'_>, review: ReviewState) -> Vec<Gate> {
    rows(evidence)
        .map(|row| {
            let (state, message, objections) = match opinion(row, evidence) {
                Opinion::Passed(message) => (State::Passed, message, Vec::new()),
                Opinion::Absent(message) => (State::Absent, message, Vec::new()),
                Opinion::Blocked(message) => (State::Blocked, message, Vec::new()),
                Opinion::Pending(message) => (State::Pending, message, Vec::new()),
                Opinion::Objected(objections) => (heard(&objections, review), told(&objections), objections),
            };
            let passed = !matches!(state, State::Objected | State::Blocked | State::Pending);
            Gate { gate: row.name, passed, state, message, objections, cost: cost(evidence, row.name) }
        })
        .collect()
}

/// An answer counts once the checker has seen it.
fn heard(objections: &[Objection], review: ReviewState) -> State {
    let seen = matches!(review, ReviewState::Done | ReviewState::Moderated);
    if seen && objections.iter().all(|objection| objection.answer.is_some()) {
        State::Answered
    } else {
        State::Objected
    }
}

fn told(objections: &[Objection]) -> String {
    let one = |objection: &Objection| match &objection.answer {
        None => format!("{} ({})", objection.text, objection.id),
        Some(answer) => format!("{} ({}) The builder answers: {answer}", objection.text, objection.id),
    };
    objections.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Returns what the commands of a gate cost.
fn cost(evidence: &Evidence<'_>, gate: GateName) -> Cost {
    let mut cost = Cost::default();
    for (_, receipt) in evidence.receipts.iter().filter(|(kind, _)| gate_of(*kind) == Some(gate)) {
        cost.runs += 1;
        cost.ms = cost.ms.saturating_add(receipt.duration_ms);
    }
    cost
}

/// Returns the gate that a command is run for.
pub fn gate_of(kind: CheckKind) -> Option<GateName> {
    Some(match kind {
        CheckKind::OldTests | CheckKind::BrokenTests | CheckKind::BrokenBase => GateName::OldTests,
        CheckKind::NewTests | CheckKind::Reverted => GateName::RedGreen,
        CheckKind::Repeat(_) | CheckKind::RepeatBase(_) => GateName::Determinism,
        CheckKind::Example => GateName::Examples,
        CheckKind::Probe(_) | CheckKind::ProbeAgain(_) | CheckKind::ProbeBase(_) => GateName::Probes,
        CheckKind::CompareBase | CheckKind::Compare => GateName::Comparison,
        CheckKind::Mutant(_) | CheckKind::CompareMutant(_) => GateName::Mutation,
        CheckKind::Baseline => GateName::Baseline,
        CheckKind::Tests | CheckKind::Merged => GateName::Tests,
        CheckKind::BuilderRun | CheckKind::Diagnostic | CheckKind::Arbiter | CheckKind::ArbiterBase => {
            return None;
        }
    })
}
