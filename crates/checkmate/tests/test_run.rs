//! `checkmate run`: the cycle as its user sees it.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, adds, approves, asks_for, builds, builds_with, issue, reshout, shout};

#[test]
fn an_approved_change_lands_on_the_users_tree() {
    let environment = TestEnvironment::new();
    let output = environment.cycle(&Script::approved());
    output.ended(0);
    assert_eq!(output.stdout, "", "without --events nothing is data");
    assert_eq!(environment.read("src/shout.sh"), "shout() { echo \"$1!\"; }\n");
    assert!(environment.has("test/shout_test.sh"));
    assert_eq!(environment.git(&["rev-list", "--count", "HEAD"]), "1", "nothing is committed");
    assert_eq!(environment.git(&["diff", "--cached", "--name-only"]), "", "nothing is staged");
}

#[test]
fn people_read_every_stage_and_a_verdict_card() {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true}));
    let script = Script::new()
        .builder(builds(&shout("$1?")))
        .builder(builds(&reshout("$1?", "$1!")))
        .reviewer(json!({"verdict": "approve", "stopping": "The goal is reached.",
            "extra_tests": ["shout of nothing"], "issues": [issue("empty", "minor", "an empty word shouts too")]}));
    assert_snapshot!(environment.cycle(&script).ended(0), @"
    run RUN
      · Working on 4 files, from the commit HASH.
      · The builder is working.
      ✓ baseline           1 passed  TIME
      · turn 1/3 builder   Write shout → Test it  TIME
                           tests: shout ends with a mark
                           risks: Nobody may want to shout
      ✓          patch     src/shout.sh +1 −0, test/shout_test.sh +1 −0
      · Running the tests.
      ✗          tests     1 of 2 tests failed: shout ends with a mark.  TIME
      · The builder is working.
      · turn 2/3 builder   Write shout → Test it  TIME
                           tests: shout ends with a mark
                           risks: Nobody may want to shout
      ✓          patch     src/shout.sh +1 −0, test/shout_test.sh +1 −0
      · Running the tests.
      ✓          tests     2 passed  TIME
      · Gathering evidence (red_green, old_tests): 2 runs.
      ✓          new tests red on the old code: 1 of 2 tests failed: shout ends with a mark.  TIME
      ✓          old tests on the new code: 1 passed  TIME
      · Gathering evidence (determinism): 4 runs.
      ✓          repeats   2 passed, 4 times more with other seeds  TIME
      · The reviewer is working.
      ✓          reviewer  approve: The goal is reached.  TIME
                           minor [empty] an empty word shouts too
                           to verify: call shout and look at empty
                           missing test: shout of nothing
      · Landing the change.

     APPROVED  Add shout
       Approved because 12 gates saw what they need, and none is against it.
       2 turns · requests: builder 2, reviewer 1 · run RUN
       ✓ protected      Configuration of tests, build and environment is as it was.
       ✓ dependencies   Dependencies and install scripts are as they were.
       ✓ secrets        No secret among the added lines.
       ✓ existing_tests No existing test was deleted, skipped, weakened or shadowed.
       ✓ suspicion      No code asks whether it is being tested or ends the process.
       ✓ tests          2 tests passed. (1 run, TIME)
       ✓ baseline       1 test passed before the change. (1 run, TIME)
       ✓ red_green      Red on the old code, green on the change: shout ends with a mark. (1 run, TIME)
       ✓ old_tests      The old tests pass on the new code. (1 run, TIME)
       ✓ determinism    Green 5 times, with other seeds and orders. (4 runs, TIME)
       ✓ review         The reviewer has seen this candidate and its evidence.
       ✓ findings       No finding stands.
       · not applicable: scope, assertions, examples, probes, comparison, mutation
       evidence: 6 runs, TIME = TIMES test runs
       ✓ goal: Add shout — shown by `shout ends with a mark`
       9 commands run by Checkmate in TIME
       src/shout.sh +1 −0
       test/shout_test.sh +1 −0
       applied to your working tree (checkmate undo RUN)
    ");
}

