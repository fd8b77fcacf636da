//! Which entries of a manifest or configuration file differ.

mod lines;
mod sections;

use std::collections::BTreeMap;

use checkmate_machine::facts::{Entry, Section};

use super::outline::clip;

/// At most so many entries of a file are told.
const MOST: usize = 300;

/// The entries of one side: values on one line, by name.
type Entries = BTreeMap<String, String>;

/// Returns the entries that differ, in the order of their names.
pub(super) fn differing(path: &str, before: Option<&str>, after: Option<&str>) -> Vec<Entry> {
    let Some(format) = Format::of(path) else { return Vec::new() };
    if before == after {
        return Vec::new();
    }
    let (Some(old), Some(new)) = (format.read(before.unwrap_or("")), format.read(after.unwrap_or(""))) else {
        // What cannot be read may be anything, so it counts as what matters most.
        let side = |text: Option<&str>| text.map(short).unwrap_or_default();
        let (before, after) = (side(before), side(after));
        return vec![Entry { section: Section::Dependency, name: "(unreadable)".to_owned(), before, after }];
    };
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let differs = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    let side =
        |entries: &Entries, name: &str| entries.get(name).map(|value| short(value)).unwrap_or_default();
    differs
        .take(MOST)
        .map(|name| Entry {
            section: sections::of(
                format,
                name,
                new.get(name).or_else(|| old.get(name)).map_or("", String::as_str),
            ),
            name: clip(name, 200).to_owned(),
            before: side(&old, name),
            after: side(&new, name),
        })
        .collect()
}

fn short(text: &str) -> String {
    super::language::one_line(clip(text, 2000))
}

/// Formats of manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    PackageJson,
    Cargo,
    CargoConfig,
    Nextest,
    PyProject,
    Pipfile,
    SetupCfg,
    Tox,
    Pytest,
    Coverage,
    Requirements,
    GoMod,
    /// XML or a script, by lines.
    Jvm,
    Gems,
    Makefile,
    /// Settings of a test runner in JSON.
    TestJson,
}

impl Format {
    fn of(path: &str) -> Option<Self> {
        let path = path.to_lowercase();
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let text = name.ends_with(".txt") || name.ends_with(".in");
        if text
            && (name.starts_with("requirements")
                || name.starts_with("constraints")
                || folder.ends_with("requirements"))
        {
            return Some(Format::Requirements);
        }
        Some(match name {
            "package.json" => Format::PackageJson,
            "cargo.toml" => Format::Cargo,
            "config" | "config.toml" if folder.ends_with(".cargo") => Format::CargoConfig,
            "nextest.toml" => Format::Nextest,
            "pyproject.toml" => Format::PyProject,
            "pipfile" => Format::Pipfile,
            "setup.cfg" => Format::SetupCfg,
            "tox.ini" => Format::Tox,
            "pytest.ini" | ".pytest.ini" => Format::Pytest,
            ".coveragerc" => Format::Coverage,
            "go.mod" | "go.work" => Format::GoMod,
            "pom.xml" | "build.gradle" | "build.gradle.kts" | "settings.gradle" | "settings.gradle.kts" => {
                Format::Jvm
            }
            "gemfile" => Format::Gems,
            "composer.json" => Format::PackageJson,
            "makefile" | "gnumakefile" => Format::Makefile,
            "jest.config.json" | ".mocharc.json" | ".nycrc" | ".nycrc.json" | ".c8rc.json" => {
                Format::TestJson
            }
            name if name.ends_with(".mk") => Format::Makefile,
            _ => return None,
        })
    }

    /// Reads the entries of a text; `None` if it does not parse.
    fn read(self, text: &str) -> Option<Entries> {
        match self {
            Format::PackageJson | Format::TestJson => json(text),
            Format::Cargo | Format::CargoConfig | Format::Nextest | Format::PyProject | Format::Pipfile => {
                toml(text)
            }
            Format::SetupCfg | Format::Tox | Format::Pytest | Format::Coverage => Some(lines::ini(text)),
            Format::Requirements => Some(lines::requirements(text)),
            Format::GoMod => Some(lines::go(text)),
            Format::Jvm | Format::Gems => Some(lines::plain(text)),
            Format::Makefile => Some(lines::makefile(text)),
        }
    }
}

