//! The functions, methods, types and constants of a file, with where they stand.

use std::collections::BTreeSet;
use std::ops::Range;

use tree_sitter::Node;

use super::{Kind, Part};
use crate::inspect::Source;
use crate::inspect::language::{Language, children, descend};

/// A file with more items is read up to here.
const MOST_ITEMS: usize = 5_000;

/// Types and modules that lie deeper in each other are not opened.
const DEEPEST: usize = 12;

/// A function, method, constant or type of a file.
#[derive(Debug, Clone)]
pub(in crate::inspect) struct Item<'t> {
    pub(in crate::inspect) kind: Kind,
    /// Its name with what it lies in, such as `Cache.get`.
    pub(in crate::inspect) name: String,
    /// As the name, with the trait that a method is for.
    pub(super) key: String,
    /// The node that has the parameters, or the declaration.
    pub(in crate::inspect) node: Node<'t>,
    /// All of it, decorators and attributes included.
    pub(in crate::inspect) range: Range<usize>,
    /// What another body can come in place of.
    pub(in crate::inspect) body: Option<Range<usize>>,
    /// Its parameters by name; a pattern as its source.
    pub(in crate::inspect) parameters: Vec<String>,
    /// Whether other files can name it.
    pub(in crate::inspect) public: bool,
}

impl Item<'_> {
    pub(super) fn part(&self) -> Part {
        Part { item: self.range.clone(), body: self.body.clone(), parameters: self.parameters.clone() }
    }
}

/// A node that may be an item or hold some.
struct Place<'t> {
    node: Node<'t>,
    /// Where it starts, with what belongs to it.
    start: usize,
    /// What it lies in, with a dot behind each name.
    within: String,
    /// The trait that is implemented here, with the type.
    key: String,
    public: bool,
    /// Whether a type holds it.
    member: bool,
    depth: usize,
}

impl<'t> Place<'t> {
    fn below(&self, node: Node<'t>) -> Self {
        Self {
            node,
            start: node.start_byte(),
            within: self.within.clone(),
            key: self.key.clone(),
            public: self.public,
            member: self.member,
            depth: self.depth,
        }
    }

    fn inside(&self, name: &str, node: Node<'t>, public: bool) -> Self {
        let (within, key) = (format!("{}{name}.", self.within), format!("{}{name}.", self.key));
        Self { within, key, public, member: true, depth: self.depth + 1, ..self.below(node) }
    }

    fn item(&self, kind: Kind, name: &str, node: Node<'t>, public: bool) -> Item<'t> {
        Item {
            kind,
            name: format!("{}{name}", self.within),
            key: format!("{}{name}", self.key),
            node,
            range: self.start..self.node.end_byte(),
            body: None,
            parameters: Vec::new(),
            public: self.public && public,
        }
    }
}

/// Returns the items of a file that are no tests, in its order; those in other functions belong to them.
pub(in crate::inspect) fn items(source: &Source) -> Vec<Item<'_>> {
    let exported = exported(source);
    let root = source.root();
    let mut found = Vec::new();
    let mut open = vec![Place {
        node: root,
        start: 0,
        within: String::new(),
        key: String::new(),
        public: true,
        member: false,
        depth: 0,
    }];
    while let Some(place) = open.pop() {
        let below = match source.language {
            Language::Python => python(source, &place, &mut found),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                script(source, &place, &exported, &mut found)
            }
            Language::Rust => rust(source, &place, &mut found),
            Language::Go => go(source, &place, &mut found),
            Language::Java => java(source, &place, &mut found),
        };
        open.extend(below.into_iter().rev().filter(|below| below.depth <= DEEPEST));
        if found.len() >= MOST_ITEMS {
            break;
        }
    }
    found
}

fn text<'t>(source: &'t Source, node: Option<Node<'_>>) -> &'t str {
    node.map_or("", |node| source.of(node))
}

fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// Adds the names of the parameters and the place of the body.
fn function<'t>(source: &Source, mut item: Item<'t>) -> Item<'t> {
    let node = item.node;
    let list = field(node, "parameters").or_else(|| field(node, "parameter"));
    item.parameters = list.map(|list| parameters(source, list)).unwrap_or_default();
    item.body = field(node, "body").map(|body| match source.language {
        // Behind the colon, so that a body on the same line and one below can come in place of each other.
        Language::Python => {
            let mut cursor = node.walk();
            let colon = node.children(&mut cursor).filter(|child| child.kind() == ":").last();
            colon.map_or(body.start_byte(), |colon| colon.end_byte())..body.end_byte()
        }
        Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Rust
        | Language::Go
        | Language::Java => body.byte_range(),
    });
    item
}

fn parameters(source: &Source, list: Node<'_>) -> Vec<String> {
    if list.kind() == "identifier" {
        return vec![source.of(list).to_owned()];
    }
    let mut names = Vec::new();
    for parameter in children(list) {
        if parameter.kind().contains("comment") || parameter.kind().contains("separator") {
            continue;
        }
        if parameter.kind() == "self_parameter" {
            names.push("self".to_owned());
            continue;
        }
        let mut cursor = parameter.walk();
        let mut named: Vec<Node<'_>> = parameter.children_by_field_name("name", &mut cursor).collect();
        if named.is_empty() {
            let one = field(parameter, "pattern").or_else(|| field(parameter, "left"));
            let inner = match parameter.kind() {
                "typed_parameter" => children(parameter).into_iter().next(),
                "spread_parameter" => children(parameter).into_iter().last(),
                _ => None,
            };
            named.push(one.or(inner).unwrap_or(parameter));
        }
        names.extend(named.into_iter().map(|name| {
            let name = source.of(name).trim_start_matches(['*', '.', '&']);
            name.split_whitespace().collect::<Vec<_>>().join(" ")
        }));
    }
    names
}

