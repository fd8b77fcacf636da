//! Whose files a call writes: those of the repository, or those of whoever called.

use std::collections::BTreeMap;

use super::Places;
use crate::inspect::outline::{Outline, clip};

/// Calls that make folders for a moment.
const SCRATCH: [&str; 8] =
    ["tmp", "temp", "Temp", "TMP", "mkdtemp", "TemporaryDirectory", "scratch", "mktemp"];

/// What stands for the place of a file or of the process.
const OWN: [&str; 12] = [
    "__file__",
    "__dirname",
    "__filename",
    "import.meta",
    "cwd(",
    "getcwd",
    "Path()",
    "Path(\".\")",
    "Path('.')",
    "current_dir",
    "CARGO_MANIFEST_DIR",
    "user.dir",
];

/// So many definitions are followed from one name to the next.
const STEPS: usize = 4;
/// So many definitions of one name are looked at.
const MOST: usize = 20;

/// What a path is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// Nothing but literals, or the place of the file or the process.
    Repository,
    /// A parameter, or a folder that was made for a moment.
    Given,
    /// Something else.
    Unknown,
}

/// Tells what the paths that a call writes to are made from. One of the repository is enough.
pub(super) fn root(places: &Places<'_, '_>, call: usize) -> Root {
    let mut root = Root::Given;
    for path in written(places.outline, call) {
        match of(places, call, path) {
            Root::Repository => return Root::Repository,
            Root::Unknown => root = Root::Unknown,
            Root::Given => {}
        }
    }
    root
}

/// Returns the expressions of a call that say where it writes.
fn written(outline: &Outline<'_>, call: usize) -> Vec<usize> {
    let arguments = outline.field(call, "arguments").map(|list| outline.children(list)).unwrap_or_default();
    let function = outline.field(call, "function");
    let object = function.and_then(|function| {
        ["object", "value", "operand"].iter().find_map(|field| outline.field(function, field))
    });
    let object = object.or_else(|| outline.field(call, "object"));
    let name = function.map_or("", |function| outline.text(function));
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    let stem = last.strip_suffix("Sync").unwrap_or(last);
    let module = |object: &usize| {
        let names = ["os", "shutil", "io", "codecs", "fs", "fsp", "promises", "fs.promises", "Deno", "Files"];
        names.contains(&outline.text(*object)) || outline.text(*object).starts_with("fs")
    };
    let own = object.filter(|object| !module(object) && !name.contains("::"));
    let two = arguments.iter().copied().take(2);
    match (own, stem) {
        (Some(path), "rename" | "replace" | "symlink_to" | "move") => {
            [path].into_iter().chain(arguments.first().copied()).collect()
        }
        (Some(path), _) => vec![path],
        (None, "copy" | "copyfile" | "copyFile" | "cp" | "symlink" | "copytree") => two.skip(1).collect(),
        (None, "rename" | "replace" | "move") => two.collect(),
        (None, _) => two.take(1).collect(),
    }
}

/// Tells what an expression is made from, by its names.
fn of(places: &Places<'_, '_>, call: usize, path: usize) -> Root {
    let outline = places.outline;
    let (mut open, mut seen) = (vec![path], Vec::new());
    let (mut given, mut known, mut own) = (false, true, false);
    for _ in 0..STEPS {
        let mut next = Vec::new();
        for expression in open.drain(..) {
            let text = outline.head(expression, 2000);
            own |= OWN.iter().any(|word| text.contains(word));
            given |= SCRATCH.iter().any(|word| text.contains(word));
            for name in names(outline, expression) {
                if seen.contains(&name) {
                    continue;
                }
                seen.push(name);
                let found = definitions(places, call, name);
                given |= found.is_none();
                known &= found.as_ref().is_none_or(|found| !found.is_empty());
                next.extend(found.into_iter().flatten());
            }
        }
        open = next;
    }
    match (own, given, known && open.is_empty()) {
        // A folder for a moment below the own one is for a moment too.
        (_, true, _) if !own => Root::Given,
        (true, _, _) => Root::Repository,
        (false, _, true) => Root::Repository,
        (false, _, false) => Root::Unknown,
    }
}

