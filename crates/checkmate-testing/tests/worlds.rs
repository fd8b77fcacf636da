//! The machine keeps its laws in every world.

use std::collections::BTreeMap;

use checkmate_testing::simulator::{Broken, simulate};

/// Plays worlds 0 to `WORLDS` (2,000 without it), or the one world `SEED`.
#[test]
fn worlds() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let seeds = match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("WORLDS").unwrap_or(2_000),
    };
    let mut outcomes: BTreeMap<&str, u32> = BTreeMap::new();
    let mut broken: BTreeMap<String, (u32, String)> = BTreeMap::new();
    let (mut approvals, mut largest, mut longest) = (0, 0, 0);
    for seed in seeds.clone() {
        let (law, details) = match std::panic::catch_unwind(|| simulate(seed)) {
            Ok(Ok(summary)) => {
                for outcome in summary.outcomes {
                    *outcomes.entry(outcome).or_default() += 1;
                }
                approvals += summary.approvals;
                largest = largest.max(summary.largest_prompt);
                longest = longest.max(summary.events);
                continue;
            }
            Ok(Err(one)) => (one.law.chars().take(70).collect(), told(&one)),
            Err(_) => {
                ("nothing panics".to_owned(), format!("world {seed} panics; play it again with SEED={seed}"))
            }
        };
        broken.entry(law).or_insert((0, details)).0 += 1;
    }
    eprintln!(
        "{outcomes:?}; {approvals} approving verdicts; largest prompt {largest} bytes; longest journal {longest}"
    );
    let broken: Vec<String> =
        broken.values().map(|(worlds, first)| format!("in {worlds} worlds, first in {first}")).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
    if seeds.end - seeds.start >= 1_000 {
        // Laws say nothing in worlds where nothing happens.
        for outcome in [
            "approved",
            "oscillation",
            "max_iterations",
            "moderator",
            "needs_human",
            "goal_conflict",
            "unusable_reply",
            "landing_conflict",
            "not_landed",
            "applied",
            "not_applied",
            "cancelled",
            "dependency_failed",
            "error",
        ] {
            assert!(outcomes.contains_key(outcome), "no world ends with {outcome}: {outcomes:?}");
        }
    }
}

fn told(broken: &Broken) -> String {
    let tail = broken.journal.iter().rev().take(6).rev();
    let lines: Vec<String> = tail.map(|line| line.chars().take(600).collect()).collect();
    format!(
        "world {seed}: {}\nplay it again with SEED={seed}; its journal has {} events and ends with\n{}",
        broken.law,
        broken.journal.len(),
        lines.join("\n"),
        seed = broken.seed,
    )
}
