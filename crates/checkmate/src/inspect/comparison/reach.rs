//! Which functions and classes a change reaches within their file, and can be called by themselves.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use crate::inspect::language::{Language, Source, children, descend, tokens};

/// Words of Python code that does more than compute.
const PYTHON_EFFECTS: [&str; 19] = [
    "open",
    "input",
    "requests",
    "subprocess",
    "socket",
    "urllib",
    "httpx",
    "aiohttp",
    "shutil",
    "tempfile",
    "system",
    "unlink",
    "rmdir",
    "mkdir",
    "makedirs",
    "write_text",
    "write_bytes",
    "sqlite3",
    "fork",
];
/// Words of JavaScript code that does more than compute.
const JAVASCRIPT_EFFECTS: [&str; 17] = [
    "fs",
    "fetch",
    "child_process",
    "http",
    "https",
    "net",
    "axios",
    "XMLHttpRequest",
    "WebSocket",
    "writeFileSync",
    "writeFile",
    "unlinkSync",
    "mkdirSync",
    "execSync",
    "spawn",
    "document",
    "window",
];

/// A function or class that can be called by itself on both sides of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) path: String,
    pub(super) language: Language,
    /// Its name in its file.
    pub(super) local: String,
    /// The name under which others get it.
    pub(super) exported: String,
    pub(super) class: bool,
    /// Whether it is what a module gives where nobody names anything.
    pub(super) default: bool,
}

impl Target {
    /// Returns the name of the file without its ending.
    pub(super) fn stem(&self) -> String {
        let name = self.path.rsplit('/').next().unwrap_or("");
        name.split('.').next().unwrap_or("").to_owned()
    }
}

/// A definition at the top of a file.
#[derive(Debug, Default)]
struct Unit {
    tokens: Vec<String>,
    callable: bool,
    class: bool,
    asynchronous: bool,
}

type Units = BTreeMap<String, Unit>;

/// Returns what the change of one file reaches.
pub(super) fn targets(before: &Source, after: &Source) -> Vec<Target> {
    let (old, new) = (units(before), units(after));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let tokens_of = |units: &Units, name: &str| units.get(name).map(|unit| unit.tokens.clone());
    let changed = names.iter().filter(|name| tokens_of(&old, name) != tokens_of(&new, name));
    let mut reached: BTreeSet<String> = changed.map(|name| (*name).clone()).collect();
    spread(&mut reached, &[&old, &new]);
    let mut effects: BTreeSet<String> = names
        .iter()
        .filter(|name| has_effects(after.language, &[&old, &new], name))
        .map(|name| (*name).clone())
        .collect();
    spread(&mut effects, &[&old, &new]);
    let exports = [exports(before), exports(after)];
    let mut targets = Vec::new();
    for (local, unit) in &new {
        let python = after.language == Language::Python;
        // What is new has no old side; its calls tell what a mutant of it changes.
        let kept = old.get(local).is_none_or(|old| old.callable && old.class == unit.class);
        let late = python && unit.asynchronous;
        if !unit.callable || !kept || late || !reached.contains(local) || effects.contains(local) {
            continue;
        }
        let of = |side: &BTreeMap<String, String>| {
            if python { Some(local.clone()) } else { side.get(local).cloned() }
        };
        let Some(exported) = of(&exports[1]) else { continue };
        if !old.contains_key(local) || of(&exports[0]).as_ref() == Some(&exported) {
            let default = exported == "default";
            let (path, language) = (after.path.clone(), after.language);
            targets.push(Target {
                path,
                language,
                local: local.clone(),
                exported,
                class: unit.class,
                default,
            });
        }
    }
    targets
}

/// Adds every definition that mentions one of the set.
fn spread(set: &mut BTreeSet<String>, sides: &[&Units]) {
    loop {
        let known = set.len();
        for (name, unit) in sides.iter().flat_map(|units| units.iter()) {
            if unit.tokens.iter().any(|token| token != name && set.contains(token)) {
                set.insert(name.clone());
            }
        }
        if set.len() == known {
            return;
        }
    }
}

