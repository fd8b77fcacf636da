//! `checkmate doctor`: each thing that can be wrong, wrong once.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, assert_has, assert_has_not};
use crate::script::Script;
use crate::terminal::Terminal;

/// A key that must be seen nowhere.
const KEY: &str = "sk-never-to-be-seen-0123456789";

/// A provider on loopback that answers every request alike and remembers what it was asked.
struct Provider {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    fn start(status: u16, headers: &str, body: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let answer = format!(
            "HTTP/1.1 {status} Said\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
                while !request.ends_with(b"\r\n\r\n") {
                    match connection.read(&mut buffer) {
                        Ok(read @ 1..) => request.extend_from_slice(&buffer[..read]),
                        Ok(0) | Err(_) => break,
                    }
                    // What greets in TLS never ends a head.
                    if request.first() == Some(&0x16) {
                        break;
                    }
                }
                seen.lock().unwrap().push(String::from_utf8_lossy(&request).into_owned());
                connection.write_all(answer.as_bytes()).ok();
            }
        });
        Self { address, requests }
    }

    /// Offers these models.
    fn of(models: &[&str]) -> Self {
        let list: Vec<Value> = models.iter().map(|id| json!({"id": id})).collect();
        Self::start(200, "content-type: application/json\r\n", &json!({"data": list}).to_string())
    }

    fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Makes a world whose models are asked at this address.
fn world(url: &str) -> TestEnvironment {
    let environment = TestEnvironment::new();
    configure(&environment, url, json!({}));
    environment
}

/// Writes a configuration with models at this address and these keys.
fn configure(environment: &TestEnvironment, url: &str, keys: Value) {
    let model = json!({"provider": "local", "model": "m", "base_url": url});
    let mut all = json!({"builder": model, "reviewer": model});
    all.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    environment.config(all);
}

/// Looks, and returns the findings.
#[track_caller]
fn findings(environment: &TestEnvironment, code: i32, arguments: &[&str]) -> Vec<Value> {
    let output = environment.run(&[&["doctor", "--json"], arguments].concat());
    output.ended(code);
    assert_has_not(&format!("{}{}", output.stdout, output.stderr), &[KEY, "never-to-be-seen"]);
    serde_json::from_str::<Vec<Value>>(&output.stdout).unwrap()
}

/// Makes sure that a check came to this, and that its next step is this one.
#[track_caller]
fn assert_found(findings: &[Value], check: &str, state: &str, message: &str, next: &str) {
    let said = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let fits = findings.iter().any(|finding| {
        finding["check"] == check
            && finding["state"] == state
            && said(finding, "message").contains(message)
            && said(finding, "next").contains(next)
    });
    let of_check: Vec<&Value> = findings.iter().filter(|finding| finding["check"] == check).collect();
    assert!(fits, "no {check} is {state} with `{message}` and `{next}` among {of_check:#?}");
}

fn offline(environment: &TestEnvironment, code: i32) -> Vec<Value> {
    findings(environment, code, &["--offline", "--no-tests"])
}

#[test]
fn where_nothing_is_wrong_every_check_says_so() {
    let provider = Provider::of(&["m"]);
    let environment = world(&provider.url());
    let before = (environment.files(), environment.index(), environment.git(&["for-each-ref"]));
    let output = environment.run(&["doctor"]);
    assert_eq!(output.ended(0).trim(), "Everything that a run needs is there.");
    let lines: Vec<&str> = output.stdout.lines().collect();
    for line in &lines {
        assert!(line.starts_with("✓ "), "{line}");
        assert!(line.chars().nth(15) == Some(' ') && line.chars().nth(16) != Some(' '), "columns: {line}");
    }
    for part in [
        "✓ git           This is git ",
        "2.38 or later is needed",
        "is on the branch `main`",
        "needs no key",
        "The builder's model `m` is known at http://127.0.0.1",
        "no network but the loopback",
        "`sh test/run.sh` starts /",
        "All 2 entries of `allow_paths` match files.",
        "1 test passed in ",
        ", confined as in a run.",
        "There are no runs yet.",
    ] {
        assert_has(&output.stdout, &[part]);
    }
    assert_eq!(before, (environment.files(), environment.index(), environment.git(&["for-each-ref"])));
    assert!(environment.runs().is_empty());
    let left =
        environment.command("find").arg(environment.path("state")).args(["-name", "doctor-*"]).output();
    assert_eq!(left.unwrap().stdout, b"", "the tree in which the tests ran is gone");
    // Both roles share an endpoint, which is asked once.
    assert_eq!(provider.requests().len(), 1);
    assert!(provider.requests()[0].starts_with("GET /v1/models HTTP"));
}

