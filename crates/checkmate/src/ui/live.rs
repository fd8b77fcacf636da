//! What is going on right now, as lines: a pure function of what began and ended, the size of the terminal, and the time.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use checkmate_machine::budget::{Limits, dollars};
use checkmate_machine::effect::{Action, CheckKind, Purpose};
use checkmate_machine::event::Usage;
use checkmate_machine::ids::{Role, TaskId};
use checkmate_machine::run::Run;

use super::gist::Gist;
use super::lines::{INDENT, NAMES, NARROW, TURNS, WIDEST, printable};
use super::receipts;
use super::wrap::{columns, cut};
use crate::watch::PartId;

/// How long one picture of the spinner stands, in milliseconds.
const TURNING: u128 = 100;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// What is over sooner than this is not shown, unless it is an agent or a command.
const SHORT: Duration = Duration::from_millis(300);
/// In lower terminals no line is left empty.
const LOW: usize = 12;

/// What is going on. Times count from the beginning of the view.
#[derive(Debug, Clone, Default)]
pub(super) struct Live {
    project: String,
    branch: Option<String>,
    turn: Option<(u32, u32)>,
    used: Usage,
    limits: Limits,
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
struct Part {
    id: PartId,
    since: Duration,
    over: bool,
    work: Work,
}

#[derive(Debug, Clone)]
enum Work {
    Agent {
        role: Role,
        purpose: Purpose,
        gist: Gist,
    },
    Command {
        kind: CheckKind,
        line: String,
    },
    /// Something of our own.
    Own(&'static str),
    Question,
}

impl Live {
    pub(super) fn new(project: &str) -> Self {
        Self { project: printable(project), ..Self::default() }
    }

    /// Takes over what the run's state says.
    pub(super) fn know(&mut self, run: &Run) {
        let Some(cycle) = run.tasks().first().and_then(|task| run.cycle(task)) else { return };
        self.branch = cycle.prepared().and_then(|prepared| prepared.branch.as_deref()).map(printable);
        self.turn = Some((cycle.turn(), cycle.spec().policy.max_iterations)).filter(|(turn, _)| *turn > 0);
        self.limits = cycle.spec().policy.budget.run;
        self.used = Usage::default();
        for spent in cycle.spent().values() {
            self.used.add(&spent.usage);
        }
    }

    /// Notes that a part begins. What an earlier effect of the task left is not waited for any more.
    pub(super) fn begin(&mut self, id: PartId, action: &Action, now: Duration) {
        self.parts.retain(|part| part.id.task != id.task || part.id.effect >= id.effect);
        let work = match action {
            Action::Call(call) => {
                Work::Agent { role: call.role, purpose: call.purpose, gist: Gist::default() }
            }
            Action::Check { kind, command, .. } => Work::Command { kind: *kind, line: command.text.clone() },
            Action::Ask(_) => Work::Question,
            Action::Prepare => Work::Own("takes your files as they are"),
            Action::Read { .. } => Work::Own("reads files"),
            Action::Apply { .. } | Action::Store { .. } => Work::Own("places the patch"),
            Action::Inspect { .. } => Work::Own("reads the change"),
            Action::Land { .. } => Work::Own("brings the change to you"),
        };
        self.parts.push(Part { id, since: now, over: false, work });
    }

    /// Notes what an agent says.
    pub(super) fn hear(&mut self, task: &TaskId, role: Role, text: &str) {
        for part in &mut self.parts {
            if let Work::Agent { role: of, gist, .. } = &mut part.work
                && *of == role
                && part.id.task == *task
            {
                gist.hear(text);
            }
        }
    }

    /// Notes that a part is over. Commands of one kind go together, when the last of them is over.
    pub(super) fn end(&mut self, id: &PartId) {
        for part in self.parts.iter_mut().filter(|part| part.id == *id) {
            part.over = true;
        }
        let open: Vec<Part> = self.parts.iter().filter(|part| !part.over).cloned().collect();
        self.parts.retain(|part| !part.over || open.iter().any(|one| one.goes_with(part)));
    }

