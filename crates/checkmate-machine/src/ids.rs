//! Names of things that the shell makes and the machine only compares.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps a name; the machine never looks inside it.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// Names a run for as long as its journal exists.
    RunId
}
id! {
    /// Names a task within its run.
    TaskId
}
id! {
    /// Names a git tree: the hash of everything in it.
    TreeId
}
id! {
    /// Names a git commit.
    CommitId
}

/// Names a person's or an agent's part in a run, independent of the preset's display name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The maker.
    Builder,
    /// The checker.
    Reviewer,
    /// Breaks ties.
    Moderator,
    /// Writes probes from the goal, without a look at the change.
    Examiner,
}

impl Role {
    /// Every role, in the order in which a run meets them.
    pub const ALL: [Role; 4] = [Role::Builder, Role::Reviewer, Role::Moderator, Role::Examiner];

    /// Returns the name used in configuration, replay scripts and events.
    pub fn name(self) -> &'static str {
        match self {
            Role::Builder => "builder",
            Role::Reviewer => "reviewer",
            Role::Moderator => "moderator",
            Role::Examiner => "examiner",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
