//! Where the questions of a run lie until somebody answers them, and the first answer wins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use checkmate_machine::effect::Question;
use checkmate_machine::ids::TaskId;
use tokio::sync::oneshot;

use crate::watch::PartId;

/// The name of a question on the wire: `TASK/EFFECT.PART`. It is the same after a restart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gate(PartId);

impl Gate {
    /// Returns the gate of a part.
    pub fn of(part: &PartId) -> Self {
        Self(part.clone())
    }

    /// Reads a gate's name.
    pub fn parse(name: &str) -> Option<Self> {
        let (task, part) = name.rsplit_once('/')?;
        let (effect, part) = part.split_once('.')?;
        Some(Self(PartId { task: TaskId::new(task), effect: effect.parse().ok()?, part: part.parse().ok()? }))
    }
}

impl std::fmt::Display for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(PartId { task, effect, part }) = self;
        write!(f, "{task}/{effect}.{part}")
    }
}

/// What somebody says to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Whether it is a yes.
    pub yes: bool,
    /// Whether the same command needs no answer any more in this run.
    pub always: bool,
    /// What else was said; may be empty.
    pub text: String,
}

/// Somebody was quicker, or there is no such question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late;

/// The questions of one run.
#[derive(Debug, Default)]
pub struct Desk {
    lying: Mutex<Lying>,
}

#[derive(Debug, Default)]
struct Lying {
    /// Every question that was ever laid down.
    laid: BTreeSet<Gate>,
    /// Questions that somebody may answer, with the line of a command.
    asked: BTreeMap<Gate, Option<String>>,
    /// Where the answer is waited for.
    waiting: BTreeMap<Gate, oneshot::Sender<(bool, String)>>,
    /// Answers that nobody has waited for yet.
    early: BTreeMap<Gate, (bool, String)>,
    /// Commands that need no answer any more.
    always: BTreeSet<String>,
    /// Who is told once an answer is written down.
    unwritten: BTreeMap<Gate, oneshot::Sender<()>>,
    /// Whether nobody drives the run any more.
    closed: bool,
}

impl Desk {
    fn lying(&self) -> MutexGuard<'_, Lying> {
        self.lying.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lays down the questions that are open now, before anybody is told of them, so that no answer comes too early.
    /// Each can be laid down once, and those that are not open any more are taken away.
    pub fn lay(&self, open: &[(PartId, &Question)]) {
        let mut lying = self.lying();
        let is_open = |gate: &Gate| open.iter().any(|(part, _)| Gate::of(part) == *gate);
        lying.asked.retain(|gate, _| is_open(gate));
        // What went without an answer in the journal, such as by a cancel, was not heard.
        lying.unwritten.retain(|gate, _| is_open(gate));
        for (part, question) in open {
            let line = match question {
                Question::Command { line, .. } => Some(line.clone()),
                Question::Patch { .. } | Question::Land => None,
            };
            if lying.laid.insert(Gate::of(part)) {
                lying.asked.insert(Gate::of(part), line);
            }
        }
    }

    /// Waits for the answer to a question; `None` if the desk is cleared away.
    pub(super) async fn ask(&self, part: &PartId, question: &Question) -> Option<(bool, String)> {
        let gate = Gate::of(part);
        let answer = {
            let mut lying = self.lying();
            if let Some(answer) = lying.early.remove(&gate) {
                return Some(answer);
            }
            if let Question::Command { line, .. } = question
                && lying.always.contains(line)
            {
                lying.asked.remove(&gate);
                return Some((true, String::new()));
            }
            let (sender, answer) = oneshot::channel();
            lying.waiting.insert(gate, sender);
            answer
        };
        answer.await.ok()
    }

    /// Answers a question; the first answer wins. What is returned tells when the answer is written down, and fails if the
    /// run stops before: then the question is asked again when it goes on.
    pub fn answer(&self, gate: &Gate, said: Said) -> Result<oneshot::Receiver<()>, Late> {
        let mut lying = self.lying();
        if lying.closed {
            return Err(Late);
        }
        let line = lying.asked.remove(gate).ok_or(Late)?;
        if let Some(line) = line.filter(|_| said.always && said.yes) {
            lying.always.insert(line);
        }
        let answer = (said.yes, said.text);
        match lying.waiting.remove(gate) {
            // Whoever waited may have gone: the run is being stopped.
            Some(waiting) => drop(waiting.send(answer)),
            None => drop(lying.early.insert(gate.clone(), answer)),
        }
        let (told, written) = oneshot::channel();
        lying.unwritten.insert(gate.clone(), told);
        Ok(written)
    }

