//! `checkmate config check`: says what the configuration is, where each value comes from, and what follows from it.

mod effects;
mod values;

use std::path::PathBuf;

use clap::Subcommand;

pub(crate) use self::values::settings;

use super::budget::BudgetFlags;
use super::run::Land;
use super::{Place, print};
use crate::agents::Agents;
use crate::config::{AgentKind, Config, FILE_NAME, Loaded};
use crate::error::CommandError;
use crate::exit_code;

/// Look at the configuration
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check the configuration and say where each value comes from and what follows from it
    Check {
        /// The configuration (default: .dualagent.json in the repository's root)
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// What `checkmate run` would be given
        #[arg(long, value_enum, value_name = "HOW")]
        land: Option<Land>,
        #[command(flatten)]
        budget: BudgetFlags,
    },
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let Command::Check { config: given, land, budget } = &args.command;
    let project = place.project()?;
    let root = project.repository.root();
    let path = given.clone().unwrap_or_else(|| root.join(FILE_NAME));
    let Loaded { mut config, warnings, set } = Config::load_for(&path, root, AgentKind::Live)?;
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    config.use_environment(&environment);
    let flags = values::Flags { land: land.map(Into::into), budget: budget.limits() };
    config.budget.run.replace(flags.budget);
    let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
    let mut text = String::new();
    for row in values::rows(&config, &flags, &environment) {
        text.push_str(&row.line(&set, &name));
    }
    text.push_str("\nWhat follows:\n");
    for (key, sentence) in effects::effects(&config, flags.land) {
        text.push_str(&format!("{key:<28} {sentence}\n"));
    }
    print(&text);
    for warning in warnings {
        anstream::eprintln!("warning: {warning}");
    }
    if let Some(problem) = config.unknown_price() {
        return Err(CommandError::usage(problem));
    }
    // The providers' names and keys are judged by the table of the agents, as at the start of a run.
    let settings = config
        .roles()
        .iter()
        .map(|(role, settings)| (*role, crate::session::agent_settings(settings)))
        .collect();
    Agents::live(settings, &environment)?;
    Ok(exit_code::DONE)
}
