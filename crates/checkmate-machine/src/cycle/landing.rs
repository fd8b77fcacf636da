//! Approved is not the end: the change has to reach the user's tree, which may have moved.
//!
//! Landing has four ends: landed; conflict; the target moved (then the merged tree is verified like any candidate);
//! and red after the merge, which the machine computes from the merged tree's receipt.

use super::exam::After;
use super::{Cycle, Step};
use crate::effect::{Action, CheckKind, Landing, Question};
use crate::event::{Answer, Candidate};
use crate::evidence::{self, Standing};
use crate::ids::TreeId;
use crate::outcome::{Outcome, StoppedBy};
use crate::record::{TurnEnd, TurnRecord};
use crate::spec::LandPolicy;
use crate::verdict::{self, Decision, ReviewState};

/// How often a moving target is followed.
const LANDINGS: u32 = 5;

impl Cycle {
    pub(super) fn begin_landing(&mut self) {
        match (self.spec.policy.land, self.landing) {
            (_, Some(how)) => self.land(how),
            (LandPolicy::Apply | LandPolicy::Commit, None) => self.land(self.spec.policy.land.landing()),
            (LandPolicy::Ask, None) if self.spec.policy.interactive => {
                self.emit(Step::AskingToLand, vec![Action::Ask(Question::Land)]);
            }
            (LandPolicy::Ask, None) => {
                self.not_landed("Approved; `land` is set to `ask` and nobody is there to be asked.")
            }
        }
    }

    pub(super) fn on_asked_to_land(&mut self, answers: &[Answer]) {
        match answers.first() {
            // Who comments while they are asked wants that first.
            _ if self.has_untold_comments() => {
                self.verdict = None;
                self.end_turn(TurnEnd::Commented);
            }
            Some(Answer::Said { yes: true, .. }) => self.land(Landing::Apply),
            // A no, or what answers no such question.
            Some(_) | None => self.not_landed("Approved, but you chose not to land it."),
        }
    }

    /// Brings the candidate to the user.
    pub(super) fn land(&mut self, how: Landing) {
        self.landing = Some(how);
        self.doing("Landing the change.");
        self.emit(Step::Landing, vec![Action::Land { tree: self.present_tree(), base: self.base(), how }]);
    }

    pub(super) fn on_landed(&mut self, answers: Vec<Answer>) {
        let Some(answer) = answers.into_iter().next() else { return };
        if let Answer::Landed { commit, files } = answer {
            if self.is_given() {
                return self.end(Outcome::Applied { files });
            }
            self.end(Outcome::Approved { commit, files });
        } else if let Answer::Conflict { paths, .. } = answer {
            self.on_conflict(&paths);
        } else if let Answer::TargetMoved { target, merged } = answer {
            self.verify_merged(target, merged);
        }
    }

    /// Verifies the merged tree, and the user's own tree beside it: what is red there already is not charged.
    fn verify_merged(&mut self, target: TreeId, merged: Candidate) {
        self.rounds.landings += 1;
        if self.rounds.landings > LANDINGS {
            if self.is_given() {
                return self.refuse_given(
                    "Your working tree kept changing while the patch was being applied; nothing changed."
                        .into(),
                );
            }
            return self
                .not_landed("Approved, but your working tree kept changing while it was being landed.");
        }
        if self.is_given() {
            return self.land_given(target, merged);
        }
        self.status("Your tree is not the one that the change was verified on; verifying the merged tree.");
        let check = |kind, tree: &TreeId| Action::Check {
            kind,
            command: self.spec.policy.test_command.clone(),
            tree: tree.clone(),
            layers: Vec::new(),
            vary: None,
            limit_s: None,
        };
        let parts = vec![check(CheckKind::Merged, &merged.tree), check(CheckKind::Baseline, &target)];
        self.emit(Step::VerifyingMerged { target, merged }, parts);
    }

