//! A file as lines, and as what its lines are found by.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

use super::Line;
use super::compare::{key, split_indent};

/// How many places are looked at before a search gives up; nobody could choose among so many.
pub(super) const MOST_PLACES: usize = 100;

/// How many pairs of lines all searches in a file may compare; only files of one line all over need more.
const MOST_COMPARISONS: usize = 100_000_000;

/// A file as lines, and as one text for searching.
pub(super) struct Text<'a> {
    /// The lines with their endings.
    pub(super) lines: Vec<&'a [u8]>,
    /// A line feed, then every line without its ending but with a line feed.
    search: Vec<u8>,
    /// Where each line starts in `search`, and where the text ends.
    starts: Vec<usize>,
    index: OnceCell<Index>,
    indents: OnceCell<BTreeMap<&'a str, usize>>,
}

/// The lines of a file by their keys.
#[derive(Default)]
pub(super) struct Index {
    numbers: BTreeMap<String, usize>,
    /// The key of each line, as a number.
    keys: Vec<usize>,
    /// The lines that have a key, from the top.
    places: Vec<Vec<usize>>,
    /// How many pairs of lines were compared so far.
    compared: Cell<usize>,
}

impl Index {
    /// Tells whether so many pairs of lines may still be compared, and counts them.
    pub(super) fn may_compare(&self, pairs: usize) -> bool {
        let all = self.compared.get().saturating_add(pairs);
        self.compared.set(all);
        all <= MOST_COMPARISONS
    }

    /// Returns the number of a line's key; `None` if no line of the file has it.
    pub(super) fn number(&self, line: &str) -> Option<usize> {
        self.numbers.get(&key(line)).copied()
    }

    /// Returns the lines of the file with this key.
    pub(super) fn places(&self, number: usize) -> &[usize] {
        self.places.get(number).map_or(&[], Vec::as_slice)
    }

    /// Returns the lines of the file that begin like this one, from the top.
    pub(super) fn beginning(&self, line: &str) -> Vec<usize> {
        let begin = key(line);
        let alike = self.numbers.range(begin.clone()..).take_while(|(key, _)| key.starts_with(&begin));
        let mut lines: Vec<usize> = alike.flat_map(|(_, number)| self.places(*number)).copied().collect();
        lines.sort_unstable();
        lines
    }

    /// Tells whether the keys stand one after the other from a line on.
    fn stand_at(&self, wanted: &[usize], line: usize) -> bool {
        self.keys.get(line..).is_some_and(|keys| keys.starts_with(wanted))
    }

    /// Finds where the keys stand one after the other; more than [`MOST_PLACES`] are not told apart.
    pub(super) fn runs(&self, wanted: &[usize]) -> Vec<usize> {
        let rarest = (0..).zip(wanted).min_by_key(|(_, number)| self.places(**number).len());
        let Some((offset, number)) = rarest else { return Vec::new() };
        if !self.may_compare(self.places(*number).len().saturating_mul(wanted.len())) {
            return Vec::new();
        }
        let starts = self.places(*number).iter().filter_map(|line| line.checked_sub(offset));
        starts.filter(|start| self.stand_at(wanted, *start)).take(MOST_PLACES + 1).collect()
    }
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let mut search = vec![b'\n'];
        let mut starts = vec![1];
        for line in &lines {
            search.extend_from_slice(bare(line));
            search.push(b'\n');
            starts.push(search.len());
        }
        Self { lines, search, starts, index: OnceCell::new(), indents: OnceCell::new() }
    }

    /// Returns a line without its ending, if it is text.
    pub(super) fn line(&self, at: usize) -> Option<&'a str> {
        std::str::from_utf8(bare(self.lines.get(at)?)).ok()
    }

    /// Returns the index, which is made when it is first asked for: most patches fit exactly and need none.
    pub(super) fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut index = Index::default();
            for (at, line) in self.lines.iter().enumerate() {
                let next = index.numbers.len();
                let number = *index.numbers.entry(key(&String::from_utf8_lossy(bare(line)))).or_insert(next);
                if number == next {
                    index.places.push(Vec::new());
                }
                if let Some(places) = index.places.get_mut(number) {
                    places.push(at);
                }
                index.keys.push(number);
            }
            index
        })
    }

    /// Returns how many lines have each indentation.
    pub(super) fn indents(&self) -> &BTreeMap<&'a str, usize> {
        self.indents.get_or_init(|| {
            let mut indents = BTreeMap::new();
            for line in (0..self.lines.len()).filter_map(|at| self.line(at)) {
                *indents.entry(split_indent(line).0).or_default() += 1;
            }
            indents
        })
    }

    /// Tells whether the last line has a line feed; an empty file lacks none.
    pub(super) fn is_terminated(&self) -> bool {
        self.lines.last().is_none_or(|line| line.ends_with(b"\n"))
    }

    /// Returns the ending that a line put in before line `at` gets: that of its neighbour.
    pub(super) fn ending(&self, at: usize) -> &'static [u8] {
        let near = [at.checked_sub(1), Some(at), Some(0)];
        let line =
            near.into_iter().flatten().filter_map(|at| self.lines.get(at)).find(|line| line.ends_with(b"\n"));
        if line.is_some_and(|line| line.ends_with(b"\r\n")) { b"\r\n" } else { b"\n" }
    }

    /// Tells whether lines stand from a line on, exactly but for their endings.
    pub(super) fn stands_at(&self, wanted: &Wanted, line: usize) -> bool {
        let Some(start) = self.starts.get(line) else { return false };
        self.search.get(start - 1..).is_some_and(|text| text.starts_with(&wanted.search))
    }

    /// Tells whether a line stands at a place byte for byte, its ending included.
    pub(super) fn is_identical(&self, line: &Line, at: usize) -> bool {
        self.lines.get(at).is_some_and(|real| match real.strip_suffix(b"\n") {
            Some(real) => line.newline && real == line.text.as_bytes(),
            None => !line.newline && *real == line.text.as_bytes(),
        })
    }
}

/// Lines to look for, in the form of [`Text::search`].
pub(super) struct Wanted {
    search: Vec<u8>,
}

impl Wanted {
    pub(super) fn new<'l>(lines: impl Iterator<Item = &'l Line>) -> Self {
        let mut search = vec![b'\n'];
        for line in lines {
            search.extend_from_slice(bare(line.text.as_bytes()));
            search.push(b'\n');
        }
        Self { search }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.search.len() == 1
    }
}

/// Takes a line's ending away.
pub(super) fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