#[test]
fn git_is_missing_or_too_old() {
    let mut environment = world("http://localhost:1/v1");
    let bin = environment.path("bin");
    std::fs::create_dir(&bin).unwrap();
    environment.set("PATH", bin.to_str().unwrap());
    let output = environment.output(
        Command::new(env!("CARGO_BIN_EXE_checkmate"))
            .args(["doctor", "--json", "--offline", "--no-tests"])
            .current_dir(environment.root())
            .env_clear()
            .env("PATH", &bin)
            .env("HOME", environment.path("home")),
    );
    let found: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    output.ended(1);
    assert_found(&found, "git", "fail", "The `git` program was not found.", "Install git 2.38 or later");
    executable(&bin.join("git"), "#!/bin/sh\necho git version 2.37.9\n");
    let found = offline(&environment, 1);
    assert_found(
        &found,
        "git",
        "fail",
        "This is git 2.37.9, but Checkmate needs git 2.38 or later.",
        "Upgrade git.",
    );
    assert_found(&found, "tests", "skipped", "there is no usable repository", "");
}

fn executable(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_repository_cannot_be_used() {
    let environment = TestEnvironment::empty();
    let found = offline(&environment, 1);
    assert_found(&found, "repository", "fail", "is not in a git repository.", "Run `git init`");
    environment.git(&["init", "-q"]);
    let found = offline(&environment, 1);
    assert_found(&found, "repository", "fail", "has no commits yet.", "git commit -m");
    environment.git(&["config", "core.bare", "true"]);
    let found = offline(&environment, 1);
    assert_found(&found, "repository", "fail", "is a bare repository", "Clone it");
}

#[test]
fn a_merge_is_half_done() {
    let environment = world("http://localhost:1/v1");
    std::fs::write(environment.root().join(".git/MERGE_HEAD"), environment.git(&["rev-parse", "HEAD"]))
        .unwrap();
    let found = offline(&environment, 0);
    assert_found(&found, "repository", "warn", "A merge is in progress", "Finish or abort it");
}

/// Makes a lock that is an hour old.
fn old_lock(environment: &TestEnvironment, name: &str) -> std::path::PathBuf {
    let lock = environment.root().join(".git").join(name);
    std::fs::write(&lock, "").unwrap();
    assert!(Command::new("touch").args(["-d", "1 hour ago"]).arg(&lock).status().unwrap().success());
    lock
}

#[cfg(target_os = "linux")]
#[test]
fn a_lock_that_git_left_behind_is_removed_if_nobody_holds_it() {
    let environment = world("http://localhost:1/v1");
    let fresh = environment.root().join(".git/HEAD.lock");
    std::fs::write(&fresh, "").unwrap();
    let stale = [old_lock(&environment, "index.lock"), old_lock(&environment, "refs/heads/main.lock")];
    let found = offline(&environment, 1);
    assert_found(
        &found,
        "locks",
        "fail",
        "index.lock behind 60 minutes ago; no git process works here",
        "rm '",
    );
    assert_found(&found, "locks", "fail", "refs/heads/main.lock", "checkmate doctor --fix");
    assert_found(&found, "locks", "warn", "HEAD.lock is 0 seconds old", "Wait some minutes");
    assert!(stale.iter().all(|lock| lock.exists()), "nothing is mended without --fix");
    let output = environment.run(&["doctor", "--offline", "--no-tests", "--fix"]);
    assert_has(output.ended(0), &["Removed $TMP/repo/.git/index.lock.", "main.lock."]);
    assert!(stale.iter().all(|lock| !lock.exists()));
    assert!(fresh.exists(), "one that is young stays");
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_is_asked_before_anything_is_mended() {
    for (first, stays) in [("n", true), ("y", false)] {
        let environment = world("http://localhost:1/v1");
        let lock = old_lock(&environment, "index.lock");
        let terminal = Terminal::new(160, 40).types("[y/N] ", first).types("[y/N] ", "n");
        let seen = terminal.run(&environment, &["doctor", "--fix", "--offline", "--no-tests"]);
        let lines = seen.ended(i32::from(stays));
        assert_has(
            lines,
            &["Remove $TMP/repo/.git/index.lock? [y/N]", "Make the folder $TMP/state/checkmate? [y/N]"],
        );
        assert_eq!(lock.exists(), stays, "{lines}");
        assert!(!environment.path("state/checkmate").exists(), "{lines}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_lock_that_a_git_process_may_hold_stays() {
    let environment = world("http://localhost:1/v1");
    let lock = old_lock(&environment, "index.lock");
    let mut git = environment.command("git");
    let mut git =
        git.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let found = findings(&environment, 0, &["--offline", "--no-tests", "--fix"]);
    assert_found(&found, "locks", "warn", &format!("A git process is at work ({})", git.id()), "Wait for it");
    assert!(lock.exists());
    drop(git.stdin.take());
    git.wait().unwrap();
    // Whoever has it open holds it, whatever the program is called.
    let holder = std::fs::File::open(&lock).unwrap();
    let found = findings(&environment, 0, &["--offline", "--no-tests", "--fix"]);
    assert_found(&found, "locks", "warn", &format!("({})", std::process::id()), "");
    drop(holder);
    findings(&environment, 0, &["--offline", "--no-tests", "--fix"]);
    assert!(!lock.exists());
}

#[test]
fn a_missing_configuration_is_written_if_that_is_wanted() {
    let mut environment = world("http://localhost:1/v1");
    environment.set("ANTHROPIC_API_KEY", KEY);
    environment.set("OPENAI_API_KEY", KEY);
    environment.write("package.json", r#"{"scripts": {"test": "sh test/run.sh"}}"#);
    environment.git(&["rm", "-q", ".dualagent.json"]);
    environment.commit();
    let found = offline(&environment, 1);
    assert_found(&found, "configuration", "fail", "Config file not found.", "checkmate init");
    assert_found(&found, "key", "skipped", "there is no usable configuration", "");
    assert!(!environment.has(".dualagent.json"));
    let found = findings(&environment, 0, &["--offline", "--no-tests", "--fix"]);
    assert_found(&found, "configuration", "ok", "is valid", "");
    let fixed =
        found.iter().find(|finding| finding["check"] == "configuration").unwrap()["fixed"].to_string();
    assert_has(&fixed, &["Wrote ", "npm test"]);
    assert_has(&environment.read(".dualagent.json"), &["npm test"]);
    // One that is there is nobody's to write, however wrong it is.
    environment.write(".dualagent.json", "{\"review_mode\": \"some\", \"test_command\": 1, \"reviwer\": 1}");
    let found = findings(&environment, 1, &["--offline", "--no-tests", "--fix"]);
    assert_found(
        &found,
        "configuration",
        "fail",
        ".dualagent.json:1:17: `review_mode` must be \"always\"",
        "",
    );
    assert_found(&found, "configuration", "fail", "`test_command` must be a text", "");
    assert_has(&environment.read(".dualagent.json"), &["\"some\""]);
    environment.write(".dualagent.json", "{");
    assert_found(&offline(&environment, 1), "configuration", "fail", ".dualagent.json:1:", "JSON");
}

#[test]
fn what_is_odd_about_a_configuration_is_no_failure() {
    let environment = world("http://localhost:1/v1");
    configure(
        &environment,
        "http://localhost:1/v1",
        json!({"review_mod": "always", "review_on_test_pass": false}),
    );
    let found = offline(&environment, 0);
    assert_found(&found, "configuration", "warn", "`review_mod` is not a key", "Did you mean `review_mode`?");
    assert_found(&found, "configuration", "warn", "`review_on_test_pass` has no effect unless", "");
}

#[test]
fn keys_are_named_and_never_shown() {
    let mut environment = TestEnvironment::new();
    let roles = json!({"builder_provider": "openai", "builder_model": "m", "reviewer_provider": "anthropic", "reviewer_model": "n"});
    environment.config(roles);
    environment.set("ANTHROPIC_API_KEY", KEY);
    let found = offline(&environment, 1);
    assert_found(
        &found,
        "key",
        "fail",
        "Missing OPENAI_API_KEY, which the builder needs",
        "export OPENAI_API_KEY=\"sk-…\"",
    );
    assert_found(&found, "key", "ok", "The reviewer's key is in ANTHROPIC_API_KEY.", "");
    environment.set("OPENAI_API_KEY", &format!("{KEY} {KEY}"));
    assert_found(
        &offline(&environment, 1),
        "key",
        "fail",
        "The key in OPENAI_API_KEY contains a space",
        "export OPENAI_API_KEY",
    );
    environment.config(json!({"builder_provider": "opnai", "builder_model": "m", "reviewer_provider": "replay", "reviewer_model": "n"}));
    let found = offline(&environment, 1);
    assert_found(
        &found,
        "key",
        "fail",
        "The builder's provider `opnai` is not known.",
        "Choose one of: openai",
    );
    assert_found(&found, "key", "warn", "The reviewer's provider is `replay`", "--replay FILE");
}

/// Looks at the models with one provider's settings.
fn look(role: Value, code: i32) -> Vec<Value> {
    let mut environment = TestEnvironment::new();
    environment.set("THE_KEY", KEY);
    environment.set("CHECKMATE_TRUSTED_HOSTS", "models.invalid");
    environment.set("NO_PROXY", "*");
    environment.config(json!({"builder": role, "reviewer": role}));
    findings(&environment, code, &["--no-tests"])
}

#[test]
fn what_stands_in_the_way_of_an_endpoint_is_told_apart() {
    let html = "content-type: text/html\r\n";
    let said = r#"{"error":{"message":"no, because of sk-never-to-be-seen-0123456789"}}"#;
    for (status, headers, body, provider, state, message, next) in [
        (
            401,
            "",
            said,
            "openai",
            "fail",
            "did not accept the key in THE_KEY (HTTP 401).",
            "export THE_KEY=\"…\"",
        ),
        (
            403,
            "",
            said,
            "openai",
            "warn",
            "The key in THE_KEY may not list the models",
            "what the account and the key allow",
        ),
        (
            404,
            "",
            said,
            "openai",
            "fail",
            "There is no list of models at",
            "this is not the address of the provider `openai`",
        ),
        (404, "", said, "local", "skipped", "answers, but has no list of models", ""),
        (
            200,
            html,
            "<html>Log in</html>",
            "local",
            "fail",
            "answers with a web page (HTTP 200).",
            "login page",
        ),
        (
            302,
            "location: http://portal/login\r\n",
            "",
            "local",
            "fail",
            "redirects to http://portal/login",
            "login page",
        ),
        (
            503,
            "",
            said,
            "local",
            "warn",
            "is busy or out of order (HTTP 503: no, because of [redacted]).",
            "Wait a while",
        ),
        (
            400,
            "",
            said,
            "openai",
            "fail",
            "refused to list its models (HTTP 400",
            "speaks the protocol of the provider `openai`",
        ),
        (200, "", "OK", "local", "skipped", "has no list of models", ""),
    ] {
        let server = Provider::start(status, headers, body);
        let role =
            json!({"provider": provider, "model": "m", "base_url": server.url(), "api_key_env": "THE_KEY"});
        let found = look(role, i32::from(state == "fail"));
        assert_found(&found, "model", state, message, next);
    }
    // A server that asks for a key that nobody named.
    let server = Provider::start(401, "", "{}");
    let found = look(json!({"provider": "local", "model": "m", "base_url": server.url()}), 1);
    assert_found(&found, "model", "fail", "asks for a key (HTTP 401).", "`api_key_env`");
}

#[test]
fn what_stands_in_the_way_of_a_connection_is_told_apart() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let plain = Provider::of(&["m"]);
    let trusted = Provider::of(&["m"]);
    for (url, message, next) in [
        (
            format!("http://{closed}/v1"),
            "Nothing listens at http://127.0.0.1",
            "that the server of the model is running",
        ),
        (format!("https://{}/v1", plain.address), "does not speak TLS", "Write `http://`"),
        (
            "http://models.invalid/v1".into(),
            "The name `models.invalid` of http://models.invalid/v1/ has no address",
            "DNS",
        ),
    ] {
        let found =
            look(json!({"provider": "local", "model": "m", "base_url": url, "api_key_env": "THE_KEY"}), 1);
        assert_found(&found, "model", "fail", message, next);
    }
    drop(trusted);
    // Nobody accepts what is in the queue of a listener.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let found = look(json!({"provider": "local", "model": "m", "base_url": url}), 1);
    assert_found(&found, "model", "fail", "did not answer within 6 s.", "firewall");
}

#[test]
fn a_model_that_nobody_knows_is_named_with_the_nearest() {
    let list = ["gpt-5.1", "gpt-5.1-mini", "text-embedding-3-small"];
    for (provider, state) in [("openai", "fail"), ("vllm", "fail"), ("llama_cpp", "warn")] {
        let server = Provider::of(&list);
        let role = json!({"provider": provider, "model": "gpt-51", "base_url": server.url(), "api_key_env": "THE_KEY"});
        let code = i32::from(state == "fail");
        let found = if provider == "openai" {
            // Asked for it by its name, this server says the list again.
            let server = Aliases::start(&list);
            look(
                json!({"provider": provider, "model": "gpt-51", "base_url": server.url(), "api_key_env": "THE_KEY"}),
                code,
            )
        } else {
            look(role, code)
        };
        assert_found(
            &found,
            "model",
            state,
            "The builder's model `gpt-51` is none of the 3 models that http://127.0.0.1",
            "the nearest names there: `gpt-5.1`, `gpt-5.1-mini`",
        );
    }
    let server = Provider::of(&["qwen3-coder:latest"]);
    let found = look(json!({"provider": "ollama", "model": "qwen3-coder", "base_url": server.url()}), 0);
    assert_found(&found, "model", "ok", "The builder's model `qwen3-coder` is known", "");
}

/// A provider that has a list, and says 404 of everything below it but the alias `latest`.
struct Aliases(String);

impl Aliases {
    fn start(models: &[&str]) -> Self {
        let list: Vec<Value> = models.iter().map(|id| json!({"id": id})).collect();
        let list = json!({"data": list}).to_string();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                let mut buffer = [0; 4096];
                let read = connection.read(&mut buffer).unwrap_or(0);
                let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
                let path = request.split_whitespace().nth(1).unwrap_or_default().to_owned();
                let (status, body) = match path.split('?').next().unwrap_or_default() {
                    "/v1/models" => (200, list.as_str()),
                    "/v1/models/latest" => (200, r#"{"id": "claude-of-today"}"#),
                    _ => (404, "{}"),
                };
                let head = format!(
                    "HTTP/1.1 {status} Said\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                connection.write_all(format!("{head}{body}").as_bytes()).ok();
            }
        });
        Self(address)
    }

    fn url(&self) -> String {
        format!("http://{}/v1", self.0)
    }
}

#[test]
fn an_alias_that_is_in_no_list_is_asked_for_by_name() {
    let server = Aliases::start(&["claude-of-today"]);
    let role = |model: &str| json!({"provider": "anthropic", "model": model, "base_url": server.url(), "api_key_env": "THE_KEY"});
    assert_found(&look(role("latest"), 0), "model", "ok", "The builder's model `latest` is known", "");
    assert_found(
        &look(role("newest"), 1),
        "model",
        "fail",
        "The builder's model `newest` is none of the 1 model",
        "",
    );
}

#[test]
fn each_provider_is_asked_in_its_own_way() {
    for (provider, body, path, header) in [
        ("openai", r#"{"data":[{"id":"m"}]}"#, "GET /v1/models HTTP", format!("authorization: bearer {KEY}")),
        (
            "anthropic",
            r#"{"data":[{"id":"m"}]}"#,
            "GET /v1/models?limit=1000 HTTP",
            format!("x-api-key: {KEY}"),
        ),
        (
            "gemini",
            r#"{"models":[{"name":"models/m"}]}"#,
            "GET /v1beta/models?pageSize=1000 HTTP",
            format!("x-goog-api-key: {KEY}"),
        ),
    ] {
        let server = Provider::start(200, "", body);
        let url = format!("http://{}", server.address);
        let found =
            look(json!({"provider": provider, "model": "m", "base_url": url, "api_key_env": "THE_KEY"}), 0);
        assert_found(&found, "model", "ok", "The reviewer's model `m` is known", "");
        let requests = server.requests();
        assert_eq!(requests.len(), 1);
        assert!(requests[0].starts_with(path), "{}", requests[0]);
        assert_has(&requests[0].to_lowercase(), &[&header]);
    }
}

#[test]
fn offline_asks_nobody() {
    let server = Provider::of(&["m"]);
    let environment = world(&server.url());
    assert_found(&offline(&environment, 0), "model", "skipped", "`--offline`", "");
    assert!(server.requests().is_empty());
}

#[test]
fn a_clock_that_is_wrong_is_noticed() {
    let server = Provider::start(200, "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", r#"{"data":[{"id":"m"}]}"#);
    let environment = world(&server.url());
    let found = findings(&environment, 0, &["--no-tests"]);
    assert_found(&found, "clock", "warn", "The clock of this machine differs from that of", "time service");
    let mut commit = environment.command("git");
    commit.args(["commit", "-q", "--allow-empty", "-m", "Later"]);
    assert!(commit.env("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z").status().unwrap().success());
    assert_found(&offline(&environment, 0), "clock", "warn", "days in its future", "Set the clock");
}

/// Looks with a test command.
fn tested(command: &str, keys: Value, code: i32) -> Vec<Value> {
    let environment = TestEnvironment::new();
    let mut all = json!({"test_command": command});
    all.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    configure(&environment, "http://localhost:1/v1", all);
    findings(&environment, code, &["--offline"])
}

#[test]
fn the_test_command_is_really_run() {
    for (command, keys, state, message, next) in [
        ("sh test/run.sh", json!({}), "ok", "1 test passed in ", ""),
        (
            "sh -c 'echo ok 1 - a; echo not ok 2 - b; echo 1..2; exit 1'",
            json!({}),
            "warn",
            "1 of 2 tests failed in ",
            "If it is green in your own terminal",
        ),
        (
            "sh -c 'echo Something is missing. >&2; exit 1'",
            json!({}),
            "fail",
            "no test was counted. It said: Something is missing.",
            "Correct `test_command`",
        ),
        ("sh -c 'echo 1..0'", json!({}), "warn", "zero tests are no evidence", "Write at least one test"),
        ("sh src/text.sh", json!({}), "warn", "it counts as one test", "`test_report`"),
        (
            "sleep 60",
            json!({"test_time_limit_s": 1}),
            "fail",
            "did not end within 1 s.",
            "`test_time_limit_s`",
        ),
        // What it prints may be anything.
        (
            "sh -c 'echo $HIDDEN_KEY; exit 1'",
            json!({"keep_env": ["HIDDEN_KEY"]}),
            "fail",
            "no test was counted",
            "",
        ),
    ] {
        let code = i32::from(state == "fail");
        assert_found(&tested(command, keys, code), "tests", state, message, next);
    }
    // It runs in a tree of its own, confined: what git ignores is not there, and nothing outside can be written.
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = outside.path().join("x");
    let command = format!("sh -c 'echo 1 > {}'", file.display());
    tested(&command, json!({"sandbox": true}), 1);
    assert!(!file.exists());
}

#[test]
fn secrets_that_tests_print_are_not_shown() {
    let mut environment = TestEnvironment::new();
    environment.set("HIDDEN_KEY", KEY);
    let keys = json!({"test_command": "sh -c 'echo $HIDDEN_KEY; exit 1'", "keep_env": ["HIDDEN_KEY"]});
    configure(&environment, "http://localhost:1/v1", keys);
    let found = findings(&environment, 1, &["--offline"]);
    assert_found(&found, "tests", "fail", "It said: [redacted]", "");
}

#[test]
fn the_program_of_the_test_command_is_looked_for() {
    for (command, state, message) in [
        (
            "mytest --all",
            "fail",
            "`mytest --all` cannot start `mytest`: there is no program `mytest` on PATH.",
        ),
        ("./run-tests", "fail", "there is no file `./run-tests`"),
        ("cd test && nosuch run.sh", "warn", "cannot start `nosuch`: there is no program `nosuch` on PATH."),
        ("cd test && sh run.sh", "ok", "is run by `sh -c` and starts /"),
    ] {
        let environment = TestEnvironment::new();
        configure(&environment, "http://localhost:1/v1", json!({"test_command": command}));
        let found = offline(&environment, i32::from(state == "fail"));
        assert_found(
            &found,
            "test command",
            state,
            message,
            if state == "ok" { "" } else { "correct `test_command`" },
        );
        assert_found(&found, "tests", "skipped", "`--no-tests`", "");
    }
}

#[test]
fn paths_that_name_nothing_are_named() {
    let environment = TestEnvironment::new();
    let keys = json!({"allow_paths": ["src/**", "tests/**", "lib/**/*.c"], "link_paths": ["node_modules", "data/big"]});
    configure(&environment, "http://localhost:1/v1", keys);
    let found = offline(&environment, 0);
    assert_found(
        &found,
        "allow_paths",
        "warn",
        "`tests/**` in `allow_paths` matches no file.",
        "a folder like `test`?",
    );
    assert_found(&found, "allow_paths", "warn", "`lib/**/*.c`", "leave it for files that agents are to add");
    assert_found(&found, "link_paths", "warn", "`node_modules` in `link_paths` does not exist", "npm ci");
    assert_found(&found, "link_paths", "warn", "`data/big`", "take the entry out");
    environment.write("node_modules/x", "");
    environment.write("data/big", "");
    assert_found(&offline(&environment, 0), "link_paths", "ok", "node_modules, data/big can be linked.", "");
}

#[test]
fn the_folder_of_runs_has_to_be_writable() {
    let mut environment = world("http://localhost:1/v1");
    let state = environment.path("state/checkmate");
    assert_found(&offline(&environment, 0), "state", "ok", "The first run makes ", "");
    assert!(!state.exists());
    findings(&environment, 0, &["--offline", "--no-tests", "--fix"]);
    assert!(state.is_dir());
    assert_found(&offline(&environment, 0), "state", "ok", "is writable; its disk has ", "");
    std::fs::write(environment.path("file"), "").unwrap();
    environment.set("XDG_STATE_HOME", environment.path("file").to_str().unwrap());
    let found = offline(&environment, 1);
    assert_found(&found, "state", "fail", "nothing can be written to ", "set XDG_STATE_HOME");
}

#[test]
fn runs_that_were_cut_off_are_named() {
    let environment = world("http://localhost:1/v1");
    environment.add_waiting_test();
    let mut child = environment.start_and_wait(environment.cycle_command(&Script::approved()));
    let found = offline(&environment, 0);
    assert_found(&found, "runs", "ok", &format!("is going on (process {})", child.id()), "");
    child.kill().unwrap();
    child.wait().unwrap();
    environment.let_go();
    let name = environment.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    let found = offline(&environment, 0);
    assert_found(
        &found,
        "runs",
        "warn",
        &format!("The run {name} was cut off: Add shout"),
        &format!("checkmate resume {name}"),
    );
    std::fs::write(environment.run_folder().join("landing.json"), "{}").unwrap();
    let found = offline(&environment, 1);
    assert_found(
        &found,
        "runs",
        "fail",
        &format!("The landing of the run {name} was cut off"),
        "finishes it",
    );
}

#[test]
fn a_run_that_is_over_is_none_that_was_cut_off() {
    let environment = world("http://localhost:1/v1");
    environment.cycle(&Script::approved()).ended(0);
    assert_found(&offline(&environment, 0), "runs", "ok", "No run and no landing was cut off.", "");
}

/// The tests of the user do not go on when nobody waits for them any more.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_the_tests_and_leaves_nothing() {
    let environment = world("http://localhost:1/v1");
    environment.add_waiting_test();
    let child = environment.start_and_wait(environment.checkmate(&["doctor", "--offline"]));
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let output = environment.seen(&child.wait_with_output().unwrap());
    assert_has(output.ended(130), &["Interrupted."]);
    assert_eq!(environment.processes(), [""; 0]);
    assert_eq!(environment.git(&["for-each-ref", "refs/checkmate"]), "");
    // One that could not tidy up any more is tidied up after.
    std::fs::remove_file(environment.path("here")).unwrap();
    let mut child = environment.start_and_wait(environment.checkmate(&["doctor", "--offline"]));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(environment.git(&["for-each-ref", "refs/checkmate"]), "");
    environment.let_go();
    assert_found(&findings(&environment, 0, &["--offline"]), "tests", "ok", "2 tests passed", "");
    assert_eq!(environment.git(&["for-each-ref", "refs/checkmate"]), "");
}

/// Runs the program in a world where user namespaces are switched off, as they are in some containers.
#[cfg(target_os = "linux")]
fn without_namespaces(environment: &TestEnvironment, arguments: &[&str]) -> Option<Output> {
    let probe = Command::new("unshare")
        .args(["-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces"])
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        return None;
    }
    let line = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";
    let mut command = environment.command("unshare");
    command.args(["-Ur", "sh", "-c", line, "sh", env!("CARGO_BIN_EXE_checkmate")]).args(arguments);
    Some(environment.output(&mut command))
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_nearly_full_is_named() {
    let environment = world("http://localhost:1/v1");
    for (size, state, message) in [("64m", "fail", "has 64 MB left."), ("500m", "warn", "has 500 MB left.")] {
        let line = "mount -t tmpfs -o size=\"$1\" none \"$2\" && shift 2 && exec \"$@\"";
        let mut command = environment.command("unshare");
        command.args(["-Urm", "sh", "-c", line, "sh", size]).arg(environment.path("state"));
        command.args([env!("CARGO_BIN_EXE_checkmate"), "doctor", "--json", "--offline", "--no-tests"]);
        let output = environment.output(&mut command);
        // Some machines do not let everybody mount.
        let Ok(found) = serde_json::from_str::<Vec<Value>>(&output.stdout) else { return };
        assert_found(&found, "state", state, message, "Make room");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_machine_cannot_confine_is_said_with_the_remedy_and_on_the_card() {
    let environment = world("http://localhost:1/v1");
    let Some(output) = without_namespaces(&environment, &["doctor", "--json", "--offline"]) else { return };
    output.ended(0);
    let found: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    let gap = "ommands could use the network and leave processes behind here (no user namespaces)";
    assert_found(&found, "sandbox", "warn", gap, "sudo sysctl user.max_user_namespaces=15000");
    assert_found(&found, "tests", "ok", "confined as in a run", "");
    let (script, result) = (environment.script(&Script::approved()), environment.path("result.json"));
    let run = ["run", "Add shout", "--replay", &script, "--json", result.to_str().unwrap()];
    let output = without_namespaces(&environment, &run).unwrap();
    assert_has(output.ended(0), &[&format!("   ! c{gap}\n")]);
    assert_eq!(environment.result()["unconfined"], json!([format!("c{gap}")]));
    let shown = environment.run(&["show", "latest"]);
    assert_has(&shown.stdout, &[gap]);
    // The network is no gap where it is allowed.
    configure(&environment, "http://localhost:1/v1", json!({"network": true}));
    let output = without_namespaces(&environment, &["doctor", "--offline", "--no-tests"]).unwrap();
    assert_has(
        &output.stdout,
        &["! sandbox       Commands could leave processes behind here (no user namespaces)."],
    );
}

#[test]
fn a_run_that_is_confined_in_full_or_not_at_all_says_so_on_the_card() {
    let environment = TestEnvironment::new();
    assert_has_not(environment.cycle(&Script::approved()).ended(0), &["commands could", "not confined"]);
    assert_eq!(environment.result()["unconfined"], json!([]));
    let environment = TestEnvironment::new();
    configure(&environment, "http://localhost:1/v1", json!({"sandbox": false}));
    assert_has(
        environment.cycle(&Script::approved()).ended(0),
        &["! commands were not confined (`sandbox` is off)"],
    );
    assert_found(
        &offline(&environment, 0),
        "sandbox",
        "warn",
        "Commands are not confined",
        "Leave `sandbox` out",
    );
}

/// The page about trouble quotes what is said here, word for word but for names.
#[cfg(target_os = "linux")]
#[test]
fn troubleshooting_quotes_what_doctor_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    let page = std::fs::read_to_string(page).unwrap();
    let port = regex::Regex::new(r"127\.0\.0\.1:\d+").unwrap();
    let quoted = |environment: &TestEnvironment, found: &[Value], check: &str, parts: &[&str]| {
        let of_check =
            || found.iter().filter(|finding| finding["check"] == check && finding["state"] != "ok");
        assert!(of_check().next().is_some(), "{check}: {found:#?}");
        for finding in of_check() {
            for part in parts {
                let said = environment.normal(finding[*part].as_str().unwrap());
                let said =
                    said.replace("$TMP/repo", "/home/you/project").replace("RUN", "20261121-233700-zajc");
                let said = port.replace_all(&said, "127.0.0.1:8080").into_owned();
                assert!(page.contains(&format!("{said}\n")), "troubleshooting.md does not have: {said}");
            }
        }
    };
    let environment = TestEnvironment::new();
    let keys = json!({"allow_paths": ["src/**", "tests/**"], "test_command": "sh src/text.sh"});
    configure(&environment, "http://localhost:1/v1", keys);
    environment.cycle(&Script::approved());
    let run = environment.run_folder();
    old_lock(&environment, "index.lock");
    std::fs::write(run.join("landing.json"), "{}").unwrap();
    let found = findings(&environment, 1, &["--offline"]);
    quoted(&environment, &found, "locks", &["message"]);
    quoted(&environment, &found, "allow_paths", &["message", "next"]);
    quoted(&environment, &found, "tests", &["message"]);
    quoted(&environment, &found, "runs", &["message"]);
    std::fs::remove_file(run.join("landing.json")).unwrap();
    // A run that has begun and nothing more.
    let journal = std::fs::read_to_string(run.join("journal.jsonl")).unwrap();
    std::fs::write(run.join("journal.jsonl"), format!("{}\n", journal.lines().next().unwrap())).unwrap();
    quoted(&environment, &findings(&environment, 1, &["--offline", "--no-tests"]), "runs", &["message"]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let list = Provider::of(&["gpt-5.1", "gpt-5.1-mini", "text-embedding-3-small"]);
    let page_of_portal = Provider::start(200, "content-type: text/html\r\n", "<html>");
    let locked = Provider::start(401, "", "{}");
    for (url, parts) in [
        (list.url(), &["message", "next"][..]),
        (format!("http://{closed}/v1"), &["message"]),
        (format!("https://{}/v1", list.address), &["message"]),
        (page_of_portal.url(), &["message"]),
        (locked.url(), &["message"]),
    ] {
        let environment = TestEnvironment::new();
        let role = json!({"provider": "vllm", "model": "gpt-51", "base_url": url});
        environment.config(json!({"builder": role, "reviewer": {"provider": "replay", "model": "m"}}));
        let found = findings(&environment, 1, &["--no-tests"]);
        quoted(&environment, &found, "model", parts);
    }
    if let Some(output) = without_namespaces(&environment, &["doctor", "--json", "--offline", "--no-tests"]) {
        let found: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
        quoted(&environment, &found, "sandbox", &["message", "next"]);
    }
}

#[test]
fn the_page_about_events_has_an_example_of_a_finding() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/events.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with("What doctor finds")).unwrap();
    let example = section.lines().find(|line| line.starts_with('{')).unwrap();
    let example: serde_json::Map<String, Value> = serde_json::from_str(example).unwrap();
    let environment = TestEnvironment::new();
    environment.config(json!({"builder_provider": "anthropic", "builder_model": "m", "reviewer_provider": "ollama", "reviewer_model": "m"}));
    let found = offline(&environment, 1);
    assert!(found.contains(&Value::Object(example.clone())), "{found:#?}");
    for field in example.keys() {
        assert!(section.contains(&format!("| `{field}` |")), "{field}");
    }
    for finding in &found {
        assert_has(section, &[&format!("`{}`", finding["check"].as_str().unwrap())]);
    }
}
