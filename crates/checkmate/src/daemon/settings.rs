//! A workspace's configuration and its tests, for clients.

use std::path::Path;
use std::sync::Arc;

use checkmate_machine::effect::CheckKind;
use checkmate_machine::notice::Notice;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::connection::Mailbox;
use super::{Daemon, workspaces};
use crate::config::{self, AgentKind, Config, ConfigError, FILE_NAME, Loaded};
use crate::error::CommandError;
use crate::journal::{Sandbox, now};
use crate::process::{self, Cancel};
use crate::redact::Redactor;
use crate::trial;
use crate::wire::{ConfigurationValue, Event, Frame, Reply};

/// Tells a workspace's configuration.
pub(super) fn get(daemon: &Daemon, workspace: Option<&str>) -> Result<Option<Reply>, CommandError> {
    let root = daemon.workspaces.find(workspace)?;
    let text = written(&root)?;
    Ok(Some(judged(daemon, &root, text, false)))
}

/// Says what a configuration would mean.
pub(super) fn check(
    daemon: &Daemon,
    workspace: Option<&str>,
    text: &str,
) -> Result<Option<Reply>, CommandError> {
    let root = daemon.workspaces.find(workspace)?;
    Ok(Some(judged(daemon, &root, Some(text.to_owned()), false)))
}

/// Writes a configuration, unless something is wrong with it or somebody has written another one meanwhile.
pub(super) fn save(
    daemon: &Daemon,
    workspace: Option<&str>,
    text: &str,
    replaces: Option<&str>,
) -> Result<Option<Reply>, CommandError> {
    let root = daemon.workspaces.find(workspace)?;
    let present = written(&root)?;
    if present.as_deref() != replaces {
        let mut reply = judged(daemon, &root, present, false);
        if let Reply::Configuration { errors, .. } = &mut reply {
            let conflict = "Nothing was written: the file has changed meanwhile. Look at it as it is now, and change that.";
            errors.insert(0, conflict.into());
        }
        return Ok(Some(reply));
    }
    let reply = judged(daemon, &root, Some(text.to_owned()), true);
    if let Reply::Configuration { errors, saved: true, .. } = &reply
        && errors.is_empty()
    {
        let path = root.join(FILE_NAME);
        let failed = |error: std::io::Error| {
            CommandError::local(format!(
                "{} could not be written: {error}. Check its permissions and free space.",
                path.display()
            ))
        };
        // A link would lead the writing elsewhere.
        if std::fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(CommandError::usage(format!(
                "{} is no plain file; edit it by hand.",
                path.display()
            )));
        }
        let mut file = tempfile::Builder::new().prefix(".dualagent").tempfile_in(&root).map_err(failed)?;
        std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).map_or(0o644, |metadata| metadata.permissions().mode());
        file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
    }
    Ok(Some(reply))
}

