//! `checkmate verify`: an approval is held against its receipts.

use std::path::Path;

use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, assert_has};
use crate::script::{Script, builds, shout};

/// Changes the lines of the latest run's journal.
fn edit(environment: &TestEnvironment, change: impl Fn(&mut Value)) {
    let path = environment.run_folder().join("journal.jsonl");
    let mut lines = environment.journal();
    lines.iter_mut().for_each(change);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(path, text).unwrap();
}

/// Makes sure that people find a message in docs/troubleshooting.md.
fn assert_is_quoted(environment: &TestEnvironment, message: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    assert_has(&environment.normal(&std::fs::read_to_string(page).unwrap()), &[message]);
}

/// Changes the receipts of one kind of check.
fn edit_receipts(environment: &TestEnvironment, check: &str, change: impl Fn(&mut Value)) {
    let before = environment.journal();
    edit(environment, |line| {
        let answers =
            line["digest"].as_str().is_some_and(|digest| digest.starts_with(&format!("check {check} ")));
        if answers {
            change(&mut line["event"]["answer"]);
        }
    });
    assert_ne!(before, environment.journal(), "nothing was changed");
}

fn approved() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    environment
}

fn verify(environment: &TestEnvironment) -> Output {
    environment.run(&["verify", "latest"])
}

#[test]
fn an_approval_stands_on_its_receipts() {
    let environment = approved();
    let references = environment.git(&["for-each-ref"]);
    let objects = environment.git(&["count-objects"]);
    let output = verify(&environment);
    assert_has(
        output.ended(0),
        &[
            "The approval of the run RUN stands (approved): 8 receipts lead to it, and none of 18 gates is against it.",
        ],
    );
    let receipts = environment.evidence();
    assert_eq!(output.stdout.matches(": sh test/run.sh\n").count(), receipts.len());
    for one in &receipts {
        let receipt = &one["receipt"];
        let saw = receipt["saw"].as_str().or(receipt["tree"].as_str()).unwrap();
        assert_has(&output.stdout, &[saw, receipt["stdout"]["sha256"].as_str().unwrap()]);
    }
    assert_has(
        &output.stdout,
        &["  new_tests on ", "exit 1, tap: 1 passed, 1 failed, 0 errors, 0 skipped, ", "  repeat 4 on "],
    );
    assert_eq!(environment.git(&["for-each-ref"]), references, "verifying keeps nothing");
    assert_eq!(environment.git(&["count-objects"]), objects, "verifying writes nothing");
}

#[test]
fn an_approval_stands_however_it_landed() {
    let environment = TestEnvironment::new();
    environment.cycle_with(&Script::approved(), &["--land", "ask"]).ended(2);
    assert_has(verify(&environment).ended(0), &["stands (approved, not landed)"]);
    environment.run(&["land", "latest", "--commit"]).ended(0);
    assert_has(verify(&environment).ended(0), &["stands (approved)"]);
    environment.run(&["undo", "latest"]).ended(0);
    assert_has(verify(&environment).ended(0), &["stands (approved, not landed)"]);
}

#[test]
fn an_edited_receipt_is_noticed() {
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit, &str); 7] = [
        (
            "Tests",
            |receipt| receipt["ended"]["code"] = json!(1),
            "tests: `sh test/run.sh` ended with an error",
        ),
        ("Tests", |receipt| receipt["report"]["passed"] = json!(3), "tests: the receipt in record"),
        ("Tests", |receipt| receipt["tree"] = receipt["saw"].clone(), "the receipt"),
        ("NewTests", |receipt| receipt["report"]["failed"] = json!(0), "red_green: "),
        ("NewTests", |receipt| receipt["saw"] = receipt["tree"].clone(), "red_green: the receipt in record"),
        (
            "OldTests",
            |receipt| receipt["stdout"]["text"] = json!("1..0\n"),
            "does not have its hash or length",
        ),
        ("Repeat(2)", |receipt| receipt["seed"] = json!(9), "determinism: the receipt in record"),
    ];
    for (check, change, said) in edits {
        let environment = approved();
        let base = environment.evidence()[0]["receipt"]["tree"].clone();
        edit_receipts(&environment, check, |answer| {
            change(answer);
            if answer["tree"].is_null() {
                answer["tree"] = base.clone();
            }
        });
        let output = verify(&environment);
        assert_has(
            output.ended(2),
            &["The approval of the run RUN does not follow from its receipts:", said],
        );
        assert_is_quoted(&environment, output.stderr.lines().next().unwrap());
    }
}

#[test]
fn a_changed_decision_is_noticed() {
    let environment = TestEnvironment::new();
    environment.config(json!({"max_iterations": 1}));
    environment.cycle(&Script::new().builder(builds(&shout("$1?")))).ended(2);
    edit(&environment, |line| {
        if line["record"] == "ended" {
            line["outcome"] = json!({"outcome": "approved", "commit": null, "files": ["src/shout.sh"]});
        }
    });
    assert_has(
        verify(&environment).ended(2),
        &["lead to another end than the journal says", "tests: 1 of 2 tests failed: shout ends with a mark."],
    );
    let environment = approved();
    edit(&environment, |line| {
        let answer = &mut line["event"]["answer"];
        if answer["answer"] == "applied" {
            answer["diff"] = json!(answer["diff"].as_str().unwrap().replace("hey!", "hey."));
        }
    });
    assert_has(verify(&environment).ended(2), &["is not the one between its two trees"]);
}

#[test]
fn what_was_not_approved_is_not_verified() {
    let environment = TestEnvironment::new();
    environment.config(json!({"max_iterations": 1}));
    environment.cycle(&Script::new().builder(builds(&shout("$1?")))).ended(2);
    assert_has(
        verify(&environment).ended(2),
        &["The run RUN was not approved: it was stopped by max_iterations. `checkmate show RUN` says why."],
    );
    assert_has(
        environment.run(&["verify", "nothing-like-it"]).ended(64),
        &["There is no run `nothing-like-it`"],
    );
}

#[test]
fn a_missing_record_or_object_is_an_error() {
    let environment = approved();
    let path = environment.run_folder().join("journal.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    let without: String =
        whole.lines().filter(|line| !line.contains("\"seq\":3,")).map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, without).unwrap();
    assert_has(verify(&environment).ended(1), &["its record 3 is missing"]);
    std::fs::write(&path, whole).unwrap();
    verify(&environment).ended(0);
    let blob = environment.git(&["hash-object", "src/shout.sh"]);
    let object = environment.root().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let bytes = std::fs::read(&object).unwrap();
    std::fs::remove_file(&object).unwrap();
    let said = verify(&environment).ended(1).to_owned();
    assert_has(&said, &["The git tree HASH is missing or damaged"]);
    assert_is_quoted(
        &environment,
        said.split_once("checkmate: ").unwrap().1.split_inclusive(". ").next().unwrap().trim(),
    );
    let other = environment.git(&["hash-object", "-w", "test/run.sh"]);
    let other = environment.root().join(".git/objects").join(&other[..2]).join(&other[2..]);
    std::fs::copy(other, &object).unwrap();
    assert_has(verify(&environment).ended(1), &["The git tree HASH is missing or damaged", "hash mismatch"]);
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, bytes).unwrap();
    verify(&environment).ended(0);
}
