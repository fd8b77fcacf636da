//! `checkmate undo`: takes a landed change back.

use super::{Place, driving};
use crate::error::CommandError;
use crate::exit_code;
use crate::undo;
use crate::workspace::UndoAnswer;

/// Take a landed change back; your own later edits stay
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its name, a unique part of it, or `latest`
    run: String,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let id = project.runs.find(&args.run)?;
    let undone = undo::undo(&project, &id)?;
    driving::warn_left_alone(&undone.left_alone);
    let sentence = undone.sentence(&id);
    match (undone.answer, sentence) {
        (UndoAnswer::Undone { files, .. }, Ok(sentence)) => {
            anstream::eprintln!("{}:", sentence.trim_end_matches('.'));
            super::print(&files.iter().map(|file| format!("{file}\n")).collect::<String>());
            Ok(exit_code::DONE)
        }
        (UndoAnswer::Conflict { .. }, Err(conflict)) => {
            anstream::eprintln!("{conflict}");
            Ok(exit_code::NOT_APPROVED)
        }
        (_, Ok(sentence)) => {
            anstream::eprintln!("{sentence}");
            Ok(exit_code::DONE)
        }
        (_, Err(error)) => Err(error),
    }
}
