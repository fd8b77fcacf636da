//! What the fuzz targets share: cases made of the fuzzer's bytes, and the laws that hold for each.
//!
//! ```text
//! bytes ─ choose ─► tree ─ diff ─► real diff ─ mangle ─► text ─ case ─► laws
//! ```

pub mod case;
pub mod choose;
pub mod diff;
pub mod form;
pub mod laws;
pub mod mangle;
pub mod reply;
pub mod tree;
