//! A patch of the user's own: it is placed and brought to their tree like any other, and can be taken back like any other,
//! but nobody judges it.

use super::{Cycle, Step};
use crate::effect::{Action, Landing};
use crate::event::{Answer, Candidate};
use crate::ids::TreeId;
use crate::notice::Notice;
use crate::outcome::StoppedBy;
use crate::spec::Product;

impl Cycle {
    /// Tells whether the change is the user's own.
    pub(super) fn is_given(&self) -> bool {
        matches!(self.spec.product, Product::Given { .. })
    }

    pub(super) fn apply_given(&mut self, patch: String) {
        self.emit(Step::Applying, vec![Action::Apply { onto: self.base(), base: self.base(), patch }]);
    }

    pub(super) fn on_given_applied(&mut self, answers: Vec<Answer>) {
        let candidate = match answers.into_iter().next() {
            Some(Answer::Applied(candidate)) => candidate,
            Some(Answer::Rejected { reasons }) => {
                let reason =
                    format!("The patch does not fit your files; nothing changed. {}", reasons.join(" "));
                return self.refuse_given(reason);
            }
            Some(_) | None => return,
        };
        let mut refusals = self.not_allowed(&candidate);
        if let Product::Given { patch } = &self.spec.product {
            refusals.extend(self.edits_of_secrets(patch));
        }
        if !refusals.is_empty() {
            let reason = format!("The patch was refused; nothing changed. {}", refusals.join(" "));
            return self.refuse_given(reason);
        }
        if candidate.tree == self.base() {
            return self.refuse_given(
                "The patch changes nothing: the files already are as it would make them.".into(),
            );
        }
        self.notices.push(Notice::PatchReady { patch: candidate.diff.clone(), turn: self.turn });
        self.candidate = Some(candidate);
        self.land(Landing::Apply);
    }

    /// Ends the run; whoever sent the patch is told in the way in which other faults of theirs are told.
    pub(super) fn refuse_given(&mut self, reason: String) {
        self.notices.push(Notice::Error { error: reason.clone() });
        self.stop(StoppedBy::NotApplied, reason);
    }

    /// Follows the user's tree; there is nothing that would have to be verified again.
    pub(super) fn land_given(&mut self, target: TreeId, merged: Candidate) {
        if let Some(prepared) = &mut self.prepared {
            prepared.base = target;
        }
        self.candidate = Some(merged);
        self.land(Landing::Apply);
    }
}