    pub(super) fn on_merged_verified(&mut self, target: TreeId, merged: Candidate, answers: Vec<Answer>) {
        let mut receipts = answers.into_iter().filter_map(Answer::ran);
        let (Some(tests), Some(baseline)) = (receipts.next(), receipts.next()) else { return };
        self.keep(CheckKind::Merged, &tests);
        self.keep(CheckKind::Baseline, &baseline);
        let standing = evidence::standing(&tests, Some(&baseline));
        if let Standing::Infra(reason) = &standing {
            // What is verified stays the candidate: landing it again finds the user's tree moved again.
            return self
                .not_landed(&format!("Approved, but the merged tree could not be verified. {reason}"));
        }
        if let Some(prepared) = &mut self.prepared {
            prepared.base = target;
        }
        self.candidate = Some(merged);
        self.baseline = Some(baseline);
        self.last_tests = Some(tests.clone());
        self.evidence = None;
        match standing {
            Standing::Green(_) | Standing::KnownRed(_) => {
                self.evidence = Some(tests);
                // The checker's part was played on the same change; the evidence is that of the merged tree.
                if self.examines() {
                    // Another base and other tests: what was gathered speaks for neither.
                    let review = self.approved_by.unwrap_or(ReviewState::Missing);
                    self.verdict = None;
                    return self.examine(After::Approve(review));
                }
                let review = self.approved_by.unwrap_or(ReviewState::Missing);
                if self.has_untold_comments() {
                    self.verdict = None;
                    return self.end_turn(TurnEnd::Commented);
                }
                let verdict = self.judge(review);
                if verdict.decision == Decision::Approved {
                    return self.land(self.landing.unwrap_or(self.spec.policy.land.landing()));
                }
                let failed: Vec<String> =
                    verdict.gates.into_iter().filter(|gate| !gate.passed).map(|gate| gate.message).collect();
                self.did_not_land(format!("Merged with the user's later edits: {}", failed.join(" ")), false);
            }
            Standing::Red
            | Standing::Absent
            | Standing::Unreported
            | Standing::Flaky
            | Standing::Infra(_) => {
                self.verdict = None;
                let red = if standing == Standing::Unreported {
                    verdict::unreported_message(&tests)
                } else {
                    verdict::red_message(&tests)
                };
                self.did_not_land(
                    format!("Merged with the user's later edits, the tests are red: {red}"),
                    false,
                );
            }
        }
    }

    fn on_conflict(&mut self, paths: &[String]) {
        let reason = format!(
            "The user's later edits contradict the approved change in {}. The change has to be made again on the user's \
             present files.",
            paths.join(", ")
        );
        self.did_not_land(reason, true);
    }

    /// Reopens the maker where it has turns left. `afresh` starts again from the user's present tree.
    fn did_not_land(&mut self, reason: String, afresh: bool) {
        self.status(&*reason);
        if self.is_given() {
            return self.refuse_given(reason);
        }
        if self.turn >= self.spec.policy.max_iterations {
            return self.stop(
                StoppedBy::LandingConflict,
                format!(
                    "{reason} No turns are left; the approved patch is kept: `checkmate show RUN --patch`."
                ),
            );
        }
        if !afresh {
            return self.end_turn(TurnEnd::DidNotLand(reason));
        }
        let diff = self.candidate.as_ref().map_or("", |candidate| &candidate.diff);
        let reason = format!("{reason}\nThe approved change was:\n{diff}");
        self.turns.push(TurnRecord {
            turn: self.turn,
            reply: self.reply.clone().unwrap_or_default(),
            refusals: Vec::new(),
            end: TurnEnd::DidNotLand(reason),
        });
        self.oscillation = super::stuck::Memory::default();
        self.emit(Step::Preparing, vec![Action::Prepare]);
    }

    fn not_landed(&mut self, reason: &str) {
        self.stop(
            StoppedBy::NotLanded,
            format!("{reason} `checkmate land RUN` brings the change to your tree, `checkmate show RUN --patch` shows it."),
        );
    }
}
