//! `checkmate init`: writes a good configuration for the repository.

use std::path::Path;

use super::Place;
use crate::config::{self, detect};
use crate::error::CommandError;
use crate::exit_code;

/// Write a good .dualagent.json for this repository
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Replace a configuration that is there
    #[arg(long)]
    force: bool,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let project = place.project()?;
    let path = project.repository.root().join(config::FILE_NAME);
    if path.exists() && !args.force {
        return Err(CommandError::configuration(format!(
            "{} is there already. Edit it, or replace it with `checkmate init --force`.",
            path.display()
        )));
    }
    write(project.repository.root(), &path)?;
    Ok(exit_code::DONE)
}

/// Writes the configuration and says what was found.
pub(super) fn write(root: &Path, path: &Path) -> Result<(), CommandError> {
    let detected = detect::write(root, path)
        .map_err(|error| CommandError::local(format!("{} could not be written: {error}.", path.display())))?;
    for finding in &detected.findings {
        anstream::eprintln!("{finding}");
    }
    anstream::eprintln!(
        "Wrote {}. The models in it are proposals that nobody has checked: choose yours, set their keys in the environment, \
         and let `checkmate doctor` look whether models, keys and test command are what a run needs. Then: checkmate run \
         \"GOAL\"",
        path.display()
    );
    Ok(())
}
