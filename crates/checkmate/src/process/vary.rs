//! Varies what nobody should depend on: hash seeds, the number of threads, the order of tests.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use checkmate_machine::command::CommandLine;

use super::pytest::Plan;

/// The name of the pytest plugin.
const PLUGIN: &str = "checkmate_order";

/// Shuffles modules and the tests within each, so that what a module sets up once is set up once.
const PLUGIN_TEXT: &str = "\
import hashlib
import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    seed = os.environ.get(\"CHECKMATE_SEED\", \"0\")

    def place(name):
        return hashlib.sha256((seed + name).encode()).digest()

    # By name, so that a test that is added leaves the order of all others as it was.
    items.sort(key=lambda item: (place(item.nodeid.split(\"::\")[0]), place(item.nodeid)))
";

/// Sets what a seed changes in the environment of a command. A variable that the command itself sets stays.
pub(super) fn vary(
    environment: &mut BTreeMap<OsString, OsString>,
    command: &CommandLine,
    seed: u32,
    room: &Path,
    plan: Plan,
) -> std::io::Result<()> {
    let mut set = |name: &str, value: OsString| {
        if !command.env.iter().any(|(own, _)| own == name) {
            environment.insert(name.into(), value);
        }
    };
    set("CHECKMATE_SEED", seed.to_string().into());
    set("PYTHONHASHSEED", seed.to_string().into());
    if seed % 2 == 1 {
        set("RUST_TEST_THREADS", "1".into());
    }
    append(environment, "GOFLAGS", &format!("-shuffle={seed}"), " ");
    // Whoever stands between the command and pytest may set a search path of his own, and then the plugin is not found.
    if plan == Plan::Required && !command.env.iter().any(|(name, _)| name == "PYTHONPATH") {
        let folder = room.join("plugin");
        std::fs::create_dir(&folder)?;
        std::fs::write(folder.join(format!("{PLUGIN}.py")), PLUGIN_TEXT)?;
        append(environment, "PYTEST_ADDOPTS", &format!("-p {PLUGIN}"), " ");
        let mut path = folder.into_os_string();
        if let Some(old) = environment.get(std::ffi::OsStr::new("PYTHONPATH")).filter(|old| !old.is_empty()) {
            path.push(":");
            path.push(old);
        }
        environment.insert("PYTHONPATH".into(), path);
    }
    Ok(())
}

fn append(environment: &mut BTreeMap<OsString, OsString>, name: &str, value: &str, gap: &str) {
    let entry = environment.entry(name.into()).or_default();
    if !entry.is_empty() {
        entry.push(gap);
    }
    entry.push(value);
}
