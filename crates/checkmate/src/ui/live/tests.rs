use checkmate_machine::command::CommandLine;
use checkmate_machine::effect::{Call, Prompt, Question};
use checkmate_machine::ids::TreeId;
use checkmate_machine::reply::Shape;
use insta::assert_snapshot;

use super::*;

fn id(effect: u32, part: u32) -> PartId {
    PartId { task: TaskId::new("main"), effect, part }
}

fn call(role: Role, purpose: Purpose) -> Action {
    let prompt =
        Prompt { system: String::new(), user: String::new(), shape: Shape::Builder, version: String::new() };
    Action::Call(Call { role, purpose, turn: 1, attempt: 0, about: None, prompt, allowance: None })
}

fn check(kind: CheckKind) -> Action {
    Action::Check {
        kind,
        command: CommandLine { text: "npm test".into(), argv: Vec::new(), env: Vec::new(), shell: false },
        tree: TreeId::new("tree"),
        layers: Vec::new(),
        vary: None,
        limit_s: None,
    }
}

fn live() -> Live {
    let mut live = Live::new("billing");
    live.branch = Some("main".into());
    live.turn = Some((2, 3));
    live.used = Usage { input_tokens: 2200, output_tokens: 140, ..Usage::default() };
    live
}

fn shown(live: &Live, begins: Option<&str>, size: (usize, usize), seconds: u64) -> String {
    let lines = live.frame(begins, size, Duration::from_secs(seconds));
    assert!(lines.len() < size.1, "{lines:#?}");
    let plain: Vec<String> =
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect();
    for line in &plain {
        assert!(columns(line) < size.0, "{line}");
    }
    plain.join("\n")
}

/// A builder at work beside the baseline.
fn building() -> Live {
    let mut live = live();
    live.begin(id(1, 0), &call(Role::Builder, Purpose::Build), Duration::from_secs(40));
    live.begin(id(1, 1), &check(CheckKind::Baseline), Duration::from_secs(44));
    live.hear(
        &TaskId::new("main"),
        Role::Builder,
        "{\"plan\": [\"Reject negatives before recursing, and add the reviewer's case\"",
    );
    live
}

#[test]
fn agents_and_commands_at_work() {
    assert_snapshot!(shown(&building(), Some("turn 2/3"), (80, 24), 48), @"
    ⠋ turn 2/3 builder   plan: Reject negatives before recursing…  74 chars   8 s
    ⠋ baseline           npm test                                             4 s

    checkmate  billing · main                       turn 2/3   48 s   2.3k tokens
    ");
    assert_snapshot!(shown(&building(), Some("turn 2/3"), (140, 24), 48), @"
    ⠋ turn 2/3 builder   plan: Reject negatives before recursing, and add the reviewer's case               74 chars   8 s
    ⠋ baseline           npm test                                                                                      4 s

    checkmate  billing · main                                                                turn 2/3   48 s   2.3k tokens
    ");
    assert_snapshot!(shown(&building(), Some("turn 2/3"), (40, 24), 4000), @"
    ⠋ builder plan: Reject n…  1 h 06 min
    ⠋ baseline npm test        1 h 05 min

      turn 2/3   1 h 06 min   2.3k tokens
    ");
}

#[test]
fn many_commands_of_one_kind_are_one_line() {
    let mut live = live();
    for part in 0..10 {
        live.begin(id(2, part), &check(CheckKind::Mutant(part)), Duration::from_secs(90));
    }
    live.begin(id(2, 10), &check(CheckKind::OldTests), Duration::from_secs(90));
    for part in 0..3 {
        live.end(&id(2, part));
    }
    assert_snapshot!(shown(&live, None, (80, 24), 102), @"
    ⠋          mutants   3 of 10 done                                        12 s
    ⠋          old tests on the new code                                     12 s

    checkmate  billing · main                 turn 2/3   1 min 42 s   2.3k tokens
    ");
    for part in 3..11 {
        live.end(&id(2, part));
    }
    assert_eq!(live.parts.len(), 0);
}

#[test]
fn money_is_shown_where_every_price_is_known() {
    let mut live = Live::new("billing");
    assert_snapshot!(shown(&live, None, (60, 24), 1), @"

    checkmate  billing                                    1 s
    ");
    live.used.cost_micro_usd = Some(134_999);
    live.turn = Some((1, 3));
    live.limits.cost_micro_usd = Some(1_000_000);
    assert_snapshot!(shown(&live, None, (70, 24), 3700), @"

    checkmate  billing           turn 1/3   1 h 01 min   $0.14 of $1.00
    ");
}

#[test]
fn wide_letters_controls_and_long_names_fit() {
    let mut live = Live::new(&"漢字".repeat(40));
    live.branch = Some("feature/\u{1b}[2J".repeat(9));
    live.turn = Some((1, 3));
    live.begin(id(1, 0), &call(Role::Moderator, Purpose::Moderate), Duration::ZERO);
    let evil = "\u{1b}]0;owned\u{7}\u{202e}漢字かな👩‍👩‍👧❤\u{fe0f}e\u{301}".repeat(20);
    live.hear(&TaskId::new("main"), Role::Moderator, &evil);
    for width in 1..200 {
        for line in live.frame(Some("turn 1/3"), (width, 24), Duration::from_secs(100_000)) {
            let plain = anstream::adapter::strip_str(&line).to_string();
            assert!(columns(&plain) < width.max(30), "{width}: {plain}");
            assert!(!plain.chars().any(char::is_control), "{plain:?}");
        }
    }
}

#[test]
fn low_terminals_keep_the_line_that_says_where_the_run_stands() {
    let live = building();
    for height in 2..14 {
        let lines = live.frame(None, (80, height), Duration::from_secs(50));
        assert!(lines.len() < height, "{lines:#?}");
        assert!(lines.last().unwrap().contains("checkmate"));
    }
}

#[test]
fn what_is_not_waited_for_any_more_is_gone() {
    let mut live = building();
    live.begin(id(2, 0), &Action::Ask(Question::Land), Duration::from_secs(60));
    assert!(live.asks());
    assert_eq!(live.parts.len(), 1);
    live.end(&id(2, 0));
    assert!(!live.asks());
    // Work of our own is shown once it takes long.
    live.begin(id(3, 0), &Action::Prepare, Duration::from_secs(60));
    assert!(!shown(&live, None, (80, 24), 60).contains("takes your files"));
    assert!(shown(&live, None, (80, 24), 61).contains("takes your files"));
}
