//! Runs that another process drives, such as `checkmate run` at a terminal: their journals are told as they grow.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use checkmate_machine::ids::TaskId;
use checkmate_machine::run::Run;

use super::feed::{Feed, Teller};
use super::{Board, Daemon};
use crate::error::CommandError;
use crate::journal;
use crate::session::TASK;
use crate::wire::Standing;

/// How often a journal is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How many looks a feed is kept up to date that nobody follows.
const PATIENCE: u32 = 40;

/// Reads the feed of a run that nobody here drives, and follows it where somebody else does.
pub(super) fn told(daemon: &Daemon, folder: &Path) -> Result<Arc<Feed>, CommandError> {
    // Looked at first: what is written after this look is told by the follower.
    let driven = journal::is_driven(folder);
    let contents = journal::read(folder)?;
    let feed = Arc::new(Feed::new(contents.header.clone(), Standing::Interrupted));
    let mut teller = Teller { feed: Arc::clone(&feed), desk: None, changed: None };
    let run = contents.retell(&mut teller)?;
    feed.read_up_to(contents.length());
    if driven {
        let told = contents.records().count();
        let follower = Follower {
            feed: Arc::downgrade(&feed),
            board: Arc::clone(&daemon.board),
            folder: folder.to_owned(),
            run,
            told,
        };
        feed.follow(true);
        let name = format!("follow {}", feed.state().run);
        if std::thread::Builder::new().name(name).spawn(move || follower.follow()).is_err() {
            feed.follow(false);
        }
    } else if is_open(&run) {
        feed.stands(Standing::Interrupted, None);
    }
    Ok(feed)
}

fn is_open(run: &Run) -> bool {
    run.outcome(&TaskId::new(TASK)).is_none()
}

struct Follower {
    /// It goes when nobody needs it any more.
    feed: Weak<Feed>,
    board: Arc<Board>,
    folder: PathBuf,
    run: Run,
    told: usize,
}

impl Follower {
    fn follow(mut self) {
        let mut unheard = 0;
        loop {
            std::thread::sleep(LOOK);
            let Some(feed) = self.feed.upgrade() else { return };
            let driven = journal::is_driven(&self.folder);
            unheard = if feed.is_heard() { 0 } else { unheard + 1 };
            let told = self.tell(&feed);
            if driven && told.is_ok() && unheard < PATIENCE {
                continue;
            }
            feed.follow(false);
            match told {
                Err(error) => feed.fail(&error.to_string()),
                Ok(()) if !driven && is_open(&self.run) => feed.stands(Standing::Interrupted, None),
                Ok(()) => {}
            }
            self.board.set(feed.state());
            return;
        }
    }

    /// Tells what has been written since the last look.
    fn tell(&mut self, feed: &Arc<Feed>) -> Result<(), CommandError> {
        let length = std::fs::metadata(self.folder.join(crate::state::JOURNAL)).map(|file| file.len());
        if length.is_ok_and(|length| feed.has_read(length)) {
            return Ok(());
        }
        let contents = journal::read(&self.folder)?;
        let changed = Some(Box::new(Arc::clone(&self.board)) as super::feed::Changed);
        let mut teller = Teller { feed: Arc::clone(feed), desk: None, changed };
        self.told = contents.retell_from(&mut self.run, self.told, &mut teller)?;
        feed.read_up_to(contents.length());
        Ok(())
    }
}