fn python<'t>(source: &'t Source, place: &Place<'t>, found: &mut Vec<Item<'t>>) -> Vec<Place<'t>> {
    let node = place.node;
    let name = text(source, field(node, "name"));
    let public = !name.starts_with('_') || (name.starts_with("__") && name.ends_with("__"));
    match node.kind() {
        "module" | "block" | "try_statement" | "except_clause" | "else_clause" | "elif_clause"
        | "finally_clause" | "with_statement" => {
            children(node).into_iter().map(|child| place.below(child)).collect()
        }
        "if_statement" if !text(source, field(node, "condition")).contains("__main__") => {
            children(node).into_iter().map(|child| place.below(child)).collect()
        }
        "decorated_definition" => {
            let definition = field(node, "definition");
            definition
                .map(|below| Place { start: node.start_byte(), ..place.below(below) })
                .into_iter()
                .collect()
        }
        "function_definition" => {
            let makes = place.member && matches!(name, "__init__" | "__new__" | "__post_init__");
            let kind = if makes { Kind::Constructor } else { Kind::Function };
            found.push(function(source, place.item(kind, name, node, public)));
            Vec::new()
        }
        "class_definition" => {
            found.push(place.item(Kind::Type, name, node, public));
            field(node, "body")
                .map(|body| place.inside(name, body, place.public && public))
                .into_iter()
                .collect()
        }
        "expression_statement" => {
            let assignment = node.named_child(0).filter(|child| child.kind() == "assignment");
            let left = assignment.and_then(|assignment| field(assignment, "left"));
            if let Some(left) = left.filter(|left| left.kind() == "identifier") {
                let name = source.of(left);
                found.push(place.item(Kind::Constant, name, node, !name.starts_with('_')));
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Returns the names that a JavaScript file exports by a list.
fn exported(source: &Source) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    if !matches!(source.language, Language::JavaScript | Language::TypeScript | Language::Tsx) {
        return names;
    }
    for node in children(source.root()) {
        let listed = node.kind() == "export_statement" && field(node, "declaration").is_none();
        let assigned = node.kind() == "expression_statement"
            && ["module.exports", "exports."].iter().any(|start| source.of(node).starts_with(start));
        if listed || assigned {
            let names_here = descend(node).into_iter().filter(|node| node.kind().ends_with("identifier"));
            names.extend(names_here.map(|node| source.of(node)));
        }
    }
    names
}

const CALLABLE: [&str; 4] = ["arrow_function", "function_expression", "function", "generator_function"];

fn script<'t>(
    source: &'t Source,
    place: &Place<'t>,
    exported: &BTreeSet<&str>,
    found: &mut Vec<Item<'t>>,
) -> Vec<Place<'t>> {
    let node = place.node;
    let name = text(source, field(node, "name").or_else(|| field(node, "property")));
    let public = place.public || exported.contains(name);
    let mut add = |kind: Kind, name: &str, node: Node<'t>| {
        let item = Item { public, ..place.item(kind, name, node, true) };
        let callable = matches!(kind, Kind::Function | Kind::Constructor);
        found.push(if callable { function(source, item) } else { item });
    };
    match node.kind() {
        "program" | "lexical_declaration" | "variable_declaration" | "statement_block" => {
            // Below the program only what is exported is public.
            let public = place.public && node.kind() != "program";
            children(node).into_iter().map(|child| Place { public, ..place.below(child) }).collect()
        }
        "class_body" => children(node).into_iter().map(|child| place.below(child)).collect(),
        "export_statement" => {
            let below = field(node, "declaration").or_else(|| field(node, "value"));
            below.map(|below| Place { public: true, ..place.below(below) }).into_iter().collect()
        }
        "function_declaration" | "generator_function_declaration" => {
            add(Kind::Function, name, node);
            Vec::new()
        }
        "method_definition" => {
            add(if name == "constructor" { Kind::Constructor } else { Kind::Function }, name, node);
            Vec::new()
        }
        kind if CALLABLE.contains(&kind) => {
            add(Kind::Function, "default", node);
            Vec::new()
        }
        "variable_declarator" | "field_definition" | "public_field_definition" => {
            match field(node, "value").filter(|value| CALLABLE.contains(&value.kind())) {
                Some(value) => add(Kind::Function, name, value),
                None => add(Kind::Constant, name, node),
            }
            Vec::new()
        }
        "class_declaration" | "abstract_class_declaration" | "class" => {
            add(Kind::Type, name, node);
            field(node, "body").map(|body| place.inside(name, body, public)).into_iter().collect()
        }
        "interface_declaration" | "type_alias_declaration" | "enum_declaration" => {
            add(Kind::Type, name, node);
            Vec::new()
        }
        "internal_module" | "module" => {
            let inside = field(node, "body").map(|body| place.inside(name, body, public));
            inside.map(|inside| Place { member: false, ..inside }).into_iter().collect()
        }
        "expression_statement" => {
            let below = node.named_child(0);
            below.map(|below| place.below(below)).into_iter().collect()
        }
        "assignment_expression" => {
            let value = field(node, "right").filter(|value| CALLABLE.contains(&value.kind()));
            let left = text(source, field(node, "left"));
            if let (Some(value), true) = (value, !left.contains(['(', '[', '\n'])) {
                let left = left.trim_start_matches("module.").trim_start_matches("exports.");
                add(Kind::Function, &left.replace(".prototype.", "."), value);
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Tells whether an attribute makes the item behind it a test, or a part of the tests only.
pub(in crate::inspect) fn is_test_attribute(text: &str) -> bool {
    let compact: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let inner = compact.trim_start_matches(['#', '!', '[']).trim_end_matches(']');
    if let Some(condition) = inner.strip_prefix("cfg(") {
        // What is quoted is the name of a feature or of a platform.
        let plain = || condition.split('"').step_by(2);
        let words =
            || plain().flat_map(|part| part.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
        return words().any(|word| word == "test") && words().all(|word| word != "not" && word != "any");
    }
    let path = inner.split('(').next().unwrap_or("");
    let last = path.rsplit("::").next().unwrap_or("");
    matches!(
        last,
        "test" | "rstest" | "test_case" | "bench" | "quickcheck" | "wasm_bindgen_test" | "parameterized"
    )
}

fn rust<'t>(source: &'t Source, place: &Place<'t>, found: &mut Vec<Item<'t>>) -> Vec<Place<'t>> {
    let node = place.node;
    let name = text(source, field(node, "name"));
    let mut cursor = node.walk();
    let public = node.named_children(&mut cursor).any(|child| child.kind() == "visibility_modifier");
    match node.kind() {
        "source_file" | "declaration_list" => {
            let mut below = Vec::new();
            let (mut start, mut test) = (None, false);
            for child in children(node) {
                match child.kind() {
                    "attribute_item" => {
                        start = start.or(Some(child.start_byte()));
                        test |= is_test_attribute(source.of(child));
                    }
                    "line_comment" | "block_comment" => {}
                    _ => {
                        let start = start.take().unwrap_or(child.start_byte());
                        if !std::mem::take(&mut test) {
                            below.push(Place { start, ..place.below(child) });
                        }
                    }
                }
            }
            below
        }
        "mod_item" => {
            let inside = field(node, "body").map(|body| place.inside(name, body, place.public && public));
            inside.map(|inside| Place { member: false, ..inside }).into_iter().collect()
        }
        "impl_item" => {
            let of = |field: Option<Node<'_>>| {
                text(source, field).split('<').next().unwrap_or("").trim().to_owned()
            };
            let name = of(field(node, "type"));
            let made = field(node, "trait").map(|node| source.of(node));
            let inside = field(node, "body").map(|body| place.inside(&name, body, place.public));
            let key = |inside: &Place<'_>| made.map(|made| format!("{}<{made}>.", inside.key));
            inside
                .map(|inside| Place { key: key(&inside).unwrap_or(inside.key.clone()), ..inside })
                .into_iter()
                .collect()
        }
        "trait_item" => {
            found.push(place.item(Kind::Type, name, node, public));
            field(node, "body").map(|body| place.inside(name, body, public)).into_iter().collect()
        }
        "function_item" => {
            found.push(function(source, place.item(Kind::Function, name, node, public)));
            Vec::new()
        }
        "struct_item" | "enum_item" | "union_item" | "type_item" | "macro_definition" => {
            found.push(place.item(Kind::Type, name, node, public));
            Vec::new()
        }
        "const_item" | "static_item" => {
            found.push(place.item(Kind::Constant, name, node, public));
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn go<'t>(source: &'t Source, place: &Place<'t>, found: &mut Vec<Item<'t>>) -> Vec<Place<'t>> {
    let node = place.node;
    let name = text(source, field(node, "name"));
    let public = name.starts_with(char::is_uppercase);
    match node.kind() {
        "source_file" | "type_declaration" | "const_declaration" | "var_declaration" | "var_spec_list" => {
            children(node).into_iter().map(|child| place.below(child)).collect()
        }
        "function_declaration" => {
            found.push(function(source, place.item(Kind::Function, name, node, public)));
            Vec::new()
        }
        "method_declaration" => {
            let receiver = text(source, field(node, "receiver")).trim_matches(['(', ')']);
            let of = receiver.split('[').next().unwrap_or("").rsplit([' ', '*']).next().unwrap_or("");
            found.push(function(source, place.item(Kind::Function, &format!("{of}.{name}"), node, public)));
            Vec::new()
        }
        "type_spec" | "type_alias" => {
            found.push(place.item(Kind::Type, name, node, public));
            Vec::new()
        }
        "const_spec" | "var_spec" => {
            found.push(place.item(Kind::Constant, name, node, public));
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn java<'t>(source: &'t Source, place: &Place<'t>, found: &mut Vec<Item<'t>>) -> Vec<Place<'t>> {
    let node = place.node;
    let name = text(source, field(node, "name"));
    let modifiers = children(node).into_iter().find(|child| child.kind() == "modifiers");
    let public = text(source, modifiers).split_whitespace().any(|word| word == "public");
    match node.kind() {
        "program" | "class_body" | "interface_body" | "enum_body" | "enum_body_declarations" => {
            children(node).into_iter().map(|child| place.below(child)).collect()
        }
        "class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration" => {
            found.push(place.item(Kind::Type, name, node, public));
            field(node, "body")
                .map(|body| place.inside(name, body, place.public && public))
                .into_iter()
                .collect()
        }
        "method_declaration" => {
            found.push(function(source, place.item(Kind::Function, name, node, public)));
            Vec::new()
        }
        "constructor_declaration" | "compact_constructor_declaration" => {
            found.push(function(source, place.item(Kind::Constructor, name, node, public)));
            Vec::new()
        }
        "field_declaration" => {
            let declarator = text(source, field(node, "declarator"));
            let name = declarator.split(['=', '[']).next().unwrap_or("").trim().to_owned();
            found.push(place.item(Kind::Constant, &name, node, public));
            Vec::new()
        }
        _ => Vec::new(),
    }
}
