//! `checkmate serve`: drives runs for clients, and serves the panel.

use std::path::PathBuf;

use super::{Place, read};
use crate::daemon::{self, Options};
use crate::error::CommandError;
use crate::exit_code;

/// The port of system A.
const PORT: u16 = 9876;

/// Drive runs for clients that connect by WebSocket, and serve the panel
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A folder in a repository to work in; can be given several times (default: $WORKSPACE_ROOT, else the current one)
    #[arg(long, value_name = "DIR")]
    workspace: Vec<PathBuf>,
    /// The port on 127.0.0.1 and ::1; 0 takes any that is free
    #[arg(long, default_value_t = PORT, value_name = "N")]
    port: u16,
    /// Let programs of this machine in without the token, as long as no web page sends them
    #[arg(long)]
    allow_local_unauthenticated: bool,
    /// The most runs that go on at once; the others wait (default: one for each processor)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    max_runs: Option<u16>,
    /// Scripted agents instead of models, for every run
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let mut workspaces = args.workspace.clone();
    if workspaces.is_empty() {
        let named = std::env::var_os("WORKSPACE_ROOT").filter(|root| !root.is_empty()).map(PathBuf::from);
        workspaces.push(match named {
            Some(root) if place.repo.is_none() => root,
            Some(_) | None => place.directory()?,
        });
    }
    for folder in &mut workspaces {
        *folder = folder.canonicalize().map_err(|error| {
            CommandError::usage(format!("The workspace {} is no folder: {error}.", folder.display()))
        })?;
    }
    let script = args.replay.as_deref().map(|path| read("replay script", path)).transpose()?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    daemon::serve(Options {
        workspaces,
        port: args.port,
        open: args.allow_local_unauthenticated,
        runs_at_once: args.max_runs.map_or(processors, usize::from),
        script,
    })?;
    Ok(exit_code::DONE)
}
