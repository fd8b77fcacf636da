//! Takes the user's work tree as a git tree without touching their index.

use std::path::Path;

use checkmate_machine::event::Prepared;
use checkmate_machine::ids::TreeId;

use super::git::{Answer, Git, failed};
use super::listing::SUBMODULE;
use super::tree::os_path;
use super::{Workspace, WorkspaceError};

/// The user's work tree at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// What it was.
    pub(crate) tree: TreeId,
    /// What the user should know about it. Full sentences.
    pub(crate) notes: Vec<String>,
    git: Git,
    _folder: tempfile::TempDir,
}

/// An entry of the user's index.
struct Staged<'a> {
    /// `MODE OBJECT STAGE`.
    facts: &'a str,
    path: &'a [u8],
}

impl<'a> Staged<'a> {
    /// Reads an entry as `ls-files --stage -z` writes it.
    fn read(entry: &'a [u8]) -> Option<Self> {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        Some(Self { facts: std::str::from_utf8(&entry[..tab]).ok()?, path: &entry[tab + 1..] })
    }

    fn is_submodule(&self) -> bool {
        self.facts.starts_with(SUBMODULE)
    }

    fn is_unmerged(&self) -> bool {
        !self.facts.ends_with(" 0")
    }

    fn object(&self) -> &'a str {
        self.facts.split(' ').nth(1).unwrap_or_default()
    }

    fn name(&self) -> String {
        String::from_utf8_lossy(self.path).into_owned()
    }
}

/// A submodule as the user's index names it.
struct Submodule {
    path: Vec<u8>,
    commit: String,
}

impl Workspace {
    /// Takes HEAD plus the user's uncommitted changes as the base tree, keeps it, and surveys its files.
    ///
    /// `link_paths` name what a build needs and git does not track; they are not part of the tree, and
    /// [`Workspace::restore`] links to them. A second call replaces the first.
    pub fn prepare(&self, link_paths: &[String]) -> Result<Prepared, WorkspaceError> {
        let mut notes = self.save_links(link_paths)?;
        let head = self.repository.at_head()?;
        let snapshot = self.snapshot(&[])?;
        self.pin_base(&snapshot.tree, &head)?;
        let survey = self.survey(&snapshot.tree)?;
        notes.extend(self.repository.git().disabled().map(|name| {
            format!(
                "The filter `{name}` of the repository's own configuration is not run; configure it with `git config --global` if the run needs it."
            )
        }));
        notes.dedup();
        notes.extend(snapshot.notes);
        notes.extend(survey.notes);
        // Nobody who writes code for this run can know it beforehand.
        let nonce = std::iter::repeat_with(fastrand::alphanumeric).take(24).collect();
        Ok(Prepared {
            base: snapshot.tree,
            head: head.commit,
            branch: head.branch,
            files: survey.files,
            notes,
            nonce,
        })
    }

    /// Takes the user's work tree as it is now. Ignored files are left out, except those that `include` names.
    pub(crate) fn snapshot(&self, include: &[String]) -> Result<Snapshot, WorkspaceError> {
        let staged = self.repository.git().read(&["ls-files", "--stage", "-z"])?;
        let staged: Vec<Staged<'_>> = staged.split(|byte| *byte == 0).filter_map(Staged::read).collect();
        let mut unmerged: Vec<String> =
            staged.iter().filter(|entry| entry.is_unmerged()).map(|entry| entry.name()).collect();
        unmerged.dedup();
        if !unmerged.is_empty() {
            return Err(WorkspaceError::Unmerged { paths: unmerged });
        }
        // Mostly there is nothing to leave out, and git finds out as fast as anybody could.
        if !staged.iter().any(Staged::is_submodule)
            && self.links()?.is_empty()
            && let Ok(whole) = self.take(include, b":(top)", Vec::new())
            && !self.listing(&whole.tree)?.has_submodules()
        {
            return Ok(whole);
        }
        let mut notes = Vec::new();
        let pathspecs = self.pathspecs(&staged, &mut notes)?;
        self.take(include, &pathspecs, notes)
    }

