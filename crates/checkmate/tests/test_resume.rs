//! Interrupted runs and their journals.

use std::io::Write as _;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, assert_has};
use crate::script::{Script, approves, builds, shout};

/// A run that ended with an infrastructure failure after its first call, ready to be resumed.
fn failed() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let busy = json!({"role": "reviewer", "fail": "refusal"});
    let script =
        Script::new().builder(builds(&shout("$1!"))).entry(busy.clone()).entry(busy).reviewer(approves());
    environment.cycle(&script.then("error")).ended(0);
    environment
}

fn journal_of(environment: &TestEnvironment) -> std::path::PathBuf {
    environment.run_folder().join("journal.jsonl")
}

/// Cuts the latest run's journal after so many events, as a crash would.
fn cut(environment: &TestEnvironment, events: usize) {
    let text = std::fs::read_to_string(journal_of(environment)).unwrap();
    let mut kept = String::new();
    let mut seen = 0;
    for line in text.split_inclusive('\n') {
        let is_event = line.starts_with("{\"record\":\"event\"");
        seen += usize::from(is_event);
        if seen > events {
            break;
        }
        kept.push_str(line);
    }
    std::fs::write(journal_of(environment), kept).unwrap();
}

#[test]
fn an_interrupt_ends_commands_and_leaves_a_run_that_goes_on() {
    for signal in [Signal::INT, Signal::TERM] {
        let environment = TestEnvironment::new();
        environment.add_waiting_test();
        let child = environment.start_and_wait(environment.cycle_command(&Script::approved()));
        assert!(environment.processes().iter().any(|line| line.starts_with("sh test/run.sh")));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = environment.end_of(child);
        assert_has(output.ended(130), &["Interrupted. `checkmate resume RUN` goes on from here."]);
        environment.wait_for(|| environment.processes().is_empty());
        assert_eq!(environment.result()["outcome"], "error");
        assert_has(&environment.run(&["runs"]).stdout, &["unfinished, resumable"]);
        environment.let_go();
        environment.run(&["resume", "latest"]).ended(0);
        assert!(environment.has("src/shout.sh"));
        environment.run(&["replay", "latest"]).ended(0);
    }
}

#[test]
fn an_interrupt_does_not_wait_for_a_slow_model() {
    let environment = TestEnvironment::new();
    let script = Script::new()
        .entry(json!({"role": "builder", "reply": builds(&shout("$1!")), "latency_ms": 600_000}));
    let child = environment.cycle_command(&script).spawn().unwrap();
    environment.wait_for(|| !environment.runs().is_empty() && !environment.asked().is_empty());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    environment.end_of(child).ended(130);
}

#[test]
fn from_every_record_on_a_run_ends_the_same() {
    let environment = failed();
    let (whole, tree) = (std::fs::read(journal_of(&environment)).unwrap(), environment.files());
    let events = environment.journal().iter().filter(|line| line["record"] == "event").count();
    for kept in 0..events {
        environment.git(&["clean", "-fdq"]);
        std::fs::write(journal_of(&environment), &whole).unwrap();
        cut(&environment, kept);
        let output = environment.run(&["resume", "latest"]);
        assert_eq!(output.code, Some(0), "after {kept} records: {}", output.stderr);
        assert_eq!(environment.files(), tree, "after {kept} records");
    }
}

#[test]
fn a_run_that_died_before_it_noted_its_end_notes_it_when_resumed() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    let whole = std::fs::read_to_string(journal_of(&environment)).unwrap();
    let (before, note) = whole.trim_end().rsplit_once('\n').unwrap();
    assert!(note.starts_with("{\"record\":\"ended\""), "{note}");
    std::fs::write(journal_of(&environment), format!("{before}\n")).unwrap();
    for _ in 0..2 {
        environment.run(&["resume", "latest"]).ended(0);
        assert_eq!(std::fs::read_to_string(journal_of(&environment)).unwrap(), whole);
    }
    assert_has(environment.run(&["replay", "latest"]).ended(0), &["to the same outcome"]);
}

#[test]
fn a_torn_last_line_is_cut_off() {
    for torn in [&b"{\"record\":\"event\",\"seq\":9"[..], b"\0\0\0\0\0\0\n", b"\xff\xfe"] {
        let environment = failed();
        environment.git(&["clean", "-fdq"]);
        cut(&environment, 3);
        std::fs::OpenOptions::new()
            .append(true)
            .open(journal_of(&environment))
            .unwrap()
            .write_all(torn)
            .unwrap();
        environment.run(&["resume", "latest"]).ended(0);
        environment.run(&["replay", "latest"]).ended(0);
    }
}

