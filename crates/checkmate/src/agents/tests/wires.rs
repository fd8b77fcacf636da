//! What each provider gets to see, whole, and what is made of what it sends.

use super::*;

const SYSTEM: &str = "Stable rules.";
const STABLE: &str = "## GOAL\nShout.\n\n## FILE_TREE\n<<<DATA file tree 1\nsrc/a.sh\nDATA 1>>>\n";
const FRESH: &str = "\n## RECENT_DIFFS\nNone yet.\n";

/// How one provider is to be spoken to.
struct Wire {
    provider: &'static str,
    model: &'static str,
    spoken: Spoken,
    /// The first line of the request, without the version of HTTP.
    path: &'static str,
    /// The header with the key, and what stands there.
    key: (&'static str, String),
    /// The body for settings that name an effort and a limit, and no temperature.
    body: Value,
}

fn schema() -> Value {
    checkmate_machine::reply::schema(Shape::Decision).unwrap()
}

fn wires() -> [Wire; 9] {
    let user = format!("{STABLE}{FRESH}");
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": schema()}});
    let body = |model: &str, limit: &str, format: bool, more: Value| {
        let mut body = json!({
            "model": model,
            "stream": true,
            "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}],
            "stream_options": {"include_usage": true},
            limit: 512,
        });
        let all = body.as_object_mut().unwrap();
        all.extend(more.as_object().unwrap().clone());
        if format {
            all.insert(
                "response_format".into(),
                json!({"type": "json_schema", "json_schema":
                {"name": "reply", "strict": true, "schema": schema()}}),
            );
        }
        body
    };
    let marked = |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
    let routed = json!({"reasoning": {"effort": "low"}, "messages": [
        {"role": "system", "content": [marked(SYSTEM)]},
        {"role": "user", "content": [marked(STABLE), {"type": "text", "text": FRESH}]},
    ]});
    let openai = |provider, model, key: &str, body| Wire {
        provider,
        model,
        spoken: Spoken::OpenAi,
        path: "POST /v1/chat/completions",
        key: ("authorization", format!("Bearer {key}")),
        body,
    };
    let effort = json!({"reasoning_effort": "low"});
    let template = json!({"reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": true, "reasoning_effort": "low"}});
    assert_eq!(body("m", "max_tokens", true, json!({}))["response_format"], format);
    [
        openai("openai", "gpt-5.1", KEY, body("gpt-5.1", "max_completion_tokens", true, effort.clone())),
        openai("openai", "gpt-4.1", KEY, body("gpt-4.1", "max_tokens", true, effort.clone())),
        openai("openrouter", "vendor/model:free", KEY, body("vendor/model:free", "max_tokens", true, routed)),
        openai("ollama", "qwen3:8b", "none", body("qwen3:8b", "max_tokens", true, effort.clone())),
        openai("vllm", "Qwen/Qwen3-8B", "none", body("Qwen/Qwen3-8B", "max_tokens", true, template.clone())),
        openai("llama_cpp", "any.gguf", "none", body("any.gguf", "max_tokens", true, template)),
        openai("openai_compatible", "x::y-high", "none", body("x::y-high", "max_tokens", false, effort)),
        Wire {
            provider: "anthropic",
            model: "claude-opus-4-5",
            spoken: Spoken::Anthropic,
            path: "POST /v1/messages",
            key: ("x-api-key", KEY.to_owned()),
            body: json!({
                "model": "claude-opus-4-5",
                "stream": true,
                "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
                "messages": [{"role": "user", "content": [
                    {"type": "text", "text": STABLE, "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": FRESH},
                ]}],
                "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": schema()}},
                "max_tokens": 512,
            }),
        },
        Wire {
            provider: "gemini",
            model: "gemini-3-pro",
            spoken: Spoken::Gemini,
            path: "POST /v1/models/gemini-3-pro:streamGenerateContent?alt=sse",
            key: ("x-goog-api-key", KEY.to_owned()),
            body: json!({
                "systemInstruction": {"parts": [{"text": SYSTEM}]},
                "contents": [{"role": "user", "parts": [{"text": user}]}],
                "generationConfig": {
                    "thinkingConfig": {"thinkingLevel": "LOW"},
                    "responseMimeType": "application/json",
                    "responseJsonSchema": schema(),
                    "maxOutputTokens": 512,
                },
            }),
        },
    ]
}

