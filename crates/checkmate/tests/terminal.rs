//! A terminal of a test's own, with somebody who types and who sees what a real terminal would show.

use std::num::NonZeroU16;

use serde_json::{Value, json};

use crate::environment::TestEnvironment;

const PROGRAM: &str = include_str!("terminal.py");
/// How many lines that scrolled away are still known.
const SCROLLBACK: usize = 10_000;

/// A terminal, and what will be typed at it.
pub(crate) struct Terminal {
    size: (u16, u16),
    name: &'static str,
    steps: Vec<Value>,
}

/// What was seen at a terminal until a command ended.
pub(crate) struct Seen {
    pub(crate) code: i32,
    /// Every byte that was written to it.
    pub(crate) bytes: Vec<u8>,
    /// Whether its modes are as they were before.
    pub(crate) restored: bool,
    /// Everything that scrolled away, and the screen at the end, without names that differ from run to run.
    pub(crate) lines: String,
    /// Whether the cursor is to be seen.
    pub(crate) cursor: bool,
    /// The screen whenever something was written, without what scrolled away.
    pub(crate) screens: Vec<String>,
}

impl Terminal {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        Self { size: (columns, rows), name: "xterm-256color", steps: Vec::new() }
    }

    /// Calls itself something else.
    pub(crate) fn named(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Types something once a text was written, behind the text of the step before.
    pub(crate) fn types(mut self, after: &str, keys: &str) -> Self {
        self.steps.push(json!({"after": after, "send": keys}));
        self
    }

    /// Types something once a file is there.
    pub(crate) fn types_when(mut self, file: &std::path::Path, keys: &str) -> Self {
        self.steps.push(json!({"file": file, "send": keys}));
        self
    }

    /// Becomes another size once a text was written.
    pub(crate) fn resizes(mut self, after: &str, columns: u16, rows: u16) -> Self {
        self.steps.push(json!({"after": after, "size": [columns, rows]}));
        self
    }

    /// Runs the program to its end.
    pub(crate) fn run(self, environment: &TestEnvironment, arguments: &[&str]) -> Seen {
        let plan = json!({"size": self.size, "steps": self.steps}).to_string();
        let mut command = environment.command("python3");
        command.env("TERM", self.name).args(["-c", PROGRAM, &plan, env!("CARGO_BIN_EXE_checkmate")]);
        let output = environment.output(command.args(arguments));
        let told = output.ended(0).to_owned() + &output.stdout;
        let told: Value = serde_json::from_str(&told).unwrap();
        let pieces: Vec<Piece> = told["pieces"].as_array().unwrap().iter().map(Piece::read).collect();
        let mut screen = vt100::Parser::new(rows(self.size.1), rows(self.size.0), SCROLLBACK);
        let (mut bytes, mut screens) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Written(written) => {
                    screen.process(&written);
                    bytes.extend(written);
                    screens.push(screen.screen().contents());
                }
                Piece::Resized(width, height) => screen.screen_mut().set_size(rows(height), rows(width)),
            }
        }
        assert_eq!(told["left"], 0, "not everything was typed:\n{}", whole(&mut screen));
        Seen {
            code: told["code"].as_i64().unwrap().try_into().unwrap(),
            bytes,
            restored: told["restored"].as_bool().unwrap(),
            lines: environment.normal(&whole(&mut screen)),
            cursor: !screen.screen().hide_cursor(),
            screens,
        }
    }
}

impl Seen {
    /// Makes sure of the exit code, and that the terminal is as it was; returns everything that stands there.
    #[track_caller]
    pub(crate) fn ended(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{}", self.lines);
        assert!(self.cursor, "the cursor is gone:\n{}", self.lines);
        assert!(self.restored, "the terminal's modes are others:\n{}", self.lines);
        assert!(!self.lines.chars().any(is_spinner), "a spinner is left:\n{}", self.lines);
        &self.lines
    }

    /// Tells whether a screen ever had all of these.
    pub(crate) fn showed(&self, parts: &[&str]) -> bool {
        self.screens.iter().any(|screen| parts.iter().all(|part| screen.contains(part)))
    }
}

pub(crate) fn is_spinner(c: char) -> bool {
    ('\u{2800}'..='\u{28ff}').contains(&c)
}

enum Piece {
    Written(Vec<u8>),
    Resized(u16, u16),
}

impl Piece {
    fn read(value: &Value) -> Self {
        if let Some(size) = value.as_array() {
            let number = |at: usize| u16::try_from(size[at].as_u64().unwrap()).unwrap();
            return Piece::Resized(number(0), number(1));
        }
        let digits = value.as_str().unwrap().as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        Piece::Written(digits.map(byte).collect())
    }
}

fn rows(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

/// Returns what scrolled away and the screen.
fn whole(parser: &mut vt100::Parser) -> String {
    let screen = parser.screen_mut();
    let mut lines = Vec::new();
    for back in (1..=screen.scrollback_len()).rev() {
        screen.set_scrollback(back);
        let (_, columns) = screen.size();
        lines.extend(screen.rows(0, columns.get()).next());
    }
    screen.set_scrollback(0);
    let (_, columns) = screen.size();
    lines.extend(screen.rows(0, columns.get()));
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n").trim_end().to_owned() + "\n"
}
