//! Writes a set of files so that, whatever happens, all of them change or none.
//!
//! ```text
//!   stage    new contents go to a folder on the same file system, fsync
//!   check    every path holds what is expected, and nothing is in the way     ── before here: nothing changed
//!   intend   the list of steps is written and fsynced                         ── from here on: it will be done
//!   perform  unlinks first, then renames; each checks its path once more
//!   finish   the list goes, then the folder
//! ```
//!
//! After a crash, [`Intent::perform`] is run again. A path that is neither as it was nor as it shall be was changed by
//! the user in the meantime: it is left alone and reported.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::WorkspaceError;
use super::rooted::{Above, Root, State};

/// One path that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// The path, from the root.
    pub(crate) path: String,
    /// What must be there.
    pub(crate) old: State,
    /// What shall be there.
    pub(crate) new: State,
}

/// All that is about to change. The new content of a path lies in `stage` under the same path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    /// The folder with the new contents.
    pub(crate) stage: PathBuf,
    /// The paths, each once.
    pub(crate) steps: Vec<Step>,
}

impl Intent {
    /// Lists the paths that are not as expected, or where something is in the way.
    pub(crate) fn obstacles(&self, root: &Root) -> Result<Vec<String>, WorkspaceError> {
        let removed: BTreeSet<&str> = self
            .steps
            .iter()
            .filter(|step| step.new == State::Absent)
            .map(|step| step.path.as_str())
            .collect();
        let mut obstacles = Vec::new();
        for step in &self.steps {
            let above_is_free = match root.above(&step.path, false)? {
                Above::Open(_) | Above::Missing => true,
                Above::Blocked { by, .. } => {
                    // What blocks goes first; until then nothing is at the path.
                    if removed.contains(by.as_str()) && step.old == State::Absent {
                        continue;
                    }
                    false
                }
            };
            let state = root.state(&step.path)?;
            let gives_way = state == State::Folder
                && step.old == State::Absent
                && will_be_empty(&root.path().join(&step.path), &step.path, &removed);
            if !above_is_free || !(state == step.old || state == step.new || gives_way) {
                obstacles.push(step.path.clone());
            }
        }
        Ok(obstacles)
    }

    /// Says whether any step is done.
    pub(crate) fn is_started(&self, root: &Root) -> Result<bool, WorkspaceError> {
        for step in self.steps.iter().filter(|step| step.old != step.new) {
            if root.state(&step.path)? == step.new {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Does every step that is not done yet, and returns the paths that the user changed in the meantime.
    pub(crate) fn perform(&self, root: &Root, fuse: &Fuse) -> Result<Vec<String>, WorkspaceError> {
        let (removals, puts): (Vec<&Step>, Vec<&Step>) =
            self.steps.iter().partition(|step| step.new == State::Absent);
        let mut left = Vec::new();
        for step in removals.into_iter().chain(puts) {
            fuse.burn()?;
            if !self.take(step, root)? {
                left.push(step.path.clone());
            }
        }
        fuse.burn()?;
        Ok(left)
    }

    /// Does one step; false if the path is neither as it was nor as it shall be.
    fn take(&self, step: &Step, root: &Root) -> Result<bool, WorkspaceError> {
        let mut state = root.state(&step.path)?;
        if state == State::Folder && step.old == State::Absent {
            // Whether it was empty was checked; a file that came since makes this fail and stays.
            if root.remove_folder(&step.path).is_err() {
                return Ok(false);
            }
            state = State::Absent;
        }
        // Where a file gives way to a folder, the folder may be there already.
        let gone = step.new == State::Absent && state == State::Folder;
        if state == step.new || gone {
            return Ok(true);
        }
        if state != step.old {
            return Ok(false);
        }
        match &step.new {
            State::Absent => root.remove(&step.path).map(|()| true),
            State::File { .. } | State::Symlink { .. } => {
                root.place(&self.stage.join(&step.path), &step.path)
            }
            State::Folder | State::Odd => Ok(false),
        }
    }
}

/// Says whether a folder holds nothing but files that are removed. An empty folder in it stays in the way.
fn will_be_empty(folder: &Path, path: &str, removed: &BTreeSet<&str>) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    entries.all(|entry| {
        let Ok(entry) = entry else { return false };
        let Ok(name) = entry.file_name().into_string() else { return false };
        let below = format!("{path}/{name}");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                holds_removed(&below, removed) && will_be_empty(&entry.path(), &below, removed)
            }
            Ok(_) => removed.contains(below.as_str()),
            Err(_) => false,
        }
    })
}

