//! Several repositories and runs at once, and their configurations.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::environment::{TestEnvironment, assert_has};
use crate::script::Script;

/// Copies the repository to a second one beside it.
fn second(environment: &TestEnvironment, name: &str) -> PathBuf {
    let (from, to) = (environment.root(), environment.path(name));
    let output = environment.command("cp").arg("-r").arg(from).arg(&to).output().unwrap();
    assert!(output.status.success());
    to.canonicalize().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn workspaces_and_runs_go_on_beside_each_other() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let other = second(&environment, "other");
    let root = environment.root().canonicalize().unwrap();
    let arguments = ["--workspace", text(&root), "--workspace", text(&other), "--max-runs", "4"];
    let daemon = Daemon::start_with(&environment, &Script::approved(), &arguments);
    let mut client = daemon.client();
    client.ok(json!({"type": "watch_runs"}));
    let mut runs = Vec::new();
    for workspace in [&root, &other] {
        runs.push(client.begin(json!({"workspace": text(workspace), "land": "apply"})));
        runs.push(client.begin(json!({"workspace": text(workspace), "land": "ask"})));
    }
    // All of them are under way before any test may end.
    for run in &runs {
        let works = |frame: &Value| {
            frame["run"] == **run
                && frame["event"]["type"] == "part_started"
                && frame["event"]["work"]["work"] == "check"
        };
        while !client.frames.iter().any(works) {
            client.read().unwrap();
        }
    }
    environment.let_go();
    client.end_of_all(&runs);
    assert!(environment.has("src/shout.sh") && other.join("src/shout.sh").exists());
    let own = client.ok(json!({"type": "list_runs", "workspace": text(&other)}));
    assert_eq!(own["runs"].as_array().unwrap().len(), 2);
    assert_eq!(client.ok(json!({"type": "list_runs"}))["runs"].as_array().unwrap().len(), 4);
    client.error(json!({"type": "list_runs", "workspace": "/nowhere"}));
    client.error(json!({"type": "run_cycle", "request": "x", "workspace": "/nowhere"}));
}

