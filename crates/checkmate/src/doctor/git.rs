//! Is git there, and new enough?

use super::{Finding, Subject};
use crate::workspace::git_version;

const CHECK: &str = "git";

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    vec![match git_version(subject.directory()) {
        // Everything else that is called is older: merging two trees without files came last.
        Ok(version) => Finding::ok(
            CHECK,
            format!("This is git {version}; 2.38 or later is needed, for `git merge-tree --write-tree`."),
        ),
        Err(error) => Finding::of_error(CHECK, &error),
    }]
}
