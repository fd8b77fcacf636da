//! The daemon is killed or ended at any moment, and started again: nothing is lost and nothing comes twice.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::daemon::{Daemon, assert_numbered};
use crate::environment::{TestEnvironment, assert_has};
use crate::plays::{self, Play};
use crate::script::Script;
use crate::test_serve_follow::talkative;

/// What a run came to.
#[derive(Debug, PartialEq)]
struct Came {
    /// The events, without what differs from run to run.
    told: Vec<String>,
    files: std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>,
    landed: usize,
    called: usize,
}

fn came(environment: &TestEnvironment, told: &[Value]) -> Came {
    assert_numbered(told, 1);
    let kinds = told.iter().map(|frame| frame["event"]["type"].as_str().unwrap().to_owned());
    let ends = environment.journal().iter().filter(|line| line["record"] == "ended").count();
    assert_eq!(ends, 1, "it ends once");
    Came {
        told: kinds.collect(),
        files: environment.files(),
        landed: environment.answers("landed").len(),
        called: environment.answers("called").len(),
    }
}

/// Plays a run whose daemon is killed when its journal has so many lines, for each of these numbers.
fn play(play: &Play, lines: &[usize]) -> (Came, usize) {
    let environment = play.world();
    let script = (play.script)();
    let mut daemon = Daemon::start(&environment, &script);
    let run = daemon.client().begin(json!({}));
    for lines in lines {
        environment.wait_for(|| environment.journal().len() >= *lines);
        daemon.kill();
        daemon = Daemon::start(&environment, &script);
    }
    let mut client = daemon.client();
    client.subscribe(&run, 1);
    client.until(|frame| frame["event"]["type"] == "outcome");
    // A client's own order: the daemon has nothing more to tell.
    environment.wait_for(|| !environment.run_folder().join("daemon").exists());
    let latest = client.subscribe(&run, u64::MAX);
    while (client.told(&run).len() as u64) < latest {
        client.read().unwrap();
    }
    let told = client.told(&run);
    let total = environment.journal().len();
    (came(&environment, &told), total)
}

#[test]
fn a_killed_daemon_goes_on_at_every_line_of_the_journal() {
    for which in [plays::COMMITTED, plays::CONFIRMED] {
        let (undisturbed, total) = play(&which, &[]);
        for lines in (2..total).step_by(5) {
            assert_eq!(play(&which, &[lines]).0, undisturbed, "killed at line {lines}");
        }
        assert_eq!(play(&which, &[3, total / 2, total - 2]).0, undisturbed, "killed three times");
    }
}

#[test]
fn a_question_stands_again_after_a_kill_and_what_was_answered_does_not() {
    let environment = TestEnvironment::new();
    environment.config(json!({"approve_patches": true}));
    let script = Script::approved();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"attended": true, "land": "ask"}));
    let asked = client.event("question_asked");
    assert_eq!(asked["question"]["question"], "patch", "{asked}");
    daemon.kill();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    client.subscribe(&run, 1);
    let again = client.event("question_asked");
    assert_eq!(again, asked);
    // The name can be told before the run is driven again.
    client.ok(json!({"type": "answer", "run": run, "gate": asked["gate"], "reply": "yes"}));
    let land = client
        .until(|frame| frame["event"]["type"] == "question_asked" && frame["event"]["gate"] != asked["gate"])
        ["event"]
        .clone();
    daemon.kill();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    client.subscribe(&run, 1);
    client.until(|frame| frame["event"]["gate"] == land["gate"]);
    let error = client.error(json!({"type": "answer", "run": run, "gate": asked["gate"], "reply": "no"}));
    assert!(error.contains("somebody was quicker"), "{error}");
    client.ok(json!({"type": "answer", "run": run, "gate": land["gate"], "reply": "yes"}));
    assert_eq!(client.end_of(&run)["success"], true);
    assert_numbered(&client.told(&run), 1);
    let asked = client.told(&run).iter().filter(|frame| frame["event"]["type"] == "question_asked").count();
    assert_eq!(asked, 2);
    assert_eq!(environment.answers("landed").len(), 1);
}

#[test]
fn what_the_daemon_has_confirmed_outlives_a_kill_in_the_same_moment() {
    let environment = TestEnvironment::new();
    environment.config(json!({"approve_patches": true}));
    let script = Script::approved();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"attended": true, "land": "ask"}));
    let asked = client.event("question_asked");
    client.ok(json!({"type": "answer", "run": run, "gate": asked["gate"], "reply": "yes"}));
    daemon.kill();
    assert_eq!(environment.answers("said").len(), 1);
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    client.subscribe(&run, 1);
    let land = client.until(|frame| frame["event"]["question"]["question"] == "land")["event"].clone();
    assert_ne!(land["gate"], asked["gate"]);
    client.ok(json!({"type": "comment", "run": run, "text": "It is fine as it is."}));
    daemon.kill();
    assert_eq!(environment.journal().last().unwrap()["event"]["command"]["text"], "It is fine as it is.");
}

