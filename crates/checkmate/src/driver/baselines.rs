//! Green runs of the test command on trees before a change, kept for later runs on the same tree.
//!
//! ```text
//! $XDG_STATE_HOME/checkmate/baselines/KEY.json    KEY is a hash of everything that the result may depend on
//! ```
//!
//! Only green receipts are kept: what is red or unstable is looked at anew, and what could not be run says nothing. A
//! file that is damaged, too old or of another key is as good as none; nothing here can fail a run.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use checkmate_machine::command::CommandLine;
use checkmate_machine::effect::hash;
use checkmate_machine::event::Answer;
use checkmate_machine::evidence::{Receipt, Signal};
use checkmate_machine::ids::TreeId;
use serde::{Deserialize, Serialize};

use crate::journal::Shell;
use crate::process;
use crate::redact::Redactor;
use crate::workspace::Repository;

/// How long a receipt is good.
const AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The most files that are kept.
const FILES: usize = 200;
/// Goes into every key; another number makes every file of before unknown.
const VERSION: u32 = 1;

/// The folder of kept receipts.
#[derive(Debug, Clone)]
pub(super) struct Baselines {
    folder: PathBuf,
    redactor: Redactor,
}

/// One file.
#[derive(Serialize, Deserialize)]
struct Kept {
    key: String,
    /// Seconds since 1970.
    at: u64,
    receipt: Receipt,
}

impl Baselines {
    pub(super) fn new(folder: PathBuf, redactor: Redactor) -> Self {
        Self { folder, redactor }
    }

    /// Returns the receipt of an earlier run under the same conditions.
    pub(super) fn find(&self, key: &str, tree: &TreeId) -> Option<Receipt> {
        self.find_at(key, tree, SystemTime::now())
    }

    fn find_at(&self, key: &str, tree: &TreeId, now: SystemTime) -> Option<Receipt> {
        let text = fs::read_to_string(self.file(key)).ok()?;
        let kept: Kept = serde_json::from_str(&text).ok()?;
        let age = now.duration_since(UNIX_EPOCH.checked_add(Duration::from_secs(kept.at))?).ok()?;
        let is_good = kept.key == key && kept.receipt.tree == *tree && is_green(&kept.receipt) && age <= AGE;
        is_good.then_some(Receipt { cached: true, ..kept.receipt })
    }

    /// Keeps a receipt if it is green. Whatever goes wrong costs a run of the tests later, and nothing now.
    pub(super) fn keep(&self, key: &str, receipt: &Receipt) {
        if !is_green(receipt) || receipt.cached {
            return;
        }
        // What is written down anywhere has no secrets in it.
        let Answer::Ran(receipt) = self.redactor.answer(Answer::Ran(receipt.clone())) else { return };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs());
        self.write(&Kept { key: key.to_owned(), at, receipt }).ok();
        self.prune().ok();
    }

    fn write(&self, kept: &Kept) -> std::io::Result<()> {
        crate::state::make(&self.folder)?;
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.folder)?;
        file.write_all(&serde_json::to_vec(kept)?)?;
        file.as_file().sync_all()?;
        file.persist(self.file(&kept.key))?;
        Ok(())
    }

    /// Removes what is too old, and the oldest of too many.
    fn prune(&self) -> std::io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
        files.sort();
        let oldest = SystemTime::now().checked_sub(AGE);
        let too_many = files.len().saturating_sub(FILES);
        for (number, (modified, path)) in files.into_iter().enumerate() {
            if number < too_many || oldest.is_some_and(|oldest| modified < oldest) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}

fn is_green(receipt: &Receipt) -> bool {
    matches!(receipt.signal(), Signal::Pass { .. })
}

/// Returns the key of a run of the test command on a tree; `None` if its conditions cannot be told.
pub(super) fn key(
    repository: &Repository,
    shell: &Shell,
    command: &CommandLine,
    tree: &TreeId,
) -> Option<String> {
    let links: Option<Vec<String>> =
        shell.link_paths.iter().map(|link| stamps(&repository.root().join(link))).collect();
    let conditions = serde_json::json!({
        "version": VERSION,
        "program": env!("CARGO_PKG_VERSION"),
        "repository": repository.root(),
        // Commands see the history as well as the files.
        "head": repository.head().ok()?,
        "tree": tree,
        "command": [&command.text, &command.argv.join("\0")],
        "conditions": process::conditions(command, &shell.keep_env)?,
        "links": links?,
        "report": shell.test_report,
    });
    Some(hash(&conditions.to_string()))
}

/// Describes what a link leads to: the times of the folder and of what lies directly in it.
fn stamps(target: &Path) -> Option<String> {
    let stamp = |path: &Path| {
        let modified = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        format!("{} {modified:?}\n", path.display())
    };
    let Ok(whole) = target.canonicalize() else { return Some("none".into()) };
    let mut lines = vec![stamp(&whole)];
    if whole.is_dir() {
        for entry in fs::read_dir(&whole).ok()? {
            lines.push(stamp(&entry.ok()?.path()));
        }
        lines.sort();
    }
    Some(hash(&lines.concat()))
}

