//! What `run`, `resume` and `land` share: driving a session and saying how it ended.

use std::path::{Path, PathBuf};

use checkmate_machine::event::Command;
use checkmate_machine::ids::{RunId, TaskId};
use checkmate_machine::outcome::Outcome;
use checkmate_machine::run::Run;

use crate::driver::{self, Attendance, Drove};
use crate::error::CommandError;
use crate::exit_code;
use crate::human::Human;
use crate::interrupt::Interrupts;
use crate::journal::{Sandbox, Shell};
use crate::session::{Files, Session, TASK};
use crate::ui::{self, Watcher};

/// How a run is shown.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Output {
    /// Write the result as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write one JSON event per line to standard output
    #[arg(long)]
    pub(super) events: bool,
}

/// Drives a session to its end and returns the exit code.
pub(super) fn drive(
    session: Session,
    human: Human,
    commands: Vec<Command>,
    output: &Output,
) -> Result<u8, CommandError> {
    let id = session.id.clone();
    warn_left_alone(&session.left_alone);
    warn_unconfined(&session.shell);
    let shell = session.shell.clone();
    let files = Files::of(&session);
    let repository = session.workspace.repository().clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        CommandError::local(format!(
            "The program could not be set up: {error}. Close other programs and try again."
        ))
    })?;
    let root = session.workspace.repository().root();
    let project = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned();
    let mut watcher = Watcher::new(id.clone(), &project, output.events);
    let drove = runtime.block_on(async {
        let interrupts = Interrupts::listen().map_err(|error| {
            CommandError::local(format!("Ctrl-C cannot be listened for: {error}. Start Checkmate again."))
        })?;
        driver::drive(session, commands, Attendance { human, watcher: &mut watcher, interrupts }).await
    });
    // A question at the terminal may still wait for a line; the program does not.
    runtime.shutdown_background();
    match reported(output, Some(&id), drove)? {
        Drove::Over(outcome) => {
            if let Some(run) = watcher.finished() {
                watcher.conclude(run, &TaskId::new(TASK), &shell);
                write_summary(output.json.as_deref(), &id, run, &shell)?;
            }
            if !matches!(outcome, Outcome::Error { .. }) {
                // Only the next run would have been faster for it.
                files.give(repository, &id).ok();
            }
            Ok(exit_code(&outcome))
        }
        Drove::Interrupted => {
            if let Some(path) = &output.json {
                write_failure(path, Some(&id), "interrupted", "Interrupted; `checkmate resume` goes on.")?;
            }
            Err(CommandError::interrupted(format!("Interrupted. `checkmate resume {id}` goes on from here.")))
        }
    }
}

/// Tells what commands can do on this machine although they should not.
fn warn_unconfined(shell: &Shell) {
    let gaps = shell.sandbox.as_ref().map(Sandbox::gaps).unwrap_or_default();
    let gaps: Vec<String> =
        gaps.iter().map(|gap| format!("{} (no {})", gap.allows, gap.lacks.name())).collect();
    if !gaps.is_empty() {
        anstream::eprintln!("  · Commands can {} on this machine.", gaps.join(", and "));
    }
}

/// Tells of paths that an interrupted landing did not write.
pub(super) fn warn_left_alone(paths: &[String]) {
    if !paths.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| ui::printable(path)).collect();
        anstream::eprintln!(
            "warning: An interrupted landing was finished, but you had edited {} meanwhile, so there your text stands. \
             `checkmate show RUN --patch` shows what the change would have made of it.",
            paths.join(", ")
        );
    }
}

/// Writes an error where `--json` asks for the result, and hands it on.
pub(super) fn reported<T>(
    output: &Output,
    id: Option<&RunId>,
    result: Result<T, CommandError>,
) -> Result<T, CommandError> {
    if let (Err(error), Some(path)) = (&result, &output.json) {
        write_failure(path, id, "error", &error.to_string())?;
    }
    result
}

/// Returns the exit code of an outcome.
pub(super) fn exit_code(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Approved { .. } | Outcome::Applied { .. } => exit_code::DONE,
        Outcome::NotApproved { .. } => exit_code::NOT_APPROVED,
        Outcome::Error { .. } => exit_code::ERROR,
    }
}

/// Writes the result of a run where `--json` asks for it.
pub(super) fn write_summary(
    path: Option<&Path>,
    id: &RunId,
    run: &Run,
    shell: &Shell,
) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    let summary = ui::summary(id, run, &TaskId::new(TASK), shell);
    let text =
        serde_json::to_string_pretty(&summary).map_err(|error| CommandError::local(error.to_string()))?;
    write(path, &text)
}

/// Writes the result of a run that did not come to an outcome.
fn write_failure(path: &Path, id: Option<&RunId>, rule: &str, message: &str) -> Result<(), CommandError> {
    let result = serde_json::json!({
        "outcome": "error",
        "run": id,
        "stopped_by": rule,
        "turns": 0,
        "reasons": [{"gate": rule, "message": message}],
        "landed": null,
        "usage": {"calls": 0, "input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "cost_usd": null},
        "unconfined": [],
        "verdict": null,
        "evidence": [],
    });
    write(path, &format!("{result:#}"))
}

fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    std::fs::write(path, format!("{text}\n")).map_err(|error| {
        CommandError::local(format!("The result could not be written to {}: {error}.", path.display()))
    })
}
