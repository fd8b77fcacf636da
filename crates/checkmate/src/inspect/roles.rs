//! What a file is for, by its path, its place among the others and, where that is not enough, by its text.

mod names;

use checkmate_machine::facts::FileRole;

use super::Wish;
use super::language::Language;

/// Directories whose files are tests or serve them.
const TEST_PLACES: [&str; 9] = [
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "e2e",
    "integration-tests",
    "integration_tests",
    "unittests",
];

/// Directories whose files serve tests, wherever they are.
const SUPPORT_PLACES: [&str; 5] = ["__snapshots__", "__fixtures__", "__mocks__", "testdata", "test-fixtures"];

/// Directories whose files serve tests if they lie below a directory of tests.
const SUPPORT_BELOW_TESTS: [&str; 9] =
    ["fixtures", "fixture", "snapshots", "golden", "resources", "data", "mocks", "helpers", "support"];

/// Returns what a changed file is for.
pub(super) fn of(wish: &Wish<'_>, path: &str) -> FileRole {
    let place = Place::of(path);
    if let Some(role) = names::role(&place.lower, &place.name, &place.folders) {
        return role;
    }
    if shadows(wish, &place, path) {
        return FileRole::Environment;
    }
    match by_place(&place) {
        Guess::Is(role) => role,
        Guess::Ask => by_text(wish, &place, path),
    }
}

/// Tells whether a path alone shows that a runner may collect tests from it.
pub(super) fn may_hold_tests(path: &str) -> bool {
    let place = Place::of(path);
    names::role(&place.lower, &place.name, &place.folders).is_none()
        && (place.in_tests() || named_as_test(&place) || place.name.ends_with(".rs"))
}

/// A path in lower case, taken apart.
struct Place {
    lower: String,
    folders: Vec<String>,
    name: String,
    stem: String,
    ending: String,
    /// The name as it is spelled.
    spelled: String,
}

impl Place {
    fn of(path: &str) -> Self {
        let lower = path.to_lowercase();
        let mut folders: Vec<String> = lower.split('/').map(str::to_owned).collect();
        let name = folders.pop().unwrap_or_default();
        let (stem, ending) =
            name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).unwrap_or((&name, ""));
        let (stem, ending) = (stem.to_owned(), ending.to_owned());
        let spelled = path.rsplit('/').next().unwrap_or_default().to_owned();
        Self { lower, folders, name, stem, ending, spelled }
    }

    /// Returns how many folders down the first folder of tests lies.
    fn tests_at(&self) -> Option<usize> {
        self.folders.iter().position(|folder| TEST_PLACES.contains(&folder.as_str()))
    }

    fn in_tests(&self) -> bool {
        self.tests_at().is_some()
    }

    fn in_support(&self) -> bool {
        let mut folders = self.folders.iter().map(String::as_str);
        let below = self.tests_at().map_or(&[][..], |at| self.folders.get(at..).unwrap_or_default());
        folders.any(|folder| SUPPORT_PLACES.contains(&folder))
            || below.iter().any(|folder| SUPPORT_BELOW_TESTS.contains(&folder.as_str()))
    }
}

enum Guess {
    Is(FileRole),
    /// Its text decides.
    Ask,
}

fn by_place(place: &Place) -> Guess {
    let code = names::is_code(&place.ending);
    if place.ending == "snap" || place.in_support() && !(code && named_as_test(place)) {
        return Guess::Is(FileRole::TestSupport);
    }
    if matches!(place.ending.as_str(), "bats" | "t") {
        return Guess::Is(FileRole::Test);
    }
    if !code {
        let docs = names::is_docs(&place.name, &place.ending, &place.folders);
        let readme = place.stem.starts_with("readme");
        return Guess::Is(match (docs, place.in_tests()) {
            (true, false) => FileRole::Docs,
            (true, true) if readme => FileRole::Docs,
            (_, true) => FileRole::TestSupport,
            (false, false) => FileRole::Other,
        });
    }
    if place.ending == "rs" {
        return Guess::Ask;
    }
    if named_as_test(place) {
        return Guess::Is(FileRole::Test);
    }
    if place.in_tests() { Guess::Ask } else { Guess::Is(FileRole::Code) }
}

