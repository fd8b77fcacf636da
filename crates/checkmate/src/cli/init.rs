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
    let detected = detect::detect(root);
    for finding in &detected.findings {
        anstream::eprintln!("{finding}");
    }
    std::fs::write(path, detect::render(&detected))
        .map_err(|error| CommandError::local(format!("{} could not be written: {error}.", path.display())))?;
    anstream::eprintln!(
        "Wrote {}. Choose the models in it, set the keys it names in the environment, then: checkmate run \"GOAL\"",
        path.display()
    );
    Ok(())
}
