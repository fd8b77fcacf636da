//! What a project depends on, and what runs when it is installed, changes only on request.

use super::evidence::{Evidence, Opinion, added_lines, listed};
use crate::facts::{FileRole, Section};
use crate::task::Permission;

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let mut touched = Vec::new();
    for file in &evidence.inspection.files {
        let entries = file.entries.iter().filter(|entry| match entry.section {
            Section::Dependency | Section::InstallScript => true,
            Section::TestScript | Section::TestConfig | Section::Build | Section::Description => false,
        });
        for entry in entries {
            // What runs by itself at an installation needs more than a goal that mentions the dependency.
            let name = entry.name.split_once('.').map_or(entry.name.as_str(), |(_, name)| name);
            let permitted = match entry.section {
                Section::InstallScript => evidence.permits.told(Permission::Deps, [name]),
                Section::Dependency
                | Section::TestScript
                | Section::TestConfig
                | Section::Build
                | Section::Description => evidence.permits.allow(Permission::Deps, [name]),
            };
            if !permitted {
                touched.push(format!("`{}` in `{}`", entry.name, file.path));
            }
        }
    }
    // A lock file follows a manifest whose change is permitted; by itself it changes what is installed.
    let manifest_changed = evidence.inspection.files.iter().any(|file| file.role == FileRole::Manifest);
    for file in evidence.inspection.files.iter().filter(|file| file.role == FileRole::Lock) {
        let change = evidence.candidate.changes.iter().find(|change| change.path == file.path);
        // A new name or version of the project itself is a line or two of it, and pins nothing.
        let own = |text: &str| {
            let text = text.trim_start().trim_start_matches('"');
            text.starts_with("version") || text.starts_with("name")
        };
        let mut added =
            added_lines(&evidence.candidate.diff).into_iter().filter(|(path, ..)| *path == file.path);
        let slight = change.is_some_and(|change| change.added <= 2 && change.removed <= 2)
            && added.all(|(_, _, text)| own(text));
        let permitted = evidence.permits.has(Permission::Deps)
            || (manifest_changed && (slight || evidence.permits.has(Permission::Config)));
        if !permitted {
            touched.push(format!("`{}`", file.path));
        }
    }
    if touched.is_empty() {
        return Opinion::Passed("Dependencies and install scripts are as they were.".into());
    }
    Opinion::Blocked(format!(
        "The change touches what the project depends on or runs when it is installed: {}. Do without; if the task needs \
         it, the goal has to name the dependency, or the task file has to permit `deps`.",
        listed(touched.iter().map(String::as_str))
    ))
}
