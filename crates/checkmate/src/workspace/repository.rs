//! Finds the user's repository and says precisely why it cannot be worked on.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use checkmate_machine::ids::{CommitId, TreeId};
use sha2::{Digest as _, Sha256};

use super::WorkspaceError;
use super::git::{Environment, Git, OLDEST};

/// The user's repository: one work tree with at least one commit.
#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    git: Git,
}

/// Where git says that things are.
struct Found {
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
}

impl Found {
    /// Asks for all of it at once; `None` if there is no usable work tree, or the answer cannot be told apart, as with a
    /// line break in a path.
    fn at(here: &Git) -> Option<Self> {
        use std::os::unix::ffi::OsStrExt as _;
        let wish = [
            "rev-parse",
            "--is-bare-repository",
            "--is-inside-git-dir",
            "--path-format=absolute",
            "--show-toplevel",
            "--absolute-git-dir",
            "--git-common-dir",
        ];
        let answer = here.ask(&wish, b"").ok().filter(|answer| answer.code == Some(0))?;
        let lines: Vec<&[u8]> = answer.stdout.strip_suffix(b"\n")?.split(|byte| *byte == b'\n').collect();
        let [b"false", b"false", root, git_dir, common_dir] = lines[..] else { return None };
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
        Some(Self { root: path(root), git_dir: path(git_dir), common_dir: path(common_dir) })
    }
}

/// What HEAD names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// The commit.
    pub(crate) commit: CommitId,
    /// The commit's tree.
    pub(crate) tree: TreeId,
    /// The name of the branch, unless it is detached.
    pub(crate) branch: Option<String>,
}

impl Repository {
    /// Finds the work tree that contains `directory`, with this process's environment.
    pub fn discover(directory: &Path) -> Result<Self, WorkspaceError> {
        Self::discover_in(directory, &Environment::inherited())
    }

    /// Finds the work tree that contains `directory`; git runs in the given environment from then on.
    pub fn discover_in(directory: &Path, environment: &Environment) -> Result<Self, WorkspaceError> {
        let here = Git::at(directory, environment);
        let (version, found) = std::thread::scope(|scope| {
            let version = scope.spawn(|| here.line(&["--version"]));
            let found = Found::at(&here);
            (version.join(), found)
        });
        if let Ok(version) = version {
            check_version(&version?)?;
        }
        let Found { root, git_dir, common_dir } = match found {
            Some(found) => found,
            None => Self::look_closely(&here, directory)?,
        };
        let root = canonical(&root)?;
        if std::fs::symlink_metadata(root.join(".git")).is_err() {
            return Err(WorkspaceError::ForeignWorkTree { directory: directory.to_owned(), root });
        }
        let (git_dir, common_dir) = (canonical(&git_dir)?, canonical(&common_dir)?);
        let mut repository = Self {
            git: here.clone().with_git_dir(&git_dir).with_work_tree(&root),
            root,
            git_dir,
            common_dir,
        };
        let (head, git) = std::thread::scope(|scope| {
            let head = scope.spawn(|| repository.head());
            let git = here.on(&repository.git_dir, &repository.root);
            (head.join(), git)
        });
        if let Ok(head) = head {
            head?;
        }
        repository.git = git?;
        Ok(repository)
    }

