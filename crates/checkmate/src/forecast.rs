//! What a run is likely to cost, from what earlier runs of the repository did.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use checkmate_machine::budget::{Limits, Spent, dollars};
use checkmate_machine::ids::TaskId;
use checkmate_machine::run::Run;
use serde::{Deserialize, Serialize};

use crate::state::{JOURNAL, RunsFolder};

/// How many earlier runs are looked at.
const RUNS: usize = 20;
/// The end of a journal that is looked at; the note of the end is far shorter.
const TAIL: u64 = 64 << 10;

/// What a run used until it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// Turns.
    pub turns: u32,
    /// Requests to agents.
    pub calls: u32,
    /// Tokens sent and received.
    pub tokens: u64,
    /// Money in millionths of a US dollar, where it is known.
    pub cost_micro_usd: Option<u64>,
    /// Seconds in which it was driven.
    pub seconds: u64,
}

impl Total {
    /// Sums up a task of a run.
    pub fn of(run: &Run, task: &TaskId, seconds: u64) -> Self {
        let cycle = run.cycle(task);
        let mut spent = Spent::default();
        for one in cycle.into_iter().flat_map(|cycle| cycle.spent().values()) {
            spent.add(one.calls, &one.usage, one.ms);
        }
        Self {
            turns: cycle.map_or(0, checkmate_machine::cycle::Cycle::turn),
            calls: spent.calls,
            tokens: spent.usage.input_tokens.saturating_add(spent.usage.output_tokens),
            cost_micro_usd: spent.usage.cost_micro_usd,
            seconds,
        }
    }
}

/// What earlier runs of a repository used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forecast {
    totals: Vec<Total>,
}

impl Forecast {
    /// Looks at the latest runs that came to an end with work of agents; `None` if there are fewer than two.
    pub fn of(runs: &RunsFolder) -> Option<Self> {
        let ids = runs.list().ok()?;
        let latest = ids.iter().rev().take(RUNS);
        let totals = latest.filter_map(|id| last_total(&runs.run(id).join(JOURNAL)));
        Self::from(totals.collect())
    }

    fn from(totals: Vec<Total>) -> Option<Self> {
        let totals: Vec<Total> = totals.into_iter().filter(|total| total.calls > 0).collect();
        (totals.len() >= 2).then_some(Self { totals })
    }

    /// Returns a sentence for people: what half of the runs stayed within, and the most that one took.
    pub fn sentence(&self) -> String {
        let of = |value: fn(&Total) -> u64| self.median_and_most(value);
        let (turns, most_turns) = of(|total| total.turns.into());
        let (calls, most_calls) = of(|total| total.calls.into());
        let (tokens, most_tokens) = of(|total| total.tokens);
        let (seconds, most_seconds) = of(|total| total.seconds);
        let money = self.money().map_or_else(String::new, |(median, most)| {
            format!(", {} (at most {})", dollars(median), dollars(most))
        });
        format!(
            "The last {} runs here took {turns} turns (at most {most_turns}), {calls} requests (at most {most_calls}), \
             {} tokens (at most {}){money} and {} (at most {}) in the middle.",
            self.totals.len(),
            thousands(tokens),
            thousands(most_tokens),
            duration(seconds),
            duration(most_seconds),
        )
    }

    /// Returns a warning if a budget is smaller than what half of the earlier runs took.
    pub fn warning(&self, limits: &Limits) -> Option<String> {
        let over = |limit: Option<u64>, value: fn(&Total) -> u64| {
            limit.is_some_and(|limit| self.median_and_most(value).0 > limit)
        };
        let mut small = Vec::new();
        if over(limits.calls.map(u64::from), |total| total.calls.into()) {
            small.push("requests");
        }
        if over(limits.tokens, |total| total.tokens) {
            small.push("tokens");
        }
        if over(limits.minutes.map(|minutes| u64::from(minutes) * 60), |total| total.seconds) {
            small.push("minutes");
        }
        let money = limits.cost_micro_usd.zip(self.money());
        if money.is_some_and(|(limit, (median, _))| median > limit) {
            small.push("dollars");
        }
        let small = match small.as_slice() {
            [] => return None,
            [one] => (*one).to_owned(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
        };
        Some(format!(
            "The budget allows fewer {small} than most runs here took. The run may end before it is done; a larger \
             budget goes on with it."
        ))
    }

    fn median_and_most(&self, value: fn(&Total) -> u64) -> (u64, u64) {
        let mut values: Vec<u64> = self.totals.iter().map(value).collect();
        values.sort_unstable();
        (values[values.len() / 2], values[values.len() - 1])
    }

    /// Returns the money of the runs whose price is known, if most are.
    fn money(&self) -> Option<(u64, u64)> {
        let mut values: Vec<u64> = self.totals.iter().filter_map(|total| total.cost_micro_usd).collect();
        values.sort_unstable();
        (values.len() * 2 > self.totals.len()).then(|| (values[values.len() / 2], values[values.len() - 1]))
    }
}

/// Reads what a run used from the note of its end, which is the last line of its journal if the run is over.
fn last_total(journal: &Path) -> Option<Total> {
    #[derive(Deserialize)]
    struct Line {
        record: String,
        used: Option<Total>,
    }
    let mut file = File::open(journal).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    let end = bytes.strip_suffix(b"\n")?;
    let last = end.rsplit(|byte| *byte == b'\n').next()?;
    let line: Line = serde_json::from_slice(last).ok()?;
    line.used.filter(|_| line.record == "ended")
}

fn duration(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(turns: u32, cost_micro_usd: Option<u64>) -> Total {
        Total {
            turns,
            calls: turns * 2,
            tokens: u64::from(turns) * 12_345,
            cost_micro_usd,
            seconds: u64::from(turns) * 40,
        }
    }

    #[test]
    fn earlier_runs_tell_what_to_expect() {
        let forecast =
            Forecast::from(vec![total(1, Some(50_000)), total(3, None), total(2, Some(140_000))]).unwrap();
        assert_eq!(
            forecast.sentence(),
            "The last 3 runs here took 2 turns (at most 3), 4 requests (at most 6), 24,690 tokens (at most 37,035), \
             $0.14 (at most $0.14) and 1 min 20 s (at most 2 min 0 s) in the middle."
        );
        let limits = Limits { calls: Some(3), minutes: Some(1), tokens: Some(99_999), ..Limits::default() };
        let warning = forecast.warning(&limits).unwrap();
        assert!(warning.starts_with("The budget allows fewer requests and minutes than"), "{warning}");
        assert_eq!(forecast.warning(&Limits::default()), None);
        let money = Limits { cost_micro_usd: Some(60_000), ..Limits::default() };
        assert!(forecast.warning(&money).unwrap().contains("fewer dollars"));
    }

    #[test]
    fn little_is_no_forecast() {
        assert_eq!(Forecast::from(vec![total(1, None)]), None);
        assert_eq!(Forecast::from(vec![total(1, None), total(0, None)]), None);
        let unknown = Forecast::from(vec![total(1, None), total(1, None), total(1, Some(5))]).unwrap();
        assert!(!unknown.sentence().contains('$'), "{}", unknown.sentence());
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }
}
