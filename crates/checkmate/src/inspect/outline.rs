//! A syntax tree as a list, so that parents, neighbours and whatever lies in a node are found without walking again.

use tree_sitter::Node;

use super::Source;
use super::language::children;

/// A tree as a list of its named nodes, parents first. A node is named by its place in the list.
pub(crate) struct Outline<'t> {
    pub(crate) source: &'t Source,
    nodes: Vec<Node<'t>>,
    parents: Vec<usize>,
    ends: Vec<usize>,
}

impl<'t> Outline<'t> {
    pub(crate) fn new(source: &'t Source) -> Self {
        let (mut nodes, mut parents) = (Vec::new(), Vec::new());
        let mut open = vec![(source.root(), 0)];
        while let Some((next, parent)) = open.pop() {
            let at = nodes.len();
            nodes.push(next);
            parents.push(parent);
            open.extend(children(next).into_iter().rev().map(|child| (child, at)));
        }
        let mut ends: Vec<usize> = (1..=nodes.len()).collect();
        for at in (1..nodes.len()).rev() {
            let end = ends.get(at).copied().unwrap_or(at);
            if let Some(above) = parents.get(at).and_then(|parent| ends.get_mut(*parent)) {
                *above = end.max(*above);
            }
        }
        Self { source, nodes, parents, ends }
    }

    /// Returns the places of all nodes.
    pub(crate) fn all(&self) -> std::ops::Range<usize> {
        0..self.nodes.len()
    }

    /// Returns the places of a node and everything in it.
    pub(crate) fn within(&self, at: usize) -> std::ops::Range<usize> {
        at..self.end(at)
    }

    pub(crate) fn node(&self, at: usize) -> Node<'t> {
        self.nodes.get(at).copied().unwrap_or_else(|| self.source.root())
    }

    pub(crate) fn kind(&self, at: usize) -> &'t str {
        self.node(at).kind()
    }

    /// Returns the source of a node.
    pub(crate) fn text(&self, at: usize) -> &'t str {
        self.source.text.get(self.node(at).byte_range()).unwrap_or("")
    }

    /// Returns the beginning of a node's source, at most so many bytes.
    pub(crate) fn head(&self, at: usize, most: usize) -> &'t str {
        clip(self.text(at), most)
    }

    /// Returns the source of a node on one line, at most 200 characters.
    pub(crate) fn line(&self, at: usize) -> String {
        self.source.line(self.node(at))
    }

    /// Returns the node that a node lies in; `None` for the root.
    pub(crate) fn parent(&self, at: usize) -> Option<usize> {
        self.parents.get(at).copied().filter(|_| at > 0)
    }

    /// Returns what a node lies in, the nearest first, at most 24.
    pub(crate) fn above(&self, at: usize) -> Vec<usize> {
        std::iter::successors(self.parent(at), |above| self.parent(*above)).take(24).collect()
    }

    /// Returns the place behind a node and everything in it.
    pub(crate) fn end(&self, at: usize) -> usize {
        self.ends.get(at).copied().unwrap_or(at + 1)
    }

    /// Returns the children of a node, without comments.
    pub(crate) fn children(&self, at: usize) -> Vec<usize> {
        let (mut found, mut next) = (Vec::new(), at + 1);
        while next < self.end(at) {
            if !self.kind(next).contains("comment") {
                found.push(next);
            }
            next = self.end(next);
        }
        found
    }

    /// Returns the child in a field of the grammar.
    pub(crate) fn field(&self, at: usize, name: &str) -> Option<usize> {
        let wanted = self.node(at).child_by_field_name(name)?.id();
        let mut next = at + 1;
        while next < self.end(at) {
            if self.node(next).id() == wanted {
                return Some(next);
            }
            next = self.end(next);
        }
        None
    }

    /// Returns the source of the child in a field of the grammar; empty if there is none.
    pub(crate) fn field_text(&self, at: usize, name: &str) -> &'t str {
        self.field(at, name).map_or("", |child| self.text(child))
    }

    /// Returns for every node the nearest node of the given kinds that it lies in or is.
    pub(crate) fn nearest(&self, kinds: &[&str]) -> Vec<Option<usize>> {
        let mut found: Vec<Option<usize>> = Vec::with_capacity(self.nodes.len());
        for at in self.all() {
            let own = kinds.contains(&self.kind(at)).then_some(at);
            let above = self.parent(at).and_then(|parent| found.get(parent).copied().flatten());
            found.push(own.or(above));
        }
        found
    }
}

/// Returns the beginning of a text, at most so many bytes.
pub(crate) fn clip(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

/// Returns a text without blank space.
pub(crate) fn compact(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// Returns the content of a string literal; `None` if the text is none.
pub(crate) fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || letter == '#');
    let text = text.trim_end_matches('#');
    for quote in ["\"\"\"", "'''", "\"", "'", "`"] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Some(inner);
        }
    }
    None
}
