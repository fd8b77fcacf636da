//! Scripted agents: replies from a file, without a key and without a network.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use checkmate_machine::effect::Call;
use checkmate_machine::event::{Failure, FailureKind, Usage};
use checkmate_machine::ids::{Role, TaskId};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::time::sleep;

use super::Reply;
use super::retry::{Fault, Retry};

/// The version of the script format that is read here.
const VERSION: u64 = 1;
/// How many characters are passed on at a time.
const PIECE: usize = 40;
/// What the model of a scripted agent is called.
pub(crate) const MODEL: &str = "replay";
/// Every role that a script may mention. Entries of roles that a run does not have stay unused.
const ROLES: [&str; 11] = [
    "builder",
    "reviewer",
    "moderator",
    "examiner",
    "drafter",
    "criteria_judge",
    "worker",
    "judge",
    "player",
    "coach",
    "planner",
];

/// What a replay script says, entry by entry, for each role.
#[derive(Debug, Clone)]
pub struct Script {
    entries: Vec<Entry>,
    when_exhausted: WhenExhausted,
}

/// Why a replay script cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScriptError {
    /// It is not JSON.
    #[error("The replay script is not JSON: {0}. Correct the file at that place.")]
    Syntax(String),
    /// Something outside the entries is wrong.
    #[error("The replay script's `{field}` {problem}.")]
    Field {
        /// The key.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An entry is wrong.
    #[error("Entry {number} of the replay script: `{field}` {problem}.")]
    Entry {
        /// The entry's number, from 1.
        number: usize,
        /// The key.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
}

#[derive(Debug, Clone)]
struct Entry {
    role: String,
    task: Option<TaskId>,
    says: Says,
    latency: Duration,
    usage: Counts,
}

#[derive(Debug, Clone)]
enum Says {
    Text(String),
    Fails(Mishap),
}

#[derive(Debug, Clone, Copy)]
enum Mishap {
    RateLimit,
    Overloaded,
    Timeout,
    Disconnect,
    Refusal,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    input: Option<u64>,
    cached: Option<u64>,
    output: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
enum WhenExhausted {
    RepeatLastOfRole,
    #[default]
    Error,
    Empty,
}

impl Script {
    /// Reads a script of version 1.
    pub fn parse(json: &str) -> Result<Script, ScriptError> {
        let value: Value =
            serde_json::from_str(json).map_err(|error| ScriptError::Syntax(error.to_string()))?;
        let keys = Fields::of(&value, None, &["version", "replay", "when_exhausted"])?;
        match keys.get("version").map(Value::as_u64) {
            Some(Some(VERSION)) => {}
            Some(_) => return Err(keys.wrong("version", "must be 1; no other version is known")),
            None => return Err(keys.wrong("version", "is missing; it must be 1")),
        }
        let when_exhausted = match keys.text("when_exhausted")? {
            None => WhenExhausted::default(),
            Some("repeat_last_of_role") => WhenExhausted::RepeatLastOfRole,
            Some("error") => WhenExhausted::Error,
            Some("empty") => WhenExhausted::Empty,
            Some(_) => {
                return Err(
                    keys.wrong("when_exhausted", "must be \"repeat_last_of_role\", \"error\" or \"empty\"")
                );
            }
        };
        let Some(Value::Array(list)) = keys.get("replay") else {
            return Err(keys.wrong("replay", "must be a list of entries"));
        };
        let entries = list.iter().zip(1..).map(|(value, number)| Entry::parse(value, number));
        Ok(Script { entries: entries.collect::<Result<_, _>>()?, when_exhausted })
    }

    /// Leaves only the entries for this task and those that name none.
    pub fn for_task(mut self, task: &TaskId) -> Script {
        self.entries.retain(|entry| entry.task.as_ref().is_none_or(|named| named == task));
        self
    }
}

impl Entry {
    fn parse(value: &Value, number: usize) -> Result<Entry, ScriptError> {
        let keys =
            Fields::of(value, Some(number), &["role", "reply", "fail", "task", "latency_ms", "usage"])?;
        let role = keys.text("role")?.ok_or_else(|| keys.wrong("role", "is missing"))?;
        if !ROLES.contains(&role) {
            return Err(keys.wrong("role", &format!("is `{role}`; the roles are {}", ROLES.join(", "))));
        }
        let says = match (keys.get("reply"), keys.text("fail")?) {
            (Some(Value::String(text)), None) => Says::Text(text.clone()),
            (Some(reply @ Value::Object(_)), None) => Says::Text(reply.to_string()),
            (Some(_), None) => return Err(keys.wrong("reply", "must be an object or a string")),
            (None, Some(fail)) => {
                Says::Fails(Mishap::parse(fail).ok_or_else(|| keys.wrong("fail", Mishap::NAMES))?)
            }
            (Some(_), Some(_)) => {
                return Err(keys.wrong("fail", "cannot stand beside `reply`; leave one of them out"));
            }
            (None, None) => return Err(keys.wrong("reply", "is missing; an entry needs `reply` or `fail`")),
        };
        Ok(Entry {
            role: role.to_owned(),
            task: keys.text("task")?.map(TaskId::new),
            says,
            latency: Duration::from_millis(keys.number("latency_ms")?.unwrap_or(0)),
            usage: keys
                .get("usage")
                .map(|usage| Counts::parse(usage, number))
                .transpose()?
                .unwrap_or_default(),
        })
    }
}

impl Mishap {
    const NAMES: &str = "must be \"rate_limit\", \"overloaded\", \"timeout\", \"disconnect\" or \"refusal\"";

    fn parse(name: &str) -> Option<Mishap> {
        match name {
            "rate_limit" => Some(Mishap::RateLimit),
            "overloaded" => Some(Mishap::Overloaded),
            "timeout" => Some(Mishap::Timeout),
            "disconnect" => Some(Mishap::Disconnect),
            "refusal" => Some(Mishap::Refusal),
            _ => None,
        }
    }

    fn fault(self, role: Role) -> Fault {
        let passing =
            |what: &str| Fault::passing(format!("The scripted {role} {what}, as its replay script says."));
        match self {
            Mishap::RateLimit => passing("was asked too often"),
            Mishap::Overloaded => passing("is overloaded"),
            Mishap::Timeout => passing("did not answer in time"),
            Mishap::Disconnect => passing("broke off the connection"),
            Mishap::Refusal => Fault::lasting(
                FailureKind::Refusal,
                format!("The scripted {role} declined to answer, as its replay script says."),
            ),
        }
    }
}

impl Counts {
    fn parse(value: &Value, number: usize) -> Result<Counts, ScriptError> {
        const KEYS: [&str; 6] = ["input_tokens", "in", "cached_tokens", "cached", "output_tokens", "out"];
        let keys = Fields::of(value, Some(number), &KEYS)?;
        let either = |long, short| Ok(keys.number(long)?.or(keys.number(short)?));
        Ok(Counts {
            input: either("input_tokens", "in")?,
            cached: either("cached_tokens", "cached")?,
            output: either("output_tokens", "out")?,
        })
    }
}

/// A JSON object with nothing unexpected in it.
struct Fields<'a> {
    entry: Option<usize>,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value, entry: Option<usize>, known: &[&str]) -> Result<Fields<'a>, ScriptError> {
        let Value::Object(map) = value else {
            let (number, all) = (entry.unwrap_or_default(), known.join("`, `"));
            let problem = format!("must be in an object with the keys `{all}`");
            return Err(match entry {
                Some(_) => ScriptError::Entry { number, field: known[0].to_owned(), problem },
                None => ScriptError::Field { field: known[0].to_owned(), problem },
            });
        };
        let keys = Fields { entry, map };
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(keys.wrong(key, &format!("is not known; the keys are {}", known.join(", ")))),
            None => Ok(keys),
        }
    }

    fn get(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field)
    }

    fn text(&self, field: &str) -> Result<Option<&'a str>, ScriptError> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(field, "must be a string")),
        }
    }

    fn number(&self, field: &str) -> Result<Option<u64>, ScriptError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let number = value.as_u64();
        number.map(Some).ok_or_else(|| self.wrong(field, "must be a whole number that is not negative"))
    }

    fn wrong(&self, field: &str, problem: &str) -> ScriptError {
        let (field, problem) = (field.to_owned(), problem.to_owned());
        match self.entry {
            Some(number) => ScriptError::Entry { number, field, problem },
            None => ScriptError::Field { field, problem },
        }
    }
}

