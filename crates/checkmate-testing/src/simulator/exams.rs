//! The laws of evidence beyond the tests: what an approval stands on, computed from the journal alone.

use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::cycle::Cycle;
use checkmate_machine::effect::{Action, CheckKind, Layer, Purpose};
use checkmate_machine::event::Answer;
use checkmate_machine::evidence::{Ended, Receipt};
use checkmate_machine::facts::{FileRole, Inspection};
use checkmate_machine::gate::paths::check_path;
use checkmate_machine::ids::TreeId;
use checkmate_machine::probe::Probe;
use checkmate_machine::reply::{self, AnswerKind, DecisionKind, Reply};
use checkmate_machine::spec::{Level, Product, Spec};
use checkmate_machine::verdict::{GateName, State, Verdict};

use super::agents::named_objections;

/// What was seen of the exams of one cycle.
#[derive(Debug, Clone)]
pub(super) struct Exams {
    spec: Spec,
    /// The base and the tree of the latest reading, and what it found.
    read: Option<(TreeId, TreeId, Inspection)>,
    /// What ran since, with what was laid over the tree.
    ran: Vec<(CheckKind, Vec<Layer>, Receipt)>,
    /// Merged trees, and what they were merged from.
    merged: BTreeMap<TreeId, TreeId>,
    /// Trees that a verdict approved.
    approved: BTreeSet<TreeId>,
    probes: Vec<Probe>,
    /// Every probe that was disputed, and the one that is being decided about.
    disputes: BTreeSet<String>,
    disputed: Option<String>,
    /// Probes that a moderator decided about in the maker's favour.
    dismissed: BTreeSet<String>,
    /// Objections that a checker or a moderator was told of.
    heard: BTreeSet<String>,
}

impl Exams {
    pub(super) fn new(spec: &Spec) -> Self {
        Self {
            spec: spec.clone(),
            read: None,
            ran: Vec::new(),
            merged: BTreeMap::new(),
            approved: BTreeSet::new(),
            probes: Vec::new(),
            disputes: BTreeSet::new(),
            disputed: None,
            dismissed: BTreeSet::new(),
            heard: BTreeSet::new(),
        }
    }

    /// Returns the most effects that exams can add.
    ///
    /// An exam: a reading, two rounds for what is red without the change, two for probes, comparison and repetitions
    /// each, and mutants one by one (24). There is one for each patch, for each answer without a patch, for each test of
    /// the arbiter, for a moderator and for a landing. Besides: the examiner's three calls, and a decision of three
    /// replies, with a reply of three before it, for each probe.
    pub(super) fn most_effects(&self, turns: u32, findings: u32, commands: u32) -> u32 {
        if !self.is_on() {
            return 0;
        }
        let probes = u32::try_from(self.probes.len()).unwrap_or(u32::MAX / 64);
        3 + 32 * (2 * turns + findings + 1 + commands) + 6 * probes
    }

    fn is_on(&self) -> bool {
        self.spec.policy.evidence.any() && self.spec.product == Product::Patch
    }

    fn is_gate_on(&self, gate: GateName) -> bool {
        self.spec.policy.evidence.level(gate) != Level::Off
    }

    /// Takes down an answer.
    pub(super) fn note(&mut self, action: &Action, answer: &Answer) {
        match (action, answer) {
            (Action::Inspect { base, tree, .. }, Answer::Inspected(found)) => {
                self.read = Some((base.clone(), tree.clone(), (**found).clone()));
                self.ran.clear();
            }
            (Action::Check { kind, layers, tree, .. }, Answer::Ran(receipt)) if receipt.tree == *tree => {
                self.ran.push((*kind, layers.clone(), receipt.clone()));
            }
            (Action::Land { tree, .. }, Answer::TargetMoved { merged, .. }) => {
                self.merged.insert(merged.tree.clone(), tree.clone());
            }
            (Action::Call(call), Answer::Called(called)) => {
                let (reply, problems) = reply::parse(&called.text, call.prompt.shape);
                match (call.purpose, reply) {
                    (Purpose::Examine, Some(Reply::Probes(probes))) if self.probes.is_empty() => {
                        // The run gives them names of its own.
                        self.probes = probes;
                        for (number, probe) in (1..).zip(&mut self.probes) {
                            probe.id = format!("probe-{number}");
                        }
                    }
                    (Purpose::JudgeProbe, Some(Reply::Decision(decision)))
                        if problems.is_empty() && decision.decision == DecisionKind::AcceptBuilder =>
                    {
                        self.dismissed.extend(self.disputed.clone());
                    }
                    (Purpose::Build, Some(Reply::Builder(reply))) if problems.is_empty() => {
                        // A probe can be disputed once, and one at a time.
                        let against =
                            reply.answers.iter().filter(|answer| answer.answer != AnswerKind::Fixed);
                        let failed = |number| {
                            self.ran.iter().any(|(kind, _, _)| *kind == CheckKind::ProbeAgain(number))
                        };
                        let is_probe = |id: &str| {
                            (0..).zip(&self.probes).any(|(number, probe)| probe.id == id && failed(number))
                        };
                        let mut ids = against.map(|answer| &answer.to).filter(|id| is_probe(id));
                        self.disputed = ids.find(|id| !self.disputes.contains(*id)).cloned();
                        self.disputes.extend(self.disputed.clone());
                    }
                    (Purpose::Review | Purpose::Moderate, _) => {
                        self.heard.extend(named_objections(&call.prompt.user));
                    }
                    (_, _) => {}
                }
            }
            (_, _) => {}
        }
    }