    /// Tells whether somebody is being asked.
    pub(super) fn asks(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.work, Work::Question))
    }

    /// Returns the lines of now: what is being done, and below it where the run stands. `begins` is a turn whose first
    /// settled line is still to come.
    pub(super) fn frame(
        &self,
        begins: Option<&str>,
        (width, height): (usize, usize),
        now: Duration,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let mut begins = begins.filter(|_| width >= NARROW);
        for (at, part) in self.parts.iter().enumerate() {
            if self.parts.iter().take(at).any(|earlier| earlier.goes_with(part)) {
                continue;
            }
            let turn = if part.is_baseline() { None } else { begins.take() };
            lines.extend(self.line(part, turn.unwrap_or_default(), width, now));
        }
        // Where room is short, the line that says where the run stands is the one to stay.
        lines.truncate(height.saturating_sub(2));
        if height >= LOW {
            lines.push(String::new());
        }
        lines.push(self.standing(width, now));
        lines
    }

    fn line(&self, part: &Part, turn: &str, width: usize, now: Duration) -> Option<String> {
        let elapsed = now.saturating_sub(part.since);
        let (name, text, count) = match &part.work {
            Work::Agent { role, purpose, gist } => {
                let text = gist.line().unwrap_or_else(|| doing(*purpose).to_owned());
                (role.name(), text, letters(gist.count()))
            }
            Work::Command { kind, line } => {
                let same = || self.parts.iter().filter(|one| one.goes_with(part));
                let (over, all) = (same().filter(|one| one.over).count(), same().count());
                let text = if all > 1 { format!("{over} of {all} done") } else { running(*kind, line) };
                (receipts::label(*kind), text, String::new())
            }
            Work::Own(text) if elapsed >= SHORT => ("", (*text).to_owned(), String::new()),
            Work::Own(_) | Work::Question => return None,
        };
        let frame = usize::try_from(now.as_millis() / TURNING).unwrap_or_default() % SPINNER.len();
        let spinner = SPINNER.get(frame).copied().unwrap_or("·");
        let (accent, bold, dim) =
            (Style::new().fg_color(Some(AnsiColor::Cyan.into())), Style::new().bold(), Style::new().dimmed());
        let narrow = width < NARROW;
        let (head, indent) = if narrow {
            (format!("  {accent}{spinner}{accent:#} {name} "), 5 + columns(name))
        } else {
            let (turn, name) = if part.is_baseline() { (name, "") } else { (turn, name) };
            let bold = if part.is_baseline() { Style::new() } else { bold };
            let head = format!("  {accent}{spinner}{accent:#} {bold}{turn:<TURNS$}{bold:#} {name:<NAMES$} ");
            (head, INDENT)
        };
        let time = span(elapsed);
        let right = if narrow || count.is_empty() { time } else { format!("{count}   {time}") };
        let end = width.saturating_sub(1).min(WIDEST);
        let room = end.saturating_sub(indent + columns(&right) + 2);
        let text = cut(&printable(&text), room);
        let gap = " ".repeat(end.saturating_sub(indent + columns(&text) + columns(&right)));
        Some(format!("{head}{dim}{text}{dim:#}{gap}{dim}{right}{dim:#}"))
    }

