//! The journal of a run: one JSON object a line, append only.
//!
//! The first line is the [`Header`]: format, version and everything the run was told. Every further line is an
//! [`Entry`]: an event, on disk before the machine sees it, or a note, which nothing is replayed from. A line that a
//! crash tore is the last one, was never acted on, and is cut off when the journal is opened again. The format is
//! described in `docs/journal.md`.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use checkmate_machine::effect::{Action, Call, hash};
use checkmate_machine::event::{Answer, Event};
use checkmate_machine::ids::{Role, RunId, TaskId};
use checkmate_machine::outcome::Outcome;
use checkmate_machine::run::{PlannedTask, Run};
use checkmate_machine::spec::Spec;
use serde::{Deserialize, Serialize};

use crate::config::RoleSettings;
use crate::error::CommandError;
use crate::forecast::Total;
use crate::process::confine::{Gap, Support};
use crate::state::JOURNAL;
use crate::watch::Watch;

/// The version that this program writes, and the only one that it drives on.
const VERSION: u32 = 1;
/// How often a lock that is held is tried again, and after how long.
const LOOKS: u32 = 4;
const LOOK: Duration = Duration::from_millis(5);
/// A line longer than this is no line of ours.
const LONGEST_LINE: u64 = 512 << 20;

/// The first line of a journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Header {
    /// Always `checkmate-run`.
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// The version of the program that began the run.
    pub program: String,
    /// The run.
    pub run: RunId,
    /// When it began, RFC 3339.
    pub at: String,
    /// The root of the user's repository.
    pub repository: PathBuf,
    /// The tasks.
    pub tasks: Vec<HeaderTask>,
    /// What the shell was told; holds names of environment variables, never their values.
    pub shell: Shell,
}

/// What the shell was told at the start of a run; pinned in the journal's header.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Shell {
    /// The agents, by role; empty for scripted ones.
    #[serde(default)]
    pub roles: BTreeMap<Role, RoleSettings>,
    /// Whether the agents are scripted.
    #[serde(default)]
    pub scripted: bool,
    /// Paths that git does not track and a build needs, linked into the run's tree.
    #[serde(default)]
    pub link_paths: Vec<String>,
    /// Names of environment variables that commands may see though they look like secrets.
    #[serde(default)]
    pub keep_env: Vec<String>,
    /// The JUnit XML file that the test command writes.
    #[serde(default)]
    pub test_report: Option<String>,
    /// The time limit of a command in seconds.
    pub time_limit_s: u64,
    /// How many runs of mutants go on beside each other; one if it is not said.
    #[serde(default)]
    pub mutants_at_once: Option<u32>,
    /// How commands are confined; not at all in a run that does not say.
    #[serde(default)]
    pub sandbox: Option<Sandbox>,
}

impl Shell {
    /// Says, in fragments of sentences, what commands of the run could do although they should not.
    pub fn gaps(&self) -> Vec<String> {
        match &self.sandbox {
            Some(sandbox) => sandbox.gaps().into_iter().map(Gap::said).collect(),
            None => vec!["commands were not confined (`sandbox` is off)".into()],
        }
    }
}

/// How the commands of a run are confined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Whether the network is there, and not only the machine's own loopback.
    pub network: bool,
    /// What may be read beyond what is usual, with `~/` for the home.
    #[serde(default)]
    pub read: Vec<String>,
    /// What may be written beyond the run's own folders, likewise.
    #[serde(default)]
    pub write: Vec<String>,
    /// The most memory of one process, in megabytes.
    #[serde(default)]
    pub memory_mb: Option<u64>,
    /// The most processes at a time.
    #[serde(default)]
    pub processes: Option<u64>,
    /// What the machine could do when the run began.
    #[serde(default)]
    pub support: Support,
}

impl Sandbox {
    /// Says what commands can do on this machine although they should not.
    pub fn gaps(&self) -> Vec<Gap> {
        self.support.gaps(self.network)
    }
}

/// A task in the header.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HeaderTask {
    /// Its name.
    pub id: TaskId,
    /// What has to land before it.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// What its cycle was told.
    pub spec: Spec,
}

impl Header {
    /// Makes the header of a new run.
    pub fn new(run: RunId, repository: PathBuf, tasks: Vec<HeaderTask>, shell: Shell) -> Self {
        Self {
            format: "checkmate-run".into(),
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").into(),
            run,
            at: now(),
            repository,
            tasks,
            shell,
        }
    }

