use checkmate_machine::effect::{Prompt, Purpose};
use checkmate_machine::reply::Shape;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use self::server::{SILENCE, Server, Spoken, disconnected, event, page, status, stream};
use super::*;

mod faults;
mod server;
mod tls;
mod wires;

const KEY: &str = "sk-do-not-show-this-key";
const TEXT: &str = "{\"plan\": [\"grüße\"]}";

fn question(role: Role, shape: Shape) -> Call {
    let prompt = Prompt {
        system: "Stable rules.".into(),
        user: "What is new.".into(),
        shape,
        version: "builder@1".into(),
    };
    Call { role, purpose: Purpose::Build, turn: 1, attempt: 0, about: None, prompt, allowance: None }
}

fn builder(settings: AgentSettings) -> BTreeMap<Role, AgentSettings> {
    BTreeMap::from([(Role::Builder, settings)])
}

fn env(name: &str) -> Option<String> {
    match name {
        "CHECKMATE_TRUSTED_HOSTS" => Some("no-such-host.invalid".to_owned()),
        name => name.ends_with("_API_KEY").then(|| KEY.to_owned()),
    }
}

/// Makes one builder that does not wait long.
fn hasty(settings: AgentSettings) -> Agents {
    let mut agents = Agents::live(builder(settings), &env).unwrap();
    builder_of(&mut agents).policy.first_wait = Duration::from_millis(1);
    agents
}

fn builder_of(agents: &mut Agents) -> &mut Live {
    let Kind::Live(roles) = &mut agents.kind else { panic!("these agents are live") };
    roles.get_mut(&Role::Builder).unwrap()
}

/// What came of a call: the result, the questions as they arrived, and the text as it was shown.
struct Told {
    result: Result<Called, Failure>,
    posts: Vec<server::Request>,
    shown: String,
}

impl Told {
    fn failure(&self) -> &Failure {
        self.result.as_ref().expect_err("the call should have failed")
    }
}

