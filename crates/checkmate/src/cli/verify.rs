//! `checkmate verify`: holds an approval against its receipts, offline.
//!
//! Nothing that the journal says was decided is believed: the run is replayed, the verdict is computed again, what each
//! command saw is made again from its layers, and counts are read again from the stored output. What remains to be
//! believed is that the commands printed what the receipts say; nobody can know that without running them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use checkmate_machine::effect::{Action, CheckKind, Layer, hash};
use checkmate_machine::event::{Answer, Candidate, Event};
use checkmate_machine::evidence::{Ended, Output, Receipt};
use checkmate_machine::ids::{RunId, TaskId, TreeId};
use checkmate_machine::outcome::{Outcome, StoppedBy};
use checkmate_machine::run::Run;
use checkmate_machine::verdict::{Decision, GateName, State, Verdict, plan};

use super::{Place, print};
use crate::error::CommandError;
use crate::exit_code;
use crate::journal::{self, Contents, Record};
use crate::report;
use crate::session::TASK;
use crate::ui::{self, printable};
use crate::workspace::Workspace;

/// Hold an approval against its receipts, offline
///
/// Exit codes: 0 the approval stands, 2 there is none or it does not follow from its receipts, 1 the journal or a git
/// object is missing or damaged.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its name, a unique part of it, or `latest`
    run: String,
}

/// A command that the machine asked for, with the receipt that the journal has for it.
struct Check<'a> {
    seq: u64,
    kind: CheckKind,
    action: Action,
    receipt: &'a Receipt,
}

/// A run as its journal makes it.
struct Story<'a> {
    run: Run,
    checks: Vec<Check<'a>>,
    /// Every change that was measured, with its record and the tree it was measured against.
    candidates: Vec<(u64, TreeId, &'a Candidate)>,
    /// What landed last: the tree before it and after it.
    landed: Option<(TreeId, TreeId)>,
    /// Why the replay stopped before the journal's end.
    differs: Option<String>,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let id = project.runs.find(&args.run)?;
    let folder = project.runs.run(&id);
    let contents = journal::read(&folder)?;
    let workspace = Workspace::open(project.repository.clone(), id.as_str(), &folder)?;
    let story = replay(&id, &contents)?;
    let cycle = story.run.cycle(&TaskId::new(TASK));
    present(&story, &workspace)?;
    let mut against = Vec::new();
    let mut text = String::new();
    for check in &story.checks {
        text.push_str(&receipt_lines(check));
        for wrong in contradictions(check, &contents, &workspace) {
            let gate = plan::gate_of(check.kind).map_or("a command of an agent", GateName::name);
            let wrong = format!("{gate}: the receipt in record {} {wrong}", check.seq);
            let _ = writeln!(text, "    ✗ {}", printable(&wrong));
            against.push(wrong);
        }
    }
    print(&text);
    against.extend(story.differs.clone());
    for (seq, base, candidate) in &story.candidates {
        against.extend(unlike(*seq, base, candidate, &workspace));
    }
    let verdict = cycle.and_then(checkmate_machine::cycle::Cycle::rejudged);
    let task = TaskId::new(TASK);
    if story.differs.is_none() && contents.ended() != story.run.outcome(&task).as_ref() {
        against.push("The receipts lead to another end than the journal says.".into());
    }
    against.extend(verdict.iter().flat_map(refusals));
    if let (Some(Outcome::Approved { commit, files }), None) = (contents.ended(), &story.differs) {
        against.extend(landing(&story, commit.as_ref(), files, &workspace)?);
    }
    Ok(conclude(&id, &contents, verdict.as_ref(), &story, &against))
}

