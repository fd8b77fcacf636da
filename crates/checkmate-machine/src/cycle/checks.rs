//! The middle of a turn: the patch becomes a candidate, and Checkmate runs the checks on it.

use super::exam::{After, Read};
use super::turn::distinct;
use super::{Cycle, Step};
use crate::command::CommandLine;
use crate::effect::{Action, CheckKind, Question};
use crate::event::{Answer, Candidate, Change};
use crate::evidence::{self, Ended, Receipt, Standing};
use crate::gate::commands::{self, CommandVerdict};
use crate::gate::paths::Allowlist;
use crate::ids::Role;
use crate::notice::Notice;
use crate::prompt;
use crate::record::TurnEnd;
use crate::spec::{Product, ReviewMode};
use crate::task::Permission;
use crate::verdict::{self, ReviewState};

/// How often a check that could not be run is run again in one turn.
const CHECKS: u32 = 1;
/// How many commands one reply may name.
pub(super) const COMMANDS: usize = 10;

impl Cycle {
    pub(super) fn on_applied(&mut self, answers: Vec<Answer>) {
        if let Product::Given { .. } = self.spec.product {
            return self.on_given_applied(answers);
        }
        let candidate = match answers.into_iter().next() {
            Some(Answer::Applied(candidate)) => candidate,
            Some(Answer::Rejected { reasons }) => {
                self.status(format!("The patch could not be applied: {}", reasons.join(" ")));
                return self.end_turn(TurnEnd::Rejected(reasons));
            }
            Some(_) | None => return,
        };
        let mut refusals = self.not_allowed(&candidate);
        refusals.extend(self.lost_tests(&candidate));
        if !refusals.is_empty() {
            self.status(format!("The change was refused: {}", refusals.join(" ")));
            return self.end_turn(TurnEnd::NotAllowed(refusals));
        }
        if candidate.tree == self.present_tree() {
            let reason = "The patch changes nothing: the files already are as it would make them.".to_owned();
            self.status(&*reason);
            return self.end_turn(TurnEnd::Rejected(vec![reason]));
        }
        if self.spec.policy.approve_patches {
            let question = Question::Patch { diff: candidate.diff.clone() };
            return self.emit(Step::AskingToApply(Box::new(candidate)), vec![Action::Ask(question)]);
        }
        self.take_candidate(candidate);
    }

    pub(super) fn on_asked_to_apply(&mut self, candidate: Candidate, answers: &[Answer]) {
        match answers.first().map(said) {
            Some((true, _)) => self.take_candidate(candidate),
            Some((false, text)) => {
                let declined = TurnEnd::Declined(text.trim().to_owned());
                self.status(prompt::turn_end(&declined));
                self.end_turn(declined);
            }
            None => {}
        }
    }

    /// Makes a change that may be applied the one that is judged.
    fn take_candidate(&mut self, candidate: Candidate) {
        let repeated = self.oscillation.repeated_tree(&candidate.tree, &self.base());
        self.notices.push(Notice::PatchReady { patch: candidate.diff.clone(), turn: self.turn });
        self.candidate = Some(candidate);
        self.evidence = None;
        self.review = None;
        self.verdict = None;
        if let Some(stuck) = repeated {
            return self.stuck(stuck);
        }
        self.oscillation.applied(self.turn, &self.present_tree());
        if self.examines() {
            return self.inspect(Read::Check);
        }
        self.gate_builder_commands();
    }

    /// Names every change that a rule forbids; the candidate's real diff is judged, whoever made it.
    pub(super) fn not_allowed(&self, candidate: &Candidate) -> Vec<String> {
        let globs = match &self.spec.product {
            Product::Patch | Product::Given { .. } => self.spec.policy.allow_paths.clone(),
            Product::Document { path } => vec![path.clone()],
        };
        match Allowlist::new(&globs) {
            Ok(allowlist) => {
                let denied = |change: &&Change| allowlist.verdict(change).is_err() && !self.may_leave(change);
                let denied = candidate.changes.iter().filter(denied);
                denied.filter_map(|change| allowlist.verdict(change).err()).collect()
            }
            // The configuration is checked when it is loaded; deny on our own failure all the same.
            Err(error) => vec![error.to_string()],
        }
    }

