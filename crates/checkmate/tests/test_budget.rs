//! What a run may use, and what it is likely to use.

use serde_json::json;

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::plays::FAILED;
use crate::script::{Script, approves, asks_for, builds, issue, reshout, shout};

/// Red, then green, then approved.
fn two_turns() -> Script {
    Script::new().builder(builds(&shout("$1?"))).builder(builds(&reshout("$1?", "$1!"))).reviewer(approves())
}

#[test]
fn a_run_ends_at_its_budget_and_goes_on_with_a_larger_one() {
    let environment = TestEnvironment::new();
    let mut command = environment.cycle_command(&two_turns());
    let ended = environment.output(command.args(["--max-calls", "2"]));
    assert_has(
        ended.ended(2),
        &[
            "The budget of the run leaves no room for another call of the reviewer: its 2 calls are used",
            "The last candidate is kept",
            "--max-calls",
        ],
    );
    let result = environment.result();
    assert_eq!((&result["outcome"], &result["stopped_by"]), (&json!("not_approved"), &json!("budget")));
    assert_eq!(result["usage"]["calls"], 2);
    assert!(!environment.has("src/shout.sh"));
    assert_has(&environment.run(&["show", "latest", "--patch"]).stdout, &["+shout() { echo \"$1!\"; }"]);
    // Nothing changes without more room, and nothing is asked.
    environment.run(&["resume", "latest"]).ended(2);
    environment.run(&["resume", "latest", "--max-calls", "2"]).ended(2);
    environment.run(&["resume", "latest", "--max-calls", "3"]).ended(0);
    assert!(environment.has("src/shout.sh"));
    environment.run(&["replay", "latest"]).ended(0);
}

#[test]
fn a_role_has_a_budget_of_its_own() {
    let environment = TestEnvironment::new();
    environment.config(json!({"reviewer": {"budget": {"max_calls": 1}}}));
    let script = Script::new()
        .builder(builds(&shout("$1!")))
        .reviewer(asks_for(&[issue("LOUD", "major", "shout is not loud")]))
        .builder(builds(&reshout("$1!", "$1!")))
        .builder(builds(&reshout("$1!", "${1}!")))
        .reviewer(approves());
    let ended = environment.cycle(&script);
    assert_has(
        ended.ended(2),
        &["The budget of the reviewer leaves no room", "`--budget-of reviewer` and `--max-calls`"],
    );
    environment.run(&["resume", "latest", "--max-calls", "9"]).ended(2);
    environment.run(&["resume", "latest", "--budget-of", "reviewer", "--max-calls", "2"]).ended(0);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn minutes_that_are_over_end_what_is_under_way() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let mut command = environment.cycle_command(&Script::approved());
    let ended = environment.output(command.args(["--max-minutes", "0"]));
    assert_has(ended.ended(2), &["The minutes of the run's budget are over."]);
    environment.wait_for(|| environment.processes().is_empty());
    assert_eq!(environment.result()["stopped_by"], "budget");
    environment.let_go();
    environment.run(&["resume", "latest", "--max-minutes", "5"]).ended(0);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn money_needs_prices_and_amounts_are_amounts() {
    let environment = TestEnvironment::new();
    environment.config(json!({"builder_provider": "anthropic", "builder_model": "a", "reviewer_provider": "openai", "reviewer_model": "b"}));
    let mut command = environment.command(env!("CARGO_BIN_EXE_checkmate"));
    let keys = [("OPENAI_API_KEY", "sk-a"), ("ANTHROPIC_API_KEY", "sk-b")];
    let said = environment.output(command.envs(keys).args(["run", "Add shout", "--max-usd", "0.5"]));
    assert_has(&said.stderr, &["what the builder's model costs is not known", "`builder.price`"]);
    assert_eq!(said.code, Some(64));
    for amount in ["-1", "much", "NaN", "1e9"] {
        let flag = format!("--max-usd={amount}");
        assert_has(environment.run(&["run", "Add shout", &flag]).ended(64), &["such as 1.50"]);
    }
    assert!(environment.runs().is_empty());
}

#[test]
fn earlier_runs_say_what_the_next_is_likely_to_cost() {
    let environment = TestEnvironment::new();
    for run in 0..3 {
        environment.git(&["clean", "-fdq"]);
        let said = environment.cycle(&two_turns());
        let said = said.ended(0);
        let forecast = "runs here took 2 turns (at most 2), 3 requests (at most 3)";
        if run < 2 {
            assert_has_not(said, &[forecast]);
        } else {
            assert_has(said, &["The last 2 ", forecast]);
        }
    }
    environment.git(&["clean", "-fdq"]);
    let mut command = environment.cycle_command(&two_turns());
    let said = environment.output(command.args(["--max-calls", "2"]));
    assert_has(said.ended(2), &["warning: The budget allows fewer requests than most runs here took."]);
}

#[test]
fn a_run_that_failed_takes_a_larger_budget_when_it_goes_on() {
    let environment = TestEnvironment::new();
    environment.output(&mut environment.cycle_command(&(FAILED.script)())).ended(1);
    environment.run(&["resume", "latest", "--max-calls", "50"]).ended(0);
    let journal = environment.journal();
    let said = journal.iter().filter_map(|line| line["event"]["command"]["command"].as_str());
    assert_eq!(said.collect::<Vec<_>>(), ["retry", "budget"]);
}
