//! Patches in other forms than diffs.

use crate::choose::Choose;
use crate::diff::{self, Hunk};
use crate::tree::{Change, File};

/// Writes a change in another form; `None` where the form cannot say it.
///
/// The text can only mean the change if no lines are alike, every file is only edited or made, and no file loses or
/// gets its last line feed.
pub fn written(choose: &mut Choose<'_>, change: &Change) -> Option<(String, bool)> {
    let form = choose.up_to(2);
    let mut text = String::new();
    let mut keeps = change.unique && change.renames.is_empty();
    for (path, new) in &change.after {
        let old = change.before.get(path);
        if old == Some(new) {
            continue;
        }
        let modes = old.map_or(!new.executable, |old| old.executable == new.executable);
        let closed = |file: &File| file.text.ends_with('\n');
        keeps &= modes && closed(new) && old.is_none_or(closed);
        // What is new has no line endings but those of the patch.
        let lines = new.text.replace('\r', "");
        match form {
            0 => {
                blocks(&mut text, path, &old.map_or(String::new(), |old| old.text.replace('\r', "")), &lines)
            }
            1 => text.push_str(&format!("<file path=\"{path}\">\n{lines}</file>\n")),
            _ => {
                let hunks = diff::hunks(old.map_or("", |old| &old.text), &new.text, 3);
                sections(&mut text, path, old.is_some(), hunks);
            }
        }
    }
    for path in change.before.keys().filter(|path| !change.after.contains_key(*path)) {
        if form < 2 {
            return None;
        }
        text.push_str(&format!("*** Delete File: {path}\n"));
    }
    if form == 2 && choose.chance(14) {
        text = format!("*** Begin Patch\n{text}*** End Patch\n");
    }
    Some((wrapped(choose, text), keeps))
}

/// Writes each hunk as what to search for and what to put there.
fn blocks(text: &mut String, path: &str, old: &str, new: &str) {
    for hunk in diff::hunks(old, new, 3) {
        let side = |gone: char| -> String {
            let lines = hunk.lines.iter().filter(|line| line.kind != gone);
            lines.map(|line| format!("{}\n", line.text)).collect()
        };
        let (search, replace) = (side('+'), side('-'));
        text.push_str(&format!("{path}\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"));
    }
}

/// Writes hunks below the headers of the `*** Begin Patch` form.
fn sections(text: &mut String, path: &str, there: bool, hunks: Vec<Hunk>) {
    text.push_str(&format!("*** {} File: {path}\n", if there { "Update" } else { "Add" }));
    for hunk in hunks {
        if there {
            text.push_str("@@\n");
        }
        for line in &hunk.lines {
            text.push(line.kind);
            text.push_str(line.text.trim_end_matches('\r'));
            text.push('\n');
        }
    }
}

/// Puts around a text what belongs to no form.
fn wrapped(choose: &mut Choose<'_>, text: String) -> String {
    match choose.up_to(7) {
        1 => format!("```\n{text}```\n"),
        2 => format!("Here it is:\n\n```\n{text}```\n\nI hope this helps.\n"),
        3 => text.replace('\n', "\r\n"),
        4 => serde_json::Value::from(text).to_string(),
        5 => text.trim_end().to_owned(),
        6 => format!("\u{feff}{text}"),
        _ => text,
    }
}
