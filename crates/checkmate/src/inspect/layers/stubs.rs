//! Bodies that do nothing, so that a name exists and can be called.

use tree_sitter::Node;

use crate::inspect::Source;
use crate::inspect::functions::{Item, Kind};
use crate::inspect::language::{Language, children};

/// Types that lie deeper in each other have no stub.
const DEEPEST: usize = 4;

/// What Rust returns where no value is known.
const UNKNOWN: &str = "unimplemented!(\"not written yet\")";

/// Returns what comes in place of a body; `None` for what has none, or keeps it because values cannot be made without.
pub(super) fn stub(source: &Source, item: &Item<'_>) -> Option<String> {
    item.body.as_ref()?;
    if item.kind == Kind::Constructor {
        return None;
    }
    Some(match source.language {
        Language::Python => python(source, item)?,
        Language::JavaScript | Language::TypeScript | Language::Tsx => script(source, item)?,
        Language::Rust => match item.node.child_by_field_name("return_type") {
            None => "{}".to_owned(),
            Some(returned) => match rust(source, returned, 0) {
                Some(value) if value == "()" => "{}".to_owned(),
                Some(value) => format!("{{ {value} }}"),
                None => format!("{{ {UNKNOWN} }}"),
            },
        },
        Language::Go => go(source, item),
        Language::Java => java(source, item),
    })
}

/// Returns the blank space that a line starts with.
pub(super) fn indent(text: &str, at: usize) -> &str {
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    let line = text.get(start..).unwrap_or("");
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or("")
}

fn python(source: &Source, item: &Item<'_>) -> Option<String> {
    let body = item.node.child_by_field_name("body")?;
    let outer = indent(&source.text, item.node.start_byte());
    let own_line = body.start_position().row > item.node.start_position().row
        && indent(&source.text, body.start_byte()).len() == body.start_position().column;
    let inner = if own_line {
        indent(&source.text, body.start_byte()).to_owned()
    } else {
        format!("{outer}{}", if outer.contains('\t') { "\t" } else { "    " })
    };
    if yields(body) {
        return Some(format!("\n{inner}return\n{inner}yield"));
    }
    let value = match item.name.rsplit('.').next().unwrap_or("") {
        "__repr__" | "__str__" => "\"\"",
        "__len__" | "__hash__" => "0",
        "__bool__" | "__eq__" | "__contains__" => "False",
        "__iter__" => "iter(())",
        "__enter__" => "self",
        _ => "None",
    };
    Some(format!("\n{inner}return {value}"))
}

/// Tells whether a body yields itself, functions in it left out.
fn yields(body: Node<'_>) -> bool {
    let mut open = vec![body];
    while let Some(node) = open.pop() {
        match node.kind() {
            "yield" => return true,
            "function_definition" | "lambda" | "class_definition" => {}
            _ => open.extend(children(node)),
        }
    }
    false
}

fn script(source: &Source, item: &Item<'_>) -> Option<String> {
    let body = item.node.child_by_field_name("body")?;
    let setter = source.of(item.node).starts_with("set ");
    // A type checker must let it pass.
    let value = if source.language == Language::JavaScript { "undefined" } else { "undefined as any" };
    Some(match (body.kind(), setter) {
        ("statement_block", true) => "{}".to_owned(),
        ("statement_block", false) => format!("{{ return {value}; }}"),
        _ => value.to_owned(),
    })
}

/// Returns a value of a Rust type.
fn rust(source: &Source, of: Node<'_>, depth: usize) -> Option<String> {
    if depth > DEEPEST {
        return None;
    }
    let text = source.of(of);
    match of.kind() {
        "unit_type" => Some("()".to_owned()),
        "primitive_type" => Some(match text {
            "bool" => "false".to_owned(),
            "char" => "'\\0'".to_owned(),
            "f32" | "f64" => "0.0".to_owned(),
            "str" => return None,
            _ => "0".to_owned(),
        }),
        "reference_type" => {
            let inner = of.child_by_field_name("type")?;
            let mut cursor = of.walk();
            let mutable = of.children(&mut cursor).any(|child| child.kind() == "mutable_specifier");
            match (inner.kind(), source.of(inner)) {
                _ if mutable => None,
                (_, "str") => Some("\"\"".to_owned()),
                ("array_type", array) if !array.contains(';') => Some("&[]".to_owned()),
                _ => None,
            }
        }
        "tuple_type" => {
            let parts: Option<Vec<String>> =
                children(of).into_iter().map(|part| rust(source, part, depth + 1)).collect();
            Some(format!("({})", parts?.join(", ")))
        }
        "type_identifier" | "scoped_type_identifier" => match text {
            "String" | "std::string::String" => Some("String::new()".to_owned()),
            "fmt::Result" | "std::fmt::Result" => Some("Ok(())".to_owned()),
            "PathBuf" | "OsString" | "std::path::PathBuf" | "Duration" => {
                Some("Default::default()".to_owned())
            }
            _ => None,
        },
        "generic_type" => {
            let name = of.child_by_field_name("type").map_or("", |name| source.of(name));
            let first = || {
                let arguments = children(of.child_by_field_name("type_arguments")?);
                let first = arguments.into_iter().find(|argument| argument.kind() != "lifetime")?;
                rust(source, first, depth + 1)
            };
            let last = name.rsplit("::").next().unwrap_or("");
            match last {
                "Option" => Some("None".to_owned()),
                "Vec" => Some("Vec::new()".to_owned()),
                "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet" | "VecDeque" | "BinaryHeap" => {
                    Some("Default::default()".to_owned())
                }
                "Cow" if text.contains("str") => Some("\"\".into()".to_owned()),
                "Box" | "Rc" | "Arc" => Some(format!("{last}::new({})", first()?)),
                last if last.ends_with("Result") => Some(format!("Ok({})", first()?)),
                _ => None,
            }
        }
        // Where the type is hidden, a value that is never made has none.
        "abstract_type" if text.contains("Iterator") => Some("std::iter::empty()".to_owned()),
        _ => None,
    }
}

fn go(source: &Source, item: &Item<'_>) -> String {
    let Some(result) = item.node.child_by_field_name("result") else { return "{}".to_owned() };
    if result.kind() != "parameter_list" {
        return format!("{{\n\tvar zero {}\n\treturn zero\n}}", source.of(result));
    }
    let parts = children(result);
    if parts.iter().any(|part| part.child_by_field_name("name").is_some()) {
        return "{ return }".to_owned();
    }
    let types = parts.iter().filter_map(|part| part.child_by_field_name("type"));
    let zeros: Vec<_> = types.enumerate().map(|(at, of)| (format!("zero{at}"), source.of(of))).collect();
    let declared: String = zeros.iter().map(|(name, of)| format!("\tvar {name} {of}\n")).collect();
    let names: Vec<&str> = zeros.iter().map(|(name, _)| name.as_str()).collect();
    format!("{{\n{declared}\treturn {}\n}}", names.join(", "))
}

fn java(source: &Source, item: &Item<'_>) -> String {
    let returned = item.node.child_by_field_name("type");
    let value = match returned.map_or("", |returned| source.of(returned)) {
        "void" => return "{}".to_owned(),
        "boolean" => "false",
        "byte" | "short" | "int" | "long" | "char" | "float" | "double" => "0",
        _ => "null",
    };
    format!("{{ return {value}; }}")
}
