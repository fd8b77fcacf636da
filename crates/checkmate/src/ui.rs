//! What people and programs see of a run. Nothing here decides anything.

mod card;
mod gates;
mod gist;
mod lines;
mod live;
mod receipts;
mod screen;
mod summary;
mod wrap;

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use checkmate_machine::effect::Action;
use checkmate_machine::ids::{Role, RunId, TaskId};
use checkmate_machine::notice::Notice;
use checkmate_machine::run::Run;
use checkmate_machine::verdict::Verdict;
use serde::Serialize;

use self::live::Live;
use self::screen::Screen;
use crate::journal::{Record, Shell, now};
use crate::watch::{PartId, Watch};

pub use self::card::{card, diff};
pub use self::lines::{Lines, printable, printable_lines};
pub use self::summary::{Summary, summary};
pub use self::wrap::{columns, width, width_of_stderr, wrapped};

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

/// The settled lines of a run that is told again from its journal: those that the run gave, without what only passed.
#[derive(Debug, Default)]
pub struct Story {
    lines: Lines,
    width: Option<usize>,
    text: String,
}

impl Story {
    /// Begins a story for a terminal of this width, or for a file.
    pub fn new(width: Option<usize>) -> Self {
        Self { width, ..Self::default() }
    }

    /// Adds what one record led to.
    pub fn add(&mut self, record: &Record, notices: &[(TaskId, Notice)]) {
        self.lines.follow(&record.digest, &record.event);
        for (_, notice) in notices {
            self.text.push_str(&self.lines.take(notice, self.width));
        }
        self.text.push_str(&self.lines.settle(self.width));
    }

    /// Ends the story and returns its lines.
    pub fn text(mut self) -> String {
        self.text.push_str(&self.lines.finish(self.width));
        self.text
    }
}

/// How often what is going on is drawn anew, at most.
pub const FRAME: Duration = Duration::from_millis(100);

/// Shows a run: lines for people on standard error, at a terminal with what is going on below them, and events for
/// programs on standard output where asked for.
#[derive(Debug)]
pub struct Watcher {
    run: RunId,
    lines: Lines,
    /// Lines that are not written yet.
    settled: String,
    view: Option<View>,
    events: bool,
    seq: u64,
    /// The verdict whose card was shown to the person who was asked.
    proposed: Option<Verdict>,
    finished: Option<Run>,
}

/// What a terminal shows below the lines.
#[derive(Debug)]
struct View {
    screen: Screen,
    live: Live,
    since: Instant,
    drawn: Option<Instant>,
}

impl Watcher {
    /// Makes a watcher; `project` is what the user calls the repository, and `events` adds one JSON event a line on
    /// standard output.
    pub fn new(run: RunId, project: &str, events: bool) -> Self {
        // Events between the lines of a terminal would tear the block.
        let torn = events && std::io::stdout().is_terminal();
        let view = if torn { None } else { Screen::new() };
        let view =
            view.map(|screen| View { screen, live: Live::new(project), since: Instant::now(), drawn: None });
        let lines = if view.is_some() { Lines::default() } else { Lines::with_passing() };
        Self { run, lines, settled: String::new(), view, events, seq: 0, proposed: None, finished: None }
    }

    /// Returns the final state, once the run is over.
    pub fn finished(&self) -> Option<&Run> {
        self.finished.as_ref()
    }

    /// Shows the verdict card of a run that is over. What was shown already when its landing was asked about is not
    /// shown again.
    pub fn conclude(&self, run: &Run, task: &TaskId, shell: &Shell) {
        let shown = self.proposed.is_some()
            && run.cycle(task).and_then(|cycle| cycle.verdict()) == self.proposed.as_ref();
        let width = width_of_stderr();
        let text = match shown {
            true => card::closing(&self.run, run, task, width),
            false => card(&self.run, run, task, shell, width),
        };
        anstream::eprint!("{text}");
    }

    fn finish_lines(&mut self) {
        self.settled.push_str(&self.lines.finish(self.width()));
        self.draw();
        self.hide();
    }

    fn width(&self) -> Option<usize> {
        match &self.view {
            Some(view) => Some(view.screen.size().0),
            None => width_of_stderr(),
        }
    }

    fn draw(&mut self) {
        let settled = std::mem::take(&mut self.settled);
        let Some(view) = &mut self.view else {
            anstream::eprint!("{settled}");
            return;
        };
        let (width, height) = view.screen.size();
        let block = if view.live.asks() {
            Vec::new()
        } else {
            view.live.frame(self.lines.begins(), (width, height), view.since.elapsed())
        };
        view.screen.draw(&settled, block);
        view.drawn = Some(Instant::now());
    }

    /// Writes what was told, and takes over where the run stands.
    fn settle(&mut self, run: &Run) {
        self.settled.push_str(&self.lines.settle(self.width()));
        if let Some(cycle) = run.tasks().first().and_then(|task| run.cycle(task)) {
            self.lines.go_on(cycle.turn(), cycle.spec().policy.max_iterations);
        }
        if let Some(view) = &mut self.view {
            view.live.know(run);
        }
        self.draw();
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

impl Watch for Watcher {
    fn stand(&mut self, run: &Run) {
        self.settle(run);
    }

    /// While a person is asked, nothing but the question is shown.
    fn begin(&mut self, part: PartId, action: &Action) {
        let Some(view) = &mut self.view else { return };
        view.live.begin(part, action, view.since.elapsed());
        if view.live.asks() {
            view.screen.clear();
        }
    }

    fn end(&mut self, part: &PartId) {
        if let Some(view) = &mut self.view {
            view.live.end(part);
        }
    }

    fn advance(&mut self, record: &Record, action: Option<&Action>, notices: &[(TaskId, Notice)], run: &Run) {
        if action.is_some() {
            self.lines.follow(&record.digest, &record.event);
        }
        for (task, notice) in notices {
            self.settled.push_str(&self.lines.take(notice, self.width()));
            self.event(task, &record.at, notice);
        }
        self.settle(run);
    }

    /// People get the whole reply once it is there.
    fn chunk(&mut self, part: &PartId, role: Role, text: &str) {
        self.event(&part.task, &now(), &StreamChunk { kind: "stream_chunk", role, chunk: text });
        if let Some(view) = &mut self.view {
            view.live.hear(&part.task, role, text);
            if view.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME) {
                self.draw();
            }
        }
    }

    /// Shows the verdict on the change first.
    fn propose(&mut self, run: &Run, task: &TaskId, shell: &Shell) {
        self.hide();
        self.proposed = run.cycle(task).and_then(|cycle| cycle.verdict()).cloned();
        anstream::eprint!("{}", card::proposal(&self.run, run, task, shell, width_of_stderr()));
    }

    fn is_live(&self) -> bool {
        self.view.is_some()
    }

    fn tick(&mut self) {
        self.draw();
    }

    /// Takes away what is redrawn; the next frame brings it back.
    fn hide(&mut self) {
        if let Some(view) = &mut self.view {
            view.screen.clear();
        }
    }

    fn stopping(&mut self) {
        self.finish_lines();
        if std::io::stderr().is_terminal() {
            anstream::eprintln!("  Stopping… press Ctrl-C again to stop now.");
        }
    }

    /// Keeps the final state for the summary.
    fn finish(&mut self, run: Run) {
        self.finish_lines();
        self.finished = Some(run);
    }
}
