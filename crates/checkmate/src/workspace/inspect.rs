//! Reads both sides of a change out of the object store for [`crate::inspect`].

use checkmate_machine::facts::Inspection;
use checkmate_machine::ids::TreeId;
use checkmate_machine::spec::TaskKind;

use super::tree::{EXECUTABLE, REGULAR};
use super::{Workspace, WorkspaceError};
use crate::inspect::{self, Side, Wish};

/// A tree with more files than this is not read for tests that the change does not touch.
const MOST_FILES: usize = 20_000;

impl Workspace {
    /// Finds out what a change does, without running anything of it. No file of the run is touched.
    pub fn inspect(
        &self,
        base: &TreeId,
        tree: &TreeId,
        kind: TaskKind,
        goal: &str,
    ) -> Result<Inspection, WorkspaceError> {
        let (before, after) = (self.side(base)?, self.side(tree)?);
        Ok(inspect::inspect(&Wish { base, tree, before: &before, after: &after, kind, goal }))
    }

    fn side(&self, tree: &TreeId) -> Result<Side<'_>, WorkspaceError> {
        let listing = self.listing(tree)?;
        let mut files = std::collections::BTreeMap::new();
        for (path, entry) in listing.iter().take(MOST_FILES) {
            if let Ok(path) = std::str::from_utf8(path) {
                let regular = entry.mode == REGULAR || entry.mode == EXECUTABLE;
                files.insert(path.to_owned(), inspect::Blob { id: entry.id.clone(), regular });
            }
        }
        Ok(Side::new(files, Box::new(|id| self.blobs(&[id]).ok()?.pop().flatten())))
    }
}
