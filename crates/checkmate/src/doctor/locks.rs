//! Did a git process leave a lock behind?
//!
//! Git makes `X.lock` before it writes `X`, and whoever finds the lock gives up. A process that was killed leaves it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Finding, Fix, Subject};

const CHECK: &str = "locks";
/// A lock that is younger may belong to a process that cannot be seen.
const STALE: Duration = Duration::from_secs(10 * 60);
/// How many folders of refs are looked into.
const MOST_FOLDERS: usize = 2000;

/// A lock of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The file.
    pub(super) path: PathBuf,
    modified: SystemTime,
    /// The repository's root and git directories.
    places: Vec<PathBuf>,
}

/// Who may hold a lock.
enum Holder {
    /// This process works in the repository.
    Process(u32),
    /// No process of git does.
    Nobody,
    /// There is no way to know.
    Unknown,
}

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    let Some(project) = &subject.project else {
        return vec![Finding::skipped(CHECK, "Not looked at: there is no usable repository.")];
    };
    let repository = &project.repository;
    let (own, common) = (repository.git_dir(), repository.common_dir());
    let places = vec![repository.root().to_owned(), own.to_owned(), common.to_owned()];
    let named = ["index", "HEAD", "config.worktree"].map(|name| own.join(format!("{name}.lock")));
    let shared = ["config", "packed-refs", "shallow", "HEAD"].map(|name| common.join(format!("{name}.lock")));
    let mut paths: Vec<PathBuf> = named.into_iter().chain(shared).collect();
    paths.extend(below(&common.join("refs")));
    paths.sort();
    paths.dedup();
    let locks = paths.into_iter().filter_map(|path| {
        let modified = path.symlink_metadata().ok()?.modified().ok()?;
        Some(Lock { path, modified, places: places.clone() })
    });
    let found: Vec<Finding> = locks.map(finding).collect();
    if found.is_empty() {
        return vec![Finding::ok(CHECK, "No git process has left a lock behind.")];
    }
    found
}

fn finding(lock: Lock) -> Finding {
    let path = lock.path.display().to_string();
    let age = ago(lock.age());
    let finding = match lock.holder() {
        Holder::Process(id) => Finding::warn(
            CHECK,
            format!("A git process is at work ({id}): {path} is {age} old."),
            "Wait for it to end; nothing can be landed before.",
        ),
        Holder::Nobody if lock.age() >= STALE => Finding::fail(
            CHECK,
            format!("A git process left {path} behind {age} ago; no git process works here now."),
            format!("Remove it: `rm '{path}'`, or `checkmate doctor --fix`."),
        )
        .mended_by(Fix::RemoveLock { lock }),
        Holder::Nobody => Finding::warn(
            CHECK,
            format!("{path} is {age} old, and no git process seems to work here."),
            format!("Wait some minutes, then run this again, or remove it yourself: `rm '{path}'`."),
        ),
        Holder::Unknown => Finding::warn(
            CHECK,
            format!("{path} is {age} old; whether a git process holds it cannot be seen on this machine."),
            format!("Make sure that no git runs in this repository, then remove it: `rm '{path}'`."),
        ),
    };
    finding.about(path)
}

impl Lock {
    fn age(&self) -> Duration {
        SystemTime::now().duration_since(self.modified).unwrap_or_default()
    }

    /// Tells whether it is the same lock as before and nobody holds it.
    pub(super) fn is_still_stale(&self) -> bool {
        let now = self.path.symlink_metadata().and_then(|metadata| metadata.modified());
        now.is_ok_and(|modified| modified == self.modified)
            && self.age() >= STALE
            && matches!(self.holder(), Holder::Nobody)
    }

    /// Looks for processes of git that work in the repository, or have the lock open.
    #[cfg(target_os = "linux")]
    fn holder(&self) -> Holder {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Holder::Unknown };
        let mut holder = Holder::Nobody;
        for entry in entries.flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let process = entry.path();
            let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
            let descriptors = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
            let holds = descriptors
                .filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok())
                .any(|target| target == self.path);
            if holds {
                return Holder::Process(id);
            }
            if name.trim() != "git" && !name.starts_with("git-") {
                continue;
            }
            match std::fs::read_link(process.join("cwd")) {
                Ok(at) if self.places.iter().any(|place| at.starts_with(place)) => {
                    return Holder::Process(id);
                }
                Ok(_) => {}
                // A process of somebody else; one that is over has no folder any more.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    holder = Holder::Unknown
                }
                Err(_) => {}
            }
        }
        holder
    }

    #[cfg(not(target_os = "linux"))]
    fn holder(&self) -> Holder {
        Holder::Unknown
    }
}

/// Returns the locks below a folder of refs. A link is not followed: where it leads, a `.lock` is somebody else's.
fn below(folder: &Path) -> Vec<PathBuf> {
    if !folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Vec::new();
    }
    let (mut folders, mut locks, mut seen) = (vec![folder.to_owned()], Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        seen += 1;
        if seen > MOST_FOLDERS {
            break;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "lock") {
                locks.push(path);
            }
        }
    }
    locks
}

fn ago(age: Duration) -> String {
    let (count, unit) = match age.as_secs() {
        seconds @ 0..120 => (seconds, "second"),
        seconds @ 120..7200 => (seconds / 60, "minute"),
        seconds @ 7200..172_800 => (seconds / 3600, "hour"),
        seconds => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn locks_are_not_looked_for_behind_links() {
        let folder = tempfile::tempdir().unwrap();
        let (refs, elsewhere) = (folder.path().join("refs"), folder.path().join("elsewhere"));
        for made in [&refs, &elsewhere] {
            std::fs::create_dir(made).unwrap();
            std::fs::write(made.join("a.lock"), "").unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, refs.join("heads")).unwrap();
        assert_eq!(below(&refs), [refs.join("a.lock")]);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        assert!(below(&link).is_empty());
    }

    #[test]
    fn ages_are_said_in_the_unit_that_fits() {
        for (seconds, said) in [
            (1, "1 second"),
            (119, "119 seconds"),
            (600, "10 minutes"),
            (9000, "2 hours"),
            (400_000, "4 days"),
        ] {
            assert_eq!(ago(Duration::from_secs(seconds)), said);
        }
    }
}