fn ask(wire: &Wire, settings: AgentSettings, answers: Vec<String>) -> Told {
    block_on(async {
        let server = Server::start(answers, status(404, "", "{}")).await;
        let base_url = Some(format!("http://{}/v1", server.address));
        let mut call = question(Role::Builder, Shape::Decision);
        call.prompt.user = format!("{STABLE}{FRESH}");
        assert_eq!(call.prompt.system, SYSTEM);
        let agents = hasty(AgentSettings { base_url, ..settings });
        let mut shown = String::new();
        let result = agents.call(&call, &mut |chunk| shown.push_str(chunk)).await;
        assert!(!format!("{agents:?} {result:?}").contains(KEY), "{}", wire.provider);
        Told { result, posts: server.posts(), shown }
    })
}

#[test]
fn every_provider_gets_exactly_what_it_knows() {
    for wire in wires() {
        let settings = AgentSettings {
            max_output_tokens: Some(512),
            reasoning_effort: Some(Effort::Low),
            ..AgentSettings::new(wire.provider, wire.model)
        };
        let told = ask(&wire, settings, vec![stream(&wire.spoken.whole(TEXT))]);
        let post = &told.posts[0];
        let name = format!("{} {}", wire.provider, wire.model);
        assert_eq!(post.head.lines().next(), Some(format!("{} HTTP/1.1", wire.path).as_str()), "{name}");
        let header = |wanted: &str| {
            post.head.lines().find_map(|line| {
                let (header, value) = line.split_once(": ")?;
                header.eq_ignore_ascii_case(wanted).then_some(value)
            })
        };
        assert_eq!(header(wire.key.0), Some(wire.key.1.as_str()), "{name}");
        assert_eq!(header("content-type"), Some("application/json"), "{name}");
        let version = (wire.provider == "anthropic").then_some("2023-06-01");
        assert_eq!(header("anthropic-version"), version, "{name}");
        assert_eq!(post.body, wire.body, "{name}");
        let called = told.result.unwrap();
        assert_eq!((called.text.as_str(), called.notes.as_slice()), (TEXT, &[][..]), "{name}");
    }
}

#[test]
fn temperature_and_effort_are_sent_only_where_they_are_configured() {
    for wire in wires() {
        let plain = AgentSettings::new(wire.provider, wire.model);
        let body = ask(&wire, plain.clone(), vec![stream(&wire.spoken.whole(TEXT))]).posts.remove(0).body;
        let text = body.to_string();
        for word in ["temperature", "top_p", "reasoning", "thinking", "effort", "chat_template_kwargs"] {
            // The reply's own schema has a field `reasoning`.
            let key =
                if word == "reasoning" { "\"reasoning\":{\"effort".into() } else { format!("\"{word}") };
            assert!(!text.contains(&key), "{}: {key} in {text}", wire.provider);
        }
        let warm = AgentSettings { temperature: Some(0.25), ..plain };
        let body = ask(&wire, warm, vec![stream(&wire.spoken.whole(TEXT))]).posts.remove(0).body;
        let sent = body.get("temperature").or_else(|| body.pointer("/generationConfig/temperature"));
        assert_eq!(sent, Some(&json!(0.25)), "{}", wire.provider);
    }
}

