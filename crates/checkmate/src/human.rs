//! The person who is asked, where there is one: at the terminal, or at a client of the daemon.

mod desk;
mod keys;

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;

use checkmate_machine::effect::Question;
use checkmate_machine::spec::Policy;

pub use self::desk::{Desk, Gate, Late, Said};
use self::keys::{Key, Keys};
use crate::error::CommandError;
use crate::interrupt::{self, Interrupts};
use crate::ui;
use crate::watch::PartId;

/// Somebody who can be asked.
#[derive(Debug, Clone)]
pub enum Human {
    /// Nobody is there.
    Absent,
    /// Somebody sits at the terminal: what is asked is seen and can be answered.
    Terminal,
    /// Questions lie on a desk until somebody answers one.
    Desk(Arc<Desk>),
}

impl Human {
    /// Finds out whether somebody sits at the terminal.
    pub fn at_terminal() -> Self {
        let seen = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if seen { Self::Terminal } else { Self::Absent }
    }

    /// Tells whether somebody is there.
    pub fn is_present(&self) -> bool {
        match self {
            Self::Absent => false,
            Self::Terminal | Self::Desk(_) => true,
        }
    }

    /// Refuses to go on where a person has to read each patch and nobody is there.
    pub fn refuse_unattended(&self, policy: &Policy) -> Result<(), CommandError> {
        if !policy.approve_patches || self.is_present() {
            return Ok(());
        }
        Err(CommandError::configuration(
            "`approve_patches` asks a person about each patch before it is applied, and nobody is there to be asked. Start \
             it at a terminal without `--events`, or set `approve_patches` to false in .dualagent.json for a new run.",
        ))
    }

    /// Asks a question of the machine; `None` if the input ended. Where nobody is, the answer is no, and a patch waits:
    /// a no would use up the builder's turns. `part` is what asks, and `diff` the change that it is about.
    pub async fn ask(&self, part: &PartId, question: Question, diff: String) -> Option<(bool, String)> {
        match self {
            Self::Absent => match question {
                Question::Patch { .. } => None,
                Question::Command { .. } | Question::Land => Some((false, String::new())),
            },
            Self::Terminal => answer(Asked::of(question, diff)).await,
            Self::Desk(desk) => desk.ask(part, &question).await,
        }
    }
}

impl Asked {
    fn of(question: Question, diff: String) -> Self {
        match question {
            Question::Command { role, line } => Asked {
                question: format!(
                    "The {role} would like to run `{}` in the run's own tree. Allow it?",
                    ui::printable(&line.escape_debug().to_string())
                ),
                diff: None,
                shown: false,
            },
            Question::Patch { diff } => Asked {
                question: "Apply this change in the run's own tree?".to_owned(),
                diff: Some(diff),
                shown: true,
            },
            Question::Land => Asked {
                question: "Bring the change into your working tree?".to_owned(),
                diff: Some(diff),
                shown: false,
            },
        }
    }
}

/// Asks for a yes or a no on standard error, and reads it as one key: `?` lists the keys. The words of a no may be empty.
pub fn yes_or_no(question: &str) -> Result<(bool, String), CommandError> {
    let stopped = || CommandError::interrupted("Interrupted, and nothing was begun.");
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let answer = runtime.block_on(async {
            let mut interrupts = Interrupts::listen().ok()?;
            tokio::select! {
                answer = answer(Asked { question: question.to_owned(), diff: None, shown: false }) => answer,
                () = interrupts.stop() => None,
            }
        });
        // The terminal may still wait for a line; the program does not.
        runtime.shutdown_background();
        answer
    };
    // On a thread of its own, because whoever asks may be inside of a runtime.
    let answer = std::thread::scope(|scope| scope.spawn(ask).join());
    answer.ok().flatten().ok_or_else(stopped)
}

