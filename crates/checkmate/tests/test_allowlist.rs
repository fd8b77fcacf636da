//! Patches that reach for what they may not touch.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::environment::{TestEnvironment, assert_has};
use crate::script::{Script, adds, builds, builds_with};

/// Runs a patch that must be refused, and returns what the builder is told.
#[track_caller]
fn refused(patch: &str) -> String {
    let environment = TestEnvironment::new();
    environment.write("package.json", "{}\n");
    environment.write("src/tool.sh", "tool() { :; }\n");
    symlink("/etc", environment.root().join("src/etc")).unwrap();
    symlink("../package.json", environment.root().join("src/linked.sh")).unwrap();
    environment.config(json!({"max_iterations": 2}));
    let before = environment.files();
    let reply = builds_with(patch, json!({"risks": ["package.json: no dependency changes"]}));
    let script = Script::new().builder(reply).builder(builds(&adds("test/red_test.sh", &["expect red 1 2"])));
    let output = environment.cycle(&script);
    output.ended(2);
    assert_eq!(environment.files(), before, "the user's tree is as it was");
    assert!(!environment.path("escaped.sh").exists() && !environment.path("repo/../escaped.sh").exists());
    assert_eq!(environment.order(), "builder builder", "a refused patch is a turn and no review");
    let prompt = environment.prompts("builder").remove(1);
    let result = prompt.split("## WHAT BECAME OF TURN 1").nth(1).expect("the turn is told");
    result.to_owned()
}

#[test]
fn a_path_outside_of_the_list_is_refused_whole_with_the_way_to_allow_it() {
    let mixed = format!("{}{}", adds("src/fine.sh", &["fine() { :; }"]), adds("lib/new.sh", &["new"]));
    assert_has(&refused(&mixed), &["Path is not in allowlist: `lib/new.sh`", "allow_paths"]);
    let package = "--- a/package.json\n+++ b/package.json\n@@ -1 +1 @@\n-{}\n+{\"scripts\":{}}\n";
    assert_has(&refused(package), &["Path is not in allowlist: `package.json`"]);
}

#[test]
fn deletions_and_renames_out_of_the_list_are_refused() {
    let deleted = "--- a/package.json\n+++ /dev/null\n@@ -1 +0,0 @@\n-{}\n";
    assert_has(&refused(deleted), &["`package.json`"]);
    let renamed = "diff --git a/src/tool.sh b/lib/tool.sh\nsimilarity index 100%\nrename from src/tool.sh\n\
                   rename to lib/tool.sh\n";
    assert_has(&refused(renamed), &["lib/tool.sh"]);
    let stolen = "diff --git a/package.json b/src/package.sh\nsimilarity index 100%\nrename from package.json\n\
                  rename to src/package.sh\n";
    assert_has(&refused(stolen), &["package.json"]);
}

#[test]
fn links_and_modes_are_refused() {
    let link = "diff --git a/src/way.sh b/src/way.sh\nnew file mode 120000\n--- /dev/null\n+++ b/src/way.sh\n\
                @@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n";
    assert_has(&refused(link), &["Symbolic links (mode 120000)"]);
    let module = "diff --git a/src/sub b/src/sub\nnew file mode 160000\n--- /dev/null\n+++ b/src/sub\n@@ -0,0 +1 @@\n\
                  +Subproject commit 0123456789012345678901234567890123456789\n";
    assert_has(&refused(module), &["Submodules (mode 160000)"]);
    let through = adds("src/etc/escaped.sh", &["escaped"]);
    assert_has(&refused(&through), &["src/etc"]);
    let linked = "--- a/src/linked.sh\n+++ b/src/linked.sh\n@@ -1 +1 @@\n-{}\n+changed\n";
    assert_has(&refused(linked), &["src/linked.sh"]);
    let mode = "diff --git a/package.json b/package.json\nold mode 100644\nnew mode 100755\n";
    assert_has(&refused(mode), &["package.json"]);
}

#[test]
fn ways_out_of_the_repository_are_refused() {
    for path in
        ["../escaped.sh", "src/../../escaped.sh", "/tmp/checkmate-escaped.sh", "src/./../../escaped.sh"]
    {
        refused(&adds(path, &["escaped"]));
    }
    assert!(!std::path::Path::new("/tmp/checkmate-escaped.sh").exists());
}

#[test]
fn gits_own_files_and_the_configuration_are_refused() {
    for path in
        [".git/hooks/pre-commit", "src/.git/config", "src/.GIT/config", ".dualagent.json", "src/.checkmate/x"]
    {
        refused(&adds(path, &["touch marker"]));
    }
}

#[test]
fn case_and_unicode_tricks_do_not_match() {
    for path in ["SRC/a.sh", "ｓｒｃ/a.sh", "src\u{200b}/a.sh", "src\\..\\a.sh", "sr\u{0441}/a.sh"] {
        refused(&adds(path, &["a"]));
    }
}

#[test]
fn a_star_stays_within_one_directory() {
    for (path, lands) in [("src/a.sh", true), ("src/deep/a.sh", false)] {
        let environment = TestEnvironment::new();
        environment
            .config(json!({"allow_paths": ["src/*.sh"], "max_iterations": 1, "review_mode": "selective",
                                  "review_on_test_pass": false}));
        let output = environment.cycle(&Script::new().builder(builds(&adds(path, &["a() { :; }"]))));
        assert_eq!(output.code, Some(if lands { 0 } else { 2 }), "{path}: {}", output.stderr);
    }
}

#[test]
fn an_executable_test_may_be_added() {
    let environment = TestEnvironment::new();
    let patch = "diff --git a/test/x_test.sh b/test/x_test.sh\nnew file mode 100755\n--- /dev/null\n\
                 +++ b/test/x_test.sh\n@@ -0,0 +1 @@\n+expect x 1 1\n";
    environment.config(json!({"review_mode": "selective", "review_on_test_pass": false}));
    environment.cycle(&Script::new().builder(builds(patch))).ended(0);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = environment.root().join("test/x_test.sh").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
}

#[test]
fn a_change_of_dependencies_has_to_be_explained() {
    let environment = TestEnvironment::new();
    environment.write("package.json", "{}\n");
    environment
        .config(json!({"allow_paths": ["**"], "review_mode": "selective", "review_on_test_pass": false}));
    let patch = "--- a/package.json\n+++ b/package.json\n@@ -1 +1 @@\n-{}\n+{\"dependencies\":{\"left-pad\":\"1\"}}\n";
    let explained = builds_with(patch, json!({"risks": ["package.json: depends on left-pad from now on"]}));
    environment.cycle(&Script::new().builder(builds(patch)).builder(explained)).ended(0);
    assert_has(
        &environment.prompts("builder")[1],
        &["The patch changes `package.json`, but `risks` does not say why"],
    );
    assert_eq!(environment.result()["turns"], 1);
}
