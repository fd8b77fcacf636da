//! What the tests of Checkmate are made of; development only.

pub mod simulator;
