//! Reads the two output streams within bounds.

use std::collections::VecDeque;
use std::io::Read;
use std::os::fd::AsFd;
use std::process::{ChildStderr, ChildStdout};
use std::time::Duration;

use checkmate_machine::evidence::Output;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sha2::{Digest, Sha256};

/// How much is read at once, in bytes: what a pipe holds.
const CHUNK: usize = 64 << 10;

/// The start and the end of a stream, and the count and hash of all of it.
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    bytes: u64,
    hash: Sha256,
}

impl Capture {
    /// Keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: limit / 2, bytes: 0, hash: Sha256::new() }
    }

    fn push(&mut self, chunk: &[u8]) {
        self.bytes = self.bytes.saturating_add(chunk.len() as u64);
        self.hash.update(chunk);
        let (first, rest) = chunk.split_at(chunk.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        let kept = &rest[rest.len().saturating_sub(self.half)..];
        let excess = (self.tail.len() + kept.len()).saturating_sub(self.half);
        self.tail.drain(..excess.min(self.tail.len()));
        self.tail.extend(kept);
    }

    /// Returns what is kept as text.
    ///
    /// Where something was left out, whole lines are: a piece of a line must not be read as a line of its own.
    pub(super) fn output(mut self) -> Output {
        let tail: &[u8] = self.tail.make_contiguous();
        let text = if (self.head.len() + tail.len()) as u64 == self.bytes {
            String::from_utf8_lossy(&[&self.head, tail].concat()).into_owned()
        } else {
            let head = match self.head.iter().rposition(|byte| *byte == b'\n') {
                Some(end) => &self.head[..=end],
                None => &self.head[..],
            };
            let tail = match tail.iter().position(|byte| *byte == b'\n') {
                Some(end) => &tail[end + 1..],
                None => tail,
            };
            let left_out = self.bytes - (head.len() + tail.len()) as u64;
            let newline = if head.ends_with(b"\n") || head.is_empty() { "" } else { "\n" };
            let [head, tail] = [head, tail].map(String::from_utf8_lossy);
            format!("{head}{newline}[{left_out} bytes left out]\n{tail}")
        };
        Output { text, bytes: self.bytes, sha256: format!("{:x}", self.hash.finalize()) }
    }
}

/// The two streams of a command.
pub(super) struct Streams {
    stdout: (Option<ChildStdout>, Capture),
    stderr: (Option<ChildStderr>, Capture),
    buffer: Vec<u8>,
}

impl Streams {
    pub(super) fn new(stdout: Option<ChildStdout>, stderr: Option<ChildStderr>, limit: usize) -> Self {
        let (stdout, stderr) = ((stdout, Capture::new(limit)), (stderr, Capture::new(limit)));
        Self { stdout, stderr, buffer: vec![0; CHUNK] }
    }

    /// Returns whether something could still write.
    pub(super) fn are_open(&self) -> bool {
        self.stdout.0.is_some() || self.stderr.0.is_some()
    }

    /// Waits for output at most as long as `timeout`, and reads one chunk of each stream that has some.
    pub(super) fn pump(&mut self, timeout: Duration) {
        let (stdout, stderr) = ready(self.stdout.0.as_ref(), self.stderr.0.as_ref(), timeout);
        if stdout {
            read(&mut self.stdout.0, &mut self.stdout.1, &mut self.buffer);
        }
        if stderr {
            read(&mut self.stderr.0, &mut self.stderr.1, &mut self.buffer);
        }
    }

    /// Returns what standard output and standard error were.
    pub(super) fn outputs(self) -> (Output, Output) {
        (self.stdout.1.output(), self.stderr.1.output())
    }
}

/// Returns which streams can be read without waiting.
fn ready(stdout: Option<&ChildStdout>, stderr: Option<&ChildStderr>, timeout: Duration) -> (bool, bool) {
    let open = [stdout.map(AsFd::as_fd), stderr.map(AsFd::as_fd)];
    let mut polled: Vec<PollFd<'_>> =
        open.iter().flatten().map(|stream| PollFd::from_borrowed_fd(*stream, PollFlags::IN)).collect();
    let timeout = Timespec { tv_sec: 0, tv_nsec: timeout.subsec_nanos().into() };
    if polled.is_empty() {
        // The command closed its output and still runs, or is just ending.
        std::thread::sleep(Duration::from_nanos(timeout.tv_nsec.unsigned_abs()) / 5);
        return (false, false);
    }
    if poll(&mut polled, Some(&timeout)).is_err() {
        return (false, false);
    }
    let mut events = polled.iter().map(|stream| !stream.revents().is_empty());
    let mut next = |stream: bool| stream && events.next().unwrap_or(false);
    let stdout = next(stdout.is_some());
    (stdout, next(stderr.is_some()))
}

/// Reads one chunk, and closes the stream at its end.
fn read<R: Read>(stream: &mut Option<R>, capture: &mut Capture, buffer: &mut [u8]) {
    match stream.as_mut().map(|open| open.read(buffer)) {
        Some(Ok(0)) => *stream = None,
        Some(Ok(n)) => capture.push(&buffer[..n]),
        Some(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
        Some(Err(_)) | None => *stream = None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(limit: usize, chunks: &[&[u8]]) -> String {
        let mut capture = Capture::new(limit);
        chunks.iter().for_each(|chunk| capture.push(chunk));
        let output = capture.output();
        assert_eq!(output.bytes, chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
        assert_eq!(output.sha256, format!("{:x}", Sha256::digest(chunks.concat())));
        output.text
    }

    #[test]
    fn head_and_tail_are_kept_in_whole_lines() {
        assert_eq!(kept(8, &[b"abc", b"defgh"]), "abcdefgh");
        assert_eq!(kept(8, &[b"abcdefghi"]), "abcd\n[1 bytes left out]\nfghi");
        assert_eq!(kept(8, &[b"a\nbcd", b"efg\nh\n"]), "a\n[7 bytes left out]\nh\n");
        assert_eq!(kept(0, &[b"abc"]), "[3 bytes left out]\n");
        assert_eq!(kept(64, &[b"\xff\xfe ok \xe2\x82", b"\xac"]), "\u{fffd}\u{fffd} ok €");
        assert_eq!(kept(64, &[]), "");
    }
}
