//! Asks models over the network, through `genai`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use checkmate_machine::effect::{Call, Prompt};
use checkmate_machine::event::Usage;
use checkmate_machine::reply;
use futures::StreamExt;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatStream, ChatStreamEvent, JsonSpec,
    ReasoningEffort, StopReason, StreamEnd, Usage as Counts,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use super::fault::{self, cut_short, malformed, refusal, too_large, web_page};
use super::retry::{Fault, Retry};
use super::service::{Secret, Service};
use super::table::Wire;
use super::tap::{Seen, Tap};
use super::{AgentSettings, Price, Reply};

/// The longest silence of a provider; a ping of the provider breaks it.
const IDLE_LIMIT: Duration = Duration::from_secs(120);
/// The longest text that is taken for a reply, in bytes; no model writes as much.
const LARGEST_REPLY: usize = 16 << 20;
/// genai takes off what stands before the first `::`; with this in front, the name's own `::` stay.
const NAMESPACE: &str = "model::";
/// How long the look at a suspicious address may take.
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// One model at one provider.
pub(super) struct HttpAgent {
    service: Service,
    client: genai::Client,
    /// The client under genai's, for looks at an address without a key.
    web: reqwest::Client,
    max_output_tokens: Option<u32>,
    temperature: Option<f64>,
    price: Option<Price>,
    header_limit: Duration,
    idle_limit: Duration,
    /// Set once the provider has refused a reply schema; from then on the prompt alone asks for the form.
    schema_refused: AtomicBool,
}

