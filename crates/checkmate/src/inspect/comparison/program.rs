//! The program that makes the calls.

use std::collections::BTreeSet;

use super::calls::Call;
use super::literals::Args;
use super::reach::Target;
use crate::inspect::Wish;
use crate::inspect::language::Language;

const PYTHON: &str = include_str!("program.py");
const JAVASCRIPT: &str = include_str!("program.mjs");

/// Returns the program's path and its text; all targets are of one language.
pub(super) fn of<'a>(
    wish: &Wish<'_>,
    token: &str,
    targets: &[Target],
    calls: impl Iterator<Item = &'a Call>,
) -> (String, String) {
    let python = targets.iter().any(|target| target.language == Language::Python);
    let paths: BTreeSet<&str> = targets.iter().map(|target| target.path.as_str()).collect();
    let modules: String = paths
        .iter()
        .map(|path| if python { module(wish, path) } else { format!("  {},\n", text(path)) })
        .collect();
    let rows: String = calls
        .enumerate()
        .filter_map(|(number, call)| Some((number, call, targets.get(call.target)?)))
        .map(
            |(number, call, target)| {
                if python { python_row(number, call, target) } else { javascript_row(number, call, target) }
            },
        )
        .collect();
    let (template, ending) = if python { (PYTHON, "py") } else { (JAVASCRIPT, "mjs") };
    let program = template
        .replace("@TOKEN@", token)
        .replace("@MODULES@\n", "@MODULES@")
        .replace("@CALLS@\n", "@CALLS@");
    let program = program.replace("@MODULES@", &modules).replacen("@CALLS@", &rows, 1);
    (format!("{}.{ending}", token.replace('-', "_")), program)
}

/// Returns the name of a target with its module, for people.
pub(super) fn name(wish: &Wish<'_>, target: &Target) -> String {
    if target.language == Language::Python {
        let (_, names) = places(wish, &target.path);
        return format!("{}.{}", names.first().map_or("", String::as_str), target.local);
    }
    format!("{}#{}", target.path, target.local)
}

/// Returns the folders that a Python file may be imported from, and the names it then has.
fn places(wish: &Wish<'_>, path: &str) -> (Vec<String>, Vec<String>) {
    let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let dotted = |path: &str| {
        let name = path.trim_end_matches(".py").trim_end_matches("/__init__");
        name.replace('/', ".")
    };
    let mut top = folder(path);
    while !top.is_empty() && wish.after.has(&format!("{top}/__init__.py")) {
        top = folder(&top);
    }
    let inner = if top.is_empty() { path } else { path.get(top.len() + 1..).unwrap_or(path) };
    // The last one wins: the folder of the outermost package lies before the root.
    let mut folders = vec![String::new()];
    let mut names = vec![dotted(inner)];
    if !top.is_empty() {
        folders.push(top);
        names.push(dotted(path));
    }
    if let Some(inner) = path.strip_prefix("src/") {
        folders.push("src".to_owned());
        names.insert(0, dotted(inner));
    }
    (folders, names)
}

fn module(wish: &Wish<'_>, path: &str) -> String {
    let (folders, names) = places(wish, path);
    let list = |items: &[String]| items.iter().map(|item| text(item)).collect::<Vec<_>>().join(", ");
    format!("    {}: ([{}], [{}]),\n", text(path), list(&folders), list(&names))
}

/// Writes a text as both languages read it.
fn text(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => String::new(),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn python_row(number: usize, call: &Call, target: &Target) -> String {
    let member = call.member.as_ref().map_or_else(String::new, |name| format!(".{name}"));
    let steps: Vec<String> =
        call.steps.iter().map(|(name, args)| format!("({}, {})", text(name), python_args(args))).collect();
    let root = text(&format!("{}{member}", target.local));
    let first = python_args(&call.first);
    format!("    ({number}, {}, {root}, {first}, [{}]),\n", text(&target.path), steps.join(", "))
}

fn python_args(args: &Args) -> String {
    let positional: String =
        args.positional.iter().map(|value| format!("{}, ", value.source(Language::Python))).collect();
    let named: Vec<String> = args
        .named
        .iter()
        .map(|(name, value)| format!("{}: {}", text(name), value.source(Language::Python)))
        .collect();
    format!("lambda: (({}), {{{}}})", positional.trim_end(), named.join(", "))
}

fn javascript_row(number: usize, call: &Call, target: &Target) -> String {
    let args = |args: &Args| format!("() => [{}]", args.source(Language::JavaScript));
    let member = call.member.as_ref().map_or_else(|| "null".to_owned(), |name| text(name));
    let steps: Vec<String> =
        call.steps.iter().map(|(name, given)| format!("[{}, {}]", text(name), args(given))).collect();
    let (path, exported) = (text(&target.path), text(&target.exported));
    let first = args(&call.first);
    format!(
        "  [{number}, {path}, {exported}, {member}, {}, {first}, [{}]],\n",
        call.construct,
        steps.join(", ")
    )
}
