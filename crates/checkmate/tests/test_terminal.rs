//! What happens where a person sits at the terminal.

use regex::Regex;
use serde_json::json;

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, adds, approves, builds, builds_with, issue, shout};
use crate::terminal::{Seen, Terminal, is_spinner};

const LANDS: &str = "Bring the change into your working tree? [y/N] ";

fn run(environment: &TestEnvironment, terminal: Terminal, script: &Script) -> Seen {
    let path = environment.script(script);
    terminal.run(environment, &["run", "Add shout", "--replay", &path])
}

/// Agents that take their time, so that they are seen at work.
fn slow(milliseconds: u64) -> Script {
    let reviewer = json!({"verdict": "approve", "stopping": "The goal is reached.",
        "issues": [issue("empty", "minor", "an empty word shouts too")]});
    Script::new()
        .entry(json!({"role": "builder", "reply": builds(&shout("$1!")), "latency_ms": milliseconds}))
        .entry(json!({"role": "reviewer", "reply": reviewer, "latency_ms": milliseconds}))
}

/// Returns the lines that a run settled: those before its card.
fn settled(lines: &str) -> &str {
    let rest = lines.find("  · Working on").map_or(lines, |at| &lines[at..]);
    rest.split_once("\n\n").map_or(rest, |(settled, _)| settled)
}

#[test]
fn a_person_is_asked_before_anything_lands() {
    for (key, code) in [("y", 0), ("n", 2), ("\r", 2), ("\u{1b}", 2)] {
        let environment = TestEnvironment::new();
        let seen = run(&environment, Terminal::new(100, 30).types(LANDS, key), &Script::approved());
        let lines = seen.ended(code);
        assert_eq!(environment.has("src/shout.sh"), code == 0);
        assert_eq!(lines.matches("✓ tests ").count(), 1, "the gates are shown once:\n{lines}");
        if code == 2 {
            assert_has(lines, &[" APPROVED, NOT LANDED\n", "you chose not to land it"]);
            environment.run(&["land", "latest"]).ended(0);
        } else {
            assert_has(lines, &["? help) yes\n\n APPROVED\n   applied to your working tree"]);
        }
    }
}

#[test]
fn a_question_shows_the_change_and_its_keys_and_is_asked_again() {
    let environment = TestEnvironment::new();
    // Arrows and letters without a meaning are no answers.
    let terminal = Terminal::new(100, 40).types(LANDS, "\u{1b}[Axd").types(LANDS, "?").types(LANDS, "Y");
    let seen = run(&environment, terminal, &Script::approved());
    assert_has(
        seen.ended(0),
        &[
            "+shout() { echo \"$1!\"; }\n",
            "    d              show the change\n",
            "applied to your working tree",
        ],
    );
}

#[test]
fn a_person_may_allow_a_command_or_say_why_not() {
    for (terminal, told) in [
        (Terminal::new(100, 30).types("[y/N] ", "y"), "$ cat src/shout.sh\nexit code 0"),
        (
            Terminal::new(100, 30).types("[y/N] ", "c").types("Say why: ", "use your eyes\n"),
            "They said: use your eyes",
        ),
    ] {
        let environment = TestEnvironment::new();
        let reply = builds_with(&shout("$1!"), json!({"run": ["cat src/shout.sh"]}));
        let script = Script::new().builder(reply).reviewer(approves());
        let seen = run(&environment, terminal.types(LANDS, "y"), &script);
        assert_has(seen.ended(0), &["The builder would like to run `cat src/shout.sh`"]);
        assert_has(&environment.prompts("reviewer")[0], &[told]);
    }
}

#[test]
fn a_person_may_read_each_patch_before_it_is_applied() {
    let environment = TestEnvironment::new();
    environment.config(json!({"approve_patches": true}));
    let asked = "Apply this change in the run's own tree? [y/N] ";
    let script =
        Script::new().builder(builds(&shout("$1?"))).builder(builds(&shout("$1!"))).reviewer(approves());
    let terminal = Terminal::new(100, 60)
        .types(asked, "c")
        .types("Say why: ", "no question, please\n")
        .types(asked, "y")
        .types(LANDS, "y");
    let seen = run(&environment, terminal, &script);
    assert_has(
        seen.ended(0),
        &[
            "+shout() { echo \"$1?\"; }\n",
            "The user read the change and refused it",
            "+shout() { echo \"$1!\"; }\n",
        ],
    );
    let prompt = &environment.prompts("builder")[1];
    assert_has(prompt, &["of which nothing was applied", "They said: no question, please."]);
    environment.run(&["replay", "latest"]).ended(0);
}

