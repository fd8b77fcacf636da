//! The verdict card: one sentence, then every gate with what it saw. Nobody should have to read a transcript.
//!
//! The gates themselves are in [`super::gates`].

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use checkmate_machine::ids::{RunId, TaskId};
use checkmate_machine::outcome::{Outcome, StoppedBy};
use checkmate_machine::run::Run;
use checkmate_machine::verdict::{Gate, State, Verdict};

use super::gates;
use super::lines::{printable, seconds};
use super::wrap::wrapped;
use crate::journal::Shell;

/// Returns the card of a run that is over, its lines wrapped to a width where there is one.
pub fn card(id: &RunId, run: &Run, task: &TaskId, shell: &Shell, width: Option<usize>) -> String {
    let Some(cycle) = run.cycle(task) else { return String::new() };
    let goal = printable(cycle.spec().task.goal.lines().next().unwrap_or_default());
    let outcome = run.outcome(task);
    let (title, colour) = match &outcome {
        Some(Outcome::Approved { .. }) => ("APPROVED", AnsiColor::Green),
        Some(Outcome::NotApproved { stopped_by: StoppedBy::NotLanded, .. }) => {
            ("APPROVED, NOT LANDED", AnsiColor::Yellow)
        }
        Some(Outcome::NotApproved { .. }) => ("NOT APPROVED", AnsiColor::Yellow),
        Some(Outcome::Error { .. }) => ("ERROR", AnsiColor::Red),
        None => ("UNFINISHED", AnsiColor::Yellow),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    let mut text = wrapped(&format!("\n {style}{title}{style:#}  "), title.len() + 3, &goal, width);
    text.push_str(&wrapped("   ", 3, &because(outcome.as_ref(), cycle.verdict()), width));
    let turns = cycle.turn();
    let turns = format!("{turns} {}", if turns == 1 { "turn" } else { "turns" });
    let _ = writeln!(text, "   {turns}{} · run {id}", cost(cycle.spent()));
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
    text.push_str(&end(id, outcome.as_ref(), width));
    text
}

/// Says in one sentence why the change is approved, or why not.
fn because(outcome: Option<&Outcome>, verdict: Option<&Verdict>) -> String {
    let gates = verdict.map_or(&[][..], |verdict| &verdict.gates);
    let named = |wanted: fn(&Gate) -> bool| -> Vec<String> {
        let names = gates.iter().filter(|gate| wanted(gate)).map(|gate| format!("`{}`", gate.gate.name()));
        names.collect()
    };
    let against = named(|gate| !gate.passed && gate.state != State::Pending);
    let answered = named(|gate| gate.state == State::Answered);
    let seen = named(|gate| gate.state == State::Passed).len();
    let approved = || {
        let answered = match answered.as_slice() {
            [] => String::new(),
            names => format!("; what {} objected to is answered and reviewed", listed(names)),
        };
        format!("{seen} gates saw what they need{answered}, and none is against it")
    };
    match outcome {
        Some(Outcome::Approved { .. }) => format!("Approved because {}.", approved()),
        Some(Outcome::NotApproved { stopped_by: StoppedBy::NotLanded, .. }) => {
            format!("Approved because {}; it is not in your tree.", approved())
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
        Some(Outcome::Approved { commit: None, .. }) => {
            format!("   applied to your working tree (checkmate undo {id})\n")
        }
        Some(Outcome::NotApproved { stopped_by, reason }) => {
            let reason = printable(&with_run(reason, id));
            wrapped("   ", 5, &format!("stopped by {}: {reason}", stopped_by.name()), width)
        }
        Some(Outcome::Error { message }) => {
            let message = wrapped("   ", 3, &printable(message), width);
            format!("{message}   checkmate resume {id} goes on from here\n")
        }
        None => String::new(),
    }
}

/// Returns an approved change with its verdict, for the person who decides whether it lands.
pub(super) fn proposal(run: &Run, task: &TaskId, width: Option<usize>) -> String {
    let Some(cycle) = run.cycle(task) else { return String::new() };
    let diff = cycle.candidate().map_or("", |candidate| candidate.diff.as_str());
    let mut text = String::from("\n");
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
    text.push('\n');
    text.push_str(&gates::block(cycle, width));
    text
}

/// Puts the run's name into the commands that a reason recommends. The machine does not know the name, and what it
/// quotes of agents may hold the same letters.
pub(super) fn with_run(reason: &str, id: &RunId) -> String {
    ["land", "show", "resume"].iter().fold(reason.to_owned(), |reason, command| {
        reason.replace(&format!("`checkmate {command} RUN"), &format!("`checkmate {command} {id}"))
    })
}

fn cost(
    spent: &std::collections::BTreeMap<checkmate_machine::ids::Role, checkmate_machine::budget::Spent>,
) -> String {
    let calls: Vec<String> = spent.iter().map(|(role, spent)| format!("{role} {}", spent.calls)).collect();
    let mut total = checkmate_machine::event::Usage::default();
    for spent in spent.values() {
        total.add(&spent.usage);
    }
    let money =
        total.cost_micro_usd.map_or_else(String::new, |micro| format!(" · ${:.2}", micro as f64 / 1e6));
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
