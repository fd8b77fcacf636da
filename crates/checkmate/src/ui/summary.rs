//! The result of a run for programs: what `--json` writes.

use checkmate_machine::effect::CheckKind;
use checkmate_machine::event::Usage;
use checkmate_machine::evidence::{Receipt, Signal};
use checkmate_machine::ids::{RunId, TaskId};
use checkmate_machine::outcome::Outcome;
use checkmate_machine::run::Run;
use checkmate_machine::verdict::{Decision, Gate, Verdict};
use serde::Serialize;

use super::card::with_run;
use crate::journal::Shell;

/// The result of a run.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// `approved`, `applied`, `not_approved` or `error`.
    pub outcome: &'static str,
    /// The run.
    pub run: RunId,
    /// The rule that ended it; null when it was approved.
    pub stopped_by: Option<&'static str>,
    /// The turns used.
    pub turns: u32,
    /// Why, one entry per gate or rule.
    pub reasons: Vec<Reason>,
    /// What landed; null if nothing did.
    pub landed: Option<Landed>,
    /// What the agents cost.
    pub usage: RunUsage,
    /// What commands could do on the machine although they should not; empty if nothing.
    pub unconfined: Vec<String>,
    /// The latest verdict: its gates with state, cost and objections, and what shows that the goal is reached.
    pub verdict: Option<Verdict>,
    /// What Checkmate ran.
    pub evidence: Vec<Evidence>,
}

/// One reason.
#[derive(Debug, Serialize)]
pub struct Reason {
    /// The gate or rule.
    pub gate: String,
    /// A sentence.
    pub message: String,
}

/// What landed.
#[derive(Debug, Serialize)]
pub struct Landed {
    /// The commit, when landing by commit.
    pub commit: Option<String>,
    /// The files that changed in the user's tree.
    pub files: Vec<String>,
}

/// Costs.
#[derive(Debug, Default, Serialize)]
pub struct RunUsage {
    /// Requests to agents, retries included.
    pub calls: u32,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens of those that came from a cache.
    pub cached_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Dollars; null where a price is unknown.
    pub cost_usd: Option<f64>,
    /// Requests by role.
    pub calls_by_role: std::collections::BTreeMap<&'static str, u32>,
}

/// One receipt with its signal.
#[derive(Debug, Serialize)]
pub struct Evidence {
    /// What it was run for.
    pub check: CheckKind,
    /// What it says.
    #[serde(flatten)]
    pub signal: Signal,
    /// The facts.
    pub receipt: Receipt,
}

/// Sums up a run that is over.
pub fn summary(id: &RunId, run: &Run, task: &TaskId, shell: &Shell) -> Summary {
    let cycle = run.cycle(task);
    let outcome = run.outcome(task);
    let mut usage = RunUsage::default();
    let mut total = Usage::NOTHING;
    for (role, spent) in cycle.into_iter().flat_map(|cycle| cycle.spent()) {
        usage.calls += spent.calls;
        usage.calls_by_role.insert(role.name(), spent.calls);
        total.add(&spent.usage);
    }
    usage.input_tokens = total.input_tokens;
    usage.cached_tokens = total.cached_tokens;
    usage.output_tokens = total.output_tokens;
    #[expect(clippy::cast_precision_loss, reason = "costs are far below 2^53 millionths of a dollar")]
    let dollars = total.cost_micro_usd.map(|micro| micro as f64 / 1e6);
    usage.cost_usd = dollars.filter(|_| usage.calls > 0);
    let (name, stopped_by, landed) = match &outcome {
        Some(Outcome::Approved { commit, files }) => {
            let commit = commit.as_ref().map(ToString::to_string);
            ("approved", None, Some(Landed { commit, files: files.clone() }))
        }
        Some(Outcome::Applied { files }) => {
            ("applied", None, Some(Landed { commit: None, files: files.clone() }))
        }
        Some(Outcome::NotApproved { stopped_by, .. }) => ("not_approved", Some(stopped_by.name()), None),
        Some(Outcome::Error { .. }) | None => ("error", None, None),
    };
    Summary {
        outcome: name,
        run: id.clone(),
        stopped_by,
        turns: cycle.map_or(0, checkmate_machine::cycle::Cycle::turn),
        reasons: reasons(id, run, task),
        landed,
        usage,
        unconfined: shell.gaps(),
        verdict: cycle.and_then(|cycle| cycle.verdict()).cloned(),
        evidence: cycle
            .into_iter()
            .flat_map(|cycle| cycle.receipts())
            .map(|(check, receipt)| Evidence {
                check: *check,
                signal: receipt.signal(),
                receipt: receipt.clone(),
            })
            .collect(),
    }
}

/// Names the rule that ended the run and every gate that did not let it through; for an approval every gate.
fn reasons(id: &RunId, run: &Run, task: &TaskId) -> Vec<Reason> {
    let verdict = run.cycle(task).and_then(|cycle| cycle.verdict());
    let approved = verdict.is_some_and(|verdict| verdict.decision == Decision::Approved);
    let gate = |gate: &Gate| Reason { gate: gate.gate.name().into(), message: gate.message.clone() };
    let mut reasons = match run.outcome(task) {
        Some(Outcome::NotApproved { stopped_by, reason }) => {
            vec![Reason { gate: stopped_by.name().into(), message: with_run(&reason, id) }]
        }
        Some(Outcome::Error { message }) => vec![Reason { gate: "error".into(), message }],
        Some(Outcome::Approved { .. } | Outcome::Applied { .. }) | None => Vec::new(),
    };
    let gates = verdict.into_iter().flat_map(|verdict| &verdict.gates);
    reasons.extend(gates.filter(|one| approved || !one.passed).map(gate));
    reasons
}
