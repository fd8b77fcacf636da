//! What clients say to runs of the daemon, and who is heard.

use serde_json::{Value, json};

use crate::daemon::{Client, Daemon};
use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::plays;
use crate::script::{Script, approves, asks_for, builds, issue, reshout, shout};
use crate::test_serve_follow::talkative;

fn asked(client: &mut Client, kind: &str) -> Value {
    let question = client.event("question_asked");
    assert_eq!(question["question"]["question"], kind, "{question}");
    question["gate"].clone()
}

#[test]
fn of_two_answers_the_first_wins_and_both_clients_know() {
    let environment = TestEnvironment::new();
    environment.config(json!({"approve_patches": true}));
    let daemon = Daemon::start(&environment, &Script::approved());
    let (mut first, mut second) = (daemon.client(), daemon.client());
    let run = first.begin(json!({"attended": true, "land": "ask"}));
    second.subscribe(&run, 1);
    for kind in ["patch", "land"] {
        let gate = asked(&mut first, kind);
        assert_eq!(asked(&mut second, kind), gate);
        assert!(!environment.has("src/shout.sh"));
        for nonsense in ["", "main", "main/0.0", "main/999.0", "../x/1.0", "x/1.0", &"9".repeat(10_000)] {
            first.error(json!({"type": "answer", "run": run, "gate": nonsense, "reply": "yes"}));
        }
        let text = format!("{kind} is right");
        first.ok(json!({"type": "answer", "run": run, "gate": gate, "reply": "yes", "text": text}));
        let late = second.error(json!({"type": "answer", "run": run, "gate": gate, "reply": "no"}));
        assert!(late.contains("somebody was quicker"), "{late}");
        for client in [&mut first, &mut second] {
            let answered = client.event("question_answered");
            assert_eq!((&answered["gate"], &answered["yes"]), (&gate, &json!(true)));
        }
    }
    assert_eq!(first.end_of(&run)["success"], true);
    assert!(environment.has("src/shout.sh"));
    first.error(json!({"type": "answer", "run": run, "gate": "main/1.0", "reply": "yes"}));
    first.error(json!({"type": "answer", "run": "nobody", "gate": "main/1.0", "reply": "yes"}));
    first.error(json!({"type": "answer", "run": run, "gate": "main/1.0", "reply": "perhaps"}));
}

#[test]
fn a_no_reaches_the_builder_and_a_no_to_landing_leaves_the_change() {
    let environment = TestEnvironment::new();
    environment.config(json!({"approve_patches": true}));
    let script =
        Script::new().builder(builds(&shout("$1?"))).builder(builds(&shout("$1!"))).reviewer(approves());
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"attended": true, "land": "ask"}));
    let gate = asked(&mut client, "patch");
    client.ok(
        json!({"type": "answer", "run": run, "gate": gate, "reply": "no", "text": "Marks, not questions!"}),
    );
    let gate = asked(&mut client, "patch");
    assert_has(environment.prompts("builder").last().unwrap(), &["Marks, not questions!"]);
    client.ok(json!({"type": "answer", "run": run, "gate": gate, "reply": "yes"}));
    let gate = asked(&mut client, "land");
    client.ok(json!({"type": "answer", "run": run, "gate": gate, "reply": "no"}));
    client.end_of(&run);
    assert!(!environment.has("src/shout.sh"));
    client.ok(json!({"type": "land", "run": run, "how": "commit"}));
    client.until(|frame| frame["event"]["success"] == true);
    assert_eq!(environment.git(&["rev-list", "--count", "HEAD"]), "3");
}

