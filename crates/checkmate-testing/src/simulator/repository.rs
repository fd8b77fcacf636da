//! A repository without git: trees are maps from path to text, named by the hash of what is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use checkmate_machine::effect::{self, Layer};
use checkmate_machine::event::{Answer, Candidate, Change, ChangeKind, FileFact, FileText, Prepared};
use checkmate_machine::ids::{CommitId, TreeId};
use checkmate_machine::patch::{self, Original, Write};
use similar::TextDiff;

/// The files of a tree.
pub(super) type Files = BTreeMap<String, String>;

/// Every tree that was ever made, and the user's.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    trees: BTreeMap<TreeId, Files>,
    user: Files,
}

impl Repository {
    pub(super) fn new(user: Files) -> Self {
        Self { trees: BTreeMap::new(), user }
    }

    /// Names a tree and keeps it.
    pub(super) fn keep(&mut self, files: Files) -> TreeId {
        let text: String = files.iter().fold(String::new(), |mut text, (path, content)| {
            let _ = write!(text, "{path}\0{content}\0");
            text
        });
        let mut name = effect::hash(&text);
        name.truncate(40);
        let id = TreeId::new(name);
        self.trees.insert(id.clone(), files);
        id
    }

    /// Returns a tree's files; a tree that nobody made is empty.
    pub(super) fn files(&self, tree: &TreeId) -> Files {
        self.trees.get(tree).cloned().unwrap_or_default()
    }

    /// Returns a tree with layers over it; edits of bytes are none of this world's.
    pub(super) fn laid_over(&self, tree: &TreeId, layers: &[Layer]) -> Files {
        let mut files = self.files(tree);
        for layer in layers {
            match layer {
                Layer::Files { from, paths } => {
                    let from = self.files(from);
                    for path in paths {
                        match from.get(path) {
                            Some(text) => files.insert(path.clone(), text.clone()),
                            None => files.remove(path),
                        };
                    }
                }
                Layer::Text { path, text } => drop(files.insert(path.clone(), text.clone())),
                Layer::Edit { .. } => {}
            }
        }
        files
    }

    /// Returns the user's files, for the user to edit.
    pub(super) fn user(&mut self) -> &mut Files {
        &mut self.user
    }

    pub(super) fn prepare(&mut self) -> Prepared {
        let files = self.user.clone();
        Prepared {
            base: self.keep(files.clone()),
            head: CommitId::new("1f".repeat(20)),
            branch: Some("main".into()),
            files: files
                .iter()
                .map(|(path, text)| FileFact {
                    path: path.clone(),
                    bytes: text.len() as u64,
                    symbols: text.lines().take(2).map(str::to_owned).collect(),
                })
                .collect(),
            notes: vec!["The working tree has uncommitted changes; the run starts from them.".into()],
            nonce: "5eed".into(),
        }
    }

    pub(super) fn read(&self, tree: &TreeId, paths: &[String]) -> Vec<FileText> {
        let files = self.files(tree);
        paths
            .iter()
            .map(|path| FileText {
                path: path.clone(),
                text: files.get(path).cloned().ok_or_else(|| "There is no such file.".into()),
            })
            .collect()
    }

    /// Places a patch by the machine's own rules.
    pub(super) fn apply(&mut self, onto: &TreeId, base: &TreeId, text: &str) -> Answer {
        let mut files = self.files(onto);
        let planned = patch::parse(text).and_then(|patch| {
            let original = |path: &str| match files.get(path) {
                Some(text) => Original::File { bytes: text.clone().into_bytes(), executable: false },
                None => Original::Absent,
            };
            let originals = patch.paths().into_iter().map(|path| (path.to_owned(), original(path))).collect();
            patch::plan(&patch, &originals)
        });
        match planned {
            Err(rejections) => {
                Answer::Rejected { reasons: rejections.iter().map(ToString::to_string).collect() }
            }
            Ok(plan) => {
                for write in plan.writes {
                    match write {
                        Write::Put { path, bytes, .. } => {
                            files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
                        }
                        Write::Delete { path } => {
                            files.remove(&path);
                        }
                    }
                }
                Answer::Applied(self.candidate(base, files))
            }
        }
    }

    /// Puts a document into a tree.
    pub(super) fn store(&mut self, base: &TreeId, path: &str, text: &str) -> Answer {
        let mut files = self.files(base);
        files.insert(path.to_owned(), text.to_owned());
        Answer::Applied(self.candidate(base, files))
    }

    /// Brings a tree to the user as one three-way application of whole files.
    pub(super) fn land(&mut self, tree: &TreeId, base: &TreeId) -> Answer {
        let (wanted, old) = (self.files(tree), self.files(base));
        let changed: Vec<String> = differing(&old, &wanted);
        if self.user == old {
            self.user = wanted;
            return Answer::Landed { commit: None, files: changed };
        }
        let mut merged = self.user.clone();
        let mut conflicts = Vec::new();
        for path in changed {
            let (mine, theirs) = (merged.get(&path), wanted.get(&path));
            if mine == theirs {
                continue;
            }
            if mine != old.get(&path) {
                conflicts.push(path);
                continue;
            }
            match theirs.cloned() {
                Some(text) => merged.insert(path, text),
                None => merged.remove(&path),
            };
        }
        let target = self.keep(self.user.clone());
        if conflicts.is_empty() {
            let merged = self.candidate(&target, merged);
            Answer::TargetMoved { target, merged }
        } else {
            Answer::Conflict { target, paths: conflicts }
        }
    }

    pub(super) fn candidate(&mut self, base: &TreeId, files: Files) -> Candidate {
        let old = self.files(base);
        let mode = |there: bool| if there { "100644" } else { "000000" }.to_owned();
        let changes = differing(&old, &files)
            .into_iter()
            .map(|path| {
                let (before, after) = (old.get(&path), files.get(&path));
                Change {
                    kind: match (before, after) {
                        (None, _) => ChangeKind::Added,
                        (Some(_), None) => ChangeKind::Deleted,
                        (Some(_), Some(_)) => ChangeKind::Modified,
                    },
                    old_mode: mode(before.is_some()),
                    new_mode: mode(after.is_some()),
                    added: after.map_or(0, |text| u32::try_from(text.lines().count()).unwrap_or(u32::MAX)),
                    removed: before.map_or(0, |text| u32::try_from(text.lines().count()).unwrap_or(u32::MAX)),
                    path,
                }
            })
            .collect();
        let diff = diff(&old, &files);
        Candidate { tree: self.keep(files), changes, diff }
    }
}

/// Returns the paths at which two trees differ.
pub(super) fn differing(old: &Files, new: &Files) -> Vec<String> {
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    paths.into_iter().filter(|path| old.get(*path) != new.get(*path)).cloned().collect()
}

/// Returns the difference of two trees in git's form.
pub(super) fn diff(old: &Files, new: &Files) -> String {
    let mut text = String::new();
    for path in differing(old, new) {
        let side = |files: &Files, mark: &str| match files.get(&path) {
            Some(_) => format!("{mark}/{path}"),
            None => "/dev/null".into(),
        };
        let (before, after) = (old.get(&path), new.get(&path));
        let lines = TextDiff::from_lines(before.map_or("", String::as_str), after.map_or("", String::as_str));
        let _ = writeln!(text, "diff --git a/{path} b/{path}");
        match (before, after) {
            (None, _) => text.push_str("new file mode 100644\n"),
            (_, None) => text.push_str("deleted file mode 100644\n"),
            (Some(_), Some(_)) => {}
        }
        let _ = write!(text, "{}", lines.unified_diff().header(&side(old, "a"), &side(new, "b")));
    }
    text
}
