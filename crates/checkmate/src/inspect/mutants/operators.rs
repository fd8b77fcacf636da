//! Finds small changes of code by its syntax tree.
//!
//! Where types are closed (Rust, Go, Java), only changes that surely compile are made: a mutant that does not compile
//! tells nothing about tests.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::literals;
use super::targets::Target;
use super::{Candidate, Rank};
use crate::inspect::Source;
use crate::inspect::language::{Language, children};

/// Candidates of one function.
const MOST: usize = 2_000;

/// Longer expressions are not looked through.
const LONGEST: usize = 400;

/// What lies around a node.
#[derive(Clone, Copy)]
pub(super) struct Around<'t> {
    /// The innermost function.
    function: Option<Node<'t>>,
    /// Whether the innermost loop runs until a condition.
    until: bool,
    /// The kind of the parent.
    pub(super) parent: &'t str,
    /// Whether the item is a constant.
    pub(super) constant: bool,
}

/// Collects candidates of one file.
pub(super) struct Found<'t> {
    pub(super) source: &'t Source,
    rows: &'t BTreeSet<usize>,
    list: Vec<Candidate>,
    /// How often each word occurs in the file; of Go only, which refuses unused names.
    words: BTreeMap<&'t str, usize>,
}

impl Found<'_> {
    /// Adds a candidate if it lies on a line that matters.
    pub(super) fn add(&mut self, rank: Rank, node: Node<'_>, text: impl Into<String>) {
        let row = node.start_position().row;
        if self.rows.contains(&row) {
            self.list.push(Candidate { rank, range: node.byte_range(), text: text.into(), row });
        }
    }
}

/// Tells whether values of any type fit anywhere.
pub(super) fn is_open(language: Language) -> bool {
    match language {
        Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => true,
        Language::Rust | Language::Go | Language::Java => false,
    }
}

/// Returns the candidates on the lines that matter of a function or constant.
pub(super) fn candidates(source: &Source, target: &Target) -> Vec<Candidate> {
    let range = target.range.clone();
    let Some(root) = source.root().descendant_for_byte_range(range.start, range.end) else {
        return Vec::new();
    };
    let around = Around { function: None, until: false, parent: "", constant: target.function.is_none() };
    let mut words = BTreeMap::new();
    if source.language == Language::Go {
        names(&source.text).for_each(|word| *words.entry(word).or_default() += 1);
    }
    let mut found = Found { source, rows: &target.rows, list: Vec::new(), words };
    let mut open = vec![(root, around)];
    while let Some((node, around)) = open.pop() {
        let rows = node.start_position().row..=node.end_position().row;
        if target.rows.range(rows).next().is_none() || found.list.len() >= MOST || is_beside(source, node) {
            continue;
        }
        signs(&mut found, node, around);
        conditions(&mut found, node);
        returns(&mut found, node, around);
        statements(&mut found, node, around);
        calls(&mut found, node);
        literals::of(&mut found, node, around);
        let inner = Around {
            function: if is_function(node) { Some(node) } else { around.function },
            until: match node.kind() {
                "while_statement" | "while_expression" | "loop_expression" | "do_statement" => true,
                "for_statement" | "for_in_statement" | "for_expression" => false,
                _ => around.until,
            },
            parent: node.kind(),
            ..around
        };
        let below = children(node).into_iter().rev();
        let types = types(node);
        open.extend(below.filter(|child| !types.contains(&Some(child.id()))).map(|child| (child, inner)));
    }
    found.list
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "function_definition"
            | "lambda"
            | "function_declaration"
            | "generator_function_declaration"
            | "function_expression"
            | "arrow_function"
            | "method_definition"
            | "generator_function"
    )
}

/// Returns the children of a node that are about types.
fn types(node: Node<'_>) -> [Option<usize>; 5] {
    ["type", "return_type", "type_parameters", "type_arguments", "length"]
        .map(|field| node.child_by_field_name(field).map(|found| found.id()))
}

