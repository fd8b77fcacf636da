//! Gates of evidence in whole runs; what each of them says about which change is in `evidence/`.

use std::path::Path;
use std::process::Command;

use checkmate_machine::effect::short_hash;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, adds, approves, builds, builds_with, replaces, shout};

const WRONG: &str = "lower() { printf '%s\\n' \"$1\" | tr A-Y a-y; }";
const RIGHT: &str = "lower() { printf '%s\\n' \"$1\" | tr A-Z a-z; }";

/// A goal whose words do not tell what sort of change it is.
const UNTOLD: &str = "Have shout end with a mark";

/// A world with evidence on and a function that is wrong.
fn world(keys: Value) -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("src/lower.sh", format!("{WRONG}\n"));
    let mut all = json!({"evidence": true});
    all.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    environment.config(all);
    environment
}

fn command(environment: &TestEnvironment, goal: &str, script: &Script) -> Command {
    let (script, result) = (environment.script(script), environment.path("result.json"));
    environment.checkmate(&["run", goal, "--replay", &script, "--json", result.to_str().unwrap()])
}

fn run(environment: &TestEnvironment, goal: &str, script: &Script) -> Output {
    environment.output(&mut command(environment, goal, script))
}

/// Returns what a gate says at the end.
fn said(environment: &TestEnvironment, gate: &str) -> String {
    let result = environment.result();
    let reasons = result["reasons"].as_array().unwrap();
    let reason = reasons.iter().find(|reason| reason["gate"] == gate);
    reason.unwrap_or_else(|| panic!("no {gate} in {reasons:?}"))["message"].as_str().unwrap().to_owned()
}

fn fix() -> String {
    let test = adds("test/lower_test.sh", &["expect \"lower of the last letter\" \"$(lower Z)\" z"]);
    format!("{}{test}", replaces("src/lower.sh", WRONG, RIGHT))
}

#[test]
fn a_fix_whose_test_was_red_before_it_is_approved() {
    let environment = world(json!({}));
    let script = Script::new().builder(builds(&fix())).reviewer(approves());
    run(&environment, "Fix lower: it leaves the Z as it is", &script).ended(0);
    assert_eq!(environment.read("src/lower.sh"), format!("{RIGHT}\n"));
    assert_snapshot!(said(&environment, "red_green"), @"Red on the old code, green on the change: lower of the last letter.");
    assert_snapshot!(said(&environment, "determinism"), @"Green 5 times, with other seeds and orders.");
    assert_has(&environment.prompts("reviewer")[0], &["## EVIDENCE", "red_green: passed."]);
    let kinds: Vec<Value> = environment.evidence().iter().map(|entry| entry["check"].clone()).collect();
    assert!(kinds.len() > 5, "{kinds:?}");
    environment.run(&["replay", "latest"]).ended(0);
    environment.run(&["undo", "latest"]).ended(0);
}

#[test]
fn without_evidence_nothing_more_runs() {
    let environment = world(json!({"evidence": false}));
    let script = Script::new().builder(builds(&fix())).reviewer(approves());
    run(&environment, "Fix lower: it leaves the Z as it is", &script).ended(0);
    assert_eq!(environment.evidence().len(), 2);
}

