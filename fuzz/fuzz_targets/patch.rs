//! Patches: mangled diffs, strings of patch lines, and any text, each against a small tree.

#![no_main]

use checkmate_fuzz::case::Case;
use checkmate_fuzz::laws;

libfuzzer_sys::fuzz_target!(|case: Case| laws::hold(&case));
