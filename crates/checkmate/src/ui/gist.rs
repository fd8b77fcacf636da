//! Something readable of a reply while it arrives. Replies are JSON; people read the text that is being written in it.

/// The most characters of one text that are kept.
const KEPT: usize = 400;
/// The deepest nesting that is followed.
const DEEPEST: usize = 64;

/// What is known of a reply so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Gist {
    /// How many characters arrived.
    count: u64,
    /// The containers that are open: whether each is an object.
    open: Vec<bool>,
    /// Whether the next text in the innermost object is a key.
    key_next: bool,
    /// The latest key.
    key: String,
    /// Whether a text begins that has no character yet.
    begins: bool,
    /// The latest text that is not empty, up to where it has arrived.
    text: String,
    /// Its key.
    name: String,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// Before any JSON: words of the agent.
    #[default]
    Prose,
    /// Between texts.
    Between,
    /// In a text; whether it is a key.
    Text { key: bool },
    /// Behind a backslash in a text.
    Escape { key: bool },
    /// In the digits of `\uXXXX`.
    Digits { key: bool, left: u8, code: u32 },
}

impl Gist {
    /// Takes what arrived.
    pub(super) fn hear(&mut self, chunk: &str) {
        for c in chunk.chars() {
            self.count += 1;
            self.take(c);
        }
    }

    /// Returns how many characters arrived.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the latest line of what is being written, with the name of its part where it has one.
    pub(super) fn line(&self) -> Option<String> {
        let line = self.text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(if self.name.is_empty() { line.to_owned() } else { format!("{}: {line}", self.name) })
    }

    fn take(&mut self, c: char) {
        self.state = match (self.state, c) {
            (State::Prose | State::Between, '{' | '[') => {
                if self.open.len() < DEEPEST {
                    self.open.push(c == '{');
                }
                self.key_next = c == '{';
                State::Between
            }
            (State::Prose, _) => {
                self.push(c);
                State::Prose
            }
            (State::Between, '}' | ']') => {
                self.open.pop();
                self.key_next = false;
                State::Between
            }
            (State::Between, ',') => {
                self.key_next = self.open.last() == Some(&true);
                State::Between
            }
            (State::Between, '"') => {
                let key = self.key_next;
                if key {
                    self.key.clear();
                }
                self.begins = !key;
                State::Text { key }
            }
            (State::Between, _) => State::Between,
            (State::Text { key }, '"') => {
                self.key_next &= !key;
                State::Between
            }
            (State::Text { key }, '\\') => State::Escape { key },
            (State::Text { key }, c) => self.write(key, c),
            (State::Escape { key }, 'u') => State::Digits { key, left: 4, code: 0 },
            (State::Escape { key }, 'n' | 'r') => self.write(key, '\n'),
            (State::Escape { key }, 't') => self.write(key, ' '),
            (State::Escape { key }, c) => self.write(key, c),
            (State::Digits { key, left, code }, c) => {
                let code = code * 16 + c.to_digit(16).unwrap_or(0);
                if left > 1 {
                    State::Digits { key, left: left - 1, code }
                } else {
                    // Halves of a pair are no characters by themselves.
                    self.write(key, char::from_u32(code).unwrap_or('\u{fffd}'))
                }
            }
        };
    }

    fn write(&mut self, key: bool, c: char) -> State {
        if !key {
            if std::mem::take(&mut self.begins) {
                self.text.clear();
                self.name = self.key.replace('_', " ");
            }
            self.push(c);
        } else if self.key.len() < KEPT {
            self.key.push(c);
        }
        State::Text { key }
    }

    /// Adds to the latest text and forgets its beginning where it is long.
    fn push(&mut self, c: char) {
        if self.text.len() > 4 * KEPT {
            let from = self.text.char_indices().rev().nth(KEPT).map_or(0, |(at, _)| at);
            self.text.drain(..from);
        }
        self.text.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(reply: &str) -> Option<String> {
        let (mut whole, mut bits) = (Gist::default(), Gist::default());
        whole.hear(reply);
        reply.chars().for_each(|c| bits.hear(&c.to_string()));
        assert_eq!(whole, bits, "it does not matter in which pieces a reply arrives");
        whole.line()
    }

    #[test]
    fn the_text_that_is_being_written_is_shown_with_its_name() {
        for (reply, shown) in [
            ("", None),
            ("{\"pl", None),
            ("{\"plan\": [\"Reject neg", Some("plan: Reject neg")),
            ("{\"plan\": [\"Reject negatives\", \"Test", Some("plan: Test")),
            ("{\"plan\": [\"Reject negatives\"], \"patch\": \"", Some("plan: Reject negatives")),
            (r#"{"plan":["x"],"patch":"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-\"a\"\n+\u0062"#, Some("patch: +b")),
            (
                r#"{"verdict": "approve", "issues": [{"severity": "minor", "description": "Slow"#,
                Some("description: Slow"),
            ),
            ("Let me think.\nThe case", Some("The case")),
            ("Here:\n```json\n{\"plan\": [\"Do it", Some("plan: Do it")),
        ] {
            assert_eq!(line(reply).as_deref(), shown, "{reply}");
        }
    }

    #[test]
    fn a_long_text_does_not_grow() {
        let mut gist = Gist::default();
        gist.hear("{\"patch\": \"");
        gist.hear(&"é".repeat(100_000));
        gist.hear(r"\n+the end");
        assert!(gist.text.len() < 8 * KEPT);
        assert_eq!(gist.line().as_deref(), Some("patch: +the end"));
        gist.hear(&"]}}[[".repeat(1000));
        assert_eq!(gist.count(), 105_021);
    }
}
