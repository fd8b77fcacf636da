//! The checker's half of a turn: its review, its questions, and what follows from either.

use super::checks::{COMMANDS, refused_by_a_person, said, split_tail, too_many_commands};
use super::exam::After;
use super::turn::distinct;
use super::{Cycle, Step};
use crate::command::CommandLine;
use crate::effect::{Action, CheckKind, Purpose, Question};
use crate::event::{Answer, Called};
use crate::evidence::Receipt;
use crate::excerpt;
use crate::gate::commands::{self, CommandVerdict};
use crate::ids::{Role, TreeId};
use crate::notice::Notice;
use crate::outcome::StoppedBy;
use crate::prompt;
use crate::record::{ExtraTest, TurnEnd};
use crate::reply::{BlockReason, Problem, Reply, Review, ReviewVerdict, Shape};
use crate::verdict::{self, Case, Decision, ReviewState};

/// How often an uncertain checker may ask for commands in one turn.
const DIAGNOSTICS: u32 = 3;

/// The commands of an uncertain checker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Diagnostics {
    /// What may run; those that a person is asked about stand last.
    allowed: Vec<CommandLine>,
    /// What the checker is told about the others.
    refused: Vec<String>,
}

impl Cycle {
    /// Asks the checker about the candidate and its evidence.
    pub(super) fn ask_reviewer(&mut self) {
        self.tell_objections();
        let call = self.call(Role::Reviewer, Purpose::Review);
        self.emit(Step::Reviewing, vec![call]);
        self.working(Role::Reviewer);
    }

    pub(super) fn on_reviewed(&mut self, answers: Vec<Answer>) {
        let Some(Answer::Called(called)) = answers.into_iter().next() else { return };
        let Some(Reply::Review(review)) =
            self.understand(Role::Reviewer, &called, Shape::Review, Self::ask_reviewer)
        else {
            return;
        };
        match (review.verdict, review.block_reason) {
            (ReviewVerdict::Block, Some(BlockReason::Uncertainty)) => self.diagnose(&called, &review),
            // Whatever word stands before it: a change that a person has to decide about does not land by itself.
            (
                ReviewVerdict::Approve | ReviewVerdict::RequestChanges | ReviewVerdict::Block,
                Some(BlockReason::NeedsHuman),
            ) => {
                let reason = format!(
                    "The reviewer asks for a person: {}{} Decide it, say it in the goal and start a new run, or take \
                     the candidate over by hand: `checkmate show RUN --patch`.",
                    excerpt::sentence(&review.stopping),
                    listed(&review)
                );
                self.take_review(review);
                self.stop(StoppedBy::NeedsHuman, reason);
            }
            (
                ReviewVerdict::Approve | ReviewVerdict::RequestChanges | ReviewVerdict::Block,
                Some(BlockReason::DefiniteBug | BlockReason::Uncertainty) | None,
            ) => {
                self.take_review(review);
                self.after_review();
            }
        }
    }

    fn take_review(&mut self, review: Review) {
        let ids = self.findings.review(&review.issues, self.turn);
        // Everybody speaks of a finding by the name that the run knows it by.
        let mut named = review.clone();
        for (issue, id) in named.issues.iter_mut().zip(ids) {
            issue.issue_id = Some(id);
        }
        self.notices.push(Notice::ReviewReady { review: Box::new(named), turn: self.turn });
        for text in &review.extra_tests {
            // Equal words only: "a test for zero" is no other name for "a test for one".
            let words = |text: &str| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
            if self.extra_tests.iter().all(|known| words(&known.text) != words(text)) {
                let id = format!("test-{}", self.extra_tests.len() + 1);
                self.extra_tests.push(ExtraTest { id, text: text.clone(), answer: None });
            }
        }
        self.review = Some(review);
    }

    /// Decides what follows from the findings as they stand. Nothing here reads the checker's verdict word: an
    /// `approve` beside a standing blocker is no approval, a `request_changes` without one is.
    pub(super) fn after_review(&mut self) {
        let strictness = self.spec.policy.strictness;
        if self.evidence.is_none() {
            let reason = self.last_tests.as_ref().map_or_else(String::new, verdict::red_message);
            return self.end_turn(TurnEnd::Red(reason));
        }
        let standing: Vec<String> =
            self.findings.standing(strictness).iter().map(|finding| finding.id.clone()).collect();
        if standing.is_empty() {
            return self.approve(ReviewState::Done);
        }
        if let Some(finding) = self.findings.to_arbitrate(strictness) {
            let id = finding.id.clone();
            return self.arbitrate(&id);
        }
        if let Some(stuck) = self.oscillation.blockers(self.findings.reviews(), standing) {
            return self.stuck(stuck);
        }
        let Some(review) = self.review.clone() else { return };
        self.end_turn(TurnEnd::Reviewed(review));
    }

