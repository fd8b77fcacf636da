//! What a build needs and git does not track (`node_modules`, `.venv`): symlinks from the run's files to the user's.

use std::path::{Component, Path, PathBuf};

use super::files::{load, save};
use super::listing::{Listing, Place};
use super::site::Site;
use super::{Workspace, WorkspaceError, sweep};

impl Workspace {
    /// Keeps the list for later calls, also after a restart, and says which entries cannot be linked.
    pub(crate) fn save_links(&self, link_paths: &[String]) -> Result<Vec<String>, WorkspaceError> {
        let mut notes = Vec::new();
        let mut links: Vec<String> = Vec::new();
        for path in link_paths {
            match normalise(path) {
                None => notes.push(format!(
                    "`{path}` in `link_paths` is not a path inside the repository; it is not linked."
                )),
                Some(path) if self.leads_outside(&path) => {
                    notes.push(format!(
                        "`{path}` in `link_paths` leads out of the repository; it is not linked."
                    ));
                    links.push(path);
                }
                Some(path) => links.push(path),
            }
        }
        links.sort();
        links.dedup();
        save(&self.run_dir.join("links.json"), &links)?;
        Ok(notes)
    }

    /// Returns the paths that are linked rather than copied.
    pub(crate) fn links(&self) -> Result<Vec<String>, WorkspaceError> {
        Ok(load(&self.run_dir.join("links.json"))?.unwrap_or_default())
    }

    /// Returns what the run's files borrow from the user's: git's objects, and what is linked. A run that has not been
    /// prepared yet has no links, so the list is given.
    pub fn borrowed(&self, link_paths: &[String]) -> Vec<PathBuf> {
        let objects = self.repository.common_dir().join("objects");
        let others = std::fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
        let others = others.lines().map(|line| objects.join(line)).collect::<Vec<_>>();
        let links =
            link_paths.iter().filter_map(|link| normalise(link)).filter(|link| !self.leads_outside(link));
        let links = links.map(|link| self.repository.root().join(link));
        std::iter::once(objects.clone()).chain(others).chain(links).collect()
    }

    /// Says whether something exists at the path and is, symlinks followed, not in the user's work tree.
    fn leads_outside(&self, path: &str) -> bool {
        let root = self.repository.root();
        root.join(path).canonicalize().is_ok_and(|real| !real.starts_with(root) || real == root)
    }
}

impl Site<'_> {
    /// Makes the links in the site's files, where the tree has nothing at or above or below their place.
    pub(crate) fn make_links(&self, listing: &Listing) -> Result<(), WorkspaceError> {
        for link in self.workspace.links()? {
            let source = self.workspace.repository.root().join(&link);
            let free = match listing.at(&link) {
                Place::Absent => true,
                Place::Entry(_) | Place::Directory | Place::Beyond(_) => false,
            };
            if free && source.exists() && !self.workspace.leads_outside(&link) {
                self.make_link(&link, &source)?;
            }
        }
        Ok(())
    }

    fn make_link(&self, link: &str, source: &Path) -> Result<(), WorkspaceError> {
        let tree = self.tree_dir();
        for (end, _) in link.match_indices('/') {
            let parent = tree.join(&link[..end]);
            match std::fs::symlink_metadata(&parent) {
                Ok(metadata) if metadata.is_dir() => continue,
                Ok(_) => sweep::remove(&parent)?,
                Err(_) => {}
            }
            std::fs::create_dir(&parent).map_err(|e| WorkspaceError::io("make the folder", &parent, e))?;
        }
        let place = tree.join(link);
        if std::fs::read_link(&place).is_ok_and(|target| target == source) {
            return Ok(());
        }
        sweep::remove(&place)?;
        std::os::unix::fs::symlink(source, &place).map_err(|e| WorkspaceError::io("link", &place, e))
    }
}

fn normalise(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let is_git = parts.iter().any(|part| part.eq_ignore_ascii_case(".git"));
    (!parts.is_empty() && !is_git && !path.contains('\0')).then(|| parts.join("/"))
}
