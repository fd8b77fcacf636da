//! The laws of one cycle, held against every event. They know the journal and what the cycle shows, and compute from
//! facts what the machine computes by its own rules.

use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::cycle::Cycle;
use checkmate_machine::effect::{Action, Call, CheckKind, Purpose};
use checkmate_machine::event::{Answer, Command, Event};
use checkmate_machine::evidence::{Ended, Receipt};
use checkmate_machine::finding::Status;
use checkmate_machine::ids::{Role, TreeId};
use checkmate_machine::notice::{ArbiterOutcome, Notice};
use checkmate_machine::outcome::{Outcome, StoppedBy};
use checkmate_machine::reply::{self, BlockReason, DecisionKind, Reply};
use checkmate_machine::spec::{Policy, Product, ReviewMode, Spec};
use checkmate_machine::verdict::Decision;

use super::exams::Exams;
use super::fences;
use super::repository::{Files, Repository};

/// Bytes that no prompt may exceed, whatever agents, tests and files say.
const LARGEST_PROMPT: usize = 1_000_000;

/// What was seen of one cycle.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    policy: Policy,
    exams: Exams,
    /// Receipts of the test command on whole trees.
    receipts: Vec<(CheckKind, Receipt)>,
    reviewed: BTreeSet<TreeId>,
    moderated: BTreeSet<TreeId>,
    merged: BTreeSet<TreeId>,
    /// The files of tests that settled a finding.
    arbiter_tests: Files,
    /// The candidate's tree after the latest event.
    candidate: Option<TreeId>,
    outcome: Option<Outcome>,
    landed: u32,
    commands: u32,
    approvals: u32,
    /// The latest effect whose prompts were read.
    read: u32,
    largest: usize,
    /// What a person said of the change and the maker was not told yet.
    comments: BTreeSet<String>,
    /// Whether the change is being brought to the user.
    landing: bool,
}

impl Watch {
    pub(super) fn new(spec: &Spec) -> Self {
        Self {
            policy: spec.policy.clone(),
            exams: Exams::new(spec),
            receipts: Vec::new(),
            reviewed: BTreeSet::new(),
            moderated: BTreeSet::new(),
            merged: BTreeSet::new(),
            arbiter_tests: BTreeMap::new(),
            candidate: None,
            outcome: None,
            landed: 0,
            commands: 0,
            approvals: 0,
            read: 0,
            largest: 0,
            comments: BTreeSet::new(),
            landing: false,
        }
    }

    pub(super) fn largest_prompt(&self) -> usize {
        self.largest
    }

    pub(super) fn approvals(&self) -> u32 {
        self.approvals
    }

    /// Takes down an event and what came of it. `action` is what it answers; `trees` are known unless answers are made
    /// up.
    pub(super) fn saw(
        &mut self,
        event: &Event,
        action: Option<Action>,
        notices: &[Notice],
        cycle: &Cycle,
        trees: Option<&Repository>,
    ) -> Result<(), String> {
        match event {
            Event::Answered { answer, .. } => {
                if let Some(action) = action {
                    self.note(&action, answer);
                    self.exams.note(&action, answer);
                }
                if self.outcome.is_some() && self.outcome.as_ref() != cycle.outcome() {
                    return Err("an answer changes no outcome".into());
                }
            }
            Event::Command { command, .. } => match command {
                Command::Retry | Command::Land { .. } | Command::Budget { .. } => self.commands += 1,
                Command::Cancel { .. } | Command::TimeOver => {}
                Command::Comment { text, .. } => {
                    let given = matches!(cycle.spec().product, Product::Given { .. });
                    if self.outcome.is_none() && !self.landing && !given {
                        self.comments.insert(text.clone());
                    }
                }
                Command::Dispute { .. } => {}
                // What was taken back may land again.
                Command::TakenBack => self.landed = 0,
            },
        }
        self.note_arbiter(notices, cycle, trees);
        self.approvals_have_evidence(notices, cycle)?;
        self.landings_are_earned(cycle, trees)?;
        self.comments_come_first(cycle)?;
        self.turns_are_bounded(cycle)?;
        self.prompts_are_sound(cycle)?;
        self.verdict_fits_outcome(cycle)?;
        self.candidate = cycle.candidate().map(|candidate| candidate.tree.clone());
        self.outcome = cycle.outcome().cloned();
        Ok(())
    }