async fn tell_at(server: &Server, settings: AgentSettings) -> Told {
    let base_url = Some(format!("http://{}/v1", server.address));
    let agents = hasty(AgentSettings { base_url, ..settings });
    let mut shown = String::new();
    let mut on_chunk = |chunk: &str| shown.push_str(chunk);
    let result = agents.call(&question(Role::Builder, Shape::Builder), &mut on_chunk).await;
    let written = format!("{agents:?} {result:?}");
    assert!(!written.contains(KEY), "{written}");
    Told { result, posts: server.posts(), shown }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn tell_with(settings: AgentSettings, answers: Vec<String>, probe: String) -> Told {
    block_on(async { tell_at(&Server::start(answers, probe).await, settings).await })
}

fn tell(wire: Spoken, answers: Vec<String>) -> Told {
    tell_with(AgentSettings::new(wire.provider(), "a-model"), answers, status(404, "", "{}"))
}

#[test]
fn a_call_may_move_between_threads() {
    fn assert_send<T: Send>(_: T) {}
    let agents = Agents::scripted(Script::parse(r#"{"version": 1, "replay": []}"#).unwrap());
    assert_send(agents.call(&question(Role::Builder, Shape::Text), &mut |_| {}));
}

#[test]
fn a_whole_reply_is_read_on_every_wire() {
    for wire in Spoken::ALL {
        let told = tell(wire, vec![stream(&wire.whole(TEXT))]);
        let called = told.result.unwrap_or_else(|error| panic!("{wire:?}: {error:?}"));
        let usage = Usage { input_tokens: 120, cached_tokens: 20, output_tokens: 7, ..Usage::default() };
        assert_eq!((called.text.as_str(), called.usage, called.requests), (TEXT, usage, 1), "{wire:?}");
        assert_eq!((called.model.as_str(), told.shown.as_str()), ("served-model", TEXT), "{wire:?}");
    }
}

#[test]
fn what_passes_is_asked_again() {
    for wire in Spoken::ALL {
        let begun = wire.begun("Half a rep");
        let stopped = wire.end(wire.other_stops().0, "");
        let error = event(Some("error"), &json!({"error": {"type": "overloaded_error", "message": "Busy"}}));
        for (what, first) in [
            ("rate limit", status(429, "retry-after: 0\r\n", "{}")),
            ("rate limit until a date", status(429, "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "{}")),
            ("overloaded", status(529, "", r#"{"error": {"type": "overloaded_error"}}"#)),
            ("gateway's web page", page(502)),
            ("request timeout", status(408, "", "")),
            ("conflict", status(409, "", "")),
            ("disconnect before anything", String::new()),
            ("disconnect after the headers", disconnected("")),
            ("disconnect within the text", disconnected(&begun)),
            ("disconnect within an event", disconnected(&format!("{begun}data: {{\"choi"))),
            ("the last event is missing", stream(&begun)),
            ("nothing at all", stream("")),
            ("comments only", stream(": still working\n\n")),
            ("a line that is not JSON", stream(&format!("{begun}data: {{not json\n\n{stopped}"))),
            (
                "such a line before the last event",
                stream(&format!("{begun}{}", wire.end("stop", "data: {no\n\n"))),
            ),
            (
                "an event without data",
                stream(&format!("{begun}event: content_block_delta\ndta: 1\n\n{stopped}")),
            ),
            ("an error within the stream", stream(&format!("{begun}{error}"))),
            ("no event stream", status(200, "content-type: application/json\r\n", "{\n\n}")),
        ] {
            let told = tell(wire, vec![first, stream(&wire.whole(TEXT))]);
            let called = told.result.unwrap_or_else(|error| panic!("{wire:?}, {what}: {error:?}"));
            assert_eq!((called.text.as_str(), called.requests), (TEXT, 2), "{wire:?}, {what}");
            assert_eq!(told.posts.len(), 2, "{wire:?}, {what}");
        }
    }
}

#[test]
fn only_a_stop_reason_makes_a_reply_whole() {
    let done_without_reason = format!("{}data: [DONE]\n\n", Spoken::OpenAi.begun("Half"));
    let told = tell(Spoken::OpenAi, vec![stream(&done_without_reason)]);
    assert_eq!(told.failure().requests, 6);
    assert!(told.failure().message.contains("before it was complete"), "{:?}", told.failure());
}

#[test]
fn the_last_failure_is_reported_with_its_requests() {
    for wire in Spoken::ALL {
        let told = tell(wire, vec![status(529, "", r#"{"error": {"message": "Overloaded."}}"#)]);
        let failure = told.failure();
        let requests = &failure.requests;
        assert_eq!((*requests, told.posts.len(), failure.kind), (6, 6, FailureKind::Provider));
        for part in ["`a-model`", wire.provider(), "HTTP 529: Overloaded)", "request 6"] {
            assert!(failure.message.contains(part), "{part}: {}", failure.message);
        }
    }
}

#[test]
fn a_provider_that_asks_for_more_time_than_there_is_is_not_asked_again() {
    for wire in Spoken::ALL {
        let mut settings = AgentSettings::new(wire.provider(), "a-model");
        settings.retry_budget = Duration::from_secs(30);
        let answers = vec![status(429, "retry-after: 3600\r\n", "{}"), stream(&wire.whole(TEXT))];
        let told = tell_with(settings, answers, String::new());
        assert_eq!(told.failure().requests, 1, "{wire:?}");
    }
}

#[test]
fn what_lasts_is_reported_at_once() {
    for wire in Spoken::ALL {
        let variable = format!("{}_API_KEY", wire.provider().to_uppercase());
        let key_again = format!(r#"{{"error": {{"message": "Bad key {KEY}\n\u001b[31m."}}}}"#);
        let quota = r#"{"error": {"code": "insufficient_quota", "message": "Pay"}}"#;
        for (answer, parts) in [
            (status(401, "", &key_again), ["HTTP 401", variable.as_str(), "export"]),
            (status(403, "", &key_again), ["HTTP 403", variable.as_str(), "[redacted] [31m"]),
            (status(404, "", &key_again), ["no model `a-model`", "127.0.0.1", "base_url"]),
            (
                status(400, "", r#"{"error": {"message": "Too hot."}}"#),
                ["HTTP 400: Too hot)", "a-model", "temperature"],
            ),
            (status(429, "", quota), ["quota", variable.as_str(), "billing"]),
            (
                status(302, "location: http://login.example/\r\n", ""),
                ["redirects to http://login", "base_url", "login page"],
            ),
            (page(403), ["web page", "base_url", "proxy"]),
        ] {
            let told = tell(wire, vec![answer, stream(&wire.whole(TEXT))]);
            let failure = told.failure();
            let requests = &failure.requests;
            assert_eq!((*requests, failure.kind), (1, FailureKind::Account), "{wire:?}: {failure:?}");
            for part in parts {
                assert!(failure.message.contains(part), "{part}: {}", failure.message);
            }
            assert!(!failure.message.chars().any(char::is_control), "{}", failure.message);
        }
    }
}

#[test]
fn silence_is_not_waited_for_for_ever() {
    for wire in Spoken::ALL {
        let begun = disconnected(&wire.begun("Half a rep"));
        for answer in [SILENCE.to_owned(), format!("{begun}{SILENCE}")] {
            let error = block_on(async {
                let server = Server::start(vec![answer.clone()], String::new()).await;
                let base_url = Some(format!("http://{}", server.address));
                let mut agents =
                    hasty(AgentSettings { base_url, ..AgentSettings::new(wire.provider(), "m") });
                builder_of(&mut agents).agent.allow_silence(Duration::from_millis(20));
                agents.call(&question(Role::Builder, Shape::Text), &mut |_| {}).await.unwrap_err()
            });
            assert_eq!((error.requests, error.kind), (6, FailureKind::Provider), "{wire:?}");
            assert!(error.message.contains("sent nothing for too long"), "{}", error.message);
        }
    }
}

#[test]
fn a_reply_without_an_end_is_not_kept() {
    let piece = Spoken::OpenAi.begun(&"x".repeat(1 << 20));
    let told = tell(Spoken::OpenAi, vec![stream(&piece.repeat(17))]);
    assert_eq!(told.failure().requests, 1);
    assert!(told.failure().message.contains("more than 16777216 bytes"), "{:?}", told.failure());
}

#[test]
fn a_web_page_is_recognised_where_success_is_claimed() {
    for wire in Spoken::ALL {
        let settings = AgentSettings::new(wire.provider(), "a-model");
        let told = tell_with(settings, vec![page(200)], page(200));
        let failure = told.failure();
        let requests = &failure.requests;
        assert_eq!((*requests, failure.kind), (1, FailureKind::Account), "{wire:?}: {failure:?}");
        assert!(failure.message.contains("web page"), "{}", failure.message);
    }
}

#[test]
fn refusals_are_told_from_replies() {
    for wire in Spoken::ALL {
        let refused = format!("{}{}", wire.begun("I"), wire.end(wire.other_stops().1, ""));
        let told = tell(wire, vec![stream(&refused)]);
        assert_eq!((told.failure().requests, told.failure().kind), (1, FailureKind::Refusal), "{wire:?}");
    }
    let delta = json!({"choices": [{"index": 0, "delta": {"refusal": "I would rather not."}}]});
    let refused = format!("{}{}", event(None, &delta), Spoken::OpenAi.end("stop", ""));
    let told = tell(Spoken::OpenAi, vec![stream(&refused)]);
    assert_eq!(told.failure().kind, FailureKind::Refusal);
    assert!(told.failure().message.contains("I would rather not"), "{:?}", told.failure());
}

#[test]
fn replies_that_are_too_long_or_empty_are_left_to_the_parser() {
    for wire in Spoken::ALL {
        let long = format!("{}{}", wire.begun("{\"plan"), wire.end(wire.other_stops().0, ""));
        for (events, text) in [(long, "{\"plan"), (wire.whole(""), "")] {
            let told = tell(wire, vec![stream(&events)]);
            let called = told.result.unwrap_or_else(|error| panic!("{wire:?}: {error:?}"));
            assert_eq!((called.text.as_str(), called.requests), (text, 1), "{wire:?}");
        }
    }
}

/// Whatever a name looks like, it reaches the provider as it was configured, and nothing is read out of it.
#[test]
fn the_model_is_passed_on_verbatim() {
    for model in [
        "gpt-4-turbo-preview",
        "gpt-5.1-codex-max",
        "claude-high",
        "anthropic::claude-low",
        "org/a:free",
        "o3",
    ] {
        for wire in [Spoken::OpenAi, Spoken::Anthropic] {
            let settings = AgentSettings::new(wire.provider(), model);
            let told = tell_with(settings, vec![stream(&wire.whole(TEXT))], String::new());
            let body = &told.posts[0].body;
            assert_eq!(body["model"], model);
            for key in ["reasoning_effort", "thinking", "prompt_cache_options", "prompt_cache_retention"] {
                assert_eq!(body[key], Value::Null, "{model}: {key}");
            }
            assert_eq!(body["output_config"]["effort"], Value::Null, "{model}");
        }
    }
}

#[test]
fn a_model_in_the_address_is_passed_on_verbatim() {
    for (model, path) in [
        ("gemini-3-pro", "/v1/models/gemini-3-pro:stream"),
        ("gemini-9-high", "/v1/models/gemini%2D9%2Dhigh:stream"),
        ("tuned::gemini", "/v1/models/tuned%3A%3Agemini:stream"),
    ] {
        let settings = AgentSettings::new("gemini", model);
        let told = tell_with(settings, vec![stream(&Spoken::Gemini.whole(TEXT))], String::new());
        let post = &told.posts[0];
        assert!(post.head.starts_with(&format!("POST {path}")), "{}", post.head);
        assert_eq!(post.body["generationConfig"]["thinkingConfig"], Value::Null, "{}", post.body);
    }
}

#[test]
fn a_request_carries_what_the_provider_may_have() {
    let settings = |provider: &str| AgentSettings {
        max_output_tokens: Some(512),
        temperature: Some(0.5),
        ..AgentSettings::new(provider, "gpt-6-astra")
    };
    let told = tell_with(settings("openai"), vec![stream(&Spoken::OpenAi.whole(TEXT))], String::new());
    let (head, body) = (told.posts[0].head.to_lowercase(), &told.posts[0].body);
    assert!(
        head.contains(&format!("authorization: bearer {KEY}"))
            && head.starts_with("post /v1/chat/completions ")
    );
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "Stable rules."}));
    assert_eq!(body["messages"][1], json!({"role": "user", "content": "What is new."}));
    assert_eq!((&body["max_completion_tokens"], &body["temperature"]), (&json!(512), &json!(0.5)));
    assert_eq!(body["response_format"]["json_schema"]["strict"], json!(true));
    assert_eq!(body["stream_options"]["include_usage"], json!(true));
    assert_eq!(body["prompt_cache_options"], Value::Null, "{body}");

    let told = tell_with(settings("anthropic"), vec![stream(&Spoken::Anthropic.whole(TEXT))], String::new());
    let (head, body) = (told.posts[0].head.to_lowercase(), &told.posts[0].body);
    assert!(head.contains(&format!("x-api-key: {KEY}")) && head.starts_with("post /v1/messages "), "{head}");
    assert_eq!(body["system"][0]["cache_control"], json!({"type": "ephemeral"}), "{body}");
    assert_eq!((&body["max_tokens"], &body["messages"][0]["role"]), (&json!(512), &json!("user")));
    assert_eq!(body["output_config"]["format"]["type"], json!("json_schema"));

    let told =
        tell_with(settings("openai_compatible"), vec![stream(&Spoken::OpenAi.whole(TEXT))], String::new());
    let body = &told.posts[0].body;
    assert!(!told.posts[0].head.contains(KEY), "{}", told.posts[0].head);
    for key in ["response_format", "prompt_cache_options", "prompt_cache_retention", "prompt_cache_key"] {
        assert_eq!(body[key], Value::Null, "{key}");
    }
}

#[test]
fn some_limit_is_always_sent() {
    for wire in Spoken::ALL {
        let told = tell(wire, vec![stream(&wire.whole(TEXT))]);
        let body = &told.posts[0].body;
        let limits = ["/max_tokens", "/generationConfig/maxOutputTokens"];
        assert!(limits.iter().any(|at| body.pointer(at).is_some_and(Value::is_u64)), "{body}");
    }
}

#[test]
fn a_model_that_knows_no_schemas_is_asked_without_one() {
    for (wire, key) in [(Spoken::OpenAi, "response_format"), (Spoken::Anthropic, "output_config")] {
        let refusal = format!(r#"{{"error": {{"message": "{key} is not supported with this model."}}}}"#);
        let told = tell(wire, vec![status(400, "", &refusal), stream(&wire.whole(TEXT))]);
        assert_eq!(told.result.map(|called| called.requests), Ok(2), "{wire:?}");
        assert_ne!(told.posts[0].body[key], Value::Null);
        assert_eq!(told.posts[1].body[key], Value::Null);
    }
}

#[test]
fn prices_are_applied_where_tokens_were_counted() {
    let price = Price { input: 3_000_000, cached: 300_000, output: 15_000_000 };
    let settings = AgentSettings { price: Some(price), ..AgentSettings::new("openai", "m") };
    let events = Spoken::OpenAi.whole(TEXT);
    let told = tell_with(settings.clone(), vec![stream(&events)], String::new());
    assert_eq!(told.result.unwrap().usage.cost_micro_usd, Some(100 * 3 + 6 + 7 * 15));
    let uncounted =
        tell_with(settings, vec![stream(&events.replace("\"usage\"", "\"other\""))], String::new());
    assert_eq!(uncounted.result.unwrap().usage, Usage::default());
    let dear = Price { input: u64::MAX, cached: u64::MAX, output: u64::MAX };
    let much = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
    assert_eq!(dear.of(&much), u64::MAX);
}

#[test]
fn nobody_at_home_is_said() {
    let told = block_on(async {
        // Bound but not listening: nobody else gets the port, and nobody answers there.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let base_url = Some(format!("http://{}", socket.local_addr().unwrap()));
        let agents = hasty(AgentSettings { base_url, ..AgentSettings::new("local", "m") });
        agents.call(&question(Role::Builder, Shape::Text), &mut |_| {}).await
    });
    let error = told.unwrap_err();
    assert_eq!((error.requests, error.kind), (6, FailureKind::Provider));
    assert!(error.message.contains("could not be reached"), "{}", error.message);
}

#[test]
fn a_role_without_an_agent_is_no_panic() {
    let agents = hasty(AgentSettings {
        base_url: Some("http://localhost:1".into()),
        ..AgentSettings::new("local", "m")
    });
    let error = block_on(agents.call(&question(Role::Moderator, Shape::Text), &mut |_| {})).unwrap_err();
    assert_eq!((error.requests, error.kind), (0, FailureKind::Account));
}

#[test]
fn settings_are_checked_before_anything_is_sent() {
    let none = |_: &str| None;
    let odd = |_: &str| Some(format!("\"{KEY} \n{KEY}\""));
    let at = |provider: &str, base_url: &str| {
        let base_url = (!base_url.is_empty()).then(|| base_url.to_owned());
        AgentSettings { base_url, ..AgentSettings::new(provider, "m") }
    };
    let named = AgentSettings {
        api_key_env: Some("MY_KEY".into()),
        ..at("openai_compatible", "https://gate.example")
    };
    let check = |settings: AgentSettings, env: &dyn Fn(&str) -> Option<String>| match Agents::live(
        builder(settings),
        env,
    ) {
        Ok(_) => String::new(),
        Err(error) => {
            let written = format!("{error:?} {error}");
            assert!(!written.contains(KEY), "{written}");
            error.to_string()
        }
    };
    for (settings, env, message) in [
        (
            at("opnai", ""),
            &env as &dyn Fn(&str) -> Option<String>,
            "`opnai` is not known. Choose one of: openai,",
        ),
        (at("openai", ""), &none, "Missing OPENAI_API_KEY. The builder uses"),
        (at("openai", ""), &none, "export OPENAI_API_KEY=\"sk-…\""),
        (at("anthropic", ""), &none, "export ANTHROPIC_API_KEY=\"sk-ant-…\""),
        (named.clone(), &none, "Missing MY_KEY."),
        (at("openai", ""), &odd, "OPENAI_API_KEY contains a space"),
        (at("openai_compatible", ""), &none, "Set `base_url`"),
        (at("openai", "localhost"), &env, "no http or https address"),
        (at("replay", ""), &none, "--replay FILE"),
    ] {
        let said = check(settings, env);
        assert!(said.contains(message), "{message}: {said}");
    }
    for settings in [at("openai", "http://127.0.0.1:1/v1"), at("ollama", ""), at("local", "http://10.0.0.1/")]
    {
        assert_eq!(check(settings, &none), "");
    }
    assert_eq!(
        check(named, &env),
        "Missing MY_KEY. The builder uses the provider `openai_compatible`, which needs a key. Set it and start again:\n  export MY_KEY=\"…\""
    );
}

#[test]
fn secrets_are_known_for_redaction() {
    let with_password = Some("http://me:hunter2@127.0.0.1:1/v1?token=x".to_owned());
    let agents = hasty(AgentSettings { base_url: with_password, ..AgentSettings::new("openai", "m") });
    assert_eq!(agents.secrets(), [KEY, "hunter2"]);
    let shown = format!("{agents:?}");
    assert!(shown.contains("http://127.0.0.1:1/v1/") && !shown.contains("hunter2"), "{shown}");
    let padded = |_: &str| Some(format!(" {KEY}\n"));
    let agents = Agents::live(builder(AgentSettings::new("openai", "m")), &padded).unwrap();
    assert_eq!(agents.secrets(), [KEY]);
}

#[test]
fn an_untrusted_certificate_is_named() {
    let told = block_on(async {
        let base_url = Some(format!("https://localhost:{}/v1", tls::start()));
        hasty(AgentSettings { base_url, ..AgentSettings::new("local", "m") })
            .call(&question(Role::Builder, Shape::Text), &mut |_| {})
            .await
    });
    let error = told.unwrap_err();
    assert_eq!(error.requests, 1, "{error:?}");
    for part in ["certificate of https://localhost", "SSL_CERT_FILE"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[test]
fn a_look_at_an_endpoint_tells_a_certificate_apart() {
    let base_url = Some(format!("https://localhost:{}/v1", tls::start()));
    let settings = AgentSettings { base_url, ..AgentSettings::new("local", "m") };
    let (endpoints, refused) = models::Endpoint::of(&builder(settings), &env);
    assert!(refused.is_empty());
    let told = block_on(endpoints[0].ask(Duration::from_secs(20)));
    let trouble = told.unwrap_err();
    assert_eq!(trouble.cause, models::Cause::Certificate, "{trouble:?}");
    assert!(trouble.message.contains("The certificate of https://localhost"), "{trouble:?}");
    assert!(trouble.next.contains("SSL_CERT_FILE"), "{trouble:?}");
}
