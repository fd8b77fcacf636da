//! Can the machine's clock be right? Names of runs, ages of kept results and certificates depend on it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Finding, Subject};

const CHECK: &str = "clock";
/// How far in the future a commit may be before the clock is suspected.
const AHEAD: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let head = subject.project.as_ref().and_then(|project| project.repository.head_time().ok());
    let head = Duration::from_secs(head.and_then(|seconds| seconds.try_into().ok()).unwrap_or_default());
    let shown = crate::journal::now();
    if head > now.saturating_add(AHEAD) {
        let days = (head - now).as_secs() / 86_400;
        return vec![Finding::warn(
            CHECK,
            format!("The clock says {shown}, but the latest commit is {days} days in its future."),
            "Set the clock, best by a time service: the order of runs and certificates depend on it.",
        )];
    }
    let known = if head.is_zero() { "" } else { ", after the latest commit" };
    vec![Finding::ok(CHECK, format!("It is {shown}{known}."))]
}
