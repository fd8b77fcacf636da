//! The one loop: maker → checks → checker, until evidence and checker agree or a rule ends it.
//!
//! A cycle is a total function of its events. It has at most one outstanding [`Effect`]; when every part of it is
//! answered, the `Step` it belongs to decides what is next. State is never stored: it is replayed.

mod arbiter;
mod checks;
mod exam;
mod given;
mod landing;
mod review;
mod rounds;
mod spending;
mod stuck;
mod turn;

use std::collections::{BTreeMap, BTreeSet};

use crate::budget::Spent;
use crate::command::CommandLine;
use crate::effect::{Action, Call, CheckKind, Effect, Landing, Purpose};
use crate::event::{Answer, Called, Candidate, Command, Failure, FailureKind, FileText, Prepared, Usage};
use crate::evidence::Receipt;
use crate::finding::Findings;
use crate::ids::{Role, TreeId};
use crate::notice::Notice;
use crate::outcome::{Outcome, StoppedBy};
use crate::prompt;
use crate::record::{Comment, ExtraTest, TurnRecord};
use crate::reply::{self, BuilderReply, FindingAnswer, Problem, Reply, Review};
use crate::spec::Spec;
use crate::verdict::{ReviewState, Verdict};

/// How often one and the same part may fail for reasons outside the run before the run ends with an error.
const FAILURES: u32 = 2;
/// How often a reply is sent back before its role is called unusable.
const CORRECTIONS: u32 = 2;

/// What the outstanding effect is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Preparing,
    /// Reading what the next prompt shows, and summarising history where it grew too long.
    Gathering,
    Building,
    ReadingForBuilder,
    AskingForBuilder(Vec<CommandLine>),
    Applying,
    /// A person reads the change before anything of it runs.
    AskingToApply(Box<Candidate>),
    /// Reading what the change does.
    Inspecting(exam::Read),
    Checking,
    /// Running what shows more than the tests.
    Examining(exam::After, Vec<CheckKind>),
    AskingExaminer(exam::After),
    /// Deciding whether a disputed probe follows from the goal; the maker's reply waits.
    JudgingProbe(Called),
    Reviewing,
    AskingForReviewer(review::Diagnostics),
    Diagnosing(review::Diagnostics),
    Arbiter(arbiter::Stage),
    Moderating(stuck::Stuck),
    AskingToLand,
    Landing,
    VerifyingMerged {
        target: TreeId,
        merged: Candidate,
    },
    Ended,
}

/// One maker, one checker, one goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    spec: Spec,
    step: Step,
    effect: Option<Effect>,
    answers: BTreeMap<u32, Answer>,
    failures: u32,
    /// The part whose failure ended the run; until `Retry` nothing is taken for it.
    failed: Option<u32>,
    effects: u32,
    /// How often the outstanding question was sent back before.
    attempts: u32,
    turn: u32,
    prepared: Option<Prepared>,
    baseline: Option<Receipt>,
    candidate: Option<Candidate>,
    /// The test command's receipt for the candidate, once it is green.
    evidence: Option<Receipt>,
    /// What is known of the candidate beyond its tests.
    exam: exam::Exam,
    examiner: exam::Examiner,
    /// What the user's words say about the task.
    reading: exam::Reading,
    /// Everything that the maker answered to findings, objections and probes.
    said: Vec<FindingAnswer>,
    /// Everything that the maker called a risk.
    risks: Vec<String>,
    /// The objections that the checker was told of with their answers.
    heard: BTreeSet<String>,
    /// The probe that is being decided about.
    disputed: Option<String>,
    last_tests: Option<Receipt>,
    receipts: Vec<(CheckKind, Receipt)>,
    findings: Findings,
    /// The files of the tests that settled a finding; they stay in the change as they are.
    settled_by: BTreeSet<String>,
    /// How many tests ran when the latest finding was confirmed; with fewer, its test may not be among them.
    confirmed_among: u32,
    extra_tests: Vec<ExtraTest>,
    turns: Vec<TurnRecord>,
    summary: Option<rounds::Summary>,
    /// Files that the next prompt shows, at the candidate's tree.
    shown: Vec<FileText>,
    /// Paths that the maker asked for in this run.
    asked: BTreeSet<String>,
    reply: Option<BuilderReply>,
    review: Option<Review>,
    diagnostics: Vec<String>,
    refusals: Vec<String>,
    correction: Option<prompt::Correction>,
    rounds: rounds::Rounds,
    oscillation: stuck::Memory,
    verdict: Option<Verdict>,
    /// What the checker's part in the approving verdict was.
    approved_by: Option<ReviewState>,
    landing: Option<Landing>,
    /// What a person said meanwhile, and how much of it the maker has been told.
    comments: Vec<Comment>,
    told: usize,
    spent: BTreeMap<Role, Spent>,
    /// The models that answered, as they name themselves.
    models: BTreeSet<String>,
    notices: Vec<Notice>,
    outcome: Option<Outcome>,
}

