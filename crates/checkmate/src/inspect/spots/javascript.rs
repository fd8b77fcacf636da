//! Telling places of JavaScript and TypeScript.

use checkmate_machine::facts::SpotKind;

use super::{Places, words};
use crate::inspect::outline::{Outline, clip, compact, unquoted};

/// Names that tests assert with or are defined with.
const FRAMEWORK: [&str; 12] = [
    "assert",
    "expect",
    "test",
    "it",
    "describe",
    "suite",
    "jest",
    "vi",
    "beforeEach",
    "afterEach",
    "chai",
    "should",
];

/// Builtins that every comparison uses.
const BUILTINS: [&str; 14] = [
    "Object", "Array", "String", "Number", "Boolean", "Function", "JSON", "Map", "Set", "Promise", "Math",
    "Reflect", "RegExp", "Error",
];

pub(super) fn look(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    match outline.kind(at) {
        "call_expression" => call(places, at),
        "new_expression"
            if places.in_test(at)
                && !places.seeded
                && matches!(compact(outline.head(at, 20)).as_str(), "newDate()" | "newDate") =>
        {
            places.add(SpotKind::Chance, at);
        }
        "member_expression" => member(places, at),
        "string" | "template_string" => {
            let content = unquoted(outline.head(at, 200)).unwrap_or_default();
            if places.in_code(at) && content.len() < 80 && words::probes(content, places.statement(at)) {
                places.add(SpotKind::TestProbe, at);
            }
        }
        "unary_expression" => {
            let text = compact(outline.head(at, 60));
            let asked = text.strip_prefix("typeof").map(|rest| rest.trim_matches(['(', ')']));
            let asked =
                asked.map(|asked| asked.trim_start_matches("globalThis.").trim_start_matches("global."));
            if places.in_code(at)
                && matches!(
                    asked,
                    Some(
                        "jest"
                            | "vi"
                            | "vitest"
                            | "describe"
                            | "it"
                            | "mocha"
                            | "jasmine"
                            | "test"
                            | "expect"
                            | "beforeEach"
                    )
                )
            {
                places.add(SpotKind::TestProbe, at);
            }
        }
        "assignment_expression" => assignment(places, at),
        "function_declaration" | "variable_declarator" => definition(places, at),
        "catch_clause" => {
            let empty = outline.field(at, "body").is_some_and(|body| outline.children(body).is_empty());
            if empty {
                places.add(SpotKind::Swallow, at);
            }
        }
        "method_definition" => {
            let name = outline.field_text(at, "name");
            if matches!(name, "equals" | "isEqual" | "asymmetricMatch" | "eq") && always(outline, at) {
                places.add(SpotKind::AlwaysEqual, at);
            }
        }
        "pair"
            if places.in_test(at)
                && outline.field_text(at, "key") == "only"
                && outline.field_text(at, "value") == "true" =>
        {
            places.add(SpotKind::CollectionHook, at);
        }
        _ => {}
    }
}

fn always(outline: &Outline<'_>, at: usize) -> bool {
    let body = outline.field(at, "body").map(|body| compact(outline.head(body, 60)));
    body.is_some_and(|body| {
        matches!(
            body.as_str(),
            "{returntrue;}" | "{returntrue}" | "{returnfalse;}" | "{returnfalse}" | "true"
        )
    })
}

fn call(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let name = clip(outline.field_text(at, "function"), 120);
    let name = name.trim_start_matches("globalThis.").trim_start_matches("global.");
    let last = name.rsplit('.').next().unwrap_or(name);
    let arguments = outline.field(at, "arguments").map(|list| outline.children(list)).unwrap_or_default();
    let first = arguments.first().map_or("", |first| outline.head(*first, 120));
    match name {
        "process.exit" | "process.abort" | "process.reallyExit" | "Deno.exit" | "process.kill" => {
            let own = name == "process.kill" && first != "process.pid"
                || !places.in_test(at) && matches!(places.function_name(at), "main" | "cli" | "run")
                || !places.in_test(at) && outline.source.text.starts_with("#!");
            places.exit(at, own);
        }
        "process.on" | "process.once" | "process.addListener" | "process.prependListener" => {
            match unquoted(first) {
                Some("exit" | "beforeExit") => places.add(SpotKind::ExitHook, at),
                Some("uncaughtException" | "unhandledRejection") if places.in_test(at) => {
                    places.add(SpotKind::Swallow, at)
                }
                Some(_) | None => {}
            }
        }
        "Object.assign"
        | "Object.defineProperty"
        | "Object.defineProperties"
        | "Reflect.set"
        | "mock.method"
        | "jest.spyOn"
        | "vi.spyOn"
        | "sinon.stub"
        | "t.mock.method"
        | "Reflect.defineProperty" => {
            let root = first.trim_start_matches("globalThis.").trim_start_matches("global.");
            let builtin = root.split_once(".prototype").is_some_and(|(root, _)| BUILTINS.contains(&root));
            let root = root.split('.').next().unwrap_or_default();
            if matches!(root, "assert" | "expect")
                || builtin
                || matches!(first, "globalThis" | "global") && places.in_test(at) && first != "globalThis"
            {
                places.add(SpotKind::FrameworkPatch, at);
            }
        }
        "jest.mock" | "vi.mock" | "mock.module" | "jest.doMock" => {
            let module = unquoted(first).unwrap_or_default().trim_start_matches("node:").to_owned();
            if matches!(
                module.as_str(),
                "assert" | "assert/strict" | "test" | "vitest" | "chai" | "@jest/globals"
            ) {
                places.add(SpotKind::FrameworkPatch, at);
            }
        }
        "expect.extend" => {
            let text = outline.head(at, 2000);
            let builtin =
                ["toBe(", "toEqual(", "toStrictEqual(", "toThrow(", "toBe:", "toEqual:", "toStrictEqual:"];
            if builtin.iter().any(|name| text.contains(name)) {
                places.add(SpotKind::FrameworkPatch, at);
            }
        }
        _ => {}
    }
    if last == "catch"
        && arguments.len() == 1
        && arguments.first().is_some_and(|handler| {
            let body = outline.field(*handler, "body").map(|body| compact(outline.head(body, 20)));
            body.is_some_and(|body| matches!(body.as_str(), "{}" | "undefined" | "null"))
        })
    {
        places.add(SpotKind::Swallow, at);
    }
    writes(places, at, last);
    if places.in_test(at) {
        only(places, at, name);
        chance(places, at, name);
    }
}

