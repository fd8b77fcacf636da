//! Files that an earlier run of the repository checked out, for the next one: to write 50,000 of them takes seconds, to
//! bring them up to date takes a fraction of one.
//!
//! A run that is over gives its folder away, without anything that commands left in it, and the next run takes it by
//! renaming it. What is in it counts for nothing: each command's files are made exactly one tree, as ever.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Workspace, WorkspaceError, sweep};

/// How many folders wait, at most: two runs at once are usual, more are not.
const MOST: usize = 2;
/// What a crash left half-done is removed after so long.
const ABANDONED: Duration = Duration::from_secs(3600);
/// How the name of a folder begins that is not ready.
const UNREADY: &str = "new-";

impl Workspace {
    /// Takes the files that wait longest, if the run has none yet. Without them it makes its own.
    pub fn take_files(&self, pool: &Path) {
        let site = self.site(0);
        let (tree, index) = (site.tree_dir(), site.index());
        if fs::symlink_metadata(&tree).is_ok() || fs::symlink_metadata(&index).is_ok() {
            return;
        }
        for folder in waiting(pool) {
            let taken = self.run_dir.join("taken");
            // Two runs may want the same one: it goes to whoever renames it first.
            if fs::rename(&folder, &taken).is_err() {
                continue;
            }
            let moved =
                fs::rename(taken.join("tree"), &tree).and_then(|()| fs::rename(taken.join("index"), &index));
            sweep::remove(&taken).ok();
            if moved.is_ok() {
                return;
            }
            // Files without the index that knows them are worth nothing.
            sweep::remove(&tree).ok();
        }
    }

    /// Gives the run's files away, without what commands left in them. No command may be running in them.
    pub fn give_files(&self, pool: &Path) -> Result<(), WorkspaceError> {
        let site = self.site(0);
        let (tree, index) = (site.tree_dir(), site.index());
        if !fs::symlink_metadata(&tree).is_ok_and(|metadata| metadata.is_dir()) || !index.is_file() {
            return Ok(());
        }
        sweep::remove(&tree.join(".git"))?;
        // Builds go as well: what one candidate has built must not speak for another run's.
        site.git().read(&["clean", "-ffdqx"])?;
        let fail = |source| WorkspaceError::io("move the run's files to", pool, source);
        let unready = pool.join(format!("{UNREADY}{}", self.run));
        sweep::remove(&unready)?;
        fs::create_dir_all(&unready).map_err(fail)?;
        // The index first: whoever finds files without one makes new files.
        fs::rename(&index, unready.join("index")).map_err(fail)?;
        fs::rename(&tree, unready.join("tree")).map_err(fail)?;
        fs::rename(&unready, pool.join(&self.run)).map_err(fail)?;
        sweep::remove(&site.view())?;
        trim(pool)
    }
}

/// Returns the folders that are ready, the oldest first: their names begin with their date.
fn waiting(pool: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(pool).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.retain(|folder| !is_unready(folder));
    folders.sort();
    folders
}

fn is_unready(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNREADY))
}

/// Removes what is too much and what a crash left behind.
fn trim(pool: &Path) -> Result<(), WorkspaceError> {
    let ready = waiting(pool);
    for folder in &ready[..ready.len().saturating_sub(MOST)] {
        sweep::remove(folder)?;
    }
    let long_ago = SystemTime::now().checked_sub(ABANDONED);
    for entry in fs::read_dir(pool).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        if is_unready(&entry.path()) && modified < long_ago {
            sweep::remove(&entry.path())?;
        }
    }
    Ok(())
}
