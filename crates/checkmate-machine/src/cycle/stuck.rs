//! Going in circles: noticing it, and what follows.

use std::collections::BTreeSet;

use similar::TextDiff;

use super::{Cycle, Step};
use crate::effect::{CheckKind, Purpose};
use crate::event::Answer;
use crate::evidence::{Receipt, Signal};
use crate::excerpt;
use crate::ids::{Role, TreeId};
use crate::notice::Notice;
use crate::outcome::StoppedBy;
use crate::patch;
use crate::prompt;
use crate::record::TurnEnd;
use crate::reply::{DecisionKind, Reply, Shape};
use crate::verdict::{Decision, ReviewState};

/// Two changes are the same attempt above this share of equal lines. Lines, not characters: two different one-line
/// fixes are 98% similar by character and 50% by line.
const SIMILAR: f32 = 0.95;
/// How many consecutive reviews with the same blockers are a circle.
const SAME_BLOCKERS: usize = 3;

/// Why a run does not get on, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stuck {
    reason: String,
    rule: StoppedBy,
}

impl Stuck {
    fn circle(reason: String) -> Self {
        Self { reason, rule: StoppedBy::Oscillation }
    }

    pub(super) fn limit() -> Self {
        Self {
            reason: "The turns are used up and findings are still open.".into(),
            rule: StoppedBy::MaxIterations,
        }
    }
}

/// What was tried before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Memory {
    /// Every patch that was sent, normalised, with its turn.
    patches: Vec<(u32, String)>,
    /// The lines of the latest patch that became a candidate.
    latest: Option<Vec<String>>,
    /// The lines of the patch that is being placed.
    proposed: Vec<String>,
    /// Every candidate, with its turn.
    trees: Vec<(u32, TreeId)>,
    /// The blockers of every review.
    blockers: Vec<(u32, BTreeSet<String>)>,
}

impl Memory {
    /// Tells whether a patch was sent before, or is nearly the latest that was applied.
    pub(super) fn repeated_patch(&self, text: &str) -> Option<Stuck> {
        let (normalised, lines) = essence(text);
        if let Some((turn, _)) = self.patches.iter().find(|(_, old)| *old == normalised) {
            return Some(Stuck::circle(format!("The builder sent the same patch as in turn {turn}.")));
        }
        // Renames change no line, so they are not alike for that.
        let latest = self.latest.as_ref().filter(|_| !lines.is_empty())?;
        let old: Vec<&str> = latest.iter().map(String::as_str).collect();
        let new: Vec<&str> = lines.iter().map(String::as_str).collect();
        let ratio = TextDiff::from_slices(&old, &new).ratio();
        (ratio > SIMILAR).then(|| {
            Stuck::circle(format!(
                "The builder's patch repeats {:.0}% of the lines of the one before.",
                ratio * 100.0
            ))
        })
    }

    /// Remembers a patch before it is placed.
    pub(super) fn propose(&mut self, turn: u32, text: &str) {
        let (normalised, lines) = essence(text);
        self.patches.push((turn, normalised));
        self.proposed = lines;
    }

    /// Tells whether a candidate was there before.
    pub(super) fn repeated_tree(&self, tree: &TreeId, base: &TreeId) -> Option<Stuck> {
        if tree == base {
            return Some(Stuck::circle("The builder took its whole change back.".into()));
        }
        let (turn, _) = self.trees.iter().find(|(_, old)| old == tree)?;
        Some(Stuck::circle(format!("The builder's change leads back to the candidate of turn {turn}.")))
    }

    /// Remembers a candidate.
    pub(super) fn applied(&mut self, turn: u32, tree: &TreeId) {
        self.trees.push((turn, tree.clone()));
        self.latest = Some(std::mem::take(&mut self.proposed));
    }

    /// Remembers a review's blockers and tells whether they do not change any more.
    pub(super) fn blockers(&mut self, review: u32, standing: Vec<String>) -> Option<Stuck> {
        let names = standing.join(", ");
        let set: BTreeSet<String> = standing.into_iter().collect();
        if self.blockers.last().is_none_or(|(last, _)| *last != review) {
            self.blockers.push((review, set.clone()));
        }
        let same = self.blockers.iter().rev().take_while(|(_, old)| *old == set).count();
        (same >= SAME_BLOCKERS)
            .then(|| Stuck::circle(format!("The same findings are open for {same} reviews: {names}.")))
    }
}

/// Reduces a patch to what it does, in a form that is equal for equal changes.
fn essence(text: &str) -> (String, Vec<String>) {
    match patch::parse(text) {
        Ok(patch) => (patch.normalised(), patch.changed_lines()),
        Err(_) => (text.trim().to_owned(), text.lines().map(str::to_owned).collect()),
    }
}

