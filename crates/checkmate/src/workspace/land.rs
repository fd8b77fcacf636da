//! Brings a verified tree to the user.

use std::path::PathBuf;

use checkmate_machine::effect::Landing;
use checkmate_machine::ids::{CommitId, TreeId};
use serde::{Deserialize, Serialize};

use super::commit::PendingCommit;
use super::files::{Intent, Step, forget, load, save, stage_file, sync_staged};
use super::listing::SUBMODULE;
use super::rooted::{Root, State};
use super::snapshot::Snapshot;
use super::tree::{Difference, Merge};
use super::{Workspace, WorkspaceError, sweep};

/// What came of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandAnswer {
    /// The user has the change.
    Landed {
        /// The new commit, when landing by commit.
        commit: Option<CommitId>,
        /// The files that changed.
        files: Vec<String>,
    },
    /// The user's own later edits contradict the change; nothing was touched.
    Conflict {
        /// The user's tree as it is now.
        target: TreeId,
        /// The paths in conflict.
        paths: Vec<String>,
    },
    /// The user's tree moved but merges; nothing was touched. Verify `merged`, then land it with `target` as the base.
    TargetMoved {
        /// The user's tree as it is now.
        target: TreeId,
        /// The change merged onto it.
        merged: TreeId,
    },
}

/// A landing as it is remembered for `undo`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Landed {
    /// The tree before.
    pub(crate) base: TreeId,
    /// The tree after.
    pub(crate) tree: TreeId,
    /// The commit, when it landed by commit.
    pub(crate) commit: Option<CommitId>,
    /// What changed in the user's files.
    pub(crate) steps: Vec<Step>,
    /// Whether it was taken back.
    pub(crate) undone: bool,
}

/// What is written down before the first file changes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pending {
    /// The files.
    pub(crate) intent: Intent,
    /// The commit to make current first, if any.
    pub(crate) commit: Option<PendingCommit>,
    /// All landings of the run as they will be remembered afterwards.
    pub(crate) landed: Vec<Landed>,
}

/// What to write, and how it is remembered.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    /// The user's tree now.
    pub(crate) from: &'a Snapshot,
    /// Their tree afterwards.
    pub(crate) to: &'a TreeId,
    /// The commit to make, if any.
    pub(crate) commit: Option<PendingCommit>,
    /// What is remembered.
    pub(crate) memory: Memory,
}

/// How a change of the user's files is remembered.
#[derive(Debug)]
pub(crate) enum Memory {
    /// As a landing from one tree to another.
    Landing {
        /// The tree before.
        base: TreeId,
        /// The tree after.
        tree: TreeId,
    },
    /// As the end of the landing with this number.
    Undo(usize),
}

/// Whether a change was written.
#[derive(Debug)]
pub(crate) enum Written {
    /// It is.
    Done,
    /// Something came in the way at these paths; nothing was touched.
    Blocked(Vec<String>),
}

impl Workspace {
    /// Brings `tree` to the user as the change that it is against `base`.
    ///
    /// By [`Landing::Apply`] the change goes into the working tree and the index stays as it is, byte for byte. By
    /// [`Landing::Commit`] it goes into a commit on HEAD without the user's other uncommitted edits, and into their
    /// files and index for the changed paths only. `message` is the commit's message. Calling it again after success,
    /// or after a crash, is safe.
    pub fn land(
        &self,
        base: &TreeId,
        tree: &TreeId,
        how: Landing,
        message: &str,
    ) -> Result<LandAnswer, WorkspaceError> {
        let root = Root::open(self.repository.root())?;
        let _lock = root.lock()?;
        self.finish_interrupted(&root)?;
        let changed: Vec<String> =
            self.differences(base, tree)?.into_iter().map(|change| change.path).collect();
        self.refuse_sparse(&changed)?;
        let attempt = || match how {
            Landing::Apply => self.land_in_files(&root, base, tree, &changed),
            Landing::Commit => self.land_in_commit(&root, base, tree, &changed, message),
        };
        match attempt()? {
            // The user may have edited a file between the look and the check; a second look tells.
            LandAnswer::Conflict { .. } => attempt(),
            answer @ (LandAnswer::Landed { .. } | LandAnswer::TargetMoved { .. }) => Ok(answer),
        }
    }

    /// Removes what a killed git left of the run, finishes a landing that was interrupted, and returns the paths that were left alone because the user changed
    /// them in the meantime; `None` if there was none.
    pub fn recover(&self) -> Result<Option<Vec<String>>, WorkspaceError> {
        let root = Root::open(self.repository.root())?;
        let _lock = root.lock()?;
        self.remove_stale_locks()?;
        self.finish_interrupted(&root)
    }