    /// Starts the run that the header describes.
    pub fn start(&self) -> Result<Run, JournalError> {
        let tasks = self
            .tasks
            .iter()
            .map(|task| PlannedTask {
                id: task.id.clone(),
                depends_on: task.depends_on.clone(),
                spec: task.spec.clone(),
            })
            .collect();
        Run::new(tasks, 1)
            .map_err(|error| JournalError::Schedule { run: self.run.clone(), reason: error.to_string() })
    }
}

/// A line of a journal after the first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Entry {
    /// Something happened; the run is replayed from these.
    Event(Record),
    /// An agent is about to be asked; for people who look at prompts.
    Asked(Asked),
    /// The run came to an end; a replay is held against it.
    Ended {
        /// How.
        outcome: Outcome,
        /// What it used until then; journals from before it was written lack it.
        #[serde(default)]
        used: Option<Total>,
    },
    /// Somebody went on with the run.
    Opened {
        /// When, RFC 3339.
        at: String,
    },
    /// A note of a later version; notes change nothing.
    #[serde(other)]
    Other,
}

/// An [`Entry`] that is about to be written.
#[derive(Debug, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Line<'a> {
    Event(&'a Record),
}

/// An event with what it answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Counts the events, from 1.
    pub seq: u64,
    /// When it was written, RFC 3339.
    pub at: String,
    /// What the answered part was, see [`Action::digest`]; empty for a command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// SHA-256 of the prompt that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The event.
    pub event: Event,
}

/// A question to an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    /// When it was asked, RFC 3339.
    pub at: String,
    /// Whose cycle asked.
    pub task: TaskId,
    /// The effect's number.
    pub effect: u32,
    /// The part's number.
    pub part: u32,
    /// SHA-256 of the prompt, as in the record of its answer.
    pub prompt: String,
    /// The question, with the whole prompt.
    pub call: Call,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No such run.
    #[error("The run's journal {} does not exist. `checkmate runs` lists the runs of this repository.", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// A run of that name is there already.
    #[error("The run's journal {} exists already; start again, and the run gets another name.", path.display())]
    Exists {
        /// Where it is.
        path: PathBuf,
    },
    /// Somebody else drives it.
    #[error(
        "Another checkmate drives this run (process {holder}). Wait for it to end, or end it, and try again."
    )]
    Locked {
        /// The process that holds the lock, as far as it is known.
        holder: String,
    },
    /// A newer program wrote it, or an older one in a format that is gone.
    #[error("The journal {} has format version {found}, and this checkmate drives version {VERSION} only. Use the checkmate that began the run, or start a new run.", path.display())]
    Version {
        /// Where it is.
        path: PathBuf,
        /// What it says.
        found: u32,
    },
    /// A line that is not the last one cannot be read.
    #[error("The journal {} is damaged at line {line}: {reason}. Nothing after it can be trusted; start a new run.", path.display())]
    Damaged {
        /// Where it is.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// It was begun in another repository.
    #[error(
        "The journal {} belongs to the repository {}, not to {}. Run the command there, or start a new run here.",
        path.display(), found.display(), root.display()
    )]
    Foreign {
        /// Where it is.
        path: PathBuf,
        /// The repository that it names.
        found: PathBuf,
        /// The repository in which it was found.
        root: PathBuf,
    },
    /// The tasks are no schedule.
    #[error("The tasks of the run {run} cannot be scheduled: {reason}.")]
    Schedule {
        /// The run.
        run: RunId,
        /// What is wrong with them.
        reason: String,
    },
    /// The machine's rules changed since the record was written.
    #[error(
        "Resume refused at record {seq}: the journal answers `{found}`, but under the present rules the run asks for \
         `{expected}`. Start a new run; the last candidate is shown by `checkmate show {run} --patch`."
    )]
    Differs {
        /// The run.
        run: RunId,
        /// The record.
        seq: u64,
        /// What it answers.
        found: String,
        /// What the machine asks for.
        expected: String,
    },
    /// The operating system failed.
    #[error("Checkmate could not {action} {}: {source}. Check permissions and free space, then `checkmate resume`.", path.display())]
    Io {
        /// What was tried, as in "could not …".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

impl From<JournalError> for CommandError {
    fn from(error: JournalError) -> Self {
        Self::local(error.to_string())
    }
}

/// An open journal; holds the run's lock until it is dropped.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// The length of what is whole and on disk; a write that failed half-way is cut back to it.
    length: u64,
    next: u64,
    /// Whether something was written that may not be on disk yet.
    unsynced: bool,
    /// Held for as long as the journal is open.
    _lock: File,
}