#[test]
fn the_result_for_programs_has_the_agreed_fields() {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true}));
    environment.cycle(&Script::approved()).ended(0);
    let mut result = environment.result();
    let evidence = result.as_object_mut().unwrap().remove("evidence").unwrap();
    let verdict = result.as_object_mut().unwrap().remove("verdict").unwrap();
    let gates = result["reasons"].as_array_mut().unwrap();
    assert_eq!(gates.len(), 18, "an approval names every gate");
    gates.retain(|reason| ["tests", "red_green"].contains(&reason["gate"].as_str().unwrap()));
    let run = result.as_object_mut().unwrap().remove("run").unwrap();
    assert_eq!(run.as_str().unwrap(), environment.run_folder().file_name().unwrap().to_str().unwrap());
    for name in ["input_tokens", "output_tokens"] {
        assert!(result["usage"].as_object_mut().unwrap().remove(name).unwrap().as_u64().unwrap() > 0);
    }
    assert_snapshot!(format!("{result:#}"), @r#"
    {
      "outcome": "approved",
      "unconfined": [],
      "stopped_by": null,
      "turns": 1,
      "reasons": [
        {
          "gate": "tests",
          "message": "2 tests passed."
        },
        {
          "gate": "red_green",
          "message": "Red on the old code, green on the change: shout ends with a mark."
        }
      ],
      "landed": {
        "commit": null,
        "files": [
          "src/shout.sh",
          "test/shout_test.sh"
        ]
      },
      "usage": {
        "calls": 2,
        "calls_by_role": {
          "builder": 1,
          "reviewer": 1
        },
        "cached_tokens": 0,
        "cost_usd": null
      }
    }
    "#);
    let checks: Vec<&Value> = evidence.as_array().unwrap().iter().map(|one| &one["check"]).collect();
    assert_eq!(checks[..2], ["baseline", "tests"]);
    let repeats: Vec<Value> = (1..=4).map(|seed| json!({"repeat": seed})).collect();
    assert_eq!(checks[2..4], ["new_tests", "old_tests"]);
    assert_eq!(checks[4..], repeats.iter().collect::<Vec<_>>());
    assert_eq!(evidence[1]["signal"], "pass");
    assert_eq!(evidence[1]["tests"], 2);
    assert_eq!(evidence[1]["receipt"]["argv"], json!(["sh", "test/run.sh"]));
    assert_eq!(verdict["decision"], "approved");
    let gate = |name: &str| {
        verdict["gates"].as_array().unwrap().iter().find(|gate| gate["gate"] == name).unwrap().clone()
    };
    assert_eq!(gate("determinism")["state"], "passed");
    assert_eq!(gate("determinism")["cost"]["runs"], 4);
    assert_eq!(gate("scope")["state"], "absent");
    let shown = json!([{"text": "Add shout", "shown_by": ["shout ends with a mark"], "holds": true}]);
    assert_eq!(verdict["criteria"], shown);
}

#[test]
fn events_are_one_object_a_line_and_in_order() {
    let environment = TestEnvironment::new();
    let script = Script::new()
        .builder(builds(&shout("$1?")))
        .builder(builds(&reshout("$1?", "$1!")))
        .reviewer(approves());
    let output = environment.cycle_with(&script, &["--events"]);
    output.ended(0);
    let events = output.events();
    for (seq, event) in (1..).zip(&events) {
        assert_eq!(event["seq"], seq);
        assert_eq!(event["run"], environment.result()["run"]);
        assert_eq!(event["task"], "main");
        assert!(event["at"].as_str().unwrap().ends_with('Z'));
    }
    let mut kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "status",
            "turn_started",
            "status",
            "stream_chunk",
            "tests_output",
            "builder_ready",
            "patch_ready",
            "status",
            "tests_output",
            "status",
            "turn_started",
            "status",
            "stream_chunk",
            "builder_ready",
            "patch_ready",
            "status",
            "tests_output",
            "status",
            "stream_chunk",
            "review_ready",
            "verdict",
            "status",
            "cycle_complete",
            "outcome"
        ]
    );
    let last = &events[events.len() - 2];
    assert_eq!((&last["success"], &last["iterations"]), (&json!(true), &json!(2)));
}

#[test]
fn a_reply_streams_whole_before_it_is_judged() {
    let environment = TestEnvironment::new();
    let script = Script::approved();
    let output = environment.cycle_with(&script, &["--events"]);
    let mut streamed = String::new();
    for event in output.events() {
        match event["type"].as_str().unwrap() {
            "stream_chunk" => streamed.push_str(event["chunk"].as_str().unwrap()),
            "builder_ready" => assert_eq!(std::mem::take(&mut streamed), script.replies("builder")[0]),
            "review_ready" => assert_eq!(std::mem::take(&mut streamed), script.replies("reviewer")[0]),
            _ => {}
        }
    }
    assert_eq!(streamed, "", "nothing is streamed late");
}

