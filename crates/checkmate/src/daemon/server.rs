//! The port: who connects is let in or refused here, and handed on.

use std::io::{IsTerminal as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::door::{Door, Refused};
use super::history::History;
use super::runs::{self, Runs};
use super::settings::Trials;
use super::workspaces::Workspaces;
use super::{Board, Daemon, assets, connection, lobby, lookout};
use crate::error::CommandError;
use crate::interrupt::Interrupts;
use crate::journal;
use crate::state;

/// The sub-protocol that clients ask for.
const PROTOCOL: &str = "checkmate.v1";
/// How long the lock of a daemon that was killed may outlive it.
const UNLOCK: Duration = Duration::from_millis(500);
/// How long clients have to read their goodbye.
const GOODBYE: Duration = Duration::from_millis(500);
/// What pages of this daemon may load and reach.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// How the daemon is started.
#[derive(Debug)]
pub struct Options {
    /// Folders of the workspaces; the first one is that of clients that name none.
    pub workspaces: Vec<PathBuf>,
    /// The port; 0 takes any that is free.
    pub port: u16,
    /// Whether programs of this machine come in without the token.
    pub open: bool,
    /// The most runs that go on at once.
    pub runs_at_once: usize,
    /// Scripted agents for every run, instead of models.
    pub script: Option<String>,
}

/// What a request is answered from.
#[derive(Debug)]
struct Port {
    daemon: Arc<Daemon>,
    door: Door,
}

/// Serves until somebody asks the program to end.
pub fn serve(options: Options) -> Result<(), CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        CommandError::local(format!(
            "The program could not be set up: {error}. Close other programs and try again."
        ))
    })?;
    let result = runtime.block_on(serving(options));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn serving(options: Options) -> Result<(), CommandError> {
    let folder = super::folder()?;
    crate::state::make(&folder).map_err(|error| {
        CommandError::local(format!(
            "The folder {} cannot be made: {error}. Check its permissions.",
            folder.display()
        ))
    })?;
    let _lock = lock(&folder)?;
    let mut interrupts = Interrupts::listen().map_err(|error| {
        CommandError::local(format!("Ctrl-C cannot be listened for: {error}. Start Checkmate again."))
    })?;
    let (listeners, port) = listen(options.port).await?;
    let door = Door::new(&folder, port, options.open)?;
    let address = format!("http://localhost:{port}/#token={}", shown_token(&door, &folder));
    let scripted = options.script.is_some();
    let daemon = Arc::new(Daemon {
        workspaces: Workspaces::default(),
        runs: Runs::new(options.runs_at_once),
        trials: Trials::new(options.runs_at_once),
        history: History::new(state::folder()?.join("index.sqlite")),
        board: Arc::new(Board::default()),
        script: options.script,
        open: options.open,
        ending: watch::channel(false).0,
    });
    for folder in &options.workspaces {
        let root = daemon.workspaces.add(folder);
        if let Some(problem) = daemon.workspaces.look(&root, scripted).problem {
            anstream::eprintln!("warning: Runs in {} are refused: {problem}", root.display());
        }
    }
    if let Err(error) = note(&folder, port) {
        // Programs of this user look there; whoever knows the port needs nothing of it.
        anstream::eprintln!("warning: {error}");
    }
    anstream::eprintln!("Listening on ws://localhost:{port}. The panel: {address}");
    go_on(&daemon);
    lookout::begin(&daemon);
    let app = Router::new()
        .route("/", get(root))
        .route("/healthz", get(health))
        .fallback(get(missing))
        .with_state(Arc::new(Port { daemon: Arc::clone(&daemon), door }));
    let servers: Vec<_> =
        listeners.into_iter().map(|listener| tokio::spawn(lobby::receive(listener, app.clone()))).collect();
    interrupts.stop().await;
    anstream::eprintln!("Stopping the runs; they go on when the daemon is started again.");
    let close = async { tokio::join!(daemon.runs.close(), daemon.trials.close()) };
    tokio::select! {
        ((), ()) = close => {}
        () = interrupts.stop() => {}
    }
    daemon.ending.send_replace(true);
    tokio::time::sleep(GOODBYE).await;
    for server in servers {
        server.abort();
    }
    // If somebody has removed the lock, another daemon may have noted itself there.
    if noted(&folder)["pid"] == std::process::id() {
        std::fs::remove_file(folder.join("daemon.json")).ok();
    }
    Ok(())
}

/// Returns the token as people are told it: at a terminal. Whatever else keeps what is said here is told where it stands.
fn shown_token(door: &Door, folder: &Path) -> String {
    if std::io::stderr().is_terminal() {
        return door.token().to_owned();
    }
    format!("$(cat '{}')", folder.join("token").display())
}

/// Listens on the loopback addresses of both families, as far as the machine has them.
async fn listen(port: u16) -> Result<(Vec<TcpListener>, u16), CommandError> {
    let first = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await.map_err(|error| {
        if error.kind() == std::io::ErrorKind::AddrInUse {
            return CommandError::local(format!(
                "The port {port} is in use; a daemon may be listening there already (`curl http://localhost:{port}/healthz`). \
                 End it, or give another one: `checkmate serve --port N`."
            ));
        }
        CommandError::local(format!("The port {port} cannot be listened on: {error}. Give another one with `--port`."))
    })?;
    let port = first.local_addr().map(|address| address.port()).unwrap_or(port);
    let mut listeners = vec![first];
    match TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).await {
        Ok(second) => listeners.push(second),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            return Err(CommandError::local(format!(
                "The port {port} is in use on ::1. End what listens there, or give another one: `checkmate serve --port N`."
            )));
        }
        // Machines without IPv6.
        Err(_) => {}
    }
    Ok((listeners, port))
}

