//! What commands say about a tree.
//!
//! Files carry their meaning in lines of two words: `test NAME` is a test that passes unless some file says `bug NAME`;
//! `needs TOKEN` is one that passes only where some file says `has TOKEN`; `broken` is a file that cannot be loaded;
//! `lint` makes the command end with an error although every test passed.

use std::collections::BTreeSet;

use checkmate_machine::command::CommandLine;
use checkmate_machine::effect;
use checkmate_machine::evidence::{Ended, Output, Receipt, TestReport};
use checkmate_machine::ids::TreeId;
use fastrand::Rng;

use super::repository::Files;
use super::{facts, hostile, one_in};

/// How a world's commands behave.
#[derive(Debug, Clone)]
pub(super) struct Habits {
    /// One in so many runs goes wrong in a way that has nothing to do with the tree; 0 = none.
    pub(super) noise: u32,
    /// Whether the runner prints counts that are understood.
    pub(super) report: bool,
    /// Whether the command starts something of the repository.
    pub(super) of_repository: bool,
}

impl Habits {
    pub(super) fn any(rng: &mut Rng) -> Self {
        Self {
            noise: *rng.choice(&[0, 0, 12, 40]).unwrap_or(&0),
            report: !one_in(rng, 8),
            of_repository: !one_in(rng, 6),
        }
    }

    /// Runs a command on files. A command that names a file runs that file, any other the tests.
    pub(super) fn run(&self, rng: &mut Rng, command: &CommandLine, tree: &TreeId, files: &Files) -> Receipt {
        let mut receipt = self.honest(rng, command, tree, files);
        let named = command.argv.iter().find_map(|word| Some((word.as_str(), files.get(word)?)));
        if let Some((path, text)) = named.filter(|(path, _)| path.starts_with("zz_")) {
            receipt.report = None;
            if path == facts::COMPARED {
                receipt.stdout = output(results(rng, text, files));
                receipt.ended = Ended::Exited { code: 0 };
            } else {
                probe(&mut receipt, text, files);
            }
        }
        if self.noise > 0 && one_in(rng, self.noise) {
            disturb(rng, &mut receipt);
        }
        receipt
    }

    fn honest(&self, rng: &mut Rng, command: &CommandLine, tree: &TreeId, files: &Files) -> Receipt {
        let report = report(files);
        let red = report.failed > 0 || report.errors > 0 || words(files, "lint").next().is_some();
        let text = if one_in(rng, 6) { hostile(rng) } else { format!("{} passed\n", report.passed) };
        Receipt {
            tree: tree.clone(),
            saw: None,
            seed: None,
            argv: command.argv.clone(),
            shell: command.shell,
            of_repository: self.of_repository,
            ended: Ended::Exited { code: i32::from(red) },
            report: self.report.then_some(report),
            stdout: output(text),
            stderr: Output::default(),
            duration_ms: 12,
            cached: false,
        }
    }
}

/// Runs a program that fails at a line `needs TOKEN` where no file has it, and prints what it is told to at its end.
fn probe(receipt: &mut Receipt, text: &str, files: &Files) {
    let tokens: BTreeSet<&str> = words(files, "has").collect();
    let missing =
        text.lines().filter_map(|line| line.strip_prefix("needs ")).find(|word| !tokens.contains(word));
    receipt.ended = Ended::Exited { code: i32::from(missing.is_some()) };
    receipt.stdout = Output::default();
    if let Some(missing) = missing {
        receipt.stderr = output(format!("AssertionError: {missing}\n"));
    } else if let Some(at) = text.find("checkmate-end-") {
        let end: String = text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        receipt.stdout = output(format!("{end}\n"));
    }
}

/// Prints a line for every call of a comparison: how often a file says `has`, or now and then something else.
fn results(rng: &mut Rng, text: &str, files: &Files) -> String {
    let tokens = words(files, "has").count();
    let numbers = text.lines().filter_map(|line| line.strip_prefix("call "));
    numbers
        .filter_map(|number| match rng.u32(0..12) {
            0 => None,
            1 => Some(format!("{} {number} raises Error: {tokens}\n", facts::TOKEN)),
            2 => Some(format!("{} {number} unstable\n", facts::TOKEN)),
            _ if number != "0" => Some(format!("{} {number} 1\n", facts::TOKEN)),
            _ => Some(format!("{} {number} {tokens}\n", facts::TOKEN)),
        })
        .collect()
}

/// Counts the tests of a tree.
pub(super) fn report(files: &Files) -> TestReport {
    let bugs: BTreeSet<&str> = words(files, "bug").collect();
    let tokens: BTreeSet<&str> = words(files, "has").collect();
    let mut report = TestReport { runner: "tap".into(), ..TestReport::default() };
    let tests = words(files, "test").map(|name| (name, !bugs.contains(name)));
    for (name, green) in tests.chain(words(files, "needs").map(|token| (token, tokens.contains(token)))) {
        if green {
            report.passed += 1;
        } else {
            report.failed += 1;
            report.failing.push(name.to_owned());
        }
    }
    for (path, _) in files.iter().filter(|(_, text)| text.lines().any(|line| line == "broken")) {
        report.errors += 1;
        report.failing.push(path.clone());
    }
    report
}

fn words<'a>(files: &'a Files, key: &'a str) -> impl Iterator<Item = &'a str> {
    files.values().flat_map(|text| text.lines()).filter_map(move |line| {
        let mut words = line.split(' ');
        (words.next() == Some(key)).then(|| words.next().unwrap_or(""))
    })
}

fn disturb(rng: &mut Rng, receipt: &mut Receipt) {
    match rng.u32(0..8) {
        0 => receipt.ended = Ended::TimedOut { limit_s: 60 },
        1 => receipt.ended = Ended::Killed { signal: 9 },
        2 => receipt.ended = Ended::NotStarted { reason: "no such file or directory".into() },
        3 => receipt.report = Some(TestReport { runner: "pytest".into(), ..TestReport::default() }),
        4 => receipt.ended = Ended::Exited { code: 1 },
        5 => {
            if let Some(report) = &mut receipt.report {
                report.flaky.push("sometimes".into());
            }
        }
        6 => {
            receipt.ended = Ended::Exited { code: 1 };
            if let Some(report) = &mut receipt.report {
                report.failed += 1;
                report.passed = report.passed.saturating_sub(1);
                report.failing.push(hostile(rng));
            }
        }
        _ => {
            receipt.ended = Ended::Exited { code: 127 };
            receipt.report = None;
        }
    }
}

pub(super) fn output(text: String) -> Output {
    Output { bytes: text.len() as u64, sha256: effect::hash(&text), text }
}