#[test]
fn issues_reach_programs_unchanged() {
    let environment = TestEnvironment::new();
    let raised = json!([
        {"severity": "critical", "description": "one", "how_to_verify": "run one", "issue_id": "a"},
        {"severity": "major", "description": "two", "how_to_verify": "run two", "issue_id": "b"},
        {"severity": "minor", "description": "three", "how_to_verify": "run three", "issue_id": "c"}
    ]);
    environment.config(json!({"max_iterations": 1}));
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(raised.as_array().unwrap().as_slice()));
    let output = environment.cycle_with(&script, &["--events"]);
    output.ended(2);
    let review = output.events().into_iter().find(|event| event["type"] == "review_ready").unwrap();
    assert_eq!(review["review"]["issues"], raised);
}

#[test]
fn a_red_patch_goes_back_with_the_failing_output_and_without_a_review() {
    let environment = TestEnvironment::new();
    let script = Script::new()
        .builder(builds(&shout("$1?")))
        .builder(builds(&reshout("$1?", "$1!")))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    assert_eq!(environment.order(), "builder builder reviewer");
    let second = &environment.prompts("builder")[1];
    assert_has(second, &["not ok 1 - shout ends with a mark", "got 'hey?', expected 'hey!'", "exit code 1"]);
    assert_eq!(environment.result()["turns"], 2);
}

#[test]
fn every_prompt_has_the_shared_state() {
    let environment = TestEnvironment::new();
    let script = Script::new()
        .builder(builds(&shout("$1?")))
        .builder(builds(&reshout("$1?", "$1!")))
        .reviewer(asks_for(&[issue("loud", "major", "it is not loud enough for a hall")]))
        .builder(builds(&reshout("$1!", "${1}!")))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    for asked in environment.asked() {
        assert_has(
            &asked.user,
            &[
                "## GOAL\nAdd shout\n",
                "## CONSTRAINTS\n",
                "## FILE_TREE\n",
                "## RECENT_DIFFS\n",
                "## LAST_TEST_OUTPUT\n",
                "## OPEN_ISSUES\n",
                "src/text.sh",
                "Allowed paths: src/**, test/**.",
            ],
        );
    }
    let third = &environment.prompts("builder")[2];
    assert_has(
        third,
        &[
            "+shout() { echo \"$1!\"; }",
            "ok 1 - shout ends with a mark",
            "[loud] major",
            "it is not loud enough for a hall",
            "How to verify: call shout and look at loud",
        ],
    );
    let review = &environment.prompts("reviewer")[0];
    assert_has(
        review,
        &["+shout() { echo \"$1!\"; }", "tap: 2 passed, 0 failed", "Nobody may want to shout"],
    );
}

#[test]
fn constraints_name_the_languages_and_the_dependency_rule() {
    let environment = TestEnvironment::new();
    environment.write("src/index.ts", "export const one: number = 1;\n");
    environment.config(json!({"allow_paths": ["src/**/*.ts", "src/**", "test/**"]}));
    environment.cycle(&Script::approved()).ended(0);
    let prompt = &environment.prompts("builder")[0];
    assert_has(
        prompt,
        &["TypeScript", "Allowed paths: src/**/*.ts, src/**, test/**.", "Dependencies: no new ones"],
    );
}

#[test]
fn at_the_limit_nothing_lands() {
    let environment = TestEnvironment::new();
    environment.config(json!({"max_iterations": 1}));
    let before = environment.files();
    let script = Script::new().builder(builds(&shout("$1!"))).reviewer(asks_for(&[issue(
        "loud",
        "major",
        "it is not loud enough",
    )]));
    let output = environment.cycle(&script);
    assert_has(output.ended(2), &["NOT APPROVED", "stopped by max_iterations: Not approved after 1 turn."]);
    assert_eq!(environment.files(), before);
    let result = environment.result();
    assert_eq!(
        (&result["outcome"], &result["stopped_by"]),
        (&json!("not_approved"), &json!("max_iterations"))
    );
    assert_eq!(result["landed"], Value::Null);
}

#[test]
fn three_turns_are_the_default() {
    let environment = TestEnvironment::new();
    let wrong = |n: &str| builds(&adds(&format!("test/wrong{n}_test.sh"), &["expect wrong 1 2"]));
    let script =
        Script::new().builder(wrong("1")).builder(wrong("2")).builder(wrong("3")).builder(wrong("4"));
    environment.cycle(&script).ended(2);
    assert_eq!(environment.result()["turns"], 3);
    assert_eq!(environment.order(), "builder builder builder");
}

