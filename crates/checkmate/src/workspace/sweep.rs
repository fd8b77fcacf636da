//! Clears away what commands leave behind, and never follows a symlink.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Workspace, WorkspaceError};

/// How long a git that outlived its Checkmate may take to give a lock back.
const PATIENCE: Duration = Duration::from_secs(1);

impl Workspace {
    /// Removes locks of the run's own refs that a killed git left behind. Only who drives the run writes these refs, so
    /// they can be nobody else's; locks of other refs and of the index are the user's to judge.
    pub(super) fn remove_stale_locks(&self) -> Result<(), WorkspaceError> {
        let refs = self.repository.common_dir().join("refs/checkmate").join(&self.run);
        let Ok(entries) = fs::read_dir(&refs) else { return Ok(()) };
        let locks = entries.flatten().map(|entry| entry.path());
        let since = Instant::now();
        for lock in locks.filter(|path| path.extension().is_some_and(|extension| extension == "lock")) {
            while lock.exists() && since.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(20));
            }
            remove(&lock)?;
        }
        Ok(())
    }
}

/// Removes a file, a symlink (not what it leads to) or a folder with everything in it, also a read-only one; nothing
/// there is fine.
pub(crate) fn remove(path: &Path) -> Result<(), WorkspaceError> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    let removed = if metadata.is_dir() {
        unlock_all(path);
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    removed.map_err(|source| WorkspaceError::io("remove", path, source))
}

/// Goes through the run's files before git restores them and removes what git would leave or stumble over:
/// sockets, pipes, `__pycache__`, `.git` below the root, and every ignore file that the tree does not have, or a test
/// could hide what it leaves from `git clean`. Folders become writable again.
///
/// `tracked` are the files of the tree that comes next, `folders` its folders.
pub(crate) fn sweep(
    root: &Path,
    tracked: &dyn Fn(&[u8]) -> bool,
    folders: &BTreeSet<&[u8]>,
) -> Result<(), WorkspaceError> {
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        unlock(&folder)?;
        let entries = fs::read_dir(&folder).map_err(|e| WorkspaceError::io("list", &folder, e))?;
        for entry in entries {
            let entry = entry.map_err(|e| WorkspaceError::io("list", &folder, e))?;
            let path = entry.path();
            let metadata =
                fs::symlink_metadata(&path).map_err(|e| WorkspaceError::io("look at", &path, e))?;
            let below = path.strip_prefix(root).unwrap_or(&path).as_os_str().as_bytes();
            match judge(below, &metadata, tracked, folders) {
                Judgement::Remove => remove(&path)?,
                Judgement::Enter => waiting.push(path),
                Judgement::Keep => {}
            }
        }
    }
    Ok(())
}

enum Judgement {
    Remove,
    Enter,
    Keep,
}

fn judge(
    below: &[u8],
    metadata: &Metadata,
    tracked: &dyn Fn(&[u8]) -> bool,
    folders: &BTreeSet<&[u8]>,
) -> Judgement {
    let name = below.rsplit(|byte| *byte == b'/').next().unwrap_or(below);
    let kind = metadata.file_type();
    // The root's own `.git` is the view's business.
    if below == b".git" {
        return Judgement::Keep;
    }
    if name.eq_ignore_ascii_case(b".git")
        || (matches!(name, b".gitignore" | b".gitattributes") && !tracked(below))
    {
        return Judgement::Remove;
    }
    if kind.is_dir() {
        let is_cache = name == b"__pycache__" && !folders.contains(below);
        return if is_cache { Judgement::Remove } else { Judgement::Enter };
    }
    if kind.is_symlink() {
        // A folder of the tree that became a symlink: nothing may be written through it.
        return if folders.contains(below) { Judgement::Remove } else { Judgement::Keep };
    }
    if kind.is_file() { Judgement::Keep } else { Judgement::Remove }
}

/// Makes a folder readable and writable for its owner.
fn unlock(folder: &Path) -> Result<(), WorkspaceError> {
    let metadata = fs::symlink_metadata(folder).map_err(|e| WorkspaceError::io("look at", folder, e))?;
    let mode = metadata.permissions().mode();
    if metadata.is_dir() && mode & 0o700 != 0o700 {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o700))
            .map_err(|e| WorkspaceError::io("make writable", folder, e))?;
    }
    Ok(())
}

/// Makes every folder below one writable as far as that is possible; the removal that follows says what was not.
fn unlock_all(folder: &Path) {
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        unlock(&folder).ok();
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        waiting.extend(entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()));
    }
}
