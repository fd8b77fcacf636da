//! The run's own copy of the user's tree, and the way back.
//!
//! A run never works in the user's checkout. [`Workspace::prepare`] takes HEAD plus the user's uncommitted changes as a
//! git tree without touching their index; [`Workspace::apply`] edits trees, not files; [`Workspace::restore`] makes the
//! run's folder exactly one of these trees before each command; [`Workspace::land`] brings a verified tree to the user
//! in one transaction, and [`Workspace::undo`] takes it back.
//!
//! Where things lie, for a run `RUN`:
//!
//! | place | what |
//! |---|---|
//! | `refs/checkmate/RUN/…` | commits that keep the run's trees from `git gc` |
//! | `RUN_DIR/tree` | the files that agents and commands see; `tree-1` and so on where commands run beside each other |
//! | `RUN_DIR/index` | our index of these files |
//! | `RUN_DIR/view.git` | the git directory that commands see; nothing of ours is read from it |
//! | `RUN_DIR/landing.json` | the intent of a landing that is being written |
//! | `RUN_DIR/landed.json`, `RUN_DIR/undo/` | what landed, and the exact bytes from before |
//! | `GIT_DIR/checkmate/RUN` | new contents on the file system of the user's tree, while a landing is being written |

mod candidate;
mod commit;
mod directory;
mod files;
mod git;
mod inspect;
mod land;
mod layers;
mod links;
mod listing;
mod objects;
mod pool;
mod read;
mod reader;
mod repository;
mod rooted;
mod site;
mod snapshot;
mod survey;
mod sweep;
mod symbols;
mod tree;
mod undo;
mod view;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use self::candidate::Applied;
pub use self::directory::{DirectoryApply, DirectoryWish, apply_to_directory};
pub use self::git::Environment;
pub use self::land::LandAnswer;
pub(crate) use self::repository::git_version;
pub use self::repository::{Repository, repository_key};
pub use self::undo::UndoAnswer;

use self::files::Fuse;
use self::listing::Listings;
use self::reader::Reader;

/// One run's workspace.
#[derive(Debug)]
pub struct Workspace {
    repository: Repository,
    run: String,
    run_dir: PathBuf,
    fuse: Fuse,
    reader: Reader,
    listings: Listings,
}

impl Workspace {
    /// Opens the workspace of a run; `run_dir` is made if it does not exist.
    ///
    /// `run` names the refs: letters, digits, `-` and `_` only. A landing that was interrupted is left as it is until
    /// [`Workspace::recover`], [`Workspace::land`] or [`Workspace::undo`].
    pub fn open(repository: Repository, run: &str, run_dir: &Path) -> Result<Self, WorkspaceError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if run.is_empty() || run.starts_with('-') || !run.chars().all(fits) {
            return Err(WorkspaceError::RunName { run: run.to_owned() });
        }
        crate::state::make(run_dir).map_err(|e| WorkspaceError::io("make the folder", run_dir, e))?;
        let run_dir =
            run_dir.canonicalize().map_err(|e| WorkspaceError::io("find the folder", run_dir, e))?;
        Ok(Self {
            repository,
            run: run.to_owned(),
            run_dir,
            fuse: Fuse::default(),
            reader: Reader::default(),
            listings: Listings::default(),
        })
    }

    /// Returns the user's repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the folder of the run's files, as [`Workspace::restore`] makes it.
    pub fn tree_dir(&self) -> PathBuf {
        self.site(0).tree_dir()
    }

    /// Forgets the run: its refs, its files and what [`Workspace::undo`] would need. What others keep in the run's
    /// folder stays.
    pub fn discard(self) -> Result<(), WorkspaceError> {
        self.unpin_all()?;
        sweep::remove(&self.stage_dir())?;
        self.remove_further_sites()?;
        for name in ["tree", "index", "view.git", "undo", "links.json", "landing.json", "landed.json"] {
            sweep::remove(&self.run_dir.join(name))?;
        }
        // Fails when the caller keeps something there, which is no fault.
        std::fs::remove_dir(&self.run_dir).ok();
        Ok(())
    }

    fn stage_dir(&self) -> PathBuf {
        self.repository.common_dir().join("checkmate").join(&self.run)
    }
}

