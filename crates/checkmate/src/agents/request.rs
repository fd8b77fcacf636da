//! What of a question goes out on which wire.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use checkmate_machine::budget::Allowance;
use checkmate_machine::effect::Prompt;
use checkmate_machine::{prompt, reply};
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ContentPart, CustomPart, JsonSpec, MessageContent,
    ReasoningEffort,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use serde_json::{Value, json};

use super::service::{Secret, Service};
use super::table::{Caching, Reasoning, Wire};
use super::tap::Tap;
use super::{AgentSettings, Effort};

/// genai takes off what stands before the first `::`; with this in front, the name's own `::` stay.
const NAMESPACE: &str = "model::";

/// What the configuration wants of every reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wishes {
    /// The most tokens of a reply.
    pub(super) max_output_tokens: Option<u32>,
    /// The sampling temperature.
    pub(super) temperature: Option<f64>,
    /// How much the model thinks before it replies.
    pub(super) effort: Option<Effort>,
}

/// A part of a request that some endpoints do not know, and that a reply is possible without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Part {
    /// The schema of the reply; without it, the prompt alone asks for the form.
    Schema = 1,
    /// The sampling temperature, which reasoning models refuse.
    Temperature = 2,
    /// The older name of the output limit; the newer one takes its place.
    OldLimit = 4,
    /// The wish for counts of tokens.
    Counts = 8,
}

/// The parts that an endpoint has refused; they are not sent to it again.
#[derive(Debug, Default)]
pub(super) struct Refused(AtomicU8);

impl Refused {
    /// Notes a part.
    pub(super) fn add(&self, part: Part) {
        self.0.fetch_or(part as u8, Ordering::Relaxed);
    }

    /// Tells whether a part was refused.
    pub(super) fn has(&self, part: Part) -> bool {
        self.0.load(Ordering::Relaxed) & part as u8 != 0
    }
}

impl Wishes {
    /// Returns what the settings want of a provider.
    pub(super) fn new(service: &Service, settings: &AgentSettings) -> Self {
        Self {
            max_output_tokens: settings.max_output_tokens.or(service.row.max_output_tokens),
            temperature: settings.temperature,
            effort: settings.reasoning_effort,
        }
    }

    /// Returns the wishes under a budget: the reply is no longer than it allows.
    pub(super) fn within(self, allowance: Option<Allowance>) -> Self {
        let allowed = allowance.and_then(|allowance| allowance.output_tokens);
        let allowed = allowed.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        Self { max_output_tokens: [self.max_output_tokens, allowed].into_iter().flatten().min(), ..self }
    }
}

/// Returns where a request goes.
pub(super) fn target(service: &Service, wishes: &Wishes) -> ServiceTarget {
    let key = service.key.as_ref().map_or("none", Secret::reveal);
    let model = service.model.as_str();
    // genai takes an effort off the end of such a name and sends it as an option, unless it is kept from it.
    let misread = wishes.effort.is_none() && ReasoningEffort::from_model_name(model).0.is_some();
    let name = match service.row.wire {
        // The name itself goes out by `extra_body`.
        Wire::Anthropic if misread => "claude".to_owned(),
        Wire::OpenAi | Wire::Anthropic => format!("{NAMESPACE}{model}"),
        // The name goes out in the address, where these characters can be written in another way.
        Wire::Gemini if misread => model.replace("::", "%3A%3A").replace('-', "%2D"),
        Wire::Gemini | Wire::Script => model.replace("::", "%3A%3A"),
    };
    ServiceTarget {
        endpoint: Endpoint::from_owned(service.url.as_str()),
        auth: AuthData::from_single(key),
        model: ModelIden::new(service.adapter, name),
    }
}

/// Puts what stays the same first, so that providers can cache it, and marks it where they want it marked.
pub(super) fn messages(service: &Service, prompt: &Prompt) -> ChatRequest {
    let mut system = ChatMessage::system(prompt.system.as_str());
    // On OpenAI's wire genai has no words for marks; there `marked_messages` takes the place of these.
    if service.row.caching != Caching::Marked || service.row.wire == Wire::OpenAi {
        return ChatRequest::new(vec![system, ChatMessage::user(prompt.user.as_str())]);
    }
    system = system.with_options(CacheControl::Ephemeral);
    let (stable, fresh) = prompt.user.split_at(prompt::stable_part(&prompt.user));
    let user = if stable.is_empty() || fresh.is_empty() {
        ChatMessage::user(prompt.user.as_str())
    } else {
        let marked = ContentPart::Custom(CustomPart { model_iden: None, data: marked(stable) });
        ChatMessage::user(MessageContent::from_parts(vec![marked, ContentPart::Text(fresh.to_owned())]))
    };
    ChatRequest::new(vec![system, user])
}

