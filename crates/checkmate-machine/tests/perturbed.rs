//! Real diffs, perturbed in the ways in which agents do it: each makes exactly the intended tree, or is rejected.
//!
//! For that to be a law, the intended tree has to be the only one that the perturbed text can mean:
//!
//! - Where line numbers are lost or wrong, no line of text comes twice in the files, old and new together. Blank lines
//!   do; so a hunk whose old lines are all blank has no certain place, and one that only changes blank lines may look
//!   as if it were applied already. Such cases are left out.
//! - Where lines repeat, the numbers stay right, and they tell one place from the other.
//! - Added lines have nothing that a perturbation of the other lines would be undone in: no curly quotes, no whitespace
//!   at their ends.
//! - A context line that lost its sign and then is shifted could as well be one with a sign and another shift. So these
//!   two are not combined.

mod diff;

use std::collections::{BTreeMap, BTreeSet};

use checkmate_machine::patch::{Original, Plan, Write, parse, plan};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use proptest::test_runner::TestRunner;

use diff::{Hunk, Line, Section};

/// A way in which agents perturb diffs. Their order is the order in which two of them are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    ContextTrimmed,
    HunksReordered,
    NumbersShifted,
    NumbersGone,
    CountsWrong,
    CountsGone,
    IndentationShifted,
    IndentationLost,
    CurlyQuotes,
    TrailingWhitespace,
    ContextSignsLost,
    GitHeaderGone,
    PrefixesGone,
    BlankContextStripped,
    PatchIndented,
    Fenced,
    CarriageReturns,
    JsonString,
}

use Kind::*;

const KINDS: [Kind; 18] = [
    ContextTrimmed,
    HunksReordered,
    NumbersShifted,
    NumbersGone,
    CountsWrong,
    CountsGone,
    IndentationShifted,
    IndentationLost,
    CurlyQuotes,
    TrailingWhitespace,
    ContextSignsLost,
    GitHeaderGone,
    PrefixesGone,
    BlankContextStripped,
    PatchIndented,
    Fenced,
    CarriageReturns,
    JsonString,
];

/// Kinds that leave nothing to decide: with unique lines, any number of them together must be accepted.
const HARMLESS: [Kind; 9] = [
    NumbersShifted,
    NumbersGone,
    CountsWrong,
    CountsGone,
    TrailingWhitespace,
    GitHeaderGone,
    Fenced,
    CarriageReturns,
    JsonString,
];

/// Kinds after which the line numbers are right and each line can still be told from every other.
const NUMBERED: [Kind; 12] = [
    ContextTrimmed,
    HunksReordered,
    CountsWrong,
    CountsGone,
    TrailingWhitespace,
    GitHeaderGone,
    PrefixesGone,
    BlankContextStripped,
    PatchIndented,
    Fenced,
    CarriageReturns,
    JsonString,
];

/// A perturbation, and a number that decides whatever has to be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    kind: Kind,
    dial: usize,
}

impl Step {
    /// Perturbs what the diff says.
    fn perturb(self, sections: &mut [Section]) {
        match self.kind {
            ContextTrimmed => hunks(sections).for_each(|hunk| trim(hunk, 1 + self.dial % 2)),
            HunksReordered => sections.iter_mut().for_each(|section| {
                let by = (1 + self.dial) % section.hunks.len();
                section.hunks.rotate_left(by);
            }),
            NumbersShifted => hunks(sections).for_each(|hunk| {
                let by = [1, 2, 5, 30, 1_000][self.dial % 5];
                let shift = |number: usize| match self.dial % 2 {
                    0 => number + by,
                    _ => number.saturating_sub(by).max(1),
                };
                hunk.starts = hunk.starts.map(|(old, new)| (shift(old), shift(new)));
            }),
            NumbersGone => hunks(sections).for_each(|hunk| hunk.starts = None),
            CountsWrong => hunks(sections).for_each(|hunk| {
                let (old, new) = (self.dial % 9, self.dial / 9 % 9);
                hunk.counts = Some((old, new));
            }),
            CountsGone => hunks(sections).for_each(|hunk| hunk.counts = None),
            IndentationShifted => {
                let by = ["    ", "  ", "\t"][self.dial % 3];
                edit(
                    sections,
                    |_| true,
                    |text| if text.is_empty() { String::new() } else { by.to_owned() + text },
                );
            }
            IndentationLost => {
                let by = "    ";
                let indented = |line: &Line| line.text.trim().is_empty() || line.text.starts_with(by);
                if hunks(sections).all(|hunk| hunk.lines.iter().all(indented)) {
                    edit(sections, |_| true, |text| text.strip_prefix(by).unwrap_or(text).to_owned());
                }
            }
            CurlyQuotes => edit(sections, |line| line.kind != '+', curly),
            TrailingWhitespace => {
                let end = [" ", "  ", "\t"][self.dial % 3];
                edit(sections, |line| line.kind != '+', |text| text.to_owned() + end);
            }
            ContextSignsLost => {
                let lines = hunks(sections).flat_map(|hunk| &mut hunk.lines);
                lines.filter(|line| line.kind == ' ').for_each(|line| line.signed = false);
            }
            GitHeaderGone | PrefixesGone | BlankContextStripped | PatchIndented | Fenced
            | CarriageReturns | JsonString => {}
        }
    }

