use std::fs;

use super::*;

/// A directory with a repository in it and a scratch directory beside it.
struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("repo")).unwrap();
        fs::create_dir(root.path().join("scratch")).unwrap();
        Self { root }
    }

    fn repo(&self) -> PathBuf {
        self.root.path().join("repo")
    }

    fn scratch(&self) -> PathBuf {
        self.root.path().join("scratch")
    }

    fn write(&self, path: &str, text: &str) -> &Self {
        let file = self.repo().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    fn run(&self, line: &str) -> Receipt {
        self.run_within(line, Duration::from_secs(60), &Cancel::default()).unwrap()
    }

    fn run_within(&self, line: &str, time: Duration, cancel: &Cancel) -> Result<Receipt, ProcessError> {
        self.invoke(&CommandLine::from_user(line).unwrap(), time, None, cancel)
    }

    fn invoke(
        &self,
        command: &CommandLine,
        time: Duration,
        report_file: Option<&Path>,
        cancel: &Cancel,
    ) -> Result<Receipt, ProcessError> {
        let invocation = Invocation {
            command,
            directory: &self.repo(),
            tree: TreeId::new("tree"),
            scratch: &self.scratch(),
            limits: Limits::new(time),
            keep_env: &[],
            report_file,
            vary: None,
            confinement: None,
            write: &[],
        };
        let receipt = run(&invocation, cancel);
        // Whatever happened: no note of a running group, no room.
        let left: Vec<_> =
            fs::read_dir(self.scratch()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| name == "processes"), "{left:?}");
        assert_eq!(fs::read_dir(self.scratch().join("processes")).map_or(0, Iterator::count), 0);
        receipt
    }
}

/// Waits until a process that a test's command has started is gone; the process is told by its pid file.
fn assert_gone(pid_file: &Path) {
    let pid = fs::read_to_string(pid_file).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "still there: {stat}");
}

#[test]
fn ends_are_told_apart() {
    let world = World::new();
    assert_eq!(world.run("true").ended, Ended::Exited { code: 0 });
    assert_eq!(world.run("sh -c 'exit 7'").ended, Ended::Exited { code: 7 });
    assert_eq!(world.run("sh -c 'kill -9 $$'").ended, Ended::Killed { signal: 9 });
    let limit = Duration::from_millis(200);
    let receipt = world.run_within("sleep 1000", limit, &Cancel::default()).unwrap();
    assert_eq!(receipt.ended, Ended::TimedOut { limit_s: 1 });
}

