//! Runs commands: the user's tests, the diagnostics that a reviewer asks for, and whatever else becomes evidence.
//!
//! There is one way to run a command, [`run`], and it always ends in a [`Receipt`] unless somebody cancels. The
//! command gets its own process group, no secrets, no standard input, fresh temporary directories, a time limit
//! and a limit on the output that is kept. Nothing that it started outlives it.

mod capture;
pub mod confine;
mod environment;
mod group;
mod program;
mod pytest;
mod repository;
#[cfg(test)]
mod tests;
mod vary;
mod words;

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use checkmate_machine::command::CommandLine;
use checkmate_machine::evidence::{Ended, Output, Receipt, TestReport};
use checkmate_machine::ids::TreeId;

use self::capture::Streams;
use self::confine::{Confinement, Line, Said};
use self::group::Group;
use crate::report;

pub use self::group::kill_leftovers;

/// How long one look at the pipes lasts at most; time limit and cancellation are noticed this late.
const TICK: Duration = Duration::from_millis(10);
/// How long a group may take to end after it was asked to, before it is killed.
const GRACE: Duration = Duration::from_millis(1000);
/// How long output is still read after everything that could write it is gone.
const DRAIN: Duration = Duration::from_millis(300);
/// The largest report file that is read, in bytes.
const MAX_REPORT_BYTES: u64 = 32 << 20;

/// What to run, where, and within which bounds.
#[derive(Debug)]
pub struct Invocation<'a> {
    /// The command.
    pub command: &'a CommandLine,
    /// The directory it runs in: the root of the work tree.
    pub directory: &'a Path,
    /// The tree that is checked out in `directory`; it is only noted in the receipt.
    pub tree: TreeId,
    /// An existing directory of the run, outside of the tree, for what a command leaves behind.
    pub scratch: &'a Path,
    /// The bounds.
    pub limits: Limits,
    /// Names of environment variables that the user allows although they look secret.
    pub keep_env: &'a [String],
    /// A JUnit XML file that the command writes, relative to `directory`.
    pub report_file: Option<&'a Path>,
    /// Varies what nobody should depend on; the number is the seed.
    pub vary: Option<u32>,
    /// What the command may read, write and reach; everything without it.
    pub confinement: Option<&'a Confinement>,
    /// What it may write besides its directory and its temporary folders, if it is confined.
    pub write: &'a [PathBuf],
}

/// The bounds of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// How many bytes are kept of each stream, half of them from its start and half from its end.
    pub output_bytes: usize,
}

impl Limits {
    /// Bounds the time, and keeps 256 KiB of each stream.
    pub fn new(time: Duration) -> Self {
        Self { time, output_bytes: 256 << 10 }
    }
}

/// Ends commands early. Clones share one state, so that a signal handler can hold one.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Asked>);

#[derive(Debug, Default)]
struct Asked {
    cancel: AtomicBool,
    at_once: AtomicBool,
}

impl Cancel {
    /// Ends every command that runs with this, and starts no other.
    pub fn cancel(&self) {
        self.0.cancel.store(true, Ordering::Relaxed);
    }

    /// The same, but does not give them time to end by themselves.
    pub fn at_once(&self) {
        self.0.at_once.store(true, Ordering::Relaxed);
        self.cancel();
    }

    /// Returns whether [`Cancel::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.load(Ordering::Relaxed)
    }

    /// Returns whether [`Cancel::at_once`] was called.
    pub fn is_urgent(&self) -> bool {
        self.0.at_once.load(Ordering::Relaxed)
    }
}

/// Why there is no receipt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// Somebody cancelled; the command's processes are gone.
    #[error("the command `{0}` was cancelled")]
    Cancelled(String),
}

/// Returns the values of the environment that must not be written down anywhere, nor sent to anybody.
pub fn secret_values() -> Vec<String> {
    environment::secret_values()
}

/// Describes what a command depends on besides the files it sees: its program, and the environment as far as it is the
/// same in every run. `None` if there is no such program.
///
/// The text may hold anything that the command may see, so it is for comparing, not for writing down.
pub fn conditions(command: &CommandLine, keep_env: &[String]) -> Option<String> {
    // Paths that are made for each run have the same names here.
    let [tree, room, temporary] = ["/tree", "/room", "/temporary"].map(Path::new);
    let mut environment = environment::of(command, tree, room, temporary, keep_env, pytest::Plan::Text);
    for name in environment::CHANGING {
        environment.remove(std::ffi::OsStr::new(name));
    }
    let program = match command.argv.first() {
        // A file of the tree, which the tree itself stands for.
        Some(name) if name.contains('/') && !name.starts_with('/') => name.clone(),
        Some(_) | None => {
            let path = environment.get(std::ffi::OsStr::new("PATH"));
            let file = program::resolve(&command.argv, tree, path).ok()?.canonicalize().ok()?;
            format!("{} {:?}", file.display(), file.metadata().and_then(|metadata| metadata.modified()).ok()?)
        }
    };
    Some(format!("{program}\n{environment:?}"))
}

