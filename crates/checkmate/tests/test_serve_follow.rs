//! What those are told who follow a run of the daemon: the same, whenever they come.

use serde_json::{Value, json};

use crate::daemon::{Client, Daemon, assert_numbered};
use crate::environment::{TestEnvironment, assert_has};
use crate::plays;
use crate::script::{Script, approves, builds_with, shout};

/// A builder that talks for a minute, in many pieces.
pub(crate) fn talkative() -> Script {
    let risks: Vec<String> = (0..400).map(|number| format!("risk {number} of this change")).collect();
    let reply = builds_with(&shout("$1!"), json!({"risks": risks}));
    Script::new().entry(json!({"role": "builder", "reply": reply, "latency_ms": 60_000})).reviewer(approves())
}

/// Returns the text of the pieces that a client was told of a role's reply.
fn heard(client: &Client, role: &str) -> String {
    let pieces = client.frames.iter().map(|frame| &frame["event"]);
    let mut text = String::new();
    for event in pieces.filter(|event| event["type"] == "stream_chunk" && event["role"] == role) {
        if event["start"] == true {
            text.clear();
        }
        text += event["chunk"].as_str().unwrap();
    }
    text
}

#[test]
fn hello_says_who_is_there() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start_with(&environment, &Script::new(), &["--max-runs", "3"]);
    let mut client = daemon.old_client("");
    assert_eq!(client.read().unwrap()["event"]["type"], "status");
    let hello = client.ok(json!({"type": "hello", "version": 1}));
    assert_eq!((&hello["version"], &hello["runs_at_once"]), (&json!(1), &json!(3)));
    let workspace = &hello["workspaces"][0];
    assert_eq!(workspace["root"], environment.root().canonicalize().unwrap().to_str().unwrap());
    assert_eq!((&workspace["branch"], &workspace["problem"]), (&json!("main"), &Value::Null));
    let noted: Value = serde_json::from_str(
        &std::fs::read_to_string(environment.path("state/checkmate/daemon/daemon.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(noted["port"], daemon.port);
    assert_eq!(daemon.end(), Some(0));
    assert!(!environment.path("state/checkmate/daemon/daemon.json").exists());
}

#[test]
fn events_are_numbered_and_the_same_for_everybody_at_any_time() {
    let environment = plays::REFUTED.world();
    let script = (plays::REFUTED.script)();
    let daemon = Daemon::start(&environment, &script);
    let (mut first, mut second) = (daemon.client(), daemon.client());
    let run = first.begin(json!({"land": "apply"}));
    second.subscribe(&run, 1);
    first.event("outcome");
    second.event("outcome");
    let latest = daemon.client().subscribe(&run, u64::MAX);
    let whole = |client: &mut Client| {
        client.until(|frame| frame["seq"] == latest && frame["event"]["type"] != "stream_chunk");
        client.told(&run)
    };
    let mut late = daemon.client();
    assert_eq!(late.subscribe(&run, 1), latest);
    let told = whole(&mut late);
    assert_numbered(&told, 1);
    assert_eq!(told.len() as u64, latest);
    assert_eq!(told[0]["event"]["type"], "run_started");
    assert_eq!(heard(&late, "builder"), "", "what was said is over");
    assert_eq!(first.told(&run), told);
    assert_eq!(second.told(&run), told);
    for from in [2, 17, latest, latest + 1, 100_000] {
        let mut client = daemon.client();
        client.subscribe(&run, from);
        client.ok(json!({"type": "list_workspaces"}));
        if from <= latest {
            whole(&mut client);
        }
        let rest: Vec<Value> = told.iter().skip(from as usize - 1).cloned().collect();
        assert_eq!(client.told(&run), rest, "from {from}");
    }
    daemon.kill();
    let daemon = Daemon::start(&environment, &script);
    let mut again = daemon.client();
    again.subscribe(&run, 1);
    assert_eq!(whole(&mut again), told, "after a restart");
    assert_eq!(environment.answers("landed").len(), 1);
}

#[test]
fn who_comes_late_is_told_the_reply_under_way() {
    let environment = TestEnvironment::new();
    let script = talkative();
    let daemon = Daemon::start(&environment, &script);
    let mut first = daemon.client();
    let run = first.begin(json!({}));
    for _ in 0..5 {
        first.event("stream_chunk");
    }
    let mut late = daemon.client();
    late.subscribe(&run, 1);
    let piece = late.event("stream_chunk");
    assert_eq!((&piece["start"], &piece["role"]), (&json!(true), &json!("builder")));
    assert!(piece["chunk"].as_str().unwrap().len() >= heard(&first, "builder").len().min(5 * 40));
    late.event("stream_chunk");
    let whole = &script.replies("builder")[0];
    assert!(whole.starts_with(&heard(&late, "builder")), "nothing is missing and nothing comes twice");
    late.ok(json!({"type": "unsubscribe", "run": run}));
    late.ok(json!({"type": "cancel", "run": run}));
    assert_eq!(first.end_of(&run)["success"], false);
}

#[test]
fn who_follows_a_run_that_stands_still_hears_how_it_goes_on() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let (mut first, mut second) = (daemon.client(), daemon.client());
    let run = first.begin(json!({"land": "ask"}));
    first.end_of(&run);
    let latest = second.subscribe(&run, 1);
    assert_numbered(&second.told(&run), 1);
    first.ok(json!({"type": "land", "run": run, "how": "apply"}));
    assert_eq!(first.end_of(&run)["success"], true);
    second.until(|frame| frame["event"]["type"] == "cycle_complete" && frame["event"]["success"] == true);
    assert_numbered(&second.told(&run), 1);
    assert!(second.told(&run).len() as u64 > latest);
    assert_numbered(&first.told(&run), 1);
    first.ok(json!({"type": "undo", "run": run}));
    second.until(|frame| frame["event"]["command"]["command"] == "taken_back");
    assert_numbered(&second.told(&run), 1);
}

#[test]
fn runs_are_watched_and_listed_page_by_page() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start_with(&environment, &Script::approved(), &["--max-runs", "2"]);
    let mut watcher = daemon.client();
    watcher.ok(json!({"type": "watch_runs"}));
    let mut client = daemon.client();
    let mut runs: Vec<String> = (0..5).map(|_| client.begin(json!({"land": "ask"}))).collect();
    client.end_of_all(&runs);
    for run in &runs {
        let is_over = |frame: &Value| {
            let state = &frame["event"]["state"];
            state["run"] == **run && state["standing"] == "approved"
        };
        while !watcher.frames.iter().any(is_over) {
            watcher.read().unwrap();
        }
    }
    runs.sort();
    runs.reverse();
    let mut listed = Vec::new();
    let mut before = Value::Null;
    loop {
        let page = client.ok(json!({"type": "list_runs", "before": before, "limit": 2}));
        let names =
            page["runs"].as_array().unwrap().iter().map(|state| state["run"].as_str().unwrap().to_owned());
        listed.extend(names);
        before = json!(listed.last().unwrap());
        if page["more"] == false {
            break;
        }
        assert!(listed.len() < runs.len());
    }
    assert_eq!(listed, runs);
    let all = client.ok(json!({"type": "list_runs"}));
    let state = &all["runs"][0];
    assert_eq!((&state["standing"], &state["landed"]), (&json!("approved"), &json!(false)));
    assert_eq!(state["files"], json!(["src/shout.sh", "test/shout_test.sh"]));
    assert_eq!((&state["turn"], &state["requests"]), (&json!(1), &json!(2)));
    let none = client.ok(json!({"type": "list_runs", "before": runs.last().unwrap()}));
    assert_eq!((&none["runs"], &none["more"]), (&json!([]), &json!(false)));
    assert_eq!(client.ok(json!({"type": "list_runs", "limit": 0}))["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn words_find_runs_and_the_index_can_be_lost_at_any_time() {
    let environment = TestEnvironment::new();
    let script = Script::new()
        .builder(builds_with(&shout("$1!"), json!({"plan": ["Think of marmalade"]})))
        .reviewer(json!({"verdict": "approve", "issues": [], "stopping": "The zeppelin flies."}));
    let index = environment.path("state/checkmate/index.sqlite");
    let damages: [(&str, &dyn Fn()); 4] = [
        ("it is whole", &|| {}),
        ("it is gone", &|| std::fs::remove_file(&index).unwrap()),
        ("it is garbage", &|| std::fs::write(&index, "garbage".repeat(10_000)).unwrap()),
        ("its middle is garbage", &|| {
            let mut bytes = std::fs::read(&index).unwrap();
            let end = bytes.len();
            bytes[4096..end].fill(0xa5);
            std::fs::write(&index, bytes).unwrap();
        }),
    ];
    let mut daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"request": "Add shout for the grandmother", "land": "ask"}));
    client.end_of(&run);
    for (what, damage) in damages {
        assert_eq!(daemon.end(), Some(0));
        damage();
        daemon = Daemon::start(&environment, &script);
        let mut client = daemon.client();
        let mut found = |words: &str| {
            let found = client.ok(json!({"type": "search", "query": words}));
            let hits = found["hits"].as_array().unwrap();
            hits.iter().map(|hit| hit["state"]["run"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for words in ["grandmother", "GRANDmo", "marmalade", "zeppelin flies", "shout marma"] {
            assert_eq!(found(words), std::slice::from_ref(&run), "{what}: {words}");
        }
        for words in ["", "\"", "grandmother submarine", "*", "OR submarine(", "\u{0}"] {
            assert_eq!(found(words), Vec::<String>::new(), "{what}: {words}");
        }
        let listed = client.ok(json!({"type": "list_runs"}));
        assert_eq!(listed["runs"][0]["run"], run, "{what}");
    }
    // While it is in use.
    let mut client = daemon.client();
    std::fs::write(&index, "garbage".repeat(10_000)).unwrap();
    std::fs::remove_file(environment.path("state/checkmate/index.sqlite-wal")).ok();
    assert_eq!(client.ok(json!({"type": "search", "query": "marmalade"}))["hits"][0]["state"]["run"], run);
    assert_eq!(client.ok(json!({"type": "list_runs"}))["runs"][0]["run"], run);
}

#[test]
fn a_run_at_a_terminal_is_told_as_it_goes_on() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.client();
    client.ok(json!({"type": "watch_runs"}));
    let running = environment.start_and_wait(environment.cycle_command(&Script::approved()));
    let listed = client.ok(json!({"type": "list_runs"}));
    let run = listed["runs"][0]["run"].as_str().unwrap().to_owned();
    let told = client.subscribe(&run, 1);
    client.event("part_started");
    for message in [
        json!({"type": "comment", "run": run, "text": "Louder."}),
        json!({"type": "cancel", "run": run}),
        json!({"type": "resume", "run": run}),
    ] {
        assert_has(&client.error(message), &["Another checkmate drives this run"]);
    }
    client.error(json!({"type": "undo", "run": run}));
    environment.let_go();
    environment.end_of(running).ended(0);
    // The board and the feed are told in either order.
    let (mut on_the_board, mut in_the_feed) = (false, false);
    while !(on_the_board && in_the_feed) {
        let event = client.read().unwrap()["event"].clone();
        on_the_board |= event["state"]["standing"] == "approved";
        in_the_feed |= event["type"] == "cycle_complete" && event["success"] == true;
    }
    let latest = client.subscribe(&run, u64::MAX);
    assert!(latest > told);
    let told = client.told(&run);
    assert_numbered(&told, 1);
    let mut late = daemon.client();
    late.subscribe(&run, 1);
    late.until(|frame| frame["seq"] == latest);
    assert_eq!(late.told(&run), told);
    assert_eq!(environment.answers("landed").len(), 1);
}

#[test]
fn what_is_done_to_a_run_at_a_terminal_is_told() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    client.ok(json!({"type": "watch_runs"}));
    let run = client.begin(json!({"land": "ask"}));
    client.end_of(&run);
    environment.wait_for(|| !environment.run_folder().join("daemon").exists());
    environment.run(&["land", "latest"]).ended(0);
    client.until(|frame| frame["run"] == *run && frame["event"]["success"] == true);
    environment.run(&["undo", "latest"]).ended(0);
    client.until(|frame| frame["run"] == *run && frame["event"]["outcome"]["stopped_by"] == "not_landed");
    assert_numbered(&client.told(&run), 1);
    let other = environment.cycle(&Script::approved());
    other.ended(0);
    client.until(|frame| {
        let state = &frame["event"]["state"];
        state["standing"] == "approved" && state["run"] != *run
    });
}

#[test]
fn a_run_that_was_killed_at_a_terminal_goes_on_here() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let script = Script::approved();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let mut running = environment.start_and_wait(environment.cycle_command(&script));
    let run = client.ok(json!({"type": "list_runs"}))["runs"][0]["run"].as_str().unwrap().to_owned();
    client.subscribe(&run, 1);
    client.event("part_started");
    client.ok(json!({"type": "watch_runs"}));
    running.kill().unwrap();
    running.wait().unwrap();
    client.until(|frame| frame["event"]["state"]["standing"] == "interrupted");
    client.ok(json!({"type": "resume", "run": run}));
    environment.let_go();
    assert_eq!(client.end_of(&run)["success"], true);
    assert_numbered(&client.told(&run), 1);
    assert_eq!(environment.answers("landed").len(), 1);
}