    /// Asks git for one thing at a time, to say precisely what is wrong.
    fn look_closely(here: &Git, directory: &Path) -> Result<Found, WorkspaceError> {
        let bare = here.line(&["rev-parse", "--is-bare-repository"]).map_err(|e| explain(e, directory))?;
        if here.line(&["rev-parse", "--is-inside-git-dir"])? == "true" && bare != "true" {
            return Err(WorkspaceError::InsideGitDirectory { directory: directory.to_owned() });
        }
        if bare == "true" {
            return Err(WorkspaceError::Bare { directory: directory.to_owned() });
        }
        Ok(Found {
            root: here.path(&["rev-parse", "--show-toplevel"])?,
            git_dir: here.path(&["rev-parse", "--absolute-git-dir"])?,
            common_dir: here.path(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?,
        })
    }

    /// Returns the canonical path of the work tree's root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the commit that HEAD names now.
    pub fn head(&self) -> Result<CommitId, WorkspaceError> {
        let answer = self.git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], b"")?;
        if answer.code != Some(0) {
            return Err(WorkspaceError::NoCommits { root: self.root.clone() });
        }
        Ok(CommitId::new(String::from_utf8_lossy(&answer.stdout).trim()))
    }

    /// Returns the name of the branch that is checked out, unless HEAD is detached.
    pub fn branch(&self) -> Option<String> {
        let head = std::fs::read_to_string(self.git_dir.join("HEAD")).ok()?;
        match head.trim_end().strip_prefix("ref: refs/heads/") {
            // Where references are not kept in files.
            Some(".invalid") => self.at_head().ok()?.branch,
            branch => branch.map(str::to_owned),
        }
    }

    /// Returns what HEAD names now.
    pub(crate) fn at_head(&self) -> Result<Head, WorkspaceError> {
        let wish = ["rev-parse", "HEAD^{commit}", "HEAD^{tree}", "--symbolic-full-name", "HEAD"];
        let answer = self.git.ask(&wish, b"")?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut lines = text.lines();
        match (answer.code, lines.next(), lines.next(), lines.next()) {
            (Some(0), Some(commit), Some(tree), Some(name)) => Ok(Head {
                commit: CommitId::new(commit),
                tree: TreeId::new(tree),
                branch: (name != "HEAD").then(|| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
            }),
            (_, _, _, _) => Err(WorkspaceError::NoCommits { root: self.root.clone() }),
        }
    }

    /// Returns the name of the repository's folder in Checkmate's state folder.
    pub fn state_key(&self) -> String {
        repository_key(self)
    }

    /// Returns every path that git tracks or would, deleted files left out.
    pub(crate) fn paths(&self) -> Result<Vec<String>, WorkspaceError> {
        let listing = self.git.read(&[
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
            "-z",
        ])?;
        let paths = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let paths = paths.map(|path| String::from_utf8_lossy(path).into_owned());
        Ok(paths.filter(|path| self.root.join(path).symlink_metadata().is_ok()).collect())
    }

    /// Returns the time of the commit that HEAD names, in seconds since 1970.
    pub(crate) fn head_time(&self) -> Result<i64, WorkspaceError> {
        let line = self.git.line(&["log", "-1", "--no-show-signature", "--format=%ct", "HEAD"])?;
        Ok(line.trim().parse().unwrap_or_default())
    }

    /// Returns this work tree's own git directory: its HEAD and index.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the git directory that all work trees share: objects and refs.
    pub(crate) fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns git on the user's repository, work tree and index.
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// Fails when the user's index has conflicts, which `add` would take for content.
    pub fn refuse_unmerged(&self) -> Result<(), WorkspaceError> {
        let listing = self.git.read(&["ls-files", "--unmerged", "-z"])?;
        let mut paths: Vec<String> = listing
            .split(|byte| *byte == 0)
            .filter_map(|entry| entry.split(|byte| *byte == b'\t').nth(1))
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect();
        paths.dedup();
        if paths.is_empty() { Ok(()) } else { Err(WorkspaceError::Unmerged { paths }) }
    }

    /// Fails when a merge, rebase or the like is half done.
    pub(crate) fn refuse_in_progress(&self) -> Result<(), WorkspaceError> {
        let signs = [
            ("MERGE_HEAD", "A merge"),
            ("CHERRY_PICK_HEAD", "A cherry-pick"),
            ("REVERT_HEAD", "A revert"),
            ("rebase-merge", "A rebase"),
            ("rebase-apply", "A rebase"),
        ];
        match signs.into_iter().find(|(file, _)| self.git_dir.join(file).exists()) {
            Some((_, what)) => Err(WorkspaceError::InProgress { what, root: self.root.clone() }),
            None => Ok(()),
        }
    }
}

/// Returns a name for the repository's folder in Checkmate's state folder: its own name, for people, and a hash of the
/// canonical path, because names repeat.
pub fn repository_key(repository: &Repository) -> String {
    let name = repository.root.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let hash = Sha256::digest(repository.root.as_os_str().as_bytes());
    let short: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{short}", plain.trim_matches('-')).trim_start_matches('-').to_owned()
}

/// Returns the version of the git program, if it is new enough.
pub(crate) fn git_version(directory: &Path) -> Result<String, WorkspaceError> {
    let said = Git::at(directory, &Environment::inherited()).line(&["--version"])?;
    check_version(&said)?;
    Ok(said.trim_start_matches("git version ").to_owned())
}

fn canonical(path: &Path) -> Result<PathBuf, WorkspaceError> {
    path.canonicalize().map_err(|source| WorkspaceError::io("find the folder", path, source))
}

fn check_version(said: &str) -> Result<(), WorkspaceError> {
    let found = said.trim_start_matches("git version ").to_owned();
    let mut numbers = found.split('.').map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST => Ok(()),
        (_, _) => Err(WorkspaceError::GitTooOld { found }),
    }
}

fn explain(error: WorkspaceError, directory: &Path) -> WorkspaceError {
    let WorkspaceError::Git { command, said } = error else { return error };
    if said.contains("dubious ownership") {
        return WorkspaceError::DubiousOwnership { said };
    }
    // With a path in place of `(or any …)`, there is a `.git`, but a broken one.
    if said.contains("not a git repository (or any") {
        return WorkspaceError::NotARepository { directory: directory.to_owned() };
    }
    WorkspaceError::Git { command, said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_before_the_oldest_are_refused() {
        let check = |said: &str| check_version(said).is_ok();
        assert!(check("git version 2.38.0"));
        assert!(check("git version 2.47.3 (Apple Git-1)"));
        assert!(check("git version 3.0.0"));
        assert!(!check("git version 2.37.9"));
        assert!(!check("git version two"));
    }

    #[test]
    fn what_git_says_about_a_folder_is_told_apart() {
        let check = |said: &str| {
            let error = WorkspaceError::Git { command: "rev-parse".to_owned(), said: said.to_owned() };
            explain(error, Path::new("/x")).to_string()
        };
        let dubious = "fatal: detected dubious ownership in repository at '/x' To add an exception for this directory, \
            call: git config --global --add safe.directory /x";
        assert!(check(dubious).starts_with("Git does not trust the owner"));
        assert!(check(dubious).contains("safe.directory /x"));
        assert!(
            check("fatal: not a git repository (or any of the parent directories): .git")
                .contains("`git init`")
        );
        assert!(check("fatal: not a git repository: /gone").contains("/gone"));
    }
}