impl Cycle {
    /// Starts a cycle; its first effect is outstanding at once.
    pub fn new(spec: Spec) -> Self {
        let mut cycle = Self {
            reading: exam::Reading::of(&spec.task),
            spec,
            step: Step::Preparing,
            effect: None,
            answers: BTreeMap::new(),
            failures: 0,
            failed: None,
            effects: 0,
            attempts: 0,
            turn: 0,
            prepared: None,
            baseline: None,
            candidate: None,
            evidence: None,
            exam: exam::Exam::default(),
            examiner: exam::Examiner::default(),
            said: Vec::new(),
            risks: Vec::new(),
            heard: BTreeSet::new(),
            disputed: None,
            last_tests: None,
            receipts: Vec::new(),
            findings: Findings::default(),
            settled_by: BTreeSet::new(),
            confirmed_among: 0,
            extra_tests: Vec::new(),
            turns: Vec::new(),
            summary: None,
            shown: Vec::new(),
            asked: BTreeSet::new(),
            reply: None,
            review: None,
            diagnostics: Vec::new(),
            refusals: Vec::new(),
            correction: None,
            rounds: rounds::Rounds::default(),
            oscillation: stuck::Memory::default(),
            verdict: None,
            approved_by: None,
            landing: None,
            comments: Vec::new(),
            told: 0,
            spent: BTreeMap::new(),
            models: BTreeSet::new(),
            notices: Vec::new(),
            outcome: None,
        };
        cycle.emit(Step::Preparing, vec![Action::Prepare]);
        cycle
    }

    /// Takes the answer to one part of the outstanding effect and returns what there is to tell.
    ///
    /// An answer to anything else, or of another kind than was asked for, changes nothing.
    pub fn answer(&mut self, effect: u32, part: u32, answer: &Answer) -> Vec<Notice> {
        if !self.expects(effect, part, answer) {
            return Vec::new();
        }
        if let Answer::Failed(failure) = answer {
            self.failed(part, failure);
            return std::mem::take(&mut self.notices);
        }
        self.answers.insert(part, answer.clone());
        self.tell_red_baseline(part, answer);
        let complete = self.effect.as_ref().is_some_and(|effect| self.answers.len() == effect.parts.len());
        if complete {
            self.effect = None;
            self.failures = 0;
            let answers = std::mem::take(&mut self.answers);
            let step = std::mem::replace(&mut self.step, Step::Ended);
            self.advance(step, answers.into_values().collect());
        }
        std::mem::take(&mut self.notices)
    }

