//! Lines that fit a terminal.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// Narrower than this nothing is wrapped: a word a line helps nobody.
const NARROWEST: usize = 40;

/// Returns how many columns a terminal has; `None` for a file or a pipe, whose lines stay whole for `grep`.
pub fn width(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns the columns of the terminal that people read on.
pub fn width_of_stderr() -> Option<usize> {
    width(&std::io::stderr())
}

/// Puts `head`, which may hold colours, before a text whose further lines begin below its column `indent`.
///
/// A word that is longer than a line stands on a line of its own, whole.
pub fn wrapped(head: &str, indent: usize, text: &str, width: Option<usize>) -> String {
    let Some(columns) = width.map(|width| width.max(NARROWEST)) else { return format!("{head}{text}\n") };
    let (mut lines, mut at) = (head.to_owned(), indent);
    let room = columns.saturating_sub(1);
    let mut begun = false;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let long = word.chars().count();
        if begun && at + 1 + long > room {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            at = indent;
        } else if begun {
            lines.push(' ');
            at += 1;
        }
        lines.push_str(word);
        at += long;
        begun = true;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_lines_hang_below_the_first() {
        let text = "one two three four five six seven eight nine ten";
        assert_eq!(
            wrapped("   ✓ tests  ", 12, text, Some(40)),
            "   ✓ tests  one two three four five six\n            seven eight nine ten\n"
        );
        assert_eq!(wrapped("   ", 3, text, None), format!("   {text}\n"));
        let long = "x".repeat(60);
        assert_eq!(wrapped("   ", 3, &format!("a {long} b"), Some(40)), format!("   a\n   {long}\n   b\n"));
    }

    #[test]
    fn no_line_is_longer_than_the_terminal() {
        let text = "word ".repeat(200);
        for line in wrapped("  ", 20, &text, Some(60)).lines() {
            assert!(line.chars().count() < 60, "{line}");
        }
    }
}
