//! Writes trees through one git process: no index is written, and no file is touched.

use std::io::{BufRead as _, Write as _};

use super::WorkspaceError;
use super::git::{Git, Running};

/// A git process that writes one tree after the other.
#[derive(Debug)]
pub(crate) struct TreeWriter(Running);

impl TreeWriter {
    pub(crate) fn start(git: &Git) -> Result<Self, WorkspaceError> {
        // What the entries name was read from the same objects, or has just been stored.
        git.start(&["mktree", "-z", "--missing", "--batch"]).map(Self)
    }

    /// Writes a tree of lines as `mktree -z` reads them, and returns its name.
    pub(crate) fn write(&mut self, lines: &[u8]) -> Result<String, WorkspaceError> {
        let Running { input, output, .. } = &mut self.0;
        let mut id = String::new();
        // Git reads all of a tree before it answers.
        let sent = input.write_all(lines).and_then(|()| input.write_all(b"\0"));
        let answered = sent.and_then(|()| input.flush()).and_then(|()| output.read_line(&mut id));
        match answered {
            Ok(length) if length > 40 => Ok(id.trim_end().to_owned()),
            Ok(_) | Err(_) => Err(unwritten()),
        }
    }
}

fn unwritten() -> WorkspaceError {
    WorkspaceError::Git {
        command: "mktree".to_owned(),
        said:
            "a tree could not be written; check the permissions of the repository and the space on the disk."
                .to_owned(),
    }
}
