use checkmate_machine::effect::Layer;
use checkmate_machine::facts::{Entry, FileRole, Section};
use checkmate_machine::spec::TaskKind;

use super::{Edit, edited, new_tests, old_tests, reverted};
use crate::inspect::functions::changed;
use crate::inspect::functions::tests::Change;

/// Returns a file's text with the edits among some layers made.
fn laid(path: &str, text: &str, layers: &[Layer]) -> String {
    let edits: Vec<Edit> = layers
        .iter()
        .filter_map(|layer| match layer {
            Layer::Edit { path: at, start, end, text } if at == path => {
                Some((usize::try_from(*start).ok()?..usize::try_from(*end).ok()?, text.clone()))
            }
            Layer::Edit { .. } | Layer::Files { .. } | Layer::Text { .. } => None,
        })
        .collect();
    edited(text, &edits).expect("the edits fit")
}

/// Returns the candidate's file with its changed functions taken back.
fn taken_back(path: &str, before: &str, after: &str) -> String {
    let change = Change::of(&[(path, FileRole::Code, Some(before), Some(after))]);
    let wish = change.wish(TaskKind::Bugfix);
    laid(path, after, &reverted(&wish, &changed(&wish, &change.files)))
}

#[test]
fn old_tests_are_those_of_the_base_exactly() {
    let change = Change::of(&[
        ("a.py", FileRole::Code, Some("a = 1\n"), Some("a = 2\n")),
        ("conftest.py", FileRole::TestConfig, None, Some("x = 1\n")),
        ("tests/test_a.py", FileRole::Test, Some("old"), Some("new")),
        ("tests/test_b.py", FileRole::Test, None, Some("new")),
        ("tests/test_c.py", FileRole::Test, Some("old"), None),
        ("tests/test_d.py", FileRole::Test, Some("same"), Some("same")),
    ]);
    let wish = change.wish(TaskKind::Bugfix);
    let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        old_tests(&wish, &change.files),
        [Layer::Files {
            from: wish.base.clone(),
            paths: paths(&["conftest.py", "tests/test_a.py", "tests/test_b.py", "tests/test_c.py"]),
        }]
    );
    assert_eq!(
        new_tests(&wish, &change.files),
        [Layer::Files {
            from: wish.tree.clone(),
            paths: paths(&["tests/test_a.py", "tests/test_b.py", "tests/test_c.py"]),
        }]
    );
}

#[test]
fn a_file_in_the_place_of_a_folder_gives_way() {
    let change = Change::of(&[
        ("tests", FileRole::Test, None, Some("a file")),
        ("tests/test_a.py", FileRole::Test, Some("old"), None),
    ]);
    let wish = change.wish(TaskKind::Bugfix);
    let paths = vec!["tests/test_a.py".to_owned()];
    assert_eq!(old_tests(&wish, &change.files), [Layer::Files { from: wish.base.clone(), paths }]);
}

#[test]
fn tests_inside_of_rust_code_are_laid_over_both_ways() {
    let before =
        "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {}\n}\n\n#[test]\nfn lone() {}\n";
    let after = "fn a() { b() }\nfn b() {}\n\n#[test]\n#[ignore]\nfn lone() {}\n\n#[test]\nfn added() {}\n";
    let change = Change::of(&[("a.rs", FileRole::Code, Some(before), Some(after))]);
    let wish = change.wish(TaskKind::Bugfix);
    assert_eq!(
        laid("a.rs", after, &old_tests(&wish, &change.files)),
        "fn a() { b() }\nfn b() {}\n\n#[test]\nfn lone() {}\n\n\
         #[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {}\n}\n"
    );
    assert_eq!(
        laid("a.rs", before, &new_tests(&wish, &change.files)),
        "fn a() {}\n\n#[test]\n#[ignore]\nfn lone() {}\n\n#[test]\nfn added() {}\n"
    );
}

