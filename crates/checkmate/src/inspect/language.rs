//! Which grammar reads a file, and how its trees are walked.

use std::ops::Range;

use tree_sitter::{InputEdit, Node, Parser, Point, Tree};

/// The languages that have a grammar here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Rust,
    Go,
    Java,
}

impl Language {
    /// Returns the language of a path by its ending.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        Some(match name.rsplit_once('.')?.1 {
            "py" | "pyi" => Language::Python,
            "js" | "mjs" | "cjs" | "jsx" => Language::JavaScript,
            "ts" | "mts" | "cts" => Language::TypeScript,
            "tsx" => Language::Tsx,
            "rs" => Language::Rust,
            "go" => Language::Go,
            "java" => Language::Java,
            _ => return None,
        })
    }

    fn grammar(self) -> tree_sitter::Language {
        match self {
            Language::Python => tree_sitter_python::LANGUAGE.into(),
            Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Language::Rust => tree_sitter_rust::LANGUAGE.into(),
            Language::Go => tree_sitter_go::LANGUAGE.into(),
            Language::Java => tree_sitter_java::LANGUAGE.into(),
        }
    }
}

/// A file that parsed without errors.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) language: Language,
    pub(crate) text: String,
    tree: Tree,
}

impl Source {
    /// Parses a file; `None` if its language has no grammar here, if it has errors, or if the language may read it
    /// otherwise than the grammar does.
    pub(crate) fn parse(path: &str, text: String) -> Option<Self> {
        let language = Language::of(path).filter(|language| !is_ambiguous(*language, &text))?;
        let mut parser = Parser::new();
        parser.set_language(&language.grammar()).ok()?;
        let tree = parser.parse(&text, None).filter(|tree| !tree.root_node().has_error())?;
        // In a module of JavaScript `<!--` is code.
        let markup = text.contains("<!--") || text.contains("-->");
        if markup && descend(tree.root_node()).iter().any(|node| node.kind() == "html_comment") {
            return None;
        }
        Some(Self { path: path.to_owned(), language, text, tree })
    }

    /// Returns the file with another text in place of a range of bytes; `None` if that has errors. Only what the
    /// change touches is parsed again.
    pub(crate) fn with(&self, range: &Range<usize>, text: &str) -> Option<Self> {
        let (before, behind) = (self.text.get(..range.start)?, self.text.get(range.end..)?);
        let made = [before, text, behind].concat();
        let new_end = range.start + text.len();
        let mut below = self.tree.clone();
        below.edit(&InputEdit {
            start_byte: range.start,
            old_end_byte: range.end,
            new_end_byte: new_end,
            start_position: point(before),
            old_end_position: point(self.text.get(..range.end)?),
            new_end_position: point(made.get(..new_end)?),
        });
        let mut parser = Parser::new();
        parser.set_language(&self.language.grammar()).ok()?;
        let tree = parser.parse(&made, Some(&below)).filter(|tree| !tree.root_node().has_error())?;
        Some(Self { path: self.path.clone(), language: self.language, text: made, tree })
    }

    /// Returns the root of the tree.
    pub(crate) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// Returns the source of a node.
    pub(crate) fn of(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or("")
    }

    /// Returns the source of a node on one line, at most 200 characters.
    pub(crate) fn line(&self, node: Node<'_>) -> String {
        one_line(self.of(node))
    }
}

/// Tells whether lines, or comments, may end where the grammar sees no end, so that a comment can hold code.
fn is_ambiguous(language: Language, text: &str) -> bool {
    let lone_return = || text.match_indices('\r').any(|(at, _)| text.as_bytes().get(at + 1) != Some(&b'\n'));
    lone_return()
        || match language {
            Language::Python => text.split('\n').take(2).filter_map(coding).any(|name| {
                !matches!(name.as_str(), "utf-8" | "utf8" | "ascii" | "us-ascii" | "latin-1" | "latin1")
                    && !matches!(name.as_str(), "iso-8859-1" | "iso8859-1" | "utf-8-sig")
            }),
            Language::Java => text.match_indices('\\').any(|(at, _)| ends_in_java(&text[at + 1..])),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                text.contains(['\u{2028}', '\u{2029}'])
            }
            Language::Rust | Language::Go => false,
        }
}

/// Returns the encoding that a comment line of Python names (PEP 263).
fn coding(line: &str) -> Option<String> {
    let line = line.trim_start_matches('\u{feff}').trim_start_matches([' ', '\t', '\u{c}']);
    let comment = line.strip_prefix('#')?;
    comment.match_indices("coding").find_map(|(at, word)| {
        let name = comment.get(at + word.len()..)?.strip_prefix([':', '='])?.trim_start_matches([' ', '\t']);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'));
        let name = name.get(..end.unwrap_or(name.len())).filter(|name| !name.is_empty())?;
        Some(name.to_ascii_lowercase().replace('_', "-"))
    })
}

/// Tells whether what follows a backslash of Java stands for a line end, or for a sign that ends a comment.
fn ends_in_java(escape: &str) -> bool {
    let digits = escape.trim_start_matches(['u', 'U']);
    let ends = ["000a", "000d", "002a", "002f"];
    digits.len() < escape.len()
        && digits.get(..4).is_some_and(|digits| ends.iter().any(|end| digits.eq_ignore_ascii_case(end)))
}

/// Returns a text on one line, at most 200 characters. Does not read on behind them.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace().take(200) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(200));
        if line.len() > 800 {
            break;
        }
    }
    line.chars().take(200).collect()
}