/// Plays a [`Script`], each role from its own next entry on.
pub(super) struct ScriptedAgents {
    queues: Mutex<BTreeMap<String, Queue>>,
    when_exhausted: WhenExhausted,
}

#[derive(Default)]
struct Queue {
    next: VecDeque<Entry>,
    last: Option<Entry>,
}

impl ScriptedAgents {
    /// Deals the entries out to their roles.
    pub(super) fn new(script: Script) -> Self {
        let mut queues: BTreeMap<String, Queue> = BTreeMap::new();
        for entry in script.entries {
            queues.entry(entry.role.clone()).or_default().next.push_back(entry);
        }
        Self { queues: Mutex::new(queues), when_exhausted: script.when_exhausted }
    }

    /// Passes over entries that an earlier process has used.
    pub(super) fn skip(&self, role: Role, requests: u32) {
        let mut queues = self.lock();
        let Some(queue) = queues.get_mut(role.name()) else { return };
        for _ in 0..requests {
            let Some(entry) = queue.next.pop_front() else { return };
            queue.last = Some(entry);
        }
    }

    /// Plays the role's next entry.
    pub(super) async fn attempt(
        &self,
        call: &Call,
        on_chunk: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, Fault> {
        let entry = self.take(call.role)?;
        let text = match entry.says {
            Says::Text(text) => text,
            Says::Fails(mishap) => {
                sleep(entry.latency).await;
                return Err(mishap.fault(call.role));
            }
        };
        speak(&text, entry.latency, on_chunk).await;
        let prompt = call.prompt.system.len() + call.prompt.user.len();
        let estimate = |bytes: usize| u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX);
        let usage = Usage {
            input_tokens: entry.usage.input.unwrap_or_else(|| estimate(prompt)),
            cached_tokens: entry.usage.cached.unwrap_or(0),
            output_tokens: entry.usage.output.unwrap_or_else(|| estimate(text.len())),
            reasoning_tokens: 0,
            cost_micro_usd: None,
        };
        Ok(Reply { text, model: MODEL.to_owned(), usage, notes: Vec::new() })
    }

