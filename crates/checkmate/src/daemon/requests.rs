//! What clients ask for, one function each. Everything that takes time is done beside the connections.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkmate_machine::event::Command;
use checkmate_machine::ids::{RunId, TaskId};
use checkmate_machine::notice::Notice;
use checkmate_machine::run::Run;
use checkmate_machine::spec::{LandPolicy, Task, TaskKind};
use tokio::sync::oneshot;

use super::connection::Client;
use super::{Daemon, history, runs, settings, workspaces};
use crate::error::CommandError;
use crate::human::{self, Desk, Gate, Human};
use crate::journal::{self, now};
use crate::launch::{self, Order};
use crate::session::{Project, TASK};
use crate::state::JOURNAL;
use crate::undo;
use crate::wire::{AnswerWord, Envelope, Event, Frame, Message, Reply, Side, Standing, VERSION};
use crate::workspace::Workspace;

/// The longest text that is said to a run, in bytes.
const LONGEST_WORD: usize = 64 << 10;
/// The longest request, in bytes.
const LONGEST: usize = 256 << 10;
/// How long a search reads journals that the index of past runs does not know yet.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most runs that one answer lists, and how many without a wish.
const MOST: u32 = 200;
const USUAL: u32 = 50;

/// Says hello to somebody who came.
pub(super) fn greet(client: &Client) {
    let workspace = client.daemon.workspaces.find(client.workspace.as_deref());
    let message = match workspace {
        Ok(root) => format!("Connected to the daemon of Checkmate; the workspace is {}.", root.display()),
        Err(error) => format!("Connected to the daemon of Checkmate. {error}"),
    };
    client.tell(None, Event::Notice(Notice::Status { message, passing: false }));
}

/// Does what a message wants.
pub(super) async fn take(client: &mut Client, text: &str) {
    let Envelope { message, id } = match read(text) {
        Ok(envelope) => envelope,
        Err((id, problem)) => {
            return client.error(id, format!("The message is not understood: {problem}."));
        }
    };
    match done(client, message, id).await {
        Ok(Some(reply)) => client.reply(id, reply),
        Ok(None) => {}
        Err(error) => client.error(id, error.to_string()),
    }
}

/// Reads a message, or says what is wrong with it and which one it was by its sender's count.
fn read(text: &str) -> Result<Envelope, (Option<u64>, String)> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| (None, error.to_string()))?;
    let id = value["id"].as_u64();
    if !value["type"].is_string() {
        // A number would be taken for the place of a message among all of them.
        return Err((id, "it has to be an object with a `type`, which is a text".into()));
    }
    serde_json::from_value(value).map_err(|error| (id, error.to_string()))
}

type Answered = Result<Option<Reply>, CommandError>;

