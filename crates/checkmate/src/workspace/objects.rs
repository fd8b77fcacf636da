//! Whether what the run rests on is still there, and still what its names say.

use checkmate_machine::ids::{CommitId, TreeId};

use super::{Workspace, WorkspaceError};

impl Workspace {
    /// Returns those trees of which an object is missing, or is not what its name says, with git's words.
    ///
    /// What a partial clone left with its remote is not missed, and submodules are not looked into.
    pub fn damaged(&self, trees: &[&TreeId]) -> Result<Vec<(TreeId, String)>, WorkspaceError> {
        let (named, nameless): (Vec<&TreeId>, Vec<&TreeId>) =
            trees.iter().copied().partition(|tree| is_name(tree.as_str()));
        let nameless = nameless.into_iter().map(|tree| (tree.clone(), "It names no object.".to_owned()));
        let mut damaged: Vec<(TreeId, String)> = nameless.collect();
        if named.is_empty() || self.fault(&named)?.is_none() {
            return Ok(damaged);
        }
        for tree in named {
            if let Some(said) = self.fault(&[tree])? {
                damaged.push((tree.clone(), said));
            }
        }
        Ok(damaged)
    }

    /// Reads everything in these trees, hashing it again; returns what git says is wrong.
    fn fault(&self, trees: &[&TreeId]) -> Result<Option<String>, WorkspaceError> {
        let input: String = trees.iter().map(|tree| format!("{tree}\n")).collect();
        let arguments =
            ["rev-list", "--objects", "--verify-objects", "--missing=allow-promisor", "--quiet", "--stdin"];
        let answer = self.repository.git().ask(&arguments, input.as_bytes())?;
        // Of an object with a wrong hash git complains, and goes on.
        let clean = answer.code == Some(0) && !answer.stderr.lines().any(|line| line.starts_with("error:"));
        Ok((!clean).then(|| answer.stderr.lines().next().unwrap_or("git says nothing").to_owned()))
    }

    /// Returns the paths that differ between two trees.
    pub fn changed_paths(&self, from: &TreeId, to: &TreeId) -> Result<Vec<String>, WorkspaceError> {
        Ok(self.differences(from, to)?.into_iter().map(|change| change.path).collect())
    }

    /// Returns the tree of a commit.
    pub fn committed_tree(&self, commit: &CommitId) -> Result<TreeId, WorkspaceError> {
        if is_name(commit.as_str()) {
            return self.tree_of(commit);
        }
        Err(WorkspaceError::Git { command: "rev-parse".into(), said: format!("{commit:?} names no commit.") })
    }

    /// Returns the trees before and after the run's latest landing, if it wrote any file.
    pub fn latest_landing(&self) -> Result<Option<(TreeId, TreeId)>, WorkspaceError> {
        Ok(self.landed()?.pop().map(|landed| (landed.base, landed.tree)))
    }
}

/// Tells whether a text can name an object: nothing else is handed to git.
fn is_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
