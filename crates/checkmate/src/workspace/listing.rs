//! What is in a tree, by path, and how a changed one is written.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use checkmate_machine::ids::TreeId;
use serde::{Deserialize, Serialize};

use super::WorkspaceError;
use super::git::Git;
use super::writer::TreeWriter;

/// The mode of a directory.
const FOLDER: &str = "040000";
pub(crate) const SYMLINK: &str = "120000";
pub(crate) const SUBMODULE: &str = "160000";
pub(crate) const EXECUTABLE: &str = "100755";
pub(crate) const REGULAR: &str = "100644";

/// One file, symlink or submodule of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The git mode.
    pub(crate) mode: String,
    /// The blob, or the submodule's commit.
    pub(crate) id: String,
}

/// What a tree has at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// A file, symlink or submodule.
    Entry(&'a Entry),
    /// A directory with something in it.
    Directory,
    /// Nothing can be there: this path above it is a file, symlink or submodule.
    Beyond(&'a Entry),
    /// Nothing.
    Absent,
}

/// Everything in a tree, by path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    /// Files, symlinks and submodules.
    entries: BTreeMap<Vec<u8>, Entry>,
    /// The trees of its directories.
    folders: BTreeMap<Vec<u8>, String>,
}

impl FromIterator<(Vec<u8>, Entry)> for Listing {
    fn from_iter<I: IntoIterator<Item = (Vec<u8>, Entry)>>(entries: I) -> Self {
        let (folders, entries): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(_, entry)| entry.mode == FOLDER);
        Self {
            entries: entries.into_iter().collect(),
            folders: folders.into_iter().map(|(path, entry)| (path, entry.id)).collect(),
        }
    }
}

/// The listings of the trees that were looked at last: a turn looks at the same few again and again.
#[derive(Debug, Default)]
pub(crate) struct Listings(Mutex<VecDeque<(TreeId, Arc<Listing>)>>);

impl Listings {
    /// How many are kept.
    const MOST: usize = 6;
    /// How many large ones are kept, and from how many entries on one is large.
    const MOST_LARGE: usize = 3;
    const LARGE: usize = 20_000;

    pub(crate) fn get(&self, tree: &TreeId) -> Option<Arc<Listing>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(name, _)| name == tree).map(|(_, listing)| Arc::clone(listing))
    }

    pub(crate) fn keep(&self, tree: &TreeId, listing: &Arc<Listing>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let most = if listing.entries.len() < Self::LARGE { Self::MOST } else { Self::MOST_LARGE };
        kept.retain(|(name, _)| name != tree);
        kept.truncate(most - 1);
        kept.push_front((tree.clone(), Arc::clone(listing)));
    }
}

impl Listing {
    /// Says what is at a path.
    pub(crate) fn at(&self, path: &str) -> Place<'_> {
        if let Some(entry) = self.entries.get(path.as_bytes()) {
            return Place::Entry(entry);
        }
        let above = path.match_indices('/').find_map(|(end, _)| self.entries.get(&path.as_bytes()[..end]));
        if let Some(entry) = above {
            return Place::Beyond(entry);
        }
        let inside = format!("{path}/").into_bytes();
        match self.entries.range(inside.clone()..).next() {
            Some((found, _)) if found.starts_with(&inside) => Place::Directory,
            Some(_) | None => Place::Absent,
        }
    }

    /// Returns the file, symlink or submodule at a path.
    pub(crate) fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path.as_bytes())
    }

    /// Returns the entries in path order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_slice(), entry))
    }

    /// Tells whether the tree has submodules.
    pub(crate) fn has_submodules(&self) -> bool {
        self.entries.values().any(|entry| entry.mode == SUBMODULE)
    }

    /// Returns every directory of the tree.
    pub(crate) fn directories(&self) -> BTreeSet<&[u8]> {
        self.entries.keys().flat_map(|path| folders_above(path)).collect()
    }

    /// Puts and removes entries, and returns the directories whose trees are not known any more, the root as an empty
    /// name.
    pub(crate) fn edit(&mut self, edits: &BTreeMap<String, Option<Entry>>) -> BTreeSet<Vec<u8>> {
        let mut touched = BTreeSet::from([Vec::new()]);
        for (path, entry) in edits {
            let path = path.as_bytes();
            touched.extend(folders_above(path).map(<[u8]>::to_vec));
            match entry {
                Some(entry) => drop(self.entries.insert(path.to_vec(), entry.clone())),
                None => drop(self.entries.remove(path)),
            }
        }
        for folder in &touched {
            self.folders.remove(folder);
        }
        touched
    }

    /// Has git write the trees of these directories, the deepest first, and returns the root's.
    pub(crate) fn write(&mut self, git: &Git, touched: &BTreeSet<Vec<u8>>) -> Result<String, WorkspaceError> {
        let mut writer = TreeWriter::start(git)?;
        let mut deepest_first: Vec<&Vec<u8>> = touched.iter().collect();
        let depth = |path: &[u8]| path.split(|byte| *byte == b'/').count();
        deepest_first.sort_by_key(|path| std::cmp::Reverse((!path.is_empty(), depth(path))));
        for folder in deepest_first {
            let children = self.children(folder);
            // Git has no empty directories, but an empty root.
            if children.is_empty() && !folder.is_empty() {
                continue;
            }
            let id = writer.write(&children)?;
            if folder.is_empty() {
                return Ok(id);
            }
            self.folders.insert(folder.clone(), id);
        }
        Err(WorkspaceError::Git { command: "mktree".to_owned(), said: "there is no root.".to_owned() })
    }

    /// Writes what is directly in a directory in the form that `mktree -z` reads.
    fn children(&self, folder: &[u8]) -> Vec<u8> {
        let prefix = if folder.is_empty() { Vec::new() } else { [folder, b"/"].concat() };
        let mut lines = Vec::new();
        let mut line = |mode: &str, kind: &str, id: &str, name: &[u8]| {
            lines.extend_from_slice(format!("{mode} {kind} {id}\t").as_bytes());
            lines.extend_from_slice(name);
            lines.push(0);
        };
        let within = |path: &&Vec<u8>| path.starts_with(&prefix);
        let mut at = prefix.clone();
        while let Some((path, entry)) =
            self.entries.range(at.clone()..).next().filter(|(path, _)| within(path))
        {
            let name = &path[prefix.len()..];
            match name.iter().position(|byte| *byte == b'/') {
                None => {
                    line(
                        &entry.mode,
                        if entry.mode == SUBMODULE { "commit" } else { "blob" },
                        &entry.id,
                        name,
                    );
                    at = [path.as_slice(), b"\0"].concat();
                }
                Some(end) => {
                    let below = &path[..prefix.len() + end];
                    if let Some(id) = self.folders.get(below) {
                        line(FOLDER, "tree", id, &name[..end]);
                    }
                    // `0` comes after `/`: on behind everything in this directory.
                    at = [below, b"0"].concat();
                }
            }
        }
        lines
    }
}

/// Names the folders above a path, from the root.
fn folders_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end])
}
