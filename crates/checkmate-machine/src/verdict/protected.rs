//! Whoever is judged leaves the scales alone: configuration of tests, build and continuous integration, and whatever
//! changes what programs do in general.

use super::GateName;
use super::evidence::{Evidence, Opinion, listed};
use crate::facts::{FileRole, Section, SpotKind};
use crate::task::Permission;

/// Tells whether whole files of a role decide how tests run, how the project is built or what its tools do.
fn decides(role: FileRole) -> bool {
    match role {
        FileRole::TestConfig | FileRole::BuildConfig | FileRole::Ci | FileRole::Environment => true,
        FileRole::Manifest
        | FileRole::Test
        | FileRole::TestSupport
        | FileRole::Code
        | FileRole::Docs
        | FileRole::Lock
        | FileRole::Git
        | FileRole::Other => false,
    }
}

/// Tells whether an entry declares what the goal asks for: a feature, an export, a command.
fn is_declared(goal: &str, entry: &str) -> bool {
    let goal = goal.to_lowercase();
    let declares = [
        ("features.", "feature"),
        ("exports", "export"),
        ("bin", "command"),
        ("project.scripts.", "command"),
    ];
    declares.iter().any(|(start, word)| entry.starts_with(start) && goal.contains(word))
}

/// Tells whether an entry says which version of the language runs the project; it often rises with a dependency.
fn is_runtime(entry: &str) -> bool {
    let entries = ["project.requires-python", "options.python_requires", "tool.poetry.dependencies.python"];
    entry.starts_with("engines.") || entries.contains(&entry)
}

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let mut touched = Vec::new();
    for file in &evidence.inspection.files {
        // What git ignores does not matter here: the whole tree is judged, ignored or not.
        let git = file.role == FileRole::Git && !file.path.ends_with(".gitignore");
        let whole = decides(file.role) || git;
        if whole && !evidence.permits.allow(Permission::Config, [file.path.as_str()]) {
            touched.push(format!("`{}`", file.path));
        }
        let entries = file.entries.iter().filter(|entry| match entry.section {
            Section::TestScript | Section::TestConfig | Section::Build => true,
            Section::Dependency | Section::InstallScript | Section::Description => false,
        });
        for entry in entries.filter(|_| file.role == FileRole::Manifest) {
            let names = [file.path.as_str(), entry.name.as_str()];
            // A goal that names a manifest means an entry of it, hardly the way in which it is tested.
            let permitted = match entry.section {
                Section::TestScript | Section::TestConfig => evidence.permits.told(Permission::Config, names),
                Section::Build | Section::Dependency | Section::InstallScript | Section::Description => {
                    evidence.permits.allow(Permission::Config, names)
                        || is_declared(&evidence.task.goal, &entry.name)
                        || is_runtime(&entry.name) && evidence.permits.allow(Permission::Deps, names)
                }
            };
            if !permitted {
                touched.push(format!("`{}` in `{}`", entry.name, file.path));
            }
        }
    }
    let writes: Vec<String> = evidence
        .inspection
        .files
        .iter()
        .filter(|file| matches!(file.role, FileRole::Test | FileRole::TestSupport | FileRole::TestConfig))
        .flat_map(|file| file.spots.iter().map(move |spot| (file, spot)))
        .filter(|(_, spot)| spot.kind == SpotKind::TreeWrite)
        .map(|(file, spot)| format!("`{}` in {}:{}", spot.text, file.path, spot.line))
        .collect();
    if !writes.is_empty() {
        return Opinion::Blocked(format!(
            "A test writes where the repository or its tools are kept: {}. Let tests write to temporary folders only.",
            listed(writes.iter().map(String::as_str))
        ));
    }
    let hushed = hushed(evidence);
    if touched.is_empty() && !hushed.is_empty() {
        let text = format!(
            "What is permitted to change ignores from now on that tests fail: {}. Let the failure count, or say why it may \
             not.",
            listed(hushed.iter().map(String::as_str))
        );
        return Opinion::Objected(vec![evidence.objection(GateName::Protected, &hushed.join(" "), text)]);
    }
    if touched.is_empty() {
        return Opinion::Passed("Configuration of tests, build and environment is as it was.".into());
    }
    Opinion::Blocked(format!(
        "The change touches what decides how tests run, how the project is built, or what its tools do: {}. Take that \
         back; if the task needs it, the goal has to name the file, or the task file has to permit `config`.",
        listed(touched.iter().map(String::as_str))
    ))
}

/// Returns the lines of scripts and configuration that run tests and go on whatever they say.
fn hushed(evidence: &Evidence<'_>) -> Vec<String> {
    let scripts = evidence.inspection.files.iter().filter(|file| decides(file.role));
    let swallowed = scripts
        .flat_map(|file| file.spots.iter().map(move |spot| (file, spot)))
        .filter(|(_, spot)| spot.kind == SpotKind::Swallow && runs_tests(&spot.text));
    swallowed.map(|(file, spot)| format!("`{}` in {}:{}", spot.text, file.path, spot.line)).collect()
}

/// Tells whether a line of a script, as far as its failure is ignored, runs tests.
fn runs_tests(line: &str) -> bool {
    const RUNNERS: [&str; 18] = [
        "test", "tests", "check", "verify", "pytest", "unittest", "tox", "nox", "jest", "vitest", "mocha",
        "cargo", "go", "mvn", "gradle", "gradlew", "ctest", "rspec",
    ];
    const OTHERS: [&str; 10] = ["rm", "mkdir", "cp", "mv", "git", "echo", "kill", "docker", "cd", "ls"];
    let code = line.trim_start_matches(['-', '@', ' ', '\t']).trim_start_matches("run:");
    let command = code.split("||").next().unwrap_or(code);
    let mut words =
        command.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let first = words.clone().next().unwrap_or_default();
    !OTHERS.contains(&first) && words.any(|word| RUNNERS.contains(&word))
}