/// Returns the messages as OpenRouter takes them: it makes each vendor's own marks of these, or leaves them out.
fn marked_messages(prompt: &Prompt) -> Value {
    let (stable, fresh) = prompt.user.split_at(prompt::stable_part(&prompt.user));
    let user = if stable.is_empty() || fresh.is_empty() {
        json!(prompt.user)
    } else {
        json!([marked(stable), {"type": "text", "text": fresh}])
    };
    json!([{"role": "system", "content": [marked(&prompt.system)]}, {"role": "user", "content": user}])
}

fn marked(text: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
}

/// Returns what is asked for beside the text.
pub(super) fn options(
    service: &Service,
    wishes: &Wishes,
    refused: &Refused,
    prompt: &Prompt,
    tap: Arc<Tap>,
) -> ChatOptions {
    let mut options =
        ChatOptions::default().with_capture_usage(!refused.has(Part::Counts)).with_raw_frame_sink_arc(tap);
    options.max_tokens = wishes.max_output_tokens;
    options.temperature = wishes.temperature.filter(|_| !refused.has(Part::Temperature));
    match service.row.wire {
        Wire::OpenAi => {
            let mut body = json!({ "model": service.model });
            options.reasoning_effort = Some(openai_effort(service.row.reasoning, wishes.effort, &mut body));
            // Without any wish, genai turns the provider's own caching off for newer models; this one is not sent.
            options.cache_control = Some(CacheControl::Ephemeral5m);
            if refused.has(Part::OldLimit)
                && let Some(limit) = options.max_tokens.take()
            {
                body["max_completion_tokens"] = limit.into();
            }
            if service.row.caching == Caching::Marked {
                body["messages"] = marked_messages(prompt);
            }
            options.extra_body = Some(body);
        }
        Wire::Anthropic => {
            options.reasoning_effort = wishes.effort.map(genai_effort);
            options.extra_body = Some(json!({ "model": service.model }));
        }
        Wire::Gemini => options.reasoning_effort = wishes.effort.map(|it| gemini_effort(it, &service.model)),
        Wire::Script => {}
    }
    if service.row.strict_schema && !refused.has(Part::Schema) {
        options.response_format =
            reply::schema(prompt.shape).map(|schema| JsonSpec::new("reply", schema).into());
    }
    options
}

/// Tells whether a part is in a request.
pub(super) fn contains(options: &ChatOptions, wire: Wire, part: Part) -> bool {
    match part {
        Part::Schema => options.response_format.is_some(),
        Part::Temperature => options.temperature.is_some(),
        Part::OldLimit => wire == Wire::OpenAi && options.max_tokens.is_some(),
        Part::Counts => wire == Wire::OpenAi && options.capture_usage == Some(true),
    }
}

/// Writes an effort into the body where the endpoint has its own words for it, and returns it as genai sends it.
fn openai_effort(way: Reasoning, effort: Option<Effort>, body: &mut Value) -> ReasoningEffort {
    // A budget is not sent on this wire, but keeps genai from reading an effort out of the model's name.
    const UNSENT: ReasoningEffort = ReasoningEffort::Budget(0);
    let Some(effort) = effort else { return UNSENT };
    match way {
        Reasoning::Object => {
            body["reasoning"] = json!({ "effort": effort });
            UNSENT
        }
        Reasoning::Template => {
            body["chat_template_kwargs"] =
                json!({ "enable_thinking": effort != Effort::None, "reasoning_effort": effort });
            genai_effort(effort)
        }
        Reasoning::Keyword | Reasoning::Thinking | Reasoning::Nothing => genai_effort(effort),
    }
}

fn genai_effort(effort: Effort) -> ReasoningEffort {
    match effort {
        Effort::None => ReasoningEffort::Zero,
        Effort::Minimal => ReasoningEffort::Minimal,
        Effort::Low => ReasoningEffort::Low,
        Effort::Medium => ReasoningEffort::Medium,
        Effort::High => ReasoningEffort::High,
        Effort::Xhigh => ReasoningEffort::XHigh,
    }
}

/// Gemini 3 has levels, of which the least is `MINIMAL`; before it there are budgets, and 0 is none.
fn gemini_effort(effort: Effort, model: &str) -> ReasoningEffort {
    match effort {
        Effort::None if model.contains("gemini-3") => ReasoningEffort::Minimal,
        Effort::None => ReasoningEffort::Budget(0),
        Effort::Minimal | Effort::Low | Effort::Medium | Effort::High | Effort::Xhigh => genai_effort(effort),
    }
}
