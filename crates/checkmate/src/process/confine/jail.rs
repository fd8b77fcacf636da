//! Gives up rights, stage by stage, and starts the command.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change};
use rustix::process::{Pid, Resource, Rlimit, WaitOptions, setrlimit, setsid, wait};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, set_capabilities,
};

use super::{Order, SUBCOMMAND, Said, Support, filter, loopback, read_message, write_message};

/// The program itself, whatever became of its file since it was started.
pub(super) const OWN: &str = "/proc/self/exe";
/// The second stage.
const INNER: &str = "inner";
/// Tells what is possible, and starts nothing.
const PROBE: &str = "probe";
/// The newest rules of Landlock that are made use of; an older kernel does what it can.
const RULES: ABI = ABI::V6;
/// Folders that every command has for itself.
const PRIVATE: [&str; 2] = ["/tmp", "/dev/shm"];
/// Devices that may be written.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];
/// How deep `/run` is searched for sockets of services.
const DEPTH: usize = 3;

/// Finds out what this machine can do, by doing it in a process of its own.
pub(crate) fn support() -> Support {
    let mut probe = Command::new(OWN);
    probe.args([SUBCOMMAND, PROBE]).stdin(Stdio::null()).stderr(Stdio::null());
    let told = probe.output();
    told.ok().and_then(|told| serde_json::from_slice(&told.stdout).ok()).unwrap_or_default()
}

/// Does what the hidden subcommand is for.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    match arguments.first().map(String::as_str) {
        Some(PROBE) => probe(arguments.get(1).map(String::as_str)),
        Some(INNER) => inner(),
        Some(_) | None => outer(),
    }
}

