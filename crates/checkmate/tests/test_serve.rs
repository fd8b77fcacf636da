//! `checkmate serve` as a client of system A sees it, and who comes in at all.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::daemon::{Client, Daemon};
use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::plays;
use crate::script::{Script, adds, approves, asks_for, builds, issue, reshout, shout};

/// Says what an old client finds wrong with a frame. It knows these types and fields, and reads each of them.
fn complaint(frame: &Value) -> Option<String> {
    let event = &frame["event"];
    let text = |value: &Value| value.is_string();
    let one_of = |value: &Value, words: &[&str]| value.as_str().is_some_and(|word| words.contains(&word));
    let texts = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    let maybe = |value: &Value, is_right: &dyn Fn(&Value) -> bool| value.is_null() || is_right(value);
    let severity = |value: &Value| one_of(value, &["critical", "major", "minor"]);
    let is_right = match event["type"].as_str().unwrap_or_default() {
        "status" => text(&event["message"]),
        "stream_chunk" => {
            one_of(&event["role"], &["builder", "reviewer", "moderator"]) && text(&event["chunk"])
        }
        "patch_ready" => text(&event["patch"]),
        "tests_output" => text(&event["stdout"]) && text(&event["stderr"]) && event["exitCode"].is_i64(),
        "review_ready" => {
            let review = &event["review"];
            let issue = |issue: &Value| {
                severity(&issue["severity"])
                    && text(&issue["description"])
                    && maybe(&issue["how_to_verify"], &text)
                    && maybe(&issue["issue_id"], &text)
            };
            one_of(&review["verdict"], &["approve", "request_changes", "block"])
                && review["issues"].as_array().is_some_and(|issues| issues.iter().all(issue))
                && text(&review["stopping"])
                && maybe(&review["suggested_patch"], &text)
                && maybe(&review["extra_tests"], &texts)
                && maybe(&review["diagnostics_needed"], &texts)
                && maybe(&review["block_reason"], &|reason| {
                    one_of(reason, &["definite_bug", "uncertainty", "needs_human"])
                })
        }
        "moderator_decision" => {
            let decision = &event["decision"];
            one_of(&decision["decision"], &["accept_builder", "accept_reviewer", "reject_both"])
                && text(&decision["reasoning"])
        }
        "arbiter_mode" => {
            let issue = &event["issue"];
            severity(&issue["severity"]) && text(&issue["description"]) && text(&issue["issue_id"])
        }
        "arbiter_result" => {
            let result = &event["result"];
            result["test_added"].is_boolean()
                && maybe(&result["test_patch"], &text)
                && maybe(&result["test_passed"], &Value::is_boolean)
                && one_of(&result["outcome"], &["bug_confirmed", "bug_refuted", "test_invalid"])
                && text(&result["explanation"])
        }
        "diagnostic_run" => texts(&event["commands"]),
        "cycle_complete" => {
            event["success"].is_boolean() && text(&event["message"]) && event["iterations"].is_u64()
        }
        "error" => text(&event["error"]),
        _ => false,
    };
    (!is_right).then(|| frame.to_string())
}

/// Drives a whole cycle as an old client does, and returns the types of what it was told.
fn whole_cycle(client: &mut Client, success: bool) -> Vec<String> {
    client.send(json!({"type": "run_cycle", "request": "Add shout"}));
    let end = client.event("cycle_complete");
    assert_eq!(end["success"], success, "{end}");
    let complaints: Vec<String> = client.frames.iter().filter_map(complaint).collect();
    assert_eq!(complaints, Vec::<String>::new());
    let kinds = client.frames.iter().map(|frame| frame["event"]["type"].as_str().unwrap().to_owned());
    kinds.collect()
}

#[track_caller]
fn assert_types(told: &[String], types: &[&str]) {
    for kind in types {
        assert!(told.iter().any(|one| one == kind), "no {kind} in {told:?}");
    }
}

