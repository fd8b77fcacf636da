//! The git directory that agents and commands see in the run's files.
//!
//! It shares nothing writable with the user's repository: it borrows objects through `alternates` and has its own HEAD,
//! refs, index and configuration. It is made anew on every restore, so whatever a command did with it is gone, and no
//! call of ours reads it.

use std::fs;
use std::path::Path;

use super::site::Site;
use super::snapshot::copy_index;
use super::{WorkspaceError, sweep};

/// The configuration that decides what `git status` takes for a change; nothing else of the user's is copied.
const COPIED: &[&str] = &["autocrlf", "eol", "filemode", "symlinks", "ignorecase"];

impl Site<'_> {
    /// Makes the private git directory and points the run's files to it.
    pub(crate) fn make_view(&self) -> Result<(), WorkspaceError> {
        let view = self.view();
        sweep::remove(&view)?;
        for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            let folder = view.join(folder);
            fs::create_dir_all(&folder).map_err(|e| WorkspaceError::io("make the folder", &folder, e))?;
        }
        let repository = &self.workspace.repository;
        let git = repository.git();
        let objects = repository.common_dir().join("objects");
        let mut alternates = quoted(&objects);
        alternates.push(b'\n');
        write(&view.join("objects/info/alternates"), &alternates)?;
        let listing = git.read(&[
            "for-each-ref",
            "--format=%(HEAD)%(objectname) %(refname)",
            "refs/heads",
            "refs/tags",
        ])?;
        let (refs, current) = Self::refs(&listing);
        write(&view.join("packed-refs"), &refs)?;
        // Git marks the branch that HEAD is on. Where it marks none, HEAD is detached.
        let (points_to, width) = match current {
            Some((branch, width)) => ([b"ref: ", branch, b"\n"].concat(), width),
            None => {
                let head = repository.head()?;
                (format!("{head}\n").into_bytes(), head.as_str().len())
            }
        };
        write(&view.join("HEAD"), &points_to)?;
        let format = if width == 40 { "sha1" } else { "sha256" };
        write(&view.join("config"), self.view_config(format).as_bytes())?;
        copy_index(&self.index(), &view.join("index"))?;
        self.point_to(&view)
    }

    /// Takes the mark of the current branch off a list of refs; returns the lines and that branch, with the length of a
    /// commit's name.
    fn refs(listing: &[u8]) -> (Vec<u8>, Option<(&[u8], usize)>) {
        let (mut refs, mut current) = (Vec::with_capacity(listing.len()), None);
        for line in listing.split_inclusive(|byte| *byte == b'\n') {
            let Some((mark, line)) = line.split_first() else { continue };
            refs.extend_from_slice(line);
            let space = line.iter().position(|byte| *byte == b' ');
            if let (b'*', Some(space)) = (mark, space) {
                current = Some((line[space + 1..].trim_ascii_end(), space));
            }
        }
        (refs, current)
    }

    fn view_config(&self, format: &str) -> String {
        let git = self.workspace.repository.git();
        let mut config = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tlogallrefupdates = true\n[extensions]\n\tobjectformat = {format}\n[gc]\n\tauto = 0\n"
        );
        for name in COPIED {
            let value = git.core_setting(name).map(str::trim).unwrap_or_default();
            if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                config.push_str(&format!("[core]\n\t{name} = {value}\n"));
            }
        }
        config
    }

    fn point_to(&self, view: &Path) -> Result<(), WorkspaceError> {
        use std::os::unix::ffi::OsStrExt as _;
        let pointer = self.tree_dir().join(".git");
        sweep::remove(&pointer)?;
        write(&pointer, &[b"gitdir: ", view.as_os_str().as_bytes(), b"\n"].concat())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    fs::write(path, bytes).map_err(|source| WorkspaceError::io("write", path, source))
}

/// Writes a path for the alternates file, where a line that starts with `"` is C-quoted.
fn quoted(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = path.as_os_str().as_bytes();
    if !bytes.contains(&b'\n') && !bytes.starts_with(b"\"") && !bytes.starts_with(b"#") {
        return bytes.to_vec();
    }
    let escaped = bytes.iter().flat_map(|byte| match byte {
        b'\n' => b"\\n".to_vec(),
        b'"' | b'\\' => vec![b'\\', *byte],
        other => vec![*other],
    });
    std::iter::once(b'"').chain(escaped).chain(std::iter::once(b'"')).collect()
}
