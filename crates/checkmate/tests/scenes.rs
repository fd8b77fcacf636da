//! The worlds in which the commands of the documentation are typed, and the runs that it shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::pages::{self, Section};
use crate::provider::{Asked, Provider, Wire};
use crate::script::{Script, adds, approves, asks_for, builds, builds_with};
use crate::terminal::Terminal;

const KEY: &str = "sk-not-a-real-key-0123456789";
const GREETS: &str = "# greet NAME: prints a greeting.\ngreet() {\n    echo \"Hello, $1\"\n}\n";
const GREETING: &str = "End the greeting of src/greet.sh with a punctuation mark";

/// Where a reader stands, and what else was printed before.
pub(crate) struct World {
    pub(crate) environment: TestEnvironment,
    /// Where the first command is typed.
    pub(crate) start: PathBuf,
    /// What `your/repository` stands for.
    pub(crate) repository: PathBuf,
    /// What `RUN` stands for.
    pub(crate) run: String,
    /// Where the models are, once their keys are there.
    models: Option<String>,
    /// Outputs of commands that the page describes and does not spell out.
    pub(crate) outputs: Vec<String>,
}

/// What one typed line did.
pub(crate) struct Typed {
    pub(crate) command: String,
    pub(crate) code: i32,
    pub(crate) output: String,
}

impl World {
    fn new(environment: TestEnvironment) -> World {
        let (start, repository) = (environment.root(), environment.root());
        World { environment, start, repository, run: "latest".into(), models: None, outputs: Vec::new() }
    }

    /// Types these lines into one shell, one after the other.
    pub(crate) fn types(&self, commands: &[String]) -> Vec<Typed> {
        let folder = self.environment.path("typed");
        fs::create_dir(&folder).unwrap();
        let mut session = String::new();
        for (at, command) in commands.iter().enumerate() {
            let (command, here) = (self.filled(command), folder.join(at.to_string()));
            session += &format!("{{ {command}\n}} >{0}.output 2>&1\necho $? >{0}.code\n", here.display());
        }
        let script = folder.join("session.sh");
        fs::write(&script, session).unwrap();
        let mut shell = self.shell();
        let output = self.environment.output(shell.arg(&script));
        output.ended(0);
        let read = |at: usize, kind: &str| {
            String::from_utf8_lossy(&fs::read(folder.join(format!("{at}.{kind}"))).unwrap()).into_owned()
        };
        let typed = commands.iter().enumerate().map(|(at, command)| Typed {
            command: command.clone(),
            code: read(at, "code").trim().parse().unwrap(),
            output: self.environment.normal(&read(at, "output")),
        });
        typed.collect()
    }

    /// Saves the scripts that sections tell a reader to save, where they say.
    pub(crate) fn saves(&self, sections: &[&Section]) {
        for script in
            sections.iter().flat_map(|section| &section.json).filter(|json| json.contains("\"replay\""))
        {
            fs::write(self.environment.path("tmp/hello.json"), script).unwrap();
        }
    }

    fn shell(&self) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_checkmate")).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([program.to_owned()].into_iter().chain(std::env::split_paths(&path)));
        let mut shell = self.environment.command("sh");
        shell.current_dir(&self.start).env("PATH", path.unwrap());
        shell
    }

    /// Puts what a reader would put in the place of names that stand for something.
    fn filled(&self, command: &str) -> String {
        let tmp = self.environment.path("tmp");
        let filled = command
            .replace("/tmp/", &format!("{}/", tmp.display()))
            .replace("your/repository", self.repository.to_str().unwrap())
            .replace("PATH/TO", pages::root().to_str().unwrap())
            .replace("RUN", &self.run)
            .replace("sk-ant-…", KEY)
            .replace("sk-…", KEY);
        let name = filled.strip_prefix("export ").and_then(|rest| rest.split_once("_API_KEY="));
        match (name, &self.models) {
            // A real key would go to the real address.
            (Some((name, _)), Some(models)) => format!("{filled}\nexport {name}_BASE_URL={models}"),
            _ => filled,
        }
    }

    /// Runs a goal with scripted agents and keeps what was printed.
    fn plays(&mut self, goal: &str, script: &Script, keys: &Value, code: i32) {
        let folder = self.environment.path("script.json");
        fs::write(&folder, script.json()).unwrap();
        self.environment.config(keys.clone());
        let output = self.environment.run(&["run", goal, "--replay", folder.to_str().unwrap()]);
        self.outputs.push(output.ended(code).to_owned());
    }
}