/// Tells whether the name says that the file holds tests. Not for Rust, where names say nothing.
fn named_as_test(place: &Place) -> bool {
    let (stem, spelled) = (place.stem.as_str(), place.spelled.as_str());
    let spelled = spelled.rsplit_once('.').map_or(spelled, |(stem, _)| stem);
    let dotted = [".test", ".spec", ".cy", ".e2e", ".tests"].iter().any(|end| stem.ends_with(end));
    match place.ending.as_str() {
        "py" => stem.starts_with("test_") || stem.ends_with("_test") || matches!(stem, "test" | "tests"),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => {
            let ends = stem.ends_with("-test") || stem.ends_with("_test") || stem.ends_with("_spec");
            dotted || ends || stem == "test" || stem.starts_with("test-")
        }
        "go" => stem.ends_with("_test"),
        "rs" => false,
        "java" | "kt" | "scala" | "groovy" | "cs" | "php" | "swift" => {
            let ends = ["Test", "Tests", "IT", "Spec", "TestCase"].iter().any(|end| spelled.ends_with(end));
            ends || spelled.strip_prefix("Test").is_some_and(|rest| rest.starts_with(char::is_uppercase))
        }
        _ => {
            let starts = stem.starts_with("test_") || stem.starts_with("test-");
            let ends = ["_test", "-test", "_tests", "_spec"].iter().any(|end| stem.ends_with(end));
            dotted || starts || ends || matches!(stem, "test" | "tests" | "run_tests" | "run-tests")
        }
    }
}

/// Decides by the text: the new one, or the old one of a file that goes.
fn by_text(wish: &Wish<'_>, place: &Place, path: &str) -> FileRole {
    let text = wish.after.text(path).or_else(|| wish.before.text(path)).unwrap_or_default();
    if place.ending == "rs" {
        return rust(wish, place, path, &text);
    }
    let serves = [
        "helper",
        "util",
        "support",
        "setup",
        "mock",
        "fixture",
        "common",
        "__init__",
        "factory",
        "factories",
    ];
    let serves = serves.iter().any(|word| place.stem.contains(word));
    let signs: &[&str] = match Language::of(path) {
        Some(Language::Python) => &["def test", "TestCase)", "assert "],
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            &["test(", "it(", "describe(", "assert", "expect(", "process.exit"]
        }
        Some(Language::Java) => &["@Test"],
        Some(Language::Go) => &["func Test"],
        Some(Language::Rust) | None => &[""],
    };
    let definite =
        ["def test", "TestCase)", "test(\"", "test('", "it(\"", "it('", "describe(", "@Test", "func Test"];
    let holds = signs.iter().any(|sign| text.contains(sign));
    if definite.iter().any(|sign| text.contains(sign)) || holds && !serves {
        FileRole::Test
    } else {
        FileRole::TestSupport
    }
}

/// Rust compiles a file as a test by its place, or because the module that declares it says so.
fn rust(wish: &Wish<'_>, place: &Place, path: &str, text: &str) -> FileRole {
    let has_tests = text.contains("#[test]") || text.contains("::test]") || text.contains("#[rstest");
    let folders: Vec<&str> = place.folders.iter().map(String::as_str).collect();
    let source_at = folders.iter().position(|folder| *folder == "src");
    let outside = |names: [&str; 2]| {
        let at = folders.iter().position(|folder| names.contains(folder))?;
        source_at.is_none_or(|source| at < source).then_some(at)
    };
    if let Some(at) = outside(["tests", "benches"]) {
        let direct = at + 1 == folders.len() || place.name == "main.rs";
        return if direct || has_tests { FileRole::Test } else { FileRole::TestSupport };
    }
    if text.lines().take(40).any(|line| line.trim_start().starts_with("#![cfg(test)]"))
        || declared_as_test(wish, path)
    {
        return if has_tests { FileRole::Test } else { FileRole::TestSupport };
    }
    FileRole::Code
}

/// Tells whether a module that holds the file is declared behind `#[cfg(test)]`.
fn declared_as_test(wish: &Wish<'_>, path: &str) -> bool {
    let mut path = path.trim_end_matches(".rs").trim_end_matches("/mod").to_owned();
    for _ in 0..8 {
        let Some((folder, module)) = path.rsplit_once('/') else { return false };
        let declaring = [
            format!("{folder}.rs"),
            format!("{folder}/mod.rs"),
            format!("{folder}/lib.rs"),
            format!("{folder}/main.rs"),
        ];
        for declaring in declaring {
            let text = wish.after.text(&declaring).or_else(|| wish.before.text(&declaring));
            if text.is_some_and(|text| declares_test(&text, module)) {
                return true;
            }
        }
        path = folder.to_owned();
    }
    false
}

