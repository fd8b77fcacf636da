//! Cycles as scripts: what agents say and what checks show on one side, what the machine asks for and tells on the other.
//!
//! A fixture has up to four sections.
//!
//! - `== policy`: one rule a line: `max_iterations 2`, `review_mode final_only`, `moderator`, `evidence`, …; and the
//!   task's own `goal TEXT` and `kind bugfix`.
//! - `== world`: the answers, first come first served for each kind of question. What is not said is pleasant: tests
//!   pass, patches fit, changes land. `! retry` and the like are commands, given when nothing is outstanding.
//! - `== prompts`: `build 2 has TEXT` and `review 1 lacks TEXT`; the number counts the calls for that purpose.
//! - `== expect`: `>` what is asked for, ` ` what is told, `=` how it ends. `BLESS=1` writes this section anew.

#![expect(clippy::disallowed_methods, reason = "the fence is for the machine; its tests read fixtures")]

#[cfg(test)]
mod script;

use std::fs;
use std::path::Path;

#[test]
fn cycles() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cycles");
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 30, "the fixtures are missing: {}", paths.len());
    let wrong: Vec<String> = paths.iter().filter_map(|path| check(path).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[cfg(test)]
fn check(path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).unwrap();
    let name = path.file_stem().unwrap().to_string_lossy();
    let (told, wrong) = script::play(&text);
    let (before, expected) = text.split_once("== expect\n").unwrap_or((&text, ""));
    if !wrong.is_empty() {
        return Err(format!("{name}: {}\n{told}", wrong.join("\n")));
    }
    if expected == told {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, format!("{before}== expect\n{told}")).unwrap();
        return Ok(());
    }
    Err(format!("{name} went otherwise:\n{}", similar::TextDiff::from_lines(expected, &told).unified_diff()))
}