/// An empty home, as on the first day; typed in Checkmate's own folder.
pub(crate) fn first_day() -> World {
    World { start: pages::root(), ..World::new(TestEnvironment::empty()) }
}

/// A Python project without a configuration, and both providers on loopback.
pub(crate) fn calc() -> World {
    let mut environment = TestEnvironment::empty();
    let repository = environment.path("home/calc");
    let test = "import unittest\nfrom calc import add\n\n\nclass Adds(unittest.TestCase):\n    def test_two(self):\n        \
                self.assertEqual(add(1, 1), 2)\n";
    for (path, text) in
        [("calc.py", "def add(a, b):\n    return a + b\n"), ("test_calc.py", test), ("README.md", "# Calc\n")]
    {
        fs::create_dir_all(&repository).unwrap();
        fs::write(repository.join(path), text).unwrap();
    }
    environment.set("XDG_STATE_HOME", environment.path("home/.local/state").to_str().unwrap());
    let models = models(|| {
        let test = "import unittest\nfrom calc import sub\n\n\nclass Subtracts(unittest.TestCase):\n    def test_order(self):\n        \
                    self.assertEqual(sub(5, 3), 2)\n";
        let function = "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,6 @@\n def add(a, b):\n     return a + b\n+\n+\n+def sub(a, b):\n\
                        +    return a - b\n";
        let test: Vec<&str> = test.lines().collect();
        json!({"plan": ["Write sub beside add", "Test that the order matters"],
               "patch": format!("{function}{}", adds("test_sub.py", &test)),
               "tests": ["5 - 3 is 2"], "run": [], "risks": []})
    });
    let world = World { start: environment.path("home"), repository, models, ..World::new(environment) };
    committed(&world);
    world
}

/// A project in TypeScript without a configuration, and both providers on loopback.
pub(crate) fn typescript() -> World {
    let environment = TestEnvironment::empty();
    let test = "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { readFileSync } from 'node:fs';\n\n\
                const source = readFileSync('src/math.ts', 'utf8');\n\
                const math = await import('data:text/javascript,' + encodeURIComponent(source));\n";
    environment
        .write("package.json", r#"{"name": "x", "type": "module", "scripts": {"test": "node --test"}}"#);
    environment.write("src/math.ts", "export function twice(n) {\n  return n + n;\n}\n");
    let twice = format!("{test}\ntest('twice', () => assert.equal(math.twice(4), 8));\n");
    environment.write("test/math.test.js", twice);
    let test = test.to_owned();
    let models = models(move || {
        let function = "--- a/src/math.ts\n+++ b/src/math.ts\n@@ -1,3 +1,10 @@\n export function twice(n) {\n   return n + n;\n }\n\
                        +\n+export function factorial(n) {\n+  if (!Number.isInteger(n) || n < 0) {\n\
                        +    throw new RangeError('factorial needs a whole number from 0 on');\n+  }\n\
                        +  return n === 0 ? 1 : n * factorial(n - 1);\n+}\n";
        let tests = format!(
            "{test}\ntest('factorial', () => {{\n  assert.equal(math.factorial(0), 1);\n  assert.equal(math.factorial(5), 120);\n\
             }});\ntest('factorial refuses', () => {{\n  assert.throws(() => math.factorial(-1), RangeError);\n  \
             assert.throws(() => math.factorial(1.5), RangeError);\n}});"
        );
        let tests: Vec<&str> = tests.lines().collect();
        json!({"plan": ["Write factorial", "Test it"], "run": [], "risks": [],
               "patch": format!("{function}{}", adds("test/factorial.test.js", &tests)),
               "tests": ["factorial of 0 and 5", "what is no whole number from 0 on is refused"]})
    });
    let world = World { start: environment.path("home"), models, ..World::new(environment) };
    committed(&world);
    world
}

/// Commits what is in a world's repository.
fn committed(world: &World) {
    for arguments in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-qm", "First commit"]] {
        let mut git = world.environment.command("git");
        world.environment.output(git.current_dir(&world.repository).args(arguments)).ended(0);
    }
}

