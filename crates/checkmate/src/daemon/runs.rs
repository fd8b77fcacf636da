//! The runs that the daemon drives: each on a thread of its own, so many at once, the others in a fair queue.
//!
//! A run is written down before it waits, and a note in its folder says that the daemon drives it. A daemon that was
//! killed goes on with exactly these when it is started again.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use checkmate_machine::event::{Command, Event};
use checkmate_machine::ids::{RunId, TaskId};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc, oneshot};

use super::Daemon;
use super::feed::{Feed, Ring, Teller};
use super::follower;
use crate::driver::{self, Attendance, Drove};
use crate::error::CommandError;
use crate::human::{Desk, Human};
use crate::interrupt::{Heard, Interrupts};
use crate::journal;
use crate::process;
use crate::redact::Redactor;
use crate::session::{Files, Project, Session, TASK};
use crate::state;
use crate::wire::{RunState, Standing};

/// A note in a run's folder: the daemon drives it, and goes on with it when it is started again.
pub(super) const NOTE: &str = "daemon";
/// How long a run that is over may take to be put away.
const PUT_AWAY: Duration = Duration::from_secs(10);
/// How many finished runs are kept ready for clients.
const KEPT: usize = 16;

/// A run that the daemon drives or is about to.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) id: RunId,
    pub(super) project: Project,
    pub(super) feed: Arc<Feed>,
    pub(super) desk: Arc<Desk>,
    said: mpsc::UnboundedSender<Heard>,
}

impl Live {
    /// Says something to the run.
    pub(super) fn say(&self, heard: Heard) {
        // A run that is over hears nothing.
        self.said.send(heard).ok();
    }
}

/// A run that waits for its turn.
#[derive(Debug)]
struct Waiting {
    live: Arc<Live>,
    note: Note,
    heard: mpsc::UnboundedReceiver<Heard>,
}

/// The runs.
#[derive(Debug)]
pub(super) struct Runs {
    at_once: usize,
    /// Keeps secrets out of notes.
    redactor: Redactor,
    lanes: Mutex<Lanes>,
    /// Rung when a run is not driven any more.
    idle: Notify,
    /// The same for threads.
    free: Condvar,
}

#[derive(Debug, Default)]
struct Lanes {
    live: BTreeMap<RunId, Arc<Live>>,
    /// How many go on, by workspace.
    going: BTreeMap<PathBuf, usize>,
    queue: VecDeque<Waiting>,
    /// How many runs were started, and when the latest of each workspace was, in that count.
    started: u64,
    latest: BTreeMap<PathBuf, u64>,
    /// Feeds of runs that are over, the latest last.
    kept: VecDeque<Arc<Feed>>,
    /// The latest feed of each run that somebody may follow.
    feeds: BTreeMap<RunId, (Project, Weak<Feed>)>,
    closed: bool,
}

impl Lanes {
    /// Counts a run that goes on from here.
    fn count(&mut self, run: &Waiting) {
        let root = run.live.project.repository.root().to_owned();
        self.started += 1;
        self.latest.insert(root.clone(), self.started);
        *self.going.entry(root).or_default() += 1;
    }

    /// Returns how many runs work; one that waits for a person keeps nobody from it.
    fn busy(&self) -> usize {
        let going: usize = self.going.values().sum();
        let idle = self.live.values().filter(|live| live.feed.state().standing == Standing::Waiting).count();
        going.saturating_sub(idle)
    }

    /// Takes the run whose turn it is: of the workspaces with the fewest runs that go on, of the one whose turn was longest
    /// ago, the run that has waited longest.
    fn next(&mut self) -> Option<Waiting> {
        let turn = |one: &Waiting| {
            let root = one.live.project.repository.root();
            let going = self.going.get(root).copied().unwrap_or(0);
            (going, self.latest.get(root).copied().unwrap_or(0))
        };
        let next = self.queue.iter().enumerate().min_by_key(|(index, one)| (turn(one), *index));
        let index = next.map(|(index, _)| index)?;
        self.queue.remove(index)
    }

