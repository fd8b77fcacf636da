//! What agents say, as data.
//!
//! A model's reply is never an error: [`parse`] returns what could be understood together with the [`Problem`]s,
//! and the cycle decides whether to go on or to send the problems back.

mod extract;
mod read;
mod schema;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::probe::Probe;

pub use self::read::parse;
pub use self::schema::schema;

/// The form of a reply that a prompt asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// [`BuilderReply`].
    Builder,
    /// [`Review`].
    Review,
    /// [`Decision`].
    Decision,
    /// [`Confirmation`].
    Confirmation,
    /// A list of [`Probe`]s.
    Probes,
    /// Plain text.
    Text,
}

/// Something in a reply that the agent has to mend, as a full sentence that names the field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Problem(pub String);

/// A reply in the form that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// From the maker.
    Builder(BuilderReply),
    /// From the checker.
    Review(Review),
    /// From the moderator.
    Decision(Decision),
    /// From the checker, about an arbiter's test.
    Confirmation(Confirmation),
    /// From the examiner.
    Probes(Vec<Probe>),
    /// Plain text.
    Text(String),
}

/// The maker's reply. Every statement in it is a claim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BuilderReply {
    /// Files the maker wants to read first; then nothing else is needed.
    pub files_needed: Vec<String>,
    /// What it did, step by step.
    pub plan: Vec<String>,
    /// A patch in a form that [`crate::patch`] reads; empty when there is none.
    pub patch: String,
    /// The tests it wrote, in words.
    pub tests: Vec<String>,
    /// Commands it would like to have run.
    pub run: Vec<String>,
    /// What it is unsure of.
    pub risks: Vec<String>,
    /// Its answers to findings and objections.
    pub answers: Vec<FindingAnswer>,
    /// The legal exit: the goal and the tests contradict each other.
    pub conflict: Option<GoalConflict>,
}

/// The maker's answer to one finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingAnswer {
    /// The finding's id.
    pub to: String,
    /// What the maker did about it.
    pub answer: AnswerKind,
    /// In its words.
    pub text: String,
}

/// The three answers to a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// The change now deals with it.
    Fixed,
    /// It is right as it is, for a reason.
    Justified,
    /// A matter of judgement.
    Disagree,
}

/// Why the goal cannot be reached honestly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoalConflict {
    /// The contradiction.
    pub reason: String,
    /// Where it can be seen.
    pub evidence: String,
}

/// The checker's reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// Its verdict, which is a veto at most.
    pub verdict: ReviewVerdict,
    /// Its findings; the wire calls them issues.
    pub issues: Vec<Issue>,
    /// A proposal for the maker; never applied on the checker's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_patch: Option<String>,
    /// Tests it misses.
    #[serde(default)]
    pub extra_tests: Vec<String>,
    /// Why to stop or to go on.
    pub stopping: String,
    /// Why it blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason: Option<BlockReason>,
    /// Commands whose output would settle its uncertainty.
    #[serde(default)]
    pub diagnostics_needed: Vec<String>,
}

/// The checker's verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// No objection.
    Approve,
    /// Something should change.
    RequestChanges,
    /// Must not land as it is.
    Block,
}

/// Why a checker blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockReason {
    /// It knows a bug.
    DefiniteBug,
    /// It needs to see more.
    Uncertainty,
    /// A person has to decide.
    NeedsHuman,
}

/// One finding as the checker words it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub description: String,
    /// How to reproduce it; without one the finding is an objection only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how_to_verify: Option<String>,
    /// The checker's name for it; the same issue keeps its name across reviews.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_id: Option<String>,
    /// Whether the checker is unsure of it, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<String>,
    /// What kind of thing it is; strictness decides which kinds may block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A suggestion.
    Minor,
    /// Should not land like this.
    Major,
    /// Must not land like this.
    Critical,
}

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Wrong behaviour.
    Bug,
    /// A security hole.
    Security,
    /// Missing, weak or broken tests.
    Tests,
    /// Readability and convention.
    Style,
    /// Inputs that nobody is likely to give.
    EdgeCase,
    /// Speed and memory.
    Performance,
    /// Structure.
    Architecture,
}

/// The moderator's reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// For whom it decides.
    pub decision: DecisionKind,
    /// Why.
    pub reasoning: String,
}

/// The moderator's decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// The open findings are matters of taste.
    AcceptBuilder,
    /// The findings stand.
    AcceptReviewer,
    /// A person has to decide.
    RejectBoth,
}

/// Whether an arbiter's test states the disputed claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmation {
    /// It does.
    pub states_claim: bool,
    /// Why or why not.
    pub reason: String,
}