    /// Nothing lands before the maker was told what a person said of the change.
    fn comments_come_first(&mut self, cycle: &Cycle) -> Result<(), String> {
        self.landing = false;
        for (_, _, action) in cycle.pending() {
            match action {
                Action::Call(call) if call.purpose == Purpose::Build => {
                    self.comments.retain(|text| !call.prompt.user.contains(text.as_str()));
                }
                Action::Land { .. } => {
                    self.landing = true;
                    if let Some(comment) = self.comments.first() {
                        return Err(format!("a change lands before the maker was told `{comment}`"));
                    }
                }
                Action::Call(_)
                | Action::Prepare
                | Action::Read { .. }
                | Action::Apply { .. }
                | Action::Store { .. }
                | Action::Inspect { .. }
                | Action::Check { .. }
                | Action::Ask(_) => {}
            }
        }
        Ok(())
    }

    fn note(&mut self, action: &Action, answer: &Answer) {
        match (action, answer) {
            (Action::Check { kind, command, tree, layers, vary: None, .. }, Answer::Ran(receipt))
                if layers.is_empty() && *command == self.policy.test_command && receipt.tree == *tree =>
            {
                self.receipts.push((*kind, receipt.clone()));
            }
            (Action::Call(call), Answer::Called(called)) => self.note_call(call, &called.text),
            (Action::Land { .. }, Answer::Landed { .. }) => self.landed += 1,
            (Action::Land { .. }, Answer::TargetMoved { merged, .. }) => {
                self.merged.insert(merged.tree.clone());
            }
            // The maker starts afresh, without anything of the old candidate.
            (Action::Land { .. }, Answer::Conflict { .. }) => self.arbiter_tests.clear(),
            (_, _) => {}
        }
    }

    fn note_call(&mut self, call: &Call, text: &str) {
        let Some(about) = call.about.clone() else { return };
        match (call.purpose, reply::parse(text, call.prompt.shape)) {
            (Purpose::Review, (Some(Reply::Review(review)), problems))
                if problems.is_empty() && review.block_reason != Some(BlockReason::Uncertainty) =>
            {
                self.reviewed.insert(about);
            }
            (Purpose::Moderate, (Some(Reply::Decision(decision)), problems))
                if problems.is_empty() && decision.decision == DecisionKind::AcceptBuilder =>
            {
                self.moderated.insert(about);
            }
            (_, _) => {}
        }
    }

    /// Takes down the tests that settled a finding; a refuting one is part of what was reviewed from then on.
    fn note_arbiter(&mut self, notices: &[Notice], cycle: &Cycle, trees: Option<&Repository>) {
        let settled = notices.iter().find_map(|notice| {
            let Notice::ArbiterResult { result } = notice else { return None };
            (result.outcome != ArbiterOutcome::TestInvalid).then_some(result.outcome)
        });
        let (Some(outcome), Some(candidate)) = (settled, cycle.candidate()) else { return };
        if let (Some(trees), Some(old)) = (trees, &self.candidate) {
            let old = trees.files(old);
            let new = trees.files(&candidate.tree);
            self.arbiter_tests.extend(new.into_iter().filter(|(path, _)| !old.contains_key(path)));
        }
        let seen = self.candidate.as_ref().is_some_and(|old| self.reviewed.contains(old));
        if seen && outcome == ArbiterOutcome::BugRefuted {
            self.reviewed.insert(candidate.tree.clone());
        }
    }

    /// Every approving verdict stands on a receipt for its candidate.
    fn approvals_have_evidence(&mut self, notices: &[Notice], cycle: &Cycle) -> Result<(), String> {
        for notice in notices {
            let Notice::Verdict { verdict, findings } = notice else { continue };
            if verdict.decision != Decision::Approved {
                continue;
            }
            self.approvals += 1;
            let (Some(candidate), Some(prepared)) = (cycle.candidate(), cycle.prepared()) else {
                return Err("a verdict approves without a candidate".into());
            };
            self.is_green(&candidate.tree, &prepared.base)
                .map_err(|why| format!("a verdict approves without evidence: {why}"))?;
            if findings.iter().any(|finding| matches!(finding.status, Status::Confirmed { .. })) {
                return Err("a verdict approves over a confirmed finding".into());
            }
            self.exams
                .approval_is_examined(verdict, cycle)
                .map_err(|why| format!("a verdict approves without an exam: {why}"))?;
        }
        Ok(())
    }

