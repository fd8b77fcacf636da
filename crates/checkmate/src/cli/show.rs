//! `checkmate show`: what happened in a run and why.

use std::io::{IsTerminal as _, Write as _};

use checkmate_machine::event::{Answer, Event};
use checkmate_machine::ids::TaskId;

use super::{Place, print};
use crate::error::CommandError;
use crate::exit_code;
use crate::journal::{self, Contents, Entry};
use crate::session::TASK;
use crate::ui;

/// Show what happened in a run and why
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its name, a unique part of it, or `latest`
    run: String,
    /// Only the candidate's change, as a unified diff
    #[arg(long, conflicts_with_all = ["prompts", "json"])]
    patch: bool,
    /// Every prompt and every reply, whole
    #[arg(long, conflicts_with = "json")]
    prompts: bool,
    /// The result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let id = project.runs.find(&args.run)?;
    let contents = journal::read(&project.runs.run(&id))?;
    if args.prompts {
        print(&conversation(&contents));
        return Ok(exit_code::DONE);
    }
    let task = TaskId::new(TASK);
    let mut story = String::new();
    let (run, differs) = contents.replay_what_fits(|_, notices| {
        for (_, notice) in notices {
            let text = ui::about(&notice);
            if !text.is_empty() {
                story.push_str(&text);
                story.push('\n');
            }
        }
    })?;
    if args.patch {
        let candidate = run.cycle(&task).and_then(|cycle| cycle.candidate());
        let Some(candidate) = candidate else {
            return Err(CommandError::usage(format!("The run {id} has no candidate: no patch could be applied.")));
        };
        // Programs get the patch byte for byte; a terminal is not steered by what an agent wrote.
        if std::io::stdout().is_terminal() {
            print(&format!("{}\n", ui::printable_lines(&candidate.diff)));
        } else {
            std::io::stdout().write_all(candidate.diff.as_bytes()).ok();
        }
        // The candidate is what there is to have from a run that cannot go on.
        return Ok(exit_code::DONE);
    }
    if args.json {
        let summary = ui::summary(&id, &run, &task);
        let text = serde_json::to_string_pretty(&summary).map_err(|error| CommandError::local(error.to_string()))?;
        print(&format!("{text}\n"));
    } else {
        print(&story);
        print(&ui::card(&id, &run, &task));
    }
    differs.map_or(Ok(()), Err)?;
    Ok(exit_code::DONE)
}

/// Returns every question and every answer of the agents in the order of the journal.
fn conversation(contents: &Contents) -> String {
    let mut text = String::new();
    for entry in &contents.entries {
        match entry {
            Entry::Asked(asked) => {
                let call = &asked.call;
                text.push_str(&format!(
                    "=== {} · to the {} · {:?} · turn {} · attempt {} · {}\n--- system\n{}\n--- user\n{}\n",
                    asked.at,
                    call.role,
                    call.purpose,
                    call.turn,
                    call.attempt + 1,
                    call.prompt.version,
                    ui::printable_lines(&call.prompt.system),
                    ui::printable_lines(&call.prompt.user)
                ));
            }
            Entry::Event(record) => {
                if let Event::Answered { answer: Answer::Called(called), .. } = &record.event {
                    text.push_str(&format!(
                        "=== {} · reply of {}\n{}\n",
                        record.at,
                        ui::printable_lines(&called.model),
                        ui::printable_lines(&called.text)
                    ));
                }
            }
            Entry::Ended { .. } => {}
        }
    }
    text
}
