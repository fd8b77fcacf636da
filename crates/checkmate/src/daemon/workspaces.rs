//! The repositories that clients work in.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::agents::Agents;
use crate::config::{AgentKind, Config, FILE_NAME};
use crate::error::CommandError;
use crate::session::{Project, agent_settings};
use crate::wire::WorkspaceState;

/// The workspaces, in the order in which they were opened.
#[derive(Debug, Default)]
pub(super) struct Workspaces {
    open: Mutex<Vec<Opened>>,
}

#[derive(Debug)]
struct Opened {
    root: PathBuf,
    /// Its repository as it was last found; its runs can be read when it is gone, too.
    project: Option<Project>,
}

impl Workspaces {
    fn open(&self) -> MutexGuard<'_, Vec<Opened>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the repository that contains a folder, and returns its root. A folder outside of any repository is listed
    /// with what is wrong with it.
    pub(super) fn add(&self, folder: &Path) -> PathBuf {
        let project = Project::discover(folder).ok();
        let root = project.as_ref().map_or(folder, |project| project.repository.root()).to_owned();
        let mut open = self.open();
        if !open.iter().any(|one| one.root == root) {
            open.push(Opened { root: root.clone(), project });
        }
        root
    }

    /// Returns the repositories, as they were last found.
    pub(super) fn projects(&self) -> Vec<Project> {
        self.open().iter().filter_map(|one| one.project.clone()).collect()
    }

    /// Returns a workspace's repository, as it was last found.
    pub(super) fn project(&self, root: &Path) -> Option<Project> {
        self.open().iter().find(|one| one.root == root)?.project.clone()
    }

    /// Finds a workspace's repository as it is now, to work in it.
    pub(super) fn usable(&self, wanted: Option<&str>) -> Result<Project, CommandError> {
        self.usable_at(&self.find(wanted)?)
    }

    /// The same for a workspace's root.
    pub(super) fn usable_at(&self, root: &Path) -> Result<Project, CommandError> {
        let project = Project::discover(root)?;
        if project.repository.root() != root {
            return Err(CommandError::usage(format!(
                "The workspace {} leads to another repository now, {}. Open that one by its folder.",
                root.display(),
                project.repository.root().display()
            )));
        }
        if let Some(one) = self.open().iter_mut().find(|one| one.root == root) {
            one.project = Some(project.clone());
        }
        Ok(project)
    }

    /// Looks at a workspace: whether a run could begin in it.
    pub(super) fn look(&self, root: &Path, scripted: bool) -> WorkspaceState {
        let is_there = |project: &Project| {
            let git = std::fs::symlink_metadata(root.join(".git"));
            git.is_ok() && root.canonicalize().is_ok_and(|root| root == project.repository.root())
        };
        let known = self.project(root).filter(is_there);
        let project = known.map_or_else(|| self.usable_at(root), Ok);
        let branch = project.as_ref().ok().and_then(|project| project.repository.branch());
        let problem = project
            .and_then(|project| configuration(&project, scripted).map(drop))
            .err()
            .map(|error| error.to_string());
        let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned();
        WorkspaceState { root: root.to_string_lossy().into_owned(), name, branch, problem }
    }

    /// Returns the roots.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        self.open().iter().map(|one| one.root.clone()).collect()
    }

    /// Finds a workspace by its root, or the first one.
    pub(super) fn find(&self, wanted: Option<&str>) -> Result<PathBuf, CommandError> {
        let open = self.open();
        let Some(wanted) = wanted else {
            return open.first().map(|one| one.root.clone()).ok_or_else(|| {
                CommandError::usage(
                    "No workspace is open. Open one by its folder, or start the daemon in a repository.",
                )
            });
        };
        let found = open.iter().find(|one| one.root.as_os_str() == wanted);
        found.map(|one| one.root.clone()).ok_or_else(|| {
            CommandError::usage(format!(
                "`{wanted}` is no open workspace. Open it by its folder; `list_workspaces` tells the roots."
            ))
        })
    }
}

/// Loads a workspace's configuration.
pub(super) fn load(project: &Project, scripted: bool) -> Result<Config, CommandError> {
    let root = project.repository.root();
    let kind = if scripted { AgentKind::Scripted } else { AgentKind::Live };
    let mut config = Config::load_for(&root.join(FILE_NAME), root, kind)?.config;
    config.use_environment(&|name| std::env::var(name).ok());
    Ok(config)
}

/// Loads a workspace's configuration, and sees that the keys are there that it needs.
pub(super) fn configuration(project: &Project, scripted: bool) -> Result<Config, CommandError> {
    let config = load(project, scripted)?;
    if !scripted {
        let roles = config.roles();
        let settings = roles.iter().map(|(role, settings)| (*role, agent_settings(settings))).collect();
        Agents::live(settings, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()))?;
    }
    Ok(config)
}