#[test]
fn an_old_client_drives_a_cycle_with_a_round_of_review() {
    let environment = TestEnvironment::new();
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[issue("empty", "major", "an empty word shouts too")]))
        .builder(builds(&reshout("$1!", "${1:-}!")))
        .reviewer(approves());
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.old_client("");
    let told = whole_cycle(&mut client, true);
    assert_eq!(told[0], "status");
    assert_types(&told, &["status", "stream_chunk", "patch_ready", "tests_output", "review_ready"]);
    let patch = told.iter().position(|kind| kind == "patch_ready").unwrap();
    let chunks = told[..patch].iter().filter(|kind| *kind == "stream_chunk").count();
    assert!(chunks > 1, "the reply came in {chunks} pieces");
    assert_eq!(environment.read("src/shout.sh"), "shout() { echo \"${1:-}!\"; }\n", "it lands by itself");
    assert_eq!(environment.git(&["rev-list", "--count", "HEAD"]), "1", "nothing is committed");
    let pieces = client.frames.iter().filter(|frame| frame["event"]["type"] == "stream_chunk");
    let first: String = pieces
        .take_while(|frame| frame["event"]["role"] == "builder")
        .map(|frame| frame["event"]["chunk"].as_str().unwrap())
        .collect();
    assert_eq!(first, script.replies("builder")[0]);
}

#[test]
fn an_old_client_understands_arbiter_diagnostics_and_requested_files() {
    for (play, outcome) in [(plays::REFUTED, "bug_refuted"), (plays::CONFIRMED, "bug_confirmed")] {
        let environment = play.world();
        let daemon = Daemon::start(&environment, &(play.script)());
        let mut client = daemon.old_client("");
        let told = whole_cycle(&mut client, true);
        assert_types(&told, &["arbiter_mode", "arbiter_result", "review_ready", "patch_ready"]);
        let result = client.frames.iter().find(|frame| frame["event"]["type"] == "arbiter_result").unwrap();
        assert_eq!(result["event"]["result"]["outcome"], outcome);
        if outcome == "bug_refuted" {
            let run = client.frames.iter().find(|frame| frame["event"]["type"] == "diagnostic_run").unwrap();
            assert_eq!(
                run["event"]["commands"],
                json!(["cat src/shout.sh", "whoami"]),
                "the refused one too"
            );
        }
    }
}

#[test]
fn an_old_client_understands_the_moderator() {
    let environment = plays::MODERATED.world();
    let daemon = Daemon::start(&environment, &(plays::MODERATED.script)());
    let mut client = daemon.old_client("");
    let told = whole_cycle(&mut client, true);
    assert_types(&told, &["moderator_decision"]);
    let moderator = |frame: &&Value| frame["event"]["role"] == "moderator";
    assert!(client.frames.iter().any(|frame| moderator(&frame)), "it is heard while it speaks");
}

#[test]
fn an_old_client_hears_why_nothing_was_approved() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::new().then("empty"));
    whole_cycle(&mut daemon.old_client(""), false);
    assert!(!environment.has("src/shout.sh"));
}

#[test]
fn an_examiner_speaks_to_new_clients_only() {
    let environment = plays::EXAMINED.world();
    let daemon = Daemon::start(&environment, &(plays::EXAMINED.script)());
    whole_cycle(&mut daemon.old_client(""), true);
}

#[test]
fn nonsense_is_answered_and_the_connection_lives() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.old_client("");
    assert_eq!(client.read().unwrap()["event"]["type"], "status");
    let nonsense = [
        "",
        "nonsense",
        "[]",
        "null",
        "42",
        "{}",
        "{\"type\":7}",
        "{\"type\":\"fly\"}",
        "{\"type\":\"run_cycle\"}",
        "{\"type\":\"run_cycle\",\"request\":7}",
        "{\"type\":\"apply_patch\",\"patch\":[\"a\"]}",
        "{\"type\":\"run_cycle\",\"request\":\" \"}",
        "{\"type\":\"apply_patch\",\"patch\":\"\"}",
        "{\"type\":\"apply_patch\",\"patch\":\"no patch\"}",
    ];
    for text in nonsense {
        client.send_text(text);
        let error = client.event("error");
        assert!(error["error"].as_str().is_some_and(|error| error.ends_with('.')), "{text}: {error}");
    }
    client.send(json!({"type": "run_tests"}));
    assert_eq!(client.event("tests_output")["exitCode"], 0);
    whole_cycle(&mut client, true);
}

#[test]
fn an_old_client_is_told_of_its_own_runs_only() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut bystander = daemon.old_client("");
    let mut other = daemon.client();
    let run = other.begin(json!({"land": "ask"}));
    other.end_of(&run);
    bystander.send(json!({"type": "run_tests"}));
    bystander.event("tests_output");
    assert_eq!(bystander.frames.len(), 2, "a greeting and the tests: {:#?}", bystander.frames);
    whole_cycle(&mut bystander, true);
    assert!(bystander.frames.iter().all(|frame| frame["run"] != run));
}

