//! The exit codes of every command; scripts rely on them.

/// Approved, passed, done.
pub const DONE: u8 = 0;
/// Something failed: configuration, infrastructure, or a bug of Checkmate.
pub const ERROR: u8 = 1;
/// A decision against the change, or one that a person has to take.
pub const NOT_APPROVED: u8 = 2;
/// The command line was wrong.
pub const USAGE: u8 = 64;
/// Interrupted; `checkmate resume` goes on.
pub const INTERRUPTED: u8 = 130;
