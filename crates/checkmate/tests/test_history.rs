//! Looking back: `runs`, `show`, `replay`.

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, adds, approves, builds};

#[test]
fn a_repository_without_runs_says_how_to_begin() {
    let environment = TestEnvironment::new();
    let output = environment.run(&["runs"]);
    assert_has(output.ended(0), &["has no runs yet", "checkmate run \"GOAL\""]);
    assert_eq!(output.stdout, "");
    assert_has(environment.run(&["show", "latest"]).ended(64), &["has no runs yet"]);
}

#[test]
fn runs_are_listed_with_their_ends_the_latest_first() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::new().then("empty")).ended(2);
    environment.wait_for(|| {
        // Names tell runs apart by the second.
        let name = environment.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
        let now = environment.command("date").args(["-u", "+%Y%m%d-%H%M%S"]).output().unwrap().stdout;
        !name.starts_with(String::from_utf8_lossy(&now).trim())
    });
    environment.cycle(&Script::approved()).ended(0);
    let output = environment.run(&["runs"]);
    output.ended(0);
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_has(lines[0], &["approved", "1 turn    Add shout"]);
    assert_has(lines[1], &["unusable_reply", "Add shout"]);
    assert_eq!(environment.run(&["runs", "-n", "1"]).stdout.lines().count(), 1);
}

#[test]
fn a_run_is_found_by_a_part_of_its_name() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    let name = environment.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    for wanted in [name.as_str(), &name[name.len() - 4..], "latest"] {
        environment.run(&["show", wanted]).ended(0);
    }
    assert_has(
        environment.run(&["show", "nothing-like-it"]).ended(64),
        &["There is no run `nothing-like-it`", "RUN"],
    );
}

#[test]
fn show_tells_the_story_the_patch_the_prompts_and_the_result() {
    let environment = TestEnvironment::new();
    let seen = environment.cycle(&Script::approved());
    let story = environment.run(&["show", "latest"]);
    story.ended(0);
    let normal = environment.normal(&story.stdout);
    // What was said only because it took its time is not said again.
    let left_out: Vec<&str> = seen.ended(0).lines().filter(|line| !normal.contains(line)).collect();
    assert_eq!(
        left_out,
        [
            "  · The builder is working.",
            "  · Running the tests.",
            "  · The reviewer is working.",
            "  · Landing the change.",
        ]
    );
    let prompts = environment.run(&["show", "latest", "--prompts"]);
    prompts.ended(0);
    assert_has(
        &prompts.stdout,
        &["to the builder", "builder@3+diff@3", "## GOAL\nAdd shout", "reply of replay", "reviewer@3"],
    );
    let json: serde_json::Value =
        serde_json::from_str(&environment.run(&["show", "latest", "--json"]).stdout).unwrap();
    assert_eq!(json, environment.result());
}

#[test]
fn the_patch_that_show_prints_can_be_applied() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    let after = environment.files();
    environment.run(&["undo", "latest"]).ended(0);
    let patch = environment.run(&["show", "latest", "--patch"]);
    patch.ended(0);
    let file = environment.path("candidate.patch");
    std::fs::write(&file, &patch.stdout).unwrap();
    environment.git(&["apply", file.to_str().unwrap()]);
    assert_eq!(environment.files(), after);
}

#[test]
fn the_patch_is_data_and_keeps_every_byte() {
    let environment = TestEnvironment::new();
    let line = "# a bell \u{7} and \u{1b}[31mred\u{1b}[0m";
    let patch = format!("{}{}", crate::script::shout("$1!"), crate::script::adds("src/colour.sh", &[line]));
    let script = Script::new().builder(crate::script::builds(&patch)).reviewer(crate::script::approves());
    let output = environment.cycle(&script);
    output.ended(0);
    assert_eq!(environment.read("src/colour.sh"), format!("{line}\n"));
    assert_has(&environment.run(&["show", "latest", "--patch"]).stdout, &[line]);
    assert_has_not(&environment.run(&["show", "latest"]).stdout, &["\u{1b}"]);
}

#[test]
fn a_replay_decides_the_same_without_any_agent() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    std::fs::remove_file(environment.run_folder().join("script.json")).unwrap();
    let files = environment.files();
    assert_has(environment.run(&["replay", "latest"]).ended(0), &["records to the same outcome"]);
    assert_eq!(environment.files(), files);
}

#[test]
fn a_replay_that_decides_otherwise_is_an_error() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    let path = environment.run_folder().join("journal.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text
        .replace("\"outcome\":{\"outcome\":\"approved\"", "\"outcome\":{\"was\":1,\"outcome\":\"approved\"");
    let changed = changed.replace("{\"record\":\"ended\",\"outcome\":{\"was\":1,\"outcome\":\"approved\",\"commit\":null,\"files\":[\"src/shout.sh\",", "{\"record\":\"ended\",\"outcome\":{\"outcome\":\"approved\",\"commit\":null,\"files\":[");
    assert_ne!(text, changed);
    std::fs::write(&path, changed).unwrap();
    assert_has(environment.run(&["replay", "latest"]).ended(1), &["comes to another outcome"]);
}

#[test]
fn a_request_goes_on_from_an_earlier_run() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    let script = Script::new().builder(builds(&adds("src/more.sh", &["more() { :; }"]))).reviewer(approves());
    environment.cycle_with(&script, &["--follows", "latest"]).ended(0);
    for role in ["builder", "reviewer"] {
        let prompts = environment.prompts(role);
        let latest = prompts.last().unwrap();
        assert_has(latest, &["## EARLIER_RUN", "It was approved", "+shout() { echo \"$1!\"; }"]);
    }
    environment.cycle_with(&Script::approved(), &["--follows", "nothing"]).ended(64);
}

#[test]
fn the_events_of_a_run_are_the_same_whenever_they_are_told() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    let told = environment.run(&["show", "latest", "--events"]);
    let events = told.events();
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "from 1, without gaps");
    assert_eq!(events[0]["event"]["type"], "run_started");
    assert_eq!(events.last().unwrap()["event"]["type"], "outcome");
    assert_eq!(told.stdout, environment.run(&["show", "latest", "--events"]).stdout);
}
