//! The verdict card: one sentence, then every gate with what it saw. Nobody should have to read a transcript.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use checkmate_machine::ids::{RunId, TaskId};
use checkmate_machine::outcome::{Outcome, StoppedBy};
use checkmate_machine::run::Run;
use checkmate_machine::verdict::Verdict;

use super::lines::{printable, seconds};

/// Returns the card of a run that is over.
pub fn card(id: &RunId, run: &Run, task: &TaskId) -> String {
    let Some(cycle) = run.cycle(task) else { return String::new() };
    let goal = printable(cycle.spec().task.goal.lines().next().unwrap_or_default());
    let (title, colour) = match run.outcome(task) {
        Some(Outcome::Approved { .. }) => ("APPROVED", AnsiColor::Green),
        Some(Outcome::NotApproved { stopped_by: StoppedBy::NotLanded, .. }) => {
            ("APPROVED, NOT LANDED", AnsiColor::Yellow)
        }
        Some(Outcome::NotApproved { .. }) => ("NOT APPROVED", AnsiColor::Yellow),
        Some(Outcome::Error { .. }) => ("ERROR", AnsiColor::Red),
        None => ("UNFINISHED", AnsiColor::Yellow),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    let turns = cycle.turn();
    let turns = format!("{turns} {}", if turns == 1 { "turn" } else { "turns" });
    let mut text =
        format!("\n {style}{title}{style:#}  {goal}\n   {turns}{} · run {id}\n", cost(cycle.usage()));
    text.push_str(&gates(cycle.verdict()));
    let paid = || cycle.receipts().iter().filter(|(_, receipt)| !receipt.cached);
    let spent: u64 = paid().map(|(_, receipt)| receipt.duration_ms).sum();
    let count = paid().count();
    if count > 0 {
        let commands = if count == 1 { "command" } else { "commands" };
        let _ = writeln!(text, "   {count} {commands} run by Checkmate in {}", seconds(spent));
    }
    for change in cycle.candidate().into_iter().flat_map(|candidate| &candidate.changes) {
        let _ = writeln!(text, "   {} +{} −{}", printable(&change.path), change.added, change.removed);
    }
    match run.outcome(task) {
        Some(Outcome::Approved { commit: Some(commit), .. }) => {
            let _ = writeln!(text, "   committed as {commit} (checkmate undo {id})");
        }
        Some(Outcome::Approved { commit: None, .. }) => {
            let _ = writeln!(text, "   applied to your working tree (checkmate undo {id})");
        }
        Some(Outcome::NotApproved { stopped_by, reason }) => {
            let reason = printable(&with_run(&reason, id));
            let _ = writeln!(text, "   stopped by {}: {reason}", stopped_by.name());
        }
        Some(Outcome::Error { message }) => {
            let _ = writeln!(text, "   {}\n   checkmate resume {id} goes on from here", printable(&message));
        }
        None => {}
    }
    text
}

/// Returns an approved change with its verdict, for the person who decides whether it lands.
pub(super) fn proposal(run: &Run, task: &TaskId) -> String {
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
    text.push_str(&gates(cycle.verdict()));
    text
}

fn gates(verdict: Option<&Verdict>) -> String {
    let mut text = String::new();
    for gate in verdict.into_iter().flat_map(|verdict| &verdict.gates) {
        let sign = if gate.passed { "✓" } else { "✗" };
        let _ = writeln!(text, "   {sign} {:<9} {}", gate.gate.name(), printable(&gate.message));
    }
    text
}

/// Puts the run's name into the commands that a reason recommends. The machine does not know the name, and what it
/// quotes of agents may hold the same letters.
pub(super) fn with_run(reason: &str, id: &RunId) -> String {
    ["land", "show"].iter().fold(reason.to_owned(), |reason, command| {
        reason.replace(&format!("`checkmate {command} RUN"), &format!("`checkmate {command} {id}"))
    })
}

fn cost(
    usage: &std::collections::BTreeMap<checkmate_machine::ids::Role, (u32, checkmate_machine::event::Usage)>,
) -> String {
    let calls: Vec<String> = usage.iter().map(|(role, (calls, _))| format!("{role} {calls}")).collect();
    let mut total = checkmate_machine::event::Usage::default();
    for (_, used) in usage.values() {
        total.add(used);
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
