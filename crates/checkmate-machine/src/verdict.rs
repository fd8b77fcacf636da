//! May it be approved? A pure function of rules, receipts and findings; nothing here reads an agent's prose.
//!
//! A gate is a file. What a gate of evidence needs to see, it asks for ([`plan`]); what it then says is an
//! [`evidence::Opinion`].

mod assertions;
mod claims;
mod comparison;
mod criteria;
mod dependencies;
mod determinism;
pub mod evidence;
mod examples;
mod existing_tests;
mod mutation;
mod old_tests;
pub mod plan;
mod probes;
mod protected;
mod red_green;
mod scope;
mod secrets;
mod suspicion;
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::criteria::Criterion;
use self::evidence::{Evidence, Objection};
pub use self::tests::{red_message, unreported_message};
use crate::evidence::Receipt;
use crate::finding::Finding;
use crate::ids::TreeId;
use crate::spec::Policy;

/// What a verdict is computed from.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The rules.
    pub policy: &'a Policy,
    /// What is judged.
    pub candidate: &'a TreeId,
    /// Every receipt of the test command for exactly this candidate, oldest first.
    pub tests: &'a [&'a Receipt],
    /// The test command's receipt for the tree before the change.
    pub baseline: Option<&'a Receipt>,
    /// What the checker's part is.
    pub review: ReviewState,
    /// Every finding of the run.
    pub findings: &'a [Finding],
    /// What else is known about the candidate; `None` if the rules ask for nothing else.
    pub evidence: Option<Evidence<'a>>,
}

/// What came of the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// There was none for this candidate.
    Missing,
    /// The checker was asked about this candidate, and its findings are in the list.
    Done,
    /// The user's own `review_mode` skipped it.
    SkippedByConfiguration,
    /// The moderator called the open findings matters of taste.
    Moderated,
}

/// The judgement of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Whether the change may land.
    pub decision: Decision,
    /// Every gate with its result, in the order in which they are judged.
    pub gates: Vec<Gate>,
    /// What the goal asks for, and what shows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
}

/// What a verdict says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "VerdictDecision")]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Every gate passed.
    Approved,
    /// The checker's side is open, or something is neither mended nor answered.
    Objections,
    /// Evidence is missing or red; no agent can change that by talking.
    Blocked,
}

/// One gate of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Its name in `reasons` and on the verdict card.
    pub gate: GateName,
    /// Whether it lets the change through.
    pub passed: bool,
    /// How it came to that.
    #[serde(default)]
    pub state: State,
    /// What was seen, in full sentences; where it does not let the change through, with what would change that.
    pub message: String,
    /// What it wants mended or answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<Objection>,
    /// How many commands ran for it, and how long they took together, in milliseconds.
    #[serde(default)]
    pub cost: Cost,
}

/// What a gate cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Commands.
    pub runs: u32,
    /// Their time in milliseconds.
    pub ms: u64,
}

/// How a gate came to its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It saw what it needs.
    #[default]
    Passed,
    /// It does not apply, or nothing can be known.
    Absent,
    /// Something has to be mended or answered.
    Objected,
    /// Everything that it objects to is answered, and the checker has seen the answers.
    Answered,
    /// It keeps the change from landing.
    Blocked,
    /// It was not asked for what it needs, because another gate blocks already. That is no pass.
    Pending,
}

impl Gate {
    fn new(gate: GateName, passed: bool, message: String) -> Self {
        let state = if passed { State::Passed } else { State::Blocked };
        Self { gate, passed, state, message, objections: Vec::new(), cost: Cost::default() }
    }

    fn of_runs(gate: GateName, passed: bool, message: String, runs: &[&Receipt]) -> Self {
        // What was taken from an earlier run cost nothing now.
        let paid = || runs.iter().filter(|receipt| !receipt.cached);
        let cost = Cost {
            runs: u32::try_from(paid().count()).unwrap_or(u32::MAX),
            ms: paid().map(|receipt| receipt.duration_ms).fold(0, u64::saturating_add),
        };
        Self { cost, ..Self::new(gate, passed, message) }
    }
}

/// The gates, in the order in which they are judged: what costs nothing first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateName {
    /// A change of text or tests leaves the code alone.
    Scope,
    /// Configuration of tests, build and environment is as it was.
    Protected,
    /// Dependencies and install scripts are as they were.
    Dependencies,
    /// No secret is added.
    Secrets,
    /// Existing tests stay as they were.
    ExistingTests,
    /// New tests can fail.
    Assertions,
    /// No code asks whether it is being tested.
    Suspicion,
    /// The test command is green on this very candidate.
    Tests,
    /// What the tests said before the change.
    Baseline,
    /// A test is red without the change.
    RedGreen,
    /// The old tests pass on the new code.
    OldTests,
    /// The task's examples hold.
    Examples,
    /// The examiner's probes hold.
    Probes,
    /// Old and new code compared by calls.
    Comparison,
    /// The tests say the same every time.
    Determinism,
    /// The tests notice small changes of the code.
    Mutation,
    /// The checker was asked, or the user's configuration skipped it.
    Review,
    /// No finding stands.
    Findings,
}

