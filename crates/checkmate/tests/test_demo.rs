//! `checkmate demo`: the main job without a key, a network or a repository.

use crate::environment::{TestEnvironment, assert_has};

#[test]
fn the_demo_shows_the_main_job() {
    let environment = TestEnvironment::empty();
    let output = environment.run(&["demo"]);
    assert_has(
        output.ended(0),
        &[
            "The agents of this demo are scripted.",
            "Missing validation: factorial of a negative number",
            "one suggestion is left",
            "APPROVED",
            "arbiter   bug refuted",
            "stopped by oscillation",
            "git status: nothing changed",
        ],
    );
    assert_eq!(output.stdout, "");
    assert!(std::fs::read_dir(environment.path("tmp")).unwrap().next().is_none(), "it cleans up");
    assert!(environment.runs().is_empty(), "its runs are no runs of the user");
}

#[test]
fn what_is_kept_is_named() {
    let environment = TestEnvironment::empty();
    assert_has(
        environment.run(&["demo", "--keep"]).ended(0),
        &["The workspaces are in $TMP/tmp/checkmate-demo-"],
    );
    assert_eq!(std::fs::read_dir(environment.path("tmp")).unwrap().count(), 1);
}
