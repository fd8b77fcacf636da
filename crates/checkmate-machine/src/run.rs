//! A run: a schedule of cycles.

use std::collections::BTreeMap;

use crate::cycle::Cycle;
use crate::effect::Action;
use crate::event::{Command, Event};
use crate::ids::TaskId;
use crate::notice::Notice;
use crate::outcome::{Outcome, StoppedBy};
use crate::schedule::{Node, Schedule, ScheduleError, Standing};
use crate::spec::Spec;

/// A task of a run, before it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTask {
    /// Its name.
    pub id: TaskId,
    /// What has to land before it.
    pub depends_on: Vec<TaskId>,
    /// What its cycle is told.
    pub spec: Spec,
}

/// Something to do, with everything an answer has to name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending<'a> {
    /// The task whose cycle asks.
    pub task: &'a TaskId,
    /// The effect's number.
    pub effect: u32,
    /// The part's number.
    pub part: u32,
    /// What to do.
    pub action: &'a Action,
}

/// The state of a run: a pure function of its tasks and its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    schedule: Schedule,
    specs: BTreeMap<TaskId, Spec>,
    cycles: BTreeMap<TaskId, Cycle>,
}

impl Run {
    /// Checks the graph and starts what may start.
    pub fn new(tasks: Vec<PlannedTask>, slots: usize) -> Result<Self, ScheduleError> {
        let nodes = tasks
            .iter()
            .map(|task| Node { id: task.id.clone(), depends_on: task.depends_on.clone() })
            .collect();
        let mut run = Self {
            schedule: Schedule::new(nodes, slots)?,
            specs: tasks.into_iter().map(|task| (task.id, task.spec)).collect(),
            cycles: BTreeMap::new(),
        };
        run.start_ready();
        Ok(run)
    }

    /// Replays events on a fresh run. The notices they gave are given to `watch` in order.
    pub fn replay<'a>(
        mut self,
        events: impl IntoIterator<Item = &'a Event>,
        mut watch: impl FnMut(&TaskId, Notice),
    ) -> Self {
        for event in events {
            for (task, notice) in self.handle(event) {
                watch(&task, notice);
            }
        }
        self
    }

    /// Takes an event and returns what there is to tell. Total: an event that nothing waits for changes nothing.
    pub fn handle(&mut self, event: &Event) -> Vec<(TaskId, Notice)> {
        let (task, notices) = match event {
            Event::Answered { task, effect, part, answer } => {
                let Some(cycle) = self.cycles.get_mut(task) else { return Vec::new() };
                (task, cycle.answer(*effect, *part, answer))
            }
            Event::Command { task, command } => {
                let Some(cycle) = self.cycles.get_mut(task) else { return Vec::new() };
                (task, cycle.command(command))
            }
        };
        let told = notices.into_iter().map(|notice| (task.clone(), notice)).collect();
        self.follow(task);
        told
    }

    /// Returns every unanswered part of every running cycle.
    pub fn pending(&self) -> Vec<Pending<'_>> {
        self.cycles
            .iter()
            .flat_map(|(task, cycle)| {
                cycle.pending().into_iter().map(move |(effect, part, action)| Pending {
                    task,
                    effect,
                    part,
                    action,
                })
            })
            .collect()
    }

    /// Returns a part that an answer would still be taken for.
    pub fn awaited(&self, task: &TaskId, effect: u32, part: u32) -> Option<&Action> {
        self.cycles.get(task)?.awaited(effect, part)
    }

    /// Returns a task's cycle, once it has started.
    pub fn cycle(&self, task: &TaskId) -> Option<&Cycle> {
        self.cycles.get(task)
    }

    /// Returns where a task stands.
    pub fn standing(&self, task: &TaskId) -> Option<Standing> {
        self.schedule.standing(task)
    }

    /// Returns the tasks in the order given.
    pub fn tasks(&self) -> &[TaskId] {
        self.schedule.tasks()
    }

    /// Tells whether nothing runs and nothing will.
    pub fn is_over(&self) -> bool {
        self.schedule.is_over()
    }

    /// Returns how a task ended. A task that never started because of a failed one has an outcome too.
    pub fn outcome(&self, task: &TaskId) -> Option<Outcome> {
        if self.schedule.standing(task) == Some(Standing::Blocked) {
            return Some(Outcome::NotApproved {
                stopped_by: StoppedBy::DependencyFailed,
                reason: "A task that it depends on was not approved.".into(),
            });
        }
        self.cycles.get(task).and_then(Cycle::outcome).cloned()
    }

    /// Tells whether a command would change anything for a task now.
    pub fn accepts(&self, task: &TaskId, command: &Command) -> bool {
        self.cycles.get(task).is_some_and(|cycle| match command {
            Command::Cancel { .. } => cycle.accepts_cancel(),
            Command::TimeOver => cycle.accepts_cancel(),
            Command::Budget { role, limits } => cycle.accepts_budget(*role, *limits),
            Command::Comment { text, .. } => cycle.accepts_comment(text),
            Command::Dispute { finding, .. } => cycle.accepts_dispute(finding),
            Command::Retry => matches!(cycle.outcome(), Some(Outcome::Error { .. })),
            Command::Land { how } => cycle.accepts_landing(*how),
            Command::TakenBack => {
                matches!(cycle.outcome(), Some(Outcome::Approved { .. } | Outcome::Applied { .. }))
            }
        })
    }

    /// Returns those of some commands, given one after the other, that would change something.
    pub fn accepted(&self, task: &TaskId, commands: impl IntoIterator<Item = Command>) -> Vec<Command> {
        let mut run = self.clone();
        let mut accepted = Vec::new();
        for command in commands.into_iter() {
            if run.accepts(task, &command) {
                run.handle(&Event::Command { task: task.clone(), command: command.clone() });
                accepted.push(command);
            }
        }
        accepted
    }

    /// Brings the schedule in line with a cycle that ended or was opened again.
    fn follow(&mut self, task: &TaskId) {
        let Some(cycle) = self.cycles.get(task) else { return };
        match cycle.outcome() {
            Some(outcome) => {
                let well = matches!(outcome, Outcome::Approved { .. } | Outcome::Applied { .. });
                self.schedule.finish(task, well);
                self.start_ready();
            }
            None if self.schedule.standing(task) != Some(Standing::Running) => self.schedule.reopen(task),
            None => {}
        }
    }

    fn start_ready(&mut self) {
        for task in self.schedule.start_ready() {
            if let Some(spec) = self.specs.get(&task) {
                self.cycles.insert(task, Cycle::new(spec.clone()));
            }
        }
    }
}
