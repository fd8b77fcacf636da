//! The sections of a prompt, in the order in which they stand.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{State, in_words, map, patch_form};
use crate::effect::{self, Purpose};
use crate::event::FileText;
use crate::evidence::{self, Ended, Receipt, Signal};
use crate::excerpt;
use crate::finding::{Finding, Status, Weight};
use crate::outcome::Outcome;
use crate::record::{Comment, TurnEnd, TurnRecord};
use crate::reply::{AnswerKind, Severity};
use crate::spec::TaskKind;
use crate::verdict::plan;

/// Tokens that the change may take.
const DIFF: usize = 6_000;
/// Tokens that a command's output may take.
const OUTPUT: usize = 1_500;
/// Tokens that one file may take.
const FILE: usize = 6_000;
/// Tokens that all files of a prompt may take.
const FILES: usize = 60_000;
/// Tokens that an earlier reply may take when it goes back, and that its words may take elsewhere.
const REPLY: usize = 1_000;
/// Tokens that one issue, missing test or refusal may take.
const ISSUE: usize = 500;
/// How many issues are shown with all their words; of the others there is one line each.
const ISSUES: usize = 40;
/// Characters of a name or a sentence that stands outside of every fence.
const LINE: usize = 600;
/// Characters of a comment.
const COMMENT: usize = 4_000;

/// Returns the user text of a prompt.
pub(super) fn user(state: &State<'_>, purpose: Purpose) -> String {
    let mut text = String::new();
    match purpose {
        Purpose::Summarise => {
            section(&mut text, "GOAL", &state.spec.task.goal);
            let from = state.summary.map_or(0, |(turns, _)| turns);
            if let Some((_, summary)) = state.summary {
                section(&mut text, "SUMMARY SO FAR", &data("summary", summary));
            }
            let until = state.turns.len().saturating_sub(1).max(from);
            section(&mut text, "TURNS TO SUMMARISE", &data("turns", &history(&state.turns[from..until])));
        }
        Purpose::Build => {
            shared(&mut text, state, purpose);
            builder(&mut text, state);
        }
        Purpose::ArbiterTest => {
            shared(&mut text, state, purpose);
            arbiter(&mut text, state);
            files(&mut text, state.shown);
        }
        Purpose::ConfirmTest => {
            shared(&mut text, state, purpose);
            arbiter(&mut text, state);
            if let Some(dispute) = state.arbiter {
                section(&mut text, "THE TEST", &data("test", &excerpt::head_and_tail(&dispute.patch, DIFF)));
            }
        }
        Purpose::Examine => {
            section(&mut text, "GOAL", &state.spec.task.goal);
            earlier(&mut text, state, false);
            section(&mut text, "CONSTRAINTS", &constraints(state));
            section(&mut text, "FILE_TREE", &file_tree(state));
            // Only before the first candidate do the shown files tell nothing of a change.
            if state.candidate.is_none() {
                files(&mut text, state.shown);
            }
            section(&mut text, "NOW", "Reply with the JSON object.");
        }
        Purpose::JudgeProbe => {
            section(&mut text, "GOAL", &state.spec.task.goal);
            disputed(&mut text, state);
        }
        Purpose::Review | Purpose::Moderate => {
            shared(&mut text, state, purpose);
            gathered(&mut text, state);
            claims(&mut text, state);
            diagnostics(&mut text, state);
            if purpose == Purpose::Moderate {
                issue_history(&mut text, state);
            }
        }
    }
    if let Some(correction) = state.correction.filter(|_| purpose != Purpose::Examine) {
        let problems: Vec<String> =
            correction.problems.iter().take(ISSUES).map(|problem| excerpt::line(problem, LINE)).collect();
        let problems = bullets(&problems);
        let reply = data("reply", &excerpt::head_and_tail(&correction.reply, REPLY));
        section(
            &mut text,
            "YOUR LAST REPLY COULD NOT BE USED",
            &format!("{reply}\n\nMend exactly this and send the whole reply again:\n{problems}"),
        );
    }
    text
}

