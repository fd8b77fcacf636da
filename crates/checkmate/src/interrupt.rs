//! Signals with which a person or the system asks the program to stop or to pause.

use std::io;

use rustix::process::{getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Ctrl-C, a request to end, or a terminal that is gone.
    Stop,
    /// Ctrl-Z.
    Pause,
}

/// Listens for signals from when it is made, so that none is lost between two waits.
#[derive(Debug)]
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    pause: Signal,
}

impl Interrupts {
    /// Begins to listen; needs a runtime with signals.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            pause: signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()))?,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> Heard {
        tokio::select! {
            _ = self.interrupt.recv() => Heard::Stop,
            _ = self.terminate.recv() => Heard::Stop,
            _ = self.hangup.recv() => Heard::Stop,
            _ = self.pause.recv() => Heard::Pause,
        }
    }

    /// Waits for a request to stop; pauses meanwhile where that is asked for.
    pub async fn stop(&mut self) {
        while self.next().await == Heard::Pause {
            pause();
        }
    }
}

/// Stops the process as Ctrl-Z does, until it is continued.
pub fn pause() {
    kill_process(getpid(), rustix::process::Signal::STOP).ok();
}

/// Does what Ctrl-C does at a terminal that passes it on as a key.
pub fn interrupt() {
    kill_process(getpid(), rustix::process::Signal::INT).ok();
}