    /// Adds what the pathspecs name, and these ignored files, to a copy of the user's index.
    fn take(
        &self,
        include: &[String],
        pathspecs: &[u8],
        mut notes: Vec<String>,
    ) -> Result<Snapshot, WorkspaceError> {
        let folder = self.scratch()?;
        let index = folder.path().join("index");
        let theirs = self.repository.git_dir().join("index");
        copy_index(&theirs, &index)?;
        let git = self.repository.git().clone().with_index(&index);
        let arguments = ["add", "--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"];
        unreadable(&git.ask(&arguments, pathspecs)?, &mut notes)?;
        let present = include.iter().filter(|path| is_plain(self.repository.root(), path));
        let present: String = present.map(|path| format!("{path}\0")).collect();
        if !present.is_empty() {
            git.feed(&["update-index", "--add", "-z", "--stdin"], present.as_bytes())?;
        }
        let tree = TreeId::new(git.line(&["write-tree"])?);
        Ok(Snapshot { tree, notes, git, _folder: folder })
    }

    /// Says what belongs to the snapshot: everything but submodules (their files are another repository's, and asking
    /// about them would run git under their configuration), repositories inside this one, and links.
    fn pathspecs(&self, staged: &[Staged<'_>], notes: &mut Vec<String>) -> Result<Vec<u8>, WorkspaceError> {
        let mut excluded: Vec<Vec<u8>> = Vec::new();
        for entry in staged.iter().filter(|entry| entry.is_submodule()) {
            let submodule = Submodule { path: entry.path.to_vec(), commit: entry.object().to_owned() };
            notes.extend(self.submodule_note(&submodule));
            excluded.push(submodule.path);
        }
        let untracked = self.repository.git().read(&["ls-files", "--others", "--exclude-standard", "-z"])?;
        for link in self.links()? {
            let inside = format!("{link}/");
            let holds = |path: &[u8]| path == link.as_bytes() || path.starts_with(inside.as_bytes());
            // What is tracked belongs to the tree, and naming what is ignored is an error to git.
            let is_new = untracked.split(|byte| *byte == 0).any(holds);
            if is_new && !staged.iter().any(|entry| holds(entry.path)) {
                excluded.push(link.into_bytes());
            }
        }
        for embedded in untracked.split(|byte| *byte == 0).filter_map(|path| path.strip_suffix(b"/")) {
            notes.push(format!(
                "`{}` is a repository of its own inside this one and is not part of the run.",
                String::from_utf8_lossy(embedded)
            ));
            excluded.push(embedded.to_vec());
        }
        let mut pathspecs = b":(top)".to_vec();
        for path in excluded {
            pathspecs.extend_from_slice(b"\0:(top,exclude,literal)");
            pathspecs.extend(path);
        }
        Ok(pathspecs)
    }

    /// Says that a submodule has changes that the run does not see.
    fn submodule_note(&self, submodule: &Submodule) -> Option<String> {
        let directory = self.repository.root().join(os_path(&submodule.path));
        let is_real = std::fs::symlink_metadata(&directory).is_ok_and(|m| m.is_dir());
        if !is_real || std::fs::symlink_metadata(directory.join(".git")).is_err() {
            return None;
        }
        let path = String::from_utf8_lossy(&submodule.path).into_owned();
        match self.is_dirty(&directory, &submodule.commit) {
            Ok(false) => None,
            Ok(true) => Some(format!(
                "The submodule `{path}` has changes of its own, which are not part of the run; commit them there and `git add {path}` to include them."
            )),
            Err(error) => Some(format!("The submodule `{path}` could not be looked into. {error}")),
        }
    }

    fn is_dirty(&self, directory: &Path, commit: &str) -> Result<bool, WorkspaceError> {
        let here = self.repository.git().elsewhere(directory);
        let git = here.on(&here.path(&["rev-parse", "--absolute-git-dir"])?, directory)?;
        let moved = git.line(&["rev-parse", "--verify", "HEAD"])? != commit;
        Ok(moved || !git.read(&["status", "--porcelain", "-z", "--ignore-submodules=all"])?.is_empty())
    }
}

impl Snapshot {
    /// Lists those of `paths` whose files are no longer what the snapshot has.
    pub(crate) fn outdated(&self, paths: &[String]) -> Result<Vec<String>, WorkspaceError> {
        if paths.is_empty() {
            // To git, no paths are all paths.
            return Ok(Vec::new());
        }
        let found = self.differing(paths)?;
        if found.is_empty() {
            return Ok(found);
        }
        // Some may only look different. This fails when something needs an update, which is the question.
        self.git.ask(&["update-index", "-q", "--refresh"], b"")?;
        self.differing(paths)
    }

