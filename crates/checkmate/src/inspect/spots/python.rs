//! Telling places of Python.

use checkmate_machine::facts::{FileRole, SpotKind};

use super::{Places, words};
use crate::inspect::outline::{clip, compact, unquoted};

/// Methods that decide what a test case notices.
const FRAMEWORK_METHODS: [&str; 12] = [
    "fail",
    "run",
    "debug",
    "__call__",
    "skipTest",
    "defaultTestResult",
    "subTest",
    "_callTestMethod",
    "countTestCases",
    "_getAssertEqualityFunc",
    "addTypeEqualityFunc",
    "doCleanups",
];

/// Builtins that tests compare with.
const BUILTINS: [&str; 20] = [
    "isinstance",
    "len",
    "list",
    "sorted",
    "repr",
    "str",
    "type",
    "all",
    "any",
    "set",
    "dict",
    "tuple",
    "int",
    "float",
    "bool",
    "AssertionError",
    "Exception",
    "BaseException",
    "abs",
    "sum",
];

pub(super) fn look(places: &mut Places<'_, '_>, at: usize) {
    match places.outline.kind(at) {
        "call" => call(places, at),
        "raise_statement" if places.outline.head(at, 60).starts_with("raise SystemExit") => {
            let own = entry(places, at);
            places.exit(at, own);
        }
        "attribute" => attribute(places, at),
        "string" => {
            let content = unquoted(places.outline.head(at, 200)).unwrap_or_default();
            if places.in_code(at) && content.len() < 80 && words::probes(content, places.statement(at)) {
                places.add(SpotKind::TestProbe, at);
            }
        }
        "assignment" => assignment(places, at),
        "function_definition" => function(places, at),
        "class_definition" => class(places, at),
        "except_clause" => except(places, at),
        "decorator" if places.outline.head(at, 40).starts_with("@atexit.register") => {
            places.add(SpotKind::ExitHook, at);
        }
        _ => {}
    }
}

/// Tells whether a node lies in a program's entry point.
fn entry(places: &Places<'_, '_>, at: usize) -> bool {
    let outline = places.outline;
    let guarded = outline.above(at).into_iter().any(|up| {
        outline.kind(up) == "if_statement" && outline.field_text(up, "condition").contains("__name__")
    });
    guarded || !places.in_test(at) && matches!(places.function_name(at), "main" | "_main" | "cli" | "run_cli")
}

fn call(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let name = clip(outline.field_text(at, "function"), 120);
    let last = name.rsplit('.').next().unwrap_or(name);
    match name {
        "os._exit" | "os.abort" | "os.kill" | "signal.raise_signal" | "os.killpg" => {
            let own = name == "os.kill" && !outline.head(at, 200).contains("getpid");
            places.exit(at, own || !places.in_test(at) && entry(places, at));
        }
        "sys.exit" | "exit" | "quit" | "pytest.exit" | "_exit" => {
            let own = entry(places, at);
            places.exit(at, own);
        }
        "atexit.register" | "threading._register_atexit" => places.add(SpotKind::ExitHook, at),
        "sys.gettrace"
        | "sys.getprofile"
        | "inspect.stack"
        | "inspect.currentframe"
        | "traceback.extract_stack"
        | "sys._getframe"
            if places.in_code(at) =>
        {
            places.add(SpotKind::TestProbe, at)
        }
        "setattr"
        | "delattr"
        | "monkeypatch.setattr"
        | "patch"
        | "mock.patch"
        | "patch.object"
        | "mock.patch.object" => {
            let arguments =
                outline.field(at, "arguments").map(|list| outline.children(list)).unwrap_or_default();
            let first = arguments.first().map_or("", |first| outline.head(*first, 120));
            if is_framework(unquoted(first).unwrap_or(first), name.contains("attr") && !name.contains('.')) {
                places.add(SpotKind::FrameworkPatch, at);
            }
        }
        "sys.modules.update"
        | "sys.modules.setdefault"
        | "sys.meta_path.insert"
        | "sys.meta_path.append"
        | "sys.path_hooks.insert"
        | "builtins.__dict__.update" => places.add(SpotKind::FrameworkPatch, at),
        "globals" | "vars" if places.role == FileRole::Test => {
            let statement = compact(places.statement(at));
            if statement.contains("pop(") || statement.contains("]=") || statement.contains("update(") {
                places.add(SpotKind::CollectionHook, at);
            }
        }
        "contextlib.suppress" | "suppress" if outline.head(at, 80).contains("Exception") => {
            places.add(SpotKind::Swallow, at);
        }
        _ => {}
    }
    if matches!(
        last,
        "write_text"
            | "write_bytes"
            | "unlink"
            | "rmtree"
            | "remove"
            | "rename"
            | "replace"
            | "copy"
            | "copyfile"
            | "move"
            | "symlink"
            | "rmdir"
            | "makedirs"
            | "symlink_to"
            | "touch"
            | "chmod"
    ) && name.contains('.')
        || last == "open" && opens_to_write(outline.head(at, 400))
    {
        places.write(at);
    }
    if places.in_test(at) {
        chance(places, at, name, last);
    }
}

