//! The facts about a change in few words.
//!
//! ```text
//! code src/sum.py                     a changed file: its role and its path; behind it may stand
//!                                     lines, unread, same (not effective), only_tests, added, deleted
//!   both test_a: assert sum([1]) == 1     a test in it, before and after the change
//!   before test_b mentions=sum: loose assert sum([2]) | swallowed assert sum([3]) == 3
//!   after test_b body=x skipped=@skip shadowed:
//!   spot test_probe 3: "pytest" in sys.modules
//!   entry dependency dependencies.qs: 1.0 -> 2.0
//! untested 404                        a value that the goal lists and no test uses
//! symbol clamp                        a name that is new in the code
//! old_tests | new_tests | reverted | broken_tests    there is such a layer
//! mutant src/sum.py:3 sum: < -> <=    a mutant; `reaches` instead for one that shows whether it is reached
//! mutants 5 src/sum.py sum            five of them
//! call test sum.sum([1])              a call of the comparison: test, generated, or `renamed 0`
//! usual                               the honest change of one function, with a new test
//! ```

use checkmate_machine::effect::Layer;
use checkmate_machine::event::{Change, ChangeKind};
use checkmate_machine::facts::{
    Assertion, CallOrigin, ComparedCall, Comparison, Entry, FileFacts, FileRole, Inspection, Lost, Mutant,
    Reading, Spot, Strength, TestFunction,
};
use serde_json::Value;

/// What a change is like when nothing about it is special.
const USUAL: [&str; 7] = [
    "code src/sum.py",
    "test tests/test_sum.py",
    "  both test_old: assert sum([1]) == 1",
    "  after test_new: assert sum([2, 2]) == 4",
    "old_tests",
    "new_tests",
    "reverted",
];

/// What was read.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) inspection: Inspection,
    pub(crate) changes: Vec<Change>,
}

pub(crate) fn read(lines: &[String]) -> Read {
    let mut read = Read::default();
    for line in lines {
        if line == "usual" {
            USUAL.iter().for_each(|line| read.line(line));
        } else {
            read.line(line);
        }
    }
    read
}

