//! What a drive tells while it goes on, and to whom.

use std::fmt::Debug;

use checkmate_machine::effect::Action;
use checkmate_machine::ids::{Role, TaskId};
use checkmate_machine::notice::Notice;
use checkmate_machine::run::Run;

use crate::journal::{Record, Shell};

/// A part of an effect that is being performed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartId {
    /// Whose cycle asked.
    pub task: TaskId,
    /// The effect's number.
    pub effect: u32,
    /// The part's number.
    pub part: u32,
}

/// Whoever watches a run while it is driven. Nothing that a watcher does changes the run.
pub trait Watch: Debug {
    /// The run is driven from here; some of it may be over already.
    fn stand(&mut self, run: &Run);

    /// A part begins.
    fn begin(&mut self, part: PartId, action: &Action);

    /// A part is over; what came of it may be told next.
    fn end(&mut self, part: &PartId);

    /// Something happened and is written down: `action` is what it answers, `notices` is what there is to tell about it,
    /// and `run` is where that leaves the run.
    fn advance(&mut self, record: &Record, action: Option<&Action>, notices: &[(TaskId, Notice)], run: &Run);

    /// An agent said something; the pieces of one part belong together.
    fn chunk(&mut self, part: &PartId, role: Role, text: &str);

    /// A person is about to be asked whether the change may land.
    fn propose(&mut self, _run: &Run, _task: &TaskId, _shell: &Shell) {}

    /// Tells whether time alone changes what is shown.
    fn is_live(&self) -> bool {
        false
    }

    /// Some time has passed.
    fn tick(&mut self) {}

    /// Somebody else is about to write where the run is shown.
    fn hide(&mut self) {}

    /// An interrupt was heard.
    fn stopping(&mut self) {}

    /// Nothing is left to do.
    fn finish(&mut self, run: Run);
}
