//! What Checkmate itself ran, and what it means.
//!
//! A [`Receipt`] holds facts only: the shell gathers them, and nothing in it was said by an agent.
//! [`Receipt::signal`] is the one place where facts become a [`Signal`], so a journal replays to the same
//! judgement, and a better rule here re-reads old facts.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::TreeId;

/// What a check says about the tree it ran on.
///
/// There is deliberately no conversion to `bool`: "not red" is not "green".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum Signal {
    /// At least one test ran and none failed.
    Pass {
        /// How many tests passed; never zero.
        tests: NonZeroU32,
    },
    /// The command ran and said no: a test failed, or it ended with an error before any test could.
    Fail,
    /// The command ended well, but nothing was tested.
    Absent,
    /// The command could not be run to its end; this says nothing about the tree.
    Infra {
        /// Why, as a full sentence for a person.
        reason: String,
    },
    /// The same check gave different answers on the same tree.
    Flaky,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "ended", rename_all = "snake_case")]
pub enum Ended {
    /// It exited by itself.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// A signal that Checkmate did not send ended it.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// Checkmate ended it at the time limit.
    TimedOut {
        /// The limit in seconds.
        limit_s: u64,
    },
    /// It never ran: no such program, no permission, no memory.
    NotStarted {
        /// The operating system's reason.
        reason: String,
    },
}

/// The head and tail of a stream, with what was left out between them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// What was kept, as text; bytes that are not UTF-8 are replaced. Where something was left out, one line says how much.
    pub text: String,
    /// How many bytes the process wrote in all.
    pub bytes: u64,
    /// SHA-256 over every byte written, as 64 hexadecimal digits.
    pub sha256: String,
}

/// The counts that a test runner reported.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TestReport {
    /// Which report was recognised: `pytest`, `unittest`, `cargo`, `nextest`, `jest`, `vitest`, `node`, `go`, `tap`, `junit`.
    pub runner: String,
    /// Tests that passed.
    pub passed: u32,
    /// Tests that ran and failed.
    pub failed: u32,
    /// Tests or files that could not be loaded or set up.
    pub errors: u32,
    /// Tests that were skipped or ignored.
    pub skipped: u32,
    /// Names of the failed tests and of what could not be loaded, as the runner prints them.
    pub failing: Vec<String>,
    /// Tests that the runner itself saw fail and then pass.
    pub flaky: Vec<String>,
}

impl TestReport {
    /// Returns how many tests ran to an end, whatever it was.
    pub fn ran(&self) -> u32 {
        self.passed.saturating_add(self.failed)
    }
}

/// Facts about one run of one command on one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The tree that it speaks of.
    pub tree: TreeId,
    /// The tree that the command saw, where something was laid over the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saw: Option<TreeId>,
    /// The seed of what was varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// The command, as it was started.
    pub argv: Vec<String>,
    /// Whether `argv` is `sh -c LINE` because the user's own line has shell operators.
    pub shell: bool,
    /// Whether the command starts something of the repository (a script, a Makefile, a package script), rather than
    /// a program such as `true` that would end well in any directory.
    pub of_repository: bool,
    /// How it ended.
    pub ended: Ended,
    /// The counts, where a report was recognised in its output.
    pub report: Option<TestReport>,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// Wall-clock time in milliseconds.
    pub duration_ms: u64,
    /// Whether it was not run for this, because it had run on the same tree under the same conditions before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Receipt {
    /// Judges the facts.
    ///
    /// A plain script of the repository that ends well without a known report counts as one test; a command that
    /// tests nothing of the repository, or a known runner that ran zero tests, is [`Signal::Absent`].
    pub fn signal(&self) -> Signal {
        match &self.ended {
            Ended::NotStarted { reason } => Signal::Infra {
                reason: format!("The command `{}` could not be started: {reason}.", self.command()),
            },
            Ended::TimedOut { limit_s } => Signal::Infra {
                reason: format!("The command `{}` did not end within {limit_s} s.", self.command()),
            },
            Ended::Killed { signal } => Signal::Infra {
                reason: format!("The command `{}` was ended by signal {signal}.", self.command()),
            },
            Ended::Exited { code: code @ (126 | 127) } if self.shell && self.report.is_none() => {
                Signal::Infra {
                    reason: format!(
                        "The shell could not start a program of `{}` (exit {code}).",
                        self.command()
                    ),
                }
            }
            Ended::Exited { code } => self.exited(*code),
        }
    }

    /// Returns the command as one line for people.
    pub fn command(&self) -> String {
        match (self.shell, self.argv.last()) {
            (true, Some(line)) => line.clone(),
            (true, None) | (false, _) => shell_words::join(&self.argv),
        }
    }

    /// Returns the number of tests that ran, where a report tells.
    pub fn tests_ran(&self) -> Option<u32> {
        self.report.as_ref().map(TestReport::ran)
    }

    fn exited(&self, code: i32) -> Signal {
        let Some(report) = &self.report else {
            return match (code, self.of_repository) {
                (0, true) => Signal::Pass { tests: NonZeroU32::MIN },
                (0, false) => Signal::Absent,
                (_, _) => Signal::Fail,
            };
        };
        if report.failed > 0 || report.errors > 0 {
            return Signal::Fail;
        }
        if !report.flaky.is_empty() {
            return Signal::Flaky;
        }
        match (NonZeroU32::new(report.passed), code) {
            (Some(tests), 0) => Signal::Pass { tests },
            (None, 0) => Signal::Absent,
            // pytest says 5 and Node says 1 when there was nothing to run.
            (None, 5) if report.runner == "pytest" => Signal::Absent,
            (_, _) => Signal::Fail,
        }
    }
}

