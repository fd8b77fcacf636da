//! Clients of the daemon that are broken, slow or evil: they harm nobody but themselves.

use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::json;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::{Bytes, Message};

use crate::daemon::Daemon;
use crate::environment::{TestEnvironment, assert_has};
use crate::script::{Script, adds, approves, builds, shout};
use crate::test_serve_follow::talkative;

/// Makes sure that a newcomer is served.
#[track_caller]
fn assert_serves(daemon: &Daemon) {
    let mut client = daemon.client();
    client.send(json!({"type": "run_tests"}));
    assert_eq!(client.event("tests_output")["exitCode"], 0);
}

/// Writes the header of a masked frame.
fn header(opcode: u8, length: u64) -> Vec<u8> {
    let mut bytes = vec![0x80 | opcode, 0x80 | 127];
    bytes.extend(length.to_be_bytes());
    bytes.extend([0; 4]);
    bytes
}

#[test]
fn a_frame_of_a_hundred_megabytes_is_not_taken() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.client();
    client.socket.get_mut().write_all(&header(1, 100 << 20)).unwrap();
    assert_eq!(client.read_to_end(), Some(1009));
    let mut client = daemon.client();
    let stream = client.socket.get_mut();
    stream.write_all(&header(1, 100 << 20)).unwrap();
    let piece = vec![b'x'; 1 << 20];
    // The daemon hangs up at some point.
    let sent = (0..100).take_while(|_| stream.write_all(&piece).is_ok()).count();
    client.read_to_end();
    assert_serves(&daemon);
    assert!(daemon.status_kib("VmHWM:") < 150 << 10, "{} KiB after {sent} MB", daemon.status_kib("VmHWM:"));
    // The same in pieces that are each allowed.
    let mut client = daemon.client();
    let stream = client.socket.get_mut();
    for number in 0..100 {
        let mut bytes = header(if number == 0 { 1 } else { 0 }, 1 << 20);
        bytes[0] &= 0x7f;
        if stream.write_all(&bytes).is_err() || stream.write_all(&piece).is_err() {
            break;
        }
    }
    client.read_to_end();
    assert_serves(&daemon);
    assert!(daemon.status_kib("VmHWM:") < 150 << 10, "{} KiB", daemon.status_kib("VmHWM:"));
}

#[test]
fn the_longest_message_is_answered() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.client();
    for length in [1 << 20, (8 << 20) - 100] {
        let text = "x".repeat(length);
        let checked = client.ok(json!({"type": "check_configuration", "text": text}));
        assert_ne!(checked["errors"], json!([]));
    }
    client.send_text("[".repeat(1 << 20));
    client.event("error");
    client.send_text(format!("{{\"type\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000)));
    client.event("error");
}

#[test]
fn what_is_no_text_is_refused() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.client();
    client.socket.send(Message::Binary(Bytes::from_static(b"{\"type\":\"run_tests\"}"))).unwrap();
    assert_has(client.event("error")["error"].as_str().unwrap(), &["text frames"]);
    client.socket.send(Message::Ping(Bytes::from_static(b"x"))).unwrap();
    client.ok(json!({"type": "list_workspaces"}));
    let garbage = Frame::message(vec![0xff, 0xfe, 0x7b], OpCode::Data(Data::Text), true);
    client.socket.send(Message::Frame(garbage)).unwrap();
    assert_eq!(client.read_to_end(), Some(1007));
    // Neither masked nor a known opcode.
    for bytes in [&b"\x81\x02{}"[..], &[0x8f, 0x80, 0, 0, 0, 0], &[0xff; 40], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut client = daemon.client();
        client.socket.get_mut().write_all(bytes).unwrap();
        client.socket.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
        client.read_to_end();
    }
    assert_serves(&daemon);
}

#[test]
fn who_talks_too_much_is_sent_away() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::new());
    let mut client = daemon.client();
    let mut writer = client.socket.get_ref().try_clone().unwrap();
    let sending = std::thread::spawn(move || {
        let text = b"{\"type\":\"unsubscribe\",\"run\":\"x\"}";
        let mut message = vec![0x81, 0x80 | u8::try_from(text.len()).unwrap(), 0, 0, 0, 0];
        message.extend(text);
        (0..10_000).take_while(|_| writer.write_all(&message).is_ok()).count()
    });
    assert_eq!(client.read_to_end(), Some(1008));
    sending.join().unwrap();
    assert_has(&client.frames.last().unwrap().to_string(), &["Too many messages"]);
    assert_serves(&daemon);
}

#[test]
fn who_connects_and_says_nothing_keeps_nobody_out() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let idle: Vec<_> = (0..400).map(|_| daemon.stream()).collect();
    let mut slow = daemon.stream();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: local").unwrap();
    let run = client.begin(json!({"land": "apply"}));
    assert_eq!(client.end_of(&run)["success"], true);
    assert_serves(&daemon);
    let files = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count();
    assert!(files < 250, "{files} files are open");
    let mut rest = Vec::new();
    assert_eq!((&idle[0]).read_to_end(&mut rest).unwrap_or(0), 0, "the first one was let go");
}

