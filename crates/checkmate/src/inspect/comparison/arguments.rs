//! Other arguments for a call: renamed ones of the same shape, and made-up ones of the same types.

use std::collections::BTreeSet;

use super::calls::Call;
use super::literals::{Args, Value};

/// So many siblings a call gets.
const SIBLINGS: usize = 6;

/// What a renaming does.
#[derive(Debug, Clone, Default)]
struct Renaming {
    /// Letters move on in the alphabet by this.
    letters: u8,
    /// Digits of texts move on by this; a nought stays, so that numbers keep their size.
    digits: u8,
    /// Numbers get further away from nought by this, so that they keep their sign.
    numbers: i32,
    /// So many letters at the start and at the end of a longer word stay.
    stay: (usize, usize),
    /// Whether keys of tables stay.
    keys_stay: bool,
    /// Nothing but this word or number changes.
    only: Option<String>,
}

/// Returns calls of the same shape with other letters and numbers. Some change everything, some only one word or
/// number, so that a fix that hangs on one of them shows in the others.
pub(super) fn renamed(call: &Call) -> Vec<Call> {
    let mut siblings: Vec<Call> = Vec::new();
    for renaming in renamings(call) {
        let mut sibling = call.clone();
        sibling.values_mut().for_each(|value| renaming.apply(value));
        if sibling != *call && !siblings.contains(&sibling) {
            siblings.push(sibling);
        }
    }
    siblings.truncate(SIBLINGS);
    siblings
}

fn renamings(call: &Call) -> Vec<Renaming> {
    let (mut words, mut copy) = (Vec::new(), call.clone());
    copy.values_mut().for_each(|value| words_of(value, &mut words));
    let mut seen = BTreeSet::new();
    words.retain(|word| seen.insert(word.clone()));
    let all = |letters, digits, numbers, keys_stay| Renaming {
        letters,
        digits,
        numbers,
        keys_stay,
        ..Renaming::default()
    };
    let single = |word: Option<&String>, letters, digits, numbers| {
        let only = word.filter(|_| words.len() > 1).cloned();
        only.map(|only| Renaming { only: Some(only), ..all(letters, digits, numbers, true) })
    };
    // Round distances keep what numbers divide by; odd ones do not. Ends of words stay where rules hang on them.
    let plan = [
        Some(all(1, 1, 10, false)),
        single(words.first(), 2, 2, 30),
        Some(Renaming { stay: (0, 1), ..all(5, 0, 30, true) }),
        single(words.last(), 4, 3, 7),
        Some(Renaming { stay: (1, 0), ..all(3, 2, 0, true) }),
        Some(all(0, 3, 7, true)),
        single(words.get(words.len() / 2), 6, 1, 20),
        Some(Renaming { stay: (0, 2), ..all(7, 0, 200, true) }),
        Some(all(11, 4, 1000, false)),
        Some(all(9, 5, 420, true)),
        Some(all(13, 6, 20, true)),
    ];
    plan.into_iter().flatten().collect()
}

/// Collects the runs of letters and of digits, and the numbers.
fn words_of(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::Int(number) => words.push(number.to_string()),
        Value::Float(number) => words.push(number.to_string()),
        Value::Text(text) | Value::Bytes(text) => {
            words.extend(runs(text).into_iter().filter(|run| run.starts_with(is_word)).map(str::to_owned));
        }
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
            items.iter().for_each(|item| words_of(item, words));
        }
        Value::Map(pairs) => pairs.iter().for_each(|(key, value)| {
            words_of(key, words);
            words_of(value, words);
        }),
        Value::Null | Value::Undefined | Value::Bool(_) => {}
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

/// Splits a text where letters, digits and everything else change.
fn runs(text: &str) -> Vec<&str> {
    let class = |c: char| (c.is_ascii_alphabetic(), c.is_ascii_digit());
    let (mut runs, mut start) = (Vec::new(), 0);
    for ((_, one), (at, two)) in text.char_indices().zip(text.char_indices().skip(1)) {
        if class(one) != class(two) {
            runs.extend(text.get(start..at));
            start = at;
        }
    }
    runs.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    runs
}

