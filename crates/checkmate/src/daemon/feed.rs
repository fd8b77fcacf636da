//! The events of one run for everybody who follows it.
//!
//! A feed is a log. Whoever follows has a place in it and takes what comes next when it is ready to, so a slow client
//! holds nobody up and costs no memory. What agents say while they say it is in the log too, but only for those who were
//! there: who comes later is told the text so far of replies that are not over.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use axum::extract::ws::Utf8Bytes;
use checkmate_machine::effect::Action;
use checkmate_machine::event::{Event as MachineEvent, Usage};
use checkmate_machine::ids::{Role, TaskId};
use checkmate_machine::notice::Notice;
use checkmate_machine::outcome::{Outcome, StoppedBy};
use checkmate_machine::run::Run;
use tokio::sync::Notify;

use crate::human::Desk;
use crate::journal::{Header, Record, now};
use crate::state::JOURNAL;
use crate::watch::{PartId, Watch};
use crate::wire::{Event, Frame, RunEvent, RunState, Standing, Timeline};

/// How many characters of a request are in the state of its run.
const MOST_OF_REQUEST: usize = 2000;

/// The events of a run, and where it stands.
#[derive(Debug)]
pub(super) struct Feed {
    log: Mutex<Log>,
}

#[derive(Debug)]
struct Log {
    header: Header,
    timeline: Option<Timeline>,
    /// With their numbers, from 0; what was said is taken out again after a while.
    entries: Vec<(usize, Entry)>,
    /// The number of the next entry.
    next: usize,
    /// What was said before this entry is taken out when the next reply is over.
    spoken: usize,
    /// Replies that are not over.
    speech: BTreeMap<PartId, Speech>,
    state: RunState,
    bells: Vec<Weak<Notify>>,
    /// How much of the journal has been told, in bytes.
    read: u64,
    /// Whether somebody tells more of it as soon as it is there.
    followed: bool,
    /// Why the run failed outside of what its journal tells; everybody is told who comes later.
    failure: Option<Utf8Bytes>,
    /// The feed in which the run goes on.
    newer: Option<Arc<Feed>>,
    /// The findings that a person can settle now.
    open: BTreeSet<String>,
}

#[derive(Debug)]
enum Entry {
    Event {
        text: Utf8Bytes,
        /// Whether clients of system A know it.
        old: bool,
    },
    /// Something that is told once, to those who are there.
    Chunk { text: Utf8Bytes, old: bool },
}

#[derive(Debug)]
struct Speech {
    role: Role,
    text: String,
}

/// A place in a feed.
#[derive(Debug)]
pub(super) struct Place {
    feed: Arc<Feed>,
    /// The next entry.
    next: usize,
    /// How many numbered events stand before it.
    passed: u64,
    /// How many numbered events are not wanted.
    skip: u64,
    /// Chunks before this entry were said before somebody came.
    came: usize,
    /// What is said at that entry: replies that were going on.
    speech: Vec<Utf8Bytes>,
    /// Whether only the events of system A are wanted.
    old: bool,
}

