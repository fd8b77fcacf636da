//! What is in a tree, for prompts: sizes and names of definitions, without the content.

use checkmate_machine::event::FileFact;
use checkmate_machine::ids::TreeId;

use super::listing::{Listing, SUBMODULE, SYMLINK};
use super::symbols::{is_source, symbols};
use super::{Workspace, WorkspaceError};

/// Larger files are not searched for definitions.
const LARGEST_SOURCE: u64 = 200_000;
/// At most so many files are searched for definitions.
const MOST_SOURCES: usize = 2_000;
/// So much is read from git at once, in bytes.
const BATCH: u64 = 32_000_000;
/// The start of every pointer that Git LFS keeps in place of a file.
const LFS: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// The files of a tree, and what is odd about it.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) files: Vec<FileFact>,
    pub(crate) notes: Vec<String>,
}

impl Workspace {
    /// Lists the files of a tree with their sizes and definitions. Symlinks and submodules are not files.
    pub(crate) fn survey(&self, tree: &TreeId) -> Result<Survey, WorkspaceError> {
        let listing = self.listing(tree)?;
        let (mut survey, ids) = self.facts(&listing)?;
        let mut lfs = 0;
        let mut batch: Vec<usize> = Vec::new();
        let mut weight = 0;
        let wanted =
            (0..ids.len()).filter(|n| is_source(&survey.files[*n].path) || may_be_lfs(&survey.files[*n]));
        let wanted: Vec<usize> =
            wanted.filter(|n| survey.files[*n].bytes < LARGEST_SOURCE).take(MOST_SOURCES).collect();
        for (position, number) in wanted.iter().enumerate() {
            batch.push(*number);
            weight += survey.files[*number].bytes;
            if weight < BATCH && position + 1 < wanted.len() {
                continue;
            }
            let names: Vec<&str> = batch.iter().map(|n| ids[*n].as_str()).collect();
            for (number, blob) in batch.iter().zip(self.blobs(&names)?) {
                let blob = blob.unwrap_or_default();
                lfs += usize::from(blob.starts_with(LFS));
                let fact = &mut survey.files[*number];
                fact.symbols = symbols(&fact.path, &String::from_utf8_lossy(&blob));
            }
            batch.clear();
            weight = 0;
        }
        if lfs > 0 {
            survey.notes.push(format!(
                "{lfs} of the files are Git LFS pointers; agents see the pointer, not the content."
            ));
        }
        Ok(survey)
    }

    fn facts(&self, listing: &Listing) -> Result<(Survey, Vec<String>), WorkspaceError> {
        let mut survey = Survey::default();
        let mut ids = Vec::new();
        let mut nameless = 0;
        for (path, entry) in
            listing.iter().filter(|(_, entry)| entry.mode != SYMLINK && entry.mode != SUBMODULE)
        {
            match std::str::from_utf8(path) {
                Ok(path) => {
                    survey.files.push(FileFact { path: path.to_owned(), bytes: 0, symbols: Vec::new() });
                    ids.push(entry.id.clone());
                }
                Err(_) => nameless += 1,
            }
        }
        let sizes = self.sizes(&ids.iter().map(String::as_str).collect::<Vec<_>>())?;
        for (fact, size) in survey.files.iter_mut().zip(sizes) {
            fact.bytes = size;
        }
        if nameless > 0 {
            survey.notes.push(format!(
                "{nameless} of the files have names that are not UTF-8; agents cannot read or change them."
            ));
        }
        Ok((survey, ids))
    }
}

/// Says whether a file has the size of a Git LFS pointer.
fn may_be_lfs(fact: &FileFact) -> bool {
    (120..=200).contains(&fact.bytes)
}
