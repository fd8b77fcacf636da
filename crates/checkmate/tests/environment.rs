//! A world of its own for each test: a home, a state folder, a repository, and nothing of the developer's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use regex::Regex;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::script::Script;

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The runner of the test repository: it sources every file and prints TAP.
const RUNNER: &str = r#"cd "$(dirname "$0")/.." || exit 1
for file in src/*.sh; do . "./$file"; done
count=0
failed=0
expect() {
    count=$((count + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        echo "  # got '$2', expected '$3'"
        failed=$((failed + 1))
    fi
}
for file in test/*_test.sh; do . "./$file"; done
echo "1..$count"
[ "$failed" -eq 0 ]
"#;

/// The world of one test.
pub(crate) struct TestEnvironment {
    folder: TempDir,
    variables: BTreeMap<String, String>,
}

impl TestEnvironment {
    /// Makes a world with a repository `repo` that has one commit: a library in `sh` with a green test.
    pub(crate) fn new() -> Self {
        Self::filled(Self::empty())
    }

    /// Makes such a world outside of the system's temporary folder, which commands do not see.
    pub(crate) fn outside() -> Self {
        let folder = Path::new("/var/tmp");
        Self::filled(Self::at(tempfile::Builder::new().prefix("checkmate-test-").tempdir_in(folder).unwrap()))
    }

    fn filled(environment: Self) -> Self {
        environment.write("src/text.sh", "upper() { printf '%s\\n' \"$1\" | tr a-z A-Z; }\n");
        environment.write("test/text_test.sh", "expect \"upper of a word\" \"$(upper word)\" WORD\n");
        environment.write("test/run.sh", RUNNER);
        environment.git(&["init", "-q", "-b", "main"]);
        environment.config(json!({}));
        environment
    }

    /// Makes a world with an empty folder `repo`.
    pub(crate) fn empty() -> Self {
        Self::at(tempfile::Builder::new().prefix("checkmate-test-").tempdir().unwrap())
    }

    fn at(folder: TempDir) -> Self {
        let environment = Self { folder, variables: BTreeMap::new() };
        for name in ["home", "state", "tmp", "repo"] {
            std::fs::create_dir(environment.path(name)).unwrap();
        }
        std::fs::write(
            environment.path("gitconfig"),
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[protocol \"file\"]\n\tallow = always\n",
        )
        .unwrap();
        environment
    }

    /// Sets an environment variable for every command that follows.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Returns a path in this world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the repository's root.
    pub(crate) fn root(&self) -> PathBuf {
        self.path("repo")
    }

    /// Writes a file of the repository.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Reads a file of the repository.
    pub(crate) fn read(&self, path: &str) -> String {
        let path = self.root().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Tells whether a file of the repository is there.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.root().join(path).exists()
    }

    /// Writes a configuration with a few usual keys and these, and commits everything.
    pub(crate) fn config(&self, keys: Value) {
        // Most tests are about something else than evidence, and their changes are as short as can be: no test of them
        // is red first. `test_gates` and `test_evidence` are about it.
        let mut config = json!({
            "test_command": "sh test/run.sh", "allow_paths": ["src/**", "test/**"], "evidence": false,
            // Tests of this world tell and wait by files beside the repository.
            "sandbox": {"write": ["~/.."]},
        });
        let all = config.as_object_mut().unwrap();
        for (key, value) in keys.as_object().unwrap() {
            match value.is_null() {
                true => all.remove(key),
                false => all.insert(key.clone(), value.clone()),
            };
        }
        self.write(".dualagent.json", format!("{config:#}\n"));
        self.commit();
    }

    /// Commits everything that is in the repository.
    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "A commit"]);
    }

    /// Runs git in the repository and returns what it prints.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self.command("git").args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Returns the program, about to be started in the repository.
    pub(crate) fn checkmate(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_checkmate"));
        command.args(arguments);
        command
    }

    /// Returns a command with this world's environment and nothing else.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("TMPDIR", self.path("tmp"))
            .env("GIT_CONFIG_GLOBAL", self.path("gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(&self.variables)
            .stdin(Stdio::null());
        command
    }

    /// Runs the program.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.output(&mut self.checkmate(arguments))
    }

    /// Runs a command to its end.
    pub(crate) fn output(&self, command: &mut Command) -> Output {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        self.end_of(child)
    }

    /// Waits for a process to end; one that does not is killed and fails the test.
    pub(crate) fn end_of(&self, child: Child) -> Output {
        self.end_within(child, PATIENCE)
    }

    /// The same with another patience.
    pub(crate) fn end_within(&self, child: Child, patience: Duration) -> Output {
        let process = Pid::from_child(&child);
        let (ended, end) = std::sync::mpsc::channel();
        std::thread::spawn(move || ended.send(child.wait_with_output()));
        let output = end.recv_timeout(patience).unwrap_or_else(|_| {
            rustix::process::kill_process(process, Signal::KILL).unwrap();
            panic!("the program did not end");
        });
        self.seen(&output.unwrap())
    }

    /// Makes what a command printed readable: names that differ from run to run are replaced.
    pub(crate) fn seen(&self, output: &std::process::Output) -> Output {
        Output {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: self.normal(&String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Replaces names that differ from run to run.
    pub(crate) fn normal(&self, text: &str) -> String {
        static RULES: LazyLock<[(Regex, &str); 5]> = LazyLock::new(|| {
            [
                (r"\d{8}-\d{6}-[0-9a-z]{4}", "RUN"),
                (r"\b\d+\.\d s\b", "TIME"),
                (r"\b\d+\.\d test runs\b", "TIMES test runs"),
                (r"\b(?:[0-9a-f]{40}|[0-9a-f]{10})\b", "HASH"),
                (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "AT"),
            ]
            .map(|(pattern, name)| (Regex::new(pattern).unwrap(), name))
        });
        let text = text.replace(self.folder.path().to_str().unwrap(), "$TMP");
        RULES.iter().fold(text, |text, (rule, name)| rule.replace_all(&text, *name).into_owned())
    }

    /// Writes a replay script and returns its path.
    pub(crate) fn script(&self, script: &Script) -> String {
        let path = self.path("script.json");
        std::fs::write(&path, script.json()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs a goal with scripted agents; the result is in [`TestEnvironment::result`].
    pub(crate) fn cycle(&self, script: &Script) -> Output {
        self.cycle_with(script, &[])
    }

    /// The same with further arguments.
    pub(crate) fn cycle_with(&self, script: &Script, arguments: &[&str]) -> Output {
        let mut command = self.cycle_command(script);
        self.output(command.args(arguments))
    }

    /// Returns the command of a run with scripted agents.
    pub(crate) fn cycle_command(&self, script: &Script) -> Command {
        let (script, result) = (self.script(script), self.path("result.json"));
        self.checkmate(&["run", "Add shout", "--replay", &script, "--json", result.to_str().unwrap()])
    }

    /// Returns what `--json` wrote.
    pub(crate) fn result(&self) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.path("result.json")).unwrap()).unwrap()
    }

    /// Returns the folders of this repository's runs, oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let repositories = self.path("state/checkmate/repos");
        let folders = |path: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
        };
        let mut runs: Vec<PathBuf> = folders(&repositories)
            .iter()
            .flat_map(|repository| folders(&repository.join("runs")))
            .filter(|run| run.join("journal.jsonl").is_file())
            .collect();
        runs.sort();
        runs
    }

    /// Returns the folder of the latest run.
    pub(crate) fn run_folder(&self) -> PathBuf {
        self.runs().pop().expect("there is a run")
    }

    /// Returns the lines of the latest run's journal, a torn last one left out.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.run_folder().join("journal.jsonl")).unwrap();
        text.split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns the journalled answers of a kind, such as `called`.
    pub(crate) fn answers(&self, kind: &str) -> Vec<Value> {
        let events = self.journal().into_iter().filter(|line| line["record"] == "event");
        events.map(|line| line["event"]["answer"].clone()).filter(|answer| answer["answer"] == kind).collect()
    }

    /// Returns what the agents were asked: role, purpose, prompt.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let calls = self.journal().into_iter().filter(|line| line["record"] == "asked");
        calls
            .map(|line| {
                let call = &line["call"];
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                Asked {
                    role: text(&call["role"]),
                    purpose: text(&call["purpose"]),
                    system: text(&call["prompt"]["system"]),
                    user: text(&call["prompt"]["user"]),
                    version: text(&call["prompt"]["version"]),
                }
            })
            .collect()
    }

    /// Returns the user texts of a role's prompts.
    pub(crate) fn prompts(&self, role: &str) -> Vec<String> {
        self.asked().into_iter().filter(|asked| asked.role == role).map(|asked| asked.user).collect()
    }

    /// Returns the roles in the order in which they were asked.
    pub(crate) fn order(&self) -> String {
        self.asked().into_iter().map(|asked| asked.role).collect::<Vec<_>>().join(" ")
    }

    /// Returns the receipts of the journal with what they were made for.
    pub(crate) fn evidence(&self) -> Vec<Value> {
        self.result()["evidence"].as_array().unwrap().clone()
    }

    /// Adds a test to the repository that says that it is there and then waits until it is let go.
    pub(crate) fn add_waiting_test(&self) {
        let (here, go) = (self.path("here"), self.path("go"));
        self.write(
            "test/waiting_test.sh",
            format!(
                "touch {}\nwhile [ ! -e {} ]; do sleep 0.02; done\nexpect \"it waits\" 1 1\n",
                here.display(),
                go.display()
            ),
        );
        self.commit();
    }

    /// Starts a run and returns when its test command waits.
    pub(crate) fn start_and_wait(&self, mut command: Command) -> Child {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        self.wait_for(|| self.path("here").exists());
        child
    }

    /// Lets the waiting test end, now and whenever it runs again.
    pub(crate) fn let_go(&self) {
        std::fs::write(self.path("go"), "").unwrap();
    }

    /// Waits for something to become true.
    pub(crate) fn wait_for(&self, condition: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !condition() {
            assert!(Instant::now() < end, "waited in vain");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the processes that work in this world, or were started with its environment.
    pub(crate) fn processes(&self) -> Vec<String> {
        let line = |folder: PathBuf| std::fs::read(folder.join("cmdline")).unwrap_or_default();
        let lines = self.process_folders().into_iter().map(line);
        lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
    }

    /// Kills all of them.
    pub(crate) fn kill_processes(&self) {
        for folder in self.process_folders() {
            let pid = folder.file_name().unwrap().to_str().unwrap().parse().ok().and_then(Pid::from_raw);
            // It may have ended by itself.
            pid.map(|pid| rustix::process::kill_process(pid, Signal::KILL));
        }
    }

    /// Returns their folders in `/proc`.
    fn process_folders(&self) -> Vec<PathBuf> {
        let home = format!("HOME={}", self.path("home").display());
        let is_ours = |folder: &PathBuf| {
            let environ = std::fs::read(folder.join("environ")).unwrap_or_default();
            let number = folder.file_name().unwrap().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
            number && environ.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
        };
        std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(is_ours).collect()
    }

    /// Returns every file of the repository with its bytes, git's own left out.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.file_name().is_some_and(|name| name == ".git") {
                    continue;
                }
                let name = path.strip_prefix(root).unwrap().to_owned();
                if path.is_symlink() {
                    let target = std::fs::read_link(&path).unwrap();
                    files.insert(name, target.into_os_string().into_encoded_bytes());
                } else if path.is_dir() {
                    walk(root, &path, files);
                } else {
                    files.insert(name, std::fs::read(&path).unwrap());
                }
            }
        }
        let mut files = BTreeMap::new();
        walk(&self.root(), &self.root(), &mut files);
        files
    }

    /// Returns the bytes of git's index.
    pub(crate) fn index(&self) -> Vec<u8> {
        std::fs::read(self.root().join(".git/index")).unwrap()
    }
}

/// A question to an agent.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) role: String,
    pub(crate) purpose: String,
    pub(crate) system: String,
    pub(crate) user: String,
    pub(crate) version: String,
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    /// Data, as it came.
    pub(crate) stdout: String,
    /// Text for people, without names that differ from run to run.
    pub(crate) stderr: String,
}

impl Output {
    /// Makes sure of the exit code and returns the text for people.
    #[track_caller]
    pub(crate) fn ended(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        &self.stderr
    }

    /// Returns the JSON events of standard output.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Makes sure that a text has all of these parts.
#[track_caller]
pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

/// Makes sure that a text has none of these parts.
#[track_caller]
pub(crate) fn assert_has_not(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "`{part}` stands in:\n{text}");
    }
}
