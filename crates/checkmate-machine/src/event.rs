//! Everything that can happen to a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::Limits;
use crate::effect::Landing;
use crate::evidence::Receipt;
use crate::facts::Inspection;
use crate::ids::{CommitId, Role, TaskId, TreeId};

/// One thing that happened; the journal is a list of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "almost every event is an answer, so a box would save nothing")]
pub enum Event {
    /// A part of the pending effect was answered.
    Answered {
        /// The task whose cycle asked.
        task: TaskId,
        /// The effect's number.
        effect: u32,
        /// The part's number within the effect.
        part: u32,
        /// The answer.
        answer: Answer,
    },
    /// Somebody outside said something; legal at any time.
    Command {
        /// The task it is meant for.
        task: TaskId,
        /// What was said.
        command: Command,
    },
}

/// What came of one part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// To `Prepare`.
    Prepared(Prepared),
    /// To `Read`: one entry per path, in the order asked.
    Files {
        /// The files.
        files: Vec<FileText>,
    },
    /// To `Call`.
    Called(Called),
    /// To `Apply` and `Store`: the change is a tree.
    Applied(Candidate),
    /// To `Apply`: nothing was placed.
    Rejected {
        /// One sentence per reason, made for the agent to act on.
        reasons: Vec<String>,
    },
    /// To `Inspect`.
    Inspected(Box<Inspection>),
    /// To `Check`.
    Ran(Receipt),
    /// To `Ask`.
    Said {
        /// Whether the person agreed.
        yes: bool,
        /// What else the person said; may be empty.
        text: String,
    },
    /// To `Land`: the user has it.
    Landed {
        /// The new commit, when landing by commit.
        commit: Option<CommitId>,
        /// The files that changed in the user's tree.
        files: Vec<String>,
    },
    /// To `Land`: the user's own later edits contradict the change; nothing was touched.
    Conflict {
        /// The user's tree as it is now.
        target: TreeId,
        /// The paths in conflict.
        paths: Vec<String>,
    },
    /// To `Land`: the user's tree moved but merges; nothing was touched, because the merged tree is not the verified one.
    TargetMoved {
        /// The user's tree as it is now.
        target: TreeId,
        /// The change merged onto it, measured against it.
        merged: Candidate,
    },
    /// To anything: it could not be done, and that is nobody's fault in this run.
    Failed(Failure),
}

/// The facts a cycle starts from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// The tree the run is made from: HEAD plus the user's uncommitted changes.
    pub base: TreeId,
    /// The commit under it.
    pub head: CommitId,
    /// The branch, unless HEAD is detached.
    pub branch: Option<String>,
    /// The files of the base tree, in path order, without the content.
    pub files: Vec<FileFact>,
    /// What the user should know: a dirty submodule, a file that could not be read. Full sentences.
    pub notes: Vec<String>,
    /// Unpredictable text of this run; what a probe prints at its end is made from it, so that nobody else prints it.
    #[serde(default)]
    pub nonce: String,
}

/// What is known about a file without reading all of it to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFact {
    /// Its path from the repository's root, with `/`.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Names of what it defines at the top level, in order, at most a few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<String>,
}

/// A file as an agent may see it, or why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileText {
    /// The path as it was asked for.
    pub path: String,
    /// The text, or one sentence that says why there is none.
    pub text: Result<String, String>,
}

/// An agent's reply and what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// The reply, as it came.
    pub text: String,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// What it cost.
    pub usage: Usage,
    /// How many requests it took, retries included.
    pub requests: u32,
    /// Wall-clock time in milliseconds.
    pub duration_ms: u64,
    /// What people should know about how the call went, such as a parameter that the endpoint did not know. Full
    /// sentences; journals of earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What calls cost. Counts are the provider's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Tokens of those that came from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens received, those of reasoning included.
    pub output_tokens: u64,
    /// Tokens of those that the model spent on reasoning. Journals of earlier versions do not have it.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// The price in millionths of a US dollar, where a price is known.
    pub cost_micro_usd: Option<u64>,
}

impl Usage {
    /// What no call has cost yet: where a sum begins. The default is something else, a call of unknown price.
    pub const NOTHING: Usage = Usage {
        input_tokens: 0,
        cached_tokens: 0,
        output_tokens: 0,
        reasoning_tokens: 0,
        cost_micro_usd: Some(0),
    };

    /// Adds the cost of another call; a price that is unknown makes the sum unknown.
    pub fn add(&mut self, other: &Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.cost_micro_usd = match (self.cost_micro_usd, other.cost_micro_usd) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (_, _) => None,
        };
    }
}

/// A change, measured against its base, as git sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The tree with the change.
    pub tree: TreeId,
    /// Every path that differs from the base.
    pub changes: Vec<Change>,
    /// The whole change against the base as a unified diff.
    pub diff: String,
}

/// One changed path of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path from the repository's root, with `/`.
    pub path: String,
    /// What happened to it. A rename is a deletion and an addition.
    pub kind: ChangeKind,
    /// The git mode before, such as `100644`; `000000` if there was none.
    pub old_mode: String,
    /// The git mode after.
    pub new_mode: String,
    /// Lines added; 0 for binary files.
    pub added: u32,
    /// Lines removed; 0 for binary files.
    pub removed: u32,
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content or mode changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// Why a part could not be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which family.
    pub kind: FailureKind,
    /// A full sentence with the next step.
    pub message: String,
    /// How many requests to an agent it took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Families of failures; none of them is charged to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The provider was busy, slow or cut the connection, even after retries.
    Provider,
    /// The provider refused the request: key, model name, quota.
    Account,
    /// The model declined to answer.
    Refusal,
    /// Something on this machine: git, disk, permissions.
    Local,
}

/// What somebody outside can say at any time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// End the run.
    Cancel {
        /// Why, for the record.
        reason: String,
    },
    /// Try again what failed for a reason outside the run.
    Retry,
    /// The minutes of the run's budget are over.
    TimeOver,
    /// Change the budget; limits that are not named stay. A run that a limit ended goes on if the new ones leave room.
    Budget {
        /// Whose; `None` = the whole run's.
        #[serde(default)]
        role: Option<Role>,
        /// The new limits.
        limits: Limits,
    },
    /// A person tells the builder something about the change; nothing lands before the builder has read it.
    Comment {
        /// What was said.
        text: String,
        /// The file that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The line of that file as the change leaves it, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    },
    /// A person settles a finding of the checker that no test confirms.
    Dispute {
        /// The finding's id.
        finding: String,
        /// Why.
        text: String,
    },
    /// The landed change was taken back.
    TakenBack,
    /// Bring an approved change that has not landed to the user.
    Land {
        /// Where it goes.
        how: Landing,
    },
}
