//! How each language's projects are recognised, and how their tests are run.

use std::collections::BTreeSet;

use serde_json::Value;

use super::survey::Survey;
use super::{Language, ancestors, members};

/// One project: a manifest, or source without one in the repository's root.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) language: Language,
    /// What runs its tests, from the repository's root.
    pub(super) test_command: Option<String>,
    /// Patterns of the directories of its members, from the repository's root; `""` is the root.
    pub(super) members: Vec<String>,
    /// The directories that those patterns stand for now, and the project's own.
    pub(super) places: Vec<String>,
    /// A sentence about it.
    pub(super) finding: String,
}

/// What a language knows about a project in one directory.
struct Manifest {
    /// The file that makes it a project, or what else does.
    evidence: String,
    /// The test command, from the project's directory.
    command: Option<String>,
    /// Members, from the project's directory; the project itself is `""`.
    members: Vec<String>,
}

/// Finds the projects: of each language the one in the root, or else those in the directories right below it.
pub(super) fn projects(survey: &Survey) -> Vec<Project> {
    let below: BTreeSet<&str> = survey.files().filter_map(|file| ancestors(file).next()).collect();
    let mut found: Vec<Project> = Vec::new();
    for language in Language::ALL {
        if let Some(manifest) = manifest(survey, language, "") {
            found.push(project(survey, language, "", manifest));
            continue;
        }
        for dir in &below {
            if let Some(manifest) = manifest(survey, language, dir) {
                found.push(project(survey, language, dir, manifest));
            }
        }
    }
    found
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
    Project {
        language,
        test_command,
        members,
        places: places.into_iter().collect(),
        finding: format!("{}{whereabouts}: found {}.", language.name(), manifest.evidence),
    }
}

fn manifest(survey: &Survey, language: Language, dir: &str) -> Option<Manifest> {
    match language {
        Language::Rust => rust(survey, dir),
        Language::JavaScript => javascript(survey, dir),
        Language::Python => python(survey, dir),
        Language::Go => go(survey, dir),
        Language::Jvm => jvm(survey, dir),
    }
}

fn rust(survey: &Survey, dir: &str) -> Option<Manifest> {
    let text = survey.read(&join(dir, "Cargo.toml"))?;
    let manifest: toml::Table = text.parse().unwrap_or_default();
    let workspace = manifest.get("workspace").and_then(|workspace| workspace.get("members"));
    let listed = workspace.and_then(toml::Value::as_array).into_iter().flatten();
    let mut members: Vec<String> = listed.filter_map(toml::Value::as_str).filter_map(member).collect();
    if manifest.contains_key("package") || members.is_empty() {
        members.insert(0, String::new());
    }
    let nextest = survey.has(&join(dir, ".config/nextest.toml"));
    let command = if nextest { "cargo nextest run" } else { "cargo test" };
    let workspace = if members.iter().any(|member| !member.is_empty()) && manifest.contains_key("package") {
        // With a package in the root, cargo would test that package alone.
        " --workspace"
    } else {
        ""
    };
    let evidence = if nextest { "Cargo.toml and .config/nextest.toml" } else { "Cargo.toml" };
    Some(Manifest { evidence: evidence.into(), command: Some(format!("{command}{workspace}")), members })
}