    /// Whatever is brought to the user has evidence, a review and the tests that settled findings.
    fn landings_are_earned(&self, cycle: &Cycle, trees: Option<&Repository>) -> Result<(), String> {
        let pending = cycle.pending();
        let landings: Vec<(&TreeId, &TreeId)> = pending
            .iter()
            .filter_map(|(_, _, action)| {
                let Action::Land { tree, base, .. } = action else { return None };
                Some((tree, base))
            })
            .collect();
        if landings.len() > 1 || self.landed > 1 {
            return Err("at most one landing is outstanding, and one lands".into());
        }
        let Some((tree, base)) = landings.first() else { return Ok(()) };
        if let Product::Given { .. } = cycle.spec().product {
            let own = cycle.candidate().is_some_and(|candidate| candidate.tree == **tree);
            return if own { Ok(()) } else { Err("something else than the user's own patch lands".into()) };
        }
        self.is_green(tree, base).map_err(|why| format!("a change lands without evidence: {why}"))?;
        self.exams.landing_is_examined(tree)?;
        if tree == base && !self.merged.contains(*tree) {
            return Err("a change that changes nothing lands".into());
        }
        let skipped = self.policy.review_mode == ReviewMode::Selective
            && !self.policy.review_on_test_pass
            && cycle.turn() == 1;
        let seen = [&self.reviewed, &self.moderated, &self.merged].iter().any(|trees| trees.contains(*tree));
        if !seen && !skipped {
            return Err("a change lands without a review".into());
        }
        if cycle.findings().all().iter().any(|finding| matches!(finding.status, Status::Confirmed { .. })) {
            return Err("a change lands over a confirmed finding".into());
        }
        if self.moderated.is_empty() && !cycle.findings().standing(self.policy.strictness).is_empty() {
            return Err("a change lands over an open finding that no moderator settled".into());
        }
        let Some(trees) = trees else { return Ok(()) };
        let files = trees.files(tree);
        match self.arbiter_tests.iter().find(|(path, text)| files.get(*path) != Some(*text)) {
            Some((path, _)) => Err(format!("a change lands without {path}, a test that settled a finding")),
            None => Ok(()),
        }
    }

    /// Looks for a passing run of the test command on exactly this tree; the latest that says anything counts.
    fn is_green(&self, tree: &TreeId, base: &TreeId) -> Result<(), String> {
        let of_candidate = |kind: &CheckKind| match kind {
            CheckKind::Tests | CheckKind::Arbiter | CheckKind::Merged => true,
            CheckKind::Baseline
            | CheckKind::BuilderRun
            | CheckKind::Diagnostic
            | CheckKind::ArbiterBase
            | CheckKind::OldTests
            | CheckKind::BrokenTests
            | CheckKind::BrokenBase
            | CheckKind::NewTests
            | CheckKind::Reverted
            | CheckKind::Repeat(_)
            | CheckKind::RepeatBase(_)
            | CheckKind::Example
            | CheckKind::Probe(_)
            | CheckKind::ProbeAgain(_)
            | CheckKind::ProbeBase(_)
            | CheckKind::CompareBase
            | CheckKind::Compare
            | CheckKind::Mutant(_)
            | CheckKind::CompareMutant(_) => false,
        };
        let latest = self
            .receipts
            .iter()
            .rev()
            .find(|(kind, receipt)| of_candidate(kind) && receipt.tree == *tree && ran(receipt));
        let Some((_, receipt)) = latest else { return Err(format!("no test ran on {tree}")) };
        let baseline = self
            .receipts
            .iter()
            .rev()
            .find(|(kind, receipt)| *kind == CheckKind::Baseline && receipt.tree == *base);
        if passes(receipt) || baseline.is_some_and(|(_, baseline)| was_red_before(receipt, baseline)) {
            return Ok(());
        }
        Err(format!("the tests on {tree} ended with {:?} and {:?}", receipt.ended, receipt.report))
    }

    fn turns_are_bounded(&self, cycle: &Cycle) -> Result<(), String> {
        let limit = self.policy.max_iterations;
        if cycle.turn() > limit || cycle.turns().len() > limit as usize {
            return Err(format!("turn {} of {limit}", cycle.turn()));
        }
        let effects = cycle.pending().first().map_or(0, |(effect, _, _)| *effect);
        let findings = u32::try_from(cycle.findings().all().len()).unwrap_or(u32::MAX / 64);
        let bound = most_effects(limit, findings, self.commands)
            + self.exams.most_effects(limit, findings, self.commands);
        if effects > bound {
            return Err(format!("{effects} effects, where {bound} are the most"));
        }
        Ok(())
    }

