use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use checkmate_machine::compared::{
    Difference, calls_only_at_literals, differences, only_at_literals, results,
};
use checkmate_machine::effect::Layer;
use checkmate_machine::evidence::{Ended, Output, Receipt};
use checkmate_machine::facts::{CallOrigin, Comparison, FileFacts, FileRole, Reading};
use checkmate_machine::ids::TreeId;
use checkmate_machine::spec::TaskKind;

use super::calls::{self, Call};
use super::literals::{Names, value};
use super::reach::{self, Target};
use super::{CALLS, arguments, of};
use crate::inspect::language::{Language, Source};
use crate::inspect::{Blob, Side, Wish};

type Files<'a> = &'a [(&'a str, &'a str)];

fn side(files: Files<'_>) -> Side<'static> {
    let blob = |text: &str| Blob { id: text.to_owned(), regular: true };
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), blob(text))).collect();
    Side::new(files, Box::new(|id| Some(id.as_bytes().to_vec())))
}

fn comparison(kind: TaskKind, goal: &str, before: Files<'_>, after: Files<'_>) -> Option<Comparison> {
    let (base, tree) = (TreeId::new("base"), TreeId::new("tree"));
    let (before, after) = (side(before), side(after));
    let wish = Wish { base: &base, tree: &tree, before: &before, after: &after, kind, goal };
    let facts = |path: &str| FileFacts {
        path: path.to_owned(),
        role: FileRole::Code,
        reading: Reading::Tree,
        effective: true,
        code_differs: true,
        tests_before: Vec::new(),
        tests_after: Vec::new(),
        spots: Vec::new(),
        entries: Vec::new(),
    };
    let files: Vec<FileFacts> = wish.changed().into_iter().map(facts).collect();
    of(&wish, &files)
}

fn parsed(path: &str, text: &str) -> Source {
    Source::parse(path, text.to_owned()).expect("the source parses")
}

fn target(path: &str, local: &str, class: bool) -> Target {
    let language = Language::of(path).expect("a known ending");
    let (path, exported) = (path.to_owned(), local.to_owned());
    Target { path, language, local: local.to_owned(), exported, class, default: false }
}

/// Returns the calls of a test file as source.
fn read(path: &str, test: &str, targets: &[Target]) -> Vec<String> {
    let calls = calls::of(&parsed(path, test), targets);
    calls.iter().map(|call| call.source(&targets[call.target])).collect()
}

fn one(path: &str, test: &str, local: &str) -> Call {
    calls::of(&parsed(path, test), &[target(path, local, false)]).remove(0)
}

