//! How long a patch takes, from its text to the bytes to write.
//!
//! ```text
//! cargo bench -p checkmate-machine --bench patch
//! cargo bench -p checkmate-machine --bench patch -- 'numbers|indentation'
//! ```
//!
//! Throughput counts the lines of the patched file. It may fall slowly from one size to the next (linear times
//! logarithm), not by the factor that the file grows by.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use checkmate_machine::patch::{Original, Plan, Rejection, Write, parse, plan};
use criterion::{BenchmarkId, Criterion, Throughput};

/// Lines of the file, and hunks of the patch.
const SIZES: [(usize, usize); 4] = [(100, 1), (1_000, 10), (10_000, 50), (100_000, 500)];

const PATH: &str = "src/table.rs";

/// What became of a real diff on its way.
#[derive(Clone, Copy)]
enum Shape {
    Clean,
    NumbersWrong,
    TrailingWhitespace,
    IndentationShifted,
}

impl Shape {
    const ALL: [Self; 4] =
        [Self::Clean, Self::NumbersWrong, Self::TrailingWhitespace, Self::IndentationShifted];

    fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::NumbersWrong => "numbers wrong",
            Self::TrailingWhitespace => "trailing whitespace",
            Self::IndentationShifted => "indentation shifted",
        }
    }

    /// Returns the first line that a hunk claims, which is `start`; both count from 1.
    fn number(self, start: usize) -> usize {
        match self {
            Self::Clean | Self::TrailingWhitespace | Self::IndentationShifted => start,
            // Not by a multiple of a function's length, or the repeated lines of another one would stand there.
            Self::NumbersWrong => start + LENGTH + 3,
        }
    }

    fn line(self, patch: &mut String, sign: char, text: &str) {
        let (before, after) = match self {
            Self::Clean | Self::NumbersWrong => ("", ""),
            Self::TrailingWhitespace => ("", "  "),
            Self::IndentationShifted if text.is_empty() => ("", ""),
            Self::IndentationShifted => ("    ", ""),
        };
        patch.extend([sign]);
        patch.extend([before, text, after, "\n"]);
    }
}

/// A file, a patch, and what the patch makes of the file.
struct Case {
    patch: String,
    originals: BTreeMap<String, Original>,
    after: String,
}

/// The lines of one function. All but those with a number in them are the same in every function.
fn function(number: usize) -> [String; LENGTH] {
    [
        format!("/// Collects the rows of group {number}."),
        format!("pub fn group_{number}(table: &Table) -> Option<Vec<Row>> {{"),
        "    let mut found = Vec::new();".to_owned(),
        String::new(),
        "    for row in table.rows() {".to_owned(),
        format!("        if row.group == {number} {{"),
        "            found.push(row.clone());".to_owned(),
        "        }".to_owned(),
        "    }".to_owned(),
        String::new(),
        "    Some(found)".to_owned(),
        "}".to_owned(),
        String::new(),
    ]
}

/// How many lines a function has.
const LENGTH: usize = 13;

/// Which line of a function is changed, from 0.
const CHANGED: usize = 5;

impl Case {
    fn new(lines: usize, hunks: usize, shape: Shape) -> Self {
        let old: Vec<String> = (0..).flat_map(function).take(lines).collect();
        let mut patch = format!("diff --git a/{PATH} b/{PATH}\n--- a/{PATH}\n+++ b/{PATH}\n");
        let mut after = Vec::with_capacity(lines + hunks);
        let mut copied = 0;
        for hunk in 0..hunks {
            // The hunks are spread evenly, each into another function.
            let number = hunk * lines / hunks / LENGTH;
            let at = number * LENGTH + CHANGED;
            let new = [
                format!("        let wanted = row.group == {number} && !row.hidden;"),
                "        if wanted {".to_owned(),
            ];
            let start = shape.number(at - 2);
            let _ = writeln!(patch, "@@ -{start},7 +{},8 @@", start + hunk);
            old[at - 3..at].iter().for_each(|line| shape.line(&mut patch, ' ', line));
            shape.line(&mut patch, '-', &old[at]);
            new.iter().for_each(|line| shape.line(&mut patch, '+', line));
            old[at + 1..at + 4].iter().for_each(|line| shape.line(&mut patch, ' ', line));
            after.extend_from_slice(&old[copied..at]);
            after.extend(new);
            copied = at + 1;
        }
        after.extend_from_slice(&old[copied..]);
        let text = |lines: &[String]| lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
        let file = Original::File { bytes: text(&old).into_bytes(), executable: false };
        Self { patch, originals: BTreeMap::from([(PATH.to_owned(), file)]), after: text(&after) }
    }

    fn plan(&self) -> Result<Plan, Vec<Rejection>> {
        plan(&parse(&self.patch)?, &self.originals)
    }

    /// Checks that the patch does what it should; what is refused is measured all the same.
    fn check(&self, name: &str) {
        let planned = match self.plan() {
            Ok(planned) => planned,
            Err(rejections) => {
                let number = rejections.len();
                eprintln!("note: {name} is refused with {number} rejections; this is what the refusal takes");
                return;
            }
        };
        let [Write::Put { bytes, .. }] = planned.writes.as_slice() else {
            unreachable!("one file is patched: {name}")
        };
        // Whitespace at the end of an added line is the patch's.
        let trimmed = |text: &str| text.lines().map(str::trim_end).map(str::to_owned).collect::<Vec<_>>();
        assert!(trimmed(&String::from_utf8_lossy(bytes)) == trimmed(&self.after), "{name} goes elsewhere");
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    for shape in Shape::ALL {
        let mut group = criterion.benchmark_group(shape.name());
        for (lines, hunks) in SIZES {
            let case = Case::new(lines, hunks, shape);
            case.check(&format!("{}/{lines}", shape.name()));
            group.throughput(Throughput::Elements(lines as u64));
            group.bench_with_input(BenchmarkId::from_parameter(lines), &case, |bencher, case| {
                bencher.iter(|| black_box(black_box(case).plan()))
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
