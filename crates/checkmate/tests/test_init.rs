//! `checkmate init`: a first configuration.

use crate::environment::{TestEnvironment, assert_has};
use crate::script::Script;

#[test]
fn what_init_writes_can_be_run_with() {
    let environment = TestEnvironment::new();
    environment.write("package.json", r#"{"name": "x", "scripts": {"test": "sh test/run.sh"}}"#);
    std::fs::remove_file(environment.root().join(".dualagent.json")).unwrap();
    environment.commit();
    assert_has(
        environment.run(&["init"]).ended(0),
        &["Wrote $TMP/repo/.dualagent.json", "checkmate run \"GOAL\""],
    );
    assert_has(&environment.read(".dualagent.json"), &["npm test"]);
    let output = environment.cycle(&Script::approved());
    assert!(!output.stderr.contains("warning:"), "{}", output.stderr);
}

#[test]
fn init_replaces_nothing_unless_it_is_told_to() {
    let environment = TestEnvironment::new();
    let before = environment.read(".dualagent.json");
    assert_has(environment.run(&["init"]).ended(1), &["is there already", "checkmate init --force"]);
    assert_eq!(environment.read(".dualagent.json"), before);
    environment.run(&["init", "--force"]).ended(0);
    assert_ne!(environment.read(".dualagent.json"), before);
}

#[test]
fn init_from_a_subdirectory_writes_to_the_root() {
    let environment = TestEnvironment::new();
    std::fs::remove_file(environment.root().join(".dualagent.json")).unwrap();
    let mut command = environment.checkmate(&["init"]);
    environment.output(command.current_dir(environment.root().join("src"))).ended(0);
    assert!(environment.has(".dualagent.json") && !environment.has("src/.dualagent.json"));
}
