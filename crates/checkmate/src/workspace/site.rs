//! Where the commands of a run work, and how its files become exactly one tree.
//!
//! A run has one site. Further ones are for commands that may run beside each other; each has its own files, index and
//! git directory, so that no command sees what another one does.

use std::fs;
use std::path::PathBuf;

use checkmate_machine::effect::Layer;
use checkmate_machine::ids::TreeId;

use super::git::Git;
use super::listing::{Listing, Place};
use super::{Workspace, WorkspaceError, sweep};

/// Folders that stay between commands, because to fill them costs minutes and those who fill them notice changes by
/// themselves. Every other file that is not of the tree goes, ignored or not: a cache that one candidate leaves must
/// not speak for the next, and the tree's own ignore rules are part of what is judged.
const BUILD_FOLDERS: [&str; 5] = ["target/", "node_modules/", ".venv/", "venv/", ".gradle/"];

/// What a site is made of.
const PLACES: [&str; 3] = ["tree", "index", "view.git"];

/// A folder of files with our index of it and the git directory that commands see.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    pub(super) workspace: &'a Workspace,
    number: usize,
}

impl Workspace {
    /// Returns a site by its number; 0 is the one that every run has.
    pub fn site(&self, number: usize) -> Site<'_> {
        Site { workspace: self, number }
    }

    /// Makes the run's files exactly `tree` with the layers over it, and returns their folder.
    ///
    /// Whatever commands left behind goes, except build folders (`target`, `node_modules` and the like) and the links.
    /// No command may be running in the folder.
    pub fn restore(&self, tree: &TreeId, layers: &[Layer]) -> Result<PathBuf, WorkspaceError> {
        self.site(0).restore(&self.laid_over(tree, layers)?)
    }

    /// Removes every site but the one that every run has.
    pub fn remove_further_sites(&self) -> Result<(), WorkspaceError> {
        let entries = fs::read_dir(&self.run_dir)
            .map_err(|source| WorkspaceError::io("read the folder", &self.run_dir, source))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let number =
                |place: &str| name.to_str()?.strip_prefix(place)?.strip_prefix('-')?.parse::<usize>().ok();
            if PLACES.iter().any(|place| number(place).is_some()) {
                sweep::remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

impl Site<'_> {
    /// Makes the files exactly `tree`, as [`Workspace::restore`] does.
    pub fn restore(&self, tree: &TreeId) -> Result<PathBuf, WorkspaceError> {
        let listing = self.workspace.listing(tree)?;
        if self.renew(tree, &listing).is_err() {
            // Commands can leave things that stop a renewal half-way (names too long, odd owners): start afresh, and
            // let that failure speak if even this does not work.
            sweep::remove(&self.tree_dir())?;
            self.renew(tree, &listing)?;
        }
        Ok(self.tree_dir())
    }

    /// Tells whether commands keep something here that they would have to build anew in another site.
    pub fn is_built(&self) -> bool {
        let built = |folder: &&str| fs::symlink_metadata(self.tree_dir().join(folder.trim_end_matches('/')));
        BUILD_FOLDERS.iter().any(|folder| built(folder).is_ok_and(|metadata| metadata.is_dir()))
    }

    fn renew(&self, tree: &TreeId, listing: &Listing) -> Result<(), WorkspaceError> {
        let folder = self.tree_dir();
        sweep::remove(&self.index().with_extension("lock"))?;
        if !fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir()) {
            sweep::remove(&folder)?;
            sweep::remove(&self.index())?;
            fs::create_dir(&folder).map_err(|e| WorkspaceError::io("make the folder", &folder, e))?;
        }
        let is_file = |path: &[u8]| {
            std::str::from_utf8(path).is_ok_and(|path| matches!(listing.at(path), Place::Entry(_)))
        };
        sweep::sweep(&folder, &is_file, &listing.directories())?;
        let git = self.git();
        git.read(&["read-tree", "--reset", "-u", tree.as_str()])?;
        let keep = BUILD_FOLDERS.iter().flat_map(|folder| ["-e", *folder]);
        git.read(&["clean", "-ffdqx"].into_iter().chain(keep).collect::<Vec<_>>())?;
        self.make_links(listing)?;
        self.make_view()
    }

    /// Returns git on the user's objects, with the files here as the work tree and our index of them.
    pub(super) fn git(&self) -> Git {
        let repository = &self.workspace.repository;
        repository
            .git()
            .clone()
            .with_git_dir(repository.common_dir())
            .with_work_tree(&self.tree_dir())
            .with_index(&self.index())
    }

    /// Returns the folder of the files.
    pub fn tree_dir(&self) -> PathBuf {
        self.place("tree")
    }

    pub(super) fn index(&self) -> PathBuf {
        self.place("index")
    }

    /// Returns the git directory that commands see.
    pub fn view(&self) -> PathBuf {
        self.place("view.git")
    }

    fn place(&self, name: &str) -> PathBuf {
        let folder = &self.workspace.run_dir;
        if self.number == 0 { folder.join(name) } else { folder.join(format!("{name}-{}", self.number)) }
    }
}