impl Journal {
    /// Begins a journal in a run's folder. It gets its name once its header is on disk: a crash in between leaves no
    /// run behind, rather than one that nobody can read.
    pub fn create(folder: &Path, header: &Header) -> Result<Self, JournalError> {
        std::fs::create_dir_all(folder).map_err(|source| io("make the folder", folder, source))?;
        let lock = lock(folder)?;
        let path = folder.join(JOURNAL);
        // The lock is held, so nobody makes it between this look and the renaming.
        if path.exists() {
            return Err(JournalError::Exists { path });
        }
        let unfinished = folder.join("journal.new");
        let file = File::create(&unfinished).map_err(|source| io("make", &unfinished, source))?;
        let mut journal = Self { file, path, length: 0, next: 1, unsynced: false, _lock: lock };
        journal.write(header, true)?;
        std::fs::rename(&unfinished, &journal.path).map_err(|source| io("make", &journal.path, source))?;
        sync_folder(folder)?;
        Ok(journal)
    }

    /// Opens a journal to go on with it: takes the lock and cuts off a torn last line.
    ///
    /// `root` is the root of the repository whose run it should be.
    pub fn open(folder: &Path, root: &Path) -> Result<(Self, Contents), JournalError> {
        let lock = lock(folder)?;
        let contents = read(folder)?;
        let path = folder.join(JOURNAL);
        let Header { version, repository, .. } = &contents.header;
        if *version != VERSION {
            return Err(JournalError::Version { path, found: *version });
        }
        if repository != root {
            return Err(JournalError::Foreign { path, found: repository.clone(), root: root.to_owned() });
        }
        let mut file =
            OpenOptions::new().write(true).open(&path).map_err(|source| io("open", &path, source))?;
        file.set_len(contents.whole).map_err(|source| io("mend", &path, source))?;
        file.seek(SeekFrom::End(0)).map_err(|source| io("open", &path, source))?;
        let next = contents.records().map(|record| record.seq).max().unwrap_or(0) + 1;
        Ok((Self { file, path, length: contents.whole, next, unsynced: true, _lock: lock }, contents))
    }

    /// Appends an event. It is on disk when this returns, with everything before it, if it cannot be had again for the
    /// asking; see `is_dear`.
    pub fn append(&mut self, action: Option<&Action>, event: Event) -> Result<Record, JournalError> {
        let dear = is_dear(&event);
        let record = Record {
            seq: self.next,
            at: now(),
            digest: action.map(Action::digest).unwrap_or_default(),
            prompt: action.and_then(prompt_hash),
            event,
        };
        self.write(&Line::Event(&record), dear)?;
        self.next += 1;
        Ok(record)
    }

    /// Waits until everything that was written is on disk: before something is done that a lost line would not know of.
    pub fn settle(&mut self) -> Result<(), JournalError> {
        if self.unsynced {
            self.file.sync_data().map_err(|source| io("write", &self.path, source))?;
            self.unsynced = false;
        }
        Ok(())
    }

    /// Appends what an agent is asked; it may be lost in a crash, and then it is asked and written again.
    pub fn asked(&mut self, task: &TaskId, effect: u32, part: u32, call: &Call) -> Result<(), JournalError> {
        let prompt = call_hash(call);
        let asked = Asked { at: now(), task: task.clone(), effect, part, prompt, call: call.clone() };
        self.write(&Entry::Asked(asked), false)
    }

    /// Appends how the run ended.
    pub fn ended(&mut self, outcome: &Outcome, used: Total) -> Result<(), JournalError> {
        self.write(&Entry::Ended { outcome: outcome.clone(), used: Some(used) }, true)
    }

    /// Appends that somebody goes on with the run; it reaches the disk with the next event.
    pub fn opened(&mut self) -> Result<(), JournalError> {
        self.write(&Entry::Opened { at: now() }, false)
    }

    fn write(&mut self, line: &impl Serialize, sync: bool) -> Result<(), JournalError> {
        let failed = |source: std::io::Error| io("write", &self.path, source);
        let mut bytes = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        bytes.push(b'\n');
        let written =
            self.file.write_all(&bytes).and_then(|()| if sync { self.file.sync_data() } else { Ok(()) });
        if let Err(source) = written {
            // A line that is not wholly on disk must not stand before the next one.
            let mended =
                self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            return Err(io("write", &self.path, mended.err().unwrap_or(source)));
        }
        self.length += bytes.len() as u64;
        self.unsynced = !sync;
        Ok(())
    }
}