    /// Perturbs the text.
    fn perturb_text(self, text: String) -> String {
        let each = |edit: &dyn Fn(&str) -> String| text.lines().map(|line| edit(line) + "\n").collect();
        match self.kind {
            GitHeaderGone => {
                let gone = |line: &&str| line.starts_with("diff --git ") || line.starts_with("index ");
                // The lines of a hunk have a sign, and those that lost it start otherwise.
                text.split_inclusive('\n').filter(|line| !gone(line)).collect()
            }
            PrefixesGone => each(&|line| match (line.strip_prefix("--- a/"), line.strip_prefix("+++ b/")) {
                (Some(path), _) => format!("--- {path}"),
                (_, Some(path)) => format!("+++ {path}"),
                (None, None) => line.to_owned(),
            }),
            BlankContextStripped => {
                each(&|line| if line.trim().is_empty() { String::new() } else { line.to_owned() })
            }
            PatchIndented => {
                let by = ["    ", "  ", "\t"][self.dial % 3];
                each(&|line| if line.is_empty() { String::new() } else { by.to_owned() + line })
            }
            Fenced => format!("Here is the change:\n\n```diff\n{text}```\n\nIt should work now.\n"),
            CarriageReturns => text
                .split_terminator('\n')
                .map(|line| line.trim_end_matches('\r').to_owned() + "\r\n")
                .collect(),
            JsonString => serde_json::Value::from(text).to_string(),
            ContextTrimmed | HunksReordered | NumbersShifted | NumbersGone | CountsWrong | CountsGone
            | IndentationShifted | IndentationLost | CurlyQuotes | TrailingWhitespace | ContextSignsLost => {
                text
            }
        }
    }
}

fn hunks(sections: &mut [Section]) -> impl Iterator<Item = &mut Hunk> {
    sections.iter_mut().flat_map(|section| &mut section.hunks)
}

fn edit(sections: &mut [Section], of: impl Fn(&Line) -> bool, by: impl Fn(&str) -> String) {
    let lines = hunks(sections).flat_map(|hunk| &mut hunk.lines);
    lines.filter(|line| of(line)).for_each(|line| line.edit(&by));
}

/// Leaves so many lines of context at each end, and counts anew.
fn trim(hunk: &mut Hunk, keep: usize) {
    let context = |line: &&Line| line.kind == ' ';
    let above = hunk.lines.iter().take_while(context).count().saturating_sub(keep);
    hunk.lines.drain(..above);
    let below = hunk.lines.iter().rev().take_while(context).count().saturating_sub(keep);
    hunk.lines.truncate(hunk.lines.len() - below);
    hunk.starts = hunk.starts.map(|(old, new)| (old + above, new + above));
    hunk.counts = hunk.counts.map(|(old, new)| (old - above - below, new - above - below));
}

fn curly(text: &str) -> String {
    let mut opens = false;
    let quote = |c| match c {
        '"' => {
            opens = !opens;
            if opens { '“' } else { '”' }
        }
        '\'' => '’',
        other => other,
    };
    text.chars().map(quote).collect()
}

/// A file and what somebody made of it.
#[derive(Debug, Clone)]
struct Edited {
    path: &'static str,
    old: String,
    new: String,
    /// Whether the diff has the carriage returns of a file that has them.
    carried: bool,
}

impl Edited {
    fn section(&self) -> Section {
        let mut section = Section::new(self.path, &self.old, &self.new);
        if !self.carried {
            let lines = section.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines);
            lines.for_each(|line| line.text = line.text.trim_end_matches('\r').to_owned());
        }
        section
    }
}