fn writes(places: &mut Places<'_, '_>, at: usize, last: &str) {
    let stem = last.strip_suffix("Sync").unwrap_or(last);
    let writes = [
        "writeFile",
        "appendFile",
        "rm",
        "unlink",
        "rename",
        "copyFile",
        "createWriteStream",
        "symlink",
        "rmdir",
        "truncate",
        "writeTextFile",
        "cp",
    ];
    if writes.contains(&stem) {
        places.write(at);
    }
}

fn only(places: &mut Places<'_, '_>, at: usize, name: &str) {
    let (root, modifiers) = name.split_once('.').unwrap_or((name, ""));
    let runner = matches!(root, "test" | "it" | "describe" | "suite" | "context");
    if matches!(name, "fit" | "fdescribe" | "ftest" | "fcontext")
        || runner && modifiers.split('.').any(|word| word == "only")
    {
        let before = places.spots.len();
        places.add(SpotKind::CollectionHook, at);
        // Only its beginning, so that a change of its body adds nothing.
        if let Some(spot) = places.spots.get_mut(before) {
            spot.text = spot.text.chars().take(80).collect();
        }
    }
}

fn chance(places: &mut Places<'_, '_>, at: usize, name: &str) {
    if matches!(name, "setTimeout" | "sleep" | "delay" | "setInterval" | "timers.setTimeout")
        || name.ends_with(".waitForTimeout")
    {
        places.add(SpotKind::Sleep, at);
    }
    let reads = matches!(
        name,
        "Math.random"
            | "Date.now"
            | "performance.now"
            | "process.hrtime"
            | "crypto.randomBytes"
            | "crypto.randomUUID"
            | "randomUUID"
            | "randomBytes"
            | "process.hrtime.bigint"
            | "crypto.randomInt"
            | "randomInt"
    );
    if reads && !places.seeded {
        places.add(SpotKind::Chance, at);
    }
}

fn member(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    if !places.in_code(at) {
        return;
    }
    let property = outline.field_text(at, "property");
    let object = outline.field_text(at, "object");
    let variable = words::VARIABLES.contains(&property) && clip(object, 60).ends_with("env");
    let global = matches!(object, "globalThis" | "global" | "window")
        && matches!(property, "jest" | "vi" | "describe" | "it" | "mocha" | "__vitest_worker__");
    if variable || global || object == "import.meta" && property == "vitest" {
        places.add(SpotKind::TestProbe, at);
    }
}

fn assignment(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let target = compact(clip(outline.field_text(at, "left"), 200));
    let plain = target.trim_start_matches("globalThis.").trim_start_matches("global.").to_owned();
    let mut words = plain.split(['.', '[']);
    let root = words.next().unwrap_or_default();
    let rest = words.next();
    let framework = FRAMEWORK.contains(&root) && (rest.is_some() || places.in_test(at));
    let builtin = BUILTINS.contains(&root)
        && rest.is_some()
        && (plain.contains("prototype") || matches!(root, "Object" | "JSON" | "Array"));
    let loader = plain.starts_with("require.cache[")
        || plain.starts_with("Module._")
        || plain.starts_with("Module.prototype");
    let output = plain == "process.stdout.write" && places.in_code(at);
    if framework || builtin || loader || output {
        places.add(SpotKind::FrameworkPatch, at);
    }
    if plain == "process.exitCode" && places.in_test(at) {
        places.add(SpotKind::Exit, at);
    }
}

/// Finds a definition in a test that takes the place of what tests are written with.
fn definition(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let name = outline.field_text(at, "name");
    if !places.in_test(at) || !FRAMEWORK.contains(&name) {
        return;
    }
    let made = outline.kind(at) == "function_declaration"
        || outline.field(at, "value").is_some_and(|value| {
            matches!(
                outline.kind(value),
                "arrow_function" | "function_expression" | "object" | "new_expression"
            )
        });
    if made {
        places.add(SpotKind::FrameworkPatch, at);
    }
}