#[test]
fn a_permitted_dependency_needs_a_reason() {
    let environment = TestEnvironment::new();
    environment.write("package.json", "{}\n");
    environment.config(json!({"evidence": {"red_green": "off"}, "allow_paths": ["**"]}));
    let patch = replaces("package.json", "{}", "{\"dependencies\": {\"left-pad\": \"1\"}}");
    let explained =
        builds_with(&patch, json!({"risks": ["left-pad is one more package to keep up to date."]}));
    let task = environment.path("task.json");
    let told = json!({"goal": "Align the names in the list", "kind": "chore", "permits": ["deps"]});
    std::fs::write(&task, told.to_string()).unwrap();
    let run_task = |script: &Script| {
        let (script, result) = (environment.script(script), environment.path("result.json"));
        let (task, result) = (task.to_str().unwrap(), result.to_str().unwrap());
        environment.run(&["run", "--task", task, "--replay", &script, "--json", result])
    };
    let script = Script::new().builder(builds(&patch)).builder(explained).reviewer(approves());
    run_task(&script).ended(0);
    assert_eq!(environment.result()["turns"], 2);
    assert_has(&environment.prompts("builder")[1], &["no entry of `risks` names `left-pad`"]);
    assert_snapshot!(said(&environment, "dependencies"), @"The task permits what changes: `dependencies.left-pad` in `package.json`. The builder says: left-pad is one more package to keep up to date.");

    environment.run(&["undo", "latest"]).ended(0);
    let silent = builds_with(&patch, json!({"risks": ["The configuration may be read by others."]}));
    run_task(&Script::new().builder(silent.clone()).builder(silent.clone())).ended(2);
    assert_eq!(environment.result()["stopped_by"], "oscillation");
    assert_eq!(environment.read("package.json"), "{}\n");

    // What the user asks for by name, the user has decided.
    let script = Script::new().builder(silent).reviewer(approves());
    run(&environment, "Add the left-pad package as a dependency", &script).ended(0);
}

#[test]
fn old_tests_that_fail_on_the_new_code_block() {
    let environment = world(json!({"max_iterations": 1}));
    environment.write("test/data/marked.txt", "word!\n");
    environment.write("src/mark.sh", "mark() { echo \"$1!\"; }\n");
    environment
        .write("test/mark_test.sh", "expect \"mark\" \"$(mark word)\" \"$(cat test/data/marked.txt)\"\n");
    environment.commit();
    let change = format!(
        "{}{}{}",
        replaces("src/mark.sh", "mark() { echo \"$1!\"; }", "mark() { echo \"$1?\"; }"),
        replaces("test/data/marked.txt", "word!", "word?"),
        adds("test/asks_test.sh", &["expect \"asks\" \"$(mark really)\" 'really?'"]),
    );
    let script = Script::new().builder(builds(&change)).reviewer(approves());
    run(&environment, "Let mark ask", &script).ended(2);
    assert_snapshot!(said(&environment, "old_tests"), @"The tests as they were before the change do not pass on it: 1 of 2 tests failed: mark. If the goal and a test contradict each other, say so in `conflict`; the goal or a permit can allow to change a test.");
    assert_eq!(environment.order(), "builder", "no reviewer is asked about what is blocked");
    assert_eq!(environment.result()["stopped_by"], "max_iterations");
}

