//! The files of a repository, as far as they are needed to recognise it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Directories that hold what was installed or built.
const SKIPPED: [&str; 10] = [
    "node_modules",
    "target",
    "venv",
    "vendor",
    "dist",
    "build",
    "out",
    "coverage",
    "__pycache__",
    "site-packages",
];
/// How deep directories are looked into.
const DEEPEST: usize = 8;
/// How many entries are looked at, so that no repository is too large for a first look.
const MOST: usize = 50_000;
/// The most bytes of a file that are read.
const LARGEST: u64 = 1_000_000;

/// The names of a repository's files.
pub(super) struct Survey {
    root: PathBuf,
    files: BTreeSet<String>,
}

impl Survey {
    /// Walks over the repository at `root`; symbolic links and hidden directories are left out.
    pub(super) fn of(root: &Path) -> Self {
        let mut files = BTreeSet::new();
        let mut dirs = vec![(root.to_owned(), String::new(), 0)];
        let mut seen = 0;
        while let Some((dir, prefix, depth)) = dirs.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                seen += 1;
                if seen > MOST {
                    return Self { root: root.to_owned(), files };
                }
                let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
                    continue;
                };
                let path = format!("{prefix}{name}");
                if kind.is_file() {
                    files.insert(path);
                } else if kind.is_dir()
                    && (!name.starts_with('.') || name == ".config")
                    && !SKIPPED.contains(&name.as_str())
                    && depth < DEEPEST
                {
                    dirs.push((entry.path(), format!("{path}/"), depth + 1));
                }
            }
        }
        Self { root: root.to_owned(), files }
    }

    /// Tells whether there is such a file.
    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// Returns every file, from the repository's root.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Returns the files below a directory, from the repository's root; `""` is the root itself.
    pub(super) fn below<'a>(&'a self, dir: &'a str) -> impl Iterator<Item = &'a str> {
        self.files().filter(move |file| {
            dir.is_empty() || file.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// Returns a file's text, or `None` if it is not there, too large or no text.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        if !self.has(path) {
            return None;
        }
        let mut text = String::new();
        let file = File::open(self.root.join(path)).ok()?;
        file.take(LARGEST).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Tells whether there is such a file or directory, even one that was not walked over.
    pub(super) fn is_there(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }
}
