//! What the machine asks the shell to do.
//!
//! A cycle has at most one outstanding [`Effect`]: a batch of parts, each performed, answered and journalled on its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::budget::Allowance;
use crate::command::CommandLine;
use crate::ids::{Role, TreeId};
use crate::reply::Shape;
use crate::spec::TaskKind;

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
    /// Put a document into a tree.
    Store {
        /// The tree that gets it; the whole change is measured against it.
        base: TreeId,
        /// The document's path.
        path: String,
        /// The whole document.
        text: String,
    },
    /// Find out what a change does to tests, code and configuration, without running anything of it.
    Inspect {
        /// The tree before the change.
        base: TreeId,
        /// The tree after it.
        tree: TreeId,
        /// What sort of change it should be.
        kind: TaskKind,
        /// The goal; literals that it states are no secret between test and code.
        goal: String,
    },
    /// Run a command on a tree.
    Check {
        /// Why it is run.
        kind: CheckKind,
        /// The command.
        command: CommandLine,
        /// The tree it sees.
        tree: TreeId,
        /// What is laid over `tree`, for this command only.
        layers: Vec<Layer>,
        /// Varies what nobody should depend on: hash seeds, threads, the order of tests where a runner lets us. The
        /// number is the seed.
        vary: Option<u32>,
        /// The time that it may take, in seconds, where that is less than the configured limit.
        limit_s: Option<u64>,
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

impl Action {
    /// Returns what this part is and what it works on, without the bytes of a prompt.
    ///
    /// A journal record carries it, so that a replay under changed rules is noticed at the record where they differ.
    pub fn digest(&self) -> String {
        match self {
            Action::Prepare => "prepare".into(),
            Action::Read { tree, paths } => format!("read {tree} {}", short_hash(&paths.join("\n"))),
            Action::Call(call) => format!(
                "call {} {:?} turn {} attempt {} about {}",
                call.role,
                call.purpose,
                call.turn,
                call.attempt,
                call.about.as_ref().map_or("-", TreeId::as_str)
            ),
            Action::Apply { onto, base, patch } => format!("apply {onto} {base} {}", short_hash(patch)),
            Action::Store { base, path, text } => format!("store {base} {path} {}", short_hash(text)),
            Action::Inspect { base, tree, .. } => format!("inspect {base} {tree}"),
            Action::Check { kind, command, tree, layers, vary, limit_s: _ } => {
                let layers: String = layers.iter().map(Layer::digest).collect();
                let vary = vary.map_or_else(String::new, |seed| format!(" vary {seed}"));
                format!("check {kind:?} {tree} {}{layers}{vary}", short_hash(&command.text))
            }
            Action::Ask(Question::Command { role, line }) => format!("ask {role} {}", short_hash(line)),
            Action::Ask(Question::Patch { diff }) => format!("ask patch {}", short_hash(diff)),
            Action::Ask(Question::Land) => "ask land".into(),
            Action::Land { tree, base, how } => format!("land {tree} {base} {how:?}"),
        }
    }
}

impl Layer {
    fn digest(&self) -> String {
        match self {
            Layer::Files { from, paths } => format!(" over {from} {}", short_hash(&paths.join("\n"))),
            Layer::Text { path, text } => format!(" text {} {}", short_hash(path), short_hash(text)),
            Layer::Edit { path, start, end, text } => {
                format!(" edit {} {start} {end} {}", short_hash(path), short_hash(text))
            }
        }
    }
}

/// Returns the first 16 hexadecimal digits of a text's SHA-256.
pub fn short_hash(text: &str) -> String {
    let mut hash = hash(text);
    hash.truncate(16);
    hash
}

/// Returns a text's SHA-256 in hexadecimal digits.
pub fn hash(text: &str) -> String {
    use std::fmt::Write as _;

    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a String cannot fail");
        hex
    })
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
    /// How often the reply to this same question was sent back before.
    pub attempt: u32,
    /// The candidate it is about.
    pub about: Option<TreeId>,
    /// What is said.
    pub prompt: Prompt,
    /// What it may use at most, where a budget limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Allowance>,
}

/// What an agent is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
    /// Probes of the goal.
    Examine,
    /// Whether a disputed probe follows from the goal.
    JudgeProbe,
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
    /// Names the prompt file and its version, such as `builder@2`.
    pub version: String,
}

/// Why a command is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
    /// The test command on the candidate with the tests of the base.
    OldTests,
    /// The test command on the candidate with its tests broken on purpose.
    BrokenTests,
    /// The test command on the base with the same tests broken.
    BrokenBase,
    /// The test command on the base with the candidate's tests.
    NewTests,
    /// The test command on the candidate with its changed functions taken back.
    Reverted,
    /// The test command on the candidate once more, with another seed.
    Repeat(u32),
    /// The test command on the base with such a seed.
    RepeatBase(u32),
    /// The task's executable examples on the candidate.
    Example,
    /// A probe of the examiner on the candidate, by its number.
    Probe(u32),
    /// That probe on the candidate once more.
    ProbeAgain(u32),
    /// That probe on the base.
    ProbeBase(u32),
    /// Calls of changed functions on the base.
    CompareBase,
    /// The same calls on the candidate.
    Compare,
    /// The test command on a mutant of the candidate, by its number.
    Mutant(u32),
    /// The calls of changed functions on such a mutant.
    CompareMutant(u32),
}

/// What is laid over a tree for one command, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "layer", rename_all = "snake_case")]
pub enum Layer {
    /// Files as another tree has them; a path that is not in it goes.
    Files {
        /// Where the files come from.
        from: TreeId,
        /// Which files.
        paths: Vec<String>,
    },
    /// A file with this text.
    Text {
        /// The file's path.
        path: String,
        /// All of it.
        text: String,
    },
    /// Another text in place of some bytes of a file. Edits of one file count in the bytes of the tree below all of
    /// them, and must not overlap.
    Edit {
        /// The file's path.
        path: String,
        /// The first byte that goes.
        start: u64,
        /// The first byte that stays behind them.
        end: u64,
        /// What comes in their place.
        text: String,
    },
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// May this command of an agent run?
    Command {
        /// Who wants it.
        role: Role,
        /// The command as the agent wrote it.
        line: String,
    },
    /// May this change of the builder be applied, before anything of it runs?
    Patch {
        /// The change as a diff.
        diff: String,
    },
    /// May the approved change be brought to the user's tree?
    Land,
}

/// Where an approved change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Landing {
    /// Into the user's working tree, uncommitted.
    Apply,
    /// Into a commit on the user's branch.
    Commit,
}