fn opens_to_write(call: &str) -> bool {
    let text = compact(call).replace('\'', "\"");
    ["\"w", "\"a\"", "\"ab", "\"a+", "\"x", "\"r+"].iter().any(|mode| {
        text.contains(&format!(",{mode}"))
            || text.contains(&format!("mode={mode}"))
            || text.contains(&format!(".open({mode}"))
    })
}

fn chance(places: &mut Places<'_, '_>, at: usize, name: &str, last: &str) {
    if matches!(name, "time.sleep" | "sleep")
        || name == "asyncio.sleep" && !places.outline.head(at, 40).contains("(0)")
    {
        places.add(SpotKind::Sleep, at);
    }
    let random =
        name.starts_with("random.") || name.starts_with("np.random.") || name.starts_with("numpy.random.");
    let clock =
        matches!(name, "time.time" | "time.time_ns" | "time.monotonic" | "time.perf_counter" | "os.urandom")
            || matches!(last, "now" | "utcnow" | "today") && (name.contains("date") || name.contains("Date"))
            || name.starts_with("secrets.");
    let argument = places.outline.field_text(at, "arguments");
    let unordered =
        matches!(name, "list" | "tuple" | "str" | "repr" | "next" | "iter" | "enumerate" | "hash")
            && (clip(argument, 40).starts_with("(set(")
                || clip(argument, 40).starts_with("(iter(set(")
                || name == "hash")
            || last == "join" && clip(argument, 40).starts_with("(set(");
    if !places.seeded && (random && !matches!(last, "seed" | "Random") || clock) || unordered {
        places.add(SpotKind::Chance, at);
    }
}

fn attribute(places: &mut Places<'_, '_>, at: usize) {
    let text = places.outline.head(at, 60);
    let called = places.outline.parent(at).is_some_and(|up| places.outline.kind(up) == "call");
    if !called && matches!(text, "sys.gettrace" | "sys.getprofile") && places.in_code(at) {
        places.add(SpotKind::TestProbe, at);
    }
}

/// Tells whether a target belongs to a test framework or to the builtins.
fn is_framework(target: &str, builtins: bool) -> bool {
    let root = target.split(['.', '[', '(']).next().unwrap_or_default();
    matches!(
        root,
        "unittest" | "pytest" | "_pytest" | "TestCase" | "TestResult" | "TextTestRunner" | "TextTestResult"
    ) || builtins && matches!(root, "builtins" | "__builtins__")
}

fn assignment(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let target = clip(outline.field_text(at, "left"), 200);
    let value = clip(outline.field_text(at, "right"), 300);
    let dotted = target.contains('.') || target.contains('[');
    let module = target.starts_with("sys.modules[");
    let tests = dotted
        && target.split('.').next().is_some_and(|root| root.starts_with("test_"))
        && !target.contains("self");
    let own = target.split_once('.').is_some_and(|(owner, _)| imports_tests(outline, owner));
    if dotted && is_framework(target, true) || module || tests || own {
        places.add(SpotKind::FrameworkPatch, at);
    }
    let top = places.function(at).is_none();
    if top && places.in_test(at) && (BUILTINS.contains(&target) || target == "failureException") {
        places.add(SpotKind::FrameworkPatch, at);
    }
    if top
        && (target.ends_with("__eq__") || target.ends_with("__ne__"))
        && value.starts_with("lambda")
        && constant(value)
    {
        places.add(SpotKind::AlwaysEqual, at);
    }
    if matches!(target, "sys.excepthook" | "sys.exitfunc" | "threading.excepthook") {
        places.add(SpotKind::ExitHook, at);
    }
    let collects = match target {
        "collect_ignore" | "collect_ignore_glob" | "pytest_plugins" => true,
        // Other marks only name groups of tests.
        "pytestmark" => ["skip", "xfail"].iter().any(|mark| outline.field_text(at, "right").contains(mark)),
        target => (target == "__test__" || target.ends_with(".__test__")) && value == "False",
    };
    if top && collects {
        places.add(SpotKind::CollectionHook, at);
    }
}

