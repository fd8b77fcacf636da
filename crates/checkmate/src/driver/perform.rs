//! Performs one part: the only place where the machine's wishes become deeds.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use checkmate_machine::command::CommandLine;
use checkmate_machine::effect::{Action, Call, CheckKind, Landing, Layer};
use checkmate_machine::event::{Answer, Failure, FailureKind};
use checkmate_machine::evidence::Receipt;
use checkmate_machine::ids::TreeId;
use tokio::sync::{Mutex, mpsc};

use super::Chunk;
use super::baselines::{self, Baselines};
use super::sites::Sites;
use crate::agents::Agents;
use crate::human::Human;
use crate::journal::{Sandbox, Shell};
use crate::process::confine::{Confinement, Places};
use crate::process::{self, Cancel, Invocation, Limits};
use crate::watch::PartId;
use crate::workspace::{Applied, LandAnswer, Workspace, WorkspaceError};

/// What came of a part.
#[derive(Debug)]
pub(super) enum Performed {
    /// An answer.
    Answer(Box<Answer>),
    /// The user interrupted it.
    Cancelled,
}

impl From<Answer> for Performed {
    fn from(answer: Answer) -> Self {
        Performed::Answer(Box::new(answer))
    }
}

/// Everything that performing needs. All performers may be asked twice for the same part: after a crash they are.
#[derive(Debug)]
pub(super) struct Performer {
    workspace: Arc<Workspace>,
    agents: Agents,
    shell: Shell,
    human: Human,
    scratch: PathBuf,
    baselines: Baselines,
    cancel: Cancel,
    /// Where commands run.
    sites: Sites,
    /// What commands may read, write and reach; everything without it.
    confinement: Option<Arc<Confinement>>,
    /// One question at a time at a terminal.
    person: Mutex<()>,
    /// The change that the person is asked about.
    proposal: std::sync::Mutex<String>,
}

/// A command with everything that it is to see.
struct Wanted {
    kind: CheckKind,
    command: CommandLine,
    tree: TreeId,
    layers: Vec<Layer>,
    vary: Option<u32>,
    limit_s: Option<u64>,
}

/// Tells whether a check runs the test command, whose own report file counts.
fn is_test_command(kind: CheckKind) -> bool {
    match kind {
        CheckKind::Baseline
        | CheckKind::Tests
        | CheckKind::Arbiter
        | CheckKind::ArbiterBase
        | CheckKind::Merged
        | CheckKind::OldTests
        | CheckKind::BrokenTests
        | CheckKind::BrokenBase
        | CheckKind::NewTests
        | CheckKind::Reverted
        | CheckKind::Repeat(_)
        | CheckKind::RepeatBase(_)
        | CheckKind::Mutant(_) => true,
        CheckKind::BuilderRun
        | CheckKind::Diagnostic
        | CheckKind::Example
        | CheckKind::Probe(_)
        | CheckKind::ProbeAgain(_)
        | CheckKind::ProbeBase(_)
        | CheckKind::CompareBase
        | CheckKind::Compare
        | CheckKind::CompareMutant(_) => false,
    }
}

impl Performer {
    pub(super) fn new(
        workspace: Workspace,
        agents: Agents,
        shell: Shell,
        human: Human,
        folder: &Path,
        baselines: Baselines,
        cancel: Cancel,
    ) -> Self {
        let at_once = usize::try_from(shell.mutants_at_once.unwrap_or(1)).unwrap_or(1);
        let confinement = shell
            .sandbox
            .as_ref()
            .map(|sandbox| Arc::new(confinement(sandbox, &shell.link_paths, &workspace, folder)));
        Self {
            confinement,
            workspace: Arc::new(workspace),
            agents,
            shell,
            human,
            scratch: folder.join("scratch"),
            baselines,
            cancel,
            sites: Sites::new(at_once),
            person: Mutex::new(()),
            proposal: std::sync::Mutex::default(),
        }
    }

    /// Keeps the change that the person is about to be asked about.
    pub(super) fn propose(&self, diff: &str) {
        *self.proposal.lock().unwrap_or_else(PoisonError::into_inner) = diff.to_owned();
    }

