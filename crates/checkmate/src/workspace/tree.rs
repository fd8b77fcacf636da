//! Trees as git stores them: listing, reading, building and pinning them. No file is touched here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use checkmate_machine::ids::{CommitId, TreeId};
use serde::{Deserialize, Serialize};

use super::git::Git;
use super::{Workspace, WorkspaceError};

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

/// Everything in a tree but its directories, by path.
#[derive(Debug, Default)]
pub(crate) struct Listing(BTreeMap<Vec<u8>, Entry>);

impl FromIterator<(Vec<u8>, Entry)> for Listing {
    fn from_iter<I: IntoIterator<Item = (Vec<u8>, Entry)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl Listing {
    /// Says what is at a path.
    pub(crate) fn at(&self, path: &str) -> Place<'_> {
        if let Some(entry) = self.0.get(path.as_bytes()) {
            return Place::Entry(entry);
        }
        let above = path.match_indices('/').find_map(|(end, _)| self.0.get(&path.as_bytes()[..end]));
        if let Some(entry) = above {
            return Place::Beyond(entry);
        }
        let inside = format!("{path}/").into_bytes();
        match self.0.range(inside.clone()..).next() {
            Some((found, _)) if found.starts_with(&inside) => Place::Directory,
            Some(_) | None => Place::Absent,
        }
    }

    /// Returns the file, symlink or submodule at a path.
    pub(crate) fn get(&self, path: &str) -> Option<&Entry> {
        self.0.get(path.as_bytes())
    }

    /// Returns the entries in path order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.0.iter().map(|(path, entry)| (path.as_slice(), entry))
    }

    /// Returns every directory of the tree.
    pub(crate) fn directories(&self) -> BTreeSet<&[u8]> {
        let ends = |path: &[u8]| -> Vec<usize> {
            path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).collect()
        };
        self.0.keys().flat_map(|path| ends(path).into_iter().map(|end| &path[..end])).collect()
    }
}

/// A change of one path between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The path, from the root.
    pub(crate) path: String,
    /// What was there.
    pub(crate) old: Option<Entry>,
    /// What is there.
    pub(crate) new: Option<Entry>,
}

impl Workspace {
    /// Returns git on the user's objects with an index of its own that holds `tree`; the file is gone with the guard.
    pub(crate) fn scratch_index(
        &self,
        tree: Option<&TreeId>,
    ) -> Result<(Git, tempfile::TempDir), WorkspaceError> {
        let folder = self.scratch()?;
        let git = self.repository.git().clone().with_index(&folder.path().join("index"));
        if let Some(tree) = tree {
            git.read(&["read-tree", tree.as_str()])?;
        }
        Ok((git, folder))
    }

    /// Makes a folder for things that nobody needs after a crash.
    pub(crate) fn scratch(&self) -> Result<tempfile::TempDir, WorkspaceError> {
        tempfile::Builder::new()
            .prefix("scratch-")
            .tempdir_in(&self.run_dir)
            .map_err(|source| WorkspaceError::io("make a folder in", &self.run_dir, source))
    }

    /// Lists a tree.
    pub(crate) fn listing(&self, tree: &TreeId) -> Result<Listing, WorkspaceError> {
        let output = self.repository.git().read(&["ls-tree", "-r", "-z", "--full-tree", tree.as_str()])?;
        let entries = output.split(|byte| *byte == 0).filter_map(|record| {
            let tab = record.iter().position(|byte| *byte == b'\t')?;
            let facts = String::from_utf8_lossy(&record[..tab]).into_owned();
            let mut words = facts.split(' ');
            let (mode, _kind, id) = (words.next()?, words.next()?, words.next()?);
            Some((record[tab + 1..].to_vec(), Entry { mode: mode.to_owned(), id: id.to_owned() }))
        });
        Ok(entries.collect())
    }

