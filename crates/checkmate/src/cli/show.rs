//! `checkmate show`: what happened in a run and why.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};

use checkmate_machine::event::{Answer, Candidate, Event};
use checkmate_machine::ids::{RunId, TaskId};
use checkmate_machine::probe::Probe;

use super::{Place, print};
use crate::error::CommandError;
use crate::exit_code;
use crate::journal::{self, Contents, Entry, JournalError};
use crate::session::TASK;
use crate::ui;
use crate::wire::Retold;

/// Show what happened in a run and why
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its name, a unique part of it, or `latest`
    run: String,
    /// Only the candidate's change, as a unified diff
    #[arg(long, conflicts_with_all = ["prompts", "json"])]
    patch: bool,
    /// The examiner's probes that fail without the change and hold with it, as a patch that adds them
    #[arg(long, conflicts_with_all = ["patch", "prompts", "json"])]
    probes: bool,
    /// Every prompt and every reply, whole
    #[arg(long, conflicts_with = "json")]
    prompts: bool,
    /// The result as JSON
    #[arg(long, conflicts_with = "events")]
    json: bool,
    /// Every event as clients of the daemon read it, one JSON object a line
    #[arg(long, conflicts_with_all = ["patch", "probes", "prompts"])]
    events: bool,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let id = project.runs.find(&args.run)?;
    let contents = journal::read(&project.runs.run(&id))?;
    if args.prompts {
        print(&conversation(&contents));
        return Ok(exit_code::DONE);
    }
    if args.events {
        let mut retold = Retold::new(&contents.header);
        contents.retell(&mut retold)?;
        let lines = retold.frames.iter().filter_map(|frame| serde_json::to_string(frame).ok());
        print(&lines.map(|line| line + "\n").collect::<String>());
        return Ok(exit_code::DONE);
    }
    let task = TaskId::new(TASK);
    let mut story = ui::Story::new(ui::width(&std::io::stdout()));
    let replayed = contents.replay(|record, notices| story.add(record, &notices));
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
        print_patch(&diff);
        return Ok(exit_code::DONE);
    }
    let run = replayed?;
    if args.probes {
        let cycle = run.cycle(&task).ok_or_else(|| no_probes(&id))?;
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        taken.extend(
            cycle.candidate().iter().flat_map(|one| one.changes.iter().map(|change| change.path.as_str())),
        );
        let mut patch = String::new();
        for probe in cycle.proven_probes() {
            if taken.insert(&probe.path) {
                patch.push_str(&addition(probe));
            } else {
                anstream::eprintln!("{} is left out: there is another file at {}.", probe.id, probe.path);
            }
        }
        if patch.is_empty() {
            return Err(no_probes(&id));
        }
        print_patch(&patch);
        return Ok(exit_code::DONE);
    }
    if args.json {
        let summary = ui::summary(&id, &run, &task, &contents.header.shell);
        let text =
            serde_json::to_string_pretty(&summary).map_err(|error| CommandError::local(error.to_string()))?;
        print(&format!("{text}\n"));
    } else {
        print(&story.text());
        print(&ui::card(&id, &run, &task, &contents.header.shell, ui::width(&std::io::stdout())));
    }
    Ok(exit_code::DONE)
}

/// Programs get a patch byte for byte; a terminal is not steered by what an agent wrote.
fn print_patch(patch: &str) {
    if std::io::stdout().is_terminal() {
        print(&format!("{}\n", ui::printable_lines(patch)));
    } else {
        std::io::stdout().write_all(patch.as_bytes()).ok();
    }
}

fn no_probes(id: &RunId) -> CommandError {
    CommandError::usage(format!(
        "The run {id} has no probe that fails without the change and holds with it. The key `examiner` has probes written."
    ))
}

/// Writes a probe as a patch that adds its file.
fn addition(probe: &Probe) -> String {
    let lines = probe.content.lines().count();
    let mut patch = format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n",
        path = probe.path
    );
    for line in probe.content.split_inclusive('\n') {
        patch.push('+');
        patch.push_str(line);
    }
    if !probe.content.ends_with('\n') {
        patch.push_str("\n\\ No newline at end of file\n");
    }
    patch
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
            Entry::Ended { .. } | Entry::Opened { .. } | Entry::Other => {}
        }
    }
    text
}