impl Read {
    fn line(&mut self, line: &str) {
        let facts = &mut self.inspection;
        let (key, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        if line.starts_with("  ") {
            return within(facts.files.last_mut().unwrap(), key, rest);
        }
        let layer = |path: &str| vec![Layer::Text { path: path.into(), text: "x".into() }];
        match key {
            "untested" => facts.untested_values.push(rest.into()),
            "symbol" => facts.added_symbols.push(rest.into()),
            "old_tests" => facts.old_tests = layer("tests/old"),
            "broken_tests" => facts.broken_tests = layer("tests/broken"),
            "new_tests" => facts.new_tests = layer("tests/new"),
            "reverted" => facts.reverted = layer("src/reverted"),
            "mutant" | "reaches" => facts.mutants.push(mutant(rest, key == "reaches")),
            "mutants" => {
                let (count, place) = rest.split_once(' ').unwrap();
                let (path, function) = place.split_once(' ').unwrap();
                for line in 1..=count.parse().unwrap() {
                    facts.mutants.push(mutant(&format!("{path}:{line} {function}: < -> <="), false));
                }
            }
            "call" => call(facts, rest),
            role => self.file(role, rest),
        }
    }

    fn file(&mut self, role: &str, rest: &str) {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let is = |flag: &str| words[1..].contains(&flag);
        let role: FileRole = enumerated(role);
        let holds_code = matches!(role, FileRole::Code | FileRole::Other);
        self.inspection.files.push(FileFacts {
            path: words[0].into(),
            role,
            reading: match (is("lines"), is("unread")) {
                (true, _) => Reading::Lines,
                (_, true) => Reading::Unread,
                (false, false) => Reading::Tree,
            },
            effective: !is("same"),
            code_differs: holds_code && !is("same") && !is("only_tests"),
            tests_before: Vec::new(),
            tests_after: Vec::new(),
            spots: Vec::new(),
            entries: Vec::new(),
        });
        let (kind, old_mode, new_mode) = match (is("added"), is("deleted")) {
            (true, _) => (ChangeKind::Added, "000000", "100644"),
            (_, true) => (ChangeKind::Deleted, "100644", "000000"),
            (false, false) => (ChangeKind::Modified, "100644", "100644"),
        };
        self.changes.push(Change {
            path: words[0].into(),
            kind,
            old_mode: old_mode.into(),
            new_mode: new_mode.into(),
            added: 1,
            removed: 1,
        });
    }
}

/// Reads a word as what the machine writes with it.
pub(crate) fn enumerated<T: serde::de::DeserializeOwned>(word: &str) -> T {
    serde_json::from_value(Value::String(word.to_owned())).unwrap_or_else(|error| panic!("{word}: {error}"))
}

/// Reads what a file holds.
fn within(file: &mut FileFacts, key: &str, rest: &str) {
    match key {
        "before" => file.tests_before.push(test(rest)),
        "after" => file.tests_after.push(test(rest)),
        "both" => {
            file.tests_before.push(test(rest));
            file.tests_after.push(test(rest));
        }
        "spot" => {
            let (head, text) = rest.split_once(": ").unwrap();
            let (kind, line) = head.split_once(' ').unwrap();
            file.spots.push(Spot { kind: enumerated(kind), line: line.parse().unwrap(), text: text.into() });
        }
        "entry" => {
            let (head, values) = rest.split_once(": ").unwrap();
            let (kind, name) = head.split_once(' ').unwrap();
            let (before, after) = values.split_once("-> ").unwrap_or((values, ""));
            file.entries.push(Entry {
                section: enumerated(kind),
                name: name.into(),
                before: before.trim().into(),
                after: after.into(),
            });
        }
        unknown => panic!("nothing in a file is called {unknown}"),
    }
}

fn test(text: &str) -> TestFunction {
    let (head, asserted) = text.split_once(':').unwrap_or((text, ""));
    let mut words = head.split_whitespace();
    let mut test = TestFunction {
        name: words.next().unwrap().into(),
        line: 1,
        body: asserted.trim().into(),
        skipped: None,
        shadowed: false,
        assertions: asserted.split(" | ").filter(|one| !one.trim().is_empty()).map(assertion).collect(),
        mentions: Vec::new(),
        rows: Vec::new(),
    };
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("body", body) => test.body = body.into(),
            ("skipped", marker) => test.skipped = Some(marker.into()),
            ("shadowed", _) => test.shadowed = true,
            ("mentions", names) => test.mentions = names.split(',').map(str::to_owned).collect(),
            ("rows", rows) => {
                test.rows = rows.split(';').map(|row| row.replace('_', " ")).collect();
            }
            ("line", line) => test.line = line.parse().unwrap(),
            (unknown, _) => panic!("nothing of a test is called {unknown}"),
        }
    }
    test
}

fn assertion(text: &str) -> Assertion {
    let (mut strength, mut lost, mut rest) = (Strength::Exact, None, text.trim());
    while let Some((word, behind)) = rest.split_once(' ') {
        match word {
            "loose" => strength = Strength::Loose,
            "trivial" => strength = Strength::Trivial,
            "swallowed" => lost = Some(Lost::Swallowed),
            "unreachable" => lost = Some(Lost::Unreachable),
            _ => break,
        }
        rest = behind;
    }
    Assertion { text: rest.into(), strength, lost }
}

fn mutant(text: &str, reaches: bool) -> Mutant {
    let (place, change) = text.split_once(": ").unwrap();
    let (path, function) = place.split_once(' ').unwrap_or((place, ""));
    let (path, line) = path.split_once(':').unwrap();
    let (was, now) = change.split_once(" -> ").unwrap();
    Mutant {
        path: path.into(),
        line: line.parse().unwrap(),
        function: (!function.is_empty()).then(|| function.into()),
        was: was.into(),
        now: now.into(),
        reaches,
        boundary: now.replacen("<=", "<", 1) == was,
        layer: Layer::Edit { path: path.into(), start: 0, end: 1, text: now.into() },
    }
}

fn call(facts: &mut Inspection, text: &str) {
    let (origin, call) = text.split_once(' ').unwrap();
    let (origin, call) = match origin {
        "test" => (CallOrigin::Test, call),
        "generated" => (CallOrigin::Generated, call),
        "renamed" => {
            let (of, call) = call.split_once(' ').unwrap();
            (CallOrigin::Renamed { of: of.parse().unwrap() }, call)
        }
        unknown => panic!("no call is called {unknown}"),
    };
    let comparison = facts.comparison.get_or_insert_with(|| Comparison {
        token: "t0".into(),
        argv: vec!["python3".into(), "compare.py".into()],
        layers: Vec::new(),
        calls: Vec::new(),
    });
    let function = call.split('(').next().unwrap_or(call).to_owned();
    comparison.calls.push(ComparedCall { function, text: call.into(), origin });
}
