//! Real diffs between trees, as git writes them.

use similar::{Algorithm, DiffTag, capture_diff_slices, group_diff_ops};

use crate::tree::{File, Tree};

/// What a diff says of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Whether the file is there before and after, under one name.
    pub edits: bool,
    /// The lines before the first hunk.
    pub header: Vec<String>,
    /// The hunks in order.
    pub hunks: Vec<Hunk>,
}

/// A hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The line with `@@`.
    pub header: HunkHeader,
    /// Its lines without their line feeds.
    pub lines: Vec<Line>,
}

/// The line with `@@`, as numbers where it has any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkHeader {
    /// The first old and the first new line.
    pub starts: Option<(usize, usize)>,
    /// How many old and new lines there are.
    pub counts: Option<(usize, usize)>,
    /// What stands behind the second `@@`, or in place of the numbers.
    pub rest: String,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// ` `, `-` or `+`: what the line is.
    pub kind: char,
    /// The sign it has; `None` if it was lost.
    pub sign: Option<char>,
    /// What follows the sign; a carriage return of the file belongs to it.
    pub text: String,
    /// Whether `\ No newline at end of file` follows.
    pub open: bool,
}

impl Hunk {
    /// Tells whether lines that must stand in the file are among the hunk's.
    pub fn has_old_lines(&self) -> bool {
        self.lines.iter().any(|line| line.kind != '+')
    }
}

/// Writes the diff that leads from one tree to another.
pub fn diff(before: &Tree, after: &Tree, renames: &[(String, String)], context: usize) -> Vec<Section> {
    let mut sections = Vec::new();
    for (from, to) in renames {
        sections.extend(section(from, to, before.get(from), after.get(to), context));
    }
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        if !renames.iter().any(|(from, to)| from == path || to == path) {
            sections.extend(section(path, path, before.get(path), after.get(path), context));
        }
    }
    sections
}

fn section(from: &str, to: &str, old: Option<&File>, new: Option<&File>, context: usize) -> Option<Section> {
    if old == new && from == to {
        return None;
    }
    let mode = |file: &File| if file.executable { "100755" } else { "100644" };
    let mut header = vec![format!("diff --git a/{from} b/{to}")];
    match (old, new) {
        (None, None) => return None,
        (None, Some(new)) => header.push(format!("new file mode {}", mode(new))),
        (Some(old), None) => header.push(format!("deleted file mode {}", mode(old))),
        (Some(old), Some(new)) if old.executable != new.executable => {
            header.push(format!("old mode {}", mode(old)));
            header.push(format!("new mode {}", mode(new)));
        }
        (Some(_), Some(_)) => {}
    }
    if from != to {
        header.extend([
            "similarity index 90%".to_owned(),
            format!("rename from {from}"),
            format!("rename to {to}"),
        ]);
    }
    let (old_text, new_text) =
        (old.map_or("", |file| file.text.as_str()), new.map_or("", |file| file.text.as_str()));
    let hunks = hunks(old_text, new_text, context);
    if !hunks.is_empty() {
        header.push("index 1234567..89abcde 100644".to_owned());
        // Git ends a name with blanks in it by a tab, so that they are not taken for its end.
        let tab = |path: &str| if path.contains(' ') { "\t" } else { "" };
        header.push(old.map_or("--- /dev/null".to_owned(), |_| format!("--- a/{from}{}", tab(from))));
        header.push(new.map_or("+++ /dev/null".to_owned(), |_| format!("+++ b/{to}{}", tab(to))));
    }
    Some(Section { edits: old.is_some() && new.is_some() && from == to, header, hunks })
}

/// Compares two texts.
pub fn hunks(old: &str, new: &str, context: usize) -> Vec<Hunk> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let mut hunks = Vec::new();
    for group in group_diff_ops(ops, context) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        // A side without lines is numbered by the line before it.
        let start = |range: &std::ops::Range<usize>| range.start + usize::from(!range.is_empty());
        let mut lines = Vec::new();
        for op in &group {
            if op.tag() == DiffTag::Equal {
                lines.extend(old[op.old_range()].iter().map(|text| line(' ', text)));
            } else {
                lines.extend(old[op.old_range()].iter().map(|text| line('-', text)));
                lines.extend(new[op.new_range()].iter().map(|text| line('+', text)));
            }
        }
        let header = HunkHeader {
            starts: Some((start(&old_range), start(&new_range))),
            counts: Some((old_range.len(), new_range.len())),
            rest: String::new(),
        };
        hunks.push(Hunk { header, lines });
    }
    hunks
}

fn line(sign: char, text: &str) -> Line {
    let bare = text.strip_suffix('\n');
    Line { kind: sign, sign: Some(sign), text: bare.unwrap_or(text).to_owned(), open: bare.is_none() }
}

/// Writes sections as lines without their line feeds.
pub fn lines(sections: &[Section]) -> Vec<String> {
    let mut lines = Vec::new();
    for section in sections {
        lines.extend(section.header.iter().cloned());
        for hunk in &section.hunks {
            lines.push(hunk_header(&hunk.header));
            for line in &hunk.lines {
                lines.push(line.sign.map(String::from).unwrap_or_default() + &line.text);
                if line.open {
                    lines.push("\\ No newline at end of file".to_owned());
                }
            }
        }
    }
    lines
}

fn hunk_header(header: &HunkHeader) -> String {
    let range = |start: usize, count: Option<usize>| match count {
        None | Some(1) => start.to_string(),
        Some(count) => format!("{start},{count}"),
    };
    let rest = &header.rest;
    match header.starts {
        None => format!("@@{rest}"),
        Some((old, new)) => {
            let (old_count, new_count) = header.counts.unzip();
            format!("@@ -{} +{} @@{rest}", range(old, old_count), range(new, new_count))
        }
    }
}

/// Joins lines, each with a line feed.
pub fn text(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}