impl HttpAgent {
    /// Makes the agent; nothing is sent yet.
    pub(super) fn new(
        service: Service,
        settings: &AgentSettings,
        web: reqwest::Client,
    ) -> Result<Self, genai::Error> {
        let client = genai::Client::builder().with_reqwest(web.clone()).build()?;
        // A model on this machine may read a long prompt for minutes before the first byte.
        let header_limit = if service.local { settings.time_limit } else { IDLE_LIMIT };
        Ok(Self {
            max_output_tokens: settings.max_output_tokens.or(service.row.max_output_tokens),
            temperature: settings.temperature,
            price: settings.price,
            header_limit,
            idle_limit: IDLE_LIMIT,
            schema_refused: AtomicBool::new(false),
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
        let options = self.options(call, Arc::clone(&tap));
        let with_schema = options.response_format.is_some();
        let request = self.request(&call.prompt);
        let judge = |error: genai::Error| self.judge(&error, with_schema);
        let response =
            self.client.exec_chat_stream(self.target(), request, Some(&options)).await.map_err(judge)?;
        let (text, end) = self.read(response.stream, &tap, on_chunk).await.map_err(judge)?;
        if text.len() > LARGEST_REPLY {
            return Err(too_large(&self.service, LARGEST_REPLY));
        }
        let seen = tap.seen();
        if let Some(cause) = &seen.garbled {
            return Err(malformed(&self.service, cause));
        }
        // genai makes up the end of some providers' streams; only a stop reason comes from the provider itself.
        match end.and_then(|end| Some((end.captured_stop_reason?, end.captured_usage))) {
            Some((reason, counts)) => self.whole(text, &reason, counts, seen),
            None if seen.is_no_event_stream() && self.shows_web_page().await => Err(web_page(&self.service)),
            None => Err(cut_short(&self.service)),
        }
    }

    async fn read(
        &self,
        mut stream: ChatStream,
        tap: &Tap,
        on_chunk: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(String, Option<StreamEnd>), genai::Error> {
        let mut text = String::new();
        while text.len() <= LARGEST_REPLY
            && let Some(event) = stream.next().await
        {
            match event? {
                ChatStreamEvent::Chunk(chunk) => {
                    text.push_str(&chunk.content);
                    // What came after something unreadable may be out of place.
                    if !tap.is_garbled() {
                        on_chunk(&chunk.content);
                    }
                }
                ChatStreamEvent::End(end) => return Ok((text, Some(end))),
                ChatStreamEvent::Start
                | ChatStreamEvent::Heartbeat
                | ChatStreamEvent::ReasoningChunk(_)
                | ChatStreamEvent::ThoughtSignatureChunk(_)
                | ChatStreamEvent::ToolCallChunk(_) => {}
            }
        }
        Ok((text, None))
    }

    /// Accepts a reply whose stream came to its end.
    fn whole(
        &self,
        text: String,
        reason: &StopReason,
        counts: Option<Counts>,
        seen: Seen,
    ) -> Result<Reply, Fault> {
        if matches!(reason, StopReason::ContentFilter(_)) || (text.is_empty() && !seen.refusal.is_empty()) {
            return Err(refusal(&self.service, &seen.refusal));
        }
        let model = seen.model.unwrap_or_else(|| self.service.model.clone());
        Ok(Reply { text, model, usage: self.usage(counts) })
    }

    fn usage(&self, counts: Option<Counts>) -> Usage {
        // Without counts the price is unknown, not zero.
        let Some(counts) = counts else { return Usage::default() };
        let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
        let usage = Usage {
            input_tokens: count(counts.prompt_tokens),
            cached_tokens: count(counts.prompt_tokens_details.and_then(|details| details.cached_tokens)),
            output_tokens: count(counts.completion_tokens),
            cost_micro_usd: None,
        };
        Usage { cost_micro_usd: self.price.map(|price| price.of(&usage)), ..usage }
    }

    fn judge(&self, error: &genai::Error, with_schema: bool) -> Fault {
        let fault = fault::classify(&self.service, error);
        let schema =
            with_schema && fault::response(error).is_some_and(|response| fault::refuses_schema(&response));
        if !schema {
            return fault;
        }
        self.schema_refused.store(true, Ordering::Relaxed);
        Fault { retry: Retry::AtOnce, ..fault }
    }

    fn target(&self) -> ServiceTarget {
        let key = self.service.key.as_ref().map_or("none", Secret::reveal);
        let model = self.service.model.as_str();
        // genai takes an effort off the end of such a name and sends it as an option, unless it is kept from it.
        let misread = ReasoningEffort::from_model_name(model).0.is_some();
        let name = match self.service.row.wire {
            // The name itself goes out by `extra_body`.
            Wire::Anthropic if misread => "claude".to_owned(),
            Wire::OpenAi | Wire::Anthropic => format!("{NAMESPACE}{model}"),
            // The name goes out in the address, where these characters can be written in another way.
            Wire::Gemini if misread => model.replace("::", "%3A%3A").replace('-', "%2D"),
            Wire::Gemini | Wire::Script => model.replace("::", "%3A%3A"),
        };
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.service.url.as_str()),
            auth: AuthData::from_single(key),
            model: ModelIden::new(self.service.adapter, name),
        }
    }

    /// Puts what stays the same first, so that providers can cache it.
    fn request(&self, prompt: &Prompt) -> ChatRequest {
        let mut system = ChatMessage::system(prompt.system.as_str());
        if self.service.row.cache_hints {
            system = system.with_options(CacheControl::Ephemeral);
        }
        ChatRequest::new(vec![system, ChatMessage::user(prompt.user.as_str())])
    }

    /// Returns how long the reply may be: as configured, and no longer than the run's budget allows.
    fn room(&self, call: &Call) -> Option<u32> {
        let allowed = call.allowance.and_then(|allowance| allowance.output_tokens);
        let allowed = allowed.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        [self.max_output_tokens, allowed].into_iter().flatten().min()
    }

    fn options(&self, call: &Call, tap: Arc<Tap>) -> ChatOptions {
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_stream_header_timeout(self.header_limit)
            .with_stream_read_timeout(self.idle_limit)
            .with_raw_frame_sink_arc(tap);
        options.max_tokens = self.room(call);
        options.temperature = self.temperature;
        match self.service.row.wire {
            Wire::OpenAi => {
                // A budget is not sent on this wire, but keeps genai from reading an effort out of the model's name.
                options.reasoning_effort = Some(ReasoningEffort::Budget(0));
                // Without any wish, genai turns the provider's own caching off for newer models; this one is not sent.
                options.cache_control = Some(CacheControl::Ephemeral5m);
                options.extra_body = Some(json!({ "model": self.service.model }));
            }
            Wire::Anthropic => options.extra_body = Some(json!({ "model": self.service.model })),
            Wire::Gemini | Wire::Script => {}
        }
        if self.service.row.strict_schema && !self.schema_refused.load(Ordering::Relaxed) {
            options.response_format =
                reply::schema(call.prompt.shape).map(|schema| JsonSpec::new("reply", schema).into());
        }
        options
    }

    /// Looks, without a key, whether people would see a web page at this address: a network's login page, or a site.
    async fn shows_web_page(&self) -> bool {
        let look = self.web.get(self.service.url.clone()).timeout(PROBE_LIMIT).send();
        let Ok(response) = look.await else { return false };
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        content_type.is_some_and(|content_type| content_type.starts_with("text/html"))
    }
}
