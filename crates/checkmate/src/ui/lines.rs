//! Progress as plain lines, one after the other, readable without colour.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use checkmate_machine::effect::CheckKind;
use checkmate_machine::evidence::{Ended, Receipt, Signal};
use checkmate_machine::notice::{ArbiterOutcome, Notice};
use checkmate_machine::reply::{BuilderReply, DecisionKind, Issue, Review, ReviewVerdict, Severity};

/// Writes notices as lines to standard error.
#[derive(Debug, Default)]
pub struct Lines {
    turn: u32,
}

impl Lines {
    /// Shows a notice.
    pub fn show(&mut self, notice: &Notice) {
        if let Notice::TurnStarted { turn, .. } = notice {
            self.turn = *turn;
        }
        let text = about(notice);
        if !text.is_empty() {
            anstream::eprintln!("{text}");
        }
    }
}

/// Marks: a word's worth of meaning in one character, and readable where it is not coloured.
fn mark(good: bool) -> String {
    let (sign, colour) = if good { ("✓", AnsiColor::Green) } else { ("✗", AnsiColor::Red) };
    let style = Style::new().fg_color(Some(colour.into()));
    format!("{style}{sign}{style:#}")
}

fn bold(text: &str) -> String {
    let style = Style::new().bold();
    format!("{style}{text}{style:#}")
}

/// Returns a notice as the lines a person reads; empty for what another notice says already.
pub fn about(notice: &Notice) -> String {
    match notice {
        Notice::Status { message } => {
            format!("  · {}", printable_lines(message.trim_end()).replace('\n', "\n      "))
        }
        Notice::TurnStarted { turn, of } => bold(&format!("turn {turn}/{of}")),
        Notice::BuilderReady { reply, .. } => builder(reply),
        Notice::PatchReady { patch, .. } => format!("  {} patch     {}", mark(true), stat(patch)),
        Notice::TestsOutput { check, receipt, .. } => ran(*check, receipt),
        Notice::ReviewReady { review, .. } => reviewed(review),
        Notice::DiagnosticRun { commands } => {
            format!("  · reviewer  unsure, asks for: {}", printable(&commands.join("; ")))
        }
        Notice::ArbiterMode { issue } => {
            format!("  · arbiter   {}: {}", printable(&issue.issue_id), printable(&issue.issue.description))
        }
        Notice::ArbiterResult { result } => {
            let outcome = match result.outcome {
                ArbiterOutcome::BugConfirmed => "bug confirmed",
                ArbiterOutcome::BugRefuted => "bug refuted",
                ArbiterOutcome::TestInvalid => "test invalid",
            };
            let good = result.outcome != ArbiterOutcome::TestInvalid;
            format!("  {} arbiter   {outcome}: {}", mark(good), printable(&result.explanation))
        }
        Notice::ModeratorDecision { decision } => {
            let kind = match decision.decision {
                DecisionKind::AcceptBuilder => "accept_builder",
                DecisionKind::AcceptReviewer => "accept_reviewer",
                DecisionKind::RejectBoth => "reject_both",
            };
            format!("  · moderator {kind}: {}", printable(&decision.reasoning))
        }
        // The verdict card at the end says these.
        Notice::Verdict { .. }
        | Notice::CycleComplete { .. }
        | Notice::Outcome { .. }
        | Notice::Error { .. } => String::new(),
    }
}

fn builder(reply: &BuilderReply) -> String {
    let plan = if reply.plan.is_empty() { "gives no plan".to_owned() } else { reply.plan.join(" → ") };
    let mut text = format!("  · builder   {}", printable(&plan));
    for (name, lines) in [("test", &reply.tests), ("risk", &reply.risks)] {
        for line in lines {
            let _ = write!(text, "\n      {name}: {}", printable(line));
        }
    }
    for answer in &reply.answers {
        let _ = write!(text, "\n      answer to {}: {}", printable(&answer.to), printable(&answer.text));
    }
    if let Some(conflict) = &reply.conflict {
        let _ = write!(text, "\n      conflict: {}", printable(&conflict.reason));
    }
    text
}

