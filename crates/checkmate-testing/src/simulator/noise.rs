//! Events that nobody waits for, and answers that fit in kind only.

use checkmate_machine::effect::Action;
use checkmate_machine::event::{Answer, Candidate, Change, ChangeKind, Event, FileFact, FileText, Prepared};
use checkmate_machine::evidence::{Ended, Output, Receipt, TestReport};
use checkmate_machine::ids::{CommitId, TaskId, TreeId};
use checkmate_machine::run::Run;
use fastrand::Rng;

use super::agents::called;
use super::{facts, hostile, one_in};

/// Returns an event that nothing waits for: for an unknown task, an old effect, a part that is answered, or of another
/// kind than was asked for.
pub(super) fn unexpected(rng: &mut Rng, run: &Run, events: &[Event]) -> Option<Event> {
    let pending = run.pending();
    let chosen = pending.get(rng.usize(0..pending.len().max(1)));
    match (rng.u32(0..5), chosen) {
        (0, _) => Some(Event::Answered { task: TaskId::new("nobody"), effect: 1, part: 0, answer: any(rng) }),
        (1, Some(chosen)) => Some(Event::Answered {
            task: chosen.task.clone(),
            effect: chosen.effect.wrapping_sub(1),
            part: chosen.part,
            answer: any(rng),
        }),
        (2, Some(chosen)) => Some(Event::Answered {
            task: chosen.task.clone(),
            effect: chosen.effect,
            part: rng.u32(100..),
            answer: any(rng),
        }),
        (3, Some(chosen)) => Some(Event::Answered {
            task: chosen.task.clone(),
            effect: chosen.effect,
            part: chosen.part,
            answer: misfit(rng, chosen.action),
        }),
        (_, _) => {
            // What was answered before: its part is not awaited any more, unless it failed.
            let old = rng.choice(events.iter())?;
            let Event::Answered { task, effect, part, .. } = old else { return None };
            run.awaited(task, *effect, *part).is_none().then(|| old.clone())
        }
    }
}

/// Returns an answer of another kind than the action asks for.
fn misfit(rng: &mut Rng, action: &Action) -> Answer {
    match action {
        Action::Prepare | Action::Call(_) | Action::Ask(_) => Answer::Rejected { reasons: Vec::new() },
        Action::Read { .. } => Answer::Files { files: (0..99).map(|_| file(rng)).collect() },
        Action::Apply { .. } | Action::Store { .. } => Answer::Landed { commit: None, files: Vec::new() },
        Action::Inspect { .. } | Action::Check { .. } => {
            Answer::Ran(receipt(rng, TreeId::new("another tree")))
        }
        Action::Land { .. } => Answer::Applied(candidate(rng)),
    }
}

fn any(rng: &mut Rng) -> Answer {
    match rng.u32(0..7) {
        0 => Answer::Prepared(prepared(rng)),
        1 => {
            let text = hostile(rng);
            Answer::Called(called(rng, text))
        }
        2 => Answer::Applied(candidate(rng)),
        3 => Answer::Ran(receipt(rng, TreeId::new("a tree"))),
        4 => Answer::Landed { commit: Some(CommitId::new("c")), files: Vec::new() },
        5 => Answer::TargetMoved { target: TreeId::new("u"), merged: candidate(rng) },
        _ => Answer::Conflict { target: TreeId::new("u"), paths: vec![hostile(rng)] },
    }
}

