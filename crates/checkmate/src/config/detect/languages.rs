//! How each language's projects are recognised, and how their tests are run.

mod go;
mod javascript;
mod jvm;
mod python;
mod rust;

use std::collections::BTreeSet;

use super::survey::Survey;
use super::{Language, ancestors, members};

/// Directories whose projects are examples or belong to somebody else.
const ASIDE: [&str; 16] = [
    "benchmarks",
    "doc",
    "docs",
    "example",
    "examples",
    "fixture",
    "fixtures",
    "sample",
    "samples",
    "spec",
    "template",
    "templates",
    "test",
    "testdata",
    "tests",
    "third_party",
];
/// How deep projects are looked for where there is none further up.
const DEEPEST: usize = 3;

/// One project: a manifest, or source without one in the repository's root.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) language: Language,
    /// What runs its tests, from the repository's root.
    pub(super) test_command: Option<String>,
    /// Whether that is only what it would be, if there were tests.
    pub(super) guessed: bool,
    /// Patterns of the directories of its members, from the repository's root; `""` is the root.
    pub(super) members: Vec<String>,
    /// The directories that those patterns stand for now, and the project's own.
    pub(super) places: Vec<String>,
    /// Directories that its tests need and git should ignore, whether they are there or not.
    pub(super) needs: Vec<String>,
    /// Sentences about it, the first one says what it is.
    pub(super) findings: Vec<String>,
}

/// What a language knows about a project in one directory.
#[derive(Default)]
struct Manifest {
    /// What people call the language, if not by its usual name.
    name: Option<&'static str>,
    /// The file that makes it a project, or what else does.
    evidence: String,
    /// The test command, from the project's directory.
    command: Option<String>,
    /// Whether the command is only what one would be.
    guessed: bool,
    /// Members, from the project's directory; the project itself is `""`.
    members: Vec<String>,
    /// What its tests need beside what git tracks, from the project's directory.
    needs: Vec<&'static str>,
    /// Further sentences.
    notes: Vec<String>,
}

/// Finds the projects: of each language the one in the root, or else those in the directories right below it. Where there
/// is none of any language, those further down.
pub(super) fn projects(survey: &Survey) -> Vec<Project> {
    let mut found: Vec<Project> = Vec::new();
    let first = at_depth(survey, 1);
    for language in Language::ALL {
        if let Some(manifest) = manifest(survey, language, "") {
            found.push(project(survey, language, "", manifest));
            continue;
        }
        found.extend(first.iter().filter_map(|dir| {
            let manifest = manifest(survey, language, dir)?;
            Some(project(survey, language, dir, manifest))
        }));
    }
    for depth in 2..=DEEPEST {
        if !found.is_empty() {
            break;
        }
        for dir in at_depth(survey, depth) {
            if dir.split('/').any(|part| ASIDE.contains(&part)) {
                continue;
            }
            found.extend(Language::ALL.into_iter().filter_map(|language| {
                let manifest = manifest(survey, language, dir)?;
                Some(project(survey, language, dir, manifest))
            }));
        }
        found.sort_by_key(|project| project.language);
    }
    // Beside other projects, files without a manifest are scripts.
    if found.is_empty()
        && let Some(manifest) = python::without_manifest(survey)
    {
        found.push(project(survey, Language::Python, "", manifest));
    }
    found
}

/// Returns the directories with files at a depth; 1 is right below the root.
fn at_depth(survey: &Survey, depth: usize) -> BTreeSet<&str> {
    survey.files().filter_map(|file| ancestors(file).nth(depth - 1)).collect()
}

fn project(survey: &Survey, language: Language, dir: &str, manifest: Manifest) -> Project {
    let pattern = globset::escape(dir);
    let members: Vec<String> = manifest.members.iter().map(|member| join(&pattern, member)).collect();
    let set = self::members(members.iter());
    let mut places: BTreeSet<String> =
        survey.files().flat_map(ancestors).filter(|at| set.is_match(at)).map(str::to_owned).collect();
    places.insert(dir.to_owned());
    let test_command = manifest.command.map(|command| match dir {
        "" => command,
        dir => format!("(cd {} && {command})", shell_words::quote(dir)),
    });
    let whereabouts = if dir.is_empty() { String::new() } else { format!(" in `{dir}`") };
    let name = manifest.name.unwrap_or(language.name());
    let mut findings = vec![format!("{name}{whereabouts}: found {}.", manifest.evidence)];
    findings.extend(manifest.notes);
    Project {
        language,
        test_command,
        guessed: manifest.guessed,
        members,
        places: places.into_iter().collect(),
        needs: manifest.needs.into_iter().map(|name| join(dir, name)).collect(),
        findings,
    }
}

fn manifest(survey: &Survey, language: Language, dir: &str) -> Option<Manifest> {
    match language {
        Language::Rust => rust::manifest(survey, dir),
        Language::JavaScript => javascript::manifest(survey, dir),
        Language::Python => python::manifest(survey, dir),
        Language::Go => go::manifest(survey, dir),
        Language::Jvm => jvm::manifest(survey, dir),
    }
}

/// Returns a member's pattern without `./` and a slash at its end; those that lead elsewhere are left out.
fn member(pattern: &str) -> Option<String> {
    let pattern = pattern.trim().trim_start_matches("./").trim_end_matches('/');
    let inside = !pattern.starts_with(['/', '!']) && !pattern.split('/').any(|part| part == "..");
    (inside && !pattern.is_empty() && pattern != ".").then(|| pattern.to_owned())
}

fn join(dir: &str, name: &str) -> String {
    match (dir, name) {
        ("", name) => name.to_owned(),
        (dir, "") => dir.to_owned(),
        (dir, name) => format!("{dir}/{name}"),
    }
}
