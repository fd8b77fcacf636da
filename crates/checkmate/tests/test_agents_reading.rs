//! Files that agents ask for.

use serde_json::json;

use crate::environment::{TestEnvironment, assert_has, assert_has_not};
use crate::script::{Script, approves, builds, shout};

#[test]
fn a_file_that_is_asked_for_stands_in_the_next_prompt() {
    let environment = TestEnvironment::new();
    environment.write("docs/house-rules.md", "Shout only after noon: žluťoučký.\n");
    environment.commit();
    let script = Script::new()
        .builder(json!({"files_needed": ["docs/house-rules.md", "missing.md"]}))
        .builder(builds(&shout("$1!")))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    let prompts = environment.prompts("builder");
    assert_has_not(&prompts[0], &["Shout only after noon"]);
    assert_has(&prompts[1], &["Shout only after noon: žluťoučký.", "missing.md: "]);
}

#[test]
fn nothing_outside_and_nothing_secret_is_read() {
    let environment = TestEnvironment::new();
    environment.write(".env", "PASSPHRASE=open-sesame-please\n");
    environment.write("config/server.pem", "open-sesame-please\n");
    std::fs::write(environment.path("outside.txt"), "open-sesame-please\n").unwrap();
    std::os::unix::fs::symlink(environment.path("outside.txt"), environment.root().join("config/link"))
        .unwrap();
    std::os::unix::fs::symlink(environment.path("."), environment.root().join("config/folder")).unwrap();
    environment.commit();
    environment.git(&["config", "open.sesame-please", "open-sesame-please"]);
    let outside = environment.path("outside.txt");
    let wanted = [
        "../../etc/passwd",
        "/etc/passwd",
        ".env",
        ".ENV",
        ".git/config",
        ".GIT/config",
        "src/../.env",
        "config/server.pem",
        "config/link",
        "config/folder/outside.txt",
        "..",
        "",
        outside.to_str().unwrap(),
    ];
    let script = Script::new()
        .builder(json!({"files_needed": wanted}))
        .builder(builds(&shout("$1!")))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    let second = &environment.prompts("builder")[1];
    assert_has(
        second,
        &[
            "../../etc/passwd: ",
            ".env: `.env` is a file that holds secrets",
            ".git/config: The path `.git/config` leads",
        ],
    );
    let journal = std::fs::read_to_string(environment.run_folder().join("journal.jsonl")).unwrap();
    assert_has_not(&journal, &["open-sesame-please", "root:x:"]);
}