#[test]
fn an_old_client_applies_a_patch_of_its_own() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.old_client("");
    client.send(json!({"type": "apply_patch", "patch": shout("$1!")}));
    let end = client.event("cycle_complete");
    assert_eq!(end["success"], true, "{end}");
    assert!(environment.has("src/shout.sh"));
    let complaints: Vec<String> = client.frames.iter().filter_map(complaint).collect();
    assert_eq!(complaints, Vec::<String>::new());
    environment.run(&["undo", "latest"]).ended(0);
    assert!(!environment.has("src/shout.sh"));
}

#[test]
fn a_patch_that_is_not_permitted_or_does_not_fit_changes_nothing() {
    let environment = TestEnvironment::new();
    environment.write(".env", "KEY=1\n");
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.client();
    let (files, index) = (environment.files(), environment.index());
    let patches = [
        "--- a/.env\n+++ b/.env\n@@ -1,1 +1,1 @@\n-KEY=1\n+KEY=2\n".to_owned(),
        adds(".env.local", &["KEY=2"]),
        adds(".git/hooks/pre-commit", &["#!/bin/sh"]),
        adds("src/../.git/config", &["[core]"]),
        adds("../outside.txt", &["out"]),
        adds("/etc/passwd", &["out"]),
        adds("notes/not-allowed.txt", &["out"]),
        "--- a/src/text.sh\n+++ b/src/text.sh\n@@ -1,1 +1,1 @@\n-nothing like it\n+else\n".to_owned(),
        "--- a/src/missing.sh\n+++ b/src/missing.sh\n@@ -1,1 +1,1 @@\n-a\n+b\n".to_owned(),
        "diff --git a/src/text.sh b/.env\nrename from src/text.sh\nrename to .env\n".to_owned(),
        format!("{}{}", shout("$1!"), adds(".env.local", &["KEY=2"])),
    ];
    for patch in patches {
        client.send(json!({"type": "apply_patch", "patch": patch}));
        let error = client.event("error");
        assert!(!error["error"].as_str().unwrap().is_empty());
        assert_eq!((environment.files(), environment.index()), (files.clone(), index.clone()), "{patch}");
    }
}

#[test]
fn a_patch_adds_no_file_of_secrets_where_every_path_is_allowed() {
    let environment = TestEnvironment::new();
    environment.config(json!({"allow_paths": null}));
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.client();
    for path in [".env", "config/.env.local", "keys/id_rsa"] {
        client.ok(json!({"type": "apply_patch", "patch": adds(path, &["KEY=2"])}));
        client.event("error");
        assert!(!environment.has(path), "{path}");
    }
    client.ok(json!({"type": "apply_patch", "patch": adds(".env.example", &["KEY="])}));
    client.until(|frame| frame["event"]["success"] == true);
    assert!(environment.has(".env.example"));
}

#[test]
fn tests_are_run_alone() {
    let environment = TestEnvironment::new();
    environment.write("test/red_test.sh", "expect \"it is red\" 1 2\n");
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.old_client("");
    client.send(json!({"type": "run_tests"}));
    let output = client.event("tests_output");
    assert_eq!(output["exitCode"], 1);
    assert_has(output["stdout"].as_str().unwrap(), &["not ok", "it is red"]);
    assert_eq!(environment.runs().len(), 0, "no cycle was begun");
    assert_eq!(client.frames.iter().filter_map(complaint).count(), 0);
}

#[test]
fn only_who_shows_the_token_comes_in() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::new());
    let file = environment.path("state/checkmate/daemon/token");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let token = &daemon.token;
    let with = |query: &str, headers: &[(&'static str, &str)]| {
        let mut request = daemon.bare_request(query);
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        daemon
            .connect(request)
            .map(|mut client| assert_eq!(client.read().unwrap()["event"]["type"], "status"))
    };
    let own = format!("http://localhost:{}", daemon.port);
    let (bearer, query) = (format!("Bearer {token}"), format!("?token={token}"));
    let protocols = format!("checkmate.v1, checkmate.token.{token}");
    assert_eq!(with("", &[("authorization", &bearer)]), Ok(()));
    assert_eq!(with("", &[("sec-websocket-protocol", &protocols)]), Ok(()));
    assert_eq!(with(&query, &[]), Ok(()));
    assert_eq!(with(&query, &[("origin", &own)]), Ok(()), "the panel");
    assert_eq!(with("", &[]), Err(401));
    assert_eq!(with("", &[("origin", &own)]), Err(401));
    assert_eq!(with("?token=", &[]), Err(401));
    assert_eq!(with(&format!("?token={}", "0".repeat(64)), &[]), Err(401));
    assert_eq!(with(&format!("?token={}", &token[..63]), &[]), Err(401));
    assert_eq!(with("", &[("authorization", "Bearer x")]), Err(401));
    for origin in
        ["https://evil.example", "null", "http://localhost:1", "http://localhost.evil.example", "vscode"]
    {
        assert_eq!(with(&query, &[("origin", origin)]), Err(403), "{origin}");
    }
    for host in
        ["evil.example", "evil.example:9876", "localhost.evil.example", "localhost@evil.example", "127.0.0.2"]
    {
        assert_eq!(with(&query, &[("host", host)]), Err(403), "{host}");
    }
    assert_eq!(with(&query, &[("host", "[::1]:7")]), Ok(()));
}