    /// Says where the run stands: what it works on, the turn, the time, and what was spent.
    fn standing(&self, width: usize, now: Duration) -> String {
        let end = width.saturating_sub(1).min(WIDEST);
        let mut right: Vec<String> = self.turn.iter().map(|(turn, of)| format!("turn {turn}/{of}")).collect();
        right.push(span(now));
        right.extend(spent(&self.used, &self.limits));
        while right.len() > 1 && columns(&right.join("   ")) + 2 > end {
            right.pop();
        }
        let right = cut(&right.join("   "), end.saturating_sub(2));
        let place = match &self.branch {
            Some(branch) => format!("{} · {branch}", self.project),
            None => self.project.clone(),
        };
        // "  checkmate  ", the place, and a gap.
        let room = end.saturating_sub(2 + 9 + 2 + columns(&right) + 3);
        let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
        let (left, used) = if room >= 8 {
            let place = cut(&place, room);
            let used = 2 + 9 + 2 + columns(&place);
            (format!("  {bold}checkmate{bold:#}  {place}"), used)
        } else {
            ("  ".to_owned(), 2)
        };
        let gap = " ".repeat(end.saturating_sub(used + columns(&right)));
        format!("{left}{gap}{dim}{right}{dim:#}")
    }
}

impl Part {
    /// Tells whether both are commands of one kind in one effect.
    fn goes_with(&self, other: &Part) -> bool {
        match (&self.work, &other.work) {
            (Work::Command { kind, .. }, Work::Command { kind: other_kind, .. }) => {
                self.id.task == other.id.task
                    && self.id.effect == other.id.effect
                    && receipts::label(*kind) == receipts::label(*other_kind)
            }
            (_, _) => false,
        }
    }

    fn is_baseline(&self) -> bool {
        matches!(self.work, Work::Command { kind: CheckKind::Baseline, .. })
    }
}

fn doing(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Build => "writes the change",
        Purpose::ArbiterTest => "writes a test that settles the finding",
        Purpose::ConfirmTest => "checks that the test states its claim",
        Purpose::Review => "reviews the change",
        Purpose::Moderate => "decides between builder and reviewer",
        Purpose::Summarise => "sums up the earlier turns",
        Purpose::Examine => "writes probes from the goal alone",
        Purpose::JudgeProbe => "decides whether the probe follows from the goal",
    }
}

fn running(kind: CheckKind, line: &str) -> String {
    match kind {
        CheckKind::NewTests => "on the old code".into(),
        CheckKind::OldTests => "on the new code".into(),
        CheckKind::Arbiter => "the test that settles the finding, on the change".into(),
        CheckKind::ArbiterBase => "the test that settles the finding, on the old code".into(),
        CheckKind::BrokenTests | CheckKind::BrokenBase => "the tests, broken on purpose".into(),
        CheckKind::Reverted => "the tests without the changed functions".into(),
        CheckKind::Repeat(_) | CheckKind::RepeatBase(_) => "the tests once more".into(),
        CheckKind::Probe(_) | CheckKind::ProbeAgain(_) | CheckKind::ProbeBase(_) => "a probe".into(),
        CheckKind::CompareBase | CheckKind::Compare => "calls of the changed functions".into(),
        CheckKind::Mutant(_) | CheckKind::CompareMutant(_) => {
            "a small change that tests should notice".into()
        }
        CheckKind::Baseline
        | CheckKind::Tests
        | CheckKind::Merged
        | CheckKind::BuilderRun
        | CheckKind::Diagnostic
        | CheckKind::Example => line.to_owned(),
    }
}

/// Returns a time as people say it.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

fn letters(count: u64) -> String {
    if count == 0 { String::new() } else { format!("{} chars", thousands(count)) }
}

/// Says what agents cost so far, and of how much: in money where every price is known, else in tokens.
fn spent(used: &Usage, limits: &Limits) -> Option<String> {
    let tokens = used.input_tokens.saturating_add(used.output_tokens);
    if let Some(micro) = used.cost_micro_usd {
        let of = limits.cost_micro_usd.map(|limit| format!(" of {}", dollars(limit)));
        return Some(format!("{}{}", dollars(micro), of.unwrap_or_default()));
    }
    let of = limits.tokens.map(|limit| format!(" of {}", thousands(limit)));
    (tokens > 0).then(|| format!("{}{} tokens", thousands(tokens), of.unwrap_or_default()))
}

fn thousands(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{}.{}k", count / 1000, count % 1000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests;
