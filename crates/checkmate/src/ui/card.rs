//! The verdict card: one sentence, then every gate with what it saw. Nobody should have to read a transcript.
//!
//! The gates themselves are in [`super::gates`].

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use checkmate_machine::budget::dollars;
use checkmate_machine::cycle::Cycle;
use checkmate_machine::event::Usage;
use checkmate_machine::ids::{RunId, TaskId};
use checkmate_machine::outcome::{Outcome, StoppedBy};
use checkmate_machine::run::Run;
use checkmate_machine::verdict::{Gate, State, Verdict};

use super::gates;
use super::lines::{printable, seconds};
use super::wrap::wrapped;
use crate::agents::SCRIPTED_MODEL;
use crate::journal::Shell;

/// Returns the card of a run that is over, its lines wrapped to a width where there is one.
pub fn card(id: &RunId, run: &Run, task: &TaskId, shell: &Shell, width: Option<usize>) -> String {
    let Some(cycle) = run.cycle(task) else { return String::new() };
    let outcome = run.outcome(task);
    let because = because(outcome.as_ref(), cycle.verdict());
    let mut text = body(id, cycle, title(outcome.as_ref()), &because, shell, width);
    text.push_str(&end(id, outcome.as_ref(), width));
    text
}

/// Returns the card of an approved change, for the person who decides whether it lands.
pub(super) fn proposal(id: &RunId, run: &Run, task: &TaskId, shell: &Shell, width: Option<usize>) -> String {
    let Some(cycle) = run.cycle(task) else { return String::new() };
    let because = format!("Approved because {}.", approved(cycle.verdict()));
    let mut text = body(id, cycle, ("APPROVED", AnsiColor::Green), &because, shell, width);
    text.push('\n');
    text
}

/// Returns what came of an approved change whose card was shown when its landing was asked about.
pub(super) fn closing(id: &RunId, run: &Run, task: &TaskId, width: Option<usize>) -> String {
    let outcome = run.outcome(task);
    let (title, colour) = title(outcome.as_ref());
    let style = Style::new().bold().fg_color(Some(colour.into()));
    format!("\n {style}{title}{style:#}\n{}", end(id, outcome.as_ref(), width))
}

/// Returns the card without what came of the change.
fn body(
    id: &RunId,
    cycle: &Cycle,
    (title, colour): (&str, AnsiColor),
    because: &str,
    shell: &Shell,
    width: Option<usize>,
) -> String {
    let goal = printable(cycle.spec().task.goal.lines().next().unwrap_or_default());
    let style = Style::new().bold().fg_color(Some(colour.into()));
    let mut text = wrapped(&format!("\n {style}{title}{style:#}  "), title.len() + 3, &goal, width);
    text.push_str(&wrapped("   ", 3, because, width));
    let turns = cycle.turn();
    let turns = format!("{turns} {}", if turns == 1 { "turn" } else { "turns" });
    text.push_str(&wrapped("   ", 3, &format!("{turns}{} · run {id}", cost(cycle)), width));
    text.push_str(&gates::block(cycle, width));
    let paid = || cycle.receipts().iter().filter(|(_, receipt)| !receipt.cached);
    let spent: u64 = paid().map(|(_, receipt)| receipt.duration_ms).sum();
    let count = paid().count();
    if count > 0 {
        let commands = if count == 1 { "command" } else { "commands" };
        let _ = writeln!(text, "   {count} {commands} run by Checkmate in {}", seconds(spent));
    }
    for gap in shell.gaps() {
        text.push_str(&wrapped("   ! ", 5, &gap, width));
    }
    for change in cycle.candidate().into_iter().flat_map(|candidate| &candidate.changes) {
        let _ = writeln!(text, "   {} +{} −{}", printable(&change.path), change.added, change.removed);
    }
    text
}

fn title(outcome: Option<&Outcome>) -> (&'static str, AnsiColor) {
    match outcome {
        Some(Outcome::Approved { .. }) => ("APPROVED", AnsiColor::Green),
        Some(Outcome::Applied { .. }) => ("APPLIED", AnsiColor::Green),
        Some(Outcome::NotApproved { stopped_by: StoppedBy::NotLanded, .. }) => {
            ("APPROVED, NOT LANDED", AnsiColor::Yellow)
        }
        Some(Outcome::NotApproved { stopped_by: StoppedBy::TakenBack, .. }) => {
            ("TAKEN BACK", AnsiColor::Yellow)
        }
        Some(Outcome::NotApproved { .. }) => ("NOT APPROVED", AnsiColor::Yellow),
        Some(Outcome::Error { .. }) => ("ERROR", AnsiColor::Red),
        None => ("UNFINISHED", AnsiColor::Yellow),
    }
}

/// Returns the names of a verdict's gates in backticks, as far as they are wanted.
fn named(verdict: Option<&Verdict>, wanted: fn(&Gate) -> bool) -> Vec<String> {
    let gates = verdict.map_or(&[][..], |verdict| &verdict.gates);
    gates.iter().filter(|gate| wanted(gate)).map(|gate| format!("`{}`", gate.gate.name())).collect()
}

