//! `checkmate apply`: the patch applier alone.

use std::io::Write as _;
use std::process::Stdio;

use crate::environment::{TestEnvironment, assert_has};
use crate::script::{adds, replaces, shout};

fn patch(environment: &TestEnvironment, text: &str) -> String {
    let path = environment.path("a.patch");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_applied_patch_lists_files_and_places() {
    let environment = TestEnvironment::new();
    let change = replaces("src/text.sh", "upper() { printf '%s\\n' \"$1\" | tr a-z A-Z; }", "upper() { :; }");
    let file = patch(&environment, &format!("{change}{}", adds("src/new.sh", &["new() { :; }"])));
    let before = environment.files();
    let output = environment.run(&["apply", "--check", &file]);
    output.ended(0);
    assert_has(&output.stdout, &["src/new.sh\n", "src/text.sh\n"]);
    assert_eq!(environment.files(), before, "--check only says it");
    let output = environment.run(&["apply", &file]);
    output.ended(0);
    assert_eq!(environment.read("src/text.sh"), "upper() { :; }\n");
    assert_eq!(environment.read("src/new.sh"), "new() { :; }\n");
}

#[test]
fn a_rejected_patch_leaves_every_byte_and_says_why() {
    let environment = TestEnvironment::new();
    let change = replaces("src/text.sh", "lower() { printf '%s\\n' \"$1\" | tr a-z A-Z; }", "lower() { :; }");
    let file = patch(&environment, &format!("{}{change}", shout("$1!")));
    let before = environment.files();
    let output = environment.run(&["apply", &file]);
    assert_has(output.ended(2), &["src/text.sh", "upper() { printf"]);
    assert_eq!(output.stdout, "");
    assert_eq!(environment.files(), before);
}

#[test]
fn explain_draws_where_a_hunk_goes_and_where_it_comes_nearest() {
    let environment = TestEnvironment::new();
    std::fs::write(environment.root().join("list.txt"), "one\ntwo\nthree\nfour\nfive\n").unwrap();
    let header = "--- a/list.txt\n+++ b/list.txt\n";
    let fits = patch(&environment, &format!("{header}@@ ... @@\n one  \n-three\n+3\n+3½\n four\n"));
    let output = environment.run(&["apply", "--check", "--explain", &fits]);
    output.ended(0);
    insta::assert_snapshot!(output.stdout, @r"
    list.txt
      list.txt hunk 1 at line 1 (found without a number, lines left out by it are kept, but for trailing whitespace)

    list.txt, hunk 1 is placed here:
         1   one
         ⋮   1 more
         3 - three
           + 3
           + 3½
         4   four
    ");
    let stale = patch(&environment, &format!("{header}@@ -2,3 +2,3 @@\n two\n-drei\n+3\n four\n"));
    let output = environment.run(&["apply", "--explain", &stale]);
    output.ended(2);
    assert_eq!(output.stdout, "");
    insta::assert_snapshot!(output.stderr, @r"
    `list.txt`, hunk 1: It does not match. Nearest to it is line 2, where 2 of its 3 context and deleted lines stand: the hunk expects `drei`, but line 3 of the file is `three`. Copy the context lines and the deleted lines from the file as it is now.
    The file's real lines 1 to 5:
         1 | one
         2 | two
         3 | three
         4 | four
         5 | five

    list.txt, hunk 1 comes nearest here, but does not fit:
         2   two
         3 ≠ three
       hunk: drei
         4   four
    ");
}

#[test]
fn blocks_and_whole_files_are_patches_too() {
    let environment = TestEnvironment::new();
    let block = "src/text.sh\n<<<<<<< SEARCH\nupper() { printf '%s\\n' \"$1\" | tr a-z A-Z; }\n=======\nupper() { :; }\n\
                 >>>>>>> REPLACE\n<file path=\"src/new.sh\">\nnew() { :; }\n</file>\n";
    let file = patch(&environment, block);
    environment.run(&["apply", &file]).ended(0);
    assert_eq!(environment.read("src/text.sh"), "upper() { :; }\n");
    assert_eq!(environment.read("src/new.sh"), "new() { :; }\n");
}

#[test]
fn a_patch_may_come_from_standard_input() {
    let environment = TestEnvironment::new();
    let mut command = environment.checkmate(&["apply", "-"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(shout("$1!").as_bytes()).unwrap();
    environment.end_of(child).ended(0);
    assert!(environment.has("src/shout.sh"));
}

#[test]
fn outside_of_a_repository_the_folder_is_the_root() {
    let environment = TestEnvironment::empty();
    let file = patch(&environment, &adds("deep/new.txt", &["new"]));
    environment.run(&["apply", &file]).ended(0);
    assert_eq!(environment.read("deep/new.txt"), "new\n");
}

#[test]
fn within_a_repository_paths_start_at_its_root() {
    let environment = TestEnvironment::new();
    let file = patch(&environment, &shout("$1!"));
    let mut command = environment.checkmate(&["apply", &file]);
    environment.output(command.current_dir(environment.root().join("test"))).ended(0);
    assert!(environment.has("src/shout.sh"));
    let elsewhere = environment.path("tmp");
    let root = environment.root();
    let file = patch(&environment, &adds("src/other.sh", &["x"]));
    let mut command = environment.checkmate(&["apply", "--repo", root.to_str().unwrap(), &file]);
    environment.output(command.current_dir(elsewhere)).ended(0);
    assert!(environment.has("src/other.sh"));
}

#[test]
fn nothing_escapes() {
    let environment = TestEnvironment::new();
    std::os::unix::fs::symlink(environment.path("tmp"), environment.root().join("way")).unwrap();
    for path in [
        "../tmp/escaped",
        "/tmp/escaped-checkmate",
        "way/escaped",
        ".git/hooks/escaped",
        "src/../../tmp/escaped",
    ] {
        let file = patch(&environment, &adds(path, &["escaped"]));
        environment.run(&["apply", &file]).ended(2);
    }
    assert!(!environment.path("tmp/escaped").exists());
    assert!(!environment.has(".git/hooks/escaped"));
    assert!(!std::path::Path::new("/tmp/escaped-checkmate").exists());
}

#[test]
fn garbage_is_rejected_and_a_missing_file_is_usage() {
    let environment = TestEnvironment::new();
    for text in ["", "hello", "--- a/x\n+++ b/x\n", "@@ -1 +1 @@\n-a\n+b\n", "\u{0}\u{1}"] {
        let file = patch(&environment, text);
        let output = environment.run(&["apply", &file]);
        assert_eq!(output.code, Some(2), "{text:?}: {}{}", output.stdout, output.stderr);
        assert!(!output.stderr.is_empty());
    }
    environment.run(&["apply", "missing.patch"]).ended(64);
}
