//! What is settled, as lines: one row for each thing that happened, readable without colour.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use checkmate_machine::effect::CheckKind;
use checkmate_machine::event::{Answer, Event};
use checkmate_machine::evidence::Receipt;
use checkmate_machine::notice::{ArbiterOutcome, Notice};
use checkmate_machine::reply::{BuilderReply, DecisionKind, Issue, Review, ReviewVerdict, Severity};

use super::receipts;
use super::wrap::{columns, hung, wrapped};

/// In narrower terminals a turn has a line of its own instead of a column.
pub(super) const NARROW: usize = 64;
/// The columns that rows take at most: in longer lines nobody finds the next one.
pub(super) const WIDEST: usize = 120;
/// The column of turns.
pub(super) const TURNS: usize = 8;
/// The column of names.
pub(super) const NAMES: usize = 9;
/// The columns before a row's text, and where that is too much.
pub(super) const INDENT: usize = 4 + TURNS + 1 + NAMES + 1;
const NARROW_INDENT: usize = 6;

/// What a row begins with: a word's worth of meaning in one character, readable where it is not coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Good,
    Bad,
    Attention,
    Dot,
}

impl Sign {
    pub(super) fn of(good: bool) -> Self {
        if good { Sign::Good } else { Sign::Bad }
    }

    fn text(self) -> String {
        let (sign, style) = match self {
            Sign::Good => ("✓", Style::new().fg_color(Some(AnsiColor::Green.into()))),
            Sign::Bad => ("✗", Style::new().fg_color(Some(AnsiColor::Red.into()))),
            Sign::Attention => ("!", Style::new().fg_color(Some(AnsiColor::Yellow.into()))),
            Sign::Dot => ("·", Style::new().dimmed()),
        };
        format!("{style}{sign}{style:#}")
    }
}

/// Something that happened: who or what, what came of it, and how long it took.
#[derive(Debug, Clone)]
pub(super) struct Row {
    sign: Sign,
    name: &'static str,
    text: String,
    time: Option<String>,
    details: Vec<String>,
    /// Whether it tells a reply of an agent.
    of_agent: bool,
}

impl Row {
    pub(super) fn new(sign: Sign, name: &'static str, text: impl Into<String>) -> Self {
        Self { sign, name, text: text.into(), time: None, details: Vec::new(), of_agent: false }
    }

    fn of_agent(mut self) -> Self {
        self.of_agent = true;
        self
    }

    pub(super) fn took(mut self, time: String) -> Self {
        self.time = Some(time);
        self
    }
}

/// Makes lines of notices.
#[derive(Debug, Default)]
pub struct Lines {
    /// Whether what only passes gets lines too.
    passing: bool,
    /// The turn that the next row begins.
    turn: Option<String>,
    /// Whether any turn has begun here.
    in_turn: bool,
    /// Receipts that go into one row.
    held: Vec<(CheckKind, Receipt)>,
    /// What the latest row said.
    said: String,
    /// How long agents took for replies that are not told yet, in milliseconds.
    replied_ms: BTreeMap<String, u64>,
}

impl Lines {
    /// Lines for a place where nothing else shows what is going on.
    pub fn with_passing() -> Self {
        Self { passing: true, ..Self::default() }
    }

    /// Takes an answer before the notices that it leads to: the row of a reply says how long it took. `digest` says what
    /// was answered.
    pub fn follow(&mut self, digest: &str, event: &Event) {
        if let Event::Answered { answer: Answer::Called(called), .. } = event
            && let Some(role) = digest.strip_prefix("call ").and_then(|rest| rest.split(' ').next())
        {
            self.replied_ms.insert(role.to_owned(), called.duration_ms);
        }
    }

    /// Takes a notice and returns the lines that are ready, each with its line feed.
    pub fn take(&mut self, notice: &Notice, width: Option<usize>) -> String {
        if let Notice::TestsOutput { check, receipt, .. } = notice {
            let fits = self.held.last().is_some_and(|(held, _)| {
                receipts::is_one_of_many(*check) && receipts::label(*held) == receipts::label(*check)
            });
            let text = if fits { String::new() } else { self.finish(width) };
            self.held.push((*check, (**receipt).clone()));
            return text;
        }
        let passes = matches!(notice, Notice::Status { passing: true, .. });
        let mut text = if passes { self.settle(width) } else { self.finish(width) };
        match notice {
            Notice::Status { message, passing } => text.push_str(&self.remark(message, *passing, width)),
            Notice::TurnStarted { turn, of } => {
                self.in_turn = true;
                let turn = format!("turn {turn}/{of}");
                if is_narrow(width) {
                    let style = Style::new().bold();
                    let _ = writeln!(text, "{style}{turn}{style:#}");
                } else {
                    self.turn = Some(turn);
                }
            }
            Notice::BuilderReady { .. }
            | Notice::PatchReady { .. }
            | Notice::TestsOutput { .. }
            | Notice::ReviewReady { .. }
            | Notice::DiagnosticRun { .. }
            | Notice::ArbiterMode { .. }
            | Notice::ArbiterResult { .. }
            | Notice::ModeratorDecision { .. }
            | Notice::Verdict { .. }
            | Notice::CycleComplete { .. }
            | Notice::Outcome { .. }
            | Notice::Error { .. } => {
                if let Some(row) = row(notice) {
                    let replied = if row.of_agent { self.replied_ms.remove(row.name) } else { None };
                    let row = replied.map_or(row.clone(), |ms| row.took(seconds(ms)));
                    text.push_str(&self.set(&row, width));
                }
            }
        }
        text
    }