    /// Reads the prompts of a new effect.
    fn prompts_are_sound(&mut self, cycle: &Cycle) -> Result<(), String> {
        for (effect, _, action) in cycle.pending() {
            let Action::Call(call) = action else { continue };
            if effect <= self.read {
                continue;
            }
            self.largest = self.largest.max(call.prompt.user.len() + call.prompt.system.len());
            prompt_is_sound(call, cycle)
                .map_err(|why| format!("the prompt for {:?} in turn {}: {why}", call.purpose, call.turn))?;
        }
        if let Some((effect, _, _)) = cycle.pending().first()
            && *effect > self.read
        {
            self.read = *effect;
            calls_fit_the_budget(cycle)?;
        }
        Ok(())
    }

    fn verdict_fits_outcome(&self, cycle: &Cycle) -> Result<(), String> {
        let approved = cycle.verdict().is_some_and(|verdict| verdict.decision == Decision::Approved);
        match cycle.outcome() {
            None | Some(Outcome::Error { .. }) => Ok(()),
            Some(Outcome::Approved { .. }) if approved => Ok(()),
            Some(Outcome::Applied { .. }) => match cycle.spec().product {
                Product::Given { .. } => Ok(()),
                Product::Patch | Product::Document { .. } => {
                    Err("only the user's own patch is applied".into())
                }
            },
            Some(Outcome::Approved { .. }) => Err("an approved run has an approving verdict".into()),
            Some(Outcome::NotApproved { stopped_by, .. }) => match stopped_by {
                StoppedBy::NotLanded
                | StoppedBy::LandingConflict
                | StoppedBy::NotApplied
                | StoppedBy::TakenBack
                | StoppedBy::Budget
                | StoppedBy::Cancelled => Ok(()),
                StoppedBy::MaxIterations
                | StoppedBy::Oscillation
                | StoppedBy::Moderator
                | StoppedBy::NeedsHuman
                | StoppedBy::GoalConflict
                | StoppedBy::UnusableReply
                | StoppedBy::DependencyFailed => {
                    if approved {
                        Err(format!("a run stopped by {} has an approving verdict", stopped_by.name()))
                    } else {
                        Ok(())
                    }
                }
            },
        }
    }
}

/// No call is asked for that could go over a limit.
fn calls_fit_the_budget(cycle: &Cycle) -> Result<(), String> {
    let budget = &cycle.spec().policy.budget;
    let pending = cycle.pending();
    let asked = pending
        .iter()
        .filter_map(|(_, _, action)| if let Action::Call(call) = action { Some(call) } else { None });
    let asked: Vec<&Call> = asked.collect();
    let calls = |role: Option<Role>| -> Vec<&Call> {
        asked.iter().copied().filter(|call| role.is_none_or(|role| role == call.role)).collect()
    };
    let spent = |role: Option<Role>| {
        let of_role = cycle.spent().iter().filter(move |(one, _)| role.is_none_or(|role| role == **one));
        of_role.fold((0, 0), |(calls, tokens), (_, spent)| {
            (calls + u64::from(spent.calls), tokens + spent.usage.input_tokens + spent.usage.output_tokens)
        })
    };
    let own = budget.roles.iter().map(|(role, own)| (Some(*role), own.limits));
    for (role, limits) in own.chain([(None, budget.run)]) {
        let (calls, (asked, tokens)) = (calls(role), spent(role));
        if calls.is_empty() {
            continue;
        }
        if limits.calls.is_some_and(|most| asked + calls.len() as u64 > u64::from(most)) {
            return Err(format!("{} calls beside {asked} go over the budget {limits:?}", calls.len()));
        }
        let room: u64 = calls
            .iter()
            .map(|call| {
                let sent = (call.prompt.system.len() + call.prompt.user.len()) as u64 / 4;
                let output = call.allowance.and_then(|allowance| allowance.output_tokens);
                sent + output.unwrap_or(0)
            })
            .sum();
        if limits.tokens.is_some_and(|most| tokens + room > most) {
            return Err(format!("{room} tokens beside {tokens} go over the budget {limits:?}"));
        }
    }
    Ok(())
}

/// The most effects that a cycle can ask for.
///
/// A turn: the history (1), four readings of up to three replies and a reading each (16), three last replies, one
/// question, one patch, two runs of the checks, three rounds of diagnostics of up to three replies, a question and a
/// run each (15), three last replies, one question before landing and one new start after a conflict. A finding: two
/// tests of up to three replies, a patch, three confirmations and a run each (16). Besides: the start, a moderator of
/// three replies, and for the run and every command six landings, each with a verification, and what is asked again.
fn most_effects(turns: u32, findings: u32, commands: u32) -> u32 {
    1 + 44 * turns + 16 * findings + 3 + 14 * (1 + commands)
}

