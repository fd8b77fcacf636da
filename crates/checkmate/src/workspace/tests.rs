//! The workspace against real repositories.

mod landing;
mod odd_repositories;
mod pool;
mod restoring;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use checkmate_machine::event::Candidate;
use checkmate_machine::ids::TreeId;

use super::{Applied, Environment, Repository, Workspace, WorkspaceError};

/// A home, a repository in it and a state folder, alone in the world.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// A folder without a repository.
    fn empty() -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(scene.root()).unwrap();
        fs::create_dir_all(scene.home()).unwrap();
        scene
    }

    /// A repository with one commit of these files.
    fn with(files: &[(&str, &str)]) -> Self {
        let scene = Self::empty();
        scene.git(&["init", "-q", "-b", "main"]);
        scene.git(&["config", "user.name", "Mia"]);
        scene.git(&["config", "user.email", "mia@example.org"]);
        for (path, text) in files {
            scene.write(path, text);
        }
        scene.commit("First");
        scene
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn environment(&self) -> Environment {
        Environment::of([
            ("HOME".into(), self.home().into()),
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ])
    }

    fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.root(), arguments)
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.root().join(path)).unwrap()).into_owned()
    }

    fn index(&self) -> Vec<u8> {
        fs::read(self.root().join(".git/index")).unwrap()
    }

    fn discover(&self) -> Result<Repository, WorkspaceError> {
        Repository::discover_in(&self.root(), &self.environment())
    }

    fn workspace(&self) -> Workspace {
        self.workspace_of(&self.root())
    }

    fn workspace_of(&self, directory: &Path) -> Workspace {
        let repository = Repository::discover_in(directory, &self.environment()).unwrap();
        Workspace::open(repository, "r1", &self.folder.path().join("state")).unwrap()
    }

    /// Everything in the user's folder but the git directory: contents, executable bits, links.
    fn photograph(&self) -> BTreeMap<String, String> {
        photograph(&self.root())
    }
}

pub(super) fn photograph(root: &Path) -> BTreeMap<String, String> {
    let mut picture = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if name == ".git" {
                continue;
            }
            let seen = if metadata.is_dir() {
                waiting.push(path);
                "folder".to_owned()
            } else if metadata.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if metadata.is_file() {
                let executable = if metadata.permissions().mode() & 0o100 != 0 { "x " } else { "" };
                format!("{executable}{:?}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
            } else {
                "odd".to_owned()
            };
            picture.insert(name, seen);
        }
    }
    picture
}

/// A patch that replaces the whole content of a file; `None` is no file.
pub(super) fn patch(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let lines = |sign: char, text: Option<&str>| -> String {
        text.unwrap_or_default().lines().map(|line| format!("{sign}{line}\n")).collect()
    };
    let count = |text: Option<&str>| text.unwrap_or_default().lines().count();
    let from = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let to = if new.is_some() { format!("b/{path}") } else { "/dev/null".to_owned() };
    let mode = match (old, new) {
        (None, _) => "new file mode 100644\n",
        (_, None) => "deleted file mode 100644\n",
        (Some(_), Some(_)) => "",
    };
    let start = |text: Option<&str>| usize::from(count(text) > 0);
    format!(
        "diff --git a/{path} b/{path}\n{mode}--- {from}\n+++ {to}\n@@ -{},{} +{},{} @@\n{}{}",
        start(old),
        count(old),
        start(new),
        count(new),
        lines('-', old),
        lines('+', new)
    )
}

fn candidate(workspace: &Workspace, base: &TreeId, patch: &str) -> Candidate {
    match workspace.apply(base, base, patch).unwrap() {
        Applied::Candidate(candidate) => candidate,
        Applied::Rejected(reasons) => panic!("rejected: {reasons:?}"),
    }
}
