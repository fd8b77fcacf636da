//! `checkmate resume`: goes on with a run that was interrupted, met an error or came to the end of its budget.

use checkmate_machine::event::Command;
use checkmate_machine::ids::{Role, TaskId};

use super::Place;
use super::budget::BudgetFlags;
use super::driving::{self, Output};
use crate::error::CommandError;
use crate::human::Human;
use crate::session::{Session, TASK};
use crate::ui;

/// Go on with a run that was interrupted, met an error or came to the end of its budget
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its name, a unique part of it, or `latest`
    run: String,
    #[command(flatten)]
    budget: BudgetFlags,
    /// The role whose budget the limits are for (default: the whole run's)
    #[arg(long, value_name = "ROLE", value_parser = role, help_heading = "Budget")]
    budget_of: Option<Role>,
    #[command(flatten)]
    output: Output,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let id = project.runs.find(&args.run)?;
    let session = driving::reported(&args.output, Some(&id), Session::open(&project, id.clone()))?;
    let task = TaskId::new(TASK);
    let limits = args.budget.limits();
    let larger = (!limits.is_unlimited()).then_some(Command::Budget { role: args.budget_of, limits });
    // What failed goes on first: a run that is over for an error takes no budget.
    let commands = session.run.accepted(&task, [Command::Retry].into_iter().chain(larger));
    if commands.is_empty()
        && let Some(outcome) = session.run.outcome(&task)
    {
        anstream::eprint!(
            "{}",
            ui::card(&session.id, &session.run, &task, &session.shell, ui::width_of_stderr())
        );
        driving::write_summary(args.output.json.as_deref(), &session.id, &session.run, &session.shell)?;
        return Ok(driving::exit_code(&outcome));
    }
    let human = if args.output.events { Human::Absent } else { Human::at_terminal() };
    if let Some(cycle) = session.run.cycle(&task) {
        driving::reported(&args.output, Some(&id), human.refuse_unattended(&cycle.spec().policy))?;
    }
    driving::drive(session, human, commands, &args.output)
}

fn role(name: &str) -> Result<Role, String> {
    Role::ALL.into_iter().find(|role| role.name() == name).ok_or_else(|| {
        let names: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
        format!("it must be one of {}", names.join(", "))
    })
}