#[test]
fn a_command_that_is_always_allowed_is_asked_about_once() {
    let environment = TestEnvironment::new();
    let unsure = |command: &str| {
        json!({"verdict": "block", "block_reason": "uncertainty", "issues": [],
            "diagnostics_needed": [command], "stopping": "I want to see it."})
    };
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(unsure("cat src/shout.sh"))
        .reviewer(asks_for(&[issue("empty", "major", "it shouts nothing")]))
        .builder(builds(&reshout("$1!", "${1:-}!")))
        .reviewer(unsure("cat src/shout.sh"))
        .reviewer(unsure("whoami"))
        .reviewer(approves());
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"attended": true, "land": "apply"}));
    let gate = asked(&mut client, "command");
    client.ok(json!({"type": "answer", "run": run, "gate": gate, "reply": "always"}));
    let other = client.until(|frame| {
        frame["event"]["type"] == "question_asked" && frame["event"]["question"]["line"] == "whoami"
    })["event"]["gate"]
        .clone();
    client.ok(json!({"type": "answer", "run": run, "gate": other, "reply": "no"}));
    assert_eq!(client.end_of(&run)["success"], true);
    let answered =
        client.told(&run).iter().filter(|frame| frame["event"]["type"] == "question_answered").count();
    let said = environment.answers("said");
    assert_eq!(said.len(), answered);
    assert_eq!(said.iter().map(|said| said["yes"] == true).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn of_two_questions_the_second_can_be_answered_first() {
    let environment = TestEnvironment::new();
    let review = json!({"verdict": "block", "block_reason": "uncertainty", "issues": [],
        "diagnostics_needed": ["cat src/shout.sh", "whoami"], "stopping": "I want to see both."});
    let script = Script::new().builder(builds(&shout("$1!"))).reviewer(review).reviewer(approves());
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"attended": true, "land": "apply"}));
    let (first, second) = (asked(&mut client, "command"), asked(&mut client, "command"));
    client.ok(json!({"type": "answer", "run": run, "gate": second, "reply": "no"}));
    client.ok(json!({"type": "list_workspaces"}));
    client.ok(json!({"type": "answer", "run": run, "gate": first, "reply": "yes"}));
    assert_eq!(client.end_of(&run)["success"], true);
}

#[test]
fn a_comment_is_read_before_anything_lands() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .builder(builds(&reshout("$1!", "${1}!")))
        .reviewer(approves())
        .reviewer(approves())
        .then("repeat_last_of_role");
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "apply"}));
    environment.wait_for(|| environment.path("here").exists());
    let comment = json!({"type": "comment", "run": run, "text": "Braces, please <b>\u{7}", "path": "src/shout.sh", "line": 1});
    client.ok(comment);
    let taken = client.event("command_taken");
    assert_eq!(taken["command"]["text"], "Braces, please <b>\u{7}");
    environment.let_go();
    assert_eq!(client.end_of(&run)["success"], true);
    assert_has(environment.prompts("builder").last().unwrap(), &["Braces, please", "src/shout.sh"]);
    assert_eq!(environment.read("src/shout.sh"), "shout() { echo \"${1}!\"; }\n");
    client.error(json!({"type": "comment", "run": run, "text": "Too late"}));
    client.error(json!({"type": "comment", "run": "nobody", "text": "Who?"}));
}

#[test]
fn a_disputed_finding_does_not_stand_any_more() {
    let environment = TestEnvironment::new();
    environment.config(json!({"approve_patches": true}));
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[issue("empty", "major", "an empty word shouts too")]))
        .builder(builds(&reshout("$1!", "${1}!")))
        .reviewer(asks_for(&[issue("empty", "major", "an empty word shouts too")]))
        .builder(builds(&reshout("${1}!", "${1:-}!")))
        .reviewer(approves());
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"attended": true, "land": "apply"}));
    let gate = asked(&mut client, "patch");
    client.ok(json!({"type": "answer", "run": run, "gate": gate, "reply": "yes"}));
    let gate = asked(&mut client, "patch");
    let review = client.frames.iter().find(|frame| frame["event"]["type"] == "review_ready").unwrap();
    let finding = review["event"]["review"]["issues"][0]["issue_id"].clone();
    client.error(json!({"type": "dispute", "run": run, "finding": "nothing", "text": "There is no such."}));
    client.ok(json!({"type": "dispute", "run": run, "finding": finding, "text": "It is meant to."}));
    let taken = client.event("command_taken");
    assert_eq!(taken["command"]["command"], "dispute");
    client.ok(json!({"type": "answer", "run": run, "gate": gate, "reply": "yes"}));
    client.until(|frame| {
        let event = &frame["event"];
        if event["type"] == "question_asked" {
            assert_ne!(event["gate"], gate);
        }
        event["type"] == "review_ready" && event["turn"] == 2
    });
    assert_eq!(client.end_of(&run)["success"], true, "nothing stands against it any more");
    let card = environment.run(&["show", "latest"]);
    assert_has(&card.stdout, &["Settled by a person", "It is meant to."]);
}