/// Returns the programs that a command starts, as far as they can be known without running it: each name with its file,
/// or with the reason why there is none. What a shell does itself is left out.
pub fn programs(
    command: &CommandLine,
    directory: &Path,
    keep_env: &[String],
) -> Vec<(String, Result<PathBuf, String>)> {
    let [room, temporary] = ["/room", "/temporary"].map(Path::new);
    let environment = environment::of(command, directory, room, temporary, keep_env, pytest::Plan::Text);
    let path = environment.get(std::ffi::OsStr::new("PATH"));
    let shell = words::shell_line(command).is_some();
    let mut found: Vec<(String, Result<PathBuf, String>)> = Vec::new();
    let mut at = directory.to_owned();
    for words in words::simple_commands(command) {
        let Some(name) = words.first() else { continue };
        if shell && name == "cd" {
            at = words.get(1).map_or_else(|| directory.to_owned(), |folder| directory.join(folder));
        }
        let known = found.iter().any(|(other, _)| other == name);
        let of_shell = shell && words::is_of_shell(name);
        if !known && !of_shell {
            found.push((name.clone(), program::resolve(&words, &at, path)));
        }
    }
    found
}

/// Runs a command to its end, whatever that is.
///
/// A command that cannot be started is a receipt too ([`Ended::NotStarted`]). When this returns, no process of the
/// command's group is left, nor (on Linux) one that left the group but kept its environment.
pub fn run(invocation: &Invocation<'_>, cancel: &Cancel) -> Result<Receipt, ProcessError> {
    let started = Instant::now();
    let cancelled = || ProcessError::Cancelled(invocation.command.text.clone());
    if cancel.is_cancelled() {
        return Err(cancelled());
    }
    let facts = match start(invocation) {
        Ok(running) => running.watch(invocation, started, cancel).ok_or_else(cancelled)?,
        Err(reason) => Facts::without_output(Ended::NotStarted { reason }),
    };
    let command = invocation.command;
    Ok(Receipt {
        tree: invocation.tree.clone(),
        saw: None,
        seed: None,
        argv: command.argv.clone(),
        shell: command.shell,
        of_repository: repository::started_by(command, invocation.directory),
        ended: facts.ended,
        report: facts.report,
        stdout: facts.stdout,
        stderr: facts.stderr,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        cached: false,
    })
}

/// What was seen of a command.
struct Facts {
    ended: Ended,
    report: Option<TestReport>,
    stdout: Output,
    stderr: Output,
}

impl Facts {
    fn without_output(ended: Ended) -> Self {
        let (stdout, stderr) = Streams::new(None, None, 0).outputs();
        Self { ended, report: None, stdout, stderr }
    }
}

/// A command that has been started.
struct Running {
    child: Child,
    /// The way to the helper that confines it.
    line: Option<Line>,
    group: Group,
    streams: Streams,
    /// Removed with everything in it when the command is over.
    room: tempfile::TempDir,
    /// The command's own folder for temporary files; removed likewise.
    _temporary: tempfile::TempDir,
    junit: pytest::Plan,
    /// What the user's report file was before the command ran.
    before: Option<Stamp>,
}

/// Why watching ended.
enum End {
    Exited,
    TimedOut,
    Cancelled,
}

