//! What brings the old tests, the new tests or the old code back.

use checkmate_machine::effect::Layer;
use checkmate_machine::facts::FileFacts;

use super::Wish;
use super::functions::Functions;

/// Lays the tests and the test configuration of the base over the candidate.
pub(super) fn old_tests(_wish: &Wish<'_>, _files: &[FileFacts]) -> Vec<Layer> {
    Vec::new()
}

/// Lays the candidate's tests over the base.
pub(super) fn new_tests(_wish: &Wish<'_>, _files: &[FileFacts]) -> Vec<Layer> {
    Vec::new()
}

/// Takes the changed functions of the candidate back: to their old bodies, or to a stub where they are new.
pub(super) fn reverted(_wish: &Wish<'_>, _functions: &Functions) -> Vec<Layer> {
    Vec::new()
}
