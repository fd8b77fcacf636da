//! What people and programs see of a run. Nothing here decides anything.

mod card;
mod gates;
mod lines;
mod summary;
mod wrap;

use std::io::Write as _;

use checkmate_machine::ids::{Role, RunId, TaskId};
use checkmate_machine::notice::Notice;
use checkmate_machine::run::Run;
use serde::Serialize;

use crate::journal::now;

pub use self::card::card;
pub use self::lines::{Lines, about, printable, printable_lines};
pub use self::summary::{Summary, summary};
pub use self::wrap::{width, width_of_stderr, wrapped};

/// A notice with where and when.
#[derive(Debug, Clone)]
pub struct Told {
    /// When, RFC 3339.
    pub at: String,
    /// Whose cycle.
    pub task: TaskId,
    /// What.
    pub notice: Notice,
}

/// An event as programs read it: the wire's own fields, and where it belongs.
#[derive(Debug, Serialize)]
struct Frame<'a, E: Serialize> {
    #[serde(flatten)]
    event: E,
    run: &'a RunId,
    task: &'a TaskId,
    seq: u64,
    at: &'a str,
}

/// Text of an agent as it arrives.
#[derive(Debug, Serialize)]
struct StreamChunk<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    role: Role,
    chunk: &'a str,
}

/// Shows a run: lines for people on standard error, and events for programs on standard output where asked for.
#[derive(Debug)]
pub struct Watcher {
    run: RunId,
    lines: Lines,
    events: bool,
    seq: u64,
    finished: Option<Run>,
}

impl Watcher {
    /// Makes a watcher; `events` adds one JSON event a line on standard output.
    pub fn new(run: RunId, events: bool) -> Self {
        Self { run, lines: Lines::default(), events, seq: 0, finished: None }
    }

    /// Shows a notice.
    pub fn tell(&mut self, told: &Told) {
        self.lines.show(&told.notice);
        self.event(&told.task, &told.at, &told.notice);
    }

    /// Shows a piece of an agent's reply. People get the whole reply once it is there.
    pub fn chunk(&mut self, task: &TaskId, role: Role, text: &str) {
        self.event(task, &now(), &StreamChunk { kind: "stream_chunk", role, chunk: text });
    }

    /// Shows an approved change and its verdict to the person who is asked whether it may land.
    pub fn propose(&self, run: &Run, task: &TaskId) {
        anstream::eprint!("{}", card::proposal(run, task, width_of_stderr()));
    }

    /// Keeps the final state for the summary.
    pub fn finish(&mut self, run: Run) {
        self.finished = Some(run);
    }

    /// Returns the final state, once the run is over.
    pub fn finished(&self) -> Option<&Run> {
        self.finished.as_ref()
    }

    fn event(&mut self, task: &TaskId, at: &str, event: &impl Serialize) {
        if !self.events {
            return;
        }
        self.seq += 1;
        let frame = Frame { event, run: &self.run, task, seq: self.seq, at };
        if let Ok(line) = serde_json::to_string(&frame) {
            let mut stdout = std::io::stdout().lock();
            // A reader that has gone away is no reason to stop the run.
            writeln!(stdout, "{line}").and_then(|()| stdout.flush()).ok();
        }
    }
}
