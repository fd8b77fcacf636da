//! What is said to a run from outside while it is driven: by signals at a terminal, by clients of the daemon.

use std::io;

use checkmate_machine::event::Command;
use rustix::process::{getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

/// What was asked for.
#[derive(Debug)]
pub enum Heard {
    /// Ctrl-C, a request to end, or a terminal that is gone.
    Stop,
    /// Ctrl-Z.
    Pause,
    /// Something that the machine takes at any time, and who is told once it is written down. The sender is dropped if the
    /// run does not take it.
    Command(Command, oneshot::Sender<()>),
}

/// Where a run listens while it is driven.
#[derive(Debug)]
pub enum Interrupts {
    /// To the signals of this process.
    Signals(Signals),
    /// To whoever holds the other end.
    Channel(mpsc::UnboundedReceiver<Heard>),
}

/// Listens for signals from when it is made, so that none is lost between two waits.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    pause: Signal,
}

impl Interrupts {
    /// Begins to listen for signals; needs a runtime with signals.
    pub fn listen() -> io::Result<Self> {
        Ok(Self::Signals(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            pause: signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()))?,
        }))
    }

    /// Waits for what is said next.
    pub async fn next(&mut self) -> Heard {
        match self {
            Self::Signals(signals) => signals.next().await,
            Self::Channel(said) => match said.recv().await {
                Some(heard) => heard,
                // Nobody can say anything any more.
                None => std::future::pending().await,
            },
        }
    }

    /// Waits for a request to stop; pauses meanwhile where that is asked for.
    pub async fn stop(&mut self) {
        loop {
            match self.next().await {
                Heard::Stop => return,
                Heard::Pause => pause(),
                // The run is being stopped, and whoever said it hears that it was not taken.
                Heard::Command(_, _) => {}
            }
        }
    }
}

impl Signals {
    async fn next(&mut self) -> Heard {
        tokio::select! {
            _ = self.interrupt.recv() => Heard::Stop,
            _ = self.terminate.recv() => Heard::Stop,
            _ = self.hangup.recv() => Heard::Stop,
            _ = self.pause.recv() => Heard::Pause,
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
