//! placeholder until merged
use crate::evidence::Receipt;
use crate::facts::Comparison;
use std::collections::BTreeMap;
/// d
pub struct Difference {
    /// c
    pub call: u32,
    /// b
    pub before: String,
    /// a
    pub after: String,
}
/// r
pub fn results(_c: &Comparison, _s: &str) -> BTreeMap<u32, String> {
    BTreeMap::new()
}
/// d
pub fn differences(_c: &Comparison, _b: &Receipt, _a: &Receipt) -> Vec<Difference> {
    Vec::new()
}
/// o
pub fn only_at_literals(_c: &Comparison, _b: &Receipt, _a: &Receipt) -> Vec<String> {
    Vec::new()
}
