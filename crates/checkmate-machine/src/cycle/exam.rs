//! Beyond the tests: the change is read, and commands show what its own tests do not.
//!
//! What is asked for and when to stop is in [`crate::verdict::plan`]; here it is asked, and what follows is done.

use super::{Cycle, Step};
use crate::effect::{Action, CheckKind, Purpose};
use crate::event::{Answer, Called};
use crate::evidence::Receipt;
use crate::facts::Inspection;
use crate::ids::{Role, TreeId};
use crate::outcome::{Outcome, StoppedBy};
use crate::probe::{Probe, Probes};
use crate::record::TurnEnd;
use crate::reply::{self, AnswerKind, BuilderReply, DecisionKind, FindingAnswer, Problem, Reply, Shape};
use crate::spec::{Product, TaskKind};
use crate::task::{self, Kind, Permits};
use crate::verdict::evidence::Evidence;
use crate::verdict::{ReviewState, plan};

/// How often an examiner is asked for probes that can be used.
const EXAMINATIONS: u32 = 3;

/// What goes on once the change was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Read {
    /// Its checks run.
    Check,
    /// Its exam goes on.
    Exam(After),
}

/// What goes on after an exam that left nothing open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// The tests were green; whether nothing about them was unusual.
    Green { without_exception: bool },
    /// The checker's part is done.
    Approve(ReviewState),
}

/// What is known of a candidate beyond its tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Exam {
    /// The tree that this is about.
    tree: Option<TreeId>,
    inspection: Inspection,
    receipts: Vec<(CheckKind, Receipt)>,
    /// Whether nothing is left to ask.
    complete: bool,
}

/// The examiner's part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Examiner {
    /// How often it was asked.
    pub(super) asked: u32,
    /// Its probes, once it answered in a usable way.
    pub(super) probes: Option<Probes>,
    problems: Vec<String>,
}

/// What the user's words say about the task, read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) kind: Kind,
    pub(super) permits: Permits,
    no_probes: Probes,
}

impl Reading {
    pub(super) fn of(task: &crate::spec::Task) -> Self {
        Self { kind: task::kind(task), permits: Permits::of(task), no_probes: Probes::default() }
    }
}

impl Cycle {
    /// Tells whether anything is asked beyond the tests. A document has no code to ask about.
    pub(super) fn examines(&self) -> bool {
        self.spec.policy.evidence.any() && self.spec.product == Product::Patch
    }

