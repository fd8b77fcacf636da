//! Go modules and workspaces.

use super::{Manifest, join, member};
use crate::config::detect::survey::Survey;

pub(super) fn manifest(survey: &Survey, dir: &str) -> Option<Manifest> {
    if let Some(text) = survey.read(&join(dir, "go.work")) {
        // `use ./a` or `use ( ./a ./b )`, one a line; comments start with `//`.
        let words =
            text.lines().flat_map(|line| line.split("//").next().unwrap_or_default().split_whitespace());
        let modules: Vec<String> = words.filter(|word| word.starts_with("./")).filter_map(member).collect();
        let packages: Vec<String> = modules
            .iter()
            .map(|module| shell_words::quote(&format!("./{module}/...")).into_owned())
            .collect();
        if !packages.is_empty() {
            let command = format!("go test {}", packages.join(" "));
            return Some(Manifest {
                evidence: "go.work".into(),
                command: Some(command),
                members: modules,
                ..Manifest::default()
            });
        }
    }
    survey.has(&join(dir, "go.mod")).then(|| Manifest {
        evidence: "go.mod".into(),
        command: Some("go test ./...".into()),
        members: vec![String::new()],
        ..Manifest::default()
    })
}
