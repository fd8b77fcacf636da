//! The events of a run, in order: a pure function of its journal, so that their numbers are the same for everybody and
//! after every restart.

use std::collections::BTreeMap;

use checkmate_machine::effect::Action;
use checkmate_machine::event::{Answer, Event as MachineEvent, Usage};
use checkmate_machine::ids::{Role, RunId, TaskId};
use checkmate_machine::notice::Notice;
use checkmate_machine::run::Run;

use super::{AgentName, Event, Frame, RunEvent, Work};
use crate::human::Gate;
use crate::journal::{Header, Record};
use crate::watch::{PartId, Watch};

/// Makes the frames of a run from what happens to it.
#[derive(Debug, Clone)]
pub struct Timeline {
    run: RunId,
    seq: u64,
    /// What is being done, by its part.
    parts: BTreeMap<PartId, Open>,
    total: Usage,
    requests: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Work,
    Question,
}

impl Timeline {
    /// Begins with what a journal's header tells; `run` is the run before anything has happened.
    pub fn begin(header: &Header, run: &Run) -> (Self, Vec<Frame>) {
        let mut timeline = Self {
            run: header.run.clone(),
            seq: 0,
            parts: BTreeMap::new(),
            total: Usage::NOTHING,
            requests: 0,
        };
        let mut frames = Vec::new();
        if let Some(task) = header.tasks.first() {
            let policy = &task.spec.policy;
            let agents = header.shell.roles.iter().map(|(role, settings)| {
                let name = AgentName { provider: settings.provider.clone(), model: settings.model.clone() };
                (*role, name)
            });
            let started = RunEvent::RunStarted {
                request: task.spec.task.goal.clone(),
                workspace: header.repository.to_string_lossy().into_owned(),
                of: policy.max_iterations,
                agents: agents.collect(),
                test_command: policy.test_command.text.clone(),
                budget: policy.budget.run,
                attended: policy.interactive,
                follows: task.spec.task.follows.as_ref().map(|earlier| earlier.run.clone()),
                unconfined: header.shell.gaps(),
            };
            frames.push(timeline.frame(&task.id, &header.at, Event::Run(started)));
        }
        timeline.follow_parts(&header.at, run, &mut frames);
        (timeline, frames)
    }

    /// Takes what happened, and returns what there is to tell.
    pub fn advance(
        &mut self,
        record: &Record,
        action: Option<&Action>,
        notices: &[(TaskId, Notice)],
        run: &Run,
    ) -> Vec<Frame> {
        let mut frames = Vec::new();
        match &record.event {
            MachineEvent::Answered { task, effect, part, answer } => {
                let part = PartId { task: task.clone(), effect: *effect, part: *part };
                for event in self.answered(&part, action, answer) {
                    frames.push(self.frame(task, &record.at, Event::Run(event)));
                }
            }
            MachineEvent::Command { task, command } => {
                let taken = RunEvent::CommandTaken { command: command.clone() };
                frames.push(self.frame(task, &record.at, Event::Run(taken)));
            }
        }
        for (task, notice) in notices {
            if let (Notice::TurnStarted { turn: 2.., .. }, Some(cycle)) = (notice, run.cycle(task))
                && let Some(verdict) = cycle.rejudged()
            {
                let findings = cycle.findings().all().to_vec();
                let judged = RunEvent::TurnJudged { turn: cycle.turn() - 1, verdict, findings };
                frames.push(self.frame(task, &record.at, Event::Run(judged)));
            }
            frames.push(self.frame(task, &record.at, Event::Notice(notice.clone())));
        }
        self.follow_parts(&record.at, run, &mut frames);
        frames
    }

    /// Returns the number of the latest event.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns what agents have cost so far.
    pub fn used(&self) -> (Usage, u32) {
        (self.total, self.requests)
    }

    /// Tells whether a person is being asked.
    pub fn asks(&self) -> bool {
        self.parts.values().any(|open| *open == Open::Question)
    }