/// Starts a server that stands for Anthropic, whose model builds, and for OpenAI, and returns its address.
fn models(build: impl Fn() -> Value + Send + 'static) -> Option<String> {
    let provider =
        Provider::with_models(&["claude-sonnet-4-5", "gpt-5.1"], move |asked: &Asked| match asked.model() {
            "claude-sonnet-4-5" => Wire::Anthropic.says(&build().to_string()),
            _ => Wire::OpenAi.says(&approves().to_string()),
        });
    Some(provider.address().to_owned())
}

/// The same project, configured, with keys and prices: what a call may cost fits into two dollars once, not twice.
pub(crate) fn priced() -> World {
    let mut world = calc();
    let price = json!({"input": 0, "output": 1900});
    let role = |provider: &str, model: &str| json!({"provider": provider, "model": model, "price": price, "max_output_tokens": 16000});
    let configuration = json!({"builder": role("anthropic", "claude-sonnet-4-5"), "reviewer": role("openai", "gpt-5.1"),
        "test_command": "python3 -m unittest discover", "allow_paths": ["*.py"], "evidence": false});
    fs::write(world.repository.join(".dualagent.json"), configuration.to_string()).unwrap();
    for name in ["ANTHROPIC", "OPENAI"] {
        world.environment.set(&format!("{name}_API_KEY"), KEY);
        world.environment.set(&format!("{name}_BASE_URL"), world.models.as_ref().unwrap());
    }
    committed(&world);
    world.start = world.repository.clone();
    world
}

/// A run that Ctrl-C ended, and goes on.
pub(crate) fn interrupted() -> World {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let child = environment.start_and_wait(environment.cycle_command(&Script::approved()));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = environment.end_of(child);
    environment.let_go();
    let said = output.ended(130).to_owned();
    World { outputs: vec![said], ..World::new(environment) }
}

/// An approved run with a probe of the examiner that is worth keeping, which has not landed yet, and one that landed before.
pub(crate) fn examined() -> World {
    let mut world = greeting();
    let probe = json!({"id": "mark", "criterion": "A greeting ends with a mark", "path": "mark.sh", "run": "sh mark.sh",
        "content": ". ./src/greet.sh\n[ \"$(greet Ada)\" = 'Hello, Ada!' ] || { echo 'assert: no mark'; exit 1; }\n"});
    let script = greeted("!").entry(json!({"role": "examiner", "reply": {"probes": [probe]}}));
    let keys = json!({"evidence": true, "examiner": true});
    world.plays(GREETING, &script, &keys, 0);
    let undone = world.environment.run(&["undo", "latest"]);
    undone.ended(0);
    world.plays(GREETING, &script, &keys, 0);
    world.run = world.environment.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    world
}

/// A library that greets, with one green test.
pub(crate) fn greeting() -> World {
    let environment = TestEnvironment::new();
    environment.write("src/greet.sh", GREETS);
    environment.write(
        "test/greet_test.sh",
        "expect \"greet names the person\" \"$(greet Ada | cut -c1-10)\" \"Hello, Ada\"\n",
    );
    environment.commit();
    World::new(environment)
}

/// A patch that has the greeting end with a mark.
fn greets(mark: &str) -> String {
    replaces_line("    echo \"Hello, $1\"", &format!("    echo \"Hello, $1{mark}\""))
}

