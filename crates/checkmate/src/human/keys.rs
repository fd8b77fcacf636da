//! A terminal that hands over each key at once, for as long as a question stands.

use std::io::{Stdin, stdin};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// How often a wait for a key looks whether anybody still waits for it, in nanoseconds.
const LOOK: i64 = 50_000_000;
/// How long what follows an escape character may take, if it belongs to one key, in nanoseconds.
const SEQUENCE: i64 = 25_000_000;

const ESCAPE: u8 = 0x1b;

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// A letter, lower case, or a sign.
    Letter(char),
    Enter,
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, a terminal that is gone, or nobody waits any more.
    End,
    /// Arrows and other keys that mean nothing here.
    Other,
}

/// Standard input, key by key. The terminal is put back when this goes.
#[derive(Debug)]
pub(super) struct Keys {
    saved: Termios,
    closed: AtomicBool,
}

impl Keys {
    /// Takes the terminal; `None` if that is not possible. What was typed before is no answer and is thrown away.
    pub(super) fn take() -> Option<Self> {
        let saved = tcgetattr(stdin()).ok()?;
        let mut modes = saved.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Flush, &modes).ok()?;
        Some(Self { saved, closed: AtomicBool::new(false) })
    }

    /// Puts the terminal back; a wait for a key ends.
    pub(super) fn give_back(&self) {
        if !self.closed.swap(true, Ordering::Relaxed) {
            tcsetattr(stdin(), OptionalActions::Now, &self.saved).ok();
        }
    }

    /// Waits for a key.
    pub(super) fn next(&self) -> Key {
        let input = stdin();
        while !self.closed.load(Ordering::Relaxed) {
            if is_ready(&input, LOOK) {
                return read_key(&input);
            }
        }
        Key::End
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.give_back();
    }
}

fn read_key(input: &Stdin) -> Key {
    match byte(input) {
        None | Some(4) => Key::End,
        Some(3) => Key::Interrupt,
        Some(b'\r' | b'\n') => Key::Enter,
        Some(ESCAPE) if !is_ready(input, SEQUENCE) => Key::Escape,
        Some(ESCAPE) => {
            // An arrow or a function key sends an escape character and more, up to a letter or `~`.
            if let Some(b'[' | b'O') = byte(input) {
                while is_ready(input, SEQUENCE) && !matches!(byte(input), None | Some(b'@'..=b'~')) {}
            }
            Key::Other
        }
        Some(letter) if letter.is_ascii_graphic() => Key::Letter(char::from(letter.to_ascii_lowercase())),
        Some(_) => Key::Other,
    }
}

fn is_ready(input: &Stdin, nanoseconds: i64) -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    let mut watched = [PollFd::new(input, PollFlags::IN)];
    poll(&mut watched, Some(&wait)).is_ok_and(|ready| ready > 0)
}

/// Reads past the buffer of the standard library, which would take more than the key.
fn byte(input: &Stdin) -> Option<u8> {
    let mut one = [0];
    loop {
        match rustix::io::read(input, &mut one) {
            Ok(1..) => return one.first().copied(),
            Ok(_) => return None,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}
