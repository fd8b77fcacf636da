//! Process groups: making sure that nothing of a command is left.
//!
//! A process can leave its group (`setsid`), but it takes its environment along. Every command's `TMPDIR` is a
//! directory of its own (its *room*), so on Linux whatever has that path in its environment belongs to the command.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, waitid};

/// How the room of every command in a scratch directory is called.
pub(super) const ROOM_PREFIX: &str = "command-";
/// How the names of the folders for their temporary files begin.
const TEMPORARY_PREFIX: &str = "checkmate-tmp-";
/// The file in a room that says where that folder is.
const TEMPORARY_NOTE: &str = "temporary";
/// The directory in the scratch directory with one file per running group.
const RECORDS: &str = "processes";
/// How long a killed group may take to vanish; one that waits for a broken disk never does.
const VANISHING: Duration = Duration::from_secs(2);
/// How long to wait for a group whose members cannot be seen, or that nobody waits for any more.
const BLIND_GRACE: Duration = Duration::from_millis(100);

/// The process group of one command; its leader is the process that was started.
pub(super) struct Group {
    leader: Pid,
    marker: Vec<u8>,
    record: PathBuf,
}

impl Group {
    /// Notes the group in the scratch directory, so that a later Checkmate can end what this one could not.
    pub(super) fn record(child: &Child, scratch: &Path, room: &Path) -> Self {
        let leader = Pid::from_child(child);
        let records = scratch.join(RECORDS);
        let record = records.join(leader.as_raw_pid().to_string());
        // Without the note, leftovers are still found by their environment.
        let _ = fs::create_dir_all(&records);
        let _ = fs::write(&record, birth(leader).unwrap_or_default());
        Self { leader, marker: room.as_os_str().as_bytes().to_vec(), record }
    }

    /// Returns whether the leader has ended. It stays a zombie, so the group's number is not given to anybody else.
    pub(super) fn leader_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.leader), options) {
            Ok(status) => status.is_some(),
            Err(error) => error != rustix::io::Errno::INTR,
        }
    }

    /// Ends everything of the command; `meanwhile` is called while waiting, and tells whether there is time to wait.
    pub(super) fn end(&self, grace: Duration, meanwhile: impl FnMut() -> bool) {
        end(Some(self.leader), &self.marker, grace, meanwhile);
    }

    /// Removes the note; to be called when nothing is left.
    pub(super) fn forget(&self) {
        let _ = fs::remove_file(&self.record);
    }
}

/// Ends what a killed Checkmate left running in this run, and removes what it left in the scratch directory.
///
/// To be called before a run is resumed, while no command of the run is running.
pub fn kill_leftovers(scratch: &Path) {
    let Ok(scratch) = scratch.canonicalize() else { return };
    let wait = || {
        std::thread::sleep(Duration::from_millis(10));
        true
    };
    for record in entries(&scratch.join(RECORDS)) {
        let leader = record.file_name().and_then(OsStr::to_str).and_then(|pid| pid.parse().ok());
        let leader = leader.and_then(Pid::from_raw).filter(|pid| is_left(*pid, &record));
        if let Some(leader) = leader {
            end(Some(leader), &[], BLIND_GRACE, wait);
        }
        let _ = fs::remove_file(record);
    }
    let rooms = scratch.join(ROOM_PREFIX);
    end(None, rooms.as_os_str().as_bytes(), BLIND_GRACE, wait);
    for room in entries(&scratch) {
        if room.file_name().is_some_and(|name| name.as_bytes().starts_with(ROOM_PREFIX.as_bytes())) {
            remove_temporary(&room);
            let _ = fs::remove_dir_all(room);
        }
    }
}

/// Makes a folder for the temporary files of a command, and notes in its room where it is.
///
/// It lies in the system's own temporary folder, because the state folder's paths are too long for the sockets that
/// tests make: 108 bytes on Linux.
pub(super) fn temporary(room: &Path) -> io::Result<tempfile::TempDir> {
    let temporary = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempdir()?;
    fs::write(room.join(TEMPORARY_NOTE), temporary.path().as_os_str().as_bytes())?;
    Ok(temporary)
}