#[test]
fn a_damaged_line_is_named() {
    let environment = failed();
    let text = std::fs::read_to_string(journal_of(&environment)).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[2] = "{\"record\":\"eve";
    std::fs::write(journal_of(&environment), format!("{}\n", lines.join("\n"))).unwrap();
    for command in [&["resume", "latest"][..], &["replay", "latest"], &["show", "latest"]] {
        assert_has(environment.run(command).ended(1), &["is damaged at line 3", "start a new run"]);
    }
    assert_has(&environment.run(&["runs"]).stdout, &["is damaged at line 3"]);
}

#[test]
fn a_record_that_does_not_fit_is_named_and_offers_the_last_candidate() {
    let environment = failed();
    let text = std::fs::read_to_string(journal_of(&environment)).unwrap();
    let changed: String = text
        .split_inclusive('\n')
        .map(|line| match line.contains("\"seq\":4,") {
            true => {
                let mut record: Value = serde_json::from_str(line).unwrap();
                record["digest"] = json!("call builder Build turn 7 attempt 0 about -");
                format!("{record}\n")
            }
            false => line.to_owned(),
        })
        .collect();
    assert_ne!(text, changed);
    std::fs::write(journal_of(&environment), changed).unwrap();
    let output = environment.run(&["resume", "latest"]);
    assert_has(
        output.ended(1),
        &["Resume refused at record 4", "Start a new run", "checkmate show RUN --patch"],
    );
}

#[test]
fn the_last_candidate_can_be_had_where_a_resume_is_refused() {
    let environment = failed();
    let text = std::fs::read_to_string(journal_of(&environment)).unwrap();
    let last = environment.journal().iter().filter(|line| line["record"] == "event").count();
    let changed = text.replace(&format!("\"seq\":{last},"), &format!("\"seq\":{last},\"was\":1,"));
    let changed = changed.replace("\"digest\":\"land ", "\"digest\":\"launch ");
    std::fs::write(journal_of(&environment), changed).unwrap();
    assert_has(environment.run(&["resume", "latest"]).ended(1), &["Resume refused at record"]);
    let output = environment.run(&["show", "latest", "--patch"]);
    output.ended(0);
    assert_has(&output.stdout, &["+shout() { echo \"$1!\"; }"]);
}

#[test]
fn a_newer_format_is_refused() {
    let environment = failed();
    let text = std::fs::read_to_string(journal_of(&environment)).unwrap();
    std::fs::write(journal_of(&environment), text.replacen("\"version\":1,", "\"version\":2,", 1)).unwrap();
    assert_has(environment.run(&["resume", "latest"]).ended(1), &["format version 2", "version 1 only"]);
}

#[test]
fn a_second_driver_is_refused() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let child = environment.start_and_wait(environment.cycle_command(&Script::approved()));
    let holder = format!("(process {})", child.id());
    for command in ["resume", "land", "undo"] {
        assert_has(
            environment.run(&[command, "latest"]).ended(1),
            &["Another checkmate drives this run", &holder],
        );
    }
    for command in ["show", "replay"] {
        environment.run(&[command, "latest"]).ended(0);
    }
    let refused = environment.path("refused.json");
    environment.run(&["resume", "latest", "--json", refused.to_str().unwrap()]).ended(1);
    assert_has(
        &std::fs::read_to_string(refused).unwrap(),
        &["\"outcome\": \"error\"", "Another checkmate drives"],
    );
    environment.let_go();
    environment.end_of(child).ended(0);
}

#[test]
fn an_infrastructure_failure_is_an_error_and_resume_tries_again() {
    let environment = TestEnvironment::new();
    let busy = json!({"role": "reviewer", "fail": "overloaded"});
    let script =
        (0..18).fold(Script::new().builder(builds(&shout("$1!"))), |script, _| script.entry(busy.clone()));
    let output = environment.cycle(&script.reviewer(approves()));
    assert_has(
        output.ended(1),
        &["The scripted reviewer is overloaded", "checkmate resume RUN goes on from here"],
    );
    assert_eq!(environment.result()["outcome"], "error");
    assert!(!environment.has("src/shout.sh"));
    assert_has(&environment.run(&["runs"]).stdout, &["error, resumable"]);
    let output = environment.run(&["resume", "latest"]);
    output.ended(0);
    assert_eq!(environment.order().matches("builder").count(), 1, "the builder's call is not paid again");
}

#[test]
fn what_is_over_stays_over() {
    let environment = failed();
    let journal = std::fs::read(journal_of(&environment)).unwrap();
    let output = environment.run(&["resume", "latest"]);
    assert_has(output.ended(0), &["APPROVED"]);
    assert_eq!(std::fs::read(journal_of(&environment)).unwrap(), journal);
}