/// Makes sure that no other daemon drives the runs of this state folder. Returns what holds it.
fn lock(folder: &Path) -> Result<std::fs::File, CommandError> {
    let path = folder.join("lock");
    let failed = |error: std::io::Error| {
        CommandError::local(format!("{} cannot be locked: {error}. Check its permissions.", path.display()))
    };
    let file = std::fs::File::options().create(true).append(true).open(&path).map_err(failed)?;
    // A child of a daemon that was killed holds it until it has become the program that it was started for.
    let end = Instant::now() + UNLOCK;
    let mut tried = file.try_lock();
    while matches!(tried, Err(std::fs::TryLockError::WouldBlock)) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
        tried = file.try_lock();
    }
    match tried {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::Error(error)) => Err(failed(error)),
        Err(std::fs::TryLockError::WouldBlock) => {
            let port =
                noted(folder)["port"].as_u64().map_or_else(String::new, |port| format!(" on port {port}"));
            Err(CommandError::local(format!(
                "A daemon runs already{port}; it can take further workspaces. Open them in the panel, or end that daemon."
            )))
        }
    }
}

/// Returns what was noted last, or null.
fn noted(folder: &Path) -> serde_json::Value {
    let noted = std::fs::read(folder.join("daemon.json")).unwrap_or_default();
    serde_json::from_slice(&noted).unwrap_or_default()
}

/// Notes where the daemon listens, for programs of this user.
fn note(folder: &Path, port: u16) -> Result<(), CommandError> {
    let path = folder.join("daemon.json");
    let failed = |error: std::io::Error| {
        CommandError::local(format!(
            "{} cannot be written: {error}. Check the space and the permissions there.",
            path.display()
        ))
    };
    let text =
        serde_json::json!({"pid": std::process::id(), "port": port, "version": env!("CARGO_PKG_VERSION")});
    let mut file = tempfile::Builder::new().prefix(".daemon").tempfile_in(folder).map_err(failed)?;
    writeln!(file, "{text}").map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Goes on with the runs that a daemon before this one did not finish.
fn go_on(daemon: &Arc<Daemon>) {
    for (repository, id) in runs::unfinished() {
        let root = daemon.workspaces.add(&repository);
        let started = daemon.workspaces.usable_at(&root).and_then(|project| {
            // A run that somebody drives at a terminal is left to them.
            drop(journal::lock(&project.runs.run(&id))?);
            runs::start(daemon, &project, &id, Vec::new())
        });
        match started {
            Ok(_) => anstream::eprintln!("Going on with the run {id} in {}.", repository.display()),
            Err(error) => anstream::eprintln!("warning: The run {id} cannot go on: {error}"),
        }
    }
}

async fn root(
    State(port): State<Arc<Port>>,
    headers: HeaderMap,
    uri: Uri,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let Ok(upgrade) = upgrade else {
        return match port.door.admit(&headers) {
            Ok(()) => file("/"),
            Err(refused) => refuse(refused),
        };
    };
    if let Err(refused) = port.door.admit_client(&headers, &uri) {
        return refuse(refused);
    }
    let workspace = uri.query().and_then(workspace);
    let daemon = Arc::clone(&port.daemon);
    upgrade
        .protocols([PROTOCOL])
        .max_message_size(connection::LONGEST)
        .max_frame_size(connection::LONGEST)
        .on_upgrade(move |socket| connection::serve(daemon, socket, workspace))
}

/// Returns the workspace that a query names, its escapes resolved.
fn workspace(query: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("workspace="))?;
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            b'+' => bytes.push(b' '),
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

async fn health(State(port): State<Arc<Port>>, headers: HeaderMap) -> Response {
    match port.door.admit(&headers) {
        Ok(()) => {
            let text = serde_json::json!({
                "status": "ok",
                "program": "checkmate",
                "version": env!("CARGO_PKG_VERSION"),
                "protocol": crate::wire::VERSION,
            });
            answer(StatusCode::OK, "application/json", text.to_string())
        }
        Err(refused) => refuse(refused),
    }
}

async fn missing(State(port): State<Arc<Port>>, request: Request) -> Response {
    if let Err(refused) = port.door.admit(request.headers()) {
        return refuse(refused);
    }
    file(request.uri().path())
}

/// Answers with a file of the panel; these hold no secret.
fn file(path: &str) -> Response {
    let nothing =
        || answer(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", "There is nothing here.\n".into());
    assets::asset(path).map_or_else(nothing, guarded)
}

fn refuse(refused: Refused) -> Response {
    answer(refused.status(), "text/plain; charset=utf-8", format!("{}\n", refused.message()))
}

fn answer(status: StatusCode, kind: &'static str, text: String) -> Response {
    let mut response = (status, text).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    guarded(response)
}

/// Says what a browser may do with an answer.
fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
