//! The checker was asked, and nothing that it found stands.

use super::{Case, Gate, GateName, ReviewState};
use crate::finding::{Status, Weight};

pub(super) fn review(case: &Case<'_>) -> Gate {
    let (passed, message) = match case.review {
        ReviewState::Missing => (false, "The reviewer has not seen this candidate."),
        ReviewState::Done => (true, "The reviewer has seen this candidate and its evidence."),
        ReviewState::SkippedByConfiguration => (true, "Review skipped by configuration."),
        ReviewState::Moderated => (true, "The moderator settled the open findings as matters of taste."),
    };
    Gate::new(GateName::Review, passed, message.into())
}

pub(super) fn findings(case: &Case<'_>) -> Gate {
    let gate = |passed, message| Gate::new(GateName::Findings, passed, message);
    let confirmed: Vec<&str> = case
        .findings
        .iter()
        .filter(|finding| matches!(finding.status, Status::Confirmed { .. }))
        .map(|finding| finding.id.as_str())
        .collect();
    if !confirmed.is_empty() {
        return gate(false, format!("A test confirms: {}.", confirmed.join(", ")));
    }
    let standing: Vec<String> = case
        .findings
        .iter()
        .filter(|finding| match finding.weight(case.policy.strictness) {
            Weight::Blocks | Weight::Objection => true,
            Weight::Suggestion => false,
        })
        .map(|finding| format!("{}: {}", finding.id, finding.issue.description))
        .collect();
    match (standing.is_empty(), case.review) {
        (true, _) => gate(true, format!("No finding stands.{}", settled(case))),
        (false, ReviewState::Moderated) => {
            gate(true, format!("Settled by the moderator: {}.{}", standing.join("; "), settled(case)))
        }
        (false, ReviewState::Missing | ReviewState::Done | ReviewState::SkippedByConfiguration) => {
            gate(false, format!("Open: {}.", standing.join("; ")))
        }
    }
}

/// Names the findings that a person settled: whoever reads an approval sees whose word it rests on.
fn settled(case: &Case<'_>) -> String {
    let settled: Vec<String> = case
        .findings
        .iter()
        .filter_map(|finding| match &finding.status {
            Status::Settled { why } => Some(format!("{}: {} ({why})", finding.id, finding.issue.description)),
            Status::Open | Status::Gone | Status::Confirmed { .. } | Status::Refuted { .. } => None,
        })
        .collect();
    if settled.is_empty() { String::new() } else { format!(" Settled by a person: {}.", settled.join("; ")) }
}
