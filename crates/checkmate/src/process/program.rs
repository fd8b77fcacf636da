//! Finds the program of a command, and says in words why one cannot be started.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use checkmate_machine::command::CommandLine;
use rustix::fs::{Access, access};
use rustix::io::Errno;

/// Returns the file to start: `argv[0]` looked up on `PATH`, or, if it is a path, seen from `directory`.
pub(super) fn resolve(argv: &[String], directory: &Path, path: Option<&OsString>) -> Result<PathBuf, String> {
    let Some(name) = argv.first().filter(|name| !name.is_empty()) else {
        return Err("the command names no program".to_owned());
    };
    if name.contains('/') {
        let file = directory.join(name);
        if !file.exists() {
            return Err(format!("there is no file `{name}` in {}", directory.display()));
        }
        return if is_executable(&file) {
            Ok(file)
        } else {
            Err(format!("the file `{name}` is not executable"))
        };
    }
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let files: Vec<PathBuf> =
        folders.map(|folder| directory.join(folder).join(name)).filter(|file| file.is_file()).collect();
    match files.iter().find(|file| is_executable(file)) {
        Some(file) => Ok(file.clone()),
        None => Err(match files.first() {
            Some(file) => format!("the file {} is not executable", file.display()),
            None => format!("there is no program `{name}` on PATH"),
        }),
    }
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

/// Returns a fragment that says why the operating system refused a program that is there.
pub(super) fn not_started(error: &io::Error, program: &Path, command: &CommandLine) -> String {
    let name = command.argv.first().map_or("", String::as_str);
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => {
            format!("the interpreter that the first line of {} names does not exist", program.display())
        }
        Some(Errno::ACCESS) => format!("the permission to execute `{name}` is missing"),
        Some(Errno::TOOBIG) => "its arguments and environment are longer than the system allows".to_owned(),
        Some(Errno::NOEXEC) => {
            format!(
                "the file {} is neither a program for this machine nor a script with a `#!` line",
                program.display()
            )
        }
        Some(Errno::NOMEM | Errno::AGAIN) => "the system has no memory or process left for it".to_owned(),
        Some(_) | None => format!("the system says: {error}"),
    }
}
