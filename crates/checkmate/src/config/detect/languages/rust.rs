//! Cargo packages and workspaces.

use super::{Manifest, join, member};
use crate::config::detect::survey::Survey;

pub(super) fn manifest(survey: &Survey, dir: &str) -> Option<Manifest> {
    let text = survey.read(&join(dir, "Cargo.toml"))?;
    let manifest: toml::Table = text.parse().unwrap_or_default();
    let workspace = manifest.get("workspace").and_then(toml::Value::as_table);
    let listed = |key: &str| {
        let list = workspace.and_then(|workspace| workspace.get(key)).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_str)
    };
    let mut members: Vec<String> = listed("members").filter_map(member).collect();
    if manifest.contains_key("package") || members.is_empty() {
        members.insert(0, String::new());
    }
    let nextest = survey.has(&join(dir, ".config/nextest.toml"));
    let command = if nextest { "cargo nextest run" } else { "cargo test" };
    let several = members.iter().any(|member| !member.is_empty());
    // With a package in the root, or default members, cargo would test those alone.
    let narrowed = manifest.contains_key("package") || listed("default-members").next().is_some();
    let workspace = if several && narrowed { " --workspace" } else { "" };
    let evidence = if nextest { "Cargo.toml and .config/nextest.toml" } else { "Cargo.toml" };
    let notes = if several {
        vec![format!(
            "All packages of the workspace are tested; for a single one, write `{command} -p NAME`."
        )]
    } else {
        Vec::new()
    };
    Some(Manifest {
        evidence: evidence.into(),
        command: Some(format!("{command}{workspace}")),
        members,
        notes,
        ..Manifest::default()
    })
}
