//! Tests of Go.

use super::{Dialect, Found, Helper, Helpers, Marks, Scope};
use crate::inspect::outline::Outline;
use checkmate_machine::facts::Strength;

pub(super) struct Go;

impl Dialect for Go {
    fn tests(&self, _outline: &Outline<'_>) -> Vec<Found> {
        Vec::new()
    }
    fn functions<'t>(&self, _outline: &Outline<'t>) -> Helpers<'t> {
        Helpers::<'t>::from([("", Helper { body: 0, waits: false })])
    }
    fn assertion(&self, _scope: &Scope<'_, '_>, _at: usize) -> Option<Strength> {
        None
    }
    fn mark(&self, _scope: &Scope<'_, '_>, _at: usize, _marks: &mut Marks) {}
    fn called<'t>(&self, _outline: &Outline<'t>, _at: usize) -> Option<&'t str> {
        None
    }
}
