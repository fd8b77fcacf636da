//! What agents do to diffs.
//!
//! A step keeps the meaning, or not. It keeps the meaning if, in a tree without repeated lines, the patch can still
//! be read as one change only: then it must make exactly that change or be rejected. Steps that may be read in two
//! ways say so, and after them only the laws that hold for any text are asked for.

use crate::choose::Choose;
use crate::diff::{self, Hunk, HunkHeader, Line, Section};
use crate::tree::LINES;

/// A diff on its way through an agent.
struct Mangler {
    sections: Vec<Section>,
    /// Whether the files that are patched have `\r\n` everywhere, at least once each.
    dos: bool,
    /// Whether every step so far kept the meaning.
    keeps: bool,
    indented: bool,
    unsigned: bool,
    looser: bool,
}

/// A step that works on what the diff says.
type Step = fn(&mut Mangler, &mut Choose<'_>);

const STEPS: [Step; 23] = [
    Mangler::counts_missing,
    Mangler::counts_wrong,
    Mangler::numbers_missing,
    Mangler::numbers_wrong,
    Mangler::heading,
    Mangler::trailing_whitespace,
    Mangler::trailing_whitespace_everywhere,
    Mangler::indentation,
    Mangler::tabs,
    Mangler::curly_quotes,
    Mangler::curly_quotes_everywhere,
    Mangler::entities,
    Mangler::signs_of_context,
    Mangler::signs_of_additions,
    Mangler::fewer_context,
    Mangler::wrong_edge,
    Mangler::gap,
    Mangler::hunks_elsewhere,
    Mangler::hunk_twice,
    Mangler::git_header,
    Mangler::one_name,
    Mangler::prefixes,
    Mangler::carriage_returns_gone,
];

/// The lines of the text.
struct Text(Vec<String>);

/// A step that works on the text; tells whether it keeps the meaning.
type TextStep = fn(&mut Choose<'_>, &mut Text) -> bool;

const TEXT_STEPS: [TextStep; 17] = [
    carriage_returns,
    blank_lines_between,
    fence,
    prose,
    indented,
    blanks_stripped,
    marks_gone,
    mark_added,
    one_line_changed,
    one_line_moved,
    one_line_twice,
    lines_gone,
    end_gone,
    line_put_in,
    entities_everywhere,
    escaped_quotes,
    block_marks,
];

/// Mangles a diff and returns its text, and whether its meaning is still certain.
pub fn mangle(choose: &mut Choose<'_>, sections: Vec<Section>, dos: bool) -> (String, bool) {
    let mut mangler = Mangler { sections, dos, keeps: true, indented: false, unsigned: false, looser: false };
    for _ in 0..choose.up_to(4) {
        let step = choose.one(&STEPS);
        step(&mut mangler, choose);
    }
    // A context line without its sign looks like one with a sign and less indentation. Only a reader who finds all
    // other lines exactly can tell.
    let mut keeps = mangler.keeps && !(mangler.unsigned && (mangler.indented || mangler.looser));
    let mut lines = Text(diff::lines(&mangler.sections));
    for _ in 0..choose.up_to(3) {
        let step = choose.one(&TEXT_STEPS);
        keeps &= step(choose, &mut lines);
    }
    let text = diff::text(&lines.0);
    let text = match choose.up_to(15) {
        15 => serde_json::Value::from(text).to_string(),
        14 => serde_json::Value::from(lines.0).to_string(),
        13 => {
            // In a file that has carriage returns it is known that the last line lost one.
            keeps &= dos || !text.ends_with("\r\n");
            text.trim_end().to_owned()
        }
        12 => format!("\u{feff}{text}"),
        _ => text,
    };
    (text, keeps)
}

impl Mangler {
    fn section(&mut self, choose: &mut Choose<'_>) -> Option<&mut Section> {
        let last = self.sections.len().checked_sub(1)?;
        self.sections.get_mut(choose.up_to(last))
    }

    /// Chooses a hunk.
    fn hunk(&mut self, choose: &mut Choose<'_>) -> Option<&mut Hunk> {
        let count = self.sections.iter().map(|section| section.hunks.len()).sum::<usize>();
        let at = choose.up_to(count.checked_sub(1)?);
        self.sections.iter_mut().flat_map(|section| &mut section.hunks).nth(at)
    }

    fn hunks(&mut self) -> impl Iterator<Item = &mut Hunk> {
        self.sections.iter_mut().flat_map(|section| &mut section.hunks)
    }

    /// Without numbers, and without lines that stand in the file, only an empty file leaves no doubt.
    fn needs_old_lines(&mut self) {
        let edits = self.sections.iter().filter(|section| section.edits);
        self.keeps &= edits.flat_map(|section| &section.hunks).all(Hunk::has_old_lines);
    }

    fn counts_missing(&mut self, _: &mut Choose<'_>) {
        self.hunks().for_each(|hunk| hunk.header.counts = None);
    }

    fn counts_wrong(&mut self, choose: &mut Choose<'_>) {
        let counts = (choose.up_to(9), choose.up_to(9));
        if let Some(hunk) = self.hunk(choose) {
            hunk.header.counts = Some(counts);
        }
    }

    fn numbers_missing(&mut self, choose: &mut Choose<'_>) {
        self.needs_old_lines();
        let rest = choose.one(&["", " @@", " ... @@", " … @@", " -,+ @@", " -? +? @@"]);
        self.hunks()
            .for_each(|hunk| hunk.header = HunkHeader { starts: None, counts: None, rest: rest.to_owned() });
    }

    fn numbers_wrong(&mut self, choose: &mut Choose<'_>) {
        self.needs_old_lines();
        let by = choose.one(&[1, 2, 3, 7, 40, 1_000, 4_000_000_000, usize::MAX]);
        let down = choose.chance(8);
        self.hunks().for_each(|hunk| {
            if let Some((old, new)) = &mut hunk.header.starts {
                for number in [old, new] {
                    *number = if down { number.saturating_sub(by) } else { number.saturating_add(by) };
                }
            }
        });
    }

    fn heading(&mut self, choose: &mut Choose<'_>) {
        let rest = choose.one(&[" fn a() {", " line 1", " @@", " -1,2 +3,4 @@", "x"]);
        self.hunks().for_each(|hunk| hunk.header.rest.push_str(rest));
    }

    fn trailing_whitespace(&mut self, choose: &mut Choose<'_>) {
        self.whitespace_at_the_end(choose, |line| line.kind != '+');
    }

    fn trailing_whitespace_everywhere(&mut self, choose: &mut Choose<'_>) {
        self.keeps = false;
        self.whitespace_at_the_end(choose, |_| true);
    }

    fn whitespace_at_the_end(&mut self, choose: &mut Choose<'_>, of: fn(&Line) -> bool) {
        let end = choose.one(&[" ", "  ", "\t", "    ", ""]);
        let lines = self.hunks().flat_map(|hunk| &mut hunk.lines);
        lines.filter(|line| of(line)).for_each(|line| {
            let (text, carriage) = match line.text.strip_suffix('\r') {
                Some(text) => (text, "\r"),
                None => (line.text.as_str(), ""),
            };
            line.text = format!("{}{end}{carriage}", text.trim_end());
        });
    }

    fn indentation(&mut self, choose: &mut Choose<'_>) {
        self.indented = true;
        // Nothing proves that the lines of a new file, or those around no other line, were shifted.
        let shown = |section: &Section| section.edits && section.hunks.iter().all(Hunk::has_old_lines);
        self.keeps &= self.sections.iter().filter(|section| !section.hunks.is_empty()).all(shown);
        let by = choose.one(&["    ", "  ", "\t", " ", "        "]);
        let lines = || self.sections.iter().flat_map(|section| &section.hunks).flat_map(|hunk| &hunk.lines);
        let less = lines().all(|line| line.text.trim().is_empty() || line.text.starts_with(by));
        // One space less looks like a sign that was lost.
        self.keeps &= !(less && by == " ");
        for line in self.hunks().flat_map(|hunk| &mut hunk.lines) {
            match line.text.strip_prefix(by).filter(|_| less) {
                Some(text) => line.text = text.to_owned(),
                None if line.text.trim().is_empty() => {}
                None => line.text.insert_str(0, by),
            }
        }
    }

    fn tabs(&mut self, choose: &mut Choose<'_>) {
        (self.keeps, self.indented) = (false, true);
        let (from, to) = choose.one(&[("\t", "    "), ("    ", "\t"), ("\t", "  "), ("\t", "        ")]);
        for line in self.hunks().flat_map(|hunk| &mut hunk.lines) {
            line.text = line.text.replace(from, to);
        }
    }

    fn curly_quotes(&mut self, _: &mut Choose<'_>) {
        let lines = self.hunks().flat_map(|hunk| &mut hunk.lines).filter(|line| line.kind != '+');
        lines.for_each(|line| line.text = curly(&line.text));
    }

    fn curly_quotes_everywhere(&mut self, _: &mut Choose<'_>) {
        self.keeps = false;
        self.hunks().flat_map(|hunk| &mut hunk.lines).for_each(|line| line.text = curly(&line.text));
    }

    fn entities(&mut self, _: &mut Choose<'_>) {
        let lines = self.hunks().flat_map(|hunk| &mut hunk.lines).filter(|line| line.kind != '+');
        lines.for_each(|line| line.text = escaped(&line.text));
    }

    fn signs_of_context(&mut self, choose: &mut Choose<'_>) {
        self.unsigned = true;
        let (all, which) = (choose.chance(8), choose.up_to(7));
        let Some(hunk) = self.hunk(choose) else { return };
        let mut context: Vec<_> = hunk.lines.iter_mut().filter(|line| line.kind == ' ').collect();
        if all {
            context.iter_mut().for_each(|line| line.sign = None);
        } else if let Some(line) = context.get_mut(which) {
            line.sign = None;
        }
    }

    fn signs_of_additions(&mut self, choose: &mut Choose<'_>) {
        self.looser = true;
        let Some(hunk) = self.hunk(choose) else { return };
        let added = |at: usize| hunk.lines.get(at).is_some_and(|line| line.sign == Some('+'));
        // Between two lines that are added, a line that is not in the file can only be added too.
        if let Some(at) = (1..hunk.lines.len()).find(|at| added(at - 1) && added(*at) && added(at + 1)) {
            hunk.lines[at].sign = Some(' ');
        }
    }

    fn fewer_context(&mut self, choose: &mut Choose<'_>) {
        let (above, below, renumber) = (choose.up_to(3), choose.up_to(3), choose.chance(12));
        for hunk in self.hunks() {
            let context = |line: &&Line| line.kind == ' ' && !line.open;
            let above = hunk.lines.iter().take_while(context).count().min(above);
            hunk.lines.drain(..above);
            let below = hunk.lines.iter().rev().take_while(context).count().min(below);
            hunk.lines.truncate(hunk.lines.len() - below);
            if renumber {
                if let Some((old, new)) = &mut hunk.header.starts {
                    (*old, *new) = (old.saturating_add(above), new.saturating_add(above));
                }
                if let Some((old, new)) = &mut hunk.header.counts {
                    *old = old.saturating_sub(above + below);
                    *new = new.saturating_sub(above + below);
                }
            }
        }
        self.needs_old_lines();
    }

    fn wrong_edge(&mut self, choose: &mut Choose<'_>) {
        self.looser = true;
        let (first, line) = (choose.chance(8), choose.one(&["something 1", "    else 2", "x"]));
        let Some(hunk) = self.hunk(choose) else { return };
        let edge = if first { hunk.lines.first_mut() } else { hunk.lines.last_mut() };
        if let Some(edge) = edge.filter(|edge| edge.sign == Some(' ') && !edge.open) {
            edge.text = line.to_owned();
        }
        self.needs_old_lines();
    }

    fn gap(&mut self, choose: &mut Choose<'_>) {
        self.looser = true;
        let (length, marker) = (1 + choose.up_to(4), choose.one(&["", "...", "// ...", "…"]));
        let Some(hunk) = self.hunk(choose) else { return };
        let old = |at: usize| hunk.lines.get(at).is_some_and(|line| line.kind != '+');
        let context = |at: usize| hunk.lines.get(at).is_some_and(|line| line.kind == ' ');
        // Between lines that stay or go it is certain what was left out; beside an added line it is not.
        let fits =
            |start: usize| old(start - 1) && old(start + length) && (start..start + length).all(context);
        let Some(start) = (1..hunk.lines.len()).find(|start| fits(*start)) else { return };
        let put = (!marker.is_empty()).then(|| Line {
            kind: ' ',
            sign: Some(' '),
            text: marker.to_owned(),
            open: false,
        });
        hunk.lines.splice(start..start + length, put);
    }

    fn hunks_elsewhere(&mut self, choose: &mut Choose<'_>) {
        let by = choose.up_to(3);
        if choose.chance(8) {
            let by = by.min(self.sections.len());
            self.sections.rotate_left(by);
        } else if let Some(section) = self.section(choose) {
            let by = by.min(section.hunks.len());
            section.hunks.rotate_left(by);
        }
    }

    fn hunk_twice(&mut self, choose: &mut Choose<'_>) {
        let Some(section) = self.section(choose) else { return };
        if let Some(last) = section.hunks.last().cloned().filter(|_| section.edits) {
            section.hunks.push(last);
        }
    }

    fn git_header(&mut self, choose: &mut Choose<'_>) {
        let index_too = choose.chance(8);
        for section in &mut self.sections {
            // Without hunks these lines are the only ones that name the file.
            if !section.hunks.is_empty() {
                section.header.retain(|line| {
                    !(line.starts_with("diff --git ") || index_too && line.starts_with("index "))
                });
            }
        }
    }

    fn one_name(&mut self, choose: &mut Choose<'_>) {
        let gone = choose.one(&["--- ", "+++ "]);
        let Some(section) = self.section(choose) else { return };
        let named = |line: &String| line.starts_with("--- ") || line.starts_with("+++ ");
        if section.edits && section.header.iter().filter(|line| named(line)).count() == 2 {
            section.header.retain(|line| !line.starts_with(gone));
        }
    }

    fn prefixes(&mut self, _: &mut Choose<'_>) {
        for line in self.sections.iter_mut().flat_map(|section| &mut section.header) {
            for prefix in ["--- a/", "+++ b/"] {
                if let Some(name) = line.strip_prefix(prefix) {
                    *line = format!("{}{name}", &prefix[..4]);
                }
            }
        }
    }

    fn carriage_returns_gone(&mut self, _: &mut Choose<'_>) {
        self.keeps &= self.dos;
        for line in self.hunks().flat_map(|hunk| &mut hunk.lines) {
            line.text = line.text.trim_end_matches('\r').to_owned();
        }
    }
}

fn curly(text: &str) -> String {
    let mut opens = true;
    let mut curly = String::new();
    for c in text.chars() {
        match c {
            '"' => {
                curly.push(if opens { '“' } else { '”' });
                opens = !opens;
            }
            '\'' => curly.push('’'),
            other => curly.push(other),
        }
    }
    curly
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn some_line(choose: &mut Choose<'_>, lines: &[String]) -> Option<usize> {
    Some(choose.up_to(lines.len().checked_sub(1)?))
}

fn carriage_returns(_: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    // Beside a carriage return of the file it could not be told which one is whose.
    let keeps = !lines.iter().any(|line| line.ends_with('\r'));
    lines.iter_mut().for_each(|line| line.push('\r'));
    keeps
}

fn blank_lines_between(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let blank = choose.one(&["", " "]);
    let starts = |line: &String| line.starts_with("@@") || line.starts_with("diff --git ");
    let mut spread = Vec::new();
    for line in lines.drain(..) {
        if starts(&line) {
            spread.push(blank.to_owned());
        }
        spread.push(line);
    }
    *lines = spread;
    // A blank with a sign is a context line of an empty line, which must not be made up.
    blank.is_empty()
}

fn fence(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let fence = choose.one(&["```diff", "```", "~~~", "```patch"]);
    lines.insert(0, fence.to_owned());
    if !choose.chance(3) {
        lines.push(fence[..3].to_owned());
    }
    true
}

fn prose(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    lines.insert(0, "Here is the change you asked for:".to_owned());
    lines.insert(1, String::new());
    let fenced = lines.last().is_some_and(|line| line.starts_with("```") || line.starts_with("~~~"));
    if choose.chance(8) {
        lines.push(String::new());
        lines.push(choose.one(&["I hope this helps.", "- It renames a thing.", "--", "+1"]).to_owned());
    }
    // What follows without a fence may be taken for more of the last hunk.
    fenced
}

fn indented(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let by = choose.one(&["    ", "  ", "\t", "> "]);
    lines.iter_mut().filter(|line| !line.is_empty()).for_each(|line| line.insert_str(0, by));
    by != "> "
}

fn blanks_stripped(_: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    for line in lines.iter_mut().filter(|line| line.trim().is_empty()) {
        line.clear();
    }
    true
}

fn marks_gone(_: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let before = lines.len();
    lines.retain(|line| !line.starts_with("\\ No newline"));
    lines.len() == before
}

fn mark_added(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let at = some_line(choose, lines).unwrap_or_default();
    lines.insert(at, "\\ No newline at end of file".to_owned());
    false
}

fn one_line_changed(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let Some(at) = some_line(choose, lines) else { return true };
    let mut chars: Vec<char> = lines[at].chars().collect();
    let place = choose.up_to(chars.len());
    match chars.get_mut(place) {
        Some(c) => *c = choose.one(&['+', '-', ' ', '@', '\\', '\t', 'x', '\r', '“', '&', '"', '1']),
        None => chars.push(choose.one(&['x', ' ', '\t', '\r', '"'])),
    }
    lines[at] = chars.into_iter().collect();
    false
}

fn one_line_moved(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let (Some(one), Some(other)) = (some_line(choose, lines), some_line(choose, lines)) else { return true };
    lines.swap(one, other);
    one == other
}

fn one_line_twice(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let Some(at) = some_line(choose, lines) else { return true };
    lines.insert(at, lines[at].clone());
    false
}

fn lines_gone(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let Some(at) = some_line(choose, lines) else { return true };
    let end = (at + 1 + choose.up_to(3)).min(lines.len());
    lines.drain(at..end);
    false
}

fn end_gone(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let at = some_line(choose, lines).unwrap_or_default();
    lines.truncate(at);
    false
}

fn line_put_in(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let at = some_line(choose, lines).unwrap_or_default();
    let sign = choose.one(&["", " ", "-", "+", "@@ ", "--- ", "+++ ", "\\ "]);
    let text = if choose.chance(12) { choose.one(&LINES).to_owned() } else { choose.text() };
    lines.insert(at, format!("{sign}{text}"));
    false
}

fn entities_everywhere(_: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    lines.iter_mut().for_each(|line| *line = escaped(line));
    false
}

fn escaped_quotes(_: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    lines.iter_mut().for_each(|line| *line = line.replace('\\', "\\\\").replace('"', "\\\""));
    false
}

/// Writes hunks as blocks to search for and to put there.
fn block_marks(choose: &mut Choose<'_>, Text(lines): &mut Text) -> bool {
    let Some(start) = lines.iter().position(|line| line.starts_with("@@")) else { return true };
    let length = lines[start + 1..]
        .iter()
        .take_while(|line| line.starts_with([' ', '-', '+']) || line.is_empty())
        .count();
    let body = lines[start + 1..start + 1 + length].to_vec();
    let side = |gone: char| {
        let kept = body.iter().filter(move |line| !line.starts_with(gone));
        kept.map(|line| line.get(1..).unwrap_or_default().to_owned())
    };
    let mut block = vec![choose.one(&["<<<<<<< SEARCH", "<<<<<<<", "<<<<<<< ORIGINAL"]).to_owned()];
    block.extend(side('+'));
    block.push("=======".to_owned());
    block.extend(side('-'));
    block.push(choose.one(&[">>>>>>> REPLACE", ">>>>>>>", ">>>>>>> UPDATED"]).to_owned());
    lines.splice(start..start + 1 + length, block);
    false
}