#[test]
fn what_stands_in_place_of_a_configuration_is_not_read() {
    let environment = TestEnvironment::new();
    let path = environment.root().join(".dualagent.json");
    let daemon = Daemon::start(&environment, &Script::approved());
    std::fs::remove_file(&path).unwrap();
    let mut client = daemon.client();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    for kind in ["get_configuration", "run_cycle", "run_tests"] {
        client.error(json!({"type": kind, "request": "Add shout"}));
    }
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    for kind in ["get_configuration", "run_cycle", "run_tests"] {
        assert_has(&client.error(json!({"type": kind, "request": "Add shout"})), &["no plain file"]);
    }
    let listed = client.ok(json!({"type": "list_workspaces"}));
    assert_has(listed["workspaces"][0]["problem"].as_str().unwrap(), &["no plain file"]);
    assert_eq!(daemon.end(), Some(0));
    let daemon = Daemon::start(&environment, &Script::approved());
    assert_has(&daemon.said(), &["are refused", "no plain file"]);
    daemon.client();
}

#[test]
fn a_request_of_a_novels_length_is_refused() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let request = "x".repeat(300_000);
    assert_has(&client.error(json!({"type": "run_cycle", "request": request})), &["300000 bytes"]);
    let run = client.begin(json!({"request": "y".repeat(200_000), "land": "ask"}));
    client.end_of(&run);
    let listed = client.ok(json!({"type": "list_runs"}));
    assert!(listed.to_string().len() < 10_000, "lists are short");
}

#[test]
fn who_asks_for_many_tests_at_once_holds_nobody_up() {
    let environment = TestEnvironment::new();
    environment.add_waiting_test();
    let daemon = Daemon::start_with(&environment, &Script::new(), &["--max-runs", "2"]);
    let mut client = daemon.client();
    for _ in 0..300 {
        client.send(json!({"type": "run_tests"}));
    }
    environment.wait_for(|| environment.path("here").exists());
    let mut other = daemon.client();
    assert_eq!(other.ok(json!({"type": "list_workspaces"}))["type"], "workspaces");
    let at_once = environment.processes().iter().filter(|line| line.contains("test/run.sh")).count();
    assert!(at_once < 20, "{at_once} processes");
    client.until(|frame| frame.to_string().contains("wait already"));
    client.break_off();
    assert_eq!(daemon.end(), Some(0));
    environment.wait_for(|| environment.processes().is_empty());
}

