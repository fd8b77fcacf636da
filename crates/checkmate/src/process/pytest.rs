//! Asks pytest for its JUnit file, whose counts and names no test can print.

use std::path::Path;

use checkmate_machine::command::CommandLine;
use checkmate_machine::evidence::TestReport;

use super::repository::is_python;
use super::words::{is_shell, programs, shell_line, simple_commands};

/// Whether pytest is asked for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// No: the command has nothing to do with pytest, or the project forbids it.
    Text,
    /// Yes, in case that the command runs pytest somewhere.
    Asked,
    /// Yes, and a command that ends well without it did not run its tests to their end.
    Required,
}

/// Where a project can forbid the plugin; with `-p no:junitxml` pytest refuses the option and runs nothing.
const CONFIGURATIONS: [&str; 8] = [
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
    "Makefile",
    "package.json",
];

/// Programs that may run pytest on behalf of the repository.
const MIDDLEMEN: [&str; 18] = [
    "make", "gmake", "npm", "pnpm", "yarn", "bun", "just", "task", "rake", "tox", "nox", "invoke", "doit",
    "uv", "poetry", "pdm", "hatch", "pipenv",
];

/// Options of pytest with which no test runs, or with which the user already names a file.
const OTHER_TASKS: [&str; 12] = [
    "--version",
    "-V",
    "--help",
    "-h",
    "--collect-only",
    "--co",
    "--fixtures",
    "--markers",
    "--setup-plan",
    "--cache-show",
    "--junitxml",
    "--junit-xml",
];

/// Decides whether to ask for the file.
pub(super) fn plan(command: &CommandLine, directory: &Path) -> Plan {
    let commands = simple_commands(command);
    let direct = commands.iter().any(|words| runs_pytest(words));
    let maybe = commands.iter().flat_map(|words| programs(words)).any(|(program, arguments)| {
        MIDDLEMEN.contains(&program)
            || is_shell(program)
            || arguments.iter().any(|word| word.contains("pytest"))
    });
    if !direct && !maybe
        || commands.iter().flatten().any(|word| is_other_task(word))
        || is_forbidden(command, directory)
    {
        return Plan::Text;
    }
    // `test -d tests || pytest` may rightly end well without pytest.
    let certain = shell_line(command).is_none_or(|line| !line.contains("||"));
    if direct && certain { Plan::Required } else { Plan::Asked }
}

/// Returns the report of a pytest that ended well but never wrote its file: a test called `os._exit`.
pub(super) fn cut_short() -> TestReport {
    TestReport {
        runner: "pytest".to_owned(),
        errors: 1,
        failing: vec!["pytest ended before it wrote its report".to_owned()],
        ..TestReport::default()
    }
}

/// `pytest`, `python -m pytest`, `uv run pytest`, `coverage run -m pytest`
fn runs_pytest(words: &[String]) -> bool {
    programs(words).iter().any(|(program, arguments)| {
        let module =
            || arguments.iter().position(|argument| argument == "-m").and_then(|at| arguments.get(at + 1));
        matches!(*program, "pytest" | "py.test")
            || (is_python(program) || *program == "coverage")
                && module().is_some_and(|module| module == "pytest")
    })
}

fn is_other_task(word: &str) -> bool {
    OTHER_TASKS.contains(&word.split('=').next().unwrap_or(word))
}

fn is_forbidden(command: &CommandLine, directory: &Path) -> bool {
    const WORD: &str = "no:junitxml";
    let texts = command.argv.iter().chain(command.env.iter().map(|(_, value)| value));
    let inherited = std::env::var("PYTEST_ADDOPTS").unwrap_or_default();
    texts.into_iter().any(|text| text.contains(WORD))
        || inherited.contains(WORD)
        || CONFIGURATIONS.iter().any(|file| {
            let file = directory.join(file);
            file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20)
                && std::fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(WORD))
        })
}
