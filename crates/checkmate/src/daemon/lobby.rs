//! Where connections are until they have shown who they are.
//!
//! Any program of this machine can make one, so there is room for some only, nobody stays long, and where it is full
//! whoever came first goes. One that becomes a WebSocket has shown the token and leaves.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// The most connections that may be here.
const ROOM: u64 = 128;
/// How long a request's head may take.
const HEAD: Duration = Duration::from_secs(10);
/// How long a connection may stay, whatever it asks for.
const STAY: Duration = Duration::from_secs(30);
/// How long nobody is let in when there is no file left for them.
const PAUSE: Duration = Duration::from_millis(100);
/// How many files the daemon wants to have open at once; programs that it starts may have as many.
const FILES: u64 = 8192;

/// Lets connections in as long as the daemon lives.
pub(super) async fn receive(listener: TcpListener, app: Router) {
    let room = usize::try_from(ROOM.min(files() / 4)).unwrap_or(1).max(1);
    let mut here: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let accepted = listener.accept().await;
        here.retain(|one| !one.is_finished());
        if (accepted.is_err() || here.len() >= room)
            && let Some(first) = here.pop_front()
        {
            first.abort();
        }
        let Ok((stream, _)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        // Events are small, and nobody is to wait until the one before was acknowledged.
        stream.set_nodelay(true).ok();
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app.clone()))
            .with_upgrades();
        let stay = tokio::spawn(async move {
            // Whatever goes wrong here is the client's affair.
            timeout(STAY, serving).await.ok();
        });
        here.push_back(stay.abort_handle());
    }
}

/// Sees that there are files for many clients and runs, as far as the system allows it, and returns how many.
fn files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let present = limit.current.unwrap_or(FILES);
    let wanted = limit.maximum.map_or(FILES, |most| most.min(FILES));
    if present < wanted
        && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }).is_ok()
    {
        return wanted;
    }
    present
}