fn declares_test(text: &str, module: &str) -> bool {
    let mut cfg = false;
    for line in text.lines().map(str::trim) {
        let one_line = line.strip_prefix("#[cfg(test)]").map(str::trim);
        let code = one_line.unwrap_or(line);
        let named =
            code.strip_suffix(';').and_then(|code| code.rsplit_once("mod ")).map(|(_, name)| name.trim());
        if named == Some(module) && (cfg || one_line.is_some()) {
            return true;
        }
        if line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test") {
            cfg = one_line.is_none_or(str::is_empty);
        } else if !line.starts_with("#[") && !line.starts_with("//") && !line.is_empty() {
            cfg = false;
        }
    }
    false
}

/// Tells whether a file takes the place of a test runner, or newly that of a standard module, because programs look
/// for modules next to tests and in the root first.
fn shadows(wish: &Wish<'_>, place: &Place, path: &str) -> bool {
    if place.ending != "py" && place.ending != "so" && place.ending != "pyc" {
        return false;
    }
    let folders: Vec<&str> = place.folders.iter().map(String::as_str).collect();
    let module = match folders.as_slice() {
        [] | ["test" | "tests"] => place.stem.as_str(),
        [first] | ["test" | "tests", first] if place.stem == "__init__" => first,
        [first, ..] if names::RUNNERS.contains(first) => first,
        _ => return false,
    };
    names::RUNNERS.contains(&module) || names::STANDARD.contains(&module) && !wish.before.has(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use checkmate_machine::ids::TreeId;
    use checkmate_machine::spec::TaskKind;

    use super::super::{Blob, Side, Wish};

    fn role(path: &str, files: &[(&str, &str)]) -> String {
        let texts: BTreeMap<String, String> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let blobs =
            texts.keys().map(|path| (path.clone(), Blob { id: path.clone(), regular: true })).collect();
        let after =
            Side::new(blobs, Box::new(|id: &str| texts.get(id).map(|text| text.clone().into_bytes())));
        let before = Side::new(BTreeMap::new(), Box::new(|_: &str| None));
        let tree = TreeId::new("0".repeat(40));
        let wish = Wish {
            base: &tree,
            tree: &tree,
            before: &before,
            after: &after,
            kind: TaskKind::Bugfix,
            goal: "",
        };
        format!("{:?}", super::of(&wish, path))
    }

    #[test]
    fn paths_have_roles() {
        let table = [
            ("tests/test_core.py", "Test"),
            ("tests/conftest.py", "TestConfig"),
            ("tests/data/a.json", "TestSupport"),
            ("pkg/core.py", "Code"),
            ("src/query.test.ts", "Test"),
            ("test-cli.js", "Test"),
            ("src/__tests__/__snapshots__/a.snap", "TestSupport"),
            ("tests/roman.rs", "Test"),
            ("src/lib.rs", "Code"),
            ("src/pkg_test.go", "Test"),
            ("src/test/java/a/CacheTest.java", "Test"),
            ("tests/run.sh", "Test"),
            ("test.sh", "Test"),
            ("Sitecustomize.py", "Environment"),
            ("unittest/__init__.py", "Environment"),
            ("random.py", "Environment"),
            ("pkg/random.py", "Code"),
            (".github/workflows/ci.yml", "Ci"),
            ("package.json", "Manifest"),
            ("requirements-dev.txt", "Manifest"),
            ("Cargo.lock", "Lock"),
            ("build.rs", "BuildConfig"),
            (".cargo/config.toml", "TestConfig"),
            ("README.md", "Docs"),
            (".gitattributes", "Git"),
            ("node_modules/x/index.js", "Environment"),
        ];
        for (path, expected) in table {
            assert_eq!(role(path, &[(path, "")]), expected, "{path}");
        }
    }

    #[test]
    fn a_declared_module_is_a_test() {
        let test = ("src/a/tests.rs", "#[test]\nfn t() {}\n");
        let declared = ("src/a.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests;\n");
        let plain = ("src/a.rs", "mod tests;\n");
        assert_eq!(role("src/a/tests.rs", &[test, declared]), "Test");
        assert_eq!(role("src/a/tests.rs", &[test, plain]), "Code");
    }
}
