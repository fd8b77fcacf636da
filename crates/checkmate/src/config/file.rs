//! The keys of `.dualagent.json`. The JSON Schema and every check of a single value come from these types.

use std::collections::BTreeMap;

use checkmate_machine::prompt;
use checkmate_machine::spec::{LandPolicy, PatchForm, ReviewMode, Strictness};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::agents::Effort;

/// Checkmate's settings for one repository. Keys that are left out have the default that is named with them.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = ".dualagent.json")]
pub(super) struct File {
    /// Where this schema is; read by editors only.
    #[serde(rename = "$schema")]
    #[expect(dead_code, reason = "only editors read it")]
    schema: Option<String>,
    /// The provider of the builder's model: openai, anthropic or another that Checkmate knows.
    #[schemars(length(min = 1))]
    pub(super) builder_provider: Option<String>,
    /// The builder's model, passed on exactly as it is written.
    #[schemars(length(min = 1))]
    pub(super) builder_model: Option<String>,
    /// The provider of the reviewer's model.
    #[schemars(length(min = 1))]
    pub(super) reviewer_provider: Option<String>,
    /// The reviewer's model, passed on exactly as it is written.
    #[schemars(length(min = 1))]
    pub(super) reviewer_model: Option<String>,
    /// The command that runs the tests. It is started without a shell unless it has shell operators in it.
    #[schemars(required, length(min = 1))]
    pub(super) test_command: Option<String>,
    /// Globs of the paths that a change may touch, from the repository's root; none = all that are not protected.
    pub(super) allow_paths: Vec<String>,
    /// How many turns the builder has.
    #[schemars(range(min = 1, max = 100))]
    pub(super) max_iterations: u32,
    /// When the reviewer is asked.
    #[schemars(schema_with = "review_modes")]
    pub(super) review_mode: ReviewMode,
    /// Whether a green first turn is reviewed; read only when `review_mode` is "selective".
    pub(super) review_on_test_pass: bool,
    /// Which findings may block a change.
    #[schemars(schema_with = "strictnesses")]
    pub(super) review_strictness: Strictness,
    /// Whether a third model breaks ties.
    pub(super) enable_moderator: bool,
    /// The provider of the moderator's model; required if the moderator is enabled.
    #[schemars(length(min = 1))]
    pub(super) moderator_provider: Option<String>,
    /// The moderator's model; required if the moderator is enabled.
    #[schemars(length(min = 1))]
    pub(super) moderator_model: Option<String>,
    /// Estimated tokens of history above which the builder's model summarises it.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub(super) context_summary_threshold: u32,

    /// Whether a person is asked about each patch before it is applied; only at a terminal.
    pub(super) approve_patches: bool,
    /// What happens to an approved change; asks at a terminal and applies elsewhere if left out.
    #[serde(default)]
    #[schemars(schema_with = "landings")]
    pub(super) land: Option<LandPolicy>,
    /// Commands that agents may have run: words as in a command, where `*` inside a word stands for any characters
    /// and a last word `*` for any further words.
    pub(super) allow_commands: Vec<String>,
    /// How many seconds one run of the test command may take.
    #[schemars(range(min = 1, max = 86_400))]
    pub(super) test_time_limit_s: u32,
    /// The JUnit XML file that the test command writes, from the repository's root.
    #[schemars(length(min = 1))]
    pub(super) test_report: Option<String>,
    /// How many runs of mutants go on beside each other, where nothing is built in the tree. More than one only if the
    /// tests share no port, database or file outside of the tree.
    #[schemars(range(min = 1, max = 64))]
    pub(super) mutants_at_once: u32,
    /// How many seconds one request to an agent may take, unless the role's own `time_limit_s` says otherwise.
    #[schemars(range(min = 1, max = 86_400))]
    pub(super) agent_time_limit_s: u32,
    /// Names of environment variables that commands may see although they look secret.
    pub(super) keep_env: Vec<String>,
    /// Paths that a build needs and git does not track, such as `node_modules`; linked into the run's tree, not copied.
    pub(super) link_paths: Vec<String>,
    /// Files, from the repository's root, that replace prompts.
    #[serde(default)]
    #[schemars(schema_with = "prompt_names")]
    pub(super) prompts: BTreeMap<String, String>,
    /// The builder's settings, beside or instead of `builder_provider` and `builder_model`.
    #[serde(default)]
    pub(super) builder: RoleFile,
    /// The reviewer's settings, beside or instead of `reviewer_provider` and `reviewer_model`.
    #[serde(default)]
    pub(super) reviewer: RoleFile,
    /// The moderator's settings, beside or instead of `moderator_provider` and `moderator_model`.
    #[serde(default)]
    pub(super) moderator: RoleFile,