/// What a journal holds.
#[derive(Debug, Clone)]
pub struct Contents {
    /// Its first line.
    pub header: Header,
    /// Its other lines.
    pub entries: Vec<Entry>,
    /// The length of its whole lines in bytes.
    whole: u64,
}

impl Contents {
    /// Returns the length of the whole lines in bytes.
    pub fn length(&self) -> u64 {
        self.whole
    }

    /// Returns the events in order.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Event(record) => Some(record),
            Entry::Asked(_) | Entry::Ended { .. } | Entry::Opened { .. } | Entry::Other => None,
        })
    }

    /// Returns how the run ended, as it was written down last.
    pub fn ended(&self) -> Option<&Outcome> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Ended { outcome, .. } => Some(outcome),
            Entry::Event(_) | Entry::Asked(_) | Entry::Opened { .. } | Entry::Other => None,
        })
    }

    /// Returns how long the run was driven: from its beginning, and from each time that somebody went on with it, to the
    /// last thing that was written before the next time. A clock that was set back counts as no time.
    pub fn driven(&self) -> Duration {
        let time = |at: &str| at.parse::<jiff::Timestamp>().ok();
        let mut driven = Duration::ZERO;
        let mut from = time(&self.header.at);
        let mut last = from;
        let mut add = |from: Option<jiff::Timestamp>, last: Option<jiff::Timestamp>| {
            if let (Some(from), Some(last)) = (from, last) {
                driven += Duration::try_from(last.duration_since(from)).unwrap_or_default();
            }
        };
        for entry in &self.entries {
            match entry {
                Entry::Event(Record { at, .. }) | Entry::Asked(Asked { at, .. }) => last = time(at).or(last),
                Entry::Opened { at } => {
                    add(from, last);
                    from = time(at);
                    last = from;
                }
                Entry::Ended { .. } | Entry::Other => {}
            }
        }
        add(from, last);
        driven
    }

    /// Tells a watcher everything that has happened, as if it had watched; a wrong answer ends it like [`Self::replay`].
    pub fn retell(&self, watcher: &mut dyn Watch) -> Result<Run, JournalError> {
        let mut run = self.header.start()?;
        watcher.stand(&run);
        self.retell_from(&mut run, 0, watcher)?;
        Ok(run)
    }

    /// Tells a watcher what has happened since so many events; returns how many there are now.
    pub fn retell_from(
        &self,
        run: &mut Run,
        told: usize,
        watcher: &mut dyn Watch,
    ) -> Result<usize, JournalError> {
        let mut count = told;
        for record in self.records().skip(told) {
            let action = self.answered(run, record)?.cloned();
            let notices = run.handle(&record.event);
            watcher.advance(record, action.as_ref(), &notices, run);
            count += 1;
        }
        Ok(count)
    }

    /// Returns what a record answers, which has to be what the run asks for.
    fn answered<'a>(&self, run: &'a Run, record: &Record) -> Result<Option<&'a Action>, JournalError> {
        let Event::Answered { task, effect, part, .. } = &record.event else { return Ok(None) };
        let action = run.awaited(task, *effect, *part);
        let expected = action.map_or_else(|| "nothing".to_owned(), Action::digest);
        if expected == record.digest {
            return Ok(action);
        }
        Err(JournalError::Differs {
            run: self.header.run.clone(),
            seq: record.seq,
            found: record.digest.clone(),
            expected,
        })
    }

    /// Replays the run. Every answer must belong to what the machine asks for at that point; `watch` sees each record
    /// with what it told.
    pub fn replay(
        &self,
        mut watch: impl FnMut(&Record, Vec<(TaskId, checkmate_machine::notice::Notice)>),
    ) -> Result<Run, JournalError> {
        let mut run = self.header.start()?;
        for record in self.records() {
            self.answered(&run, record)?;
            let notices = run.handle(&record.event);
            watch(record, notices);
        }
        Ok(run)
    }
}

/// Reads a journal without a lock; a torn last line is left out.
pub fn read(folder: &Path) -> Result<Contents, JournalError> {
    let path = folder.join(JOURNAL);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            return Err(JournalError::Missing { path });
        }
        Err(source) => return Err(io("read", &path, source)),
    };
    let damaged = |line: usize, reason: String| JournalError::Damaged { path: path.clone(), line, reason };
    let mut reader = BufReader::new(file);
    let (mut header, mut entries, mut whole) = (None, Vec::new(), 0);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let length = (&mut reader)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut bytes)
            .map_err(|source| io("read", &path, source))?;
        if bytes.last() != Some(&b'\n') {
            break;
        }
        if header.is_none() {
            header =
                Some(serde_json::from_slice(&bytes).map_err(|error| damaged(number, error.to_string()))?);
        } else {
            match serde_json::from_slice(&bytes) {
                Ok(entry) => entries.push(entry),
                // A crash can leave a whole line of zeros where data never reached the disk, but only at the end.
                Err(_) if is_end(&mut reader) => break,
                Err(error) => return Err(damaged(number, error.to_string())),
            }
        }
        whole += length as u64;
    }
    let header = header.ok_or_else(|| damaged(1, "the first line is missing or torn".into()))?;
    Ok(Contents { header, entries, whole })
}

