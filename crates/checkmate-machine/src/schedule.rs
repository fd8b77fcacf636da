//! Which task runs next: a graph of tasks without cycles.
//!
//! A task may start the moment everything it depends on is done and a slot is free. A failed task blocks its
//! dependents and nobody else.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::TaskId;

/// A task and what has to be done before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The task.
    pub id: TaskId,
    /// The tasks whose result it builds on.
    pub depends_on: Vec<TaskId>,
}

/// Why a graph is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Nothing to do.
    #[error("the schedule has no task")]
    Empty,
    /// Two tasks of one name.
    #[error("the task `{0}` is there twice")]
    Duplicate(TaskId),
    /// A dependency on nothing.
    #[error("the task `{task}` depends on `{missing}`, which is not in the schedule")]
    Unknown {
        /// The task.
        task: TaskId,
        /// What it names.
        missing: TaskId,
    },
    /// Tasks that wait for each other.
    #[error("the tasks wait for each other in a circle: {}", .0.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" → "))]
    Cycle(Vec<TaskId>),
    /// No slot.
    #[error("the schedule needs at least one slot")]
    NoSlot,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Waits for a dependency or a slot.
    Waiting,
    /// Runs.
    Running,
    /// Ended well.
    Done,
    /// Ended otherwise.
    Failed,
    /// Never starts, because something it depends on failed.
    Blocked,
}

/// A graph of tasks with what has happened to each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    nodes: BTreeMap<TaskId, (Node, Standing)>,
    /// The order in which the nodes were given; ties are broken by it.
    order: Vec<TaskId>,
    slots: usize,
}

impl Schedule {
    /// Checks the graph: every id once, every dependency known, no cycle.
    pub fn new(nodes: Vec<Node>, slots: usize) -> Result<Self, ScheduleError> {
        if slots == 0 {
            return Err(ScheduleError::NoSlot);
        }
        if nodes.is_empty() {
            return Err(ScheduleError::Empty);
        }
        let order: Vec<TaskId> = nodes.iter().map(|node| node.id.clone()).collect();
        let mut by_id = BTreeMap::new();
        for node in nodes {
            let id = node.id.clone();
            if by_id.insert(id.clone(), (node, Standing::Waiting)).is_some() {
                return Err(ScheduleError::Duplicate(id));
            }
        }
        let schedule = Self { nodes: by_id, order, slots };
        schedule.check_known()?;
        schedule.check_acyclic()?;
        Ok(schedule)
    }

    /// Starts every task that may start now, in the order given, and returns them.
    pub fn start_ready(&mut self) -> Vec<TaskId> {
        let running = self.count(Standing::Running);
        let ready: Vec<TaskId> = self
            .order
            .iter()
            .filter(|id| self.standing(id) == Some(Standing::Waiting) && self.dependencies_are_done(id))
            .take(self.slots.saturating_sub(running))
            .cloned()
            .collect();
        for id in &ready {
            self.set(id, Standing::Running);
        }
        ready
    }

    /// Records the end of a running task and returns the tasks that it blocks. Anything else changes nothing.
    pub fn finish(&mut self, id: &TaskId, well: bool) -> Vec<TaskId> {
        if self.standing(id) != Some(Standing::Running) {
            return Vec::new();
        }
        if well {
            self.set(id, Standing::Done);
            return Vec::new();
        }
        self.set(id, Standing::Failed);
        self.block()
    }

    /// Blocks every waiting task that a failed one keeps from starting, and returns them.
    fn block(&mut self) -> Vec<TaskId> {
        let mut blocked = Vec::new();
        // Transitive: a blocked task blocks its own dependents. Every pass blocks at least one more, so it ends.
        loop {
            let next: Vec<TaskId> = self
                .order
                .iter()
                .filter(|id| self.standing(id) == Some(Standing::Waiting) && self.a_dependency_is_lost(id))
                .cloned()
                .collect();
            if next.is_empty() {
                return blocked;
            }
            for id in next {
                self.set(&id, Standing::Blocked);
                blocked.push(id);
            }
        }
    }

    /// Returns where a task stands, if it is in the schedule.
    pub fn standing(&self, id: &TaskId) -> Option<Standing> {
        self.nodes.get(id).map(|(_, standing)| *standing)
    }

    /// Returns the tasks in the order given.
    pub fn tasks(&self) -> &[TaskId] {
        &self.order
    }

    /// Tells whether nothing runs and nothing will.
    pub fn is_over(&self) -> bool {
        self.nodes.values().all(|(_, standing)| match standing {
            Standing::Done | Standing::Failed | Standing::Blocked => true,
            Standing::Waiting | Standing::Running => false,
        })
    }

    /// Opens a task that ended again, for example because a person lands what was approved; what only its failure
    /// blocked waits for it again. It needs no free slot: a person asked for it.
    pub(crate) fn reopen(&mut self, id: &TaskId) {
        self.set(id, Standing::Running);
        for (_, standing) in self.nodes.values_mut() {
            if *standing == Standing::Blocked {
                *standing = Standing::Waiting;
            }
        }
        self.block();
    }

    fn count(&self, wanted: Standing) -> usize {
        self.nodes.values().filter(|(_, standing)| *standing == wanted).count()
    }

    fn set(&mut self, id: &TaskId, standing: Standing) {
        if let Some(entry) = self.nodes.get_mut(id) {
            entry.1 = standing;
        }
    }

    fn dependencies_are_done(&self, id: &TaskId) -> bool {
        self.dependencies(id).iter().all(|on| self.standing(on) == Some(Standing::Done))
    }

    fn a_dependency_is_lost(&self, id: &TaskId) -> bool {
        self.dependencies(id)
            .iter()
            .any(|on| matches!(self.standing(on), Some(Standing::Failed | Standing::Blocked)))
    }

    fn dependencies(&self, id: &TaskId) -> &[TaskId] {
        self.nodes.get(id).map_or(&[], |(node, _)| &node.depends_on)
    }

    fn check_known(&self) -> Result<(), ScheduleError> {
        for (node, _) in self.nodes.values() {
            if let Some(missing) = node.depends_on.iter().find(|on| !self.nodes.contains_key(*on)) {
                return Err(ScheduleError::Unknown { task: node.id.clone(), missing: missing.clone() });
            }
        }
        Ok(())
    }

    /// Takes away tasks whose dependencies are taken away already; what is left at the end waits for itself.
    fn check_acyclic(&self) -> Result<(), ScheduleError> {
        let mut left: BTreeSet<&TaskId> = self.nodes.keys().collect();
        loop {
            let free: Vec<&TaskId> = left
                .iter()
                .copied()
                .filter(|id| !self.dependencies(id).iter().any(|on| left.contains(on)))
                .collect();
            if free.is_empty() {
                break;
            }
            for id in free {
                left.remove(id);
            }
        }
        match left.first() {
            None => Ok(()),
            Some(start) => Err(ScheduleError::Cycle(self.circle(start, &left))),
        }
    }

    /// Walks along unfinished dependencies until a task comes up twice.
    fn circle(&self, start: &TaskId, left: &BTreeSet<&TaskId>) -> Vec<TaskId> {
        let mut path = vec![start.clone()];
        loop {
            let last = path.last().unwrap_or(start);
            let Some(next) = self.dependencies(last).iter().find(|on| left.contains(on)) else { return path };
            if let Some(at) = path.iter().position(|id| id == next) {
                let mut circle = path.split_off(at);
                circle.push(next.clone());
                return circle;
            }
            path.push(next.clone());
        }
    }
}