/// Perturbs the diff of some files, and tells whether each hunk is certain.
///
/// A certain hunk has an old line that is not blank, to be found by. And it adds such a line, other than those that it
/// deletes, or only deletes: a file in which it is not yet applied cannot be taken for one in which it is.
fn perturbed(files: &[Edited], steps: &[Step]) -> (String, bool) {
    let mut sections: Vec<Section> = files.iter().map(Edited::section).collect();
    let changes = hunks(&mut sections).all(|hunk| {
        let (deleted, added) = (hunk.texts('-'), hunk.texts('+'));
        if added.is_empty() { !deleted.is_empty() } else { !added.iter().all(|text| deleted.contains(text)) }
    });
    steps.iter().for_each(|step| step.perturb(&mut sections));
    let found = hunks(&mut sections).all(|hunk| hunk.old_lines().any(|line| !line.text.trim().is_empty()));
    let text = diff::lines(&sections).into_iter().map(|line| line + "\n").collect();
    (steps.iter().fold(text, |text, step| step.perturb_text(text)), changes && found)
}

fn planned(patch: &str, files: &[Edited]) -> Result<Plan, String> {
    let original = |file: &Edited| Original::File { bytes: file.old.as_bytes().to_vec(), executable: false };
    parse(patch)
        .and_then(|read| {
            let mut originals: BTreeMap<_, _> =
                read.paths().into_iter().map(|path| (path.to_owned(), Original::Absent)).collect();
            originals.extend(files.iter().map(|file| (file.path.to_owned(), original(file))));
            plan(&read, &originals)
        })
        .map_err(|reasons| reasons.iter().map(|reason| format!("{reason}\n")).collect())
}

/// Returns the new content of each file that is written; `None` stands for a deleted one.
fn written(plan: Plan) -> BTreeMap<String, Option<String>> {
    let written = plan.writes.into_iter().map(|write| match write {
        Write::Put { path, bytes, executable } => {
            assert!(!executable, "{path} got another mode");
            (path, Some(String::from_utf8(bytes).unwrap()))
        }
        Write::Delete { path } => (path, None),
    });
    written.collect()
}

/// Holds a patch to the law: it makes the new files, or is rejected if that is allowed.
fn hold(files: &[Edited], patch: &str, must: bool) -> Result<(), TestCaseError> {
    match planned(patch, files) {
        Ok(planned) => {
            let meant: BTreeMap<_, _> =
                files.iter().map(|file| (file.path.to_owned(), Some(file.new.clone()))).collect();
            prop_assert_eq!(written(planned), meant, "{}", patch);
        }
        Err(reasons) => prop_assert!(!must, "rejected: {}\n{}", reasons, patch),
    }
    Ok(())
}

/// Holds the perturbed diff of some files to the law.
fn hold_perturbed(files: &[Edited], steps: &[Step], must: bool) -> Result<(), TestCaseError> {
    let (patch, certain) = perturbed(files, steps);
    prop_assume!(!files.is_empty() && certain);
    hold(files, &patch, must)
}

/// Lines such that no two are alike, even for somebody who ignores whitespace and quotes.
struct Unique {
    made: usize,
    indent: &'static str,
}

impl Unique {
    fn line(&mut self, style: usize) -> String {
        self.made += 1;
        let (number, indent) = (self.made, self.indent);
        match style % 8 {
            0 => format!("{indent}let a{number} = \"b{number}\";"),
            1 => format!("{indent}    call(a{number}); // don't"),
            2 => format!("{indent}        if a{number} < b {{"),
            3 => format!("{indent}\tline {number}"),
            4 => format!("{indent}line {number}"),
            5 => format!("{indent}say('c{number}', \"d{number}\")"),
            _ => String::new(),
        }
    }
}

/// An edit: where, how many lines go, and the styles of those that come.
type Edit = (Index, usize, Vec<usize>);

/// Styles of lines, edits, whether it has carriage returns and whether they are in the diff, whether the old and the
/// new file lack the last line feed, and whether everything is indented.
type Recipe = (Vec<usize>, Vec<Edit>, (bool, bool), (bool, bool), bool);

fn recipe() -> impl Strategy<Value = Recipe> {
    let edit = (any::<Index>(), 0..4_usize, prop::collection::vec(0..8_usize, 0..4));
    let rarely = || prop::bool::weighted(0.2);
    (
        prop::collection::vec(0..8_usize, 2..40),
        prop::collection::vec(edit, 1..4),
        (rarely(), any::<bool>()),
        (rarely(), rarely()),
        any::<bool>(),
    )
}