/// Returns the names that an expression takes its value from.
fn names<'t>(outline: &Outline<'t>, expression: usize) -> Vec<&'t str> {
    const JOINING: [&str; 20] = [
        "Path",
        "PurePath",
        "pathlib",
        "os",
        "path",
        "join",
        "resolve",
        "str",
        "open",
        "fs",
        "URL",
        "fileURLToPath",
        "filepath",
        "PathBuf",
        "Paths",
        "File",
        "url",
        "normalize",
        "abspath",
        "String",
    ];
    let mut found = Vec::new();
    let mut next = expression;
    while next < outline.end(expression).min(expression + 20 * MOST) {
        let text = outline.text(next);
        let field = matches!(outline.kind(next), "attribute" | "member_expression")
            && ["self.", "this."].iter().any(|owner| text.starts_with(owner));
        if field && text.matches('.').count() == 1 {
            found.push(text);
            next = outline.end(next);
            continue;
        }
        let member = outline.parent(next).is_some_and(|up| {
            matches!(outline.kind(up), "attribute" | "keyword_argument")
                && outline.field(up, if outline.kind(up) == "attribute" { "attribute" } else { "name" })
                    == Some(next)
        });
        if outline.kind(next) == "identifier" && !member && !JOINING.contains(&text) {
            found.push(text);
        }
        next += 1;
    }
    found
}

/// Returns what a name is defined as where a call stands; `None` if it is a parameter there.
fn definitions(places: &Places<'_, '_>, call: usize, name: &str) -> Option<Vec<usize>> {
    let outline = places.outline;
    let definitions = places.definitions.get_or_init(|| all_definitions(outline));
    let all = definitions.get(name).into_iter().flatten().take(MOST);
    let mut function = places.function(call);
    while let Some(around) = function {
        if let Some(list) = outline.field(around, "parameters").or_else(|| outline.field(around, "parameter"))
        {
            for parameter in outline.within(list).filter(|at| outline.kind(*at) == "identifier") {
                if outline.text(parameter) != name {
                    continue;
                }
                // One that is given mostly by its default is what the default says.
                let default =
                    outline.above(parameter).into_iter().take_while(|up| *up >= list).find_map(|up| {
                        matches!(
                            outline.kind(up),
                            "default_parameter"
                                | "typed_default_parameter"
                                | "assignment_pattern"
                                | "required_parameter"
                        )
                        .then(|| outline.field(up, "value").or_else(|| outline.field(up, "right")))
                        .flatten()
                    });
                return default.map(|default| vec![default]);
            }
        }
        let inside: Vec<usize> = all
            .clone()
            .filter(|(at, _)| outline.within(around).contains(at))
            .map(|(_, value)| *value)
            .collect();
        if !inside.is_empty() {
            return Some(inside);
        }
        function = outline.parent(around).and_then(|up| places.function(up));
    }
    Some(all.map(|(_, value)| *value).collect())
}

/// Names and where they get a value: the node, and the value.
pub(super) type Definitions<'t> = BTreeMap<&'t str, Vec<(usize, usize)>>;

/// Returns the definitions of a file.
fn all_definitions<'t>(outline: &Outline<'t>) -> Definitions<'t> {
    let mut found = Definitions::new();
    for at in outline.all() {
        if let Some((name, value)) = defined(outline, at) {
            found.entry(name).or_default().push((at, value));
        }
    }
    found
}

/// Returns the name and the value if a node gives one to the other.
fn defined<'t>(outline: &Outline<'t>, at: usize) -> Option<(&'t str, usize)> {
    let (left, right) = match outline.kind(at) {
        "assignment" | "assignment_expression" => ("left", "right"),
        "variable_declarator" => ("name", "value"),
        "let_declaration" => ("pattern", "value"),
        "short_var_declaration" => ("left", "right"),
        "function_definition" | "function_declaration" => ("name", "body"),
        "as_pattern" => {
            let parts = outline.children(at);
            let [value, .., target] = parts.as_slice() else { return None };
            return Some((clip(outline.text(*target), 200), *value));
        }
        _ => return None,
    };
    Some((clip(outline.field_text(at, left), 200), outline.field(at, right)?))
}
