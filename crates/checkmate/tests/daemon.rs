//! A daemon of a test's own, and clients of it that block until something is told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest as _;
use tungstenite::handshake::client::Request;
use tungstenite::http::HeaderValue;
use tungstenite::protocol::CloseFrame;
use tungstenite::{Message, WebSocket};

use crate::environment::TestEnvironment;
use crate::script::Script;

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(40);

/// A daemon.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
    said: Arc<Mutex<String>>,
}

impl Daemon {
    /// Starts a daemon in the repository, with these agents for every run.
    pub(crate) fn start(environment: &TestEnvironment, script: &Script) -> Self {
        Self::start_with(environment, script, &[])
    }

    /// The same with further arguments.
    pub(crate) fn start_with(environment: &TestEnvironment, script: &Script, arguments: &[&str]) -> Self {
        let script = environment.script(script);
        let mut all = vec!["serve", "--port", "0", "--replay", &script];
        all.extend(arguments);
        Self::of(environment, &mut environment.checkmate(&all))
    }

    /// Starts a daemon by a command, and waits until it listens.
    pub(crate) fn of(environment: &TestEnvironment, command: &mut std::process::Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = Arc::new(Mutex::new(String::new()));
        let port = loop {
            let Some(Ok(line)) = lines.next() else {
                panic!("the daemon does not listen: {}", said.lock().unwrap());
            };
            *said.lock().unwrap() += &format!("{line}\n");
            if let Some(rest) = line.strip_prefix("Listening on ws://localhost:") {
                break rest.split('.').next().unwrap().parse().unwrap();
            }
        };
        let more = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *more.lock().unwrap() += &format!("{line}\n");
            }
        });
        let token = std::fs::read_to_string(environment.path("state/checkmate/daemon/token")).unwrap();
        Self { child, port, token: token.trim().to_owned(), said }
    }

    /// Returns what the daemon has told people so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Returns the request of a client that shows the token.
    pub(crate) fn request(&self, query: &str) -> Request {
        let mut request = self.bare_request(query);
        let bearer = HeaderValue::from_str(&format!("Bearer {}", self.token)).unwrap();
        request.headers_mut().insert("authorization", bearer);
        request
    }

    /// Returns the request of a client that shows nothing.
    pub(crate) fn bare_request(&self, query: &str) -> Request {
        format!("ws://localhost:{}/{query}", self.port).into_client_request().unwrap()
    }

    /// Connects; the status of the refusal, if it is one.
    pub(crate) fn connect(&self, request: Request) -> Result<Client, u16> {
        let stream = self.stream();
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Client { socket, frames: Vec::new(), at: 0, ids: 0 }),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                Err(response.status().as_u16())
            }
            Err(error) => panic!("no handshake: {error}"),
        }
    }

    /// Returns a bare connection.
    pub(crate) fn stream(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Sends a request as it is, and returns what comes back until the end.
    pub(crate) fn raw(&self, request: &str) -> String {
        let mut stream = self.stream();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // The daemon may cut off whoever sends nonsense.
        stream.read_to_end(&mut answer).ok();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Returns a client that knows every event.
    pub(crate) fn client(&self) -> Client {
        let mut client = self.old_client("");
        assert_eq!(client.ask(json!({"type": "hello", "version": 1}))["event"]["type"], "hello");
        client
    }

    /// Returns a client that knows the events of system A only.
    pub(crate) fn old_client(&self, query: &str) -> Client {
        self.connect(self.request(query)).unwrap()
    }

    /// Kills the daemon as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the daemon to end, and returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.child.wait().unwrap().code()
    }

    /// Waits until the daemon ends, and returns its exit code.
    pub(crate) fn end_by_itself(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Returns the daemon's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns a number of the daemon's `/proc/PID/status`, in KiB.
    pub(crate) fn status_kib(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the daemon said:\n{}", self.said());
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A client that blocks.
pub(crate) struct Client {
    pub(crate) socket: WebSocket<TcpStream>,
    /// Everything that it was told.
    pub(crate) frames: Vec<Value>,
    /// How much of that was looked at.
    at: usize,
    ids: u64,
}

impl Client {
    /// Sends a message.
    pub(crate) fn send(&mut self, message: Value) {
        self.send_text(message.to_string());
    }

    /// Sends any text.
    pub(crate) fn send_text(&mut self, text: impl Into<String>) {
        self.socket.send(Message::text(text.into())).unwrap();
    }

    /// Reads one more frame; why the connection is over, if it is.
    pub(crate) fn read(&mut self) -> Result<Value, Option<u16>> {
        // A daemon that has nothing to say pings.
        let end = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < end, "nothing more was told; the last frames: {:#?}", self.last());
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    self.frames.push(frame.clone());
                    return Ok(frame);
                }
                Ok(Message::Close(frame)) => {
                    return Err(frame.map(|CloseFrame { code, .. }| code.into()));
                }
                Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
                Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("nothing more was told; the last frames: {:#?}", self.last());
                }
                Err(_) => return Err(None),
            }
        }
    }

    fn last(&self) -> Vec<String> {
        let last = self.frames.iter().rev().take(12).rev();
        last.map(|frame| frame.to_string().chars().take(300).collect()).collect()
    }

    /// Reads until the connection is over, and returns the code of its end.
    pub(crate) fn read_to_end(&mut self) -> Option<u16> {
        loop {
            if let Err(code) = self.read() {
                return code;
            }
        }
    }

    /// Returns the first frame after those looked at for which this is true, and has then looked at it.
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            while let Some(frame) = self.frames.get(self.at) {
                self.at += 1;
                if is_it(frame) {
                    return frame.clone();
                }
            }
            if let Err(code) = self.read() {
                panic!("the connection is over ({code:?}); the last frames: {:#?}", self.last());
            }
        }
    }

    /// Returns the next event of a type.
    pub(crate) fn event(&mut self, kind: &str) -> Value {
        self.until(|frame| frame["event"]["type"] == kind)["event"].clone()
    }

    /// Sends a message, and returns the frame that answers it. What is told meanwhile is looked at later.
    pub(crate) fn ask(&mut self, mut message: Value) -> Value {
        self.ids += 1;
        message["id"] = json!(self.ids);
        let from = self.frames.len();
        self.send(message.clone());
        loop {
            let answer = self.frames[from..].iter().find(|frame| frame["re"] == self.ids);
            if let Some(answer) = answer {
                return answer.clone();
            }
            if let Err(code) = self.read() {
                panic!("the connection is over ({code:?}) before an answer to {message}");
            }
        }
    }

    /// Sends a message that succeeds, and returns the event that answers it.
    #[track_caller]
    pub(crate) fn ok(&mut self, message: Value) -> Value {
        let answer = self.ask(message.clone());
        assert_ne!(answer["event"]["type"], "error", "{message}: {answer}");
        answer["event"].clone()
    }

    /// Sends a message that fails, and returns what is wrong with it.
    #[track_caller]
    pub(crate) fn error(&mut self, message: Value) -> String {
        let answer = self.ask(message.clone());
        assert_eq!(answer["event"]["type"], "error", "{message}: {answer}");
        answer["event"]["error"].as_str().unwrap().to_owned()
    }

    /// Begins a run, and returns its name.
    pub(crate) fn begin(&mut self, fields: Value) -> String {
        let mut message = json!({"type": "run_cycle", "request": "Add shout"});
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let accepted = self.ok(message);
        assert_eq!(accepted["type"], "accepted");
        accepted["run"].as_str().unwrap().to_owned()
    }

    /// Follows a run from an event on.
    pub(crate) fn subscribe(&mut self, run: &str, from: u64) -> u64 {
        let answer = self.ok(json!({"type": "subscribe", "run": run, "from_seq": from}));
        assert_eq!(answer["type"], "subscribed");
        answer["latest_seq"].as_u64().unwrap()
    }

    /// Waits for a run's end, and returns its `cycle_complete`.
    pub(crate) fn end_of(&mut self, run: &str) -> Value {
        self.until(|frame| frame["run"] == run && frame["event"]["type"] == "cycle_complete")["event"].clone()
    }

    /// Waits for the ends of runs, in whatever order they come.
    pub(crate) fn end_of_all(&mut self, runs: &[String]) {
        let mut left: Vec<&String> = runs.iter().collect();
        while !left.is_empty() {
            let end = self.until(|frame| frame["event"]["type"] == "cycle_complete");
            left.retain(|run| end["run"] != ***run);
        }
    }

    /// Returns the numbered events of a run as they were told, pieces of replies left out.
    pub(crate) fn told(&self, run: &str) -> Vec<Value> {
        let of_run = |frame: &&Value| {
            frame["run"] == run && !frame["seq"].is_null() && frame["event"]["type"] != "stream_chunk"
        };
        self.frames.iter().filter(of_run).cloned().collect()
    }

    /// Goes without a word.
    pub(crate) fn break_off(self) {
        self.socket.get_ref().shutdown(Shutdown::Both).ok();
    }
}

/// Makes sure that events are numbered from a number on without a gap.
#[track_caller]
pub(crate) fn assert_numbered(frames: &[Value], from: u64) {
    let numbers: Vec<u64> = frames.iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
    let wanted: Vec<u64> = (from..).take(numbers.len()).collect();
    assert_eq!(numbers, wanted);
}
