mod layouts;

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::config::{AgentKind, Config, agreement};

/// Makes a repository with files, `path` or `path=content`.
fn repository(files: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let git = Command::new("git").args(["init", "--quiet"]).current_dir(&root).status().unwrap();
    assert!(git.success());
    for file in files {
        let (path, content) = file.split_once('=').unwrap_or((file, ""));
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    root
}

/// Looks at a repository; whatever was found has to load without a warning.
fn look(files: &[&str]) -> Detected {
    let root = repository(files);
    let detected = detect(root.path());
    let path = root.path().join(".dualagent.json");
    fs::write(&path, render(&detected)).unwrap();
    assert!(agreement::is_valid(&render(&detected)));
    let loaded = Config::load(&path, root.path()).unwrap();
    assert_eq!(loaded.warnings, [""; 0]);
    assert_eq!(loaded.config.allow_paths, detected.allow_paths);
    assert_eq!(loaded.config.link_paths, detected.link_paths);
    detected
}

#[track_caller]
fn check(files: &[&str], command: &str, allow_paths: &[&str]) {
    let detected = look(files);
    assert_eq!(detected.test_command.as_deref().unwrap_or_default(), command, "{:?}", detected.findings);
    assert_eq!(detected.allow_paths, allow_paths, "{:?}", detected.findings);
}

#[test]
fn rust() {
    check(
        &["Cargo.toml=[package]\nname='x'", "src/lib.rs", "build.rs"],
        "cargo test",
        &["*.rs", "src/**", "tests/**"],
    );
    check(
        &[
            "Cargo.toml=[workspace]\nmembers = [\"crates/*\", './tools/one/']",
            ".config/nextest.toml",
            "crates/a/src/lib.rs",
            "crates/b/src/lib.rs",
            "crates/b/benches/x.rs",
            "tools/one/src/main.rs",
            "tools/one/tests/it.rs",
            "other/src/lib.rs",
            "target/debug/x.rs",
            "docs/guide.md",
            "README.md",
        ],
        "cargo nextest run",
        &[
            "crates/*/benches/**",
            "crates/*/src/**",
            "crates/*/tests/**",
            "tools/one/src/**",
            "tools/one/tests/**",
            "docs/**",
            "*.md",
        ],
    );
    check(
        &["Cargo.toml=[package]\nname='x'\n[workspace]\nmembers=['sub']", "src/lib.rs", "sub/src/lib.rs"],
        "cargo test --workspace",
        &["src/**", "tests/**", "sub/src/**", "sub/tests/**"],
    );
}

#[test]
fn javascript() {
    let scripts = r#"package.json={"scripts": {"test": "vitest"}, "workspaces": ["packages/*"]}"#;
    check(
        &[scripts, "src/a.ts", "packages/p/lib/b.js"],
        "npm test",
        &["src/**", "test/**", "packages/*/lib/**", "packages/*/test/**"],
    );
    for (lock, command) in [
        ("pnpm-lock.yaml", "pnpm test"),
        ("yarn.lock", "yarn test"),
        ("bun.lock", "bun run test"),
        ("package-lock.json", "npm test"),
    ] {
        check(&[scripts, lock, "index.js", "test/a.js"], command, &["*.js", "test/**"]);
    }
    check(
        &[
            r#"package.json={"scripts": {"test": "x"}}"#,
            "pnpm-lock.yaml",
            "pnpm-workspace.yaml=packages:\n  # all\n  - 'apps/*'\n  - \"!apps/old\"\ncatalog:\n  - x",
            "apps/web/src/a.tsx",
        ],
        "pnpm test",
        &["apps/*/src/**", "apps/*/test/**"],
    );
    let unset = r#"package.json={"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    check(&[unset, "src/a.js", "src/a.test.js"], "node --test", &["src/**", "test/**"]);
    check(&[unset, "src/a.js"], "", &["src/**", "test/**"]);
    check(
        &[r#"package.json={"workspaces": ["docs"]}"#, "src/a.js", "docs/lib/b.js"],
        "",
        &["src/**", "test/**", "docs/**"],
    );
    check(&["package.json={broken", "a.js"], "", &["*.js", "test/**"]);
}

#[test]
fn python() {
    check(
        &["pyproject.toml=[tool.pytest.ini_options]", "app/main.py", "tests/test_a.py"],
        "python3 -m pytest",
        &["app/**", "tests/**"],
    );
    check(&["app.py", "test_app.py=import pytest\n"], "python3 -m pytest", &["*.py", "tests/**"]);
    check(&["app.py", "tests/test_a.py=from app import f"], "python3 -m pytest", &["*.py", "tests/**"]);
    check(
        &["app.py", "tests/test_a.py=import os, unittest\nimport unittest\n"],
        "python3 -m unittest discover -s tests",
        &["*.py", "tests/**"],
    );
    check(
        &["app.py", "tests/__init__.py", "tests/test_a.py=from unittest import TestCase"],
        "python3 -m unittest discover",
        &["*.py", "tests/**"],
    );
    check(&["app.py"], "python3 -m unittest discover", &["*.py", "tests/**"]);
    check(
        &["setup.cfg=[tool:pytest]", "app.py", ".venv/bin/python"],
        ".venv/bin/python -m pytest",
        &["*.py", "tests/**"],
    );
}

#[test]
fn go_and_java() {
    check(
        &["go.mod=module x", "main.go", "internal/a/a.go", "vendor/y/y.go"],
        "go test ./...",
        &["*.go", "internal/**"],
    );
    check(
        &["go.work=go 1.24\nuse (\n  ./a // first\n  ./b\n)\n", "a/go.mod", "a/a.go", "b/pkg/b.go"],
        "go test ./a/... ./b/...",
        &["a/*.go", "b/pkg/**"],
    );
    check(&["pom.xml", "mvnw", "src/main/java/A.java"], "./mvnw test", &["src/**"]);
    check(&["build.gradle.kts", "gradlew", "app/src/main/kotlin/A.kt"], "./gradlew test", &["app/src/**"]);
    check(&["build.gradle", "src/main/java/A.java"], "gradle test", &["src/**"]);
}

#[test]
fn several_projects() {
    let web = r#"web/package.json={"scripts": {"test": "vitest"}}"#;
    let files = ["Cargo.toml=[package]\nname='x'", "src/lib.rs", web, "web/src/a.ts"];
    check(&files, "cargo test && (cd web && npm test)", &["src/**", "tests/**", "web/src/**", "web/test/**"]);
    let detected = look(&files);
    assert_eq!(detected.languages, [Language::Rust, Language::JavaScript]);
    let mut made = files.to_vec();
    made.push("Makefile=SRC := x\ntest:=no\nall: build\ncheck test: all\n\tcargo test\n");
    check(&made, "make test", &["src/**", "tests/**", "web/src/**", "web/test/**"]);
    check(&["Makefile=test:\n\t./run", "a.c"], "make test", &[]);
    check(&["Makefile=TEST := a\n\ttest: x\n", "a.c"], "", &[]);
}

#[test]
fn an_empty_repository_gets_a_command_that_fails_and_says_so() {
    let detected = look(&[]);
    assert_eq!(
        detected,
        Detected {
            findings: vec![
                "No test command was found: there is no Cargo.toml, package.json, pyproject.toml, go.mod, pom.xml or \
                 build.gradle in the root or near it, and no Makefile with a target `test`. Set `test_command` before the \
                 first run; until then it is a command that fails and says so."
                    .into(),
                "No source was found, so agents may change every path that is not protected; list paths in \
                 `allow_paths` to narrow that."
                    .into(),
            ],
            ..Detected::default()
        }
    );
    let loaded =
        Config::parse(&render(&detected), Path::new("f"), Path::new("/nowhere"), AgentKind::Live).unwrap();
    let argv = &loaded.config.test_command.argv;
    let output = Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("Set test_command in .dualagent.json"));
}

#[test]
fn only_what_git_ignores_is_linked() {
    let files = [
        ".gitignore=node_modules\n/.venv\n/target\n",
        r#"package.json={"workspaces": ["packages/*"]}"#,
        "packages/a/index.js",
        "packages/a/node_modules/x/index.js",
        "node_modules/y/index.js",
        ".venv/bin/python",
        "venv/bin/python",
        "target/debug/x",
    ];
    assert_eq!(look(&files).link_paths, ["node_modules", ".venv", "packages/a/node_modules"]);
}

#[test]
fn findings_are_sentences() {
    let detected = look(&[
        ".gitignore=node_modules",
        r#"package.json={"scripts":{"test":"x"}}"#,
        "src/a.js",
        "node_modules/x/y",
    ]);
    assert_eq!(
        detected.findings,
        [
            "JavaScript: found package.json with a test script.",
            "The test command is `npm test`: that is how its tests are run.",
            "Source, tests and documentation live in `src/**`, `test/**`; agents may change only these.",
            "Git ignores `node_modules`, which tests may need; each run gets a link to it.",
        ]
    );
}

#[test]
fn what_is_written_has_a_stable_order() {
    let text = render(&look(&["go.mod", "a.go"]));
    assert_eq!(
        text,
        r#"{
  "builder_provider": "anthropic",
  "builder_model": "claude-sonnet-4-5",
  "reviewer_provider": "openai",
  "reviewer_model": "gpt-5.1",
  "test_command": "go test ./...",
  "allow_paths": [
    "*.go"
  ],
  "max_iterations": 3
}
"#
    );
}

#[test]
fn odd_names_do_no_harm() {
    let odd = ["go.mod", "!a/x.go", "a b/x.go", "{x/y.go", "[/z.go", "-n/x.go"];
    check(&odd, "go test ./...", &["-n/**", "[[]/**", "[{]x/**", "a b/**"]);
    check(
        &["$(touch x); [/go.mod", "$(touch x); [/a/b.go"],
        "(cd '$(touch x); [' && go test ./...)",
        &["$(touch x); [[]/a/**"],
    );
    check(
        &["Cargo.toml=[workspace]\nmembers = ['../x', '/y', '{', 'a\\b', '**']", "src/a.rs"],
        "cargo test",
        &["**/*.rs", "**/tests/**"],
    );
    check(&["Cargo.toml=not toml [", "src/a.rs"], "cargo test", &["src/**", "tests/**"]);
}
