//! The gates of a verdict card: a sign, a name, what was seen, and what it cost; then what shows that the goal is reached.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use checkmate_machine::cycle::Cycle;
use checkmate_machine::effect::CheckKind;
use checkmate_machine::verdict::{Cost, Criterion, Gate, GateName, State, Verdict};

use super::lines::{printable, seconds};
use super::wrap::wrapped;

/// The columns before a gate's name: an indent, the sign, a space.
const BEFORE_NAME: usize = 5;
/// The narrowest column of names.
const NAMES: usize = 9;
/// The most names that show one criterion.
const SHOWN: usize = 5;

/// Returns the gates of a cycle's verdict; empty without one.
pub(super) fn block(cycle: &Cycle, width: Option<usize>) -> String {
    let Some(verdict) = cycle.verdict() else { return String::new() };
    let (shown, absent): (Vec<&Gate>, Vec<&Gate>) = verdict
        .gates
        .iter()
        .filter(|gate| gate.state != State::Pending)
        .partition(|gate| matters(cycle, gate));
    let pending: Vec<&str> = verdict
        .gates
        .iter()
        .filter(|gate| gate.state == State::Pending)
        .map(|gate| gate.gate.name())
        .collect();
    let names = shown.iter().map(|gate| gate.gate.name().len()).max().unwrap_or(0).max(NAMES);
    let mut text: String = shown.iter().map(|gate| row(gate, names, width)).collect();
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|gate| gate.gate.name()).collect();
        let line = format!("not applicable: {}", names.join(", "));
        text.push_str(&wrapped(&format!("   {} ", sign(State::Absent)), BEFORE_NAME, &line, width));
    }
    if !pending.is_empty() {
        let line = format!("not asked any more: {}", pending.join(", "));
        text.push_str(&wrapped(&format!("   {} ", sign(State::Pending)), BEFORE_NAME, &line, width));
    }
    text.push_str(&evidence(cycle, verdict));
    text.push_str(&criteria(&verdict.criteria, width));
    text
}

/// Tells whether a gate gets a line of its own. One that does not apply does not, unless something was tried for it.
fn matters(cycle: &Cycle, gate: &Gate) -> bool {
    let spec = cycle.spec();
    gate.state != State::Absent
        || gate.cost.runs > 0
        || gate.gate == GateName::Baseline
        || (gate.gate == GateName::Examples && spec.task.examples.is_some())
        || (gate.gate == GateName::Probes && spec.policy.examiner)
}

fn row(gate: &Gate, names: usize, width: Option<usize>) -> String {
    let indent = BEFORE_NAME + names + 1;
    let head = format!("   {} {:<names$} ", sign(gate.state), gate.gate.name());
    let spent = spent(gate.cost);
    if gate.objections.is_empty() {
        return wrapped(&head, indent, &format!("{}{spent}", printable(&gate.message)), width);
    }
    let count = gate.objections.len();
    let objections = if count == 1 { "objection" } else { "objections" };
    let how = match gate.state {
        State::Answered => "answered, and the answers are reviewed",
        State::Passed | State::Absent | State::Objected | State::Blocked | State::Pending => {
            "to mend or to answer"
        }
    };
    let mut text = wrapped(&head, indent, &format!("{count} {objections} {how}{spent}"), width);
    let margin = " ".repeat(indent);
    for objection in &gate.objections {
        let told = format!("{} ({})", printable(&objection.text), objection.id);
        text.push_str(&wrapped(&format!("{margin}- "), indent + 2, &told, width));
        if let Some(answer) = &objection.answer {
            let answer = format!("the builder answers: {}", printable(answer));
            text.push_str(&wrapped(&format!("{margin}  "), indent + 2, &answer, width));
        }
    }
    text
}

fn spent(cost: Cost) -> String {
    match cost.runs {
        0 => String::new(),
        1 => format!(" (1 run, {})", seconds(cost.ms)),
        runs => format!(" ({runs} runs, {})", seconds(cost.ms)),
    }
}

/// Says what the gates beyond the tests cost together, also in runs of the candidate's own tests.
fn evidence(cycle: &Cycle, verdict: &Verdict) -> String {
    let gates =
        verdict.gates.iter().filter(|gate| !matches!(gate.gate, GateName::Baseline | GateName::Tests));
    let (runs, ms) = gates.fold((0, 0), |(runs, ms), gate| (runs + gate.cost.runs, ms + gate.cost.ms));
    if runs == 0 {
        return String::new();
    }
    let count = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    let mut text = format!("   evidence: {count}, {}", seconds(ms));
    let candidate = cycle.candidate().map(|candidate| &candidate.tree);
    let own = cycle.receipts().iter().rev().find(|(kind, receipt)| {
        matches!(kind, CheckKind::Tests | CheckKind::Merged) && Some(&receipt.tree) == candidate
    });
    if let Some((_, receipt)) = own {
        let tenths = ms.saturating_mul(10) / receipt.duration_ms.max(1);
        let _ = write!(text, " = {}.{} test runs", tenths / 10, tenths % 10);
    }
    text.push('\n');
    text
}

