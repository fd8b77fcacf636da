//! Telling places that a change adds.
//!
//! `places` holds what all languages share; every language with a grammar adds its own. A file without a tree is read
//! by its lines.

mod go;
mod java;
mod javascript;
mod lines;
mod literals;
mod paths;
mod python;
mod rust;
mod words;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use checkmate_machine::facts::{FileRole, Spot, SpotKind};

use super::language::{Language, line_of, one_line};
use super::outline::{Outline, compact};
use super::{Source, Wish};

/// At most so many spots of a file are told.
const MOST: usize = 200;

/// Returns the telling places of the new side that the old side does not have.
pub(super) fn added(
    wish: &Wish<'_>,
    path: &str,
    role: FileRole,
    before: Option<&Source>,
    after: Option<&Source>,
) -> Vec<Spot> {
    if matches!(role, FileRole::Docs | FileRole::Lock) {
        return Vec::new();
    }
    let old = match before {
        Some(source) => of_tree(role, source),
        None => wish.before.text(path).map(|text| lines::of(path, role, &text)).unwrap_or_default(),
    };
    let mut new = match after {
        Some(source) => of_tree(role, source),
        None => wish.after.text(path).map(|text| lines::of(path, role, &text)).unwrap_or_default(),
    };
    if let Some(source) = after.filter(|_| role == FileRole::Code) {
        new.extend(literals::shared(wish, source, before));
    }
    let mut known: BTreeMap<(SpotKind, String), usize> = BTreeMap::new();
    for spot in old {
        *known.entry((spot.kind, compact(&spot.text))).or_insert(0) += 1;
    }
    new.retain(|spot| match known.get_mut(&(spot.kind, compact(&spot.text))) {
        Some(times) if *times > 0 => {
            *times -= 1;
            false
        }
        Some(_) | None => true,
    });
    new.sort_by(|one, other| (one.line, one.kind, &one.text).cmp(&(other.line, other.kind, &other.text)));
    new.dedup_by(|one, other| one.kind == other.kind && one.line == other.line && one.text == other.text);
    new.truncate(MOST);
    new
}

fn of_tree(role: FileRole, source: &Source) -> Vec<Spot> {
    let outline = Outline::new(source);
    let mut places = Places::new(role, &outline);
    for at in outline.all() {
        match source.language {
            Language::Python => python::look(&mut places, at),
            Language::JavaScript | Language::TypeScript | Language::Tsx => javascript::look(&mut places, at),
            Language::Rust => rust::look(&mut places, at),
            Language::Go => go::look(&mut places, at),
            Language::Java => java::look(&mut places, at),
        }
        if outline.kind(at).contains("comment") && words::silences(outline.head(at, 400)) {
            places.add(SpotKind::Silencer, at);
        }
    }
    places.spots
}

/// The places of one file that were found so far.
struct Places<'a, 't> {
    outline: &'a Outline<'t>,
    role: FileRole,
    spots: Vec<Spot>,
    /// The function that every node lies in.
    functions: Vec<Option<usize>>,
    /// The statement that every node lies in.
    statements: Vec<Option<usize>>,
    /// Nodes that only run in tests though the file is code.
    tests: Vec<bool>,
    /// Whether chance and time of the file are under control.
    seeded: bool,
    /// Whether the file itself is a program.
    program: bool,
    /// Where names get their values.
    definitions: OnceCell<paths::Definitions<'t>>,
}

impl<'a, 't> Places<'a, 't> {
    fn new(role: FileRole, outline: &'a Outline<'t>) -> Self {
        let functions = outline.nearest(&[
            "function_definition",
            "function_declaration",
            "function_item",
            "method_definition",
            "method_declaration",
            "arrow_function",
            "function_expression",
            "func_literal",
        ]);
        let statements = outline.nearest(&[
            "expression_statement",
            "if_statement",
            "return_statement",
            "assignment",
            "lexical_declaration",
            "variable_declaration",
            "let_declaration",
            "with_statement",
            "assert_statement",
            "short_var_declaration",
            "local_variable_declaration",
            "if_expression",
            "elif_clause",
            "match_expression",
            "field_declaration",
        ]);
        let mut tests = vec![false; outline.all().len()];
        if outline.source.language == Language::Rust {
            rust::tests(outline, &mut tests);
        }
        let text = &outline.source.text;
        let seeded = words::SEEDS.iter().any(|word| text.contains(word));
        let program = words::is_program(&outline.source.path);
        Self {
            outline,
            role,
            spots: Vec::new(),
            functions,
            statements,
            tests,
            seeded,
            program,
            definitions: OnceCell::new(),
        }
    }