/// Starts a command; the error is a fragment that says why that is impossible.
fn start(invocation: &Invocation<'_>) -> Result<Running, String> {
    let Invocation { command, directory, .. } = *invocation;
    if !directory.is_dir() {
        return Err(format!("the directory {} does not exist", directory.display()));
    }
    let unusable = |error: std::io::Error| {
        format!("the scratch directory {} cannot be used: {error}", invocation.scratch.display())
    };
    let scratch = invocation.scratch.canonicalize().map_err(unusable)?;
    let room = tempfile::Builder::new().prefix(group::ROOM_PREFIX).tempdir_in(&scratch).map_err(unusable)?;
    let junit = match invocation.report_file {
        Some(_) => pytest::Plan::Text,
        None => pytest::plan(command, directory),
    };
    let temporary = group::temporary(room.path()).map_err(unusable)?;
    let mut environment =
        environment::of(command, directory, room.path(), temporary.path(), invocation.keep_env, junit);
    if let Some(seed) = invocation.vary {
        vary::vary(&mut environment, command, seed, room.path(), junit).map_err(unusable)?;
    }
    std::fs::create_dir(environment::bytecode(room.path())).map_err(unusable)?;
    let program = program::resolve(&command.argv, directory, environment.get(std::ffi::OsStr::new("PATH")))?;
    let write: Vec<&Path> = [directory, room.path(), temporary.path()]
        .into_iter()
        .chain(invocation.write.iter().map(PathBuf::as_path))
        .collect();
    let (mut starter, line) = match invocation.confinement {
        Some(confinement) => {
            if confinement.support.files {
                environment::keep_caches(&mut environment, &scratch).map_err(unusable)?;
            }
            confinement.starter(&program, command, &write)?
        }
        None => {
            let mut starter = Command::new(&program);
            starter.args(command.argv.iter().skip(1)).stdin(Stdio::null());
            if let Some(name) = command.argv.first() {
                starter.arg0(name);
            }
            (starter, None)
        }
    };
    starter.current_dir(directory).env_clear().envs(&environment);
    starter.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let before = invocation.report_file.and_then(|file| Stamp::of(&directory.join(file)));
    let mut child = starter.spawn().map_err(|error| program::not_started(&error, &program, command))?;
    let group = Group::record(&child, &scratch, room.path());
    let streams = Streams::new(child.stdout.take(), child.stderr.take(), invocation.limits.output_bytes);
    // What the helper inherited is its own now: its end must be seen as one.
    drop(starter);
    Ok(Running { child, line, group, streams, room, _temporary: temporary, junit, before })
}

impl Running {
    /// Watches the command until it is over and nothing of it is left; `None` if it was cancelled.
    fn watch(mut self, invocation: &Invocation<'_>, started: Instant, cancel: &Cancel) -> Option<Facts> {
        let end = loop {
            self.streams.pump(TICK);
            if self.group.leader_ended() {
                break End::Exited;
            }
            if cancel.is_cancelled() {
                break End::Cancelled;
            }
            if started.elapsed() >= invocation.limits.time {
                break End::TimedOut;
            }
        };
        self.group.end(GRACE, || {
            self.streams.pump(TICK);
            !cancel.is_urgent()
        });
        let drained = Instant::now();
        while self.streams.are_open() && drained.elapsed() < DRAIN {
            self.streams.pump(TICK);
        }
        let status = self.child.wait();
        self.group.forget();
        let ended = match end {
            End::Cancelled => return None,
            End::TimedOut => Ended::TimedOut {
                limit_s: invocation.limits.time.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX),
            },
            End::Exited => match self.line.as_mut().map(Line::said) {
                Some(said) => confined_end(said, invocation.command),
                None => status.map_or_else(
                    |error| Ended::NotStarted { reason: format!("its end could not be seen: {error}") },
                    ended,
                ),
            },
        };
        Some(self.facts(invocation, ended))
    }

    fn facts(self, invocation: &Invocation<'_>, ended: Ended) -> Facts {
        let (stdout, stderr) = self.streams.outputs();
        let own = environment::junit(self.room.path());
        let file = match invocation.report_file.map(|file| invocation.directory.join(file)) {
            Some(file) => Stamp::of(&file).filter(|after| self.before.as_ref() != Some(after)).map(|_| file),
            None => Some(own),
        };
        let junit = file.and_then(|file| read_report(&file));
        let mut report = report::read(&stdout.text, &stderr.text, junit.as_deref());
        let green = report.as_ref().is_none_or(|report| report.failed == 0 && report.errors == 0);
        if self.junit == pytest::Plan::Required
            && junit.is_none()
            && green
            && ended == (Ended::Exited { code: 0 })
        {
            report = Some(pytest::cut_short());
        }
        Facts { ended, report, stdout, stderr }
    }
}

/// What tells a file that was written from one that lay there before.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(file: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(file).ok()?;
        let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
        Some(Self { inode, bytes: metadata.len(), modified: metadata.modified().ok() })
    }
}

/// Reads a report file. It was written by the command, so it may be anything: a directory, a pipe, a gigabyte.
fn read_report(file: &PathBuf) -> Option<String> {
    let metadata = std::fs::metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_REPORT_BYTES {
        return None;
    }
    std::fs::read(file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns how a confined command ended, by what the helper said.
fn confined_end(said: Option<Said>, command: &CommandLine) -> Ended {
    match said {
        Some(Said::Exited(code)) => Ended::Exited { code },
        Some(Said::Killed(signal)) => Ended::Killed { signal },
        Some(Said::NotStarted(reason, error)) => Ended::NotStarted {
            reason: error.map_or(reason, |error| {
                let program = command.argv.first().map(String::as_str).unwrap_or_default();
                program::not_started(&std::io::Error::from_raw_os_error(error), Path::new(program), command)
            }),
        },
        // Only something outside can have ended the helper before it said anything.
        None => Ended::Killed { signal: 9 },
    }
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited { code },
        (None, signal) => Ended::Killed { signal: signal.unwrap_or(0) },
    }
}
