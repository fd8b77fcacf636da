//! What this machine can do, as it was found out before.
//!
//! To find out takes several processes, which is too much for the start of every run. What everything works on is kept,
//! together with whatever could change it; where something is missing, every run looks again, so that a machine that was
//! put right is seen at once. If it is out of date all the same, commands are refused, never run unconfined.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Support, support};

/// Settings of the kernel that decide what an ordinary user may do.
const SETTINGS: [&str; 6] = [
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_net_namespaces",
    "/proc/self/attr/current",
];
/// What the kernel says of this process that decides it as well.
const FACTS: [&str; 6] = ["Uid:", "Gid:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:"];

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    conditions: String,
    support: Support,
}

/// Returns what this machine can do; `folder` is where it is kept.
pub(crate) fn known_support(folder: &Path) -> Support {
    let file = folder.join("confinement.json");
    let Some(conditions) = conditions() else { return support() };
    let kept = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
    // Only a machine that can do everything is ever kept, so anything else was written by somebody else.
    if let Some(kept) =
        kept.filter(|kept| kept.conditions == conditions && kept.support.gaps(false).is_empty())
    {
        return kept.support;
    }
    let support = support();
    if support.gaps(false).is_empty() {
        keep(&file, &Kept { conditions, support });
    }
    support
}

/// Forgets what is kept, after a command could not be confined as it says.
pub(crate) fn forget_support(folder: &Path) {
    fs::remove_file(folder.join("confinement.json")).ok();
}

/// Describes everything that could change the answer; `None` if it cannot be told.
fn conditions() -> Option<String> {
    let program = fs::metadata("/proc/self/exe").ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let facts = status.lines().filter(|line| FACTS.iter().any(|fact| line.starts_with(fact)));
    let settings = SETTINGS.iter().map(|path| fs::read_to_string(path).unwrap_or_default());
    let program = format!("{} {} {} {}", program.dev(), program.ino(), program.mtime(), program.mtime_nsec());
    let lines: Vec<String> =
        std::iter::once(program).chain(settings).chain(facts.map(str::to_owned)).collect();
    Some(lines.join("\n"))
}

/// Writes it in one step; that it cannot be kept is no fault.
fn keep(file: &Path, kept: &Kept) {
    let Some(folder) = file.parent() else { return };
    let write = || -> std::io::Result<()> {
        crate::state::make(folder)?;
        let new = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&new, kept)?;
        new.persist(file)?;
        Ok(())
    };
    write().ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_counts_as_long_as_nothing_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("confinement.json");
        let all = Support { namespaces: true, files: true, calls: true };
        keep(&file, &Kept { conditions: conditions().unwrap(), support: all });
        assert_eq!(known_support(folder.path()), all);
        forget_support(folder.path());
        assert!(!file.exists());
        // In a test this program is no helper, so nothing is found to work, and that is not kept.
        keep(&file, &Kept { conditions: "another boot".into(), support: all });
        assert_eq!(known_support(folder.path()), Support::default());
        keep(&file, &Kept { conditions: conditions().unwrap(), support: Support { files: false, ..all } });
        assert_eq!(known_support(folder.path()), Support::default());
        fs::write(&file, "{").unwrap();
        assert_eq!(known_support(folder.path()), Support::default());
    }
}