    /// Returns the lines of what was held back because more of the same could have followed at once. Mutants are held on:
    /// what one showed decides about the next.
    pub fn settle(&mut self, width: Option<usize>) -> String {
        match self.held.last() {
            Some((CheckKind::Mutant(_) | CheckKind::CompareMutant(_), _)) => String::new(),
            Some(_) | None => self.finish(width),
        }
    }

    /// Returns the lines of everything that was held back.
    pub fn finish(&mut self, width: Option<usize>) -> String {
        let row = receipts::row(&self.held);
        self.held.clear();
        row.map(|row| self.set(&row, width)).unwrap_or_default()
    }

    /// Notes the turn in which a run goes on whose earlier rows are not here.
    pub(super) fn go_on(&mut self, turn: u32, of: u32) {
        if turn > 0 && !self.in_turn {
            self.in_turn = true;
            self.turn = Some(format!("turn {turn}/{of}"));
        }
    }

    /// Returns the turn whose first row is still to come.
    pub(super) fn begins(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    fn remark(&mut self, message: &str, passing: bool, width: Option<usize>) -> String {
        let message = printable(message.trim_end());
        // What the latest row said is not said again.
        let again = !self.said.is_empty() && message.trim_end_matches('.').ends_with(&self.said);
        if again || (passing && !self.passing) {
            return String::new();
        }
        let style = Style::new().dimmed();
        let message = if passing { format!("{style}{message}{style:#}") } else { message };
        wrapped(&format!("  {} ", Sign::Dot.text()), 4, &message, limit(width))
    }

    /// Sets a row.
    fn set(&mut self, row: &Row, width: Option<usize>) -> String {
        let text = printable(&row.text);
        self.said = text.trim_end_matches('.').to_owned();
        let sign = row.sign.text();
        let (head, indent, first) = if is_narrow(width) {
            (format!("  {sign} {} ", row.name), NARROW_INDENT, 5 + row.name.len())
        } else {
            // What was measured before any change belongs to no turn.
            let (turn, name) = if row.name == receipts::label(CheckKind::Baseline) {
                (row.name.to_owned(), "")
            } else {
                (self.turn.take().unwrap_or_default(), row.name)
            };
            let bold = if name.is_empty() { Style::new() } else { Style::new().bold() };
            (format!("  {sign} {bold}{turn:<TURNS$}{bold:#} {name:<NAMES$} "), INDENT, INDENT)
        };
        let dim = Style::new().dimmed();
        let mut lines = match (&row.time, limit(width)) {
            (None, limit) => hung(&head, first, indent, &text, limit),
            (Some(time), None) => format!("{head}{text}  {dim}{time}{dim:#}\n"),
            (Some(time), Some(limit)) => {
                // Whatever the last line holds, the time has room behind it.
                let took = columns(time);
                let room = limit.saturating_sub(took + 2);
                let mut lines = hung(&head, first, indent, &text, Some(room));
                lines.truncate(lines.trim_end_matches('\n').len());
                let last = lines.rsplit('\n').next().unwrap_or_default();
                let used = columns(&anstream::adapter::strip_str(last).to_string());
                lines.push_str(&" ".repeat((limit - 1).saturating_sub(used + took).max(2)));
                let _ = writeln!(lines, "{dim}{time}{dim:#}");
                lines
            }
        };
        for detail in &row.details {
            lines.push_str(&wrapped(&" ".repeat(indent), indent + 2, &printable(detail), limit(width)));
        }
        lines
    }
}

/// Returns the width that rows are set for.
fn limit(width: Option<usize>) -> Option<usize> {
    width.map(|width| width.min(WIDEST + 1))
}

fn is_narrow(width: Option<usize>) -> bool {
    width.is_some_and(|width| width < NARROW)
}

/// Returns a notice as a row; none for what another notice says already.
fn row(notice: &Notice) -> Option<Row> {
    Some(match notice {
        Notice::BuilderReady { reply, .. } => builder(reply),
        Notice::PatchReady { patch, .. } => Row::new(Sign::Good, "patch", stat(patch)),
        Notice::ReviewReady { review, .. } => reviewed(review),
        Notice::DiagnosticRun { commands } => {
            Row::new(Sign::Dot, "reviewer", format!("unsure, asks for: {}", commands.join("; ")))
        }
        Notice::ArbiterMode { issue } => {
            Row::new(Sign::Dot, "arbiter", format!("{}: {}", issue.issue_id, issue.issue.description))
        }
        Notice::ArbiterResult { result } => {
            let outcome = match result.outcome {
                ArbiterOutcome::BugConfirmed => "bug confirmed",
                ArbiterOutcome::BugRefuted => "bug refuted",
                ArbiterOutcome::TestInvalid => "test invalid",
            };
            let good = result.outcome != ArbiterOutcome::TestInvalid;
            Row::new(Sign::of(good), "arbiter", format!("{outcome}: {}", result.explanation))
        }
        Notice::ModeratorDecision { decision } => {
            let kind = match decision.decision {
                DecisionKind::AcceptBuilder => "accept_builder",
                DecisionKind::AcceptReviewer => "accept_reviewer",
                DecisionKind::RejectBoth => "reject_both",
            };
            Row::new(Sign::Dot, "moderator", format!("{kind}: {}", decision.reasoning)).of_agent()
        }
        // Those before have their own way to lines, and the verdict card at the end says what the others do.
        Notice::Status { .. }
        | Notice::TurnStarted { .. }
        | Notice::TestsOutput { .. }
        | Notice::Verdict { .. }
        | Notice::CycleComplete { .. }
        | Notice::Outcome { .. }
        | Notice::Error { .. } => return None,
    })
}

fn builder(reply: &BuilderReply) -> Row {
    let plan = if reply.plan.is_empty() { "gives no plan".to_owned() } else { reply.plan.join(" → ") };
    let mut row = Row::new(Sign::Dot, "builder", plan).of_agent();
    for (name, lines) in [("tests", &reply.tests), ("risks", &reply.risks)] {
        if !lines.is_empty() {
            row.details.push(format!("{name}: {}", lines.join("; ")));
        }
    }
    let answers = reply.answers.iter().map(|answer| format!("answer to {}: {}", answer.to, answer.text));
    row.details.extend(answers);
    row.details.extend(reply.conflict.iter().map(|conflict| format!("conflict: {}", conflict.reason)));
    row
}

fn reviewed(review: &Review) -> Row {
    let verdict = match review.verdict {
        ReviewVerdict::Approve => "approve",
        ReviewVerdict::RequestChanges => "request_changes",
        ReviewVerdict::Block => "block",
    };
    let good = review.verdict == ReviewVerdict::Approve;
    let text = format!("{verdict}: {}", review.stopping);
    let mut row = Row::new(Sign::of(good), "reviewer", text).of_agent();
    for one in &review.issues {
        row.details.push(issue(one));
        row.details.extend(one.how_to_verify.iter().map(|how| format!("to verify: {how}")));
    }
    row.details.extend(review.extra_tests.iter().map(|test| format!("missing test: {test}")));
    if review.suggested_patch.as_ref().is_some_and(|patch| !patch.trim().is_empty()) {
        row.details.push("it proposes a patch, which goes to the builder".into());
    }
    row
}

fn issue(issue: &Issue) -> String {
    let severity = match issue.severity {
        Severity::Critical => "critical",
        Severity::Major => "major",
        Severity::Minor => "minor",
    };
    let id = issue.issue_id.as_deref().map_or_else(String::new, |id| format!(" [{id}]"));
    format!("{severity}{id} {}", issue.description)
}

/// Returns the files of a diff with their added and removed lines.
fn stat(diff: &str) -> String {
    let mut files: Vec<(String, u32, u32)> = Vec::new();
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let name = names.rsplit(" b/").next().unwrap_or(names).trim_matches('"');
            files.push((name.to_owned(), 0, 0));
        } else if let Some((_, added, removed)) = files.last_mut() {
            if line.starts_with('+') && !line.starts_with("+++ ") {
                *added += 1;
            } else if line.starts_with('-') && !line.starts_with("--- ") {
                *removed += 1;
            }
        }
    }
    let stats: Vec<String> =
        files.iter().map(|(name, added, removed)| format!("{name} +{added} −{removed}")).collect();
    stats.join(", ")
}

/// Returns milliseconds as seconds.
pub(super) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

/// Makes a text of an agent safe to print: it may not move the cursor, colour anything, turn the direction of writing
/// or hide in characters that nobody sees.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
            c if c.is_control() => '\u{fffd}',
            '\u{061c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{e0000}'..='\u{e007f}' => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// The same for text of several lines.
pub fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
