//! Bad days with the repository: locks that stay, permissions, and a user who goes on working: `docs/bad-days.md`.

use std::path::Path;

use serde_json::json;

use crate::bad_days::{Kept, holds};
use crate::environment::{Output, TestEnvironment};
use crate::script::{Script, approves, builds, replaces};
use crate::test_bad_days::{run_arguments, set_mode, under_permissions};

const UPPER: &str = "upper() { printf '%s\\n' \"$1\" | tr a-z A-Z; }";

fn resumed(environment: &TestEnvironment) {
    environment.run(&["resume", "latest"]).ended(0);
    assert!(environment.has("src/shout.sh"));
    environment.run(&["verify", "latest"]).ended(0);
}

#[test]
fn locks_do_not_disturb_a_landing_in_the_files() {
    for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock", "shallow.lock"] {
        let environment = TestEnvironment::new();
        let path = environment.root().join(".git").join(lock);
        std::fs::write(&path, "").unwrap();
        let before = Kept::of(&environment);
        holds("locks-apply", &environment.cycle(&Script::approved()));
        before.is_whole_but_for_the_change(&environment, lock);
        assert!(path.exists(), "it is not ours");
    }
}

#[test]
fn locks_stop_a_landing_by_commit_until_they_are_gone() {
    for (case, lock) in [
        ("lock-index-commit", "index.lock"),
        ("lock-head-commit", "HEAD.lock"),
        ("lock-branch-commit", "refs/heads/main.lock"),
    ] {
        let environment = TestEnvironment::new();
        let path = environment.root().join(".git").join(lock);
        std::fs::write(&path, "").unwrap();
        let before = Kept::of(&environment);
        holds(case, &environment.cycle_with(&Script::approved(), &["--land", "commit"]));
        before.is_whole(&environment, case);
        std::fs::remove_file(&path).unwrap();
        resumed(&environment);
        assert_eq!(environment.git(&["status", "--porcelain"]), "", "{case}");
        assert_eq!(environment.git(&["rev-list", "--count", "HEAD"]), "2", "{case}");
    }
    for lock in ["packed-refs.lock", "shallow.lock"] {
        let environment = TestEnvironment::new();
        std::fs::write(environment.root().join(".git").join(lock), "").unwrap();
        holds("locks-commit", &environment.cycle_with(&Script::approved(), &["--land", "commit"]));
        assert_eq!(environment.git(&["status", "--porcelain"]), "", "{lock}");
    }
}

#[test]
fn a_lock_of_the_runs_own_refs_does_not_stay() {
    let environment = TestEnvironment::new();
    environment.config(json!({"land": "ask"}));
    environment.cycle(&Script::approved()).ended(2);
    let run = environment.run_folder();
    let refs = environment.root().join(".git/refs/checkmate").join(run.file_name().unwrap());
    let reference = std::fs::read_dir(&refs).unwrap().next().unwrap().unwrap().path();
    let lock = reference.with_file_name(format!("{}.lock", reference.file_name().unwrap().to_str().unwrap()));
    std::fs::write(&lock, "").unwrap();
    let before = Kept::of(&environment);
    holds("lock-own-refs", &environment.run(&["land", "latest"]));
    before.is_whole_but_for_the_change(&environment, "lock-own-refs");
    assert!(!lock.exists());
}

#[test]
fn folders_that_may_not_be_written() {
    for (case, closed) in [("tree-read-only", "src"), ("folder-read-only", "test")] {
        let environment = TestEnvironment::new();
        let arguments = run_arguments(&environment);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let before = Kept::of(&environment);
        set_mode(&environment.root().join(closed), 0o555);
        let output = environment.output(&mut under_permissions(&environment, &arguments));
        holds(case, &output);
        before.is_whole(&environment, case);
        let again = environment.output(&mut under_permissions(&environment, &["resume", "latest"]));
        holds(case, &again);
        before.is_whole(&environment, case);
        set_mode(&environment.root().join(closed), 0o755);
        resumed(&environment);
        before.is_whole_but_for_the_change(&environment, case);
    }
}