    /// Lists those of `paths` whose files do not look as the index remembers them.
    fn differing(&self, paths: &[String]) -> Result<Vec<String>, WorkspaceError> {
        let git = self.git.clone().literally();
        let mut arguments =
            vec!["diff-files", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=all", "--"];
        arguments.extend(paths.iter().map(String::as_str));
        let output = git.read(&arguments)?;
        Ok(output
            .split(|b| *b == 0)
            .filter(|p| !p.is_empty())
            .map(|p| String::from_utf8_lossy(p).into_owned())
            .collect())
    }
}

/// Copies an index; none is fine.
///
/// The copy keeps the time of the original. Git compares it with the times of the files to know which of them may have
/// changed since without looking different; a later time would hide edits that are as old as the index, to the second.
pub(crate) fn copy_index(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    let copy = || {
        let time = std::fs::metadata(from)?.modified()?;
        std::fs::copy(from, to)?;
        std::fs::File::options().write(true).open(to)?.set_modified(time)
    };
    match copy() {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(WorkspaceError::io("copy", from, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Says whether a path is a file or symlink that no symlink leads to.
fn is_plain(root: &Path, path: &str) -> bool {
    let parents_are_real = path.match_indices('/').all(|(end, _)| {
        std::fs::symlink_metadata(root.join(&path[..end])).is_ok_and(|metadata| metadata.is_dir())
    });
    let is_leaf = |metadata: std::fs::Metadata| metadata.is_file() || metadata.is_symlink();
    parents_are_real && std::fs::symlink_metadata(root.join(path)).is_ok_and(is_leaf)
}

/// Turns complaints about files that cannot be read into notes; anything else that failed is an error.
fn unreadable(answer: &Answer, notes: &mut Vec<String>) -> Result<(), WorkspaceError> {
    let complaints = answer.stderr.lines().filter_map(|line| line.strip_prefix("error: open(\""));
    let files: Vec<&str> =
        complaints.filter_map(|rest| rest.split_once("\"): ").map(|(path, _)| path)).collect();
    if answer.code != Some(0) && (files.is_empty() || answer.stderr.contains("fatal: ")) {
        return Err(failed(&["add"], answer));
    }
    let folders =
        answer.stderr.lines().filter_map(|line| line.strip_prefix("warning: could not open directory '"));
    notes.extend(folders.filter_map(|rest| rest.split_once("': ")).map(|(path, _)| {
        format!("The folder `{path}` could not be read; what is new in it is not part of the run.")
    }));
    notes.extend(files.into_iter().map(|path| {
        format!("`{path}` could not be read; the run sees its last staged content, or nothing.")
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_read_are_notes_and_other_failures_are_not() {
        let check = |code: i32, stderr: &str| {
            let mut notes = Vec::new();
            let answer = Answer { code: Some(code), stdout: Vec::new(), stderr: stderr.to_owned() };
            unreadable(&answer, &mut notes).map(|()| notes).map_err(|error| error.to_string())
        };
        let denied = "error: open(\"secret\"): Permission denied\nerror: unable to index file 'secret'";
        assert_eq!(check(0, "warning: something else").unwrap(), Vec::<String>::new());
        let folder = "warning: could not open directory 'd/': Permission denied";
        assert!(check(0, folder).unwrap()[0].starts_with("The folder `d/` could not be read"));
        assert!(check(1, denied).unwrap()[0].starts_with("`secret` could not be read"));
        assert!(check(128, "fatal: unable to write new index file").unwrap_err().contains("unable to write"));
        assert!(check(128, &format!("{denied}\nfatal: disk full")).unwrap_err().contains("disk full"));
        assert!(check(1, "").is_err());
    }
}
