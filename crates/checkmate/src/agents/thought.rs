//! Keeps a model's thinking out of its reply, where a server sends both as one text.

/// The tags between which local models think aloud.
const TAGS: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<thought>", "</thought>")];

/// Takes a leading block of thinking out of a text that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    state: State,
    text: String,
    bytes: usize,
}

#[derive(Debug)]
enum State {
    /// Nothing but what may become a tag has come.
    Begin(String),
    /// A block is open; what came of it, and what closes it.
    Inside(String, &'static str),
    /// The block is closed, and nothing but white space has come since.
    Closed,
    /// What comes is the reply.
    Reply,
}

impl Default for State {
    fn default() -> Self {
        State::Begin(String::new())
    }
}

impl Thoughts {
    /// Takes the next piece and returns what of it is not thinking.
    pub(super) fn push(&mut self, piece: &str) -> String {
        self.bytes += piece.len();
        let fresh = self.read(piece);
        self.text.push_str(&fresh);
        fresh
    }

    /// Returns how many bytes have come, those of the thinking included.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the reply.
    pub(super) fn finish(mut self) -> String {
        if let State::Begin(begun) = &self.state {
            self.text.push_str(begun);
        }
        match without_opening(&self.text) {
            Some(reply) => reply.to_owned(),
            None => self.text,
        }
    }

    fn read(&mut self, piece: &str) -> String {
        match &mut self.state {
            State::Reply => piece.to_owned(),
            State::Closed => {
                let reply = piece.trim_start();
                if !reply.is_empty() {
                    self.state = State::Reply;
                }
                reply.to_owned()
            }
            State::Begin(begun) => {
                begun.push_str(piece);
                let start = begun.trim_start();
                if TAGS.iter().any(|(open, _)| open.starts_with(start)) {
                    return String::new();
                }
                let open = TAGS.iter().find_map(|(open, close)| Some((start.strip_prefix(open)?, *close)));
                match open.map(|(rest, close)| (rest.to_owned(), close)) {
                    Some((rest, close)) => {
                        self.state = State::Inside(String::new(), close);
                        self.read(&rest)
                    }
                    None => {
                        let text = std::mem::take(begun);
                        self.state = State::Reply;
                        text
                    }
                }
            }
            State::Inside(thought, close) => {
                thought.push_str(piece);
                let Some((_, reply)) = thought.split_once(*close) else {
                    // Only an unfinished tag has to be kept.
                    let keep = thought.len().saturating_sub(close.len());
                    let keep = (keep..=thought.len()).find(|at| thought.is_char_boundary(*at));
                    thought.drain(..keep.unwrap_or(0));
                    return String::new();
                };
                let reply = reply.to_owned();
                self.state = State::Closed;
                self.read(&reply)
            }
        }
    }
}

/// Some servers write the opening tag into the prompt, so that only the closing one comes. A reply that begins with JSON
/// or a fence is none of those, whatever it quotes.
fn without_opening(text: &str) -> Option<&str> {
    let start = text.trim_start();
    if start.starts_with(['{', '[', '`']) {
        return None;
    }
    TAGS.iter().find_map(|(open, close)| {
        let (thought, reply) = text.split_once(close)?;
        (!thought.contains(open)).then(|| reply.trim_start())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what was shown and what was kept of a text that comes in pieces of so many characters.
    fn filtered(text: &str, size: usize) -> (String, String) {
        let characters: Vec<char> = text.chars().collect();
        let mut thoughts = Thoughts::default();
        let shown: String =
            characters.chunks(size).map(|piece| thoughts.push(&piece.iter().collect::<String>())).collect();
        assert_eq!(thoughts.bytes(), text.len());
        (shown, thoughts.finish())
    }

    #[test]
    fn a_leading_block_is_no_part_of_the_reply() {
        for (text, reply) in [
            ("<think>grüße {\"plan\": 1}</think>\n\n{\"plan\": []}", "{\"plan\": []}"),
            (" \n<think></think>{}", "{}"),
            ("<thinking>a<think>b</thinking>c", "c"),
            ("<thought>a</thought>", ""),
            ("<think>never closed {\"plan\": []}", ""),
            ("<thin", "<thin"),
            ("<thinner>a</thinner>", "<thinner>a</thinner>"),
            ("{\"patch\": \"<think>a</think>\"}", "{\"patch\": \"<think>a</think>\"}"),
            ("{\"patch\": \"a</think>b\"}", "{\"patch\": \"a</think>b\"}"),
            ("```json\n{\"patch\": \"a</think>b\"}\n```", "```json\n{\"patch\": \"a</think>b\"}\n```"),
            ("The tags <think> and </think> are text.", "The tags <think> and </think> are text."),
            ("", ""),
        ] {
            for size in [1, 2, 5, 1000] {
                let (shown, kept) = filtered(text, size);
                assert_eq!(kept, reply, "{text} in pieces of {size}");
                assert!(kept.ends_with(shown.trim_start()), "{text}: {shown}");
            }
        }
    }

    #[test]
    fn an_opening_tag_may_stand_in_the_prompt() {
        for size in [1, 1000] {
            assert_eq!(
                filtered("Let me see {\"a\": 1}.\n</think>\n{\"plan\": []}", size).1,
                "{\"plan\": []}"
            );
        }
    }
}
