//! What an entry of a manifest is about.

use checkmate_machine::facts::Section;

use super::Format;

/// Returns what an entry is about, by its name and, in files without names, by its value.
pub(super) fn of(format: Format, name: &str, value: &str) -> Section {
    match format {
        Format::PackageJson => package(name),
        Format::Cargo => cargo(name),
        Format::CargoConfig => cargo_config(name),
        Format::PyProject => pyproject(name),
        Format::SetupCfg => setup_cfg(name),
        Format::Tox => tox(name),
        Format::Pipfile if name.starts_with("scripts.") => script(name.trim_start_matches("scripts.")),
        Format::Pipfile | Format::Requirements | Format::Gems => Section::Dependency,
        Format::GoMod => go(name),
        Format::Jvm => jvm(value),
        Format::Makefile => makefile(name),
        Format::Nextest | Format::Pytest | Format::Coverage | Format::TestJson => Section::TestConfig,
    }
}

fn script(name: &str) -> Section {
    let test = ["test", "check", "unit", "spec", "coverage", "e2e"].iter().any(|word| name.contains(word));
    if test { Section::TestScript } else { Section::Build }
}

fn package(name: &str) -> Section {
    let (group, key) = name.split_once('.').unwrap_or((name, ""));
    match group {
        "scripts" => match key {
            "install" | "preinstall" | "postinstall" | "prepare" | "preprepare" | "postprepare"
            | "prepublish" | "prepublishOnly" | "post-install-cmd" | "post-update-cmd" => {
                Section::InstallScript
            }
            key => script(key.trim_start_matches("pre").trim_start_matches("post")),
        },
        "jest" | "mocha" | "ava" | "nyc" | "c8" | "vitest" | "tap" | "karma" => Section::TestConfig,
        "name" | "version" | "description" | "keywords" | "author" | "contributors" | "license"
        | "homepage" | "bugs" | "repository" | "funding" | "private" | "authors" | "maintainers" => {
            Section::Description
        }
        group if group.to_lowercase().contains("depend") || is_npm_dependency(group) => Section::Dependency,
        _ => Section::Build,
    }
}

fn is_npm_dependency(group: &str) -> bool {
    matches!(
        group,
        "overrides" | "resolutions" | "packageManager" | "pnpm" | "require" | "require-dev" | "imports"
    )
}

fn cargo(name: &str) -> Section {
    let last = name.rsplit('.').next().unwrap_or(name);
    let dependency = name.split('.').any(|part| part.ends_with("dependencies"));
    match name.split('.').next().unwrap_or(name) {
        _ if dependency => Section::Dependency,
        "patch" | "replace" => Section::Dependency,
        "test" | "bench" => Section::TestConfig,
        "lib" if matches!(last, "test" | "harness" | "doctest" | "bench") => Section::TestConfig,
        "package" => match last {
            "build" | "links" => Section::InstallScript,
            "autotests" | "autobenches" => Section::TestConfig,
            "name" | "version" | "description" | "authors" | "license" | "license-file" | "repository"
            | "homepage" | "documentation" | "readme" | "keywords" | "categories" => Section::Description,
            _ => Section::Build,
        },
        _ => Section::Build,
    }
}

fn cargo_config(name: &str) -> Section {
    let last = name.rsplit('.').next().unwrap_or(name);
    match name.split('.').next().unwrap_or(name) {
        "alias" => script(if matches!(last, "t" | "nextest") { "test" } else { last }),
        "source" | "registries" | "registry" | "patch" | "paths" => Section::Dependency,
        "target" if last == "runner" => Section::TestConfig,
        "env" | "term" => Section::TestConfig,
        _ => Section::Build,
    }
}

fn pyproject(name: &str) -> Section {
    let tests = ["tool.pytest", "tool.coverage", "tool.tox", "tool.nox", "project.entry-points.pytest11"];
    if tests.iter().any(|start| name.starts_with(start)) {
        return Section::TestConfig;
    }
    // What runs the program is chosen by who runs it: a version of the language brings no code in.
    if matches!(name, "project.requires-python" | "tool.poetry.dependencies.python") {
        return Section::Build;
    }
    let dependency = name.contains("dependencies") || name == "build-system.requires";
    if dependency
        || name.starts_with("dependency-groups")
        || name.contains(".sources")
        || name.contains(".source")
    {
        return Section::Dependency;
    }
    if let Some((_, key)) = name
        .split_once(".scripts.")
        .or_else(|| name.split_once(".tasks."))
        .filter(|_| name.starts_with("tool."))
    {
        return script(key);
    }
    if name.starts_with("build-system.") {
        return Section::InstallScript;
    }
    let described = name.starts_with("project.") || name.starts_with("tool.poetry.");
    let key = name
        .trim_start_matches("project.")
        .trim_start_matches("tool.poetry.")
        .split('.')
        .next()
        .unwrap_or(name);
    let description = [
        "name",
        "version",
        "description",
        "readme",
        "license",
        "authors",
        "maintainers",
        "keywords",
        "classifiers",
        "urls",
        "homepage",
        "repository",
        "documentation",
        "license-files",
    ];
    if described && description.contains(&key) { Section::Description } else { Section::Build }
}

fn setup_cfg(name: &str) -> Section {
    let (section, key) = name.split_once('.').unwrap_or((name, ""));
    match section {
        "tool:pytest" | "pytest" | "coverage:run" | "coverage:report" | "nosetests" => Section::TestConfig,
        "metadata" => Section::Description,
        "aliases" => script(key),
        "options" if key == "python_requires" => Section::Build,
        _ if key.ends_with("_requires") || key.ends_with("_require") || name.contains("extras_require") => {
            Section::Dependency
        }
        _ => Section::Build,
    }
}

fn tox(name: &str) -> Section {
    let key = name.rsplit('.').next().unwrap_or(name);
    match key {
        key if key.starts_with("commands") => Section::TestScript,
        "deps" | "requires" | "extras" => Section::Dependency,
        _ => Section::TestConfig,
    }
}

fn go(name: &str) -> Section {
    match name {
        "module" => Section::Description,
        "go" => Section::Build,
        _ => Section::Dependency,
    }
}

fn jvm(line: &str) -> Section {
    let words = [
        "useJUnit",
        "surefire",
        "failsafe",
        "skipTests",
        "testFailureIgnore",
        "maven.test",
        "ignoreFailures",
        "<excludes>",
        "<exclude>",
        "test {",
        "tasks.test",
    ];
    if words.iter().any(|word| line.contains(word)) { Section::TestConfig } else { Section::Dependency }
}

fn makefile(target: &str) -> Section {
    let test = ["test", "check", "unit", "spec", "verify", "ci"].iter();
    let words: Vec<&str> = target.split(|letter: char| !letter.is_alphanumeric()).collect();
    let named = test
        .into_iter()
        .any(|word| words.iter().any(|part| part == word || part.strip_suffix('s') == Some(word)));
    if named { Section::TestScript } else { Section::Build }
}