/// Tells what is possible. Each part is tried in a process of its own, because none can be taken back.
fn probe(part: Option<&str>) -> ExitCode {
    let tried = |part: &str| {
        let mut command = Command::new(OWN);
        command
            .args([SUBCOMMAND, PROBE, part])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    // A private `/tmp` would cover where this was started.
    std::env::set_current_dir("/").ok();
    let possible = match part {
        Some("namespaces") => unshare(false).is_ok() && tried("inside"),
        Some("inside") => private(&BTreeSet::new()).is_ok() && loopback::up().is_ok(),
        Some("files") => landlock(&[PathBuf::from("/")], &[]).is_ok(),
        Some("calls") => filter::apply().is_ok(),
        Some(_) | None => {
            let support =
                Support { namespaces: tried("namespaces"), files: tried("files"), calls: tried("calls") };
            let text = serde_json::to_vec(&support).unwrap_or_default();
            io::Write::write_all(&mut io::stdout(), &text).is_ok()
        }
    };
    if possible { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the way to whoever started this.
fn line() -> io::Result<UnixStream> {
    let line: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let line = UnixStream::from(line);
    line.set_nonblocking(false)?;
    Ok(line)
}

fn order(line: &mut UnixStream) -> io::Result<Order> {
    serde_json::from_slice(&read_message(line)?).map_err(io::Error::other)
}

/// Says why the command does not run.
fn refuse(line: &mut UnixStream, what: &str, error: &io::Error) -> ExitCode {
    say(line, &Said::NotStarted(format!("it could not be confined: {what}: {error}"), None))
}

fn say(line: &mut UnixStream, said: &Said) -> ExitCode {
    let told = serde_json::to_vec(said).map(|text| write_message(line, &text));
    if matches!(told, Ok(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The first stage: a session and namespaces of its own.
fn outer() -> ExitCode {
    let Ok(mut line) = line() else { return ExitCode::FAILURE };
    let order = match order(&mut line) {
        Ok(order) => order,
        Err(error) => return refuse(&mut line, "the order could not be read", &error),
    };
    if !order.support.namespaces {
        return inner();
    }
    if let Err(error) = unshare(order.network) {
        return refuse(&mut line, "namespaces", &error);
    }
    let mut next = Command::new(OWN);
    next.args([SUBCOMMAND, INNER]);
    match next.status() {
        // It has said what there is to say.
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => refuse(&mut line, "the second stage", &error),
    }
}

/// Moves into namespaces of its own, in which the user is who they are outside; what is started next is their first
/// process.
fn unshare(network: bool) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWPID | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    if !network {
        flags |= UnshareFlags::NEWNET;
    }
    #[expect(unsafe_code, reason = "only FILES could hurt other threads, and this process has one thread")]
    // SAFETY: `UnshareFlags::FILES` is not among the flags.
    unsafe {
        rustix::thread::unshare_unsafe(flags)?;
    }
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    keep_for_the_next_stage()
}

/// Keeps the rights in the new namespaces that the second stage needs: whoever is not root there loses all of them when
/// a program is started.
fn keep_for_the_next_stage() -> io::Result<()> {
    let needed = [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN];
    let mut sets = capabilities(None)?;
    sets.inheritable = needed.into_iter().collect();
    set_capabilities(None, sets)?;
    for right in needed {
        configure_capability_in_ambient_set(right, true)?;
    }
    Ok(())
}

/// The second stage: everything else, and then the command.
fn inner() -> ExitCode {
    let Ok(mut line) = line() else { return ExitCode::FAILURE };
    let order = match order(&mut line) {
        Ok(order) => order,
        Err(error) => return refuse(&mut line, "the order could not be read", &error),
    };
    if let Err((what, error)) = give_up(&order) {
        return refuse(&mut line, what, &error);
    }
    // Without a terminal that words could be put into; the leader of a group keeps it, but may not do that either.
    setsid().ok();
    let mut command = Command::new(&order.program);
    if let Some((name, arguments)) = order.arguments.split_first() {
        command.arg0(name).args(arguments);
    }
    let child = match command.stdin(Stdio::null()).spawn() {
        Ok(child) => child,
        Err(error) => {
            return say(&mut line, &Said::NotStarted(error.to_string(), error.raw_os_error()));
        }
    };
    let said = until_end(Pid::from_child(&child));
    say(&mut line, &said)
}

/// Waits for the command, and for whatever is left to the first process of a namespace in the meantime.
fn until_end(child: Pid) -> Said {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => {
                let status = std::process::ExitStatus::from_raw(status.as_raw());
                return status
                    .code()
                    .map_or_else(|| Said::Killed(status.signal().unwrap_or(0)), Said::Exited);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Said::NotStarted(format!("its end could not be seen: {error}"), None),
        }
    }
}

/// Gives up every right that the command shall not have; what the machine cannot do was said before.
fn give_up(order: &Order) -> Result<(), (&'static str, io::Error)> {
    if order.support.namespaces {
        let kept: BTreeSet<&Path> = order.read.iter().chain(&order.write).map(PathBuf::as_path).collect();
        private(&kept).map_err(|error| ("folders of its own", error))?;
        if !order.network {
            loopback::up().map_err(|error| ("loopback", error))?;
        }
        // The command does not inherit what this stage was lent.
        clear_ambient_capability_set().map_err(|error| ("rights", error.into()))?;
    }
    limits(order).map_err(|error| ("limits", error))?;
    if order.support.files {
        let mut write = order.write.clone();
        write.extend(DEVICES.map(PathBuf::from));
        if order.support.namespaces {
            write.extend(PRIVATE.map(PathBuf::from));
        }
        landlock(&order.read, &write).map_err(|error| ("files", error))?;
    }
    if order.support.calls {
        filter::apply().map_err(|error| ("system calls", error))?;
    }
    Ok(())
}

fn limits(order: &Order) -> io::Result<()> {
    let both = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::Core, both(0))?;
    // What a process really has: address space is reserved freely by runtimes that use little of it.
    if let Some(memory) = order.memory {
        setrlimit(Resource::Data, both(memory))?;
    }
    if let Some(processes) = order.processes {
        setrlimit(Resource::Nproc, both(processes))?;
    }
    Ok(())
}

/// Makes `/tmp` and `/dev/shm` private, with only `kept` in them as before, and hides sockets of services.
fn private(kept: &BTreeSet<&Path>) -> io::Result<()> {
    let here = std::env::current_dir();
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // Where the view of processes cannot be replaced, the old one shows nothing that may be opened.
    mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None).ok();
    for folder in PRIVATE.iter().map(Path::new).filter(|folder| folder.is_dir()) {
        let inside = kept.iter().filter(|path| path.starts_with(folder) && **path != folder);
        let mut held: Vec<(&Path, OwnedFd)> = Vec::new();
        for path in inside {
            // What lies in a folder that is kept comes with it.
            if held.iter().any(|(above, _)| path.starts_with(above)) {
                continue;
            }
            if let Ok(open) = rustix::fs::open(*path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
                held.push((path, open));
            }
        }
        mount("tmpfs", folder, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(c"mode=1777"))?;
        for (path, open) in held {
            let source = format!("/proc/self/fd/{}", open.as_raw_fd());
            if fs::metadata(&source)?.is_dir() {
                fs::create_dir_all(path)?;
            } else {
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                File::create(path)?;
            }
            mount_bind_recursive(&source, path)?;
        }
    }
    hide(Path::new("/run"), DEPTH);
    // The folder of before may lie below what was covered.
    here.and_then(std::env::set_current_dir)
}

/// Puts nothing in the place of every socket below a folder: whoever may talk to a container service may do anything.
fn hide(folder: &Path, depth: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => hide(&entry.path(), depth - 1),
            // One that cannot be covered cannot be reached either, or is gone.
            Ok(kind) if kind.is_socket() => drop(mount_bind_recursive("/dev/null", entry.path())),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Lets files be read and written only where it is said.
fn landlock(read: &[PathBuf], write: &[PathBuf]) -> io::Result<()> {
    let enforce = || -> Result<RulesetStatus, landlock::RulesetError> {
        let status = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            // Of devices only what they may be asked is left out: terminals and dice are asked everything.
            .handle_access(AccessFs::from_all(RULES) & !AccessFs::IoctlDev)?
            .scope(Scope::from_all(RULES))?
            .create()?
            .add_rules(path_beneath_rules(read, AccessFs::from_read(RULES)))?
            .add_rules(path_beneath_rules(write, AccessFs::from_all(RULES) & !AccessFs::IoctlDev))?
            .restrict_self()?;
        Ok(status.ruleset)
    };
    match enforce().map_err(io::Error::other)? {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(io::Error::other("the kernel has no Landlock")),
    }
}
