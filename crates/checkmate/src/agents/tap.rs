//! Watches what comes over the wire, because genai passes over what it does not understand.

use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde_json::Value;
use tokio::sync::Notify;

/// The most that one stream may bring, in bytes: events, comments and what a model thinks included.
const LARGEST_STREAM: usize = 64 << 20;
/// What a block costs beyond its data.
const BLOCK: usize = 16;

/// Sees every block of one event stream.
#[derive(Default)]
pub(super) struct Tap {
    seen: Mutex<Seen>,
    flooded: Notify,
}

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
    /// The model's words for declining, which OpenAI sends beside the text, or the reason why Gemini blocked the prompt.
    pub(super) refusal: String,
    /// Whether the prompt itself was blocked; then no reply follows.
    pub(super) blocked: bool,
    /// What the call cost in millionths of a US dollar, as OpenRouter bills it.
    pub(super) cost: Option<u64>,
    /// Tokens of reasoning, where genai passes over them.
    pub(super) thinking: Option<u64>,
    /// How much has come, in bytes.
    bytes: usize,
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

    /// Returns when more has come than any reply needs. Comments and events without text never reach the reader, so it
    /// cannot count them.
    pub(super) async fn flooded(&self) {
        self.flooded.notified().await;
    }

    /// Returns how many blocks have come.
    pub(super) fn blocks(&self) -> u32 {
        let seen = self.lock();
        seen.other.saturating_add(seen.events)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        // Whatever a panic interrupted, what is in here is still what was seen.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Tap {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.lock();
        seen.take(frame.event, frame.data);
        if seen.bytes > LARGEST_STREAM {
            self.flooded.notify_one();
        }
    }
}

impl Seen {
    /// Whether a body came that holds no event at all.
    pub(super) fn is_no_event_stream(&self) -> bool {
        self.other > 0 && self.events == 0
    }

    fn take(&mut self, event: Option<&str>, data: &str) {
        self.bytes = self.bytes.saturating_add(data.len() + BLOCK);
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
        if let Some(reason) = value.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            self.blocked = true;
            self.refusal = format!("the prompt was blocked ({reason})");
        }
        let usage = &value["usage"];
        self.cost = billed(usage).or(self.cost);
        self.thinking = usage["output_tokens_details"]["thinking_tokens"].as_u64().or(self.thinking);
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

/// Reads what OpenRouter charged. With a key of the user's own, the vendor bills them as well.
fn billed(usage: &Value) -> Option<u64> {
    let own_key = usage["is_byok"].as_bool() == Some(true);
    let vendor = usage["cost_details"]["upstream_inference_cost"].as_f64().filter(|_| own_key);
    millionths(usage["cost"].as_f64()? + vendor.unwrap_or(0.0))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be in range just before"
)]
fn millionths(dollars: f64) -> Option<u64> {
    // What only binary fractions make of a round number is no cost.
    let micro = (dollars * 1e6 - 1e-6).ceil();
    (0.0..1e15).contains(&micro.max(0.0)).then(|| micro.max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn costs_are_read_and_never_made_up() {
        for (usage, cost) in [
            (json!({"cost": 0.0001}), Some(100)),
            (json!({"cost": 0.000_000_2}), Some(1)),
            (json!({"cost": 0}), Some(0)),
            (
                json!({"cost": 0.95, "cost_details": {"upstream_inference_cost": 0.95}, "is_byok": false}),
                Some(950_000),
            ),
            (
                json!({"cost": 0.01, "cost_details": {"upstream_inference_cost": 0.2}, "is_byok": true}),
                Some(210_000),
            ),
            (json!({"cost": null}), None),
            (json!({"cost": "0.1"}), None),
            (json!({"prompt_tokens": 1}), None),
            (json!(null), None),
            (json!({"cost": 1e300}), None),
        ] {
            assert_eq!(billed(&usage), cost, "{usage}");
        }
    }
}
