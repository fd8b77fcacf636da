//! Looks at and changes files below a root without ever following a symlink: every folder on the way is opened by
//! itself, so nothing can be exchanged between the look and the change.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::WorkspaceError;

/// What is at a path, exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum State {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// SHA-256 of its bytes, in hexadecimal digits.
        sha256: String,
        /// Whether its owner may execute it.
        executable: bool,
    },
    /// A symlink.
    Symlink {
        /// SHA-256 of the path that it holds.
        sha256: String,
    },
    /// A folder.
    Folder,
    /// A socket, a device, or a path that leads through a symlink.
    Odd,
}

impl State {
    /// Describes a file before it exists.
    pub(crate) fn file(bytes: &[u8], executable: bool) -> Self {
        State::File { sha256: digest(bytes), executable }
    }
}

/// The folder above a path.
pub(crate) enum Above {
    /// It is open.
    Open(OwnedFd),
    /// It, or a folder above it, does not exist.
    Missing,
    /// This part of the path is a file or a symlink.
    Blocked {
        /// The part, from the root.
        by: String,
        /// Whether it is a symlink.
        symlink: bool,
    },
}

/// A folder whose files are looked at and changed.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    folder: OwnedFd,
}

impl Root {
    /// Opens the folder.
    pub(crate) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let folder = rustix::fs::open(path, folder_flags(), Mode::empty())
            .map_err(|errno| WorkspaceError::io("open the folder", path, errno.into()))?;
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Keeps everybody else who asks out until the file is dropped.
    pub(crate) fn lock(&self) -> Result<OwnedFd, WorkspaceError> {
        let fail = |errno: Errno| WorkspaceError::io("lock", &self.path, errno.into());
        let handle = rustix::fs::openat(&self.folder, c".", folder_flags(), Mode::empty()).map_err(fail)?;
        rustix::fs::flock(&handle, rustix::fs::FlockOperation::LockExclusive).map_err(fail)?;
        Ok(handle)
    }

    /// Returns where the folder is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Says what is at a path. Below a file there is nothing; below a symlink is nothing that we touch.
    pub(crate) fn state(&self, path: &str) -> Result<State, WorkspaceError> {
        self.read(path).map(|(state, _)| state)
    }

    /// Says what is at a path, with the bytes of a file.
    pub(crate) fn read(&self, path: &str) -> Result<(State, Vec<u8>), WorkspaceError> {
        let parent = match self.above(path, false)? {
            Above::Open(parent) => parent,
            Above::Missing | Above::Blocked { symlink: false, .. } => return Ok((State::Absent, Vec::new())),
            Above::Blocked { symlink: true, .. } => return Ok((State::Odd, Vec::new())),
        };
        self.look(&parent, path).map_err(|source| WorkspaceError::io("read", &self.path.join(path), source))
    }