#[test]
fn every_effort_finds_its_word() {
    use Effort::{High, Low, Medium, Minimal, None, Xhigh};
    for (provider, model, effort, at, value) in [
        ("openai", "gpt-5.1", None, "/reasoning_effort", json!("none")),
        ("openai", "gpt-5.1", Minimal, "/reasoning_effort", json!("minimal")),
        ("openai", "gpt-5.1", Xhigh, "/reasoning_effort", json!("xhigh")),
        ("openrouter", "a/b-high", High, "/reasoning/effort", json!("high")),
        ("openrouter", "a/b-high", High, "/model", json!("a/b-high")),
        ("openrouter", "a/b", None, "/reasoning/effort", json!("none")),
        ("vllm", "m", None, "/chat_template_kwargs/enable_thinking", json!(false)),
        ("llama_cpp", "m", High, "/chat_template_kwargs/reasoning_effort", json!("high")),
        ("anthropic", "claude-opus-4-5", Minimal, "/output_config/effort", json!("low")),
        ("anthropic", "claude-opus-4-5", Xhigh, "/output_config/effort", json!("high")),
        ("anthropic", "claude-sonnet-4-5", Medium, "/thinking/budget_tokens", json!(8000)),
        ("anthropic", "claude-sonnet-5", None, "/thinking/type", json!("disabled")),
        ("anthropic", "claude-sonnet-4-5", None, "/thinking", Value::Null),
        ("gemini", "gemini-3-pro", None, "/generationConfig/thinkingConfig/thinkingLevel", json!("MINIMAL")),
        ("gemini", "gemini-2.5-flash", None, "/generationConfig/thinkingConfig/thinkingBudget", json!(0)),
        ("gemini", "gemini-2.5-pro", Low, "/generationConfig/thinkingConfig/thinkingBudget", json!(1000)),
    ] {
        let wire = wires().into_iter().find(|wire| wire.provider == provider).unwrap();
        let settings =
            AgentSettings { reasoning_effort: Some(effort), ..AgentSettings::new(provider, model) };
        let body = ask(&wire, settings, vec![stream(&wire.spoken.whole(TEXT))]).posts.remove(0).body;
        assert_eq!(body.pointer(at).unwrap_or(&Value::Null), &value, "{provider} {model}: {at} in {body}");
    }
}