/// Says how it stands.
fn conclude(
    id: &RunId,
    contents: &Contents,
    verdict: Option<&Verdict>,
    story: &Story<'_>,
    against: &[String],
) -> u8 {
    let approved = match contents.ended() {
        Some(Outcome::Approved { .. }) => "approved",
        Some(Outcome::Applied { .. } | Outcome::NotApproved { stopped_by: StoppedBy::TakenBack, .. }) => {
            anstream::eprintln!("The run {id} is a patch of your own: nothing was tested or reviewed.");
            return exit_code::NOT_APPROVED;
        }
        Some(Outcome::NotApproved { stopped_by: StoppedBy::NotLanded, .. }) => "approved, not landed",
        Some(Outcome::NotApproved { stopped_by, .. }) => {
            anstream::eprintln!(
                "The run {id} was not approved: it was stopped by {}. `checkmate show {id}` says why.",
                stopped_by.name()
            );
            return exit_code::NOT_APPROVED;
        }
        Some(Outcome::Error { .. }) | None => {
            anstream::eprintln!(
                "The run {id} is not over, so nothing is approved. `checkmate resume {id}` goes on."
            );
            return exit_code::NOT_APPROVED;
        }
    };
    let judged = verdict.is_some_and(|verdict| verdict.decision == Decision::Approved);
    if against.is_empty() && judged {
        anstream::eprintln!(
            "The approval of the run {id} stands ({approved}): {} receipts lead to it, and none of {} gates is against it.",
            story.checks.len(),
            verdict.map_or(0, |verdict| verdict.gates.len())
        );
        return exit_code::DONE;
    }
    anstream::eprintln!("The approval of the run {id} does not follow from its receipts:");
    for wrong in against {
        anstream::eprintln!("  {}", printable(wrong));
    }
    if story.differs.is_some() {
        anstream::eprintln!(
            "Another version of Checkmate may have made it ({} did, this is {}); else the journal was changed.",
            printable(&contents.header.program),
            env!("CARGO_PKG_VERSION")
        );
    }
    exit_code::NOT_APPROVED
}

/// Replays a journal as far as its answers belong to what the machine asks for.
fn replay<'a>(id: &RunId, contents: &'a Contents) -> Result<Story<'a>, CommandError> {
    let run = contents.header.start()?;
    let mut story = Story { run, checks: Vec::new(), candidates: Vec::new(), landed: None, differs: None };
    for (number, record) in (1..).zip(contents.records()) {
        if record.seq != number {
            return Err(CommandError::local(format!(
                "The journal of the run {id} is damaged: its record {number} is missing. Nothing can be said of the run."
            )));
        }
        if let Some(differs) = story.take(record) {
            story.differs = Some(differs);
            break;
        }
    }
    Ok(story)
}

impl<'a> Story<'a> {
    /// Takes a record; says why it cannot be one of this run.
    fn take(&mut self, record: &'a Record) -> Option<String> {
        let Event::Answered { task, effect, part, answer } = &record.event else {
            self.run.handle(&record.event);
            return None;
        };
        let action = self.run.awaited(task, *effect, *part).cloned();
        let asked = action.as_ref().map_or_else(|| "nothing".to_owned(), Action::digest);
        if asked != record.digest {
            return Some(format!(
                "Record {} answers `{}`, but after the receipts before it the rules ask for `{asked}`.",
                record.seq, record.digest
            ));
        }
        self.note(record.seq, action.as_ref(), answer);
        self.run.handle(&record.event);
        // A failure is asked for again; any other answer that is still waited for did not fit.
        let refused =
            !matches!(answer, Answer::Failed(_)) && self.run.awaited(task, *effect, *part).is_some();
        refused.then(|| {
            format!("Record {} does not answer `{asked}`: its receipt is of something else.", record.seq)
        })
    }

    fn note(&mut self, seq: u64, action: Option<&Action>, answer: &'a Answer) {
        match (action, answer) {
            (Some(action @ Action::Check { kind, .. }), Answer::Ran(receipt)) => {
                self.checks.push(Check { seq, kind: *kind, action: action.clone(), receipt });
            }
            (Some(Action::Apply { base, .. } | Action::Store { base, .. }), Answer::Applied(candidate)) => {
                self.candidates.push((seq, base.clone(), candidate));
            }
            (Some(Action::Land { .. }), Answer::TargetMoved { target, merged }) => {
                self.candidates.push((seq, target.clone(), merged));
            }
            (Some(Action::Land { tree, base, .. }), Answer::Landed { .. }) => {
                self.landed = Some((base.clone(), tree.clone()));
            }
            (_, _) => {}
        }
    }
}

