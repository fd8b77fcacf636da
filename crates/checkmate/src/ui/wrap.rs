//! Lines that fit a terminal.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use unicode_width::UnicodeWidthChar as _;

/// Narrower than this nothing is wrapped: a word a line helps nobody.
const NARROWEST: usize = 20;
/// Makes the character before it an emoji, which takes a column more.
const AS_EMOJI: char = '\u{fe0f}';

/// Returns how many columns a terminal has; `None` for a file or a pipe, whose lines stay whole for `grep`.
pub fn width(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    size(stream).map(|(columns, _)| columns)
}

/// Returns the columns of the terminal that people read on.
pub fn width_of_stderr() -> Option<usize> {
    width(&std::io::stderr())
}

/// Returns how many columns and rows a terminal has.
pub(super) fn size(stream: &(impl AsFd + IsTerminal)) -> Option<(usize, usize)> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    let rows = if size.ws_row == 0 { 24 } else { usize::from(size.ws_row) };
    Some((usize::from(size.ws_col), rows)).filter(|(columns, _)| *columns > 0)
}

/// Returns how many columns a text takes at most. Terminals disagree about joined emoji; the widest is counted.
pub fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    if c == AS_EMOJI { 1 } else { c.width().unwrap_or(0) }
}

/// Cuts a text to a width; what is cut shows as `…`.
pub(super) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut taken = 0;
    let fits = |c: &char| {
        taken += columns_of(*c);
        taken < width
    };
    let mut short: String = text.chars().take_while(fits).collect();
    if width > 0 {
        short.truncate(short.trim_end().len());
        short.push('…');
    }
    short
}

/// Puts `head`, which may hold colours, before a text whose further lines begin below its column `indent`.
///
/// A word that is longer than a line stands on a line of its own, whole.
pub fn wrapped(head: &str, indent: usize, text: &str, width: Option<usize>) -> String {
    hung(head, indent, indent, text, width)
}

/// The same for a head that ends at the column `first`.
pub(super) fn hung(head: &str, first: usize, indent: usize, text: &str, width: Option<usize>) -> String {
    let Some(limit) = width.map(|width| width.max(NARROWEST)) else { return format!("{head}{text}\n") };
    let (mut lines, mut at) = (head.to_owned(), first);
    let room = limit.saturating_sub(1);
    let mut begun = false;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let long = columns(word);
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
        for word in ["word ", "漢字 ", "é "] {
            let text = word.repeat(200);
            for line in wrapped("  ", 20, &text, Some(60)).lines() {
                assert!(columns(line) < 60, "{line}");
            }
        }
    }

    #[test]
    fn what_is_cut_ends_with_an_ellipsis_and_fits() {
        for (text, width, cut_to) in [
            ("tests", 5, "tests"),
            ("tests", 4, "tes…"),
            ("a b c", 4, "a b…"),
            ("ab cd", 4, "ab…"),
            ("漢字漢字", 8, "漢字漢字"),
            ("漢字漢字", 7, "漢字漢…"),
            ("漢字漢字", 6, "漢字…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
            ("abc", 0, ""),
        ] {
            assert_eq!(cut(text, width), cut_to);
            assert!(columns(&cut(text, width)) <= width);
        }
    }
}