    /// Takes a command; legal at any time. One that means nothing now changes nothing.
    pub fn command(&mut self, command: &Command) -> Vec<Notice> {
        match command {
            Command::Cancel { reason } if self.accepts_cancel() => {
                self.effect = None;
                self.answers.clear();
                self.stop(StoppedBy::Cancelled, format!("The run was cancelled: {reason}"));
            }
            Command::Retry if matches!(self.outcome, Some(Outcome::Error { .. })) => {
                self.outcome = None;
                self.failed = None;
                self.failures = 0;
                self.keep_within_budget();
            }
            Command::Land { how } if self.accepts_landing(*how) => {
                self.outcome = None;
                self.rounds.landings = 0;
                self.land(*how);
            }
            Command::TakenBack if matches!(self.outcome, Some(Outcome::Applied { .. })) => {
                self.stop(
                    StoppedBy::TakenBack,
                    "Applied, then taken back. `checkmate land RUN` brings the change to your tree again.",
                );
            }
            Command::TakenBack if matches!(self.outcome, Some(Outcome::Approved { .. })) => {
                self.stop(
                    StoppedBy::NotLanded,
                    "Approved and landed, then taken back. `checkmate land RUN` brings the change to your tree again.",
                );
            }
            Command::TimeOver if self.accepts_cancel() => {
                self.out_of_budget("The minutes of the run's budget are over.", None);
            }
            Command::Budget { role, limits } => self.change_budget(*role, *limits),
            Command::Comment { text, path, line } if self.accepts_comment(text) => {
                self.comments.push(Comment { text: text.clone(), path: path.clone(), line: *line });
            }
            Command::Dispute { finding, text } if self.accepts_dispute(finding) => {
                self.findings.settle(finding, text);
            }
            Command::Cancel { .. }
            | Command::Retry
            | Command::TimeOver
            | Command::Land { .. }
            | Command::Comment { .. }
            | Command::Dispute { .. }
            | Command::TakenBack => {}
        }
        std::mem::take(&mut self.notices)
    }

    /// Tells whether the cycle can be cancelled now. A landing under way cannot: the user may have the change already.
    pub fn accepts_cancel(&self) -> bool {
        self.outcome.is_none() && self.step != Step::Landing
    }

    /// Tells whether a comment can still reach the maker. A landing under way cannot be held up.
    pub fn accepts_comment(&self, text: &str) -> bool {
        self.accepts_cancel() && !self.is_given() && !text.trim().is_empty()
    }

    /// Tells whether a person can settle a finding now.
    pub fn accepts_dispute(&self, finding: &str) -> bool {
        self.accepts_cancel() && self.findings.can_settle(finding)
    }

    /// Returns the outstanding effect's number and its unanswered parts. Nothing is outstanding once there is an outcome.
    pub fn pending(&self) -> Vec<(u32, u32, &Action)> {
        let Some(effect) = self.effect.as_ref().filter(|_| self.outcome.is_none()) else { return Vec::new() };
        (0..)
            .zip(&effect.parts)
            .filter(|(part, _)| !self.answers.contains_key(part))
            .map(|(part, action)| (effect.id, part, action))
            .collect()
    }

    /// Returns a part that an answer would still be taken for.
    ///
    /// After an error these are the parts that were not answered: what was under way beside the failed one is paid for.
    pub fn awaited(&self, effect: u32, part: u32) -> Option<&Action> {
        match self.outcome {
            None | Some(Outcome::Error { .. }) => {}
            Some(Outcome::Approved { .. } | Outcome::Applied { .. } | Outcome::NotApproved { .. }) => {
                return None;
            }
        }
        let pending =
            self.effect.as_ref().filter(|pending| pending.id == effect && self.failed != Some(part))?;
        pending.parts.get(part as usize).filter(|_| !self.answers.contains_key(&part))
    }

    /// Returns how the cycle ended, if it did.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Tells whether a change waits for somebody to land it in this way: an approved one, or a patch of the user's own that
    /// was taken back. That one is never committed, because nobody has judged it.
    pub fn accepts_landing(&self, how: Landing) -> bool {
        let Some(Outcome::NotApproved { stopped_by, .. }) = &self.outcome else { return false };
        match stopped_by {
            StoppedBy::NotLanded => true,
            StoppedBy::TakenBack => how == Landing::Apply,
            StoppedBy::MaxIterations
            | StoppedBy::Oscillation
            | StoppedBy::Moderator
            | StoppedBy::NeedsHuman
            | StoppedBy::GoalConflict
            | StoppedBy::UnusableReply
            | StoppedBy::LandingConflict
            | StoppedBy::NotApplied
            | StoppedBy::Budget
            | StoppedBy::Cancelled
            | StoppedBy::DependencyFailed => false,
        }
    }

