//! Finds out what a change does by reading it: syntax trees, manifests, names. Nothing of the repository is run.
//!
//! What comes out are facts ([`Inspection`]); the machine judges them. Every reader answers for one question and says
//! nothing where it cannot know: a file that does not parse is read by its lines, a language without a grammar too.
//!
//! | file | question |
//! |---|---|
//! | `language` | which grammar reads a file, and how its trees are walked |
//! | `outline` | what lies in what, in a tree |
//! | `roles` | what is a file for |
//! | `tests` | which tests are in it, what do they assert, and which rows do they go through |
//! | `spots` | which telling places does the change add |
//! | `manifests` | which entries of a manifest differ |
//! | `layers` | what brings the old tests, the new tests or the old code back, or breaks the tests |
//! | `goal` | which values that the goal lists does no test use |
//! | `functions` | which functions does it change or add |
//! | `mutants` | which small changes should its tests notice |
//! | `comparison` | which calls show a difference between old and new code |

mod comparison;
mod functions;
mod goal;
mod language;
mod layers;
mod manifests;
mod mutants;
mod outline;
mod roles;
mod spots;
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use checkmate_machine::facts::{FileFacts, Inspection, Reading};
use checkmate_machine::ids::TreeId;
use checkmate_machine::spec::TaskKind;

pub(crate) use self::language::Source;

/// A longer file is not read, in bytes.
const LONGEST: usize = 1_000_000;

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blob {
    /// Names its content.
    pub(crate) id: String,
    /// Whether it is a file, and neither a link nor a submodule.
    pub(crate) regular: bool,
}

/// Reads the content of a blob; `None` if it cannot be had.
type Read<'a> = Box<dyn Fn(&str) -> Option<Vec<u8>> + 'a>;

/// One side of a change.
pub(crate) struct Side<'a> {
    files: BTreeMap<String, Blob>,
    read: Read<'a>,
    /// The texts of the blobs that were read, so that none is read twice.
    texts: Texts,
}

/// Texts by blob; `None` for what is no text.
type Texts = Rc<RefCell<BTreeMap<String, Option<String>>>>;

impl<'a> Side<'a> {
    pub(crate) fn new(files: BTreeMap<String, Blob>, read: Read<'a>) -> Self {
        Self { files, read, texts: Texts::default() }
    }

    /// Shares what was read with the other side, which has much the same blobs.
    pub(crate) fn with_texts_of(self, other: &Side<'_>) -> Self {
        Self { texts: Rc::clone(&other.texts), ..self }
    }

    /// Returns the paths of this side, in order.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Tells whether there is such a file.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Returns a file's text; `None` if there is none, or if it is binary, too long or no file.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let blob = self.files.get(path).filter(|blob| blob.regular)?;
        if let Some(known) = self.texts.borrow().get(&blob.id) {
            return known.clone();
        }
        let bytes = (self.read)(&blob.id).filter(|bytes| bytes.len() <= LONGEST && !bytes.contains(&0));
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        self.texts.borrow_mut().insert(blob.id.clone(), text.clone());
        text
    }

    /// Returns a file as a syntax tree; `None` if its language has no grammar here or it does not parse.
    pub(crate) fn source(&self, path: &str) -> Option<Source> {
        Source::parse(path, self.text(path)?)
    }
}

/// What is to be inspected.
pub(crate) struct Wish<'a> {
    pub(crate) base: &'a TreeId,
    pub(crate) tree: &'a TreeId,
    pub(crate) before: &'a Side<'a>,
    pub(crate) after: &'a Side<'a>,
    pub(crate) kind: TaskKind,
    pub(crate) goal: &'a str,
}

impl Wish<'_> {
    /// Returns every path whose content or mode differs, in order.
    pub(crate) fn changed(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.before.paths().chain(self.after.paths()).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.retain(|path| self.before.files.get(*path) != self.after.files.get(*path));
        paths
    }
}

/// Finds out what a change does.
pub(crate) fn inspect(wish: &Wish<'_>) -> Inspection {
    let mut inspection = Inspection::default();
    for path in wish.changed() {
        inspection.files.push(file(wish, path));
    }
    inspection.old_tests = layers::old_tests(wish, &inspection.files);
    inspection.new_tests = layers::new_tests(wish, &inspection.files);
    inspection.broken_tests = layers::broken(wish, &inspection.files);
    inspection.untested_values = goal::untested(wish, &inspection.files);
    let functions = functions::changed(wish, &inspection.files);
    inspection.added_symbols = functions.added();
    inspection.reverted = layers::reverted(wish, &functions);
    inspection.mutants = mutants::of(wish, &inspection.files, &functions);
    inspection.comparison = comparison::of(wish, &inspection.files);
    inspection
}

fn file(wish: &Wish<'_>, path: &str) -> FileFacts {
    let (before, after) = (wish.before.source(path), wish.after.source(path));
    let texts = (wish.before.text(path), wish.after.text(path));
    let role = roles::of(wish, path);
    let unparsed = before.is_none() && wish.before.has(path) || after.is_none() && wish.after.has(path);
    let reading = match (&before, &after) {
        (Some(_), Some(_)) => Reading::Tree,
        (Some(_), None) if !wish.after.has(path) => Reading::Tree,
        (None, Some(_)) if !wish.before.has(path) => Reading::Tree,
        (_, _) if texts == (None, None) => Reading::Unread,
        (_, _) => Reading::Lines,
    };
    FileFacts {
        path: path.to_owned(),
        role,
        reading,
        effective: language::differs(before.as_ref(), after.as_ref()),
        code_differs: unparsed || functions::code_differs(before.as_ref(), after.as_ref()),
        tests_before: before.as_ref().map(tests::of).unwrap_or_default(),
        tests_after: after.as_ref().map(tests::of).unwrap_or_default(),
        spots: spots::added(wish, path, role, before.as_ref(), after.as_ref()),
        entries: manifests::differing(path, texts.0.as_deref(), texts.1.as_deref()),
    }
}
