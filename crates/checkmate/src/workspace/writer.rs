//! Writes trees through one git process: no index is written, and no file is touched.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};

use super::WorkspaceError;
use super::git::Git;

/// A git process that writes one tree after the other.
#[derive(Debug)]
pub(crate) struct TreeWriter {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl TreeWriter {
    pub(crate) fn start(git: &Git) -> Result<Self, WorkspaceError> {
        // What the entries name was read from the same objects, or has just been stored.
        let mut child = git.start(&["mktree", "-z", "--missing", "--batch"])?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Self { child, input, output: BufReader::new(output) }),
            (_, _) => Err(unwritten()),
        }
    }

    /// Writes a tree of lines as `mktree -z` reads them, and returns its name.
    pub(crate) fn write(&mut self, lines: &[u8]) -> Result<String, WorkspaceError> {
        let mut id = String::new();
        // Git reads all of a tree before it answers.
        let sent = self.input.write_all(lines).and_then(|()| self.input.write_all(b"\0"));
        let answered = sent.and_then(|()| self.input.flush()).and_then(|()| self.output.read_line(&mut id));
        match answered {
            Ok(length) if length > 40 => Ok(id.trim_end().to_owned()),
            Ok(_) | Err(_) => Err(unwritten()),
        }
    }
}

impl Drop for TreeWriter {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
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
