//! What the shell finds out about a change by reading it: syntax trees, manifests, names.
//!
//! Everything here is a fact about bytes, never a judgement: [`crate::verdict`] judges. A fact that could not be had is
//! absent, not guessed; a grammar upgrade changes what later runs see and never how an old journal replays.

use serde::{Deserialize, Serialize};

use crate::effect::Layer;

/// What was found out about one candidate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Inspection {
    /// One entry per changed path, in path order.
    pub files: Vec<FileFacts>,
    /// Lays the tests and the test configuration of the base over the candidate; empty if the change touches neither.
    pub old_tests: Vec<Layer>,
    /// Lays the candidate's tests over the base; empty if the change touches no tests.
    pub new_tests: Vec<Layer>,
    /// Breaks the tests of before that are still there, so that a test command that is still green runs none of them; empty unless the
    /// change touches what decides how tests run.
    #[serde(default)]
    pub broken_tests: Vec<Layer>,
    /// Takes the changed functions of the candidate back: to their old bodies, or to a stub where they are new. Empty
    /// if that could not be done, or if the change touches no function.
    pub reverted: Vec<Layer>,
    /// Functions, methods and types that the change adds to code that is no test.
    pub added_symbols: Vec<String>,
    /// Small changes of the changed code, the most telling first. For a change of tests only: of the code that the
    /// new tests call.
    pub mutants: Vec<Mutant>,
    /// A program that calls changed functions, to be run on the base and on the candidate.
    pub comparison: Option<Comparison>,
    /// Values of the goal's lists that stand in no test after the change.
    #[serde(default)]
    pub untested_values: Vec<String>,
    /// What could not be found out and why, as full sentences.
    pub notes: Vec<String>,
}

/// Facts about one changed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// The path from the repository's root, with `/`.
    pub path: String,
    /// What the file is for.
    pub role: FileRole,
    /// How it was read.
    pub reading: Reading,
    /// Whether more than comments, documentation strings and blank space differs.
    pub effective: bool,
    /// Whether anything but its tests differs effectively.
    pub code_differs: bool,
    /// The tests in it before the change.
    pub tests_before: Vec<TestFunction>,
    /// The tests in it after the change.
    pub tests_after: Vec<TestFunction>,
    /// Telling places that the change adds.
    pub spots: Vec<Spot>,
    /// Entries of a manifest or configuration file that differ.
    pub entries: Vec<Entry>,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// A runner collects tests from it, or it holds nothing but tests.
    Test,
    /// Helpers, fixtures, snapshots and data that tests use.
    TestSupport,
    /// Code that is no test. It may hold tests beside it, as Rust files do.
    Code,
    /// Text for people.
    Docs,
    /// Tells a test runner what to do: `pytest.ini`, `conftest.py`, `jest.config.js`, `.cargo/config.toml`, `.config/nextest.toml`.
    TestConfig,
    /// Tells how the project is built: `build.rs`, `Makefile`, `setup.py`, `webpack.config.js`, `tsconfig.json`.
    BuildConfig,
    /// Continuous integration, hooks, owners: `.github/workflows`, `.gitlab-ci.yml`, `.husky`, `.pre-commit-config.yaml`.
    Ci,
    /// Names what the project depends on and how it is run; see [`FileFacts::entries`].
    Manifest,
    /// Pins dependencies.
    Lock,
    /// Changes what programs do in general: `sitecustomize.py`, `.npmrc`, `.env`, a module that shadows a test runner.
    Environment,
    /// Git's own: `.gitattributes`, `.gitignore`, `.gitmodules`.
    Git,
    /// Anything else.
    Other,
}

/// How a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// As a syntax tree, both sides, without errors.
    Tree,
    /// By its lines, because its language has no grammar here or it does not parse.
    Lines,
    /// Not at all: binary, too large, not UTF-8, a link.
    Unread,
}

/// One test as its source defines it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFunction {
    /// Its name with what it lies in, such as `MergeTest.test_nested`, `tests::nine`, `parse > keeps = in value`.
    pub name: String,
    /// Its first line, from 1.
    pub line: u32,
    /// A short hash of its body, comments and blank space left out.
    pub body: String,
    /// The marker that keeps it, or what it lies in, from running or from failing: `@unittest.skip`, `#[ignore]`,
    /// `{ todo: true }`, `expectedFailure`, `#[should_panic]`; the source's words.
    pub skipped: Option<String>,
    /// Whether a later definition of the same name replaces it, so that it never runs.
    pub shadowed: bool,
    /// What it asserts, in order, calls of helpers of the same file that assert included.
    pub assertions: Vec<Assertion>,
    /// Names that its body mentions, each once, at most 60.
    pub mentions: Vec<String>,
    /// The rows of the tables that it goes through: their tokens with blanks between, without their brackets; none if there
    /// are more than 100.
    #[serde(default)]
    pub rows: Vec<String>,
}

