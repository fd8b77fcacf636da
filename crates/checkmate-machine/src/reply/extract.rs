//! Finds the JSON objects in a reply: in fences, in prose, in a JSON string, with the mistakes that models make.
//!
//! The reader forgives comments, trailing commas, line breaks within strings and backslashes that escape nothing.
//! It never closes what is open: a reply that was cut off says so.

use serde_json::{Map, Number, Value};

/// The objects found in a text, in its order.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Objects that no other object holds.
    pub(super) objects: Vec<Map<String, Value>>,
    /// Whether the text ends within an object.
    pub(super) cut_off: bool,
    /// Why what looks most like an object is none: a sentence.
    pub(super) complaint: Option<String>,
}

/// How deep values may lie within each other.
const DEPTH: usize = 64;

/// Finds every object in a text.
pub(super) fn objects(text: &str) -> Found {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.starts_with('"') {
        let mut reader = Reader::new(text, false, text.len());
        if let Ok(inner) = reader.string()
            && text[reader.at..].trim().is_empty()
        {
            return scan(&inner);
        }
    }
    scan(text)
}

fn scan(text: &str) -> Found {
    let mut found = Found::default();
    let mut complained_at = 0;
    // Each attempt may read to the end; hostile texts invite many such attempts.
    let mut budget = text.len().saturating_mul(16).saturating_add(4096);
    let mut at = 0;
    while let Some(open) = text.get(at..).and_then(|rest| rest.find('{')).map(|offset| at + offset) {
        match attempt(&text[open..], &mut budget) {
            Ok((object, length)) => {
                found.objects.push(object);
                at = open + length;
            }
            Err(Broken { kind: Kind::CutOff, .. }) => {
                found.cut_off = true;
                return found;
            }
            Err(Broken { kind: Kind::TooMuch, .. }) => {
                found.complaint =
                    Some("The reply is too tangled to be read. Give one JSON object only.".to_owned());
                return found;
            }
            Err(Broken { at: length, is_object, kind: Kind::Syntax(what) }) => {
                if length > complained_at {
                    complained_at = length;
                    found.complaint = Some(complaint(text, open + length, &what));
                }
                // What lies within a broken object is not a reply of its own.
                at = if is_object { open + braces(&text[open..]) } else { open + 1 };
            }
        }
    }
    found
}

fn complaint(text: &str, at: usize, what: &str) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!(
        "The reply is not valid JSON at line {line}, column {column}: {what}. Give one valid JSON object."
    )
}

/// Reads the object that the text starts with: first as it is, then with typographic quotes as delimiters too.
fn attempt(text: &str, budget: &mut usize) -> Result<(Map<String, Value>, usize), Broken> {
    let mut plain = Reader::new(text, false, *budget);
    let first = plain.object(0);
    *budget = plain.budget;
    let first = match first {
        Ok(object) => return Ok((object, plain.at)),
        Err(kind) => Broken { at: plain.at, is_object: plain.is_object, kind },
    };
    if !matches!(first.kind, Kind::Syntax(_)) {
        return Err(first);
    }
    let mut smart = Reader::new(text, true, *budget);
    let second = smart.object(0);
    *budget = smart.budget;
    match second {
        Ok(object) => Ok((object, smart.at)),
        Err(Kind::CutOff) => Err(Broken { at: smart.at, is_object: true, kind: Kind::CutOff }),
        Err(Kind::TooMuch | Kind::Syntax(_)) => Err(first),
    }
}

