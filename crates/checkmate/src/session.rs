//! A run that somebody drives: its repository, its folder, its journal, its agents.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use checkmate_machine::effect::Action;
use checkmate_machine::event::{Answer, Event};
use checkmate_machine::ids::{Role, RunId, TaskId};
use checkmate_machine::run::Run;
use checkmate_machine::spec::Spec;

use crate::agents::{AgentSettings, Agents, Script};
use crate::config::RoleSettings;
use crate::error::CommandError;
use crate::forecast::Total;
use crate::journal::{Contents, Header, HeaderTask, Journal, JournalError, Shell};
use crate::process;
use crate::redact::Redactor;
use crate::state::{self, RunsFolder};
use crate::workspace::{Repository, Workspace, repository_key};

/// The one task of a run that the command line starts.
pub const TASK: &str = "main";
/// The scripted agents of a run, kept so that a resume does not depend on the user's file.
const SCRIPT: &str = "script.json";

/// A repository with its runs.
#[derive(Debug, Clone)]
pub struct Project {
    /// The user's repository.
    pub repository: Repository,
    /// Its runs.
    pub runs: RunsFolder,
}

impl Project {
    /// Finds the repository that contains a folder.
    pub fn discover(directory: &std::path::Path) -> Result<Self, CommandError> {
        let repository = Repository::discover(directory)?;
        let runs = RunsFolder::of(&repository_key(&repository))?;
        Ok(Self { repository, runs })
    }
}

/// A run that is being driven.
#[derive(Debug)]
pub struct Session {
    /// The run's name.
    pub id: RunId,
    /// Its folder.
    pub folder: PathBuf,
    /// Where green test runs of unchanged trees are kept for later runs.
    pub baselines: PathBuf,
    /// The machine's state.
    pub run: Run,
    /// Its journal, locked.
    pub journal: Journal,
    /// Its trees.
    pub workspace: Workspace,
    /// Its agents.
    pub agents: Agents,
    /// What the shell was told.
    pub shell: Shell,
    /// The values that must not be written anywhere.
    pub redactor: Redactor,
    /// Paths that an interrupted landing did not write, because the user had edited them meanwhile.
    pub left_alone: Vec<String>,
    /// Where files wait for the next run.
    pub pool: PathBuf,
    /// How long the run was driven before.
    pub driven: Duration,
}

impl Session {
    /// Begins a run. Nothing is left behind if the agents cannot be set up.
    pub fn create(
        project: &Project,
        mut spec: Spec,
        mut shell: Shell,
        script: Option<&str>,
    ) -> Result<Self, CommandError> {
        let agents = agents(&shell, script)?;
        find_support(&mut shell)?;
        clean(&mut spec, &redactor(&agents));
        let id = state::new_run_id();
        let folder = project.runs.run(&id);
        let task = HeaderTask { id: TaskId::new(TASK), depends_on: Vec::new(), spec };
        let header = Header::new(id.clone(), project.repository.root().to_owned(), vec![task], shell.clone());
        let run = header.start()?;
        crate::state::make(&folder).map_err(|error| folder_failed(&folder, &error))?;
        if let Some(script) = script {
            let path = folder.join(SCRIPT);
            std::fs::write(&path, script).map_err(|error| folder_failed(&path, &error))?;
        }
        // Last: a run exists once its journal does.
        let journal = Journal::create(&folder, &header)?;
        Self::assemble(project, id, folder, run, journal, agents, shell)
    }

    /// Opens a run to go on with it: replays its journal and leaves what the journal paid for out of the script.
    pub fn open(project: &Project, id: RunId) -> Result<Self, CommandError> {
        let folder = project.runs.run(&id);
        let (mut journal, contents) = Journal::open(&folder, project.repository.root())?;
        let mut shell = contents.header.shell.clone();
        process::confine::forget_support(&state::folder()?);
        find_support(&mut shell)?;
        let script = match shell.scripted {
            true => {
                let path = folder.join(SCRIPT);
                Some(std::fs::read_to_string(&path).map_err(|error| folder_failed(&path, &error))?)
            }
            false => None,
        };
        let mut agents = agents(&shell, script.as_deref())?;
        for (role, requests) in paid(&contents)? {
            agents.skip(role, requests);
        }
        let run = contents.replay(|_, _| {})?;
        // A crash between the last event and the note of the end leaves a run that is over and does not say so.
        if let Some(outcome) =
            run.outcome(&TaskId::new(TASK)).filter(|outcome| contents.ended() != Some(outcome))
        {
            journal.ended(&outcome, Total::of(&run, &TaskId::new(TASK), contents.driven().as_secs()))?;
        }
        process::kill_leftovers(&folder.join("scratch"));
        let session = Self::assemble(project, id, folder, run, journal, agents, shell)?;
        Ok(Self { driven: contents.driven(), ..session })
    }

