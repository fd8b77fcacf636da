//! Telling places of Go.

use checkmate_machine::facts::SpotKind;

use super::{Places, words};
use crate::inspect::outline::{clip, compact, unquoted};

pub(super) fn look(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    match outline.kind(at) {
        "call_expression" => call(places, at),
        "function_declaration" if outline.field_text(at, "name") == "TestMain" && places.in_test(at) => {
            places.add(SpotKind::CollectionHook, at);
        }
        "method_declaration" => {
            let body = compact(outline.field(at, "body").map_or("", |body| outline.head(body, 40)));
            if outline.field_text(at, "name") == "Equal"
                && matches!(body.as_str(), "{returntrue}" | "{returnfalse}")
            {
                places.add(SpotKind::AlwaysEqual, at);
            }
        }
        "interpreted_string_literal" => {
            let content = unquoted(outline.head(at, 200)).unwrap_or_default();
            let probe = words::probes(content, places.statement(at))
                || content == ".test" && places.statement(at).contains("os.Args");
            if places.in_code(at) && content.len() < 80 && probe {
                places.add(SpotKind::TestProbe, at);
            }
        }
        "comment" if places.in_test(at) && outline.head(at, 11) == "//go:build " => {
            places.add(SpotKind::CollectionHook, at);
        }
        _ => {}
    }
}

fn call(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let name = clip(outline.field_text(at, "function"), 100);
    match name {
        "os.Exit" | "syscall.Exit" | "runtime.Goexit" => {
            let function = places.function_name(at);
            let own = function == "main" && !places.in_test(at)
                || function == "TestMain"
                    && places.function(at).is_some_and(|up| outline.head(up, 2000).contains(".Run()"));
            places.exit(at, own);
        }
        "testing.Testing" if places.in_code(at) => places.add(SpotKind::TestProbe, at),
        "recover" if outline.parent(at).is_some_and(|up| outline.kind(up) == "expression_statement") => {
            places.add(SpotKind::Swallow, at);
        }
        "os.WriteFile" | "os.Remove" | "os.RemoveAll" | "os.Rename" | "os.Create" | "ioutil.WriteFile"
        | "os.Symlink" => {
            places.write(at);
        }
        "time.Sleep" if places.in_test(at) => places.add(SpotKind::Sleep, at),
        "time.Now" | "time.Since" if places.in_test(at) && !places.seeded => places.add(SpotKind::Chance, at),
        name if name.starts_with("rand.") && places.in_test(at) && !places.seeded => {
            places.add(SpotKind::Chance, at)
        }
        _ => {}
    }
}
