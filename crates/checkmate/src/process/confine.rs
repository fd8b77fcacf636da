//! Confinement: what a command may read, write and reach.
//!
//! On Linux the program starts itself once more as `checkmate confined`, which makes namespaces of its own, and in them
//! starts itself again as their first process; that one gives up every right that the command shall not have and starts
//! the command.
//!
//! ```text
//! checkmate ── outer: new session; user, process, network, mount and IPC namespaces
//!              └─ inner: private /tmp and /dev/shm, lo up, Landlock, seccomp, limits
//!                 └─ the command, and all that it starts; when inner ends, the kernel ends them
//! ```
//!
//! | file | question |
//! |---|---|
//! | `places` | what may be read |
//! | `jail` | how rights are given up on Linux |
//! | `filter` | which system calls are refused |
//! | `loopback` | how `lo` comes up |
//! | `profile` | the same in the words of macOS |

#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod jail;
#[cfg(target_os = "linux")]
mod known;
#[cfg(target_os = "linux")]
mod loopback;
mod places;
#[cfg(any(target_os = "macos", test))]
mod profile;

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use checkmate_machine::command::CommandLine;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(crate) use self::jail::support;
#[cfg(target_os = "linux")]
pub(crate) use self::known::{forget_support, known_support};
pub use self::places::Places;

/// The hidden subcommand that confines itself and starts a command.
pub(crate) const SUBCOMMAND: &str = "confined";

/// What this machine can do to confine a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Support {
    /// Namespaces of its own: no network but `lo`, no sight of other processes, none that outlives the command.
    pub namespaces: bool,
    /// Landlock, or what macOS has: which files may be read and written.
    pub files: bool,
    /// seccomp: system calls that no test needs are refused.
    pub calls: bool,
}

impl Support {
    /// Tells whether nothing is missing.
    pub fn is_whole(self) -> bool {
        self.namespaces && self.files && self.calls
    }

    /// Says what commands can do here that they should not; empty if nothing. `network` says that they may use it.
    pub fn gaps(self, network: bool) -> Vec<Gap> {
        let mut gaps = Vec::new();
        if !self.files {
            gaps.push(Gap { allows: "read and write every file that you can", lacks: Part::Files });
        }
        if !self.namespaces {
            let allows =
                if network { "leave processes behind" } else { "use the network and leave processes behind" };
            gaps.push(Gap { allows, lacks: Part::Namespaces });
        }
        if !self.calls {
            gaps.push(Gap { allows: "make any system call", lacks: Part::Calls });
        }
        gaps
    }
}

/// Something that confined commands can do on a machine although they should not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// What, as in "commands can …".
    pub allows: &'static str,
    /// What the machine lacks.
    pub lacks: Part,
}

/// The parts of confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Files.
    Files,
    /// Network and processes.
    Namespaces,
    /// System calls.
    Calls,
}

impl Part {
    /// Returns what the operating system calls it.
    pub fn name(self) -> &'static str {
        match self {
            Part::Files => "Landlock",
            Part::Namespaces => "user namespaces",
            Part::Calls => "seccomp",
        }
    }
}

impl Gap {
    /// Says what commands of a run could do.
    pub fn said(self) -> String {
        format!("commands could {} here (no {})", self.allows, self.lacks.name())
    }
}

/// Finds out what this machine can do.
#[cfg(target_os = "macos")]
pub(crate) fn support() -> Support {
    let files = Path::new(profile::PROGRAM).exists();
    Support { namespaces: files, files, calls: files }
}

/// Finds out what this machine can do.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn support() -> Support {
    Support::default()
}

/// Finds out what this machine can do, which takes no time worth keeping.
#[cfg(not(target_os = "linux"))]
pub(crate) fn known_support(_: &Path) -> Support {
    support()
}

/// Nothing is kept here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn forget_support(_: &Path) {}

