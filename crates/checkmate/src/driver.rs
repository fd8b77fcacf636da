//! Drives a run: performs what the machine asks for, writes every answer down, and hands it over.
//!
//! Everything outstanding is performed at once. An answer is on disk before the machine sees it, so a crash costs at
//! most what was in flight; when the run is opened again, the machine asks for exactly that.

mod baselines;
mod perform;
mod sites;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::time::{Duration, Instant};

use checkmate_machine::effect::{Action, Question};
use checkmate_machine::event::{Command, Event};
use checkmate_machine::ids::{Role, TaskId};
use checkmate_machine::outcome::Outcome;
use checkmate_machine::run::Run;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use self::baselines::Baselines;
use self::perform::{Performed, Performer};
use crate::error::CommandError;
use crate::forecast::Total;
use crate::human::Human;
use crate::interrupt::{self, Heard, Interrupts};
use crate::journal::Journal;
use crate::process::Cancel;
use crate::redact::Redactor;
use crate::session::Session;
use crate::ui;
use crate::watch::{PartId, Watch};

pub(crate) use self::perform::confinement;

/// How long commands have to end after an interrupt before the program gives up on them.
const GRACE: Duration = Duration::from_secs(5);

/// How a drive ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drove {
    /// Every task has an outcome.
    Over(Outcome),
    /// The user interrupted it; the journal knows where to go on.
    Interrupted,
}

/// What a part says while it is being performed.
#[derive(Debug)]
struct Chunk {
    part: PartId,
    role: Role,
    text: String,
}

/// From where a run is driven.
#[derive(Debug)]
pub struct Attendance<'a> {
    /// Who is asked.
    pub human: Human,
    /// Who watches.
    pub watcher: &'a mut dyn Watch,
    /// What is said from outside.
    pub interrupts: Interrupts,
}

/// Drives a session to its end or to an interrupt.
pub async fn drive(
    session: Session,
    commands: Vec<Command>,
    attendance: Attendance<'_>,
) -> Result<Drove, CommandError> {
    let Attendance { human, watcher, mut interrupts } = attendance;
    let cancel = Cancel::default();
    let Session {
        id: _,
        folder,
        baselines,
        mut run,
        mut journal,
        workspace,
        agents,
        shell,
        redactor,
        left_alone: _,
        pool: _,
        driven,
    } = session;
    let start = Instant::now();
    let baselines = Baselines::new(baselines, redactor.clone());
    let performer = Performer::new(workspace, agents, shell, human, &folder, baselines, cancel.clone());
    let task = run.tasks().first().cloned().unwrap_or_else(|| TaskId::new(crate::session::TASK));
    if driven > Duration::ZERO {
        journal.opened()?;
    }
    watcher.stand(&run);
    for command in commands {
        let command = redactor.command(command);
        take(&mut run, &mut journal, watcher, task.clone(), command)?;
    }
    let mut flight = Flight { in_flight: FuturesUnordered::new(), started: BTreeSet::new() };
    let view = View { redactor: &redactor, watcher, interrupts: &mut interrupts };
    let conducted = conduct(&mut run, &mut journal, &performer, view, &mut flight, start - driven).await;
    watcher.hide();
    if !matches!(conducted, Ok(Conducted::Through)) {
        // Commands are ended in order. What they answer now is not taken; it will be asked for again.
        cancel.cancel();
        let idle = tokio::time::timeout(GRACE, flight.until_idle(&performer));
        tokio::pin!(idle);
        tokio::select! {
            _ = &mut idle => {}
            () = interrupts.stop() => {
                cancel.at_once();
                idle.await.ok();
            }
        }
    }
    performer.tidy();
    if conducted? == Conducted::Interrupted {
        return Ok(Drove::Interrupted);
    }
    let outcome = run.outcome(&task);
    if let Some(outcome) = &outcome {
        let seconds = (start.elapsed() + driven).as_secs();
        journal.ended(outcome, Total::of(&run, &task, seconds))?;
    }
    watcher.finish(run);
    outcome.map(Drove::Over).ok_or_else(|| {
        CommandError::local(
            "The run has nothing to do and no outcome. This is a bug of Checkmate; please report it with the journal.",
        )
    })
}

/// How performing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conducted {
    /// Nothing is outstanding.
    Through,
    /// Somebody ended it, or the minutes of the budget are over; parts may still be in flight.
    Ended,
    /// The user interrupted it.
    Interrupted,
}

/// What agents are saying, held back as far as a secret may have begun in it.
#[derive(Debug, Default)]
struct Speech {
    held: BTreeMap<PartId, String>,
}

impl Speech {
    fn show(&mut self, watcher: &mut dyn Watch, redactor: &Redactor, chunk: Chunk) {
        let Chunk { part, role, text } = chunk;
        let held = self.held.entry(part.clone()).or_default();
        held.push_str(&text);
        let text = redactor.take_safe(held);
        if !text.is_empty() {
            watcher.chunk(&part, role, &text);
        }
    }

    /// Shows the rest of a reply that is over.
    fn end(&mut self, watcher: &mut dyn Watch, redactor: &Redactor, part: &PartId, role: Role) {
        let rest = self.held.remove(part).unwrap_or_default();
        if !rest.is_empty() {
            watcher.chunk(part, role, &redactor.text(&rest));
        }
    }
}

/// What a person sees and says meanwhile.
struct View<'a> {
    redactor: &'a Redactor,
    watcher: &'a mut dyn Watch,
    interrupts: &'a mut Interrupts,
}