fn ran(check: CheckKind, receipt: &Receipt) -> String {
    let name = match check {
        CheckKind::Baseline => "baseline",
        CheckKind::Tests => "tests",
        CheckKind::BuilderRun | CheckKind::Diagnostic => "command",
        CheckKind::Arbiter => "with test",
        CheckKind::ArbiterBase => "old + test",
        CheckKind::Merged => "merged",
        CheckKind::OldTests => "old tests",
        CheckKind::BrokenTests => "broken tests",
        CheckKind::BrokenBase => "old broken",
        CheckKind::NewTests => "on old",
        CheckKind::Reverted => "taken back",
        CheckKind::Repeat(_) => "again",
        CheckKind::RepeatBase(_) => "old again",
        CheckKind::Example => "examples",
        CheckKind::Probe(_) | CheckKind::ProbeAgain(_) => "probe",
        CheckKind::ProbeBase(_) => "old probe",
        CheckKind::CompareBase => "old calls",
        CheckKind::Compare => "calls",
        CheckKind::Mutant(_) | CheckKind::CompareMutant(_) => "mutant",
    };
    let (good, said) = match receipt.signal() {
        Signal::Pass { .. } | Signal::Fail | Signal::Absent | Signal::Flaky
            if matches!(check, CheckKind::BuilderRun | CheckKind::Diagnostic) =>
        {
            (
                receipt.ended == (Ended::Exited { code: 0 }),
                format!("{} {}", receipt.command(), ended(receipt)),
            )
        }
        Signal::Pass { tests } => (true, format!("{tests} passed")),
        Signal::Fail => (false, checkmate_machine::verdict::red_message(receipt)),
        Signal::Absent => (false, "no test ran".into()),
        Signal::Flaky => (false, "unstable".into()),
        Signal::Infra { reason } => (false, reason),
    };
    let time = if receipt.cached { "from an earlier run".to_owned() } else { seconds(receipt.duration_ms) };
    format!("  {} {name:<9} {}  {time}", mark(good), printable(&said))
}

fn ended(receipt: &Receipt) -> String {
    match &receipt.ended {
        Ended::Exited { code } => format!("(exit {code})"),
        Ended::Killed { signal } => format!("(signal {signal})"),
        Ended::TimedOut { limit_s } => format!("(over {limit_s} s)"),
        Ended::NotStarted { reason } => format!("({reason})"),
    }
}

fn reviewed(review: &Review) -> String {
    let verdict = match review.verdict {
        ReviewVerdict::Approve => "approve",
        ReviewVerdict::RequestChanges => "request_changes",
        ReviewVerdict::Block => "block",
    };
    let good = review.verdict == ReviewVerdict::Approve;
    let mut text = format!("  {} reviewer  {verdict}: {}", mark(good), printable(&review.stopping));
    for one in &review.issues {
        let _ = write!(text, "\n{}", issue(one));
    }
    for test in &review.extra_tests {
        let _ = write!(text, "\n      missing test: {}", printable(test));
    }
    if review.suggested_patch.as_ref().is_some_and(|patch| !patch.trim().is_empty()) {
        text.push_str("\n      it proposes a patch, which goes to the builder");
    }
    text
}

fn issue(issue: &Issue) -> String {
    let severity = match issue.severity {
        Severity::Critical => "critical",
        Severity::Major => "major",
        Severity::Minor => "minor",
    };
    let id = issue.issue_id.as_deref().map_or_else(String::new, |id| format!(" [{}]", printable(id)));
    let mut text = format!("      {severity}{id} {}", printable(&issue.description));
    if let Some(how) = &issue.how_to_verify {
        let _ = write!(text, "\n        to verify: {}", printable(how));
    }
    text
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
    let stats: Vec<String> = files
        .iter()
        .map(|(name, added, removed)| format!("{} +{added} −{removed}", printable(name)))
        .collect();
    stats.join("   ")
}

/// Returns milliseconds as seconds.
pub(super) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

/// Makes a text of an agent safe to print: it may not move the cursor, colour anything or hide in control characters.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                '\u{fffd}'
            }
            c => c,
        })
        .collect()
}

/// The same for text of several lines.
pub fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}
