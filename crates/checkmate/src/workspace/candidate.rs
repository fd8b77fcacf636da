//! Places a patch on a tree and measures the result against the base.

use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::event::{Candidate, Change, ChangeKind};
use checkmate_machine::gate::paths::check_path;
use checkmate_machine::ids::TreeId;
use checkmate_machine::patch::{self, Obstacle, Original, Patch, Write};

use super::listing::{EXECUTABLE, Entry, Listing, Place, REGULAR, SUBMODULE, SYMLINK};
use super::{Workspace, WorkspaceError};

/// A longer diff is cut, in bytes.
const LONGEST_DIFF: usize = 1_000_000;

/// What came of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// All of it is placed.
    Candidate(Candidate),
    /// Nothing is placed: one sentence per reason, made for the agent to act on.
    Rejected(Vec<String>),
}

impl Workspace {
    /// Places a patch on the tree `onto`, keeps the result, and measures it against `base`. No file is touched.
    pub fn apply(&self, base: &TreeId, onto: &TreeId, patch: &str) -> Result<Applied, WorkspaceError> {
        let patch = match patch::parse(patch) {
            Ok(patch) => patch,
            Err(rejections) => return Ok(rejected(&rejections)),
        };
        let listing = self.listing(onto)?;
        let originals = self.originals(&listing, &patch)?;
        let plan = match patch::plan(&patch, &originals) {
            Ok(plan) => plan,
            Err(rejections) => return Ok(rejected(&rejections)),
        };
        let clashes = clashes(&listing, &plan.writes);
        if !clashes.is_empty() {
            return Ok(Applied::Rejected(clashes));
        }
        let tree = self.edit(onto, &self.edits(plan.writes)?)?;
        Ok(Applied::Candidate(self.candidate(base, &tree)?))
    }

    /// Keeps a tree until the run is discarded and measures it against `base`.
    pub fn candidate(&self, base: &TreeId, tree: &TreeId) -> Result<Candidate, WorkspaceError> {
        self.pin_tree("candidate", tree)?;
        self.change_between(base, tree)
    }

    /// Measures a tree against another.
    pub fn change_between(&self, base: &TreeId, tree: &TreeId) -> Result<Candidate, WorkspaceError> {
        let flags = ["--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"];
        let trees = [base.as_str(), tree.as_str()];
        let git = self.repository.git();
        let facts =
            git.read(&[&["diff-tree", "-r", "-z", "--raw", "--numstat"][..], &flags, &trees].concat())?;
        let diff = git.read(
            &[&["diff-tree", "-r", "-p", "--src-prefix=a/", "--dst-prefix=b/"][..], &flags, &trees].concat(),
        )?;
        Ok(Candidate { tree: tree.clone(), changes: changes(&facts), diff: cut(&diff) })
    }

    /// Puts a document into a tree as one file, keeps the result, and measures it against the tree.
    pub fn put(&self, base: &TreeId, path: &str, text: &str) -> Result<Applied, WorkspaceError> {
        if let Err(error) = check_path(path) {
            return Ok(Applied::Rejected(vec![error.to_string()]));
        }
        let write = Write::Put { path: path.to_owned(), bytes: text.as_bytes().to_vec(), executable: false };
        let clashes = clashes(&*self.listing(base)?, std::slice::from_ref(&write));
        if !clashes.is_empty() {
            return Ok(Applied::Rejected(clashes));
        }
        let tree = self.edit(base, &self.edits(vec![write])?)?;
        Ok(Applied::Candidate(self.candidate(base, &tree)?))
    }

    fn originals(
        &self,
        listing: &Listing,
        patch: &Patch,
    ) -> Result<BTreeMap<String, Original>, WorkspaceError> {
        let touched = patch.paths();
        let mut originals = BTreeMap::new();
        let mut files: Vec<(String, &Entry)> = Vec::new();
        for &path in &touched {
            let original = match listing.at(path) {
                Place::Absent => Original::Absent,
                // What is in the way may go in the same patch; `clashes` looks at the result.
                Place::Directory if inside(listing, path).all(|below| touched.contains(below)) => {
                    Original::Absent
                }
                Place::Directory => Original::Other(Obstacle::Directory),
                Place::Beyond(_) if above(path).any(|above| touched.contains(above)) => Original::Absent,
                Place::Beyond(_) => Original::Other(Obstacle::Prefix),
                Place::Entry(entry) if entry.mode == SYMLINK => Original::Other(Obstacle::Symlink),
                Place::Entry(entry) if entry.mode == SUBMODULE => Original::Other(Obstacle::Submodule),
                Place::Entry(entry) => {
                    files.push((path.to_owned(), entry));
                    continue;
                }
            };
            originals.insert(path.to_owned(), original);
        }
        let ids: Vec<&str> = files.iter().map(|(_, entry)| entry.id.as_str()).collect();
        for ((path, entry), bytes) in files.iter().zip(self.blobs(&ids)?) {
            let bytes = bytes.ok_or_else(|| WorkspaceError::Git {
                command: "cat-file".to_owned(),
                said: format!("the content of {path} is not on this machine; run `git fetch --refetch`."),
            })?;
            originals.insert(path.clone(), Original::File { bytes, executable: entry.mode == EXECUTABLE });
        }
        Ok(originals)
    }

