//! Breaks every test file on purpose, to see whether the test command still notices.

use checkmate_machine::effect::Layer;
use checkmate_machine::facts::{FileFacts, FileRole, Section};

use super::super::{Wish, roles};

/// So many files are broken at most; one that runs is enough.
const MOST: usize = 2_000;

/// Lays a first line over the test files of before that are still there, which none of them survives; nothing unless the change touches what
/// decides how tests run.
pub(in super::super) fn broken(wish: &Wish<'_>, files: &[FileFacts]) -> Vec<Layer> {
    let steers = |file: &FileFacts| match file.role {
        FileRole::TestConfig | FileRole::BuildConfig | FileRole::Environment => true,
        FileRole::Manifest => file.entries.iter().any(|entry| match entry.section {
            Section::TestScript | Section::TestConfig | Section::Build => true,
            Section::Dependency | Section::InstallScript | Section::Description => false,
        }),
        FileRole::Test
        | FileRole::TestSupport
        | FileRole::Code
        | FileRole::Docs
        | FileRole::Ci
        | FileRole::Lock
        | FileRole::Git
        | FileRole::Other => false,
    };
    if !files.iter().any(steers) {
        return Vec::new();
    }
    let line = |path: &str| {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        let text = wish.after.text(path).filter(|_| roles::may_hold_tests(path) && wish.before.has(path))?;
        // A file of Rust's may hold tests or none.
        let tests = ["#[test]", "::test]", "#[rstest", "::test("];
        (ending != "rs" || tests.iter().any(|test| text.contains(test))).then(|| first(ending))
    };
    let broken = wish.after.paths().filter_map(|path| Some((path, line(path)?)));
    broken
        .take(MOST)
        .map(|(path, line)| Layer::Edit {
            path: path.to_owned(),
            start: 0,
            end: 0,
            text: format!("{line}\n"),
        })
        .collect()
}

/// Returns a line that ends a program of this kind, or that is none.
fn first(ending: &str) -> &'static str {
    match ending {
        "py" => "raise AssertionError('broken on purpose')",
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => {
            "throw new Error('broken on purpose');"
        }
        "rs" => "compile_error!(\"broken on purpose\");",
        "sh" | "bash" => "echo 'broken on purpose' >&2; exit 1",
        "rb" => "raise 'broken on purpose'",
        "php" => "<?php throw new Exception('broken on purpose'); ?>",
        _ => "(((broken on purpose",
    }
}
