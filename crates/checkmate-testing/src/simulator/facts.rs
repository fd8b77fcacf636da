//! What is found out about a change by reading it, made up around what the repository's files really say.

use checkmate_machine::effect::Layer;
use checkmate_machine::facts::{
    Assertion, CallOrigin, ComparedCall, Comparison, Entry, FileFacts, FileRole, Inspection, Lost, Mutant,
    Reading, Section, Spot, SpotKind, Strength, TestFunction,
};
use checkmate_machine::ids::TreeId;
use fastrand::Rng;

use super::repository::{Files, Repository};
use super::{hostile, one_in};

/// What the lines of a comparison start with.
pub(super) const TOKEN: &str = "compared7f3a";
/// The file whose lines a comparison prints.
pub(super) const COMPARED: &str = "zz_compared.txt";

/// Reads a change; one in so many facts is against it, where `bad` is not 0.
pub(super) fn inspection(
    rng: &mut Rng,
    bad: u32,
    trees: &Repository,
    base: &TreeId,
    tree: &TreeId,
) -> Inspection {
    let (old, new) = (trees.files(base), trees.files(tree));
    let paths: Vec<String> = super::repository::differing(&old, &new);
    let is_bad = |rng: &mut Rng| bad > 0 && one_in(rng, bad);
    let files: Vec<FileFacts> = paths.iter().map(|path| facts(rng, bad, path, &old, &new)).collect();
    let of = |role: FileRole| {
        files.iter().filter(|file| file.role == role).map(|file| file.path.clone()).collect::<Vec<_>>()
    };
    let (tests, code) = (of(FileRole::Test), of(FileRole::Code));
    let over = |from: &TreeId, paths: &[String]| match paths {
        [] => Vec::new(),
        paths => vec![Layer::Files { from: from.clone(), paths: paths.to_vec() }],
    };
    Inspection {
        old_tests: over(base, &tests),
        broken_tests: if one_in(rng, 4) { over(base, &tests) } else { Vec::new() },
        new_tests: over(tree, &tests),
        // That which cannot be taken back is left out.
        reverted: if one_in(rng, 3) { Vec::new() } else { over(base, &code) },
        added_symbols: if rng.bool() { vec!["added".into()] } else { Vec::new() },
        mutants: if code.is_empty() { Vec::new() } else { mutants(rng, bad) },
        untested_values: if is_bad(rng) { vec!["seven".into()] } else { Vec::new() },
        comparison: (!code.is_empty() && one_in(rng, 3)).then(|| comparison(rng)),
        notes: if is_bad(rng) { vec![hostile(rng)] } else { Vec::new() },
        files,
    }
}

/// Returns facts about files that nobody has.
pub(super) fn any(rng: &mut Rng, base: &TreeId, tree: &TreeId) -> Inspection {
    let mut trees = Repository::new(Files::new());
    let mut made = |rng: &mut Rng| {
        let files = (0..rng.usize(0..3)).map(|_| (hostile(rng), format!("test {}\n", hostile(rng))));
        trees.keep(files.collect())
    };
    let (old, new) = (made(rng), made(rng));
    let mut found = inspection(rng, 2, &trees, &old, &new);
    for layer in found
        .old_tests
        .iter_mut()
        .chain(&mut found.broken_tests)
        .chain(&mut found.new_tests)
        .chain(&mut found.reverted)
    {
        if let Layer::Files { from, .. } = layer {
            *from = if rng.bool() { base.clone() } else { tree.clone() };
        }
    }
    found
}

