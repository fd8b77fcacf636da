//! `checkmate land`: brings an approved change that has not landed to the user.

use checkmate_machine::effect::Landing;
use checkmate_machine::event::Command;
use checkmate_machine::ids::TaskId;
use checkmate_machine::outcome::{Outcome, StoppedBy};

use super::Place;
use super::driving::{self, Output};
use crate::error::CommandError;
use crate::exit_code;
use crate::human::Human;
use crate::session::{Session, TASK};

/// Bring an approved change that has not landed to your tree
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its name, a unique part of it, or `latest`
    run: String,
    /// Commit it on the present branch instead of leaving it in the working tree
    #[arg(long)]
    commit: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let id = project.runs.find(&args.run)?;
    let session = driving::reported(&args.output, Some(&id), Session::open(&project, id.clone()))?;
    let task = TaskId::new(TASK);
    let command = Command::Land { how: if args.commit { Landing::Commit } else { Landing::Apply } };
    if session.run.accepts(&task, &command) {
        return driving::drive(session, Human::Absent, vec![command], &args.output);
    }
    match session.run.outcome(&task) {
        Some(Outcome::Approved { .. } | Outcome::Applied { .. }) => {
            anstream::eprintln!("The run {} has landed already.", session.id);
            Ok(exit_code::DONE)
        }
        Some(outcome @ Outcome::NotApproved { stopped_by: StoppedBy::TakenBack, .. }) => {
            anstream::eprintln!(
                "The run {} is a patch of your own that nobody has judged, so it is not committed. `checkmate land {}` \
                 brings it to your working tree again.",
                session.id,
                session.id
            );
            Ok(driving::exit_code(&outcome))
        }
        Some(outcome @ (Outcome::NotApproved { .. } | Outcome::Error { .. })) => {
            anstream::eprintln!(
                "The run {} was not approved, so there is nothing to land. `checkmate show {}` says why.",
                session.id,
                session.id
            );
            Ok(driving::exit_code(&outcome))
        }
        None => Err(CommandError::usage(format!(
            "The run {} is not over. `checkmate resume {}` goes on with it.",
            session.id, session.id
        ))),
    }
}
