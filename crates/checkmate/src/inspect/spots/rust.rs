//! Telling places of Rust.

use checkmate_machine::facts::SpotKind;

use super::{Places, words};
use crate::inspect::outline::{Outline, clip, compact, unquoted};

/// Finds what is compiled for tests only.
pub(super) fn tests(outline: &Outline<'_>, tests: &mut [bool]) {
    let mut pending = false;
    for at in outline.all() {
        let above = outline.parent(at).and_then(|parent| tests.get(parent)).copied().unwrap_or(false);
        let kind = outline.kind(at);
        let mut own = above;
        if kind == "attribute_item" {
            let text = compact(outline.head(at, 200));
            pending = pending
                || text.starts_with("#[cfg(test")
                || text.starts_with("#[cfg(all(test")
                || text == "#[test]"
                || text.ends_with("::test]");
        } else if matches!(
            kind,
            "mod_item" | "function_item" | "impl_item" | "use_declaration" | "struct_item" | "const_item"
        ) {
            own = above || pending;
            pending = false;
        }
        if let Some(test) = tests.get_mut(at) {
            *test = own;
        }
    }
}

pub(super) fn look(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    match outline.kind(at) {
        "call_expression" => call(places, at),
        "macro_invocation" => macro_call(places, at),
        "attribute_item" | "inner_attribute_item" => attribute(places, at),
        "macro_definition" => {
            let name = outline.field_text(at, "name");
            if is_assertion(name) {
                places.add(SpotKind::FrameworkPatch, at);
            }
        }
        "use_as_clause" if is_assertion(outline.field_text(at, "alias")) => {
            places.add(SpotKind::FrameworkPatch, at)
        }
        "function_item" => {
            let name = outline.field_text(at, "name");
            let body = compact(outline.field(at, "body").map_or("", |body| outline.head(body, 40)));
            if matches!(name, "eq" | "ne")
                && matches!(body.as_str(), "{true}" | "{false}" | "{returntrue;}" | "{returnfalse;}")
            {
                places.add(SpotKind::AlwaysEqual, at);
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

fn is_assertion(name: &str) -> bool {
    matches!(
        name,
        "assert"
            | "assert_eq"
            | "assert_ne"
            | "debug_assert"
            | "debug_assert_eq"
            | "panic"
            | "unreachable"
            | "test"
    )
}

fn call(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let name = compact(clip(outline.field_text(at, "function"), 200));
    let exits = [
        "process::exit",
        "process::abort",
        "libc::exit",
        "libc::_exit",
        "libc::abort",
        "rustix::process::exit",
    ];
    if exits.iter().any(|exit| name.ends_with(exit))
        || name == "exit" && outline.source.text.contains("process::exit")
    {
        let own = !places.in_test(at) && matches!(places.function_name(at), "main" | "run_main");
        places.exit(at, own);
    }
    if name.ends_with("libc::atexit") {
        places.add(SpotKind::ExitHook, at);
    }
    if name.ends_with("panic::set_hook") && places.in_test(at) {
        places.add(SpotKind::FrameworkPatch, at);
    }
    if name.ends_with("catch_unwind") {
        let statement = compact(places.statement(at));
        if statement.starts_with("let_")
            || statement.ends_with(".ok();")
            || statement.contains("catch_unwind") && statement.starts_with("std::panic::catch_unwind")
        {
            places.add(SpotKind::Swallow, at);
        }
    }
    let writes = [
        "fs::write",
        "File::create",
        "remove_file",
        "remove_dir_all",
        "fs::rename",
        "fs::copy",
        "File::options",
    ];
    if writes.iter().any(|write| name.ends_with(write)) {
        places.write(at);
    }
    if !places.in_test(at) {
        return;
    }
    if name.ends_with("thread::sleep") || name.ends_with("time::sleep") || name == "sleep" {
        places.add(SpotKind::Sleep, at);
    }
    let reads = name.ends_with("SystemTime::now")
        || name.ends_with("Instant::now")
        || name.ends_with("thread_rng")
        || name == "rand::random"
        || name == "rand::rng"
        || name.starts_with("fastrand::")
        || name.ends_with("Utc::now")
        || name.ends_with("Local::now");
    if reads && !places.seeded {
        places.add(SpotKind::Chance, at);
    }
}

fn macro_call(places: &mut Places<'_, '_>, at: usize) {
    let text = compact(places.outline.head(at, 80));
    if places.in_code(at) && (text.starts_with("cfg!(test)") || text.starts_with("cfg!(not(test))")) {
        places.add(SpotKind::TestProbe, at);
    }
}

fn attribute(places: &mut Places<'_, '_>, at: usize) {
    let outline = places.outline;
    let text = compact(outline.head(at, 300));
    let inner = text.trim_start_matches(['#', '!', '[']);
    if inner.starts_with("allow(") || inner.starts_with("cfg_attr(") && inner.contains("allow(") {
        places.add(SpotKind::Silencer, at);
    }
    if text.starts_with("#![test_runner") || text.contains("custom_test_frameworks") {
        places.add(SpotKind::CollectionHook, at);
    }
    if !places.in_code(at) {
        return;
    }
    // An attribute on a statement chooses between two behaviours, as its opposite on an item does.
    let inside = places.function(at).is_some();
    let not_test = inner.starts_with("cfg(not(test))")
        || inner.starts_with("cfg(all(not(test)")
        || inner.starts_with("cfg_attr(not(test)");
    if not_test || inside && inner.starts_with("cfg(test)") {
        places.add(SpotKind::TestProbe, at);
    }
}