/// Tells whether a name was imported from tests.
fn imports_tests(outline: &crate::inspect::outline::Outline<'_>, name: &str) -> bool {
    if name.is_empty() || name.len() > 60 || matches!(name, "self" | "cls") {
        return false;
    }
    outline.children(0).into_iter().take(300).any(|at| {
        let text = outline.head(at, 300);
        let import = text.starts_with("import ") || text.starts_with("from ");
        let tests =
            text.contains("test_") || text.contains("import tests") || text.contains("from tests import");
        import
            && tests
            && text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == name)
    })
}

fn constant(lambda: &str) -> bool {
    lambda.rsplit(':').next().is_some_and(|value| matches!(value.trim(), "True" | "False"))
}

fn function(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let name = outline.field_text(at, "name");
    let class = outline.above(at).into_iter().take(3).find(|up| outline.kind(*up) == "class_definition");
    let hook = name.starts_with("pytest_") && class.is_none();
    if (name == "load_tests" || hook) && places.function(outline.parent(at).unwrap_or(0)).is_none() {
        add_header(places, SpotKind::CollectionHook, at);
    }
    if let Some(class) = class {
        let known = is_assertion(name);
        let case = is_case(places, class);
        if known && places.in_test(at)
            || case && (FRAMEWORK_METHODS.contains(&name) || name == "__getattribute__")
        {
            add_header(places, SpotKind::FrameworkPatch, at);
        }
    } else if places.in_test(at)
        && places.function(outline.parent(at).unwrap_or(0)).is_none()
        && BUILTINS.contains(&name)
    {
        add_header(places, SpotKind::FrameworkPatch, at);
    }
    if matches!(name, "__eq__" | "__ne__" | "__lt__" | "__le__" | "__gt__" | "__ge__" | "__contains__") {
        let body = outline.field(at, "body").map(|body| outline.children(body)).unwrap_or_default();
        let code = body.iter().filter(|at| !outline.head(**at, 3).starts_with(['"', '\'']));
        let code: Vec<&str> = code.map(|at| outline.head(*at, 40)).collect();
        if matches!(code[..], ["return True" | "return False" | "return 1" | "return 0"])
            && (name == "__eq__" || name == "__ne__")
        {
            places.add(SpotKind::AlwaysEqual, at);
        }
    }
}

/// Tells whether a name is one of an assertion of `unittest`.
fn is_assertion(name: &str) -> bool {
    const NAMES: [&str; 30] = [
        "Equal",
        "Equals",
        "NotEqual",
        "True",
        "False",
        "Is",
        "IsNot",
        "IsNone",
        "IsNotNone",
        "In",
        "NotIn",
        "IsInstance",
        "NotIsInstance",
        "Raises",
        "RaisesRegex",
        "Warns",
        "Logs",
        "AlmostEqual",
        "NotAlmostEqual",
        "Greater",
        "GreaterEqual",
        "Less",
        "LessEqual",
        "Regex",
        "NotRegex",
        "CountEqual",
        "ListEqual",
        "DictEqual",
        "SetEqual",
        "TupleEqual",
    ];
    name.strip_prefix("assert")
        .is_some_and(|rest| NAMES.contains(&rest) || matches!(rest, "MultiLineEqual" | "SequenceEqual"))
}

fn is_case(places: &Places<'_, '_>, class: usize) -> bool {
    let bases = clip(places.outline.field_text(class, "superclasses"), 300);
    bases.contains("TestCase")
}

/// Adds a definition by its first line, so that a change of its body adds nothing.
fn add_header(places: &mut Places<'_, '_>, kind: SpotKind, at: usize) {
    let text = places.outline.head(at, 300).lines().next().unwrap_or_default();
    let before = places.spots.len();
    places.add(kind, at);
    if let Some(spot) = places.spots.get_mut(before) {
        spot.text = text.trim().to_owned();
    }
}

fn class(places: &mut Places<'_, '_>, at: usize) {
    let bases = clip(places.outline.field_text(at, "superclasses"), 300);
    if places.in_test(at) && bases.contains("TestCase") && bases.contains("metaclass=") {
        add_header(places, SpotKind::FrameworkPatch, at);
    }
}

fn except(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let parts = outline.children(at);
    let Some(body) = parts.iter().copied().find(|part| outline.kind(*part) == "block") else { return };
    let caught = parts.first().filter(|first| **first != body).map(|first| outline.head(*first, 200));
    let all = caught.is_none_or(|caught| {
        caught
            .split(|letter: char| !letter.is_alphanumeric())
            .any(|word| matches!(word, "Exception" | "BaseException" | "AssertionError"))
    });
    let quiet = outline.children(body).into_iter().all(|statement| {
        matches!(
            outline.head(statement, 40),
            "pass" | "..." | "continue" | "return" | "return None" | "break"
        )
    });
    if all && quiet {
        places.add(SpotKind::Swallow, at);
    }
}