    /// Returns what is known of the present candidate, for a verdict.
    pub(super) fn exhibit(&self) -> Option<Evidence<'_>> {
        let candidate = self.candidate.as_ref().filter(|_| self.examines())?;
        let prepared = self.prepared.as_ref()?;
        Some(Evidence {
            policy: &self.spec.policy,
            task: &self.spec.task,
            kind: self.reading.kind,
            permits: &self.reading.permits,
            base: &prepared.base,
            candidate,
            read: self.exam.tree.as_ref() == Some(&candidate.tree),
            inspection: &self.exam.inspection,
            baseline: self.baseline.as_ref(),
            tests: self.evidence.as_ref(),
            receipts: &self.exam.receipts,
            probes: self.examiner.probes.as_ref().unwrap_or(&self.reading.no_probes),
            answers: &self.said,
            risks: &self.risks,
            files: &prepared.files,
            nonce: &prepared.nonce,
        })
    }

    /// Reads the change before anything of it runs.
    pub(super) fn inspect(&mut self, then: Read) {
        self.exam = Exam::default();
        let action = Action::Inspect {
            base: self.base(),
            tree: self.present_tree(),
            kind: self.reading.kind.kind.unwrap_or(TaskKind::Feature),
            goal: self.spec.task.goal.clone(),
        };
        self.emit(Step::Inspecting(then), vec![action]);
    }

    pub(super) fn on_inspected(&mut self, then: Read, answers: Vec<Answer>) {
        let Some(Answer::Inspected(inspection)) = answers.into_iter().next() else { return };
        self.exam = Exam { tree: Some(self.present_tree()), inspection: *inspection, ..Exam::default() };
        for note in self.exam.inspection.notes.clone() {
            self.status(note);
        }
        let blocked = self.exhibit().map(|exhibit| plan::blocked_by_reading(&exhibit)).unwrap_or_default();
        if !blocked.is_empty() {
            return self.end_for_evidence(blocked);
        }
        match then {
            Read::Check => self.gate_builder_commands(),
            Read::Exam(after) => self.examine(after),
        }
    }

    /// Asks what is left to ask about the candidate, and goes on once nothing is.
    pub(super) fn examine(&mut self, after: After) {
        if !self.examines() {
            return self.after_exam(after);
        }
        if self.exam.tree.as_ref() != Some(&self.present_tree()) {
            return self.inspect(Read::Exam(after));
        }
        if self.spec.policy.examiner && self.examiner.probes.is_none() {
            return self.ask_examiner(after);
        }
        let wants = self.exhibit().map(|exhibit| plan::next(&exhibit)).unwrap_or_default();
        if wants.is_empty() {
            return self.on_exam_complete(after);
        }
        self.tell_what_runs(&wants);
        let kinds = wants.iter().map(|want| want.kind).collect();
        let parts = wants
            .into_iter()
            .map(|want| Action::Check {
                kind: want.kind,
                command: want.command,
                tree: want.tree,
                layers: want.layers,
                vary: want.vary,
                limit_s: want.limit_s,
            })
            .collect();
        self.emit(Step::Examining(after, kinds), parts);
    }

    pub(super) fn on_examined(&mut self, after: After, kinds: Vec<CheckKind>, answers: Vec<Answer>) {
        for (kind, receipt) in kinds.into_iter().zip(answers.into_iter().filter_map(Answer::ran)) {
            self.keep(kind, &receipt);
            self.exam.receipts.push((kind, receipt));
        }
        self.examine(after);
    }

    fn tell_what_runs(&mut self, wants: &[crate::verdict::evidence::Want]) {
        let mut gates: Vec<&str> = wants
            .iter()
            .filter_map(|want| plan::gate_of(want.kind))
            .map(crate::verdict::GateName::name)
            .collect();
        gates.dedup();
        let runs = if wants.len() == 1 { "1 run".to_owned() } else { format!("{} runs", wants.len()) };
        self.doing(format!("Gathering evidence ({}): {runs}.", gates.join(", ")));
    }

    fn on_exam_complete(&mut self, after: After) {
        self.exam.complete = true;
        let Some(exhibit) = self.exhibit() else { return };
        let blocked = plan::blocked(&exhibit);
        let objections = plan::objections(&exhibit);
        if !blocked.is_empty() {
            return self.end_for_evidence(blocked);
        }
        let open: Vec<_> =
            objections.iter().filter(|objection| objection.answer.is_none()).cloned().collect();
        if !open.is_empty() {
            let texts: Vec<&str> = open.iter().map(|objection| objection.text.as_str()).collect();
            self.status(format!("The evidence raises objections: {}", texts.join(" ")));
            return self.end_turn(TurnEnd::Objected(open));
        }
        let after = match after {
            // An answer is nothing until the checker has weighed it.
            After::Green { without_exception } => {
                After::Green { without_exception: without_exception && objections.is_empty() }
            }
            // What settled a finding made another candidate, and nobody has weighed what is new about it.
            After::Approve(_) if objections.iter().any(|objection| !self.heard.contains(&objection.id)) => {
                After::Green { without_exception: false }
            }
            After::Approve(review) => After::Approve(review),
        };
        self.after_exam(after);
    }

    fn after_exam(&mut self, after: After) {
        match after {
            After::Green { without_exception } => self.on_green(without_exception),
            After::Approve(review) => self.approve_examined(review),
        }
    }

    /// Takes down which objections the checker's prompt, or the moderator's, tells of.
    pub(super) fn tell_objections(&mut self) {
        let told = self.exhibit().map(|exhibit| plan::objections(&exhibit)).unwrap_or_default();
        let told = told.into_iter().filter(|objection| objection.answer.is_some());
        self.heard.extend(told.map(|objection| objection.id).collect::<Vec<_>>());
    }

    /// Tells whether the maker answered an objection that nobody was told of since.
    pub(super) fn has_unheard_answers(&self) -> bool {
        let objections = self.exhibit().map(|exhibit| plan::objections(&exhibit)).unwrap_or_default();
        objections.iter().any(|objection| objection.answer.is_some() && !self.heard.contains(&objection.id))
    }

    fn end_for_evidence(&mut self, blocked: Vec<String>) {
        self.status(format!("The evidence is against the change: {}", blocked.join(" ")));
        self.end_turn(TurnEnd::Evidence(blocked));
    }

    /// Tells whether everything was asked about the present candidate.
    pub(super) fn is_examined(&self) -> bool {
        !self.examines() || (self.exam.complete && self.exam.tree.as_ref() == Some(&self.present_tree()))
    }

    /// Returns the examiner's call where it is still to be made.
    pub(super) fn examiner_call(&self) -> Option<Action> {
        let wanted = self.spec.policy.examiner
            && self.examines()
            && self.examiner.probes.is_none()
            && self.examiner.asked < EXAMINATIONS;
        wanted.then(|| self.call(Role::Examiner, Purpose::Examine))
    }

    fn ask_examiner(&mut self, after: After) {
        match self.examiner_call() {
            Some(call) => {
                self.emit(Step::AskingExaminer(after), vec![call]);
                self.working(Role::Examiner);
            }
            None => self.end(Outcome::unusable(Role::Examiner, &self.examiner.problems.clone())),
        }
    }

    pub(super) fn on_asked_examiner(&mut self, after: After, answers: Vec<Answer>) {
        let Some(Answer::Called(called)) = answers.into_iter().next() else { return };
        self.take_probes(&called);
        self.examine(after);
    }

    /// Takes the examiner's probes; a reply without any is asked for again.
    pub(super) fn take_probes(&mut self, called: &Called) {
        self.account(Role::Examiner, called);
        self.examiner.asked += 1;
        let (reply, problems) = reply::parse(&called.text, Shape::Probes);
        match reply {
            Some(Reply::Probes(probes)) if !probes.is_empty() => {
                let probes_written =
                    if probes.len() == 1 { "1 probe".to_owned() } else { format!("{} probes", probes.len()) };
                self.status(format!("The examiner wrote {probes_written}."));
                self.examiner.probes = Some(Probes::new(probes));
            }
            Some(_) | None => {
                self.examiner.problems = problems.into_iter().map(|Problem(text)| text).collect();
                if self.examiner.problems.is_empty() {
                    let none =
                        "No probe in it has a `path`, a command in `run` and a `content`; send at least one.";
                    self.examiner.problems.push(none.to_owned());
                }
                self.status(format!(
                    "The examiner's reply cannot be used: {}",
                    self.examiner.problems.join(" ")
                ));
            }
        }
    }

    /// Returns the probes that fail without the candidate and hold with it: they can go on as tests.
    pub fn proven_probes(&self) -> Vec<&Probe> {
        self.exhibit().map(|exhibit| plan::proven_probes(&exhibit)).unwrap_or_default()
    }

    /// Returns a failing probe that the maker disputes now and nobody has decided about.
    pub(super) fn disputed_probe(&mut self, reply: &BuilderReply) -> Option<FindingAnswer> {
        let failing = self.exhibit().map(|exhibit| plan::failing_probes(&exhibit)).unwrap_or_default();
        let probes = self.examiner.probes.as_mut()?;
        let disputes = reply.answers.iter().filter(|answer| match answer.answer {
            AnswerKind::Justified | AnswerKind::Disagree => true,
            AnswerKind::Fixed => false,
        });
        disputes
            .into_iter()
            .find(|answer| failing.contains(&answer.to) && probes.dispute(&answer.to, &answer.text))
            .cloned()
    }

    /// A disputed probe is for somebody else to decide about: the moderator where there is one, else a person.
    pub(super) fn judge_probe(&mut self, dispute: &FindingAnswer, called: &Called, reply: BuilderReply) {
        let criterion = self
            .examiner
            .probes
            .as_ref()
            .and_then(|probes| probes.get(&dispute.to))
            .map_or_else(String::new, |probe| probe.criterion.clone());
        if !self.spec.policy.moderator {
            let reason = format!(
                "The builder disputes the probe `{}` ({criterion}): {} Decide whether it follows from the goal, say so in \
                 the goal, and start a new run.",
                dispute.to,
                crate::excerpt::sentence(&dispute.text)
            );
            self.reply = Some(reply);
            return self.stop_with(StoppedBy::NeedsHuman, reason);
        }
        self.reply = Some(reply);
        self.disputed = Some(dispute.to.clone());
        self.status(format!("The builder disputes the probe `{}`; the moderator decides.", dispute.to));
        let call = self.call(Role::Moderator, Purpose::JudgeProbe);
        self.emit(Step::JudgingProbe(called.clone()), vec![call]);
    }

    pub(super) fn on_probe_judged(&mut self, builder: Called, answers: Vec<Answer>) {
        let Some(Answer::Called(called)) = answers.into_iter().next() else { return };
        let again = |cycle: &mut Self| {
            let call = cycle.call(Role::Moderator, Purpose::JudgeProbe);
            cycle.emit(Step::JudgingProbe(builder.clone()), vec![call]);
        };
        let Some(Reply::Decision(decision)) =
            self.understand(Role::Moderator, &called, Shape::Decision, again)
        else {
            return;
        };
        let id = self.disputed.take().unwrap_or_default();
        self.notices.push(crate::notice::Notice::ModeratorDecision { decision: decision.clone() });
        match decision.decision {
            DecisionKind::AcceptBuilder => {
                self.status(format!("The probe `{id}` does not follow from the goal, says the moderator."));
                if let Some(probes) = &mut self.examiner.probes {
                    probes.dismiss(&id);
                }
            }
            DecisionKind::AcceptReviewer => {
                self.status(format!("The probe `{id}` follows from the goal, says the moderator."));
            }
            DecisionKind::RejectBoth => {
                let reason = format!(
                    "Whether the probe `{id}` follows from the goal is for a person to decide: {} Say it in the goal, and \
                     start a new run.",
                    crate::excerpt::sentence(&decision.reasoning)
                );
                return self.stop_with(StoppedBy::NeedsHuman, reason);
            }
        }
        let reply = self.reply.take().unwrap_or_default();
        self.take_patch(&builder, reply);
    }
}
