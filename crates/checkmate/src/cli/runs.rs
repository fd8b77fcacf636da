//! `checkmate runs`: lists the runs of a repository.

use checkmate_machine::ids::TaskId;
use checkmate_machine::outcome::Outcome;

use super::{Place, print};
use crate::error::CommandError;
use crate::exit_code;
use crate::journal;
use crate::session::TASK;
use crate::ui::printable;

/// List the runs of this repository, the latest first
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    limit: usize,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let task = TaskId::new(TASK);
    let mut text = String::new();
    for id in project.runs.list()?.iter().rev().take(args.limit) {
        let (state, turns, goal) = match journal::read(&project.runs.run(id)) {
            Err(error) => (error.to_string(), 0, String::new()),
            Ok(contents) => {
                let goal =
                    contents.header.tasks.first().map(|task| task.spec.task.goal.clone()).unwrap_or_default();
                match contents.replay(|_, _| {}) {
                    Err(_) => ("of another version".to_owned(), 0, goal),
                    Ok(run) => {
                        let state = match run.outcome(&task) {
                            Some(Outcome::Approved { .. }) => "approved".to_owned(),
                            Some(Outcome::Applied { .. }) => "applied".to_owned(),
                            Some(Outcome::NotApproved { stopped_by, .. }) => stopped_by.name().to_owned(),
                            Some(Outcome::Error { .. }) => "error, resumable".to_owned(),
                            None => "unfinished, resumable".to_owned(),
                        };
                        (state, run.cycle(&task).map_or(0, |cycle| cycle.turn()), goal)
                    }
                }
            }
        };
        let goal: String = printable(goal.lines().next().unwrap_or_default()).chars().take(60).collect();
        let turns = format!("{turns} {}", if turns == 1 { "turn" } else { "turns" });
        text.push_str(&format!("{id}  {state:<22} {turns:<8}  {goal}\n"));
    }
    if text.is_empty() {
        anstream::eprintln!("This repository has no runs yet. Start one with `checkmate run \"GOAL\"`.");
    }
    print(&text);
    Ok(exit_code::DONE)
}
