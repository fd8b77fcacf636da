//! Asks models over the network, through `genai`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use checkmate_machine::effect::Call;
use checkmate_machine::event::Usage;
use futures::StreamExt;
use genai::chat::{ChatOptions, ChatStream, ChatStreamEvent, StopReason, StreamEnd, Usage as Counts};
use reqwest::header::CONTENT_TYPE;

use super::fault::{self, cut_short, malformed, refusal, too_large, web_page};
use super::request::{self, Refused, Wishes};
use super::retry::{Fault, Retry};
use super::service::Service;
use super::tap::{Seen, Tap};
use super::thought::Thoughts;
use super::{AgentSettings, Price, Reply, listing};

/// The longest silence of a provider; a ping of the provider breaks it.
const IDLE_LIMIT: Duration = Duration::from_secs(120);
/// The longest text that is taken for a reply, in bytes; no model writes as much.
const LARGEST_REPLY: usize = 16 << 20;
/// How long the look at a suspicious address may take.
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// One model at one provider.
pub(super) struct HttpAgent {
    service: Service,
    client: genai::Client,
    /// The client under genai's, for looks at an address without a key.
    web: reqwest::Client,
    wishes: Wishes,
    price: Option<Price>,
    header_limit: Duration,
    idle_limit: Duration,
    /// What the endpoint has turned out not to know.
    refused: Refused,
    /// Whether it was said that tokens are not counted.
    uncounted: AtomicBool,
    /// What the next reply has to tell people.
    notes: Mutex<Vec<String>>,
}

impl HttpAgent {
    /// Makes the agent; nothing is sent yet.
    pub(super) fn new(
        service: Service,
        settings: &AgentSettings,
        web: reqwest::Client,
    ) -> Result<Self, genai::Error> {
        let client = genai::Client::builder().with_reqwest(web.clone()).build()?;
        // A model on this machine may read a long prompt for minutes before the first byte, or after the headers.
        let limit = if service.local { settings.time_limit } else { IDLE_LIMIT };
        Ok(Self {
            wishes: Wishes::new(&service, settings),
            price: settings.price,
            header_limit: limit,
            idle_limit: limit,
            refused: Refused::default(),
            uncounted: AtomicBool::new(false),
            notes: Mutex::default(),
            service,
            client,
            web,
        })
    }

    /// Sets how long the provider may be silent, before its answer and within it.
    #[cfg(test)]
    pub(super) fn allow_silence(&mut self, limit: Duration) {
        (self.header_limit, self.idle_limit) = (limit, limit);
    }