/// Reads the keys of an object, and those of the objects in it.
fn json(text: &str) -> Option<Entries> {
    let mut entries = Entries::new();
    if text.trim().is_empty() {
        return Some(entries);
    }
    let root: serde_json::Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    for (key, value) in root.as_object()? {
        match value.as_object() {
            Some(inner) if !inner.is_empty() => {
                for (name, value) in inner {
                    entries.insert(format!("{key}.{name}"), plain(value));
                }
            }
            Some(_) | None => {
                entries.insert(key.clone(), plain(value));
            }
        }
    }
    Some(entries)
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads the keys of all tables. What describes one dependency stays together.
fn toml(text: &str) -> Option<Entries> {
    let root: toml::Table = text.parse().ok()?;
    let mut entries = Entries::new();
    let mut open: Vec<(String, toml::Value)> = root.into_iter().collect();
    while let Some((name, value)) = open.pop() {
        let parent = name.rsplit_once('.').map_or("", |(parent, _)| parent);
        let one = parent.ends_with("dependencies") || name.matches('.').count() > 6;
        match value {
            toml::Value::Table(table) if !one && !table.is_empty() => {
                open.extend(table.into_iter().map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            toml::Value::String(text) => {
                entries.insert(name, text);
            }
            value @ (toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_)
            | toml::Value::Table(_)) => {
                entries.insert(name, serde_json::to_string(&value).unwrap_or_default());
            }
        }
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::differing;

    fn told(path: &str, before: &str, after: &str) -> Vec<String> {
        let entries = differing(path, Some(before), Some(after)).into_iter();
        entries
            .map(|entry| format!("{:?} {}: {} -> {}", entry.section, entry.name, entry.before, entry.after))
            .collect()
    }

    #[test]
    fn manifests_tell_what_differs() {
        let test = told(
            "package.json",
            r#"{"scripts":{"test":"node --test"}}"#,
            r#"{"scripts":{"test":"node --test || true"}}"#,
        );
        assert_eq!(test, ["TestScript scripts.test: node --test -> node --test || true"]);
        let dependency =
            told("a/package.json", "{}", r#"{"dependencies":{"qs":"^1"},"scripts":{"postinstall":"x"}}"#);
        assert_eq!(
            dependency,
            ["Dependency dependencies.qs:  -> ^1", "InstallScript scripts.postinstall:  -> x"]
        );
        let cargo = told(
            "Cargo.toml",
            "[package]\nname='a'\n",
            "[package]\nname='a'\nbuild='b.rs'\n[lib]\ntest=false\n[dependencies]\nserde={version='1',features=['derive']}\n",
        );
        assert_eq!(
            cargo,
            [
                "Dependency dependencies.serde:  -> {\"features\":[\"derive\"],\"version\":\"1\"}",
                "TestConfig lib.test:  -> false",
                "InstallScript package.build:  -> b.rs",
            ]
        );
        let pytest = told(
            "pytest.ini",
            "[pytest]\ntestpaths = tests\n",
            "[pytest]\ntestpaths = tests\naddopts = -k\n    fast\n",
        );
        assert_eq!(pytest, ["TestConfig pytest.addopts:  -> -k fast"]);
        let project = told(
            "pyproject.toml",
            "",
            "[tool.pytest.ini_options]\naddopts = '-x'\n[project]\nversion = '2'\n",
        );
        assert_eq!(
            project,
            ["Description project.version:  -> 2", "TestConfig tool.pytest.ini_options.addopts:  -> -x"]
        );
        let pinned = told("requirements.txt", "a==1\n", "a==2 # new\nb\n");
        assert_eq!(pinned, ["Dependency a: a==1 -> a==2", "Dependency b:  -> b"]);
        let make = told("Makefile", "test:\n\tpytest\n", "test:\n\tpytest || true\n");
        assert_eq!(make, ["TestScript test: pytest -> pytest || true"]);
        let module = told("go.mod", "module a\n", "module a\nrequire (\n\tx.y/z v1.0.0 // indirect\n)\n");
        assert_eq!(module, ["Dependency require.x.y/z:  -> v1.0.0"]);
        assert_eq!(told("package.json", "{}", "{"), ["Dependency (unreadable): {} -> {"]);
        let runtime = [
            told("package.json", "{}", r#"{"engines":{"node":">=18"}}"#),
            told("pyproject.toml", "", "[project]\nrequires-python = '>=3.9'\n"),
            told("setup.cfg", "", "[options]\npython_requires = >=3.9\n"),
        ];
        for entries in runtime {
            assert!(entries.iter().all(|entry| entry.starts_with("Build ")), "{entries:?}");
        }
    }
}