#[test]
fn what_was_said_to_a_run_in_the_queue_outlives_a_kill() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let script = Script::approved();
    let daemon = Daemon::start_with(&environment, &script, &["--max-runs", "1"]);
    let mut client = daemon.client();
    client.begin(json!({"land": "ask"}));
    environment.wait_for(|| environment.path("here").exists());
    let queued = client.begin(json!({"land": "ask"}));
    client.ok(json!({"type": "comment", "run": queued, "text": "Shout politely."}));
    client.ok(json!({"type": "comment", "run": queued, "text": "And loudly."}));
    client.error(json!({"type": "comment", "run": queued, "text": " "}));
    daemon.kill();
    let daemon = Daemon::start_with(&environment, &script, &["--max-runs", "1"]);
    let mut client = daemon.client();
    environment.let_go();
    client.subscribe(&queued, 1);
    client.end_of(&queued);
    let told = client.told(&queued);
    let taken = told.iter().filter(|frame| frame["event"]["type"] == "command_taken");
    let texts: Vec<&Value> = taken.map(|frame| &frame["event"]["command"]["text"]).collect();
    assert_eq!(texts, ["Shout politely.", "And loudly."]);
    assert_has(environment.prompts("builder").last().unwrap(), &["Shout politely.", "And loudly."]);
}

#[test]
fn a_queue_outlives_a_kill() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let script = Script::approved();
    let daemon = Daemon::start_with(&environment, &script, &["--max-runs", "1"]);
    let mut client = daemon.client();
    let runs: Vec<String> = (0..3).map(|_| client.begin(json!({"land": "ask"}))).collect();
    environment.wait_for(|| environment.path("here").exists());
    daemon.kill();
    let daemon = Daemon::start_with(&environment, &script, &["--max-runs", "1"]);
    let mut client = daemon.client();
    client.ok(json!({"type": "watch_runs"}));
    let listed = client.ok(json!({"type": "list_runs"}));
    let standing = |run: &String| {
        let listed = listed["runs"].as_array().unwrap();
        listed.iter().find(|state| state["run"] == **run).unwrap()["standing"].clone()
    };
    assert_eq!(runs[1..].iter().map(standing).collect::<Vec<_>>(), ["queued", "queued"]);
    environment.let_go();
    for run in &runs {
        client.subscribe(run, 1);
        client.until(|frame| frame["run"] == **run && frame["event"]["type"] == "cycle_complete");
        assert_numbered(&client.told(run), 1);
    }
    assert_eq!(environment.runs().len(), 3);
}

#[test]
fn an_ended_daemon_goes_on_at_the_next_start() {
    for signal in [Signal::TERM, Signal::INT] {
        let environment = TestEnvironment::new();
        environment.add_waiting_test();
        let script = Script::approved();
        let daemon = Daemon::start(&environment, &script);
        let mut client = daemon.client();
        client.ok(json!({"type": "watch_runs"}));
        let run = client.begin(json!({"land": "apply"}));
        environment.wait_for(|| environment.path("here").exists());
        daemon.signal(signal);
        assert_eq!(client.read_to_end(), Some(1001), "it says goodbye");
        let state = client.frames.iter().rfind(|frame| frame["event"]["type"] == "run_changed");
        assert_eq!(state.unwrap()["event"]["state"]["standing"], "interrupted", "and where the run stands");
        assert_eq!(daemon.end_by_itself(), Some(0));
        assert_eq!(environment.processes(), Vec::<String>::new(), "no command goes on");
        assert_eq!(environment.journal().iter().filter(|line| line["record"] == "ended").count(), 0);
        environment.let_go();
        let daemon = Daemon::start(&environment, &script);
        assert!(daemon.said().contains("Listening"));
        let mut client = daemon.client();
        client.subscribe(&run, 1);
        assert_eq!(client.end_of(&run)["success"], true);
        assert_numbered(&client.told(&run), 1);
        assert_eq!(environment.answers("landed").len(), 1);
    }
}

#[test]
fn tests_that_a_client_asked_for_end_with_the_daemon() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.client();
    client.send(json!({"type": "run_tests"}));
    environment.wait_for(|| environment.path("here").exists());
    assert_eq!(daemon.end(), Some(0));
    environment.wait_for(|| environment.processes().is_empty());
}

#[test]
fn a_note_on_a_run_that_is_over_changes_nothing() {
    let environment = TestEnvironment::new();
    let script = Script::approved();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "apply"}));
    client.end_of(&run);
    environment.wait_for(|| !environment.run_folder().join("daemon").exists());
    daemon.kill();
    let (journal, files) = (environment.journal(), environment.files());
    for note in ["", "{\"records\":0,\"commands\":[{\"command\":\"retry\"}]}", "garbage"] {
        std::fs::write(environment.run_folder().join("daemon"), note).unwrap();
        let daemon = Daemon::start(&environment, &script);
        let mut client = daemon.client();
        client.subscribe(&run, 1);
        client.end_of(&run);
        environment.wait_for(|| !environment.run_folder().join("daemon").exists());
        daemon.kill();
        assert_eq!((environment.journal(), environment.files()), (journal.clone(), files.clone()), "{note}");
    }
}

