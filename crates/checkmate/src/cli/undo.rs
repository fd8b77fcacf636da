//! `checkmate undo`: takes a landed change back.

use checkmate_machine::event::{Command, Event};
use checkmate_machine::ids::TaskId;

use super::{Place, driving};
use crate::error::CommandError;
use crate::exit_code;
use crate::forecast::Total;
use crate::journal::{Contents, Journal};
use crate::session::TASK;
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
    let (mut journal, contents) = Journal::open(&folder, project.repository.root())?;
    let workspace = Workspace::open(project.repository.clone(), id.as_str(), &folder)?;
    driving::warn_left_alone(&workspace.recover()?.unwrap_or_default());
    let undone = workspace.undo()?;
    if matches!(undone, UndoAnswer::Undone { .. } | UndoAnswer::AlreadyUndone) {
        note(&mut journal, &contents)?;
    }
    match undone {
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

/// Writes down that the change was taken back, so that the run says so and `checkmate land` can bring it again.
///
/// A journal that this program cannot replay does not keep anybody from taking a change back.
fn note(journal: &mut Journal, contents: &Contents) -> Result<(), CommandError> {
    let Ok(mut run) = contents.replay(|_, _| {}) else { return Ok(()) };
    let task = TaskId::new(TASK);
    if run.accepts(&task, &Command::TakenBack) {
        let event = Event::Command { task: task.clone(), command: Command::TakenBack };
        let record = journal.append(None, event)?;
        run.handle(&record.event);
    }
    // An undo that was killed may have written the command down and not what it came to.
    if let Some(outcome) = run.outcome(&task).filter(|outcome| contents.ended() != Some(outcome)) {
        journal.ended(&outcome, Total::of(&run, &task, contents.driven().as_secs()))?;
    }
    Ok(())
}
