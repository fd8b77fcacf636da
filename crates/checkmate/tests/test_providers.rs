//! Whole runs over real connections, on every wire and on bad days.

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::provider::{Asked, Provider, Wire, cut, event, status};
use crate::script::{approves, asks_for, builds, issue, reshout, shout};

const KEY: &str = "sk-test-do-not-show-me";

/// A world whose builder and reviewer are models of one provider.
fn world(wire: Wire, provider: &Provider, more: &Value) -> TestEnvironment {
    let mut environment = TestEnvironment::new();
    let name = wire.provider();
    let role = |model: &str| {
        let mut role = json!({"provider": name, "model": model, "base_url": provider.address()});
        role.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        role
    };
    environment.config(json!({"builder": role("maker"), "reviewer": role("checker")}));
    environment.set(&format!("{}_API_KEY", name.to_uppercase()), KEY);
    environment
}

/// Starts a run and waits for its end.
fn runs(environment: &TestEnvironment, code: i32) -> String {
    let result = environment.path("result.json");
    let output = environment.run(&["run", "Add shout", "--json", result.to_str().unwrap()]);
    let said = output.ended(code).to_owned();
    assert_has_not(&said, &[KEY]);
    said
}

/// The shortest way to an approval.
fn approved(wire: Wire) -> impl FnMut(&Asked) -> String + Send + 'static {
    move |asked| match asked.model() {
        "maker" => wire.says(&builds(&shout("$1!")).to_string()),
        _ => wire.says(&approves().to_string()),
    }
}

/// Gives these answers first, and then those of an approval.
fn after(wire: Wire, first: Vec<String>) -> impl FnMut(&Asked) -> String + Send + 'static {
    let (mut first, mut rest) = (first.into_iter(), approved(wire));
    move |asked| first.next().unwrap_or_else(|| rest(asked))
}

#[test]
fn a_run_over_each_wire_is_approved_and_lands() {
    for wire in Wire::ALL {
        let provider = Provider::start(approved(wire));
        let price = json!({"price": {"input": 3, "cached": 0.3, "output": 15}});
        let environment = world(wire, &provider, &price);
        let said = runs(&environment, 0);
        assert_eq!(environment.read("src/shout.sh"), "shout() { echo \"$1!\"; }\n", "{wire:?}");
        let result = environment.result();
        // Two calls: 600 fresh tokens at 3, 400 cached ones at 0.3 and 100 out at 15, in millionths of a dollar.
        let usage = json!({"calls": 2, "input_tokens": 2000, "cached_tokens": 800, "output_tokens": 200,
            "cost_usd": 0.00684, "calls_by_role": {"builder": 1, "reviewer": 1}});
        assert_eq!(result["usage"], usage, "{wire:?}");
        assert_has(&said, &["requests: builder 1, reviewer 1"]);
        let called: Vec<Value> = environment.answers("called");
        assert!(called.iter().all(|answer| answer["usage"]["reasoning_tokens"] == 60), "{called:?}");
        assert!(called.iter().all(|answer| answer["model"] == format!("served-{}", wire.provider())));
        let asked = provider.asked();
        assert_eq!(asked.len(), 2);
        for one in &asked {
            let (header, value) = match wire {
                Wire::OpenAi => ("authorization", format!("Bearer {KEY}")),
                Wire::Anthropic => ("x-api-key", KEY.to_owned()),
                Wire::Gemini => ("x-goog-api-key", KEY.to_owned()),
            };
            assert_eq!(one.header(header), Some(value.as_str()), "{wire:?}");
        }
        let journal = std::fs::read_to_string(environment.run_folder().join("journal.jsonl")).unwrap();
        assert_has_not(&journal, &[KEY]);
    }
}

#[test]
fn an_unknown_price_is_unknown_and_not_zero() {
    let provider = Provider::start(approved(Wire::OpenAi));
    let environment = world(Wire::OpenAi, &provider, &json!({}));
    let said = runs(&environment, 0);
    assert_has(&said, &["requests: builder 1, reviewer 1 · cost unknown"]);
    assert_eq!(environment.result()["usage"]["cost_usd"], Value::Null);
    assert_has(&environment.run(&["show", "latest"]).stdout, &["cost unknown"]);
    // One role whose price is known does not make the sum known, whichever is asked first.
    for known in ["builder", "reviewer"] {
        let provider = Provider::start(approved(Wire::OpenAi));
        let environment = world(Wire::OpenAi, &provider, &json!({}));
        let mut roles = json!({});
        for (role, model) in [("builder", "maker"), ("reviewer", "checker")] {
            roles[role] = json!({"provider": "openai", "model": model, "base_url": provider.address()});
        }
        roles[known]["price"] = json!({"input": 3, "output": 15});
        environment.config(roles);
        assert_has(&runs(&environment, 0), &["cost unknown"]);
        assert_eq!(environment.result()["usage"]["cost_usd"], Value::Null, "{known}");
    }
}

/// Returns how many bytes at the beginning of two texts are the same.
fn common(one: &str, two: &str) -> usize {
    one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b).count()
}

