//! `checkmate demo`: the main job on bundled workspaces, without keys and without a network.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::{Command, Stdio};

use checkmate_machine::spec::{LandPolicy, Product, Spec, Task};

use super::driving::{self, Output};
use crate::config::{AgentKind, Config, Loaded};
use crate::error::CommandError;
use crate::exit_code;
use crate::human::Human;
use crate::journal::Shell;
use crate::session::{Project, Session};
use crate::state::RunsFolder;
use crate::workspace::Repository;

/// How long a scripted agent takes for a reply at a terminal, in milliseconds.
const PACE_MS: u64 = 900;

/// See the main job on bundled workspaces: scripted agents, but real git, patches and tests
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Keep the workspaces and say where they are
    #[arg(long)]
    keep: bool,
}

/// A bundled workspace.
struct Example {
    name: &'static str,
    shows: &'static str,
    goal: &'static str,
    script: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// The exit code that the run has to end with.
    ends: u8,
}

macro_rules! example {
    ($name:literal, $shows:literal, $ends:expr, [$($file:literal),+ $(,)?]) => {
        Example {
            name: $name,
            shows: $shows,
            goal: include_str!(concat!("../../../../examples/", $name, "/goal.txt")),
            script: include_str!(concat!("../../../../examples/", $name, "/script.json")),
            files: &[$(($file, include_str!(concat!("../../../../examples/", $name, "/workspace/", $file)))),+],
            ends: $ends,
        }
    };
}

const EXAMPLES: [Example; 3] = [
    example!(
        "factorial",
        "The reviewer finds a bug; the builder mends it; the change lands.",
        exit_code::DONE,
        [".dualagent.json", "src/math.sh", "test/math_test.sh", "test/run.sh"]
    ),
    example!(
        "arbiter",
        "Builder and reviewer disagree twice; a test settles it and stays in the project.",
        exit_code::DONE,
        [".dualagent.json", "src/text.sh", "test/text_test.sh", "test/run.sh"]
    ),
    example!(
        "oscillation",
        "Builder and reviewer go in circles; nothing lands, and a person is told what to decide.",
        exit_code::NOT_APPROVED,
        [".dualagent.json", "src/greet.sh", "test/greet_test.sh", "test/run.sh"]
    ),
];

pub(super) fn main(args: &Args) -> Result<u8, CommandError> {
    anstream::eprintln!(
        "The agents of this demo are scripted. Git, patches, tests, the arbiter and landing are real.\n"
    );
    let folder = tempfile::Builder::new()
        .prefix("checkmate-demo-")
        .tempdir()
        .map_err(|error| CommandError::local(format!("No temporary folder could be made: {error}.")))?;
    let mut as_expected = true;
    for example in &EXAMPLES {
        anstream::eprintln!("━━ {}: {}", example.name, example.shows);
        let code = play(example, folder.path())?;
        as_expected &= code == example.ends;
        show_difference(&folder.path().join(example.name));
        anstream::eprintln!();
    }
    if args.keep {
        let kept = folder.keep();
        anstream::eprintln!("The workspaces are in {}.", kept.display());
    }
    anstream::eprintln!(
        "To let real models do this in a repository of yours:\n  \
         checkmate init\n  export ANTHROPIC_API_KEY=\"sk-ant-…\"   (and OPENAI_API_KEY, or what your .dualagent.json names)\n  \
         checkmate run \"what you want\""
    );
    if as_expected {
        Ok(exit_code::DONE)
    } else {
        Err(CommandError::local("An example did not end as it should."))
    }
}

fn play(example: &Example, folder: &Path) -> Result<u8, CommandError> {
    let root = folder.join(example.name);
    for (name, text) in example.files {
        let path = root.join(name);
        let written =
            path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| {
            CommandError::local(format!("{} could not be written: {error}.", path.display()))
        })?;
    }
    git(&root, &["init", "-q", "-b", "main"])?;
    git(&root, &["add", "-A"])?;
    let identity = ["-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgSign=false"];
    git(&root, &[&identity[..], &["commit", "-q", "--no-verify", "-m", "First commit"]].concat())?;
    let project = Project {
        repository: Repository::discover(&root)?,
        runs: RunsFolder::at(folder.join("state").join(example.name)),
    };
    let Loaded { config, .. } =
        Config::load_for(&root.join(crate::config::FILE_NAME), &root, AgentKind::Scripted)?;
    let task = Task::of(example.goal.trim());
    let policy = config.policy(Some(LandPolicy::Apply), false);
    let spec = Spec { task, product: Product::Patch, policy, prompts: config.prompts() };
    let shell = Shell {
        scripted: true,
        time_limit_s: config.test_time_limit_s.into(),
        sandbox: config.sandbox.clone(),
        ..Shell::default()
    };
    let session = Session::create(&project, spec, shell, Some(&paced(example.script)?))?;
    driving::drive(session, Human::Absent, Vec::new(), &Output { json: None, events: false })
}

/// Gives the agents of a script the time to be watched, where somebody watches.
fn paced(script: &str) -> Result<String, CommandError> {
    let mut script: serde_json::Value =
        serde_json::from_str(script).map_err(|error| CommandError::local(error.to_string()))?;
    if std::io::stderr().is_terminal() {
        let entries = script.get_mut("replay").and_then(serde_json::Value::as_array_mut);
        for entry in entries.into_iter().flatten().filter_map(serde_json::Value::as_object_mut) {
            entry.entry("latency_ms").or_insert(PACE_MS.into());
        }
    }
    Ok(script.to_string())
}

/// Shows what git says about the user's tree now.
fn show_difference(root: &Path) {
    let status = Command::new("git")
        .args(["status", "--short"])
        .current_dir(root)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    if status.is_empty() {
        anstream::eprintln!("   git status: nothing changed");
    }
    for line in status.lines() {
        anstream::eprintln!("   git status: {line}");
    }
}

fn git(root: &Path, args: &[&str]) -> Result<(), CommandError> {
    let output =
        Command::new("git").args(args).current_dir(root).stdin(Stdio::null()).output().map_err(|error| {
            CommandError::local(format!(
                "The `git` program could not be started: {error}. Install git 2.38 or later."
            ))
        })?;
    if output.status.success() {
        return Ok(());
    }
    Err(CommandError::local(format!(
        "`git {}` failed: {}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}