/// One assertion of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assertion {
    /// Its source on one line, blank space normalised, at most 200 characters.
    pub text: String,
    /// What it can notice.
    pub strength: Strength,
    /// Why a failure of it would not be noticed, if that is so.
    pub lost: Option<Lost>,
}

/// What an assertion can notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Nothing worth testing: a constant, a value against itself, `is not None`, `isinstance`.
    Trivial,
    /// That something is truthy, contained or raised.
    Loose,
    /// That a value equals another.
    Exact,
}

/// Why a failure of an assertion would not be noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// It stands behind a `return`, in `if False`, in a function that nobody calls.
    Unreachable,
    /// An `except`, a `catch` or a promise that nobody waits for swallows it.
    Swallowed,
}

/// A telling place that the change adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// What it is.
    pub kind: SpotKind,
    /// Its line after the change, from 1.
    pub line: u32,
    /// Its source on one line, at most 200 characters.
    pub text: String,
}

/// Kinds of telling places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpotKind {
    /// Asks whether it is being tested or watched: `PYTEST_CURRENT_TEST`, `NODE_TEST_CONTEXT`, `"pytest" in sys.modules`,
    /// `sys.gettrace`, `cfg!(test)` and `#[cfg(not(test))]` outside of tests.
    TestProbe,
    /// Ends the process: `os._exit`, `sys.exit`, `process.exit`, `std::process::exit`, `System.exit`. Not in a program's
    /// entry point (`if __name__ == "__main__"`, `main`, a `bin` or `cli` file).
    Exit,
    /// Runs something at the end of the process: `atexit`, `process.on("exit")`.
    ExitHook,
    /// Changes a test framework, an assertion or a builtin for everyone: `unittest.TestCase.assertEqual = …`,
    /// `sys.modules[…] = …`, `def assertEqual` in a test class, `assert.equal = …`, `builtins.…`.
    FrameworkPatch,
    /// Decides which tests run: `load_tests`, `pytest_collection_modifyitems`, `collect_ignore`, `__test__ = False`,
    /// `pytestmark`, `test.only`, a `pytest_*` hook.
    CollectionHook,
    /// An `__eq__`, `__ne__`, `equals`, `PartialEq::eq` that always says the same.
    AlwaysEqual,
    /// Writes or deletes files of the repository, of `.git`, or of the test runner from code or tests.
    TreeWrite,
    /// Waits for time to pass: `sleep`, `setTimeout` in a test.
    Sleep,
    /// Reads a clock or randomness without a seed, in a test.
    Chance,
    /// Compares an argument with a literal that a test uses as well, and the literal is not in the goal.
    SharedLiteral,
    /// Swallows every error: `except: pass`, `catch {}`.
    Swallow,
    /// Keeps a linter or type checker silent: `# type: ignore`, `#[allow(…)]`, `eslint-disable`.
    Silencer,
}

/// One entry of a manifest or configuration file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is about.
    pub section: Section,
    /// Its name, such as `scripts.test`, `dependencies.qs`, `tool.pytest.ini_options.addopts`.
    pub name: String,
    /// Before, on one line; empty if it is new.
    pub before: String,
    /// After, on one line; empty if it is gone.
    pub after: String,
}

/// What an entry of a manifest is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What the project depends on, at any stage.
    Dependency,
    /// What runs by itself when it is installed: `postinstall`, `build = "build.rs"`.
    InstallScript,
    /// What runs when somebody tests.
    TestScript,
    /// How tests are found and run.
    TestConfig,
    /// How it is built: features, profiles, members of a workspace, other scripts.
    Build,
    /// Name, version, description, authors, links.
    Description,
}

/// A small change of the code that tests should notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutant {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The function it lies in, if any.
    pub function: Option<String>,
    /// The source before, on one line.
    pub was: String,
    /// The source after, on one line.
    pub now: String,
    /// Whether it makes the place fail whenever it is reached, so that a survivor shows that no test reaches it.
    pub reaches: bool,
    /// Whether it moves the boundary of a comparison by one: `<` as `<=`.
    #[serde(default)]
    pub boundary: bool,
    /// Makes it, over the candidate.
    pub layer: Layer,
}

/// A program that calls functions with many arguments and prints a line for each call.
///
/// A line is `TOKEN NUMBER RESULT`; a call that raises prints the error's type and message in place of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Starts every line that counts; random, so that the code under test cannot print such lines by chance.
    pub token: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Puts the program's file into a tree.
    pub layers: Vec<Layer>,
    /// The calls, by number.
    pub calls: Vec<ComparedCall>,
}

/// One call of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedCall {
    /// The function, with its module.
    pub function: String,
    /// The call as source, for people.
    pub text: String,
    /// Where its arguments come from.
    pub origin: CallOrigin,
}

/// Where the arguments of a call come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum CallOrigin {
    /// A test calls it like this.
    Test,
    /// As the numbered call, with every literal replaced by another of the same shape: letters by letters, numbers
    /// moved by the same amount.
    Renamed {
        /// The number of the call it was made from.
        of: u32,
    },
    /// Made up from the types of the arguments: empty, boundary, repeated.
    Generated,
}
