//! Makes the run's files exactly one tree.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use checkmate_machine::effect::Overlay;
use checkmate_machine::ids::TreeId;

use super::tree::{Listing, Place};
use super::{Workspace, WorkspaceError, sweep};

/// Folders that stay between commands, because to fill them costs minutes and those who fill them notice changes by
/// themselves. Every other file that is not of the tree goes, ignored or not: a cache that one candidate leaves must
/// not speak for the next, and the tree's own ignore rules are part of what is judged.
const BUILD_FOLDERS: [&str; 5] = ["target/", "node_modules/", ".venv/", "venv/", ".gradle/"];

impl Workspace {
    /// Makes the run's files exactly `tree`, with the overlay's files laid over it, and returns their folder.
    ///
    /// Whatever commands left behind goes, except build folders (`target`, `node_modules` and the like) and the links.
    /// No command may be running in the folder.
    pub fn restore(&self, tree: &TreeId, overlay: Option<&Overlay>) -> Result<PathBuf, WorkspaceError> {
        let tree = match overlay {
            Some(overlay) => self.laid_over(tree, overlay)?,
            None => tree.clone(),
        };
        let listing = self.listing(&tree)?;
        if self.renew(&tree, &listing).is_err() {
            // Commands can leave things that stop a renewal half-way (names too long, odd owners): start afresh, and
            // let that failure speak if even this does not work.
            sweep::remove(&self.tree_dir())?;
            self.renew(&tree, &listing)?;
        }
        Ok(self.tree_dir())
    }

    /// Makes the tree that has the overlay's files in place of its own. As a tree, and not as loose files, they are
    /// known to the next restore and go with it, ignored or not.
    fn laid_over(&self, tree: &TreeId, overlay: &Overlay) -> Result<TreeId, WorkspaceError> {
        let (from, under) = (self.listing(&overlay.from)?, self.listing(tree)?);
        let mut edits = BTreeMap::new();
        for path in &overlay.paths {
            let Place::Entry(entry) = from.at(path) else {
                let tree = overlay.from.to_string();
                return Err(WorkspaceError::NotInTree { tree, path: path.clone() });
            };
            edits.insert(path.clone(), Some(entry.clone()));
            // A file that stands where a folder is needed, or the other way round, gives way.
            let above = path.match_indices('/').map(|(end, _)| path[..end].to_owned());
            let above = above.filter(|above| matches!(under.at(above), Place::Entry(_)));
            edits.extend(above.map(|above| (above, None)));
            let inside = format!("{path}/");
            let below = under.iter().filter_map(|(found, _)| std::str::from_utf8(found).ok());
            edits.extend(
                below.filter(|found| found.starts_with(&inside)).map(|found| (found.to_owned(), None)),
            );
        }
        let laid = self.edit(tree, &edits)?;
        self.pin_tree("overlay", &laid)?;
        Ok(laid)
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