/// Returns how many bytes of a user text stay the same from turn to turn: all up to the end of the file tree. Most
/// providers find that out themselves; some want to be told. It is 0 where the text has no such part.
pub fn stable_part(user: &str) -> usize {
    // The file tree is fenced, so its end cannot be mistaken for that of another section before it.
    let tree = user.find("\n## FILE_TREE\n");
    let end = tree.and_then(|at| Some(at + user.get(at..)?.find(STABLE_END)?));
    end.map_or(0, |end| end + STABLE_END.len() - NEXT.len())
}

/// How the last stable section ends where another one follows, and what belongs to that one.
const STABLE_END: &str = ">>>\n\n## ";
const NEXT: &str = "\n## ";

/// The six sections that every agent sees, stable ones first.
fn shared(text: &mut String, state: &State<'_>, purpose: Purpose) {
    section(text, "GOAL", &state.spec.task.goal);
    earlier(text, state, true);
    section(text, "CONSTRAINTS", &constraints(state));
    section(text, "FILE_TREE", &file_tree(state));
    if let Some((turns, summary)) = state.summary {
        section(text, &format!("SUMMARY OF TURNS 1 TO {turns}"), &data("summary", summary));
    }
    section(text, "RECENT_DIFFS", &recent_diffs(state, purpose));
    section(text, "LAST_TEST_OUTPUT", &last_test_output(state));
    section(text, "OPEN_ISSUES", &open_issues(state));
    comments(text, state);
}

/// What the user said to the run meanwhile: trusted like the goal.
fn comments(text: &mut String, state: &State<'_>) {
    if state.comments.is_empty() {
        return;
    }
    let line = |comment: &Comment| {
        let place = match (&comment.path, comment.line) {
            (Some(path), Some(line)) => format!("{path}:{line}: "),
            (Some(path), None) => format!("{path}: "),
            (None, _) => String::new(),
        };
        excerpt::line(&format!("{place}{}", comment.text), COMMENT)
    };
    let lines: Vec<String> = state.comments.iter().map(line).collect();
    section(
        text,
        "COMMENTS_OF_THE_USER",
        &format!(
            "The user says of the change, and their word goes before the reviewer's:\n{}",
            bullets(&lines)
        ),
    );
}

/// The run that this one goes on from. Only the maker and the checker see its change.
fn earlier(text: &mut String, state: &State<'_>, change: bool) {
    let Some(earlier) = &state.spec.task.follows else { return };
    let outcome = match &earlier.outcome {
        Some(Outcome::Approved { .. }) => "It was approved, and the user has its change.".to_owned(),
        Some(Outcome::Applied { .. }) => "It was a patch of the user's own.".to_owned(),
        Some(Outcome::NotApproved { reason, .. }) => {
            format!("It was not approved: {}", excerpt::sentence(reason))
        }
        Some(Outcome::Error { .. }) | None => "It did not come to an end.".to_owned(),
    };
    let mut said = format!(
        "The goal goes on from an earlier one. What it does not say again is meant as it was there.\n{}\n{}",
        data("earlier goal", &earlier.goal),
        excerpt::line(&outcome, REPLY)
    );
    if change && !earlier.diff.is_empty() {
        let _ = write!(said, "\n{}", data("earlier change", &excerpt::head_and_tail(&earlier.diff, DIFF)));
    }
    section(text, "EARLIER_RUN", &said);
}

