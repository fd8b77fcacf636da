//! Who works at which site: most commands need the run to themselves, a few may run beside each other.
//!
//! Only runs of mutants do, and only where the user says that their tests do not disturb each other (a port, a database, a
//! file in `/tmp`): a mutant that another one turns red would count as noticed.

use std::cmp::Reverse;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The sites of a run.
#[derive(Debug)]
pub(super) struct Sites {
    permits: Arc<Semaphore>,
    count: u32,
    free: Arc<Mutex<Vec<usize>>>,
}

/// The right to work at a site, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    number: usize,
    free: Arc<Mutex<Vec<usize>>>,
    // Given back after the site, which `drop` does.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Sites {
    /// Makes room for so many commands beside each other.
    pub(super) fn new(count: usize) -> Self {
        let count = count.max(1);
        Self {
            permits: Arc::new(Semaphore::new(count)),
            count: u32::try_from(count).unwrap_or(1),
            // The last one is taken first.
            free: Arc::new(Mutex::new((0..count).rev().collect())),
        }
    }

    /// Waits until no command runs, and keeps others from running.
    pub(super) async fn all(&self) -> Place {
        self.place(self.count).await
    }

    /// Waits for a site beside whoever else works at one.
    pub(super) async fn any(&self) -> Place {
        self.place(1).await
    }

    async fn place(&self, permits: u32) -> Place {
        // The semaphore is never closed, so there always is a permit in the end.
        let permit = Arc::clone(&self.permits).acquire_many_owned(permits).await.ok();
        let number = lock(&self.free).pop().unwrap_or_default();
        Place { number, free: Arc::clone(&self.free), _permit: permit }
    }
}

impl Place {
    /// Returns the site's number.
    pub(super) fn number(&self) -> usize {
        self.number
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut free = lock(&self.free);
        free.push(self.number);
        // The lowest is taken first, so that one command at a time always finds what the last one built.
        free.sort_unstable_by_key(|number| Reverse(*number));
    }
}

fn lock(free: &Mutex<Vec<usize>>) -> MutexGuard<'_, Vec<usize>> {
    free.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_that_needs_the_run_to_itself_waits_for_all_others() {
        let sites = Sites::new(2);
        let (first, second) = (sites.any().await, sites.any().await);
        assert_eq!((first.number(), second.number()), (0, 1));
        let soon = Duration::from_millis(20);
        assert!(tokio::time::timeout(soon, sites.any()).await.is_err(), "there are two sites only");
        drop(second);
        assert!(tokio::time::timeout(soon, sites.all()).await.is_err(), "one still works");
        drop(first);
        let alone = sites.all().await;
        assert_eq!(alone.number(), 0);
        assert!(tokio::time::timeout(soon, sites.any()).await.is_err(), "it works alone");
    }
}