#[test]
fn nobody_to_read_each_patch_begins_no_run() {
    let environment = TestEnvironment::new();
    environment.config(json!({"approve_patches": true}));
    let output = environment.cycle(&Script::approved());
    assert_eq!(output.code, Some(1));
    assert_has(&output.stderr, &["nobody is there to be asked. Start it at a terminal"]);
    assert_eq!(environment.run(&["runs"]).stdout, "");

    // A run that began at a terminal waits for one, and uses up no turn meanwhile.
    let asked = "Apply this change in the run's own tree? [y/N] ";
    run(&environment, Terminal::new(100, 30).types(asked, "\u{3}"), &Script::approved()).ended(130);
    environment.run(&["resume", "latest"]).ended(1);
    let terminal = Terminal::new(100, 30).types(asked, "y").types(LANDS, "y");
    terminal.run(&environment, &["resume", "latest"]).ended(0);
}

#[test]
fn a_missing_configuration_is_offered() {
    let environment = TestEnvironment::new();
    environment.write("package.json", r#"{"name": "x", "scripts": {"test": "sh test/run.sh"}}"#);
    std::fs::remove_file(environment.root().join(".dualagent.json")).unwrap();
    let offered = "Write a good one for this repository now? [y/N] ";
    let seen = run(&environment, Terminal::new(200, 30).types(offered, "n"), &Script::approved());
    assert_has(seen.ended(1), &["Config file not found"]);
    let seen = run(&environment, Terminal::new(200, 30).types(offered, "\u{3}"), &Script::approved());
    assert_has(seen.ended(130), &["Interrupted, and nothing was begun."]);
    assert!(environment.runs().is_empty());
    let terminal = Terminal::new(200, 30).types(offered, "y").types(LANDS, "n");
    let seen = run(&environment, terminal, &Script::approved());
    assert_has(seen.ended(2), &["Wrote $TMP/repo/.dualagent.json", "turn 1/3"]);
}

#[test]
fn what_goes_on_is_shown_below_what_is_settled() {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true}));
    for columns in [40, 80, 160] {
        environment.git(&["checkout", "-q", "."]);
        environment.git(&["clean", "-fdq"]);
        let seen = run(&environment, Terminal::new(columns, 24).types(LANDS, "n"), &slow(900));
        let lines = seen.ended(2).to_owned();
        // Each settled line stands there once, in this order.
        let mut at = 0;
        for part in [
            "Working on",
            "baseline",
            "builder",
            "patch",
            "tests",
            "new tests",
            "old tests",
            "repeats",
            "reviewer",
        ] {
            at += lines[at..].find(part).unwrap_or_else(|| panic!("`{part}` is missing in:\n{lines}"));
        }
        assert_eq!(settled(&lines).matches("repeats").count(), 1, "many runs are one line:\n{lines}");
        let spinning = |who: &str| {
            let lines = seen.screens.iter().flat_map(|screen| screen.lines());
            lines.filter(|line| line.contains(is_spinner)).any(|line| line.contains(who))
        };
        assert!(spinning("builder") && spinning("reviewer"), "agents are seen at work");
        assert!(spinning("plan: Write shout") || spinning("patch: +"), "what they write can be read");
        assert!(seen.showed(&["turn 1/3 "]) && seen.showed(&[" tokens"]));
        // What is redrawn fits: its last line is right below it, whatever the width.
        for screen in seen.screens.iter().filter(|screen| screen.contains(is_spinner)) {
            let last = screen.trim_end().lines().last().unwrap();
            assert!(last.contains("turn 1/3") || last.contains(" s"), "at {columns} columns:\n{screen}");
        }
        let shown = String::from_utf8_lossy(&seen.bytes).into_owned();
        assert_has_not(&shown, &["\u{1b}[2J", "\u{1b}[H", "\u{1b}[?1049"]);
        assert_eq!(shown.matches("\u{1b}[?2026h").count(), shown.matches("\u{1b}[?2026l").count());
    }
}

#[test]
fn a_terminal_that_is_resized_loses_nothing_and_keeps_nothing() {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true}));
    let terminal =
        Terminal::new(100, 30).resizes("builder", 44, 12).resizes("reviewer", 130, 40).types(LANDS, "n");
    let seen = run(&environment, terminal, &slow(1500));
    let lines = seen.ended(2);
    assert_eq!(lines.matches("Working on 4 files").count(), 1, "{lines}");
    assert_eq!(lines.matches("baseline  ").count(), 1, "{lines}");
    assert_eq!(lines.matches("approve: The goal is reached.").count(), 1, "{lines}");
    assert_has_not(settled(lines), &["checkmate  "]);
}

#[test]
fn without_colours_nothing_is_coloured_and_the_block_still_works() {
    let mut environment = TestEnvironment::new();
    environment.set("NO_COLOR", "1");
    let seen = run(&environment, Terminal::new(80, 24).types(LANDS, "y"), &slow(300));
    seen.ended(0);
    let written = String::from_utf8_lossy(&seen.bytes).into_owned();
    let colours = Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
    assert!(!colours.is_match(&written), "{written:?}");
    assert!(seen.screens.iter().any(|screen| screen.contains(is_spinner)));
}

