//! The ranked map of the repository: what exists, the most relevant first, within a budget.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::FileFact;
use crate::excerpt;

/// Tokens that the map may take.
const BUDGET: usize = 1_200;
/// How many symbols a line shows.
const SYMBOLS: usize = 8;

/// Returns the map: one line a file, with what it defines, ranked by what the goal speaks of.
pub(super) fn file_tree(goal: &str, files: &[FileFact]) -> String {
    let words = words(goal);
    let mut ranked: Vec<(u32, &FileFact)> = files.iter().map(|file| (score(file, &words), file)).collect();
    // Stable: files of equal rank keep the path order in which they came.
    ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let mut lines = Vec::new();
    let mut used = 0;
    for (score, file) in &ranked {
        let line = line(file, *score > 0);
        let cost = excerpt::tokens(&line) + 1;
        if used + cost > BUDGET {
            break;
        }
        used += cost;
        lines.push(line);
    }
    let missing = ranked.len() - lines.len();
    if missing > 0 {
        lines.push(format!("… and {missing} more files; name one in `files_needed` if you know its path"));
    }
    if lines.is_empty() { "(no files)".into() } else { lines.join("\n") }
}

fn line(file: &FileFact, relevant: bool) -> String {
    if !relevant || file.symbols.is_empty() {
        return file.path.clone();
    }
    let shown: Vec<&str> = file.symbols.iter().take(SYMBOLS).map(String::as_str).collect();
    format!("{}: {}", file.path, shown.join(", "))
}

/// Files whose path or symbols the goal names come first, then what tells how the project is built and read. What the
/// run has changed plays no part: the diff shows it, and the map stays the same from turn to turn, for the cache.
fn score(file: &FileFact, words: &BTreeSet<String>) -> u32 {
    let mut score = 0;
    for part in split(&file.path) {
        score += if words.contains(&part) { 10 } else { 0 };
    }
    for symbol in &file.symbols {
        let hit =
            words.contains(&symbol.to_lowercase()) || split(symbol).iter().any(|part| words.contains(part));
        score += if hit { 8 } else { 0 };
    }
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    const LANDMARKS: [&str; 8] = [
        "Cargo.toml",
        "package.json",
        "pyproject.toml",
        "go.mod",
        "pom.xml",
        "README.md",
        "AGENTS.md",
        "Makefile",
    ];
    if LANDMARKS.contains(&name) && !file.path.contains('/') {
        score += 2;
    }
    score
}

/// Splits a text into the words a programmer would see in it: `parseHttpDate` has three.
fn split(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for chunk in text.split(|c: char| !c.is_alphanumeric()) {
        let mut part = String::new();
        let mut lower_before = false;
        for c in chunk.chars() {
            if c.is_uppercase() && lower_before {
                parts.push(std::mem::take(&mut part));
            }
            lower_before = c.is_lowercase();
            part.extend(c.to_lowercase());
        }
        if !part.is_empty() {
            parts.push(part);
        }
    }
    parts
}

fn words(goal: &str) -> BTreeSet<String> {
    let whole = goal.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase);
    whole.chain(split(goal)).filter(|word| word.len() > 2).collect()
}

/// Returns the files whose whole path the goal names, in the order of the repository.
pub fn named_paths(goal: &str, files: &[FileFact]) -> Vec<String> {
    let mentioned: BTreeSet<&str> = goal
        .split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | ',' | ';'))
        .map(|word| word.trim_end_matches(['.', ':', '?', '!']).trim_start_matches("./"))
        .filter(|word| !word.is_empty())
        .collect();
    files.iter().filter(|file| mentioned.contains(file.path.as_str())).map(|file| file.path.clone()).collect()
}

/// Returns the files in the root that say how the project's code should look.
pub(super) fn style_files(files: &[FileFact]) -> Vec<&str> {
    const NAMES: [&str; 20] = [
        ".editorconfig",
        ".clang-format",
        ".eslintrc",
        ".eslintrc.js",
        ".eslintrc.json",
        ".flake8",
        ".golangci.yml",
        ".prettierrc",
        ".prettierrc.json",
        ".rubocop.yml",
        ".rustfmt.toml",
        ".stylelintrc",
        "AGENTS.md",
        "CONTRIBUTING.md",
        "STYLE.md",
        "biome.json",
        "eslint.config.js",
        "eslint.config.mjs",
        "ruff.toml",
        "rustfmt.toml",
    ];
    files.iter().map(|file| file.path.as_str()).filter(|path| NAMES.contains(path)).collect()
}

/// Returns the languages of a repository, the most used first.
pub fn languages(files: &[FileFact]) -> Vec<&'static str> {
    let mut bytes: BTreeMap<&'static str, u64> = BTreeMap::new();
    for file in files {
        if let Some(language) = language(&file.path) {
            let sum = bytes.entry(language).or_default();
            *sum = sum.saturating_add(file.bytes.max(1));
        }
    }
    let mut ranked: Vec<_> = bytes.into_iter().collect();
    ranked.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    ranked.into_iter().take(4).map(|(language, _)| language).collect()
}

fn language(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit('/').next().unwrap_or(path).rsplit_once('.')?;
    Some(match extension {
        "rs" => "Rust",
        "py" | "pyi" => "Python",
        "ts" | "tsx" | "mts" | "cts" => "TypeScript",
        "js" | "jsx" | "mjs" | "cjs" => "JavaScript",
        "go" => "Go",
        "java" => "Java",
        "kt" | "kts" => "Kotlin",
        "c" | "h" => "C",
        "cc" | "cpp" | "hpp" | "cxx" => "C++",
        "cs" => "C#",
        "rb" => "Ruby",
        "php" => "PHP",
        "swift" => "Swift",
        "scala" => "Scala",
        "sh" | "bash" => "Shell",
        "sql" => "SQL",
        "html" => "HTML",
        "css" | "scss" => "CSS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[(&str, &[&str])]) -> Vec<FileFact> {
        paths
            .iter()
            .map(|(path, symbols)| FileFact {
                path: (*path).into(),
                bytes: 10,
                symbols: symbols.iter().map(|s| (*s).into()).collect(),
            })
            .collect()
    }

    #[test]
    fn the_goal_ranks_the_map() {
        let files = files(&[
            ("README.md", &[]),
            ("src/dates.ts", &["parseHttpDate", "format"]),
            ("src/math.ts", &["gcd", "factorial"]),
            ("src/z.ts", &[]),
        ]);
        let map = file_tree("Make factorial in src/math.ts reject negatives", &files);
        assert_eq!(
            map,
            "src/math.ts: gcd, factorial\nsrc/dates.ts\nsrc/z.ts\nREADME.md"
                .replace("src/dates.ts\nsrc/z.ts", "src/dates.ts: parseHttpDate, format\nsrc/z.ts")
        );
    }

    #[test]
    fn the_map_stays_within_its_budget() {
        let many: Vec<FileFact> = (0..50_000)
            .map(|n| FileFact {
                path: format!("src/some/deep/folder/file_{n}.rs"),
                bytes: 1,
                symbols: vec![],
            })
            .collect();
        let map = file_tree("anything", &many);
        assert!(excerpt::tokens(&map) < BUDGET + 40);
        assert!(map.contains("more files"));
    }

    #[test]
    fn named_files_are_found_in_prose() {
        let files = files(&[("src/math.ts", &[]), ("src/other.ts", &[])]);
        assert_eq!(named_paths("Add a function to `src/math.ts`.", &files), ["src/math.ts"]);
    }
}
