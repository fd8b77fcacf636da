//! What a command printed, in one short line.

use checkmate_machine::command::CommandLine;
use checkmate_machine::effect::CheckKind;
use checkmate_machine::evidence::{Ended, Output, Receipt, TestReport};
use checkmate_machine::ids::TreeId;

/// Reads `pass 3`, `fail 2 a b`, `unheeded 2 a b` (the same with exit code 0), `errors file`, `none`, `unreported`,
/// `exit 1`, `dies` (an error and no report), `timeout`, `killed`, `not started`, `flaky`; empty is green.
pub(crate) fn receipt(line: &str, kind: CheckKind, command: &CommandLine, tree: &TreeId) -> Receipt {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut report = TestReport { runner: "tap".into(), ..TestReport::default() };
    let mut ended = Ended::Exited { code: 0 };
    let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
    let usual = if kind == CheckKind::Baseline {
        2
    } else if kind == CheckKind::Arbiter {
        4
    } else {
        3
    };
    match words.first().copied().unwrap_or("") {
        "" => report.passed = usual,
        "pass" => report.passed = number(1),
        result @ ("fail" | "unheeded") => {
            report.passed = number(1);
            report.failing = words[2..].iter().map(|name| (*name).to_owned()).collect();
            report.failed = u32::try_from(report.failing.len()).unwrap();
            ended = Ended::Exited { code: i32::from(result == "fail") };
        }
        "errors" => {
            report.errors = 1;
            report.failing = vec![words[1].into()];
            ended = Ended::Exited { code: 1 };
        }
        "none" | "unreported" => {}
        "exit" => {
            report.passed = usual;
            ended = Ended::Exited { code: 1 };
        }
        "dies" => ended = Ended::Exited { code: 1 },
        "timeout" => ended = Ended::TimedOut { limit_s: 60 },
        "killed" => ended = Ended::Killed { signal: 11 },
        "not" => ended = Ended::NotStarted { reason: "no such file".into() },
        "flaky" => {
            report.passed = 3;
            report.flaky = vec!["sometimes".into()];
        }
        unknown => panic!("no result is called {unknown}"),
    }
    let text = format!("output of {line}\n");
    Receipt {
        tree: tree.clone(),
        saw: None,
        seed: None,
        cached: false,
        argv: command.argv.clone(),
        shell: command.shell,
        of_repository: true,
        ended,
        report: (!matches!(words.first(), Some(&"unreported" | &"dies"))).then_some(report),
        stdout: Output { bytes: text.len() as u64, text, sha256: String::new() },
        stderr: Output::default(),
        duration_ms: 1,
    }
}
