//! Telling places of files that are read by their lines.

use checkmate_machine::facts::{FileRole, Spot, SpotKind};

use super::words;
use crate::inspect::language::one_line;

/// Returns the telling lines of a text.
pub(super) fn of(path: &str, role: FileRole, text: &str) -> Vec<Spot> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let shell = name.ends_with("sh")
        || name.ends_with(".bats")
        || name.ends_with("makefile")
        || name.ends_with(".mk")
        || role == FileRole::Ci
        || name == "justfile"
        || text.starts_with("#!/bin/")
        || text.starts_with("#!/usr/bin/env bash");
    let test = matches!(role, FileRole::Test | FileRole::TestSupport | FileRole::TestConfig);
    let library = shell && !test && is_library(text);
    let mut spots = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.trim();
        let ends = library && (line == "exit" || line.starts_with("exit "));
        for kind in kinds(code, shell, test).into_iter().chain(ends.then_some(SpotKind::Exit)) {
            if spots.len() < 4000 {
                let line = u32::try_from(number + 1).unwrap_or(u32::MAX);
                spots.push(Spot { kind, line, text: one_line(code) });
            }
        }
    }
    spots
}

/// Tells whether other scripts read a shell file for its functions: it has some, and does not say what runs it. To end the
/// shell there ends theirs.
fn is_library(text: &str) -> bool {
    let defines = |line: &str| {
        let head = line.trim_end().trim_end_matches('{').trim_end();
        let name = head.strip_suffix("()").map(str::trim_end);
        name.is_some_and(|name| !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '$'))
    };
    !text.starts_with("#!") && text.lines().any(defines)
}

fn kinds(code: &str, shell: bool, test: bool) -> Vec<SpotKind> {
    let code = code.get(..2000).unwrap_or(code);
    let mut kinds = Vec::new();
    let word = code.split_whitespace().next().unwrap_or_default();
    if code.starts_with(['#', '/', '*']) || code.contains("//") || code.contains('#') {
        if words::silences(code) {
            kinds.push(SpotKind::Silencer);
        }
        if code.starts_with('#') || code.starts_with("//") {
            return kinds;
        }
    }
    if !test && words::VARIABLES.iter().any(|name| name.len() > 6 && code.contains(name)) {
        kinds.push(SpotKind::TestProbe);
    }
    if shell {
        let spaced = code.replace("||", " || ").split_whitespace().collect::<Vec<_>>().join(" ");
        let ignored = ["|| true", "|| :", "|| echo"].iter().any(|or| spaced.contains(or))
            || spaced.ends_with("|| exit 0")
            || spaced.ends_with("; true")
            || word == "set" && code.contains("+e");
        if ignored || code.starts_with("continue-on-error: true") || code.contains("allow_failure: true") {
            kinds.push(SpotKind::Swallow);
        }
        if test && (code == "exit 0" || code.contains("kill -9 $$") || code.contains("|| exit 0")) {
            kinds.push(SpotKind::Exit);
        }
        if word == "trap" && code.contains("EXIT") && code.contains("exit 0") {
            kinds.push(SpotKind::ExitHook);
        }
        if test && word == "sleep" {
            kinds.push(SpotKind::Sleep);
        }
        if test && (code.contains("$RANDOM") || code.contains("$(date")) {
            kinds.push(SpotKind::Chance);
        }
    } else if test && ["os._exit(", "process.exit(", "sys.exit("].iter().any(|call| code.contains(call)) {
        kinds.push(SpotKind::Exit);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_library_does_not_end_the_shell() {
        let ends = |text: &str| {
            of("lib.sh", FileRole::Code, text).into_iter().filter(|spot| spot.kind == SpotKind::Exit).count()
        };
        let library = "trim() {\n    [ -n \"$1\" ] || exit 2\n}\n";
        assert_eq!(ends(library), 0);
        assert_eq!(ends(&format!("{library}exit 0\n")), 1);
        assert_eq!(ends(&format!("#!/bin/sh\n{library}exit 0\n")), 0);
        assert_eq!(ends("echo done\nexit 0\n"), 0);
    }
}