#[test]
fn a_file_that_may_not_be_written_is_replaced_all_the_same() {
    let environment = TestEnvironment::new();
    let script = Script::new()
        .builder(builds(&replaces("src/text.sh", UPPER, "upper() { echo \"$1\" | tr a-z A-Z; }")))
        .reviewer(approves());
    set_mode(&environment.root().join("src/text.sh"), 0o444);
    let path = environment.script(&script);
    let mut command = under_permissions(&environment, &["run", "Add shout", "--replay", &path]);
    holds("file-read-only", &environment.output(&mut command));
    assert_eq!(environment.read("src/text.sh"), "upper() { echo \"$1\" | tr a-z A-Z; }\n");
}

/// Lets a user do something while the tests of the unchanged tree run, and returns how the run ended.
fn meanwhile(
    case: &str,
    script: &Script,
    arguments: &[&str],
    before: impl Fn(&TestEnvironment),
    does: impl Fn(&TestEnvironment),
) -> (TestEnvironment, Kept, Output) {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    environment.config(json!({"max_iterations": 1}));
    before(&environment);
    let mut command = environment.cycle_command(script);
    command.args(arguments);
    let child = environment.start_and_wait(command);
    does(&environment);
    let kept = Kept::of(&environment);
    environment.let_go();
    let output = environment.end_of(child);
    holds(case, &output);
    (environment, kept, output)
}

#[test]
fn the_user_edits_in_mid_run() {
    let change = replaces("src/text.sh", UPPER, "upper() { echo \"$1\" | tr a-z A-Z; }");
    let script = Script::new().builder(builds(&change)).reviewer(approves());
    let (environment, kept, _) = meanwhile(
        "user-edits-same",
        &script,
        &[],
        |_| {},
        |environment| environment.write("src/text.sh", format!("{UPPER} # mine\n")),
    );
    kept.is_whole(&environment, "user-edits-same");
    environment.run(&["show", "latest", "--patch"]).ended(0);
    let (environment, kept, _) = meanwhile(
        "user-edits-other",
        &Script::approved(),
        &[],
        |_| {},
        |environment| environment.write("src/mine.sh", "mine() { :; }\n"),
    );
    kept.is_whole_but_for_the_change(&environment, "user-edits-other");
}

#[test]
fn the_user_works_with_git_in_mid_run() {
    type Does = fn(&TestEnvironment);
    let cases: [(&str, Does, Does); 7] = [
        (
            "user-stages",
            |_| {},
            |environment| {
                environment.write("src/mine.sh", "mine() { :; }\n");
                environment.git(&["add", "src/mine.sh"]);
            },
        ),
        (
            "user-commits",
            |_| {},
            |environment| {
                environment.write("src/mine.sh", "mine() { :; }\n");
                environment.commit();
            },
        ),
        (
            "user-switches",
            |_| {},
            |environment| {
                environment.git(&["switch", "-q", "-c", "other"]);
            },
        ),
        (
            "user-amends",
            |_| {},
            |environment| {
                environment.write("src/mine.sh", "mine() { :; }\n");
                environment.git(&["add", "src/mine.sh"]);
                environment.git(&["commit", "-q", "--amend", "-m", "Another"]);
            },
        ),
        (
            "user-stashes",
            |environment| {
                environment.write("test/run.sh", format!("{}# mine\n", environment.read("test/run.sh")))
            },
            |environment| {
                environment.git(&["stash", "-q"]);
            },
        ),
        (
            "user-deletes-branch",
            |_| {},
            |environment| {
                environment.git(&["switch", "-q", "-c", "other"]);
                environment.git(&["branch", "-q", "-D", "main"]);
            },
        ),
        (
            "user-collects",
            |_| {},
            |environment| {
                environment.git(&["reflog", "expire", "--expire=now", "--all"]);
                environment.git(&["gc", "-q", "--prune=now"]);
            },
        ),
    ];
    for (case, before, does) in cases {
        let (environment, kept, _) = meanwhile(case, &Script::approved(), &[], before, does);
        kept.is_whole_but_for_the_change(&environment, case);
        environment.run(&["verify", "latest"]).ended(0);
        environment.run(&["undo", "latest"]).ended(0);
        kept.is_whole(&environment, case);
    }
}

