//! `checkmate replay`: decides a run again from its journal, offline.

use checkmate_machine::ids::TaskId;

use super::{Place, print};
use crate::error::CommandError;
use crate::exit_code;
use crate::journal;
use crate::session::TASK;
use crate::ui;

/// Decide a run again from its journal, offline
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its name, a unique part of it, or `latest`
    run: String,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let id = project.runs.find(&args.run)?;
    let contents = journal::read(&project.runs.run(&id))?;
    let mut records = 0;
    let mut story = ui::Story::new(ui::width(&std::io::stdout()));
    let run = contents.replay(|record, notices| {
        records += 1;
        story.add(record, &notices);
    })?;
    print(&story.text());
    let task = TaskId::new(TASK);
    print(&ui::card(&id, &run, &task, &contents.header.shell, ui::width(&std::io::stdout())));
    match (contents.ended(), run.outcome(&task)) {
        (Some(recorded), Some(outcome)) if *recorded == outcome => {
            anstream::eprintln!("Replayed {records} records to the same outcome.");
            Ok(exit_code::DONE)
        }
        (None, Some(_)) => {
            anstream::eprintln!(
                "Replayed {records} records; the run is over, though its journal does not say so: it was killed at its end."
            );
            Ok(exit_code::DONE)
        }
        (None, None) => {
            anstream::eprintln!("Replayed {records} records; the run is not over.");
            Ok(exit_code::DONE)
        }
        (Some(_), _) => Err(CommandError::local(
            "The replay comes to another outcome than the run did. This program decides by other rules than the one that made the run; what landed stays as it is.",
        )),
    }
}
