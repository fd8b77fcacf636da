//! `checkmate show`: what happened in a run and why.

use std::io::{IsTerminal as _, Write as _};

use checkmate_machine::event::{Answer, Candidate, Event};
use checkmate_machine::ids::TaskId;

use super::{Place, print};
use crate::error::CommandError;
use crate::exit_code;
use crate::journal::{self, Contents, Entry, JournalError};
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
    let replayed = contents.replay(|_, notices| {
        for (_, notice) in notices {
            let text = ui::about(&notice);
            if !text.is_empty() {
                story.push_str(&text);
                story.push('\n');
            }
        }
    });
    if args.patch {
        let diff = match replayed {
            Ok(run) => run.cycle(&task).and_then(|cycle| cycle.candidate()).map(|one| one.diff.clone()),
            // Other rules cannot say which candidate stood last, but what was built last is there to be taken over.
            Err(JournalError::Differs { .. }) => last_applied(&contents).map(|one| one.diff.clone()),
            Err(error) => return Err(error.into()),
        };
        let Some(diff) = diff else {
            return Err(CommandError::usage(format!(
                "The run {id} has no candidate: no patch could be applied."
            )));
        };
        // Programs get the patch byte for byte; a terminal is not steered by what an agent wrote.
        if std::io::stdout().is_terminal() {
            print(&format!("{}\n", ui::printable_lines(&diff)));
        } else {
            std::io::stdout().write_all(diff.as_bytes()).ok();
        }
        return Ok(exit_code::DONE);
    }
    let run = replayed?;
    if args.json {
        let summary = ui::summary(&id, &run, &task);
        let text =
            serde_json::to_string_pretty(&summary).map_err(|error| CommandError::local(error.to_string()))?;
        print(&format!("{text}\n"));
    } else {
        print(&story);
        print(&ui::card(&id, &run, &task, ui::width(&std::io::stdout())));
    }
    Ok(exit_code::DONE)
}

/// Returns what the last patch that could be placed made of the files.
fn last_applied(contents: &Contents) -> Option<&Candidate> {
    contents.records().filter_map(|record| applied(&record.event)).last()
}

fn applied(event: &Event) -> Option<&Candidate> {
    if let Event::Answered { answer: Answer::Applied(candidate), .. } = event {
        Some(candidate)
    } else {
        None
    }
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
