//! Big texts made small without losing what matters: the beginning says what ran, the end says how it ended.

/// Estimates the tokens of a text: four bytes a token, rounded up. The provider's usage is the truth; this only
/// decides beforehand what fits.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// Keeps whole lines of the head and tail of `text` within `budget` tokens.
///
/// A third goes to the head, the rest to the tail, and one line between them says how much is missing. A line that
/// is longer than its share alone is cut at a character.
pub fn head_and_tail(text: &str, budget: usize) -> String {
    if tokens(text) <= budget {
        return text.to_owned();
    }
    let bytes = budget.saturating_mul(4);
    let head = first_lines(text, bytes / 3);
    let tail = last_lines(&text[head.len()..], bytes - bytes / 3);
    let missing = &text[head.len()..text.len() - tail.len()];
    let newline = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!(
        "{head}{newline}[… {} lines, {} bytes left out …]\n{tail}",
        missing.lines().count(),
        missing.len()
    )
}

/// Returns a text as one line of at most `most` characters: what could end a line or act on a terminal is escaped.
///
/// For names and sentences of others that stand outside of a fence.
pub fn line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for (count, c) in text.trim().chars().enumerate() {
        if count >= most {
            line.push('…');
            break;
        }
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

fn first_lines(text: &str, bytes: usize) -> &str {
    let end = floor_boundary(text, bytes);
    match text[..end].rfind('\n') {
        Some(newline) => &text[..=newline],
        None => &text[..end],
    }
}

fn last_lines(text: &str, bytes: usize) -> &str {
    let start = ceil_boundary(text, text.len().saturating_sub(bytes));
    match text[start..].find('\n') {
        Some(newline) if start > 0 && start + newline + 1 < text.len() => &text[start + newline + 1..],
        Some(_) | None => &text[start..],
    }
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Ends an agent's words like a sentence, so that another can follow.
pub fn sentence(words: &str) -> String {
    let words = words.trim();
    if words.is_empty() || words.ends_with(['.', '!', '?', ':', ';', '…']) {
        words.to_owned()
    } else {
        format!("{words}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_fits() {
        assert_eq!(head_and_tail("one\ntwo\n", 2), "one\ntwo\n");
    }

    #[test]
    fn keeps_head_and_tail_of_what_does_not() {
        let text: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let short = head_and_tail(&text, 30);
        assert!(tokens(&short) < 50, "{short}");
        assert!(short.starts_with("line 0\nline 1\n"), "{short}");
        assert!(short.ends_with("line 998\nline 999\n"), "{short}");
        assert!(short.contains("lines, "), "{short}");
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(line(" a\r\n## b\u{2028}c\u{85} ", 99), "a\\r\\n## b\\u{2028}c");
        assert_eq!(line("äöü", 2), "äö…");
    }

    #[test]
    fn cuts_a_single_long_line_at_characters() {
        let short = head_and_tail(&"ä".repeat(10_000), 10);
        assert!(short.starts_with('ä') && short.ends_with('ä'), "{short}");
        assert!(tokens(&short) < 40, "{short}");
    }
}