    fn land_in_files(
        &self,
        root: &Root,
        base: &TreeId,
        tree: &TreeId,
        changed: &[String],
    ) -> Result<LandAnswer, WorkspaceError> {
        let landed = || LandAnswer::Landed { commit: None, files: changed.to_vec() };
        let target = self.snapshot(changed)?;
        if target.tree == *tree {
            return Ok(landed());
        }
        if target.tree != *base {
            let merge = self.merge(base, &target.tree, tree)?;
            return Ok(self.moved(target.tree, merge)?.unwrap_or_else(landed));
        }
        let memory = Memory::Landing { base: base.clone(), tree: tree.clone() };
        match self.write(root, Change { from: &target, to: tree, commit: None, memory })? {
            Written::Done => Ok(landed()),
            Written::Blocked(paths) => Ok(LandAnswer::Conflict { target: target.tree, paths }),
        }
    }

    /// Says what a merge onto a moved target means; `None` if the change is in it already.
    pub(crate) fn moved(&self, target: TreeId, merge: Merge) -> Result<Option<LandAnswer>, WorkspaceError> {
        match merge {
            Merge::Conflict(paths) => {
                self.pin_tree("target", &target)?;
                Ok(Some(LandAnswer::Conflict { target, paths }))
            }
            Merge::Clean(merged) if merged == target => Ok(None),
            Merge::Clean(merged) => {
                self.pin_tree("target", &target)?;
                self.pin_tree("merged", &merged)?;
                Ok(Some(LandAnswer::TargetMoved { target, merged }))
            }
        }
    }

    /// Changes the user's files from one tree to another, in one transaction.
    pub(crate) fn write(&self, root: &Root, change: Change<'_>) -> Result<Written, WorkspaceError> {
        let differences = self.differences(&change.from.tree, change.to)?;
        let intent = self.stage(root, change.to, &differences)?;
        let mut landed = self.landed()?;
        if let Memory::Undo(number) = change.memory {
            self.stage_backups(&intent, &landed[number], number, &differences)?;
        }
        let intent = self.measured(intent)?;
        let paths: Vec<String> = intent.steps.iter().map(|step| step.path.clone()).collect();
        let mut blocked = change.from.outdated(&paths)?;
        blocked.extend(intent.obstacles(root)?);
        if !blocked.is_empty() {
            sweep::remove(&self.stage_dir())?;
            blocked.sort();
            blocked.dedup();
            return Ok(Written::Blocked(blocked));
        }
        // Later it would be found out half-way, with some files changed and others not.
        paths.iter().try_for_each(|path| root.refuse_unwritable(path))?;
        match change.memory {
            Memory::Undo(number) => landed[number].undone = true,
            Memory::Landing { base, tree } => {
                self.back_up(root, &intent, landed.len())?;
                self.pin_landing(&base, &tree)?;
                let commit = change.commit.as_ref().map(|commit| commit.new.clone());
                landed.push(Landed { base, tree, commit, steps: intent.steps.clone(), undone: false });
            }
        }
        let pending = Pending { intent, commit: change.commit, landed };
        self.fuse.burn()?;
        save(&self.run_dir.join("landing.json"), &pending)?;
        self.fuse.burn()?;
        let left = self.finish(root, &pending)?;
        if left.is_empty() { Ok(Written::Done) } else { Err(WorkspaceError::LeftAlone { paths: left }) }
    }

    /// Returns the run's landings, oldest first.
    pub(crate) fn landed(&self) -> Result<Vec<Landed>, WorkspaceError> {
        Ok(load(&self.run_dir.join("landed.json"))?.unwrap_or_default())
    }

    /// Goes on with what was interrupted, or clears away what it had only staged.
    pub(crate) fn finish_interrupted(&self, root: &Root) -> Result<Option<Vec<String>>, WorkspaceError> {
        let Some(pending) = load::<Pending>(&self.run_dir.join("landing.json"))? else {
            sweep::remove(&self.stage_dir())?;
            return Ok(None);
        };
        let overtaken = match &pending.commit {
            Some(commit) => self.is_overtaken(commit)? && !pending.intent.is_started(root)?,
            None => false,
        };
        if overtaken {
            // The user moved HEAD before anything of this landing was visible.
            forget(&self.run_dir.join("landing.json"))?;
            sweep::remove(&self.stage_dir())?;
            return Ok(None);
        }
        self.finish(root, &pending).map(Some)
    }