    /// Who writes probes from the goal alone: nobody, the reviewer's model, or a model of its own.
    pub(super) examiner: Option<Examiner>,
    /// Which evidence is gathered beyond the tests: all of it, none, or a level for each gate; `all` names the others.
    pub(super) evidence: Option<EvidenceFile>,
    /// The most that a run may use; room is set aside before each call, so it is kept.
    pub(super) budget: Option<Limited>,
    /// What commands may read and write: the run's tree and what tools need; more, by `read`, `write`, `memory_mb` and
    /// `processes`; or everything.
    pub(super) sandbox: Option<SandboxFile>,
    /// Whether confined commands may use the network; the machine's own loopback always works.
    pub(super) network: Option<Toggle>,
}

/// How one role's agent is reached.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct RoleFile {
    /// The provider of the model.
    #[schemars(length(min = 1))]
    pub(super) provider: Option<String>,
    /// The model, passed on exactly as it is written.
    #[schemars(length(min = 1))]
    pub(super) model: Option<String>,
    /// The provider's address, if not its usual one.
    #[schemars(length(min = 1))]
    pub(super) base_url: Option<String>,
    /// The environment variable that holds the key, if not the provider's usual one. Never the key itself.
    #[schemars(length(min = 1))]
    pub(super) api_key_env: Option<String>,
    /// The most tokens a reply may have.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub(super) max_output_tokens: Option<u32>,
    /// The sampling temperature; left to the provider if not set.
    #[schemars(range(min = 0, max = 2))]
    pub(super) temperature: Option<f64>,
    /// How much the model thinks before it replies; left to the provider if not set.
    #[serde(default)]
    #[schemars(schema_with = "efforts")]
    pub(super) reasoning_effort: Option<Effort>,
    /// How many seconds one request may take.
    #[schemars(range(min = 1, max = 86_400))]
    pub(super) time_limit_s: Option<u32>,
    /// The form in which the builder is asked for patches; what suits the provider's models if not set.
    #[serde(default)]
    #[schemars(schema_with = "patch_forms")]
    pub(super) patch_form: Option<PatchForm>,
    /// What tokens cost.
    pub(super) price: Option<PriceFile>,
    /// The most that this role may use in a run; its minutes are those in which it is waited for.
    #[serde(default)]
    pub(super) budget: BudgetFile,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct PriceFile {
    /// For input that the provider had to read.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(super) input: f64,
    /// For input that it took from its cache; as `input` if left out.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(super) cached: Option<f64>,
    /// For output.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(super) output: f64,
}

/// An examiner.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Examiner {
    /// Nobody, or the reviewer's model.
    Switch(bool),
    /// A model of its own.
    Agent(Box<RoleFile>),
}

/// Which evidence is gathered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum EvidenceFile {
    /// All of it, or none.
    Switch(bool),
    /// A level for each gate, by its name.
    Gates(BTreeMap<String, EvidenceLevel>),
}

/// How much of a gate's evidence is gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum EvidenceLevel {
    /// None.
    Off,
    /// All of it.
    On,
    /// As much as fits into a bounded multiple of one test run and a bounded time.
    Budget,
}

/// A budget, or none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Limited {
    /// None.
    Off(Off),
    /// Limits.
    Limits(BudgetFile),
}

