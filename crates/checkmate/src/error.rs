//! What a command says when it cannot do what it was asked for.

use std::fmt;

use crate::exit_code;

/// The error of a command: what went wrong and what to do next, in full sentences.
#[derive(Debug)]
pub struct CommandError {
    kind: Kind,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usage,
    Configuration,
    Local,
    Interrupted,
}

impl CommandError {
    /// The command line names something that is not there or does not fit.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, message: message.into() }
    }

    /// The configuration or the environment has to be mended.
    pub fn configuration(message: impl Into<String>) -> Self {
        Self { kind: Kind::Configuration, message: message.into() }
    }

    /// Something on this machine failed.
    pub fn local(message: impl Into<String>) -> Self {
        Self { kind: Kind::Local, message: message.into() }
    }

    /// The user interrupted it.
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self { kind: Kind::Interrupted, message: message.into() }
    }

    /// Returns the exit code of a command that ends with this error.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Usage => exit_code::USAGE,
            Kind::Configuration | Kind::Local => exit_code::ERROR,
            Kind::Interrupted => exit_code::INTERRUPTED,
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CommandError {}

impl From<crate::workspace::WorkspaceError> for CommandError {
    fn from(error: crate::workspace::WorkspaceError) -> Self {
        Self::local(error.to_string())
    }
}

impl From<crate::config::ConfigError> for CommandError {
    fn from(error: crate::config::ConfigError) -> Self {
        Self::configuration(error.to_string())
    }
}

impl From<crate::agents::AgentError> for CommandError {
    fn from(error: crate::agents::AgentError) -> Self {
        Self::configuration(error.to_string())
    }
}

impl From<crate::agents::ScriptError> for CommandError {
    fn from(error: crate::agents::ScriptError) -> Self {
        Self::configuration(error.to_string())
    }
}