    /// Returns where the questions go.
    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    /// Sends one request and reads the whole reply; only a reply that is marked as complete counts.
    pub(super) async fn attempt(
        &self,
        call: &Call,
        on_chunk: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, Fault> {
        let tap = Arc::new(Tap::default());
        let wishes = self.wishes.within(call.allowance);
        let options = request::options(&self.service, &wishes, &self.refused, &call.prompt, Arc::clone(&tap))
            .with_stream_header_timeout(self.header_limit)
            .with_stream_read_timeout(self.idle_limit);
        let target = request::target(&self.service, &wishes);
        let messages = request::messages(&self.service, &call.prompt);
        let response = match self.client.exec_chat_stream(target, messages, Some(&options)).await {
            Ok(response) => response,
            Err(error) => return Err(self.judge(&error, &options).await),
        };
        let (text, end) = match self.read(response.stream, &tap, on_chunk).await {
            Ok(read) => read?,
            Err(_) if tap.seen().blocked => return Err(refusal(&self.service, &tap.seen().refusal)),
            Err(error) => return Err(self.judge(&error, &options).await),
        };
        let seen = tap.seen();
        if let Some(cause) = &seen.garbled {
            return Err(malformed(&self.service, cause));
        }
        // genai makes up the end of some providers' streams; only a stop reason comes from the provider itself.
        match end.and_then(|end| Some((end.captured_stop_reason?, end.captured_usage))) {
            Some((reason, counts)) => self.whole(text, &reason, wishes.max_output_tokens, counts, seen),
            None if seen.is_no_event_stream() && self.shows_web_page().await => Err(web_page(&self.service)),
            None => Err(cut_short(&self.service)),
        }
    }

    /// Reads the text of a stream up to its end.
    async fn read(
        &self,
        mut stream: ChatStream,
        tap: &Tap,
        on_chunk: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Result<(String, Option<StreamEnd>), Fault>, genai::Error> {
        let mut thoughts = Thoughts::default();
        let mut blocks = tap.blocks();
        loop {
            let event = tokio::select! {
                event = stream.next() => event,
                () = tap.flooded() => return Ok(Err(too_large(&self.service, LARGEST_REPLY))),
                // A block that never ends is no silence for the connection.
                () = tokio::time::sleep(self.idle_limit) => {
                    if blocks == tap.blocks() {
                        return Ok(Err(fault::stalled(&self.service, self.idle_limit)));
                    }
                    blocks = tap.blocks();
                    continue;
                }
            };
            match event.transpose()? {
                Some(ChatStreamEvent::Chunk(chunk)) => {
                    let fresh = thoughts.push(&chunk.content);
                    if thoughts.bytes() > LARGEST_REPLY {
                        return Ok(Err(too_large(&self.service, LARGEST_REPLY)));
                    }
                    // What came after something unreadable may be out of place.
                    if !fresh.is_empty() && !tap.is_garbled() {
                        on_chunk(&fresh);
                    }
                }
                Some(ChatStreamEvent::End(end)) => return Ok(Ok((thoughts.finish(), Some(end)))),
                Some(
                    ChatStreamEvent::Start
                    | ChatStreamEvent::Heartbeat
                    | ChatStreamEvent::ReasoningChunk(_)
                    | ChatStreamEvent::ThoughtSignatureChunk(_)
                    | ChatStreamEvent::ToolCallChunk(_),
                ) => {}
                None => return Ok(Ok((thoughts.finish(), None))),
            }
        }
    }

    /// Accepts a reply whose stream came to its end.
    fn whole(
        &self,
        text: String,
        reason: &StopReason,
        limit: Option<u32>,
        counts: Option<Counts>,
        seen: Seen,
    ) -> Result<Reply, Fault> {
        if matches!(reason, StopReason::ContentFilter(_)) || (text.is_empty() && !seen.refusal.is_empty()) {
            return Err(refusal(&self.service, &seen.refusal));
        }
        if matches!(reason, StopReason::MaxTokens(_)) {
            if text.trim().is_empty() {
                return Err(fault::all_thought(&self.service, limit));
            }
            self.notes().push(fault::cut_off(&self.service, limit));
        }
        if counts.is_none() && !self.uncounted.swap(true, Ordering::Relaxed) {
            self.notes().push(fault::uncounted(&self.service));
        }
        let usage = self.usage(counts, &seen);
        let model = seen.model.unwrap_or_else(|| self.service.model.clone());
        Ok(Reply { text, model, usage, notes: std::mem::take(&mut *self.notes()) })
    }

    fn usage(&self, counts: Option<Counts>, seen: &Seen) -> Usage {
        let billed = seen.cost.filter(|_| self.service.row.bills);
        // Without counts the price is unknown, not zero.
        let Some(counts) = counts else { return Usage { cost_micro_usd: billed, ..Usage::default() } };
        let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
        let reasoning = count(counts.completion_tokens_details.and_then(|details| details.reasoning_tokens));
        let reasoning = seen.thinking.unwrap_or(reasoning);
        let usage = Usage {
            input_tokens: count(counts.prompt_tokens),
            cached_tokens: count(counts.prompt_tokens_details.and_then(|details| details.cached_tokens)),
            // Gemini counts thoughts beside the reply, and genai adds them only where there is a reply.
            output_tokens: counts.completion_tokens.map_or(reasoning, |tokens| count(Some(tokens))),
            reasoning_tokens: reasoning,
            cost_micro_usd: None,
        };
        let cost = billed.or_else(|| self.price.map(|price| price.of(&usage)));
        Usage { cost_micro_usd: cost, ..usage }
    }

    /// Says what an error means for the question, after what can be mended is mended.
    async fn judge(&self, error: &genai::Error, options: &ChatOptions) -> Fault {
        let fault = fault::classify(&self.service, error);
        let Some(response) = fault::response(error) else { return fault };
        let sent = |part| request::contains(options, self.service.row.wire, part);
        if let Some(part) = fault::refused_part(&response, sent) {
            self.refused.add(part);
            self.notes().push(fault::goes_without(&self.service, part, &response));
            return Fault { retry: Retry::AtOnce, ..fault };
        }
        if fault::misses_model(&response) {
            let hint = listing::hint(&self.web, &self.service).await;
            return fault::no_model(&self.service, &response, &hint);
        }
        fault
    }

    fn notes(&self) -> MutexGuard<'_, Vec<String>> {
        // Whatever a panic interrupted, a list of sentences is still one.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks, without a key, whether people would see a web page at this address: a network's login page, or a site.
    async fn shows_web_page(&self) -> bool {
        let look = self.web.get(self.service.url.clone()).timeout(PROBE_LIMIT).send();
        let Ok(response) = look.await else { return false };
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        content_type.is_some_and(|content_type| content_type.starts_with("text/html"))
    }
}