#[test]
fn a_landing_that_was_accepted_outlives_a_kill_in_the_queue() {
    let environment = TestEnvironment::new();
    let script = Script::approved();
    let daemon = Daemon::start_with(&environment, &script, &["--max-runs", "1"]);
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "ask"}));
    client.end_of(&run);
    environment.wait_for(|| !environment.run_folder().join("daemon").exists());
    let busy = client.begin(json!({"attended": true, "land": "ask"}));
    client.until(|frame| frame["run"] == *busy && frame["event"]["type"] == "question_asked");
    client.ok(json!({"type": "land", "run": run, "how": "apply"}));
    assert!(!environment.has("src/shout.sh"));
    daemon.kill();
    let daemon = Daemon::start_with(&environment, &script, &["--max-runs", "2"]);
    let mut client = daemon.client();
    client.subscribe(&run, 1);
    client.until(|frame| frame["run"] == *run && frame["event"]["success"] == true);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn a_landing_that_somebody_else_has_done_meanwhile_is_not_done_again() {
    let environment = TestEnvironment::new();
    let script = Script::approved();
    let daemon = Daemon::start_with(&environment, &script, &["--max-runs", "1"]);
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "ask"}));
    client.end_of(&run);
    environment.wait_for(|| !environment.run_folder().join("daemon").exists());
    let files = environment.files();
    let mut busy = daemon.client();
    environment.add_waiting_test();
    busy.begin(json!({"land": "ask"}));
    environment.wait_for(|| environment.path("here").exists());
    client.ok(json!({"type": "land", "run": run, "how": "apply"}));
    daemon.kill();
    environment.let_go();
    environment.run(&["land", &run]).ended(0);
    assert!(environment.has("src/shout.sh"));
    environment.run(&["undo", &run]).ended(0);
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    client.subscribe(&run, 1);
    client.until(|frame| frame["event"]["outcome"]["stopped_by"] == "not_landed" && frame["run"] == *run);
    environment.wait_for(|| environment.runs().iter().all(|folder| !folder.join("daemon").exists()));
    assert!(!environment.has("src/shout.sh"), "{files:?}");
}

#[test]
fn a_run_that_cannot_go_on_keeps_its_history_and_its_turn() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let script = Script::approved();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "apply"}));
    environment.wait_for(|| environment.path("here").exists());
    daemon.kill();
    // As a key could be missing.
    let (agents, away) = (environment.run_folder().join("script.json"), environment.path("away.json"));
    std::fs::rename(&agents, &away).unwrap();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    client.subscribe(&run, 1);
    client.until(|frame| frame["run"] == *run && frame["event"]["type"] == "error");
    let told = client.subscribe(&run, 1);
    assert!(told > 3, "what has happened is told: {told}");
    daemon.end();
    std::fs::rename(&away, &agents).unwrap();
    environment.let_go();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    client.subscribe(&run, 1);
    assert_eq!(client.end_of(&run)["success"], true);
    assert_numbered(&client.told(&run), 1);
}

#[test]
fn what_was_said_to_a_run_that_could_not_begin_is_said_when_it_does() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let script = Script::approved();
    let daemon = Daemon::start_with(&environment, &script, &["--max-runs", "1"]);
    let mut client = daemon.client();
    let first = client.begin(json!({"land": "ask"}));
    environment.wait_for(|| environment.path("here").exists());
    let queued = client.begin(json!({"land": "ask"}));
    client.ok(json!({"type": "comment", "run": queued, "text": "Shout politely."}));
    let folder = environment.runs().into_iter().find(|folder| folder.ends_with(&queued)).unwrap();
    let (agents, away) = (folder.join("script.json"), environment.path("away.json"));
    std::fs::rename(&agents, &away).unwrap();
    environment.let_go();
    client.end_of(&first);
    client.until(|frame| frame["run"] == *queued && frame["event"]["type"] == "error");
    std::fs::rename(&away, &agents).unwrap();
    client.ok(json!({"type": "resume", "run": queued}));
    assert!(!client.end_of(&queued)["message"].as_str().unwrap().is_empty());
    assert_has(environment.prompts("builder").last().unwrap(), &["Shout politely."]);
}

#[test]
fn a_reply_that_was_under_way_is_asked_for_again_and_paid_once() {
    let environment = TestEnvironment::new();
    let script = talkative();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({}));
    client.event("stream_chunk");
    daemon.kill();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    client.subscribe(&run, 1);
    assert_eq!(client.event("stream_chunk")["start"], true);
    assert_eq!(environment.answers("called").len(), 0);
    client.ok(json!({"type": "cancel", "run": run}));
    client.end_of(&run);
}
