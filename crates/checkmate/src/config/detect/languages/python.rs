//! Python projects: pytest or unittest, and whatever keeps their packages.

use super::{Manifest, join};
use crate::config::detect::survey::Survey;

/// What runs the tests.
enum Runner {
    Pytest,
    Unittest,
    Django,
}

pub(super) fn manifest(survey: &Survey, dir: &str) -> Option<Manifest> {
    let at = |name: &str| join(dir, name);
    let known = [
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "requirements.txt",
        "pytest.ini",
        "tox.ini",
        "noxfile.py",
        "Pipfile",
    ];
    let manifest = known.into_iter().find(|name| survey.has(&at(name)));
    manifest.map(|_| of(survey, dir))
}

/// Takes files without a manifest for a project, if there are any.
pub(super) fn without_manifest(survey: &Survey) -> Option<Manifest> {
    survey.files().any(|file| file.ends_with(".py")).then(|| of(survey, ""))
}

fn of(survey: &Survey, dir: &str) -> Manifest {
    let at = |name: &str| join(dir, name);
    let (mut evidence, runner) = runner(survey, dir);
    let mut notes = Vec::new();
    let (python, keeper) = interpreter(survey, dir, &mut notes);
    if let Some(keeper) = keeper {
        evidence = format!("{evidence}, and {keeper}");
    }
    if let Some(name) = ["tox.ini", "noxfile.py"].into_iter().find(|name| survey.has(&at(name))) {
        notes.push(format!(
            "{name} is there, but it installs packages for each run and tests have no network, so they are run directly."
        ));
    }
    // `python -m` puts the root on the import path, which `pytest` alone does not.
    let command = match &runner {
        Runner::Pytest => format!("{python} -m pytest"),
        Runner::Django => format!("{python} manage.py test"),
        Runner::Unittest => {
            // Without `__init__.py`, discovery does not look into a directory by itself.
            let folder = ["tests", "test"].into_iter().find(|folder| {
                !survey.has(&at(&format!("{folder}/__init__.py")))
                    && tests(survey, dir).iter().any(|file| file.starts_with(&at(&format!("{folder}/"))))
            });
            let start = folder.map_or_else(String::new, |folder| format!(" -s {folder}"));
            format!("{python} -m unittest discover{start}")
        }
    };
    let needs = if python.starts_with(".venv/") { vec![".venv"] } else { Vec::new() };
    let guessed = matches!(runner, Runner::Unittest) && tests(survey, dir).is_empty();
    Manifest {
        evidence,
        command: Some(command),
        guessed,
        members: vec![String::new()],
        needs,
        notes,
        name: None,
    }
}

/// Says what runs the tests, and what shows it.
fn runner(survey: &Survey, dir: &str) -> (String, Runner) {
    let tests = tests(survey, dir);
    let imports = |module: &str| {
        tests.iter().take(200).filter_map(|file| survey.read(file)).any(|text| {
            text.lines().any(|line| {
                let mut words = line.split([' ', '.', ',', '\t']).filter(|word| !word.is_empty());
                matches!(words.next(), Some("import" | "from")) && words.next() == Some(module)
            })
        })
    };
    let called = |module: &str| {
        ["tox.ini", "noxfile.py"]
            .into_iter()
            .find(|name| survey.read(&join(dir, name)).is_some_and(|text| text.contains(module)))
    };
    if let Some(name) = pytest_configuration(survey, dir) {
        (format!("pytest configured in {name}"), Runner::Pytest)
    } else if let Some(name) = called("pytest") {
        (format!("pytest called in {name}"), Runner::Pytest)
    } else if imports("pytest") {
        ("tests that import pytest".into(), Runner::Pytest)
    } else if survey.read(&join(dir, "manage.py")).is_some_and(|text| text.contains("django")) {
        ("Django's manage.py".into(), Runner::Django)
    } else if let Some(name) = called("unittest") {
        (format!("unittest called in {name}"), Runner::Unittest)
    } else if tests.is_empty() {
        ("Python files but no tests".into(), Runner::Unittest)
    } else if imports("unittest") {
        ("tests that import unittest".into(), Runner::Unittest)
    } else {
        ("test_*.py files".into(), Runner::Pytest)
    }
}

/// Says which Python runs the tests, and what keeps its packages.
fn interpreter(survey: &Survey, dir: &str, notes: &mut Vec<String>) -> (String, Option<&'static str>) {
    let at = |name: &str| join(dir, name);
    let poetry = survey.has(&at("poetry.lock"))
        || survey.read(&at("pyproject.toml")).is_some_and(|text| text.contains("[tool.poetry]"));
    let keepers = [
        (survey.has(&at("uv.lock")), "uv.lock", "uv sync"),
        (survey.has(&at("pdm.lock")), "pdm.lock", "pdm install"),
        (poetry, "poetry", "poetry install"),
        (survey.has(&at("Pipfile")), "Pipfile", "pipenv install --dev"),
    ];
    let keeper = keepers.into_iter().find(|(there, ..)| *there).map(|(_, name, install)| (name, install));
    let venv = [".venv", "venv"].into_iter().find(|venv| survey.is_there(&at(&format!("{venv}/bin/python"))));
    match (venv, keeper) {
        (Some(venv), keeper) => (format!("{venv}/bin/python"), keeper.map(|(name, _)| name)),
        (None, Some((name @ ("uv.lock" | "pdm.lock"), install))) => {
            notes.push(format!(
                "Its packages are not installed: run `{install}`, because tests have no network."
            ));
            (".venv/bin/python".into(), Some(name))
        }
        // Their environments lie elsewhere unless they were told otherwise.
        (None, Some((name @ "poetry", _))) => ("poetry run python".into(), Some(name)),
        (None, Some((name @ "Pipfile", _))) => ("pipenv run python".into(), Some(name)),
        (None, Some(_) | None) => ("python3".into(), None),
    }
}

fn tests<'a>(survey: &'a Survey, dir: &'a str) -> Vec<&'a str> {
    survey.below(dir).filter(|file| is_test(file)).collect()
}

fn is_test(file: &str) -> bool {
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