#[test]
fn an_existing_test_that_is_skipped_blocks() {
    let environment =
        world(json!({"test_command": "python3 -m unittest discover -s test", "max_iterations": 1}));
    let test = "import unittest\n\n\nclass Old(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(1 + 1, 2)\n";
    environment.write("test/test_old.py", test);
    environment.commit();
    let patch = "--- a/test/test_old.py\n+++ b/test/test_old.py\n@@ -3,5 +3,6 @@\n \n class Old(unittest.TestCase):\n\
                 +    @unittest.skip(\"later\")\n     def test_sum(self):\n         self.assertEqual(1 + 1, 2)\n";
    let new = "--- /dev/null\n+++ b/test/test_new.py\n@@ -0,0 +1,6 @@\n+import unittest\n+\n+\n+class New(unittest.TestCase):\n\
               +    def test_difference(self):\n+        self.assertEqual(2 - 1, 1)\n";
    let script = Script::new().builder(builds(&format!("{patch}{new}"))).reviewer(approves());
    run(&environment, "Add a test of differences", &script).ended(2);
    assert_snapshot!(said(&environment, "existing_tests"), @r#"The test `Old.test_sum` of test/test_old.py does not run any more (@unittest.skip("later")). Put that back as it was, and add tests of your own beside it. If the goal and an existing test contradict each other, say so in `conflict`."#);
    let kinds: Vec<Value> = environment.evidence().iter().map(|entry| entry["check"].clone()).collect();
    assert_eq!(kinds, ["baseline"], "what reading blocks is not run");
}

/// The objection to a change without a test, by its name.
fn no_red_test() -> String {
    format!("red_green-{}", &short_hash("red_greenno red test")[..4])
}

fn untested() -> Value {
    builds(&adds("src/shout.sh", &["shout() { echo \"$1!\"; }"]))
}

#[test]
fn an_answer_that_the_reviewer_has_seen_settles_an_objection() {
    let environment = world(json!({}));
    let answers = json!([{"to": no_red_test(), "answer": "justified", "text": "A mark cannot be tested."}]);
    let script = Script::new()
        .builder(untested())
        .builder(builds_with("", json!({"answers": answers})))
        .reviewer(approves());
    run(&environment, UNTOLD, &script).ended(0);
    assert_eq!(environment.order(), "builder builder reviewer");
    assert_has(&environment.prompts("builder")[1], &[&no_red_test(), "answer it by its id in"]);
    assert_has(&environment.prompts("reviewer")[0], &[&no_red_test(), "A mark cannot be tested."]);
    assert_has(&said(&environment, "red_green"), &["The builder answers: A mark cannot be tested."]);
}

#[test]
fn an_objection_without_an_answer_stands() {
    let environment = world(json!({"max_iterations": 2}));
    let other = replaces("src/shout.sh", "shout() { echo \"$1!\"; }", "shout() { echo \"${1}!\"; }");
    let script = Script::new().builder(untested()).builder(builds(&other)).reviewer(approves());
    run(&environment, UNTOLD, &script).ended(2);
    assert_eq!(environment.order(), "builder builder");
    assert_has_not(&said(&environment, "red_green"), &["answers"]);
    assert!(!environment.has("src/shout.sh"));
}

/// A probe that wants two marks.
fn probe() -> Value {
    let content = ". ./src/shout.sh\n[ \"$(shout hey)\" = 'hey!!' ] || { echo 'AssertionError: one mark' >&2; exit 1; }\n";
    json!({"probes": [{"id": "two-marks", "criterion": "shout ends with two marks", "path": "zz_probe.sh",
                       "run": "sh zz_probe.sh", "content": content}]})
}

/// One mark, and a dispute of the probe that wants two.
fn disputed() -> Script {
    let answers = json!([{"to": "probe-1", "answer": "disagree", "text": "The goal wants one mark."}]);
    Script::new()
        .entry(json!({"role": "examiner", "reply": probe()}))
        .builder(builds(&shout("$1!")))
        .builder(builds_with("", json!({"answers": answers})))
        .reviewer(approves())
}

#[test]
fn the_moderator_decides_about_a_disputed_probe() {
    let keys = json!({"examiner": true, "max_iterations": 2, "enable_moderator": true,
                      "moderator_provider": "anthropic", "moderator_model": "m"});
    for (decision, code, order) in [
        ("accept_builder", 0, "builder examiner builder moderator reviewer"),
        ("accept_reviewer", 2, "builder examiner builder moderator"),
        ("reject_both", 2, "builder examiner builder moderator"),
    ] {
        let environment = world(keys.clone());
        let script = disputed().moderator(json!({"decision": decision, "reasoning": "The goal says so."}));
        let output = run(&environment, "Add shout", &script);
        output.ended(code);
        assert_eq!(environment.order(), order, "{decision}");
        assert_eq!(environment.has("src/shout.sh"), code == 0, "{decision}");
        if decision == "reject_both" {
            assert_eq!(environment.result()["stopped_by"], "needs_human");
        }
        assert_has(&environment.prompts("moderator")[0], &["two marks", "The goal wants one mark."]);
        environment.run(&["replay", "latest"]).ended(0);
    }
}

#[test]
fn without_a_moderator_a_person_decides_about_a_disputed_probe() {
    let environment = world(json!({"examiner": true}));
    let output = run(&environment, "Add shout", &disputed());
    assert_has(output.ended(2), &["disputes the probe `probe-1`", "The goal wants one mark."]);
    assert_eq!(environment.result()["stopped_by"], "needs_human");
    assert!(!environment.has("src/shout.sh"));
}

#[test]
fn proven_probes_can_be_kept_as_tests() {
    let environment = world(json!({"examiner": true}));
    let script = Script::new()
        .entry(json!({"role": "examiner", "reply": probe()}))
        .builder(builds(&shout("$1!!").replace("'hey!'", "'hey!!'")))
        .reviewer(approves());
    run(&environment, "Add shout, which ends with two marks", &script).ended(0);
    let patch = environment.run(&["show", "latest", "--probes"]);
    patch.ended(0);
    let file = environment.path("probes.patch");
    std::fs::write(&file, &patch.stdout).unwrap();
    environment.git(&["apply", file.to_str().unwrap()]);
    assert_eq!(environment.read("zz_probe.sh"), probe()["probes"][0]["content"].as_str().unwrap());
    let without = TestEnvironment::new();
    without.cycle(&Script::approved()).ended(0);
    let said = without.run(&["show", "latest", "--probes"]);
    assert_has(said.ended(64), &["has no probe that fails without the change and holds with it"]);
}

#[test]
fn an_examiner_that_gives_no_usable_reply_ends_the_run() {
    let environment = world(json!({"examiner": true}));
    let nonsense = json!({"role": "examiner", "reply": "I would rather not."});
    let script = Script::approved().entry(nonsense).then("repeat_last_of_role");
    run(&environment, "Add shout", &script).ended(2);
    assert_eq!(environment.result()["stopped_by"], "unusable_reply");
    assert_eq!(environment.prompts("examiner").len(), 3);
    assert!(!environment.has("src/shout.sh"));
}

/// A probe that holds, but waits until it is let go.
fn waiting_probe(environment: &TestEnvironment) -> Script {
    let wait = |path: &Path| path.display().to_string();
    let content = format!(
        "touch {}\nwhile [ ! -e {} ]; do sleep 0.02; done\n. ./src/shout.sh\n[ \"$(shout hey)\" = 'hey!' ]\n",
        wait(&environment.path("here")),
        wait(&environment.path("go")),
    );
    let mut probes = probe();
    probes["probes"][0]["content"] = content.into();
    let entry = json!({"role": "examiner", "reply": probes});
    Script::new().entry(entry).builder(builds(&shout("$1!"))).reviewer(approves())
}

#[test]
fn a_run_that_is_killed_in_an_exam_goes_on_to_the_same_verdict() {
    let undisturbed = world(json!({"examiner": true}));
    undisturbed.let_go();
    run(&undisturbed, "Add shout", &waiting_probe(&undisturbed)).ended(0);
    let environment = world(json!({"examiner": true}));
    let script = waiting_probe(&environment);
    let mut child = environment.start_and_wait(command(&environment, "Add shout", &script));
    child.kill().unwrap();
    child.wait().unwrap();
    environment.let_go();
    let result = environment.path("result.json");
    environment.run(&["resume", "latest", "--json", result.to_str().unwrap()]).ended(0);
    let (one, two) = (undisturbed.result(), environment.result());
    assert_eq!(one["reasons"], two["reasons"]);
    assert_eq!(one["usage"]["calls_by_role"], two["usage"]["calls_by_role"]);
    assert_eq!(environment.order(), "builder examiner reviewer");
    environment.wait_for(|| environment.processes().is_empty());
    environment.run(&["replay", "latest"]).ended(0);
}

/// Returns whether the run's baselines were taken from an earlier run.
fn cached(environment: &TestEnvironment) -> Vec<bool> {
    let evidence = environment.evidence();
    let baselines = evidence.iter().filter(|entry| entry["check"] == "baseline");
    baselines.map(|entry| entry["receipt"]["cached"] == true).collect()
}

#[test]
fn a_green_baseline_of_the_same_tree_is_not_run_again() {
    let mut environment = TestEnvironment::new();
    let script = Script::approved();
    let ran = environment.path("ran");
    environment.write("test/counts_test.sh", format!("echo >> {}\nexpect counts 1 1\n", ran.display()));
    environment.commit();
    let runs = || std::fs::read_to_string(&ran).unwrap().lines().count();
    environment.cycle_with(&script, &["--land", "ask"]).ended(2);
    assert_eq!((cached(&environment), runs()), (vec![false], 2));
    let output = environment.cycle_with(&script, &["--land", "ask"]);
    assert_has(output.ended(2), &["earlier run", "1 command run by Checkmate"]);
    assert_eq!((cached(&environment), runs()), (vec![true], 3));
    environment.run(&["replay", "latest"]).ended(0);
    // Another environment, another tree, another command.
    environment.set("COLOUR", "blue");
    environment.cycle_with(&script, &["--land", "ask"]).ended(2);
    assert_eq!(cached(&environment), [false]);
    environment.write("src/more.sh", "more() { :; }\n");
    environment.cycle_with(&script, &["--land", "ask"]).ended(2);
    assert_eq!(cached(&environment), [false]);
    environment.config(json!({"test_command": "sh test/run.sh again"}));
    environment.cycle_with(&script, &["--land", "ask"]).ended(2);
    assert_eq!(cached(&environment), [false]);
    environment.cycle_with(&script, &["--land", "ask"]).ended(2);
    assert_eq!(cached(&environment), [true]);
}

#[test]
fn a_red_baseline_is_always_run_again() {
    let environment = TestEnvironment::new();
    environment.write("test/red_test.sh", "expect red 1 2\n");
    environment.commit();
    for _ in 0..2 {
        environment.cycle_with(&Script::approved(), &["--land", "ask"]).ended(2);
        assert_eq!(cached(&environment), [false]);
    }
}

/// A world in Python, whose functions can be changed a little, and a change with tests that notice it.
fn python(keys: Value) -> (TestEnvironment, Script) {
    let environment = world(json!({}));
    environment.write("prices.py", "def total(prices):\n    return sum(prices)\n");
    let test = "import unittest\n\nimport prices\n\n\nclass Total(unittest.TestCase):\n    def test_total(self):\n        \
                self.assertEqual(prices.total([1, 2]), 3)\n";
    environment.write("test_prices.py", test);
    let mut all = json!({"evidence": true, "test_command": "python3 -m unittest", "allow_paths": []});
    all.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    environment.config(all);
    environment.commit();
    let code = [
        "def reduced(price, percent):",
        "    if percent < 0 or percent > 100:",
        "        raise ValueError(percent)",
        "    return price - price * percent / 100",
    ];
    let test = [
        "import unittest",
        "",
        "from reduced import reduced",
        "",
        "",
        "class Reduced(unittest.TestCase):",
        "    def test_reduced(self):",
        "        self.assertEqual(reduced(80, 25), 60)",
        "        self.assertEqual((reduced(80, 0), reduced(80, 100)), (80, 0))",
        "",
        "    def test_out_of_range(self):",
        "        for percent in (-1, 101):",
        "            with self.assertRaises(ValueError):",
        "                reduced(80, percent)",
    ];
    let patch = format!("{}{}", adds("reduced.py", &code), adds("test_reduced.py", &test));
    (environment, Script::new().builder(builds(&patch)).reviewer(approves()))
}

#[test]
fn mutants_that_run_beside_each_other_say_the_same() {
    let said = [1, 3].map(|at_once| {
        let (environment, script) = python(json!({"mutants_at_once": at_once}));
        run(&environment, "Add `reduced(price, percent)`: the price less so many percent", &script).ended(0);
        let left =
            std::fs::read_dir(environment.run_folder()).unwrap().flatten().map(|entry| entry.file_name());
        assert!(!left.into_iter().any(|name| name == "tree-1" || name == "view.git-1"), "no site is left");
        said(&environment, "mutation")
    });
    assert_eq!(said[0], said[1]);
    assert_snapshot!(said[0], @"The tests notice 4 of 4 small changes of the new code.");
}
