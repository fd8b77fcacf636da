//! What the goal asks for, and what shows that it is reached: the examiner's probes, else the tests that turned green.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::probes::{self, Seen};
use super::red_green;
use crate::excerpt;
use crate::task;

/// The most characters of a criterion.
const LONGEST: usize = 300;

/// One thing that the goal asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Criterion {
    /// What it is, in the words of the goal or of who wrote its probes.
    pub text: String,
    /// The names of what shows whether it holds: probes, or tests that are red without the change.
    pub shown_by: Vec<String>,
    /// Whether it holds; `None` if nothing shows it.
    pub holds: Option<bool>,
}

/// Returns the distinct criteria of the probes; without probes, the first sentence of a goal that asks for a new
/// behaviour.
pub(super) fn criteria(evidence: &Evidence<'_>) -> Vec<Criterion> {
    if evidence.probes.is_empty() { of_goal(evidence).into_iter().collect() } else { of_probes(evidence) }
}

fn of_probes(evidence: &Evidence<'_>) -> Vec<Criterion> {
    let mut found: Vec<(String, Vec<(&str, Seen)>)> = Vec::new();
    for (number, probe) in evidence.probes.all() {
        let seen = probes::seen(evidence, number, probe);
        // It does not follow from the goal, so it is none of the goal's criteria.
        if seen == Seen::Dismissed {
            continue;
        }
        let text = excerpt::line(&probe.criterion, LONGEST);
        match found.iter_mut().find(|(known, _)| *known == text) {
            Some((_, probes)) => probes.push((&probe.id, seen)),
            None => found.push((text, vec![(&probe.id, seen)])),
        }
    }
    found.into_iter().map(|(text, probes)| of_one(text, &probes)).collect()
}

fn of_one(text: String, probes: &[(&str, Seen)]) -> Criterion {
    let named = |wanted: fn(&Seen) -> bool| -> Vec<String> {
        let names = probes.iter().filter(|(_, seen)| wanted(seen));
        names.map(|(name, _)| excerpt::line(name, LONGEST)).collect()
    };
    let failing = named(|seen| matches!(seen, Seen::Fails(_)));
    let holding = named(|seen| matches!(seen, Seen::Holds { .. }));
    let (shown_by, holds) = match (failing.is_empty(), holding.is_empty()) {
        (false, _) => (failing, Some(false)),
        (true, false) => (holding, Some(true)),
        (true, true) => (Vec::new(), None),
    };
    Criterion { text, shown_by, holds }
}

fn of_goal(evidence: &Evidence<'_>) -> Option<Criterion> {
    if !red_green::applies(evidence) {
        return None;
    }
    let first = task::sentences(&evidence.task.goal).into_iter().next()?;
    let shown_by = red_green::shown(evidence);
    let holds = (!shown_by.is_empty()).then_some(true);
    Some(Criterion { text: excerpt::line(first, LONGEST), shown_by, holds })
}
