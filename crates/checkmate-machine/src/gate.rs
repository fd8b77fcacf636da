//! What may be touched, read and run. A gate decides before every effect on the world; it never asks a model.

pub mod commands;
pub mod paths;
