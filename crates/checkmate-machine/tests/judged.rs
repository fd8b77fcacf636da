//! Laws of the verdict.