impl Feed {
    /// Begins the feed of a run that nothing is known of but its header.
    pub(super) fn new(header: Header, standing: Standing) -> Self {
        let spec = header.tasks.first().map(|task| &task.spec);
        let state = RunState {
            run: header.run.clone(),
            workspace: header.repository.to_string_lossy().into_owned(),
            request: spec.map_or_else(String::new, |spec| shortened(&spec.task.goal)),
            standing,
            stopped_by: None,
            message: String::new(),
            turn: 0,
            of: spec.map_or(0, |spec| spec.policy.max_iterations),
            began: header.at.clone(),
            changed: header.at.clone(),
            usage: Usage::NOTHING,
            requests: 0,
            files: Vec::new(),
            landed: false,
            follows: spec.and_then(|spec| spec.task.follows.as_ref()).map(|earlier| earlier.run.clone()),
        };
        let log = Log {
            header,
            timeline: None,
            entries: Vec::new(),
            next: 0,
            spoken: 0,
            speech: BTreeMap::new(),
            state,
            bells: Vec::new(),
            read: 0,
            followed: false,
            failure: None,
            newer: None,
            open: BTreeSet::new(),
        };
        Self { log: Mutex::new(log) }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns where the run stands.
    pub(super) fn state(&self) -> RunState {
        self.log().state.clone()
    }

    /// Says where the run stands, where its journal does not.
    pub(super) fn stands(&self, standing: Standing, message: Option<String>) {
        self.stands_since(standing, message);
        self.log().state.changed = now();
    }

    /// Says where the run stands, where its journal does not, without a word about when.
    pub(super) fn stands_since(&self, standing: Standing, message: Option<String>) {
        let mut log = self.log();
        log.state.standing = standing;
        if let Some(message) = message {
            log.state.message = message;
        }
    }

    /// Says that the run failed outside of what its journal tells.
    pub(super) fn fail(&self, message: &str) {
        let mut log = self.log();
        log.state.standing = Standing::Error;
        message.clone_into(&mut log.state.message);
        log.state.changed = now();
        let frame = Frame {
            event: Event::Notice(Notice::Error { error: message.to_owned() }),
            run: Some(log.header.run.clone()),
            task: None,
            seq: None,
            at: now(),
            re: None,
        };
        if let Some(text) = written(&frame) {
            log.failure = Some(text.clone());
            log.add(Entry::Chunk { text, old: true });
        }
        log.ring();
    }

    /// Sends everybody who follows the run on to the feed in which it goes on.
    pub(super) fn goes_on_in(&self, newer: &Arc<Feed>) {
        let mut log = self.log();
        log.newer = Some(Arc::clone(newer));
        log.ring();
    }

    /// Tells whether a person can settle a finding now.
    pub(super) fn can_settle(&self, finding: &str) -> bool {
        self.log().open.contains(finding)
    }

    /// Says how much of the journal has been told.
    pub(super) fn read_up_to(&self, length: u64) {
        self.log().read = length;
    }

    /// Tells whether so much of the journal has been told.
    pub(super) fn has_read(&self, length: u64) -> bool {
        self.log().read == length
    }

    /// Says whether somebody tells more of the journal as soon as it is there.
    pub(super) fn follow(&self, followed: bool) {
        self.log().followed = followed;
    }

    /// Tells whether anybody has a place in it.
    pub(super) fn is_heard(&self) -> bool {
        self.log().bells.iter().any(|bell| bell.strong_count() > 0)
    }

    /// Tells whether the journal says nothing more than this, or somebody will tell it.
    pub(super) fn is_fresh(&self, folder: &Path) -> bool {
        if self.log().followed {
            return true;
        }
        let length = std::fs::metadata(folder.join(JOURNAL)).map(|metadata| metadata.len());
        length.is_ok_and(|length| length == self.log().read)
    }

    /// Takes a place before an event; `bell` rings when there is something new.
    pub(super) fn place(self: &Arc<Self>, from_seq: u64, old: bool, bell: &Arc<Notify>) -> (Place, u64) {
        let mut log = self.log();
        let latest = log.timeline.as_ref().map_or(0, Timeline::seq);
        let heard = log.speech.values().filter(|speech| !old || speech.role != Role::Examiner);
        let speech = heard.filter_map(|speech| log.chunk(speech.role, &speech.text, true));
        let speech = speech.chain(log.failure.clone()).collect();
        log.bells.retain(|bell| bell.strong_count() > 0);
        log.bells.push(Arc::downgrade(bell));
        bell.notify_one();
        let (skip, came) = (from_seq.max(1) - 1, log.next);
        (Place { feed: Arc::clone(self), next: 0, passed: 0, skip, came, speech, old }, latest)
    }
}

impl Log {
    fn ring(&self) {
        for bell in self.bells.iter().filter_map(Weak::upgrade) {
            bell.notify_one();
        }
    }

    fn chunk(&self, role: Role, text: &str, start: bool) -> Option<Utf8Bytes> {
        let task = self.header.tasks.first().map(|task| task.id.clone());
        let frame = Frame {
            event: Event::Run(RunEvent::StreamChunk { role, chunk: text.to_owned(), start }),
            run: Some(self.header.run.clone()),
            task,
            seq: Some(self.timeline.as_ref().map_or(0, Timeline::seq)),
            at: now(),
            re: None,
        };
        written(&frame)
    }

    fn tell(&mut self, frames: Vec<Frame>) {
        for frame in frames {
            let old = is_old(&frame.event);
            if let Some(text) = written(&frame) {
                self.add(Entry::Event { text, old });
            }
        }
    }

    fn add(&mut self, entry: Entry) {
        self.entries.push((self.next, entry));
        self.next += 1;
    }

