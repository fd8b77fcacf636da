//! The command line: one file per subcommand.

mod apply;
mod budget;
mod config;
mod demo;
mod doctor;
mod driving;
mod init;
mod land;
mod replay;
mod resume;
mod run;
mod runs;
mod serve;
mod show;
mod undo;
mod verify;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::CommandError;
use crate::exit_code;
use crate::session::Project;

/// Puts AI-written code through adversarial review and lets evidence decide.
///
/// Exit codes: 0 approved or done, 2 not approved, 1 an error, 64 a wrong command line, 130 interrupted and resumable.
#[derive(Debug, Parser)]
#[command(name = "checkmate", version, max_term_width = 100, disable_help_subcommand = true)]
struct Cli {
    /// The repository to work on (default: the one that contains the current directory)
    #[arg(long, global = true, value_name = "DIR")]
    repo: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

pub(crate) use self::config::settings;

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Demo(demo::Args),
    Init(init::Args),
    Doctor(doctor::Args),
    Config(config::Args),
    Resume(resume::Args),
    Land(land::Args),
    Undo(undo::Args),
    Runs(runs::Args),
    Show(show::Args),
    Replay(replay::Args),
    Verify(verify::Args),
    Apply(apply::Args),
    Serve(serve::Args),
}

/// Where a command works.
#[derive(Debug, Clone)]
struct Place {
    repo: Option<PathBuf>,
}

impl Place {
    /// Returns the folder that `--repo` names, or the current one.
    fn directory(&self) -> Result<PathBuf, CommandError> {
        match &self.repo {
            Some(repo) if !repo.is_dir() => {
                Err(CommandError::usage(format!("`--repo {}` is not a folder.", repo.display())))
            }
            Some(repo) => Ok(repo.clone()),
            None => std::env::current_dir().map_err(|error| {
                CommandError::local(format!("The current directory cannot be used: {error}."))
            }),
        }
    }

    /// Finds the repository and its runs.
    fn project(&self) -> Result<Project, CommandError> {
        Project::discover(&self.directory()?)
    }
}

/// Runs the program; everything it can say about failing is a sentence on standard error and an exit code.
pub fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = crate::process::confine::helper() {
        return code;
    }
    // Commands run as the same user, and the keys are in this process's environment: keep it from being read there.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let wrong = error.use_stderr();
            error.print().ok();
            return ExitCode::from(if wrong { exit_code::USAGE } else { exit_code::DONE });
        }
    };
    let place = Place { repo: cli.repo };
    let result = match cli.command {
        Command::Run(args) => run::main(&place, &args),
        Command::Demo(args) => demo::main(&args),
        Command::Init(args) => init::main(&place, &args),
        Command::Doctor(args) => doctor::main(&place, &args),
        Command::Config(args) => config::main(&place, &args),
        Command::Resume(args) => resume::main(&place, &args),
        Command::Land(args) => land::main(&place, &args),
        Command::Undo(args) => undo::main(&place, &args),
        Command::Runs(args) => runs::main(&place, &args),
        Command::Show(args) => show::main(&place, &args),
        Command::Replay(args) => replay::main(&place, &args),
        Command::Verify(args) => verify::main(&place, &args),
        Command::Apply(args) => apply::main(&place, &args),
        Command::Serve(args) => serve::main(&place, &args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            anstream::eprintln!("checkmate: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Reads a file that the command line names.
fn read(what: &str, path: &Path) -> Result<String, CommandError> {
    std::fs::read_to_string(path).map_err(|error| {
        CommandError::usage(format!("The {what} {} cannot be read: {error}.", path.display()))
    })
}

/// Writes data to standard output. A reader that has gone away (`| head`) is no error.
fn print(text: &str) {
    use std::io::Write as _;

    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).ok();
}