impl Cycle {
    /// The run goes in circles: the moderator where there is one, else the end.
    pub(super) fn stuck(&mut self, stuck: Stuck) {
        self.status(format!("Oscillation: {}", stuck.reason));
        if self.spec.policy.moderator {
            return self.moderate(stuck);
        }
        let open: Vec<String> = self
            .findings
            .standing(self.spec.policy.strictness)
            .iter()
            .map(|finding| format!("{}: {}", finding.id, finding.issue.description))
            .collect();
        let advice = if open.is_empty() {
            let before = self.turns.last().map_or_else(String::new, |turn| prompt::turn_end(&turn.end));
            format!(
                "{before} The builder will not get further by itself: word the goal more exactly, try another model for \
                 the builder, or take over by hand."
            )
        } else {
            format!(
                "Still open: {}. Builder and reviewer will not get further by themselves: decide the open point and say \
                 it in the goal, enable a moderator, or take the candidate over by hand.",
                open.join("; ")
            )
        };
        self.stop_with(StoppedBy::Oscillation, format!("{} {}", stuck.reason, advice.trim()));
    }

    pub(super) fn moderate(&mut self, stuck: Stuck) {
        self.tell_objections();
        let call = self.call(Role::Moderator, Purpose::Moderate);
        self.emit(Step::Moderating(stuck), vec![call]);
        self.working(Role::Moderator);
    }

    pub(super) fn on_moderated(&mut self, stuck: &Stuck, answers: Vec<Answer>) {
        let Some(Answer::Called(called)) = answers.into_iter().next() else { return };
        let again = |cycle: &mut Self| cycle.moderate(stuck.clone());
        let Some(Reply::Decision(decision)) =
            self.understand(Role::Moderator, &called, Shape::Decision, again)
        else {
            return;
        };
        self.notices.push(Notice::ModeratorDecision { decision: decision.clone() });
        let reasoning = &decision.reasoning;
        match decision.decision {
            DecisionKind::AcceptBuilder => self.accept_builder(stuck, reasoning),
            DecisionKind::AcceptReviewer => {
                let reason = format!(
                    "{} The moderator sides with the reviewer: {} Say in the goal how to meet the open findings and start \
                     a new run, or take the candidate over by hand: `checkmate show RUN --patch`.",
                    stuck.reason,
                    excerpt::sentence(reasoning)
                );
                self.stop_with(StoppedBy::Moderator, reason);
            }
            DecisionKind::RejectBoth => {
                let reason = format!(
                    "{} The moderator sides with neither and asks for a person: {} Decide it, say it in the goal and start a \
                     new run, or take the candidate over by hand: `checkmate show RUN --patch`.",
                    stuck.reason,
                    excerpt::sentence(reasoning)
                );
                self.stop_with(StoppedBy::NeedsHuman, reason);
            }
        }
    }

    /// The moderator settles taste; the verdict still needs green evidence on the very candidate.
    fn accept_builder(&mut self, stuck: &Stuck, reasoning: &str) {
        if self.has_untold_comments() {
            return self.end_turn(TurnEnd::Commented);
        }
        if self.present_tree() == self.base() {
            return self.stop(
                stuck.rule,
                format!("{} The moderator sides with the builder ({reasoning}), but nothing is left of the change.", stuck.reason),
            );
        }
        // A candidate that the run comes back to was tested when it was there before.
        if self.evidence.is_none() {
            self.evidence = self.green_before();
        }
        if !self.is_examined() && self.evidence.is_some() {
            return self.approve(ReviewState::Moderated);
        }
        if self.judge(ReviewState::Moderated).decision == Decision::Approved {
            return self.begin_landing();
        }
        self.stop(
            stuck.rule,
            format!(
                "{} The moderator sides with the builder ({reasoning}), but no moderator approves over missing or red \
                 evidence. Take the candidate over by hand, `checkmate show RUN --patch`, or word the goal differently and \
                 start a new run.",
                stuck.reason
            ),
        );
    }

    /// Returns the latest run of the tests on exactly the present candidate, if it was green.
    fn green_before(&self) -> Option<Receipt> {
        let tree = self.present_tree();
        let tested =
            self.receipts.iter().rev().find(|(kind, run)| *kind == CheckKind::Tests && run.tree == tree);
        let (_, receipt) = tested?;
        matches!(receipt.signal(), Signal::Pass { .. }).then(|| receipt.clone())
    }
}