fn replaces_line(old: &str, new: &str) -> String {
    format!(
        "--- a/src/greet.sh\n+++ b/src/greet.sh\n@@ -1,4 +1,4 @@\n # greet NAME: prints a greeting.\n greet() {{\n-{old}\n+{new}\n }}\n"
    )
}

/// A green change of the greeting, approved at once.
fn greeted(mark: &str) -> Script {
    let test = adds(
        "test/mark_test.sh",
        &["expect \"a greeting ends with a mark\" \"$(greet Ada | grep -c '[.!]$')\" 1"],
    );
    Script::new().builder(builds(&format!("{}{test}", greets(mark)))).reviewer(approves())
}

/// An edit during the run that does not touch what the change touches, and one that does.
pub(crate) fn edited() -> World {
    let mut world = greeting();
    for (later, code) in [("# greet NAME: says hello.\ngreet() {\n    echo \"Hi, $1\"\n}\n", 2), (GREETS, 0)]
    {
        let environment = &world.environment;
        environment.write("src/greet.sh", GREETS);
        environment.write("README.md", "A library.\n");
        environment.add_waiting_test();
        let script =
            Script::new().builder(builds(&greets("!"))).reviewer(approves()).then("repeat_last_of_role");
        fs::remove_file(environment.path("go")).ok();
        fs::remove_file(environment.path("here")).ok();
        let child = environment.start_and_wait(environment.cycle_command(&script));
        environment.write("src/greet.sh", later);
        environment.write("README.md", "A library that greets.\n");
        environment.let_go();
        let output = environment.end_of(child);
        let said = output.ended(code).to_owned();
        world.outputs.push(said);
    }
    world
}

/// A major finding about performance, which does not hold a change back when it is `balanced`.
pub(crate) fn slow() -> World {
    let mut world = greeting();
    let finding = json!({"severity": "major", "description": "echo is slow", "how_to_verify": "time it",
        "issue_id": "slow", "category": "performance"});
    let mut review = asks_for(&[finding]);
    review["stopping"] = "Slow.".into();
    let script = Script::new().builder(builds(&greets("!"))).reviewer(review);
    world.plays(GREETING, &script, &json!({"land": "ask"}), 2);
    world
}

/// Commands of agents where nobody is at the terminal.
pub(crate) fn commands() -> World {
    let mut world = greeting();
    let unsure = json!({"verdict": "block", "block_reason": "uncertainty", "issues": [], "stopping": "I cannot tell.",
        "diagnostics_needed": ["cat src/greet.sh", "curl http://x"]});
    let script = Script::new()
        .builder(builds_with(&greets("!"), json!({"run": ["wc -l src/greet.sh"]})))
        .reviewer(unsure)
        .reviewer(approves());
    world.plays(GREETING, &script, &json!({"allow_commands": ["wc *", "cat src/*"]}), 0);
    world
}

/// A reviewer's prompt of the user's own.
pub(crate) fn prompts() -> World {
    let mut world = greeting();
    world
        .environment
        .write("prompts/reviewer.md", "Review it. Answer with JSON: verdict, issues, stopping.\n");
    let keys = json!({"prompts": {"reviewer": "prompts/reviewer.md"}});
    world.plays(GREETING, &greeted("!"), &keys, 0);
    world
}

