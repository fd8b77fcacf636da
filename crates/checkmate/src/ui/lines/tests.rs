use checkmate_machine::evidence::{Ended, Output};
use checkmate_machine::ids::TreeId;
use insta::assert_snapshot;

use super::*;

fn ran(check: CheckKind, code: i32) -> Notice {
    let output = || Output { text: String::new(), bytes: 0, sha256: String::new() };
    let receipt = Receipt {
        tree: TreeId::new("tree"),
        saw: None,
        seed: None,
        argv: vec!["sh".into(), "test/run.sh".into()],
        shell: false,
        of_repository: true,
        ended: Ended::Exited { code },
        report: None,
        stdout: output(),
        stderr: output(),
        duration_ms: 400,
        cached: false,
    };
    Notice::TestsOutput {
        stdout: String::new(),
        stderr: String::new(),
        exit_code: code,
        check,
        receipt: Box::new(receipt),
    }
}

fn status(message: &str, passing: bool) -> Notice {
    Notice::Status { message: message.into(), passing }
}

/// Returns the lines of batches of notices.
fn told(batches: &[Vec<Notice>], width: Option<usize>) -> String {
    let mut lines = Lines::default();
    let mut text = String::new();
    for batch in batches {
        for notice in batch {
            text.push_str(&lines.take(notice, width));
        }
        text.push_str(&lines.settle(width));
    }
    text.push_str(&lines.finish(width));
    if let Some(width) = width {
        for line in text.lines() {
            let plain = anstream::adapter::strip_str(line).to_string();
            assert!(columns(&plain) < width, "{plain}");
        }
    }
    anstream::adapter::strip_str(&text).to_string()
}

fn evidence() -> Vec<Vec<Notice>> {
    vec![
        vec![Notice::TurnStarted { turn: 1, of: 3 }, status("The builder is working.", true)],
        vec![ran(CheckKind::Baseline, 0)],
        vec![ran(CheckKind::Tests, 0), status("The tests are green: 1 passed.", false)],
        vec![ran(CheckKind::NewTests, 1), ran(CheckKind::OldTests, 0)],
        vec![ran(CheckKind::Probe(1), 0), ran(CheckKind::ProbeBase(1), 1), ran(CheckKind::Probe(2), 0)],
        (1..=4).map(|seed| ran(CheckKind::Repeat(seed), i32::from(seed == 3))).collect(),
        vec![ran(CheckKind::Mutant(1), 1), ran(CheckKind::Mutant(2), 0)],
        vec![status("Gathering evidence (mutation): 1 run.", true)],
        vec![ran(CheckKind::CompareMutant(2), 0)],
        vec![ran(CheckKind::Mutant(3), 1)],
        vec![status("The evidence raises objections: the repeats differ.", false)],
    ]
}

#[test]
fn many_runs_of_one_kind_are_one_row() {
    assert_snapshot!(told(&evidence(), Some(100)), @"
    ✓ baseline           1 passed                                                               0.4 s
    ✓ turn 1/3 tests     1 passed                                                               0.4 s
    ✓          new tests red on the old code: `sh test/run.sh` ended with an error.             0.4 s
    ✓          old tests on the new code: 1 passed                                              0.4 s
    ·          probes    2 of 2 end well on the change, 0 of 1 end well on the old code         1.2 s
    ✗          repeats   4 times more with other seeds, green 3 times: `sh test/run.sh` ended
                         with an error.                                                         1.6 s
    ·          mutants   the tests notice 2 of 3 small changes; 1 compared by calls             1.6 s
    · The evidence raises objections: the repeats differ.
    ");
}

#[test]
fn narrow_terminals_have_no_columns() {
    assert_snapshot!(told(&evidence(), Some(40)), @"
    turn 1/3
      ✓ baseline 1 passed             0.4 s
      ✓ tests 1 passed                0.4 s
      ✓ new tests red on the old
          code: `sh test/run.sh`
          ended with an error.        0.4 s
      ✓ old tests on the new code: 1
          passed                      0.4 s
      · probes 2 of 2 end well on
          the change, 0 of 1 end
          well on the old code        1.2 s
      ✗ repeats 4 times more with
          other seeds, green 3
          times: `sh test/run.sh`
          ended with an error.        1.6 s
      · mutants the tests notice 2
          of 3 small changes; 1
          compared by calls           1.6 s
      · The evidence raises objections: the
        repeats differ.
    ");
}

#[test]
fn a_run_that_goes_on_names_its_turn_once() {
    let mut lines = Lines::default();
    lines.go_on(2, 3);
    assert_eq!(lines.begins(), Some("turn 2/3"));
    let text = lines.take(&ran(CheckKind::Tests, 0), None) + &lines.settle(None);
    assert_eq!(anstream::adapter::strip_str(&text).to_string(), "  ✓ turn 2/3 tests     1 passed  0.4 s\n");
    lines.go_on(2, 3);
    assert_eq!(lines.begins(), None);
}