    /// Removes what was needed only while commands ran.
    pub(super) fn tidy(&self) {
        // What is left is removed with the run.
        self.workspace.remove_further_sites().ok();
    }

    /// Returns what the shell was told.
    pub(super) fn shell(&self) -> &Shell {
        &self.shell
    }

    /// Waits until no command runs.
    pub(super) async fn is_idle(&self) {
        self.sites.all().await;
    }

    pub(super) async fn perform(
        &self,
        part: &PartId,
        action: &Action,
        chunks: &mpsc::UnboundedSender<Chunk>,
    ) -> Performed {
        match action.clone() {
            Action::Prepare => {
                let links = self.shell.link_paths.clone();
                self.work(move |workspace| workspace.prepare(&links).map(Answer::Prepared)).await
            }
            Action::Read { tree, paths } => {
                self.work(move |workspace| workspace.read(&tree, &paths).map(|files| Answer::Files { files }))
                    .await
            }
            Action::Call(call) => self.call(part, &call, chunks).await,
            Action::Apply { onto, base, patch } => {
                self.work(move |workspace| workspace.apply(&base, &onto, &patch).map(applied)).await
            }
            Action::Store { base, path, text } => {
                self.work(move |workspace| workspace.put(&base, &path, &text).map(applied)).await
            }
            Action::Inspect { base, tree, kind, goal } => {
                self.work(move |workspace| {
                    let inspection = workspace.inspect(&base, &tree, kind, &goal)?;
                    Ok(Answer::Inspected(Box::new(inspection)))
                })
                .await
            }
            Action::Check { kind, command, tree, layers, vary, limit_s } => {
                self.check(Wanted { kind, command, tree, layers, vary, limit_s }).await
            }
            Action::Ask(question) => {
                // There is one terminal; a desk has room for every question.
                let _one_at_a_time = match self.human {
                    Human::Terminal => Some(self.person.lock().await),
                    Human::Absent | Human::Desk(_) => None,
                };
                let diff = self.proposal.lock().unwrap_or_else(PoisonError::into_inner).clone();
                match self.human.ask(part, question, diff).await {
                    Some((yes, text)) => Answer::Said { yes, text }.into(),
                    None => Performed::Cancelled,
                }
            }
            Action::Land { tree, base, how } => self.land(base, tree, how).await,
        }
    }

    async fn call(&self, part: &PartId, call: &Call, chunks: &mpsc::UnboundedSender<Chunk>) -> Performed {
        let mut on_chunk = |text: &str| {
            // Nobody listens any more only when the drive is over.
            chunks.send(Chunk { part: part.clone(), role: call.role, text: text.to_owned() }).ok();
        };
        match self.agents.call(call, &mut on_chunk).await {
            Ok(called) => Answer::Called(called).into(),
            Err(failure) => Answer::Failed(failure).into(),
        }
    }