/// A question with what belongs to it.
///
/// One key answers: `y` is a yes; `n`, Enter and Escape are a no; `c` is a no with words, which are typed on a line; `d`
/// shows the change, and `?` the keys. Where the terminal cannot hand over single keys, a line answers: `y` or `yes` is
/// a yes, an empty line and `n` or `no` a no, anything else a no with these words.
struct Asked {
    question: String,
    diff: Option<String>,
    /// Whether the change is shown before it is asked about.
    shown: bool,
}

/// Asks on a thread of its own. If nobody waits for the answer any more, the terminal is given back all the same.
async fn answer(asked: Asked) -> Option<(bool, String)> {
    struct GivenBack(Arc<Keys>);

    impl Drop for GivenBack {
        fn drop(&mut self) {
            self.0.give_back();
        }
    }

    let Some(keys) = Keys::take().map(Arc::new) else {
        return tokio::task::spawn_blocking(move || asked.by_line()).await.ok().flatten();
    };
    let _given_back = GivenBack(Arc::clone(&keys));
    tokio::task::spawn_blocking(move || asked.by_key(&keys)).await.ok().flatten()
}

impl Asked {
    fn by_key(&self, keys: &Keys) -> Option<(bool, String)> {
        self.show();
        self.prompt();
        loop {
            match keys.next() {
                Key::Letter('y') => {
                    say("yes\n");
                    return Some((true, String::new()));
                }
                Key::Letter('n') | Key::Enter | Key::Escape => {
                    say("no\n");
                    return Some((false, String::new()));
                }
                Key::Letter('c') => {
                    say("no\n    Say why: ");
                    keys.give_back();
                    return Some((false, line()?.trim().to_owned()));
                }
                Key::Letter('d') if let Some(diff) = &self.diff => {
                    say(&format!("diff\n\n{}\n", ui::diff(diff)));
                    self.prompt();
                }
                Key::Letter('?' | 'h') => {
                    say("?\n");
                    say(
                        "    y              yes\n    n, Enter, Esc  no\n    c              no, and say why\n",
                    );
                    if self.diff.is_some() {
                        say("    d              show the change\n");
                    }
                    say("    Ctrl-C         stop here; `checkmate resume latest` asks again\n");
                    self.prompt();
                }
                Key::Interrupt => {
                    say("\n");
                    keys.give_back();
                    interrupt::interrupt();
                    return None;
                }
                Key::End => {
                    say("\n");
                    return None;
                }
                Key::Letter(_) | Key::Other => {}
            }
        }
    }

    fn show(&self) {
        if let Some(diff) = self.diff.as_ref().filter(|_| self.shown) {
            say(&format!("\n{}\n", ui::diff(diff)));
        }
    }

    fn by_line(&self) -> Option<(bool, String)> {
        self.show();
        say(&format!("{} [y/N] ", self.question));
        let line = line()?;
        Some(match line.trim().to_lowercase().as_str() {
            "y" | "yes" => (true, String::new()),
            "" | "n" | "no" => (false, String::new()),
            _ => (false, line.trim().to_owned()),
        })
    }

    fn prompt(&self) {
        let (bold, dim) = (anstyle::Style::new().bold(), anstyle::Style::new().dimmed());
        let keys = if self.diff.is_some() { "c comment, d diff, ? help" } else { "c comment, ? help" };
        // A question that fits only without its keys is asked without them; `?` still lists them.
        let room = ui::width_of_stderr().unwrap_or(usize::MAX);
        let fits = |hint: &str| ui::columns(&self.question) + " [y/N] ".len() + hint.len() < room;
        let hint = [format!("({keys}) "), "(? help) ".to_owned()].into_iter().find(|hint| fits(hint));
        say(&format!("{bold}{}{bold:#} [y/N] {dim}{}{dim:#}", self.question, hint.unwrap_or_default()));
    }
}

fn say(text: &str) {
    anstream::eprint!("{text}");
    std::io::stderr().flush().ok();
}

/// Reads a line; `None` at the end of the input.
fn line() -> Option<String> {
    let mut line = String::new();
    (std::io::stdin().lock().read_line(&mut line).ok()? > 0).then_some(line)
}