fn has_effects(language: Language, sides: &[&Units], name: &str) -> bool {
    let words: &[&str] = if language == Language::Python { &PYTHON_EFFECTS } else { &JAVASCRIPT_EFFECTS };
    sides.iter().filter_map(|units| units.get(name)).any(|unit| {
        let process = unit.tokens.windows(3).any(|next| {
            let harmless =
                matches!(next, [_, _, member] if ["env", "platform", "version"].contains(&member.as_str()));
            language != Language::Python && next.first().is_some_and(|word| word == "process") && !harmless
        });
        process || unit.tokens.iter().any(|token| words.contains(&token.as_str()) || is_effect_module(token))
    })
}

/// Tells whether a token is the quoted name of a module of Node that does more than compute.
fn is_effect_module(token: &str) -> bool {
    let name = token.trim_matches(['"', '\'']);
    name != token
        && (name.starts_with("node:fs")
            || ["fs", "fs/promises", "child_process", "node:child_process"].contains(&name))
}

/// Returns the definitions at the top of a file.
fn units(source: &Source) -> Units {
    let mut units = Units::new();
    for statement in children(source.root()) {
        let inner = match statement.kind() {
            "decorated_definition" => statement.child_by_field_name("definition"),
            "export_statement" => statement
                .child_by_field_name("declaration")
                .or_else(|| statement.child_by_field_name("value")),
            "expression_statement" => statement.named_child(0),
            _ => Some(statement),
        };
        let Some(inner) = inner else { continue };
        match inner.kind() {
            "function_definition"
            | "class_definition"
            | "function_declaration"
            | "generator_function_declaration"
            | "class_declaration" => {
                let name = inner.child_by_field_name("name").map_or("default", |name| source.of(name));
                add(&mut units, source, name, statement, inner);
            }
            "lexical_declaration" | "variable_declaration" => {
                for declarator in
                    children(inner).into_iter().filter(|child| child.kind() == "variable_declarator")
                {
                    let value = declarator.child_by_field_name("value").unwrap_or(declarator);
                    let Some(name) = declarator.child_by_field_name("name") else { continue };
                    for name in bound(source, name) {
                        add(&mut units, source, name, declarator, value);
                    }
                }
            }
            "assignment" | "assignment_expression" | "augmented_assignment" => {
                let (left, right) = (inner.child_by_field_name("left"), inner.child_by_field_name("right"));
                let Some(left) = left else { continue };
                let property =
                    left.child_by_field_name("property").filter(|_| source.of(left).contains("exports."));
                match property {
                    Some(name) => add(&mut units, source, source.of(name), inner, right.unwrap_or(inner)),
                    None if source.of(left) == "module.exports" => exported_values(&mut units, source, right),
                    None => bound(source, left)
                        .iter()
                        .for_each(|name| add(&mut units, source, name, inner, inner)),
                }
            }
            "import_statement" | "import_from_statement" => {
                for name in bound(source, inner) {
                    add(&mut units, source, name, inner, inner);
                }
            }
            "arrow_function" | "function_expression" | "class" => {
                add(&mut units, source, "default", inner, inner)
            }
            _ => {}
        }
    }
    units
}

/// Returns the names below a pattern or an import.
fn bound<'a>(source: &'a Source, pattern: Node<'a>) -> Vec<&'a str> {
    let names = descend(pattern).into_iter();
    let names =
        names.filter(|node| node.kind().contains("identifier") && node.kind() != "property_identifier");
    names.map(|name| source.of(name)).collect()
}

/// Adds functions that stand in `module.exports = ...` itself.
fn exported_values(units: &mut Units, source: &Source, value: Option<Node<'_>>) {
    let Some(value) = value else { return };
    if value.kind() != "object" {
        add(units, source, "default", value, value);
        return;
    }
    for child in children(value) {
        let (name, held) = match child.kind() {
            "pair" => (child.child_by_field_name("key"), child.child_by_field_name("value")),
            "method_definition" => (child.child_by_field_name("name"), Some(child)),
            _ => continue,
        };
        if let (Some(name), Some(held)) = (name, held)
            && held.kind() != "identifier"
        {
            add(units, source, source.of(name), child, held);
        }
    }
}

