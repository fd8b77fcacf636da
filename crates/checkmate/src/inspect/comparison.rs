//! Which calls show a difference between old and new code.

use checkmate_machine::facts::{Comparison, FileFacts};

use super::Wish;
use super::functions::Functions;

/// Returns a program that calls the functions that the change touches, where they can be called by themselves.
pub(super) fn of(_wish: &Wish<'_>, _files: &[FileFacts], _functions: &Functions) -> Option<Comparison> {
    None
}
