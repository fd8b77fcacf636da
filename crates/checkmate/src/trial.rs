//! The test command once, on the user's files as they are, in a tree of its own: as the baseline of a run does.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use checkmate_machine::evidence::Receipt;
use checkmate_machine::ids::RunId;

use crate::config::Config;
use crate::driver;
use crate::journal::Sandbox;
use crate::process::{self, Cancel, Invocation, Limits, confine};
use crate::session::Project;
use crate::workspace::{Workspace, WorkspaceError};

/// Folders of trials begin like this; runs begin with their date.
const PREFIX: &str = "trial-";
/// Counts the trials of this process, so that two at once do not meet.
static TRIALS: AtomicU32 = AtomicU32::new(0);

/// Runs the test command in a tree of its own, which is gone afterwards.
pub fn run(
    project: &Project,
    config: &Config,
    cancel: &Cancel,
) -> Result<Result<Receipt, process::ProcessError>, WorkspaceError> {
    sweep(project);
    let number = TRIALS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{PREFIX}{}-{number}", std::process::id());
    let folder = project.runs.run(&RunId::new(name.as_str()));
    let workspace = Workspace::open(project.repository.clone(), &name, &folder)?;
    let ran = at(&workspace, &folder, config, cancel);
    std::fs::remove_dir_all(folder.join("scratch")).ok();
    workspace.discard()?;
    ran
}

fn at(
    workspace: &Workspace,
    folder: &Path,
    config: &Config,
    cancel: &Cancel,
) -> Result<Result<Receipt, process::ProcessError>, WorkspaceError> {
    let base = workspace.prepare(&config.link_paths)?.base;
    let directory = workspace.restore(&base, &[])?;
    // The same folder as discover finds: a path with a link in it would not be recognised by rules about paths.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let scratch = folder.join("scratch");
    // What cannot be made is said when the command starts.
    std::fs::create_dir_all(&scratch).ok();
    let confinement = config.sandbox.clone().map(|sandbox| {
        let sandbox = Sandbox { support: confine::support(), ..sandbox };
        driver::confinement(&sandbox, &config.link_paths, workspace, &folder)
    });
    let report = config.test_report.as_ref().map(PathBuf::from);
    let invocation = Invocation {
        command: &config.test_command,
        directory: &directory,
        tree: base,
        scratch: &scratch,
        limits: Limits::new(Duration::from_secs(config.test_time_limit_s.into())),
        keep_env: &config.keep_env,
        report_file: report.as_deref(),
        vary: None,
        confinement: confinement.as_ref(),
        write: &[workspace.site(0).view()],
    };
    Ok(process::run(&invocation, cancel))
}

/// Removes what trials that were killed have left behind.
fn sweep(project: &Project) {
    let runs = project.runs.run(&RunId::new("x"));
    let Some(folder) = runs.parent() else { return };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(PREFIX).and_then(|id| id.split('-').next()?.parse::<i32>().ok());
        let Some(process) = process else { continue };
        let alive = rustix::process::Pid::from_raw(process)
            .is_some_and(|id| rustix::process::test_kill_process(id) != Err(rustix::io::Errno::SRCH));
        if alive {
            continue;
        }
        process::kill_leftovers(&entry.path().join("scratch"));
        std::fs::remove_dir_all(entry.path().join("scratch")).ok();
        if let Ok(workspace) = Workspace::open(project.repository.clone(), &name, &entry.path()) {
            workspace.discard().ok();
        }
    }
}
