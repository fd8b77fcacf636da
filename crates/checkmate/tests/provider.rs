//! A model provider on loopback: real HTTP and real event streams, with replies that a test makes up.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// The wires of model providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    OpenAi,
    Anthropic,
    Gemini,
}

/// A question as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The first line and the headers.
    pub(crate) head: String,
    /// What was sent.
    pub(crate) body: Value,
}

impl Asked {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        headers.find_map(|(header, value)| header.eq_ignore_ascii_case(name).then_some(value))
    }

    /// Returns the model that was asked; the tests call them by their roles.
    pub(crate) fn model(&self) -> &str {
        let path = self.head.split(' ').nth(1).unwrap();
        let in_path = path.rsplit('/').next().and_then(|end| end.split(':').next());
        self.body["model"].as_str().or(in_path).unwrap()
    }
}

type Answers = dyn FnMut(&Asked) -> String + Send;

/// A running server; it ends with the test's process.
pub(crate) struct Provider {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Provider {
    /// Starts one that answers every POST with what `answer` returns, as it goes over the connection, and closes the
    /// connection after it. A GET gets 404.
    pub(crate) fn start(answer: impl FnMut(&Asked) -> String + Send + 'static) -> Provider {
        Self::offering(status(404, "", "{}"), answer)
    }

    /// The same, but a GET gets this list of models.
    pub(crate) fn with_models(
        models: &[&str],
        answer: impl FnMut(&Asked) -> String + Send + 'static,
    ) -> Provider {
        let models: Vec<Value> = models.iter().map(|id| json!({"id": id})).collect();
        let list = json!({ "data": models }).to_string();
        Self::offering(status(200, "content-type: application/json\r\n", &list), answer)
    }

    fn offering(list: String, answer: impl FnMut(&Asked) -> String + Send + 'static) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let mut answer: Box<Answers> = Box::new(answer);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let Some(question) = read(&mut stream) else { continue };
                let said = if question.head.starts_with("GET") {
                    list.clone()
                } else {
                    seen.lock().unwrap().push(question.clone());
                    answer(&question)
                };
                // A client that has left is no matter of the server's.
                stream.write_all(said.as_bytes()).ok();
            }
        });
        Provider { address, asked }
    }

    /// Returns its address, without a version.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the questions in the order in which they came.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut piece = [0; 1 << 16];
    loop {
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let mut lengths = head.lines().filter_map(|line| {
            line.to_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
        });
        if body.len() >= lengths.next().unwrap_or(0) {
            let body = serde_json::from_str(body).unwrap_or_default();
            return Some(Asked { head: head.to_owned(), body });
        }
    }
}

/// An answer with a status.
pub(crate) fn status(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Status\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// The beginning of an event stream, whose connection is cut after these events.
pub(crate) fn cut(events: &str) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close";
    format!("{head}\r\n\r\n{:x}\r\n{events}\r\n", events.len())
}

/// One event.
pub(crate) fn event(name: &str, data: &Value) -> String {
    let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
    format!("{name}data: {data}\n\n")
}

impl Wire {
    pub(crate) const ALL: [Wire; 3] = [Wire::OpenAi, Wire::Anthropic, Wire::Gemini];

    /// The provider that speaks it.
    pub(crate) fn provider(self) -> &'static str {
        match self {
            Wire::OpenAi => "openai",
            Wire::Anthropic => "anthropic",
            Wire::Gemini => "gemini",
        }
    }

    /// A whole reply: 1000 tokens in, 400 of them from the cache, and 100 out, 60 of them for thinking.
    pub(crate) fn says(self, text: &str) -> String {
        format!("{}0\r\n\r\n", cut(&self.events(text)))
    }

    /// The events of such a reply.
    pub(crate) fn events(self, text: &str) -> String {
        let served = format!("served-{}", self.provider());
        match self {
            Wire::OpenAi => {
                let delta = |delta: &Value, finish: Value| {
                    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
                    event("", &json!({"model": served, "choices": [choice]}))
                };
                let usage = json!({"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100,
                    "prompt_tokens_details": {"cached_tokens": 400},
                    "completion_tokens_details": {"reasoning_tokens": 60}});
                [
                    delta(&json!({"role": "assistant", "reasoning_content": "Hm."}), Value::Null),
                    delta(&json!({"content": text}), Value::Null),
                    delta(&json!({}), json!("stop")),
                    event("", &json!({"model": served, "choices": [], "usage": usage})),
                    "data: [DONE]\n\n".to_owned(),
                ]
                .concat()
            }
            Wire::Anthropic => {
                let usage = json!({"input_tokens": 350, "cache_creation_input_tokens": 250,
                    "cache_read_input_tokens": 400, "output_tokens": 1});
                let thinking = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"});
                let counts = json!({"output_tokens": 100, "output_tokens_details": {"thinking_tokens": 60}});
                [
                    event("message_start", &json!({"message": {"model": served, "usage": usage}})),
                    event("content_block_start", &json!({"index": 0, "content_block": thinking})),
                    event("content_block_stop", &json!({"index": 0})),
                    event(
                        "content_block_start",
                        &json!({"index": 1, "content_block": {"type": "text", "text": ""}}),
                    ),
                    event(
                        "content_block_delta",
                        &json!({"index": 1, "delta": {"type": "text_delta", "text": text}}),
                    ),
                    event("content_block_stop", &json!({"index": 1})),
                    event("message_delta", &json!({"delta": {"stop_reason": "end_turn"}, "usage": counts})),
                    event("message_stop", &json!({"type": "message_stop"})),
                ]
                .concat()
            }
            Wire::Gemini => {
                let parts = json!([{"text": "Hm.", "thought": true}, {"text": text}]);
                let usage = json!({"promptTokenCount": 1000, "cachedContentTokenCount": 400,
                    "candidatesTokenCount": 40, "thoughtsTokenCount": 60, "totalTokenCount": 1100});
                let first = json!({"modelVersion": served, "candidates": [{"content": {"parts": parts}}]});
                let last = json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}],
                    "usageMetadata": usage});
                format!("{}{}", event("", &first), event("", &last))
            }
        }
    }
}