/// Returns how far the braces reach that a text starts with, quoted ones aside: to its end if they never close.
fn braces(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

struct Broken {
    at: usize,
    /// Whether it had a key, and so is more than a brace in prose.
    is_object: bool,
    kind: Kind,
}

enum Kind {
    /// The text ends before the value does.
    CutOff,
    /// The work is out of proportion to the text.
    TooMuch,
    /// Not JSON: what was found or missed.
    Syntax(String),
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    smart_quotes: bool,
    /// Whether a key was read: before that, an open brace is prose.
    is_object: bool,
    budget: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, smart_quotes: bool, budget: usize) -> Self {
        Self { text, at: 0, smart_quotes, is_object: false, budget }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Result<char, Kind> {
        let Some(c) = self.peek() else {
            return Err(if self.is_object { Kind::CutOff } else { syntax("the text ends") });
        };
        self.budget = self.budget.checked_sub(1).ok_or(Kind::TooMuch)?;
        self.at += c.len_utf8();
        Ok(c)
    }

    fn eat(&mut self, wanted: char) -> Result<bool, Kind> {
        let there = self.peek() == Some(wanted);
        if there {
            self.next()?;
        }
        Ok(there)
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Result<(), Kind> {
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.next()?;
                }
            } else if rest.starts_with("/*") {
                self.next()?;
                self.next()?;
                while !self.text[self.at..].starts_with("*/") {
                    self.next()?;
                }
                self.next()?;
                self.next()?;
            } else if self.peek().is_some_and(|c| c.is_whitespace() || c == '\u{feff}') {
                self.next()?;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Kind> {
        if depth > DEPTH {
            return Err(syntax("it is nested too deeply"));
        }
        match self.peek() {
            Some('{') => self.object(depth).map(Value::Object),
            Some('[') => self.array(depth).map(Value::Array),
            Some(c) if self.opens_string(c) => self.string().map(Value::String),
            Some(_) => self.word(),
            None => Err(self.next().err().unwrap_or(Kind::CutOff)),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Map<String, Value>, Kind> {
        let mut object = Map::new();
        self.next()?;
        loop {
            self.space()?;
            if self.eat('}')? {
                return Ok(object);
            }
            if !self.peek().is_none_or(|c| self.opens_string(c)) {
                return Err(self.expected("a key in double quotes"));
            }
            let key = self.string()?;
            self.space()?;
            if !self.eat(':')? {
                return Err(self.expected("`:`"));
            }
            self.is_object = true;
            self.space()?;
            let value = self.value(depth + 1)?;
            if object.get(&key).is_some_and(|earlier| *earlier != value) {
                return Err(syntax(&format!(
                    "`{}` is given twice with different values",
                    key.escape_debug()
                )));
            }
            object.insert(key, value);
            self.space()?;
            if !self.eat(',')? && self.peek() != Some('}') {
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Value>, Kind> {
        let mut array = Vec::new();
        self.next()?;
        loop {
            self.space()?;
            if self.eat(']')? {
                return Ok(array);
            }
            array.push(self.value(depth + 1)?);
            self.space()?;
            if !self.eat(',')? && self.peek() != Some(']') {
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn opens_string(&self, c: char) -> bool {
        c == '"' || self.smart_quotes && is_smart_quote(c)
    }

    /// Reads a string; one that a typographic quote opens is closed by one, and vice versa.
    fn string(&mut self) -> Result<String, Kind> {
        let smart = is_smart_quote(self.next()?);
        let mut string = String::new();
        loop {
            match self.next()? {
                '"' if !smart => return Ok(string),
                c if smart && is_smart_quote(c) => return Ok(string),
                '\\' => self.escape(&mut string)?,
                // A line break of the transport stands for the line feed that was meant.
                '\r' if self.peek() == Some('\n') => {}
                c => string.push(c),
            }
        }
    }

    fn escape(&mut self, string: &mut String) -> Result<(), Kind> {
        let c = match self.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            c @ ('"' | '\\' | '/' | '\'') => c,
            'u' => self.unicode()?,
            // It escapes nothing, so it was meant as it stands: `\d` in a regular expression.
            c => {
                string.push('\\');
                c
            }
        };
        string.push(c);
        Ok(())
    }

    /// Reads the digits after `\u`, of both halves where a character has two.
    fn unicode(&mut self) -> Result<char, Kind> {
        let first = self.hex()?;
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            let back = self.at;
            self.next()?;
            self.next()?;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32, Kind> {
        let mut code = 0;
        for _ in 0..4 {
            let digit =
                self.next()?.to_digit(16).ok_or_else(|| syntax("`\\u` needs four hexadecimal digits"))?;
            code = code * 16 + digit;
        }
        Ok(code)
    }

    /// Reads a number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, Kind> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')) {
            self.next()?;
        }
        if self.peek().is_none() {
            return Err(self.next().err().unwrap_or(Kind::CutOff));
        }
        match &self.text[start..self.at] {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" => Ok(Value::Null),
            word => match word.parse::<Number>() {
                Ok(number) => Ok(Value::Number(number)),
                Err(_) => {
                    self.at = start;
                    Err(self.expected("a value"))
                }
            },
        }
    }

    /// Complains about what stands here; the end of the text is no mistake but a cut.
    fn expected(&mut self, what: &str) -> Kind {
        match self.peek() {
            Some(c) if c.is_control() => syntax(&format!("expected {what}, found {}", c.escape_unicode())),
            Some(c) => syntax(&format!("expected {what}, found `{c}`")),
            None => self.next().err().unwrap_or(Kind::CutOff),
        }
    }
}

fn syntax(what: &str) -> Kind {
    Kind::Syntax(what.to_owned())
}

fn is_smart_quote(c: char) -> bool {
    matches!(c, '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}')
}
