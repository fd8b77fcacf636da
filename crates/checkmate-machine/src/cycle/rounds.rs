//! What a cycle counts and keeps beside its turns.

/// Earlier turns in fewer words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    /// How many turns it covers.
    pub(super) turns: usize,
    /// The maker's model's words.
    pub(super) text: String,
}

/// Rounds within a turn that use up no turn and are therefore bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Rounds {
    pub(super) reads: u32,
    pub(super) diagnostics: u32,
    pub(super) checks: u32,
    pub(super) landings: u32,
}