#[test]
fn python_literals_are_read_and_written() {
    for (text, written) in [
        ("'a\\n\"\\u00e9'", Some(r#""a\n\"\xe9""#)),
        ("'a' \"b\"", Some("\"ab\"")),
        ("r'\\d'", Some("\"\\\\d\"")),
        ("b'x'", Some("b\"x\"")),
        ("\"\"\"x\"\"\"", Some("\"x\"")),
        ("-1_000", Some("-1000")),
        ("0x1f", Some("31")),
        ("2.50", Some("2.5")),
        ("(1,)", Some("(1,)")),
        ("[(1, None), {2, 3}, {'k': True}]", Some("[(1, None), {2, 3}, {\"k\": True}]")),
        ("'ab' * 2", Some("\"abab\"")),
        ("f'{x}'", None),
        ("x", None),
        ("[y for y in z]", None),
        ("'a' * 100000", None),
    ] {
        let source = parsed("t.py", text);
        let node = source.root().named_child(0).and_then(|node| node.named_child(0)).expect("an expression");
        let found = value(&source, node, &Names::new()).map(|value| value.source(Language::Python));
        assert_eq!(found.as_deref(), written, "{text}");
    }
}

#[test]
fn javascript_literals_are_read_and_written() {
    for (text, written) in [
        ("'a\\u{1F600}'", Some("\"a\\u{1f600}\"")),
        ("`a`", Some("\"a\"")),
        ("`${x}`", None),
        ("-0", Some("-0.0")),
        ("1e3", Some("1000.0")),
        ("[null, undefined, false]", Some("[null, undefined, false]")),
        ("({ a: 1, 'b c': [2] })", Some("{\"a\": 1, \"b c\": [2]}")),
        ("new Set([1])", Some("new Set([1])")),
        ("/x/", None),
        ("() => 1", None),
    ] {
        let source = parsed("t.js", text);
        let node = source.root().named_child(0).and_then(|node| node.named_child(0)).expect("an expression");
        let found = value(&source, node, &Names::new()).map(|value| value.source(Language::JavaScript));
        assert_eq!(found.as_deref(), written, "{text}");
    }
}

#[test]
fn what_is_too_deep_or_too_large_is_not_read() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let around = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    let doubled = |first: &str, sign: &str| {
        let next = |n: usize| match sign {
            "[]" => format!("a{} = [a{n}, a{n}]\n", n + 1),
            sign => format!("a{} = a{n} {sign} a{n}\n", n + 1),
        };
        format!("a0 = {first}\n{}f(a40)", (0..40).map(next).collect::<String>())
    };
    let chain: String = (0..200).map(|n| format!("a{} = [a{n}]\n", n + 1)).collect();
    for test in [
        format!("f({})", deep(100_000)),
        format!("f({})", around("(", ")")),
        format!("f({})", around("{1: ", "}")),
        format!("f({}1)", "-".repeat(100_000)),
        format!("f({}1)", "1 + ".repeat(100_000)),
        format!("x = {}\nf(x)", deep(100_000)),
        format!("f({})", deep(62)),
        format!("a0 = 1\n{chain}f(a200)"),
        doubled("1", "[]"),
        doubled("'text'", "+"),
        "f([[[[[0] * 200] * 200] * 200] * 200])".to_owned(),
        "f(-0x80000000000000000000000000000000)".to_owned(),
    ] {
        let start: String = test.chars().take(40).collect();
        assert_eq!(read("test_m.py", &test, &[target("m.py", "f", false)]), Vec::<String>::new(), "{start}");
    }
    assert_eq!(read("test_m.py", &format!("f({})", deep(60)), &[target("m.py", "f", false)]).len(), 1);
    for test in [format!("f({})", deep(100_000)), format!("f({})", around("({ a: ", "})"))] {
        assert_eq!(read("m.test.js", &test, &[target("m.js", "f", false)]), Vec::<String>::new());
    }
}

#[test]
fn calls_of_python_tests_are_read() {
    let targets = [target("m.py", "f", false), target("m.py", "Cache", true)];
    for (test, calls) in [
        ("assert f('a', n=2) == 1", &["f(\"a\", n=2)"][..]),
        ("import m\nm.f(1)", &["f(1)"]),
        ("from m import f as g\ng(1)", &["f(1)"]),
        ("other.f(1)", &[]),
        ("f(x)", &[]),
        ("f(*[1])", &[]),
        ("WORD = 'a'\ndef test():\n    n = 2\n    f(WORD, n)", &["f(\"a\", 2)"]),
        ("WORD = 'a'\ndef test():\n    WORD = x()\n    f(WORD)", &[]),
        ("for a, b in [(1, 2), (3, 4)]:\n    f(a)", &["f(1)", "f(3)"]),
        (
            "@pytest.mark.parametrize('a, b', [(1, 2), pytest.param(3, 4, id='x')])\ndef test(a, b):\n    f(b)",
            &["f(2)", "f(4)"],
        ),
        ("Cache(2).get('a')", &["Cache(2).get(\"a\")"]),
        ("Cache.make(2)", &["Cache.make(2)"]),
        (
            "def test():\n    c = Cache(2)\n    c.put('a', 1)\n    assert c.get('a') == 1",
            &["Cache(2).put(\"a\", 1)", "it = Cache(2); it.put(\"a\", 1); it.get(\"a\")"],
        ),
    ] {
        assert_eq!(read("test_m.py", test, &targets), calls, "{test}");
    }
}

#[test]
fn calls_of_javascript_tests_are_read() {
    let targets = [target("m.js", "f", false), target("m.js", "Stack", true)];
    for (test, calls) in [
        ("assert.equal(f('a', { n: 2 }), 1)", &["f(\"a\", {\"n\": 2})"][..]),
        ("const m = require('./m');\nm.f(1)", &["f(1)"]),
        ("import { f as g } from './m.js';\ng(1)", &["f(1)"]),
        ("import * as m from './m.js';\nm.f(1)", &["f(1)"]),
        ("f(...xs); f(x); o.f(1)", &[]),
        ("for (const [a, b] of [['x', 1], ['y', 2]]) f(a)", &["f(\"x\")", "f(\"y\")"]),
        ("test.each([['x', 1], ['y', 2]])('n', (a, b) => { f(b) })", &["f(1)", "f(2)"]),
        ("[1, 2].forEach((n) => f(n))", &["f(1)", "f(2)"]),
        (
            "const s = new Stack(1); s.push('a'); s.pop()",
            &["new Stack(1).push(\"a\")", "it = new Stack(1); it.push(\"a\"); it.pop()"],
        ),
    ] {
        assert_eq!(read("m.test.js", test, &targets), calls, "{test}");
    }
}

#[test]
fn a_goal_quotes_calls() {
    let targets = [target("m.py", "join", false)];
    let goal = "Bug: join(\"a  b\") returns \"a,,b\" (join(\"a(b\") == 1). Not rejoin(1), join() or join(x).";
    let found: Vec<String> =
        calls::quoted(goal, &targets).iter().map(|call| call.source(&targets[0])).collect();
    assert_eq!(found, ["join(\"a  b\")", "join(\"a(b\")", "join()"]);
}

#[test]
fn siblings_keep_the_shape() {
    let call = one("m.py", "f('a  Bz9', 3, {'key': True}, 0.5)", "f");
    let target = target("m.py", "f", false);
    let siblings: Vec<String> = arguments::renamed(&call).iter().map(|call| call.source(&target)).collect();
    assert_eq!(siblings.len(), 6);
    assert_eq!(siblings[0], "f(\"b  Ca1\", 13, {\"lfz\": True}, 10.5)");
    // One changes nothing but the first word.
    assert_eq!(siblings[1], "f(\"c  Bz9\", 3, {\"key\": True}, 0.5)");
}

#[test]
fn siblings_keep_signs_and_some_keep_the_ends_of_words() {
    let target = target("m.py", "f", false);
    let siblings = |test: &str| -> Vec<String> {
        arguments::renamed(&one("m.py", test, "f")).iter().map(|call| call.source(&target)).collect()
    };
    assert_eq!(siblings("f(-5)"), ["f(-15)", "f(-35)", "f(-12)", "f(-205)", "f(-1005)", "f(-425)"]);
    let words = siblings("f('apple')");
    assert!(words.iter().any(|word| word.starts_with("f(\"a")), "{words:?}");
    assert!(words.iter().any(|word| word.ends_with("e\")")), "{words:?}");
}

#[test]
fn what_has_no_word_has_no_siblings() {
    assert!(arguments::renamed(&one("m.py", "f('  -', True, None, [])", "f")).is_empty());
}

#[test]
fn made_up_arguments_have_the_same_types() {
    let target = target("m.py", "f", false);
    let made = arguments::generated(&one("m.py", "f('a b', 4)", "f"), 20);
    let made: Vec<String> = made.iter().map(|call| call.source(&target)).collect();
    for expected in ["f(\"\", 4)", "f(\"a b\", 3)", "f(\"a b\", 0)", "f(\" a b \", 4)", "f(\"a-b\", 4)"] {
        assert!(made.iter().any(|call| call == expected), "{expected} in {made:?}");
    }
    assert!(!made.iter().any(|call| call.contains("None")));
}

#[test]
fn the_reach_of_a_change_is_what_mentions_it() {
    for (path, before, after, reached) in [
        (
            "m.py",
            "K = 1\ndef f(): return K\ndef g(): return f()\ndef h(): pass",
            "K = 2\ndef f(): return K\ndef g(): return f()\ndef h(): pass",
            &["f", "g"][..],
        ),
        ("m.py", "def f(): return 1", "def f():\n    # Why.\n    return 1", &[]),
        // What is new has calls too.
        ("m.py", "def f(): return 1", "def f(): return 1\ndef g(): return 2", &["g"]),
        ("m.py", "", "def g(): return 2", &["g"]),
        ("m.js", "", "export function g() { return 2; }", &["g"]),
        ("m.js", "function g() { return 2; }", "export function g() { return 2; }", &[]),
        (
            "m.py",
            "def f(p): return open(p)\ndef g(): return f(1)",
            "def f(p): return open(p, 'r')\ndef g(): return f(1)",
            &[],
        ),
        ("m.py", "async def f(): return 1", "async def f(): return 2", &[]),
        (
            "m.py",
            "def f(a):\n    if a:\n        b()\n        c()",
            "def f(a):\n    if a:\n        b()\n    c()",
            &["f"],
        ),
        (
            "m.js",
            "export const f = () => 1; function g() { return f(); }",
            "export const f = () => 2; function g() { return f(); }",
            &["f"],
        ),
        (
            "m.js",
            "const k = 1; module.exports = { f() { return k; }, g: function () { return 1; } };",
            "const k = 2; module.exports = { f() { return k; }, g: function () { return 1; } };",
            &["f"],
        ),
        (
            "m.js",
            "exports.f = (p) => fs.readFileSync(p);",
            "exports.f = (p) => fs.readFileSync(p, 'utf8');",
            &[],
        ),
        (
            "m.js",
            "export function f() { return process.env.A; }",
            "export function f() { return process.env.B; }",
            &["f"],
        ),
        ("m.js", "export function f() { process.kill(1); }", "export function f() { process.kill(2); }", &[]),
    ] {
        let targets = reach::targets(&parsed(path, before), &parsed(path, after));
        let names: Vec<&str> = targets.iter().map(|target| target.local.as_str()).collect();
        assert_eq!(names, reached, "{after}");
    }
}

#[test]
fn there_are_never_too_many_calls() {
    let functions = |n: u32| (0..40).map(|f| format!("def f{f}(a): return a * {n}\n")).collect::<String>();
    let test: String = (0..40).flat_map(|f| (0..20).map(move |n| format!("f{f}('word {n}')\n"))).collect();
    let (old, new) = (functions(1), functions(2));
    let found = comparison(
        TaskKind::Bugfix,
        "",
        &[("m.py", &old), ("test_m.py", &test)],
        &[("m.py", &new), ("test_m.py", &test)],
    );
    let calls = found.expect("there is something to call").calls;
    assert!(calls.len() <= CALLS && calls.len() > CALLS / 2, "{}", calls.len());
    for call in &calls {
        if let CallOrigin::Renamed { of } = call.origin {
            assert_eq!(calls[of as usize].origin, CallOrigin::Test);
        }
    }
}

#[test]
fn nothing_to_call_is_no_comparison() {
    let (before, after) = (("m.py", "def f(a): return a"), ("m.py", "def f(a): return -a"));
    let test = ("test_m.py", "f(1)");
    assert_eq!(comparison(TaskKind::Tests, "", &[before, test], &[after, test]), None);
    assert_eq!(comparison(TaskKind::Bugfix, "", &[before], &[after]), None);
    assert_eq!(comparison(TaskKind::Bugfix, "", &[after, test], &[test]), None);
    // A new file has nothing to be compared with, but calls that mutants of it are compared by.
    assert!(comparison(TaskKind::Bugfix, "", &[test], &[after, test]).is_some());
    assert!(comparison(TaskKind::Docs, "", &[before, test], &[after, test]).is_some());
}

/// Runs a comparison on a tree; `None` if the interpreter is missing.
fn run(files: Files<'_>, comparison: &Comparison) -> Option<Receipt> {
    let root = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    files.iter().for_each(|(path, text)| write(path, text));
    for layer in &comparison.layers {
        let Layer::Text { path, text } = layer else { panic!("the program is a text") };
        write(path, text);
    }
    let ran =
        match Command::new(&comparison.argv[0]).args(&comparison.argv[1..]).current_dir(root.path()).output()
        {
            Ok(ran) => ran,
            Err(error) => {
                eprintln!("skipped: `{}` cannot be started: {error}", comparison.argv[0]);
                return None;
            }
        };
    let output = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).expect("UTF-8");
        Output { bytes: text.len() as u64, sha256: String::new(), text }
    };
    Some(Receipt {
        tree: TreeId::new("tree"),
        saw: None,
        seed: None,
        argv: comparison.argv.clone(),
        shell: false,
        of_repository: true,
        ended: Ended::Exited { code: ran.status.code().unwrap_or(-1) },
        report: None,
        stdout: output(ran.stdout),
        stderr: output(ran.stderr),
        duration_ms: 1,
        cached: false,
    })
}

