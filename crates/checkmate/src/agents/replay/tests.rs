use checkmate_machine::effect::{Prompt, Purpose};
use checkmate_machine::event::Called;
use checkmate_machine::reply::Shape;

use super::super::{Agents, Failure};
use super::*;

fn agents(entries: &str, rest: &str) -> Agents {
    Agents::scripted(Script::parse(&format!(r#"{{"version": 1, "replay": [{entries}]{rest}}}"#)).unwrap())
}

fn ask(agents: &Agents, role: Role) -> (Result<Called, Failure>, Vec<String>) {
    let prompt =
        Prompt { system: "12345678".into(), user: "1".into(), shape: Shape::Text, version: "p@1".into() };
    let call =
        Call { role, purpose: Purpose::Build, turn: 1, attempt: 0, about: None, prompt, allowance: None };
    let mut chunks = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let called = runtime.block_on(agents.call(&call, &mut |chunk| chunks.push(chunk.to_owned())));
    (called, chunks)
}

fn text(agents: &Agents, role: Role) -> String {
    match ask(agents, role).0 {
        Ok(called) => called.text,
        Err(error) => format!("{:?}", error.kind),
    }
}

#[test]
fn each_role_takes_its_own_next_entry() {
    let agents = agents(
        r#"{"role": "builder", "reply": {"plan": ["z", "a"], "patch": ""}},
           {"role": "reviewer", "reply": "{\"verdict\": oops"},
           {"role": "examiner", "reply": "of a role that this run does not have"},
           {"role": "builder", "reply": ""}"#,
        "",
    );
    let replies =
        [Role::Reviewer, Role::Builder, Role::Builder, Role::Builder].map(|role| text(&agents, role));
    assert_eq!(replies, ["{\"verdict\": oops", r#"{"plan":["z","a"],"patch":""}"#, "", "Local"]);
}

#[test]
fn an_exhausted_script_does_as_it_says() {
    let entry = r#"{"role": "builder", "reply": "once"}"#;
    for (rest, builder, reviewer) in [
        ("", "Local", "Local"),
        (r#", "when_exhausted": "error""#, "Local", "Local"),
        (r#", "when_exhausted": "empty""#, "", ""),
        (r#", "when_exhausted": "repeat_last_of_role""#, "once", "Local"),
    ] {
        let agents = agents(entry, rest);
        assert_eq!(text(&agents, Role::Builder), "once");
        assert_eq!(
            [text(&agents, Role::Builder), text(&agents, Role::Reviewer)],
            [builder, reviewer],
            "{rest}"
        );
    }
    let (called, _) = ask(&agents("", ""), Role::Moderator);
    let error = called.unwrap_err();
    assert_eq!(error.requests, 0, "nothing was taken from the script");
    assert!(error.message.contains("no more entries for the moderator"), "{}", error.message);
}

#[test]
fn a_resumed_run_goes_on_where_it_stopped() {
    for (skipped, rest) in [(0, "1"), (1, "2"), (3, "4"), (4, "4"), (u32::MAX, "4")] {
        let mut agents = agents(
            r#"{"role": "builder", "reply": "1"}, {"role": "builder", "reply": "2"},
               {"role": "builder", "fail": "overloaded"}, {"role": "builder", "reply": "4"}"#,
            r#", "when_exhausted": "repeat_last_of_role""#,
        );
        agents.skip(Role::Builder, skipped);
        agents.skip(Role::Reviewer, 7);
        assert_eq!(text(&agents, Role::Builder), rest, "{skipped}");
    }
}

#[test]
fn failures_go_through_the_same_retries() {
    let failing = |fails: &[&str]| {
        let fails = fails.iter().map(|fail| format!(r#"{{"role": "builder", "fail": "{fail}"}},"#));
        agents(&format!(r#"{}{{"role": "builder", "reply": "ok"}}"#, fails.collect::<String>()), "")
    };
    for (fails, requests, kind) in [
        (vec![], 1, None),
        (vec!["rate_limit", "overloaded", "timeout", "disconnect"], 5, None),
        (vec!["overloaded"; 5], 6, None),
        (vec!["overloaded"; 6], 6, Some(FailureKind::Provider)),
        (vec!["refusal"], 1, Some(FailureKind::Refusal)),
        (vec!["timeout", "refusal"], 2, Some(FailureKind::Refusal)),
    ] {
        let outcome = match ask(&failing(&fails), Role::Builder).0 {
            Ok(called) => (called.requests, None),
            Err(error) => (error.requests, Some(error.kind)),
        };
        assert_eq!(outcome, (requests, kind), "{fails:?}");
    }
}

#[test]
fn text_arrives_in_pieces() {
    let whole = "ä".repeat(2 * PIECE + 1);
    let (called, chunks) = ask(
        &agents(&format!(r#"{{"role": "builder", "reply": "{whole}", "latency_ms": 6}}"#), ""),
        Role::Builder,
    );
    let called = called.unwrap();
    assert_eq!(chunks, ["ä".repeat(PIECE), "ä".repeat(PIECE), "ä".into()]);
    assert_eq!((called.text, called.model.as_str()), (whole, "replay"));
    assert!(called.duration_ms >= 6, "{} ms", called.duration_ms);
    assert!(pieces("").is_empty());
}

#[test]
fn usage_is_what_the_script_says_or_an_estimate() {
    for (usage, input, cached, output) in [
        ("", 3, 0, 2),
        (r#", "usage": {"input_tokens": 70, "cached_tokens": 5, "output_tokens": 6}"#, 70, 5, 6),
        (r#", "usage": {"in": 70, "cached": 5, "out": 6}"#, 70, 5, 6),
        (r#", "usage": {"out": 6}"#, 3, 0, 6),
    ] {
        let (called, _) =
            ask(&agents(&format!(r#"{{"role": "builder", "reply": "12345"{usage}}}"#), ""), Role::Builder);
        let usage = called.unwrap().usage;
        assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (input, cached, output));
    }
}

#[test]
fn entries_of_other_tasks_are_left_out() {
    let script = r#"{"version": 1, "replay": [
        {"role": "builder", "reply": "a", "task": "T-1"}, {"role": "builder", "reply": "b", "task": "T-2"},
        {"role": "builder", "reply": "c"}]}"#;
    let agents = Agents::scripted(Script::parse(script).unwrap().for_task(&TaskId::new("T-2")));
    assert_eq!([text(&agents, Role::Builder), text(&agents, Role::Builder)], ["b", "c"]);
}

#[test]
fn errors_name_the_entry_and_the_field() {
    let entry =
        |entry: &str| format!(r#"{{"version": 1, "replay": [{{"role": "builder", "reply": ""}}, {entry}]}}"#);
    for (script, message) in [
        (
            String::new(),
            "The replay script is not JSON: EOF while parsing a value at line 1 column 0. Correct the file at that place.",
        ),
        (
            "[]".into(),
            "The replay script's `version` must be in an object with the keys `version`, `replay`, `when_exhausted`.",
        ),
        (r#"{"replay": []}"#.into(), "The replay script's `version` is missing; it must be 1."),
        (
            r#"{"version": 2, "replay": []}"#.into(),
            "The replay script's `version` must be 1; no other version is known.",
        ),
        (r#"{"version": 1}"#.into(), "The replay script's `replay` must be a list of entries."),
        (r#"{"version": 1, "replay": {}}"#.into(), "The replay script's `replay` must be a list of entries."),
        (
            r#"{"version": 1, "replies": []}"#.into(),
            "The replay script's `replies` is not known; the keys are version, replay, when_exhausted.",
        ),
        (
            r#"{"version": 1, "replay": [], "when_exhausted": "stop"}"#.into(),
            "The replay script's `when_exhausted` must be \"repeat_last_of_role\", \"error\" or \"empty\".",
        ),
        (
            entry("1"),
            "Entry 2 of the replay script: `role` must be in an object with the keys `role`, `reply`, `fail`, `task`, `latency_ms`, `usage`.",
        ),
        (entry(r#"{"reply": ""}"#), "Entry 2 of the replay script: `role` is missing."),
        (entry(r#"{"role": 1}"#), "Entry 2 of the replay script: `role` must be a string."),
        (
            entry(r#"{"role": "bilder", "reply": ""}"#),
            "Entry 2 of the replay script: `role` is `bilder`; the roles are builder, reviewer, moderator, examiner, drafter, criteria_judge, worker, judge, player, coach, planner.",
        ),
        (
            entry(r#"{"role": "coach"}"#),
            "Entry 2 of the replay script: `reply` is missing; an entry needs `reply` or `fail`.",
        ),
        (
            entry(r#"{"role": "coach", "reply": []}"#),
            "Entry 2 of the replay script: `reply` must be an object or a string.",
        ),
        (
            entry(r#"{"role": "coach", "reply": "", "fail": "timeout"}"#),
            "Entry 2 of the replay script: `fail` cannot stand beside `reply`; leave one of them out.",
        ),
        (
            entry(r#"{"role": "coach", "fail": "boredom"}"#),
            "Entry 2 of the replay script: `fail` must be \"rate_limit\", \"overloaded\", \"timeout\", \"disconnect\" or \"refusal\".",
        ),
        (
            entry(r#"{"role": "coach", "reply": "", "latency": 1}"#),
            "Entry 2 of the replay script: `latency` is not known; the keys are role, reply, fail, task, latency_ms, usage.",
        ),
        (
            entry(r#"{"role": "coach", "reply": "", "latency_ms": -1}"#),
            "Entry 2 of the replay script: `latency_ms` must be a whole number that is not negative.",
        ),
        (
            entry(r#"{"role": "coach", "reply": "", "usage": {"tokens": 1}}"#),
            "Entry 2 of the replay script: `tokens` is not known; the keys are input_tokens, in, cached_tokens, cached, output_tokens, out.",
        ),
        (
            entry(r#"{"role": "coach", "reply": "", "task": 4}"#),
            "Entry 2 of the replay script: `task` must be a string.",
        ),
    ] {
        assert_eq!(Script::parse(&script).unwrap_err().to_string(), message);
    }
}
