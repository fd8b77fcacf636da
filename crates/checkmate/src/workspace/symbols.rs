//! What a source file defines at its top level, by simple rules on lines.

/// At most so many names are taken from one file.
const MOST: usize = 12;

/// Tells how a language writes its definitions: words that may stand before one, and words that start one.
struct Language {
    endings: &'static [&'static str],
    before: &'static [&'static str],
    starts: &'static [&'static str],
}

const LANGUAGES: &[Language] = &[
    Language {
        endings: &["rs"],
        before: &["pub", "pub(crate)", "pub(super)", "async", "unsafe", "const", "extern", "\"C\""],
        starts: &[
            "fn",
            "struct",
            "enum",
            "trait",
            "union",
            "mod",
            "type",
            "impl",
            "const",
            "static",
            "macro_rules!",
        ],
    },
    Language { endings: &["py", "pyi"], before: &["async"], starts: &["def", "class"] },
    Language {
        endings: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"],
        before: &["export", "default", "async", "abstract", "declare"],
        starts: &["function", "function*", "class", "const", "let", "interface", "type", "enum", "namespace"],
    },
    Language { endings: &["go"], before: &[], starts: &["func", "type", "var", "const"] },
    Language {
        endings: &["java", "kt", "kts", "cs", "scala", "swift", "dart"],
        before: &[
            "public",
            "internal",
            "private",
            "protected",
            "abstract",
            "final",
            "sealed",
            "static",
            "open",
            "data",
            "case",
            "partial",
            "export",
        ],
        starts: &[
            "class",
            "interface",
            "enum",
            "record",
            "struct",
            "object",
            "trait",
            "protocol",
            "fun",
            "func",
            "def",
        ],
    },
    Language { endings: &["rb"], before: &[], starts: &["def", "class", "module"] },
    Language {
        endings: &["php"],
        before: &["abstract", "final", "readonly"],
        starts: &["function", "class", "interface", "trait", "enum"],
    },
    Language {
        endings: &["c", "h", "cc", "cpp", "cxx", "hpp", "hh"],
        before: &["typedef", "static"],
        starts: &["struct", "class", "enum", "union", "namespace", "#define"],
    },
    Language { endings: &["ex", "exs"], before: &[], starts: &["defmodule"] },
    Language { endings: &["lua", "sh", "bash"], before: &["local"], starts: &["function"] },
];

/// Says whether [`symbols`] knows the language of a file.
pub(crate) fn is_source(path: &str) -> bool {
    language(path).is_some()
}

/// Names what a file defines at its top level, in order, each once.
pub(crate) fn symbols(path: &str, text: &str) -> Vec<String> {
    let Some(language) = language(path) else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with([' ', '\t', '/', '*', '}'])) {
        let Some(name) = definition(language, line) else { continue };
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() == MOST {
            break;
        }
    }
    names
}

fn language(path: &str) -> Option<&'static Language> {
    let (_, ending) = path.rsplit_once('.')?;
    LANGUAGES.iter().find(|language| language.endings.contains(&ending))
}

fn definition(language: &Language, line: &str) -> Option<String> {
    let mut words = line.split_whitespace().peekable();
    let mut rest = line;
    loop {
        let word = words.next()?;
        rest = rest.trim_start().strip_prefix(word)?;
        // `const` may start a definition in Rust or stand before `fn`.
        let another = words.peek().is_some_and(|next| language.starts.contains(next));
        // `impl<T>` and `func(` are words with something attached.
        let bare = word.split(['<', '(']).next().unwrap_or(word);
        if language.starts.contains(&word) && !(another && language.before.contains(&word)) {
            return name(rest);
        }
        if word != bare && language.starts.contains(&bare) {
            return name(rest);
        }
        if !language.before.contains(&word) {
            return None;
        }
    }
}

/// Takes the first name after a definition's word; a Go method's receiver and Rust's `for` are looked through.
fn name(rest: &str) -> Option<String> {
    let mut rest = rest.trim_start();
    if rest.starts_with('(') {
        rest = rest.split_once(')')?.1.trim_start();
    }
    if let Some((_, target)) = rest.split_once(" for ") {
        rest = target.trim_start();
    }
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    let name: String = rest.chars().take_while(|c| fits(*c)).take(80).collect();
    let name = name.trim_end_matches('.');
    name.starts_with(|c: char| !c.is_numeric()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_each_language() {
        let check = |path: &str, text: &str, expected: &[&str]| {
            assert_eq!(symbols(path, text), expected, "{path}");
        };
        check(
            "a.rs",
            "use x;\npub(crate) const fn f<T>() {}\nconst N: u8 = 1;\nimpl<T> Show for Thing<T> {\n    fn inner() {}\n}\nmacro_rules! m {}\n",
            &["f", "N", "Thing", "m"],
        );
        check("a.py", "class A(B):\n    def m(self): pass\nasync def g(): pass\nx = 1\n", &["A", "g"]);
        check(
            "a.ts",
            "export default async function go() {}\nexport const x = 1\n// class no\ntype T = {}\n",
            &["go", "x", "T"],
        );
        check("a.go", "func (s *Server) Run() {}\nfunc main() {}\ntype T struct {}\n", &["Run", "main", "T"]);
        check("A.java", "public final class A {\n  public void m() {}\n}\ninterface B {}\n", &["A", "B"]);
        check("a.txt", "class A\n", &[]);
        check(
            "a.py",
            &(0..20).map(|n| format!("def f{n}(): pass\n")).collect::<String>(),
            &["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11"],
        );
    }
}
