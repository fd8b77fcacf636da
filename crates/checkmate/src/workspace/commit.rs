//! Landing by commit: the change and nothing else on HEAD, in the index and in the files.

use std::collections::BTreeMap;

use checkmate_machine::ids::{CommitId, TreeId};
use serde::{Deserialize, Serialize};

use super::git::Git;
use super::land::{Change, LandAnswer, Memory, Written};
use super::listing::Entry;
use super::rooted::Root;
use super::tree::{Merge, index_info};
use super::{Workspace, WorkspaceError};

/// A commit that exists but is not current yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PendingCommit {
    /// What HEAD must be.
    pub(crate) old: CommitId,
    /// What HEAD becomes.
    pub(crate) new: CommitId,
    /// What the index gets: an entry, or none where the path goes.
    index: BTreeMap<String, Option<Entry>>,
    /// The message's first line, for the reflog.
    subject: String,
}

impl Workspace {
    pub(crate) fn land_in_commit(
        &self,
        root: &Root,
        base: &TreeId,
        tree: &TreeId,
        changed: &[String],
        message: &str,
    ) -> Result<LandAnswer, WorkspaceError> {
        let head = self.repository.head()?;
        let target = self.tree_of(&head)?;
        let already = |commit| LandAnswer::Landed { commit, files: changed.to_vec() };
        if target == *tree {
            return Ok(already(self.remembered(tree)?));
        }
        self.refuse_commit(changed)?;
        if target != *base {
            let merge = self.merge(base, &target, tree)?;
            return match self.moved(target, merge)? {
                Some(answer) => Ok(answer),
                None => Ok(already(self.remembered(tree)?)),
            };
        }
        let from = self.snapshot(changed)?;
        let to = match self.beside(base, &from.tree, tree)? {
            Merge::Clean(to) => to,
            Merge::Conflict(paths) => return Ok(LandAnswer::Conflict { target: from.tree, paths }),
        };
        let commit = self.pending_commit(&head, &target, tree, message)?;
        let new = commit.new.clone();
        let memory = Memory::Landing { base: base.clone(), tree: tree.clone() };
        match self.write(root, Change { from: &from, to: &to, commit: Some(commit), memory })? {
            Written::Done => Ok(LandAnswer::Landed { commit: Some(new), files: changed.to_vec() }),
            Written::Blocked(paths) => Ok(LandAnswer::Conflict { target: from.tree, paths }),
        }
    }

    /// Merges a change from `base` to `tree` into files that may have other edits.
    pub(crate) fn beside(
        &self,
        base: &TreeId,
        files: &TreeId,
        tree: &TreeId,
    ) -> Result<Merge, WorkspaceError> {
        if files == base { Ok(Merge::Clean(tree.clone())) } else { self.merge(base, files, tree) }
    }

    /// Fails where a commit would mix the change with what the user is in the middle of.
    pub(crate) fn refuse_commit(&self, changed: &[String]) -> Result<(), WorkspaceError> {
        self.repository.refuse_unmerged()?;
        self.repository.refuse_in_progress()?;
        let lock = self.repository.git_dir().join("index.lock");
        if lock.exists() {
            return Err(WorkspaceError::Locked { lock });
        }
        if changed.is_empty() {
            return Ok(());
        }
        let mut arguments =
            vec!["diff-index", "--cached", "--name-only", "-z", "--no-ext-diff", "HEAD", "--"];
        arguments.extend(changed.iter().map(String::as_str));
        let output = self.repository.git().clone().literally().read(&arguments)?;
        let staged = output.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let paths: Vec<String> = staged.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        if paths.is_empty() { Ok(()) } else { Err(WorkspaceError::Staged { paths }) }
    }