    /// Tells whether the user permits a change beyond the allowlist; what is protected stays so.
    fn may_leave(&self, change: &Change) -> bool {
        let permitted = self.reading.permits.allow(Permission::Paths, [change.path.as_str()]);
        permitted && Allowlist::new(&[]).is_ok_and(|everything| everything.verdict(change).is_ok())
    }

    /// Sends the commands of the maker's reply through the gate.
    pub(super) fn gate_builder_commands(&mut self) {
        let lines = self.reply.as_ref().map(|reply| reply.run.clone()).unwrap_or_default();
        let (mut allowed, mut asked) = (Vec::new(), Vec::new());
        let lines = distinct(&lines);
        if lines.len() > COMMANDS {
            self.refuse(too_many_commands(lines.len()));
        }
        for line in lines.into_iter().take(COMMANDS) {
            match commands::judge(line, &self.spec.policy) {
                CommandVerdict::TestCommand => {}
                CommandVerdict::Allow(command) => allowed.push(command),
                CommandVerdict::Ask(command) => asked.push(command),
                CommandVerdict::Deny(reason) => self.refuse(reason),
            }
        }
        if asked.is_empty() {
            return self.check(allowed);
        }
        let questions = asked
            .iter()
            .map(|command| Action::Ask(Question::Command { role: Role::Builder, line: command.text.clone() }))
            .collect();
        // Those that wait for an answer stand behind those that need none.
        allowed.extend(asked);
        self.emit(Step::AskingForBuilder(allowed), questions);
    }

    pub(super) fn on_asked_for_builder(&mut self, commands: Vec<CommandLine>, answers: &[Answer]) {
        let (mut allowed, asked) = split_tail(commands, answers.len());
        for (command, answer) in asked.into_iter().zip(answers) {
            match said(answer) {
                (true, _) => allowed.push(command),
                (false, text) => self.refuse(refused_by_a_person(&command, text)),
            }
        }
        self.check(allowed);
    }

    fn refuse(&mut self, reason: String) {
        self.status(&*reason);
        self.refusals.push(reason);
    }

    /// Runs the test command and what the gate let through.
    fn check(&mut self, commands: Vec<CommandLine>) {
        self.doing("Running the tests.");
        self.emit_check(commands);
    }

    fn emit_check(&mut self, commands: Vec<CommandLine>) {
        let tree = self.present_tree();
        let mut parts = vec![Action::Check {
            kind: CheckKind::Tests,
            command: self.spec.policy.test_command.clone(),
            tree: tree.clone(),
            layers: Vec::new(),
            vary: None,
            limit_s: None,
        }];
        parts.extend(commands.into_iter().map(|command| Action::Check {
            kind: CheckKind::BuilderRun,
            command,
            tree: tree.clone(),
            layers: Vec::new(),
            vary: None,
            limit_s: None,
        }));
        self.emit(Step::Checking, parts);
    }

    pub(super) fn on_checked(&mut self, answers: Vec<Answer>) {
        let mut receipts = answers.into_iter().filter_map(Answer::ran);
        let Some(tests) = receipts.next() else { return };
        self.keep(CheckKind::Tests, &tests);
        self.diagnostics.clear();
        for receipt in receipts {
            self.keep(CheckKind::BuilderRun, &receipt);
            self.diagnostics.push(crate::prompt::receipt(&receipt));
        }
        self.last_tests = Some(tests.clone());
        match evidence::standing(&tests, self.baseline.as_ref()) {
            Standing::Green(_) | Standing::KnownRed(_) if let Some(reason) = self.left_out(&tests) => {
                self.on_red(reason);
            }
            Standing::Green(count) => {
                self.status(format!("The tests are green: {count} passed."));
                let fewer = evidence::fewer(&tests, self.baseline.as_ref());
                if let Some(before) = fewer {
                    self.status(format!("That is fewer than before the change, when {before} passed."));
                }
                self.evidence = Some(tests);
                self.findings.settle_confirmed();
                self.examine(After::Green { without_exception: fewer.is_none() });
            }
            Standing::KnownRed(names) => {
                self.status(format!("Nothing is newly red; {} failed before the change as well.", names.join(", ")));
                self.evidence = Some(tests);
                self.findings.settle_confirmed();
                self.examine(After::Green { without_exception: false });
            }
            Standing::Red => self.on_red(verdict::red_message(&tests)),
            Standing::Flaky => self.on_red("The tests pass and fail on the same tree; make them deterministic.".into()),
            Standing::Absent => self.on_red(
                "The test command ended well, but no test ran; zero tests are no evidence. Write at least one that it runs."
                    .into(),
            ),
            Standing::Unreported => self.on_red(verdict::unreported_message(&tests)),
            Standing::Infra(reason) => self.on_infra(&tests, reason),
        }
    }

