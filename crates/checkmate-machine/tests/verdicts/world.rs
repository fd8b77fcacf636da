//! What commands say: `KIND [NUMBER] RESULT`, such as `mutant 0 pass 4`, `mutant 0-3 pass 4`, `baseline gone`.
//!
//! A result is one of those of `script/receipt.rs`; for a probe also `ends`, `silent`, `fails TEXT` or `broken`; for a
//! comparison `gives 1, 2, -`, one result a call. `; 70 s` behind it is how long it took.

use std::collections::BTreeMap;

use checkmate_machine::command::CommandLine;
use checkmate_machine::effect::{CheckKind, Layer};
use checkmate_machine::evidence::{Ended, Output, Receipt, Signal};
use checkmate_machine::facts::Inspection;
use checkmate_machine::ids::TreeId;
use checkmate_machine::verdict::evidence::Want;

use crate::receipt::receipt;

/// What every command says.
pub(super) struct World {
    pub(super) baseline: Option<Receipt>,
    pub(super) tests: Vec<Receipt>,
    said: BTreeMap<String, String>,
    /// What could not be started.
    started: BTreeMap<String, String>,
    /// Whether what is not said is pleasant.
    pleasant: bool,
    baseline_line: String,
    tests_line: String,
    calls: usize,
}

impl World {
    pub(super) fn new(lines: &[String], command: &CommandLine, inspection: &Inspection) -> Self {
        let mut world = Self {
            baseline: None,
            tests: Vec::new(),
            said: BTreeMap::new(),
            started: BTreeMap::new(),
            pleasant: true,
            baseline_line: "pass 3".into(),
            tests_line: "pass 4".into(),
            calls: inspection.comparison.as_ref().map_or(0, |comparison| comparison.calls.len()),
        };
        let mut tests = Vec::new();
        for line in lines {
            let (kind, result) = line.split_once(' ').unwrap();
            match kind {
                "nothing" => world.pleasant = false,
                "baseline" => world.baseline_line = result.into(),
                "tests" => tests.push(result.to_owned()),
                numbered @ ("mutant" | "compare_mutant" | "repeat" | "repeat_base" | "probe"
                | "probe_again" | "probe_base") => {
                    let (numbers, result) = result.split_once(' ').unwrap();
                    let (from, to) = numbers.split_once('-').unwrap_or((numbers, numbers));
                    for number in from.parse::<u32>().unwrap()..=to.parse().unwrap() {
                        world.said.insert(format!("{numbered} {number}"), result.into());
                    }
                }
                kind => {
                    world.said.insert(kind.into(), result.into());
                }
            }
        }
        if tests.is_empty() {
            tests.push(world.tests_line.clone());
        }
        world.tests_line.clone_from(tests.last().unwrap());
        let run = |line: &str, kind, tree| {
            (line != "gone").then(|| timed(line, |line| receipt(line, kind, command, &TreeId::new(tree))))
        };
        world.baseline = run(&world.baseline_line, CheckKind::Baseline, "base");
        world.tests = tests.iter().filter_map(|line| run(line, CheckKind::Tests, "candidate")).collect();
        world
    }

    /// Runs what is wanted; `None` if nothing is said about it.
    pub(super) fn answer(&mut self, want: &Want) -> Option<Receipt> {
        // What cannot be started cannot be started the second time either.
        let key = name(want.kind);
        if let Some(line) = self.said.get(&key).filter(|line| line.as_str() == "not started") {
            self.started.insert(key.clone(), line.clone());
        }
        let again = self.started.get(&key).cloned();
        let line = match self.said.remove(&key).or(again) {
            Some(line) => line,
            None if self.pleasant => self.usual(want.kind),
            None => return None,
        };
        Some(timed(&line, |line| {
            special(line, want).unwrap_or_else(|| receipt(line, want.kind, &want.command, &want.tree))
        }))
    }

    /// Returns what is said and was not asked.
    pub(super) fn left(&self) -> Vec<String> {
        self.said.keys().cloned().collect()
    }

