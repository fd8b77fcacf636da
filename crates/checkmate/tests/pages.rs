//! What the pages for people show: commands, outputs, and code among words.

use std::fs;
use std::path::{Path, PathBuf};

/// A page of the documentation.
pub(crate) struct Page {
    /// Its path from the repository's root.
    pub(crate) name: String,
    pub(crate) sections: Vec<Section>,
}

/// What stands below one heading, up to the next heading of any level.
#[derive(Default)]
pub(crate) struct Section {
    pub(crate) heading: String,
    /// Lines that a reader types, as they stand there.
    pub(crate) commands: Vec<String>,
    /// What is shown as the program's output.
    pub(crate) outputs: Vec<String>,
    /// Code among words.
    pub(crate) inline: Vec<String>,
    /// The JSON blocks.
    pub(crate) json: Vec<String>,
    pub(crate) text: String,
}

/// Returns the root of Checkmate's own repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns every page that people read, in a fixed order.
pub(crate) fn pages() -> Vec<Page> {
    let mut names: Vec<String> =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md", "examples/README.md"]
            .map(str::to_owned)
            .to_vec();
    let mut guides: Vec<String> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| format!("docs/{}", entry.unwrap().file_name().to_str().unwrap()))
        .filter(|name| name.ends_with(".md"))
        .collect();
    guides.sort();
    names.extend(guides);
    names.into_iter().map(page).collect()
}

/// Reads one page.
pub(crate) fn page(name: impl Into<String>) -> Page {
    let name = name.into();
    let text = fs::read_to_string(root().join(&name)).unwrap();
    Page { sections: sections(&text), name }
}

impl Page {
    /// Returns the section below a heading.
    pub(crate) fn section(&self, heading: &str) -> &Section {
        let found = self.sections.iter().find(|section| section.heading == heading);
        found.unwrap_or_else(|| panic!("{} has no heading `{heading}`", self.name))
    }
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut paragraph = String::new();
    let mut lines = text.lines().peekable();
    let mut in_code = false;
    while let Some(line) = lines.next() {
        let is_heading = line.starts_with('#');
        let section = sections.last_mut().unwrap();
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
            section.fenced(kind.trim(), &block);
        } else if let Some(command) = line.strip_prefix("    ").filter(|_| in_code || paragraph.is_empty()) {
            // A setting stands indented too.
            if !command.starts_with(['"', '{', ' ']) {
                section.commands.push(command.to_owned());
            }
            in_code = true;
            continue;
        } else if line.is_empty() || is_heading {
            section.inline.extend(code(&std::mem::take(&mut paragraph)));
        } else {
            paragraph.push_str(line);
            paragraph.push('\n');
        }
        in_code = in_code && line.is_empty();
        if is_heading {
            let heading = line.trim_start_matches('#').trim().to_owned();
            sections.push(Section { heading, ..Section::default() });
        } else {
            let section = sections.last_mut().unwrap();
            section.text.push_str(line);
            section.text.push('\n');
        }
    }
    sections.last_mut().unwrap().inline.extend(code(&paragraph));
    sections
}

impl Section {
    fn fenced(&mut self, kind: &str, block: &[&str]) {
        let typed = |line: &&&str| ["checkmate ", "git ", "cargo "].iter().any(|name| line.starts_with(name));
        match kind {
            "sh" => self.commands.extend(block.iter().map(|line| (*line).to_owned())),
            "console" => self
                .commands
                .extend(block.iter().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned)),
            "json" => self.json.push(block.join("\n")),
            "text" => {
                self.commands.extend(block.iter().filter(typed).map(|line| (*line).to_owned()));
                self.outputs.push(block.join("\n"));
                self.inline.extend(code(&block.join("\n")));
            }
            _ => {}
        }
    }
}

/// Returns what stands between backquotes; a line break in it is a space.
fn code(paragraph: &str) -> impl Iterator<Item = String> {
    let pieces = paragraph.split('`').skip(1).step_by(2);
    pieces.map(|piece| piece.replace('\n', " ")).collect::<Vec<_>>().into_iter()
}

/// Returns a command without the comment behind it.
pub(crate) fn without_comment(command: &str) -> &str {
    command.split_once("  #").map_or(command, |(command, _)| command).trim()
}
