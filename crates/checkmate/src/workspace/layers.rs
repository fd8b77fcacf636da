//! Lays files, texts and edits over a tree; the result is a tree as well.
//!
//! As a tree, and not as loose files, they are known to the next restore and go with it, ignored or not.

use std::collections::BTreeMap;

use checkmate_machine::effect::Layer;
use checkmate_machine::gate::paths::check_path;
use checkmate_machine::ids::TreeId;

use super::listing::{Entry, Listing, Place, REGULAR};
use super::{Workspace, WorkspaceError};

/// Edits of one file: where they start, where they end, and what comes in their place.
type Edits<'a> = Vec<(u64, u64, &'a str)>;

impl Workspace {
    /// Makes the tree that a command sees: `tree` with the layers over it, in order, kept until the run is discarded.
    pub fn laid_over(&self, tree: &TreeId, layers: &[Layer]) -> Result<TreeId, WorkspaceError> {
        let laid = self.overlay(tree, layers)?;
        if laid != *tree {
            self.pin_tree("overlay", &laid)?;
        }
        Ok(laid)
    }

    /// Makes the same tree without keeping it; where it is kept already, nothing is written.
    pub fn overlay(&self, tree: &TreeId, layers: &[Layer]) -> Result<TreeId, WorkspaceError> {
        if layers.is_empty() {
            return Ok(tree.clone());
        }
        let under = self.listing(tree)?;
        let mut edits = BTreeMap::new();
        let mut texts: BTreeMap<&str, Edits<'_>> = BTreeMap::new();
        for layer in layers {
            match layer {
                Layer::Files { from, paths } => self.files_of(from, paths, &under, &mut edits)?,
                Layer::Text { path, text } => {
                    check_path(path).map_err(|error| WorkspaceError::Layer(error.to_string()))?;
                    let id = self.store(&[text.as_bytes()])?.pop().unwrap_or_default();
                    put(&under, path, Entry { mode: REGULAR.to_owned(), id }, &mut edits);
                }
                Layer::Edit { path, start, end, text } => {
                    texts.entry(path).or_default().push((*start, *end, text));
                }
            }
        }
        for (path, mut places) in texts {
            let entry = match (edits.get(path), under.at(path)) {
                (Some(Some(entry)), _) | (None, Place::Entry(entry)) => entry.clone(),
                (_, _) => return Err(missing(tree, path)),
            };
            let below = self.blobs(&[&entry.id])?.pop().flatten().ok_or_else(|| missing(tree, path))?;
            let text = edited(&below, &mut places)
                .ok_or_else(|| WorkspaceError::Layer(format!("The edits of {path} do not fit the file.")))?;
            let id = self.store(&[&text])?.pop().unwrap_or_default();
            edits.insert(path.to_owned(), Some(Entry { mode: entry.mode, id }));
        }
        self.edit(tree, &edits)
    }

    fn files_of(
        &self,
        from: &TreeId,
        paths: &[String],
        under: &Listing,
        edits: &mut BTreeMap<String, Option<Entry>>,
    ) -> Result<(), WorkspaceError> {
        let listing = self.listing(from)?;
        for path in paths {
            match listing.at(path) {
                Place::Entry(entry) => put(under, path, entry.clone(), edits),
                Place::Absent | Place::Beyond(_) if matches!(under.at(path), Place::Entry(_)) => {
                    edits.insert(path.clone(), None);
                }
                Place::Absent | Place::Beyond(_) | Place::Directory => return Err(missing(from, path)),
            }
        }
        Ok(())
    }
}

fn missing(tree: &TreeId, path: &str) -> WorkspaceError {
    WorkspaceError::NotInTree { tree: tree.to_string(), path: path.to_owned() }
}

/// Puts a file into a tree; one that stands where a folder is needed, or the other way round, gives way.
fn put(under: &Listing, path: &str, entry: Entry, edits: &mut BTreeMap<String, Option<Entry>>) {
    let above = path.match_indices('/').map(|(end, _)| path[..end].to_owned());
    edits.extend(above.filter(|above| matches!(under.at(above), Place::Entry(_))).map(|above| (above, None)));
    let inside = format!("{path}/");
    let below = under.iter().filter_map(|(found, _)| std::str::from_utf8(found).ok());
    edits.extend(below.filter(|found| found.starts_with(&inside)).map(|found| (found.to_owned(), None)));
    edits.insert(path.to_owned(), Some(entry));
}

/// Replaces ranges of bytes; `None` if they overlap or lie outside.
fn edited(below: &[u8], places: &mut [(u64, u64, &str)]) -> Option<Vec<u8>> {
    places.sort_unstable();
    let mut text = Vec::with_capacity(below.len());
    let mut at = 0;
    for (start, end, with) in places {
        let (start, end) = (usize::try_from(*start).ok()?, usize::try_from(*end).ok()?);
        text.extend_from_slice(below.get(at..start).filter(|_| start <= end)?);
        text.extend_from_slice(with.as_bytes());
        at = end;
    }
    text.extend_from_slice(below.get(at..)?);
    Some(text)
}