#[test]
fn the_user_works_with_git_while_a_commit_is_on_its_way() {
    type Does = fn(&TestEnvironment);
    let cases: [(&str, Does, &str); 3] = [
        (
            "user-commits-commit",
            |environment| {
                environment.write("src/mine.sh", "mine() { :; }\n");
                environment.commit();
            },
            "5",
        ),
        (
            "user-amends-commit",
            |environment| {
                environment.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "Another"]);
            },
            "4",
        ),
        (
            "user-switches-commit",
            |environment| {
                environment.git(&["switch", "-q", "-c", "other"]);
            },
            "4",
        ),
    ];
    for (case, does, commits) in cases {
        let (environment, ..) = meanwhile(case, &Script::approved(), &["--land", "commit"], |_| {}, does);
        assert_eq!(environment.git(&["rev-list", "--count", "HEAD"]), commits, "{case}");
        assert_eq!(environment.git(&["status", "--porcelain"]), "", "{case}");
        assert!(environment.has("src/shout.sh"), "{case}");
    }
}

#[test]
fn a_folder_becomes_a_symlink_in_mid_run() {
    let (environment, kept, _) = meanwhile(
        "user-links-folder",
        &Script::approved(),
        &[],
        |_| {},
        |environment| {
            std::fs::rename(environment.root().join("src"), environment.path("elsewhere")).unwrap();
            std::os::unix::fs::symlink(environment.path("elsewhere"), environment.root().join("src"))
                .unwrap();
        },
    );
    kept.is_whole(&environment, "user-links-folder");
    assert!(!environment.path("elsewhere/shout.sh").exists(), "nothing is written through a link");
}

#[test]
fn the_repository_goes_away_in_mid_run() {
    for (case, comes_back) in [("repository-moved", true), ("repository-deleted", false)] {
        let environment = TestEnvironment::new();
        environment.add_waiting_test();
        let before = Kept::of(&environment);
        let child = environment.start_and_wait(environment.cycle_command(&Script::approved()));
        let away = environment.path("away");
        std::fs::rename(environment.root(), &away).unwrap();
        if !comes_back {
            std::fs::remove_dir_all(&away).unwrap();
        }
        environment.let_go();
        let output = environment.end_of(child);
        holds(case, &output);
        environment.wait_for(|| environment.processes().is_empty());
        assert!(!environment.root().exists(), "{case}: nothing is made in its place");
        if comes_back {
            std::fs::rename(&away, environment.root()).unwrap();
            before.is_whole(&environment, case);
            resumed(&environment);
            before.is_whole_but_for_the_change(&environment, case);
        }
    }
}

#[test]
fn two_runs_that_land_at_once() {
    for land in ["apply", "commit"] {
        let environment = TestEnvironment::new();
        environment.add_waiting_test();
        let other = replaces("src/text.sh", UPPER, "upper() { echo \"$1\" | tr a-z A-Z; }");
        let other = Script::new().builder(builds(&other)).reviewer(approves());
        let path = environment.path("other.json");
        std::fs::write(&path, other.json()).unwrap();
        let mut one = environment.cycle_command(&Script::approved());
        one.args(["--land", land]);
        let one = environment.start_and_wait(one);
        std::fs::remove_file(environment.path("here")).unwrap();
        let two = ["run", "Other", "--replay", path.to_str().unwrap(), "--land", land];
        let two = environment.start_and_wait(environment.checkmate(&two));
        environment.let_go();
        for child in [one, two] {
            holds("two-runs", &environment.end_of(child));
        }
        assert!(environment.has("src/shout.sh") && environment.has("test/shout_test.sh"));
        assert_eq!(environment.read("src/text.sh"), "upper() { echo \"$1\" | tr a-z A-Z; }\n");
        let (commits, status) = match land {
            "commit" => ("4", ""),
            _ => ("2", " M src/text.sh\n?? src/shout.sh\n?? test/shout_test.sh"),
        };
        assert_eq!(environment.git(&["rev-list", "--count", "HEAD"]), commits);
        assert_eq!(environment.git(&["status", "--porcelain"]), status.trim_end());
        for run in environment.runs() {
            let name = run.file_name().unwrap().to_str().unwrap().to_owned();
            environment.run(&["verify", &name]).ended(0);
        }
        assert!(!Path::new(&environment.root().join(".git/index.lock")).exists());
    }
}
