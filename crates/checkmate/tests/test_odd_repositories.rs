//! Repositories that are not as one expects, through the real program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::environment::{TestEnvironment, assert_has};
use crate::script::{Script, approves, builds, replaces};

#[test]
fn without_a_repository_the_next_step_is_named() {
    let environment = TestEnvironment::empty();
    for arguments in [&["run", "x"][..], &["runs"], &["init"], &["resume", "latest"]] {
        assert_has(environment.run(arguments).ended(1), &["is not in a git repository", "git init"]);
    }
}

#[test]
fn without_a_commit_the_next_step_is_named() {
    let environment = TestEnvironment::empty();
    environment.git(&["init", "-q"]);
    environment.write(".dualagent.json", r#"{"test_command": "true", "evidence": false}"#);
    assert_has(environment.cycle(&Script::approved()).ended(1), &["has no commits yet", "git commit -m"]);
}

#[test]
fn a_detached_head_works() {
    let environment = TestEnvironment::new();
    environment.git(&["checkout", "-q", "--detach"]);
    environment.cycle_with(&Script::approved(), &["--land", "commit"]).ended(0);
    assert!(environment.has("src/shout.sh"));
    assert_eq!(environment.git(&["rev-list", "--count", "main..HEAD"]), "1");
}

#[test]
fn without_an_identity_a_commit_is_still_made() {
    let environment = TestEnvironment::new();
    std::fs::write(environment.path("gitconfig"), "").unwrap();
    environment.cycle_with(&Script::approved(), &["--land", "commit"]).ended(0);
    assert_eq!(environment.git(&["rev-list", "--count", "HEAD"]), "2");
}

#[test]
fn a_dirty_submodule_stays_as_it_is() {
    let environment = TestEnvironment::new();
    let other = environment.path("other");
    environment.git(&["init", "-q", other.to_str().unwrap()]);
    let inside = ["-C", other.to_str().unwrap()];
    environment.git(&[&inside[..], &["commit", "-q", "--allow-empty", "-m", "First"]].concat());
    environment.git(&["submodule", "--quiet", "add", other.to_str().unwrap(), "vendor"]);
    environment.commit();
    environment.write("vendor/dirt.txt", "dirt\n");
    let status = environment.git(&["status", "--porcelain"]);
    environment.cycle(&Script::approved()).ended(0);
    assert_eq!(environment.read("vendor/dirt.txt"), "dirt\n");
    let now = environment.git(&["status", "--porcelain"]);
    assert_has(&now, &[status.trim(), "?? src/shout.sh"]);
}

#[test]
fn a_linked_worktree_works_and_the_other_is_untouched() {
    let environment = TestEnvironment::new();
    environment.git(&["worktree", "add", "-q", "nested/linked", "-b", "linked"]);
    let mut command = environment.cycle_command(&Script::approved());
    environment.output(command.current_dir(environment.root().join("nested/linked"))).ended(0);
    assert!(environment.has("nested/linked/src/shout.sh") && !environment.has("src/shout.sh"));
    // The outer one does not take the inner one for its own files.
    environment.cycle(&Script::approved()).ended(0);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn nothing_that_the_repository_configures_is_run() {
    let environment = TestEnvironment::new();
    let marker = environment.path("marker");
    let evil = environment.path("evil.sh");
    std::fs::write(&evil, format!("#!/bin/sh\ntouch {}\ncat\n", marker.display())).unwrap();
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    let evil = evil.to_str().unwrap();
    environment.write(".gitattributes", "*.sh filter=evil diff=evil merge=evil\n");
    environment.commit();
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "merge.evil.driver",
        "core.fsmonitor",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "gpg.program",
        "credential.helper",
        "diff.external",
    ] {
        environment.git(&["config", key, evil]);
    }
    environment.git(&["config", "commit.gpgSign", "true"]);
    for hook in [
        "pre-commit",
        "post-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "prepare-commit-msg",
        "commit-msg",
        "post-merge",
    ] {
        std::fs::copy(evil, environment.root().join(".git/hooks").join(hook)).unwrap();
    }
    for land in ["apply", "commit"] {
        let environment = &environment;
        let output = environment.cycle_with(&Script::approved(), &["--land", land]);
        assert!(!marker.exists(), "{land}");
        output.ended(0);
        environment.run(&["undo", "latest"]).ended(0);
        assert!(!marker.exists(), "undo after {land}");
    }
}

#[test]
fn names_and_contents_that_are_not_utf8_survive() {
    let environment = TestEnvironment::new();
    let name = environment.root().join(OsStr::from_bytes(b"caf\xe9.txt"));
    std::fs::write(&name, b"caf\xe9\n").unwrap();
    environment.write("src/latin.sh", b"latin() { echo caf\xe9; }\nplain() { echo plain; }\n");
    environment.commit();
    std::fs::write(environment.root().join(OsStr::from_bytes(b"new\xff.txt")), b"\xff\n").unwrap();
    let patch = "--- a/src/latin.sh\n+++ b/src/latin.sh\n@@ -2,1 +2,1 @@\n-plain() { echo plain; }\n+plain() { echo simple; }\n";
    let patch = format!("{patch}{}", crate::script::shout("$1!"));
    let script = Script::new()
        .builder(json!({"files_needed": ["src/latin.sh"]}))
        .builder(builds(&patch))
        .reviewer(approves());
    environment.cycle(&script).ended(0);
    let latin = std::fs::read(environment.root().join("src/latin.sh")).unwrap();
    assert_eq!(latin, b"latin() { echo caf\xe9; }\nplain() { echo simple; }\n");
    assert_eq!(std::fs::read(&name).unwrap(), b"caf\xe9\n");
}

#[test]
fn line_endings_stay_as_they_are() {
    let environment = TestEnvironment::new();
    environment.write("src/notes.txt", "one\r\ntwo\r\nthree\r\n");
    environment.commit();
    let patch = format!(
        "{}{}",
        replaces("src/notes.txt", "two", "2").replace("-1,1 +1,1", "-2,1 +2,1"),
        crate::script::shout("$1!")
    );
    environment.cycle(&Script::new().builder(builds(&patch)).reviewer(approves())).ended(0);
    assert_eq!(environment.read("src/notes.txt"), "one\r\n2\r\nthree\r\n");
    environment.run(&["undo", "latest"]).ended(0);
    assert_eq!(environment.read("src/notes.txt"), "one\r\ntwo\r\nthree\r\n");
}

#[test]
fn a_run_may_be_started_from_a_subdirectory_or_from_elsewhere() {
    let environment = TestEnvironment::new();
    let mut command = environment.cycle_command(&Script::approved());
    environment.output(command.current_dir(environment.root().join("test"))).ended(0);
    assert!(environment.has("src/shout.sh"));
    environment.run(&["undo", "latest"]).ended(0);
    let root = environment.root();
    let mut command = environment.cycle_command(&Script::approved());
    command.args(["--repo", root.to_str().unwrap()]).current_dir(environment.path("tmp"));
    environment.output(&mut command).ended(0);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn python_tests_see_each_turns_own_code() {
    let environment = TestEnvironment::new();
    environment.write("src/one.py", "def one():\n    return 1\n");
    environment.write(
        "test/test_one.py",
        "import sys, unittest\nsys.path.insert(0, 'src')\nfrom one import one\n\n\nclass One(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(one() % 3, 1)\n",
    );
    environment.config(json!({"test_command": "python3 -m unittest discover -s test"}));
    let red = replaces("src/one.py", "    return 1", "    return 2").replace("-1,1 +1,1", "-2,1 +2,1");
    let green = replaces("src/one.py", "    return 2", "    return 4").replace("-1,1 +1,1", "-2,1 +2,1");
    let output =
        environment.cycle(&Script::new().builder(builds(&red)).builder(builds(&green)).reviewer(approves()));
    output.ended(0);
    assert_eq!(environment.evidence()[1]["signal"], "fail");
    assert_eq!(environment.evidence()[2]["receipt"]["report"]["runner"], "unittest");
}
