//! Do `allow_paths` and `link_paths` name anything?

use std::collections::BTreeSet;
use std::path::Path;

use checkmate_machine::event::{Change, ChangeKind};
use checkmate_machine::gate::paths::Allowlist;

use super::{Finding, Subject};

const ALLOWED: &str = "allow_paths";
const LINKED: &str = "link_paths";
/// How alike two folders' names have to be for one to be proposed.
const ALIKE: f64 = 0.5;

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    let (project, loaded) = match subject.ready(ALLOWED) {
        Ok(ready) => ready,
        Err(finding) => return vec![*finding],
    };
    let mut found = match project.repository.paths() {
        Ok(paths) => allowed(&loaded.config.allow_paths, &paths),
        Err(error) => vec![Finding::of_error(ALLOWED, &error)],
    };
    found.extend(linked(&loaded.config.link_paths, project.repository.root()));
    found
}

fn allowed(globs: &[String], paths: &[String]) -> Vec<Finding> {
    if globs.is_empty() {
        return vec![Finding::ok(ALLOWED, "A change may touch every path that is not protected.")];
    }
    let (mut found, mut open) = (Vec::new(), 0);
    for glob in globs {
        let Ok(list) = Allowlist::new(std::slice::from_ref(glob)) else { continue };
        if paths.iter().any(|path| list.verdict(&changed(path)).is_ok()) {
            open += 1;
            continue;
        }
        let next = match nearest(glob, paths) {
            Some(folder) => format!("Did you mean a folder like `{folder}`? Correct the entry."),
            None => "Correct the entry, or leave it for files that agents are to add.".into(),
        };
        found.push(
            Finding::warn(ALLOWED, format!("`{glob}` in `allow_paths` matches no file."), next).about(glob),
        );
    }
    if found.is_empty() {
        let entries = if open == 1 { "The entry".to_owned() } else { format!("All {open} entries") };
        let matches = if open == 1 { "matches" } else { "match" };
        found.push(Finding::ok(ALLOWED, format!("{entries} of `allow_paths` {matches} files.")));
    }
    found
}

/// Returns the folder that is named most like the beginning of a glob.
fn nearest(glob: &str, paths: &[String]) -> Option<String> {
    let written: Vec<&str> =
        glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect();
    let written = match written.as_slice() {
        // A glob without a wildcard names a folder or a file.
        parts if parts.len() == glob.split('/').count() => glob.trim_end_matches('/').to_owned(),
        parts => parts.join("/"),
    };
    if written.is_empty() {
        return None;
    }
    let folders: BTreeSet<&str> =
        paths.iter().flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..at])).collect();
    if folders.contains(written.as_str()) {
        return None;
    }
    // A folder of the same name elsewhere, or a name that is alike.
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let same = folders.iter().find(|folder| last(folder) == last(&written));
    let alike = folders
        .iter()
        .map(|folder| (strsim::normalized_damerau_levenshtein(folder, &written), folder))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, folder)| folder);
    same.or(alike).map(|folder| (*folder).to_owned())
}

fn changed(path: &str) -> Change {
    Change {
        path: path.to_owned(),
        kind: ChangeKind::Modified,
        old_mode: "100644".into(),
        new_mode: "100644".into(),
        added: 1,
        removed: 0,
    }
}

fn linked(links: &[String], root: &Path) -> Vec<Finding> {
    let missing = links.iter().filter(|link| !root.join(link).exists());
    let mut found: Vec<Finding> = missing
        .map(|link| {
            let name = link.rsplit('/').next().unwrap_or(link);
            let next = match name {
                "node_modules" => "Install the packages, such as with `npm ci`, or take the entry out.",
                ".venv" | "venv" => {
                    "Make the environment, such as with `python3 -m venv`, and install the packages."
                }
                _ => "Make it, or take the entry out.",
            };
            Finding::warn(
                LINKED,
                format!("`{link}` in `link_paths` does not exist, so tests do not have it."),
                next,
            )
            .about(link)
        })
        .collect();
    if found.is_empty() && !links.is_empty() {
        found.push(Finding::ok(LINKED, format!("{} can be linked.", links.join(", "))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_is_one_that_is_there() {
        let paths = ["src/a.rs", "crates/one/source/b.rs", "tests/it.rs"].map(str::to_owned);
        for (glob, expected) in [
            ("scr/**", Some("src")),
            ("test/**/*.rs", Some("tests")),
            ("source/**", Some("crates/one/source")),
            ("src/**/*.py", None),
            ("*.md", None),
            ("documentation/**", None),
        ] {
            assert_eq!(nearest(glob, &paths).as_deref(), expected, "{glob}");
        }
    }
}
