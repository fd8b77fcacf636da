//! Telling places that a change adds.

use checkmate_machine::facts::{FileRole, Spot};

use super::{Source, Wish};

/// Returns the telling places of the new side that the old side does not have.
pub(super) fn added(
    _wish: &Wish<'_>,
    _path: &str,
    _role: FileRole,
    _before: Option<&Source>,
    _after: Option<&Source>,
) -> Vec<Spot> {
    Vec::new()
}
