//! Reads objects through one git process that lives as long as the workspace: to start one for each object costs more
//! than to read it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::ChildStdout;
use std::sync::{Mutex, PoisonError};

use super::WorkspaceError;
use super::git::{Git, Running};

/// So much of a question fits into a pipe that nobody reads from, in bytes.
const PIPE: usize = 16 << 10;

/// What is known about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    /// Its size in bytes.
    pub(crate) size: u64,
    /// Its content, where it was asked for.
    pub(crate) content: Vec<u8>,
}

/// What is asked of each object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Its size alone.
    Size,
    /// Its content as well.
    Content,
}

/// The process, started when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Reader(Mutex<Option<Running>>);

impl Reader {
    /// Asks about objects by their names, in order; what git does not have (a partial clone) is `None`.
    pub(crate) fn ask(
        &self,
        git: &Git,
        what: Ask,
        ids: &[&str],
    ) -> Result<Vec<Option<Object>>, WorkspaceError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One that somebody ended, or whose repository was away for a while, is started again, once.
        for _ in 0..2 {
            if running.is_none() {
                *running = Some(git.start(&["cat-file", "--batch-command", "--buffer"])?);
            }
            let answered = running.as_mut().and_then(|running| ask(running, what, ids).ok());
            if let Some(answered) = answered {
                return Ok(answered);
            }
            *running = None;
        }
        Err(WorkspaceError::Git {
            command: "cat-file".to_owned(),
            said: "it ended without an answer; is the repository still there?".to_owned(),
        })
    }
}

fn ask(running: &mut Running, what: Ask, ids: &[&str]) -> std::io::Result<Vec<Option<Object>>> {
    let command = match what {
        Ask::Size => "info",
        Ask::Content => "contents",
    };
    let mut question = String::with_capacity(ids.len() * 52);
    for id in ids {
        question.push_str(command);
        question.push(' ');
        question.push_str(id);
        question.push('\n');
    }
    question.push_str("flush\n");
    let Running { input, output, .. } = running;
    let mut send = || input.write_all(question.as_bytes()).and_then(|()| input.flush());
    if question.len() <= PIPE {
        send()?;
        return ids.iter().map(|_| answer(output, what)).collect();
    }
    std::thread::scope(|scope| {
        // A thread asks, because git may answer before it has read everything.
        let sent = scope.spawn(send);
        let answers: std::io::Result<Vec<_>> = ids.iter().map(|_| answer(output, what)).collect();
        sent.join().map_err(|_| std::io::Error::other("the question was not sent"))??;
        answers
    })
}

/// Reads `ID TYPE SIZE`, and the content behind it, or `ID missing`.
fn answer(output: &mut BufReader<ChildStdout>, what: Ask) -> std::io::Result<Option<Object>> {
    let mut header = String::new();
    if output.read_line(&mut header)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let Some(size) = header.trim_end().rsplit(' ').next().and_then(|word| word.parse::<u64>().ok()) else {
        return Ok(None);
    };
    let mut content = Vec::new();
    if what == Ask::Content {
        output.take(size + 1).read_to_end(&mut content)?;
        if content.pop().is_none() || content.len() as u64 != size {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(Object { size, content }))
}
