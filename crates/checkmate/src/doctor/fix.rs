//! What `--fix` may do: nothing of it touches code, keys or a configuration that is there.

use std::path::PathBuf;

use super::locks;
use crate::config::detect;

/// A safe way to mend something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// Write a first configuration.
    WriteConfiguration {
        /// The repository's root.
        root: PathBuf,
        /// The file, which is not there.
        path: PathBuf,
    },
    /// Remove a lock that a git process left behind.
    RemoveLock {
        /// The lock.
        lock: locks::Lock,
    },
    /// Make the folder of runs.
    MakeFolder {
        /// The folder.
        path: PathBuf,
    },
}

impl Fix {
    /// Asks whether to do it.
    pub fn question(&self) -> String {
        match self {
            Fix::WriteConfiguration { path, .. } => {
                format!("Write a configuration for this repository to {}?", path.display())
            }
            Fix::RemoveLock { lock } => format!("Remove {}?", lock.path.display()),
            Fix::MakeFolder { path } => format!("Make the folder {}?", path.display()),
        }
    }

    /// Does it, and says so; an error says why not.
    pub fn apply(&self) -> Result<String, String> {
        let failed = |what: &str, path: &PathBuf, error: &std::io::Error| {
            format!("{} could not be {what}: {error}.", path.display())
        };
        match self {
            Fix::WriteConfiguration { root, path } => {
                let detected = detect::write(root, path).map_err(|error| failed("written", path, &error))?;
                let findings = detected.findings.join(" ");
                Ok(format!("Wrote {}. {findings}", path.display()))
            }
            Fix::RemoveLock { lock } => {
                // Somebody may have come since it was looked at.
                if !lock.is_still_stale() {
                    return Err(format!("{} is in use again and stays.", lock.path.display()));
                }
                std::fs::remove_file(&lock.path).map_err(|error| failed("removed", &lock.path, &error))?;
                Ok(format!("Removed {}.", lock.path.display()))
            }
            Fix::MakeFolder { path } => {
                std::fs::create_dir_all(path).map_err(|error| failed("made", path, &error))?;
                Ok(format!("Made {}.", path.display()))
            }
        }
    }
}
