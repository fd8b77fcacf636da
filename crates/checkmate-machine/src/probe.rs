//! Probes: small programs that somebody other than the builder wrote from the goal alone.
//!
//! An end with exit code 0 is no pass, since code can end the process while it is being loaded. A probe in a language
//! that can be appended to prints a nonce after its last line; any other has to be a test that a known runner counts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::command::CommandLine;
use crate::effect::{Layer, short_hash};
use crate::evidence::{Ended, Receipt, Signal};
use crate::excerpt;
use crate::gate::paths::check_path;

/// The most probes that are run.
pub const MOST: usize = 40;
/// The seconds that a probe may take beyond a generous test run.
pub const LIMIT_S: u64 = 30;

/// One probe as its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Its name.
    pub id: String,
    /// What the goal says that it looks at.
    pub criterion: String,
    /// Where its file goes, from the repository's root.
    pub path: String,
    /// The command that runs it, split by word rules.
    pub run: String,
    /// Its file.
    pub content: String,
}

/// The probes of a run and what became of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Probes {
    list: Vec<Probe>,
    /// What the maker says against a probe.
    disputed: BTreeMap<String, String>,
    /// Those that do not follow from the goal, as somebody other than the maker decided.
    dismissed: BTreeSet<String>,
}

impl Probes {
    /// Takes over an examiner's probes and numbers them; there are never more than [`MOST`].
    pub fn new(probes: Vec<Probe>) -> Self {
        let mut list = probes;
        list.truncate(MOST);
        for (number, probe) in (1..).zip(&mut list) {
            // A name of the examiner's own could be that of a finding.
            probe.id = format!("probe-{number}");
        }
        Self { list, ..Self::default() }
    }

    /// Returns the probes with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Probe)> {
        (0..).zip(&self.list)
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Tells whether somebody decided that a probe does not follow from the goal.
    pub fn is_dismissed(&self, id: &str) -> bool {
        self.dismissed.contains(id)
    }

    /// Notes that a probe is disputed; false if there is no such probe, or it was disputed before.
    pub fn dispute(&mut self, id: &str, reason: &str) -> bool {
        let known = self.list.iter().any(|probe| probe.id == id);
        known && self.disputed.insert(id.to_owned(), reason.to_owned()).is_none()
    }

    /// Tells whether a probe was disputed.
    pub fn is_disputed(&self, id: &str) -> bool {
        self.disputed.contains_key(id)
    }

    /// Takes a probe out of the verdict.
    pub fn dismiss(&mut self, id: &str) {
        self.dismissed.insert(id.to_owned());
    }

    /// Returns a probe by its name.
    pub fn get(&self, id: &str) -> Option<&Probe> {
        self.list.iter().find(|probe| probe.id == id)
    }
}

/// What shows that a probe ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// This line in its output.
    Nonce(String),
    /// The count of a test runner.
    Report,
}

/// A probe that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runnable {
    /// The command.
    pub command: CommandLine,
    /// Its file.
    pub layer: Layer,
    /// What shows that it ran to its end.
    pub proof: Proof,
}

/// Makes a probe runnable; the error says why it is none.
pub fn runnable(path: &str, run: &str, content: &str, nonce: &str) -> Result<Runnable, String> {
    check_path(path).map_err(|error| error.to_string())?;
    let command = CommandLine::from_agent(run).map_err(|error| format!("It cannot be run: {error}."))?;
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    // As a name of its own: `p` is no part of `python3`.
    let names = |word: &str| {
        word.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).any(|name| name == stem)
    };
    if !command.argv.iter().any(|word| names(word)) {
        return Err(format!("Its command does not run {path}."));
    }
    let line = format!("checkmate-end-{}", short_hash(&format!("{nonce}{path}{content}")));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let print = match ending {
        "py" => format!("print(\"\\n{line}\", flush=True)"),
        "js" | "mjs" | "cjs" => format!("console.log(\"\\n{line}\");"),
        "sh" | "bash" => format!("printf '\\n%s\\n' '{line}'"),
        "rb" => format!("puts \"\\n{line}\""),
        "php" => format!("echo \"\\n{line}\\n\";"),
        _ => String::new(),
    };
    let (text, proof) = if print.is_empty() || is_runners(&command) {
        (content.to_owned(), Proof::Report)
    } else {
        (with_end(content, &print), Proof::Nonce(line))
    };
    Ok(Runnable { command, layer: Layer::Text { path: path.to_owned(), text }, proof })
}

/// Tells whether a command starts a test runner, which counts by itself.
fn is_runners(command: &CommandLine) -> bool {
    command.argv.iter().any(|word| {
        let word = word.rsplit('/').next().unwrap_or(word);
        matches!(word, "pytest" | "unittest" | "--test" | "jest" | "vitest" | "mocha" | "test")
    })
}

