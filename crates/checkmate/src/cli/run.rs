//! `checkmate run`: takes a request through builder, checks and reviewer to a verdict that lands.

use std::path::{Path, PathBuf};

use checkmate_machine::spec::{LandPolicy, Task};

use super::budget::BudgetFlags;
use super::driving::{self, Output};
use super::{Place, init, read};
use crate::config::{AgentKind, Config, Loaded};
use crate::error::CommandError;
use crate::forecast::Forecast;
use crate::human::{self, Human};
use crate::launch::{self, Order};
use crate::session::{Project, Session};

/// Take a request through builder, checks and reviewer to a verdict that lands
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What is wanted, in a sentence or more
    #[arg(value_name = "GOAL", required_unless_present = "task", conflicts_with = "task")]
    goal: Option<String>,
    /// A file with the task as JSON: goal, kind, permits, given_red, examples
    #[arg(long, value_name = "FILE")]
    task: Option<PathBuf>,
    /// The configuration (default: .dualagent.json in the repository's root)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The run that this one goes on from: agents are told its request and its change
    #[arg(long, value_name = "RUN")]
    follows: Option<String>,
    /// Scripted agents instead of models
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// What happens to an approved change (default: ask at a terminal, apply elsewhere)
    #[arg(long, value_enum, value_name = "HOW")]
    land: Option<Land>,
    #[command(flatten)]
    budget: BudgetFlags,
    #[command(flatten)]
    output: Output,
}

/// What happens to an approved change.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum Land {
    /// It goes into the working tree, uncommitted
    Apply,
    /// It is committed on the present branch
    Commit,
    /// You are asked; where nobody is, it waits for `checkmate land`
    Ask,
}

impl From<Land> for LandPolicy {
    fn from(land: Land) -> Self {
        match land {
            Land::Apply => LandPolicy::Apply,
            Land::Commit => LandPolicy::Commit,
            Land::Ask => LandPolicy::Ask,
        }
    }
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let human = if args.output.events { Human::Absent } else { Human::at_terminal() };
    let session = driving::reported(&args.output, None, begin(place, args, &human))?;
    anstream::eprintln!("run {}", session.id);
    driving::drive(session, human, Vec::new(), &args.output)
}

fn begin(place: &Place, args: &Args, human: &Human) -> Result<Session, CommandError> {
    let mut task = task(args)?;
    let script = args.replay.as_deref().map(|path| read("replay script", path)).transpose()?;
    let project = place.project()?;
    project.repository.refuse_unmerged()?;
    if let Some(follows) = &args.follows {
        task.follows = Some(launch::earlier(&project, &project.runs.find(follows)?)?);
    }
    let agents = if script.is_some() { AgentKind::Scripted } else { AgentKind::Live };
    let mut config = configuration(&project, args.config.as_deref(), agents, human)?;
    config.budget.run.replace(args.budget.limits());
    tell_forecast(&project, &config);
    let order = Order { task, land: args.land.map(Into::into), script: script.as_deref() };
    order.begin(&project, &config, human)
}

/// Says what earlier runs of the repository cost, before this one costs anything.
fn tell_forecast(project: &Project, config: &Config) {
    let Some(forecast) = Forecast::of(&project.runs) else { return };
    anstream::eprintln!("  · {}", forecast.sentence());
    if let Some(warning) = forecast.warning(&config.budget.run) {
        anstream::eprintln!("warning: {warning}");
    }
}

fn task(args: &Args) -> Result<Task, CommandError> {
    match (&args.goal, &args.task) {
        (Some(goal), _) => Ok(Task::of(goal.clone())),
        (None, Some(path)) => serde_json::from_str(&read("task file", path)?).map_err(|error| {
            CommandError::usage(format!(
                "The task file {} is not a task: {error}. It needs at least {{\"goal\": \"…\"}}.",
                path.display()
            ))
        }),
        (None, None) => Err(CommandError::usage("Say what is wanted: `checkmate run \"GOAL\"`.")),
    }
}

/// Loads the configuration; where there is none and a person is there, offers to write one.
fn configuration(
    project: &Project,
    given: Option<&Path>,
    agents: AgentKind,
    human: &Human,
) -> Result<Config, CommandError> {
    let root = project.repository.root();
    let path = given.map_or_else(|| root.join(crate::config::FILE_NAME), Path::to_owned);
    if given.is_none() && human.is_present() && !path.exists() {
        let question =
            format!("Config file not found: {}. Write a good one for this repository now?", path.display());
        if human::yes_or_no(&question)?.0 {
            init::write(root, &path)?;
        }
    }
    let Loaded { mut config, warnings, .. } = Config::load_for(&path, root, agents)?;
    for warning in warnings {
        anstream::eprintln!("warning: {warning}");
    }
    config.use_environment(&|name| std::env::var(name).ok());
    Ok(config)
}