    /// Returns the turn, from 1; 0 before the first.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Returns what the cycle was told at its start.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the facts the cycle started from, once they are known.
    pub fn prepared(&self) -> Option<&Prepared> {
        self.prepared.as_ref()
    }

    /// Returns the candidate as it stands.
    pub fn candidate(&self) -> Option<&Candidate> {
        self.candidate.as_ref()
    }

    /// Returns the latest verdict.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    /// Returns every receipt with what it was for, oldest first.
    pub fn receipts(&self) -> &[(CheckKind, Receipt)] {
        &self.receipts
    }

    /// Returns every finding.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Returns the finished turns.
    pub fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    /// Returns what each role has used.
    pub fn spent(&self) -> &BTreeMap<Role, Spent> {
        &self.spent
    }

    /// Returns the models that answered, as they name themselves.
    pub fn models(&self) -> &BTreeSet<String> {
        &self.models
    }

    /// Returns the test command's receipt on the tree before the change.
    pub fn baseline(&self) -> Option<&Receipt> {
        self.baseline.as_ref()
    }

    fn advance(&mut self, step: Step, answers: Vec<Answer>) {
        match step {
            Step::Preparing => self.on_prepared(answers),
            Step::Gathering => self.on_gathered(answers),
            Step::Building => self.on_built(answers),
            Step::ReadingForBuilder => self.on_read_for_builder(answers),
            Step::AskingForBuilder(commands) => self.on_asked_for_builder(commands, &answers),
            Step::Applying => self.on_applied(answers),
            Step::AskingToApply(candidate) => self.on_asked_to_apply(*candidate, &answers),
            Step::Inspecting(then) => self.on_inspected(then, answers),
            Step::Checking => self.on_checked(answers),
            Step::Examining(after, kinds) => self.on_examined(after, kinds, answers),
            Step::AskingExaminer(after) => self.on_asked_examiner(after, answers),
            Step::JudgingProbe(builder) => self.on_probe_judged(builder, answers),
            Step::Reviewing => self.on_reviewed(answers),
            Step::AskingForReviewer(diagnostics) => self.on_asked_for_reviewer(diagnostics, &answers),
            Step::Diagnosing(diagnostics) => self.on_diagnosed(&diagnostics, answers),
            Step::Arbiter(stage) => self.on_arbiter(stage, answers),
            Step::Moderating(stuck) => self.on_moderated(&stuck, answers),
            Step::AskingToLand => self.on_asked_to_land(&answers),
            Step::Landing => self.on_landed(answers),
            Step::VerifyingMerged { target, merged } => self.on_merged_verified(target, merged, answers),
            Step::Ended => {}
        }
    }

    /// Makes a batch of parts the outstanding effect. Where the budget has no room for its calls, the run ends there; the
    /// batch stays, so that a larger budget goes on with it.
    fn emit(&mut self, step: Step, mut parts: Vec<Action>) {
        let room = self.reserve(&mut parts);
        self.effects += 1;
        self.step = step;
        self.failures = 0;
        self.failed = None;
        let attempts = parts.iter().map(|part| if let Action::Call(call) = part { call.attempt } else { 0 });
        self.attempts = attempts.max().unwrap_or(0);
        self.answers.clear();
        self.effect = Some(Effect { id: self.effects, parts });
        if let Err(full) = room {
            self.out_of_budget(&full.reason, full.role);
        }
    }