    /// Says what an honest and well tested change would show.
    fn usual(&self, kind: CheckKind) -> String {
        match kind {
            CheckKind::OldTests => {
                match self.baseline.as_ref().map(|baseline| (baseline.signal(), &baseline.report)) {
                    Some((_, Some(report))) if self.tests.last().unwrap().signal() != Signal::Fail => {
                        format!("pass {}", report.ran())
                    }
                    Some((Signal::Pass { .. }, None)) => "unreported".into(),
                    Some(_) | None => self.tests_line.clone(),
                }
            }
            CheckKind::NewTests | CheckKind::Reverted => red(self.baseline.as_ref()),
            CheckKind::Mutant(_) | CheckKind::BrokenTests => red(self.tests.last()),
            CheckKind::BrokenBase => red(self.baseline.as_ref()),
            CheckKind::Repeat(_) => self.tests_line.clone(),
            CheckKind::RepeatBase(_) => self.baseline_line.clone(),
            CheckKind::Example | CheckKind::Probe(_) | CheckKind::ProbeAgain(_) => "ends".into(),
            CheckKind::ProbeBase(_) => "fails AssertionError: not yet".into(),
            CheckKind::Compare | CheckKind::CompareBase => {
                format!("gives {}", vec!["1"; self.calls].join(", "))
            }
            CheckKind::CompareMutant(_) => format!("gives {}", vec!["2"; self.calls].join(", ")),
            CheckKind::Baseline
            | CheckKind::Tests
            | CheckKind::BuilderRun
            | CheckKind::Diagnostic
            | CheckKind::Arbiter
            | CheckKind::ArbiterBase
            | CheckKind::Merged => panic!("no gate asks for {kind:?}"),
        }
    }
}

/// Says the same as a run, with one more test red.
fn red(like: Option<&Receipt>) -> String {
    match like.map(|like| &like.report) {
        Some(Some(report)) => format!("fail {} {} test_new", report.passed.max(1), report.failing.join(" ")),
        Some(None) => "dies".into(),
        None => "fail 3 test_new".into(),
    }
}

fn timed(line: &str, run: impl FnOnce(&str) -> Receipt) -> Receipt {
    match line.rsplit_once("; ") {
        Some((line, time)) => {
            let seconds: u64 = time.trim_end_matches(" s").parse().unwrap();
            Receipt { duration_ms: seconds * 1000, ..run(line) }
        }
        None => run(line),
    }
}

/// Reads what only probes and comparisons say.
fn special(line: &str, want: &Want) -> Option<Receipt> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let text: String = want
        .layers
        .iter()
        .filter_map(|layer| if let Layer::Text { text, .. } = layer { Some(text.as_str()) } else { None })
        .collect();
    let nonce = text.find("checkmate-end-").map(|at| &text[at..at + "checkmate-end-".len() + 16]);
    let nonce = nonce.map(|nonce| nonce.split(['"', '\'', '\\']).next().unwrap_or(nonce).to_owned());
    let path = want
        .layers
        .iter()
        .find_map(|layer| if let Layer::Text { path, .. } = layer { Some(path.as_str()) } else { None });
    let (code, stdout, stderr, report) = match word {
        "ends" if nonce.is_none() => (0, String::new(), String::new(), Some("pass 1")),
        "ends" => (0, format!("\n{}\n", nonce.unwrap()), String::new(), None),
        "silent" => (0, String::new(), String::new(), None),
        "fails" if nonce.is_none() => (1, String::new(), format!("{rest}\n"), Some("fail 0 probe")),
        "fails" => (1, String::new(), format!("{rest}\n"), None),
        "broken" => {
            let place = format!("  File \"{}\", line 1\nSyntaxError: invalid syntax\n", path.unwrap_or(""));
            (1, String::new(), place, None)
        }
        "gives" => {
            let results = rest.split(", ").enumerate().filter(|(_, result)| *result != "-");
            (0, results.map(|(at, result)| format!("t0 {at} {result}\n")).collect(), String::new(), None)
        }
        _ => return None,
    };
    let output = |text: String| Output { bytes: text.len() as u64, text, sha256: String::new() };
    let like = receipt(report.unwrap_or("unreported"), want.kind, &want.command, &want.tree);
    Some(Receipt { ended: Ended::Exited { code }, stdout: output(stdout), stderr: output(stderr), ..like })
}

/// Returns the name of a kind, with its number.
pub(super) fn name(kind: CheckKind) -> String {
    let value = serde_json::to_value(kind).unwrap();
    match value.as_object().and_then(|object| object.iter().next()) {
        Some((name, number)) => format!("{name} {number}"),
        None => value.as_str().unwrap().to_owned(),
    }
}