#[test]
fn a_run_does_not_wait_for_who_never_reads() {
    let environment = TestEnvironment::new();
    let lines: Vec<String> =
        (0..1000).map(|number| format!("# a long line of a long file, number {number}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let patch = format!("{}{}", shout("$1!"), adds("src/long.sh", &lines));
    let daemon = Daemon::start(&environment, &Script::new().builder(builds(&patch)).reviewer(approves()));
    let mut client = daemon.client();
    let first = client.begin(json!({"land": "ask"}));
    client.end_of(&first);
    // Each of these asks for far more than fits into the pipes between it and the daemon.
    let mut sleepers: Vec<_> = (0..3).map(|_| daemon.client()).collect();
    for sleeper in &mut sleepers {
        for id in 0..300 {
            sleeper.send(json!({"type": "subscribe", "run": first, "id": 1000 + id}));
        }
    }
    let second = client.begin(json!({"land": "apply"}));
    client.until(|frame| frame["run"] == *second && frame["event"]["type"] == "cycle_complete");
    assert!(environment.has("src/long.sh"));
    // Whoever wakes up is told everything.
    let mut late = sleepers.pop().unwrap();
    late.until(|frame| frame["re"] == 1299);
    let told: u64 = late.frames.iter().map(|frame| frame.to_string().len() as u64).sum();
    assert!(told > 8 << 20, "{told} bytes");
    assert!(daemon.status_kib("VmHWM:") < 200 << 10, "{} KiB", daemon.status_kib("VmHWM:"));
}

#[test]
fn names_of_runs_lead_nowhere() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let run = client.begin(json!({"land": "ask"}));
    client.end_of(&run);
    let long = "x".repeat(100_000);
    let around = format!("../runs/{run}");
    let names = [
        "",
        ".",
        "..",
        "../..",
        "/",
        "/etc",
        &around,
        &format!("{run}/"),
        "a\u{0}",
        "*",
        "%2e%2e",
        "\n",
        &long,
    ];
    for name in names {
        for (kind, more) in [
            ("subscribe", json!({})),
            ("cancel", json!({})),
            ("resume", json!({})),
            ("land", json!({"how": "apply"})),
            ("undo", json!({})),
            ("answer", json!({"gate": "main/1.0", "reply": "yes"})),
            ("comment", json!({"text": "x"})),
            ("dispute", json!({"finding": "x", "text": "x"})),
            ("read_file", json!({"path": "src/text.sh", "side": "base"})),
            ("run_cycle", json!({"request": "x", "follows": name})),
        ] {
            let mut message = json!({"type": kind, "run": name});
            message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            client.error(message);
        }
        client = daemon.client();
    }
    assert_eq!(environment.runs().len(), 1);
}

#[test]
fn text_travels_as_it_is() {
    let environment = TestEnvironment::new();
    let daemon = Daemon::start(&environment, &Script::approved());
    let mut client = daemon.client();
    let request = "<img src=x onerror=alert(1)>\u{1b}[31m \u{202e}\u{7}\r\n\"'\\ \u{1f600} \u{0}";
    let run = client.begin(json!({"request": request, "land": "ask"}));
    client.end_of(&run);
    assert_eq!(client.told(&run)[0]["event"]["request"], request);
    assert_eq!(client.ok(json!({"type": "list_runs"}))["runs"][0]["request"], request);
    let found = client.ok(json!({"type": "search", "query": "onerror"}));
    assert_eq!(found["hits"][0]["state"]["request"], request);
}

#[test]
fn half_connections_and_killed_clients_are_forgotten() {
    let environment = TestEnvironment::new();
    let script = talkative();
    let daemon = Daemon::start(&environment, &script);
    let half: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = daemon.stream();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: local").unwrap();
            stream
        })
        .collect();
    let mut client = daemon.client();
    let run = client.begin(json!({}));
    client.event("stream_chunk");
    // In the middle of a frame, with a broken connection, and without a word.
    let mut torn = daemon.client();
    torn.subscribe(&run, 1);
    torn.socket.get_mut().write_all(&header(1, 1000)).unwrap();
    torn.break_off();
    let mut gone = daemon.client();
    gone.subscribe(&run, 1);
    drop(gone);
    let mut curl = environment.command("sh");
    let line = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /?token={token} HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: Upgrade\\r\\n\
         Upgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\\r\\n\\r\\n' >&3; \
         head -c 20 <&3; sleep 1000",
        port = daemon.port,
        token = daemon.token
    );
    let mut killed = curl
        .arg("-c")
        .arg(format!("exec bash -c \"{}\"", line.replace('"', "\\\"")))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut greeting = [0; 12];
    killed.stdout.as_mut().unwrap().read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"HTTP/1.1 101");
    killed.kill().unwrap();
    killed.wait().unwrap();
    client.event("stream_chunk");
    client.ok(json!({"type": "cancel", "run": run}));
    client.end_of(&run);
    drop(half);
    assert!(!daemon.said().contains("panicked"), "{}", daemon.said());
}

#[test]
fn a_second_daemon_says_who_is_there_and_harms_nobody() {
    let environment = TestEnvironment::new();
    let script = Script::approved();
    let daemon = Daemon::start(&environment, &script);
    let mut client = daemon.client();
    let run = client.begin(json!({"attended": true, "land": "ask"}));
    let gate = client.event("question_asked")["gate"].clone();
    let port = daemon.port.to_string();
    // The same state folder, on the same port and on another one.
    for port in [port.as_str(), "0"] {
        let output = environment.run(&["serve", "--port", port]);
        assert_has(output.ended(1), &["A daemon runs already", &daemon.port.to_string()]);
    }
    // Somebody else's.
    let mut command = environment.checkmate(&["serve", "--port", &port]);
    command.env("XDG_STATE_HOME", environment.path("home"));
    assert_has(environment.output(&mut command).ended(1), &["is in use", "--port"]);
    assert!(environment.path("state/checkmate/daemon/daemon.json").exists());
    assert!(environment.run_folder().join("daemon").exists(), "the run is still noted");
    client.ok(json!({"type": "answer", "run": run, "gate": gate, "reply": "yes"}));
    assert_eq!(client.end_of(&run)["success"], true);
}

#[test]
fn damaged_files_of_the_daemon_are_made_anew() {
    let environment = TestEnvironment::new();
    let folder = environment.path("state/checkmate/daemon");
    let daemon = Daemon::start(&environment, &Script::new());
    let token = daemon.token.clone();
    daemon.kill();
    let daemon = Daemon::start(&environment, &Script::new());
    assert_eq!(daemon.token, token, "it stays");
    drop(daemon);
    for damaged in ["", "short", &"é".repeat(40)] {
        std::fs::write(folder.join("token"), damaged).unwrap();
        std::fs::write(folder.join("daemon.json"), "garbage").unwrap();
        let daemon = Daemon::start(&environment, &Script::new());
        assert_eq!(daemon.token.len(), 64);
        assert_ne!(daemon.token, token);
        assert_serves(&daemon);
    }
    std::fs::set_permissions(folder.join("token"), Permissions::from_mode(0o644)).unwrap();
    let readable = std::fs::read_to_string(folder.join("token")).unwrap();
    let daemon = Daemon::start(&environment, &Script::new());
    assert_ne!(daemon.token, readable.trim(), "others may have read it");
}