    fn expects(&self, effect: u32, part: u32, answer: &Answer) -> bool {
        let Some(action) = self.awaited(effect, part) else { return false };
        match (action, answer) {
            // After an error only `Retry` goes on.
            (_, Answer::Failed(_)) => self.outcome.is_none(),
            (Action::Prepare, Answer::Prepared(_))
            | (Action::Call(_), Answer::Called(_))
            | (Action::Apply { .. } | Action::Store { .. }, Answer::Applied(_) | Answer::Rejected { .. })
            | (Action::Ask(_), Answer::Said { .. })
            | (
                Action::Land { .. },
                Answer::Landed { .. } | Answer::Conflict { .. } | Answer::TargetMoved { .. },
            ) => true,
            (Action::Read { paths, .. }, Answer::Files { files }) => files.len() == paths.len(),
            (Action::Inspect { .. }, Answer::Inspected(_)) => true,
            (Action::Check { tree, .. }, Answer::Ran(receipt)) => receipt.tree == *tree,
            (
                Action::Prepare
                | Action::Read { .. }
                | Action::Call(_)
                | Action::Apply { .. }
                | Action::Store { .. }
                | Action::Inspect { .. }
                | Action::Check { .. }
                | Action::Ask(_)
                | Action::Land { .. },
                _,
            ) => false,
        }
    }

    /// A part that failed is asked for again a few times and uses up no turn; then the run ends with an error from
    /// which `Retry` goes on. A model that declines is treated as one that gave no usable reply.
    fn failed(&mut self, part: u32, failure: &Failure) {
        self.failures += 1;
        let role = self.effect.as_ref().and_then(|effect| match effect.parts.get(part as usize) {
            Some(Action::Call(call)) => Some(call.role),
            Some(_) | None => None,
        });
        if let Some(role) = role {
            self.spent.entry(role).or_default().add(failure.requests, &Usage::NOTHING, 0);
        }
        let again = match failure.kind {
            FailureKind::Provider | FailureKind::Local | FailureKind::Refusal => self.failures <= FAILURES,
            FailureKind::Account => false,
        };
        if again {
            self.status(format!("{} Trying again.", failure.message));
            return self.keep_within_budget();
        }
        match (failure.kind, role) {
            (FailureKind::Refusal, Some(role)) => {
                self.effect = None;
                self.answers.clear();
                self.end(Outcome::unusable(role, std::slice::from_ref(&failure.message)));
            }
            (FailureKind::Refusal | FailureKind::Provider | FailureKind::Local | FailureKind::Account, _) => {
                self.fail(part, failure.message.clone());
            }
        }
    }

    /// Ends the run with an error at a part of the outstanding effect; `Retry` asks for the part again.
    fn fail(&mut self, part: u32, message: String) {
        self.failed = Some(part);
        self.end(Outcome::Error { message });
    }

    /// Asks an agent, alone or beside other parts.
    fn call(&self, role: Role, purpose: Purpose) -> Action {
        let attempt = self.correction.as_ref().map_or(0, |correction| correction.attempt);
        Action::Call(Call {
            role,
            purpose,
            turn: self.turn.max(1),
            attempt,
            about: self.candidate.as_ref().map(|candidate| candidate.tree.clone()),
            prompt: self.prompt(purpose),
            allowance: None,
        })
    }

    /// Reads a reply. Problems go back to the role by `again`, twice; then the role is unusable and `None` comes back,
    /// as it does when the reply was sent back.
    fn understand(
        &mut self,
        role: Role,
        called: &Called,
        shape: reply::Shape,
        again: impl FnOnce(&mut Self),
    ) -> Option<Reply> {
        self.account(role, called);
        let (reply, problems) = reply::parse(&called.text, shape);
        if let Some(reply) = reply.filter(|_| problems.is_empty()) {
            self.correction = None;
            return Some(reply);
        }
        self.send_back(role, &called.text, problems, again);
        None
    }

    /// Sends a reply back with its problems. A well-formed reply that asks for the impossible goes back no more often
    /// than a malformed one: otherwise an agent that repeats it would be asked, and paid, for ever.
    fn send_back(&mut self, role: Role, text: &str, problems: Vec<Problem>, again: impl FnOnce(&mut Self)) {
        let attempt = self.attempts + 1;
        let problems: Vec<String> = problems.into_iter().map(|Problem(text)| text).collect();
        if attempt > CORRECTIONS {
            self.correction = None;
            return self.end(Outcome::unusable(role, &problems));
        }
        self.status(format!("The {role}'s reply goes back for correction: {}", problems.join(" ")));
        self.correction = Some(prompt::Correction { attempt, problems, reply: text.to_owned() });
        again(self);
    }