/// Makes sure that every tree that the run rests on is in the object store, whole.
fn present(story: &Story<'_>, workspace: &Workspace) -> Result<(), CommandError> {
    let prepared = story.run.cycle(&TaskId::new(TASK)).and_then(|cycle| cycle.prepared());
    let mut trees: BTreeSet<&TreeId> = prepared.map(|prepared| &prepared.base).into_iter().collect();
    for (_, base, candidate) in &story.candidates {
        trees.extend([base, &candidate.tree]);
    }
    for check in &story.checks {
        trees.insert(&check.receipt.tree);
        trees.extend(&check.receipt.saw);
        if let Action::Check { tree, layers, .. } = &check.action {
            trees.insert(tree);
            trees.extend(layers.iter().filter_map(|layer| match layer {
                Layer::Files { from, .. } => Some(from),
                Layer::Text { .. } | Layer::Edit { .. } => None,
            }));
        }
    }
    let trees: Vec<&TreeId> = trees.into_iter().collect();
    let damaged = workspace.damaged(&trees)?;
    let Some((tree, said)) = damaged.first() else { return Ok(()) };
    let others = damaged.len() - 1;
    let others = if others == 0 { String::new() } else { format!(" So are {others} others.") };
    Err(CommandError::local(format!(
        "The git tree {} is missing or damaged, so nothing can be said of the run. {}{others} Was a ref below \
         `refs/checkmate` removed? A clone or a backup of the repository may still have it.",
        printable(tree.as_str()),
        checkmate_machine::excerpt::sentence(&printable(said))
    )))
}

/// Returns what a receipt says that cannot be so.
fn contradictions(check: &Check<'_>, contents: &Contents, workspace: &Workspace) -> Vec<String> {
    let Action::Check { command, tree, layers, vary, .. } = &check.action else { return Vec::new() };
    let receipt = check.receipt;
    let mut wrong = Vec::new();
    if receipt.tree != *tree {
        wrong.push(format!("is for the tree {}, but {tree} was to be checked.", receipt.tree));
    }
    if receipt.argv != command.argv || receipt.shell != command.shell || receipt.seed != *vary {
        wrong.push(format!("is for another command than `{}`.", command.text));
    }
    let saw = receipt.saw.as_ref().unwrap_or(tree);
    match workspace.overlay(tree, layers) {
        Ok(made) if made == *saw => {}
        Ok(made) => {
            wrong.push(format!("says that the command saw the tree {saw}, but its layers make {made}."))
        }
        Err(error) => {
            wrong.push(format!("says that the command saw the tree {saw}, which cannot be made: {error}"))
        }
    }
    for (name, output) in [("standard output", &receipt.stdout), ("standard error", &receipt.stderr)] {
        if is_whole(output)
            && (hash(&output.text) != output.sha256 || output.text.len() as u64 != output.bytes)
        {
            wrong.push(format!("has a text of {name} that does not have its hash or length."));
        }
    }
    if is_recountable(check, contents) {
        let counted = report::read(&receipt.stdout.text, &receipt.stderr.text, None);
        if counted != receipt.report {
            wrong.push(format!(
                "says {}, but its output says {}.",
                counts(receipt.report.as_ref()),
                counts(counted.as_ref())
            ));
        }
    }
    wrong
}

/// Tells whether the text is every byte that was written: nothing was left out, made readable or redacted.
fn is_whole(output: &Output) -> bool {
    ![" bytes left out]\n", "\u{fffd}", "[redacted]"].iter().any(|mark| output.text.contains(mark))
}

/// Tells whether the counts come from the stored output alone. A report file is not kept, and a secret may have been
/// taken out after the counting.
fn is_recountable(check: &Check<'_>, contents: &Contents) -> bool {
    let receipt = check.receipt;
    let ran = matches!(receipt.ended, Ended::Exited { .. } | Ended::Killed { .. } | Ended::TimedOut { .. });
    let of_file = receipt
        .report
        .as_ref()
        .is_some_and(|report| report.runner.split('+').any(|runner| matches!(runner, "pytest" | "junit")));
    let redacted = [&receipt.stdout, &receipt.stderr].iter().any(|output| output.text.contains("[redacted]"));
    ran && !of_file && !redacted && contents.header.shell.test_report.is_none()
}