#[test]
fn programs_of_this_machine_come_in_where_that_is_allowed() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start_with(&environment, &Script::approved(), &["--allow-local-unauthenticated"]);
    let mut client = daemon.connect(daemon.bare_request("")).ok().unwrap();
    whole_cycle(&mut client, true);
    for origin in ["https://evil.example", "null"] {
        let mut request = daemon.bare_request("");
        request.headers_mut().insert("origin", origin.parse().unwrap());
        assert_eq!(daemon.connect(request).err(), Some(403));
    }
    let mut request = daemon.bare_request("");
    request.headers_mut().insert("origin", format!("http://localhost:{}", daemon.port).parse().unwrap());
    assert_eq!(daemon.connect(request).err(), Some(401), "pages need the token in any case");
    let mut request = daemon.bare_request("");
    request.headers_mut().insert("host", "rebound.example".parse().unwrap());
    assert_eq!(daemon.connect(request).err(), Some(403));
}

#[test]
fn where_everybody_comes_in_commands_are_cut_off() {
    let environment = TestEnvironment::new();
    let open = ["--allow-local-unauthenticated"];
    for reachable in [json!({"network": true}), json!({"sandbox": false})] {
        environment.config(reachable);
        let daemon = Daemon::start_with(&environment, &Script::approved(), &open);
        let mut client = daemon.client();
        let run = client.begin(json!({}));
        client.until(|frame| frame["run"] == *run && frame["event"]["type"] == "error");
        assert_has(&client.error(json!({"type": "run_tests"})), &["could reach this daemon"]);
        assert_eq!(environment.answers("ran").len(), 0, "no command ran");
        client.ok(json!({"type": "cancel", "run": run}));
        environment.wait_for(|| !environment.run_folder().join("daemon").exists());
    }
}

#[test]
fn the_token_stands_in_no_log() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    assert_has(&daemon.said(), &["/#token=$(cat '", "daemon/token')"]);
    assert_has_not(&daemon.said(), &[&daemon.token]);
}

#[test]
fn pages_of_other_hosts_get_nothing_by_http_either() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::new());
    let get = |path: &str, headers: &str| {
        daemon.raw(&format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"))
    };
    let host = format!("Host: localhost:{}\r\n", daemon.port);
    assert_has(&get("/healthz", &host), &["HTTP/1.1 200", "\"status\":\"ok\""]);
    assert_has(&get("/", &host), &["HTTP/1.1 200", "content-security-policy", "nosniff", "no-referrer"]);
    assert_has(&get("/missing", &host), &["HTTP/1.1 404"]);
    for path in ["/", "/healthz", "/missing", "/../../etc/passwd"] {
        assert_has(&get(path, "Host: evil.example\r\n"), &["HTTP/1.1 403"]);
        assert_has(&get(path, &format!("{host}Origin: https://evil.example\r\n")), &["HTTP/1.1 403"]);
        assert!(!get(path, &host).contains(&daemon.token), "{path}");
    }
    assert_has(&daemon.raw("GET /healthz HTTP/1.0\r\n\r\n"), &["403"]);
    assert_has(
        &daemon.raw(&format!("GET / HTTP/1.1\r\n{host}{host}Connection: close\r\n\r\n")),
        &["HTTP/1.1 40"],
    );
}

/// The example of the documentation, by a program that knows nothing of this one.
#[test]
fn the_example_of_a_client_drives_a_run() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/clients/client.py");
    let mut command = environment.command("python3");
    let ended = environment.output(command.args([example, "Add shout"]));
    ended.ended(0);
    assert_eq!(ended.stdout, "verdict: approved\nApproved and landed.\n");
    assert!(environment.has("src/shout.sh"));
    assert_eq!(daemon.end(), Some(0));
    environment.output(environment.command("python3").args([example, "Add shout"])).ended(1);
}
