//! Packages of npm, pnpm, yarn and bun, and their workspaces.

use serde_json::Value;

use super::{Manifest, join, member};
use crate::config::detect::survey::Survey;

/// What installs packages and runs scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    /// Yarn from version 2 on.
    Berry,
    Bun,
}

/// Runners of tests, as a package names them, and how they run once.
const RUNNERS: [(&str, &str); 4] =
    [("vitest", "vitest run"), ("jest", "jest"), ("mocha", "mocha"), ("ava", "ava")];

pub(super) fn manifest(survey: &Survey, dir: &str) -> Option<Manifest> {
    let package = read(survey, &join(dir, "package.json"))?;
    let (manager, locked) = Manager::of(survey, dir, &package);
    let mut members = vec![String::new()];
    members.extend(workspaces(survey, dir, &package));
    let with = |what: String| match locked {
        Some(lock) => format!("{what}, and {lock}"),
        None => what,
    };
    let tested = tested_members(survey, dir, &members[1..]);
    let tests = survey.below(dir).any(is_test);
    let (command, evidence) = if script(&package).is_some() {
        (Some(manager.test().to_owned()), with("package.json with a test script".into()))
    } else if !tested.is_empty() {
        let count = tested.len();
        let what = if count == 1 { "1 package has one".into() } else { format!("{count} packages have one") };
        let command = orchestrator(survey, dir, &package).unwrap_or_else(|| manager.test_all().to_owned());
        (Some(command), with(format!("package.json with workspaces and no test script of its own; {what}")))
    } else if let Some((name, run)) = RUNNERS.into_iter().find(|(name, _)| depends(&package, name)) {
        (
            Some(manager.execute(run)),
            with(format!("package.json without a test script, which depends on {name}")),
        )
    } else if manager == Manager::Bun && tests {
        (Some("bun test".into()), with("package.json without a test script, and files of tests".into()))
    } else if tests {
        (Some("node --test".into()), "package.json and files of Node's own test runner".into())
    } else {
        (None, "package.json without a test script".into())
    };
    let mut notes = Vec::new();
    if command.is_none() {
        notes.push(
            "Add a script `test` to package.json, or write into `test_command` what runs its tests."
                .to_owned(),
        );
    } else if members.len() > 1 {
        notes.push(format!("All packages are tested; for a single one, write `{}`.", manager.test_one()));
    }
    let needs = if has_dependencies(&package) { vec!["node_modules"] } else { Vec::new() };
    if !needs.is_empty() && !survey.is_there(&join(dir, "node_modules")) {
        notes.push(format!(
            "Its packages are not installed: run `{}`, because tests have no network.",
            manager.install()
        ));
    }
    let typed = survey.has(&join(dir, "tsconfig.json"))
        || survey.below(dir).any(|file| file.ends_with(".ts") || file.ends_with(".tsx"));
    let name = typed.then_some("TypeScript");
    Some(Manifest { name, evidence, command, guessed: false, members, needs, notes })
}

impl Manager {
    /// Finds the package manager by its lock file, or by what package.json says.
    fn of(survey: &Survey, dir: &str, package: &Value) -> (Self, Option<&'static str>) {
        let locks = [
            ("pnpm-lock.yaml", Manager::Pnpm),
            ("yarn.lock", Manager::Yarn),
            ("bun.lock", Manager::Bun),
            ("bun.lockb", Manager::Bun),
            ("package-lock.json", Manager::Npm),
            ("npm-shrinkwrap.json", Manager::Npm),
        ];
        let found = locks.into_iter().find(|(lock, _)| survey.has(&join(dir, lock)));
        let named = package["packageManager"].as_str().and_then(|text| match text.split_once('@') {
            Some(("pnpm", _)) => Some(Manager::Pnpm),
            Some(("yarn", version)) if version.starts_with("1.") => Some(Manager::Yarn),
            Some(("yarn", _)) => Some(Manager::Berry),
            Some(("bun", _)) => Some(Manager::Bun),
            Some(_) | None => None,
        });
        let berry = || {
            survey.has(&join(dir, ".yarnrc.yml"))
                || survey.read(&join(dir, "yarn.lock")).is_some_and(|lock| lock.contains("__metadata:"))
        };
        match (found, named) {
            (Some((lock, Manager::Yarn)), _) if berry() => (Manager::Berry, Some(lock)),
            (Some((lock, manager)), _) => (manager, Some(lock)),
            (None, Some(manager)) => (manager, Some("its `packageManager`")),
            (None, None) => (Manager::Npm, None),
        }
    }