/// Tells whether a node is about something else than what the code does: types, messages, logs, documentation.
fn is_beside(source: &Source, node: Node<'_>) -> bool {
    match node.kind() {
        "type"
        | "type_annotation"
        | "type_arguments"
        | "type_parameters"
        | "array_type"
        | "generic_type"
        | "decorator"
        | "annotation"
        | "marker_annotation"
        | "attribute_item"
        | "raise_statement"
        | "throw_statement"
        | "assert_statement"
        | "import_statement"
        | "import_from_statement"
        | "use_declaration"
        | "macro_invocation"
        | "match_pattern"
        | "switch_label"
        | "where_clause" => true,
        "call" | "call_expression" | "method_invocation" => {
            let start: String = source.of(node).chars().take(24).collect::<String>().to_lowercase();
            let start = start.trim_start_matches("self.").trim_start_matches("this.").trim_start_matches('_');
            ["print", "console.", "log.", "logger.", "logging.", "warnings.", "system.out", "system.err"]
                .iter()
                .chain(&["fmt.print", "fmt.fprint", "fmt.errorf", "errors.new", "panic(", "pprint", "log("])
                .any(|word| start.starts_with(word))
        }
        "expression_statement" => {
            source.language == Language::Python
                && node.named_child(0).is_some_and(|child| child.kind() == "string")
        }
        kind => kind.contains("comment"),
    }
}

/// Returns what comes in place of a sign.
fn other_sign(language: Language, sign: &str) -> Option<(Rank, &'static str)> {
    let python = language == Language::Python;
    Some(match sign {
        "<" => (Rank::Boundary, "<="),
        "<=" => (Rank::Boundary, "<"),
        ">" => (Rank::Boundary, ">="),
        ">=" => (Rank::Boundary, ">"),
        "==" => (Rank::Condition, "!="),
        "!=" => (Rank::Condition, "=="),
        "===" => (Rank::Condition, "!=="),
        "!==" => (Rank::Condition, "==="),
        "is" => (Rank::Condition, "is not"),
        "is not" => (Rank::Condition, "is"),
        "in" if python => (Rank::Condition, "not in"),
        "not in" => (Rank::Condition, "in"),
        "and" => (Rank::Condition, "or"),
        "or" => (Rank::Condition, "and"),
        "&&" => (Rank::Condition, "||"),
        "||" => (Rank::Condition, "&&"),
        "+" => (Rank::Arithmetic, "-"),
        "-" => (Rank::Arithmetic, "+"),
        "*" => (Rank::Arithmetic, "/"),
        "/" | "//" => (Rank::Arithmetic, "*"),
        "+=" => (Rank::Arithmetic, "-="),
        "-=" => (Rank::Arithmetic, "+="),
        _ => return None,
    })
}

fn signs(found: &mut Found<'_>, node: Node<'_>, around: Around<'_>) {
    if !matches!(
        node.kind(),
        "comparison_operator"
            | "boolean_operator"
            | "binary_operator"
            | "binary_expression"
            | "augmented_assignment"
            | "augmented_assignment_expression"
            | "compound_assignment_expr"
    ) {
        return;
    }
    let source = found.source;
    let mut cursor = node.walk();
    let signs: Vec<Node<'_>> = node.children(&mut cursor).filter(|child| !child.is_named()).collect();
    for sign in signs {
        let Some((rank, other)) = other_sign(source.language, sign.kind()) else { continue };
        if rank != Rank::Arithmetic || is_number(source, node, sign.kind(), around) {
            found.add(rank, sign, other);
        }
    }
}

/// Tells whether an arithmetic sign may stand between numbers: no text is in sight, and where types are closed and
/// text can be added too, a number is.
fn is_number(source: &Source, node: Node<'_>, sign: &str, around: Around<'_>) -> bool {
    let text = source.of(node);
    if text.len() > LONGEST || text.contains(['"', '\'', '`', '[']) && sign.starts_with('+') {
        return false;
    }
    let sides = children(node);
    let is_literal = |side: &Node<'_>| {
        matches!(
            side.kind(),
            "integer" | "float" | "number" | "integer_literal" | "int_literal" | "decimal_integer_literal"
        )
    };
    let literals = sides.iter().filter(|side| is_literal(side)).count();
    if is_open(source.language) {
        return true;
    }
    // Two literals, or a constant, would be computed by the compiler, which may refuse them.
    if literals == sides.len() || around.constant {
        return false;
    }
    let counted = ["len(", ".len()", ".length", ".size()", ".count()"].iter().any(|word| text.contains(word));
    !sign.starts_with('+') || literals > 0 || counted
}