fn constraints(state: &State<'_>) -> String {
    let policy = &state.spec.policy;
    let files = state.prepared.map_or(&[][..], |prepared| &prepared.files);
    let languages = map::languages(files);
    let mut lines = Vec::new();
    if !languages.is_empty() {
        lines.push(format!("Languages: {}.", languages.join(", ")));
    }
    let style = map::style_files(files);
    lines.push(match style.is_empty() {
        true => "Style: that of the code around the change.".into(),
        false => format!("Style: that of the code around the change, and what {} say.", style.join(", ")),
    });
    lines.push("Dependencies: no new ones; standard library and present dependencies only.".into());
    lines.push(if policy.allow_paths.is_empty() {
        "Allowed paths: all but protected ones (.git, .dualagent.json, .checkmate/, .orchestration/).".into()
    } else {
        format!(
            "Allowed paths: {}. A patch that touches any other path is refused whole.",
            policy.allow_paths.join(", ")
        )
    });
    lines.push(format!("Test command: {}", policy.test_command.text));
    if let Some(kind) = state.spec.task.kind {
        lines.push(format!("Kind of change: {}.", kind_name(kind)));
    }
    if state.spec.task.given_red {
        lines.push("A failing test for this goal is in the repository already.".into());
    }
    if !state.spec.task.permits.is_empty() {
        lines.push(format!("The user permits: {}.", state.spec.task.permits.join(", ")));
    }
    if let Some(examples) = &state.spec.task.examples {
        lines.push(format!(
            "Examples of the goal, run as `{}`:\n{}",
            examples.run,
            data("examples", &examples.content)
        ));
    }
    lines.join("\n")
}

fn kind_name(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::Feature => "feature",
        TaskKind::Bugfix => "bug fix",
        TaskKind::Refactor => "refactoring; behaviour stays as it is",
        TaskKind::Docs => "documentation only",
        TaskKind::Tests => "tests only",
        TaskKind::Chore => "chore",
    }
}

fn file_tree(state: &State<'_>) -> String {
    let files = state.prepared.map_or(&[][..], |prepared| &prepared.files);
    data("file tree", &map::file_tree(&state.spec.task.goal, files))
}

fn recent_diffs(state: &State<'_>, purpose: Purpose) -> String {
    let mut parts = Vec::new();
    match state.candidate {
        Some(candidate) => {
            let whose =
                if purpose == Purpose::Build { "Your whole change so far" } else { "The whole change" };
            let diff = excerpt::head_and_tail(&candidate.diff, DIFF);
            parts.push(format!("{whose}, against the tree before it:\n{}", data("diff", &diff)));
        }
        None => parts.push("None yet.".into()),
    }
    if let Some(last) = state.turns.last().filter(|_| purpose == Purpose::Build) {
        match &last.end {
            TurnEnd::Rejected(_) | TurnEnd::NotAllowed(_) | TurnEnd::Declined(_) => parts.push(format!(
                "Your patch of turn {}, of which nothing was applied:\n{}",
                last.turn,
                data("patch", &excerpt::head_and_tail(&last.reply.patch, DIFF))
            )),
            TurnEnd::Red(_)
            | TurnEnd::Evidence(_)
            | TurnEnd::Objected(_)
            | TurnEnd::Reviewed(_)
            | TurnEnd::Confirmed(_)
            | TurnEnd::Commented
            | TurnEnd::DidNotLand(_) => {}
        }
    }
    parts.join("\n\n")
}

fn last_test_output(state: &State<'_>) -> String {
    let mut parts = Vec::new();
    match (state.last_tests, state.baseline) {
        (Some(tests), _) => parts.push(receipt(tests)),
        (None, Some(baseline)) => parts.push(format!("Before the change:\n{}", receipt(baseline))),
        (None, None) => parts.push("Not run yet.".into()),
    }
    if let (Some(_), Some(baseline)) = (state.last_tests, state.baseline) {
        parts.push(match baseline.signal() {
            Signal::Pass { tests } => format!("Before the change {tests} tests passed."),
            Signal::Fail => format!("Before the change: {}", crate::verdict::red_message(baseline)),
            Signal::Absent => "Before the change there were no tests.".into(),
            Signal::Flaky => "Before the change the tests were unstable.".into(),
            Signal::Infra { reason } => excerpt::line(&reason, LINE),
        });
    }
    if state.last_tests.is_some_and(|tests| evidence::fewer(tests, state.baseline).is_some()) {
        parts.push("Fewer tests pass now: see which are gone, and whether the goal wants them gone.".into());
    }
    parts.join("\n")
}