async fn done(client: &mut Client, message: Message, id: Option<u64>) -> Answered {
    let daemon = Arc::clone(&client.daemon);
    let own = client.workspace.clone();
    match message {
        Message::Hello { version: _ } => {
            client.knows_all = true;
            client.places.values_mut().for_each(super::feed::Place::know_all);
            beside(move || Ok(Some(hello(&daemon, own.as_deref())))).await
        }
        Message::RunCycle { request, workspace, kind, land, attended, follows } => {
            let wish = Wish { request, kind, land, attended, follows };
            let run = beside(move || begin(&daemon, workspace.or(own).as_deref(), wish)).await?;
            accept(client, id, &run);
            follow(client, &run, 1).await?;
            Ok(None)
        }
        Message::ApplyPatch { patch, workspace } => {
            let run = beside(move || begin_patch(&daemon, workspace.or(own).as_deref(), patch)).await?;
            accept(client, id, &run);
            follow(client, &run, 1).await?;
            Ok(None)
        }
        Message::RunTests { workspace } => {
            let mailbox = client.mailbox.clone();
            settings::run_tests(daemon, workspace.or(own), id, mailbox);
            Ok(None)
        }
        Message::Subscribe { run, from_seq } => {
            let latest_seq = follow(client, &run, from_seq).await?;
            Ok(Some(Reply::Subscribed { run, latest_seq }))
        }
        Message::Unsubscribe { run } => {
            client.places.remove(&run);
            Ok(Some(Reply::Done { message: format!("You are told no more of the run {run}.") }))
        }
        Message::WatchRuns {} => {
            client.seen = Some(daemon.board.watch(&client.bell));
            Ok(Some(Reply::Done { message: "You are told of every run that changes.".into() }))
        }
        Message::ListRuns { workspace, before, limit } => {
            let limit = limit.unwrap_or(USUAL).clamp(1, MOST);
            beside(move || list(&daemon, workspace.as_deref(), before.as_ref(), limit)).await
        }
        Message::Search { query, workspace } => {
            beside(move || search(&daemon, &query, workspace.as_deref())).await
        }
        Message::ListWorkspaces {} => beside(move || Ok(Some(all_workspaces(&daemon, own.as_deref())))).await,
        Message::OpenWorkspace { path } => beside(move || open(&daemon, &path, own.as_deref())).await,
        Message::Cancel { run, reason } => {
            let said = beside(move || cancel(&daemon, &run, reason)).await?;
            confirm(client, id, said);
            Ok(None)
        }
        Message::Resume { run, budget } => {
            let resumed = run.clone();
            beside(move || {
                let larger = budget.map(|limits| Command::Budget { role: None, limits });
                // What failed goes on first: a run that is over for an error takes no budget.
                go_on(&daemon, &resumed, [Command::Retry].into_iter().chain(larger).collect())
            })
            .await?;
            keep_following(client, &run).await?;
            Ok(Some(Reply::Accepted { run }))
        }
        Message::Land { run, how } => {
            let landed = run.clone();
            beside(move || land(&daemon, &landed, Command::Land { how })).await?;
            keep_following(client, &run).await?;
            Ok(Some(Reply::Accepted { run }))
        }
        Message::Undo { run } => beside(move || take_back(&daemon, &run)).await,
        Message::Answer { run, gate, reply, text } => {
            let said = beside(move || answer(&daemon, &run, &gate, reply, text)).await?;
            confirm(client, id, said);
            Ok(None)
        }
        Message::Comment { run, text, path, line } => {
            let said = beside(move || say(&daemon, &run, Command::Comment { text, path, line })).await?;
            confirm(client, id, said);
            Ok(None)
        }
        Message::Dispute { run, finding, text } => {
            let said = beside(move || say(&daemon, &run, Command::Dispute { finding, text })).await?;
            confirm(client, id, said);
            Ok(None)
        }
        Message::ReadFile { run, path, side } => beside(move || read_file(&daemon, &run, path, side)).await,
        Message::GetConfiguration { workspace } => {
            beside(move || settings::get(&daemon, workspace.or(own).as_deref())).await
        }
        Message::CheckConfiguration { workspace, text } => {
            beside(move || settings::check(&daemon, workspace.or(own).as_deref(), &text)).await
        }
        Message::SaveConfiguration { workspace, text, replaces } => {
            beside(move || settings::save(&daemon, workspace.or(own).as_deref(), &text, replaces.as_deref()))
                .await
        }
    }
}

/// Does something that waits for disks and processes, on a thread of its own.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CommandError> + Send + 'static,
) -> Result<T, CommandError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        Err(CommandError::local("The daemon failed at this message; its other work goes on."))
    })
}

/// Something that was said to a run, and what its sender is told once it is known whether it is written down.
struct Said {
    written: oneshot::Receiver<()>,
    done: String,
    /// What is told instead if the run did not take it.
    not_done: String,
}

/// Answers when it is written down. Nothing else of the client waits for that.
fn confirm(client: &Client, id: Option<u64>, said: Said) {
    let mailbox = client.mailbox.clone();
    tokio::spawn(async move {
        let event = match said.written.await {
            Ok(()) => Event::Daemon(Reply::Done { message: said.done }),
            Err(_) => Event::Notice(Notice::Error { error: said.not_done }),
        };
        mailbox.send(Frame { event, run: None, task: None, seq: None, at: now(), re: id }).ok();
    });
}

/// Says that a run begins. Clients of system A do not know such a word, and ask for it by no number.
fn accept(client: &Client, id: Option<u64>, run: &RunId) {
    if client.knows_all || id.is_some() {
        client.reply(id, Reply::Accepted { run: run.clone() });
    }
}

/// Follows a run from an event on.
async fn follow(client: &mut Client, run: &RunId, from_seq: u64) -> Result<u64, CommandError> {
    let (daemon, wanted) = (Arc::clone(&client.daemon), run.clone());
    let feed = beside(move || {
        let project = project_of(&daemon, &wanted)?;
        runs::feed(&daemon, &project, &wanted)
    })
    .await?;
    let (place, latest) = feed.place(from_seq, !client.knows_all, &client.bell);
    client.places.insert(run.clone(), place);
    Ok(latest)
}