#[cfg(test)]
mod tests {
    use checkmate_machine::evidence::{Ended, Output, TestReport};

    use super::*;

    fn receipt(code: i32, failed: u32) -> Receipt {
        Receipt {
            tree: TreeId::new("t"),
            saw: None,
            seed: None,
            argv: vec!["run".into()],
            shell: false,
            of_repository: true,
            ended: Ended::Exited { code },
            report: Some(TestReport { runner: "tap".into(), passed: 2, failed, ..TestReport::default() }),
            stdout: Output { text: "a very secret word".into(), bytes: 18, sha256: String::new() },
            stderr: Output::default(),
            duration_ms: 700,
            cached: false,
        }
    }

    fn baselines() -> (tempfile::TempDir, Baselines) {
        let folder = tempfile::tempdir().unwrap();
        let redactor = Redactor::new(["very secret".to_owned()]);
        let baselines = Baselines::new(folder.path().join("baselines"), redactor);
        (folder, baselines)
    }

    fn names(baselines: &Baselines) -> Vec<String> {
        let entries = fs::read_dir(&baselines.folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_green_receipt_comes_back_and_says_where_it_comes_from() {
        let (_folder, baselines) = baselines();
        let tree = TreeId::new("t");
        assert_eq!(baselines.find("k", &tree), None);
        baselines.keep("k", &receipt(0, 0));
        let found = baselines.find("k", &tree).unwrap();
        assert!(found.cached && found.duration_ms == 700);
        assert_eq!(found.stdout.text.matches("secret").count(), 0, "{}", found.stdout.text);
        assert_eq!(names(&baselines), ["k.json"], "nothing half written is left");
        assert_eq!(baselines.find("other", &tree), None);
        assert_eq!(baselines.find("k", &TreeId::new("u")), None);
    }

    #[test]
    fn what_is_not_green_is_not_kept_and_not_taken() {
        let (_folder, baselines) = baselines();
        let infra = Receipt { ended: Ended::TimedOut { limit_s: 1 }, ..receipt(0, 0) };
        let mut flaky = receipt(0, 0);
        flaky.report.as_mut().unwrap().flaky.push("sometimes".into());
        let absent = Receipt { report: None, of_repository: false, ..receipt(0, 0) };
        for receipt in [infra, flaky.clone(), absent, receipt(1, 1)] {
            baselines.keep("k", &receipt);
            assert!(names(&baselines).is_empty(), "{receipt:?}");
        }
        baselines.write(&Kept { key: "k".into(), at: u64::MAX / 4, receipt: receipt(0, 0) }).unwrap();
        assert_eq!(baselines.find("k", &TreeId::new("t")), None, "from the future");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        baselines.write(&Kept { key: "k".into(), at: now, receipt: flaky }).unwrap();
        assert_eq!(baselines.find("k", &TreeId::new("t")), None);
    }

    #[test]
    fn a_damaged_or_old_file_is_as_good_as_none() {
        let (_folder, baselines) = baselines();
        let tree = TreeId::new("t");
        baselines.keep("k", &receipt(0, 0));
        let later = |age: Duration| baselines.find_at("k", &tree, SystemTime::now() + age);
        assert!(later(AGE - Duration::from_secs(60)).is_some());
        assert!(later(AGE + Duration::from_secs(60)).is_none());
        let whole = fs::read(baselines.file("k")).unwrap();
        fs::write(baselines.file("k"), &whole[..whole.len() / 2]).unwrap();
        assert_eq!(baselines.find("k", &tree), None);
        fs::write(baselines.file("k"), [0xff; 9]).unwrap();
        assert_eq!(baselines.find("k", &tree), None);
        // A file that was copied under another name is of another key.
        fs::write(baselines.file("l"), &whole).unwrap();
        assert_eq!(baselines.find("l", &tree), None);
        baselines.keep("k", &receipt(0, 0));
        assert!(baselines.find("k", &tree).is_some());
    }

    #[test]
    fn the_oldest_of_too_many_go() {
        let (_folder, baselines) = baselines();
        for number in 0..FILES + 3 {
            baselines.keep(&format!("k{number}"), &receipt(0, 0));
        }
        let names = names(&baselines);
        assert_eq!(names.len(), FILES);
        assert!(names.contains(&format!("k{}.json", FILES + 2)) && !names.contains(&"k0.json".to_owned()));
    }

    #[test]
    fn what_lies_behind_a_link_counts() {
        let folder = tempfile::tempdir().unwrap();
        let modules = folder.path().join("node_modules");
        assert_eq!(stamps(&modules), Some("none".into()));
        fs::create_dir_all(modules.join("left")).unwrap();
        let before = stamps(&modules);
        assert_eq!(stamps(&modules), before);
        fs::create_dir(modules.join("right")).unwrap();
        assert_ne!(stamps(&modules), before);
    }
}