/// Returns a receipt as agents and people read it: the command, how it ended, what it counted and printed.
pub fn receipt(receipt: &Receipt) -> String {
    let mut text = format!("$ {}\n", excerpt::line(&receipt.command(), LINE));
    let ended = match &receipt.ended {
        Ended::Exited { code } => format!("exit code {code}"),
        Ended::Killed { signal } => format!("ended by signal {signal}"),
        Ended::TimedOut { limit_s } => format!("did not end within {limit_s} s"),
        Ended::NotStarted { reason } => format!("could not be started: {}", excerpt::line(reason, LINE)),
    };
    text.push_str(&ended);
    if let Some(report) = &receipt.report {
        let _ = write!(
            text,
            "; {}: {} passed, {} failed, {} errors, {} skipped",
            excerpt::line(&report.runner, 40),
            report.passed,
            report.failed,
            report.errors,
            report.skipped
        );
    }
    text.push('\n');
    for (name, output) in [("stdout", &receipt.stdout), ("stderr", &receipt.stderr)] {
        if !output.text.trim().is_empty() {
            text.push_str(&data(name, &excerpt::head_and_tail(output.text.trim_end(), OUTPUT)));
            text.push('\n');
        }
    }
    text.trim_end().to_owned()
}

fn open_issues(state: &State<'_>) -> String {
    let strictness = state.spec.policy.strictness;
    let lines: Vec<String> = state
        .findings
        .all()
        .iter()
        .filter_map(|finding| {
            let how = match finding.weight(strictness) {
                Weight::Blocks => "blocks",
                Weight::Objection => "objection, not reproducible as stated",
                Weight::Suggestion if finding.status == Status::Open => "suggestion, does not block",
                Weight::Suggestion => return None,
            };
            Some((finding, how))
        })
        .enumerate()
        .map(|(at, (finding, how))| if at < ISSUES { issue(finding, how) } else { title(finding, how) })
        .collect();
    let refuted: Vec<&str> = state
        .findings
        .all()
        .iter()
        .filter(|finding| matches!(finding.status, Status::Refuted { .. }))
        .map(|finding| finding.id.as_str())
        .collect();
    let mut text = if lines.is_empty() { "None.".to_owned() } else { lines.join("\n") };
    if !refuted.is_empty() {
        let _ = write!(text, "\nRefuted by a test and settled: {}.", refuted.join(", "));
    }
    for finding in state.findings.all() {
        if let Status::Settled { why } = &finding.status {
            let why = excerpt::line(why, LINE);
            let _ = write!(text, "\n{} is settled by the user: {}", finding.id, excerpt::sentence(&why));
        }
    }
    text
}

/// Names an issue, which is never left out of a prompt while it is open.
fn title(finding: &Finding, how: &str) -> String {
    let mut text = format!("- [{}] {}, {how}", finding.id, severity(finding.issue.severity));
    if let Status::Confirmed { tests } = &finding.status {
        let _ = write!(text, ", confirmed by the failing test {}", excerpt::line(&tests.join(", "), LINE));
    }
    text
}

fn issue(finding: &Finding, how: &str) -> String {
    let text = title(finding, how);
    let mut body = format!("{}\n", finding.issue.description);
    if let Some(verify) = &finding.issue.how_to_verify {
        let _ = writeln!(body, "How to verify: {verify}");
    }
    if let Some(uncertainty) = &finding.issue.uncertainty {
        let _ = writeln!(body, "The reviewer is unsure: {uncertainty}");
    }
    for answer in &finding.answers {
        let kind = match answer.answer {
            AnswerKind::Fixed => "fixed",
            AnswerKind::Justified => "justified",
            AnswerKind::Disagree => "disagree",
        };
        let _ = writeln!(body, "The builder's answer ({kind}): {}", answer.text);
    }
    format!("{text}\n{}", data("issue", &excerpt::head_and_tail(body.trim_end(), ISSUE)))
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "critical",
        Severity::Major => "major",
        Severity::Minor => "minor",
    }
}

