//! What every language's reader tells of small files.

use super::super::Source;
use super::of;

fn told(path: &str, text: &str) -> Vec<String> {
    let source = Source::parse(path, text.to_owned()).expect("it parses");
    let tests = of(&source).into_iter();
    tests
        .map(|test| {
            let assertions = test.assertions.iter().map(|one| match one.lost {
                Some(lost) => format!("{:?}/{lost:?}", one.strength),
                None => format!("{:?}", one.strength),
            });
            let (marker, shadow) =
                (test.skipped.unwrap_or_default(), if test.shadowed { " shadowed" } else { "" });
            format!("{} [{marker}]{shadow} {}", test.name, assertions.collect::<Vec<_>>().join(" "))
                .trim_end()
                .to_owned()
        })
        .collect()
}

#[test]
fn python() {
    let text = r#"
import pytest, unittest
def helper(a):
    assert a == 3
def test_helper():
    helper(f())
@pytest.mark.parametrize("x", [])
def test_none(x):
    assert f(x) == 1
def test_loop():
    for x in range(3):
        continue
        assert x == f()
def test_inner():
    def check():
        assert f() == 1
def test_suppressed():
    with contextlib.suppress(Exception):
        assert f() == 2
def test_raises():
    with pytest.raises(ValueError):
        f()
def test_tuple():
    assert (f() == 3, "message")
def test_pair():
    done = f()
    assert (done.code, done.out) == (code, 1)
def test_constant_pair():
    assert (1, 2) == (1, 2)
def test_kept_pair():
    before = (p.x, p.y)
    p.stay()
    after = (p.x, p.y)
    assert before == after
def test_argument_stays():
    names = ["a", "b"]
    f(names)
    assert names == ["a", "b"]
def test_local_is_itself():
    names = ["a", "b"]
    assert names == ["a", "b"]
def test_gone():
    assert f() == 1
test_gone = None
if False:
    def test_never():
        assert f() == 4
class Base(unittest.TestCase):
    pass
class MoreTest(Base):
    def setUp(self):
        self.skipTest("no")
    def test_a(self):
        self.assertEqual(f(), 1)
class TestPlain:
    async def test_b(self):
        assert await f() in (1, 2)
    def helper(self):
        pass
class TestPlain:
    def test_c(self):
        if f() != 2:
            raise AssertionError("no")
        try:
            assert f() == 1
        except ValueError:
            pass
"#;
    assert_eq!(
        told("tests/test_a.py", text),
        [
            "test_helper [] Exact",
            "test_none [@pytest.mark.parametrize(\"x\", [])] Exact",
            "test_loop [] Exact/Unreachable",
            "test_inner [] Exact/Unreachable",
            "test_suppressed [] Exact/Swallowed",
            "test_raises [] Loose",
            "test_tuple [] Trivial",
            "test_pair [] Exact",
            "test_constant_pair [] Trivial",
            "test_kept_pair [] Exact",
            "test_argument_stays [] Exact",
            "test_local_is_itself [] Trivial",
            "test_gone [] shadowed Exact",
            "test_never [if False] Exact",
            "MoreTest.test_a [self.skipTest(\"no\")] Exact",
            "TestPlain.test_b [] shadowed Loose",
            "TestPlain.test_c [] Exact Exact",
        ]
    );
}

#[test]
fn javascript() {
    let text = r#"
import nodeTest, { it as check } from "node:test";
import assert, { strictEqual } from "node:assert";
describe("parse", () => {
  it("equals", () => { expect(parse("a")).toEqual({ a: 1 }); });
  it.skip("off", () => { expect(1).toBe(1); });
  describe.skip("inner", () => { test("deep", async () => { expect(await f()).not.toBeNull(); }); });
});
check("aliased", (t) => { t.skip(); strictEqual(f(), 2); });
nodeTest("default", async (t) => { await t.test("sub", () => { assert.ok(true); }); });
test("promise", () => { f().then((x) => { assert.equal(x, 1); }); });
test("returned", () => f().then((x) => { assert.equal(x, 1); }));
test("done", (done) => { f().then((x) => { assert.equal(x, 1); done(); }); });
test("caught", () => { try { assert.equal(f(), 1); } catch (e) { console.log(e); } });
test("each", () => { [1].forEach(async (x) => { assert.equal(await f(x), 1); }); });
test("unused", () => { const check = () => { assert.equal(f(), 1); }; });
test("same", () => { const a = f(1); assert.equal(a, f(1)); });
test.each([[1], [2]])("table %i", (n) => { expect(f(n)).toBe(n); });
xit("x", () => { assert.equal(f(), 1); });
"#;
    assert_eq!(
        told("test/a.test.js", text),
        [
            "parse > equals [] Exact",
            "parse > off [it.skip] Trivial",
            "parse > inner > deep [describe.skip] Trivial",
            "aliased [t.skip();] Exact",
            "default [] Trivial",
            "default > sub [] Trivial",
            "promise [] Exact/Swallowed",
            "returned [] Exact",
            "done [] Exact",
            "caught [] Exact/Swallowed",
            "each [] Exact/Swallowed",
            "unused [] Exact/Unreachable",
            "same [] Trivial",
            "table %i [] Exact",
            "x [xit] Exact",
        ]
    );
}

