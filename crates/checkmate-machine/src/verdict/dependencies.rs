//! What a project depends on, and what runs when it is installed, changes only on request, and with a reason.

use std::collections::BTreeSet;

use serde_json::Value;

use super::GateName;
use super::evidence::{Evidence, Objection, Opinion, added_lines, listed};
use crate::facts::{Entry, FileRole, Section};
use crate::task::{Permission, forbids, sentences};

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let mut touched = Vec::new();
    let mut permits = Vec::new();
    for file in &evidence.inspection.files {
        let entries = file.entries.iter().filter(|entry| match entry.section {
            Section::Dependency | Section::InstallScript => true,
            Section::TestScript | Section::TestConfig | Section::Build | Section::Description => false,
        });
        for entry in entries {
            // What runs by itself at an installation needs more than a goal that mentions the dependency.
            let whole = entry.name.as_str();
            // A name behind its table's, or by itself with dots of its own.
            let names = [whole, whole.split_once('.').map_or(whole, |(_, name)| name)];
            let permitted = match entry.section {
                Section::InstallScript => evidence.permits.told(Permission::Deps, names),
                Section::Dependency
                | Section::TestScript
                | Section::TestConfig
                | Section::Build
                | Section::Description => evidence.permits.allow(Permission::Deps, names),
            };
            let told = format!("`{}` in `{}`", entry.name, file.path);
            if permitted {
                permits.push((told, file.path.as_str(), entry));
            } else {
                touched.push(told);
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
        return explained(evidence, &permits);
    }
    Opinion::Blocked(format!(
        "The change touches what the project depends on or runs when it is installed: {}. Do without; if the task needs \
         it, the goal has to name the dependency, or the task file has to permit `deps`.",
        listed(touched.iter().map(String::as_str))
    ))
}

/// A permit says that the project may depend on something; why it should, the builder has to say where the checker and
/// the user read it. What the goal itself asks for by name, the user has decided.
fn explained(evidence: &Evidence<'_>, permitted: &[(String, &str, &Entry)]) -> Opinion {
    if permitted.is_empty() {
        return Opinion::Passed("Dependencies and install scripts are as they were.".into());
    }
    let mut objections: Vec<Objection> = Vec::new();
    let mut reasons: Vec<&str> = Vec::new();
    let wishes: Vec<&str> =
        sentences(&evidence.task.goal).into_iter().filter(|sentence| !forbids(sentence)).collect();
    let added = permitted
        .iter()
        .filter(|(_, path, entry)| entry.section == Section::Dependency && !is_own(path, &entry.after));
    for (told, path, entry) in added {
        for names in added_names(path, entry) {
            // A version is what the user expects of the name; an address may be anything.
            let known = !entry.after.contains(['/', ':'])
                && names.first().is_some_and(|name| wishes.iter().any(|wish| names_it(wish, name)));
            let reason =
                evidence.risks.iter().rev().find(|risk| names.iter().any(|name| names_it(risk, name)));
            match (reason, names.first()) {
                (Some(reason), _) if reasons.contains(&reason.as_str()) => {}
                (Some(reason), _) => reasons.push(reason),
                (None, _) if known => {}
                (None, name) => {
                    let name = name.map_or("", String::as_str);
                    let text = format!(
                        "{told} may change, but no entry of `risks` names `{name}`. Say there why the project should \
                         depend on it and what that brings with it, or do without."
                    );
                    let objection =
                        evidence.objection(GateName::Dependencies, &format!("{path}{name}"), text);
                    // One dependency of two stages is one question.
                    if objections.iter().all(|one| one.id != objection.id) {
                        objections.push(objection);
                    }
                }
            }
        }
    }
    if !objections.is_empty() {
        return Opinion::Objected(objections);
    }
    let permitted = listed(permitted.iter().map(|(told, ..)| told.as_str()));
    let reasons = match reasons[..] {
        [] => String::new(),
        _ => format!(" The builder says: {}", listed(reasons)),
    };
    Opinion::Passed(format!("The task permits what changes: {permitted}.{reasons}"))
}

/// Returns what an entry makes the project depend on that it did not before, each by the names that it may go by. What
/// has no name of its own goes by its file.
fn added_names(path: &str, entry: &Entry) -> Vec<Vec<String>> {
    if entry.after.is_empty() {
        return Vec::new();
    }
    let (_, own) = entry.name.split_once('.').unwrap_or(("", &entry.name));
    let last = own.rsplit('.').next().unwrap_or(own);
    if entry.after.starts_with('[') || last == "dependencies" || last.contains("require") {
        let before: BTreeSet<&str> = items(&entry.before).collect();
        let new = items(&entry.after).filter(|item| !before.contains(item));
        let name =
            |item: &str| item.split(|c| !is_inner(c) && c != '.').next().unwrap_or_default().to_owned();
        return new.map(name).filter(|name| !name.is_empty()).map(|name| vec![name]).collect();
    }
    let file = path.rsplit('/').next().unwrap_or(path).to_owned();
    // A line of a build script has the names between quotes or tags.
    if entry.name.contains(['"', '\'', '<', '(', ' ']) && !entry.name.contains("dependencies.") {
        let parts =
            entry.name.split(['"', '\'', '<', '>']).skip(1).step_by(2).flat_map(|text| text.split(':'));
        let mut names: Vec<String> =
            parts.filter(|part| part.starts_with(char::is_alphabetic)).map(str::to_owned).collect();
        names.extend([file, "dependency".into(), "dependencies".into()]);
        return vec![names];
    }
    let named = entry.name.rsplit_once("dependencies.").map_or(own, |(_, name)| name);
    let mut names = vec![named.to_owned(), own.to_owned(), entry.name.clone()];
    // A module of Go, and a package within a scope, is called by the last part of its path.
    let parts = named.rsplit('/').filter(|part| !is_major(part));
    names.extend(parts.take(1).map(str::to_owned));
    vec![names]
}

/// Tells whether an entry leads to another part of the same repository: nothing comes in that was not there.
fn is_own(manifest: &str, after: &str) -> bool {
    const HERE: [&str; 4] = ["file:", "link:", "portal:", "./"];
    if after.starts_with("workspace:") {
        return true;
    }
    let written = serde_json::from_str::<Value>(after).unwrap_or_default();
    // Cargo's `workspace = true` stands for an entry of the workspace's own manifest, which is judged there.
    let inherited = written["workspace"] == true;
    let elsewhere = ["git", "url", "registry", "tarball"].iter().any(|key| written.get(key).is_some());
    let plain = HERE.iter().find_map(|start| after.strip_prefix(start));
    let plain = plain.or_else(|| after.starts_with("../").then_some(after));
    match plain.or_else(|| written["path"].as_str()) {
        Some(path) => !elsewhere && stays_inside(manifest, path),
        None => inherited && !elsewhere,
    }
}

/// Tells whether a path beside a file does not lead out of the repository.
fn stays_inside(file: &str, path: &str) -> bool {
    let mut depth = file.matches('/').count();
    !path.starts_with(['/', '~', '\\'])
        && path.split('/').all(|part| {
            match part {
                ".." if depth == 0 => return false,
                ".." => depth -= 1,
                "" | "." => {}
                _ => depth += 1,
            }
            true
        })
}

/// Returns the entries of a list, as JSON or with blanks between.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.starts_with('[');
    let separator = move |c: char| if quoted { c == '"' } else { c.is_whitespace() || c == ',' };
    let pieces = text.split(separator).map(str::trim);
    pieces.filter(|piece| piece.starts_with(|c: char| c.is_alphanumeric() || c == '@'))
}

fn is_major(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok())
}

fn is_inner(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '@' | '/')
}

/// Tells whether a text names a dependency; it is no part of a longer name.
fn names_it(text: &str, name: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let (text, name) = (plain(text), plain(name));
    let ends = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '@')));
    let mut places = text.match_indices(&name);
    !name.is_empty()
        && places.any(|(at, _)| {
            ends(text[..at].chars().next_back()) && ends(text[at + name.len()..].chars().next())
        })
}