/// Removes the temporary folder of a room that was left. The command could write the note, so only what can be such a
/// folder is removed.
fn remove_temporary(room: &Path) {
    let Ok(note) = fs::read(room.join(TEMPORARY_NOTE)) else { return };
    let path = Path::new(OsStr::from_bytes(&note));
    let name = path.file_name().unwrap_or_default();
    let is_ours = path.parent() == Some(&std::env::temp_dir())
        && name.as_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
        && path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if is_ours {
        let _ = fs::remove_dir_all(path);
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}

/// Returns whether a recorded group is still the same one.
///
/// If its leader is gone, the number can only belong to what the leader left in its group.
fn is_left(leader: Pid, record: &Path) -> bool {
    let noted = fs::read_to_string(record).unwrap_or_default();
    let boot = noted.split(' ').next().unwrap_or("");
    match birth(leader) {
        Some(now) => now == noted,
        None => !boot.is_empty() && boot == boot_id(),
    }
}

/// Asks everything to end, and after `grace` makes it end.
fn end(leader: Option<Pid>, marker: &[u8], grace: Duration, mut meanwhile: impl FnMut() -> bool) {
    for (signal, patience) in [(Signal::TERM, grace), (Signal::KILL, VANISHING)] {
        let since = Instant::now();
        let mut signalled = false;
        loop {
            let alive = survivors(leader, marker);
            if alive.as_ref().is_some_and(Vec::is_empty) {
                return;
            }
            // What is forked while we look is met in the next round.
            if !signalled || signal == Signal::KILL {
                send(leader, alive.as_deref().unwrap_or(&[]), signal);
                signalled = true;
            }
            let patience = if alive.is_none() { patience.min(BLIND_GRACE) } else { patience };
            if since.elapsed() >= patience {
                break;
            }
            if !meanwhile() && signal == Signal::TERM {
                break;
            }
        }
    }
}

fn send(leader: Option<Pid>, others: &[Pid], signal: Signal) {
    if let Some(leader) = leader {
        let _ = kill_process_group(leader, signal);
    }
    for pid in others {
        let _ = kill_process(*pid, signal);
    }
}

/// Returns the living processes of a group, and those with `marker` in their environment unless it is empty.
///
/// `None` where the system does not show its processes as files.
fn survivors(leader: Option<Pid>, marker: &[u8]) -> Option<Vec<Pid>> {
    let own = getpid();
    let mut alive = Vec::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        let Some(pid) = pid.filter(|pid| *pid != own) else { continue };
        let Some(stat) = stat(pid).filter(|stat| !matches!(stat.state, 'Z' | 'X')) else { continue };
        let member = leader.is_some_and(|leader| stat.group == leader.as_raw_pid());
        if member || (!marker.is_empty() && has_marker(pid, marker)) {
            alive.push(pid);
        }
    }
    // Without our own entry this is no process file system.
    Path::new("/proc/self/stat").exists().then_some(alive)
}

fn has_marker(pid: Pid, marker: &[u8]) -> bool {
    // Unreadable for the processes of others, which cannot be ours.
    let environment: io::Result<Vec<u8>> = fs::read(format!("/proc/{}/environ", pid.as_raw_pid()));
    environment.is_ok_and(|text| text.windows(marker.len()).any(|window| window == marker))
}

/// What the system says of a process.
struct Stat {
    state: char,
    group: i32,
    started: String,
}

fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    // The second field is the program's name in parentheses; it may hold spaces and parentheses itself.
    let (_, fields) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        group: fields.get(2)?.parse().ok()?,
        started: (*fields.get(19)?).to_owned(),
    })
}

/// Returns what tells a process from every other that has the same number before or after it.
fn birth(pid: Pid) -> Option<String> {
    Some(format!("{} {}", boot_id(), stat(pid)?.started))
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}