fn javascript(survey: &Survey, dir: &str) -> Option<Manifest> {
    let text = survey.read(&join(dir, "package.json"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let manifest: Value = serde_json::from_str(text).unwrap_or_default();
    let runner =
        [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
    let locked = runner.into_iter().find(|(lock, _)| survey.has(&join(dir, lock)));
    let script = manifest["scripts"]["test"].as_str();
    // What `npm init` writes is no test.
    let script = script.filter(|line| !line.trim().is_empty() && !line.contains("no test specified"));
    let (command, evidence) = match (script, locked) {
        (Some(_), Some((lock, "bun"))) => {
            (Some("bun run test"), format!("package.json with a test script, and {lock}"))
        }
        (Some(_), Some((lock, "yarn"))) => {
            (Some("yarn test"), format!("package.json with a test script, and {lock}"))
        }
        (Some(_), Some((lock, _))) => {
            (Some("pnpm test"), format!("package.json with a test script, and {lock}"))
        }
        (Some(_), None) => (Some("npm test"), "package.json with a test script".into()),
        (None, _) if survey.below(dir).any(is_node_test) => {
            (Some("node --test"), "package.json and files of Node's own test runner".into())
        }
        (None, _) => (None, "package.json without a test script".into()),
    };
    let mut members = vec![String::new()];
    let listed = &manifest["workspaces"];
    let listed = listed.as_array().or_else(|| listed["packages"].as_array()).into_iter().flatten();
    members.extend(listed.filter_map(Value::as_str).filter_map(member));
    if let Some(yaml) = survey.read(&join(dir, "pnpm-workspace.yaml")) {
        members.extend(yaml_list(&yaml, "packages").filter_map(|pattern| member(&pattern)));
    }
    Some(Manifest { evidence, command: command.map(str::to_owned), members })
}

fn is_node_test(file: &str) -> bool {
    [".test.js", ".test.mjs", ".test.cjs", ".test.ts", ".test.mts", ".test.cts"]
        .iter()
        .any(|ending| file.ends_with(ending))
}

fn python(survey: &Survey, dir: &str) -> Option<Manifest> {
    let at = |name: &str| join(dir, name);
    let known = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pytest.ini", "tox.ini"];
    let manifest = known.into_iter().find(|name| survey.has(&at(name)));
    let tests: Vec<&str> = survey.below(dir).filter(|file| is_python_test(file)).collect();
    // Below the root, only a manifest makes a directory a project of its own.
    if manifest.is_none() && (!dir.is_empty() || !survey.files().any(|file| file.ends_with(".py"))) {
        return None;
    }
    let imports = |module: &str| {
        tests.iter().take(200).filter_map(|file| survey.read(file)).any(|text| {
            text.lines().any(|line| {
                let mut words = line.split([' ', '.', ',', '\t']).filter(|word| !word.is_empty());
                matches!(words.next(), Some("import" | "from")) && words.next() == Some(module)
            })
        })
    };
    let (evidence, pytest) = if let Some(name) = pytest_configuration(survey, dir) {
        (format!("pytest configured in {name}"), true)
    } else if imports("pytest") {
        ("tests that import pytest".into(), true)
    } else if tests.is_empty() {
        ("Python files but no tests".into(), false)
    } else if imports("unittest") {
        ("tests that import unittest".into(), false)
    } else {
        ("test_*.py files".into(), true)
    };
    let venv = [".venv", "venv"].into_iter().find(|venv| survey.is_there(&at(&format!("{venv}/bin/python"))));
    let python = venv.map_or_else(|| "python3".to_owned(), |venv| format!("{venv}/bin/python"));
    // `python -m` puts the root on the import path, which `pytest` alone does not.
    let command = match pytest {
        true => format!("{python} -m pytest"),
        false => {
            // Without `__init__.py`, discovery does not look into a directory by itself.
            let folder = ["tests", "test"].into_iter().find(|folder| {
                !survey.has(&at(&format!("{folder}/__init__.py")))
                    && tests.iter().any(|file| file.starts_with(&at(&format!("{folder}/"))))
            });
            let start = folder.map_or_else(String::new, |folder| format!(" -s {folder}"));
            format!("{python} -m unittest discover{start}")
        }
    };
    Some(Manifest { evidence, command: Some(command), members: vec![String::new()] })
}

fn is_python_test(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
}

fn pytest_configuration(survey: &Survey, dir: &str) -> Option<&'static str> {
    [
        ("pytest.ini", ""),
        ("conftest.py", ""),
        ("tests/conftest.py", ""),
        ("pyproject.toml", "[tool.pytest"),
        ("setup.cfg", "[tool:pytest]"),
        ("tox.ini", "[pytest]"),
    ]
    .into_iter()
    .find(|(name, mark)| survey.read(&join(dir, name)).is_some_and(|text| text.contains(mark)))
    .map(|(name, _)| name)
}

fn go(survey: &Survey, dir: &str) -> Option<Manifest> {
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
            return Some(Manifest { evidence: "go.work".into(), command: Some(command), members: modules });
        }
    }
    survey.has(&join(dir, "go.mod")).then(|| Manifest {
        evidence: "go.mod".into(),
        command: Some("go test ./...".into()),
        members: vec![String::new()],
    })
}

fn jvm(survey: &Survey, dir: &str) -> Option<Manifest> {
    let rows = [
        ("pom.xml", "mvnw", "mvn"),
        ("build.gradle", "gradlew", "gradle"),
        ("build.gradle.kts", "gradlew", "gradle"),
    ];
    let (name, wrapper, program) = rows.into_iter().find(|(name, ..)| survey.has(&join(dir, name)))?;
    let (evidence, program) = if survey.has(&join(dir, wrapper)) {
        (format!("{name} and its wrapper `{wrapper}`"), format!("./{wrapper}"))
    } else {
        (name.to_owned(), program.to_owned())
    };
    // Modules are the directories that have their own `src`.
    let modules = survey.below(dir).filter_map(|file| file.split_once("/src/"));
    let mut members: BTreeSet<String> = modules
        .map(|(module, _)| module.strip_prefix(dir).unwrap_or(module).trim_start_matches('/').to_owned())
        .filter(|module| !module.contains("src/"))
        .map(|module| globset::escape(&module))
        .collect();
    members.insert(String::new());
    Some(Manifest {
        evidence,
        command: Some(format!("{program} test")),
        members: members.into_iter().collect(),
    })
}

/// Returns a member's pattern without `./` and a slash at its end; those that lead elsewhere are left out.
fn member(pattern: &str) -> Option<String> {
    let pattern = pattern.trim().trim_start_matches("./").trim_end_matches('/');
    let inside = !pattern.starts_with(['/', '!']) && !pattern.split('/').any(|part| part == "..");
    (inside && !pattern.is_empty() && pattern != ".").then(|| pattern.to_owned())
}

/// Returns the entries of a list in simple YAML: `key:` at the start of a line, then one `- entry` a line.
fn yaml_list(text: &str, key: &str) -> impl Iterator<Item = String> {
    let start = format!("{key}:");
    let lines = text.lines().skip_while(move |line| line.trim_end() != start).skip(1);
    let entries = lines.take_while(|line| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with(['-', '#'])
    });
    entries.filter_map(|line| {
        let entry = line.trim().strip_prefix('-')?.split(" #").next()?.trim();
        Some(entry.trim_matches(['"', '\'']).to_owned())
    })
}

fn join(dir: &str, name: &str) -> String {
    match (dir, name) {
        ("", name) => name.to_owned(),
        (dir, "") => dir.to_owned(),
        (dir, name) => format!("{dir}/{name}"),
    }
}
