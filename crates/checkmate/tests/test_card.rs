//! The verdict card: one sentence, every gate, what it cost, and what shows that the goal is reached.

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, adds, approves, builds, builds_with, shout, shout_line};

fn probe(id: &str, criterion: &str, wants: &str) -> Value {
    let content =
        format!(". ./src/shout.sh\n[ \"$(shout hey)\" = '{wants}' ] || {{ echo 'assert: no'; exit 1; }}\n");
    let path = format!("{id}.sh");
    json!({"id": id, "criterion": criterion, "path": path, "run": format!("sh {path}"), "content": content})
}

fn examined(probes: &[Value]) -> Script {
    Script::approved().entry(json!({"role": "examiner", "reply": {"probes": probes}}))
}

#[test]
fn criteria_are_those_of_the_probes_and_their_contents_stay_out() {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true, "examiner": true}));
    let probes = [
        probe("mark-one", "A shout ends with a mark", "hey!"),
        probe("mark-two", "A shout ends with a mark", "hey!"),
        probe("../outside", "A shout stays inside", "hey!"),
    ];
    let output = environment.cycle(&examined(&probes));
    assert_has(
        output.ended(0),
        &[
            "✓ probes         2 probes hold; 2 of them did not before the change. 1 said nothing.",
            "✓ goal: A shout ends with a mark — shown by `probe-1`, `probe-2`\n",
            "· goal: A shout stays inside — not shown by any test or probe\n",
        ],
    );
    assert_has_not(output.ended(0), &["$(shout hey)", "assert: no"]);
}

#[test]
fn a_refusal_names_what_stands_in_the_way_and_what_would_change_it() {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true, "examiner": true, "max_iterations": 1}));
    let output = environment.cycle(&examined(&[probe("calm", "A shout is calm", "hey.")]));
    assert_has(
        output.ended(2),
        &[
            " NOT APPROVED  Add shout\n   Not approved because `probes` and `review` do not let it through.\n",
            "✗ probes         Probes that an examiner wrote from the goal alone fail on the change: `probe-1`",
            "Mend the change, or dispute a probe once by its name in `answers`",
            "✗ goal: A shout is calm — does not hold: `probe-1`\n",
            "✗ not asked any more: determinism\n",
            "stopped by max_iterations",
        ],
    );
    let result = environment.result();
    let gates: Vec<&str> =
        result["reasons"].as_array().unwrap().iter().map(|reason| reason["gate"].as_str().unwrap()).collect();
    assert_eq!(gates, ["max_iterations", "probes", "determinism", "review"]);
    assert_eq!(result["verdict"]["criteria"][0]["holds"], false);
}

#[test]
fn an_answered_objection_is_shown_with_its_answer() {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true}));
    // A goal whose words do not tell what it is: the missing test is an objection and can be answered.
    let goal = environment.path("task.json");
    std::fs::write(&goal, json!({"goal": "Shouting."}).to_string()).unwrap();
    let patch = adds("src/shout.sh", &[&shout_line("$1!")]);
    let id = "red_green-";
    let script = Script::new().builder(builds(&patch)).then("repeat_last_of_role");
    let run = |script: &Script| {
        let path = environment.script(script);
        let result = environment.path("result.json");
        environment.run(&[
            "run",
            "--task",
            goal.to_str().unwrap(),
            "--replay",
            &path,
            "--json",
            result.to_str().unwrap(),
        ])
    };
    run(&script).ended(2);
    let gates = environment.result()["verdict"]["gates"].clone();
    let objection = gates.as_array().unwrap().iter().find(|gate| gate["gate"] == "red_green").unwrap()["objections"][0]
        ["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(objection.starts_with(id));
    let answer = json!({"patch": adds("src/calm.sh", &["calm() { echo \"$1.\"; }"]),
        "answers": [{"to": objection, "answer": "justified", "text": "Nothing to test."}]});
    let script = Script::new().builder(builds(&patch)).builder(builds_with("", answer)).reviewer(approves());
    let output = run(&script);
    assert_has(
        output.ended(0),
        &[
            "what `red_green` objected to is answered and reviewed, and none is against it.",
            "! red_green      1 objection answered, and the answers are reviewed\n",
            "the builder answers: Nothing to test.",
            "· goal: Shouting — not shown by any test or probe\n",
        ],
    );
}

#[test]
fn show_prints_the_same_card() {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true}));
    let seen = environment.cycle(&Script::new().builder(builds(&shout("$1!"))).reviewer(approves()));
    let card = seen.ended(0).split_once(" APPROVED ").unwrap().1.to_owned();
    let story = environment.run(&["show", "latest"]);
    story.ended(0);
    assert_has(&environment.normal(&story.stdout), &[&card]);
}