    /// Takes note that the answer to a question is in the run's journal.
    pub fn written(&self, part: &PartId) {
        if let Some(told) = self.lying().unwritten.remove(&Gate::of(part)) {
            told.send(()).ok();
        }
    }

    /// Clears the desk away: nobody drives the run any more.
    pub fn close(&self) {
        let mut lying = self.lying();
        lying.closed = true;
        lying.unwritten.clear();
        lying.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> PartId {
        PartId { task: TaskId::new("main"), effect: 7, part: 0 }
    }

    fn yes() -> Said {
        Said { yes: true, always: false, text: String::new() }
    }

    #[tokio::test]
    async fn the_first_answer_wins_however_early_it_comes() {
        let desk = Desk::default();
        let gate = Gate::of(&part());
        assert_eq!(desk.answer(&gate, yes()).err(), Some(Late), "nothing was asked");
        desk.lay(&[(part(), &Question::Land)]);
        desk.answer(&gate, yes()).expect("it was asked");
        let no = Said { yes: false, always: false, text: "wait".into() };
        assert_eq!(desk.answer(&gate, no).err(), Some(Late));
        assert_eq!(desk.ask(&part(), &Question::Land).await, Some((true, String::new())));
    }

    #[tokio::test]
    async fn a_command_that_is_always_allowed_is_asked_about_once() {
        let desk = Desk::default();
        let question = |line: &str| Question::Command {
            role: checkmate_machine::ids::Role::Reviewer,
            line: line.to_owned(),
        };
        desk.lay(&[(part(), &question("npm run bench"))]);
        let always = Said { always: true, ..yes() };
        desk.answer(&Gate::of(&part()), always).expect("it was asked");
        assert_eq!(desk.ask(&part(), &question("npm run bench")).await, Some((true, String::new())));
        let later = PartId { effect: 9, ..part() };
        desk.lay(&[(later.clone(), &question("npm run bench"))]);
        assert_eq!(desk.ask(&later, &question("npm run bench")).await, Some((true, String::new())));
        assert_eq!(desk.answer(&Gate::of(&later), yes()).err(), Some(Late), "nobody has to answer it");
    }

    #[test]
    fn what_was_answered_before_a_restart_is_not_asked_again() {
        let desk = Desk::default();
        desk.lay(&[(part(), &Question::Land)]);
        desk.lay(&[]);
        assert_eq!(desk.answer(&Gate::of(&part()), yes()).err(), Some(Late));
    }

    #[test]
    fn whoever_answers_hears_of_it_once_it_is_written_down() {
        let desk = Desk::default();
        let other = PartId { effect: 9, ..part() };
        desk.lay(&[(part(), &Question::Land), (other.clone(), &Question::Land)]);
        let mut written = desk.answer(&Gate::of(&part()), yes()).expect("it was asked");
        assert!(written.try_recv().is_err(), "the journal does not know of it yet");
        desk.written(&part());
        desk.lay(&[(other.clone(), &Question::Land)]);
        assert_eq!(written.try_recv(), Ok(()));
        let third = PartId { effect: 11, ..part() };
        desk.lay(&[(other.clone(), &Question::Land), (third.clone(), &Question::Land)]);
        let mut unheard = desk.answer(&Gate::of(&third), yes()).expect("it was asked");
        desk.lay(&[(other.clone(), &Question::Land)]);
        assert_eq!(unheard.try_recv(), Err(oneshot::error::TryRecvError::Closed), "a cancel was quicker");
        let mut lost = desk.answer(&Gate::of(&other), yes()).expect("it was asked");
        desk.close();
        assert_eq!(lost.try_recv(), Err(oneshot::error::TryRecvError::Closed), "the run was stopped before");
        assert_eq!(desk.answer(&Gate::of(&other), yes()).err(), Some(Late));
    }

    #[test]
    fn a_gate_is_read_as_it_is_written() {
        let gate = Gate::of(&part());
        assert_eq!(gate.to_string(), "main/7.0");
        assert_eq!(Gate::parse("main/7.0"), Some(gate));
        for wrong in ["", "main", "main/7", "main/7.x", "main/-1.0"] {
            assert_eq!(Gate::parse(wrong), None, "{wrong}");
        }
    }
}
