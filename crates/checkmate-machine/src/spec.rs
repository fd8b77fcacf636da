//! What a run is told at its start; pinned from then on, and written at the head of its journal.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::command::CommandLine;
use crate::effect::Landing;
use crate::ids::RunId;
use crate::outcome::Outcome;
use crate::verdict::GateName;

/// Everything a cycle knows before its first event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The task, in the user's words.
    pub task: Task,
    /// What the maker produces.
    pub product: Product,
    /// The rules.
    pub policy: Policy,
    /// The prompt of each purpose; see [`crate::prompt`].
    pub prompts: BTreeMap<String, PromptText>,
}

/// A task, trusted: it comes from the user, never from an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What is wanted.
    pub goal: String,
    /// What sort of change it is; `None` = not said.
    #[serde(default)]
    pub kind: Option<TaskKind>,
    /// What the goal itself allows although a gate would object.
    #[serde(default)]
    pub permits: Vec<String>,
    /// Whether a failing test for this goal is already in the baseline.
    #[serde(default)]
    pub given_red: bool,
    /// Executable examples of the goal.
    #[serde(default)]
    pub examples: Option<Examples>,
    /// The run that the goal goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Earlier>,
}

/// A run that another one goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// Its name.
    pub run: RunId,
    /// What was wanted there.
    pub goal: String,
    /// How it ended, if it did.
    pub outcome: Option<Outcome>,
    /// Its change, as a unified diff.
    pub diff: String,
}

impl Task {
    /// Returns the task of a goal that nothing more is said about.
    pub fn of(goal: impl Into<String>) -> Self {
        Self {
            goal: goal.into(),
            kind: None,
            permits: Vec::new(),
            given_red: false,
            examples: None,
            follows: None,
        }
    }
}

/// Sorts of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// New behaviour.
    Feature,
    /// Wrong behaviour made right.
    Bugfix,
    /// The same behaviour, written otherwise.
    Refactor,
    /// Text only.
    Docs,
    /// Tests only.
    Tests,
    /// Anything around the code.
    Chore,
}

/// A file that shows the goal when it is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examples {
    /// Where the file goes, from the repository's root.
    pub path: String,
    /// The command that runs it, split by word rules.
    pub run: String,
    /// Its text.
    pub content: String,
}

/// What a maker produces.
///
/// Either ends as a tree, so that everything after the maker is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "product", rename_all = "snake_case")]
pub enum Product {
    /// A patch on the repository.
    Patch,
    /// A text: the whole reply, kept in one file.
    Document {
        /// The file's path.
        path: String,
    },
    /// A patch of the user's own: nobody makes it and nobody judges it, but what is protected stays so.
    Given {
        /// The patch, a unified diff.
        patch: String,
    },
}

/// The rules of a run, from the user's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// How many turns the maker has; at least 1.
    pub max_iterations: u32,
    /// When the checker is asked.
    pub review_mode: ReviewMode,
    /// Whether a first green turn is reviewed under [`ReviewMode::Selective`].
    pub review_on_test_pass: bool,
    /// Which findings may block.
    pub strictness: Strictness,
    /// The form that the builder is asked for; journals from before there was a choice asked for diffs.
    #[serde(default)]
    pub patch_form: PatchForm,
    /// Whether there is a moderator.
    pub moderator: bool,
    /// Estimated tokens of history above which the maker's model summarises it.
    pub context_summary_threshold: u32,
    /// Globs of the paths that a change may touch; empty = all that are not protected.
    pub allow_paths: Vec<String>,
    /// Patterns of commands that agents may have run; see [`crate::gate::commands`].
    pub allow_commands: Vec<String>,
    /// The test command; it always may run.
    pub test_command: CommandLine,
    /// Whether a person is asked about each patch before it is applied; journals from before there was a choice did not
    /// ask.
    #[serde(default)]
    pub approve_patches: bool,
    /// Whether a person is there to be asked.
    pub interactive: bool,
    /// What happens to an approved change.
    pub land: LandPolicy,
    /// Which evidence is gathered beyond the tests; journals from before there was a choice gathered none.
    #[serde(default)]
    pub evidence: EvidenceRules,
    /// Whether an examiner writes probes from the goal.
    #[serde(default)]
    pub examiner: bool,
    /// What it may use; journals from before there was a choice had no limit.
    #[serde(default)]
    pub budget: Budget,
}

/// Which evidence is gathered beyond the tests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EvidenceRules {
    /// The level of gates that have one of their own.
    #[serde(default)]
    pub levels: BTreeMap<GateName, Level>,
    /// The level of all others.
    #[serde(default)]
    pub otherwise: Level,
}

impl EvidenceRules {
    /// Returns the rules of a configuration that says nothing: everything is on, and what costs many test runs stays
    /// within a budget.
    pub fn usual() -> Self {
        let budgeted = [GateName::Mutation, GateName::Determinism];
        Self { levels: budgeted.map(|gate| (gate, Level::Budget)).into(), otherwise: Level::On }
    }

    /// Returns the level of a gate.
    pub fn level(&self, gate: GateName) -> Level {
        self.levels.get(&gate).copied().unwrap_or(self.otherwise)
    }

    /// Tells whether any evidence is gathered beyond the tests.
    pub fn any(&self) -> bool {
        self.otherwise != Level::Off || self.levels.values().any(|level| *level != Level::Off)
    }
}

/// How much of a gate's evidence is gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// None.
    #[default]
    Off,
    /// All of it.
    On,
    /// As much as fits into a bounded multiple of one test run and a bounded time.
    Budget,
}

/// When the checker is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewMode {
    /// After every turn whose checks are green.
    Always,
    /// As `Always`, but a green first turn ends the run if `review_on_test_pass` is false.
    Selective,
    /// Only when the run would otherwise end.
    FinalOnly,
}

/// Which findings may block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strictness {
    /// Critical bugs, security, broken tests.
    Lenient,
    /// Bugs, tests and style.
    Balanced,
    /// Also edge cases, performance, architecture and suggestions.
    Strict,
}

/// The forms in which a builder may write a patch.
///
/// A prompt asks for one of them; all of them are understood, whatever was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchForm {
    /// A unified diff.
    #[default]
    Diff,
    /// Blocks with lines of the file and the lines that take their place.
    SearchReplace,
    /// Every changed file with all its lines.
    WholeFile,
}

impl PatchForm {
    /// Returns its name, as the configuration has it.
    pub fn name(self) -> &'static str {
        match self {
            PatchForm::Diff => "diff",
            PatchForm::SearchReplace => "search_replace",
            PatchForm::WholeFile => "whole_file",
        }
    }
}

/// What happens to an approved change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LandPolicy {
    /// It goes into the working tree, uncommitted.
    Apply,
    /// It is committed.
    Commit,
    /// A person is asked; where there is none, it stays in the run until `checkmate land`.
    Ask,
}

impl LandPolicy {
    /// Returns where the change goes once nobody has to be asked any more.
    pub fn landing(self) -> Landing {
        match self {
            LandPolicy::Apply | LandPolicy::Ask => Landing::Apply,
            LandPolicy::Commit => Landing::Commit,
        }
    }
}

/// A prompt file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptText {
    /// Its name and version, such as `builder@2`, or `builder@file:sha256` of a workspace's own file.
    pub version: String,
    /// Its text.
    pub text: String,
}
