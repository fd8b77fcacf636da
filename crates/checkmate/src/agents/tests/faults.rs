//! Bad days at the endpoint: each has a message with the next step, and none takes for ever.

use super::*;

/// Asks for a text, with a list of models or a page for whoever looks at the endpoint with GET.
fn fails(settings: AgentSettings, answers: Vec<String>, page: &str) -> Failure {
    tell_with(settings, answers, page.to_owned()).result.expect_err("the call should have failed")
}

fn error(message: &str) -> String {
    json!({ "error": { "message": message } }).to_string()
}

#[test]
fn a_wrong_model_is_answered_with_the_nearest_that_there_is() {
    let openai = json!({"data": [{"id": "o3"}, {"id": "gpt-5.1"}, {"id": "text-embedding-3"}]}).to_string();
    let gemini = json!({"models": [{"name": "models/gemini-2.5-pro"}]}).to_string();
    let json = "content-type: application/json\r\n";
    for (provider, model, code, refusal, list, hint) in [
        ("openai", "gpt-5.l", 404, "The model `gpt-5.l` does not exist", &openai, "Did you mean `gpt-5.1`?"),
        (
            "gemini",
            "gemini-2.5-por",
            404,
            "not found for API version",
            &gemini,
            "Did you mean `gemini-2.5-pro`?",
        ),
        ("anthropic", "gpt51", 404, "model: gpt51", &openai, "Did you mean `gpt-5.1`?"),
        ("openrouter", "zzz", 400, "zzz is not a valid model ID", &openai, "It has `o3`, `gpt-5.1`"),
        (
            "ollama",
            "zzz",
            404,
            "model \"zzz\" not found, try pulling it first",
            &String::new(),
            "Check the model's name",
        ),
    ] {
        let answers = vec![status(code, json, &error(refusal))];
        let failure = fails(AgentSettings::new(provider, model), answers, &status(200, json, list));
        let requests = failure.requests;
        assert_eq!((requests, failure.kind), (1, FailureKind::Account), "{provider}");
        for part in
            [&format!("There is no model `{model}` at http://127.0.0.1"), hint, "Check the model's name"]
        {
            assert!(failure.message.contains(part), "{part}: {}", failure.message);
        }
    }
}

#[test]
fn a_prompt_that_is_too_long_has_a_message_of_its_own() {
    for (wire, code, said) in [
        (
            Spoken::OpenAi,
            400,
            "This model's maximum context length is 8192 tokens. However, you requested 18000 tokens.",
        ),
        (Spoken::OpenAi, 400, "the request exceeds the available context size, try increasing it"),
        (Spoken::OpenAi, 413, "Payload too large"),
        (Spoken::Anthropic, 400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (
            Spoken::Gemini,
            400,
            "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
        ),
    ] {
        let settings = AgentSettings::new(wire.provider(), "a-model");
        let failure = fails(settings, vec![status(code, "", &error(said))], "");
        let requests = failure.requests;
        assert_eq!((requests, failure.kind), (1, FailureKind::Account), "{said}");
        for part in ["do not fit into what the model `a-model`", "longer context", "max_output_tokens"] {
            assert!(failure.message.contains(part), "{part}: {}", failure.message);
        }
    }
}

#[test]
fn an_account_without_money_is_not_asked_again() {
    for (wire, code, body) in [
        (
            Spoken::OpenAi,
            429,
            json!({"error": {"code": "insufficient_quota", "message": "You exceeded your quota."}}),
        ),
        (Spoken::OpenAi, 402, json!({"error": {"message": "Insufficient credits"}})),
        (
            Spoken::Anthropic,
            400,
            json!({"error": {"message": "Your credit balance is too low to access the API."}}),
        ),
    ] {
        let settings = AgentSettings::new(wire.provider(), "a-model");
        let failure = fails(settings, vec![status(code, "", &body.to_string())], "");
        let requests = failure.requests;
        assert_eq!((requests, failure.kind), (1, FailureKind::Account), "{body}");
        assert!(
            failure.message.contains("no quota left") && failure.message.contains("billing"),
            "{}",
            failure.message
        );
    }
}

#[test]
fn a_blocked_prompt_is_a_refusal() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}});
    let answer = stream(&event(None, &blocked));
    let failure = fails(AgentSettings::new("gemini", "g"), vec![answer], "");
    let requests = failure.requests;
    assert_eq!((requests, failure.kind), (1, FailureKind::Refusal), "{}", failure.message);
    for part in
        ["declined to answer: the prompt was blocked (PROHIBITED_CONTENT)", "Word the goal differently"]
    {
        assert!(failure.message.contains(part), "{}", failure.message);
    }
}