fn ran(receipt: &Receipt) -> bool {
    match receipt.ended {
        Ended::Exited { code } => {
            !(receipt.shell && receipt.report.is_none() && (code == 126 || code == 127))
        }
        Ended::Killed { .. } | Ended::TimedOut { .. } | Ended::NotStarted { .. } => false,
    }
}

fn passes(receipt: &Receipt) -> bool {
    let tested = match &receipt.report {
        Some(report) => {
            report.passed > 0 && report.failed == 0 && report.errors == 0 && report.flaky.is_empty()
        }
        None => receipt.of_repository,
    };
    tested && receipt.ended == Ended::Exited { code: 0 }
}

/// Red, but with nothing that was not red before, and with no fewer tests that pass.
fn was_red_before(receipt: &Receipt, baseline: &Receipt) -> bool {
    let (Some(new), Some(old)) = (&receipt.report, &baseline.report) else { return false };
    ran(receipt)
        && ran(baseline)
        && !new.failing.is_empty()
        && new.failing.len() as u64 == u64::from(new.failed) + u64::from(new.errors)
        && new.failing.iter().all(|name| old.failing.contains(name))
        && new.passed > 0
        && new.passed >= old.passed
}

const SHARED: [&str; 6] =
    ["GOAL", "CONSTRAINTS", "FILE_TREE", "RECENT_DIFFS", "LAST_TEST_OUTPUT", "OPEN_ISSUES"];

const OTHERS: [&str; 22] = [
    "COMMENTS_OF_THE_USER",
    "EARLIER_RUN",
    "EVIDENCE",
    "THE PROBE",
    "WHAT IT SAW",
    "WHAT THE BUILDER SAYS",
    "SUGGESTED_PATCH",
    "TESTS THE REVIEWER MISSES",
    "FILES AS THEY ARE NOW",
    "NOW",
    "COMMANDS",
    "WHAT THE BUILDER CLAIMS",
    "ISSUES HISTORY",
    "TURNS",
    "EARLIER TURNS",
    "THE CLAIM",
    "YOUR LAST TEST WAS INVALID",
    "THE TEST",
    "YOUR LAST REPLY COULD NOT BE USED",
    "SUMMARY SO FAR",
    "TURNS TO SUMMARISE",
    "COMMANDS THAT WERE REFUSED",
];

fn prompt_is_sound(call: &Call, cycle: &Cycle) -> Result<(), String> {
    let text = &call.prompt.user;
    if text.len() > LARGEST_PROMPT {
        return Err(format!("{} bytes are too many", text.len()));
    }
    let read = fences::read(text)?;
    let mut seen = BTreeSet::new();
    for title in &read.titles {
        let counted = ["SUMMARY OF TURNS 1 TO ", "WHAT BECAME OF TURN "]
            .iter()
            .any(|start| title.strip_prefix(start).is_some_and(|number| number.parse::<u32>().is_ok()));
        if !counted && !SHARED.contains(&title.as_str()) && !OTHERS.contains(&title.as_str()) {
            return Err(format!("an unknown section `{title}`"));
        }
        if !seen.insert(title.as_str()) {
            return Err(format!("the section `{title}` is there twice:\n{}", read.open.join("\n")));
        }
    }
    match call.purpose {
        // They are told nothing of the candidate's checks and issues.
        Purpose::Summarise | Purpose::Examine | Purpose::JudgeProbe => return Ok(()),
        Purpose::Build
        | Purpose::ArbiterTest
        | Purpose::ConfirmTest
        | Purpose::Review
        | Purpose::Moderate => {}
    }
    if let Some(missing) = SHARED.iter().find(|title| !seen.contains(**title)) {
        return Err(format!("the section {missing} is missing"));
    }
    for finding in cycle.findings().all() {
        let open = match finding.status {
            Status::Open | Status::Confirmed { .. } => true,
            Status::Gone | Status::Refuted { .. } | Status::Settled { .. } => false,
        };
        let start = format!("- [{}] ", finding.id);
        if open && !read.open.iter().any(|line| line.starts_with(&start)) {
            return Err(format!("the open issue {} is not there", finding.id));
        }
    }
    Ok(())
}
