//! `checkmate serve`: drives runs for clients that connect by WebSocket, and serves the panel. Nothing here decides
//! anything: clients say what they want, and see what happens.
//!
//! `Daemon` holds what all connections share. `runs` drives runs, each on a thread of its own; `feed` is what is told
//! of one, and `follower` of one that another process drives, which `lookout` notices; connections begin in
//! the `lobby`, where the `door` decides who comes in, and `connection` is one client; `history` finds past runs.

mod assets;
mod connection;
mod door;
mod feed;
mod follower;
mod history;
mod lobby;
mod lookout;
mod requests;
mod runs;
mod server;
mod settings;
mod workspaces;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use checkmate_machine::ids::RunId;
use tokio::sync::{Notify, watch};

use self::feed::Ring;
use self::history::History;
use self::runs::Runs;
use self::settings::Trials;
use self::workspaces::Workspaces;
use crate::error::CommandError;
use crate::journal::Sandbox;
use crate::wire::RunState;

pub use self::server::{Options, serve};

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Daemon {
    workspaces: Workspaces,
    runs: Runs,
    trials: Trials,
    history: History,
    board: Arc<Board>,
    /// Scripted agents for every run, instead of models.
    script: Option<String>,
    /// Whether programs of this machine come in without the token.
    open: bool,
    /// Becomes true when the daemon is to end.
    ending: watch::Sender<bool>,
}

impl Daemon {
    /// Refuses to run commands that could come in like any program of this machine: what a model has written could answer
    /// for the user.
    fn refuse_reachable(&self, sandbox: Option<&Sandbox>) -> Result<(), CommandError> {
        let cut_off = sandbox.is_some_and(|sandbox| !sandbox.network && sandbox.support.namespaces);
        if !self.open || cut_off {
            return Ok(());
        }
        Err(CommandError::local(
            "Commands of runs could reach this daemon, which lets every program of this machine in: they are not cut off from \
             the network (`network`, `sandbox`, or what `checkmate doctor` says of this machine). Start `checkmate serve` \
             without `--allow-local-unauthenticated`, or confine them.",
        ))
    }
}

/// Where runs stand, for everybody who watches them. Whoever watches has seen it up to a number, and takes what is newer;
/// of a run that changed often only the latest state is told.
#[derive(Debug, Default)]
struct Board {
    states: Mutex<States>,
}

#[derive(Debug, Default)]
struct States {
    latest: u64,
    runs: BTreeMap<RunId, (u64, RunState)>,
    bells: Vec<Weak<Notify>>,
}

impl Board {
    fn states(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to watch: returns the number up to which nothing is new.
    fn watch(&self, bell: &Arc<Notify>) -> u64 {
        let mut states = self.states();
        states.bells.retain(|bell| bell.strong_count() > 0);
        states.bells.push(Arc::downgrade(bell));
        states.latest
    }

    /// Returns what is newer than a number, and the number up to which that is.
    fn since(&self, seen: u64) -> (Vec<RunState>, u64) {
        let states = self.states();
        let newer = states.runs.values().filter(|(number, _)| *number > seen);
        (newer.map(|(_, state)| state.clone()).collect(), states.latest)
    }

    fn set(&self, state: RunState) {
        let mut states = self.states();
        if states.runs.get(&state.run).is_some_and(|(_, known)| *known == state) {
            return;
        }
        states.latest += 1;
        let latest = states.latest;
        states.runs.insert(state.run.clone(), (latest, state));
        for bell in states.bells.iter().filter_map(Weak::upgrade) {
            bell.notify_one();
        }
    }
}

impl Ring for Arc<Board> {
    fn ring(&self, state: RunState) {
        self.set(state);
    }
}

/// Where the daemon keeps its token, its lock and its address.
pub(crate) fn folder() -> Result<PathBuf, CommandError> {
    Ok(crate::state::folder()?.join("daemon"))
}