#[test]
fn a_name_that_leads_nowhere_is_said() {
    let base_url = Some("http://no-such-host.invalid/v1".to_owned());
    let settings = AgentSettings { base_url, ..AgentSettings::new("openai", "m") };
    let error =
        block_on(hasty(settings).call(&question(Role::Builder, Shape::Text), &mut |_| {})).unwrap_err();
    assert_eq!((error.requests, error.kind), (6, FailureKind::Provider));
    for part in ["http://no-such-host.invalid/v1/ could not be reached", "Check `base_url`"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[test]
fn a_server_without_https_is_told_from_one_that_is_away() {
    let error = block_on(async {
        let server = Server::answering_anything(status(400, "", "")).await;
        let base_url = Some(format!("https://{}/v1", server.address));
        let agents = hasty(AgentSettings { base_url, ..AgentSettings::new("local", "m") });
        agents.call(&question(Role::Builder, Shape::Text), &mut |_| {}).await.unwrap_err()
    });
    assert_eq!(error.requests, 1, "{error:?}");
    for part in ["No secure connection to https://127.0.0.1", "`http://`"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[test]
fn a_large_reply_is_a_reply() {
    let text = "x".repeat(5 << 20);
    for wire in Spoken::ALL {
        let told = tell(wire, vec![stream(&wire.whole(&text))]);
        assert!(told.result.unwrap().text == text, "{wire:?}");
    }
}

/// Comments and empty events never reach the reader of the stream, and still count.
#[test]
fn what_brings_no_text_is_not_read_for_ever() {
    let empty =
        event(None, &json!({"choices": [{"index": 0, "delta": {"reasoning_content": "x".repeat(1 << 16)}}]}));
    for (what, flood) in [("comments", ": x\n\n".repeat(1 << 16)), ("thoughts", empty.repeat(16))] {
        let error = block_on(async {
            let server = Server::flooding(flood).await;
            let base_url = Some(format!("http://{}/v1", server.address));
            let agents = hasty(AgentSettings { base_url, ..AgentSettings::new("local", "m") });
            agents.call(&question(Role::Builder, Shape::Text), &mut |_| {}).await.unwrap_err()
        });
        assert_eq!((error.requests, error.kind), (1, FailureKind::Provider), "{what}");
        assert!(error.message.contains("no reply needs"), "{what}: {}", error.message);
    }
}

/// Bytes that never make an event, and headers that never end, are silence too.
#[test]
fn a_trickle_is_not_waited_for_for_ever() {
    for wire in Spoken::ALL {
        let begun = disconnected(&wire.begun("Half a rep"));
        for start in ["HTTP/1.1 200 OK\r\nx-slow: ".to_owned(), begun] {
            let error = block_on(async {
                let server = Server::trickling(start.clone()).await;
                let base_url = Some(format!("http://{}", server.address));
                let mut agents =
                    hasty(AgentSettings { base_url, ..AgentSettings::new(wire.provider(), "m") });
                builder_of(&mut agents).agent.allow_silence(Duration::from_millis(60));
                builder_of(&mut agents).policy.max_requests = 2;
                agents.call(&question(Role::Builder, Shape::Text), &mut |_| {}).await.unwrap_err()
            });
            assert_eq!((error.requests, error.kind), (2, FailureKind::Provider), "{wire:?}");
            assert!(error.message.contains("sent nothing for too long"), "{}", error.message);
        }
    }
}

/// Events that come for ever without an end are ended by the limit of the request.
#[test]
fn an_endless_reply_is_ended_by_the_time_limit() {
    let error = block_on(async {
        let server = Server::trickling(disconnected(&Spoken::OpenAi.begun("Half a rep"))).await;
        let base_url = Some(format!("http://{}", server.address));
        let settings =
            AgentSettings { time_limit: Duration::from_millis(80), ..AgentSettings::new("local", "m") };
        let mut agents = hasty(AgentSettings { base_url, ..settings });
        builder_of(&mut agents).policy.max_requests = 2;
        agents.call(&question(Role::Builder, Shape::Text), &mut |_| {}).await.unwrap_err()
    });
    assert_eq!((error.requests, error.kind), (2, FailureKind::Provider));
    assert!(error.message.contains("did not finish its reply within"), "{}", error.message);
}
