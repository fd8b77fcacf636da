//! How a run begins, from wherever it is asked for: a task, the repository's configuration, and who is there to be asked.

use checkmate_machine::ids::{RunId, TaskId};
use checkmate_machine::spec::{Earlier, LandPolicy, Product, Spec, Task};

use crate::config::Config;
use crate::error::CommandError;
use crate::human::Human;
use crate::journal::{self, Shell};
use crate::session::{Project, Session, TASK};

/// A run that somebody asks for.
#[derive(Debug, Clone)]
pub struct Order<'a> {
    /// What is wanted.
    pub task: Task,
    /// What happens to an approved change, where that was said with the request.
    pub land: Option<LandPolicy>,
    /// Scripted agents instead of models.
    pub script: Option<&'a str>,
}

impl Order<'_> {
    /// Begins the run. Nothing is left behind if it cannot begin.
    pub fn begin(self, project: &Project, config: &Config, human: &Human) -> Result<Session, CommandError> {
        let Self { task, land, script } = self;
        if task.goal.trim().is_empty() {
            return Err(CommandError::usage(
                "The goal is empty. Say what is wanted: `checkmate run \"GOAL\"`.",
            ));
        }
        if let Some(problem) = config.unknown_price().filter(|_| script.is_none()) {
            return Err(CommandError::usage(problem));
        }
        let policy = config.policy(land, human.is_present());
        human.refuse_unattended(&policy)?;
        let spec = Spec { task, product: Product::Patch, policy, prompts: config.prompts() };
        let roles = if script.is_some() { Default::default() } else { config.roles() };
        let shell = Shell { roles, scripted: script.is_some(), ..shell(config) };
        Session::create(project, spec, shell, script)
    }
}

/// Returns what a run that goes on from another one is told of it.
pub fn earlier(project: &Project, run: &RunId) -> Result<Earlier, CommandError> {
    let contents = journal::read(&project.runs.run(run))?;
    let replayed = contents.replay(|_, _| {})?;
    let goal = contents.header.tasks.first().map(|task| task.spec.task.goal.clone()).unwrap_or_default();
    let task = TaskId::new(TASK);
    let candidate = replayed.cycle(&task).and_then(|cycle| cycle.candidate());
    Ok(Earlier {
        run: run.clone(),
        goal,
        outcome: replayed.outcome(&task),
        diff: candidate.map(|candidate| candidate.diff.clone()).unwrap_or_default(),
    })
}

/// Begins a run that brings a patch of the user's own to their tree: nobody makes it and nobody judges it, but what is
/// protected stays so, and it can be taken back.
pub fn begin_patch(project: &Project, config: &Config, patch: String) -> Result<Session, CommandError> {
    if patch.trim().is_empty() {
        return Err(CommandError::usage("The patch is empty. Send a unified diff."));
    }
    let policy = config.policy(Some(LandPolicy::Apply), false);
    let task = Task::of("Apply a patch of the user's own.");
    let spec = Spec { task, product: Product::Given { patch }, policy, prompts: config.prompts() };
    // No agent is asked, so no key is needed.
    Session::create(project, spec, Shell { scripted: true, ..shell(config) }, Some(NO_AGENTS))
}

/// A script in which nobody says anything.
const NO_AGENTS: &str = r#"{"version":1,"replay":[]}"#;

fn shell(config: &Config) -> Shell {
    Shell {
        roles: Default::default(),
        scripted: false,
        link_paths: config.link_paths.clone(),
        keep_env: config.keep_env.clone(),
        test_report: config.test_report.clone(),
        time_limit_s: config.test_time_limit_s.into(),
        mutants_at_once: Some(config.mutants_at_once),
        sandbox: config.sandbox.clone(),
    }
}