fn criteria(criteria: &[Criterion], width: Option<usize>) -> String {
    let mut text = String::new();
    for criterion in criteria {
        let mut names: Vec<String> =
            criterion.shown_by.iter().take(SHOWN).map(|name| format!("`{}`", printable(name))).collect();
        let more = criterion.shown_by.len().saturating_sub(SHOWN);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        let (state, how) = match criterion.holds {
            Some(true) => (State::Passed, format!("shown by {}", names.join(", "))),
            Some(false) => (State::Blocked, format!("does not hold: {}", names.join(", "))),
            None => (State::Absent, "not shown by any test or probe".into()),
        };
        let line = format!("goal: {} — {how}", printable(&criterion.text));
        text.push_str(&wrapped(&format!("   {} ", sign(state)), BEFORE_NAME, &line, width));
    }
    text
}

/// Signs mean the same without their colours.
fn sign(state: State) -> String {
    let (sign, style) = match state {
        State::Passed => ("✓", Style::new().fg_color(Some(AnsiColor::Green.into()))),
        State::Absent => ("·", Style::new().dimmed()),
        State::Objected | State::Answered => ("!", Style::new().fg_color(Some(AnsiColor::Yellow.into()))),
        State::Blocked | State::Pending => ("✗", Style::new().fg_color(Some(AnsiColor::Red.into()))),
    };
    format!("{style}{sign}{style:#}")
}

#[cfg(test)]
mod tests {
    use checkmate_machine::verdict::evidence::Objection;

    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn gate(state: State, objections: Vec<Objection>) -> Gate {
        Gate {
            gate: GateName::Mutation,
            passed: !matches!(state, State::Objected | State::Blocked),
            state,
            message: "The tests do not notice 2 of 4 small changes.\u{1b}[2J Add tests.".into(),
            objections,
            cost: Cost { runs: 4, ms: 1234 },
        }
    }

    #[test]
    fn a_gate_says_what_it_saw_and_what_that_cost() {
        assert_eq!(
            plain(&row(&gate(State::Blocked, Vec::new()), 14, Some(60))),
            "   ✗ mutation       The tests do not notice 2 of 4 small\n                    \
             changes.\u{fffd}[2J Add tests. (4 runs, 1.2 s)\n"
        );
    }

    #[test]
    fn each_objection_stands_alone_with_its_answer() {
        let objection = |id: &str, answer: Option<&str>| Objection {
            id: id.into(),
            text: "No test reaches `f`.".into(),
            answer: answer.map(str::to_owned),
        };
        let objections = vec![objection("mutation-1", None), objection("mutation-2", Some("It is dead."))];
        assert_eq!(
            plain(&row(&gate(State::Objected, objections), 9, None)),
            "   ! mutation  2 objections to mend or to answer (4 runs, 1.2 s)\n               \
             - No test reaches `f`. (mutation-1)\n               \
             - No test reaches `f`. (mutation-2)\n                 \
             the builder answers: It is dead.\n"
        );
        let answered = vec![objection("mutation-2", Some("It is dead."))];
        assert!(
            row(&gate(State::Answered, answered), 9, None).contains("1 objection answered, and the answers")
        );
    }

    #[test]
    fn what_nothing_shows_is_said() {
        let criterion = |text: &str, shown_by: &[&str], holds| Criterion {
            text: text.into(),
            shown_by: shown_by.iter().map(|&name| name.into()).collect(),
            holds,
        };
        let all = [
            criterion("keeps order", &["a", "b"], Some(true)),
            criterion("is empty", &["c"], Some(false)),
            criterion("is fast", &[], None),
            criterion("many", &["1", "2", "3", "4", "5", "6", "7"], Some(true)),
        ];
        assert_eq!(
            plain(&criteria(&all, None)),
            "   ✓ goal: keeps order — shown by `a`, `b`\n   ✗ goal: is empty — does not hold: `c`\n   \
             · goal: is fast — not shown by any test or probe\n   ✓ goal: many — shown by `1`, `2`, `3`, `4`, `5`, 2 more\n"
        );
    }
}
