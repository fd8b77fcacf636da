use checkmate_machine::facts::{FileFacts, FileRole, Reading};
use checkmate_machine::ids::TreeId;
use checkmate_machine::spec::TaskKind;

use super::{Function, changed, code_differs};
use crate::inspect::{Blob, Side, Source, Wish};

/// A file: its path, its role, its text before and after.
type File<'a> = (&'a str, FileRole, Option<&'a str>, Option<&'a str>);

/// A change of files by path: their role, their text before and after.
pub(in crate::inspect) struct Change {
    base: TreeId,
    tree: TreeId,
    pub(in crate::inspect) before: Side<'static>,
    pub(in crate::inspect) after: Side<'static>,
    pub(in crate::inspect) files: Vec<FileFacts>,
}

impl Change {
    pub(in crate::inspect) fn of(files: &[File<'_>]) -> Self {
        // Blobs are named by their content, so that nothing need be kept.
        let side = |pick: fn(&File<'_>) -> Option<String>| {
            let blob = |id: String| Blob { id, regular: true };
            let files = files.iter().filter_map(|file| Some((file.0.to_owned(), blob(pick(file)?))));
            Side::new(files.collect(), Box::new(|id| Some(id.as_bytes().to_vec())))
        };
        let facts = files.iter().filter(|file| file.2 != file.3).map(|(path, role, _, _)| FileFacts {
            path: (*path).to_owned(),
            role: *role,
            reading: Reading::Tree,
            effective: true,
            code_differs: true,
            tests_before: Vec::new(),
            tests_after: Vec::new(),
            spots: Vec::new(),
            entries: Vec::new(),
        });
        Self {
            base: TreeId::new("base"),
            tree: TreeId::new("tree"),
            before: side(|file| file.2.map(str::to_owned)),
            after: side(|file| file.3.map(str::to_owned)),
            files: facts.collect(),
        }
    }

    pub(in crate::inspect) fn wish(&self, kind: TaskKind) -> Wish<'_> {
        Wish { base: &self.base, tree: &self.tree, before: &self.before, after: &self.after, kind, goal: "" }
    }
}

fn found(path: &str, before: &str, after: &str) -> Vec<Function> {
    let change = Change::of(&[(path, FileRole::Code, Some(before), Some(after))]);
    changed(&change.wish(TaskKind::Bugfix), &change.files).0
}

fn names(path: &str, before: &str, after: &str) -> String {
    let shown = found(path, before, after).into_iter().map(|function| {
        let sign = if function.added { "+" } else { "" };
        let public = if function.public { "" } else { " hidden" };
        format!("{sign}{}({}){public}", function.name, function.new.parameters.join(","))
    });
    shown.collect::<Vec<_>>().join("; ")
}

#[test]
fn what_only_reads_differently_is_not_changed() {
    let before = "import os\n\nLIMIT = 3\n\ndef keep(a):\n    \"\"\"Text.\"\"\"\n    return a\n";
    let after = "import os\n\nLIMIT  =  3  # three\n\ndef keep( a ):\n    return a\n";
    assert_eq!(names("a.py", before, after), "");
}

#[test]
fn a_moved_indentation_is_a_change() {
    let before = "def f(a):\n    for b in a:\n        g(b)\n        h(b)\n";
    let after = "def f(a):\n    for b in a:\n        g(b)\n    h(b)\n";
    assert_eq!(names("a.py", before, after), "f(a)");
}

#[test]
fn methods_constants_and_types_by_language() {
    let python = "LIMIT = 2\nclass Cache:\n    size = 1\n    def get(self, key, *rest, other=1):\n        return key\n\
                  \n    @property\n    def _full(self):\n        return 1\n";
    assert_eq!(
        names("a.py", "class Cache:\n    size = 0\n", python),
        "+LIMIT(); Cache.size(); +Cache.get(self,key,rest,other); +Cache._full(self) hidden"
    );
    let script = "export function a({ b }, c = 1, ...d) { return 1; }\nconst e = (f) => f;\nclass G { h() {} }\n\
                  module.exports = { G };\nexports.i = function (j) { return j; };\n";
    assert_eq!(names("a.js", "", script), "+a({ b },c,d); +e(f) hidden; +G(); +G.h(); +i(j) hidden");
    let rust = "pub struct A;\nimpl A {\n    #[inline]\n    pub fn b(&self, c: u8) -> u8 { c }\n}\nconst D: u8 = 1;\n\
                #[cfg(test)]\nmod tests {\n    fn x() {}\n}\n#[test]\nfn y() {}\n";
    assert_eq!(names("a.rs", "", rust), "+A(); +A.b(self,c); +D() hidden");
    let go = "package p\n\nfunc (c *Cache) Get(a, b int) int { return a }\n\nvar limit = 3\n\ntype Cache struct{}\n";
    assert_eq!(names("a.go", "package p\n", go), "+Cache.Get(a,b); +limit() hidden; +Cache()");
    let java = "public class A {\n  static final int B = 1;\n  public A(int c) {}\n  public int d(int... e) { return 1; }\n}\n";
    assert_eq!(names("A.java", "class A {}\n", java), "A(); +A.B() hidden; +A.A(c); +A.d(e)");
}

#[test]
fn code_differs_where_anything_but_tests_does() {
    let differs = |path: &str, before: &str, after: &str| {
        let [before, after] = [before, after].map(|text| Source::parse(path, text.to_owned()));
        code_differs(before.as_ref(), after.as_ref())
    };
    for (path, before, after, expected) in [
        ("a.py", "f(1)\n", "f(2)\n", true),
        ("a.py", "import a\ndef f(): pass\n", "import b\ndef f(): pass\n", true),
        ("a.py", "f(1)\n", "f(1)  # one\n", false),
        ("a.js", "f(1);", "f(2);", true),
        ("a.rs", "use a::b;\nfn f() {}\n", "use a::c;\nfn f() {}\n", true),
        ("a.rs", "m!(1);\n", "m!(2);\n", true),
        (
            "a.rs",
            "fn f() {}\n",
            "fn f() {}\n/// Why.\n#[cfg(test)]\n#[path = \"t.rs\"]\nmod tests { fn g() {} }\n",
            false,
        ),
        ("a.rs", "fn f() {}\n", "#[inline]\n#[test]\nfn g() {}\nfn f() {}\n", false),
        ("a.rs", "fn f() {}\n", "#[test]\nfn g() {}\n#[inline]\nfn f() {}\n", true),
        ("a.rs", "fn f() {}\n", "#[cfg(feature = \"test\")]\nfn g() {}\nfn f() {}\n", true),
        ("a.rs", "fn f() {}\n", "#[cfg(all(any(test, unix)))]\nfn g() {}\nfn f() {}\n", true),
        ("a.rs", "fn f() {}\n", "#[test]\n#[ignore]\n// Why.\nfn g() { 1 }\nfn f() {}\n", false),
        ("a.rs", "fn f() {}\n", "#[cfg(test)]\nmod tests {}\nfn f() { 1 }\n", true),
        ("a.rs", "fn f() {}\n", "#[cfg(not(test))]\nfn g() {}\nfn f() {}\n", true),
        ("a.rs", "fn f() {", "fn f() {}", true),
    ] {
        assert_eq!(differs(path, before, after), expected, "{after}");
    }
}
