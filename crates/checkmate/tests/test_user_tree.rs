//! The user's own files: what they hold before, during and after a run.

use serde_json::json;

use crate::environment::{TestEnvironment, assert_has};
use crate::script::{Script, adds, approves, builds, replaces, shout};

const UPPER: &str = "upper() { printf '%s\\n' \"$1\" | tr a-z A-Z; }";

#[test]
fn staged_unstaged_and_untracked_edits_survive_byte_for_byte() {
    let environment = TestEnvironment::new();
    environment.write("crlf.txt", "one\r\ntwo\r\n");
    environment.write("gone.txt", "gone\n");
    environment.commit();
    environment.write("staged.txt", "staged\n");
    environment.git(&["add", "staged.txt"]);
    environment.write("staged.txt", "staged and edited\n");
    environment.write("crlf.txt", "one\r\ntwo and a half\r\n");
    environment.write("untracked.bin", [0, 159, 146, 150]);
    environment.git(&["rm", "-q", "gone.txt"]);
    let (mut expected, index) = (environment.files(), environment.index());
    environment.cycle(&Script::approved()).ended(0);
    expected.insert("src/shout.sh".into(), b"shout() { echo \"$1!\"; }\n".to_vec());
    let test = "expect \"shout ends with a mark\" \"$(shout hey)\" 'hey!'\n";
    expected.insert("test/shout_test.sh".into(), test.as_bytes().to_vec());
    assert_eq!(environment.files(), expected);
    assert_eq!(environment.index(), index);
}

#[test]
fn the_run_works_on_the_uncommitted_state() {
    let environment = TestEnvironment::new();
    environment.write("src/draft.sh", "draft() { echo draft; }\n");
    let script = Script::new()
        .builder(builds(&format!(
            "{}{}",
            replaces("src/draft.sh", "draft() { echo draft; }", "draft() { echo final; }"),
            adds("test/draft_test.sh", &["expect draft \"$(draft)\" final"])
        )))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    assert_eq!(environment.read("src/draft.sh"), "draft() { echo final; }\n");
}

#[test]
fn edits_elsewhere_during_the_run_are_merged_and_verified_again() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let child = environment.start_and_wait(environment.cycle_command(&Script::approved()));
    environment.write("src/meanwhile.sh", "meanwhile() { echo meanwhile; }\n");
    environment.write("test/text_test.sh", "expect \"upper of another word\" \"$(upper other)\" OTHER\n");
    environment.let_go();
    assert_has(environment.end_of(child).ended(0), &["verifying the merged tree"]);
    assert_eq!(environment.read("src/meanwhile.sh"), "meanwhile() { echo meanwhile; }\n");
    assert!(environment.has("src/shout.sh"));
    let checks: Vec<_> = environment.evidence().iter().map(|one| one["check"].clone()).collect();
    assert_eq!(checks, ["baseline", "tests", "merged", "baseline"]);
}

#[test]
fn a_merge_that_turns_the_tests_red_does_not_land() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    environment.config(json!({"max_iterations": 1}));
    let child = environment.start_and_wait(environment.cycle_command(&Script::approved()));
    // Fine by itself, but it redefines what the change adds.
    environment.write("src/zz.sh", "shout() { echo mine; }\n");
    environment.let_go();
    let output = environment.end_of(child);
    assert_has(
        output.ended(2),
        &["stopped by landing_conflict", "Merged with the user's later edits, the tests are red"],
    );
    assert!(!environment.has("src/shout.sh"));
    assert_eq!(environment.read("src/zz.sh"), "shout() { echo mine; }\n");
}

#[test]
fn edits_of_the_same_lines_reopen_the_builder_on_the_present_files() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let first = replaces("src/text.sh", UPPER, "upper() { echo \"$1\" | tr a-z A-Z; }");
    let mine = "upper() { printf '%s\\n' \"$1\" | tr '[:lower:]' '[:upper:]'; }";
    let second = replaces("src/text.sh", mine, "upper() { echo \"$1\" | tr '[:lower:]' '[:upper:]'; }");
    let script = Script::new()
        .builder(builds(&first))
        .reviewer(approves())
        .builder(builds(&second))
        .reviewer(approves());
    let child = environment.start_and_wait(environment.cycle_command(&script));
    environment.write("src/text.sh", format!("{mine}\n"));
    environment.let_go();
    assert_has(environment.end_of(child).ended(0), &["contradict the approved change in src/text.sh"]);
    assert_eq!(environment.read("src/text.sh"), "upper() { echo \"$1\" | tr '[:lower:]' '[:upper:]'; }\n");
}

#[test]
fn two_runs_at_once_both_land() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let other =
        Script::new().builder(builds(&adds("src/other.sh", &["other() { :; }"]))).reviewer(approves());
    let one = environment.start_and_wait(environment.cycle_command(&Script::approved()));
    let path = environment.path("other.json");
    std::fs::write(&path, other.json()).unwrap();
    std::fs::remove_file(environment.path("here")).unwrap();
    let two = environment.start_and_wait(environment.checkmate(&[
        "run",
        "Other",
        "--replay",
        path.to_str().unwrap(),
    ]));
    environment.let_go();
    environment.end_of(one).ended(0);
    environment.end_of(two).ended(0);
    assert!(environment.has("src/shout.sh") && environment.has("src/other.sh"));
    assert_eq!(environment.runs().len(), 2);
}

#[test]
fn the_users_edits_are_not_part_of_the_landed_change() {
    let environment = TestEnvironment::new();
    environment.write("src/mine.sh", "mine() { :; }\n");
    environment.cycle(&Script::new().builder(builds(&shout("$1!"))).reviewer(approves())).ended(0);
    assert_eq!(environment.result()["landed"]["files"], json!(["src/shout.sh", "test/shout_test.sh"]));
    assert_eq!(environment.git(&["ls-files", "--others"]), "src/mine.sh\nsrc/shout.sh\ntest/shout_test.sh");
}