/// Says how a change that git makes of two trees differs from the one that was judged.
fn unlike(seq: u64, base: &TreeId, judged: &Candidate, workspace: &Workspace) -> Option<String> {
    let made = match workspace.change_between(base, &judged.tree) {
        Ok(made) => made,
        Err(error) => return Some(format!("The change in record {seq} cannot be measured: {error}")),
    };
    let redacted = judged.diff.contains("[redacted]");
    let same = made.changes == judged.changes && (redacted || made.diff == judged.diff);
    (!same).then(|| format!("The change in record {seq} is not the one between its two trees."))
}

/// Returns the gates that keep the change from landing; those that were not asked any more only if there is no other.
fn refusals(verdict: &Verdict) -> Vec<String> {
    let refusing = |pending: bool| -> Vec<String> {
        let gates = verdict.gates.iter().filter(|gate| !gate.passed);
        gates
            .filter(|gate| (gate.state == State::Pending) == pending)
            .map(|gate| format!("{}: {}", gate.gate.name(), gate.message))
            .collect()
    };
    let refused = refusing(false);
    if refused.is_empty() { refusing(true) } else { refused }
}

/// Holds what landed against what was judged.
fn landing(
    story: &Story<'_>,
    commit: Option<&checkmate_machine::ids::CommitId>,
    files: &[String],
    workspace: &Workspace,
) -> Result<Vec<String>, CommandError> {
    let judged = story.run.cycle(&TaskId::new(TASK)).and_then(|cycle| cycle.candidate()).map(|one| &one.tree);
    let Some((base, tree)) = &story.landed else {
        return Ok(vec!["The journal says that the change landed, but has no record of the landing.".into()]);
    };
    let mut wrong = Vec::new();
    if judged != Some(tree) {
        wrong.push(format!("The tree {tree} landed, which is not the one that was judged."));
    }
    let changed: BTreeSet<String> = workspace.changed_paths(base, tree)?.into_iter().collect();
    if changed != files.iter().cloned().collect() {
        wrong.push("The files that landed are not those that the change touches.".into());
    }
    if let Some((from, to)) =
        workspace.latest_landing()?.filter(|landed| *landed != (base.clone(), tree.clone()))
    {
        wrong
            .push(format!("The run's folder says that {from} became {to}, but {base} was to become {tree}."));
    }
    if let Some(commit) = commit {
        let committed = workspace.committed_tree(commit)?;
        if committed != *tree {
            wrong.push(format!(
                "The commit {commit} has the tree {committed}, but {tree} was to be committed."
            ));
        }
    }
    Ok(wrong)
}

/// Returns a receipt as people read it.
fn receipt_lines(check: &Check<'_>) -> String {
    let receipt = check.receipt;
    let saw = receipt.saw.as_ref().unwrap_or(&receipt.tree);
    let ended = match &receipt.ended {
        Ended::Exited { code } => format!("exit {code}"),
        Ended::Killed { signal } => format!("signal {signal}"),
        Ended::TimedOut { limit_s } => format!("over {limit_s} s"),
        Ended::NotStarted { reason } => format!("not started ({reason})"),
    };
    let lines = [
        format!("{} on {saw}: {}", name(check.kind), receipt.command()),
        format!(
            "  {ended}, {}, {}.{} s",
            counts(receipt.report.as_ref()),
            receipt.duration_ms / 1000,
            receipt.duration_ms % 1000 / 100
        ),
        format!("  sha256 {} of stdout, {} of stderr", receipt.stdout.sha256, receipt.stderr.sha256),
    ];
    lines.iter().map(|line| format!("  {}\n", ui::printable(line))).collect()
}

fn counts(report: Option<&checkmate_machine::evidence::TestReport>) -> String {
    match report {
        None => "no report".into(),
        Some(report) => format!(
            "{}: {} passed, {} failed, {} errors, {} skipped",
            report.runner, report.passed, report.failed, report.errors, report.skipped
        ),
    }
}

/// Returns the name of a check as programs read it, with its number.
fn name(kind: CheckKind) -> String {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(serde_json::Value::Object(named)) => {
            named.iter().map(|(name, number)| format!("{name} {number}")).collect()
        }
        Ok(_) | Err(_) => format!("{kind:?}"),
    }
}
