//! Can the repository be worked on?

use super::{Finding, Subject};
use crate::session::Project;

const CHECK: &str = "repository";

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    match Project::discover(subject.directory()) {
        Ok(project) => {
            let root = project.repository.root().display().to_string();
            let head = match project.repository.at_head() {
                Ok(head) => head,
                Err(error) => return vec![Finding::of_error(CHECK, &error)],
            };
            let branch = head
                .branch
                .map_or_else(|| "on no branch".to_owned(), |name| format!("on the branch `{name}`"));
            let commit: String = head.commit.as_str().chars().take(10).collect();
            let unfinished = project.repository.refuse_in_progress().err();
            subject.project = Some(project);
            let mut found = vec![Finding::ok(CHECK, format!("{root} is {branch} at the commit {commit}."))];
            // A run can begin, but its change could not be committed.
            found.extend(unfinished.map(|error| {
                let text = error.to_string();
                let end = super::sentence_end(&text).unwrap_or(text.len());
                Finding::warn(CHECK, &text[..end], "Finish or abort it; until then nothing can be committed.")
            }));
            found
        }
        Err(error) => vec![Finding::of_error(CHECK, &error)],
    }
}
