//! A model provider on loopback that says what a test tells it to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The wires that the tests speak.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spoken {
    OpenAi,
    Anthropic,
    Gemini,
}

/// At the end of an answer: the connection stays open and nothing more comes until the client leaves.
pub(super) const SILENCE: &str = "\0";

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) head: String,
    pub(super) body: Value,
}

/// A running server; it ends with the test.
pub(super) struct Server {
    pub(super) address: String,
    posts: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Gives these answers to POST requests in turn, the last one for ever, and closes the connection after each.
    /// A GET request always gets `page`.
    pub(super) async fn start(answers: Vec<String>, page: String) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
        let posts = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&posts);
        let mut answers = VecDeque::from(answers);
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let Some(request) = read(&mut stream).await else { continue };
                if request.head.starts_with("GET") {
                    write(stream, &page).await;
                    continue;
                }
                seen.lock().unwrap().push(request);
                let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
                write(stream, &answer.unwrap()).await;
            }
        });
        Server { address, posts, task }
    }

    /// Answers every request with an event stream that repeats a text for as long as somebody reads it.
    pub(super) async fn flooding(text: String) -> Server {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        Self::endless(disconnected(": begins\n\n"), chunk, Duration::ZERO).await
    }

    /// Answers every request with a text and then a byte at a time, for as long as somebody reads it.
    pub(super) async fn trickling(start: String) -> Server {
        let byte = if start.contains("\r\n\r\n") { "1\r\nx\r\n" } else { "x" };
        Self::endless(start, byte.to_owned(), Duration::from_millis(5)).await
    }

    /// Answers the first bytes of everybody, whatever they are.
    pub(super) async fn answering_anything(answer: String) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 1024]).await;
                write(stream, &answer).await;
            }
        });
        Server { address, posts: Arc::default(), task }
    }

    async fn endless(start: String, piece: String, pause: Duration) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (start, piece) = (start.clone(), piece.clone());
                tokio::spawn(async move {
                    read(&mut stream).await;
                    let mut wrote = stream.write_all(start.as_bytes()).await;
                    while wrote.is_ok() {
                        tokio::time::sleep(pause).await;
                        wrote = stream.write_all(piece.as_bytes()).await;
                    }
                });
            }
        });
        Server { address, posts: Arc::default(), task }
    }

    /// Returns the questions in the order in which they came.
    pub(super) fn posts(&self) -> Vec<Request> {
        self.posts.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        if body.len() >= length.unwrap_or(0) {
            let body = serde_json::from_str(body).unwrap_or_default();
            return Some(Request { head: head.to_owned(), body });
        }
    }
}

async fn write(mut stream: TcpStream, answer: &str) {
    // A client that has left is no matter of the server's.
    let said = answer.strip_suffix(SILENCE);
    let _ = stream.write_all(said.unwrap_or(answer).as_bytes()).await;
    if said.is_none() {
        let _ = stream.shutdown().await;
    }
    let _ = stream.read(&mut [0]).await;
}

/// An answer with a status other than 200.
pub(super) fn status(status: u16, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} Status\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// An event stream that the connection carries to its end.
pub(super) fn stream(events: &str) -> String {
    format!("{}0\r\n\r\n", disconnected(events))
}

/// An event stream whose connection is cut.
pub(super) fn disconnected(events: &str) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close";
    format!("{head}\r\n\r\n{:x}\r\n{events}\r\n", events.len())
}

/// The body of a web page with its headers.
pub(super) fn page(status: u16) -> String {
    let body = "<!DOCTYPE html>\n<html><body>\n\nPlease log in.\n\n</body></html>";
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
}

impl Spoken {
    pub(super) const ALL: [Spoken; 3] = [Spoken::OpenAi, Spoken::Anthropic, Spoken::Gemini];

    pub(super) fn provider(self) -> &'static str {
        match self {
            Spoken::OpenAi => "openai",
            Spoken::Anthropic => "anthropic",
            Spoken::Gemini => "gemini",
        }
    }

    /// The events of a whole reply in two pieces: 120 tokens in, 20 of them cached, 7 out.
    pub(super) fn whole(self, text: &str) -> String {
        format!("{}{}", self.begun(text), self.end(self.stops(), ""))
    }

    /// The events of a reply up to the last piece of text.
    pub(super) fn begun(self, text: &str) -> String {
        let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        let (first, second) = text.split_at(middle);
        format!("{}{}{}", self.start(), self.piece(first), self.piece(second))
    }

    /// The stop reason of a reply that is complete.
    fn stops(self) -> &'static str {
        match self {
            Spoken::OpenAi => "stop",
            Spoken::Anthropic => "end_turn",
            Spoken::Gemini => "STOP",
        }
    }

    /// The stop reasons for a reply that was too long, and for one that was filtered.
    pub(super) fn other_stops(self) -> (&'static str, &'static str) {
        match self {
            Spoken::OpenAi => ("length", "content_filter"),
            Spoken::Anthropic => ("max_tokens", "refusal"),
            Spoken::Gemini => ("MAX_TOKENS", "SAFETY"),
        }
    }

    fn start(self) -> String {
        let usage = json!({"input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 1});
        match self {
            Spoken::OpenAi => event(None, &chunk(&json!({"role": "assistant", "content": ""}), &Value::Null)),
            Spoken::Anthropic => [
                event(
                    Some("message_start"),
                    &json!({"type": "message_start", "message": {"model": "served-model", "usage": usage}}),
                ),
                event(
                    Some("content_block_start"),
                    &json!({"index": 0, "content_block": {"type": "text", "text": ""}}),
                ),
                event(Some("ping"), &json!({"type": "ping"})),
            ]
            .concat(),
            Spoken::Gemini => String::new(),
        }
    }

    fn piece(self, text: &str) -> String {
        match self {
            Spoken::OpenAi => event(None, &chunk(&json!({"content": text}), &Value::Null)),
            Spoken::Anthropic => event(
                Some("content_block_delta"),
                &json!({"index": 0, "delta": {"type": "text_delta", "text": text}}),
            ),
            Spoken::Gemini => event(
                None,
                &json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}],
                        "modelVersion": "served-model"}),
            ),
        }
    }

    /// The end of a reply, with something in front of its last event.
    pub(super) fn end(self, reason: &str, before_last: &str) -> String {
        match self {
            Spoken::OpenAi => {
                let usage = json!({"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127,
                                   "prompt_tokens_details": {"cached_tokens": 20}});
                let last = json!({"choices": [], "model": "served-model", "usage": usage});
                let finish = event(None, &chunk(&json!({}), &json!(reason)));
                format!("{finish}{}{before_last}data: [DONE]\n\n", event(None, &last))
            }
            Spoken::Anthropic => {
                let delta = json!({"delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}});
                let stop = event(Some("content_block_stop"), &json!({"index": 0}));
                let last = event(Some("message_stop"), &json!({"type": "message_stop"}));
                format!("{stop}{}{before_last}{last}", event(Some("message_delta"), &delta))
            }
            Spoken::Gemini => {
                let usage = json!({"promptTokenCount": 120, "cachedContentTokenCount": 20, "candidatesTokenCount": 7,
                                   "totalTokenCount": 127});
                let content = json!({"role": "model", "parts": [{"text": ""}]});
                let last = json!({"candidates": [{"content": content, "finishReason": reason}], "usageMetadata": usage});
                format!("{before_last}{}", event(None, &last))
            }
        }
    }
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    json!({"object": "chat.completion.chunk", "model": "served-model",
           "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

/// One event.
pub(super) fn event(name: Option<&str>, data: &Value) -> String {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {data}\n\n")
}
