//! Words that tell.

/// Makes chance and time of a file the same in every run.
pub(super) const SEEDS: [&str; 16] = [
    "random.seed(",
    ".seed(",
    "seed=",
    "default_rng(",
    "RandomState(",
    "Random(",
    "freeze_time",
    "time_machine",
    "useFakeTimers",
    "mock.timers",
    "seedrandom",
    "seed_from_u64",
    "from_seed",
    "with_seed",
    "rand.NewSource",
    "setSystemTime",
];

/// Variables that test runners set.
pub(super) const VARIABLES: [&str; 20] = [
    "PYTEST_CURRENT_TEST",
    "PYTEST_VERSION",
    "PYTEST_XDIST_WORKER",
    "PYTEST_ADDOPTS",
    "NODE_TEST_CONTEXT",
    "NODE_TEST_WORKER_ID",
    "JEST_WORKER_ID",
    "VITEST",
    "VITEST_WORKER_ID",
    "VITEST_POOL_ID",
    "VITEST_MODE",
    "NEXTEST",
    "NEXTEST_RUN_ID",
    "NEXTEST_EXECUTION_MODE",
    "RUST_TEST_THREADS",
    "RUST_TEST_TIME_UNIT",
    "BUN_TEST",
    "TAP",
    "COVERAGE_PROCESS_START",
    "CHECKMATE",
];

/// Test runners by the names that programs look for.
const RUNNERS: [&str; 16] = [
    "pytest",
    "_pytest",
    "unittest",
    "nose",
    "coverage",
    "jest",
    "vitest",
    "mocha",
    "--test",
    "node:test",
    "test.v",
    "py.test",
    "org.junit",
    "junit",
    "jasmine",
    "karma",
];

/// Where programs look for what runs them.
const LOOKS: [&str; 16] = [
    "sys.modules",
    "sys.argv",
    "sys.executable",
    "stack",
    "process.argv",
    "execArgv",
    "os.Args",
    "current_exe",
    "env::args",
    "__main__",
    "_getframe",
    "find_spec",
    "flag.Lookup",
    "Class.forName",
    "require.cache",
    "sys.orig_argv",
];

/// Files that decide about tests or about what runs.
const PROTECTED: [&str; 28] = [
    ".git/",
    "conftest.py",
    "package.json",
    "sitecustomize",
    "usercustomize",
    "node_modules",
    "site-packages",
    "pytest.ini",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "Cargo.toml",
    "Cargo.lock",
    "junit.xml",
    "results.xml",
    "report.xml",
    ".github",
    ".pth",
    "tests/",
    "test/",
    "__tests__",
    "test_",
    ".test.",
    ".spec.",
    "_test.go",
    "package-lock.json",
    "Makefile",
    "jest.config",
];

/// Tells whether a string in a statement looks for a test runner.
pub(super) fn probes(content: &str, statement: &str) -> bool {
    let word = |word: &str| content == word || content.len() < 60 && word.len() > 4 && content.contains(word);
    let runner =
        RUNNERS.iter().any(|runner| word(runner)) || content == "test" && statement.contains("NODE_ENV");
    VARIABLES.contains(&content)
        || runner && (LOOKS.iter().any(|look| statement.contains(look)) || content == "test")
        || matches!(content, "deps" | "/deps/") && statement.contains("current_exe")
}

/// Tells whether a statement that writes writes to a protected file, or to the file that it stands in.
pub(super) fn protected(statement: &str) -> bool {
    let own = ["__file__", "__filename", "import.meta.url", "import.meta.filename", "file!()"];
    let beside = [".parent", "dirname", "with_name", "new URL(", "path.join(", "join("];
    let itself = own.iter().any(|word| statement.contains(word))
        && !beside.iter().any(|word| statement.contains(word));
    itself
        || strings(statement).iter().any(|content| {
            *content == ".git"
                || PROTECTED.iter().any(|name| match *name {
                    "test_" => content
                        .rsplit('/')
                        .next()
                        .is_some_and(|file| file.starts_with(name) && file.contains('.')),
                    "tests/" | "test/" => {
                        content.starts_with(name) && content.contains('.') || content.contains("/tests/")
                    }
                    name => content.contains(name),
                })
        })
}

/// Returns the contents of the short strings of a statement.
fn strings(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for quote in ['"', '\'', '`'] {
        let parts = text.split(quote).skip(1).step_by(2);
        found.extend(parts.filter(|content| content.len() < 120).take(60));
    }
    found
}

/// Tells whether a comment keeps a linter or a type checker silent.
pub(super) fn silences(comment: &str) -> bool {
    const WORDS: [&str; 24] = [
        "type: ignore",
        "noqa",
        "pylint: disable",
        "pyright: ignore",
        "mypy: ignore",
        "pragma: no cover",
        "# nosec",
        "eslint-disable",
        "@ts-ignore",
        "@ts-nocheck",
        "@ts-expect-error",
        "biome-ignore",
        "istanbul ignore",
        "c8 ignore",
        "v8 ignore",
        "nolint",
        "NOLINT",
        "shellcheck disable",
        "oxlint-disable",
        "tslint:disable",
        "NOSONAR",
        "flake8:",
        "ruff: noqa",
        "fmt: off",
    ];
    WORDS.iter().any(|word| comment.contains(word))
}

/// Tells whether a file is a program by its path, so that it may end the process.
pub(super) fn is_program(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or(name);
    let places = ["bin", "cli", "cmd", "scripts", "tools", "examples", "commands"];
    parts.iter().any(|part| places.contains(part))
        || matches!(stem, "main" | "cli" | "__main__" | "manage" | "bin")
}
