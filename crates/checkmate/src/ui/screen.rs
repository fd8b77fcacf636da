//! The lower end of a terminal, redrawn in place: what is settled goes above it and stays.
//!
//! The cursor rests at the beginning of the block, so everything below it is ours. A terminal that is resized moves its
//! lines and the cursor with them, each in its own way; whatever it does, clearing from the cursor on clears the block
//! and nothing else. Each frame is one write, which terminals that know how show at once.

use std::io::{IsTerminal as _, Write as _};

use anstream::ColorChoice;

use super::wrap;

const BEGIN: &str = "\u{1b}[?2026h";
const END: &str = "\u{1b}[?2026l";
const HIDE_CURSOR: &str = "\u{1b}[?25l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";
const CLEAR_BELOW: &str = "\r\u{1b}[J";
const CLEAR_REST: &str = "\u{1b}[K";
/// Clears from the next line on.
const CLEAR_NEXT: &str = "\r\n\u{1b}[J\u{1b}[A";

/// The terminal on standard error. What is drawn is cleared when this goes, and the cursor is back.
#[derive(Debug)]
pub(super) struct Screen {
    colours: bool,
    /// The block that is shown, with the size for which it was made; empty where none is.
    shown: Vec<String>,
    size: (usize, usize),
}

impl Screen {
    /// Finds out whether a block can be drawn.
    pub(super) fn new() -> Option<Self> {
        let stderr = std::io::stderr();
        let size = wrap::size(&stderr)?;
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let colours = anstream::AutoStream::choice(&stderr) != ColorChoice::Never;
        (!dumb).then_some(Self { colours, shown: Vec::new(), size })
    }

    /// Returns the columns and rows of now.
    pub(super) fn size(&self) -> (usize, usize) {
        wrap::size(&std::io::stderr()).unwrap_or(self.size)
    }

    /// Writes settled lines above the block, and the block anew.
    ///
    /// No line of the block may be wider than the terminal, and it may not have more lines than the terminal has rows.
    pub(super) fn draw(&mut self, settled: &str, block: Vec<String>) {
        let size = self.size();
        if settled.is_empty() && block == self.shown && size == self.size {
            return;
        }
        // The shell that put us into the background owns the terminal; what is settled may be said all the same.
        let block = if is_in_background() { Vec::new() } else { block };
        let was_shown = !self.shown.is_empty();
        let mut frame = String::from(BEGIN);
        if !settled.is_empty() || size != self.size || block.is_empty() {
            self.shown.clear();
            frame.push_str(if was_shown { CLEAR_BELOW } else { "" });
        }
        frame.push_str(&self.coloured(settled));
        if !block.is_empty() {
            frame.push_str(if was_shown { "" } else { HIDE_CURSOR });
            frame.push('\r');
            for (at, line) in block.iter().enumerate() {
                frame.push_str(if at > 0 { "\r\n" } else { "" });
                // What stands there already is not written again.
                if self.shown.get(at) != Some(line) {
                    frame.push_str(&self.coloured(line));
                    frame.push_str(CLEAR_REST);
                }
            }
            frame.push_str(if block.len() < self.shown.len() { CLEAR_NEXT } else { "" });
            if block.len() > 1 {
                frame.push_str(&format!("\u{1b}[{}A", block.len() - 1));
            }
            frame.push('\r');
        } else if was_shown {
            frame.push_str(SHOW_CURSOR);
        }
        frame.push_str(END);
        self.shown = block;
        self.size = size;
        write(&frame);
    }

    /// Takes the block away and gives the cursor back.
    pub(super) fn clear(&mut self) {
        if !self.shown.is_empty() {
            self.draw("", Vec::new());
        }
    }

    fn coloured(&self, text: &str) -> String {
        if self.colours { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if !self.shown.is_empty() {
            self.shown.clear();
            write(&format!("{CLEAR_BELOW}{SHOW_CURSOR}"));
        }
    }
}

/// A terminal that has gone away is no reason to stop the run.
fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).ok();
}

/// Tells whether a shell runs something else in this terminal now.
fn is_in_background() -> bool {
    let stderr = std::io::stderr();
    let Ok(foreground) = rustix::termios::tcgetpgrp(&stderr) else { return false };
    stderr.is_terminal() && foreground != rustix::process::getpgrp()
}
