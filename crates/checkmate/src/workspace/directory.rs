//! Applies a patch to a plain folder; git is not needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use checkmate_machine::patch::{self, Obstacle, Original, Picture, Placement, Write};

use super::candidate::above;
use super::files::{Fuse, Intent, Step, load, save, stage_file, sync_staged};
use super::rooted::{Above, Root, State};
use super::{WorkspaceError, sweep};

/// Where new contents wait; it is there only while a patch is being written.
const STAGE: &str = ".checkmate-apply";

/// What came of a patch to a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryApply {
    /// All of it is placed.
    Applied {
        /// The files that changed, in path order.
        files: Vec<String>,
        /// Where each hunk went.
        placements: Vec<Placement>,
    },
    /// Nothing is placed and nothing was touched: one sentence per reason.
    Rejected(Vec<String>),
}

/// What is wanted of a patch to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectoryWish {
    /// Only place it and write nothing.
    pub check_only: bool,
    /// Draw where each hunk goes, or comes nearest.
    pub pictures: bool,
}

/// Applies a patch to the files below `root`, all of it or nothing, and returns the pictures that are wished for.
///
/// An earlier call that was interrupted is finished first. What is to be done is noted in the folder `notes`, which
/// must not be below `root`: what a repository brings along is nobody's wish.
pub fn apply_to_directory(
    root: &Path,
    patch: &str,
    wish: DirectoryWish,
    notes: &Path,
) -> Result<(DirectoryApply, Vec<Picture>), WorkspaceError> {
    let mut pictures = Vec::new();
    let applied = apply(root, patch, wish, notes, &mut pictures, &Fuse::default())?;
    Ok((applied, pictures))
}

fn apply(
    root: &Path,
    patch: &str,
    wish: DirectoryWish,
    notes: &Path,
    pictures: &mut Vec<Picture>,
    fuse: &Fuse,
) -> Result<DirectoryApply, WorkspaceError> {
    let root = root.canonicalize().map_err(|source| WorkspaceError::io("find the folder", root, source))?;
    let root = Root::open(&root)?;
    let _lock = root.lock()?;
    let note = note(notes, &root);
    let stage = root.path().join(STAGE);
    let noted = match load::<Intent>(&note) {
        // Only the first note can be torn, and then nothing was done yet.
        Err(WorkspaceError::Record { .. }) => Some(Intent { stage: stage.clone(), steps: Vec::new() }),
        noted => noted?,
    };
    match noted {
        Some(_) if wish.check_only => return Err(WorkspaceError::Unfinished),
        Some(intent) => finish(&root, &intent, &stage, &note, fuse)?,
        None if root.state(STAGE)? != State::Absent && !wish.check_only => {
            let reason = format!("`{STAGE}` is in the way: new contents wait there. Remove or rename it.");
            return Ok(DirectoryApply::Rejected(vec![reason]));
        }
        None => {}
    }
    let patch = match patch::parse(patch) {
        Ok(patch) => patch,
        Err(rejections) => return Ok(rejected(&rejections)),
    };
    let touched = patch.paths();
    let mut originals = BTreeMap::new();
    let mut states = BTreeMap::new();
    for &path in &touched {
        let (state, original) = original(&root, path, &touched)?;
        originals.insert(path.to_owned(), original);
        states.insert(path, state);
    }
    if wish.pictures {
        *pictures = patch::pictures(&patch, &originals);
    }
    let plan = match patch::plan(&patch, &originals) {
        Ok(plan) => plan,
        Err(rejections) => return Ok(rejected(&rejections)),
    };
    let steps: Vec<Step> = plan.writes.iter().map(|write| step(write, &states)).collect();
    let intent = Intent { stage: stage.clone(), steps };
    let obstacles = obstacles(&root, &intent)?;
    if !obstacles.is_empty() {
        return Ok(DirectoryApply::Rejected(obstacles));
    }
    if !wish.check_only {
        // From here on the stage is known to be ours, and from the second note on the steps will be done.
        crate::state::make(notes).map_err(|source| WorkspaceError::io("make the folder", notes, source))?;
        jot(&note, &Intent { stage: stage.clone(), steps: Vec::new() })?;
        fuse.burn()?;
        stage_all(&intent, &plan.writes)?;
        fuse.burn()?;
        save(&note, &intent)?;
        fuse.burn()?;
        finish(&root, &intent, &stage, &note, fuse)?;
    }
    let mut files: Vec<String> = intent.steps.into_iter().map(|step| step.path).collect();
    files.sort();
    Ok(DirectoryApply::Applied { files, placements: plan.placements })
}