/// Does what the helper is for, if this process was started as one.
#[cfg(target_os = "linux")]
pub(crate) fn helper() -> Option<std::process::ExitCode> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next().as_deref() == Some(SUBCOMMAND)).then(|| jail::main(&arguments.collect::<Vec<_>>()))
}

/// How commands of a run are confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// What the machine can do.
    pub support: Support,
    /// Whether the network of the machine is there.
    pub network: bool,
    /// What may be read and written.
    pub places: Places,
    /// The most memory that one process may have, in bytes.
    pub memory: Option<u64>,
    /// The most processes at a time.
    pub processes: Option<u64>,
}

/// What the helper is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    program: PathBuf,
    arguments: Vec<String>,
    support: Support,
    network: bool,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    memory: Option<u64>,
    processes: Option<u64>,
}

/// What the helper says at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// The command ended with this code.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// It could not be started, for this reason and with this error number.
    NotStarted(String, Option<i32>),
}

/// The way to the helper: its standard input, on which it hears what to do and says what came of it.
#[derive(Debug)]
pub(super) struct Line {
    ours: UnixStream,
}

impl Confinement {
    /// Returns what starts a program so that it may write only to `write` and what every command may, and the way to the
    /// helper where there is one; the error is a fragment that says why that is impossible.
    pub(super) fn starter(
        &self,
        program: &Path,
        command: &CommandLine,
        write: &[&Path],
    ) -> Result<(Command, Option<Line>), String> {
        #[cfg(target_os = "linux")]
        {
            let unconfined = |error: io::Error| format!("it could not be confined: {error}");
            let (line, theirs) = self.line(program, &command.argv, write).map_err(unconfined)?;
            let mut starter = Command::new(jail::OWN);
            starter.arg(SUBCOMMAND).stdin(Stdio::from(theirs));
            Ok((starter, Some(line)))
        }
        #[cfg(target_os = "macos")]
        {
            let mut starter =
                Command::new(if self.support.files { Path::new(profile::PROGRAM) } else { program });
            if self.support.files {
                starter.arg("-p").arg(profile::of(self, write)).arg(program);
            }
            starter.args(command.argv.iter().skip(1)).stdin(Stdio::null());
            Ok((starter, None))
        }
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        {
            let _ = write;
            let mut starter = Command::new(program);
            starter.args(command.argv.iter().skip(1)).stdin(Stdio::null());
            Ok((starter, None))
        }
    }

    /// Makes the way to a helper that runs `program` with `arguments`, the first of which is its own name.
    #[cfg(target_os = "linux")]
    fn line(&self, program: &Path, arguments: &[String], write: &[&Path]) -> io::Result<(Line, OwnedFd)> {
        let order = Order {
            program: program.to_owned(),
            arguments: arguments.to_vec(),
            support: self.support,
            network: self.network,
            read: self.places.read.clone(),
            write: write.iter().map(|path| (*path).to_owned()).chain(self.places.write.clone()).collect(),
            memory: self.memory,
            processes: self.processes,
        };
        let (mut ours, theirs) = UnixStream::pair()?;
        let text = serde_json::to_vec(&order)?;
        // More than fits into the socket would wait for a reader that has not been started yet.
        ours.set_nonblocking(true)?;
        // Once for each of its two stages.
        for _ in 0..2 {
            write_message(&mut ours, &text)?;
        }
        Ok((Line { ours }, theirs.into()))
    }
}

impl Line {
    /// Returns what the helper said; nothing if it was ended before it could say anything.
    pub(super) fn said(&mut self) -> Option<Said> {
        serde_json::from_slice(&read_message(&mut self.ours).ok()?).ok()
    }
}

fn write_message(stream: &mut impl io::Write, text: &[u8]) -> io::Result<()> {
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    stream.write_all(&length.to_le_bytes())?;
    stream.write_all(text)
}

fn read_message(stream: &mut impl io::Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut text = Vec::new();
    stream.take(u32::from_le_bytes(length).into()).read_to_end(&mut text)?;
    Ok(text)
}
