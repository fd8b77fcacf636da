//! `checkmate init`: a first configuration.

use crate::environment::{TestEnvironment, assert_has};
use crate::script::Script;

#[test]
fn what_init_writes_can_be_run_with() {
    let environment = TestEnvironment::new();
    environment.write("package.json", r#"{"name": "x", "scripts": {"test": "sh test/run.sh"}}"#);
    std::fs::remove_file(environment.root().join(".dualagent.json")).unwrap();
    environment.commit();
    assert_has(
        environment.run(&["init"]).ended(0),
        &["Wrote $TMP/repo/.dualagent.json", "checkmate run \"GOAL\""],
    );
    assert_has(&environment.read(".dualagent.json"), &["npm test"]);
    let output = environment.cycle(&Script::approved());
    assert!(!output.stderr.contains("warning:"), "{}", output.stderr);
}

#[test]
fn init_replaces_nothing_unless_it_is_told_to() {
    let environment = TestEnvironment::new();
    let before = environment.read(".dualagent.json");
    assert_has(environment.run(&["init"]).ended(1), &["is there already", "checkmate init --force"]);
    assert_eq!(environment.read(".dualagent.json"), before);
    environment.run(&["init", "--force"]).ended(0);
    assert_ne!(environment.read(".dualagent.json"), before);
}

#[test]
fn init_from_a_subdirectory_writes_to_the_root() {
    let environment = TestEnvironment::new();
    std::fs::remove_file(environment.root().join(".dualagent.json")).unwrap();
    let mut command = environment.checkmate(&["init"]);
    environment.output(command.current_dir(environment.root().join("src"))).ended(0);
    assert!(environment.has(".dualagent.json") && !environment.has("src/.dualagent.json"));
}

/// What init proposes is really run, for every tool that is on this machine.
#[test]
fn what_init_proposes_runs_under_doctor() {
    let rust = [
        ("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("src/lib.rs", "pub fn one() -> u8 { 1 }\n#[test]\nfn it_is_one() { assert_eq!(one(), 1); }\n"),
        (".gitignore", "target\n"),
    ];
    let node = [
        ("package.json", r#"{"name": "x", "scripts": {"test": "node --test"}}"#),
        ("test/a.test.js", "require('node:test')('one', () => {});\n"),
    ];
    let workspaces = [
        ("package.json", r#"{"name": "x", "workspaces": ["packages/*"]}"#),
        (
            "packages/a/package.json",
            r#"{"name": "a", "version": "1.0.0", "scripts": {"test": "node --test"}}"#,
        ),
        ("packages/a/a.test.js", "require('node:test')('one', () => {});\n"),
    ];
    let unittest = [
        ("app.py", "def one():\n    return 1\n"),
        (
            "tests/test_app.py",
            "import unittest\nfrom app import one\nclass T(unittest.TestCase):\n    def test_one(self):\n        \
             self.assertEqual(one(), 1)\n",
        ),
    ];
    let pytest = [
        ("pyproject.toml", "[project]\nname = \"x\"\nversion = \"1\"\n[tool.pytest.ini_options]\n"),
        ("app.py", "def one():\n    return 1\n"),
        ("tests/test_app.py", "from app import one\n\ndef test_one():\n    assert one() == 1\n"),
    ];
    let make = [("Makefile", "test:\n\t@echo ok 1 - one\n\t@echo 1..1\n")];
    let go = [
        ("go.mod", "module x\n\ngo 1.20\n"),
        ("x_test.go", "package x\nimport \"testing\"\nfunc TestOne(t *testing.T) {}\n"),
    ];
    for (program, files, command) in [
        ("cargo", &rust[..], "cargo test"),
        ("node", &node, "npm test"),
        ("npm", &workspaces, "npm test --workspaces --if-present"),
        ("python3", &unittest, "python3 -m unittest discover -s tests"),
        ("python3 -m pytest", &pytest, "python3 -m pytest"),
        ("make", &make, "make test"),
        ("go", &go, "go test ./..."),
    ] {
        let mut environment = TestEnvironment::empty();
        // Where this machine's tools are.
        let home = std::env::var("HOME").unwrap_or_default();
        for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")]
        {
            let usual = format!("{home}/{folder}");
            let named =
                std::env::var(name).ok().or_else(|| std::path::Path::new(&usual).exists().then_some(usual));
            if let Some(path) = named {
                environment.set(name, &path);
            }
        }
        let is_there = environment.command("sh").args(["-c", &format!("{program} --version")]).output();
        if !is_there.is_ok_and(|output| output.status.success()) {
            continue;
        }
        environment.set("OPENAI_API_KEY", "not-a-real-key-at-all");
        environment.set("ANTHROPIC_API_KEY", "not-a-real-key-at-all");
        environment.git(&["init", "-q"]);
        for (path, text) in files {
            environment.write(path, text);
        }
        environment.commit();
        let written = environment.run(&["init"]);
        assert_has(written.ended(0), &[&format!("The test command is `{command}`: "), "nobody has checked"]);
        let output = environment.run(&["doctor", "--offline"]);
        output.ended(0);
        assert_has(&output.stdout, &["✓ tests         1 test passed in "]);
    }
}