/// What a cache can keep from turn to turn: the system text, the goal, the constraints and the file tree.
#[test]
fn the_beginning_of_a_prompt_stays_the_same_from_turn_to_turn() {
    let wire = Wire::Anthropic;
    let mut replies = vec![
        builds(&shout("$1")),
        builds(&reshout("$1", "$1?")),
        builds(&reshout("$1?", "$1!")),
        asks_for(&[issue("LOUD", "major", "shout is not loud")]),
        builds(&reshout("$1!", "${1}!")),
        approves(),
    ]
    .into_iter();
    let provider = Provider::start(move |_| wire.says(&replies.next().unwrap().to_string()));
    let environment = world(wire, &provider, &json!({}));
    for number in 0..40 {
        environment.write(&format!("src/part_{number}.sh"), format!("part_{number}() {{ :; }}\n"));
    }
    environment.config(json!({"max_iterations": 4, "builder": {"provider": "anthropic", "model": "maker",
        "base_url": provider.address()}, "reviewer": {"provider": "anthropic", "model": "checker",
        "base_url": provider.address()}}));
    runs(&environment, 0);
    let builder: Vec<_> = environment.asked().into_iter().filter(|asked| asked.role == "builder").collect();
    assert_eq!(builder.len(), 4);
    let asked = provider.asked();
    let of_builder: Vec<&Asked> = asked.iter().filter(|asked| asked.model() == "maker").collect();
    for (turn, pair) in builder.windows(2).enumerate() {
        assert_eq!(pair[0].system, pair[1].system);
        let same = common(&pair[0].user, &pair[1].user);
        let stable = pair[1].user.find("\n## RECENT_DIFFS\n").unwrap();
        assert!(same >= stable, "turn {}: {same} of {stable} stable bytes", turn + 2);
        let all = pair[1].system.len() + pair[1].user.len();
        let share = 100 * (pair[1].system.len() + same) / all;
        assert!(share >= 60, "turn {}: only {share} % of {all} bytes are as in the turn before", turn + 2);
        // The marks are on what stays the same, and nothing else has one.
        let blocks = |asked: &Asked| {
            let content = &asked.body["messages"][0]["content"];
            (asked.body["system"].clone(), content[0].clone(), content[1]["cache_control"].clone())
        };
        assert_eq!(blocks(of_builder[turn]), blocks(of_builder[turn + 1]));
        let (system, first, unmarked) = blocks(of_builder[turn + 1]);
        assert_eq!(system[0]["cache_control"], json!({"type": "ephemeral"}));
        assert_eq!(first["cache_control"], json!({"type": "ephemeral"}));
        assert_eq!(first["text"].as_str(), pair[1].user.get(..=stable - 1));
        assert_eq!(unmarked, Value::Null);
    }
}

/// What lasts ends the run at once with exit code 1 and one request; once it is mended, the run goes on.
#[test]
fn what_lasts_ends_the_run_and_loses_nothing() {
    let html = "content-type: text/html\r\n";
    let page = "<!DOCTYPE html><html><body>Please log in.</body></html>";
    let error = |message: &str| json!({"error": {"message": message}}).to_string();
    for (what, answer, parts) in [
        (
            "a wrong key",
            status(401, "", &error("Incorrect API key")),
            ["did not accept the key in OPENAI_API_KEY", "export"],
        ),
        (
            "no permission",
            status(403, "", &error("Not yours")),
            ["may not use the model `checker`", "what the account allows"],
        ),
        (
            "no such model",
            status(404, "", &error("The model does not exist")),
            ["There is no model `checker`", "Check the model's name"],
        ),
        (
            "no money",
            status(429, "", &json!({"error": {"code": "insufficient_quota", "message": "Pay"}}).to_string()),
            ["no quota left", "billing"],
        ),
        (
            "a long prompt",
            status(400, "", &error("maximum context length is 8192 tokens")),
            ["do not fit", "longer context"],
        ),
        ("a login page", status(403, html, page), ["web page instead of a model's reply", "login page"]),
        (
            "a redirect",
            status(302, "location: http://login.example/\r\n", ""),
            ["redirects to http://login.example/", "login page"],
        ),
        (
            "nothing but thinking",
            format!(
                "{}0\r\n\r\n",
                cut(&format!(
                    "{}{}data: [DONE]\n\n",
                    event("", &json!({"choices": [{"index": 0, "delta": {"content": "<think>Hm."}}]})),
                    event("", &json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}))
                ))
            ),
            ["before it wrote any reply", "Raise `max_output_tokens`"],
        ),
    ] {
        let wire = Wire::OpenAi;
        // The builder's reply is paid for; then the reviewer's endpoint has its bad day.
        let provider =
            Provider::start(after(wire, vec![wire.says(&builds(&shout("$1!")).to_string()), answer]));
        let environment = world(wire, &provider, &json!({}));
        let said = runs(&environment, 1);
        assert_has(&said, &parts);
        assert_has(&said, &["checkmate resume"]);
        assert_eq!(provider.asked().len(), 2, "{what}");
        assert_eq!(environment.result()["outcome"], "error", "{what}");
        assert!(!environment.has("src/shout.sh"), "{what}");
        environment.run(&["resume", "latest"]).ended(0);
        assert!(environment.has("src/shout.sh"), "{what}");
        let makers = provider.asked().iter().filter(|asked| asked.model() == "maker").count();
        assert_eq!(makers, 1, "{what}: a reply that was paid for is not paid again");
        environment.run(&["replay", "latest"]).ended(0);
    }
}