    /// Sends those who follow a run in an older feed on to this one.
    fn follow_in(&mut self, project: &Project, feed: &Arc<Feed>) {
        self.feeds.retain(|_, (_, feed)| feed.strong_count() > 0);
        let older = self.feeds.insert(feed.state().run, (project.clone(), Arc::downgrade(feed)));
        if let Some(older) =
            older.and_then(|(_, older)| older.upgrade()).filter(|older| !Arc::ptr_eq(older, feed))
        {
            older.goes_on_in(feed);
        }
    }
}

/// What the note in a run's folder says.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    /// How many events the journal had.
    records: usize,
    /// What is to be said to the run then.
    commands: Vec<Command>,
}

impl Note {
    /// Returns the note with one more command.
    fn with(&self, command: Command) -> Self {
        Self { records: self.records, commands: self.commands.iter().cloned().chain([command]).collect() }
    }

    fn read(folder: &Path) -> Option<Self> {
        let note = std::fs::read(folder.join(NOTE)).ok()?;
        // Older ones and damaged ones say only that the daemon drives the run.
        Some(serde_json::from_slice(&note).unwrap_or_default())
    }

    fn write(&self, folder: &Path) -> Result<(), CommandError> {
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::Builder::new().prefix(".daemon").tempfile_in(folder)?;
            serde_json::to_writer(&mut file, self)?;
            file.persist(folder.join(NOTE))?;
            Ok(())
        };
        write().map_err(|error| {
            CommandError::local(format!(
                "The run's note cannot be written in {}: {error}. Check the space and the permissions there.",
                folder.display()
            ))
        })
    }

    /// Returns what is left to be said to a run whose journal has these events. They are written down one after the other
    /// before anything else; a journal that goes on in another way was driven by somebody else, and nothing is left.
    fn left(self, events: &[&Event]) -> Vec<Command> {
        let mut commands = self.commands.into_iter();
        for event in events.iter().skip(self.records) {
            match event {
                Event::Command { command, .. } if commands.by_ref().any(|one| one == *command) => {}
                Event::Command { .. } | Event::Answered { .. } => return Vec::new(),
            }
        }
        commands.collect()
    }
}

impl Runs {
    pub(super) fn new(at_once: usize) -> Self {
        Self {
            at_once,
            redactor: Redactor::new(process::secret_values()),
            lanes: Mutex::default(),
            idle: Notify::new(),
            free: Condvar::new(),
        }
    }