/// Makes a file of a recipe, with lines from `line`, and edits it.
fn edited(path: &'static str, recipe: Recipe, mut line: impl FnMut(usize, bool) -> String) -> Edited {
    let (styles, edits, (dos, carried), open, indented) = recipe;
    let old: Vec<String> = styles.into_iter().map(|style| line(style, indented)).collect();
    let mut new = old.clone();
    for (at, gone, styles) in edits {
        let at = at.index(new.len() + 1);
        let end = (at + gone).min(new.len());
        let put: Vec<String> = styles.into_iter().map(|style| line(style, indented)).collect();
        new.splice(at..end, put);
    }
    let ending = if dos { "\r\n" } else { "\n" };
    Edited { path, old: content(&old, ending, open.0), new: content(&new, ending, open.1), carried }
}

/// Joins lines; `open` leaves the last line feed out, unless the last line would vanish with it.
fn content(lines: &[String], ending: &str, open: bool) -> String {
    let mut content: String = lines.iter().flat_map(|line| [line.as_str(), ending]).collect();
    if open && lines.last().is_some_and(|line| !line.is_empty()) {
        content.truncate(content.len() - ending.len());
    }
    content
}

/// One or two files that are edited, without any line of text that comes twice.
fn unique_files() -> impl Strategy<Value = Vec<Edited>> {
    (recipe(), prop::option::weighted(0.3, recipe())).prop_map(|(one, other)| {
        let mut unique = Unique { made: 0, indent: "" };
        let mut line = |style: usize, indented: bool| {
            unique.indent = if indented { "    " } else { "" };
            unique.line(style)
        };
        let mut files = vec![edited("src/a.rs", one, &mut line)];
        files.extend(other.map(|recipe| edited("b.rs", recipe, &mut line)));
        changed(files)
    })
}

/// One file of very few different lines.
fn repeating_file() -> impl Strategy<Value = Vec<Edited>> {
    const LINES: [&str; 8] = ["", "}", "{", "a", "b", "return a", "", "}"];
    recipe().prop_map(|recipe| changed(vec![edited("src/a.rs", recipe, |style, _| LINES[style].to_owned())]))
}

/// Leaves files out that stayed as they were, and those that do not say which line endings they have.
fn changed(files: Vec<Edited>) -> Vec<Edited> {
    files.into_iter().filter(|file| file.old != file.new && file.old.contains('\n')).collect()
}

fn steps(kinds: &'static [Kind]) -> impl Strategy<Value = Step> {
    (select(kinds), 0..1_000_usize).prop_map(|(kind, dial)| Step { kind, dial })
}

fn run<S: Strategy>(strategy: &S, law: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig {
        failure_persistence: None,
        max_global_rejects: 1 << 20,
        ..ProptestConfig::default()
    };
    let failure = TestRunner::new(config).run(strategy, law).err().map(|failure| failure.to_string());
    assert!(failure.is_none(), "{}", failure.unwrap_or_default());
}

/// One perturbation of files with unique lines.
fn alone(kind: Kind, must: bool) {
    run(&(unique_files(), 0..1_000_usize), |(files, dial)| {
        hold_perturbed(&files, &[Step { kind, dial }], must)
    });
}

macro_rules! alone {
    ($($name:ident: $kind:ident, $must:expr;)*) => {
        $(
            #[test]
            fn $name() {
                alone($kind, $must);
            }
        )*
    };
}

alone! {
    context_of_one_or_two_lines_is_enough: ContextTrimmed, true;
    hunks_may_come_in_another_order: HunksReordered, true;
    shifted_numbers_do_not_matter: NumbersShifted, true;
    missing_numbers_do_not_matter: NumbersGone, true;
    wrong_counts_do_not_matter: CountsWrong, true;
    missing_counts_do_not_matter: CountsGone, true;
    indentation_that_is_shifted_everywhere_is_shifted_back: IndentationShifted, false;
    indentation_that_is_lost_everywhere_comes_back: IndentationLost, true;
    curly_quotes_in_context_do_not_matter: CurlyQuotes, true;
    trailing_whitespace_in_context_does_not_matter: TrailingWhitespace, true;
    context_without_its_sign_is_context_or_nothing: ContextSignsLost, false;
    the_header_of_git_may_be_missing: GitHeaderGone, true;
    the_prefixes_may_be_missing: PrefixesGone, true;
    blank_context_may_be_stripped: BlankContextStripped, true;
    the_patch_may_be_indented: PatchIndented, true;
    words_and_a_fence_around_do_not_matter: Fenced, true;
    carriage_returns_of_the_transport_do_not_matter: CarriageReturns, true;
    the_patch_may_be_a_json_string: JsonString, true;
}

