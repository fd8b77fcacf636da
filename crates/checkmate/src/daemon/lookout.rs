//! Notices what other programs do to runs, such as `checkmate run`, `land` and `undo` at a terminal, and tells it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use super::{Daemon, runs};
use crate::session::Project;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(1);
/// After how many looks a workspace that could not be used is tried again.
const PATIENCE: u32 = 30;
/// How many of a workspace's latest runs are told when one was added.
const LATEST: usize = 4;

/// Looks as long as the daemon lives, on a thread of its own.
pub(super) fn begin(daemon: &Arc<Daemon>) {
    let daemon = Arc::downgrade(daemon);
    // Without it, what other programs do is told when somebody asks.
    std::thread::Builder::new().name("lookout".into()).spawn(move || look(&daemon)).ok();
}

/// A workspace as it was at the last look.
#[derive(Debug)]
enum Seen {
    /// It can be used; when its folder of runs changed last.
    Usable(Box<Project>, Option<SystemTime>),
    /// It cannot, for so many looks.
    Unusable(u32),
}

fn look(daemon: &Weak<Daemon>) {
    let mut seen = BTreeMap::new();
    loop {
        std::thread::sleep(LOOK);
        let Some(daemon) = daemon.upgrade() else { return };
        if *daemon.ending.borrow() {
            return;
        }
        for (project, feed) in daemon.runs.heard() {
            let run = feed.state().run;
            if feed.is_fresh(&project.runs.run(&run)) {
                continue;
            }
            // Whoever follows the run is sent on to the new feed. A journal that cannot be read is told when somebody asks.
            if let Ok(newer) = runs::feed(&daemon, &project, &run) {
                daemon.board.set(newer.state());
            }
        }
        for root in daemon.workspaces.roots() {
            look_at(&daemon, root, &mut seen);
        }
    }
}

/// Tells the latest runs of a workspace if one was added or removed since the last look.
fn look_at(daemon: &Daemon, root: PathBuf, seen: &mut BTreeMap<PathBuf, Seen>) {
    let known = seen.remove(&root);
    let (project, before) = match known {
        Some(Seen::Usable(project, changed)) => (project, Some(changed)),
        Some(Seen::Unusable(looks)) if looks < PATIENCE => {
            seen.insert(root, Seen::Unusable(looks + 1));
            return;
        }
        Some(Seen::Unusable(_)) | None => match Project::discover(&root) {
            Ok(project) => (Box::new(project), None),
            Err(_) => {
                seen.insert(root, Seen::Unusable(0));
                return;
            }
        },
    };
    let changed = std::fs::metadata(project.runs.path()).and_then(|metadata| metadata.modified()).ok();
    if before.is_some_and(|before| before != changed) {
        let live = |id: &_| daemon.runs.live(id).map(|live| live.feed.state());
        if let Ok((states, _)) = daemon.history.list(&project, None, LATEST, live) {
            states.into_iter().for_each(|state| daemon.board.set(state));
        }
    }
    seen.insert(root, Seen::Usable(project, changed));
}
