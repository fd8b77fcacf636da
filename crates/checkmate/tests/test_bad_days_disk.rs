//! Bad days with a full disk: a small file system of its own, in namespaces that go with the command.

use std::process::Command;

use crate::bad_days::{Kept, holds};
use crate::environment::{Output, TestEnvironment};
use crate::script::Script;

/// Mounts a small disk over a folder, does the work there, and copies what it left back over the folder.
const DISK: &str = r#"
folder=$1 size=$2 work=$3 checkmate=$4 script=$5
mount -t tmpfs -o size=16m tmpfs "$6" || exit 77
cp -a "$folder/." "$6/" || exit 77
mount --move "$6" "$folder" || exit 77
cd / && cd "$7"
export GIT_OPTIONAL_LOCKS=0
used() { df -k --output=used "$folder" | tail -n 1; }
unchanged() {
    [ -z "$(git status --porcelain)" ] && [ ! -e src/shout.sh ] && [ ! -e test/shout_test.sh ] && return
    echo CHANGED >&2
    git status --porcelain >&2
}
limit() { mount -o "remount,size=$1k" "$folder" || exit 77; }
eval "$work"
"#;

/// Runs a piece of shell where a folder of the world is a disk of its own; `None` where that is not possible.
fn on_small_disk(environment: &TestEnvironment, folder: &str, work: &str) -> Option<Output> {
    std::fs::create_dir_all(environment.path("mount")).unwrap();
    let mut command: Command = environment.command("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", DISK, "sh"]);
    let script = environment.script(&Script::approved());
    command.arg(environment.path(folder)).args(["", work, env!("CARGO_BIN_EXE_checkmate"), &script]);
    command.arg(environment.path("mount")).arg(environment.root());
    let output = environment.output(&mut command);
    if output.code == Some(77) || output.stderr.contains("unshare failed") {
        eprintln!("no small disk can be made here: {}", output.stderr);
        return None;
    }
    Some(output)
}

/// Tries disks that have room for the first so many kilobytes of a run, until one is large enough.
fn every_size(case: &str, folder: &str) {
    let mut failures = 0;
    for room in [4, 12, 24, 40, 60, 84, 112, 144, 180, 220, 270, 330, 400, 500, 640, 900] {
        let environment = TestEnvironment::new();
        let before = Kept::of(&environment);
        // With room again, the same run goes on, or starts where there was none.
        let work = format!(
            "limit $(($(used) + {room}))
            $checkmate run 'Add shout' --replay $script; code=$?
            if [ $code = 1 ]; then
                unchanged
                echo 'FAILED' >&2
                limit 16384
                $checkmate resume latest > /dev/null 2>&1 || $checkmate run 'Add shout' --replay $script
                again=$?
                [ $again = 0 ] && [ -e src/shout.sh ] && [ -e test/shout_test.sh ] || echo 'LOST' >&2
            fi
            exit $code"
        );
        let Some(output) = on_small_disk(&environment, folder, &work) else { return };
        let said = &output.stderr;
        assert!(!said.contains("CHANGED") && !said.contains("LOST"), "{case}, {room} KiB:\n{said}");
        match output.code {
            Some(0) => {
                assert!(failures > 0, "{case}: the smallest disk is large enough");
                return;
            }
            _ => {
                failures += 1;
                let (said, _) = said.split_once("FAILED").unwrap();
                let output =
                    Output { code: output.code, stdout: String::new(), stderr: said.trim().to_owned() };
                holds(case, &output);
                drop(before);
            }
        }
    }
    panic!("{case}: no disk was large enough");
}

#[test]
fn the_disk_of_the_state_folder_is_full() {
    every_size("disk-state", "state");
}

#[test]
fn the_disk_of_the_repository_is_full() {
    every_size("disk-repository", "repo");
}

#[test]
fn the_disk_is_full_at_the_landing() {
    for (case, land) in [("disk-landing", "apply"), ("disk-landing-commit", "commit")] {
        let environment = TestEnvironment::new();
        let wait = "if [ -e src/shout.sh ]; then touch $HOME/../here; while [ ! -e $HOME/../go ]; do sleep 0.02; done; fi\n";
        environment.write("test/waiting_test.sh", wait);
        environment.commit();
        let work = format!(
            "$checkmate run 'Add shout' --replay $script --land {land} & run=$!
            while [ ! -e ../here ]; do sleep 0.02; done
            sleep 0.5
            limit $(($(used) + 4)); head -c 65536 /dev/zero > .git/filler 2> /dev/null
            touch ../go
            wait $run; code=$?
            unchanged
            echo 'FAILED' >&2
            rm .git/filler; limit 16384
            $checkmate resume latest || echo 'LOST' >&2
            [ -e src/shout.sh ] && [ -e test/shout_test.sh ] || echo 'LOST' >&2
            exit $code"
        );
        let Some(output) = on_small_disk(&environment, "repo", &work) else { return };
        let said = &output.stderr;
        assert!(!said.contains("CHANGED") && !said.contains("LOST"), "{case}:\n{said}");
        let (said, _) = said.split_once("FAILED").unwrap();
        holds(case, &Output { code: output.code, stdout: String::new(), stderr: said.trim().to_owned() });
    }
}