#[test]
fn two_perturbations_lead_to_the_intended_tree_or_nowhere() {
    run(&(unique_files(), steps(&KINDS), steps(&KINDS)), |(files, one, other)| {
        let mut steps = [one, other];
        steps.sort();
        let shifts = steps.iter().any(|step| [IndentationShifted, IndentationLost].contains(&step.kind));
        let unsigned = steps.iter().any(|step| step.kind == ContextSignsLost);
        prop_assume!(!(shifts && unsigned));
        hold_perturbed(&files, &steps, false)
    });
}

#[test]
fn harmless_perturbations_add_up_to_nothing() {
    let harmless = subsequence(HARMLESS.to_vec(), 2..=5);
    run(&(unique_files(), harmless, 0..1_000_usize), |(files, kinds, dial)| {
        // Wrong counts may be those of a hunk that has the next file's `---` line in it, if nothing stands before that.
        let must = files.len() == 1 || !(kinds.contains(&CountsWrong) && kinds.contains(&GitHeaderGone));
        let steps: Vec<Step> = kinds.into_iter().map(|kind| Step { kind, dial }).collect();
        hold_perturbed(&files, &steps, must)
    });
}

#[test]
fn exact_numbers_tell_repeated_lines_apart() {
    run(&(repeating_file(), steps(&NUMBERED), steps(&NUMBERED)), |(files, one, other)| {
        let mut steps = [one, other];
        steps.sort();
        hold_perturbed(&files, &steps, false)
    });
}

/// Puts a hunk wherever its old lines stand, and returns the different files that come of it.
fn outcomes(file: &Edited, hunk: &Hunk) -> BTreeSet<Vec<String>> {
    let lines: Vec<&str> = file.old.lines().collect();
    let old: Vec<&str> = hunk.old_lines().map(|line| line.text.as_str()).collect();
    let new = || hunk.lines.iter().filter(|line| line.kind != '-').map(|line| line.text.clone());
    let starts = (0..=lines.len().saturating_sub(old.len())).filter(|at| lines[*at..].starts_with(&old));
    let put = |start: usize| {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        [owned(&lines[..start]), new().collect(), owned(&lines[start + old.len()..])].concat()
    };
    starts.map(put).collect()
}

/// Without a number, nothing tells two places apart where the same lines stand.
#[test]
fn a_place_that_nothing_tells_is_refused() {
    let trims = prop::option::of((0..2_usize).prop_map(|dial| Step { kind: ContextTrimmed, dial }));
    run(&(repeating_file(), trims), |(files, trim)| {
        let [file] = files.as_slice() else { return Err(TestCaseError::reject("nothing is changed")) };
        let mut section = file.section();
        section.hunks.iter_mut().for_each(|hunk| {
            hunk.lines.iter_mut().for_each(|line| line.text = line.text.trim_end_matches('\r').to_owned());
        });
        trim.iter().for_each(|step| step.perturb(std::slice::from_mut(&mut section)));
        // The order of several hunks could tell; the end of the file does where it is marked.
        let marked = section.hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| line.open);
        prop_assume!(section.hunks.len() == 1 && !marked);
        let places = outcomes(file, &section.hunks[0]).len();
        let steps: Vec<Step> = trim.into_iter().chain([Step { kind: NumbersGone, dial: 0 }]).collect();
        let (patch, _) = perturbed(&files, &steps);
        if places > 1 {
            prop_assert!(planned(&patch, &files).is_err(), "one of {} places was chosen:\n{}", places, patch);
        }
        hold(&files, &patch, false)
    });
}

#[test]
fn the_way_back_restores_every_byte() {
    run(&prop_oneof![unique_files(), repeating_file()], |files| {
        prop_assume!(!files.is_empty());
        hold(&files, &perturbed(&files, &[]).0, true)?;
        let reversed = |file: Edited| Edited { old: file.new, new: file.old, ..file };
        let back: Vec<Edited> = files.into_iter().map(reversed).collect();
        // What is left of a file may not say which line endings it had; then the diff has to.
        let told = |file: &Edited| file.carried || file.old.contains("\r\n") || !file.new.contains('\r');
        prop_assume!(back.iter().all(told));
        hold(&back, &perturbed(&back, &[]).0, true)
    });
}
