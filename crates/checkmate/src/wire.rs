//! What the daemon and its clients say to each other: shapes only. `docs/protocol.md` explains them.
//!
//! A client sends [`Message`]s, the daemon sends [`Frame`]s. The first three messages and the first eleven events are
//! those of system A, and keep their fields.

mod schema;
mod timeline;

use std::collections::BTreeMap;

use checkmate_machine::budget::Limits;
use checkmate_machine::effect::{CheckKind, Landing, Purpose, Question};
use checkmate_machine::event::{Command, Usage};
use checkmate_machine::finding::Finding;
use checkmate_machine::ids::{Role, RunId, TaskId};
use checkmate_machine::notice::Notice;
use checkmate_machine::outcome::StoppedBy;
use checkmate_machine::spec::{LandPolicy, TaskKind};
use checkmate_machine::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::schema::schema;
pub use self::timeline::{Retold, Timeline};

/// The version of the protocol that this program speaks.
pub const VERSION: u32 = 1;

/// What a client sends: a text frame with one JSON object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// The message.
    #[serde(flatten)]
    pub message: Message,
    /// A number of the client's own; the frame that answers carries it as `re`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
}

/// What a client wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// Start a run. The connection follows it. Answered by `accepted`.
    RunCycle {
        /// What is wanted.
        request: String,
        /// The root of the workspace's repository; the connection's own without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
        /// What sort of change it is, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<TaskKind>,
        /// What happens to an approved change; without it what the configuration says, and else `ask` where somebody
        /// attends and `apply` where nobody does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        land: Option<LandPolicy>,
        /// Whether somebody is there to answer questions. Where nobody is, commands that need an answer are refused.
        #[serde(default)]
        attended: bool,
        /// The run that this one goes on from: its request and its change are told to the builder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<RunId>,
    },
    /// Bring a patch of the client's own to the workspace's tree, as an undoable run. Answered by `accepted`.
    ApplyPatch {
        /// The patch, a unified diff.
        patch: String,
        /// The root of the workspace's repository; the connection's own without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
    },
    /// Run the workspace's test command on its tree as it is. Answered by `tests_output`.
    RunTests {
        /// The root of the workspace's repository; the connection's own without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
    },
    /// Say that this client knows every event of the protocol, and not only those of system A. Answered by `hello`.
    Hello {
        /// The version of the protocol that the client was written for.
        version: u32,
    },
    /// Be told a run's events from a number on, and then those to come.
    Subscribe {
        /// The run.
        run: RunId,
        /// The first event that is wanted; they count from 1.
        #[serde(default = "first")]
        from_seq: u64,
    },
    /// Be told no more of a run. Answered by `done`.
    Unsubscribe {
        /// The run.
        run: RunId,
    },
    /// Be told of every run whose state changes, by `run_changed`. Answered by `done`.
    WatchRuns {},
    /// List runs, the latest first. Answered by `runs`.
    ListRuns {
        /// Only those of this workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
        /// Only those that are older than this run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<RunId>,
        /// At most so many, and never more than 200; 50 without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Find runs by the words of their request, plan, change, review and outcome. Answered by `found`.
    Search {
        /// Words; all of them must occur, the last one may be a beginning.
        query: String,
        /// Only runs of this workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
    },
    /// List the workspaces. Answered by `workspaces`.
    ListWorkspaces {},
    /// Add the repository that contains a folder. Answered by `workspaces`.
    OpenWorkspace {
        /// The folder, an absolute path.
        path: String,
    },
    /// End a run. Answered by `done`.
    Cancel {
        /// The run.
        run: RunId,
        /// Why, for the record.
        #[serde(default)]
        reason: String,
    },
    /// Go on with a run that was interrupted, met an error or came to the end of its budget. Answered by `accepted`.
    Resume {
        /// The run.
        run: RunId,
        /// New limits of the run's budget; those that are not named stay.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Limits>,
    },
    /// Bring an approved change that has not landed to the user. Answered by `accepted`.
    Land {
        /// The run.
        run: RunId,
        /// Where it goes.
        how: Landing,
    },
    /// Take a landed change back. Answered by `done`.
    Undo {
        /// The run.
        run: RunId,
    },
    /// Answer a question of a run; the first answer wins. Answered by `done`.
    Answer {
        /// The run.
        run: RunId,
        /// The question's name, from its event.
        gate: String,
        /// The answer.
        reply: AnswerWord,
        /// What else there is to say; the builder reads it.
        #[serde(default)]
        text: String,
    },
    /// Tell the builder something about the change; it is taken up at the next turn, and nothing lands before. Answered
    /// by `done`.
    Comment {
        /// The run.
        run: RunId,
        /// What there is to say.
        text: String,
        /// The file that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The line of the file as the change leaves it, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    },
    /// Settle a finding of the reviewer that no test confirms: it does not stand any more. Answered by `done`.
    Dispute {
        /// The run.
        run: RunId,
        /// The finding's id.
        finding: String,
        /// Why.
        text: String,
    },
    /// Read a file as a run has it. Answered by `file`.
    ReadFile {
        /// The run.
        run: RunId,
        /// Its path from the repository's root.
        path: String,
        /// Before or after the change.
        side: Side,
    },
    /// Read a workspace's configuration. Answered by `configuration`.
    GetConfiguration {
        /// The root of the workspace's repository; the connection's own without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
    },
    /// Say what is wrong with a configuration, and write nothing. Answered by `configuration`.
    CheckConfiguration {
        /// The root of the workspace's repository; the connection's own without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
        /// The text of the file.
        text: String,
    },
    /// Write a workspace's configuration, unless something is wrong with it. Answered by `configuration`.
    SaveConfiguration {
        /// The root of the workspace's repository; the connection's own without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
        /// The text of the file.
        text: String,
        /// The text that it replaces, as `configuration` told it; if the file says something else, nothing is written.
        /// Null for a file that does not exist.
        replaces: Option<String>,
    },
}

fn first() -> u64 {
    1
}

/// An answer in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerWord {
    /// Yes.
    Yes,
    /// Yes, and the same command needs no answer any more in this run until it stops or the daemon ends.
    Always,
    /// No.
    No,
}