/// Follows a run that goes on, from its beginning unless the client follows it already.
async fn keep_following(client: &mut Client, run: &RunId) -> Result<(), CommandError> {
    if !client.places.contains_key(run) {
        follow(client, run, 1).await?;
    }
    Ok(())
}

fn hello(daemon: &Daemon, own: Option<&str>) -> Reply {
    Reply::Hello {
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").into(),
        workspaces: states(daemon, own),
        runs_at_once: u32::try_from(daemon.runs.at_once()).unwrap_or(u32::MAX),
    }
}

fn all_workspaces(daemon: &Daemon, own: Option<&str>) -> Reply {
    Reply::Workspaces { workspaces: states(daemon, own) }
}

fn states(daemon: &Daemon, own: Option<&str>) -> Vec<crate::wire::WorkspaceState> {
    let mut roots = daemon.workspaces.roots();
    if let Ok(first) = daemon.workspaces.find(own) {
        roots.retain(|root| *root != first);
        roots.insert(0, first);
    }
    roots.iter().map(|root| daemon.workspaces.look(root, daemon.script.is_some())).collect()
}

fn open(daemon: &Daemon, path: &str, own: Option<&str>) -> Answered {
    let folder = Path::new(path);
    if !folder.is_absolute() || !folder.is_dir() {
        return Err(CommandError::usage(format!("`{path}` is not the absolute path of a folder.")));
    }
    Project::discover(folder)?;
    daemon.workspaces.add(folder);
    Ok(Some(all_workspaces(daemon, own)))
}

/// A run that a client asks for.
struct Wish {
    request: String,
    kind: Option<TaskKind>,
    land: Option<LandPolicy>,
    attended: bool,
    follows: Option<RunId>,
}

fn begin(daemon: &Arc<Daemon>, workspace: Option<&str>, wish: Wish) -> Result<RunId, CommandError> {
    let Wish { request, kind, land, attended, follows } = wish;
    if request.len() > LONGEST {
        return Err(CommandError::usage(format!(
            "The request has {} bytes; {LONGEST} are the most. Put what belongs to it into a file of the repository.",
            request.len()
        )));
    }
    let project = daemon.workspaces.usable(workspace)?;
    project.repository.refuse_unmerged()?;
    let config = workspaces::configuration(&project, daemon.script.is_some())?;
    // Nobody is there who could be asked later.
    let unasked = !attended && config.land.is_none();
    let land = land.or(unasked.then_some(LandPolicy::Apply));
    if let Some(run) = follows.as_ref().filter(|run| !is_name(run)) {
        return Err(CommandError::usage(format!("`{run}` is no run's name. `list_runs` lists the runs.")));
    }
    if let Some(run) = follows.as_ref().filter(|run| !project.runs.run(run).join(JOURNAL).is_file()) {
        return Err(CommandError::usage(format!(
            "The workspace {} has no run `{run}` to go on from. A request goes on in the workspace of the run before.",
            project.repository.root().display()
        )));
    }
    let follows = follows.map(|run| launch::earlier(&project, &run)).transpose()?;
    let task = Task { kind, follows, ..Task::of(request) };
    let human = if attended { Human::Desk(Arc::new(Desk::default())) } else { Human::Absent };
    let order = Order { task, land, script: daemon.script.as_deref() };
    let session = order.begin(&project, &config, &human)?;
    let id = session.id.clone();
    // The run is written down; whoever drives it opens it anew.
    drop(session);
    runs::start(daemon, &project, &id, Vec::new())?;
    Ok(id)
}

/// Begins a run that brings a patch of the client's own to the workspace's tree.
fn begin_patch(daemon: &Arc<Daemon>, workspace: Option<&str>, patch: String) -> Result<RunId, CommandError> {
    let project = daemon.workspaces.usable(workspace)?;
    project.repository.refuse_unmerged()?;
    let config = workspaces::configuration(&project, daemon.script.is_some())?;
    let session = launch::begin_patch(&project, &config, patch)?;
    let id = session.id.clone();
    drop(session);
    runs::start(daemon, &project, &id, Vec::new())?;
    Ok(id)
}

