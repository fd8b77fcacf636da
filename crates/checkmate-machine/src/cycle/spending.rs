//! What a cycle may use: room is set aside before a call is made.

use std::collections::BTreeMap;

use super::Cycle;
use crate::budget::{Budget, Full, Limits, Reserve, Spent};
use crate::effect::Action;
use crate::ids::Role;
use crate::outcome::{Outcome, StoppedBy};

impl Cycle {
    /// Sets room aside for the calls of a batch; an error says which limit leaves none.
    pub(super) fn reserve(&self, parts: &mut [Action]) -> Result<(), Full> {
        set_aside(&self.spec.policy.budget, &self.spent, parts)
    }

    /// Says who is working, unless the budget had no room for it.
    pub(super) fn working(&mut self, role: Role) {
        if self.outcome.is_none() {
            self.doing(format!("The {role} is working."));
        }
    }

    /// Ends the run where what failed has used up the room for asking again.
    pub(super) fn keep_within_budget(&mut self) {
        if let Err(full) = self.under(&self.spec.policy.budget) {
            self.out_of_budget(&full.reason, full.role);
        }
    }

    /// Ends the run at its budget, or at that of a role. What was outstanding stays for a larger one.
    pub(super) fn out_of_budget(&mut self, reason: &str, role: Option<Role>) {
        let kept = if self.candidate.is_some() {
            " The last candidate is kept: `checkmate show RUN --patch` shows it."
        } else {
            ""
        };
        let of = role.map_or_else(String::new, |role| format!("`--budget-of {role}` and "));
        self.stop(
            StoppedBy::Budget,
            format!(
                "{reason}{kept} `checkmate resume RUN` with {of}`--max-calls`, `--max-tokens`, `--max-usd` or `--max-minutes` \
                 goes on with a larger budget."
            ),
        );
    }

    /// Tells whether a changed budget would change anything now.
    pub fn accepts_budget(&self, role: Option<Role>, limits: Limits) -> bool {
        let budget = self.with(role, limits);
        match &self.outcome {
            None => budget != self.spec.policy.budget,
            Some(Outcome::NotApproved { stopped_by: StoppedBy::Budget, .. }) => self.under(&budget).is_ok(),
            Some(
                Outcome::NotApproved { .. }
                | Outcome::Approved { .. }
                | Outcome::Applied { .. }
                | Outcome::Error { .. },
            ) => false,
        }
    }

    /// Changes the limits of the run or a role. A run that a limit ended goes on where it was, if the new ones leave room.
    pub(super) fn change_budget(&mut self, role: Option<Role>, limits: Limits) {
        if !self.accepts_budget(role, limits) {
            return;
        }
        let budget = self.with(role, limits);
        let parts = self.under(&budget);
        self.spec.policy.budget = budget;
        if self.outcome.take().is_some()
            && let (Ok(parts), Some(effect)) = (parts, &mut self.effect)
        {
            effect.parts = parts;
        }
    }

    /// Returns the budget with other limits.
    fn with(&self, role: Option<Role>, limits: Limits) -> Budget {
        let mut budget = self.spec.policy.budget.clone();
        match role {
            Some(role) => budget.roles.entry(role).or_default().limits.replace(limits),
            None => budget.run.replace(limits),
        }
        budget
    }

    /// Returns the outstanding parts as they are under a budget; an error says which of its limits leaves no room.
    fn under(&self, budget: &Budget) -> Result<Vec<Action>, Full> {
        let mut parts = self.effect.as_ref().map(|effect| effect.parts.clone()).unwrap_or_default();
        set_aside(budget, &self.spent, &mut parts)?;
        Ok(parts)
    }
}

fn set_aside(budget: &Budget, spent: &BTreeMap<Role, Spent>, parts: &mut [Action]) -> Result<(), Full> {
    let mut reserve = Reserve::new(budget, spent.clone());
    for part in parts {
        if let Action::Call(call) = part {
            call.allowance = reserve.call(call)?;
        }
    }
    Ok(())
}
