//! Manifests that are read by their lines.

use super::Entries;
use crate::inspect::outline::clip;

/// Reads `section.key` of an INI file; lines that are set in continue a value.
pub(super) fn ini(text: &str) -> Entries {
    let mut entries = Entries::new();
    let (mut section, mut key) = (String::new(), None::<String>);
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with([' ', '\t'])
            && let Some(value) = key.as_ref().and_then(|key| entries.get_mut(key))
        {
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(trimmed);
        } else if let Some(name) = trimmed.strip_prefix('[') {
            section = clip(name.trim_end_matches(']'), 100).to_owned();
            key = None;
        } else {
            let (name, value) = trimmed.split_once(['=', ':']).unwrap_or((trimmed, ""));
            let name = format!("{section}.{}", clip(name.trim(), 100));
            entries.insert(name.clone(), value.trim().to_owned());
            key = Some(name);
        }
    }
    entries
}

/// Reads one requirement a line, by the name of the package.
pub(super) fn requirements(text: &str) -> Entries {
    let mut entries = Entries::new();
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or(line).trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let name = line.split(['=', '<', '>', '~', '!', ';', '[', ' ', '@']).next().unwrap_or(line);
        // Options such as `-r` and `--index-url` are entries by their whole line.
        let name = if line.starts_with('-') || name.is_empty() { line } else { name };
        entries.insert(clip(name, 150).to_owned(), line.to_owned());
    }
    entries
}

/// Reads `directive.module` of a `go.mod`.
pub(super) fn go(text: &str) -> Entries {
    let (mut entries, mut block) = (Entries::new(), String::new());
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or(line).trim();
        if line.is_empty() {
            continue;
        }
        if line == ")" {
            block.clear();
        } else if let Some(directive) = line.strip_suffix('(') {
            directive.trim().clone_into(&mut block);
        } else {
            let line = if block.is_empty() { line.to_owned() } else { format!("{block} {line}") };
            let mut words = line.split_whitespace();
            let (directive, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let rest: Vec<&str> = words.collect();
            match directive {
                "module" | "go" | "toolchain" => entries.insert(directive.to_owned(), name.to_owned()),
                directive => entries.insert(format!("{directive}.{name}"), rest.join(" ")),
            };
        }
    }
    entries
}

/// Takes every line as an entry; a line that occurs several times counts by its number.
pub(super) fn plain(text: &str) -> Entries {
    let mut entries = Entries::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//") && !line.starts_with('#'))
    {
        let name = clip(line, 150);
        let times = entries.entry(name.to_owned()).or_insert_with(|| line.to_owned());
        if times.len() < 400 && times != line {
            times.push('\u{b7}');
        } else if times == line && entries.len() > 50_000 {
            break;
        }
    }
    entries
}

/// Reads the recipes of a makefile by their targets, and its variables.
pub(super) fn makefile(text: &str) -> Entries {
    let mut entries = Entries::new();
    let mut target: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if line.starts_with('\t') {
            if let Some(recipe) = target.as_ref().and_then(|target| entries.get_mut(target)) {
                if !recipe.is_empty() {
                    recipe.push_str("; ");
                }
                recipe.push_str(trimmed);
            }
            continue;
        }
        let assigned = ["::=", ":=", "?=", "+=", "="].iter().find_map(|sign| trimmed.split_once(sign));
        match (assigned, trimmed.split_once(':')) {
            (Some((name, value)), _) if !name.trim().contains([':', ' ']) => {
                entries.insert(name.trim().to_owned(), value.trim().to_owned());
                target = None;
            }
            (_, Some((name, needs))) => {
                let name = clip(name.trim(), 150).to_owned();
                entries.insert(name.clone(), needs.trim().to_owned());
                target = Some(name);
            }
            (_, None) => {
                entries.insert(clip(trimmed, 150).to_owned(), trimmed.to_owned());
            }
        }
    }
    entries
}
