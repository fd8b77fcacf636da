//! Trees as git stores them: listing, reading, building and pinning them. No file is touched here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use checkmate_machine::ids::{CommitId, TreeId};

use super::git::{Git, failed};
use super::listing::{Entry, Listing};
use super::reader::Ask;
use super::repository::Head;
use super::{Workspace, WorkspaceError};

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
    pub(crate) fn listing(&self, tree: &TreeId) -> Result<Arc<Listing>, WorkspaceError> {
        if let Some(known) = self.listings.get(tree) {
            return Ok(known);
        }
        let output =
            self.repository.git().read(&["ls-tree", "-r", "-t", "-z", "--full-tree", tree.as_str()])?;
        let entries = output.split(|byte| *byte == 0).filter_map(|record| {
            let tab = record.iter().position(|byte| *byte == b'\t')?;
            let mut words = std::str::from_utf8(&record[..tab]).ok()?.split(' ');
            let (mode, _kind, id) = (words.next()?, words.next()?, words.next()?);
            Some((record[tab + 1..].to_vec(), Entry { mode: mode.to_owned(), id: id.to_owned() }))
        });
        let listing = Arc::new(entries.collect());
        self.listings.keep(tree, &listing);
        Ok(listing)
    }

    /// Says how large blobs are, in bytes.
    pub(crate) fn sizes(&self, ids: &[&str]) -> Result<Vec<u64>, WorkspaceError> {
        let objects = self.reader.ask(self.repository.git(), Ask::Size, ids)?;
        // An object that is missing (a partial clone) has no size to speak of.
        Ok(objects.into_iter().map(|object| object.map_or(0, |object| object.size)).collect())
    }

    /// Reads blobs; one that git does not have (a partial clone) is `None`.
    pub(crate) fn blobs(&self, ids: &[&str]) -> Result<Vec<Option<Vec<u8>>>, WorkspaceError> {
        let objects = self.reader.ask(self.repository.git(), Ask::Content, ids)?;
        Ok(objects.into_iter().map(|object| object.map(|object| object.content)).collect())
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
        let mut listing = Listing::clone(&*self.listing(onto)?);
        let touched = listing.edit(edits);
        let tree = TreeId::new(listing.write(self.repository.git(), &touched)?);
        self.listings.keep(&tree, &Arc::new(listing));
        Ok(tree)
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

    /// Keeps the base tree and the commit that it comes from until the run is discarded.
    pub(crate) fn pin_base(&self, tree: &TreeId, head: &Head) -> Result<(), WorkspaceError> {
        if *tree == head.tree {
            return self.point("base", head.commit.as_str());
        }
        self.point("base", self.commit_of(tree, &[&head.commit], "base")?.as_str())
    }

    /// Keeps a tree under a name made of a word and its hash.
    pub(crate) fn pin_tree(&self, word: &str, tree: &TreeId) -> Result<(), WorkspaceError> {
        let short: String = tree.as_str().chars().take(16).collect();
        self.point(&format!("{word}-{short}"), tree.as_str())
    }

    /// Keeps the trees before and after a landing.
    pub(crate) fn pin_landing(&self, base: &TreeId, tree: &TreeId) -> Result<(), WorkspaceError> {
        let short = |tree: &TreeId| tree.as_str().chars().take(16).collect::<String>();
        let line = |word: &str, tree: &TreeId| {
            format!("update refs/checkmate/{}/{word}-{} {tree}\n", self.run, short(tree))
        };
        let script = line("landed-from", base) + &line("landed", tree);
        self.repository.git().feed(&["update-ref", "--stdin"], script.as_bytes()).map(|_| ())
    }

    /// Points one of the run's refs at an object: nothing that a ref leads to is collected.
    fn point(&self, name: &str, object: &str) -> Result<(), WorkspaceError> {
        let reference = format!("refs/checkmate/{}/{name}", self.run);
        self.repository.git().read(&["update-ref", &reference, object]).map(|_| ())
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
                // Where a file and a folder want the same path, git names the file after its side.
                let sides = [format!("~{left}"), format!("~{right}")];
                let paths: BTreeSet<String> = fields
                    .map(|path| {
                        let path = String::from_utf8_lossy(path).into_owned();
                        let own = sides.iter().find_map(|side| path.strip_suffix(side.as_str()));
                        own.map_or(path.clone(), str::to_owned)
                    })
                    .collect();
                Ok(Merge::Conflict(paths.into_iter().collect()))
            }
            (_, _) => Err(failed(&arguments, &answer)),
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