    /// Does what is written down, from wherever it stopped.
    fn finish(&self, root: &Root, pending: &Pending) -> Result<Vec<String>, WorkspaceError> {
        if let Some(commit) = &pending.commit
            && let Err(error) = self.make_current(commit)
        {
            if !pending.intent.is_started(root)? {
                forget(&self.run_dir.join("landing.json"))?;
            }
            return Err(error);
        }
        self.fuse.burn()?;
        let left = pending.intent.perform(root, &self.fuse)?;
        if let Some(commit) = &pending.commit {
            self.update_index(commit)?;
            self.fuse.burn()?;
        }
        save(&self.run_dir.join("landed.json"), &pending.landed)?;
        self.fuse.burn()?;
        forget(&self.run_dir.join("landing.json"))?;
        self.fuse.burn()?;
        sweep::remove(&self.stage_dir())?;
        Ok(left)
    }

    /// Puts the new contents, as git would check them out, on the file system of the user's files.
    fn stage(&self, root: &Root, to: &TreeId, differences: &[Difference]) -> Result<Intent, WorkspaceError> {
        sweep::remove(&self.stage_dir())?;
        let stage = self.stage_dir().join("files");
        std::fs::create_dir_all(&stage).map_err(|e| WorkspaceError::io("make the folder", &stage, e))?;
        let mut steps = Vec::new();
        let mut puts = String::new();
        for difference in differences {
            let sides = [&difference.old, &difference.new];
            if sides.into_iter().flatten().any(|entry| entry.mode == SUBMODULE) {
                return Err(WorkspaceError::Submodule { path: difference.path.clone() });
            }
            let old = match &difference.old {
                Some(_) => root.state(&difference.path)?,
                None => State::Absent,
            };
            if difference.new.is_some() {
                puts.push_str(&difference.path);
                puts.push('\0');
            }
            // What the new state is, the staged file says once it is there.
            steps.push(Step { path: difference.path.clone(), old, new: State::Absent });
        }
        // An empty work tree makes git take the attributes from the index: those that belong to the new contents.
        let (git, _folder) = self.scratch_index(Some(to))?;
        git.with_work_tree(&stage).feed(&["checkout-index", "--force", "-z", "--stdin"], puts.as_bytes())?;
        Ok(Intent { stage, steps })
    }

    /// Says what each path will be, from what is staged, and makes sure that it is on disk.
    fn measured(&self, mut intent: Intent) -> Result<Intent, WorkspaceError> {
        let staged = Root::open(&intent.stage)?;
        for step in &mut intent.steps {
            step.new = staged.state(&step.path)?;
            if step.new == State::Folder {
                // Another path of the change lies below: this one only goes.
                step.new = State::Absent;
            }
        }
        sync_staged(&intent.stage, intent.steps.iter().map(|step| step.path.as_str()))?;
        Ok(intent)
    }

    /// Keeps the exact bytes that a landing replaces; git's normalised content may have other line endings.
    fn back_up(&self, root: &Root, intent: &Intent, number: usize) -> Result<(), WorkspaceError> {
        let folder = self.backup(number);
        sweep::remove(&folder)?;
        for step in &intent.steps {
            if let (State::File { executable, .. }, bytes) = root.read(&step.path)? {
                stage_file(&folder.join(&step.path), &bytes, executable)?;
            }
        }
        Ok(())
    }

    /// Stages the kept bytes for every path that is still as the landing left it and goes back to what it was.
    fn stage_backups(
        &self,
        intent: &Intent,
        landed: &Landed,
        number: usize,
        differences: &[Difference],
    ) -> Result<(), WorkspaceError> {
        let before = self.listing(&landed.base)?;
        for (step, difference) in intent.steps.iter().zip(differences) {
            let same = landed.steps.iter().any(|then| then.path == step.path && then.new == step.old);
            let back = difference.new.as_ref().is_some_and(|new| before.get(&step.path) == Some(new));
            let kept = self.backup(number).join(&step.path);
            if same && back && kept.is_file() {
                let fail = |source| WorkspaceError::io("read", &kept, source);
                std::fs::copy(&kept, intent.stage.join(&step.path)).map_err(fail)?;
            }
        }
        Ok(())
    }

    fn backup(&self, number: usize) -> PathBuf {
        self.run_dir.join("undo").join(number.to_string())
    }

    fn refuse_sparse(&self, paths: &[String]) -> Result<(), WorkspaceError> {
        let mut arguments = vec!["ls-files", "-t", "-z", "--"];
        arguments.extend(paths.iter().map(String::as_str));
        let output = self.repository.git().clone().literally().read(&arguments)?;
        let entries = output.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(b"S "));
        let sparse: Vec<String> = entries.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        let wanted: Vec<String> = sparse.into_iter().filter(|path| paths.contains(path)).collect();
        if wanted.is_empty() { Ok(()) } else { Err(WorkspaceError::Sparse { paths: wanted }) }
    }
}
