//! Every decision of Checkmate, without any I/O.
//!
//! The machine is told what happened ([`event::Event`]) and says what to do next ([`effect::Effect`]). It reads no
//! clock, file, environment variable or random number, so a journal of events replays to the same state.
//!
//! Reading order: [`spec`] (what a run is told), [`event`] and [`effect`] (how it talks to the shell), [`run`] and
//! [`cycle`] (the loop), [`evidence`], [`finding`] and [`verdict`] (what decides), [`gate`], [`patch`], [`reply`] and
//! [`prompt`] (what it reads and writes).

pub mod budget;
pub mod spec;
pub mod task;

pub mod effect;
pub mod event;
pub mod notice;
pub mod outcome;

pub mod cycle;
pub mod record;
pub mod run;
pub mod schedule;

pub mod compared;
pub mod evidence;
pub mod facts;
pub mod finding;
pub mod verdict;

pub mod command;
pub mod gate;
pub mod patch;
pub mod probe;
pub mod prompt;
pub mod reply;

pub mod excerpt;
pub mod ids;
