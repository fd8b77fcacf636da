//! What the machine tells whoever watches. Nothing is decided from a notice.
//!
//! The tagged names and fields of the first eleven are a wire format that existing clients read; see `docs/events.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::effect::CheckKind;
use crate::evidence::{Ended, Receipt};
use crate::finding::Finding;
use crate::outcome::Outcome;
use crate::reply::{BuilderReply, Decision, Review};
use crate::verdict::Verdict;

/// Something worth showing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notice {
    /// A stage begins or ends.
    Status {
        /// A sentence.
        message: String,
        /// Whether it only says what is going on now, so that nobody needs it once that is over. Not on the wire.
        #[serde(skip)]
        passing: bool,
    },
    /// A patch was placed and is permitted.
    PatchReady {
        /// The candidate's whole change against the base.
        patch: String,
        /// The turn.
        turn: u32,
    },
    /// A command ran.
    TestsOutput {
        /// Standard output.
        stdout: String,
        /// Standard error.
        stderr: String,
        /// The exit code; -1 when there is none.
        #[serde(rename = "exitCode")]
        exit_code: i32,
        /// What it was run for.
        check: CheckKind,
        /// The whole receipt.
        receipt: Box<Receipt>,
    },
    /// The checker answered.
    ReviewReady {
        /// Its review.
        review: Box<Review>,
        /// The turn.
        turn: u32,
    },
    /// The moderator answered.
    ModeratorDecision {
        /// Its decision.
        decision: Decision,
    },
    /// An issue is stuck, and a test will settle it.
    ArbiterMode {
        /// The finding, its issue's fields at the top level.
        issue: ArbiterIssue,
    },
    /// The arbiter's test was judged.
    ArbiterResult {
        /// The result.
        result: ArbiterResult,
    },
    /// An uncertain checker asked for commands; refused ones are named too.
    DiagnosticRun {
        /// The commands as they were asked for.
        commands: Vec<String>,
    },
    /// The cycle is over.
    CycleComplete {
        /// Whether it was approved and has landed.
        success: bool,
        /// Why it ended.
        message: String,
        /// The turns used.
        iterations: u32,
    },
    /// Something outside the run failed.
    Error {
        /// What, and the next step.
        error: String,
    },
    /// A turn begins.
    TurnStarted {
        /// Its number, from 1.
        turn: u32,
        /// The limit.
        of: u32,
    },
    /// The maker answered.
    BuilderReady {
        /// Its reply without the patch.
        reply: Box<BuilderReply>,
        /// The turn.
        turn: u32,
    },
    /// The verdict on a candidate was computed.
    Verdict {
        /// The verdict.
        verdict: Verdict,
        /// The findings it was computed from.
        findings: Vec<Finding>,
    },
    /// The outcome, for machines.
    Outcome {
        /// The outcome.
        outcome: Outcome,
    },
}

impl Notice {
    /// Tells that a command ran.
    pub fn tests_output(check: CheckKind, receipt: &Receipt) -> Self {
        Notice::TestsOutput {
            stdout: receipt.stdout.text.clone(),
            stderr: receipt.stderr.text.clone(),
            exit_code: match receipt.ended {
                Ended::Exited { code } => code,
                Ended::Killed { .. } | Ended::TimedOut { .. } | Ended::NotStarted { .. } => -1,
            },
            check,
            receipt: Box::new(receipt.clone()),
        }
    }
}

/// A stuck issue as clients read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArbiterIssue {
    /// The finding's id.
    pub issue_id: String,
    /// Its wording.
    #[serde(flatten)]
    pub issue: IssueText,
}

/// The wording of an issue without its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueText {
    /// How bad it is.
    pub severity: crate::reply::Severity,
    /// What is wrong.
    pub description: String,
    /// How to reproduce it.
    pub how_to_verify: Option<String>,
}

/// What an arbiter's test showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArbiterResult {
    /// Whether a test was written and placed.
    pub test_added: bool,
    /// The test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_patch: Option<String>,
    /// Whether it is green on the candidate, if it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_passed: Option<bool>,
    /// What follows.
    pub outcome: ArbiterOutcome,
    /// Why, in a sentence.
    pub explanation: String,
}

/// What an arbiter's test settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArbiterOutcome {
    /// Red on the candidate.
    BugConfirmed,
    /// Green on the candidate and dependent on the change.
    BugRefuted,
    /// Neither.
    TestInvalid,
}