    pub(super) fn at_once(&self) -> usize {
        self.at_once
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a run that is driven or waits for its turn.
    pub(super) fn live(&self, id: &RunId) -> Option<Arc<Live>> {
        self.lanes().live.get(id).cloned()
    }

    /// Returns the feeds that somebody follows of runs that nobody drives here.
    pub(super) fn heard(&self) -> Vec<(Project, Arc<Feed>)> {
        let lanes = self.lanes();
        let still = lanes.feeds.iter().filter(|(run, _)| !lanes.live.contains_key(run));
        let feeds = still.filter_map(|(_, (project, feed))| Some((project.clone(), feed.upgrade()?)));
        feeds.filter(|(_, feed)| feed.is_heard()).collect()
    }

    /// Waits until a run that has told its end is put away, so that whoever has heard of it can go on with it.
    pub(super) fn settle(&self, id: &RunId) {
        let end = Instant::now() + PUT_AWAY;
        let is_ending =
            |lanes: &Lanes| lanes.live.get(id).is_some_and(|live| live.feed.state().standing.is_over());
        let mut lanes = self.lanes();
        // A run that takes longer goes on for those who ask; one that is opened again is soon not over any more.
        while is_ending(&lanes) && Instant::now() < end {
            let waited = self.free.wait_timeout(lanes, Duration::from_millis(20));
            (lanes, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Stops every run in order and waits until none is driven.
    pub(super) async fn close(&self) {
        let live: Vec<Arc<Live>> = {
            let mut lanes = self.lanes();
            lanes.closed = true;
            let waiting: Vec<Waiting> = lanes.queue.drain(..).collect();
            for one in waiting {
                lanes.live.remove(&one.live.id);
            }
            lanes.live.values().cloned().collect()
        };
        for one in &live {
            one.say(Heard::Stop);
        }
        loop {
            let idle = self.idle.notified();
            if self.lanes().live.is_empty() {
                return;
            }
            idle.await;
        }
    }
}

/// Returns the feed of a run: of one that is driven, or as its journal tells it.
pub(super) fn feed(daemon: &Daemon, project: &Project, id: &RunId) -> Result<Arc<Feed>, CommandError> {
    if let Some(live) = daemon.runs.live(id) {
        return Ok(Arc::clone(&live.feed));
    }
    let kept = daemon.runs.lanes().kept.iter().find(|feed| feed.state().run == *id).cloned();
    if let Some(feed) = kept.filter(|feed| feed.is_fresh(&project.runs.run(id))) {
        return Ok(feed);
    }
    let feed = follower::told(daemon, &project.runs.run(id))?;
    let mut lanes = daemon.runs.lanes();
    if let Some(live) = lanes.live.get(id) {
        // Somebody went on with it meanwhile.
        return Ok(Arc::clone(&live.feed));
    }
    lanes.follow_in(project, &feed);
    keep(&mut lanes, Arc::clone(&feed));
    drop(lanes);
    Ok(feed)
}

fn keep(lanes: &mut Lanes, feed: Arc<Feed>) {
    let run = feed.state().run;
    lanes.kept.retain(|old| old.state().run != run);
    lanes.kept.push_back(feed);
    while lanes.kept.len() > KEPT {
        lanes.kept.pop_front();
    }
}

/// Drives a run from here on, as soon as it is its turn. `commands` are said to it first.
pub(super) fn start(
    daemon: &Arc<Daemon>,
    project: &Project,
    id: &RunId,
    commands: Vec<Command>,
) -> Result<Arc<Live>, CommandError> {
    let folder = project.runs.run(id);
    let contents = journal::read(&folder)?;
    let events: Vec<&Event> = contents.records().map(|record| &record.event).collect();
    let said = commands.into_iter().map(|command| daemon.runs.redactor.command(command));
    // What was noted before, and is not in the journal, is said first.
    let noted = Note::read(&folder).map(|note| note.left(&events)).unwrap_or_default();
    let note = Note { records: events.len(), commands: noted.into_iter().chain(said).collect() };
    let (said, heard) = mpsc::unbounded_channel();
    let feed = Arc::new(Feed::new(contents.header, Standing::Queued));
    let live = Arc::new(Live {
        id: id.clone(),
        project: project.clone(),
        feed,
        desk: Arc::new(Desk::default()),
        said,
    });
    {
        let mut lanes = daemon.runs.lanes();
        if lanes.live.contains_key(id) {
            return Err(CommandError::usage(format!("The run {id} goes on already.")));
        }
        note.write(&folder)?;
        if lanes.closed {
            return Err(CommandError::usage(
                "The daemon is ending. It goes on with the run when it is started again.",
            ));
        }
        lanes.follow_in(project, &live.feed);
        lanes.live.insert(id.clone(), Arc::clone(&live));
        lanes.queue.push_back(Waiting { live: Arc::clone(&live), note, heard });
    }
    daemon.board.set(live.feed.state());
    advance(daemon);
    Ok(live)
}

/// Starts what may start.
fn advance(daemon: &Arc<Daemon>) {
    loop {
        let next = {
            let mut lanes = daemon.runs.lanes();
            if lanes.busy() >= daemon.runs.at_once || lanes.closed {
                return;
            }
            let Some(next) = lanes.next() else { return };
            lanes.count(&next);
            next
        };
        go(daemon, next);
    }
}

/// Says a last word to a run that waits for its turn: it needs none to end. False if it does not wait.
pub(super) fn end_waiting(daemon: &Arc<Daemon>, id: &RunId, command: &Command) -> Result<bool, CommandError> {
    let Some(live) = daemon.runs.live(id) else { return Ok(false) };
    let run = journal::read(&live.project.runs.run(id))?.replay(|_, _| {})?;
    let waiting = {
        let mut lanes = daemon.runs.lanes();
        let Some(index) = lanes.queue.iter().position(|one| one.live.id == *id) else { return Ok(false) };
        let Some(mut waiting) = lanes.queue.remove(index) else { return Ok(false) };
        // After a landing that was noted it would come too late; without that there is nothing left to do.
        let noted = waiting.note.with(daemon.runs.redactor.command(command.clone()));
        let comes_in_time =
            run.accepted(&TaskId::new(TASK), noted.commands.clone()).last() == noted.commands.last();
        let note = if comes_in_time { noted } else { Note { commands: Vec::new(), ..noted } };
        // Were the daemon killed now, the run would end when it goes on.
        if let Err(error) = note.write(&waiting.live.project.runs.run(id)) {
            lanes.queue.insert(index, waiting);
            return Err(error);
        }
        waiting.note = note;
        lanes.count(&waiting);
        waiting
    };
    go(daemon, waiting);
    Ok(true)
}

/// Says something to a run. What is returned tells when it is written down, and fails if the run does not take it.
pub(super) fn say(
    daemon: &Daemon,
    live: &Live,
    command: Command,
) -> Result<oneshot::Receiver<()>, CommandError> {
    if let Some(said) = say_waiting(daemon, live, &command)? {
        return Ok(said);
    }
    let (taken, said) = oneshot::channel();
    live.say(Heard::Command(command, taken));
    Ok(said)
}

/// Returns what tells at once that something is written down.
pub(super) fn written() -> oneshot::Receiver<()> {
    let (taken, said) = oneshot::channel();
    taken.send(()).ok();
    said
}

/// Says something to a run that waits for its turn: it is noted, and the run begins with it. `None` if it does not wait.
fn say_waiting(
    daemon: &Daemon,
    live: &Live,
    command: &Command,
) -> Result<Option<oneshot::Receiver<()>>, CommandError> {
    let is_it = |one: &Waiting| one.live.id == live.id;
    if !daemon.runs.lanes().queue.iter().any(is_it) {
        return Ok(None);
    }
    let folder = live.project.runs.run(&live.id);
    let run = journal::read(&folder)?.replay(|_, _| {})?;
    let mut lanes = daemon.runs.lanes();
    // Its turn may have come meanwhile.
    let Some(waiting) = lanes.queue.iter_mut().find(|one| is_it(one)) else { return Ok(None) };
    let task = TaskId::new(TASK);
    let note = waiting.note.with(daemon.runs.redactor.command(command.clone()));
    let accepted = |note: &Note| run.accepted(&task, note.commands.clone()).len();
    if accepted(&note) == accepted(&waiting.note) {
        // The sender is dropped: it means nothing to the run.
        return Ok(Some(oneshot::channel().1));
    }
    note.write(&folder)?;
    waiting.note = note;
    Ok(Some(written()))
}

/// Drives a run on a thread of its own.
fn go(daemon: &Arc<Daemon>, next: Waiting) {
    let (name, shared, live) = (format!("run {}", next.live.id), Arc::clone(daemon), Arc::clone(&next.live));
    let driven = Arc::clone(&live);
    let started = std::thread::Builder::new().name(name).spawn(move || {
        // Whatever happens in one run, the others go on, and its place in the queue is given back.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drive(&shared, next)));
        let result = result.unwrap_or_else(|_| {
            Err(CommandError::local(format!(
                "The run {} ended unexpectedly. Please report this as a bug, with the run's journal.",
                driven.id
            )))
        });
        over(&shared, &driven, result);
    });
    if let Err(error) = started {
        over(daemon, &live, Err(CommandError::local(format!("No thread could be started: {error}."))));
    }
}

/// Tells everybody where a run stands, and gives its turn to another one while it waits for a person.
#[derive(Debug)]
struct Turns(Arc<Daemon>);

impl Ring for Turns {
    fn ring(&self, state: RunState) {
        let waits = state.standing == Standing::Waiting;
        self.0.board.set(state);
        if waits {
            advance(&self.0);
        }
    }
}

/// Drives a run to its end or until it is stopped.
fn drive(daemon: &Arc<Daemon>, waiting: Waiting) -> Result<Drove, CommandError> {
    let Waiting { live, note, heard } = waiting;
    let opened = Session::open(&live.project, live.id.clone());
    // What has happened before is told first, with the same numbers as ever, also where the run cannot go on; but only to
    // those who follow it, because it is not how the run stands now. Whoever is told of a question can answer it already.
    let contents = journal::read(&live.project.runs.run(&live.id))?;
    let mut teller =
        Teller { feed: Arc::clone(&live.feed), desk: Some(Arc::clone(&live.desk)), changed: None };
    contents.retell(&mut teller)?;
    let session = opened?;
    teller.changed = Some(Box::new(Turns(Arc::clone(daemon))));
    let task = TaskId::new(TASK);
    let attended = session.run.cycle(&task).is_some_and(|cycle| cycle.spec().policy.interactive);
    let commands = session.run.accepted(&task, note.commands);
    if let Some(outcome) = contents.ended().filter(|_| commands.is_empty() && session.run.is_over()) {
        return Ok(Drove::Over(outcome.clone()));
    }
    if !commands.iter().any(|command| matches!(command, Command::Cancel { .. })) {
        daemon.refuse_reachable(session.shell.sandbox.as_ref())?;
    }
    if commands.is_empty() {
        Turns(Arc::clone(daemon)).ring(live.feed.state());
    }
    let human = if attended { Human::Desk(Arc::clone(&live.desk)) } else { Human::Absent };
    let files = Files::of(&session);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        CommandError::local(format!(
            "The run could not be set up: {error}. Close other programs and try again."
        ))
    })?;
    let attendance = Attendance { human, watcher: &mut teller, interrupts: Interrupts::Channel(heard) };
    let drove = runtime.block_on(driver::drive(session, commands, attendance));
    runtime.shutdown_background();
    if matches!(drove, Ok(Drove::Over(_))) {
        // Only the next run would have been faster for it.
        files.give(live.project.repository.clone(), &live.id).ok();
    }
    drove
}

/// Takes note that a run is not driven any more.
fn over(daemon: &Arc<Daemon>, live: &Arc<Live>, result: Result<Drove, CommandError>) {
    let folder = live.project.runs.run(&live.id);
    live.desk.close();
    match result {
        Ok(Drove::Over(_)) => {
            std::fs::remove_file(folder.join(NOTE)).ok();
        }
        Ok(Drove::Interrupted) => {
            let message = format!("Interrupted; `checkmate resume {}` goes on.", live.id);
            live.feed.stands(Standing::Interrupted, Some(message));
        }
        Err(error) => {
            // What was in the way here, such as a key that is missing, may be gone at the next start; but a run that is over
            // does not land by itself then, after somebody was told that it did not.
            let run = journal::read(&folder).ok().and_then(|contents| contents.replay(|_, _| {}).ok());
            if run.is_none_or(|run| run.is_over()) {
                std::fs::remove_file(folder.join(NOTE)).ok();
            }
            live.feed.fail(&error.to_string());
        }
    }
    if let Ok(length) = std::fs::metadata(folder.join(state::JOURNAL)).map(|metadata| metadata.len()) {
        live.feed.read_up_to(length);
    }
    {
        let mut lanes = daemon.runs.lanes();
        lanes.live.remove(&live.id);
        let root = live.project.repository.root();
        if let Some(going) = lanes.going.get_mut(root) {
            *going -= 1;
            if *going == 0 {
                lanes.going.remove(root);
            }
        }
        keep(&mut lanes, Arc::clone(&live.feed));
    }
    daemon.board.set(live.feed.state());
    daemon.runs.idle.notify_waiters();
    daemon.runs.free.notify_all();
    advance(daemon);
    // Nobody waits for the index: it can be made again at any time.
    daemon.history.note(&live.project, &live.id);
}

/// Returns the runs that a daemon before this one did not finish, with their repositories.
pub(super) fn unfinished() -> Vec<(PathBuf, RunId)> {
    let Ok(folder) = state::folder() else { return Vec::new() };
    let mut found = Vec::new();
    let entries = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    for repository in entries(folder.join("repos")) {
        for run in entries(repository.path().join("runs")) {
            if run.path().join(NOTE).is_file()
                && let Ok(header) = journal::read_header(&run.path())
            {
                found.push((header.repository, header.run));
            }
        }
    }
    found.sort_by(|one, other| one.1.cmp(&other.1));
    found
}