fn original(root: &Root, path: &str, touched: &BTreeSet<&str>) -> Result<(State, Original), WorkspaceError> {
    if path.split('/').any(|part| part.eq_ignore_ascii_case(STAGE)) {
        return Ok((State::Odd, Original::Other(Obstacle::Special)));
    }
    if let Above::Blocked { by, .. } = root.above(path, false)? {
        // What is in the way may go in the same patch; the transaction checks that it does.
        let original =
            if touched.contains(by.as_str()) { Original::Absent } else { Original::Other(Obstacle::Prefix) };
        return Ok((State::Absent, original));
    }
    let (state, bytes) = root.read(path)?;
    Ok(match state {
        State::File { executable, .. } => (state, Original::File { bytes, executable }),
        State::Absent => (state, Original::Absent),
        State::Symlink { .. } => (state, Original::Other(Obstacle::Symlink)),
        State::Folder => {
            let inside = format!("{path}/");
            let emptied = touched.iter().any(|other| other.starts_with(&inside));
            let original = if emptied { Original::Absent } else { Original::Other(Obstacle::Directory) };
            (State::Absent, original)
        }
        State::Odd => (state, Original::Other(Obstacle::Special)),
    })
}

fn step(write: &Write, states: &BTreeMap<&str, State>) -> Step {
    let (path, new) = match write {
        Write::Put { path, bytes, executable } => (path, State::file(bytes, *executable)),
        Write::Delete { path } => (path, State::Absent),
    };
    Step { path: path.clone(), old: states.get(path.as_str()).cloned().unwrap_or(State::Absent), new }
}

fn obstacles(root: &Root, intent: &Intent) -> Result<Vec<String>, WorkspaceError> {
    let blocked = intent.obstacles(root)?;
    let mut sentences: Vec<String> = blocked
        .into_iter()
        .map(|path| format!("`{path}` cannot be written: something else is in its place or above it."))
        .collect();
    let gone = |path: &str| intent.steps.iter().any(|step| step.path == path && step.new == State::Absent);
    let added: Vec<&str> = intent
        .steps
        .iter()
        .filter(|step| step.old == State::Absent && step.new != State::Absent)
        .map(|step| step.path.as_str())
        .collect();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for path in added {
        let within = seen.insert(path.to_lowercase(), path).map(str::to_owned);
        if let Some(twin) = within.or(twin(root, path)).filter(|twin| !gone(twin)) {
            sentences.push(format!(
                "`{path}` differs from `{twin}` only in upper and lower case, which is one file on many systems. Choose one name."
            ));
        }
    }
    Ok(sentences)
}

/// Finds a file or folder whose path differs from the given one only in case.
fn twin(root: &Root, path: &str) -> Option<String> {
    above(path).chain(std::iter::once(path)).find_map(|part| {
        let (folder, name) = part.rsplit_once('/').map_or(("", part), |(folder, name)| (folder, name));
        let entries = std::fs::read_dir(root.path().join(folder)).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let names: Vec<String> = names.collect();
        if names.iter().any(|found| found == name) {
            return None;
        }
        let found = names.into_iter().find(|found| found.to_lowercase() == name.to_lowercase())?;
        Some(if folder.is_empty() { found } else { format!("{folder}/{found}") })
    })
}

fn stage_all(intent: &Intent, writes: &[Write]) -> Result<(), WorkspaceError> {
    std::fs::create_dir_all(&intent.stage)
        .map_err(|source| WorkspaceError::io("make the folder", &intent.stage, source))?;
    for write in writes {
        match write {
            Write::Put { path, bytes, executable } => {
                stage_file(&intent.stage.join(path), bytes, *executable)?
            }
            Write::Delete { .. } => {}
        }
    }
    sync_staged(&intent.stage, intent.steps.iter().map(|step| step.path.as_str()))
}

/// Finds the note about a folder by the folder's place.
fn note(notes: &Path, root: &Root) -> PathBuf {
    let key = Sha256::digest(root.path().as_os_str().as_encoded_bytes());
    notes.join(format!("{key:x}.json"))
}

fn finish(
    root: &Root,
    intent: &Intent,
    stage: &Path,
    note: &Path,
    fuse: &Fuse,
) -> Result<(), WorkspaceError> {
    intent.perform(root, fuse)?;
    fuse.burn()?;
    sweep::remove(stage)?;
    fuse.burn()?;
    // Not waited for: steps that are done are done again without effect.
    std::fs::remove_file(note).map_err(|source| WorkspaceError::io("remove", note, source))
}

/// Notes that the stage is ours without waiting for the disk: nothing of the files is touched yet.
fn jot(note: &Path, intent: &Intent) -> Result<(), WorkspaceError> {
    let fail = |source| WorkspaceError::io("write", note, source);
    std::fs::write(note, serde_json::to_vec(intent).map_err(|error| fail(error.into()))?).map_err(fail)
}

fn rejected(rejections: &[patch::Rejection]) -> DirectoryApply {
    DirectoryApply::Rejected(rejections.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests;
