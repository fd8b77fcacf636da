//! The examiner's probes, written from the goal without a look at the change, hold on the candidate.

use super::GateName;
use super::evidence::{Evidence, Opinion, Want};
use crate::effect::CheckKind;
use crate::probe::{self, Probe, Runnable};

/// What is known about one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// It holds on the candidate; whether it did before the change as well.
    Holds { before: Option<bool> },
    /// It fails on the candidate, twice, and says this.
    Fails(String),
    /// It says nothing about the change.
    Invalid(String),
    /// Somebody decided that it does not follow from the goal.
    Dismissed,
    /// It has not been run yet.
    Pending,
}

pub(super) fn wants(evidence: &Evidence<'_>) -> Vec<Want> {
    let mut wants = Vec::new();
    for (number, probe) in evidence.probes.all() {
        let Some(Ok(runnable)) = ready(evidence, probe) else { continue };
        let first = evidence.receipt(CheckKind::Probe(number));
        let mut kinds = Vec::new();
        match first {
            None => kinds.extend([CheckKind::Probe(number), CheckKind::ProbeBase(number)]),
            Some(receipt) => {
                let failed =
                    matches!(probe::result(receipt, &runnable.proof, &probe.path), probe::Ending::Failed(_));
                if failed {
                    kinds.push(CheckKind::ProbeAgain(number));
                }
            }
        }
        for kind in kinds.into_iter().filter(|kind| evidence.receipt(*kind).is_none()) {
            let base = kind == CheckKind::ProbeBase(number);
            wants.push(Want {
                kind,
                command: runnable.command.clone(),
                tree: if base { evidence.base.clone() } else { evidence.candidate.tree.clone() },
                layers: vec![runnable.layer.clone()],
                vary: None,
                limit_s: Some(evidence.generous_s() + probe::LIMIT_S),
            });
        }
    }
    wants
}

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    if evidence.probes.is_empty() {
        return Opinion::Absent("There is no examiner, or it wrote no probe.".into());
    }
    let (mut failing, mut holding, mut shown, mut invalid) = (Vec::new(), 0_u32, 0_u32, 0_u32);
    for (number, probe) in evidence.probes.all() {
        match seen(evidence, number, probe) {
            Seen::Pending => return Opinion::Pending("It needs the probes to run.".into()),
            Seen::Fails(said) => failing.push(format!("`{}` ({}): {said}", probe.id, probe.criterion)),
            Seen::Holds { before } => {
                holding += 1;
                shown += u32::from(before == Some(false));
            }
            Seen::Invalid(_) => invalid += 1,
            Seen::Dismissed => {}
        }
    }
    if !failing.is_empty() {
        return Opinion::Blocked(format!(
            "Probes that an examiner wrote from the goal alone fail on the change: {}. Mend the change, or dispute a probe \
             once by its name in `answers`, citing the goal.",
            failing.join("; ")
        ));
    }
    if holding + invalid == 0 {
        return Opinion::Absent("No probe follows from the goal, as was decided.".into());
    }
    if holding == 0 {
        let text = format!(
            "None of {invalid} probes that the examiner wrote could say anything, so nothing independent shows the goal. Say \
             why the change reaches it all the same."
        );
        return Opinion::Objected(vec![evidence.objection(GateName::Probes, "none", text)]);
    }
    Opinion::Passed(format!(
        "{holding} probes hold; {shown} of them did not before the change.{}",
        if invalid > 0 { format!(" {invalid} said nothing.") } else { String::new() }
    ))
}

/// Returns what is known about a probe.
pub(super) fn seen(evidence: &Evidence<'_>, number: u32, probe: &Probe) -> Seen {
    if evidence.probes.is_dismissed(&probe.id) {
        return Seen::Dismissed;
    }
    let runnable = match ready(evidence, probe) {
        Some(Ok(runnable)) => runnable,
        Some(Err(reason)) => return Seen::Invalid(reason),
        None => return Seen::Invalid("its file is one of the repository's own".into()),
    };
    let result =
        |kind| evidence.receipt(kind).map(|receipt| probe::result(receipt, &runnable.proof, &probe.path));
    match (result(CheckKind::Probe(number)), result(CheckKind::ProbeAgain(number))) {
        (None, _) | (Some(probe::Ending::Failed(_)), None) => Seen::Pending,
        (Some(probe::Ending::Invalid(reason)), _) => Seen::Invalid(reason),
        (Some(probe::Ending::Passed), _) => Seen::Holds {
            before: match result(CheckKind::ProbeBase(number)) {
                Some(probe::Ending::Passed) => Some(true),
                Some(probe::Ending::Failed(_)) => Some(false),
                Some(probe::Ending::Invalid(_)) | None => None,
            },
        },
        (Some(probe::Ending::Failed(said)), Some(probe::Ending::Failed(_))) => Seen::Fails(said),
        (Some(probe::Ending::Failed(_)), Some(probe::Ending::Passed | probe::Ending::Invalid(_))) => {
            Seen::Invalid("it passes and fails on the same code".into())
        }
    }
}

/// Returns the names of the probes that fail on the candidate.
pub(super) fn failing(evidence: &Evidence<'_>) -> Vec<String> {
    let fails = |(number, probe): &(u32, &Probe)| matches!(seen(evidence, *number, probe), Seen::Fails(_));
    evidence.probes.all().filter(fails).map(|(_, probe)| probe.id.clone()).collect()
}

/// Returns the probes that fail without the change and hold with it: they can go on as tests.
pub(super) fn proven<'a>(evidence: &Evidence<'a>) -> Vec<&'a Probe> {
    let proven = |(number, probe): &(u32, &Probe)| {
        seen(evidence, *number, probe) == Seen::Holds { before: Some(false) }
    };
    evidence.probes.all().filter(proven).map(|(_, probe)| probe).collect()
}

/// Makes a probe runnable; `None` if its file would stand in the place of one that was there before the change. One that
/// the change puts there gives way.
fn ready(evidence: &Evidence<'_>, probe: &Probe) -> Option<Result<Runnable, String>> {
    let known = evidence.files.iter().any(|file| file.path == probe.path);
    (!known).then(|| probe::runnable(&probe.path, &probe.run, &probe.content, evidence.nonce))
}
