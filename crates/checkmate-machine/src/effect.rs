//! What the machine asks the shell to do.
//!
//! A cycle has at most one outstanding [`Effect`]: a batch of parts, each performed, answered and journalled on its own.

use serde::{Deserialize, Serialize};

use crate::command::CommandLine;
use crate::ids::{Role, TreeId};
use crate::reply::Shape;

/// A batch of parts; the cycle moves on when every part is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Counts the effects of one cycle, from 1.
    pub id: u32,
    /// What to do; the index is the part's number.
    pub parts: Vec<Action>,
}

/// One thing to do in the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Take HEAD plus the user's uncommitted changes as the base tree and survey its files.
    Prepare,
    /// Read files for an agent.
    Read {
        /// The tree to read from.
        tree: TreeId,
        /// Paths as the agent wrote them; those that a rule forbids are not in it.
        paths: Vec<String>,
    },
    /// Ask an agent.
    Call(Call),
    /// Place a patch on a tree and take the result as a tree.
    Apply {
        /// The tree that the patch edits.
        onto: TreeId,
        /// The tree that the whole change is measured against.
        base: TreeId,
        /// The patch, as the agent wrote it.
        patch: String,
    },
    /// Store a document candidate.
    Store {
        /// The whole document.
        text: String,
    },
    /// Run a command on a tree.
    Check {
        /// Why it is run.
        kind: CheckKind,
        /// The command.
        command: CommandLine,
        /// The tree it sees.
        tree: TreeId,
        /// Files that are laid over `tree` from another tree, for this command only.
        overlay: Option<Overlay>,
    },
    /// Ask a person.
    Ask(Question),
    /// Bring a verified tree to the user.
    Land {
        /// What was verified.
        tree: TreeId,
        /// What the verified change was made from.
        base: TreeId,
        /// Where it goes.
        how: Landing,
    },
}

/// A question to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Who is asked.
    pub role: Role,
    /// What for.
    pub purpose: Purpose,
    /// The turn it belongs to, from 1.
    pub turn: u32,
    /// How often this same question was sent back or failed before.
    pub attempt: u32,
    /// What is said.
    pub prompt: Prompt,
}

/// What an agent is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A change.
    Build,
    /// A test that states a disputed claim.
    ArbiterTest,
    /// Whether that test states the claim.
    ConfirmTest,
    /// A review of a candidate whose checks are known.
    Review,
    /// A decision between builder and reviewer.
    Moderate,
    /// A summary of the turns so far.
    Summarise,
}

/// The text of a question. Stable text comes first, so that providers can cache it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Role, rules and reply format; the same for every call of the role in a run.
    pub system: String,
    /// The shared state and what is new.
    pub user: String,
    /// The form of the reply.
    pub shape: Shape,
    /// Names the prompt file and its version, such as `builder@1`.
    pub version: String,
}

/// Why a command is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// The test command on the tree before the change.
    Baseline,
    /// The test command on a candidate.
    Tests,
    /// A command that the builder proposed.
    BuilderRun,
    /// A command that an uncertain reviewer asked for.
    Diagnostic,
    /// The test command on a candidate with the arbiter's test.
    Arbiter,
    /// The test command on the base with only the arbiter's test.
    ArbiterBase,
    /// The test command on a tree merged with the user's later edits.
    Merged,
}

/// Files of one tree laid over another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// Where the files come from.
    pub from: TreeId,
    /// Which files.
    pub paths: Vec<String>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// May this command of an agent run?
    Command {
        /// Who wants it.
        role: Role,
        /// The command as the agent wrote it.
        line: String,
    },
    /// May the approved change be brought to the user's tree?
    Land,
}

/// Where an approved change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Landing {
    /// Into the user's working tree, uncommitted.
    Apply,
    /// Into a commit on the user's branch.
    Commit,
}