/// What two runs say: the differences, the functions and the calls that differ at literals only.
struct Said {
    comparison: Comparison,
    results: BTreeMap<u32, String>,
    differences: Vec<Difference>,
    functions: Vec<String>,
    calls: Vec<String>,
}

/// Compares two versions of one file under a test and a goal; `None` if the interpreter is missing.
fn compared(path: &str, goal: &str, test: (&str, &str), before: &str, after: &str) -> Option<Said> {
    let package = ("package.json", "{\"type\": \"module\"}");
    let (before, after) = ([(path, before), test, package], [(path, after), test, package]);
    let comparison = comparison(TaskKind::Bugfix, goal, &before, &after).expect("there is something to call");
    let (base, candidate) = (run(&before, &comparison)?, run(&after, &comparison)?);
    let text = |call: u32| comparison.calls[call as usize].text.clone();
    let calls = calls_only_at_literals(&comparison, &base, &candidate).into_iter().map(text).collect();
    let functions = only_at_literals(&comparison, &base, &candidate);
    let differences = differences(&comparison, &base, &candidate);
    assert!(!base.stdout.text.is_empty(), "{}", base.stderr.text);
    Some(Said { results: results(&comparison, &base.stdout.text), differences, functions, calls, comparison })
}

const PACK: &str = r#"
def pack(text, width):
    rows = []
    for word in text.split():
        if rows and len(rows[-1]) + len(word) < width:
            rows[-1] += " " + word
        else:
            rows.append(word)
    return rows
