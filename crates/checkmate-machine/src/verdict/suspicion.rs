//! Code does not ask whether it is being tested, and does not end the process behind its caller's back.

use super::GateName;
use super::evidence::{Evidence, Objection, Opinion};
use crate::facts::{FileRole, SpotKind};

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let mut objections: Vec<Objection> = Vec::new();
    let code = evidence
        .inspection
        .files
        .iter()
        .filter(|file| matches!(file.role, FileRole::Code | FileRole::Other | FileRole::BuildConfig));
    for file in code {
        for spot in &file.spots {
            let told = match spot.kind {
                SpotKind::TestProbe => "asks whether it is being tested; do the same in and out of tests",
                SpotKind::Exit => "ends the process from code that others call; return or raise instead",
                SpotKind::ExitHook => "runs behind its caller's back when the process ends",
                SpotKind::AlwaysEqual => "makes every comparison true",
                SpotKind::TreeWrite => "writes where the repository or its tools are kept",
                SpotKind::CollectionHook
                | SpotKind::FrameworkPatch
                | SpotKind::Sleep
                | SpotKind::Chance
                | SpotKind::SharedLiteral
                | SpotKind::Swallow
                | SpotKind::Silencer => continue,
            };
            let text =
                format!("`{}` in {}:{} {told}, or say why it has to be so.", spot.text, file.path, spot.line);
            let key = format!("{}{}", file.path, spot.text);
            objections.push(evidence.objection(GateName::Suspicion, &key, text));
        }
    }
    if objections.is_empty() {
        return Opinion::Passed("No code asks whether it is being tested or ends the process.".into());
    }
    Opinion::Objected(objections)
}