    /// Takes note that replies are over. What was said in those before is let go: whoever has not read it yet is told what
    /// came of it by events.
    fn end_speech(&mut self, goes_on: impl Fn(&PartId) -> bool) {
        let before = self.speech.len();
        self.speech.retain(|part, _| goes_on(part));
        if self.speech.len() == before {
            return;
        }
        let spoken = self.spoken;
        self.entries.retain(|(number, entry)| match entry {
            Entry::Event { .. } => true,
            Entry::Chunk { .. } => *number >= spoken,
        });
        self.spoken = self.next;
    }

    /// Takes over where the run stands.
    fn know(&mut self, run: &Run, at: &str) {
        let state = &mut self.state;
        at.clone_into(&mut state.changed);
        if let Some(timeline) = &self.timeline {
            (state.usage, state.requests) = timeline.used();
        }
        let Some(task) = run.tasks().first() else { return };
        if let Some(cycle) = run.cycle(task) {
            let ids = cycle.findings().all().iter().map(|finding| &finding.id);
            self.open = ids.filter(|id| cycle.accepts_dispute(id)).cloned().collect();
            state.turn = cycle.turn();
            if let Some(candidate) = cycle.candidate() {
                state.files = candidate.changes.iter().map(|change| change.path.clone()).collect();
            }
        }
        state.stopped_by = None;
        state.landed = false;
        let asks = self.timeline.as_ref().is_some_and(Timeline::asks);
        match run.outcome(task) {
            None => {
                state.standing = if asks { Standing::Waiting } else { Standing::Running };
                state.message.clear();
            }
            Some(Outcome::Approved { .. }) => {
                state.standing = Standing::Approved;
                state.landed = true;
                state.message = "Approved and landed.".into();
            }
            Some(Outcome::Applied { .. }) => {
                state.standing = Standing::Applied;
                state.landed = true;
                state.message = "Applied as you asked; nothing was tested or reviewed.".into();
            }
            Some(Outcome::NotApproved { stopped_by: StoppedBy::NotLanded, reason }) => {
                state.standing = Standing::Approved;
                state.stopped_by = Some(StoppedBy::NotLanded);
                state.message = reason;
            }
            Some(Outcome::NotApproved { stopped_by: StoppedBy::TakenBack, reason }) => {
                state.standing = Standing::Applied;
                state.stopped_by = Some(StoppedBy::TakenBack);
                state.message = reason;
            }
            Some(Outcome::NotApproved { stopped_by, reason }) => {
                state.standing = Standing::NotApproved;
                state.stopped_by = Some(stopped_by);
                state.message = reason;
            }
            Some(Outcome::Error { message }) => {
                state.standing = Standing::Error;
                state.message = message;
            }
        }
    }
}

impl Place {
    /// Takes what comes next, at most about so many bytes; `bell` rings when there is something new.
    pub(super) fn take(&mut self, bytes: usize, bell: &Arc<Notify>) -> Vec<Utf8Bytes> {
        let mut taken = self.take_here(bytes);
        while taken.is_empty() {
            let Some(newer) = self.feed.log().newer.clone() else { break };
            // Whatever was told here is told there with the same numbers.
            (*self, _) = newer.place(self.skip.max(self.passed).saturating_add(1), self.old, bell);
            taken = self.take_here(bytes);
        }
        taken
    }

    /// Tells this client every event from here on.
    pub(super) fn know_all(&mut self) {
        self.old = false;
    }