#[test]
fn python_functions_are_taken_back() {
    let before = "from re import sub\n\nLIMIT = 3\n\ndef _gone(a):\n    return sub('a', '', a)\n\ndef f(a, b=[]):\n\
                  \x20   return _gone(a)\n\nclass C:\n    def m(self): return 1\n";
    let after = "LIMIT = 4\nNEW = 1\n\ndef f(a, b=None):\n    return a + LIMIT\n\ndef g():\n    \"\"\"Text.\"\"\"\n    \
                 yield 1\n\nclass C:\n    def m(self, x):\n        # Why.\n        return x\n\n    @property\n    \
                 def n(self): return 2\n\nclass D:\n    def __init__(self):\n        self.a = 1\n\n    def __len__(self):\n        return self.a\n";
    insta::assert_snapshot!(taken_back("a.py", before, after), @r#"
    LIMIT = 3
    NEW = 1

    def f(a, b=[]):
        return _gone(a)

    def g():
        return
        yield

    class C:
        def m(self, x): return 1

        @property
        def n(self):
            return None

    class D:
        def __init__(self):
            self.a = 1

        def __len__(self):
            return 0


    def _gone(a):
        return sub('a', '', a)

    from re import sub
    "#);
}

#[test]
fn javascript_functions_are_taken_back() {
    let before =
        "const half = (a) => a / 2;\nexport function f(a) { return half(a); }\nconst g = (a) => a;\n";
    let after = "export function f(a) { return a; }\nconst g = (a, b) => { return b; };\n\
                 export const h = async () => 1;\nclass D {\n  constructor() { this.a = 1; }\n  get a() { return 1; }\n}\n\
                 exports.i = function (x) {\n  return x;\n};\n";
    insta::assert_snapshot!(taken_back("a.js", before, after), @r#"
    export function f(a) { return half(a); }
    const g = (a, b) => { return (a); };
    export const h = async () => undefined;
    class D {
      constructor() { this.a = 1; }
      get a() { return undefined; }
    }
    exports.i = function (x) { return undefined; };


    const half = (a) => a / 2
    "#);
}

#[test]
fn rust_go_and_java_functions_are_taken_back() {
    let before = "fn a(x: u8) -> u8 { x }\nfn b(x: u8) -> u8 { x }\n";
    let after = "fn a(x: u8) -> u8 { x + 1 }\nfn b(x: u16) -> Result<(u8, Option<X>), E> { x }\npub fn c() { a(1); }\n\
                 struct S;\nimpl S {\n    fn d(&self) -> &str { \"d\" }\n    fn e() -> Self { S }\n}\n";
    insta::assert_snapshot!(taken_back("a.rs", before, after), @r#"
    fn a(x: u8) -> u8 { x }
    fn b(x: u16) -> Result<(u8, Option<X>), E> { Ok((0, None)) }
    pub fn c() {}
    struct S;
    impl S {
        fn d(&self) -> &str { "" }
        fn e() -> Self { unimplemented!("not written yet") }
    }
    "#);
    let go = "package p\n\nfunc A() (int, error) {\n\treturn 1, nil\n}\n\nfunc B() *X { return nil }\n\n\
              func C() (n int) { return 1 }\n\nfunc D() { A() }\n";
    insta::assert_snapshot!(taken_back("a.go", "package p\n", go), @r#"
    package p

    func A() (int, error) {
    	var zero0 int
    	var zero1 error
    	return zero0, zero1
    }

    func B() *X {
    	var zero *X
    	return zero
    }

    func C() (n int) { return }

    func D() {}
    "#);
    let java = "class A {\n  A() { b(); }\n  int b() { return 1; }\n  void c() { b(); }\n  <T> T d() { return e; }\n  boolean f() { return true; }\n}\n";
    insta::assert_snapshot!(taken_back("A.java", "class A {\n}\n", java), @r#"
    class A {
      A() { b(); }
      int b() { return 0; }
      void c() {}
      <T> T d() { return null; }
      boolean f() { return false; }
    }
    "#);
}

#[test]
fn typescript_functions_are_taken_back() {
    let before = "export class A<T> {\n  get(a: T): T { return a; }\n}\n";
    let after = "export interface B { a: number }\nexport class A<T> {\n  get(b: T, c?: number): T { return b; }\n  \
                 static async make(): Promise<number> { return 1; }\n}\nexport const f = <T,>(a: T): T => a;\n\
                 function* g(): Generator<number> { yield 1; }\n";
    insta::assert_snapshot!(taken_back("a.ts", before, after), @r#"
    export interface B { a: number }
    export class A<T> {
      get(b: T, c?: number): T { return undefined as any; }
      static async make(): Promise<number> { return undefined as any; }
    }
    export const f = <T,>(a: T): T => undefined as any;
    function* g(): Generator<number> { return undefined as any; }
    "#);
}

#[test]
fn a_manifest_comes_back_only_if_nothing_else_in_it_differs() {
    let mut change = Change::of(&[("package.json", FileRole::Manifest, Some("{}"), Some("{ }"))]);
    let entry =
        |section| Entry { section, name: "x".to_owned(), before: String::new(), after: "y".to_owned() };
    let mut layers = |sections: &[Section]| {
        change.files[0].entries = sections.iter().map(|section| entry(*section)).collect();
        old_tests(&change.wish(TaskKind::Bugfix), &change.files).len()
    };
    assert_eq!(layers(&[]), 0);
    assert_eq!(layers(&[Section::TestScript, Section::TestConfig]), 1);
    assert_eq!(layers(&[Section::TestScript, Section::Dependency]), 0);
}