/// What passes is waited for within the run.
#[test]
fn what_passes_costs_requests_and_not_the_run() {
    let wire = Wire::OpenAi;
    let soon = "retry-after-ms: 1\r\n";
    let busy = || status(503, soon, r#"{"error": {"message": "overloaded"}}"#);
    let half = wire.events(&builds(&shout("$1!")).to_string());
    let half = &half[..half.len() / 2];
    for (what, first) in [
        ("a rate limit in seconds", vec![status(429, "retry-after: 0\r\n", "{}")]),
        (
            "a rate limit until a date",
            vec![status(429, "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "{}")],
        ),
        ("a burst", vec![busy(), status(500, soon, "oops"), busy(), busy(), status(502, soon, "<html>")]),
        ("a cut connection", vec![cut(half)]),
        ("garbage", vec![cut("data: {not json\n\n")]),
    ] {
        let requests = first.len() + 1;
        let provider = Provider::start(after(wire, first));
        let environment = world(wire, &provider, &json!({}));
        runs(&environment, 0);
        assert!(environment.has("src/shout.sh"), "{what}");
        assert_eq!(environment.result()["usage"]["calls_by_role"]["builder"], requests, "{what}");
    }
}

#[test]
fn a_provider_that_stays_busy_ends_the_run_and_it_can_be_resumed() {
    let wire = Wire::Anthropic;
    let busy = status(529, "retry-after-ms: 1\r\n", r#"{"error": {"message": "Overloaded"}}"#);
    // Three calls of six requests each.
    let provider = Provider::start(after(wire, vec![busy; 18]));
    let environment = world(wire, &provider, &json!({}));
    let said = runs(&environment, 1);
    assert_has(&said, &["is busy or out of order (HTTP 529: Overloaded)", "request 6", "checkmate resume"]);
    assert_eq!(provider.asked().len(), 18);
    environment.run(&["resume", "latest"]).ended(0);
    assert!(environment.has("src/shout.sh"));
}

/// A decision of the model is no failure of the machinery: exit code 2.
#[test]
fn a_model_that_declines_or_says_nothing_is_unusable_and_no_error() {
    let refusal = event("", &json!({"choices": [{"index": 0, "delta": {"refusal": "I would rather not."}}]}));
    let stop = event("", &json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
    let filtered = stop.replace("\"stop\"", "\"content_filter\"");
    let stream = |events: String| format!("{}0\r\n\r\n", cut(&format!("{events}data: [DONE]\n\n")));
    for (answer, part) in [
        (stream(format!("{refusal}{stop}")), "declined to answer: I would rather not"),
        (stream(filtered), "declined to answer"),
        (stream(stop.clone()), "did not give a usable reply"),
    ] {
        let provider = Provider::start(move |_| answer.clone());
        let environment = world(Wire::OpenAi, &provider, &json!({}));
        assert_has(&runs(&environment, 2), &["stopped by unusable_reply", part]);
        assert_eq!(provider.asked().len(), 3);
    }
}

/// An endpoint that knows no schemas is asked once with one; people are told, and so is the journal.
#[test]
fn an_endpoint_without_schemas_is_asked_without_one_and_people_are_told() {
    let wire = Wire::OpenAi;
    let mut whole = approved(wire);
    let provider = Provider::start(move |asked| match asked.body.get("response_format") {
        Some(_) => status(400, "", r#"{"error": {"message": "Unknown parameter: 'response_format'."}}"#),
        None => whole(asked),
    });
    let environment = world(wire, &provider, &json!({}));
    let told = "The model `maker` of the provider `openai` takes no schema for its reply, so the prompt alone asks for the \
                form from now on (HTTP 400: Unknown parameter: 'response_format').";
    assert_has(&runs(&environment, 0), &[told]);
    assert_eq!(environment.result()["usage"]["calls_by_role"], json!({"builder": 2, "reviewer": 2}));
    assert_eq!(environment.answers("called")[0]["notes"], json!([told]));
    assert_has(&environment.run(&["replay", "latest"]).stdout, &[told]);
}

#[test]
fn a_key_that_is_not_there_leaves_nothing_behind() {
    let environment = TestEnvironment::new();
    environment.config(json!({"builder": {"provider": "openai", "model": "m"},
        "reviewer": {"provider": "gemini", "model": "m"}}));
    assert_has(runs(&environment, 1).as_str(), &["Missing OPENAI_API_KEY.", "export OPENAI_API_KEY="]);
    assert!(environment.runs().is_empty());
}