    fn assemble(
        project: &Project,
        id: RunId,
        folder: PathBuf,
        run: Run,
        journal: Journal,
        agents: Agents,
        shell: Shell,
    ) -> Result<Self, CommandError> {
        let workspace = Workspace::open(project.repository.clone(), id.as_str(), &folder)?;
        let left_alone = workspace.recover()?.unwrap_or_default();
        let pool = project.runs.pool();
        workspace.take_files(&pool);
        let redactor = redactor(&agents);
        let baselines = project.runs.baselines();
        Ok(Self {
            id,
            folder,
            baselines,
            run,
            journal,
            workspace,
            agents,
            shell,
            redactor,
            left_alone,
            pool,
            driven: Duration::ZERO,
        })
    }
}

/// Where a run's files are, and where they go when it is over.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    pool: PathBuf,
}

impl Files {
    /// Takes down where a run's files are.
    pub(crate) fn of(session: &Session) -> Self {
        Self { folder: session.folder.clone(), pool: session.pool.clone() }
    }

    /// Gives the files to the next run, unless somebody has gone on with this one already.
    pub(crate) fn give(&self, repository: Repository, id: &RunId) -> Result<(), CommandError> {
        let _lock = crate::journal::lock(&self.folder)?;
        Workspace::open(repository, id.as_str(), &self.folder)?.give_files(&self.pool)?;
        Ok(())
    }
}

/// Notes what this machine can do to confine commands; a run may go on at another than where it began.
fn find_support(shell: &mut Shell) -> Result<(), CommandError> {
    if let Some(sandbox) = &mut shell.sandbox {
        sandbox.support = process::confine::known_support(&state::folder()?);
    }
    Ok(())
}

/// Knows the secrets of the agents and of the environment.
fn redactor(agents: &Agents) -> Redactor {
    let mut secrets = agents.secrets();
    secrets.extend(process::secret_values());
    Redactor::new(secrets)
}

/// Keeps secrets out of what the user said: it goes into the journal's header and into every prompt.
fn clean(spec: &mut Spec, redactor: &Redactor) {
    spec.task.goal = redactor.text(&spec.task.goal);
    if let Some(examples) = &mut spec.task.examples {
        examples.content = redactor.text(&examples.content);
    }
    if let Some(earlier) = &mut spec.task.follows {
        earlier.goal = redactor.text(&earlier.goal);
        earlier.diff = redactor.text(&earlier.diff);
    }
    for prompt in spec.prompts.values_mut() {
        prompt.text = redactor.text(&prompt.text);
    }
}

/// Counts the requests that the journal answers, failed ones included.
fn paid(contents: &Contents) -> Result<BTreeMap<Role, u32>, JournalError> {
    let mut paid: BTreeMap<Role, u32> = BTreeMap::new();
    let mut run = contents.header.start()?;
    for record in contents.records() {
        if let Event::Answered { task, effect, part, answer } = &record.event {
            let role = run
                .awaited(task, *effect, *part)
                .and_then(|action| if let Action::Call(call) = action { Some(call.role) } else { None });
            let requests = match answer {
                Answer::Called(called) => called.requests,
                // Every request of a failed call was an entry of the script.
                Answer::Failed(failure) => failure.requests,
                Answer::Prepared(_)
                | Answer::Files { .. }
                | Answer::Applied(_)
                | Answer::Rejected { .. }
                | Answer::Inspected(_)
                | Answer::Ran(_)
                | Answer::Said { .. }
                | Answer::Landed { .. }
                | Answer::Conflict { .. }
                | Answer::TargetMoved { .. } => 0,
            };
            if let Some(role) = role {
                *paid.entry(role).or_default() += requests;
            }
        }
        run.handle(&record.event);
    }
    Ok(paid)
}

/// Sets up the agents; nothing is sent yet.
fn agents(shell: &Shell, script: Option<&str>) -> Result<Agents, CommandError> {
    if let Some(script) = script {
        return Ok(Agents::scripted(Script::parse(script)?.for_task(&TaskId::new(TASK))));
    }
    let settings = shell.roles.iter().map(|(role, settings)| (*role, agent_settings(settings))).collect();
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Ok(Agents::live(settings, &environment)?)
}

/// Turns a role's settings into those of its agent.
pub(crate) fn agent_settings(settings: &RoleSettings) -> AgentSettings {
    let mut agent = AgentSettings::new(settings.provider.clone(), settings.model.clone());
    agent.base_url.clone_from(&settings.base_url);
    agent.api_key_env.clone_from(&settings.api_key_env);
    agent.max_output_tokens = settings.max_output_tokens;
    agent.temperature = settings.temperature;
    agent.reasoning_effort = settings.reasoning_effort;
    agent.time_limit = Duration::from_secs(settings.time_limit_s.into());
    agent.retry_budget = agent.retry_budget.max(agent.time_limit);
    agent.price = settings.price;
    agent
}

fn folder_failed(path: &std::path::Path, error: &std::io::Error) -> CommandError {
    CommandError::local(format!(
        "Checkmate could not use {}: {error}. Check that you may write there and that the disk has room.",
        path.display()
    ))
}
