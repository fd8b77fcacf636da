//! Makes the run's files exactly one tree.

use std::fs;
use std::path::PathBuf;

use checkmate_machine::effect::Layer;
use checkmate_machine::ids::TreeId;

use super::tree::{Listing, Place};
use super::{Workspace, WorkspaceError, sweep};

/// Folders that stay between commands, because to fill them costs minutes and those who fill them notice changes by
/// themselves. Every other file that is not of the tree goes, ignored or not: a cache that one candidate leaves must
/// not speak for the next, and the tree's own ignore rules are part of what is judged.
const BUILD_FOLDERS: [&str; 5] = ["target/", "node_modules/", ".venv/", "venv/", ".gradle/"];

impl Workspace {
    /// Makes the run's files exactly `tree` with the layers over it, and returns their folder.
    ///
    /// Whatever commands left behind goes, except build folders (`target`, `node_modules` and the like) and the links.
    /// No command may be running in the folder.
    pub fn restore(&self, tree: &TreeId, layers: &[Layer]) -> Result<PathBuf, WorkspaceError> {
        let tree = self.laid_over(tree, layers)?;
        let listing = self.listing(&tree)?;
        if self.renew(&tree, &listing).is_err() {
            // Commands can leave things that stop a renewal half-way (names too long, odd owners): start afresh, and
            // let that failure speak if even this does not work.
            sweep::remove(&self.tree_dir())?;
            self.renew(&tree, &listing)?;
        }
        Ok(self.tree_dir())
    }

    fn renew(&self, tree: &TreeId, listing: &Listing) -> Result<(), WorkspaceError> {
        let folder = self.tree_dir();
        let index = self.run_dir.join("index");
        sweep::remove(&self.run_dir.join("index.lock"))?;
        if !fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir()) {
            sweep::remove(&folder)?;
            sweep::remove(&index)?;
            fs::create_dir(&folder).map_err(|e| WorkspaceError::io("make the folder", &folder, e))?;
        }
        let is_file = |path: &[u8]| {
            std::str::from_utf8(path).is_ok_and(|path| matches!(listing.at(path), Place::Entry(_)))
        };
        sweep::sweep(&folder, &is_file, &listing.directories())?;
        let git = self.run_git();
        git.read(&["read-tree", "--reset", "-u", tree.as_str()])?;
        let keep = BUILD_FOLDERS.iter().flat_map(|folder| ["-e", *folder]);
        git.read(&["clean", "-ffdqx"].into_iter().chain(keep).collect::<Vec<_>>())?;
        self.make_links(listing)?;
        self.make_view()
    }
}