#[test]
fn reading_diagnostics_and_a_busy_provider_use_no_turn() {
    let environment = TestEnvironment::new();
    environment.config(json!({"max_iterations": 1, "allow_commands": ["cat src/shout.sh"]}));
    let script = Script::new()
        .builder(json!({"files_needed": ["src/text.sh"]}))
        .entry(json!({"role": "builder", "fail": "rate_limit"}))
        .builder(builds(&shout("$1!")))
        .reviewer(json!({"verdict": "block", "block_reason": "uncertainty", "issues": [],
            "diagnostics_needed": ["cat src/shout.sh"], "stopping": "Unsure."}))
        .entry(json!({"role": "reviewer", "fail": "overloaded"}))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    let result = environment.result();
    assert_eq!(result["turns"], 1);
    assert_eq!(result["usage"]["calls_by_role"], json!({"builder": 3, "reviewer": 3}));
}

#[test]
fn endless_reading_ends() {
    let environment = TestEnvironment::new();
    let script = Script::new().builder(json!({"files_needed": ["src/text.sh"]})).then("repeat_last_of_role");
    let output = environment.cycle(&script);
    assert_has(output.ended(2), &["stopped by unusable_reply", "answer now with what you have seen"]);
}

#[test]
fn what_was_red_before_is_not_charged() {
    let environment = TestEnvironment::new();
    environment.write("test/old_test.sh", "expect \"an old grudge\" 1 2\n");
    environment.commit();
    let output = environment.cycle(&Script::approved());
    assert_has(
        output.ended(0),
        &["Nothing newly red; 1 test failed before the change as well: an old grudge."],
    );
}

#[test]
fn zero_tests_are_never_approved() {
    let environment = TestEnvironment::new();
    for command in ["true", "echo 1..0"] {
        environment.config(json!({"test_command": command, "max_iterations": 1}));
        let output = environment.cycle(&Script::approved());
        assert_has(output.ended(2), &["no test ran"]);
        assert!(!environment.has("src/shout.sh"), "{command}");
    }
}

#[test]
fn the_legal_exit_shows_the_contradiction() {
    let environment = TestEnvironment::new();
    let reply = builds_with(
        "",
        json!({"conflict": {"reason": "upper must not change, but the goal wants it to.", "evidence": "test/text_test.sh"}}),
    );
    let output = environment.cycle(&Script::new().builder(reply));
    assert_has(output.ended(2), &["stopped by goal_conflict", "upper must not change", "test/text_test.sh"]);
}

#[test]
fn a_task_file_says_more_than_a_goal() {
    let environment = TestEnvironment::new();
    let task = environment.path("task.json");
    std::fs::write(
        &task,
        r#"{"goal": "Add shout from a file", "kind": "bugfix", "permits": ["change_tests"], "given_red": true,
            "examples": {"path": "example.sh", "run": "sh example.sh", "content": "echo an example"}}"#,
    )
    .unwrap();
    let script = environment.script(&Script::approved());
    environment.run(&["run", "--task", task.to_str().unwrap(), "--replay", &script]).ended(0);
    assert_has(
        &environment.prompts("builder")[0],
        &[
            "Add shout from a file",
            "Kind of change: bug fix.",
            "The user permits: change_tests.",
            "A failing test for this goal is in the repository already.",
            "echo an example",
        ],
    );
}

#[test]
fn wrong_command_lines_exit_with_64() {
    let environment = TestEnvironment::new();
    let script = environment.script(&Script::approved());
    let bad_task = environment.path("bad.json");
    std::fs::write(&bad_task, "{}").unwrap();
    for arguments in [
        &["run"][..],
        &["run", "  ", "--replay", &script],
        &["run", "goal", "--task", "x"],
        &["run", "--task", bad_task.to_str().unwrap(), "--replay", &script],
        &["run", "goal", "--replay", "missing.json"],
        &["run", "goal", "--land", "somewhere", "--replay", &script],
        &["--repo", "missing", "runs"],
        &["fly"],
        &["show", "latest"],
    ] {
        let output = environment.run(arguments);
        assert_eq!(output.code, Some(64), "{arguments:?}: {}", output.stderr);
        assert_eq!(output.stdout, "");
        assert_has_not(&output.stderr, &["panicked"]);
    }
    assert!(environment.runs().is_empty(), "a run that cannot begin leaves nothing behind");
}

#[test]
fn a_script_that_is_none_is_an_error_that_names_the_place() {
    let environment = TestEnvironment::new();
    let script = Script::new().entry(json!({"role": "poet", "reply": "a rose"}));
    let output = environment.cycle(&script);
    assert_has(output.ended(1), &["Entry 1 of the replay script: `role` is `poet`"]);
    assert_eq!(environment.result()["outcome"], "error");
    assert!(environment.runs().is_empty());
}