/// Why the workspace could not do something; every message is a sentence with the next step.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// There is no git program.
    #[error(
        "The `git` program was not found. Install git 2.38 or later and make sure that it is on the PATH."
    )]
    GitMissing,
    /// Git is too old.
    #[error("This is git {found}, but Checkmate needs git 2.38 or later. Upgrade git.")]
    GitTooOld {
        /// What `git --version` said.
        found: String,
    },
    /// The folder is in no repository.
    #[error(
        "{} is not in a git repository. Run `git init`, then `git add -A` and `git commit -m \"First commit\"` there.",
        directory.display()
    )]
    NotARepository {
        /// Where it was looked for.
        directory: PathBuf,
    },
    /// The repository has no work tree.
    #[error("{} is a bare repository and has no files to work on. Clone it, or add a work tree with `git worktree add`.", directory.display())]
    Bare {
        /// Where it was looked for.
        directory: PathBuf,
    },
    /// The folder is inside the git directory.
    #[error("{} is inside a git directory. Change to the files of the repository and try again.", directory.display())]
    InsideGitDirectory {
        /// Where it was looked for.
        directory: PathBuf,
    },
    /// The configuration puts the work tree somewhere else.
    #[error(
        "The repository of {} says that its files are in {}, which has no `.git` of its own. Remove `core.worktree` from its configuration.",
        directory.display(), root.display()
    )]
    ForeignWorkTree {
        /// Where it was looked for.
        directory: PathBuf,
        /// Where the configuration points.
        root: PathBuf,
    },
    /// Git does not trust the folder.
    #[error("Git does not trust the owner of this repository. {said}")]
    DubiousOwnership {
        /// Git's own words, which name the command that helps.
        said: String,
    },
    /// There is nothing to start from.
    #[error(
        "The repository in {} has no commits yet. Run `git add -A` and `git commit -m \"First commit\"` there first.",
        root.display()
    )]
    NoCommits {
        /// The repository's root.
        root: PathBuf,
    },
    /// An earlier patch to a folder was cut off while it was written.
    #[error(
        "An earlier `checkmate apply` to this folder was cut off, and its files are half written. Run it without `--check` to have it finished first."
    )]
    Unfinished,
    /// A merge is half done.
    #[error("These files have unmerged changes: {}. Resolve them, `git add` them, and try again.", paths.join(", "))]
    Unmerged {
        /// The paths.
        paths: Vec<String>,
    },
    /// A merge, rebase or the like is half done.
    #[error("{what} is in progress in {}. Finish or abort it, then land again.", root.display())]
    InProgress {
        /// What is in progress.
        what: &'static str,
        /// The repository's root.
        root: PathBuf,
    },
    /// The user staged something that a commit would mix with the change.
    #[error(
        "These files have staged changes that the commit would swallow: {}. Commit or unstage them (`git restore --staged`), then land again.",
        paths.join(", ")
    )]
    Staged {
        /// The paths.
        paths: Vec<String>,
    },
    /// The change touches what the user has hidden.
    #[error(
        "The change touches files outside of the sparse checkout: {}. Run `git sparse-checkout add` for their folders, then land again.",
        paths.join(", ")
    )]
    Sparse {
        /// The paths.
        paths: Vec<String>,
    },
    /// Another git process holds the user's index or a ref.
    #[error("Another git process is at work: {} exists. Wait for it, or remove the file if none is running, then try again.", lock.display())]
    Locked {
        /// The lock.
        lock: PathBuf,
    },
    /// The user saved files in the very moment in which they were to be replaced.
    #[error(
        "These files changed while the change was being written and were left as they are: {}. The rest of the change is in place; edit them by hand, or take it back with `checkmate undo`.",
        paths.join(", ")
    )]
    LeftAlone {
        /// The paths.
        paths: Vec<String>,
    },
    /// The change replaces or removes a submodule, which is not a file.
    #[error(
        "The change touches the submodule `{path}`, which cannot be landed. Change it by hand with `git submodule`."
    )]
    Submodule {
        /// Where it is.
        path: String,
    },
    /// A path cannot be written down.
    #[error("The change touches {path:?}, whose name is not UTF-8. Rename it, then land again.")]
    PathName {
        /// The name, as far as it can be read.
        path: String,
    },
    /// The tree has no such file.
    #[error("The tree {tree} has no file `{path}` to lay over another tree.")]
    NotInTree {
        /// The tree.
        tree: String,
        /// The path that was asked for.
        path: String,
    },
    /// A layer does not fit the tree.
    #[error(
        "A file could not be laid over the tree. {0} This is a bug of Checkmate; please report it with the journal."
    )]
    Layer(String),
    /// The name of a run cannot be part of a ref.
    #[error("`{run}` cannot name a run. Use letters, digits, `-` and `_` only.")]
    RunName {
        /// The name.
        run: String,
    },
    /// A file of the run's folder is not what Checkmate wrote.
    #[error("{} cannot be read as what Checkmate wrote there ({problem}). Move it away to go on without it.", file.display())]
    Record {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Git found no room.
    #[error("`git {command}` failed, because the disk is full: {said} Make room and try again.")]
    DiskFull {
        /// The git command.
        command: String,
        /// Git's own words.
        said: String,
    },
    /// Git failed.
    #[error("`git {command}` failed: {said} Run it by hand in the repository to see more.")]
    Git {
        /// The git command.
        command: String,
        /// Git's own words.
        said: String,
    },
    /// The operating system failed.
    #[error("Checkmate could not {action} {}: {source}. Check that it exists, that you may write it, and that the disk has room.", path.display())]
    Io {
        /// What was tried, as in "could not …".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A test pulled the plug.
    #[cfg(test)]
    #[error("The plug was pulled.")]
    PlugPulled,
}

impl WorkspaceError {
    fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}
