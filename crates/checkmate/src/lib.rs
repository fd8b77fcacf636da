//! Checkmate's shell: everything that touches the world. Decisions are in `checkmate_machine`.
//!
//! Reading order: [`cli`] (one file per subcommand), [`session`] and [`driver`] (a run and its loop), [`journal`],
//! then what performs effects: [`agents`], [`workspace`], [`inspect`], [`process`] with [`report`], [`human`].
//! Whoever shows a run implements [`watch`]: [`ui`] at a terminal, [`daemon`] for clients, who speak [`wire`].

pub mod cli;

pub mod doctor;
pub mod driver;
pub mod forecast;
pub mod journal;
pub mod launch;
pub mod session;
pub mod trial;
pub mod undo;

pub mod agents;
pub mod human;
pub mod inspect;
pub mod interrupt;
pub mod process;
pub mod report;
pub mod workspace;

pub mod config;
pub mod daemon;
pub mod state;

pub mod error;
pub mod exit_code;
pub mod redact;
pub mod ui;
pub mod watch;
pub mod wire;

#[cfg(test)]
mod documentation;