#[test]
fn one_at_a_time_they_go_in_the_order_in_which_they_came() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let daemon = Daemon::start_with(&environment, &Script::approved(), &["--max-runs", "1"]);
    let mut client = daemon.client();
    let runs: Vec<String> = (0..4).map(|_| client.begin(json!({"land": "ask"}))).collect();
    environment.wait_for(|| environment.path("here").exists());
    let listed = client.ok(json!({"type": "list_runs"}));
    let standings: Vec<&Value> =
        listed["runs"].as_array().unwrap().iter().map(|run| &run["standing"]).collect();
    assert_eq!(standings.iter().filter(|standing| **standing == "queued").count(), 3);
    environment.let_go();
    client.end_of_all(&runs);
    let telling = |what: &str| {
        let frames = client.frames.iter().filter(|frame| frame["event"]["type"] == what);
        frames.map(|frame| frame["run"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(telling("run_started"), runs);
    assert_eq!(telling("cycle_complete"), runs);
}

#[test]
fn workspaces_take_turns_and_who_waits_for_a_person_keeps_nobody_waiting() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let other = second(&environment, "other");
    let root = environment.root().canonicalize().unwrap();
    let arguments = ["--workspace", text(&root), "--workspace", text(&other), "--max-runs", "1"];
    let daemon = Daemon::start_with(&environment, &Script::approved(), &arguments);
    let mut client = daemon.client();
    let many: Vec<String> = (0..3).map(|_| client.begin(json!({"land": "ask"}))).collect();
    environment.wait_for(|| environment.path("here").exists());
    let asked = client.begin(json!({"workspace": text(&other), "land": "ask", "attended": true}));
    environment.let_go();
    client.end_of_all(&many);
    let of = |what: &str| {
        let frames = client.frames.iter().filter(|frame| frame["event"]["type"] == what);
        frames.map(|frame| frame["run"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("run_started"), [&*many[0], &*asked, &*many[1], &*many[2]]);
    assert_eq!(of("question_asked"), [&*asked]);
    assert_eq!(of("cycle_complete"), [&*many[0], &*many[1], &*many[2]], "the question still stands");
}

#[test]
fn a_workspace_whose_configuration_is_broken_refuses_runs_and_the_others_work() {
    let environment = TestEnvironment::new();
    let broken = second(&environment, "broken");
    std::fs::write(broken.join(".dualagent.json"), "{\"test_command\": 7}").unwrap();
    let none = environment.path("tmp");
    let root = environment.root().canonicalize().unwrap();
    let arguments = ["--workspace", text(&broken), "--workspace", text(&root), "--workspace", text(&none)];
    let daemon = Daemon::start_with(&environment, &Script::approved(), &arguments);
    assert_has(&daemon.said(), &["warning: Runs in", "`test_command`"]);
    let mut client = daemon.client();
    let hello = client.ok(json!({"type": "hello", "version": 1}));
    let problems: Vec<bool> =
        hello["workspaces"].as_array().unwrap().iter().map(|one| one["problem"].is_string()).collect();
    assert_eq!(problems, [true, false, true]);
    assert_has(hello["workspaces"][0]["problem"].as_str().unwrap(), &["`test_command`"]);
    for workspace in [&broken, &none] {
        for message in ["run_cycle", "apply_patch", "run_tests"] {
            let message =
                json!({"type": message, "request": "x", "patch": "x", "workspace": text(workspace)});
            assert!(!client.error(message).is_empty());
        }
    }
    let run = client.begin(json!({"workspace": text(&root), "land": "apply"}));
    assert_eq!(client.end_of(&run)["success"], true);
    let mut of_query = daemon.old_client(&format!("?workspace={}", text(&root).replace('/', "%2F")));
    assert_has(of_query.read().unwrap()["event"]["message"].as_str().unwrap(), &[text(&root)]);
    of_query.send(json!({"type": "run_tests"}));
    assert_eq!(of_query.event("tests_output")["exitCode"], 0);
    let mut lost = daemon.old_client("?workspace=/nowhere");
    assert_eq!(lost.read().unwrap()["event"]["type"], "status");
    lost.send(json!({"type": "run_cycle", "request": "x"}));
    assert_has(lost.event("error")["error"].as_str().unwrap(), &["/nowhere"]);
}

#[test]
fn without_a_key_models_are_refused_and_the_daemon_listens() {
    let environment = TestEnvironment::new();
    environment.config(json!({"builder_provider": "anthropic", "builder_model": "m",
        "reviewer_provider": "openai", "reviewer_model": "m"}));
    let daemon = Daemon::of(&environment, &mut environment.checkmate(&["serve", "--port", "0"]));
    assert_has(&daemon.said(), &["warning: Runs in"]);
    let mut client = daemon.client();
    assert_has(&client.error(json!({"type": "run_cycle", "request": "x"})), &["API_KEY"]);
    assert_eq!(environment.runs().len(), 0);
    let applied = client.ok(json!({"type": "run_tests"}));
    assert_eq!(applied["exitCode"], 0, "tests need no key");
}

#[test]
fn the_variable_selects_the_workspace_and_the_flag_goes_before_it() {
    let mut environment = TestEnvironment::new();
    let other = second(&environment, "other");
    let root = environment.root().canonicalize().unwrap();
    environment.set("WORKSPACE_ROOT", text(&other));
    let first = |daemon: &Daemon| {
        let workspaces = daemon.client().ok(json!({"type": "list_workspaces"}));
        workspaces["workspaces"][0]["root"].as_str().unwrap().to_owned()
    };
    assert_eq!(first(&Daemon::start(&environment, &Script::new())), text(&other));
    let daemon = Daemon::start_with(&environment, &Script::new(), &["--workspace", text(&root)]);
    assert_eq!(first(&daemon), text(&root));
    drop(daemon);
    let mut command = environment.checkmate(&["serve", "--port", "0", "--workspace", "/nowhere/at/all"]);
    assert_has(environment.output(&mut command).ended(64), &["/nowhere/at/all"]);
}

#[test]
fn folders_are_opened_and_nonsense_is_not() {
    let environment = TestEnvironment::new();
    let other = second(&environment, "other");
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let file = environment.root().join("src/text.sh");
    let none = environment.path("tmp");
    let nonsense = [
        "",
        ".",
        "..",
        "src",
        "/nowhere",
        "/",
        "\u{0}",
        "/\u{0}",
        text(&file),
        text(&none),
        "~",
        &"/x".repeat(5000),
    ];
    for path in nonsense {
        client.error(json!({"type": "open_workspace", "path": path}));
    }
    client.error(json!({"type": "open_workspace", "path": 7}));
    client.error(json!({"type": "open_workspace"}));
    for _ in 0..2 {
        let inside = other.join("src");
        let opened = client.ok(json!({"type": "open_workspace", "path": text(&inside)}));
        assert_eq!(opened["workspaces"].as_array().unwrap().len(), 2);
        assert_eq!(opened["workspaces"][1]["root"], text(&other));
    }
    let run = client.begin(json!({"workspace": text(&other), "land": "apply"}));
    client.end_of(&run);
    assert!(other.join("src/shout.sh").exists() && !environment.has("src/shout.sh"));
}

#[test]
fn configurations_are_read_checked_and_saved() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.client();
    let present = environment.read(".dualagent.json");
    let told = client.ok(json!({"type": "get_configuration"}));
    assert_eq!(
        (&told["text"], &told["errors"], &told["saved"]),
        (&json!(present), &json!([]), &json!(false))
    );
    let values = told["values"].as_array().unwrap();
    let value = |key: &str| values.iter().find(|value| value["key"] == key).unwrap().clone();
    assert_eq!(value("test_command")["value"], "sh test/run.sh");
    assert_has(value("test_command")["from"].as_str().unwrap(), &[".dualagent.json"]);
    for wrong in ["", "{", "[]", "{\"test_comand\": 1}", "{\"test_command\": 7}", "\u{0}"] {
        let checked = client.ok(json!({"type": "check_configuration", "text": wrong}));
        assert_ne!(checked["errors"], json!([]), "{wrong}");
        let saved = client.ok(json!({"type": "save_configuration", "text": wrong, "replaces": present}));
        assert_eq!(saved["saved"], false);
        assert_eq!(environment.read(".dualagent.json"), present);
    }
    let newer = present.replace("sh test/run.sh", "sh ./test/run.sh");
    let checked = client.ok(json!({"type": "check_configuration", "text": newer}));
    assert_eq!((&checked["errors"], &checked["saved"]), (&json!([]), &json!(false)));
    for other in [Value::Null, json!(""), json!(newer)] {
        let conflict = client.ok(json!({"type": "save_configuration", "text": newer, "replaces": other}));
        assert_eq!(
            (&conflict["saved"], &conflict["text"]),
            (&json!(false), &json!(present)),
            "it tells what is there"
        );
        assert_has(conflict["errors"][0].as_str().unwrap(), &["has changed meanwhile"]);
    }
    assert_eq!(environment.read(".dualagent.json"), present);
    let saved = client.ok(json!({"type": "save_configuration", "text": newer, "replaces": present}));
    assert_eq!((&saved["saved"], &saved["text"]), (&json!(true), &json!(newer)));
    assert_eq!(environment.read(".dualagent.json"), newer);
    // A link leads elsewhere, and nothing is written there.
    let outside = environment.path("outside.json");
    std::fs::rename(environment.root().join(".dualagent.json"), &outside).unwrap();
    let gone = client.ok(json!({"type": "get_configuration"}));
    assert_eq!(gone["text"], Value::Null);
    std::os::unix::fs::symlink(&outside, environment.root().join(".dualagent.json")).unwrap();
    client.error(json!({"type": "save_configuration", "text": present, "replaces": newer}));
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), newer);
    std::fs::remove_file(environment.root().join(".dualagent.json")).unwrap();
    let made = client.ok(json!({"type": "save_configuration", "text": present, "replaces": null}));
    assert_eq!(made["saved"], true);
}