/// Finds conditions that can be turned round, and branches that can be shut.
fn conditions(found: &mut Found<'_>, node: Node<'_>) {
    let source = found.source;
    let condition = match node.kind() {
        "if_statement" | "elif_clause" | "if_expression" | "ternary_expression" => {
            node.child_by_field_name("condition")
        }
        "conditional_expression" => node.named_child(1),
        "if_clause" => node.named_child(0),
        "else_clause" if is_open(source.language) => {
            let below = node.named_child(0).filter(|below| below.kind() == "if_statement");
            if let Some(condition) = below.and_then(|below| below.child_by_field_name("condition")) {
                found.add(Rank::Branch, condition, "(false)");
            }
            return;
        }
        _ => return,
    };
    let Some(condition) = condition.filter(|condition| condition.byte_range().len() <= LONGEST) else {
        return;
    };
    let inner = match condition.kind() {
        "parenthesized_expression" => condition.named_child(0).unwrap_or(condition),
        _ => condition,
    };
    if node.kind() == "elif_clause" {
        found.add(Rank::Branch, condition, "False");
    }
    let text = source.of(inner);
    // The sign of a comparison is turned round already.
    let compared = matches!(inner.kind(), "comparison_operator" | "binary_expression")
        && ["==", "!=", " in ", " is "].iter().any(|sign| text.contains(sign))
        && ![" and ", " or ", "&&", "||"].iter().any(|sign| text.contains(sign));
    if compared || text.contains("let ") || inner.kind().contains("let_") {
        return;
    }
    match (source.language, inner.kind()) {
        (Language::Python, "not_operator") => {
            let argument = inner.child_by_field_name("argument");
            found.add(Rank::Negation, inner, format!("({})", argument.map_or(text, |node| source.of(node))));
        }
        (Language::Python, _) => found.add(Rank::Negation, inner, format!("not ({text})")),
        (_, "unary_expression") if text.starts_with('!') => {
            found.add(Rank::Negation, inner, text.trim_start_matches('!').trim_start());
        }
        (_, _) => found.add(Rank::Negation, inner, format!("!({text})")),
    }
}

/// Finds values that are returned.
fn returns(found: &mut Found<'_>, node: Node<'_>, around: Around<'_>) {
    let source = found.source;
    if !is_open(source.language) {
        return;
    }
    let value = match (node.kind(), around.parent) {
        ("return_statement", _) => node.named_child(0),
        ("arrow_function", _) => {
            node.child_by_field_name("body").filter(|body| body.kind() != "statement_block")
        }
        _ => None,
    };
    let Some(value) = value else { return };
    let text = source.of(value);
    match text {
        "None" | "null" | "undefined" => return,
        "True" => return found.add(Rank::Return, value, "False"),
        "False" => return found.add(Rank::Return, value, "True"),
        "true" => return found.add(Rank::Return, value, "false"),
        "false" => return found.add(Rank::Return, value, "true"),
        _ => {
            let nothing = match source.language {
                Language::Python => "None",
                Language::TypeScript | Language::Tsx => "undefined as any",
                Language::JavaScript | Language::Rust | Language::Go | Language::Java => "undefined",
            };
            found.add(Rank::Return, value, nothing);
        }
    }
    let function = if node.kind() == "arrow_function" { Some(node) } else { around.function };
    let first = function.and_then(|function| first_parameter(source, function));
    if let Some(first) = first.filter(|first| *first != text) {
        found.add(Rank::Argument, value, first);
    }
}

/// Returns the name of a function's first parameter, the receiver left out.
fn first_parameter<'t>(source: &'t Source, function: Node<'_>) -> Option<&'t str> {
    if let Some(one) = function.child_by_field_name("parameter") {
        return Some(source.of(one));
    }
    let list = function.child_by_field_name("parameters")?;
    let parameter = children(list).into_iter().find(|parameter| {
        let name = source.of(*parameter);
        !parameter.kind().contains("comment") && !matches!(name, "self" | "cls" | "this")
    })?;
    let name = match parameter.kind() {
        "identifier" => Some(parameter),
        "default_parameter" | "typed_default_parameter" => parameter.child_by_field_name("name"),
        "assignment_pattern" => parameter.child_by_field_name("left"),
        "required_parameter" | "optional_parameter" => parameter.child_by_field_name("pattern"),
        "typed_parameter" => parameter.named_child(0),
        _ => None,
    };
    name.filter(|name| name.kind() == "identifier").map(|name| source.of(name))
}

