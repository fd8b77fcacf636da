//! The tests of the machine from outside: fixtures, each through one check, and properties.
#![expect(
    clippy::disallowed_methods,
    reason = "fixtures are files, and reading them is not the machine's doing"
)]
#![expect(clippy::unwrap_used, reason = "a fixture that cannot be read fails its test")]

#[cfg(test)]
mod judged;
mod patches;
mod perturbed;
#[cfg(test)]
#[path = "script/receipt.rs"]
mod receipt;
mod replies;
#[cfg(test)]
#[path = "script/shorthand.rs"]
mod shorthand;
#[cfg(test)]
mod verdicts;