/// Before or after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What the run began with.
    Base,
    /// What it has made of it.
    Candidate,
}

/// What the daemon sends: a text frame with one JSON object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// What happened.
    pub event: Event,
    /// The run that it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The task that it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The event's number in its run, from 1, the same whenever it is told. A `stream_chunk` has the number of the event
    /// before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// The message that this answers, by the client's own number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub re: Option<u64>,
}

/// Everything that is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Event {
    /// What the machine tells.
    Notice(Notice),
    /// What else happens in a run.
    Run(RunEvent),
    /// What answers messages.
    Daemon(Reply),
}

/// What happens in a run beside what the machine tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunEvent {
    /// A run begins; always its event 1.
    RunStarted {
        /// What is wanted.
        request: String,
        /// The root of the repository.
        workspace: String,
        /// The most turns.
        of: u32,
        /// Who plays which role.
        agents: BTreeMap<Role, AgentName>,
        /// The command that runs the tests.
        test_command: String,
        /// The budget of the whole run.
        budget: Limits,
        /// Whether somebody is there to answer questions.
        attended: bool,
        /// The run that it goes on from.
        follows: Option<RunId>,
        /// What commands could do on the machine although they should not.
        unconfined: Vec<String>,
    },
    /// A piece of an agent's reply as it arrives. It counts as no event of its own: who subscribes anew is told the whole
    /// text so far.
    StreamChunk {
        /// Who says it.
        role: Role,
        /// The text.
        chunk: String,
        /// Whether the reply begins here; else it goes on from the chunk of the same role before.
        start: bool,
    },
    /// Something begins.
    PartStarted {
        /// Its name in the run.
        part: String,
        /// What it is.
        work: Work,
    },
    /// Something is over.
    PartEnded {
        /// Its name in the run.
        part: String,
    },
    /// An agent answered.
    AgentAnswered {
        /// Who.
        role: Role,
        /// What it was asked for.
        purpose: Purpose,
        /// The model, as the provider names it.
        model: String,
        /// What it cost.
        usage: Usage,
        /// Wall-clock time in milliseconds.
        duration_ms: u64,
        /// Everything that agents have cost in this run so far.
        total: Usage,
        /// The requests to agents in this run so far, retries included.
        requests: u32,
    },
    /// A turn ended without an approval: what the verdict on its candidate would be, and what stands in its way.
    TurnJudged {
        /// The turn.
        turn: u32,
        /// The verdict.
        verdict: Verdict,
        /// The findings it was computed from.
        findings: Vec<Finding>,
    },
    /// A person is asked, and the run waits.
    QuestionAsked {
        /// The question's name; `answer` wants it.
        gate: String,
        /// The question.
        question: Question,
    },
    /// A person answered, or nobody was there to.
    QuestionAnswered {
        /// The question's name.
        gate: String,
        /// Whether it was a yes.
        yes: bool,
        /// What else was said.
        text: String,
    },
    /// Somebody told the run something.
    CommandTaken {
        /// What.
        command: Command,
    },
    /// Something could not be done for a reason outside the run.
    PartFailed {
        /// Why, and the next step.
        message: String,
    },
}

/// An agent by its provider and model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentName {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
}