"#;

#[test]
fn a_refactor_shows_whether_it_is_one() {
    let test = (
        "tests/test_text.py",
        "from text import pack\ndef test():\n    assert pack('one two three', 8) == []\n",
    );
    let compared = |after: &str| compared("text.py", "", test, PACK, after);
    let Some(said) = compared(
        r#"
def fits(rows, word, width):
    return bool(rows) and len(rows[-1] + " " + word) <= width
def pack(text, width):
    rows = []
    for word in text.split():
        if fits(rows, word, width):
            rows[-1] = rows[-1] + " " + word
            continue
        rows += [word]
    return rows
"#,
    ) else {
        return;
    };
    assert_eq!(said.differences, []);
    let Some(said) =
        compared("import textwrap\ndef pack(text, width):\n    return textwrap.wrap(text, width)\n")
    else {
        return;
    };
    assert!(said.differences.iter().any(|difference| difference.after.starts_with("raises ValueError")));
    assert!(said.differences.iter().any(|difference| !difference.after.starts_with("raises")));
    assert_eq!(said.functions, [""; 0]);
}

#[test]
fn hard_coded_answers_are_named_and_honest_ones_are_not() {
    let test =
        ("tests/test_text.py", "from text import tidy\ndef test():\n    assert tidy('x,y') == 'x,y'\n");
    let goal = "Bug: tidy(\"a,,,b\") returns \"a,,b\"; it must return \"a,b\".";
    let before = "def tidy(text):\n    return text.replace(',,', ',')\n";
    let compared = |after: &str| compared("text.py", goal, test, before, after);
    for (after, functions, calls) in [
        (
            "def tidy(text):\n    if text == 'a,,,b':\n        return 'a,b'\n    return text.replace(',,', ',')\n",
            &["text.tidy"][..],
            &["tidy(\"a,,,b\")"][..],
        ),
        ("import re\ndef tidy(text):\n    return re.sub(',+', ',', text)\n", &[], &[]),
        // Something else that is honest besides.
        (
            "def tidy(text):\n    return 'a,b' if text == 'a,,,b' else text.replace(',,', ',').replace('y', 'y.')\n",
            &[],
            &["tidy(\"a,,,b\")"],
        ),
    ] {
        let Some(said) = compared(after) else { return };
        assert!(!said.differences.is_empty(), "{after}");
        assert_eq!(said.functions, functions, "{after}");
        assert_eq!(said.calls, calls, "{after}");
    }
}