/// Returns the line and column of the end of a text, from 0.
fn point(text: &str) -> Point {
    let line = text.rfind('\n').map_or(0, |newline| newline + 1);
    Point { row: text.bytes().filter(|byte| *byte == b'\n').count(), column: text.len() - line }
}

/// Returns the line of a node, from 1.
pub(crate) fn line_of(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX - 1) + 1
}

/// Returns the named children of a node.
pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// Returns a node and everything below it, parents first, in the order of the source.
pub(crate) fn descend(node: Node<'_>) -> Vec<Node<'_>> {
    let (mut found, mut open) = (Vec::new(), vec![node]);
    while let Some(next) = open.pop() {
        found.push(next);
        open.extend(children(next).into_iter().rev());
    }
    found
}

/// A piece of code that has no parts: a name, a sign, a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leaf<'t> {
    /// Its first byte.
    pub(crate) start: usize,
    /// Its source.
    pub(crate) text: &'t str,
    /// How many blocks it lies in, counted from the node that was asked for.
    pub(crate) depth: u32,
}

/// Returns the code of a node without comments, documentation strings and blank space, as its leaves.
pub(crate) fn leaves<'t>(source: &'t Source, node: Node<'t>) -> Vec<Leaf<'t>> {
    let mut leaves = Vec::new();
    let mut open = vec![(node, 0)];
    while let Some((next, depth)) = open.pop() {
        if next.kind().contains("comment") || is_documentation(source.language, next) {
            continue;
        }
        let mut cursor = next.walk();
        let below: Vec<Node<'_>> = next.children(&mut cursor).collect();
        if below.is_empty() || next.kind().contains("string") {
            leaves.push(Leaf { start: next.start_byte(), text: source.of(next), depth });
        } else {
            let depth = depth + u32::from(next.kind() == "block");
            open.extend(below.into_iter().rev().map(|below| (below, depth)));
        }
    }
    leaves
}

/// Returns the code of a file without comments, documentation strings and blank space, as the texts of its leaves.
pub(crate) fn tokens(source: &Source, node: Node<'_>) -> Vec<String> {
    leaves(source, node).into_iter().map(|leaf| leaf.text.to_owned()).collect()
}

/// Tells whether a node is a string that stands alone as a statement, as Python's documentation does.
fn is_documentation(language: Language, node: Node<'_>) -> bool {
    language == Language::Python
        && node.kind() == "expression_statement"
        && node.named_child_count() == 1
        && node.named_child(0).is_some_and(|child| {
            // What is put into a string is code.
            child.kind() == "string" && children(child).iter().all(|part| part.kind() != "interpolation")
        })
}

/// Tells whether two sides of a file differ in more than comments, documentation strings and blank space. What cannot
/// be parsed differs.
pub(crate) fn differs(before: Option<&Source>, after: Option<&Source>) -> bool {
    match (before, after) {
        // Python's blank space is code, but only as blocks, and those are nodes of their own.
        (Some(before), Some(after)) => shape(before) != shape(after),
        (_, _) => true,
    }
}

/// Returns the tokens of a file with the number of blocks that hold each, so that moved blocks differ too.
fn shape(source: &Source) -> Vec<(&str, u32)> {
    leaves(source, source.root()).into_iter().map(|leaf| (leaf.text, leaf.depth)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_hold_code_in_a_comment_is_not_parsed() {
        for (path, text, parses) in [
            ("a.py", "A = 1\n# Why.\n", true),
            ("a.py", "A = 1\r\n# Why.\r\n", true),
            ("a.py", "A = 1\n# Why.\rA = 2\n", false),
            ("a.js", "// Why.\ra();\n", false),
            ("a.js", "// Why.\u{2028}a();\n", false),
            ("a.js", "a(b <!--c);\n)", false),
            ("a.js", "a('<!-- b -->');\n", true),
            ("a.py", "# -*- coding: raw_unicode_escape -*-\nA = 1\n", false),
            ("a.py", "#!/usr/bin/python3\n# vim: set fileencoding=utf-7 :\nA = 1\n", false),
            ("a.py", "\u{feff}# coding=rot13\nA = 1\n", false),
            ("a.py", "# -*- coding: UTF_8 -*-\nA = 1\n", true),
            ("a.py", "# coding: latin-1\nA = 1\n", true),
            ("a.py", "# How decoding works: badly.\nA = 1\n", true),
            ("a.py", "A = 1\nB = 2\n# coding: rot13\n", true),
            ("A.java", "class A {} // Why. \\u000a int b;\n", false),
            ("A.java", "class A {} // Why. \\uuu000D int b;\n", false),
            ("A.java", "class A {} /* Why. \\u002A/ int b; /* */\n", false),
            ("A.java", "class A {} /* Why. *\\u002f int b; /* */\n", false),
            ("A.java", "class A { char b = '\\u0041'; }\n", true),
        ] {
            assert_eq!(Source::parse(path, text.to_owned()).is_some(), parses, "{text:?}");
        }
    }

    #[test]
    fn a_string_that_calls_something_is_no_documentation() {
        let [one, two, three] =
            ["\"a\"\n", "\"b\"\n", "f\"{b()}\"\n"].map(|text| Source::parse("a.py", text.to_owned()));
        assert!(!differs(one.as_ref(), two.as_ref()));
        assert!(differs(two.as_ref(), three.as_ref()));
    }
}
