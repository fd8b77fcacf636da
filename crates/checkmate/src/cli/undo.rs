//! `checkmate undo`: takes a landed change back.

use super::Place;
use crate::error::CommandError;
use crate::exit_code;
use crate::journal::Journal;
use crate::workspace::{UndoAnswer, Workspace};

/// Take a landed change back; your own later edits stay
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its name, a unique part of it, or `latest`
    run: String,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let id = project.runs.find(&args.run)?;
    let folder = project.runs.run(&id);
    // Held so that nobody lands the run while it is taken back.
    let (_journal, _) = Journal::open(&folder)?;
    let workspace = Workspace::open(project.repository.clone(), id.as_str(), &folder)?;
    workspace.recover()?;
    match workspace.undo()? {
        UndoAnswer::Undone { commit, files } => {
            match commit {
                Some(commit) => anstream::eprintln!("Took the run {id} back in the commit {commit}:"),
                None => anstream::eprintln!("Took the run {id} back:"),
            }
            super::print(&files.iter().map(|file| format!("{file}\n")).collect::<String>());
            Ok(exit_code::DONE)
        }
        UndoAnswer::Conflict { paths } => {
            anstream::eprintln!(
                "Nothing was taken back: your later edits touch the same lines in {}. Undo them by hand, or put those \
                 edits aside (`git stash`) and try again.",
                paths.join(", ")
            );
            Ok(exit_code::NOT_APPROVED)
        }
        UndoAnswer::NothingLanded => Err(CommandError::usage(format!(
            "The run {id} has not landed, so there is nothing to take back."
        ))),
        UndoAnswer::AlreadyUndone => {
            anstream::eprintln!("The run {id} was taken back already.");
            Ok(exit_code::DONE)
        }
    }
}
