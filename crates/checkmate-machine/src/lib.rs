//! Every decision of Checkmate, without any I/O.
//!
//! The machine is told what happened ([`event::Event`]) and says what to do next ([`effect::Effect`]). It reads no
//! clock, file, environment variable or random number, so a journal of events replays to the same state.

pub mod command;
pub mod effect;
pub mod event;
pub mod evidence;
pub mod ids;
pub mod patch;
pub mod reply;
