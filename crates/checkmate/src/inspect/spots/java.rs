//! Telling places of Java.

use checkmate_machine::facts::SpotKind;

use super::{Places, words};
use crate::inspect::outline::{clip, compact, unquoted};

pub(super) fn look(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    match outline.kind(at) {
        "method_invocation" => call(places, at),
        "method_declaration" => {
            let body = compact(outline.field(at, "body").map_or("", |body| outline.head(body, 40)));
            if outline.field_text(at, "name") == "equals"
                && matches!(body.as_str(), "{returntrue;}" | "{returnfalse;}")
            {
                places.add(SpotKind::AlwaysEqual, at);
            }
        }
        "class_declaration" => {
            let name = outline.field_text(at, "name");
            if places.in_test(at) && matches!(name, "Assertions" | "Assert" | "TestCase") {
                places.add(SpotKind::FrameworkPatch, at);
            }
        }
        "catch_clause" => {
            let body = outline.field(at, "body");
            if body.is_some_and(|body| outline.children(body).is_empty()) {
                places.add(SpotKind::Swallow, at);
            }
        }
        "annotation" if outline.head(at, 17) == "@SuppressWarnings" => places.add(SpotKind::Silencer, at),
        "object_creation_expression" if places.in_test(at) && !places.seeded => {
            if matches!(compact(outline.head(at, 40)).as_str(), "newRandom()" | "newDate()") {
                places.add(SpotKind::Chance, at);
            }
        }
        "string_literal" => {
            let content = unquoted(outline.head(at, 200)).unwrap_or_default();
            if places.in_code(at) && content.len() < 80 && words::probes(content, places.statement(at)) {
                places.add(SpotKind::TestProbe, at);
            }
        }
        _ => {}
    }
}

fn call(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let (owner, name) = (clip(outline.field_text(at, "object"), 100), outline.field_text(at, "name"));
    match (owner, name) {
        ("System", "exit") | ("Runtime.getRuntime()", "halt" | "exit") => {
            let own = !places.in_test(at) && places.function_name(at) == "main";
            places.exit(at, own);
        }
        (_, "addShutdownHook") => places.add(SpotKind::ExitHook, at),
        (
            "Files",
            "write" | "writeString" | "delete" | "deleteIfExists" | "move" | "copy" | "newBufferedWriter",
        ) => {
            places.write(at);
        }
        ("Thread" | "TimeUnit.SECONDS" | "TimeUnit.MILLISECONDS", "sleep") if places.in_test(at) => {
            places.add(SpotKind::Sleep, at);
        }
        ("Math", "random")
        | ("System", "currentTimeMillis" | "nanoTime")
        | ("LocalDate" | "LocalDateTime" | "Instant", "now")
            if places.in_test(at) && !places.seeded =>
        {
            places.add(SpotKind::Chance, at);
        }
        _ => {}
    }
}
