//! Calls with literal arguments, as tests and goals write them.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::literals::{Args, Names, Value, arguments, value};
use super::reach::Target;
use crate::inspect::language::{Language, Source, children, descend};

/// So many calls of one file are looked at.
const READ: usize = 1000;
/// So many rows of a table are tried.
const ROWS: usize = 12;
/// So many earlier calls of the same object are made again.
const STEPS: usize = 8;

/// One call of a target.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Its place among the targets.
    pub(super) target: usize,
    /// The method of the class itself that is called, such as `make` of `Cache.make(3)`.
    pub(super) member: Option<String>,
    /// Whether it makes an object.
    pub(super) construct: bool,
    pub(super) first: Args,
    /// The methods that are called on what the first call returns; the last one's result counts.
    pub(super) steps: Vec<(String, Args)>,
}

impl Call {
    /// Returns every argument, to be changed.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let steps = self.steps.iter_mut().flat_map(|(_, args)| args.values_mut());
        self.first.values_mut().chain(steps)
    }

    /// Returns the arguments of the call whose result counts.
    pub(super) fn last_mut(&mut self) -> &mut Args {
        self.steps.last_mut().map_or(&mut self.first, |(_, args)| args)
    }

    /// Returns the call as source, for people.
    pub(super) fn source(&self, target: &Target) -> String {
        let language = target.language;
        let name = if target.local == "default" { target.stem() } else { target.local.clone() };
        let new = if self.construct && language != Language::Python { "new " } else { "" };
        let member = self.member.as_ref().map_or_else(String::new, |name| format!(".{name}"));
        let first = format!("{new}{name}{member}({})", self.first.source(language));
        let step = |(name, args): &(String, Args)| format!(".{name}({})", args.source(language));
        match self.steps.as_slice() {
            [] => first,
            [only] => format!("{first}{}", step(only)),
            many => {
                let many: String = many.iter().map(|given| format!("; it{}", step(given))).collect();
                format!("it = {first}{many}")
            }
        }
    }
}

/// Returns the calls of targets whose arguments are literals, in the order of the source.
pub(super) fn of(source: &Source, targets: &[Target]) -> Vec<Call> {
    if !targets.iter().any(|target| target.default || source.text.contains(&target.exported)) {
        return Vec::new();
    }
    let imports = imports(source);
    let reader = Reader { source, targets, imports: &imports };
    let concerned = |node: &Node<'_>| {
        invocation(*node).is_some() && targets.iter().any(|target| reader.mentions(*node, target))
    };
    descend(source.root())
        .into_iter()
        .filter(concerned)
        .take(READ)
        .flat_map(|node| reader.read(node))
        .collect()
}

/// Returns the calls that a text for people quotes.
pub(super) fn quoted(text: &str, targets: &[Target]) -> Vec<Call> {
    let mut calls = Vec::new();
    for (place, target) in targets.iter().enumerate() {
        let path = if target.language == Language::Python { "goal.py" } else { "goal.js" };
        for (at, _) in text.match_indices(&format!("{}(", target.local)) {
            let before = text.get(..at).unwrap_or("");
            if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let start = if before.ends_with("new ") { at - 4 } else { at };
            let Some(quote) = text.get(start..).and_then(balanced) else { continue };
            let Some(source) = Source::parse(path, quote.to_owned()) else { continue };
            calls.extend(of(&source, targets).into_iter().filter(|call| call.target == place));
        }
    }
    calls
}

/// Returns the start of a text up to the bracket that closes the first one, with the calls of methods that follow.
fn balanced(text: &str) -> Option<&str> {
    let (mut depth, mut quote, mut end) = (0_u32, None, None);
    let mut chars = text.char_indices().take(400).peekable();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => drop(chars.next()),
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    end = Some(at + 1);
                    let method = |rest: &str| {
                        let name = rest.strip_prefix('.')?.split_once('(')?.0;
                        (!name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
                            .then_some(())
                    };
                    if text.get(at + 1..).and_then(method).is_none() {
                        break;
                    }
                }
            }
            (None, '\n') if depth == 0 => break,
            (None, _) => {}
        }
    }
    text.get(..end?)
}

/// What is called and with which arguments.
fn invocation(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let callee = match node.kind() {
        "call" | "call_expression" => "function",
        "new_expression" => "constructor",
        _ => return None,
    };
    let list = node.child_by_field_name("arguments")?;
    matches!(list.kind(), "argument_list" | "arguments").then_some((node.child_by_field_name(callee)?, list))
}