/// What a part does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum Work {
    /// The base tree is taken.
    Prepare,
    /// Files are read for an agent.
    Read,
    /// An agent is asked.
    Call {
        /// Who.
        role: Role,
        /// What for.
        purpose: Purpose,
    },
    /// A patch is placed.
    Apply,
    /// The change is read.
    Inspect,
    /// A command runs.
    Check {
        /// What for.
        check: CheckKind,
        /// The command as it was written.
        command: String,
    },
    /// A person is asked.
    Ask,
    /// The change is brought to the user.
    Land,
}

/// What answers messages, or is told to those who watch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// Who is there.
    Hello {
        /// The version of the protocol.
        version: u32,
        /// The version of the program.
        program: String,
        /// The workspaces, the connection's own first.
        workspaces: Vec<WorkspaceState>,
        /// How many runs go on at once, at most.
        runs_at_once: u32,
    },
    /// A run was begun or goes on; its events follow.
    Accepted {
        /// The run.
        run: RunId,
    },
    /// Events of the run follow from here on.
    Subscribed {
        /// The run.
        run: RunId,
        /// The number of the latest event so far.
        latest_seq: u64,
    },
    /// It is done.
    Done {
        /// What, in a sentence.
        message: String,
    },
    /// Runs, the latest first.
    Runs {
        /// The runs.
        runs: Vec<RunState>,
        /// Whether there are older ones.
        more: bool,
    },
    /// A run is another than before.
    RunChanged {
        /// The run.
        state: RunState,
    },
    /// What a search found, the best first.
    Found {
        /// The runs, each with where the words are.
        hits: Vec<Hit>,
        /// Whether every run was looked through. Where there are thousands, the older ones are read in the course of time.
        whole: bool,
    },
    /// The workspaces.
    Workspaces {
        /// The workspaces, the connection's own first.
        workspaces: Vec<WorkspaceState>,
    },
    /// A file as a run has it.
    File {
        /// Its path.
        path: String,
        /// Which.
        side: Side,
        /// Its text; null if there is no such file, or if it is no text.
        text: Option<String>,
    },
    /// A configuration and what it means.
    Configuration {
        /// The file's path.
        path: String,
        /// Its text; null if there is no file.
        text: Option<String>,
        /// Why it cannot be used; empty if it can.
        errors: Vec<String>,
        /// What is odd about it.
        warnings: Vec<String>,
        /// Every value, by its key, with where it comes from.
        values: Vec<ConfigurationValue>,
        /// Whether it was written.
        saved: bool,
    },
}

/// A value of a configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationValue {
    /// The key; those in objects have a dot before their name.
    pub key: String,
    /// The value as JSON.
    pub value: String,
    /// Where it comes from.
    pub from: String,
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceState {
    /// The root of its repository.
    pub root: String,
    /// What people call it.
    pub name: String,
    /// The branch, if one is checked out.
    pub branch: Option<String>,
    /// Why it cannot be used; null if it can.
    pub problem: Option<String>,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunState {
    /// The run.
    pub run: RunId,
    /// The root of its repository.
    pub workspace: String,
    /// What is wanted.
    pub request: String,
    /// Where it stands.
    pub standing: Standing,
    /// The rule that ended it without an approval.
    pub stopped_by: Option<StoppedBy>,
    /// How it ended, in a sentence or more; empty before.
    pub message: String,
    /// The turn.
    pub turn: u32,
    /// The most turns.
    pub of: u32,
    /// When it began, RFC 3339.
    pub began: String,
    /// When something happened last, RFC 3339.
    pub changed: String,
    /// What its agents have cost.
    pub usage: Usage,
    /// The requests to agents, retries included.
    pub requests: u32,
    /// The paths that its change touches.
    pub files: Vec<String>,
    /// Whether its change is in the user's tree.
    pub landed: bool,
    /// The run that it goes on from.
    pub follows: Option<RunId>,
}

/// Where a run stands, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Others go first.
    Queued,
    /// It goes on.
    Running,
    /// It waits for a person.
    Waiting,
    /// Nobody drives it; it can be resumed.
    Interrupted,
    /// Approved, and landed or waiting to be.
    Approved,
    /// A patch of the user's own that is in their tree.
    Applied,
    /// Not approved.
    NotApproved,
    /// Something outside the run failed; it can be resumed.
    Error,
}

impl Standing {
    /// Tells whether nothing happens to the run any more unless somebody wants it.
    pub fn is_over(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Waiting => false,
            Self::Interrupted | Self::Approved | Self::Applied | Self::NotApproved | Self::Error => true,
        }
    }
}

/// A run that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// The run.
    pub state: RunState,
    /// The words around what was found; what was searched for stands between U+0001 and U+0002.
    pub excerpt: String,
}