/// What is being performed.
struct Flight<F> {
    in_flight: FuturesUnordered<F>,
    started: BTreeSet<PartId>,
}

impl<F: Future> Flight<F> {
    /// Waits until no command runs; whoever else is still asked is not waited for.
    async fn until_idle(&mut self, performer: &Performer) {
        loop {
            tokio::select! {
                () = performer.is_idle() => return,
                next = self.in_flight.next() => if next.is_none() { return },
            }
        }
    }
}

/// A part that is being performed.
type Performing<'a> = Pin<Box<dyn Future<Output = (PartId, Performed)> + 'a>>;

/// Performs until nothing is outstanding, or until the time is over or somebody interrupts it. `since` is when the run
/// would have begun if it had never paused.
async fn conduct<'a>(
    run: &mut Run,
    journal: &mut Journal,
    performer: &'a Performer,
    view: View<'_>,
    flight: &mut Flight<Performing<'a>>,
    since: Instant,
) -> Result<Conducted, CommandError> {
    let View { redactor, watcher, interrupts } = view;
    let (chunks, mut streamed) = mpsc::unbounded_channel();
    let mut speech = Speech::default();
    let mut frames = tokio::time::interval(ui::FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        for pending in run.pending() {
            let key = PartId { task: pending.task.clone(), effect: pending.effect, part: pending.part };
            if !flight.started.insert(key.clone()) {
                continue;
            }
            let mut action = pending.action.clone();
            if let Action::Call(call) = &mut action {
                // What is sent and what is written down is the same text, without secrets.
                call.prompt.user = redactor.text(&call.prompt.user);
                journal.asked(&key.task, key.effect, key.part, call)?;
            }
            watcher.begin(key.clone(), &action);
            if matches!(action, Action::Land { .. } | Action::Ask(_)) {
                // A person and their files see nothing that the journal may not know of tomorrow.
                journal.settle()?;
            }
            if matches!(action, Action::Ask(Question::Land)) {
                watcher.propose(run, &key.task, performer.shell());
                let candidate = run.cycle(&key.task).and_then(|cycle| cycle.candidate());
                performer.propose(candidate.map_or("", |candidate| &candidate.diff));
            }
            let chunks = chunks.clone();
            flight.in_flight.push(Box::pin(async move {
                let performed = performer.perform(&key, &action, &chunks).await;
                (key, performed)
            }));
        }
        let finished = tokio::select! {
            biased;
            heard = interrupts.next() => {
                match heard {
                    Heard::Stop => {
                        watcher.hide();
                        watcher.stopping();
                        return Ok(Conducted::Interrupted);
                    }
                    Heard::Pause => {
                        watcher.hide();
                        interrupt::pause();
                    }
                    Heard::Command(command, taken) => {
                        let Some(task) = run.tasks().first().cloned() else { continue };
                        let command = redactor.command(command);
                        // What came too late changes nothing, and is no part of the run.
                        if run.accepts(&task, &command) {
                            take(run, journal, watcher, task, command)?;
                            taken.send(()).ok();
                        }
                        if run.is_over() {
                            return Ok(Conducted::Ended);
                        }
                    }
                }
                continue;
            }
            () = time_over(run, since) => {
                let Some(task) = run.tasks().first().cloned() else { return Ok(Conducted::Through) };
                take(run, journal, watcher, task, Command::TimeOver)?;
                return Ok(Conducted::Ended);
            }
            _ = frames.tick(), if watcher.is_live() => {
                watcher.tick();
                continue;
            }
            Some(chunk) = streamed.recv() => {
                speech.show(watcher, redactor, chunk);
                continue;
            }
            finished = flight.in_flight.next() => finished,
        };
        // What an agent said comes before what follows from it.
        while let Ok(chunk) = streamed.try_recv() {
            speech.show(watcher, redactor, chunk);
        }
        let Some((key, performed)) = finished else { return Ok(Conducted::Through) };
        flight.started.remove(&key);
        watcher.end(&key);
        let Performed::Answer(answer) = performed else { return Ok(Conducted::Interrupted) };
        // Nobody waits any more for what was cancelled meanwhile.
        let Some(action) = run.awaited(&key.task, key.effect, key.part).cloned() else { continue };
        if let Action::Call(call) = &action {
            speech.end(watcher, redactor, &key, call.role);
        }
        let PartId { task, effect, part } = key;
        let event = Event::Answered { task, effect, part, answer: redactor.answer(*answer) };
        let record = journal.append(Some(&action), event)?;
        let notices = run.handle(&record.event);
        watcher.advance(&record, Some(&action), &notices, run);
    }
}

/// Takes a command: writes it down, hands it to the machine, and tells of it.
fn take(
    run: &mut Run,
    journal: &mut Journal,
    watcher: &mut dyn Watch,
    task: TaskId,
    command: Command,
) -> Result<(), CommandError> {
    let record = journal.append(None, Event::Command { task, command })?;
    let notices = run.handle(&record.event);
    watcher.advance(&record, None, &notices, run);
    Ok(())
}

/// Waits for the end of the run's minutes; never, where it has no limit or cannot be ended now.
async fn time_over(run: &Run, since: Instant) {
    let limit = run.tasks().first().and_then(|task| {
        let minutes = run.cycle(task)?.spec().policy.budget.run.minutes?;
        run.accepts(task, &Command::TimeOver).then_some(Duration::from_secs(u64::from(minutes) * 60))
    });
    match limit {
        Some(limit) => tokio::time::sleep(limit.saturating_sub(since.elapsed())).await,
        None => std::future::pending().await,
    }
}