/// Splits `object.name`.
fn member<'a>(source: &'a Source, node: Node<'a>) -> Option<(Node<'a>, &'a str)> {
    let name = match node.kind() {
        "attribute" => "attribute",
        "member_expression" => "property",
        _ => return None,
    };
    Some((node.child_by_field_name("object")?, source.of(node.child_by_field_name(name)?)))
}

/// What names of a test file stand for.
#[derive(Debug, Default)]
struct Imports {
    /// Another name for something: `from m import a as b`.
    renamed: BTreeMap<String, String>,
    /// Names of whole modules, with the last part of the module's path.
    modules: BTreeMap<String, String>,
}

fn imports(source: &Source) -> Imports {
    let mut imports = Imports::default();
    for node in descend(source.root()) {
        let field = |name| node.child_by_field_name(name).map(|node| source.of(node).to_owned());
        match node.kind() {
            "import_specifier" | "aliased_import" => {
                let (Some(name), alias) = (field("name"), field("alias")) else { continue };
                let short = name.rsplit('.').next().unwrap_or(&name).to_owned();
                let alias = alias.unwrap_or_else(|| short.clone());
                imports.modules.insert(alias.clone(), short.clone());
                imports.renamed.insert(alias, short);
            }
            "dotted_name" if node.parent().is_some_and(|parent| parent.kind().starts_with("import")) => {
                let name = source.of(node);
                let (first, last) = (name.split('.').next(), name.rsplit('.').next());
                imports.modules.insert(first.unwrap_or(name).to_owned(), last.unwrap_or(name).to_owned());
            }
            "import_statement" => {
                let Some(path) = field("source") else { continue };
                for name in children(node).into_iter().flat_map(children) {
                    let name =
                        if name.kind() == "namespace_import" { name.named_child(0) } else { Some(name) };
                    let name = name.filter(|name| name.kind() == "identifier").map(|name| source.of(name));
                    imports.modules.extend(name.map(|name| (name.to_owned(), stem(&path))));
                }
            }
            "variable_declarator" => {
                let Some(call) =
                    node.child_by_field_name("value").filter(|call| source.of(*call).contains("require("))
                else {
                    continue;
                };
                let path = descend(call)
                    .into_iter()
                    .find(|node| node.kind() == "string")
                    .map(|node| source.of(node));
                if let (Some(name), Some(path)) = (field("name"), path) {
                    imports.modules.insert(name, stem(path));
                }
            }
            _ => {}
        }
    }
    imports
}

/// Returns the last part of a module's path without its ending.
fn stem(path: &str) -> String {
    let name = path.trim_matches(['"', '\'', '`']).rsplit('/').next().unwrap_or("");
    name.split('.').next().unwrap_or("").to_owned()
}

struct Reader<'a> {
    source: &'a Source,
    targets: &'a [Target],
    imports: &'a Imports,
}

impl<'a> Reader<'a> {
    /// Tells quickly whether a call can concern a target.
    fn mentions(&self, node: Node<'_>, target: &Target) -> bool {
        let same = (self.source.language == Language::Python) == (target.language == Language::Python);
        same && (target.class || target.default || {
            let text = self.source.of(node);
            text.contains(&target.exported)
                || self.imports.renamed.values().any(|name| *name == target.exported)
        })
    }

    fn read(&self, node: Node<'a>) -> Vec<Call> {
        let Some((callee, list)) = invocation(node) else { return Vec::new() };
        let mut calls = Vec::new();
        for names in self.names_at(node) {
            for call in self.with(node, callee, list, &names) {
                if !calls.contains(&call) {
                    calls.push(call);
                }
            }
        }
        calls
    }

    /// Returns the targets that an expression names: functions or classes.
    fn named(&self, callee: Node<'_>) -> Vec<usize> {
        let path = self.source.of(callee);
        let (object, name) = match member(self.source, callee) {
            Some((object, name)) => (Some(self.source.of(object)), name),
            None if callee.kind() == "identifier" => (None, path),
            None => return Vec::new(),
        };
        if let Some(object) = object {
            let root = object.split('.').next().unwrap_or(object);
            if !self.imports.modules.contains_key(root) {
                return Vec::new();
            }
        }
        let original = self.imports.renamed.get(name).filter(|_| object.is_none());
        let original = original.map_or(name, String::as_str);
        let stem = self.imports.modules.get(name).filter(|_| object.is_none());
        let fits = |target: &Target| {
            let same = (self.source.language == Language::Python) == (target.language == Language::Python);
            let default = target.default && (stem == Some(&target.stem()) || target.local == original);
            same && (target.exported == original || default)
        };
        let found = self.targets.iter().enumerate().filter(|(_, target)| fits(target));
        found.map(|(place, _)| place).collect()
    }