/// Finds the repository of a run among the workspaces.
fn project_of(daemon: &Daemon, run: &RunId) -> Result<Project, CommandError> {
    if let Some(live) = daemon.runs.live(run) {
        return Ok(live.project.clone());
    }
    let mut projects = daemon.workspaces.projects().into_iter().filter(|_| is_name(run));
    projects.find(|project| project.runs.run(run).join(JOURNAL).is_file()).ok_or_else(|| {
        CommandError::usage(format!("No open workspace has a run `{run}`. `list_runs` lists the runs."))
    })
}

/// The same, to work in the repository: it has to be there.
fn usable_project_of(daemon: &Daemon, run: &RunId) -> Result<Project, CommandError> {
    let project = project_of(daemon, run)?;
    daemon.workspaces.usable_at(project.repository.root())
}

/// Tells whether something can be the name of a run: nothing else reaches the file system.
fn is_name(run: &RunId) -> bool {
    !run.as_str().is_empty() && run.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Replays a run that nobody drives.
fn replayed(project: &Project, run: &RunId) -> Result<Run, CommandError> {
    Ok(journal::read(&project.runs.run(run))?.replay(|_, _| {})?)
}

/// Returns the repositories whose past is asked for.
fn projects(daemon: &Daemon, workspace: Option<&str>) -> Result<Vec<Project>, CommandError> {
    let Some(wanted) = workspace else { return Ok(daemon.workspaces.projects()) };
    let root = daemon.workspaces.find(Some(wanted))?;
    let known = daemon.workspaces.project(&root);
    Ok(vec![known.map_or_else(|| daemon.workspaces.usable(Some(wanted)), Ok)?])
}

fn list(daemon: &Daemon, workspace: Option<&str>, before: Option<&RunId>, limit: u32) -> Answered {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let projects = projects(daemon, workspace)?;
    let (mut lists, mut any_more) = (Vec::new(), false);
    for project in projects {
        let live = |id: &RunId| daemon.runs.live(id).map(|live| live.feed.state());
        let (states, more) = daemon.history.list(&project, before, limit, live)?;
        any_more |= more;
        lists.push(states);
    }
    let total: usize = lists.iter().map(Vec::len).sum();
    let runs = history::merged(lists, limit);
    Ok(Some(Reply::Runs { runs, more: any_more || total > limit }))
}

fn search(daemon: &Daemon, query: &str, workspace: Option<&str>) -> Answered {
    let projects = projects(daemon, workspace)?;
    let (mut hits, mut whole) = (Vec::new(), true);
    let end = Instant::now() + PATIENCE;
    for project in projects {
        let (found, all) = daemon.history.search(&project, query, end)?;
        hits.extend(found);
        whole &= all;
    }
    Ok(Some(Reply::Found { hits, whole }))
}

fn say(daemon: &Arc<Daemon>, run: &RunId, command: Command) -> Result<Said, CommandError> {
    if let Command::Comment { text, .. } | Command::Dispute { text, .. } = &command {
        refuse_long(text)?;
    }
    // What is told its end hears nothing more.
    daemon.runs.settle(run);
    let Some(live) = daemon.runs.live(run) else {
        refuse_driven(daemon, &project_of(daemon, run)?, run)?;
        return Err(CommandError::usage(format!(
            "Nobody drives the run {run} now, so nothing can be said to it. Go on with it, or start a new run that follows \
             it."
        )));
    };
    if let Command::Dispute { finding, .. } = &command
        && live.feed.state().standing != Standing::Queued
        && !live.feed.can_settle(finding)
    {
        return Err(CommandError::usage(format!(
            "The run {run} has no open finding `{finding}` that a person could settle: a test confirms it, or it is settled."
        )));
    }
    Ok(Said {
        written: runs::say(daemon, &live, command)?,
        done: "Said; the run takes it up as soon as it can.".into(),
        not_done: format!(
            "The run {run} does not take this now: it is about to end, or has nothing that it could mean."
        ),
    })
}

fn cancel(daemon: &Arc<Daemon>, run: &RunId, reason: String) -> Result<Said, CommandError> {
    refuse_long(&reason)?;
    let reason = if reason.trim().is_empty() { "A client ended it.".to_owned() } else { reason };
    let command = Command::Cancel { reason };
    let written = if runs::end_waiting(daemon, run, &command)? {
        // It needs no turn to end.
        runs::written()
    } else if let Some(live) = daemon.runs.live(run) {
        runs::say(daemon, &live, command)?
    } else {
        go_on(daemon, run, vec![command])?;
        runs::written()
    };
    Ok(Said {
        written,
        done: format!("The run {run} is being ended."),
        not_done: format!("The run {run} is over already, or about to end."),
    })
}

/// Goes on with a run that nobody drives, if one of the commands means anything to it or if it is not over.
fn go_on(daemon: &Arc<Daemon>, run: &RunId, commands: Vec<Command>) -> Result<(), CommandError> {
    daemon.runs.settle(run);
    let project = usable_project_of(daemon, run)?;
    let replayed = replayed(&project, run)?;
    let task = TaskId::new(TASK);
    let is_over = replayed.outcome(&task).is_some();
    if is_over && replayed.accepted(&task, commands.clone()).is_empty() {
        return Err(CommandError::usage(format!("The run {run} is over; start a new one that follows it.")));
    }
    refuse_driven(daemon, &project, run)?;
    runs::start(daemon, &project, run, commands).map(drop)
}

fn land(daemon: &Arc<Daemon>, run: &RunId, command: Command) -> Result<(), CommandError> {
    daemon.runs.settle(run);
    let project = usable_project_of(daemon, run)?;
    if !replayed(&project, run)?.accepts(&TaskId::new(TASK), &command) {
        return Err(CommandError::usage(format!(
            "The run {run} has nothing to land: it is not approved, or it has landed already."
        )));
    }
    refuse_driven(daemon, &project, run)?;
    runs::start(daemon, &project, run, vec![command]).map(drop)
}

/// Refuses what is too long for something that is said to a run.
fn refuse_long(text: &str) -> Result<(), CommandError> {
    if text.len() <= LONGEST_WORD {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "The text has {} bytes; {LONGEST_WORD} are the most that can be said to a run at once.",
        text.len()
    )))
}