#[test]
fn runs_are_ended_wherever_they_stand() {
    let environment = TestEnvironment::new();
    let script = talkative();
    let daemon = Daemon::start_with(&environment, &script, &["--max-runs", "1"]);
    let mut client = daemon.client();
    let running = client.begin(json!({}));
    client.event("stream_chunk");
    let queued = client.begin(json!({}));
    client.ok(json!({"type": "cancel", "run": queued, "reason": "Not that one."}));
    let end = client.end_of(&queued);
    assert_has(end["message"].as_str().unwrap(), &["Not that one."]);
    client.ok(json!({"type": "cancel", "run": running}));
    assert_eq!(client.end_of(&running)["success"], false);
    let interrupted = client.begin(json!({}));
    client.until(|frame| frame["run"] == *interrupted && frame["event"]["type"] == "stream_chunk");
    daemon.kill();
    // As if the daemon had never known of it.
    std::fs::remove_file(environment.run_folder().join("daemon")).unwrap();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let listed = client.ok(json!({"type": "list_runs"}));
    assert_eq!(listed["runs"][0]["standing"], "interrupted");
    client.ok(json!({"type": "cancel", "run": interrupted}));
    client.subscribe(&interrupted, 1);
    assert_eq!(client.end_of(&interrupted)["success"], false);
    assert_eq!(environment.asked().len(), 1, "nobody was asked again");
    for run in [&running, &queued, &interrupted] {
        client.error(json!({"type": "cancel", "run": run}));
        client.error(json!({"type": "resume", "run": run}));
    }
}

#[test]
fn a_landing_that_waits_for_its_turn_can_be_called_off() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start_with(&environment, &Script::approved(), &["--max-runs", "1"]);
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "ask"}));
    client.end_of(&run);
    environment.add_waiting_test();
    let busy = client.begin(json!({"land": "ask"}));
    environment.wait_for(|| environment.path("here").exists());
    client.ok(json!({"type": "land", "run": run, "how": "apply"}));
    client.ok(json!({"type": "cancel", "run": run}));
    environment.let_go();
    client.end_of(&busy);
    environment.wait_for(|| environment.runs().iter().all(|folder| !folder.join("daemon").exists()));
    assert!(!environment.has("src/shout.sh"));
    client.ok(json!({"type": "land", "run": run, "how": "apply"}));
    client.until(|frame| frame["run"] == *run && frame["event"]["success"] == true);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn a_run_goes_on_with_a_larger_budget() {
    let environment = TestEnvironment::new();
    environment.config(json!({"budget": {"max_calls": 1}}));
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "apply"}));
    let end = client.end_of(&run);
    assert_eq!(end["success"], false, "{end}");
    client.error(json!({"type": "resume", "run": run}));
    client.error(json!({"type": "resume", "run": run, "budget": {"calls": -1}}));
    client.ok(json!({"type": "resume", "run": run, "budget": {"calls": 9}}));
    client.until(|frame| frame["event"]["success"] == true);
    assert_eq!(environment.answers("called").len(), 2, "nothing is paid twice");
}

#[test]
fn a_change_lands_later_and_is_taken_back() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    client.ok(json!({"type": "watch_runs"}));
    let files = environment.files();
    let run = client.begin(json!({"land": "ask"}));
    client.end_of(&run);
    client.error(json!({"type": "undo", "run": run}));
    client.ok(json!({"type": "land", "run": run, "how": "apply"}));
    client.until(|frame| frame["event"]["success"] == true);
    assert!(environment.has("src/shout.sh"));
    client.error(json!({"type": "land", "run": run, "how": "apply"}));
    client.ok(json!({"type": "undo", "run": run}));
    assert_eq!(environment.files(), files);
    let state = client.ok(json!({"type": "list_runs"}))["runs"][0].clone();
    assert_eq!(state["landed"], false);
    assert_has(client.ok(json!({"type": "undo", "run": run}))["message"].as_str().unwrap(), &["already"]);
    client.ok(json!({"type": "land", "run": run, "how": "apply"}));
    client.until(|frame| frame["event"]["success"] == true);
    assert_ne!(environment.files(), files);
}

