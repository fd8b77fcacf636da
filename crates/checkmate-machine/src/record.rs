//! What a cycle remembers and prompts show: finished turns, missing tests, a finding before the arbiter.

use crate::reply::{BuilderReply, Review};
use crate::verdict::evidence::Objection;

/// One finished turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRecord {
    /// Its number, from 1.
    pub turn: u32,
    /// The maker's reply.
    pub reply: BuilderReply,
    /// Commands of the maker that were refused, in the words it was told.
    pub refusals: Vec<String>,
    /// How it ended.
    pub end: TurnEnd,
}

/// How a turn ended that did not end the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The patch could not be placed; nothing changed.
    Rejected(Vec<String>),
    /// The change touches what it may not; nothing changed.
    NotAllowed(Vec<String>),
    /// A person looked at the change and did not want it; nothing changed. What they said may be empty.
    Declined(String),
    /// The tests are red, or there is no evidence; one sentence says why.
    Red(String),
    /// The evidence is against the change; one sentence each says why.
    Evidence(Vec<String>),
    /// The evidence raises objections that are neither mended nor answered.
    Objected(Vec<Objection>),
    /// The checker objects.
    Reviewed(Review),
    /// An arbiter's test confirmed a finding.
    Confirmed(String),
    /// It was approved but did not fit the user's tree any more.
    DidNotLand(String),
    /// A person said something that the maker has not read.
    Commented,
}

/// What a person said about the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// What.
    pub text: String,
    /// The file that it is about.
    pub path: Option<String>,
    /// The line of that file, from 1.
    pub line: Option<u32>,
}

/// A test that the checker misses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraTest {
    /// Its name in prompts: `test-1`, `test-2`, …
    pub id: String,
    /// What it should show, in the checker's words.
    pub text: String,
    /// What the maker said about it, once it did.
    pub answer: Option<String>,
}

/// A finding before the arbiter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispute {
    /// The finding's id.
    pub finding: String,
    /// The test's patch, once written.
    pub patch: String,
    /// Why the attempt before was invalid.
    pub invalid: Option<String>,
    /// The attempt, from 1.
    pub attempt: u32,
}