/// What a candidate's check means, held against the same check on the tree before the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Green: this many tests passed.
    Green(NonZeroU32),
    /// Red, but only with tests that were red before the change as well; those are not charged.
    KnownRed(Vec<String>),
    /// Red, and the change has to answer for it.
    Red,
    /// Nothing was tested.
    Absent,
    /// It ended well, but the report that was there before the change is gone.
    Unreported,
    /// Says nothing about the change.
    Infra(String),
    /// Passes and fails on the same tree.
    Flaky,
}

/// Holds a candidate's receipt against the baseline's.
pub fn standing(after: &Receipt, baseline: Option<&Receipt>) -> Standing {
    match after.signal() {
        // A change whose code ends the process before the runner can report would else pass by its exit code.
        Signal::Pass { .. } if after.report.is_none() && baseline.is_some_and(|old| old.report.is_some()) => {
            Standing::Unreported
        }
        Signal::Pass { tests } => Standing::Green(tests),
        Signal::Absent => Standing::Absent,
        Signal::Flaky => Standing::Flaky,
        Signal::Infra { reason } => Standing::Infra(reason),
        Signal::Fail => match known_red(after, baseline) {
            Some(names) => Standing::KnownRed(names),
            None => Standing::Red,
        },
    }
}

/// Returns how many tests passed before the change, if fewer do after it.
///
/// Tests may go with what they test, so this alone is not red; but somebody has to look at it.
pub fn fewer(after: &Receipt, baseline: Option<&Receipt>) -> Option<u32> {
    let (new, old) = (after.report.as_ref()?, baseline?.report.as_ref()?);
    Some(old.passed).filter(|before| new.passed < *before)
}

/// Returns the failing tests if every one of them has a name and failed before the change too.
///
/// Something must still have passed, at least as much as before: a change that stops the green tests from running
/// would otherwise hide behind a red baseline.
fn known_red(after: &Receipt, baseline: Option<&Receipt>) -> Option<Vec<String>> {
    // A baseline that did not run to its end knows nothing, whatever it printed before.
    let baseline = baseline.filter(|baseline| baseline.signal() == Signal::Fail)?;
    let (new, old) = (after.report.as_ref()?, baseline.report.as_ref()?);
    let named = |report: &TestReport| {
        report.failing.len() as u64 == u64::from(report.failed) + u64::from(report.errors)
    };
    // Without a failing test the command said no for a reason that has no name, such as a linter behind the tests.
    let known = !new.failing.is_empty()
        // What says no now, where failing tests alone did not before, has no name either.
        && (baseline.ended != Ended::Exited { code: 0 } || after.ended == baseline.ended)
        && named(new)
        && named(old)
        && new.failing.iter().all(|name| old.failing.contains(name))
        && new.passed >= old.passed.max(1);
    known.then(|| new.failing.clone())
}