/// Reads only the first line of a journal.
pub fn read_header(folder: &Path) -> Result<Header, JournalError> {
    let path = folder.join(JOURNAL);
    let file = File::open(&path).map_err(|source| io("read", &path, source))?;
    let mut bytes = Vec::new();
    let mut line = BufReader::new(file).take(LONGEST_LINE);
    line.read_until(b'\n', &mut bytes).map_err(|source| io("read", &path, source))?;
    let damaged = |reason: String| JournalError::Damaged { path: path.clone(), line: 1, reason };
    serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))
}

/// Tells whether an event has to be on disk before the run goes on: what was paid for, what a person said, what was done
/// to the user's files, and what failed. Everything else (files, trees, receipts) is found out again if a power cut takes
/// it, and nothing was built on it that is not lost as well: the next answer of an agent takes it to the disk.
fn is_dear(event: &Event) -> bool {
    match event {
        Event::Command { .. } => true,
        Event::Answered { answer, .. } => match answer {
            Answer::Called(_)
            | Answer::Said { .. }
            | Answer::Landed { .. }
            | Answer::Conflict { .. }
            | Answer::TargetMoved { .. }
            | Answer::Failed(_) => true,
            Answer::Prepared(_)
            | Answer::Files { .. }
            | Answer::Applied(_)
            | Answer::Rejected { .. }
            | Answer::Inspected(_)
            | Answer::Ran(_) => false,
        },
    }
}

fn is_end(reader: &mut BufReader<File>) -> bool {
    reader.fill_buf().map_or(true, <[u8]>::is_empty)
}

fn prompt_hash(action: &Action) -> Option<String> {
    if let Action::Call(call) = action { Some(call_hash(call)) } else { None }
}

fn call_hash(call: &Call) -> String {
    hash(&format!("{}\n{}", call.prompt.system, call.prompt.user))
}

/// Returns who drives a run now: a process id, or `unknown`.
pub fn driver(folder: &Path) -> Option<String> {
    let mut file = File::open(folder.join("lock")).ok()?;
    let Err(std::fs::TryLockError::WouldBlock) = file.try_lock_shared() else { return None };
    let mut holder = String::new();
    file.read_to_string(&mut holder).ok();
    let holder = holder.trim();
    Some(if holder.is_empty() { "unknown".into() } else { holder.into() })
}

/// Takes the run's lock; the operating system gives it back when the process ends, however it ends.
pub(crate) fn lock(folder: &Path) -> Result<File, JournalError> {
    let path = folder.join("lock");
    if !folder.is_dir() {
        return Err(JournalError::Missing { path: folder.join(JOURNAL) });
    }
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|source| io("lock", &path, source))?;
    // Somebody who only looks whether the run is driven holds it for a moment.
    let mut tried = file.try_lock();
    for look in 1..LOOKS {
        if !matches!(tried, Err(std::fs::TryLockError::WouldBlock)) {
            break;
        }
        std::thread::sleep(LOOK * look);
        tried = file.try_lock();
    }
    match tried {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut holder = String::new();
            file.read_to_string(&mut holder).ok();
            let holder = if holder.trim().is_empty() { "unknown".into() } else { holder.trim().into() };
            return Err(JournalError::Locked { holder });
        }
        Err(std::fs::TryLockError::Error(source)) => return Err(io("lock", &path, source)),
    }
    // Only a hint for whoever finds it locked, so a failure to write it is none.
    file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).ok();
    Ok(file)
}

/// Tells whether somebody drives the run in a folder right now.
pub(crate) fn is_driven(folder: &Path) -> bool {
    let file = File::open(folder.join("lock"));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
}

fn sync_folder(folder: &Path) -> Result<(), JournalError> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(|source| io("sync", folder, source))
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> JournalError {
    JournalError::Io { action, path: path.to_owned(), source }
}

/// Returns the present time as RFC 3339 in UTC, to the millisecond.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
