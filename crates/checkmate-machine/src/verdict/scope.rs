//! A change of text or of tests leaves the code alone.

use super::GateName;
use super::evidence::{Evidence, Opinion, listed};
use crate::facts::FileRole;
use crate::spec::TaskKind;

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let (what, roles): (&str, &[FileRole]) = match evidence.kind.kind {
        Some(TaskKind::Docs) => ("text", &[FileRole::Code, FileRole::Test, FileRole::TestSupport]),
        Some(TaskKind::Tests) => ("tests", &[FileRole::Code]),
        Some(TaskKind::Feature | TaskKind::Bugfix | TaskKind::Refactor | TaskKind::Chore) | None => {
            return Opinion::Absent("The task may change code.".into());
        }
    };
    // A Rust file holds code and tests; what changed there besides its tests shows in the functions.
    let beyond = evidence.effective(roles);
    let beyond: Vec<&str> = beyond
        .into_iter()
        .filter(|file| !evidence.kind.is(&[TaskKind::Tests]) || file.code_differs)
        .map(|file| file.path.as_str())
        .collect();
    if beyond.is_empty() {
        return Opinion::Passed(format!("Only {what} changed."));
    }
    let message = format!(
        "The task is about {what} only, but the change alters what {} does. Leave it as it was.",
        listed(beyond.iter().copied())
    );
    if evidence.kind.told {
        return Opinion::Blocked(message);
    }
    Opinion::Objected(vec![evidence.objection(GateName::Scope, &beyond.join(" "), message)])
}
