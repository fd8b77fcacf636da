//! One client: what it says is done in order, and what it follows is sent as fast as it reads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message as Packet, Utf8Bytes, WebSocket, close_code};
use checkmate_machine::ids::RunId;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{MissedTickBehavior, timeout};

use super::Daemon;
use super::feed::Place;
use super::requests;
use crate::journal::now;
use crate::wire::{Event, Frame, Reply};

/// The longest message that a client may send, in bytes.
pub(super) const LONGEST: usize = 8 << 20;
/// How many messages a client may send a second, for long, and at once.
const MESSAGES: f64 = 100.0;
const BURST: f64 = 400.0;
/// How long a client may take to read what is sent. It comes back and goes on where it was.
const SLOWEST: Duration = Duration::from_secs(30);
/// How often a client is asked whether it is there.
const PING: Duration = Duration::from_secs(25);
/// How many of these questions a client may leave unanswered.
const UNANSWERED: u32 = 3;
/// How long somebody who is sent away has to read why.
const GOODBYE: Duration = Duration::from_secs(1);
/// How much is taken from one feed before the others have their turn, in bytes.
const PORTION: usize = 256 << 10;

/// What a client is told outside of feeds.
pub(super) type Mailbox = mpsc::UnboundedSender<Frame>;

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) daemon: Arc<Daemon>,
    /// The root of the workspace that it named when it came.
    pub(super) workspace: Option<String>,
    /// Whether it has said that it knows every event.
    pub(super) knows_all: bool,
    /// The runs that it follows.
    pub(super) places: BTreeMap<RunId, Place>,
    /// Up to where it has seen where runs stand; `None` if it does not want to.
    pub(super) seen: Option<u64>,
    /// Rings when there is something new.
    pub(super) bell: Arc<Notify>,
    pub(super) mailbox: Mailbox,
}

/// Why a client is sent away.
struct Away {
    code: u16,
    reason: &'static str,
}

/// Serves a client until it goes, or is sent away.
pub(super) async fn serve(daemon: Arc<Daemon>, mut socket: WebSocket, workspace: Option<String>) {
    let mut ending = daemon.ending.subscribe();
    let (mailbox, mut letters) = mpsc::unbounded_channel();
    let mut client = Client {
        daemon,
        workspace,
        knows_all: false,
        places: BTreeMap::new(),
        seen: None,
        bell: Arc::new(Notify::new()),
        mailbox,
    };
    let bell = Arc::clone(&client.bell);
    requests::greet(&client);
    let mut rate = Rate::new();
    let mut pings = tokio::time::interval_at(tokio::time::Instant::now() + PING, PING);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // How many pings went out since the client was heard.
    let mut unanswered = 0;
    let away = loop {
        let more = match send_some(&mut client, &mut socket, &mut letters).await {
            Ok(more) => more,
            Err(away) => break away,
        };
        tokio::select! {
            biased;
            packet = socket.recv() => {
                unanswered = 0;
                let text = match packet {
                    Some(Ok(Packet::Text(text))) => text,
                    Some(Ok(Packet::Ping(_) | Packet::Pong(_))) => continue,
                    Some(Ok(Packet::Binary(_))) => {
                        client.error(None, "Messages are text frames with one JSON object each.");
                        continue;
                    }
                    Some(Ok(Packet::Close(_))) | None => return,
                    Some(Err(error)) => break unreadable(&error),
                };
                if !rate.admits() {
                    client.error(None, "Too many messages a second; connect again and go slower.");
                    send_some(&mut client, &mut socket, &mut letters).await.ok();
                    break Away { code: close_code::POLICY, reason: "too many messages" };
                }
                requests::take(&mut client, &text).await;
            }
            Some(frame) = letters.recv() => {
                if let Some(text) = written(&frame)
                    && send(&mut socket, text).await.is_err()
                {
                    return;
                }
            }
            _ = pings.tick() => {
                unanswered += 1;
                if unanswered > UNANSWERED {
                    return;
                }
                if !matches!(timeout(SLOWEST, socket.send(Packet::Ping(Vec::new().into()))).await, Ok(Ok(()))) {
                    return;
                }
            }
            () = std::future::ready(()), if more => {}
            () = ended(&mut ending) => {
                // Where runs stand now is the last that is told.
                let last = async { while let Ok(true) = send_some(&mut client, &mut socket, &mut letters).await {} };
                timeout(GOODBYE, last).await.ok();
                break Away { code: close_code::AWAY, reason: "the daemon ends" };
            }
            () = bell.notified() => {}
        }
    };
    let frame = CloseFrame { code: away.code, reason: Utf8Bytes::from_static(away.reason) };
    let goodbye = async {
        if socket.send(Packet::Close(Some(frame))).await.is_ok() {
            // What it had sent before is read, or its system would throw the goodbye away unread.
            while let Some(Ok(_)) = socket.recv().await {}
        }
    };
    timeout(GOODBYE, goodbye).await.ok();
}