    fn take_here(&mut self, bytes: usize) -> Vec<Utf8Bytes> {
        let feed = Arc::clone(&self.feed);
        let log = feed.log();
        let (mut taken, mut size) = (Vec::new(), 0);
        let first = log.entries.partition_point(|(number, _)| *number < self.next);
        let mut entries = log.entries.iter().skip(first);
        while size < bytes {
            let entry = entries.next();
            self.next = entry.map_or(log.next, |(number, _)| *number);
            if self.next >= self.came && !self.speech.is_empty() {
                taken.append(&mut self.speech);
            }
            let text = match entry.map(|(_, entry)| entry) {
                Some(Entry::Event { text, old }) => {
                    self.passed += 1;
                    (self.passed > self.skip && (*old || !self.old)).then_some(text)
                }
                Some(Entry::Chunk { text, old }) => {
                    (self.next >= self.came && (*old || !self.old)).then_some(text)
                }
                None => break,
            };
            self.next += 1;
            if let Some(text) = text {
                size += text.len();
                taken.push(text.clone());
            }
        }
        taken
    }
}

/// Returns the beginning of a request, for lists; the run's first event has the whole.
fn shortened(request: &str) -> String {
    match request.char_indices().nth(MOST_OF_REQUEST) {
        Some((end, _)) => format!("{}…", &request[..end]),
        None => request.to_owned(),
    }
}

/// Tells whether clients of system A know an event.
fn is_old(event: &Event) -> bool {
    match event {
        Event::Notice(notice) => match notice {
            Notice::Status { .. }
            | Notice::PatchReady { .. }
            | Notice::TestsOutput { .. }
            | Notice::ReviewReady { .. }
            | Notice::ModeratorDecision { .. }
            | Notice::ArbiterMode { .. }
            | Notice::ArbiterResult { .. }
            | Notice::DiagnosticRun { .. }
            | Notice::CycleComplete { .. }
            | Notice::Error { .. } => true,
            Notice::TurnStarted { .. }
            | Notice::BuilderReady { .. }
            | Notice::Verdict { .. }
            | Notice::Outcome { .. } => false,
        },
        Event::Run(_) | Event::Daemon(_) => false,
    }
}

fn written(frame: &Frame) -> Option<Utf8Bytes> {
    serde_json::to_string(frame).ok().map(Utf8Bytes::from)
}

/// Writes the feed of a run that is driven or told again.
#[derive(Debug)]
pub(super) struct Teller {
    pub(super) feed: Arc<Feed>,
    /// Where questions lie, so that no answer comes before its question.
    pub(super) desk: Option<Arc<Desk>>,
    /// What is rung when the run stands otherwise than before.
    pub(super) changed: Option<Changed>,
}

/// Takes note that a run stands otherwise than before.
pub(super) type Changed = Box<dyn Ring>;

/// Somebody who wants to know that a run stands otherwise than before.
pub(super) trait Ring: std::fmt::Debug {
    fn ring(&self, state: RunState);
}

impl Teller {
    /// Before anybody is told of a question it can be answered.
    fn lay_questions(&self, run: &Run) {
        let Some(desk) = &self.desk else { return };
        let mut questions = Vec::new();
        for pending in run.pending() {
            if let Action::Ask(question) = pending.action {
                let part = PartId { task: pending.task.clone(), effect: pending.effect, part: pending.part };
                questions.push((part, question));
            }
        }
        desk.lay(&questions);
    }

    fn changing(&self, change: impl FnOnce(&mut Log)) {
        let state = {
            let mut log = self.feed.log();
            let before = RunState { changed: String::new(), ..log.state.clone() };
            change(&mut log);
            log.ring();
            let after = RunState { changed: String::new(), ..log.state.clone() };
            (before != after).then(|| log.state.clone())
        };
        if let (Some(changed), Some(state)) = (&self.changed, state) {
            changed.ring(state);
        }
    }
}

impl Watch for Teller {
    fn stand(&mut self, run: &Run) {
        self.lay_questions(run);
        self.changing(|log| {
            if log.timeline.is_none() {
                let (timeline, frames) = Timeline::begin(&log.header, run);
                log.timeline = Some(timeline);
                log.tell(frames);
            }
            let at = log.state.changed.clone();
            log.know(run, &at);
        });
    }

    fn begin(&mut self, _part: PartId, _action: &Action) {}

    fn end(&mut self, _part: &PartId) {}

    fn advance(&mut self, record: &Record, action: Option<&Action>, notices: &[(TaskId, Notice)], run: &Run) {
        if let (Some(desk), MachineEvent::Answered { task, effect, part, .. }) = (&self.desk, &record.event) {
            desk.written(&PartId { task: task.clone(), effect: *effect, part: *part });
        }
        self.lay_questions(run);
        self.changing(|log| {
            let frames = match &mut log.timeline {
                Some(timeline) => timeline.advance(record, action, notices, run),
                None => Vec::new(),
            };
            let pending: Vec<PartId> = run
                .pending()
                .iter()
                .map(|one| PartId { task: one.task.clone(), effect: one.effect, part: one.part })
                .collect();
            log.end_speech(|part| pending.contains(part));
            log.tell(frames);
            log.know(run, &record.at);
        });
    }

    fn chunk(&mut self, part: &PartId, role: Role, text: &str) {
        let mut log = self.feed.log();
        let start = !log.speech.contains_key(part);
        let speech = log.speech.entry(part.clone()).or_insert_with(|| Speech { role, text: String::new() });
        speech.text.push_str(text);
        if let Some(text) = log.chunk(role, text, start) {
            log.add(Entry::Chunk { text, old: role != Role::Examiner });
            log.ring();
        }
    }

    fn finish(&mut self, _run: Run) {}
}
