//! How an approved change reaches the user: apply, commit, ask, land later, undo.

use serde_json::json;

use crate::environment::{TestEnvironment, assert_has};
use crate::script::Script;

#[test]
fn by_commit_the_branch_moves_and_the_tree_is_clean() {
    let environment = TestEnvironment::new();
    let output = environment.cycle_with(&Script::approved(), &["--land", "commit"]);
    assert_has(output.ended(0), &["committed as HASH"]);
    assert_eq!(environment.git(&["status", "--porcelain"]), "");
    assert_eq!(environment.git(&["rev-parse", "HEAD"]), environment.result()["landed"]["commit"]);
    assert_eq!(
        environment.git(&["show", "--format=", "--name-only", "HEAD"]),
        "src/shout.sh\ntest/shout_test.sh"
    );
    environment.run(&["undo", "latest"]).ended(0);
    assert_eq!(environment.git(&["rev-list", "--count", "HEAD"]), "3", "history is not rewritten");
    assert_eq!(environment.git(&["diff", "--stat", "HEAD", "HEAD~2"]), "");
    assert_eq!(environment.git(&["status", "--porcelain"]), "");
}

#[test]
fn asked_for_and_nobody_there_it_waits_for_land() {
    let environment = TestEnvironment::new();
    environment.config(json!({"land": "ask"}));
    let output = environment.cycle(&Script::approved());
    assert_has(output.ended(2), &["stopped by not_landed", "checkmate land RUN"]);
    assert!(!environment.has("src/shout.sh"));
    assert_has(environment.run(&["resume", "latest"]).ended(2), &["not_landed"]);
    environment.run(&["land", "latest"]).ended(0);
    assert!(environment.has("src/shout.sh"));
    assert_has(environment.run(&["land", "latest"]).ended(0), &["has landed already"]);
    environment.run(&["replay", "latest"]).ended(0);
}

#[test]
fn the_flag_goes_before_the_configuration() {
    let environment = TestEnvironment::new();
    environment.config(json!({"land": "ask"}));
    environment.cycle_with(&Script::approved(), &["--land", "apply"]).ended(0);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn land_refuses_what_was_not_approved() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::new().then("empty")).ended(2);
    assert_has(
        environment.run(&["land", "latest"]).ended(2),
        &["was not approved, so there is nothing to land"],
    );
    let output = environment.run(&["undo", "latest"]);
    assert_has(output.ended(64), &["has not landed, so there is nothing to take back"]);
}

#[test]
fn undo_takes_exactly_the_change_back() {
    let environment = TestEnvironment::new();
    environment.write("notes.txt", "mine\n");
    environment.write("src/text.sh", "upper() { printf '%s\\n' \"$1\" | tr a-z A-Z; } # my edit\n");
    let (files, index) = (environment.files(), environment.index());
    environment.cycle(&Script::approved()).ended(0);
    assert_ne!(environment.files(), files);
    let output = environment.run(&["undo", "latest"]);
    output.ended(0);
    assert_eq!(output.stdout, "src/shout.sh\ntest/shout_test.sh\n");
    assert_eq!((environment.files(), environment.index()), (files, index));
    assert_has(environment.run(&["undo", "latest"]).ended(0), &["was taken back already"]);
}

#[test]
fn undo_keeps_later_edits_or_says_where_they_stand_in_the_way() {
    let environment = TestEnvironment::new();
    environment.cycle(&Script::approved()).ended(0);
    environment.write("src/text.sh", "upper() { :; }\n");
    environment.write("src/shout.sh", "shout() { echo \"LATER $1\"; }\n");
    let files = environment.files();
    assert_has(
        environment.run(&["undo", "latest"]).ended(2),
        &["your later edits touch the same lines in src/shout.sh"],
    );
    assert_eq!(environment.files(), files);
    environment.write("src/shout.sh", "shout() { echo \"$1!\"; }\n");
    environment.run(&["undo", "latest"]).ended(0);
    assert!(!environment.has("src/shout.sh"));
    assert_eq!(environment.read("src/text.sh"), "upper() { :; }\n");
}