fn approved(verdict: Option<&Verdict>) -> String {
    let answered = match named(verdict, |gate| gate.state == State::Answered).as_slice() {
        [] => String::new(),
        names => format!("; what {} objected to is answered and reviewed", listed(names)),
    };
    let seen = named(verdict, |gate| gate.state == State::Passed).len();
    format!("{seen} gates saw what they need{answered}, and none is against it")
}

/// Says in one sentence why the change is approved, or why not.
fn because(outcome: Option<&Outcome>, verdict: Option<&Verdict>) -> String {
    let against = named(verdict, |gate| !gate.passed && gate.state != State::Pending);
    match outcome {
        Some(Outcome::Approved { .. }) => format!("Approved because {}.", approved(verdict)),
        Some(Outcome::Applied { .. }) => "It is a patch of your own: nothing was tested or reviewed.".into(),
        Some(Outcome::NotApproved { stopped_by: StoppedBy::NotLanded, .. }) if verdict.is_some() => {
            format!("Approved because {}; it is not in your tree.", approved(verdict))
        }
        Some(Outcome::NotApproved { stopped_by: StoppedBy::TakenBack, .. }) => {
            "It is a patch of your own, and it is not in your tree any more.".into()
        }
        Some(Outcome::NotApproved { .. }) if !against.is_empty() => {
            let lets = if against.len() == 1 { "does" } else { "do" };
            format!("Not approved because {} {lets} not let it through.", listed(&against))
        }
        Some(Outcome::NotApproved { stopped_by, .. }) => {
            format!("Not approved because the run was stopped by {}.", stopped_by.name())
        }
        Some(Outcome::Error { .. }) => "Something outside of the run failed, so nothing is decided.".into(),
        None => "The run is not over, so nothing is decided.".into(),
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Says what came of it, and what to do next.
fn end(id: &RunId, outcome: Option<&Outcome>, width: Option<usize>) -> String {
    match outcome {
        Some(Outcome::Approved { commit: Some(commit), .. }) => {
            format!("   committed as {commit} (checkmate undo {id})\n")
        }
        Some(Outcome::Approved { commit: None, .. } | Outcome::Applied { .. }) => {
            format!("   applied to your working tree (checkmate undo {id})\n")
        }
        Some(Outcome::NotApproved { stopped_by, reason }) => {
            let reason = printable(&with_run(reason, id));
            let mut text = wrapped("   ", 5, &format!("stopped by {}: {reason}", stopped_by.name()), width);
            if matches!(stopped_by, StoppedBy::NeedsHuman | StoppedBy::GoalConflict | StoppedBy::Oscillation)
            {
                let next = format!(
                    "next: `checkmate show {id} --patch` shows the change as it stands; decide, say it in the goal, and \
                     start again with `checkmate run \"GOAL\"`"
                );
                text.push_str(&wrapped("   ", 5, &next, width));
            }
            text
        }
        Some(Outcome::Error { message }) => {
            let message = wrapped("   ", 3, &printable(message), width);
            format!("{message}   checkmate resume {id} goes on from here\n")
        }
        None => String::new(),
    }
}

/// Returns a diff with its colours, safe to print.
pub fn diff(diff: &str) -> String {
    let mut text = String::new();
    for line in diff.lines() {
        let colour = match line.as_bytes().first() {
            Some(b'+') => Some(AnsiColor::Green),
            Some(b'-') => Some(AnsiColor::Red),
            Some(b'@') => Some(AnsiColor::Cyan),
            Some(_) | None => None,
        };
        let style = Style::new().fg_color(colour.map(Into::into));
        let _ = writeln!(text, "{style}{}{style:#}", printable(line));
    }
    text
}

/// Puts the run's name into the commands that a reason recommends. The machine does not know the name, and what it
/// quotes of agents may hold the same letters.
pub(super) fn with_run(reason: &str, id: &RunId) -> String {
    ["land", "show", "resume"].iter().fold(reason.to_owned(), |reason, command| {
        reason.replace(&format!("`checkmate {command} RUN"), &format!("`checkmate {command} {id}"))
    })
}

/// Says how often each role was asked, and what that cost. A script costs nothing, so nothing is said of its price.
fn cost(cycle: &Cycle) -> String {
    let spent = cycle.spent();
    let calls: Vec<String> = spent.iter().map(|(role, spent)| format!("{role} {}", spent.calls)).collect();
    let mut total = Usage::NOTHING;
    for spent in spent.values() {
        total.add(&spent.usage);
    }
    let money = match total.cost_micro_usd {
        Some(micro) => format!(" · {}", dollars(micro)),
        None if cycle.models().iter().all(|model| model == SCRIPTED_MODEL) => String::new(),
        None => " · cost unknown".to_owned(),
    };
    if calls.is_empty() { String::new() } else { format!(" · requests: {}{money}", calls.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recommended_commands_get_the_name_of_the_run() {
        let id = RunId::new("r-1");
        assert_eq!(
            with_run(
                "Open: do not RUN it. `checkmate land RUN` lands, `checkmate show RUN --patch` shows it.",
                &id
            ),
            "Open: do not RUN it. `checkmate land r-1` lands, `checkmate show r-1 --patch` shows it."
        );
    }
}
