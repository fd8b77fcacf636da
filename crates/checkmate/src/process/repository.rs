//! Tells commands that test the repository from commands that would end well anywhere.

use std::path::Path;

use checkmate_machine::command::CommandLine;

use super::words::{base, is_shell, programs, simple_commands};

/// Programs that read their task from the repository they are started in.
const TASK_RUNNERS: [&str; 49] = [
    "npm",
    "pnpm",
    "yarn",
    "make",
    "gmake",
    "just",
    "task",
    "rake",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "tox",
    "nox",
    "cargo",
    "go",
    "pytest",
    "py.test",
    "nose2",
    "dotnet",
    "deno",
    "bun",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tap",
    "prove",
    "phpunit",
    "pest",
    "rspec",
    "ctest",
    "ninja",
    "meson",
    "bazel",
    "sbt",
    "mix",
    "stack",
    "cabal",
    "swift",
    "bats",
    "composer",
    "lein",
    "rebar3",
    "dune",
    "zig",
    "flutter",
    "dart",
    "playwright",
];

/// Programs that only show or compare: a file among their arguments is not started.
const ONLOOKERS: [&str; 24] = [
    "true", "false", ":", "echo", "printf", "pwd", "ls", "cat", "head", "tail", "wc", "grep", "rg", "find",
    "stat", "file", "test", "[", "which", "date", "sleep", "cd", "diff", "git",
];

/// Returns whether a command starts something of the repository in `directory`.
pub(super) fn started_by(command: &CommandLine, directory: &Path) -> bool {
    simple_commands(command).iter().any(|words| is_of_repository(words, directory))
}

fn is_of_repository(words: &[String], directory: &Path) -> bool {
    let programs = programs(words);
    let Some((first, arguments)) = programs.first() else { return false };
    if ONLOOKERS.contains(first) || is_about_itself(arguments) {
        return false;
    }
    let runner = programs.iter().any(|(program, arguments)| is_runner(program, arguments, directory));
    runner || words.iter().any(|word| is_file_below(word, directory))
}

/// `cargo --version`, `npm -h`
fn is_about_itself(arguments: &[String]) -> bool {
    matches!(arguments, [only] if matches!(only.as_str(), "--version" | "-version" | "-V" | "--help" | "-h" | "help" | "version"))
}

fn is_runner(program: &str, arguments: &[String], directory: &Path) -> bool {
    if TASK_RUNNERS.contains(&program) {
        return !is_about_itself(arguments);
    }
    if program == "node" {
        return arguments.iter().any(|argument| argument == "--test" || argument == "--run");
    }
    if is_python(program) {
        let module =
            arguments.iter().position(|argument| argument == "-m").and_then(|at| arguments.get(at + 1));
        return module.is_some_and(|module| is_test_module(module) || is_module_below(module, directory));
    }
    false
}

/// Returns whether a program is a Python interpreter: `python`, `python3`, `python3.12`, `pypy3`.
pub(super) fn is_python(program: &str) -> bool {
    let version = program.strip_prefix("python").or_else(|| program.strip_prefix("pypy"));
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

fn is_test_module(module: &str) -> bool {
    matches!(module, "pytest" | "unittest" | "tox" | "nox" | "nose2" | "doctest" | "coverage" | "behave")
}

fn is_module_below(module: &str, directory: &Path) -> bool {
    let path = directory.join(module.replace('.', "/"));
    path.is_dir() || path.with_extension("py").is_file()
}

/// Returns whether a word names a file of the repository, and not one that a link in it points to elsewhere.
fn is_file_below(word: &str, directory: &Path) -> bool {
    if word.is_empty() || is_shell(base(word)) {
        return false;
    }
    let (Ok(file), Ok(root)) = (directory.join(word).canonicalize(), directory.canonicalize()) else {
        return false;
    };
    file.is_file() && file.starts_with(root)
}