    /// Approves the candidate if its evidence is complete; what settled a finding may have made it another one.
    pub(super) fn approve(&mut self, review: ReviewState) {
        if self.is_examined() { self.approve_examined(review) } else { self.examine(After::Approve(review)) }
    }

    /// Computes the verdict; only an approving one goes on to land.
    pub(super) fn approve_examined(&mut self, review: ReviewState) {
        if self.has_untold_comments() {
            return self.end_turn(TurnEnd::Commented);
        }
        let verdict = self.judge(review);
        match verdict.decision {
            Decision::Approved => self.begin_landing(),
            Decision::Objections | Decision::Blocked => {
                let reason = verdict
                    .gates
                    .iter()
                    .filter(|gate| !gate.passed)
                    .map(|gate| gate.message.as_str())
                    .collect::<Vec<_>>()
                    .join(" ");
                self.end_turn(TurnEnd::Red(reason));
            }
        }
    }

    /// Judges the candidate as it stands and tells the verdict.
    pub(super) fn judge(&mut self, review: ReviewState) -> verdict::Verdict {
        let verdict = self.judged(review);
        self.notices
            .push(Notice::Verdict { verdict: verdict.clone(), findings: self.findings.all().to_vec() });
        self.approved_by = (verdict.decision == Decision::Approved).then_some(review);
        self.verdict = Some(verdict.clone());
        verdict
    }

    /// Judges the present candidate from the receipts as they stand, whatever was decided before; `None` without one.
    pub fn rejudged(&self) -> Option<verdict::Verdict> {
        self.candidate.as_ref()?;
        Some(self.judged(self.approved_by.unwrap_or(self.seen())))
    }

    /// Returns what the checker has seen of the candidate as it stands.
    fn seen(&self) -> ReviewState {
        if self.review.is_some() { ReviewState::Done } else { ReviewState::Missing }
    }

    fn judged(&self, review: ReviewState) -> verdict::Verdict {
        let review = match review {
            // What was seen before the maker's latest answers does not speak for them.
            ReviewState::Done | ReviewState::Moderated if self.has_unheard_answers() => ReviewState::Missing,
            ReviewState::Done
            | ReviewState::Moderated
            | ReviewState::Missing
            | ReviewState::SkippedByConfiguration => review,
        };
        verdict::judge(&Case {
            policy: &self.spec.policy,
            candidate: &self.present_tree(),
            tests: &self.tests_on(&self.present_tree()),
            baseline: self.baseline.as_ref(),
            review,
            findings: self.findings.all(),
            evidence: self.exhibit(),
        })
    }

    /// Returns every receipt of the test command on exactly this tree, oldest first.
    fn tests_on(&self, tree: &TreeId) -> Vec<&Receipt> {
        self.receipts
            .iter()
            .filter(|(kind, receipt)| match kind {
                CheckKind::Baseline | CheckKind::Tests | CheckKind::Arbiter | CheckKind::Merged => {
                    receipt.tree == *tree
                }
                // Another command, or a tree with files laid over it.
                CheckKind::BuilderRun
                | CheckKind::Diagnostic
                | CheckKind::ArbiterBase
                | CheckKind::OldTests
                | CheckKind::BrokenTests
                | CheckKind::BrokenBase
                | CheckKind::NewTests
                | CheckKind::Reverted
                | CheckKind::Repeat(_)
                | CheckKind::RepeatBase(_)
                | CheckKind::Example
                | CheckKind::Probe(_)
                | CheckKind::ProbeAgain(_)
                | CheckKind::ProbeBase(_)
                | CheckKind::CompareBase
                | CheckKind::Compare
                | CheckKind::Mutant(_)
                | CheckKind::CompareMutant(_) => false,
            })
            .map(|(_, receipt)| receipt)
            .collect()
    }