#[test]
fn a_terminal_that_cannot_redraw_gets_lines_only() {
    let environment = TestEnvironment::new();
    let path = environment.script(&slow(300));
    let seen = Terminal::new(80, 24)
        .named("dumb")
        .types(LANDS, "y")
        .run(&environment, &["run", "Add shout", "--replay", &path]);
    assert_has(seen.ended(0), &["The builder is working.", "applied to your working tree"]);
    let written = String::from_utf8_lossy(&seen.bytes).into_owned();
    assert_has_not(&written, &["\u{1b}[A", "\u{1b}[J", "\u{1b}[?"]);
    assert!(!written.contains(is_spinner));
}

#[test]
fn a_pipe_gets_lines_without_escape_codes() {
    let environment = TestEnvironment::new();
    let output = environment.cycle(&slow(300));
    let lines = output.ended(0);
    assert!(!lines.contains('\u{1b}') && !lines.contains(is_spinner) && !lines.contains('\r'));
    assert_has(lines, &["  · The builder is working.\n", "\n  · turn 1/3 builder   Write shout → Test it"]);
}

#[test]
fn a_run_is_told_again_as_it_was_seen() {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true}));
    let seen = run(&environment, Terminal::new(100, 30).types(LANDS, "n"), &slow(100));
    let told = Terminal::new(100, 30).run(&environment, &["show", "latest"]);
    assert_eq!(settled(told.ended(0)), settled(seen.ended(2)));
    assert_has(settled(&told.lines), &["repeats   2 passed, 4 times more with other seeds"]);
}

#[test]
fn ctrl_c_stops_in_order_and_a_second_one_at_once() {
    for keys in ["\u{3}", "\u{3}\u{3}"] {
        let environment = TestEnvironment::new();
        environment.add_waiting_test();
        // It does not end when it is asked to.
        let test = environment.read("test/waiting_test.sh");
        environment.write("test/waiting_test.sh", format!("trap '' TERM INT\n{test}"));
        environment.commit();
        let terminal = Terminal::new(100, 24).types_when(&environment.path("here"), keys);
        let seen = run(&environment, terminal, &slow(100));
        assert_has(
            seen.ended(130),
            &[
                "Stopping… press Ctrl-C again to stop now.",
                "Interrupted. `checkmate resume RUN` goes on from here.",
            ],
        );
        environment.wait_for(|| environment.processes().is_empty());
        environment.let_go();
        environment.run(&["resume", "latest"]).ended(2);
        environment.run(&["land", "latest"]).ended(0);
    }
}

#[test]
fn ctrl_c_at_a_question_stops_the_run_and_the_question_is_asked_again() {
    let environment = TestEnvironment::new();
    let seen = run(&environment, Terminal::new(100, 24).types(LANDS, "\u{3}"), &Script::approved());
    assert_has(seen.ended(130), &["Interrupted. `checkmate resume RUN` goes on from here."]);
    assert!(!environment.has("src/shout.sh"));
    Terminal::new(100, 24).types(LANDS, "y").run(&environment, &["resume", "latest"]).ended(0);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn an_agent_does_not_steer_the_terminal() {
    let environment = TestEnvironment::new();
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}txet\u{200f}\r\nnext";
    let reply = builds_with(&shout("$1!"), json!({"plan": [evil, "漢字かな"], "risks": [evil]}));
    let review = json!({"verdict": "approve", "stopping": evil, "issues": [issue(evil, "minor", evil)]});
    let script = Script::new()
        .entry(json!({"role": "builder", "reply": reply, "latency_ms": 400}))
        .entry(json!({"role": "reviewer", "reply": review, "latency_ms": 400}));
    let seen = run(&environment, Terminal::new(80, 24).types(LANDS, "y"), &script);
    seen.ended(0);
    let written = String::from_utf8_lossy(&seen.bytes).into_owned();
    assert_has_not(&written, &["\u{1b}[2J", "\u{1b}]0", "\u{7}", "\u{9b}", "\u{202e}", "\u{200f}"]);
    assert_has(&written, &["漢字かな"]);
}

#[test]
fn a_patch_shown_at_a_terminal_does_not_steer_it() {
    let environment = TestEnvironment::new();
    let patch = format!("{}{}", shout("$1!"), adds("src/colour.sh", &["# \u{1b}[2J\u{1b}]0;owned\u{7}"]));
    environment.cycle(&Script::new().builder(builds(&patch)).reviewer(approves())).ended(0);
    let seen = Terminal::new(100, 24).run(&environment, &["show", "latest", "--patch"]);
    let written = String::from_utf8_lossy(&seen.bytes).into_owned();
    assert_has(&written, &["+shout() {"]);
    assert_has_not(&written, &["\u{1b}[2J", "\u{1b}]0"]);
}
