//! `checkmate resume`: goes on with a run that was interrupted or met an error.

use checkmate_machine::event::Command;
use checkmate_machine::ids::TaskId;

use super::Place;
use super::driving::{self, Output};
use crate::error::CommandError;
use crate::human::Human;
use crate::session::{Session, TASK};
use crate::ui;

/// Go on with a run that was interrupted or met an error
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its name, a unique part of it, or `latest`
    run: String,
    #[command(flatten)]
    output: Output,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let id = project.runs.find(&args.run)?;
    let session = driving::reported(&args.output, Some(&id), Session::open(&project, id.clone()))?;
    let task = TaskId::new(TASK);
    let retry = session.run.accepts(&task, &Command::Retry);
    if !retry && let Some(outcome) = session.run.outcome(&task) {
        anstream::eprint!("{}", ui::card(&session.id, &session.run, &task, ui::width_of_stderr()));
        driving::write_summary(args.output.json.as_deref(), &session.id, &session.run)?;
        return Ok(driving::exit_code(&outcome));
    }
    let human = if args.output.events { Human::absent() } else { Human::at_terminal() };
    driving::drive(session, human, if retry { vec![Command::Retry] } else { Vec::new() }, &args.output)
}