fn written(root: &Path) -> Result<Option<String>, CommandError> {
    match config::read(&root.join(FILE_NAME)) {
        Ok(text) => Ok(Some(text)),
        Err(ConfigError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn judged(daemon: &Daemon, root: &Path, text: Option<String>, save: bool) -> Reply {
    let path = root.join(FILE_NAME);
    let kind = if daemon.script.is_some() { AgentKind::Scripted } else { AgentKind::Live };
    let parsed = match &text {
        Some(text) if text.len() as u64 > config::LARGEST => {
            Err(ConfigError::TooLarge { path: path.clone() })
        }
        Some(text) => Config::parse(text, &path, root, kind),
        None => Err(ConfigError::NotFound { path: path.clone() }),
    };
    let (errors, warnings, values) = match parsed {
        Ok(Loaded { mut config, warnings, set }) => {
            let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            config.use_environment(&environment);
            let values = crate::cli::settings(&config, &set, FILE_NAME, &environment);
            let value = |(key, value, from)| ConfigurationValue { key, value, from };
            (Vec::new(), warnings, values.into_iter().map(value).collect())
        }
        Err(ConfigError::Invalid { path, problems }) => {
            let located = |problem: &crate::config::Problem| {
                format!(
                    "{}:{}: {}",
                    path.file_name().map_or_else(Default::default, |name| name.to_string_lossy()),
                    problem.at,
                    problem.message
                )
            };
            (problems.iter().map(located).collect(), Vec::new(), Vec::new())
        }
        Err(error) => (vec![error.to_string()], Vec::new(), Vec::new()),
    };
    let saved = save && errors.is_empty();
    Reply::Configuration { path: path.to_string_lossy().into_owned(), text, errors, warnings, values, saved }
}

/// How many test commands of clients may wait for others.
const WAITING: usize = 16;

/// Test commands that clients asked for by themselves.
#[derive(Debug)]
pub(super) struct Trials {
    /// As many go on at once as runs do.
    turns: Semaphore,
    most: u32,
    /// How many more may wait.
    room: Semaphore,
    cancel: Cancel,
}

impl Trials {
    pub(super) fn new(at_once: usize) -> Self {
        let most = u32::try_from(at_once).unwrap_or(u32::MAX);
        Self {
            turns: Semaphore::new(at_once),
            most,
            room: Semaphore::new(at_once + WAITING),
            cancel: Cancel::default(),
        }
    }

    /// Ends those that go on, and waits until they are over.
    pub(super) async fn close(&self) {
        self.cancel.cancel();
        self.turns.acquire_many(self.most).await.map(SemaphorePermit::forget).ok();
    }
}

/// Runs a workspace's test command on its files as they are; the answer goes to the mailbox when it is there.
pub(super) fn run_tests(daemon: Arc<Daemon>, workspace: Option<String>, re: Option<u64>, mailbox: Mailbox) {
    let shared = Arc::clone(&daemon);
    let work = move || tested(&daemon, workspace.as_deref());
    tokio::spawn(async move {
        let tested = in_turn(&shared.trials, &mailbox, work).await;
        let event = match tested {
            Some(Ok(notice)) => notice,
            Some(Err(error)) => Notice::Error { error: error.to_string() },
            None => return,
        };
        let frame = Frame { event: Event::Notice(event), run: None, task: None, seq: None, at: now(), re };
        // Whoever asked may have gone.
        mailbox.send(frame).ok();
    });
}

/// Waits for a turn and works then; `None` if nobody wants to know the result any more.
async fn in_turn(
    trials: &Trials,
    mailbox: &Mailbox,
    work: impl FnOnce() -> Result<Notice, CommandError> + Send + 'static,
) -> Option<Result<Notice, CommandError>> {
    let Ok(_room) = trials.room.try_acquire() else {
        return Some(Err(CommandError::usage(
            "Too many test commands wait already. Ask again when some of them are over.",
        )));
    };
    let _turn = trials.turns.acquire().await.ok()?;
    if mailbox.is_closed() || trials.cancel.is_cancelled() {
        return None;
    }
    let failed = |_| Err(CommandError::local("The daemon failed at this test run; its other work goes on."));
    Some(tokio::task::spawn_blocking(work).await.unwrap_or_else(failed))
}

fn tested(daemon: &Daemon, workspace: Option<&str>) -> Result<Notice, CommandError> {
    let project = daemon.workspaces.usable(workspace)?;
    let config = workspaces::load(&project, daemon.script.is_some())?;
    let support = process::confine::known_support(&crate::state::folder()?);
    daemon.refuse_reachable(config.sandbox.clone().map(|sandbox| Sandbox { support, ..sandbox }).as_ref())?;
    let mut receipt = trial::run(&project, &config, &daemon.trials.cancel)?
        .map_err(|error| CommandError::local(format!("The tests were not run to their end: {error}.")))?;
    let redactor = Redactor::new(process::secret_values());
    receipt.stdout.text = redactor.text(&receipt.stdout.text);
    receipt.stderr.text = redactor.text(&receipt.stderr.text);
    Ok(Notice::tests_output(CheckKind::Baseline, &receipt))
}