    /// Says how large blobs are, in bytes.
    pub(crate) fn sizes(&self, ids: &[&str]) -> Result<Vec<u64>, WorkspaceError> {
        let output = self
            .repository
            .git()
            .feed(&["cat-file", "--batch-check=%(objectsize)", "--buffer"], ids.join("\n").as_bytes())?;
        // An object that is missing (a partial clone) has no size to speak of.
        Ok(String::from_utf8_lossy(&output).lines().map(|line| line.parse().unwrap_or(0)).collect())
    }

    /// Reads blobs; one that git does not have (a partial clone) is `None`.
    pub(crate) fn blobs(&self, ids: &[&str]) -> Result<Vec<Option<Vec<u8>>>, WorkspaceError> {
        let input = ids.join("\n");
        let output = self.repository.git().feed(&["cat-file", "--batch", "--buffer"], input.as_bytes())?;
        let mut rest = output.as_slice();
        let mut blobs = Vec::with_capacity(ids.len());
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let header = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest = &rest[end + 1..];
            let size = header.rsplit(' ').next().and_then(|word| word.parse::<usize>().ok());
            let blob = size.and_then(|size| rest.get(..size).map(<[u8]>::to_vec));
            rest = blob.as_ref().and_then(|blob| rest.get(blob.len() + 1..)).unwrap_or(rest);
            blobs.push(blob);
        }
        blobs.resize(ids.len(), None);
        Ok(blobs)
    }

    /// Stores contents as blobs, byte for byte, and returns their names.
    pub(crate) fn store(&self, contents: &[&[u8]]) -> Result<Vec<String>, WorkspaceError> {
        let folder = self.scratch()?;
        let mut names = String::new();
        for (number, bytes) in contents.iter().enumerate() {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, bytes).map_err(|source| WorkspaceError::io("write", &path, source))?;
            names.push_str(&format!("{number}\n"));
        }
        let git = self.repository.git().clone().with_work_tree(folder.path());
        let output = git.feed(&["hash-object", "-w", "--no-filters", "--stdin-paths"], names.as_bytes())?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
    }

    /// Makes a tree from another by putting and removing entries.
    pub(crate) fn edit(
        &self,
        onto: &TreeId,
        edits: &BTreeMap<String, Option<Entry>>,
    ) -> Result<TreeId, WorkspaceError> {
        let (git, _folder) = self.scratch_index(Some(onto))?;
        git.feed(&["update-index", "-z", "--index-info"], &index_info(edits, onto.as_str().len()))?;
        Ok(TreeId::new(git.line(&["write-tree"])?))
    }

    /// Lists what differs between two trees. Renames are a deletion and an addition.
    pub(crate) fn differences(&self, from: &TreeId, to: &TreeId) -> Result<Vec<Difference>, WorkspaceError> {
        let arguments =
            ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none"];
        let output = self.repository.git().read(&[&arguments[..], &[from.as_str(), to.as_str()]].concat())?;
        let mut fields = output.split(|byte| *byte == 0);
        let mut differences = Vec::new();
        while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
            let facts = String::from_utf8_lossy(facts).into_owned();
            let words: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old, new, _status] = words[..] else { break };
            let entry = |mode: &str, id: &str| {
                (mode != "000000").then(|| Entry { mode: mode.to_owned(), id: id.to_owned() })
            };
            let path = String::from_utf8(path.to_vec()).map_err(|e| WorkspaceError::PathName {
                path: String::from_utf8_lossy(e.as_bytes()).into_owned(),
            })?;
            differences.push(Difference { path, old: entry(old_mode, old), new: entry(new_mode, new) });
        }
        Ok(differences)
    }

    /// Keeps a tree, and the commits it is said to come from, until the run is discarded.
    pub(crate) fn pin(
        &self,
        name: &str,
        tree: &TreeId,
        parents: &[&CommitId],
    ) -> Result<CommitId, WorkspaceError> {
        let commit = self.commit_of(tree, parents, name)?;
        let reference = format!("refs/checkmate/{}/{name}", self.run);
        self.repository.git().read(&["update-ref", &reference, commit.as_str()])?;
        Ok(commit)
    }

    /// Keeps a tree under a name made of a word and its hash.
    pub(crate) fn pin_tree(&self, word: &str, tree: &TreeId) -> Result<(), WorkspaceError> {
        let short: String = tree.as_str().chars().take(16).collect();
        self.pin(&format!("{word}-{short}"), tree, &[]).map(|_| ())
    }

    /// Merges what happened between `base` and `theirs` into `ours`.
    pub(crate) fn merge(
        &self,
        base: &TreeId,
        ours: &TreeId,
        theirs: &TreeId,
    ) -> Result<Merge, WorkspaceError> {
        // `--merge-base` came with git 2.40; commits with the right parent do the same since 2.38.
        let root = self.commit_of(base, &[], "base")?;
        let left = self.commit_of(ours, &[&root], "ours")?;
        let right = self.commit_of(theirs, &[&root], "theirs")?;
        let arguments = [
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
            left.as_str(),
            right.as_str(),
        ];
        let answer = self.repository.git().ask(&arguments, b"")?;
        let mut fields = answer.stdout.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let tree = fields.next().map(|id| String::from_utf8_lossy(id).into_owned());
        match (answer.code, tree) {
            (Some(0), Some(tree)) => Ok(Merge::Clean(TreeId::new(tree))),
            (Some(1), Some(_)) => {
                let paths: BTreeSet<String> =
                    fields.map(|p| String::from_utf8_lossy(p).into_owned()).collect();
                Ok(Merge::Conflict(paths.into_iter().collect()))
            }
            (_, _) => Err(WorkspaceError::Git { command: "merge-tree".to_owned(), said: answer.stderr }),
        }
    }

    /// Removes every ref of the run.
    pub(crate) fn unpin_all(&self) -> Result<(), WorkspaceError> {
        let prefix = format!("refs/checkmate/{}/", self.run);
        let git = self.repository.git();
        let refs = git.line(&["for-each-ref", "--format=%(refname)", &prefix])?;
        let script: String = refs.lines().map(|name| format!("delete {name}\n")).collect();
        git.feed(&["update-ref", "--stdin"], script.as_bytes()).map(|_| ())
    }

    fn commit_of(
        &self,
        tree: &TreeId,
        parents: &[&CommitId],
        message: &str,
    ) -> Result<CommitId, WorkspaceError> {
        let mut arguments = vec!["commit-tree", tree.as_str(), "-m", message];
        for parent in parents {
            arguments.extend(["-p", parent.as_str()]);
        }
        Ok(CommitId::new(self.repository.git().clone().with_own_identity().line(&arguments)?))
    }
}

/// What came of a merge of trees.
#[derive(Debug)]
pub(crate) enum Merge {
    /// Both sides fit together.
    Clean(TreeId),
    /// They contradict each other at these paths.
    Conflict(Vec<String>),
}

/// Writes edits in the form of `update-index --index-info -z`: removals first, so that a file can give way to a
/// directory of the same name. `width` is the length of the repository's hashes in hexadecimal digits.
pub(crate) fn index_info(edits: &BTreeMap<String, Option<Entry>>, width: usize) -> Vec<u8> {
    let removals = edits.iter().filter(|(_, entry)| entry.is_none());
    let puts = edits.iter().filter_map(|(path, entry)| entry.as_ref().map(|entry| (path, entry)));
    let zeros = "0".repeat(width);
    let removals = removals.map(|(path, _)| format!("0 {zeros}\t{path}\0"));
    let puts = puts.map(|(path, entry)| format!("{} {}\t{path}\0", entry.mode, entry.id));
    removals.chain(puts).collect::<String>().into_bytes()
}

/// Turns the bytes of a path as git has them into one that the operating system takes.
pub(crate) fn os_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