    /// An approval stands on a whole exam of exactly its tree, or of the tree that it was merged from.
    pub(super) fn approval_is_examined(&mut self, verdict: &Verdict, cycle: &Cycle) -> Result<(), String> {
        let Some(candidate) = cycle.candidate().filter(|_| self.is_on()) else { return Ok(()) };
        for gate in GateName::SWITCHED.into_iter().filter(|gate| self.is_gate_on(*gate)) {
            let judged = verdict.gates.iter().find(|judged| judged.gate == gate);
            let Some(judged) = judged else { return Err(format!("the gate {} is missing", gate.name())) };
            if !judged.passed || matches!(judged.state, State::Blocked | State::Objected) {
                return Err(format!("the gate {} does not let it through", gate.name()));
            }
            for objection in &judged.objections {
                if objection.answer.is_none() {
                    return Err(format!("the objection {} is not answered", objection.id));
                }
                if !self.heard.contains(&objection.id) {
                    return Err(format!("nobody was told of the answered objection {}", objection.id));
                }
            }
        }
        let tree = self.merged.get(&candidate.tree).filter(|tree| self.approved.contains(*tree));
        if tree.is_none() {
            self.is_examined(&candidate.tree, cycle)?;
        }
        self.approved.insert(candidate.tree.clone());
        Ok(())
    }

    /// Only what a verdict approved is brought to the user.
    pub(super) fn landing_is_examined(&self, tree: &TreeId) -> Result<(), String> {
        if self.is_on() && !self.approved.contains(tree) {
            return Err("a change lands without an exam".into());
        }
        Ok(())
    }

    fn is_examined(&self, tree: &TreeId, cycle: &Cycle) -> Result<(), String> {
        let Some((base, read, found)) = &self.read else { return Err("nobody read the change".into()) };
        if read != tree || cycle.prepared().is_none_or(|prepared| prepared.base != *base) {
            return Err(format!("{read} against {base} was read, but {tree} is approved"));
        }
        let ran = |wanted: CheckKind| {
            let runs = self.ran.iter().filter(move |(kind, _, _)| *kind == wanted);
            runs.map(|(_, layers, receipt)| (layers, receipt)).next_back()
        };
        if self.is_gate_on(GateName::OldTests) && !found.old_tests.is_empty() {
            let Some((layers, receipt)) = ran(CheckKind::OldTests) else {
                return Err("the old tests did not run".into());
            };
            if *layers != found.old_tests || receipt.tree != *tree || !ended(receipt) {
                return Err("the old tests ran on something else, or not to their end".into());
            }
        }
        if self.is_gate_on(GateName::OldTests) && !found.broken_tests.is_empty() {
            match ran(CheckKind::BrokenTests) {
                Some((layers, receipt)) if *layers == found.broken_tests && receipt.tree == *tree => {}
                Some(_) | None => return Err("nobody saw whether broken tests are noticed".into()),
            }
        }
        let changed =
            |roles: &[FileRole]| found.files.iter().any(|file| file.effective && roles.contains(&file.role));
        if self.is_gate_on(GateName::Determinism)
            && changed(&[FileRole::Code, FileRole::Test])
            && ran(CheckKind::Repeat(1)).is_none_or(|(_, receipt)| receipt.tree != *tree)
        {
            return Err("the tests did not run again".into());
        }
        if self.spec.policy.examiner && self.probes.is_empty() {
            return Err("the examiner wrote no probe".into());
        }
        if !self.spec.policy.examiner || !self.is_gate_on(GateName::Probes) {
            return Ok(());
        }
        let files = cycle.prepared().into_iter().flat_map(|prepared| &prepared.files);
        let known: BTreeSet<&str> = files
            .map(|file| file.path.as_str())
            .chain(
                cycle
                    .candidate()
                    .iter()
                    .flat_map(|candidate| candidate.changes.iter().map(|change| change.path.as_str())),
            )
            .collect();
        for (number, probe) in (0..).zip(&self.probes) {
            let runs = check_path(&probe.path).is_ok() && !known.contains(probe.path.as_str());
            if !runs || self.dismissed.contains(&probe.id) || !probe.path.starts_with("zz_") {
                continue;
            }
            let on_it = |kind| ran(kind).filter(|(_, receipt)| receipt.tree == *tree);
            let Some((_, first)) = on_it(CheckKind::Probe(number)) else {
                return Err(format!("the probe {} did not run", probe.id));
            };
            let again = on_it(CheckKind::ProbeAgain(number));
            let fails = |receipt: &Receipt| matches!(receipt.ended, Ended::Exited { code: 1 });
            if fails(first) && again.is_none_or(|(_, again)| fails(again)) {
                return Err(format!("the probe {} fails", probe.id));
            }
        }
        Ok(())
    }
}

fn ended(receipt: &Receipt) -> bool {
    matches!(receipt.ended, Ended::Exited { .. })
}
