//! Notices what other programs do to runs, such as `checkmate run`, `land` and `undo` at a terminal, and tells it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use super::history::Progress;
use super::{Daemon, runs};

/// How often is looked.
const LOOK: Duration = Duration::from_secs(1);
/// How much of each look goes into the index of past runs.
const LEARN: Duration = Duration::from_millis(250);
/// How many of a workspace's latest runs are told when one was added.
const LATEST: usize = 4;

/// Looks as long as the daemon lives, on a thread of its own.
pub(super) fn begin(daemon: &Arc<Daemon>) {
    let daemon = Arc::downgrade(daemon);
    // Without it, what other programs do is told when somebody asks.
    std::thread::Builder::new().name("lookout".into()).spawn(move || look(&daemon)).ok();
}

fn look(daemon: &Weak<Daemon>) {
    let (mut seen, mut known, mut opened) = (Seen::new(), BTreeMap::new(), 0);
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
        let roots = daemon.workspaces.roots();
        let end = Instant::now() + LEARN;
        if opened != daemon.history.opened() {
            opened = daemon.history.opened();
            known.clear();
        }
        for root in &roots {
            look_at(&daemon, root.clone(), &mut seen);
            learn(&daemon, root, &mut known, end);
        }
    }
}

/// Lets the index of past runs come a bit further, so that the first search finds everything.
fn learn(daemon: &Daemon, root: &Path, known: &mut BTreeMap<PathBuf, Progress>, end: Instant) {
    let before = match known.get(root) {
        Some(Progress::Whole) => return,
        Some(Progress::DownTo(run)) => Some(run.clone()),
        Some(Progress::Nothing) | None => None,
    };
    let Some(project) = daemon.workspaces.project(root) else { return };
    // What fails here is found out again by whoever searches.
    if let Ok(progress) = daemon.history.learn(&project, before.as_ref(), end) {
        known.insert(root.to_owned(), progress);
    }
}

/// When the folder of each workspace's runs changed last, by its root; `None` if there was none.
type Seen = BTreeMap<PathBuf, Option<SystemTime>>;

/// Tells the latest runs of a workspace if one was added or removed since the last look.
fn look_at(daemon: &Daemon, root: PathBuf, seen: &mut Seen) {
    let Some(project) = daemon.workspaces.project(&root) else { return };
    let changed = std::fs::metadata(project.runs.path()).and_then(|metadata| metadata.modified()).ok();
    let before = seen.insert(root, changed);
    if before.is_some_and(|before| before != changed) {
        let live = |id: &_| daemon.runs.live(id).map(|live| live.feed.state());
        if let Ok((states, _)) = daemon.history.list(&project, None, LATEST, live) {
            states.into_iter().for_each(|state| daemon.board.set(state));
        }
    }
}