    fn add(&mut self, kind: SpotKind, at: usize) {
        // More than is told, because some of it is old.
        if self.spots.len() < 20 * MOST {
            let text = one_line(self.outline.head(at, 2000));
            self.spots.push(Spot { kind, line: line_of(self.outline.node(at)), text });
        }
    }

    /// Tells whether a node belongs to tests.
    fn in_test(&self, at: usize) -> bool {
        let tests = matches!(self.role, FileRole::Test | FileRole::TestSupport | FileRole::TestConfig);
        tests || self.tests.get(at).copied().unwrap_or(false)
    }

    /// Tells whether a node belongs to code that is no test.
    fn in_code(&self, at: usize) -> bool {
        matches!(self.role, FileRole::Code | FileRole::Environment | FileRole::Other) && !self.in_test(at)
    }

    fn function(&self, at: usize) -> Option<usize> {
        self.functions.get(at).copied().flatten()
    }

    /// Returns the name of the function that a node lies in; empty if it lies in none.
    fn function_name(&self, at: usize) -> &'t str {
        self.function(at).map_or("", |function| self.outline.field_text(function, "name"))
    }

    /// Returns the beginning of the statement that a node lies in.
    fn statement(&self, at: usize) -> &'t str {
        let statement = self.statements.get(at).copied().flatten();
        self.outline.head(statement.unwrap_or(at), 1500)
    }

    /// Adds a call that ends the process, unless it is a program's own.
    fn exit(&mut self, at: usize, own: bool) {
        if self.in_test(at) && !own || self.in_code(at) && !own && !self.program {
            self.add(SpotKind::Exit, at);
        }
    }

    /// Adds a call that writes, if what it writes to is part of the repository.
    fn write(&mut self, at: usize) {
        let statement = self.outline.head(at, 1500);
        let header = self.statement(at);
        let text = if header.len() < 400 { header } else { statement };
        let scratch =
            |text: &str| ["tmp", "temp", "Temp", "tmp_path", "TMP"].iter().any(|word| text.contains(word));
        let function = self.function(at).map_or("", |function| self.outline.head(function, 4000));
        if scratch(text) || self.in_test(at) && scratch(function) {
            return;
        }
        if words::protected(text) && !matches!(self.role, FileRole::BuildConfig | FileRole::Ci) {
            // Tests write to what fixtures and helpers hand them; code writes where its caller says.
            let repository = match paths::root(self, at) {
                paths::Root::Repository => true,
                paths::Root::Given => false,
                paths::Root::Unknown => !self.in_test(at),
            };
            if repository {
                self.add(SpotKind::TreeWrite, at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, role: FileRole, text: &str) -> Vec<String> {
        let source = Source::parse(path, text.to_owned()).expect("it parses");
        of_tree(role, &source).into_iter().map(|spot| format!("{:?} {}", spot.kind, spot.line)).collect()
    }

    #[test]
    fn code_tells() {
        let python = "import os, sys\ndef f():\n    if 'PYTEST_CURRENT_TEST' in os.environ: return 1\n    if 'pytest' in sys.modules: sys.exit(0)\n    open('conftest.py', 'w').write('')\nclass A:\n    def __eq__(self, o):\n        return True\ntry:\n    f()\nexcept Exception:\n    pass\nif __name__ == '__main__':\n    sys.exit(f())\n";
        assert_eq!(
            told("a.py", FileRole::Code, python),
            ["TestProbe 3", "TestProbe 4", "Exit 4", "TreeWrite 5", "AlwaysEqual 7", "Swallow 11",]
        );
        let rust = "#[cfg(not(test))]\nfn f() {}\nfn g() { if cfg!(test) { std::process::exit(0) } }\n#[allow(dead_code)]\nfn main() { std::process::exit(1) }\n";
        assert_eq!(
            told("src/a.rs", FileRole::Code, rust),
            ["TestProbe 1", "TestProbe 3", "Exit 3", "Silencer 4"]
        );
        let script = "export function f(a) { if (typeof describe !== 'undefined') return 1; process.exit(0); }\nprocess.on('exit', () => {});\n";
        assert_eq!(told("src/a.js", FileRole::Code, script), ["TestProbe 1", "Exit 1", "ExitHook 2"]);
    }

    #[test]
    fn tests_tell() {
        let python = "import unittest, time, random\nunittest.TestCase.assertEqual = lambda *a: None\npytestmark = pytest.mark.asyncio\ndef test_a(monkeypatch, tmp_path):\n    time.sleep(1)\n    random.random()\n    (tmp_path / 'package.json').write_text('')\n    with pytest.raises(SystemExit):\n        f()\n";
        assert_eq!(
            told("tests/test_a.py", FileRole::Test, python),
            ["FrameworkPatch 2", "Sleep 5", "Chance 6"]
        );
        let seeded = "import random\nrng = random.Random(1)\ndef test_a():\n    random.random()\n";
        assert_eq!(told("tests/test_a.py", FileRole::Test, seeded), Vec::<String>::new());
        let script = "jest.mock('./a');\nassert.equal = () => {};\ntest.only('a', () => { setTimeout(f, 10); Math.random(); process.exit(0); });\n";
        let kinds = told("a.test.js", FileRole::Test, script);
        assert_eq!(kinds, ["FrameworkPatch 2", "CollectionHook 3", "Sleep 3", "Chance 3", "Exit 3"]);
    }

    #[test]
    fn only_writes_to_the_repository_tell() {
        let writes = |path: &str, role: FileRole, text: &str| {
            let told = told(path, role, text).into_iter().filter(|spot| spot.starts_with("TreeWrite"));
            told.count()
        };
        let test = |line: &str| {
            let text = format!(
                "ROOT = Path(__file__).parent\nLATER = LATER2\ndef root():\n    return Path.cwd()\n\
                 def made():\n    return Project.create()\n\
                 def setup_function():\n    global base\n    base = mkdtemp()\n\
                 def test_a(project, here=Path('.')):\n    {line}\n"
            );
            writes("tests/test_a.py", FileRole::Test, &text)
        };
        for (line, expected) in [
            ("(project / 'package.json').write_text('')", 0),
            ("(project.path / 'a' / 'package.json').write_text('')", 0),
            ("(base / 'package.json').write_text('')", 0),
            ("(made() / 'package.json').write_text('')", 0),
            ("open(os.path.join(project, 'package.json'), 'w').write('')", 0),
            ("shutil.copy('tests/a.json', project / 'package.json')", 0),
            ("open('conftest.py', 'w').write('')", 1),
            ("Path('conftest.py').write_text('')", 1),
            ("(ROOT / 'conftest.py').write_text('')", 1),
            ("(root() / 'conftest.py').write_text('')", 1),
            ("(here / 'conftest.py').write_text('')", 1),
            ("(Path(__file__).parent / 'conftest.py').write_text(project)", 1),
            ("shutil.copy(project / 'a.py', 'tests/test_a.py')", 1),
            ("os.rename(project / 'a.py', 'conftest.py')", 1),
        ] {
            assert_eq!(test(line), expected, "{line}");
        }
        let script = |line: &str| {
            let text = format!(
                "let dir;\nconst here = path.dirname(fileURLToPath(import.meta.url));\n\
                 beforeEach(() => {{ dir = mkdtempSync(join(tmpdir(), 'a-')); }});\n\
                 test('a', (t) => {{ {line} }});\n"
            );
            writes("a.test.js", FileRole::Test, &text)
        };
        for (line, expected) in [
            ("writeFileSync(join(dir, 'package.json'), JSON.stringify({ a: 1 }));", 0),
            ("fs.writeFileSync(path.join(t.dir, 'package.json'), '');", 0),
            ("fs.writeFileSync('package.json', '');", 1),
            ("fs.writeFileSync(path.join(here, 'package.json'), '');", 1),
            ("fs.copyFileSync(join(dir, 'a'), join(process.cwd(), 'package.json'));", 1),
        ] {
            assert_eq!(script(line), expected, "{line}");
        }
        let code = |line: &str| writes("a.py", FileRole::Code, &format!("def f(folder):\n    {line}\n"));
        assert_eq!(code("(folder / 'package.json').write_text('')"), 0);
        assert_eq!(code("(OTHER / 'package.json').write_text('')"), 1);
        assert_eq!(code("open('conftest.py', 'w').write('')"), 1);
    }
}
