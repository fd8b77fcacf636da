//! How a run ends, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{CommitId, Role};

/// The end of a cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The verdict approved, and the user has the change.
    Approved {
        /// The new commit, when landing by commit.
        commit: Option<CommitId>,
        /// The files that changed in the user's tree.
        files: Vec<String>,
    },
    /// The user's own patch is in their tree; nothing was tested or reviewed.
    Applied {
        /// The files that changed in the user's tree.
        files: Vec<String>,
    },
    /// A decision against the change, or for a person.
    NotApproved {
        /// The rule that ended the run.
        stopped_by: StoppedBy,
        /// What happened and what a person can do, in full sentences.
        reason: String,
    },
    /// Something outside the run failed; `checkmate resume` goes on from here.
    Error {
        /// What failed and the next step.
        message: String,
    },
}

/// The rules that end a run without an approval that landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// The turns are used up.
    MaxIterations,
    /// The maker repeats itself or both sides repeat each other.
    Oscillation,
    /// The moderator sided with the reviewer.
    Moderator,
    /// A person has to decide.
    NeedsHuman,
    /// The maker says that goal and tests contradict each other.
    GoalConflict,
    /// A role did not give a usable reply.
    UnusableReply,
    /// The user's later edits contradict the approved change.
    LandingConflict,
    /// Approved, but nobody has landed it yet.
    NotLanded,
    /// The user's own patch does not fit, or touches what it may not.
    NotApplied,
    /// The user's own patch was applied, and then taken back.
    TakenBack,
    /// The budget leaves no room for the next step; with a larger one the run goes on.
    Budget,
    /// Somebody ended it.
    Cancelled,
    /// A task it depends on failed.
    DependencyFailed,
}

impl StoppedBy {
    /// Returns the name that `--json` and events carry.
    pub fn name(self) -> &'static str {
        match self {
            StoppedBy::MaxIterations => "max_iterations",
            StoppedBy::Oscillation => "oscillation",
            StoppedBy::Moderator => "moderator",
            StoppedBy::NeedsHuman => "needs_human",
            StoppedBy::GoalConflict => "goal_conflict",
            StoppedBy::UnusableReply => "unusable_reply",
            StoppedBy::LandingConflict => "landing_conflict",
            StoppedBy::NotLanded => "not_landed",
            StoppedBy::NotApplied => "not_applied",
            StoppedBy::TakenBack => "taken_back",
            StoppedBy::Budget => "budget",
            StoppedBy::Cancelled => "cancelled",
            StoppedBy::DependencyFailed => "dependency_failed",
        }
    }
}

impl Outcome {
    /// Returns the outcome for a role whose replies could not be used, with what was wrong with the last one.
    pub(crate) fn unusable(role: Role, problems: &[String]) -> Self {
        Outcome::NotApproved {
            stopped_by: StoppedBy::UnusableReply,
            reason: format!(
                "The {role} did not give a usable reply in three attempts. The last one had these problems: {} \
                 Try another model for the {role}, or look at its replies with `checkmate show RUN --prompts`.",
                problems.join(" ")
            ),
        }
    }
}