/// A stream as OpenAI's imitators send it: thinking beside the text, counts with details, and a bill.
fn thinking_stream(usage: &Value) -> String {
    let delta = |delta: Value| {
        event(
            None,
            &json!({"model": "served-model", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
        )
    };
    let last = json!({"model": "served-model", "choices": [], "usage": usage});
    let stop =
        json!({"model": "served-model", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    stream(&format!(
        ": OPENROUTER PROCESSING\n\n{}{}{}{}{}data: [DONE]\n\n",
        delta(json!({"role": "assistant", "reasoning_content": "Shall I {\"plan\"?"})),
        delta(json!({"reasoning": "Yes.", "content": ""})),
        delta(json!({"content": TEXT})),
        event(None, &stop),
        event(None, &last),
    ))
}

#[test]
fn thinking_is_counted_and_is_no_part_of_the_reply() {
    let usage = json!({"prompt_tokens": 120, "completion_tokens": 57, "total_tokens": 177,
        "prompt_tokens_details": {"cached_tokens": 20}, "completion_tokens_details": {"reasoning_tokens": 50}});
    let named = |name: &str, data: &Value| event(Some(name), data);
    let anthropic = [
        named("message_start", &json!({"message": {"model": "served-model", "usage":
            {"input_tokens": 90, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20, "output_tokens": 1}}})),
        named("content_block_start", &json!({"index": 0, "content_block": {"type": "thinking", "thinking": ""}})),
        named("content_block_delta", &json!({"index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}})),
        named("content_block_delta", &json!({"index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}})),
        named("content_block_stop", &json!({"index": 0})),
        named("content_block_start", &json!({"index": 1, "content_block": {"type": "redacted_thinking", "data": "x"}})),
        named("content_block_stop", &json!({"index": 1})),
        named("content_block_start", &json!({"index": 2, "content_block": {"type": "text", "text": ""}})),
        named("content_block_delta", &json!({"index": 2, "delta": {"type": "text_delta", "text": TEXT}})),
        named("content_block_stop", &json!({"index": 2})),
        named("message_delta", &json!({"delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 57, "output_tokens_details": {"thinking_tokens": 50}}})),
        named("message_stop", &json!({})),
    ]
    .concat();
    let gemini = [
        event(None, &json!({"modelVersion": "served-model", "candidates": [{"content": {"parts":
            [{"text": "Hm.", "thought": true}, {"text": TEXT, "thoughtSignature": "c2ln"}]}}]})),
        event(None, &json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 120, "cachedContentTokenCount": 20, "candidatesTokenCount": 7,
                "thoughtsTokenCount": 50, "totalTokenCount": 177}})),
    ]
    .concat();
    for wire in wires() {
        let answer = match wire.spoken {
            Spoken::OpenAi => thinking_stream(&usage),
            Spoken::Anthropic => stream(&anthropic),
            Spoken::Gemini => stream(&gemini),
        };
        let told = ask(&wire, AgentSettings::new(wire.provider, wire.model), vec![answer]);
        let called = told.result.unwrap_or_else(|error| panic!("{}: {error:?}", wire.provider));
        assert_eq!((called.text.as_str(), told.shown.as_str()), (TEXT, TEXT), "{}", wire.provider);
        let expected = Usage {
            input_tokens: 120,
            cached_tokens: 20,
            output_tokens: 57,
            reasoning_tokens: 50,
            cost_micro_usd: None,
        };
        assert_eq!((called.usage, called.model.as_str()), (expected, "served-model"), "{}", wire.provider);
    }
}

#[test]
fn thinking_aloud_is_taken_out_of_the_reply_and_of_what_is_shown() {
    let text = format!("<think>\nShall I {{\"plan\": 1}}?\n</think>\n\n{TEXT}");
    let told = tell(Spoken::OpenAi, vec![stream(&Spoken::OpenAi.whole(&text))]);
    assert_eq!((told.result.unwrap().text.as_str(), told.shown.as_str()), (TEXT, TEXT));
}

#[test]
fn a_reply_that_is_all_thinking_names_the_limit() {
    let thought = json!({"choices": [{"index": 0, "delta": {"reasoning_content": "Hm."}}]});
    let thinking = json!({"index": 0, "content_block": {"type": "thinking", "thinking": "Hm."}});
    let part = json!({"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": true}]}}]});
    for (wire, events) in [
        (Spoken::OpenAi, format!("{}{}", event(None, &thought), Spoken::OpenAi.end("length", ""))),
        (
            Spoken::OpenAi,
            format!("{}{}", Spoken::OpenAi.begun("<think>Hm, "), Spoken::OpenAi.end("length", "")),
        ),
        (
            Spoken::Anthropic,
            format!(
                "{}{}",
                event(Some("content_block_start"), &thinking),
                Spoken::Anthropic.end("max_tokens", "")
            ),
        ),
        (Spoken::Gemini, format!("{}{}", event(None, &part), Spoken::Gemini.end("MAX_TOKENS", ""))),
    ] {
        let settings =
            AgentSettings { max_output_tokens: Some(64), ..AgentSettings::new(wire.provider(), "a-model") };
        let told = tell_with(settings, vec![stream(&events)], String::new());
        let failure = told.failure();
        let requests = &failure.requests;
        assert_eq!((*requests, failure.kind), (1, FailureKind::Account), "{wire:?}");
        for part in ["its limit of 64 tokens", "reasoning", "Raise `max_output_tokens`"] {
            assert!(failure.message.contains(part), "{part}: {}", failure.message);
        }
        assert_eq!(told.shown, "", "{wire:?}");
    }
}

#[test]
fn the_bill_of_openrouter_goes_before_the_configured_price() {
    let price = Some(Price { input: 1_000_000, cached: 1_000_000, output: 1_000_000 });
    let usage = |cost: Value| json!({"prompt_tokens": 100, "completion_tokens": 10, "cost": cost});
    for (provider, price, usage, cost) in [
        ("openrouter", price, usage(json!(0.000_123)), Some(123)),
        ("openrouter", None, usage(json!(0.000_123)), Some(123)),
        ("openrouter", None, usage(json!(0)), Some(0)),
        ("openrouter", price, usage(Value::Null), Some(110)),
        ("openrouter", None, usage(Value::Null), None),
        // Whatever else calls itself a cost may be in any currency.
        ("openai_compatible", None, usage(json!(0.5)), None),
        ("openai", price, usage(json!(0.5)), Some(110)),
    ] {
        let settings = AgentSettings { price, ..AgentSettings::new(provider, "m") };
        let told = tell_with(settings, vec![thinking_stream(&usage)], String::new());
        assert_eq!(told.result.unwrap().usage.cost_micro_usd, cost, "{provider}: {usage}");
    }
}

#[test]
fn what_is_not_counted_is_said_once() {
    let uncounted = stream(&Spoken::OpenAi.whole(TEXT).replace("\"usage\"", "\"other\""));
    let notes = block_on(async {
        let server = Server::start(vec![uncounted], String::new()).await;
        let base_url = Some(format!("http://{}/v1", server.address));
        let agents = hasty(AgentSettings { base_url, ..AgentSettings::new("local", "m") });
        let mut notes = Vec::new();
        for _ in 0..2 {
            let call = question(Role::Builder, Shape::Text);
            notes.push(agents.call(&call, &mut |_| {}).await.unwrap().notes);
        }
        notes
    });
    assert!(notes[0][0].contains("tokens and costs are unknown") && notes[1].is_empty(), "{notes:?}");
}

/// Each part that an endpoint may not know is left out after one refusal, and stays left out.
#[test]
fn what_an_endpoint_does_not_know_is_left_out_from_then_on() {
    let hot = "Unsupported value: 'temperature' does not support 0.25 with this model.";
    let limit = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    for (provider, refusal, code, gone, note) in [
        (
            "openai",
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported.",
            400,
            "/response_format",
            "no schema",
        ),
        (
            "vllm",
            "[{'type': 'extra_forbidden', 'loc': ('body', 'response_format')}]",
            422,
            "/response_format",
            "no schema",
        ),
        (
            "openrouter",
            "No endpoints found that can handle the requested parameters.",
            404,
            "/response_format",
            "no schema",
        ),
        (
            "anthropic",
            "output_config.format: this model does not support structured outputs",
            400,
            "/output_config",
            "no schema",
        ),
        (
            "gemini",
            "Unknown name \"responseJsonSchema\": Cannot find field.",
            400,
            "/generationConfig/responseJsonSchema",
            "no schema",
        ),
        ("openai", hot, 400, "/temperature", "no temperature"),
        ("gemini", hot, 400, "/generationConfig/temperature", "no temperature"),
        (
            "anthropic",
            "`temperature` may only be set to 1 when thinking is enabled.",
            400,
            "/temperature",
            "no temperature",
        ),
        ("openai_compatible", limit, 400, "/max_tokens", "max_completion_tokens"),
        ("llama_cpp", "Unknown field: stream_options", 400, "/stream_options", "counts no tokens"),
    ] {
        let wire = wires().into_iter().find(|wire| wire.provider == provider).unwrap();
        let body = json!({"error": {"message": refusal}}).to_string();
        let whole = stream(&wire.spoken.whole(TEXT));
        let (results, posts) = block_on(async {
            let answers = vec![status(code, "", &body), whole];
            let server = Server::start(answers, String::new()).await;
            let base_url = Some(format!("http://{}/v1", server.address));
            let settings =
                AgentSettings { temperature: Some(0.25), ..AgentSettings::new(provider, "a-model") };
            let agents = hasty(AgentSettings { base_url, ..settings });
            let call = question(Role::Builder, Shape::Builder);
            let mut results = Vec::new();
            for _ in 0..2 {
                results.push(agents.call(&call, &mut |_| {}).await.unwrap());
            }
            (results, server.posts())
        });
        assert_eq!(results.iter().map(|called| called.requests).collect::<Vec<_>>(), [2, 1], "{provider}");
        assert!(posts[0].body.pointer(gone).is_some(), "{provider}: {gone}");
        assert!(posts[1..].iter().all(|post| post.body.pointer(gone).is_none()), "{provider}: {gone}");
        if note == "max_completion_tokens" {
            assert_eq!(posts[1].body[note], posts[0].body["max_tokens"]);
        }
        assert!(
            results[0].notes.iter().any(|said| said.contains(note)),
            "{provider}: {:?}",
            results[0].notes
        );
        assert!(results[1].notes.is_empty(), "{provider}: {:?}", results[1].notes);
    }
}

/// An endpoint that finds something new to object to each time is not asked for ever.
#[test]
fn objections_are_bounded() {
    let all = r#"{"error": {"message": "max_completion_tokens stream_options schema temperature"}}"#;
    let settings = AgentSettings { temperature: Some(0.0), ..AgentSettings::new("vllm", "m") };
    let told = tell_with(settings, vec![status(400, "", all)], String::new());
    assert_eq!((told.failure().requests, told.failure().kind), (5, FailureKind::Account));
}