/// What only the maker sees: the files, what happened last, proposals and missing tests.
fn builder(text: &mut String, state: &State<'_>) {
    let proposal = state.review.and_then(|review| review.suggested_patch.as_deref());
    if let Some(patch) = proposal.filter(|patch| !patch.trim().is_empty()) {
        let patch = data("suggested patch", &excerpt::head_and_tail(patch, DIFF));
        section(
            text,
            "SUGGESTED_PATCH",
            &format!("A proposal of the reviewer; it was not applied.\n{patch}"),
        );
    }
    missing_tests(text, state);
    earlier_turns(text, state);
    if let Some(last) = state.turns.last() {
        section(text, &format!("WHAT BECAME OF TURN {}", last.turn), &what_became(last));
    }
    files(text, state.shown);
    diagnostics(text, state);
    // Said here too: the change so far is shown as a diff, and what was seen last is imitated.
    let patch = patch_form(state.spec, Purpose::Build).map_or_else(String::new, |form| {
        let form = in_words(form);
        format!(" Its `patch` is {form}.")
    });
    section(
        text,
        "NOW",
        &format!(
            "Turn {} of {}. Reply with the JSON object.{patch}",
            state.turn, state.spec.policy.max_iterations
        ),
    );
}

/// The turns that are neither in the summary nor the latest: what was tried before and did not do.
fn earlier_turns(text: &mut String, state: &State<'_>) {
    let from = state.summary.map_or(0, |(turns, _)| turns);
    let until = state.turns.len().saturating_sub(1);
    if from < until {
        section(text, "EARLIER TURNS", &data("turns", &history(&state.turns[from..until])));
    }
}

fn missing_tests(text: &mut String, state: &State<'_>) {
    let lines: Vec<String> = state
        .extra_tests
        .iter()
        .map(|test| match &test.answer {
            None => format!("- [{}] open: {}", test.id, test.text),
            Some(answer) => format!("- [{}] the builder says: {answer} (asked for: {})", test.id, test.text),
        })
        .map(|test| excerpt::head_and_tail(&test, ISSUE))
        .collect();
    if !lines.is_empty() {
        let list = data("tests", &excerpt::head_and_tail(&lines.join("\n"), DIFF));
        section(
            text,
            "TESTS THE REVIEWER MISSES",
            &format!("{list}\nThe builder writes each or answers it by its id in `answers`."),
        );
    }
}

fn what_became(last: &TurnRecord) -> String {
    let mut text = turn_end(&last.end);
    if !last.refusals.is_empty() {
        let _ = write!(text, "\n{}", bullets(&last.refusals));
    }
    data("result", &excerpt::head_and_tail(&text, DIFF))
}

/// What Checkmate itself found out about the candidate, with the objections and what the builder answers.
fn gathered(text: &mut String, state: &State<'_>) {
    let Some(evidence) = &state.evidence else { return };
    let mut lines = plan::summary(evidence);
    for objection in plan::objections(evidence) {
        let answer = objection.answer.unwrap_or_else(|| "no answer".into());
        lines.push(format!("objection [{}]: {} The builder answers: {answer}", objection.id, objection.text));
    }
    if lines.is_empty() {
        return;
    }
    section(text, "EVIDENCE", &data("evidence", &excerpt::head_and_tail(&lines.join("\n"), DIFF)));
}

