//! First stage: from a reply's text to the lines of a patch.

use std::borrow::Cow;

/// Joins the lines of a patch that came as an array; a line break at the end of an element is not counted twice.
pub(crate) fn join_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(line.strip_suffix('\n').unwrap_or(line));
        text.push('\n');
    }
    text
}

/// How often a text may have been packed.
const PACKED: usize = 8;

/// Undoes JSON arrays of lines and JSON strings around the whole text.
pub(super) fn unpack(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text.trim_start_matches('\u{feff}'));
    for _ in 0..PACKED {
        match unpack_once(&text) {
            Some(inner) => text = Cow::Owned(inner),
            None => break,
        }
    }
    if has_cut_end(&text) {
        text.to_mut().push('\r');
    }
    text
}

/// Tells whether the end of a patch was cut, so that its last line lost the carriage return that the line before has.
fn has_cut_end(text: &str) -> bool {
    let Some((before, last)) = text.rsplit_once('\n') else { return false };
    before.ends_with('\r') && last.starts_with(['+', '-', ' ']) && !last.ends_with('\r')
}

fn unpack_once(text: &str) -> Option<String> {
    match text.trim_start().chars().next()? {
        '[' => {
            let lines = serde_json::from_str::<Vec<String>>(text).ok()?;
            Some(join_lines(lines.iter().map(String::as_str)))
        }
        '"' => serde_json::from_str(text).ok(),
        _ if is_escaped(text) => serde_json::from_str(&format!("\"{}\"", text.trim())).ok(),
        _ => None,
    }
}

/// Tells whether a text is the inside of a JSON string: all its line feeds are written `\n`.
fn is_escaped(text: &str) -> bool {
    !text.trim().contains('\n') && text.contains("\\n+++ ")
}

/// How lines begin that are a patch's own and not a file's.
const FRAME: [&str; 5] = ["@@", "<<<<<<< SEARCH", ">>>>>>> REPLACE", "*** ", "<file path="];

/// Splits a text into lines without their line feeds, and without an indentation of the whole patch.
///
/// A carriage return at the end of a line belongs to the file that is patched, unless the lines between end with one
/// too: then it came with the transport and goes everywhere.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let mut frame =
        lines.iter().filter(|line| FRAME.iter().any(|start| line.trim_start().starts_with(start)));
    if frame.clone().next().is_some() && frame.all(|line| line.ends_with('\r')) {
        for line in &mut lines {
            *line = line.strip_suffix('\r').unwrap_or(line);
        }
    }
    if let Some(indent) = indent(&lines) {
        for line in &mut lines {
            *line = line.strip_prefix(indent).unwrap_or(if line.trim().is_empty() { "" } else { line });
        }
    }
    lines
}

/// Finds the indentation of a patch that stands indented as a whole: every header in it has it.
fn indent<'t>(lines: &[&'t str]) -> Option<&'t str> {
    let is_header = |at: usize| {
        let starts = |at: usize, prefix: &str| {
            lines.get(at).is_some_and(|line: &&str| line.trim_start_matches([' ', '\t']).starts_with(prefix))
        };
        starts(at, "diff --git ") || starts(at, "--- ") && starts(at + 1, "+++ ")
    };
    let indent = |at: usize| lines[at].len() - lines[at].trim_start_matches([' ', '\t']).len();
    // Where a part of the patch stands at the margin, an indented diff is the content of a file.
    if lines.iter().any(|line| FRAME.iter().any(|start| line.starts_with(start))) {
        return None;
    }
    let first = (0..lines.len()).find(|at| is_header(*at))?;
    let prefix = lines[first].get(..indent(first)).filter(|prefix| !prefix.is_empty())?;
    lines
        .iter()
        .filter(|line| line.trim_start().starts_with("@@ "))
        .all(|line| line.starts_with(prefix))
        .then_some(prefix)
}

/// Tells whether a line opens or closes a code fence. A fence within a hunk has a sign before it.
pub(super) fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_strings_around_a_patch_are_undone() {
        assert_eq!(unpack(r#"["--- a/x", "+++ b/x\n"]"#), "--- a/x\n+++ b/x\n");
        assert_eq!(unpack(r#""--- a/x\n+++ b/x""#), "--- a/x\n+++ b/x");
        assert_eq!(unpack("[1]"), "[1]");
        assert_eq!(unpack("\u{feff}--- a/x"), "--- a/x");
    }

    #[test]
    fn carriage_returns_of_the_transport_go_and_those_of_the_file_stay() {
        assert_eq!(lines("--- a\r\n@@ -1 +1 @@\r\n-x\r\n"), ["--- a", "@@ -1 +1 @@", "-x"]);
        assert_eq!(lines("--- a\n@@ -1 +1 @@\n-x\r\n"), ["--- a", "@@ -1 +1 @@", "-x\r"]);
    }
}