#[test]
fn a_workspace_that_leads_elsewhere_is_not_worked_in() {
    let (environment, other) = (TestEnvironment::new(), TestEnvironment::new());
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "ask"}));
    client.end_of(&run);
    let (root, away) = (environment.root(), environment.path("away"));
    std::fs::rename(&root, &away).unwrap();
    assert_eq!(client.ok(json!({"type": "list_runs"}))["runs"][0]["run"], *run, "its past can be read");
    std::os::unix::fs::symlink(other.root(), &root).unwrap();
    let error = client.error(json!({"type": "run_cycle", "request": "Add shout"}));
    assert_has(&error, &["leads to another repository now"]);
    client.error(json!({"type": "land", "run": run, "how": "apply"}));
    assert!(!other.has("src/shout.sh"));
    std::fs::remove_file(&root).unwrap();
    std::fs::rename(&away, &root).unwrap();
    client.ok(json!({"type": "land", "run": run, "how": "apply"}));
    client.until(|frame| frame["event"]["success"] == true);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn a_request_goes_on_in_the_workspace_of_the_run_before() {
    let (environment, other) = (TestEnvironment::new(), TestEnvironment::new());
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "ask"}));
    client.end_of(&run);
    let root = other.root().canonicalize().unwrap();
    client.ok(json!({"type": "open_workspace", "path": root}));
    let error = client
        .error(json!({"type": "run_cycle", "request": "Now louder", "workspace": root, "follows": run}));
    assert_has(&error, &["has no run", "in the workspace of the run before"]);
}

#[test]
fn the_past_can_be_read_where_no_index_can_be_kept() {
    let environment = TestEnvironment::new();
    let index = environment.path("state/checkmate/index.sqlite");
    std::fs::create_dir_all(&index).unwrap();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "ask"}));
    client.end_of(&run);
    environment.wait_for(|| !environment.run_folder().join("daemon").exists());
    assert_eq!(client.ok(json!({"type": "list_runs"}))["runs"][0]["standing"], "approved");
    let found = client.ok(json!({"type": "search", "query": "shout"}));
    assert_eq!((found["hits"].as_array().unwrap().len(), &found["whole"]), (1, &json!(true)));
    assert!(index.is_dir(), "nothing of anybody's was removed");
    let mode = std::fs::metadata(environment.path("state/checkmate")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "nobody else looks into it");
}
