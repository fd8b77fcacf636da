//! Watches what comes over the wire, because genai passes over what it does not understand.

use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde_json::Value;

/// Sees every block of one event stream.
#[derive(Default)]
pub(super) struct Tap(Mutex<Seen>);

/// What was seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// Blocks that were not events, such as a line of a web page or a comment.
    other: u32,
    /// Blocks with data.
    events: u32,
    /// Why the stream cannot be trusted.
    pub(super) garbled: Option<String>,
    /// The model that answers, as the provider names it.
    pub(super) model: Option<String>,
    /// The model's words for declining, which OpenAI sends beside the text.
    pub(super) refusal: String,
}

impl Tap {
    /// Returns what was seen until now.
    pub(super) fn seen(&self) -> Seen {
        self.lock().clone()
    }

    /// Whether something unreadable came.
    pub(super) fn is_garbled(&self) -> bool {
        self.lock().garbled.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        // Whatever a panic interrupted, what is in here is still what was seen.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Tap {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.lock().take(frame.event, frame.data);
    }
}

impl Seen {
    /// Whether a body came that holds no event at all.
    pub(super) fn is_no_event_stream(&self) -> bool {
        self.other > 0 && self.events == 0
    }

    fn take(&mut self, event: Option<&str>, data: &str) {
        match (event, data) {
            (None, "") => self.other += 1,
            (_, "[DONE]") => self.events += 1,
            (_, _) => match serde_json::from_str::<Value>(data) {
                Ok(value) => self.read(&value),
                Err(error) => self.spoil(format!("an event is not JSON: {error}")),
            },
        }
    }

    fn read(&mut self, value: &Value) {
        self.events += 1;
        if let Some(words) = value.pointer("/choices/0/delta/refusal").and_then(Value::as_str) {
            self.refusal.push_str(words);
        }
        if self.model.is_none() {
            let names = ["/model", "/message/model", "/modelVersion"];
            let name = names.into_iter().find_map(|pointer| value.pointer(pointer)?.as_str());
            self.model = name.filter(|name| !name.is_empty()).map(str::to_owned);
        }
    }

    fn spoil(&mut self, why: String) {
        self.events += 1;
        self.garbled.get_or_insert(why);
    }
}