fn holds_removed(folder: &str, removed: &BTreeSet<&str>) -> bool {
    let inside = format!("{folder}/");
    removed.iter().any(|path| path.starts_with(&inside))
}

/// Writes a staged file and makes sure that it is on disk.
pub(crate) fn stage_file(path: &Path, bytes: &[u8], executable: bool) -> Result<(), WorkspaceError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let fail = |source| WorkspaceError::io("write", path, source);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(fail)?;
    }
    // The umask decides who else may read it, as it does for every new file of the user.
    let mode = if executable { 0o777 } else { 0o666 };
    let mut file =
        File::options().write(true).create(true).truncate(true).mode(mode).open(path).map_err(fail)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(fail)
}

/// Makes sure that files that somebody else staged, and the names of all on the way, are on disk.
pub(crate) fn sync_staged<'a>(
    stage: &Path,
    paths: impl Iterator<Item = &'a str>,
) -> Result<(), WorkspaceError> {
    let mut folders: BTreeSet<PathBuf> = BTreeSet::from([stage.to_owned()]);
    for path in paths {
        let file = stage.join(path);
        match fs::symlink_metadata(&file) {
            Ok(metadata) if metadata.is_file() => sync(&file)?,
            Ok(_) => {}
            // It goes; nothing is staged for it.
            Err(_) => continue,
        }
        let above =
            file.ancestors().skip(1).take_while(|folder| folder.starts_with(stage)).map(Path::to_owned);
        folders.extend(above);
    }
    folders.iter().try_for_each(|folder| sync(folder))
}

/// Writes a value as JSON so that a crash leaves the old file or the new one.
pub(crate) fn save<T: Serialize>(path: &Path, value: &T) -> Result<(), WorkspaceError> {
    let bytes = serde_json::to_vec_pretty(value).map_err(|e| WorkspaceError::io("write", path, e.into()))?;
    let fresh = path.with_extension("json.new");
    stage_file(&fresh, &bytes, false)?;
    fs::rename(&fresh, path).map_err(|source| WorkspaceError::io("write", path, source))?;
    sync_parent(path)
}

/// Reads what [`save`] wrote; no file is no value.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, WorkspaceError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(WorkspaceError::io("read", path, error)),
    };
    let problem =
        |e: serde_json::Error| WorkspaceError::Record { file: path.to_owned(), problem: e.to_string() };
    serde_json::from_slice(&bytes).map(Some).map_err(problem)
}

/// Removes what [`save`] wrote, for good.
pub(crate) fn forget(path: &Path) -> Result<(), WorkspaceError> {
    match fs::remove_file(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(WorkspaceError::io("remove", path, error)),
    }
}

fn sync_parent(path: &Path) -> Result<(), WorkspaceError> {
    path.parent().map_or(Ok(()), sync)
}

fn sync(path: &Path) -> Result<(), WorkspaceError> {
    File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(|source| WorkspaceError::io("save", path, source))
}

/// Where a test pulls the plug: after so many burns, each one fails.
#[derive(Debug, Default)]
pub(crate) struct Fuse {
    #[cfg(test)]
    left: std::sync::Mutex<Option<usize>>,
}

impl Fuse {
    /// Passes, except in a test that pulls the plug here.
    pub(crate) fn burn(&self) -> Result<(), WorkspaceError> {
        #[cfg(test)]
        if let Some(left) = self.left.lock().unwrap().as_mut() {
            *left = left.checked_sub(1).ok_or(WorkspaceError::PlugPulled)?;
        }
        Ok(())
    }

    /// Lets so many burns pass.
    #[cfg(test)]
    pub(crate) fn set(&self, burns: usize) {
        *self.left.lock().unwrap() = Some(burns);
    }
}
