//! Reads both sides of a change out of the object store for [`crate::inspect`].

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::facts::{FileFacts, FileRole, Inspection, Reading};
use checkmate_machine::ids::TreeId;
use checkmate_machine::spec::TaskKind;

use super::listing::{EXECUTABLE, Entry, Listing, REGULAR};
use super::{Workspace, WorkspaceError};
use crate::inspect::{self, Blob, Side, Wish};

/// Of what a change does not touch, not more files than this are read for tests.
const MOST_FILES: usize = 20_000;

impl Workspace {
    /// Finds out what a change does, without running anything of it. No file of the run is touched. A file that git
    /// cannot read is an error: nothing can be said about a change that was read in part.
    pub fn inspect(
        &self,
        base: &TreeId,
        tree: &TreeId,
        kind: TaskKind,
        goal: &str,
    ) -> Result<Inspection, WorkspaceError> {
        let listings = [self.listing(base)?, self.listing(tree)?];
        let listings = listings.each_ref().map(AsRef::as_ref);
        let paths = Paths::of(listings);
        let failure = RefCell::new(None);
        let read = |id: &str| {
            let found = self.blobs(&[id]).and_then(|mut blobs| {
                let missing = || WorkspaceError::Git {
                    command: format!("cat-file blob {id}"),
                    said: "The object is missing.".to_owned(),
                };
                blobs.pop().flatten().ok_or_else(missing)
            });
            found.map_err(|error| failure.borrow_mut().get_or_insert(error).to_string()).ok()
        };
        let [before, after] = listings.map(|listing| paths.files(listing));
        let before = Side::new(before, Box::new(read));
        let after = Side::new(after, Box::new(read)).with_texts_of(&before);
        let mut inspection =
            inspect::inspect(&Wish { base, tree, before: &before, after: &after, kind, goal });
        drop((before, after));
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        for path in paths.nameless {
            let path = String::from_utf8_lossy(path).into_owned();
            inspection.notes.push(format!(
                "The name of the file {path:?} is not UTF-8, so the file was not read. Rename it or leave it as it is."
            ));
            inspection.files.push(unread(path));
        }
        inspection.files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(inspection)
    }
}

/// Which paths of two trees are looked at.
struct Paths<'a> {
    /// Those that differ, and some of those that do not.
    read: BTreeSet<&'a str>,
    /// Those that differ and are not UTF-8, in order.
    nameless: BTreeSet<&'a [u8]>,
}

impl<'a> Paths<'a> {
    fn of(listings: [&'a Listing; 2]) -> Self {
        let [before, after] = listings.map(|listing| listing.iter().collect::<BTreeMap<_, _>>());
        let (mut read, mut nameless, mut equal) = (BTreeSet::new(), BTreeSet::new(), 0);
        for path in before.keys().chain(after.keys()) {
            let same = before.get(path) == after.get(path);
            match std::str::from_utf8(path) {
                Ok(path) if !same => drop(read.insert(path)),
                Ok(path) if equal < MOST_FILES => equal += usize::from(read.insert(path)),
                Err(_) if !same => drop(nameless.insert(*path)),
                Ok(_) | Err(_) => {}
            }
        }
        Self { read, nameless }
    }

    fn files(&self, listing: &Listing) -> BTreeMap<String, Blob> {
        let regular = |entry: &Entry| entry.mode == REGULAR || entry.mode == EXECUTABLE;
        let blob = |entry: &Entry| Blob { id: entry.id.clone(), regular: regular(entry) };
        self.read.iter().filter_map(|path| Some(((*path).to_owned(), blob(listing.get(path)?)))).collect()
    }
}

/// Says of a changed file that nothing is known about it.
fn unread(path: String) -> FileFacts {
    FileFacts {
        path,
        role: FileRole::Other,
        reading: Reading::Unread,
        effective: true,
        code_differs: true,
        tests_before: Vec::new(),
        tests_after: Vec::new(),
        spots: Vec::new(),
        entries: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_paths_are_never_cut() {
        let entry = |id: &str| Entry { mode: REGULAR.to_owned(), id: id.to_owned() };
        let listing = |id: &str| -> Listing {
            let path = |n: usize| (format!("a{n:06}").into_bytes(), entry("same"));
            let more = [(b"z/late.py".to_vec(), entry(id)), (b"z/\xff.py".to_vec(), entry(id))];
            (0..MOST_FILES + 10).map(path).chain(more).chain([(b"\xfe".to_vec(), entry("same"))]).collect()
        };
        let listings = [listing("old"), listing("new")];
        let paths = Paths::of(listings.each_ref());
        assert_eq!(paths.read.len(), MOST_FILES + 1);
        assert_eq!(paths.files(&listings[1])["z/late.py"].id, "new");
        assert_eq!(paths.nameless, BTreeSet::from([&b"z/\xff.py"[..]]));
    }
}