    async fn check(&self, wanted: Wanted) -> Performed {
        let Wanted { kind, command, tree, layers, vary, limit_s } = wanted;
        let beside_others = matches!(kind, CheckKind::Mutant(_)) && !self.workspace.site(0).is_built();
        let site = if beside_others { self.sites.any().await } else { self.sites.all().await };
        let (workspace, scratch, cancel) =
            (Arc::clone(&self.workspace), self.scratch.clone(), self.cancel.clone());
        let limit = self.shell.time_limit_s.min(limit_s.unwrap_or(u64::MAX));
        let limits = Limits::new(Duration::from_secs(limit));
        let (shell, baselines) = (self.shell.clone(), self.baselines.clone());
        let confinement = self.confinement.clone();
        let report = is_test_command(kind).then(|| shell.test_report.clone()).flatten().map(PathBuf::from);
        let ran = blocking(move || {
            let key = (kind == CheckKind::Baseline)
                .then(|| baselines::key(workspace.repository(), &shell, &command, &tree))
                .flatten();
            if let Some(receipt) = key.as_ref().and_then(|key| baselines.find(key, &tree)) {
                return Ok(Ok(receipt));
            }
            let seen = workspace.laid_over(&tree, &layers).map_err(|error| error.to_string())?;
            let directory =
                workspace.site(site.number()).restore(&seen).map_err(|error| error.to_string())?;
            std::fs::create_dir_all(&scratch)
                .map_err(|error| format!("Checkmate could not make {}: {error}.", scratch.display()))?;
            let invocation = Invocation {
                command: &command,
                directory: &directory,
                tree: tree.clone(),
                scratch: &scratch,
                limits,
                keep_env: &shell.keep_env,
                report_file: report.as_deref(),
                vary,
                confinement: confinement.as_deref(),
                write: &[workspace.site(site.number()).view()],
            };
            let ran = process::run(&invocation, &cancel);
            if let (Some(key), Ok(receipt)) = (&key, &ran) {
                baselines.keep(key, receipt);
            }
            Ok(ran.map(|receipt| Receipt { saw: (seen != tree).then_some(seen), seed: vary, ..receipt }))
        })
        .await;
        match ran {
            Ok(Ok(receipt)) => Answer::Ran(receipt).into(),
            Ok(Err(process::ProcessError::Cancelled(_))) => Performed::Cancelled,
            Err(message) => local(message),
        }
    }

    async fn land(&self, base: TreeId, tree: TreeId, how: Landing) -> Performed {
        self.work(move |workspace| {
            Ok(match workspace.land(&base, &tree, how, "Change approved by Checkmate")? {
                LandAnswer::Landed { commit, files } => Answer::Landed { commit, files },
                LandAnswer::Conflict { target, paths } => Answer::Conflict { target, paths },
                LandAnswer::TargetMoved { target, merged } => {
                    let merged = workspace.candidate(&target, &merged)?;
                    Answer::TargetMoved { target, merged }
                }
            })
        })
        .await
    }

    /// Works on the trees, off the thread that waits for agents.
    async fn work(
        &self,
        job: impl FnOnce(&Workspace) -> Result<Answer, WorkspaceError> + Send + 'static,
    ) -> Performed {
        let workspace = Arc::clone(&self.workspace);
        match blocking(move || job(&workspace).map_err(|error| error.to_string())).await {
            Ok(answer) => answer.into(),
            Err(message) => local(message),
        }
    }
}

/// Says what the commands of a run may read, write and reach.
pub(crate) fn confinement(
    sandbox: &Sandbox,
    link_paths: &[String],
    workspace: &Workspace,
    folder: &Path,
) -> Confinement {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let named = |paths: &[String]| -> Vec<PathBuf> {
        let path = |text: &String| match (text.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            (_, _) => PathBuf::from(text),
        };
        paths.iter().map(path).collect()
    };
    let mut read = named(&sandbox.read);
    read.extend(workspace.borrowed(link_paths));
    // Journals, probes and kept receipts of every run of every repository, and what the user keeps beside what git tracks.
    let state = [folder.parent().map(Path::to_owned), crate::state::folder().ok()];
    let mut closed: Vec<PathBuf> = state.into_iter().flatten().collect();
    closed.push(workspace.repository().root().to_owned());
    Confinement {
        support: sandbox.support,
        network: sandbox.network,
        places: Places::new(&closed, read, named(&sandbox.write)),
        memory: sandbox.memory_mb.map(|megabytes| megabytes.saturating_mul(1 << 20)),
        processes: sandbox.processes,
    }
}

fn applied(applied: Applied) -> Answer {
    match applied {
        Applied::Candidate(candidate) => Answer::Applied(candidate),
        Applied::Rejected(reasons) => Answer::Rejected { reasons },
    }
}

fn local(message: String) -> Performed {
    Answer::Failed(Failure { kind: FailureKind::Local, message, requests: 0 }).into()
}

async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(job).await {
        Ok(result) => result,
        Err(error) => {
            Err(format!("A part of the run ended unexpectedly ({error}). Please report this as a bug."))
        }
    }
}