fn facts(rng: &mut Rng, bad: u32, path: &str, old: &Files, new: &Files) -> FileFacts {
    let role = match path {
        path if path.starts_with("tests/") => FileRole::Test,
        path if path.starts_with("src/") => FileRole::Code,
        path if path.starts_with("docs/") => FileRole::Docs,
        ".env" => FileRole::Environment,
        _ => FileRole::Other,
    };
    let before = tests(old.get(path));
    let mut after = tests(new.get(path));
    let mut is_bad = || bad > 0 && one_in(rng, bad);
    for test in &mut after {
        if is_bad() {
            test.skipped = Some("@skip".into());
        }
        if is_bad() {
            test.shadowed = true;
        }
        if is_bad() {
            test.assertions.clear();
            test.body.push('x');
        }
        if let Some(assertion) = test.assertions.first_mut() {
            if is_bad() {
                assertion.lost = Some(Lost::Swallowed);
            }
            if is_bad() {
                assertion.strength = Strength::Trivial;
            }
        }
    }
    let spots: Vec<Spot> = spot_kinds()
        .into_iter()
        .filter(|_| is_bad() && is_bad())
        .map(|kind| Spot { kind, line: 1, text: format!("{kind:?}()") })
        .collect();
    let entries = if is_bad() {
        let section = Section::TestScript;
        vec![Entry { section, name: "scripts.test".into(), before: "a".into(), after: "b".into() }]
    } else {
        Vec::new()
    };
    let role = if is_bad() { FileRole::Manifest } else { role };
    FileFacts {
        path: path.to_owned(),
        role,
        reading: if is_bad() { Reading::Lines } else { Reading::Tree },
        effective: !is_bad(),
        code_differs: role != FileRole::Test,
        tests_before: before,
        tests_after: after,
        spots,
        entries,
    }
}

fn spot_kinds() -> [SpotKind; 12] {
    [
        SpotKind::TestProbe,
        SpotKind::Exit,
        SpotKind::ExitHook,
        SpotKind::FrameworkPatch,
        SpotKind::CollectionHook,
        SpotKind::AlwaysEqual,
        SpotKind::TreeWrite,
        SpotKind::Sleep,
        SpotKind::Chance,
        SpotKind::SharedLiteral,
        SpotKind::Swallow,
        SpotKind::Silencer,
    ]
}

fn tests(text: Option<&String>) -> Vec<TestFunction> {
    let lines = text.into_iter().flat_map(|text| text.lines());
    let names = lines.filter_map(|line| line.strip_prefix("test ").or_else(|| line.strip_prefix("needs ")));
    (1..)
        .zip(names)
        .map(|(line, name)| TestFunction {
            name: name.to_owned(),
            line,
            body: format!("body of {name}"),
            skipped: None,
            shadowed: false,
            assertions: vec![Assertion { text: format!("is {name}"), strength: Strength::Exact, lost: None }],
            mentions: vec![name.to_owned()],
            rows: Vec::new(),
        })
        .collect()
}

/// Makes mutants that are killed, that survive, that do not compile, and that show whether a block is reached.
fn mutants(rng: &mut Rng, bad: u32) -> Vec<Mutant> {
    (0..rng.u32(0..14))
        .map(|number| {
            let survives = bad > 0 && rng.bool();
            let text = match (survives, rng.u32(0..8)) {
                (true, 0..6) => "nothing",
                (_, 6) => "broken",
                (_, _) => "bug t1",
            };
            Mutant {
                path: "src/main.txt".into(),
                line: number,
                function: rng.bool().then(|| "main".to_owned()),
                was: "a < b".into(),
                now: "a <= b".into(),
                reaches: one_in(rng, 4),
                boundary: one_in(rng, 3),
                layer: Layer::Text { path: "src/mutant.txt".into(), text: format!("{text}\n") },
            }
        })
        .collect()
}

/// Makes a comparison whose calls print what the files hold.
fn comparison(rng: &mut Rng) -> Comparison {
    let calls = (0..rng.u32(0..8)).map(|number| ComparedCall {
        function: "main".into(),
        text: format!("main({number})"),
        origin: match number {
            0 => CallOrigin::Test,
            1..6 => CallOrigin::Renamed { of: 0 },
            _ => CallOrigin::Generated,
        },
    });
    let calls: Vec<ComparedCall> = calls.collect();
    let lines: String = (0..calls.len()).map(|number| format!("call {number}\n")).collect();
    Comparison {
        token: TOKEN.into(),
        argv: vec!["run".into(), COMPARED.into()],
        layers: vec![Layer::Text { path: COMPARED.into(), text: lines }],
        calls,
    }
}