#[test]
fn what_cannot_be_started_says_why() {
    let world = World::new();
    world.write("plain.sh", "echo hi\n").write("odd", "#!/no/such/interpreter\n");
    fs::set_permissions(world.repo().join("odd"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let repo = world.repo();
    let odd = format!(
        "the interpreter that the first line of {} names does not exist",
        repo.join("./odd").display()
    );
    let none = format!("there is no file `./none.sh` in {}", repo.display());
    let cases = [
        ("no-such-program-here --x", "there is no program `no-such-program-here` on PATH"),
        ("./none.sh", &none),
        ("./plain.sh", "the file `./plain.sh` is not executable"),
        ("./odd", &odd),
    ];
    for (line, expected) in cases {
        assert_eq!(world.run(line).ended, Ended::NotStarted { reason: expected.to_owned() }, "{line}");
    }
    let long = CommandLine {
        argv: vec!["true".into(), "x".repeat(4 << 20)],
        ..CommandLine::from_user("true").unwrap()
    };
    let receipt = world.invoke(&long, Duration::from_secs(60), None, &Cancel::default()).unwrap();
    let reason = "its arguments and environment are longer than the system allows".to_owned();
    assert_eq!(receipt.ended, Ended::NotStarted { reason });
    fs::remove_dir_all(&repo).unwrap();
    let Ended::NotStarted { reason } = world.run("true").ended else { panic!("it started") };
    assert!(reason.ends_with("does not exist"), "{reason}");
}

#[test]
fn the_whole_group_ends_at_the_limit_even_if_it_ignores_the_request_and_holds_the_pipe() {
    let world = World::new();
    let line = "trap '' TERM; sh -c 'echo $$ > ../inner; while :; do sleep 1; done' & \
                while ! test -s ../inner; do :; done; echo started; wait; sleep 1000";
    let receipt = world.run_within(line, Duration::from_millis(2500), &Cancel::default()).unwrap();
    assert_eq!(receipt.ended, Ended::TimedOut { limit_s: 3 });
    assert_eq!(receipt.stdout.text, "started\n");
    assert_gone(&world.root.path().join("inner"));
}

#[test]
fn background_processes_that_hold_the_pipe_neither_hang_us_nor_survive() {
    let world = World::new();
    let wait = "while ! test -s ../pid; do :; done";
    for leave in ["", "setsid "] {
        let line = format!("{leave}sh -c 'echo $$ > ../pid; exec sleep 1000' & {wait}; echo done");
        let receipt = world.run(&line);
        assert_eq!(receipt.ended, Ended::Exited { code: 0 });
        assert_eq!(receipt.stdout.text, "done\n");
        assert_gone(&world.root.path().join("pid"));
        fs::remove_file(world.root.path().join("pid")).unwrap();
    }
}

#[test]
fn a_cancelled_command_is_gone_and_leaves_no_receipt() {
    let world = World::new();
    let cancel = Cancel::default();
    let pid = world.root.path().join("pid");
    let canceller = {
        let (cancel, pid) = (cancel.clone(), pid.clone());
        std::thread::spawn(move || {
            while fs::read_to_string(&pid).map_or(0, |text| text.len()) == 0 {
                std::thread::yield_now();
            }
            cancel.cancel();
        })
    };
    let error =
        world.run_within("echo $$ > ../pid; sleep 1000", Duration::from_secs(60), &cancel).unwrap_err();
    canceller.join().unwrap();
    assert_eq!(error.to_string(), "the command `echo $$ > ../pid; sleep 1000` was cancelled");
    assert_gone(&pid);
    assert!(world.run_within("touch ../ran", Duration::from_secs(60), &cancel).is_err());
    assert!(!world.root.path().join("ran").exists());
}

#[test]
fn a_flood_stays_in_bounds() {
    let world = World::new();
    let receipt = world.run("head -c 200000000 /dev/zero | tr '\\0' 'x'; echo; echo last");
    assert_eq!(receipt.stdout.bytes, 200_000_006);
    assert!(receipt.stdout.text.len() < 300_000, "{}", receipt.stdout.text.len());
    assert!(receipt.stdout.text.ends_with("bytes left out]\nlast\n"));
    assert_eq!(receipt.stdout.sha256.len(), 64);
}

#[test]
fn binary_output_becomes_text_and_both_streams_are_kept_apart() {
    let world = World::new();
    let receipt = world.run(r"printf '\377\000a\n'; printf 'b\n' >&2");
    assert_eq!((receipt.stdout.text.as_str(), receipt.stdout.bytes), ("\u{fffd}\0a\n", 4));
    assert_eq!(receipt.stderr.text, "b\n");
}

#[test]
fn a_command_sees_its_directory_its_own_variables_and_no_input() {
    let world = World::new();
    let repo = world.repo().canonicalize().unwrap();
    assert_eq!(world.run("pwd -P").stdout.text.trim(), repo.to_str().unwrap());
    assert_eq!(world.run("cat").stdout.text, "");
    let command = CommandLine::from_user(
        "OWN_API_KEY=mine sh -c 'env; test -d \"$TMPDIR\" && test -d \"$PYTHONPYCACHEPREFIX\"'",
    );
    let receipt = world.invoke(&command.unwrap(), Duration::from_secs(60), None, &Cancel::default()).unwrap();
    assert_eq!(receipt.ended, Ended::Exited { code: 0 }, "{}", receipt.stderr.text);
    let text = receipt.stdout.text;
    for line in ["CI=true", "NO_COLOR=1", "TERM=dumb", "OWN_API_KEY=mine"] {
        assert!(text.lines().any(|have| have == line), "{line} in {text}");
    }
    let temporary = text.lines().find_map(|line| line.strip_prefix("TMPDIR=")).unwrap();
    assert!(!Path::new(temporary).exists(), "{temporary} is not removed after the command");
    // A socket in it has to fit into 108 bytes, wherever the state folder is.
    let own = std::env::temp_dir();
    assert!(temporary.len() < own.as_os_str().len() + 30, "{temporary}");
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(
        !names.iter().any(|name| name.starts_with("GIT_") || name.starts_with("CHECKMATE_")),
        "{names:?}"
    );
}

#[test]
fn secrets_do_not_reach_a_command() {
    if std::env::var_os("INNER").is_some() {
        let text = World::new().run("env").stdout.text;
        assert!(!text.contains("s3cr3t"), "{text}");
        assert!(text.contains("HARMLESS=kept"), "{text}");
        return;
    }
    // A process cannot change its own environment safely, so the test runs itself with one.
    let mut inner = Command::new(std::env::current_exe().unwrap());
    inner
        .args(["--exact", "process::tests::secrets_do_not_reach_a_command"])
        .env("INNER", "1")
        .env("HARMLESS", "kept");
    for name in ["MY_API_KEY", "GIT_ASKPASS", "CHECKMATE_STATE", "AWS_PROFILE", "NPM_AUTH"] {
        inner.env(name, "s3cr3t");
    }
    let output = inner.env("DATABASE_URL", "postgres://me:s3cr3t@localhost/db").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn leftovers_of_a_killed_checkmate_are_ended() {
    let world = World::new();
    let scratch = world.scratch();
    let room = scratch.join("command-abc");
    fs::create_dir(&room).unwrap();
    let mut starter = Command::new("sleep");
    starter.arg("1000").process_group(0);
    let mut recorded = starter.spawn().unwrap();
    let mut escaped = starter.env("TMPDIR", room.canonicalize().unwrap().join("tmp")).spawn().unwrap();
    let mut other = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
    Group::record(&recorded, &scratch, &room);
    // A number that by now belongs to somebody else.
    fs::write(scratch.join("processes").join(other.id().to_string()), "another-boot 1").unwrap();
    kill_leftovers(&scratch);
    assert!(recorded.wait().unwrap().signal().is_some());
    assert!(escaped.wait().unwrap().signal().is_some());
    assert!(other.try_wait().unwrap().is_none(), "a stranger was ended");
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(!room.exists());
    assert_eq!(fs::read_dir(scratch.join("processes")).unwrap().count(), 0);
}

#[test]
fn commands_of_the_repository_are_told_from_those_that_end_well_anywhere() {
    let world = World::new();
    world.write("test.sh", "true\n").write("tests/run.py", "").write("pkg/__main__.py", "");
    let of = |line: &str| repository::started_by(&CommandLine::from_user(line).unwrap(), &world.repo());
    let yes = [
        "sh test.sh",
        "python3 tests/run.py",
        "./test.sh",
        "sh -c 'sh test.sh'",
        "npm test",
        "make check",
        "cargo test",
        "go test ./...",
        "pytest -q",
        "python -m pytest",
        "python3.12 -m unittest",
        "node --test",
        "python -m pkg",
        "cd sub && npm test",
        "timeout 60 npm test",
        "CI=1 npx vitest run",
        "uv run pytest",
        "bash -ec 'true; make'",
        "env A=b ./test.sh",
        "true && . ./test.sh",
        "if true; then make; fi",
    ];
    let no = [
        "true",
        "echo",
        "pwd",
        "sh -c 'exit 0'",
        "echo test.sh",
        "cat test.sh",
        "node -e 1",
        "python3 -c pass",
        "exit 0",
        "cargo --version",
        "npm --help",
        "python -m http.server",
        "sh -c 'echo npm test'",
        "/bin/true",
        "true /etc/passwd",
        "env /etc/passwd",
        "test -f test.sh && echo ok",
        "./none.sh",
    ];
    for line in yes {
        assert!(of(line), "{line}");
    }
    for line in no {
        assert!(!of(line), "{line}");
    }
}

#[test]
fn pytest_is_asked_for_its_file_where_it_may_run_and_the_project_allows_it() {
    let world = World::new();
    let plan = |line: &str| pytest::plan(&CommandLine::from_user(line).unwrap(), &world.repo());
    let cases = [
        ("pytest -q", pytest::Plan::Required),
        ("python3 -m pytest tests", pytest::Plan::Required),
        ("uv run pytest", pytest::Plan::Required),
        ("cd x && pytest", pytest::Plan::Required),
        ("pytest || true", pytest::Plan::Asked),
        ("make test", pytest::Plan::Asked),
        ("sh test.sh", pytest::Plan::Asked),
        ("npm test", pytest::Plan::Asked),
        ("pytest --version", pytest::Plan::Text),
        ("pytest --junitxml=own.xml", pytest::Plan::Text),
        ("pytest -p no:junitxml", pytest::Plan::Text),
        ("cargo test", pytest::Plan::Text),
    ];
    for (line, expected) in cases {
        assert_eq!(plan(line), expected, "{line}");
    }
    world.write("pytest.ini", "[pytest]\naddopts = -p no:junitxml\n");
    assert_eq!(plan("pytest -q"), pytest::Plan::Text);
}

/// A stand-in for pytest that knows where its report goes.
const PYTEST: &str = r#"#!/bin/sh
file=$(echo "$PYTEST_ADDOPTS" | sed 's/.*--junitxml=\([^ ]*\).*/\1/')
"#;

fn fake_pytest(rest: &str) -> Receipt {
    let world = World::new();
    world.write("bin/pytest", &format!("{PYTEST}{rest}"));
    let file = world.repo().join("bin/pytest");
    fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.run("./bin/pytest")
}

#[test]
fn a_report_file_outweighs_a_printed_summary() {
    let red = r#"echo "<testsuite name='pytest' failures='1'><testcase name='a'><failure/></testcase></testsuite>" > $file"#;
    let printed = r#"echo "===== 100 passed in 0.01s =====""#;
    let report = fake_pytest(&format!("{red}\n{printed}")).report.unwrap();
    assert_eq!((report.passed, report.failed, report.failing), (0, 1, vec!["a".to_owned()]));
    let report = fake_pytest(printed).report.unwrap();
    assert_eq!((report.passed, report.errors), (0, 1));
}

#[test]
fn the_users_report_file_counts_only_if_the_command_wrote_it() {
    let world = World::new();
    let green = "<testsuite><testcase name='a'/></testsuite>";
    world.write("report.xml", green).write("test.sh", &format!("echo \"{green}\" > report.xml"));
    let run = |line: &str| {
        let command = CommandLine::from_user(line).unwrap();
        let file = Some(Path::new("report.xml"));
        world.invoke(&command, Duration::from_secs(60), file, &Cancel::default()).unwrap().report
    };
    assert_eq!(run("true"), None);
    assert_eq!(run("sh test.sh").map(|report| report.passed), Some(1));
}

#[test]
fn real_runs_give_reports() {
    let world = World::new();
    let test = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        print('Ran 100 tests in 0.001s\\n\\nOK')\n        self.assertEqual(1, VALUE)\n";
    world.write("test_a.py", &format!("VALUE = 1\n{test}"));
    let passed = |receipt: Receipt| receipt.report.map(|report| (report.passed, report.failed));
    assert_eq!(passed(world.run("python3 -m unittest")), Some((1, 0)));
    // Of the same length and within the same second: bytecode of the first run would pass again.
    world.write("test_a.py", &format!("VALUE = 2\n{test}"));
    assert_eq!(passed(world.run("python3 -m unittest")), Some((0, 1)));
    assert!(!world.repo().join("__pycache__").exists());
}
