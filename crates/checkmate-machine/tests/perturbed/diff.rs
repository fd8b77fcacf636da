//! Real diffs, taken apart so that they can be perturbed.

use similar::{Algorithm, DiffTag, capture_diff_slices, group_diff_ops};

/// What a diff says of one file that is edited.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) header: Vec<String>,
    pub(super) hunks: Vec<Hunk>,
}

#[derive(Debug, Clone)]
pub(super) struct Hunk {
    /// The first old and the first new line, from 1.
    pub(super) starts: Option<(usize, usize)>,
    pub(super) counts: Option<(usize, usize)>,
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, Clone)]
pub(super) struct Line {
    /// What the line is: ` `, `-` or `+`.
    pub(super) kind: char,
    /// Whether the sign is still before it.
    pub(super) signed: bool,
    /// Without its line feed; a carriage return of the file belongs to it.
    pub(super) text: String,
    /// Whether `\ No newline at end of file` follows.
    pub(super) open: bool,
}

impl Section {
    /// Compares two texts with three lines of context.
    pub(super) fn new(path: &str, old: &str, new: &str) -> Self {
        let header = vec![
            format!("diff --git a/{path} b/{path}"),
            "index 1234567..89abcde 100644".to_owned(),
            format!("--- a/{path}"),
            format!("+++ b/{path}"),
        ];
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let groups = group_diff_ops(capture_diff_slices(Algorithm::Myers, &old, &new), 3);
        let hunks = groups.iter().filter(|group| !group.is_empty()).map(|group| {
            let (first, last) = (&group[0], &group[group.len() - 1]);
            let old_range = first.old_range().start..last.old_range().end;
            let new_range = first.new_range().start..last.new_range().end;
            // A side without lines is numbered by the line before it.
            let start = |range: &std::ops::Range<usize>| range.start + usize::from(!range.is_empty());
            let mut lines = Vec::new();
            for op in group {
                if op.tag() == DiffTag::Equal {
                    lines.extend(old[op.old_range()].iter().map(|text| Line::new(' ', text)));
                } else {
                    lines.extend(old[op.old_range()].iter().map(|text| Line::new('-', text)));
                    lines.extend(new[op.new_range()].iter().map(|text| Line::new('+', text)));
                }
            }
            Hunk {
                starts: Some((start(&old_range), start(&new_range))),
                counts: Some((old_range.len(), new_range.len())),
                lines,
            }
        });
        Self { header, hunks: hunks.collect() }
    }
}

impl Hunk {
    /// The lines that must stand in the file.
    pub(super) fn old_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.kind != '+')
    }

    /// The lines of one kind, but for blank ones.
    pub(super) fn texts(&self, kind: char) -> Vec<&str> {
        let lines = self.lines.iter().filter(|line| line.kind == kind);
        lines.map(|line| line.text.trim()).filter(|text| !text.is_empty()).collect()
    }

    fn header(&self) -> String {
        let range = |start: usize, count: Option<usize>| match count {
            None => start.to_string(),
            Some(count) => format!("{start},{count}"),
        };
        match self.starts {
            None => "@@ ... @@".to_owned(),
            Some((old, new)) => {
                let (old_count, new_count) = self.counts.unzip();
                format!("@@ -{} +{} @@", range(old, old_count), range(new, new_count))
            }
        }
    }
}

impl Line {
    fn new(kind: char, text: &str) -> Self {
        let bare = text.strip_suffix('\n');
        Self { kind, signed: true, text: bare.unwrap_or(text).to_owned(), open: bare.is_none() }
    }

    /// Changes the text before a carriage return.
    pub(super) fn edit(&mut self, edit: impl Fn(&str) -> String) {
        self.text = match self.text.strip_suffix('\r') {
            Some(bare) => edit(bare) + "\r",
            None => edit(&self.text),
        };
    }
}

/// Writes sections as lines without their line feeds.
pub(super) fn lines(sections: &[Section]) -> Vec<String> {
    let mut lines = Vec::new();
    for section in sections {
        lines.extend(section.header.iter().cloned());
        for hunk in &section.hunks {
            lines.push(hunk.header());
            for line in &hunk.lines {
                let sign = if line.signed { String::from(line.kind) } else { String::new() };
                lines.push(sign + &line.text);
                if line.open {
                    lines.push("\\ No newline at end of file".to_owned());
                }
            }
        }
    }
    lines
}