#[test]
fn a_patch_of_the_users_own_is_never_called_approved() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.client();
    let files = environment.files();
    let run = client.ok(json!({"type": "apply_patch", "patch": shout("$1!")}))["run"].clone();
    client.until(|frame| frame["event"]["outcome"]["outcome"] == "applied");
    client.ok(json!({"type": "undo", "run": run}));
    assert_eq!(environment.files(), files);
    let state = client.ok(json!({"type": "list_runs"}))["runs"][0].clone();
    assert_eq!(
        (&state["standing"], &state["stopped_by"], &state["landed"]),
        (&json!("applied"), &json!("taken_back"), &json!(false))
    );
    let card = environment.run(&["show", "latest"]);
    assert_has(&card.stdout, &["TAKEN BACK"]);
    assert_has_not(&card.stdout, &["APPROVED"]);
    let verified = environment.run(&["verify", "latest"]);
    assert_has(verified.ended(2), &["nothing was tested or reviewed"]);
    client.error(json!({"type": "land", "run": run, "how": "commit"}));
    assert_has(environment.run(&["land", "latest", "--commit"]).ended(2), &["is not committed"]);
    client.ok(json!({"type": "land", "run": run, "how": "apply"}));
    client.until(|frame| frame["event"]["success"] == true && environment.has("src/shout.sh"));
}

#[test]
fn a_configuration_that_asks_before_landing_is_heard() {
    let environment = TestEnvironment::new();
    environment.config(json!({"land": "ask"}));
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let run = client.begin(json!({}));
    client.end_of(&run);
    assert!(!environment.has("src/shout.sh"), "nobody was there to be asked");
    client.ok(json!({"type": "land", "run": run, "how": "apply"}));
    client.until(|frame| frame["event"]["success"] == true);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn a_request_goes_on_from_an_earlier_run() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let first = client.begin(json!({"request": "Add the loudest shout", "land": "ask"}));
    client.end_of(&first);
    let second = client.begin(json!({"request": "Now also handle zero", "land": "ask", "follows": first}));
    client.until(|frame| frame["run"] == *second && frame["event"]["type"] == "cycle_complete");
    let started = &client.told(&second)[0]["event"];
    assert_eq!((&started["request"], &started["follows"]), (&json!("Now also handle zero"), &json!(first)));
    let output = environment.run(&["show", &second, "--prompts"]);
    output.ended(0);
    assert_has(&output.stdout, &["Add the loudest shout", "Now also handle zero", "+shout() {"]);
    client.error(json!({"type": "run_cycle", "request": "Go on", "follows": "nobody"}));
    for nobody in ["../../x", ""] {
        let message = json!({"type": "run_cycle", "request": "Go on", "follows": nobody});
        assert_has_not(&client.error(message), &["journal.jsonl"]);
    }
}

#[test]
fn files_are_read_as_a_run_has_them() {
    let environment = plays::COMMITTED.world();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "ask"}));
    client.end_of(&run);
    environment.write("staged.txt", "changed later\n");
    let mut read = |path: &str, side: &str| {
        client.ok(json!({"type": "read_file", "run": run, "path": path, "side": side}))["text"].clone()
    };
    assert_eq!(read("src/shout.sh", "candidate"), "shout() { echo \"$1!\"; }\n");
    assert_eq!(read("src/shout.sh", "base"), Value::Null);
    assert_eq!(read("staged.txt", "base"), "staged and edited\n", "as the run began");
    assert_eq!(read("untracked.bin", "base"), Value::Null, "no text");
    assert_eq!(read("src", "base"), Value::Null);
    let secret = environment.path("secret.txt");
    std::fs::write(&secret, "secret").unwrap();
    let absolute = secret.to_str().unwrap().to_owned();
    for path in [
        "../secret.txt",
        "src/../../secret.txt",
        &absolute,
        "",
        ".",
        "..",
        "/",
        ".git/config",
        "a\u{0}b",
        "a\nb",
        ":/src",
        "-x",
    ] {
        let answer = client.ask(json!({"type": "read_file", "run": run, "path": path, "side": "base"}));
        assert!(answer["event"]["text"].is_null(), "{path}: {answer}");
    }
    client.error(json!({"type": "read_file", "run": run, "path": "x", "side": "other"}));
    assert_eq!(
        client.ok(json!({"type": "read_file", "run": run, "path": "src/text.sh", "side": "base"}))["side"],
        "base"
    );
}