/// The examples of this repository whose builder and reviewer disagree.
pub(crate) fn disagreements() -> World {
    let mut world = World::new(TestEnvironment::empty());
    let decides = json!({"decision": "accept_builder", "reasoning": "Both endings are fine."});
    for (name, moderator, code) in
        [("arbiter", false, 0), ("oscillation", false, 2), ("oscillation", true, 0)]
    {
        let examples = pages::root().join("examples").join(name);
        let folder = world.environment.path(&format!("{name}-{moderator}"));
        let copied =
            Command::new("cp").arg("-r").args([&examples.join("workspace"), &folder]).status().unwrap();
        assert!(copied.success());
        let mut script = json_of(&examples.join("script.json"));
        let mut keys = json_of(&folder.join(".dualagent.json"));
        if moderator {
            let more = json!({"enable_moderator": true, "moderator_provider": "local", "moderator_model": "m", "evidence": false});
            keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        }
        fs::write(folder.join(".dualagent.json"), keys.to_string()).unwrap();
        script["replay"].as_array_mut().unwrap().push(json!({"role": "moderator", "reply": decides}));
        let path = world.environment.path("script.json");
        fs::write(&path, script.to_string()).unwrap();
        world.repository.clone_from(&folder);
        committed(&world);
        let goal = fs::read_to_string(examples.join("goal.txt")).unwrap();
        let mut run = world.environment.checkmate(&["run", goal.trim(), "--replay", path.to_str().unwrap()]);
        let output = world.environment.output(run.current_dir(&folder));
        let said = output.ended(code).to_owned();
        world.outputs.push(said);
    }
    world
}

pub(crate) fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The first example at a terminal: what is going on while the reviewer writes.
pub(crate) fn watched() -> World {
    let mut world = World::new(TestEnvironment::empty());
    let examples = pages::root().join("examples/factorial");
    let folder = world.environment.path("factorial");
    let copied = Command::new("cp").arg("-r").args([&examples.join("workspace"), &folder]).status().unwrap();
    assert!(copied.success());
    let mut script = json_of(&examples.join("script.json"));
    script["replay"][1]["latency_ms"] = 2000.into();
    let path = world.environment.path("script.json");
    fs::write(&path, script.to_string()).unwrap();
    world.repository.clone_from(&folder);
    committed(&world);
    let goal = fs::read_to_string(examples.join("goal.txt")).unwrap();
    let arguments =
        ["--repo", folder.to_str().unwrap(), "run", goal.trim(), "--replay", path.to_str().unwrap()];
    let seen = Terminal::new(80, 40).types("[y/N]", "y").run(&world.environment, &arguments);
    world.outputs.extend(seen.screens.iter().map(|screen| world.environment.normal(screen)));
    world
}

/// Questions at a terminal.
pub(crate) fn asked() -> World {
    let mut world = greeting();
    let reply = builds_with(&greets("!"), json!({"run": ["wc -l src/greet.sh"]}));
    let script = world.environment.script(&Script::new().builder(reply).reviewer(approves()));
    world.environment.config(json!({}));
    let terminal = Terminal::new(160, 50).types("[y/N]", "y").types("[y/N]", "?").types("[y/N]", "y");
    let seen = terminal.run(&world.environment, &["run", GREETING, "--replay", &script]);
    world.outputs.push(seen.ended(0).to_owned());
    world
}

/// A patch beside the file that it is for: its hunk has no number, and its lines have lost their indentation.
pub(crate) fn patched() -> World {
    let world = greeting();
    let methods = ["width", "height", "depth", "area"];
    let body: String = methods
        .iter()
        .map(|name| format!("    def {name}(self):\n        return self._{name}\n\n"))
        .collect();
    world.environment.write("src/shape.py", format!("class Shape:\n{body}"));
    world.environment.write(
        "change.diff",
        "--- a/src/shape.py\n+++ b/src/shape.py\n@@ @@\n def area(self):\n-    return self._area\n+    return abs(self._area)\n",
    );
    world
}

/// What the guide's script of scripted agents is typed in: the first example, committed.
pub(crate) fn scripted() -> World {
    let mut world = World::new(TestEnvironment::empty());
    world.repository = world.environment.path("tmp/factorial");
    let examples = pages::root().join("examples/factorial/workspace");
    let copied = Command::new("cp").arg("-r").args([&examples, &world.repository]).status().unwrap();
    assert!(copied.success());
    world.start.clone_from(&world.repository);
    committed(&world);
    world
}

/// The shortest run with all evidence.
pub(crate) fn shouted() -> World {
    let environment = TestEnvironment::new();
    environment.config(json!({"evidence": true}));
    let output = environment.cycle(&Script::approved());
    let said = output.ended(0).to_owned();
    World { outputs: vec![said], ..World::new(environment) }
}