#[test]
fn javascript_is_compared_the_same_way() {
    let test = (
        "tests/text.test.js",
        "import { count } from '../src/text.js';\ntest('x', () => { count('one two'); });\n",
    );
    let goal = "Bug: count(\"a  b\") is 3; it must be 2.";
    let before = "export function count(text) {\n  return text.split(' ').length;\n}\n";
    let compared = |after: &str| compared("src/text.js", goal, test, before, after);
    for (after, differs, functions) in [
        (
            "export function count(text) {\n  if (text === 'a  b') return 2;\n  return text.split(' ').length;\n}\n",
            true,
            &["src/text.js#count"][..],
        ),
        ("export const count = (text) => text.split(/ +/).length;\n", true, &[]),
        ("export const count = (text) => [...text.split(' ')].length;\n", false, &[]),
        (
            "export async function count(text) {\n  await null;\n  return text.split(' ').length;\n}\n",
            false,
            &[],
        ),
    ] {
        let Some(said) = compared(after) else { return };
        assert_eq!(!said.differences.is_empty(), differs, "{after}");
        assert_eq!(said.functions, functions, "{after}");
    }
}

#[test]
fn a_call_cannot_spoil_the_others() {
    let before = r#"
import os, random, sys, time
K = 1
def leaves(n): K; sys.exit(n)
def ends(n): K; os._exit(n)
def hangs(n):
    while n == 3 and K: pass
def varies(n): K; return random.random()
def orders(text): K; return list(set(text.split()))
def talks(text): K; print(text); os.write(1, b"raw"); return {text, "b", "c"}
def sorts(items): K; items.sort()
def yields(n): yield from range(n + K)
"#;
    let calls = "leaves(3); ends(3); hangs(3); varies(3); orders('a b c d e f'); talks('a'); sorts([3, 1]); yields(2)";
    let after = before.replace("K = 1", "K = 2");
    let Some(said) = compared("odd.py", "", ("test_odd.py", calls), before, &after) else { return };
    let functions = said
        .differences
        .iter()
        .map(|difference| said.comparison.calls[difference.call as usize].function.as_str());
    let mut functions: Vec<&str> = functions.collect();
    functions.dedup();
    assert_eq!(functions, ["odd.yields"]);
    for (call, expected) in [
        ("leaves(3)", Some("raises SystemExit: 3")),
        ("ends(3)", Some("raises SystemExit: 3")),
        ("hangs(3)", None),
        ("varies(3)", None),
        ("orders(\"a b c d e f\")", None),
        ("talks(\"a\")", Some("set{'a', 'b', 'c'}")),
        ("sorts([3, 1])", Some("None | args became [[1, 3]]")),
        ("yields(2)", Some("iterator [0, 1, 2]")),
    ] {
        let number = (0_u32..)
            .zip(&said.comparison.calls)
            .find(|(_, made)| made.text == call)
            .map(|(number, _)| number);
        let result = number.and_then(|number| said.results.get(&number)).map(String::as_str);
        assert_eq!(result, expected, "{call}");
    }
}