    fn edits(&self, writes: Vec<Write>) -> Result<BTreeMap<String, Option<Entry>>, WorkspaceError> {
        let mut edits = BTreeMap::new();
        let mut puts = Vec::new();
        for write in writes {
            match write {
                Write::Delete { path } => drop(edits.insert(path, None)),
                Write::Put { path, bytes, executable } => puts.push((path, bytes, executable)),
            }
        }
        let contents: Vec<&[u8]> = puts.iter().map(|(_, bytes, _)| bytes.as_slice()).collect();
        let ids = self.store(&contents)?;
        for ((path, _, executable), id) in puts.into_iter().zip(ids) {
            let mode = if executable { EXECUTABLE } else { REGULAR };
            edits.insert(path, Some(Entry { mode: mode.to_owned(), id }));
        }
        Ok(edits)
    }
}

/// Names the folders above a path, from the root.
pub(crate) fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}

/// Names what a tree has below a path; a name that is not UTF-8 is empty, which no patch can touch.
fn inside<'a>(listing: &'a Listing, path: &str) -> impl Iterator<Item = &'a str> {
    let folder = format!("{path}/").into_bytes();
    listing
        .iter()
        .filter(move |(found, _)| found.starts_with(&folder))
        .map(|(found, _)| std::str::from_utf8(found).unwrap_or_default())
}

fn rejected(rejections: &[patch::Rejection]) -> Applied {
    Applied::Rejected(rejections.iter().map(ToString::to_string).collect())
}

/// Finds paths that would be a file and a directory at once when all is written.
fn clashes(listing: &Listing, writes: &[Write]) -> Vec<String> {
    let mut files: BTreeSet<&[u8]> = listing.iter().map(|(path, _)| path).collect();
    for write in writes {
        match write {
            Write::Delete { path } => files.remove(path.as_bytes()),
            Write::Put { path, .. } => files.insert(path.as_bytes()),
        };
    }
    let puts = writes.iter().filter_map(|write| match write {
        Write::Put { path, .. } => Some(path),
        Write::Delete { .. } => None,
    });
    let mut clashes = Vec::new();
    for path in puts {
        let file_above = path.match_indices('/').find(|(end, _)| files.contains(&path.as_bytes()[..*end]));
        if let Some((end, _)) = file_above {
            let above = &path[..end];
            clashes.push(format!("`{path}` cannot be written: `{above}` is a file. Delete it in the same patch, or choose another path."));
        }
        let inside = format!("{path}/").into_bytes();
        if files.range(inside.as_slice()..).next().is_some_and(|next| next.starts_with(&inside)) {
            clashes.push(format!("`{path}` cannot be written: it is a directory that still has files. Delete them in the same patch, or choose another path."));
        }
    }
    clashes
}

/// Reads `--raw --numstat -z`: first a record `:OLD NEW ID ID STATUS` and a path for each change, then for each one
/// `ADDED<tab>REMOVED<tab>PATH`, where binary files have `-` for numbers.
fn changes(facts: &[u8]) -> Vec<Change> {
    let text = String::from_utf8_lossy(facts);
    let mut fields = text.split_terminator('\0');
    let mut changes: Vec<Change> = Vec::new();
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    while let Some(field) = fields.next() {
        if let Some(record) = field.strip_prefix(':') {
            let words: Vec<&str> = record.split(' ').collect();
            let ([old, new, _, _, status], Some(path)) = (&words[..], fields.next()) else { break };
            let kind = match *status {
                "A" => ChangeKind::Added,
                "D" => ChangeKind::Deleted,
                _ => ChangeKind::Modified,
            };
            let (old_mode, new_mode) = ((*old).to_owned(), (*new).to_owned());
            changes.push(Change { path: path.to_owned(), kind, old_mode, new_mode, added: 0, removed: 0 });
        } else if let [added, removed, path] = field.splitn(3, '\t').collect::<Vec<_>>()[..] {
            counts.insert(path, (added.parse().unwrap_or(0), removed.parse().unwrap_or(0)));
        }
    }
    for change in &mut changes {
        (change.added, change.removed) = counts.get(change.path.as_str()).copied().unwrap_or_default();
    }
    changes
}

fn cut(diff: &[u8]) -> String {
    if diff.len() <= LONGEST_DIFF {
        return String::from_utf8_lossy(diff).into_owned();
    }
    let end = diff[..LONGEST_DIFF].iter().rposition(|byte| *byte == b'\n').map_or(LONGEST_DIFF, |at| at + 1);
    let shown = String::from_utf8_lossy(&diff[..end]);
    format!("{shown}[The diff has {} bytes; it is cut here, after {end}.]\n", diff.len())
}