/// The probe that the builder disputes, what it says about it, and what the probe saw.
fn disputed(text: &mut String, state: &State<'_>) {
    let Some((id, evidence)) = state.disputed.zip(state.evidence.as_ref()) else { return };
    if let Some(probe) = evidence.probes.get(id) {
        let body = format!("criterion: {}\nrun: {}\n{}", probe.criterion, probe.run, probe.content);
        section(text, "THE PROBE", &data("probe", &excerpt::head_and_tail(&body, DIFF)));
    }
    let failed: Vec<String> = plan::blocked(evidence);
    section(text, "WHAT IT SAW", &data("evidence", &excerpt::head_and_tail(&failed.join("\n"), OUTPUT)));
    let said = evidence.answers.iter().rev().find(|answer| answer.to == id);
    let said = said.map_or("", |answer| answer.text.as_str());
    section(text, "WHAT THE BUILDER SAYS", &data("answer", &excerpt::head_and_tail(said, REPLY)));
}

/// What a checker sees beyond the shared state: claims are named as such.
fn claims(text: &mut String, state: &State<'_>) {
    if let Some(reply) = state.reply {
        let mut body = String::new();
        for (name, lines) in [("Plan", &reply.plan), ("Tests", &reply.tests), ("Risks", &reply.risks)] {
            if !lines.is_empty() {
                let _ = writeln!(body, "{name}:\n{}", bullets(lines));
            }
        }
        if !body.is_empty() {
            section(
                text,
                "WHAT THE BUILDER CLAIMS",
                &data("claims", &excerpt::head_and_tail(body.trim_end(), DIFF)),
            );
        }
    }
    missing_tests(text, state);
}

fn issue_history(text: &mut String, state: &State<'_>) {
    let lines: Vec<String> = state
        .findings
        .all()
        .iter()
        .map(|finding| {
            let turns: Vec<String> = finding.turns.iter().map(ToString::to_string).collect();
            let status = match &finding.status {
                Status::Open => "open",
                Status::Gone => "not raised any more",
                Status::Confirmed { .. } => "confirmed by a test",
                Status::Refuted { .. } => "refuted by a test",
                Status::Settled { .. } => "settled by the user",
            };
            format!(
                "- [{}] raised in turn {}; {status}: {}",
                finding.id,
                turns.join(", "),
                excerpt::line(&finding.issue.description, LINE)
            )
        })
        .collect();
    if !lines.is_empty() {
        section(text, "ISSUES HISTORY", &data("issues", &lines.join("\n")));
    }
    if !state.turns.is_empty() {
        let from = state.summary.map_or(0, |(turns, _)| turns);
        section(text, "TURNS", &data("turns", &history(&state.turns[from..])));
    }
}

fn diagnostics(text: &mut String, state: &State<'_>) {
    let refusals = state.refusals.iter().map(|reason| refusal(reason));
    let blocks: Vec<String> = state.diagnostics.iter().cloned().chain(refusals).collect();
    if !blocks.is_empty() {
        section(text, "COMMANDS", &blocks.join("\n\n"));
    }
}

/// Returns why a command was not run; the command in it is an agent's.
pub fn refusal(reason: &str) -> String {
    data("refused", &excerpt::head_and_tail(reason, ISSUE))
}

fn arbiter(text: &mut String, state: &State<'_>) {
    let Some(dispute) = state.arbiter else { return };
    if let Some(finding) = state.findings.get(&dispute.finding) {
        section(text, "THE CLAIM", &issue(finding, "raised twice"));
    }
    if let Some(reason) = &dispute.invalid {
        section(text, "YOUR LAST TEST WAS INVALID", &data("reason", &excerpt::head_and_tail(reason, REPLY)));
    }
}