    fn diagnose(&mut self, called: &Called, review: &Review) {
        if self.rounds.diagnostics >= DIAGNOSTICS {
            let problem = Problem(format!(
                "You asked for diagnostics {DIAGNOSTICS} times in this turn already; decide now with what you have seen: \
                 approve, request_changes, or block with definite_bug or needs_human."
            ));
            return self.send_back(Role::Reviewer, &called.text, vec![problem], Self::ask_reviewer);
        }
        self.rounds.diagnostics += 1;
        self.notices.push(Notice::DiagnosticRun { commands: review.diagnostics_needed.clone() });
        let mut diagnostics = Diagnostics { allowed: Vec::new(), refused: Vec::new() };
        let mut asked = Vec::new();
        let lines = distinct(&review.diagnostics_needed);
        if lines.len() > COMMANDS {
            diagnostics.refused.push(too_many_commands(lines.len()));
        }
        for line in lines.into_iter().take(COMMANDS) {
            match commands::judge(line, &self.spec.policy) {
                CommandVerdict::TestCommand => {
                    diagnostics.allowed.push(self.spec.policy.test_command.clone())
                }
                CommandVerdict::Allow(command) => diagnostics.allowed.push(command),
                CommandVerdict::Ask(command) => asked.push(command),
                CommandVerdict::Deny(reason) => diagnostics.refused.push(format!("$ {line}\n{reason}")),
            }
        }
        if asked.is_empty() {
            return self.run_diagnostics(diagnostics);
        }
        let questions = asked
            .iter()
            .map(|command| {
                Action::Ask(Question::Command { role: Role::Reviewer, line: command.text.clone() })
            })
            .collect();
        diagnostics.allowed.extend(asked);
        self.emit(Step::AskingForReviewer(diagnostics), questions);
    }

    pub(super) fn on_asked_for_reviewer(&mut self, diagnostics: Diagnostics, answers: &[Answer]) {
        let (mut allowed, asked) = split_tail(diagnostics.allowed, answers.len());
        let mut refused = diagnostics.refused;
        for (command, answer) in asked.into_iter().zip(answers) {
            match said(answer) {
                (true, _) => allowed.push(command),
                (false, text) => {
                    refused.push(format!("$ {}\n{}", command.text, refused_by_a_person(&command, text)))
                }
            }
        }
        self.run_diagnostics(Diagnostics { allowed, refused });
    }

    fn run_diagnostics(&mut self, diagnostics: Diagnostics) {
        if diagnostics.allowed.is_empty() {
            return self.on_diagnosed(&diagnostics, Vec::new());
        }
        let tree = self.present_tree();
        let parts = diagnostics
            .allowed
            .iter()
            .map(|command| Action::Check {
                kind: CheckKind::Diagnostic,
                command: command.clone(),
                tree: tree.clone(),
                layers: Vec::new(),
                vary: None,
                limit_s: None,
            })
            .collect();
        self.emit(Step::Diagnosing(diagnostics), parts);
    }

    /// Goes back to the checker with one block per command, refused ones included.
    pub(super) fn on_diagnosed(&mut self, diagnostics: &Diagnostics, answers: Vec<Answer>) {
        for receipt in answers.into_iter().filter_map(Answer::ran) {
            self.keep(CheckKind::Diagnostic, &receipt);
            self.diagnostics.push(prompt::receipt(&receipt));
        }
        for refusal in &diagnostics.refused {
            // The agent sees the command above the refusal; for a person the refusal names it.
            self.status(refusal.split_once('\n').map_or(&**refusal, |(_, reason)| reason));
            self.diagnostics.push(prompt::refusal(refusal));
        }
        self.ask_reviewer();
    }

    /// The turns are used up: the moderator where there is one and something to decide, else the end.
    pub(super) fn at_the_limit(&mut self) {
        let standing = self.findings.standing(self.spec.policy.strictness).len();
        if self.spec.policy.moderator && standing > 0 && self.evidence.is_some() {
            return self.moderate(super::stuck::Stuck::limit());
        }
        let last = self
            .turns
            .last()
            .map_or_else(String::new, |turn| excerpt::sentence(&prompt::turn_end(&turn.end)));
        let limit = self.spec.policy.max_iterations;
        self.stop_with(
            StoppedBy::MaxIterations,
            format!(
                "Not approved after {limit} {}. {last} Raise `max_iterations`, narrow the goal, or take the candidate \
                 over by hand: `checkmate show RUN --patch`.",
                if limit == 1 { "turn" } else { "turns" }
            ),
        );
    }

    /// Leaves a verdict that says what stood in the way.
    pub(super) fn judge_for_the_record(&mut self) {
        if self.has_untold_comments() {
            // What a person said comes first, whatever the gates would say.
            self.verdict = None;
        } else if self.candidate.is_some() {
            self.judge(self.seen());
        }
    }

    /// Ends a run whose replies led nowhere.
    pub(super) fn stop_with(&mut self, stopped_by: StoppedBy, reason: String) {
        self.judge_for_the_record();
        if self.verdict.as_ref().is_some_and(|verdict| verdict.decision == Decision::Approved) {
            // A person settled meanwhile what stood in the way.
            return self.begin_landing();
        }
        self.stop(stopped_by, reason);
    }
}

fn listed(review: &Review) -> String {
    review.issues.iter().map(|issue| format!(" {}", excerpt::sentence(&issue.description))).collect()
}