impl GateName {
    /// The gates that `evidence` in the configuration can switch.
    pub const SWITCHED: [GateName; 14] = [
        GateName::Scope,
        GateName::Protected,
        GateName::Dependencies,
        GateName::Secrets,
        GateName::ExistingTests,
        GateName::Assertions,
        GateName::Suspicion,
        GateName::RedGreen,
        GateName::OldTests,
        GateName::Examples,
        GateName::Probes,
        GateName::Comparison,
        GateName::Determinism,
        GateName::Mutation,
    ];

    /// Returns the gate's name for people, for the configuration and for `--json`.
    pub fn name(self) -> &'static str {
        match self {
            GateName::Scope => "scope",
            GateName::Protected => "protected",
            GateName::Dependencies => "dependencies",
            GateName::Secrets => "secrets",
            GateName::ExistingTests => "existing_tests",
            GateName::Assertions => "assertions",
            GateName::Suspicion => "suspicion",
            GateName::Tests => "tests",
            GateName::Baseline => "baseline",
            GateName::RedGreen => "red_green",
            GateName::OldTests => "old_tests",
            GateName::Examples => "examples",
            GateName::Probes => "probes",
            GateName::Comparison => "comparison",
            GateName::Determinism => "determinism",
            GateName::Mutation => "mutation",
            GateName::Review => "review",
            GateName::Findings => "findings",
        }
    }
}

/// Judges a case.
///
/// | gate | lets through | otherwise |
/// |---|---|---|
/// | scope | a change of text that changes no code, a change of tests that changes nothing else | blocked; an objection if only the goal's words say what it is |
/// | protected | configuration of tests, build, continuous integration and environment as it was, or permitted by name | blocked |
/// | dependencies | manifests, lock files and install scripts as they were, or permitted by name and named in `risks` | blocked; an objection if permitted without a reason |
/// | secrets | no added line holds what looks like a secret | blocked |
/// | existing_tests | every test that was there runs and asserts what it did, or may change by permit | blocked; new tests that are skipped: objection |
/// | assertions | every new test can fail | objection |
/// | suspicion | no code asks whether it is tested, ends the process, or writes where it should not | objection |
/// | tests | a receipt of the test command for this very tree with at least one passed test and nothing newly red | blocked |
/// | red_green | for a feature or a bugfix: a test that is red without the change | blocked; an objection if the task's sort is unknown |
/// | old_tests | the old tests pass on the new code, as many as before | blocked |
/// | examples | the task's own examples hold | blocked |
/// | probes | no probe of the examiner fails twice on the candidate | blocked, unless the probe does not follow from the goal |
/// | comparison | a refactor gives the same results; a fix acts on more than its tests' literals | blocked; objection |
/// | determinism | green five times with other seeds and orders; what was unstable before is not charged | blocked |
/// | mutation | of four mutants or more at most a third survives, and a test reaches each changed block | objection |
/// | review | the checker saw this candidate, or the user's configuration skipped it, or the moderator decided | objections |
/// | findings | nothing confirmed by a red test; nothing standing unless the moderator called it taste | objections |
///
/// An objection is met by a change, or by an answer that the checker has seen. What a gate could not see that it needs
/// is no pass.
pub fn judge(case: &Case<'_>) -> Verdict {
    let mut gates = Vec::new();
    if let Some(evidence) = &case.evidence {
        gates.extend(plan::gates(evidence, case.review));
    }
    gates.push(tests::gate(case));
    gates.extend(tests::baseline(case));
    gates.push(claims::review(case));
    gates.push(claims::findings(case));
    gates.sort_by_key(|gate| gate.gate);
    let blocked = |gate: &Gate| {
        matches!(gate.state, State::Blocked | State::Pending)
            && !matches!(gate.gate, GateName::Review | GateName::Findings)
    };
    let decision = if gates.iter().any(blocked) {
        Decision::Blocked
    } else if gates.iter().any(|gate| !gate.passed) {
        Decision::Objections
    } else {
        Decision::Approved
    };
    let criteria = case.evidence.as_ref().map(criteria::criteria).unwrap_or_default();
    Verdict { decision, gates, criteria }
}