/// The word for nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Off {
    /// Nothing.
    Off,
}

/// The most that a run may use.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
pub(super) struct BudgetFile {
    /// US dollars; needs the prices of the models.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(super) max_usd: Option<f64>,
    /// Tokens, of input and output together.
    pub(super) max_tokens: Option<u64>,
    /// Requests to agents, retries included.
    pub(super) max_calls: Option<u32>,
    /// Minutes.
    pub(super) max_minutes: Option<u32>,
}

/// How commands are confined.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum SandboxFile {
    /// Confined, or not.
    Switch(Toggle),
    /// Confined, with more than is usual.
    More(MoreFile),
}

/// What confined commands may do beyond what is usual.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct MoreFile {
    /// Files and folders that may be read, absolute or from the home with `~/`.
    #[serde(default)]
    pub(super) read: Vec<String>,
    /// Files and folders that may be written as well.
    #[serde(default)]
    pub(super) write: Vec<String>,
    /// The most memory that one process may have, in megabytes.
    #[schemars(range(min = 16, max = 16_777_216))]
    pub(super) memory_mb: Option<u64>,
    /// The most processes at a time.
    #[schemars(range(min = 8, max = 1_000_000))]
    pub(super) processes: Option<u64>,
}

/// A switch, as a word or as a truth value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Toggle {
    /// As a truth value.
    Truth(bool),
    /// As a word.
    Word(OnOff),
}

/// The words of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnOff {
    /// Off.
    Off,
    /// On.
    On,
}

impl Toggle {
    /// Tells whether it is on.
    pub(super) fn is_on(self) -> bool {
        matches!(self, Toggle::Truth(true) | Toggle::Word(OnOff::On))
    }
}

fn review_modes(_: &mut SchemaGenerator) -> Schema {
    choices(&[
        (ReviewMode::Always, "After every turn whose checks are green."),
        (
            ReviewMode::Selective,
            "As \"always\", but a green first turn ends the run if `review_on_test_pass` is false.",
        ),
        (ReviewMode::FinalOnly, "Only when the run would otherwise end."),
    ])
}

fn strictnesses(_: &mut SchemaGenerator) -> Schema {
    choices(&[
        (Strictness::Lenient, "Critical bugs, security, broken tests."),
        (Strictness::Balanced, "Bugs, tests and style."),
        (Strictness::Strict, "Also edge cases, performance, architecture and suggestions."),
    ])
}

fn landings(_: &mut SchemaGenerator) -> Schema {
    choices(&[
        (LandPolicy::Apply, "It goes into the working tree, uncommitted."),
        (LandPolicy::Commit, "It is committed."),
        (LandPolicy::Ask, "A person is asked; where there is none, it waits for `checkmate land`."),
    ])
}

fn efforts(_: &mut SchemaGenerator) -> Schema {
    choices(&[
        (Effort::None, "Not at all, or as little as the model can."),
        (Effort::Minimal, "As little as it can."),
        (Effort::Low, "A little."),
        (Effort::Medium, "Somewhat."),
        (Effort::High, "Much."),
        (Effort::Xhigh, "Very much."),
    ])
}

fn patch_forms(_: &mut SchemaGenerator) -> Schema {
    choices(&[
        (PatchForm::Diff, "A unified diff."),
        (PatchForm::SearchReplace, "Blocks with lines of the file and the lines that take their place."),
        (PatchForm::WholeFile, "Every changed file with all its lines."),
    ])
}

fn choices<T: Serialize>(rows: &[(T, &str)]) -> Schema {
    let rows: Vec<Value> =
        rows.iter().map(|(value, text)| json!({ "const": json!(value), "description": text })).collect();
    json_schema!({ "oneOf": rows })
}

fn prompt_names(_: &mut SchemaGenerator) -> Schema {
    let names: Map<String, Value> = prompt::shipped()
        .into_keys()
        .map(|name| (name, json!({ "type": "string", "minLength": 1 })))
        .collect();
    json_schema!({ "type": "object", "properties": names })
}