fn add(units: &mut Units, source: &Source, name: &str, whole: Node<'_>, value: Node<'_>) {
    let callable = value.kind().contains("function") || value.kind() == "method_definition";
    let class = value.kind().starts_with("class");
    let unit = units.entry(name.to_owned()).or_default();
    unit.tokens.extend(tokens(source, whole));
    // Python's blocks are blank space only: where a line moves out of one, the tokens stay.
    let blocks = descend(whole).into_iter().filter(|node| node.kind() == "block");
    unit.tokens.extend(blocks.map(|block| format!("block {}", tokens(source, block).len())));
    unit.callable |= callable || class;
    unit.class |= class;
    unit.asynchronous |= source.of(value).starts_with("async");
}

/// Returns under which name others get a definition of a JavaScript file.
fn exports(source: &Source) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in children(source.root()) {
        let text = source.of(statement);
        if statement.kind() == "export_statement" {
            let default = text.starts_with("export default");
            for node in descend(statement).into_iter().filter(|node| node.kind() == "export_specifier") {
                let name = |field| node.child_by_field_name(field).map(|name| source.of(name).to_owned());
                if let Some(local) = name("name") {
                    exports.insert(local.clone(), name("alias").unwrap_or(local));
                }
            }
            for name in exported_names(source, statement) {
                exports.insert(name.clone(), if default { "default".to_owned() } else { name });
            }
        }
        let Some(inner) = statement.named_child(0).filter(|inner| inner.kind() == "assignment_expression")
        else {
            continue;
        };
        let (left, right) = (inner.child_by_field_name("left"), inner.child_by_field_name("right"));
        let (Some(left), Some(right)) = (left, right) else { continue };
        let property = left.child_by_field_name("property").map_or("", |name| source.of(name));
        match source.of(left) {
            "module.exports" if right.kind() == "object" => exports.extend(listed(source, right)),
            "module.exports" if right.kind() == "identifier" => {
                exports.insert(source.of(right).to_owned(), "default".into());
            }
            "module.exports" => {
                exports.insert("default".into(), "default".into());
            }
            text if text.starts_with("exports.") || text.starts_with("module.exports.") => {
                let local = if right.kind() == "identifier" { source.of(right) } else { property };
                exports.insert(local.to_owned(), property.to_owned());
            }
            _ => {}
        }
    }
    exports
}

/// Returns the names that `export function f`, `export const f = ...` and `export default f` give away.
fn exported_names(source: &Source, statement: Node<'_>) -> Vec<String> {
    let declaration =
        statement.child_by_field_name("declaration").or_else(|| statement.child_by_field_name("value"));
    let Some(declaration) = declaration else { return Vec::new() };
    if declaration.kind() == "identifier" {
        return vec![source.of(declaration).to_owned()];
    }
    if let Some(name) = declaration.child_by_field_name("name") {
        return vec![source.of(name).to_owned()];
    }
    let declarators = children(declaration).into_iter().filter(|child| child.kind() == "variable_declarator");
    let names: Vec<String> = declarators
        .filter_map(|child| Some(source.of(child.child_by_field_name("name")?).to_owned()))
        .collect();
    if names.is_empty() { vec!["default".to_owned()] } else { names }
}

/// Returns the local and the outer names of `{ f, g: h, k() {} }`.
fn listed(source: &Source, object: Node<'_>) -> Vec<(String, String)> {
    let text = |node: Node<'_>| source.of(node).to_owned();
    let pair = |child: Node<'_>| match child.kind() {
        "shorthand_property_identifier" => Some((text(child), text(child))),
        "method_definition" => child.child_by_field_name("name").map(|name| (text(name), text(name))),
        "pair" => {
            let (key, value) = (child.child_by_field_name("key")?, child.child_by_field_name("value")?);
            let local = if value.kind() == "identifier" { text(value) } else { text(key) };
            Some((local, text(key)))
        }
        _ => None,
    };
    children(object).into_iter().filter_map(pair).collect()
}