/// Refuses to go on with a run that another program drives.
fn refuse_driven(daemon: &Daemon, project: &Project, run: &RunId) -> Result<(), CommandError> {
    if daemon.runs.live(run).is_none() {
        drop(journal::lock(&project.runs.run(run))?);
    }
    Ok(())
}

fn take_back(daemon: &Arc<Daemon>, run: &RunId) -> Answered {
    daemon.runs.settle(run);
    let project = usable_project_of(daemon, run)?;
    if daemon.runs.live(run).is_some() {
        return Err(CommandError::usage(format!("The run {run} is not over, so nothing can be taken back.")));
    }
    let message = undo::undo(&project, run)?.sentence(run)?;
    if let Ok(feed) = runs::feed(daemon, &project, run) {
        daemon.board.set(feed.state());
    }
    Ok(Some(Reply::Done { message }))
}

fn answer(
    daemon: &Daemon,
    run: &RunId,
    gate: &str,
    reply: AnswerWord,
    text: String,
) -> Result<Said, CommandError> {
    let late = || {
        CommandError::usage(format!(
            "Nobody waits for an answer to `{gate}` of the run {run}: somebody was quicker, or the run went on."
        ))
    };
    refuse_long(&text)?;
    let live = daemon.runs.live(run).ok_or_else(late)?;
    let gate = Gate::parse(gate).ok_or_else(late)?;
    let said = human::Said {
        yes: matches!(reply, AnswerWord::Yes | AnswerWord::Always),
        always: reply == AnswerWord::Always,
        text,
    };
    let written = live.desk.answer(&gate, said).map_err(|_| late())?;
    Ok(Said {
        written,
        done: "Answered.".into(),
        not_done: format!(
            "The run {run} stopped before it could take the answer; it asks again when it goes on."
        ),
    })
}

fn read_file(daemon: &Daemon, run: &RunId, path: String, side: Side) -> Answered {
    let project = project_of(daemon, run)?;
    let replayed = replayed(&project, run)?;
    let cycle = replayed.cycle(&TaskId::new(TASK));
    let base = cycle.and_then(|cycle| cycle.prepared()).map(|prepared| prepared.base.clone());
    let candidate = cycle.and_then(|cycle| cycle.candidate()).map(|candidate| candidate.tree.clone());
    let tree = match side {
        Side::Base => base,
        Side::Candidate => candidate.or(base),
    };
    let Some(tree) = tree else {
        return Err(CommandError::usage(format!("The run {run} has no files yet.")));
    };
    let workspace = Workspace::open(project.repository.clone(), run.as_str(), &project.runs.run(run))?;
    let files = workspace.read(&tree, std::slice::from_ref(&path))?;
    let text = files.into_iter().next().and_then(|file| file.text.ok());
    Ok(Some(Reply::File { path, side, text }))
}