/// Returns an answer of the right kind with nothing behind it.
pub(super) fn fitting(rng: &mut Rng, action: &Action) -> Answer {
    match action {
        Action::Prepare => Answer::Prepared(prepared(rng)),
        Action::Read { paths, .. } => {
            let files = paths.iter().map(|path| FileText { path: path.clone(), ..file(rng) }).collect();
            Answer::Files { files }
        }
        Action::Call(_) => {
            let text = hostile(rng);
            Answer::Called(called(rng, text))
        }
        Action::Apply { .. } | Action::Store { .. } => match rng.u32(0..3) {
            0 => Answer::Rejected { reasons: vec![hostile(rng)] },
            _ => Answer::Applied(candidate(rng)),
        },
        Action::Inspect { base, tree, .. } => Answer::Inspected(Box::new(facts::any(rng, base, tree))),
        Action::Check { tree, .. } => Answer::Ran(receipt(rng, tree.clone())),
        Action::Ask(_) => Answer::Said { yes: rng.bool(), text: hostile(rng) },
        Action::Land { .. } => match rng.u32(0..3) {
            0 => Answer::Landed { commit: None, files: vec![hostile(rng)] },
            1 => Answer::TargetMoved { target: TreeId::new("target"), merged: candidate(rng) },
            _ => Answer::Conflict { target: TreeId::new("target"), paths: vec![hostile(rng)] },
        },
    }
}

fn prepared(rng: &mut Rng) -> Prepared {
    Prepared {
        base: TreeId::new(rng.u8(..).to_string()),
        head: CommitId::new("h"),
        branch: None,
        files: (0..rng.usize(0..4))
            .map(|_| FileFact { path: hostile(rng), bytes: u64::MAX, symbols: vec![hostile(rng)] })
            .collect(),
        notes: vec![hostile(rng)],
        nonce: String::new(),
    }
}

fn file(rng: &mut Rng) -> FileText {
    FileText { path: hostile(rng), text: if rng.bool() { Ok(hostile(rng)) } else { Err("No.".into()) } }
}

fn candidate(rng: &mut Rng) -> Candidate {
    let all = ["src/a.txt", "tests/b.txt", ".git/config", "..", "", "A\u{301}", "x\ny"];
    let paths = if one_in(rng, 4) { &all[..] } else { &all[..2] };
    Candidate {
        tree: TreeId::new(rng.u8(..).to_string()),
        changes: (0..rng.usize(0..3))
            .map(|_| Change {
                path: rng.choice(paths).map_or("", |path| path).into(),
                kind: *rng
                    .choice(&[ChangeKind::Added, ChangeKind::Modified, ChangeKind::Deleted])
                    .unwrap_or(&ChangeKind::Added),
                old_mode: "100644".into(),
                new_mode: (*rng.choice(&["100644", "120000", "160000", ""]).unwrap_or(&"")).into(),
                added: rng.u32(..),
                removed: rng.u32(..),
            })
            .collect(),
        diff: hostile(rng),
    }
}

fn receipt(rng: &mut Rng, tree: TreeId) -> Receipt {
    let number = |rng: &mut Rng| *rng.choice(&[0, 0, 1, 2, u32::MAX]).unwrap_or(&0);
    let ended = match rng.u32(0..6) {
        0 => Ended::TimedOut { limit_s: u64::MAX },
        1 => Ended::Killed { signal: -1 },
        2 => Ended::NotStarted { reason: "no memory".into() },
        _ => Ended::Exited { code: *rng.choice(&[0, 0, 1, -1, 126, i32::MIN]).unwrap_or(&0) },
    };
    Receipt {
        tree,
        saw: None,
        seed: None,
        argv: if rng.bool() { Vec::new() } else { vec![hostile(rng)] },
        shell: rng.bool(),
        of_repository: rng.bool(),
        ended,
        report: rng.bool().then(|| TestReport {
            runner: "pytest".into(),
            passed: number(rng),
            failed: number(rng),
            errors: number(rng),
            skipped: number(rng),
            failing: (0..rng.usize(0..3)).map(|_| hostile(rng)).collect(),
            flaky: if one_in(rng, 5) { vec![hostile(rng)] } else { Vec::new() },
        }),
        stdout: Output { text: hostile(rng), bytes: rng.u64(..), sha256: String::new() },
        stderr: Output { text: hostile(rng), bytes: 0, sha256: "?".into() },
        duration_ms: rng.u64(..),
        cached: false,
    }
}