#[test]
fn rust() {
    let text = r#"
fn same(a: u8) { assert_eq!(a, 1); }
#[cfg(test)]
mod tests {
    #[test]
    fn nine() { same(f()); }
    #[tokio::test]
    #[ignore = "slow"]
    async fn slow() { assert!(f().await == 3); }
    #[test]
    #[should_panic]
    fn panics() { f(); }
    #[test]
    fn dropped() { let _ = std::panic::catch_unwind(|| assert_eq!(f(), 1)); }
    #[test]
    fn early() { return; assert_eq!(f(), 1); }
    #[test]
    fn trivial() { let a = f(1); assert_eq!(a, f(1)); assert!(true); assert!(f().is_some()); g().unwrap(); }
    #[cfg(any())]
    mod gone { #[test] fn inner() { assert_eq!(f(), "a == b, c"); } }
}
"#;
    assert_eq!(
        told("src/a.rs", text),
        [
            "tests::nine [] Exact",
            "tests::slow [#[ignore = \"slow\"]] Exact",
            "tests::panics [] Loose",
            "tests::dropped [] Exact/Swallowed",
            "tests::early [] Exact/Unreachable",
            "tests::trivial [] Trivial Trivial Loose Loose",
            "tests::gone::inner [#[cfg(any())]] Exact",
        ]
    );
}

#[test]
fn go_and_java() {
    let go = "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {\n\tif got := f(); got != 1 {\n\t\tt.Errorf(\"no\")\n\t}\n\tt.Run(\"sub\", func(t *testing.T) {\n\t\tt.Skip()\n\t\trequire.Equal(t, 1, f())\n\t})\n}\nfunc TestB(t *testing.T) {\n\tif !ok() {\n\t\tt.Fatal(\"no\")\n\t}\n}\n";
    assert_eq!(
        told("a_test.go", go),
        ["TestA [] Exact Exact/Unreachable", "TestA/sub [t.Skip()] Exact/Unreachable", "TestB [] Loose",]
    );
    let java = "class CacheTest {\n  @Test void a() { assertEquals(1, f()); }\n  @Disabled(\"x\") @Test void b() { assertNotNull(f()); }\n  @Test void c() { try { assertTrue(f() == 2); } catch (Throwable t) { } }\n}\n";
    assert_eq!(
        told("src/test/java/CacheTest.java", java),
        ["CacheTest.a [] Exact", "CacheTest.b [@Disabled(\"x\")] Trivial", "CacheTest.c [] Exact/Swallowed",]
    );
}

#[test]
fn hostile_files_are_read_in_time() {
    let deep = format!("def test_a():\n    assert {}1{}\n", "f(".repeat(40_000), ")".repeat(40_000));
    let calls = format!("test(\"a\", () => {{ {} }});", "x(".repeat(30_000) + &")".repeat(30_000));
    let wide = "def test_a():\n    assert f() == 1\n".repeat(20_000);
    for (path, text) in [("tests/test_a.py", deep), ("a.test.js", calls), ("tests/test_b.py", wide)] {
        if let Some(source) = Source::parse(path, text) {
            let start = std::time::Instant::now();
            let _ = of(&source);
            assert!(start.elapsed().as_secs() < 20, "{path}");
        }
    }
}

#[test]
fn rows_of_tables() {
    let rows = |path: &str, text: &str| {
        let source = Source::parse(path, text.to_owned()).expect("it parses");
        of(&source).into_iter().map(|test| test.rows.join(" | ")).collect::<Vec<_>>()
    };
    let python = r#"
import pytest
CASES = [
    ('a', 1),  # the first
    ("b", [2, 3],),
]
DATA = [(1, 2), (3, 4)]
@pytest.mark.parametrize("x, y", [(1, 2), pytest.param(3, 4, id="three")])
def test_given(x, y):
    assert f(x) == y
@pytest.mark.parametrize("x, y", CASES)
def test_named(x, y):
    assert f(x) == y
def test_loop():
    for x, y in [(1, 2), (3, 4)]:
        assert f(x) == y
def test_plain():
    assert f([(1, 2), (3, 4)]) == other.DATA
"#;
    assert_eq!(
        rows("tests/test_a.py", python),
        ["1 , 2 | 3 , 4 , id = \"three\"", "\"a\" , 1 | \"b\" , [ 2 , 3", "1 , 2 | 3 , 4", ""]
    );
    let javascript = r#"
const cases = [["a", 1], ["b", 2]];
test.each([[1, 2], [3, 4]])("adds", (a, b) => { expect(f(a)).toBe(b); });
test("all", () => { for (const [a, b] of cases) assert.equal(f(a), b); });
test("one", () => { for (const { a } of [{ a: 1, }]) assert.equal(f(a), 1); });
"#;
    assert_eq!(rows("test/a.test.js", javascript), ["1 , 2 | 3 , 4", "\"a\" , 1 | \"b\" , 2", "a : 1"]);
    let rust = r#"
const ROMAN: [(u32, &str); 2] = [(1, "I"), (5, "V")];
#[test]
fn all() {
    for (a, b) in [(1, 2), (3, 4)] {
        assert_eq!(f(a), b);
    }
}
#[test]
fn code() {
    for (a, b) in ROMAN {
        assert_eq!(f(a), b);
    }
}
"#;
    assert_eq!(rows("tests/a.rs", rust), ["1 , 2 | 3 , 4", ""]);
    let go = r#"package a
func TestAll(t *testing.T) {
	names := []string{"foo", "bar"}
	for _, c := range []struct{ a, b int }{{1, 2}, {3, 4}} {
		if f(c.a) != c.b { t.Error(names) }
	}
	for name, c := range map[string]pair{"a": {1, 2}, "b": {3, 4}} {
		if f(c.a) != c.b { t.Error(name) }
	}
}
"#;
    assert_eq!(rows("a_test.go", go), ["1 , 2 | 3 , 4 | 1 , 2 | 3 , 4"]);
    let many: Vec<String> = (0..101).map(|row| format!("({row}, 1)")).collect();
    let many = format!(
        "@pytest.mark.parametrize('a, b', [{}])\ndef test_a(a, b):\n    assert f(a) == b\n",
        many.join(", ")
    );
    assert_eq!(rows("tests/test_a.py", &many), [""]);
}
