//! Where runs are kept: outside of every repository, in the user's state folder.
//!
//! ```text
//! $XDG_STATE_HOME/checkmate/repos/KEY/runs/RUN/   KEY names the repository, RUN the run
//!     journal.jsonl   what happened
//!     lock            held by the one who drives the run
//!     script.json     the scripted agents, if it has any
//!     scratch/        temporary folders of commands
//!     tree/ …         the workspace's own files
//! $XDG_STATE_HOME/checkmate/baselines/KEY.json    a green test run of an unchanged tree; KEY names what it depends on
//! $XDG_STATE_HOME/checkmate/applies/KEY.json      a patch that `checkmate apply` is writing to the folder KEY
//! ```

use std::path::{Path, PathBuf};

use checkmate_machine::ids::RunId;

use crate::error::CommandError;

/// The journal's name in a run's folder; a run exists once it is there.
pub const JOURNAL: &str = "journal.jsonl";

/// Finds the folder of everything that Checkmate keeps.
pub fn folder() -> Result<PathBuf, CommandError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local").join("state")))
        .ok_or_else(|| {
            CommandError::configuration(
                "Neither XDG_STATE_HOME nor HOME is set to an absolute path, so there is no place to keep runs. Set \
                 one of them.",
            )
        })?;
    Ok(state.join("checkmate"))
}

/// Makes a folder, and those above it. Nobody else of this machine may look into what Checkmate keeps: journals and the index
/// hold what was asked, what agents said, and files.
pub fn make(folder_inside: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    if let Ok(top) = folder()
        && folder_inside.starts_with(&top)
    {
        match std::fs::metadata(&top) {
            Ok(metadata) if metadata.permissions().mode() & 0o077 == 0 => {}
            // On a file system without permissions nothing can be done.
            Ok(_) => drop(std::fs::set_permissions(&top, std::fs::Permissions::from_mode(0o700))),
            // What is in the way is told below, and somebody else may make it meanwhile.
            Err(_) => {
                top.parent().map(std::fs::create_dir_all);
                std::fs::DirBuilder::new().mode(0o700).create(&top).ok();
            }
        }
    }
    std::fs::create_dir_all(folder_inside)
}

/// Finds the folder with the notes of patches that are being written to folders.
pub fn applies() -> Result<PathBuf, CommandError> {
    Ok(folder()?.join("applies"))
}

/// The folder that holds the runs of one repository.
#[derive(Debug, Clone)]
pub struct RunsFolder {
    path: PathBuf,
    pool: PathBuf,
    baselines: PathBuf,
}

impl RunsFolder {
    /// Finds the folder by the environment: `$XDG_STATE_HOME`, else `$HOME/.local/state`.
    pub fn of(repository_key: &str) -> Result<Self, CommandError> {
        let state = folder()?;
        Ok(Self {
            path: state.join("repos").join(repository_key).join("runs"),
            pool: state.join("repos").join(repository_key).join("pool"),
            baselines: state.join("baselines"),
        })
    }

    /// Keeps runs in a folder of its own, and what later runs need beside it.
    pub fn at(path: PathBuf) -> Self {
        let (pool, baselines) = (path.with_extension("pool"), path.with_extension("baselines"));
        Self { path, pool, baselines }
    }

    /// Returns the folder of the runs; it need not exist.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of kept test runs; it need not exist.
    pub fn baselines(&self) -> PathBuf {
        self.baselines.clone()
    }

    /// Returns the folder of files that wait for the next run; it need not exist.
    pub fn pool(&self) -> PathBuf {
        self.pool.clone()
    }

    /// Returns a run's folder; it need not exist.
    pub fn run(&self, run: &RunId) -> PathBuf {
        self.path.join(run.as_str())
    }

    /// Returns every run, oldest first: their names begin with their date.
    pub fn list(&self) -> Result<Vec<RunId>, CommandError> {
        let entries = match std::fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(&self.path, &error)),
        };
        let mut runs = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&self.path, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().join(JOURNAL).is_file() {
                runs.push(RunId::new(name));
            }
        }
        runs.sort();
        Ok(runs)
    }

    /// Finds a run by its name, a unique part of it, or `latest`.
    pub fn find(&self, wanted: &str) -> Result<RunId, CommandError> {
        let runs = self.list()?;
        let Some(latest) = runs.last() else {
            return Err(CommandError::usage(
                "This repository has no runs yet. Start one with `checkmate run \"GOAL\"`.",
            ));
        };
        if wanted == "latest" {
            return Ok(latest.clone());
        }
        let matching: Vec<&RunId> = match runs.iter().find(|run| run.as_str() == wanted) {
            Some(exact) => vec![exact],
            None => runs.iter().filter(|run| run.as_str().contains(wanted)).collect(),
        };
        match matching.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(CommandError::usage(format!(
                "There is no run `{wanted}` in this repository. `checkmate runs` lists them; the latest is {latest}."
            ))),
            several => Err(CommandError::usage(format!(
                "`{wanted}` could be any of these runs: {}. Give more of the name.",
                several.iter().map(|run| run.as_str()).collect::<Vec<_>>().join(", ")
            ))),
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::local(format!(
        "The folder of the runs, {}, cannot be read: {error}. Check its permissions.",
        path.display()
    ))
}

/// Makes a name for a new run: its time, to about a millisecond, and two random characters. Names sort by age.
pub fn new_run_id() -> RunId {
    run_id(jiff::Timestamp::now(), fastrand::u32(..1024))
}

/// The last four characters are two digits of base 32 for the part of the second, and two for `random` below 1024.
fn run_id(at: jiff::Timestamp, random: u32) -> RunId {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let time = at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y%m%d-%H%M%S").to_string();
    let parts = at.subsec_nanosecond().unsigned_abs() / 976_563;
    let digits = [parts / 32, parts % 32, random / 32 % 32, random % 32];
    let tail: String = digits.iter().map(|digit| char::from(LETTERS[*digit as usize % 32])).collect();
    RunId::new(format!("{time}-{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_runs_sort_by_age_also_within_a_second() {
        let start: jiff::Timestamp = "2026-11-21T23:53:05Z".parse().unwrap();
        let at = |ms: i64| start + jiff::SignedDuration::from_millis(ms);
        let ids = [at(0), at(2), at(500), at(999), at(1000)].map(|at| run_id(at, 1023));
        assert_eq!(ids[0].as_str(), "20261121-235305-00zz");
        assert_eq!(ids[3].as_str(), "20261121-235305-zyzz");
        let mut sorted = ids.clone();
        sorted.sort();
        assert_eq!(sorted, ids);
        assert!(run_id(at(2), 0) > run_id(at(0), 1023));
    }
}