    fn with(&self, node: Node<'a>, callee: Node<'a>, list: Node<'a>, names: &Names) -> Vec<Call> {
        let Some(args) = arguments(self.source, list, names) else { return Vec::new() };
        let mut calls = Vec::new();
        for target in self.named(callee) {
            let class = self.targets.get(target).is_some_and(|target| target.class);
            calls.push(Call {
                target,
                member: None,
                construct: class,
                first: args.clone(),
                steps: Vec::new(),
            });
        }
        if !calls.is_empty() {
            // An object that is made only to be used counts with what it is used for.
            let used = ["attribute", "member_expression", "assignment", "variable_declarator"];
            let used = node.parent().is_some_and(|parent| used.contains(&parent.kind()));
            calls.retain(|call| !(call.construct && used));
            return calls;
        }
        let Some((object, name)) = member(self.source, callee) else { return calls };
        for target in self.named(object) {
            if self.targets.get(target).is_some_and(|target| target.class) {
                let member = Some(name.to_owned());
                calls.push(Call { target, member, construct: false, first: args.clone(), steps: Vec::new() });
            }
        }
        if let Some((class, given)) = invocation(object) {
            calls.extend(self.constructed(class, given, names));
        } else if object.kind() == "identifier" {
            calls.extend(self.object(node, self.source.of(object), names));
        } else {
            return calls;
        }
        for call in calls.iter_mut().filter(|call| call.construct) {
            let excess = (call.steps.len() + 1).saturating_sub(STEPS);
            call.steps.drain(..excess);
            call.steps.push((name.to_owned(), args.clone()));
        }
        calls
    }

    fn constructed(&self, class: Node<'a>, given: Node<'a>, names: &Names) -> Vec<Call> {
        let classes = self.named(class).into_iter();
        let classes = classes.filter(|target| self.targets.get(*target).is_some_and(|target| target.class));
        let Some(first) = arguments(self.source, given, names) else { return Vec::new() };
        classes
            .map(|target| Call {
                target,
                member: None,
                construct: true,
                first: first.clone(),
                steps: Vec::new(),
            })
            .collect()
    }

    /// Returns how the object with this name was made and called before a node.
    fn object(&self, node: Node<'a>, name: &str, names: &Names) -> Vec<Call> {
        let mut scope = node;
        while let Some(parent) = scope.parent() {
            scope = parent;
            if scope.kind().contains("function") {
                break;
            }
        }
        let mut made: Vec<Call> = Vec::new();
        for earlier in descend(scope).into_iter().filter(|earlier| earlier.end_byte() <= node.start_byte()) {
            if let Some((_, value)) = assignment(earlier).filter(|(left, _)| self.source.of(*left) == name) {
                made = invocation(value)
                    .map(|(class, given)| self.constructed(class, given, names))
                    .unwrap_or_default();
            } else if let Some((callee, list)) = invocation(earlier)
                && let Some((object, method)) = member(self.source, callee)
                && self.source.of(object) == name
                && let Some(args) = arguments(self.source, list, names)
            {
                for call in &mut made {
                    call.steps.push((method.to_owned(), args.clone()));
                }
            }
        }
        made
    }

    /// Returns what names are worth where a node stands, once for each row of the tables around it.
    fn names_at(&self, node: Node<'a>) -> Vec<Names> {
        let mut above = Vec::new();
        let mut next = node.parent();
        while let Some(parent) = next {
            above.push(parent);
            next = parent.parent();
        }
        let mut rows = vec![Names::new()];
        for scope in above.into_iter().rev() {
            match scope.kind() {
                "program" | "module" | "block" | "statement_block" => {
                    rows.iter_mut().for_each(|names| self.assigned(scope, node, names));
                }
                "decorated_definition" => {
                    for decorator in children(scope).into_iter().filter(|child| child.kind() == "decorator") {
                        rows = self.multiplied(rows, self.parametrized(decorator));
                    }
                }
                "for_statement" | "for_in_statement" => {
                    let (left, right) =
                        (scope.child_by_field_name("left"), scope.child_by_field_name("right"));
                    if let (Some(left), Some(right)) = (left, right) {
                        rows = self.multiplied(rows, Some((self.words(left), right)));
                    }
                }
                "call_expression" => rows = self.multiplied(rows, self.each(scope, node)),
                _ => {}
            }
        }
        rows
    }

