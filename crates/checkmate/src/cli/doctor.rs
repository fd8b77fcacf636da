//! `checkmate doctor`: looks at everything that a run needs.

use std::path::PathBuf;

use anstyle::{AnsiColor, Style};

use super::{Place, print};
use crate::doctor::{self, Finding, Order, State};

use crate::error::CommandError;
use crate::exit_code;
use crate::human::Human;
use crate::interrupt::Interrupts;
use crate::process::Cancel;
use crate::ui;

/// Look at everything that a run needs: git, repository, configuration, keys, models, sandbox, tests
///
/// Exit codes: 0 nothing failed, 1 something did. Warnings are no failures.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Mend what can be mended safely: write a missing configuration, remove a lock that git left behind, make the
    /// folder of runs. At a terminal you are asked before each
    #[arg(long)]
    fix: bool,
    /// Write an array of objects to standard output
    #[arg(long)]
    json: bool,
    /// Leave the models' endpoints alone
    #[arg(long)]
    offline: bool,
    /// Do not run the test command
    #[arg(long)]
    no_tests: bool,
    /// The configuration (default: .dualagent.json in the repository's root)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The column at which sentences begin.
const COLUMN: usize = 16;

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let order = Order {
        directory: place.directory()?,
        config: args.config.clone(),
        offline: args.offline,
        tests: !args.no_tests,
        fixing: args.fix.then(Human::at_terminal),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        CommandError::local(format!(
            "The program could not be set up: {error}. Close other programs and try again."
        ))
    })?;
    let cancel = Cancel::default();
    let json = args.json;
    let width = ui::width(&std::io::stdout());
    let mut show = |finding: &Finding| {
        for done in &finding.fixed {
            anstream::eprintln!("{done}");
        }
        if !json {
            print(&lines(finding, width));
        }
    };
    interruptible(&cancel)?;
    let findings = runtime.block_on(doctor::examine(order, cancel.clone(), &mut show));
    if json {
        let text = serde_json::to_string_pretty(&findings)
            .map_err(|error| CommandError::local(error.to_string()))?;
        print(&format!("{text}\n"));
    }
    if cancel.is_cancelled() {
        return Err(CommandError::interrupted(
            "Interrupted. What was tried out is gone; run it again any time.",
        ));
    }
    let count = |state: State| findings.iter().filter(|finding| finding.state == state).count();
    let (failed, warned) = (count(State::Fail), count(State::Warn));
    anstream::eprintln!("{}", conclusion(failed, warned));
    Ok(if failed == 0 { exit_code::DONE } else { exit_code::ERROR })
}

/// Has Ctrl-C and requests to end stop the test command in order, so that nothing of it is left.
fn interruptible(cancel: &Cancel) -> Result<(), CommandError> {
    let cancel = cancel.clone();
    let listening = std::thread::Builder::new().name("interrupt".into()).spawn(move || {
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            runtime.block_on(async {
                if let Ok(mut interrupts) = Interrupts::listen() {
                    interrupts.stop().await;
                    cancel.cancel();
                }
            });
        }
    });
    listening
        .map(|_| ())
        .map_err(|error| CommandError::local(format!("The program could not be set up: {error}.")))
}

fn conclusion(failed: usize, warned: usize) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    match (failed, warned) {
        (0, 0) => "Everything that a run needs is there.".into(),
        (0, warned) => format!("A run can begin; {}.", counted(warned, "warning")),
        (failed, 0) => format!("{}. Mend what failed before the first run.", counted(failed, "failure")),
        (failed, warned) => format!(
            "{}, {}. Mend what failed before the first run.",
            counted(failed, "failure"),
            counted(warned, "warning")
        ),
    }
}

/// Returns a finding as a line, with its next step on another one that is indented.
fn lines(finding: &Finding, width: Option<usize>) -> String {
    let (mark, colour) = match finding.state {
        State::Ok => ("✓", AnsiColor::Green),
        State::Warn => ("!", AnsiColor::Yellow),
        State::Fail => ("✗", AnsiColor::Red),
        State::Skipped => ("·", AnsiColor::BrightBlack),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    let head = format!("{style}{mark}{style:#} {:<13} ", finding.check);
    let message = one_line(&finding.message);
    let mut text = ui::wrapped(&head, COLUMN, &message, width);
    if let Some(next) = finding.next.as_deref().filter(|_| finding.state != State::Ok) {
        text.push_str(&ui::wrapped(&format!("{:COLUMN$}→ ", ""), COLUMN + 2, &one_line(next), width));
    }
    text
}

fn one_line(text: &str) -> String {
    ui::printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}