impl Renaming {
    fn apply(&self, value: &mut Value) {
        match value {
            Value::Int(number) if self.concerns(&number.to_string()) => {
                let by = i128::from(self.numbers);
                *number = number.saturating_add(if *number < 0 { -by } else { by });
            }
            Value::Float(number) if self.concerns(&number.to_string()) => {
                *number += f64::from(self.numbers) * if *number < 0.0 { -1.0 } else { 1.0 };
            }
            Value::Text(text) | Value::Bytes(text) => *text = self.text(text),
            Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
                items.iter_mut().for_each(|item| self.apply(item));
            }
            Value::Map(pairs) => pairs.iter_mut().for_each(|(key, value)| {
                if !self.keys_stay {
                    self.apply(key);
                }
                self.apply(value);
            }),
            Value::Int(_) | Value::Float(_) | Value::Null | Value::Undefined | Value::Bool(_) => {}
        }
    }

    fn concerns(&self, word: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == word)
    }

    fn text(&self, text: &str) -> String {
        runs(text)
            .into_iter()
            .map(|run| if self.concerns(run) { self.run(run) } else { run.to_owned() })
            .collect()
    }

    fn run(&self, run: &str) -> String {
        let moved = |c: char, first: u8, count: u8, by: u8| {
            let place = u8::try_from(c).unwrap_or(first).saturating_sub(first);
            char::from(first + (place + by) % count)
        };
        let letter = |c: char| match c {
            'a'..='z' => moved(c, b'a', 26, self.letters),
            'A'..='Z' => moved(c, b'A', 26, self.letters),
            '1'..='9' => moved(c, b'1', 9, self.digits),
            other => other,
        };
        let (first, last) = self.stay;
        let free = if run.len() > first + last { first..run.len() - last } else { 0..run.len() };
        run.char_indices().map(|(at, c)| if free.contains(&at) { letter(c) } else { c }).collect()
    }
}

/// Returns calls with arguments made up from their types: empty, repeated, at a boundary.
pub(super) fn generated(call: &Call, most: usize) -> Vec<Call> {
    let mut original = call.clone();
    let variants: Vec<Vec<Value>> = original.last_mut().values_mut().map(|value| variants(value)).collect();
    let longest = variants.iter().map(Vec::len).max().unwrap_or(0);
    let mut calls = Vec::new();
    // Round by round, so that every argument gets its turn.
    for round in 0..longest {
        for (place, values) in variants.iter().enumerate() {
            let Some(value) = values.get(round) else { continue };
            let mut made = call.clone();
            set(made.last_mut(), place, value);
            if made != *call && !calls.contains(&made) {
                calls.push(made);
            }
        }
    }
    // Then all of them together.
    for round in 1..longest {
        let mut made = call.clone();
        for (place, values) in variants.iter().enumerate().filter(|(_, values)| !values.is_empty()) {
            if let Some(value) = values.get((round * (place + 1)) % values.len()) {
                set(made.last_mut(), place, value);
            }
        }
        if made != *call && !calls.contains(&made) {
            calls.push(made);
        }
    }
    calls.truncate(most);
    calls
}

fn set(args: &mut Args, place: usize, value: &Value) {
    if let Some(slot) = args.values_mut().nth(place) {
        *slot = value.clone();
    }
}

/// Returns other values of the same type, the most telling first.
fn variants(value: &Value) -> Vec<Value> {
    match value {
        Value::Text(text) => texts(text).into_iter().map(Value::Text).collect(),
        Value::Bytes(text) => ["".to_owned(), text.repeat(2)].map(Value::Bytes).to_vec(),
        Value::Int(number) => {
            let near = [number.saturating_sub(1), number.saturating_add(1), 0, 1, -1, 2, 1000];
            near.map(Value::Int).to_vec()
        }
        Value::Float(number) => [0.0, -number, number * 2.0, number + 0.5, 1e9].map(Value::Float).to_vec(),
        Value::List(items) => lists(items).into_iter().map(Value::List).collect(),
        Value::Tuple(items) => lists(items).into_iter().map(Value::Tuple).collect(),
        Value::Set(items) => {
            vec![Value::Set(Vec::new()), Value::Set(items.iter().take(1).cloned().collect())]
        }
        Value::Map(pairs) => vec![
            Value::Map(Vec::new()),
            Value::Map(pairs.iter().take(1).cloned().collect()),
            Value::Map(pairs.iter().rev().cloned().collect()),
        ],
        Value::Bool(yes) => vec![Value::Bool(!yes)],
        Value::Null | Value::Undefined => Vec::new(),
    }
}

fn texts(text: &str) -> Vec<String> {
    let first: String = text.chars().take(1).collect();
    let joined: String = text.split_whitespace().collect();
    vec![
        String::new(),
        joined,
        text.replace(' ', "  "),
        text.replace(' ', "-"),
        format!(" {text} "),
        format!("{text} {text}"),
        text.replace(' ', "\n"),
        format!("{text}\t{text}"),
        text.to_uppercase(),
        format!("{text}\u{e9}"),
        text.chars().rev().collect(),
        first,
        text.repeat(2),
        " ".to_owned(),
    ]
}

fn lists(items: &[Value]) -> Vec<Vec<Value>> {
    let mut lists = vec![
        Vec::new(),
        items.iter().take(1).cloned().collect(),
        items.iter().rev().cloned().collect(),
        [items, items].concat(),
        items.iter().skip(1).cloned().collect(),
    ];
    // One item at a time becomes another of its type.
    for (place, item) in items.iter().enumerate().take(4) {
        for other in variants(item).into_iter().take(4) {
            let mut list = items.to_vec();
            if let Some(slot) = list.get_mut(place) {
                *slot = other;
            }
            lists.push(list);
        }
    }
    lists
}