    fn assigned(&self, scope: Node<'a>, until: Node<'a>, names: &mut Names) {
        let statements =
            children(scope).into_iter().filter(|statement| statement.start_byte() < until.start_byte());
        for statement in statements.flat_map(|statement| [vec![statement], children(statement)].concat()) {
            let Some((left, right)) = assignment(statement) else { continue };
            match value(self.source, right, names) {
                Some(value) => names.insert(self.source.of(left).to_owned(), value),
                None => names.remove(self.source.of(left)),
            };
        }
    }

    /// Reads `@pytest.mark.parametrize("a,b", [...])`.
    fn parametrized(&self, decorator: Node<'a>) -> Option<(Vec<String>, Node<'a>)> {
        let (callee, list) = invocation(decorator.named_child(0)?)?;
        let given = children(list);
        let [heads, table, ..] = given.as_slice() else { return None };
        let heads = value(self.source, *heads, &Names::new())?;
        let heads = match heads.text() {
            Some(heads) => heads.split(',').map(|head| head.trim().to_owned()).collect(),
            None => heads.items()?.iter().filter_map(|head| head.text().map(str::to_owned)).collect(),
        };
        self.source.of(callee).ends_with("parametrize").then_some((heads, *table))
    }

    /// Reads `test.each([...])("name", (a, b) => ...)` and `[...].forEach(([a, b]) => ...)`.
    fn each(&self, call: Node<'a>, inner: Node<'a>) -> Option<(Vec<String>, Node<'a>)> {
        let (callee, list) = invocation(call)?;
        let table = match invocation(callee) {
            Some((each, rows)) if self.source.of(each).ends_with(".each") => rows.named_child(0)?,
            Some(_) => return None,
            None => member(self.source, callee).filter(|(_, name)| *name == "forEach" || *name == "map")?.0,
        };
        let function =
            children(list).into_iter().find(|child| child.byte_range().contains(&inner.start_byte()))?;
        let heads = function
            .child_by_field_name("parameters")
            .or_else(|| function.child_by_field_name("parameter"))?;
        Some((self.words(heads), table))
    }

    /// Returns the names that a pattern binds.
    fn words(&self, pattern: Node<'a>) -> Vec<String> {
        let names = descend(pattern).into_iter().filter(|node| node.kind() == "identifier");
        names.map(|name| self.source.of(name).to_owned()).collect()
    }

    fn multiplied(&self, rows: Vec<Names>, table: Option<(Vec<String>, Node<'a>)>) -> Vec<Names> {
        let Some((heads, table)) = table else { return rows };
        let mut more = Vec::new();
        for names in &rows {
            // A table may hold rows that are no literals: each is read by itself.
            let lines = match table.kind() {
                "list" | "array" | "tuple" => {
                    children(table).into_iter().filter_map(|row| self.row(row, names)).collect()
                }
                _ => value(self.source, table, names)
                    .and_then(|rows| Some(rows.items()?.to_vec()))
                    .unwrap_or_default(),
            };
            for line in lines.into_iter().take(ROWS) {
                let mut names = names.clone();
                match line.items().filter(|_| heads.len() > 1) {
                    Some(cells) => names.extend(heads.iter().cloned().zip(cells.iter().cloned())),
                    None => names.extend(heads.first().cloned().map(|head| (head, line))),
                }
                more.push(names);
            }
        }
        more.truncate(ROWS);
        if more.is_empty() { rows } else { more }
    }

    /// Reads a row; of `pytest.param(1, 2, id="x")` the arguments.
    fn row(&self, row: Node<'a>, names: &Names) -> Option<Value> {
        match invocation(row) {
            Some((callee, list)) if self.source.of(callee).ends_with("param") => {
                arguments(self.source, list, names).map(|args| Value::Tuple(args.positional))
            }
            _ => value(self.source, row, names),
        }
    }
}

/// Splits `name = value`.
fn assignment(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let (left, right) = match node.kind() {
        "assignment" | "assignment_expression" => ("left", "right"),
        "variable_declarator" => ("name", "value"),
        _ => return None,
    };
    let left = node.child_by_field_name(left).filter(|left| left.kind() == "identifier")?;
    Some((left, node.child_by_field_name(right)?))
}
