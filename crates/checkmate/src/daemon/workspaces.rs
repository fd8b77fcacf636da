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
    open: Mutex<Vec<PathBuf>>,
}

impl Workspaces {
    fn open(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the repository that contains a folder, and returns its root. A folder outside of any repository is listed
    /// with what is wrong with it.
    pub(super) fn add(&self, folder: &Path) -> PathBuf {
        let root = Project::discover(folder)
            .map_or_else(|_| folder.to_owned(), |project| project.repository.root().to_owned());
        let mut open = self.open();
        if !open.contains(&root) {
            open.push(root.clone());
        }
        root
    }

    /// Returns the roots.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        self.open().clone()
    }

    /// Finds a workspace by its root, or the first one.
    pub(super) fn find(&self, wanted: Option<&str>) -> Result<PathBuf, CommandError> {
        let open = self.open();
        let Some(wanted) = wanted else {
            return open.first().cloned().ok_or_else(|| {
                CommandError::usage(
                    "No workspace is open. Open one by its folder, or start the daemon in a repository.",
                )
            });
        };
        open.iter().find(|root| root.as_os_str() == wanted).cloned().ok_or_else(|| {
            CommandError::usage(format!(
                "`{wanted}` is no open workspace. Open it by its folder; `list_workspaces` tells the roots."
            ))
        })
    }
}

/// Looks at a workspace: whether a run could begin in it.
pub(super) fn look(root: &Path, scripted: bool) -> WorkspaceState {
    let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned();
    let project = Project::discover(root);
    let branch = project.as_ref().ok().and_then(|project| project.repository.branch());
    let problem = project
        .and_then(|project| configuration(&project, scripted).map(drop))
        .err()
        .map(|error| error.to_string());
    WorkspaceState { root: root.to_string_lossy().into_owned(), name, branch, problem }
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
