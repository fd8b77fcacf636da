//! The person at the terminal, where there is one.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use checkmate_machine::effect::Question;

/// Somebody who can be asked.
#[derive(Debug, Clone, Copy)]
pub struct Human {
    present: bool,
}

impl Human {
    /// Finds out whether somebody sits at the terminal: what is asked must be seen and can be answered.
    pub fn at_terminal() -> Self {
        Self { present: std::io::stdin().is_terminal() && std::io::stderr().is_terminal() }
    }

    /// Nobody is there.
    pub fn absent() -> Self {
        Self { present: false }
    }

    /// Tells whether somebody is there.
    pub fn is_present(self) -> bool {
        self.present
    }

    /// Asks a question of the machine; `None` if the input ended. Where nobody is, the answer is no.
    pub async fn ask(self, question: Question) -> Option<(bool, String)> {
        if !self.present {
            return Some((false, String::new()));
        }
        let text = match question {
            Question::Command { role, line } => {
                format!(
                    "The {role} would like to run `{}` in the run's own tree. Allow it?",
                    line.escape_debug()
                )
            }
            Question::Land => "Approved. Bring the change into your working tree?".to_owned(),
        };
        tokio::task::spawn_blocking(move || yes_or_no(&text)).await.ok().flatten()
    }
}

/// Asks on standard error and reads a line: `y` or `yes` is a yes, an empty line and `n` or `no` a no, anything else a
/// no with these words.
pub fn yes_or_no(question: &str) -> Option<(bool, String)> {
    let mut stderr = std::io::stderr();
    write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush()).ok()?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).ok()? == 0 {
        return None;
    }
    Some(match line.trim().to_lowercase().as_str() {
        "y" | "yes" => (true, String::new()),
        "" | "n" | "no" => (false, String::new()),
        _ => (false, line.trim().to_owned()),
    })
}