/// Waits until the daemon is to end.
async fn ended(ending: &mut watch::Receiver<bool>) {
    ending.wait_for(|ending| *ending).await.ok();
}

impl Client {
    /// Answers a message.
    pub(super) fn reply(&self, re: Option<u64>, reply: Reply) {
        self.tell(re, Event::Daemon(reply));
    }

    /// Says that a message could not be done.
    pub(super) fn error(&self, re: Option<u64>, message: impl Into<String>) {
        let error = checkmate_machine::notice::Notice::Error { error: message.into() };
        self.tell(re, Event::Notice(error));
    }

    /// Tells something outside of a run.
    pub(super) fn tell(&self, re: Option<u64>, event: Event) {
        let frame = Frame { event, run: None, task: None, seq: None, at: now(), re };
        self.mailbox.send(frame).ok();
    }
}

/// Sends a portion of what there is: letters first, because they say what follows. Tells whether there may be more.
async fn send_some(
    client: &mut Client,
    socket: &mut WebSocket,
    letters: &mut mpsc::UnboundedReceiver<Frame>,
) -> Result<bool, Away> {
    let mut texts: Vec<Utf8Bytes> = Vec::new();
    while let Ok(frame) = letters.try_recv() {
        texts.extend(written(&frame));
    }
    if let Some(seen) = client.seen {
        let (states, latest) = client.daemon.board.since(seen);
        client.seen = Some(latest);
        for state in states {
            let event = Event::Daemon(Reply::RunChanged { state });
            let frame = Frame { event, run: None, task: None, seq: None, at: now(), re: None };
            texts.extend(written(&frame));
        }
    }
    for place in client.places.values_mut() {
        texts.append(&mut place.take(PORTION, &client.bell));
    }
    let more = !texts.is_empty();
    for text in texts {
        send(socket, text).await?;
    }
    Ok(more)
}

async fn send(socket: &mut WebSocket, text: Utf8Bytes) -> Result<(), Away> {
    match timeout(SLOWEST, socket.send(Packet::Text(text))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Away { code: close_code::AWAY, reason: "gone" }),
        Err(_) => Err(Away { code: close_code::AGAIN, reason: "too slow; connect again and go on" }),
    }
}

fn written(frame: &Frame) -> Option<Utf8Bytes> {
    serde_json::to_string(frame).ok().map(Utf8Bytes::from)
}

fn unreadable(error: &axum::Error) -> Away {
    let text = error.to_string();
    if text.contains("too long") || text.contains("too big") {
        Away { code: close_code::SIZE, reason: "the message is too long" }
    } else if text.contains("UTF-8") || text.contains("utf-8") {
        Away { code: close_code::INVALID, reason: "the message is no UTF-8" }
    } else {
        Away { code: close_code::PROTOCOL, reason: "the message cannot be read" }
    }
}

/// How fast a client may talk: a bucket that fills with time.
struct Rate {
    left: f64,
    at: Instant,
}

impl Rate {
    fn new() -> Self {
        Self { left: BURST, at: Instant::now() }
    }

    fn admits(&mut self) -> bool {
        let now = Instant::now();
        self.left = (self.left + MESSAGES * now.duration_since(self.at).as_secs_f64()).min(BURST);
        self.at = now;
        self.left -= 1.0;
        self.left >= 0.0
    }
}