    fn account(&mut self, role: Role, called: &Called) {
        self.spent.entry(role).or_default().add(called.requests, &called.usage, called.duration_ms);
        self.models.insert(called.model.clone());
        for note in &called.notes {
            self.status(note.as_str());
        }
    }

    fn keep(&mut self, kind: CheckKind, receipt: &Receipt) {
        self.receipts.push((kind, receipt.clone()));
        self.notices.push(Notice::tests_output(kind, receipt));
    }

    fn status(&mut self, message: impl Into<String>) {
        self.notices.push(Notice::Status { message: message.into(), passing: false });
    }

    /// Says what is going on from now on.
    fn doing(&mut self, message: impl Into<String>) {
        self.notices.push(Notice::Status { message: message.into(), passing: true });
    }

    fn stop(&mut self, stopped_by: StoppedBy, reason: impl Into<String>) {
        // An agent's words may end it.
        let reason = reason.into().trim().to_owned();
        self.end(Outcome::NotApproved { stopped_by, reason });
    }

    fn end(&mut self, outcome: Outcome) {
        match &outcome {
            Outcome::Error { message } => self.notices.push(Notice::Error { error: message.clone() }),
            Outcome::Approved { .. } => self.complete(true, "Approved and landed.".into()),
            Outcome::Applied { .. } => {
                self.complete(
                    true,
                    "Applied to your tree as you asked; nothing was tested or reviewed.".into(),
                );
            }
            Outcome::NotApproved { reason, .. } => self.complete(false, reason.clone()),
        }
        self.notices.push(Notice::Outcome { outcome: outcome.clone() });
        self.outcome = Some(outcome);
    }

    fn complete(&mut self, success: bool, message: String) {
        self.notices.push(Notice::CycleComplete { success, message, iterations: self.turn });
    }

    fn base(&self) -> TreeId {
        self.prepared.as_ref().map_or_else(|| TreeId::new(""), |prepared| prepared.base.clone())
    }

    /// Returns the tree that the next patch edits.
    fn present_tree(&self) -> TreeId {
        self.candidate.as_ref().map_or_else(|| self.base(), |candidate| candidate.tree.clone())
    }

    fn prompt(&self, purpose: Purpose) -> prompt::Prompt {
        prompt::build(
            &prompt::State {
                spec: &self.spec,
                prepared: self.prepared.as_ref(),
                candidate: self.candidate.as_ref(),
                last_tests: self.last_tests.as_ref(),
                baseline: self.baseline.as_ref(),
                findings: &self.findings,
                extra_tests: &self.extra_tests,
                comments: &self.comments,
                turns: &self.turns,
                summary: self.summary.as_ref().map(|summary| (summary.turns, summary.text.as_str())),
                shown: &self.shown,
                reply: self.reply.as_ref(),
                review: self.review.as_ref(),
                diagnostics: &self.diagnostics,
                refusals: &self.refusals,
                correction: self.correction.as_ref(),
                evidence: self.exhibit(),
                disputed: self.disputed.as_deref(),
                turn: self.turn.max(1),
                arbiter: match &self.step {
                    Step::Arbiter(stage) => Some(stage.dispute()),
                    Step::Preparing
                    | Step::Gathering
                    | Step::Building
                    | Step::ReadingForBuilder
                    | Step::AskingForBuilder(_)
                    | Step::Applying
                    | Step::AskingToApply(_)
                    | Step::Inspecting(_)
                    | Step::Checking
                    | Step::Examining(..)
                    | Step::AskingExaminer(_)
                    | Step::JudgingProbe(_)
                    | Step::Reviewing
                    | Step::AskingForReviewer(_)
                    | Step::Diagnosing(_)
                    | Step::Moderating(_)
                    | Step::AskingToLand
                    | Step::Landing
                    | Step::VerifyingMerged { .. }
                    | Step::Ended => None,
                },
            },
            purpose,
        )
    }
}
