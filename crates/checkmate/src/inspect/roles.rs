//! What a file is for, by its path, its place among the others and, where that is not enough, by its text.

use checkmate_machine::facts::FileRole;

use super::Wish;

/// Returns what a changed file is for.
pub(super) fn of(_wish: &Wish<'_>, _path: &str) -> FileRole {
    FileRole::Other
}
