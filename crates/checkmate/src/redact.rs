//! Keeps secrets out of everything that is written down or sent on.

use checkmate_machine::event::{Answer, Command, Failure, FailureKind};
use serde_json::Value;

/// Shorter values are no secrets but words, and replacing them would destroy text.
const SHORTEST: usize = 8;

/// The values that must not be written anywhere.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    /// Takes the values to look for.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> =
            secrets.into_iter().filter(|secret| secret.len() >= SHORTEST).collect();
        // Longest first: a secret that contains another one is replaced whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// Replaces every secret in a text.
    pub fn text(&self, text: &str) -> String {
        self.secrets
            .iter()
            .filter(|secret| text.contains(secret.as_str()))
            .fold(None, |redacted: Option<String>, secret| {
                Some(redacted.as_deref().unwrap_or(text).replace(secret.as_str(), "[redacted]"))
            })
            .unwrap_or_else(|| text.to_owned())
    }

    /// Takes from a text that is still growing what can be shown already, with every secret replaced. What stays behind
    /// may be the beginning of a secret.
    pub fn take_safe(&self, growing: &mut String) -> String {
        let mut cut = growing.len();
        loop {
            // The first place from which on the text may be a secret that has only begun.
            let begins = |at: &usize| {
                self.secrets.iter().any(|secret| {
                    let rest = &growing[*at..];
                    secret.len() > rest.len() && secret.starts_with(rest)
                })
            };
            let begun = growing[..cut].char_indices().map(|(at, _)| at).find(begins).unwrap_or(cut);
            // A whole secret that reaches over that place stays in one piece.
            let whole = self.secrets.iter().flat_map(|secret| {
                growing.match_indices(secret.as_str()).map(|(at, found)| (at, at + found.len()))
            });
            let start = whole.filter(|(at, end)| *at < begun && begun < *end).map(|(at, _)| at).min();
            let next = start.unwrap_or(begun);
            if next == cut {
                break;
            }
            cut = next;
        }
        let rest = growing.split_off(cut);
        self.text(&std::mem::replace(growing, rest))
    }

    /// Replaces every secret in what somebody says to a run.
    pub fn command(&self, command: Command) -> Command {
        match command {
            Command::Cancel { reason } => Command::Cancel { reason: self.text(&reason) },
            Command::Comment { text, path, line } => Command::Comment { text: self.text(&text), path, line },
            Command::Dispute { finding, text } => Command::Dispute { finding, text: self.text(&text) },
            Command::Retry
            | Command::TimeOver
            | Command::Budget { .. }
            | Command::TakenBack
            | Command::Land { .. } => command,
        }
    }

    /// Replaces every secret in an answer, wherever it stands.
    pub fn answer(&self, answer: Answer) -> Answer {
        if self.secrets.is_empty() {
            return answer;
        }
        let withheld = |error: serde_json::Error| {
            // Deny on our own failure: an answer that cannot be cleaned is not passed on.
            Answer::Failed(Failure {
                kind: FailureKind::Local,
                message: format!("An answer held a secret and could not be cleaned of it: {error}."),
                requests: 0,
            })
        };
        match serde_json::to_value(&answer) {
            Ok(mut value) => match self.value(&mut value) {
                true => serde_json::from_value(value).unwrap_or_else(withheld),
                false => answer,
            },
            Err(error) => withheld(error),
        }
    }

    fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => {
                let redacted = self.text(text);
                let changed = redacted != *text;
                *text = redacted;
                changed
            }
            // Not `any`: every item has to be looked at.
            Value::Array(items) => items.iter_mut().fold(false, |changed, item| self.value(item) | changed),
            Value::Object(fields) => {
                fields.values_mut().fold(false, |changed, item| self.value(item) | changed)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_comes_in_pieces_is_replaced_too() {
        let redactor = Redactor::new([
            "sk-secret-1".to_owned(),
            "sk-secret-1-longer".to_owned(),
            "1 and 2 and".to_owned(),
        ]);
        let text = "a sk-secret-1-longer, sk-secret-1 and 2 and sk-secret-x. sk-sec";
        for size in 1..text.len() {
            let (mut growing, mut shown) = (String::new(), String::new());
            for piece in text.as_bytes().chunks(size) {
                growing.push_str(std::str::from_utf8(piece).unwrap());
                shown.push_str(&redactor.take_safe(&mut growing));
            }
            shown.push_str(&redactor.text(&growing));
            assert_eq!(shown, redactor.text(text), "in pieces of {size}");
        }
    }

    #[test]
    fn secrets_are_replaced_wherever_they_stand() {
        let redactor =
            Redactor::new(["sk-secret-1".to_owned(), "sk-secret-1-longer".to_owned(), "short".to_owned()]);
        assert_eq!(
            redactor.text("a sk-secret-1-longer b sk-secret-1 short"),
            "a [redacted] b [redacted] short"
        );
        let answer = Answer::Rejected { reasons: vec!["fine".into(), "has sk-secret-1 in it".into()] };
        let redacted = Answer::Rejected { reasons: vec!["fine".into(), "has [redacted] in it".into()] };
        assert_eq!(redactor.answer(answer), redacted);
        assert_eq!(format!("{redactor:?}"), "Redactor(2 secrets)");
    }
}
