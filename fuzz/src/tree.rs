//! Small file trees, and what becomes of them.

use std::collections::BTreeMap;

use crate::choose::Choose;

/// Files by their path from the root.
pub type Tree = BTreeMap<String, File>;

/// A text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// All of it.
    pub text: String,
    /// Whether it may be executed.
    pub executable: bool,
}

const PATHS: [&str; 5] = ["a.rs", "src/b.rs", "src/deep/c d.txt", "README", "d.md"];

/// Paths that no tree has at first.
const NEW_PATHS: [&str; 3] = ["new.rs", "src/new.rs", "a b/new"];

/// Lines that repeat, that look like parts of a patch, or that models write in another way.
pub const LINES: [&str; 58] = [
    "",
    "}",
    "{",
    "    }",
    "    ",
    "\t",
    "fn a() {",
    "fn b() {",
    "    let a = 1;",
    "\tlet a = 1;",
    "        let a = 1;",
    "let a = 1;",
    "let a = 1;  ",
    "    return \"a\";",
    "    return “a”;",
    "    return 'a';",
    "    return ‘a’;",
    "a",
    "b",
    "c",
    "a b",
    "a  b",
    "a\u{a0}b",
    "a—b",
    "a-b",
    "a…",
    "a...",
    "...",
    "…",
    "if a < b && c > d {",
    "if a &lt; b &amp;&amp; c &gt; d {",
    "&quot;a&quot;",
    "\\\"a\\\"",
    "\\n",
    "println!(\"a\\n\");",
    "\\ No newline at end of file",
    "-- ",
    "2.1",
    "-- a",
    "++ a",
    "--- a/a.rs",
    "+++ b/a.rs",
    "@@ -1,2 +1,2 @@",
    "@@",
    "diff --git a/a.rs b/a.rs",
    "index 1..2 100644",
    "```",
    "```rust",
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "*** Begin Patch",
    "é",
    "// …",
    "# a",
    " a",
    "-a",
    "+a",
];

/// Makes lines: from the alphabet, or such that no two are alike even for a reader who ignores whitespace and quotes.
pub struct Lines {
    /// Whether no line comes twice.
    pub unique: bool,
    made: usize,
}

impl Lines {
    /// Starts without any line made.
    pub fn new(unique: bool) -> Self {
        Self { unique, made: 0 }
    }

    /// Makes a line without its ending.
    pub fn line(&mut self, choose: &mut Choose<'_>) -> String {
        if !self.unique {
            return choose.one(&LINES).to_owned();
        }
        self.made += 1;
        let number = self.made;
        let indent = choose.one(&["", "    ", "        ", "\t"]);
        match choose.up_to(3) {
            0 => format!("{indent}let a{number} = \"b{number}\";"),
            1 => format!("{indent}if a{number} < b && 'c' > d {{"),
            2 => format!("{indent}call(a{number}); // don't"),
            _ => format!("{indent}line {number}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endings {
    Unix,
    Dos,
    /// Each line has its own.
    Mixed,
}

impl Endings {
    fn next(self, choose: &mut Choose<'_>) -> &'static str {
        match self {
            Endings::Unix => "\n",
            Endings::Dos => "\r\n",
            Endings::Mixed => choose.one(&["\n", "\r\n"]),
        }
    }
}

/// A tree, and the tree that somebody made of it.
pub struct Change {
    /// What is there.
    pub before: Tree,
    /// What shall be there.
    pub after: Tree,
    /// Old and new names of what was renamed.
    pub renames: Vec<(String, String)>,
    /// Whether no line occurs twice in both trees together, but for those that stayed.
    pub unique: bool,
}

/// Makes a tree and changes it.
pub fn change(choose: &mut Choose<'_>) -> Change {
    let unique = choose.chance(8);
    let mut lines = Lines::new(unique);
    let mut change = Change { before: Tree::new(), after: Tree::new(), renames: Vec::new(), unique };
    for _ in 0..=choose.up_to(2) {
        let path = choose.one(&PATHS).to_owned();
        if change.before.contains_key(&path) {
            continue;
        }
        let styles = if unique {
            [Endings::Unix, Endings::Unix, Endings::Dos]
        } else {
            [Endings::Unix, Endings::Dos, Endings::Mixed]
        };
        let endings = choose.one(&styles);
        let (old, new) = texts(choose, &mut lines, endings);
        let executable = choose.chance(2);
        change.before.insert(path.clone(), File { text: old, executable });
        match choose.up_to(7) {
            0 => {}
            1 => {
                let to = choose.one(&NEW_PATHS).to_owned();
                if !change.after.contains_key(&to) {
                    change.renames.push((path, to.clone()));
                    change.after.insert(to, File { text: new, executable });
                }
            }
            2 => {
                change.after.insert(path, File { text: new, executable: !executable });
            }
            _ => {
                change.after.insert(path, File { text: new, executable });
            }
        }
    }
    if choose.chance(3) {
        let path = choose.one(&NEW_PATHS).to_owned();
        let (text, _) = texts(choose, &mut lines, Endings::Unix);
        change.after.entry(path).or_insert(File { text, executable: false });
    }
    change
}

/// Makes a file's old and its new text.
fn texts(choose: &mut Choose<'_>, lines: &mut Lines, endings: Endings) -> (String, String) {
    let count = choose.up_to(30);
    // Where meanings have to be certain, the old file has to say which endings the new one gets.
    let endings = if lines.unique && count < 2 { Endings::Unix } else { endings };
    let mut old: Vec<String> = Vec::new();
    for _ in 0..count {
        old.push(lines.line(choose) + endings.next(choose));
    }
    let old_open = choose.chance(4);
    let mut new = old.clone();
    for _ in 0..=choose.up_to(3) {
        let at = choose.up_to(new.len());
        let end = at + choose.up_to(3.min(new.len() - at));
        let mut put = Vec::new();
        for _ in 0..choose.up_to(4) {
            put.push(lines.line(choose) + endings.next(choose));
        }
        new.splice(at..end, put);
    }
    // Now and then only one of the two lacks its last line feed.
    let new_open = old_open != choose.chance(1);
    (join(&old, old_open), join(&new, new_open))
}

/// Joins lines; `open` takes the last one's ending away.
fn join(lines: &[String], open: bool) -> String {
    let mut text = lines.concat();
    if open {
        let bare = text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(&text);
        // A line without characters and without an ending is no line.
        if !bare.is_empty() && !bare.ends_with('\n') {
            text.truncate(bare.len());
        }
    }
    text
}