fn files(text: &mut String, files: &[FileText]) {
    if files.is_empty() {
        return;
    }
    let mut left = FILES;
    let blocks: Vec<String> = files
        .iter()
        // The latest were asked for last; they are the last to be left out.
        .rev()
        .map(|file| {
            let path = excerpt::line(&file.path, LINE);
            match &file.text {
                Ok(_) if left == 0 => {
                    format!("{path}: left out, because the other files fill the prompt; ask for it alone.")
                }
                Ok(content) => {
                    let content = excerpt::head_and_tail(content, FILE.min(left));
                    left = left.saturating_sub(excerpt::tokens(&content));
                    data(&format!("file {path}"), &content)
                }
                Err(reason) => format!("{path}: {}", excerpt::line(reason, LINE)),
            }
        })
        .collect();
    let blocks: Vec<String> = blocks.into_iter().rev().collect();
    section(text, "FILES AS THEY ARE NOW", &blocks.join("\n\n"));
}

/// Returns turns as text for a summary or a moderator.
pub fn history(turns: &[TurnRecord]) -> String {
    turns
        .iter()
        .map(|turn| {
            format!(
                "Turn {}\nPlan: {}\nPatch:\n{}\nResult: {}",
                turn.turn,
                excerpt::head_and_tail(&turn.reply.plan.join("; "), ISSUE),
                excerpt::head_and_tail(&turn.reply.patch, REPLY),
                excerpt::head_and_tail(&turn_end(&turn.end), REPLY)
            )
        })
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Says how a turn ended.
pub fn turn_end(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Rejected(reasons) => {
            format!("The patch could not be applied; nothing changed.\n{}", reasons.join("\n"))
        }
        TurnEnd::NotAllowed(reasons) => {
            format!("The change was refused; nothing changed.\n{}", reasons.join("\n"))
        }
        TurnEnd::Declined(said) => {
            let said = if said.trim().is_empty() {
                "They did not say why.".to_owned()
            } else {
                format!("They said: {}", excerpt::sentence(said))
            };
            format!("The user read the change and refused it; nothing changed. {said}")
        }
        TurnEnd::Red(reason) => format!("The tests are not green: {reason}"),
        TurnEnd::Evidence(reasons) => {
            format!("The evidence is against the change; it has to change:\n{}", bullets(reasons))
        }
        TurnEnd::Objected(objections) => {
            let lines: Vec<String> =
                objections.iter().map(|objection| format!("[{}] {}", objection.id, objection.text)).collect();
            format!(
                "The tests are green, but the evidence raises objections. Meet each by a change, or answer it by its id in \
                 `answers`:\n{}",
                bullets(&lines)
            )
        }
        TurnEnd::Reviewed(review) => {
            let issues: Vec<String> = review
                .issues
                .iter()
                .map(|issue| format!("{}: {}", severity(issue.severity), issue.description))
                .collect();
            format!(
                "The tests are green. The reviewer: {} {}",
                excerpt::sentence(&review.stopping),
                issues.join("; ")
            )
        }
        TurnEnd::Confirmed(reason) => {
            format!("A test confirmed a finding; mend the code, keep the test. {reason}")
        }
        TurnEnd::DidNotLand(reason) => {
            format!("The change was approved but does not fit the user's tree any more. {reason}")
        }
        TurnEnd::Commented => "The user commented on the change; their words come first.".into(),
    }
}

/// Tells whether one text speaks of what another asks for: four of five of the longer words are there.
pub fn is_about(text: &str, wanted: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        text.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() > 2 || word.chars().all(char::is_numeric))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (have, want) = (words(text), words(wanted));
    !want.is_empty() && want.intersection(&have).count() * 5 >= want.len() * 4
}

fn section(text: &mut String, title: &str, body: &str) {
    let gap = if text.is_empty() { "" } else { "\n" };
    let _ = writeln!(text, "{gap}## {title}\n{body}");
}

fn bullets(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// Fences a text that nobody vouches for. The marker holds the text's own hash, so the text cannot contain it.
fn data(name: &str, text: &str) -> String {
    let mark = effect::short_hash(text);
    format!("<<<DATA {name} {mark}\n{text}\nDATA {mark}>>>")
}