/// Puts the printing of the nonce behind the last line; in front of an end that the author wrote there.
fn with_end(content: &str, print: &str) -> String {
    const ENDS: [&str; 8] = [
        "os._exit(0)",
        "sys.exit(0)",
        "sys.exit()",
        "exit(0)",
        "quit()",
        "process.exit(0)",
        "process.exit()",
        "exit 0",
    ];
    let body = content.trim_end().trim_end_matches(';');
    let end = ENDS.iter().find(|end| body.ends_with(**end));
    let Some(rest) = end.and_then(|end| body.strip_suffix(end)) else {
        return format!("{}\n{print}\n", content.trim_end());
    };
    // The end may stand behind other statements of its line, or in a block of its own.
    let line = rest.rsplit('\n').next().unwrap_or(rest);
    let alone = line.trim().is_empty();
    if alone && !line.is_empty() {
        return format!("{}\n{print}\n", content.trim_end());
    }
    format!("{}\n{print}\n", rest.trim_end().trim_end_matches(';'))
}

/// What a run of a probe says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It ran to its end.
    Passed,
    /// It did not, with the line that says most about it.
    Failed(String),
    /// It could not be run, or it is no program; this says nothing about the change.
    Invalid(String),
}

/// Judges a run of a probe.
pub fn result(receipt: &Receipt, proof: &Proof, path: &str) -> Ending {
    let said = telling(receipt);
    match (&receipt.ended, proof) {
        (Ended::NotStarted { reason }, _) => Ending::Invalid(format!("it could not be started: {reason}")),
        (Ended::TimedOut { limit_s }, _) => Ending::Failed(format!("it did not end within {limit_s} s")),
        (Ended::Killed { signal }, _) => Ending::Failed(format!("signal {signal} ended it")),
        (Ended::Exited { code: 0 }, Proof::Nonce(nonce)) => {
            if receipt.stdout.text.lines().any(|line| line.trim() == nonce) {
                Ending::Passed
            } else {
                Ending::Failed("something ended the process before its last line".into())
            }
        }
        (Ended::Exited { .. }, Proof::Report) => match (receipt.signal(), &receipt.report) {
            (Signal::Pass { .. }, Some(_)) => Ending::Passed,
            (Signal::Fail, Some(_)) => Ending::Failed(said),
            (Signal::Fail, None) => Ending::Failed(said),
            (Signal::Pass { .. } | Signal::Absent, _) => {
                Ending::Invalid("no runner counted a test in it".into())
            }
            (Signal::Infra { reason }, _) => Ending::Invalid(reason),
            (Signal::Flaky, _) => Ending::Invalid("it passes and fails".into()),
        },
        (Ended::Exited { .. }, Proof::Nonce(_)) if is_broken(receipt, path) => {
            Ending::Invalid(format!("it is no program that runs: {said}"))
        }
        (Ended::Exited { .. }, Proof::Nonce(_)) => Ending::Failed(said),
    }
}

/// Tells whether a probe itself does not parse.
fn is_broken(receipt: &Receipt, path: &str) -> bool {
    let text = &receipt.stderr.text;
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("");
    let place = text.lines().rfind(|line| line.trim_start().starts_with("File \""));
    let own = place.is_some_and(|line| line.contains(path));
    own && ["SyntaxError", "IndentationError", "TabError"].iter().any(|error| last.starts_with(error))
}

/// Returns the line of an output that says most about a failure.
fn telling(receipt: &Receipt) -> String {
    let lines = || receipt.stderr.text.lines().chain(receipt.stdout.text.lines()).map(str::trim);
    let words = ["Error", "error", "FAIL", "assert", "panicked", "expected"];
    let told = lines()
        .rfind(|line| words.iter().any(|word| line.contains(word)))
        .or_else(|| lines().rfind(|line| !line.is_empty()))
        .unwrap_or("it says nothing");
    excerpt::line(told, 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, run: &str, content: &str) -> String {
        let Ok(Runnable { layer: Layer::Text { text, .. }, .. }) = runnable(path, run, content, "n") else {
            return "none".into();
        };
        match text.find("checkmate-end-").map(|at| text[at..at + 30].to_owned()) {
            Some(nonce) => text.replace(&nonce, "NONCE"),
            None => text,
        }
    }

    #[test]
    fn the_nonce_stands_behind_the_last_line() {
        assert_eq!(text("p.py", "python3 p.py", "eq(1, 1)\n"), "eq(1, 1)\nprint(\"\\nNONCE\", flush=True)\n");
        let ends = "eq(1, 1)\nprint(\"OK\", flush=True); os._exit(0)\n";
        assert_eq!(
            text("p.py", "python3 p.py", ends),
            "eq(1, 1)\nprint(\"OK\", flush=True)\nprint(\"\\nNONCE\", flush=True)\n"
        );
        assert_eq!(text("p.mjs", "node p.mjs", "eq(1);"), "eq(1);\nconsole.log(\"\\nNONCE\");\n");
        let block = "if x:\n    os._exit(0)\n";
        assert_eq!(
            text("p.py", "python3 p.py", block),
            "if x:\n    os._exit(0)\nprint(\"\\nNONCE\", flush=True)\n"
        );
    }

    #[test]
    fn a_runner_counts_by_itself() {
        assert_eq!(text("tests/p.rs", "cargo test --test p", "#[test] fn a() {}"), "#[test] fn a() {}");
        assert_eq!(text("p.test.js", "node --test p.test.js", "test()"), "test()");
        assert_eq!(text("p.py", "python3 other.py", ""), "none");
        assert_eq!(text("../p.py", "python3 p.py", ""), "none");
        assert_eq!(text("p.py", "python3 p.py | cat", ""), "none");
    }
}