    fn answered(&mut self, part: &PartId, action: Option<&Action>, answer: &Answer) -> Vec<RunEvent> {
        let mut events = Vec::new();
        match self.parts.remove(part) {
            Some(Open::Work) => events.push(RunEvent::PartEnded { part: Gate::of(part).to_string() }),
            Some(Open::Question) | None => {}
        }
        match (action, answer) {
            (Some(Action::Call(call)), Answer::Called(called)) => {
                self.total.add(&called.usage);
                self.requests += called.requests;
                events.push(RunEvent::AgentAnswered {
                    role: call.role,
                    purpose: call.purpose,
                    model: called.model.clone(),
                    usage: called.usage,
                    duration_ms: called.duration_ms,
                    total: self.total,
                    requests: self.requests,
                });
            }
            (_, Answer::Said { yes, text }) => events.push(RunEvent::QuestionAnswered {
                gate: Gate::of(part).to_string(),
                yes: *yes,
                text: text.clone(),
            }),
            (_, Answer::Failed(failure)) => {
                self.requests += failure.requests;
                events.push(RunEvent::PartFailed { message: failure.message.clone() });
            }
            (_, _) => {}
        }
        events
    }

    /// Tells what begins, and forgets what nobody waits for any more.
    fn follow_parts(&mut self, at: &str, run: &Run, frames: &mut Vec<Frame>) {
        let mut parts = BTreeMap::new();
        let mut begun = Vec::new();
        for pending in run.pending() {
            let part = PartId { task: pending.task.clone(), effect: pending.effect, part: pending.part };
            if let Some(open) = self.parts.remove(&part) {
                parts.insert(part, open);
                continue;
            }
            let name = Gate::of(&part).to_string();
            let (open, event) = if let Action::Ask(question) = pending.action {
                (Open::Question, RunEvent::QuestionAsked { gate: name, question: question.clone() })
            } else {
                (Open::Work, RunEvent::PartStarted { part: name, work: work(pending.action) })
            };
            begun.push((part.task.clone(), event));
            parts.insert(part, open);
        }
        // What is left was cancelled with its run.
        for (part, open) in std::mem::replace(&mut self.parts, parts) {
            let name = Gate::of(&part).to_string();
            let event = match open {
                Open::Work => RunEvent::PartEnded { part: name },
                Open::Question => RunEvent::QuestionAnswered {
                    gate: name,
                    yes: false,
                    text: "The run ended before anybody answered.".into(),
                },
            };
            frames.push(self.frame(&part.task, at, Event::Run(event)));
        }
        for (task, event) in begun {
            frames.push(self.frame(&task, at, Event::Run(event)));
        }
    }

    fn frame(&mut self, task: &TaskId, at: &str, event: Event) -> Frame {
        self.seq += 1;
        Frame {
            event,
            run: Some(self.run.clone()),
            task: Some(task.clone()),
            seq: Some(self.seq),
            at: at.to_owned(),
            re: None,
        }
    }
}

/// Writes the events of a run that is told again from its journal.
#[derive(Debug)]
pub struct Retold<'a> {
    header: &'a Header,
    timeline: Option<Timeline>,
    /// The events so far.
    pub frames: Vec<Frame>,
}

impl<'a> Retold<'a> {
    /// Begins with a journal's header.
    pub fn new(header: &'a Header) -> Self {
        Self { header, timeline: None, frames: Vec::new() }
    }
}

impl Watch for Retold<'_> {
    fn stand(&mut self, run: &Run) {
        let (timeline, frames) = Timeline::begin(self.header, run);
        self.timeline = Some(timeline);
        self.frames = frames;
    }

    fn begin(&mut self, _part: PartId, _action: &Action) {}

    fn end(&mut self, _part: &PartId) {}

    fn advance(&mut self, record: &Record, action: Option<&Action>, notices: &[(TaskId, Notice)], run: &Run) {
        if let Some(timeline) = &mut self.timeline {
            self.frames.extend(timeline.advance(record, action, notices, run));
        }
    }

    fn chunk(&mut self, _part: &PartId, _role: Role, _text: &str) {}

    fn finish(&mut self, _run: Run) {}
}

fn work(action: &Action) -> Work {
    match action {
        Action::Prepare => Work::Prepare,
        Action::Read { .. } => Work::Read,
        Action::Call(call) => Work::Call { role: call.role, purpose: call.purpose },
        Action::Apply { .. } | Action::Store { .. } => Work::Apply,
        Action::Inspect { .. } => Work::Inspect,
        Action::Check { kind, command, .. } => Work::Check { check: *kind, command: command.text.clone() },
        Action::Ask(_) => Work::Ask,
        Action::Land { .. } => Work::Land,
    }
}
