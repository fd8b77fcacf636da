use checkmate_machine::facts::{FileRole, Mutant, TestFunction};
use checkmate_machine::spec::TaskKind;

use super::{of, of_targets, targets};
use crate::inspect::functions::tests::Change;
use crate::inspect::functions::{Functions, changed};

fn shown(mutants: &[Mutant]) -> String {
    let lines = mutants.iter().map(|mutant| {
        let sign = if mutant.reaches { "!" } else { " " };
        format!("{}{sign} {} => {}", mutant.line, mutant.was, mutant.now)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the mutants of a changed file.
fn mutants(path: &str, before: &str, after: &str) -> String {
    let change = Change::of(&[(path, FileRole::Code, Some(before), Some(after))]);
    let wish = change.wish(TaskKind::Bugfix);
    shown(&of(&wish, &change.files, &changed(&wish, &change.files)))
}

#[test]
fn python_by_line_and_most_telling_first() {
    let before =
        "def f(text, limit):\n    if len(text) < limit:\n        return text\n    return text[:limit]\n";
    let after = "def f(text, limit, suffix='...'):\n    \"\"\"Text.\"\"\"\n    if len(text) <= limit and text:\n        \
                 return text\n    elif not text:\n        log.info('a' + 1)\n        raise ValueError(1 + 1)\n    \
                 for a in text:\n        if a is None:\n            continue\n        g(a)\n    \
                 return '-'.join(text[:limit - 3].strip()) + suffix\n";
    insta::assert_snapshot!(mutants("a.py", before, after), @r#"
    3  if len(text) <= limit and text: => if len(text) < limit and text:
    3  if len(text) <= limit and text: => if len(text) <= limit or text:
    9  if a is None: => if a is not None:
    5  elif not text: => elif (text):
    5  elif not text: => elif False:
    12  return '-'.join(text[:limit - 3].strip()) + suffix => return None
    12  return '-'.join(text[:limit - 3].strip()) + suffix => return '-'.join(text[:limit + 3].strip()) + suffix
    10  continue => pass
    3! if len(text) <= limit and text: => raise RuntimeError("reached") if len(text) <= limit and text:
    "#);
}

#[test]
fn only_lines_that_the_change_touches() {
    let before = "def f(a):\n    b = a + 1\n    c = a < 2\n    return b\n";
    let after = "def f(a):\n    b = a + 1\n    c = a < 3\n    return b\n";
    insta::assert_snapshot!(mutants("a.py", before, after), @r#"
    3  c = a < 3 => c = a <= 3
    3  c = a < 3 => c = a < 4
    3! c = a < 3 => raise RuntimeError("reached") c = a < 3
    "#);
}

#[test]
fn javascript() {
    let after = "export const half = (a) => a / 2;\nexport function f(a, b) {\n  if (a === 1 || !b) return true;\n  \
                 else if (b) { console.log(1 < 2); }\n  for (const x of a.trim()) { if (x > 1) continue; g(x); }\n  \
                 throw new Error('a' + 1);\n}\n";
    insta::assert_snapshot!(mutants("a.js", "", after), @r#"
    5  for (const x of a.trim()) { if (x > 1) continue; g(x); } => for (const x of a.trim()) { if (x >= 1) continue; g(x); }
    3  if (a === 1 || !b) return true; => if (a !== 1 || !b) return true;
    3  if (a === 1 || !b) return true; => if (!(a === 1 || !b)) return true;
    4  else if (b) { console.log(1 < 2); } => else if (!(b)) { console.log(1 < 2); }
    5  for (const x of a.trim()) { if (x > 1) continue; g(x); } => for (const x of a.trim()) { if (!(x > 1)) continue; g(x); }
    4  else if (b) { console.log(1 < 2); } => else if (false) { console.log(1 < 2); }
    1  export const half = (a) => a / 2; => export const half = (a) => undefined;
    1  export const half = (a) => a / 2; => export const half = (a) => a * 2;
    1! export const half = (a) => a / 2; => export const half = (a) => { throw new Error("reached"); };
    3! if (a === 1 || !b) return true; => throw new Error("reached"); if (a === 1 || !b) return true;
    "#);
}

#[test]
fn closed_languages_only_get_what_compiles() {
    let rust = "pub fn f(a: &str, n: usize) -> Option<usize> {\n    if let Some(b) = g(a) && n > 1 { return None; }\n    \
                if n >= 10 && a.is_empty() { list.push(1); }\n    let c = [0; 4];\n    let d = a.to_owned() + a;\n    \
                println!(\"{}\", 1 + 1);\n    Some(n + 1)\n}\n\
                impl fmt::Debug for A {\n    fn fmt(&self) -> R { 1 < 2 }\n}\n";
    insta::assert_snapshot!(mutants("a.rs", "", rust), @r#"
    2  if let Some(b) = g(a) && n > 1 { return None; } => if let Some(b) = g(a) && n >= 1 { return None; }
    3  if n >= 10 && a.is_empty() { list.push(1); } => if n > 10 && a.is_empty() { list.push(1); }
    3  if n >= 10 && a.is_empty() { list.push(1); } => if n >= 10 || a.is_empty() { list.push(1); }
    7  Some(n + 1) => Some(n - 1)
    2  if let Some(b) = g(a) && n > 1 { return None; } => if let Some(b) = g(a) && n > 2 { return None; }
    4  let c = [0; 4]; => let c = [1; 4];
    7  Some(n + 1) => Some(n + 2)
    2! if let Some(b) = g(a) && n > 1 { return None; } => panic!("reached"); if let Some(b) = g(a) && n > 1 { return None; }
    "#);
    let go = "package p\n\nfunc F(a string, n int) bool {\n\tif n > 1 {\n\t\tonce.Do()\n\t}\n\treturn len(a)+n == 2 || a+a == b\n}\n";
    insta::assert_snapshot!(mutants("a.go", "package p\n", go), @r#"
    4  if n > 1 { => if n >= 1 {
    7  return len(a)+n == 2 || a+a == b => return len(a)+n != 2 || a+a == b
    4  if n > 1 { => if !(n > 1) {
    7  return len(a)+n == 2 || a+a == b => return len(a)-n == 2 || a+a == b
    4! if n > 1 { => panic("reached"); if n > 1 {
    "#);
    let java =
        "class A {\n  int f(int n) {\n    if (n > 1) { list.add(n); }\n    return n * 2 + 1;\n  }\n}\n";
    insta::assert_snapshot!(mutants("A.java", "class A {}\n", java), @r#"
    3  if (n > 1) { list.add(n); } => if (n >= 1) { list.add(n); }
    3  if (n > 1) { list.add(n); } => if (!(n > 1)) { list.add(n); }
    4  return n * 2 + 1; => return n / 2 + 1;
    4  return n * 2 + 1; => return n * 3 + 1;
    3! if (n > 1) { list.add(n); } => if (true) throw new RuntimeException("reached"); if (n > 1) { list.add(n); }
    "#);
}

#[test]
fn at_most_two_of_a_line_and_twelve_in_all() {
    let lines: String = (0..40).map(|n| format!("    if a < {n} and b > {n} or c == {n}: d(a)\n")).collect();
    let after = format!("def f(a, b, c):\n{lines}");
    let change = Change::of(&[("a.py", FileRole::Code, None, Some(&after))]);
    let wish = change.wish(TaskKind::Feature);
    let mutants = of(&wish, &change.files, &changed(&wish, &change.files));
    assert_eq!(mutants.iter().filter(|mutant| !mutant.reaches).count(), 12);
    let lines: std::collections::BTreeSet<u32> = mutants.iter().map(|mutant| mutant.line).collect();
    assert!(lines.len() >= 12 && lines.iter().max() > Some(&35), "{lines:?}");
    assert_eq!(of(&change.wish(TaskKind::Docs), &change.files, &Functions::default()), []);
}

#[test]
fn tests_only_are_asked_about_what_they_mention() {
    let code = "def f(a):\n    return a < 1\n\ndef g(a):\n    return a > 1\n";
    let test = "from lib.a import f\n\ndef test_f():\n    assert f(0)\n";
    let mut change = Change::of(&[
        ("lib/a.py", FileRole::Code, Some(code), Some(code)),
        ("lib/b.py", FileRole::Code, Some(code), Some(code)),
        ("tests/test_a.py", FileRole::Test, None, Some(test)),
    ]);
    for file in &mut change.files {
        file.tests_after = vec![TestFunction {
            name: "test_f".to_owned(),
            line: 3,
            body: "x".to_owned(),
            skipped: None,
            shadowed: false,
            assertions: Vec::new(),
            mentions: vec!["f".to_owned()],
            rows: Vec::new(),
        }];
    }
    let role = |path: &str| if path.starts_with("lib") { FileRole::Code } else { FileRole::Test };
    let targets = targets::mentioned(&change.wish(TaskKind::Tests), &change.files, &role);
    let mutants = of_targets(&targets);
    assert!(
        mutants.iter().all(|mutant| mutant.path == "lib/a.py" && mutant.function.as_deref() == Some("f"))
    );
    insta::assert_snapshot!(shown(&mutants), @r#"
    2  return a < 1 => return a <= 1
    2  return a < 1 => return None
    2! return a < 1 => raise RuntimeError("reached") return a < 1
    "#);
}

#[test]
fn regular_expressions_are_loosened() {
    let after = "import re\n\ndef f(a):\n    return re.sub(r'[^a-z]+', '-', a)\n";
    insta::assert_snapshot!(mutants("a.py", "import re\n", after), @r#"
    4  return re.sub(r'[^a-z]+', '-', a) => return None
    4  return re.sub(r'[^a-z]+', '-', a) => return re.sub(r'[^a-z]', '-', a)
    4! return re.sub(r'[^a-z]+', '-', a) => raise RuntimeError("reached") return re.sub(r'[^a-z]+', '-', a)
    "#);
    insta::assert_snapshot!(mutants("a.js", "", "const a = (b) => b.replace(/^\\s/g, '');\n"), @r#"
    1  const a = (b) => b.replace(/^\s/g, ''); => const a = (b) => undefined;
    1  const a = (b) => b.replace(/^\s/g, ''); => const a = (b) => b.replace(/\s/g, '');
    1! const a = (b) => b.replace(/^\s/g, ''); => const a = (b) => { throw new Error("reached"); };
    "#);
}
