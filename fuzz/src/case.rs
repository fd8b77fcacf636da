//! One input: files, a patch, and what is known of it.

use std::fmt;

use arbitrary::{Arbitrary, Unstructured};

use crate::choose::Choose;
use crate::diff;
use crate::form;
use crate::mangle::mangle;
use crate::tree::{self, Change, LINES, Tree};

/// Files and a patch for them.
pub struct Case {
    /// The files.
    pub before: Tree,
    /// What the patch was made for; the text may have lost it.
    pub after: Tree,
    /// The patch.
    pub patch: String,
    /// What must come of it.
    pub promise: Promise,
}

/// What must come of a patch, beyond what holds for every text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// It must make [`Case::after`]. A real diff with enough context, as it was written.
    Applies {
        /// Whether no two lines are alike; then it must not apply a second time.
        unique: bool,
    },
    /// It must make [`Case::after`] or be rejected.
    AppliesOrNot,
    /// Nothing.
    Nothing,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let rest = bytes.bytes(bytes.len())?;
        let mut choose = Choose(Unstructured::new(rest));
        let kind = choose.up_to(9);
        let change = tree::change(&mut choose);
        Ok(match kind {
            0 => raw(&mut choose, change),
            1 => composed(&mut choose, change),
            2 => real(change),
            3 => other_form(&mut choose, change),
            _ => mangled(&mut choose, change),
        })
    }
}

fn raw(choose: &mut Choose<'_>, change: Change) -> Case {
    let bytes = choose.0.bytes(choose.0.len()).unwrap_or_default();
    let patch = String::from_utf8_lossy(bytes).into_owned();
    Case { before: change.before, after: change.after, patch, promise: Promise::Nothing }
}

/// Strings lines of patches together.
fn composed(choose: &mut Choose<'_>, change: Change) -> Case {
    let mut patch = String::new();
    let paths: Vec<&String> = change.before.keys().chain(change.after.keys()).collect();
    for _ in 0..choose.up_to(40) {
        let path = paths.get(choose.up_to(paths.len())).map_or("/dev/null", |path| path.as_str());
        let line = choose.one(&LINES);
        let number = choose.up_to(31);
        patch.push_str(&match choose.up_to(26) {
            0 => format!("--- a/{path}"),
            1 => format!("+++ b/{path}"),
            2 => format!("--- {path}"),
            3 => format!("+++ {path}"),
            4 => format!("diff --git a/{path} b/{path}"),
            5 => choose
                .one(&[
                    "new file mode 100644",
                    "deleted file mode 100644",
                    "old mode 100644",
                    "new mode 100755",
                ])
                .to_owned(),
            6 => format!("rename from {path}"),
            7 => format!("rename to {path}"),
            8 => format!("@@ -{number},{} +{number},{} @@", choose.up_to(7), choose.up_to(7)),
            9 => "@@".to_owned(),
            10 => path.to_owned(),
            11 | 12 => line.to_owned(),
            13..=16 => format!("-{line}"),
            17..=19 => format!("+{line}"),
            20 => format!("<file path=\"{path}\">"),
            21 => "</file>".to_owned(),
            22 => format!("*** {} File: {path}", choose.one(&["Update", "Add", "Delete"])),
            _ => format!(" {line}"),
        });
        patch.push('\n');
    }
    Case { before: change.before, after: change.after, patch, promise: Promise::Nothing }
}

fn real(change: Change) -> Case {
    let sections = diff::diff(&change.before, &change.after, &change.renames, 3);
    let patch = diff::text(&diff::lines(&sections));
    let promise =
        if sections.is_empty() { Promise::Nothing } else { Promise::Applies { unique: change.unique } };
    Case { before: change.before, after: change.after, patch, promise }
}

fn other_form(choose: &mut Choose<'_>, change: Change) -> Case {
    let (patch, keeps) = form::written(choose, &change).unwrap_or_default();
    let promise = if keeps { Promise::AppliesOrNot } else { Promise::Nothing };
    Case { before: change.before, after: change.after, patch, promise }
}

fn mangled(choose: &mut Choose<'_>, change: Change) -> Case {
    let context = choose.one(&[3, 3, 3, 1, 2, 0, 5]);
    let sections = diff::diff(&change.before, &change.after, &change.renames, context);
    let dos = sections.iter().all(|section| section.edits) && change.before.values().all(is_dos);
    let (patch, keeps) = mangle(choose, sections, dos);
    let promise =
        if keeps && change.unique && context > 0 { Promise::AppliesOrNot } else { Promise::Nothing };
    Case { before: change.before, after: change.after, patch, promise }
}

fn is_dos(file: &tree::File) -> bool {
    file.text.contains("\r\n")
}

/// Shows the texts so that they can be copied.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "promise: {:?}", self.promise)?;
        for (name, tree) in [("before", &self.before), ("after", &self.after)] {
            for (path, file) in tree {
                writeln!(f, "{name} {path:?}, executable {}: {:?}", file.executable, file.text)?;
            }
        }
        writeln!(f, "patch: {:?}", self.patch)?;
        writeln!(f, "{}", self.patch)
    }
}