    /// Makes a commit of `tree` on `head`, reachable from nothing but the run's refs yet.
    pub(crate) fn pending_commit(
        &self,
        head: &CommitId,
        before: &TreeId,
        tree: &TreeId,
        message: &str,
    ) -> Result<PendingCommit, WorkspaceError> {
        let git = self.committer()?;
        // A NUL would end the message early for every reader but git.
        let message = message.replace('\0', "");
        let id = git
            .feed_line(&["commit-tree", tree.as_str(), "-p", head.as_str(), "-F", "-"], message.as_bytes())?;
        let reference = format!("refs/checkmate/{}/commit-{}", self.run, id.get(..16).unwrap_or(&id));
        self.repository.git().read(&["update-ref", &reference, &id])?;
        let index =
            self.differences(before, tree)?.into_iter().map(|change| (change.path, change.new)).collect();
        let subject = message.lines().next().unwrap_or_default().to_owned();
        Ok(PendingCommit { old: head.clone(), new: CommitId::new(id), index, subject })
    }

    /// Moves HEAD, and the branch it is on, to the commit; it may be there already, or past it.
    pub(crate) fn make_current(&self, commit: &PendingCommit) -> Result<(), WorkspaceError> {
        if self.is_in_head(&commit.new)? {
            return Ok(());
        }
        let reason = format!("commit: {}", commit.subject);
        let arguments = ["update-ref", "-m", &reason, "HEAD", commit.new.as_str(), commit.old.as_str()];
        self.committer()?.read(&arguments).map(|_| ())
    }

    /// Says whether HEAD went somewhere else, so that the commit can no longer be made current.
    pub(crate) fn is_overtaken(&self, commit: &PendingCommit) -> Result<bool, WorkspaceError> {
        Ok(self.repository.head()? != commit.old && !self.is_in_head(&commit.new)?)
    }

    /// Gives the user's index the commit's entries for the changed paths; every other entry stays.
    pub(crate) fn update_index(&self, commit: &PendingCommit) -> Result<(), WorkspaceError> {
        let git = self.repository.git().clone().on_users_index();
        git.feed(
            &["update-index", "-z", "--index-info"],
            &index_info(&commit.index, commit.new.as_str().len()),
        )?;
        let present = commit.index.iter().filter(|(_, entry)| entry.is_some());
        let mut arguments = vec!["add", "--refresh", "--"];
        arguments.extend(present.map(|(path, _)| path.as_str()));
        if arguments.len() > 3 {
            // Only spares the user's next git call from reading these files; it may fail where they were edited.
            git.literally().ask(&arguments, b"")?;
        }
        Ok(())
    }

    /// Returns the tree of a commit.
    pub(crate) fn tree_of(&self, commit: &CommitId) -> Result<TreeId, WorkspaceError> {
        let name = format!("{commit}^{{tree}}");
        Ok(TreeId::new(self.repository.git().line(&["rev-parse", "--verify", &name])?))
    }

    /// Returns the commit that a tree landed with, as long as HEAD has it.
    fn remembered(&self, tree: &TreeId) -> Result<Option<CommitId>, WorkspaceError> {
        let landed = self.landed()?.into_iter().rev().find(|landed| landed.tree == *tree);
        match landed.and_then(|landed| landed.commit) {
            Some(commit) if self.is_in_head(&commit)? => Ok(Some(commit)),
            Some(_) | None => Ok(None),
        }
    }

    fn is_in_head(&self, commit: &CommitId) -> Result<bool, WorkspaceError> {
        let answer =
            self.repository.git().ask(&["merge-base", "--is-ancestor", commit.as_str(), "HEAD"], b"")?;
        Ok(answer.code == Some(0))
    }

    /// Returns git with the user's identity, or with Checkmate's where none is configured.
    fn committer(&self) -> Result<Git, WorkspaceError> {
        let git = self.repository.git();
        let has = |key: &str| git.ask(&["config", "--get", key], b"").map(|answer| answer.code == Some(0));
        let configured = has("user.name")? && has("user.email")?;
        Ok(if configured { git.clone() } else { git.clone().with_own_identity() })
    }
}
