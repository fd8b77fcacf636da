//! Takes a landed change back.

use checkmate_machine::ids::CommitId;

use super::files::save;
use super::land::{Change, Landed, Memory, Written};
use super::rooted::Root;
use super::tree::Merge;
use super::{Workspace, WorkspaceError};

/// What came of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoAnswer {
    /// The change is gone from the user's tree; edits that they made since are still there.
    Undone {
        /// The commit that reverts it, when it had landed by commit.
        commit: Option<CommitId>,
        /// The files that the landing had changed.
        files: Vec<String>,
    },
    /// The user edited the same lines since; nothing was touched.
    Conflict {
        /// The paths.
        paths: Vec<String>,
    },
    /// It was taken back before.
    AlreadyUndone,
    /// The run landed nothing.
    NothingLanded,
}

impl Workspace {
    /// Takes the run's last landing back that was not taken back yet, byte for byte where the user did not edit since.
    ///
    /// What landed by commit is reverted by a new commit; history is never rewritten.
    pub fn undo(&self) -> Result<UndoAnswer, WorkspaceError> {
        let root = Root::open(self.repository.root())?;
        let _lock = root.lock()?;
        self.finish_interrupted(&root)?;
        let landings = self.landed()?;
        let Some((number, landed)) = landings.iter().enumerate().rev().find(|(_, landed)| !landed.undone)
        else {
            return Ok(if landings.is_empty() {
                UndoAnswer::NothingLanded
            } else {
                UndoAnswer::AlreadyUndone
            });
        };
        let changes = self.differences(&landed.base, &landed.tree)?;
        let files: Vec<String> = changes.into_iter().map(|change| change.path).collect();
        match &landed.commit {
            None => self.undo_in_files(&root, number, landed, files),
            Some(commit) => self.undo_in_commit(&root, number, landed, commit, files),
        }
    }

    fn undo_in_files(
        &self,
        root: &Root,
        number: usize,
        landed: &Landed,
        files: Vec<String>,
    ) -> Result<UndoAnswer, WorkspaceError> {
        let from = self.snapshot(&files)?;
        let to = match self.beside(&landed.tree, &from.tree, &landed.base)? {
            Merge::Clean(to) => to,
            Merge::Conflict(paths) => return Ok(UndoAnswer::Conflict { paths }),
        };
        let memory = Memory::Undo(number);
        match self.write(root, Change { from: &from, to: &to, commit: None, memory })? {
            Written::Done => Ok(UndoAnswer::Undone { commit: None, files }),
            Written::Blocked(paths) => Ok(UndoAnswer::Conflict { paths }),
        }
    }

    fn undo_in_commit(
        &self,
        root: &Root,
        number: usize,
        landed: &Landed,
        commit: &CommitId,
        files: Vec<String>,
    ) -> Result<UndoAnswer, WorkspaceError> {
        self.refuse_commit(&files)?;
        let head = self.repository.head()?;
        let target = self.tree_of(&head)?;
        let reverted = match self.beside(&landed.tree, &target, &landed.base)? {
            Merge::Clean(reverted) => reverted,
            Merge::Conflict(paths) => return Ok(UndoAnswer::Conflict { paths }),
        };
        if reverted == target {
            // The user reverted it, or went back to before it.
            let mut landings = self.landed()?;
            landings[number].undone = true;
            save(&self.run_dir.join("landed.json"), &landings)?;
            return Ok(UndoAnswer::AlreadyUndone);
        }
        let from = self.snapshot(&files)?;
        let to = match self.beside(&target, &from.tree, &reverted)? {
            Merge::Clean(to) => to,
            Merge::Conflict(paths) => return Ok(UndoAnswer::Conflict { paths }),
        };
        let subject = self.repository.git().line(&[
            "show",
            "--no-patch",
            "--no-show-signature",
            "--format=%s",
            commit.as_str(),
        ])?;
        let message = format!("Revert \"{subject}\"\n\nThis reverts commit {commit}.\n");
        let revert = self.pending_commit(&head, &target, &reverted, &message)?;
        let new = revert.new.clone();
        let memory = Memory::Undo(number);
        match self.write(root, Change { from: &from, to: &to, commit: Some(revert), memory })? {
            Written::Done => Ok(UndoAnswer::Undone { commit: Some(new), files }),
            Written::Blocked(paths) => Ok(UndoAnswer::Conflict { paths }),
        }
    }
}