    fn test(self) -> &'static str {
        match self {
            Manager::Npm => "npm test",
            Manager::Pnpm => "pnpm test",
            Manager::Yarn | Manager::Berry => "yarn test",
            // `bun test` is bun's own runner.
            Manager::Bun => "bun run test",
        }
    }

    fn test_all(self) -> &'static str {
        match self {
            Manager::Npm => "npm test --workspaces --if-present",
            Manager::Pnpm => "pnpm -r test",
            Manager::Yarn => "yarn workspaces run test",
            Manager::Berry => "yarn workspaces foreach --all run test",
            Manager::Bun => "bun run --filter '*' test",
        }
    }

    fn test_one(self) -> &'static str {
        match self {
            Manager::Npm => "npm test --workspace NAME",
            Manager::Pnpm => "pnpm --filter NAME test",
            Manager::Yarn | Manager::Berry => "yarn workspace NAME test",
            Manager::Bun => "bun run --filter NAME test",
        }
    }

    fn execute(self, command: &str) -> String {
        match self {
            Manager::Npm => format!("npx {command}"),
            Manager::Pnpm => format!("pnpm exec {command}"),
            Manager::Yarn | Manager::Berry => format!("yarn {command}"),
            Manager::Bun => format!("bunx {command}"),
        }
    }

    fn install(self) -> &'static str {
        match self {
            Manager::Npm => "npm ci` or `npm install",
            Manager::Pnpm => "pnpm install",
            Manager::Yarn | Manager::Berry => "yarn install",
            Manager::Bun => "bun install",
        }
    }
}

fn read(survey: &Survey, path: &str) -> Option<Value> {
    let text = survey.read(path)?;
    Some(serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(&text)).unwrap_or_default())
}

/// Returns the test script; what `npm init` writes is none.
fn script(package: &Value) -> Option<&str> {
    let script = package["scripts"]["test"].as_str();
    script.filter(|line| !line.trim().is_empty() && !line.contains("no test specified"))
}

fn workspaces(survey: &Survey, dir: &str, package: &Value) -> Vec<String> {
    let listed = &package["workspaces"];
    let listed = listed.as_array().or_else(|| listed["packages"].as_array()).into_iter().flatten();
    let mut members: Vec<String> = listed.filter_map(Value::as_str).filter_map(member).collect();
    if let Some(yaml) = survey.read(&join(dir, "pnpm-workspace.yaml")) {
        members.extend(yaml_list(&yaml, "packages").filter_map(|pattern| member(&pattern)));
    }
    if let Some(lerna) = read(survey, &join(dir, "lerna.json")) {
        let packages = lerna["packages"].as_array().into_iter().flatten();
        members.extend(packages.filter_map(Value::as_str).filter_map(member));
    }
    let mut seen = std::collections::BTreeSet::new();
    members.retain(|member| seen.insert(member.clone()));
    members
}

/// Returns the members that have a test script.
fn tested_members(survey: &Survey, dir: &str, members: &[String]) -> Vec<String> {
    let patterns: Vec<String> = members.iter().map(|member| join(&globset::escape(dir), member)).collect();
    let set = crate::config::detect::members(patterns.iter());
    let manifests = survey.below(dir).filter_map(|file| file.strip_suffix("/package.json"));
    manifests
        .filter(|at| set.is_match(at))
        .filter(|at| {
            read(survey, &join(at, "package.json")).is_some_and(|package| script(&package).is_some())
        })
        .map(str::to_owned)
        .collect()
}

/// Returns how a tool for several packages runs all tests, if there is one.
fn orchestrator(survey: &Survey, dir: &str, package: &Value) -> Option<String> {
    let rows = [
        ("turbo.json", "turbo", "npx turbo run test"),
        ("nx.json", "nx", "npx nx run-many -t test"),
        ("lerna.json", "lerna", "npx lerna run test"),
    ];
    let found =
        rows.into_iter().find(|(file, name, _)| survey.has(&join(dir, file)) && depends(package, name));
    found.map(|(_, _, command)| command.to_owned())
}

fn depends(package: &Value, name: &str) -> bool {
    ["devDependencies", "dependencies"].iter().any(|kind| package[*kind].get(name).is_some())
}

fn has_dependencies(package: &Value) -> bool {
    ["devDependencies", "dependencies"]
        .iter()
        .any(|kind| package[*kind].as_object().is_some_and(|names| !names.is_empty()))
}

fn is_test(file: &str) -> bool {
    [".test.js", ".test.mjs", ".test.cjs", ".test.ts", ".test.mts", ".test.cts"]
        .iter()
        .any(|ending| file.ends_with(ending))
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