/// Finds statements that can go.
fn statements(found: &mut Found<'_>, node: Node<'_>, around: Around<'_>) {
    let language = found.source.language;
    let nothing = match language {
        Language::Python => "pass",
        Language::Go => "",
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Java => ";",
        Language::Rust => "();",
    };
    match node.kind() {
        // A loop that runs until a condition might never end without its `break`.
        "break_statement" if is_open(language) && !around.until => found.add(Rank::Statement, node, nothing),
        "continue_statement" if is_open(language) => found.add(Rank::Statement, node, nothing),
        "expression_statement" => {
            let Some(inner) = node.named_child(0) else { return };
            let inner = match inner.kind() {
                "await" | "await_expression" | "try_expression" => inner.named_child(0).unwrap_or(inner),
                _ => inner,
            };
            if !matches!(inner.kind(), "call" | "call_expression" | "method_invocation")
                || is_beside(found.source, inner)
            {
                return;
            }
            let source = found.source.of(node);
            let receiver = source.starts_with("super");
            let block_value = language == Language::Rust && !source.ends_with(';');
            let unused = language == Language::Go && !is_used_elsewhere(source, &found.words);
            if !receiver && !block_value && !unused {
                found.add(Rank::Statement, node, nothing);
            }
        }
        _ => {}
    }
}

/// Returns the names in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_'))
}

/// Tells whether every name of a statement occurs at least twice outside of it, as Go refuses unused names.
fn is_used_elsewhere(statement: &str, words: &BTreeMap<&str, usize>) -> bool {
    statement.len() <= LONGEST
        && names(statement).all(|name| {
            let here = names(statement).filter(|other| *other == name).count();
            words.get(name).copied().unwrap_or(0) >= here + 2
        })
}

/// Methods that tidy a value up; without them the value passes as it is.
const TIDYING: [&str; 20] = [
    "strip",
    "lstrip",
    "rstrip",
    "lower",
    "upper",
    "casefold",
    "title",
    "capitalize",
    "trim",
    "trimStart",
    "trimEnd",
    "toLowerCase",
    "toUpperCase",
    "normalize",
    "reverse",
    "copy",
    "flat",
    "sort",
    "filter",
    "toSorted",
];

/// Functions of one argument that pass it on otherwise.
const WRAPPERS: [&str; 6] = ["abs", "Math.abs", "Math.floor", "Math.round", "set", "reversed"];

/// Functions that take the other end, and methods that ask for one instead of all.
const OPPOSITES: [(&str, &str); 8] = [
    ("max", "min"),
    ("min", "max"),
    ("any", "all"),
    ("all", "any"),
    ("Math.max", "Math.min"),
    ("Math.min", "Math.max"),
    ("some", "every"),
    ("every", "some"),
];

/// Finds calls that can be left out or turned round, and bounds that can be moved.
fn calls(found: &mut Found<'_>, node: Node<'_>) {
    let source = found.source;
    if !is_open(source.language) {
        return;
    }
    if node.kind() == "slice" {
        for bound in children(node) {
            moved_bound(found, bound);
        }
        return;
    }
    let (true, Some(function)) =
        (matches!(node.kind(), "call" | "call_expression"), node.child_by_field_name("function"))
    else {
        return;
    };
    let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
    let member =
        function.child_by_field_name("attribute").or_else(|| function.child_by_field_name("property"));
    let object = function.child_by_field_name("object");
    if let (Some(member), Some(object)) = (member, object) {
        let name = source.of(member);
        if TIDYING.contains(&name) && object.byte_range().len() <= LONGEST {
            found.add(Rank::Call, node, source.of(object));
        }
        if matches!(name, "slice" | "substring" | "substr" | "charAt" | "padStart" | "padEnd") {
            arguments.iter().for_each(|argument| moved_bound(found, *argument));
        }
        if let Some((_, other)) = OPPOSITES.iter().find(|(one, _)| *one == name) {
            found.add(Rank::Call, member, *other);
        }
    }
    let name = source.of(function);
    if let Some((_, other)) = OPPOSITES.iter().find(|(one, _)| *one == name) {
        found.add(Rank::Call, function, *other);
    }
    if name == "sorted" {
        let first = arguments.first().filter(|first| first.byte_range().len() <= LONGEST);
        if let Some(first) = first {
            found.add(Rank::Call, node, format!("list({})", source.of(*first)));
        }
    }
    if let ([one], true) = (arguments.as_slice(), WRAPPERS.contains(&name))
        && one.byte_range().len() <= LONGEST
    {
        found.add(Rank::Call, node, format!("({})", source.of(*one)));
    }
}

/// Moves a bound that is no literal by one; literals are moved as such.
fn moved_bound(found: &mut Found<'_>, bound: Node<'_>) {
    let computed =
        !matches!(bound.kind(), "integer" | "number" | "unary_operator" | "unary_expression" | "string");
    if computed && !bound.kind().contains("comment") && bound.byte_range().len() <= LONGEST {
        found.add(Rank::Bound, bound, format!("({}) + 1", found.source.of(bound)));
    }
}