    /// Tells whether a person said something that the maker has not been told.
    pub(super) fn has_untold_comments(&self) -> bool {
        self.told < self.comments.len()
    }

    pub(super) fn on_green(&mut self, without_exception: bool) {
        if self.has_untold_comments() {
            // A review of what changes anyway would be paid for nothing.
            return self.end_turn(TurnEnd::Commented);
        }
        let policy = &self.spec.policy;
        let skip = policy.review_mode == ReviewMode::Selective
            && !policy.review_on_test_pass
            && self.turn == 1
            && without_exception;
        if skip {
            return self.approve(ReviewState::SkippedByConfiguration);
        }
        self.ask_reviewer();
    }

    fn on_red(&mut self, reason: String) {
        self.status(format!("The tests are red: {reason}"));
        let last = self.turn >= self.spec.policy.max_iterations;
        if last && self.spec.policy.review_mode == ReviewMode::FinalOnly {
            // The run is about to end without any review: the person gets one, though it cannot approve.
            return self.ask_reviewer();
        }
        self.end_turn(TurnEnd::Red(reason));
    }

    /// A check that could not be run says nothing about the change, so it is run again; only a candidate on which
    /// the command hangs, though it did not before, has to answer for it.
    fn on_infra(&mut self, tests: &Receipt, reason: String) {
        if self.rounds.checks < CHECKS {
            self.rounds.checks += 1;
            self.status(format!("{reason} Running it again."));
            return self.check(Vec::new());
        }
        match tests.ended {
            Ended::TimedOut { .. } | Ended::Killed { .. } => self.on_red(format!(
                "{reason} It ran to its end before the change, so the change makes it hang, crash or run too long."
            )),
            Ended::NotStarted { .. } | Ended::Exited { .. } => {
                // Outstanding again, for whoever mends this machine and resumes.
                self.emit_check(Vec::new());
                self.fail(
                    0,
                    format!(
                        "{reason} It could be run before the change. Provide what it lacks and go on with `checkmate resume`."
                    ),
                );
            }
        }
    }
}

impl Answer {
    /// Returns the receipt, if this is one.
    pub(super) fn ran(self) -> Option<Receipt> {
        if let Answer::Ran(receipt) = self { Some(receipt) } else { None }
    }
}

/// Tells an agent that it asked for more commands than are run at once.
pub(super) fn too_many_commands(asked: usize) -> String {
    format!("Refused: {asked} commands at once are too many; only the first {COMMANDS} were looked at.")
}

/// Splits off the last `n` items.
pub(super) fn split_tail<T>(mut items: Vec<T>, n: usize) -> (Vec<T>, Vec<T>) {
    let tail = items.split_off(items.len().saturating_sub(n));
    (items, tail)
}

/// Returns what a person said; anything that is no answer is a no.
pub(super) fn said(answer: &Answer) -> (bool, &str) {
    if let Answer::Said { yes, text } = answer { (*yes, text) } else { (false, "") }
}

/// Tells an agent that a person refused its command.
pub(super) fn refused_by_a_person(command: &CommandLine, text: &str) -> String {
    let said = if text.trim().is_empty() { String::new() } else { format!(" They said: {text}") };
    format!("Refused: a person did not allow `{}`.{said}", command.text)
}
