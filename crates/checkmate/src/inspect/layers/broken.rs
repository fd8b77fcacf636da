//! Breaks every test file on purpose, to see whether the test command still notices.

use checkmate_machine::effect::Layer;
use checkmate_machine::facts::{FileFacts, FileRole};

use super::super::{Wish, roles};

/// So many files are broken at most; one that runs is enough.
const MOST: usize = 200;

/// Lays a first line over the candidate's test files that none of them survives; nothing unless the change touches what
/// decides how tests run.
pub(in super::super) fn broken(wish: &Wish<'_>, files: &[FileFacts]) -> Vec<Layer> {
    let steers = |file: &FileFacts| match file.role {
        FileRole::TestConfig | FileRole::BuildConfig | FileRole::Environment => true,
        FileRole::Manifest => !file.entries.is_empty(),
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
        // A file of Rust's may hold tests or none.
        let holds_tests =
            ending != "rs" || wish.after.text(path).is_some_and(|text| text.contains("#[test]"));
        (roles::may_hold_tests(path) && holds_tests && wish.after.text(path).is_some()).then(|| first(ending))
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
        _ => "(((broken on purpose",
    }
}
