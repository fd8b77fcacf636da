//! Taking a landed change back.

use checkmate_machine::event::{Command, Event};
use checkmate_machine::ids::{RunId, TaskId};

use crate::error::CommandError;
use crate::forecast::Total;
use crate::journal::{Contents, Journal};
use crate::session::{Project, TASK};
use crate::workspace::{UndoAnswer, Workspace};

/// What came of it.
#[derive(Debug)]
pub struct Undone {
    /// The answer.
    pub answer: UndoAnswer,
    /// Paths that an interrupted landing did not write, because the user had edited them meanwhile.
    pub left_alone: Vec<String>,
}

/// Takes the change of a run back; the user's own later edits stay.
pub fn undo(project: &Project, id: &RunId) -> Result<Undone, CommandError> {
    let folder = project.runs.run(id);
    // Held so that nobody lands the run while it is taken back.
    let (mut journal, contents) = Journal::open(&folder, project.repository.root())?;
    let workspace = Workspace::open(project.repository.clone(), id.as_str(), &folder)?;
    let left_alone = workspace.recover()?.unwrap_or_default();
    let answer = workspace.undo()?;
    if matches!(answer, UndoAnswer::Undone { .. } | UndoAnswer::AlreadyUndone) {
        note(&mut journal, &contents)?;
    }
    Ok(Undone { answer, left_alone })
}

impl Undone {
    /// Says what came of it in a sentence; an error where the user has to do something.
    pub fn sentence(&self, id: &RunId) -> Result<String, CommandError> {
        match &self.answer {
            UndoAnswer::Undone { commit: Some(commit), .. } => {
                Ok(format!("Took the run {id} back in the commit {commit}."))
            }
            UndoAnswer::Undone { commit: None, .. } => Ok(format!("Took the run {id} back.")),
            UndoAnswer::AlreadyUndone => Ok(format!("The run {id} was taken back already.")),
            UndoAnswer::Conflict { paths } => Err(CommandError::usage(format!(
                "Nothing was taken back: your later edits touch the same lines in {}. Undo them by hand, or put those edits \
                 aside (`git stash`) and try again.",
                paths.join(", ")
            ))),
            UndoAnswer::NothingLanded => Err(CommandError::usage(format!(
                "The run {id} has not landed, so there is nothing to take back."
            ))),
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