    fn look(&self, parent: &OwnedFd, path: &str) -> io::Result<(State, Vec<u8>)> {
        let name = last(path);
        let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok((State::Absent, Vec::new())),
            Err(errno) => return Err(errno.into()),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let mut file = File::from(rustix::fs::openat(parent, name, flags, Mode::empty())?);
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Ok((State::file(&bytes, stat.st_mode & 0o100 != 0), bytes))
            }
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(parent, name, Vec::new())?;
                Ok((State::Symlink { sha256: digest(target.as_bytes()) }, Vec::new()))
            }
            FileType::Directory => Ok((State::Folder, Vec::new())),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Ok((State::Odd, Vec::new())),
        }
    }

    /// Opens the folder above a path, and makes it and those above it if `make` says so.
    pub(crate) fn above(&self, path: &str, make: bool) -> Result<Above, WorkspaceError> {
        let fail =
            |at: &str, errno: Errno| WorkspaceError::io("open the folder", &self.path.join(at), errno.into());
        let mut folder =
            rustix::fs::openat(&self.folder, c".", folder_flags(), Mode::empty()).map_err(|e| fail("", e))?;
        for (end, _) in path.match_indices('/') {
            let part = &path[..end];
            if make {
                match rustix::fs::mkdirat(&folder, last(part), Mode::from_raw_mode(0o777)) {
                    Ok(()) => sync(&folder, &self.path)?,
                    Err(Errno::EXIST) => {}
                    Err(errno) => return Err(fail(part, errno)),
                }
            }
            folder = match rustix::fs::openat(&folder, last(part), folder_flags(), Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(Above::Missing),
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    let stat = rustix::fs::statat(&folder, last(part), AtFlags::SYMLINK_NOFOLLOW);
                    let stat = stat.map_err(|errno| fail(part, errno))?;
                    let symlink = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
                    return Ok(Above::Blocked { by: part.to_owned(), symlink });
                }
                Err(errno) => return Err(fail(part, errno)),
            };
        }
        Ok(Above::Open(folder))
    }

    /// Fails where nothing may be made or replaced at a path, as far as the folder above it tells.
    pub(crate) fn refuse_unwritable(&self, path: &str) -> Result<(), WorkspaceError> {
        use rustix::fs::Access;
        let fail = |errno: Errno| WorkspaceError::io("write", &self.path.join(path), errno.into());
        let mut folder =
            rustix::fs::openat(&self.folder, c".", folder_flags(), Mode::empty()).map_err(fail)?;
        for (end, _) in path.match_indices('/') {
            match rustix::fs::openat(&folder, last(&path[..end]), folder_flags(), Mode::empty()) {
                Ok(next) => folder = next,
                // It is made, or gives way: what lies above it decides.
                Err(_) => break,
            }
        }
        rustix::fs::accessat(&folder, c".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty())
            .map_err(fail)
    }

    /// Removes a file or symlink and the folders that this leaves empty.
    pub(crate) fn remove(&self, path: &str) -> Result<(), WorkspaceError> {
        let fail = |errno: Errno| WorkspaceError::io("remove", &self.path.join(path), errno.into());
        let Above::Open(parent) = self.above(path, false)? else { return Ok(()) };
        match rustix::fs::unlinkat(&parent, last(path), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => sync(&parent, &self.path)?,
            Err(errno) => return Err(fail(errno)),
        }
        for (end, _) in path.match_indices('/').collect::<Vec<_>>().into_iter().rev() {
            let Above::Open(parent) = self.above(&path[..end], false)? else { break };
            match rustix::fs::unlinkat(&parent, last(&path[..end]), AtFlags::REMOVEDIR) {
                Ok(()) => sync(&parent, &self.path)?,
                // It holds something else.
                Err(Errno::NOTEMPTY | Errno::EXIST) => break,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(fail(errno)),
            }
        }
        Ok(())
    }

    /// Moves a file or symlink from outside the root to a path; false if a file or symlink is where a folder must be.
    pub(crate) fn place(&self, staged: &Path, path: &str) -> Result<bool, WorkspaceError> {
        let fail = |errno: Errno| WorkspaceError::io("write", &self.path.join(path), errno.into());
        if matches!(self.above(path, false)?, Above::Blocked { .. }) {
            return Ok(false);
        }
        let Above::Open(parent) = self.above(path, true)? else { return Ok(false) };
        match rustix::fs::renameat(rustix::fs::CWD, staged, &parent, last(path)) {
            Ok(()) => {}
            Err(Errno::XDEV) => self.copy_in(staged, &parent, path)?,
            Err(errno) => return Err(fail(errno)),
        }
        sync(&parent, &self.path)?;
        Ok(true)
    }

    /// Does what a rename does where a part of the root is another file system.
    fn copy_in(&self, staged: &Path, parent: &OwnedFd, path: &str) -> Result<(), WorkspaceError> {
        const NAME: &str = ".checkmate-landing";
        let fail = |errno: Errno| WorkspaceError::io("write", &self.path.join(path), errno.into());
        let read = |source| WorkspaceError::io("read", staged, source);
        match rustix::fs::unlinkat(parent, NAME, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(fail(errno)),
        }
        let metadata = std::fs::symlink_metadata(staged).map_err(read)?;
        if metadata.is_symlink() {
            let target = std::fs::read_link(staged).map_err(read)?;
            rustix::fs::symlinkat(&target, parent, NAME).map_err(fail)?;
        } else {
            use std::os::unix::fs::MetadataExt as _;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(parent, NAME, flags, Mode::from_raw_mode(metadata.mode() & 0o777));
            let mut file = File::from(file.map_err(fail)?);
            let copied = File::open(staged).and_then(|mut from| io::copy(&mut from, &mut file));
            copied.and_then(|_| file.sync_all()).map_err(read)?;
        }
        rustix::fs::renameat(parent, NAME, parent, last(path)).map_err(fail)
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, path: &str) -> Result<(), WorkspaceError> {
        let Above::Open(parent) = self.above(path, false)? else { return Ok(()) };
        rustix::fs::unlinkat(&parent, last(path), AtFlags::REMOVEDIR)
            .map_err(|errno| WorkspaceError::io("remove", &self.path.join(path), errno.into()))
    }
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn sync(folder: &OwnedFd, path: &Path) -> Result<(), WorkspaceError> {
    rustix::fs::fsync(folder).map_err(|errno| WorkspaceError::io("save the folder", path, errno.into()))
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_from_another_file_system_is_copied_in() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, staged) = (folder.path().join("root"), folder.path().join("staged"));
        std::fs::create_dir_all(inside.join("d")).unwrap();
        std::fs::write(inside.join("d/.checkmate-landing"), "left by a crash").unwrap();
        std::fs::write(inside.join("d/a"), "old").unwrap();
        std::fs::write(&staged, "new").unwrap();
        let root = Root::open(&inside).unwrap();
        let Above::Open(parent) = root.above("d/a", false).unwrap() else { panic!("`d` is a folder") };
        root.copy_in(&staged, &parent, "d/a").unwrap();
        assert_eq!(root.state("d/a").unwrap(), State::file(b"new", false));
        assert_eq!(root.state("d/.checkmate-landing").unwrap(), State::Absent);
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        root.copy_in(&folder.path().join("link"), &parent, "d/link").unwrap();
        assert_eq!(std::fs::read_link(inside.join("d/link")).unwrap(), Path::new("a"));
    }

    #[test]
    fn no_symlink_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("root"), folder.path().join("outside"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("x"), "precious").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("out")).unwrap();
        let root = Root::open(&inside).unwrap();
        assert_eq!(root.state("out/x").unwrap(), State::Odd);
        root.remove("out/x").unwrap();
        let staged = folder.path().join("staged");
        std::fs::write(&staged, "new").unwrap();
        assert!(!root.place(&staged, "out/x").unwrap());
        assert_eq!(std::fs::read_to_string(outside.join("x")).unwrap(), "precious");
    }
}