    fn take(&self, role: Role) -> Result<Entry, Fault> {
        let mut queues = self.lock();
        let queue = queues.entry(role.name().to_owned()).or_default();
        if let Some(entry) = queue.next.pop_front() {
            queue.last = Some(entry.clone());
            return Ok(entry);
        }
        let silence = Entry {
            role: role.name().to_owned(),
            task: None,
            says: Says::Text(String::new()),
            latency: Duration::ZERO,
            usage: Counts::default(),
        };
        match self.when_exhausted {
            WhenExhausted::RepeatLastOfRole => queue.last.clone().ok_or_else(|| exhausted(role)),
            WhenExhausted::Empty => Ok(silence),
            WhenExhausted::Error => Err(exhausted(role)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Queue>> {
        // An entry is taken in one step, so a panic elsewhere leaves the queues whole.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn exhausted(role: Role) -> Fault {
    let message = format!(
        "The replay script has no more entries for the {role}. Add one, or set `when_exhausted` to \
         \"repeat_last_of_role\" or \"empty\"."
    );
    let failure = Failure { kind: FailureKind::Local, message, requests: 0 };
    Fault { failure, retry: Retry::Never, sent: false }
}

/// Passes a text on in pieces, as a model would, spread over the time it takes.
async fn speak(text: &str, latency: Duration, on_chunk: &mut (dyn FnMut(&str) + Send)) {
    let pieces = pieces(text);
    let pause = latency / u32::try_from(pieces.len()).unwrap_or(u32::MAX).max(1);
    if pieces.is_empty() {
        sleep(latency).await;
    }
    for piece in pieces {
        sleep(pause).await;
        on_chunk(piece);
    }
}

fn pieces(text: &str) -> Vec<&str> {
    let starts = text.char_indices().map(|(start, _)| start).step_by(PIECE);
    let ends = text.char_indices().map(|(start, _)| start).step_by(PIECE).skip(1).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| &text[start..end]).collect()
}

#[cfg(test)]
mod tests;
