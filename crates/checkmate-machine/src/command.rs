//! Command lines: the user's, which may be shell lines, and the agents', which never are.

use serde::{Deserialize, Serialize};

/// A command that can be started without interpreting text any further.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables set for this command only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Whether `argv` is `sh -c LINE`.
    #[serde(default)]
    pub shell: bool,
    /// The line as it was written.
    pub text: String,
}

/// Why a line is no command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Nothing in it.
    #[error("the command is empty")]
    Empty,
    /// A quote that never closes.
    #[error("the command `{0}` has a quote that is not closed")]
    Quote(String),
    /// An agent used shell syntax.
    #[error(
        "the command `{line}` uses shell syntax (`{syntax}`), and no command of an agent runs through a shell; \
         give one program with its arguments"
    )]
    Shell {
        /// The line.
        line: String,
        /// The first piece of it that only a shell understands.
        syntax: String,
    },
}

/// What only a shell understands, longest first, outside of quotes.
const OPERATORS: [&str; 14] = ["&&", "||", ">>", "<<", "$(", "|", "&", ";", ">", "<", "`", "\n", "$", "#"];

impl CommandLine {
    /// Reads a line that the user wrote in the configuration.
    ///
    /// It is split by the word rules of a shell and started directly; only a line with shell operators or globs
    /// is given to `sh -c`, because the user wrote it.
    pub fn from_user(line: &str) -> Result<Self, CommandError> {
        let line = line.trim();
        if line.is_empty() {
            return Err(CommandError::Empty);
        }
        let glob = unquoted(line).any(|(_, c)| matches!(c, '*' | '?' | '[' | '~'));
        if glob || shell_syntax(line).is_some() {
            return Ok(Self {
                argv: vec!["sh".into(), "-c".into(), line.into()],
                env: Vec::new(),
                shell: true,
                text: line.into(),
            });
        }
        Self::plain(line)
    }

    /// Reads a line that an agent wrote: one program with its arguments.
    ///
    /// A leading `time` is dropped, because every receipt has the duration; leading `NAME=value` words become the
    /// command's environment; any other shell syntax is refused.
    pub fn from_agent(line: &str) -> Result<Self, CommandError> {
        let line = line.trim();
        if let Some(syntax) = shell_syntax(line) {
            return Err(CommandError::Shell {
                line: line.into(),
                syntax: syntax.escape_default().to_string(),
            });
        }
        Self::plain(line)
    }

    /// Reads a pattern of `allow_commands`: words as in a command, where `*` is left as it is.
    pub(crate) fn from_pattern(pattern: &str) -> Result<Self, CommandError> {
        Self::plain(pattern.trim())
    }

    fn plain(line: &str) -> Result<Self, CommandError> {
        let mut words =
            shell_words::split(line).map_err(|_| CommandError::Quote(line.into()))?.into_iter().peekable();
        let mut env = Vec::new();
        while let Some(word) = words.peek() {
            if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_variable_name(name)) {
                env.push((name.to_owned(), value.to_owned()));
            } else if word != "time" || env_only(&env) {
                break;
            }
            words.next();
        }
        let argv: Vec<String> = words.collect();
        if argv.first().is_none_or(String::is_empty) {
            return Err(CommandError::Empty);
        }
        Ok(Self { argv, env, shell: false, text: line.into() })
    }
}

/// `time` is a word of the shell only in front of everything else.
fn env_only(env: &[(String, String)]) -> bool {
    !env.is_empty()
}

fn is_variable_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns the first piece of `line` that only a shell understands.
fn shell_syntax(line: &str) -> Option<&'static str> {
    let in_double_quotes = expanding(line);
    unquoted(line)
        .find_map(|(at, c)| {
            let operator = OPERATORS.into_iter().find(|operator| line[at..].starts_with(operator))?;
            // A `#` starts a comment only at the start of a word.
            let inside_word = c == '#' && at > 0 && !line[..at].ends_with(char::is_whitespace);
            (!inside_word).then_some(operator)
        })
        .or(in_double_quotes)
}

/// Returns the characters outside of quotes with their positions.
fn unquoted(line: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    scan(line).filter(|(_, _, quote)| quote.is_none()).map(|(at, c, _)| (at, c))
}

/// Finds what a shell would expand even within double quotes.
fn expanding(line: &str) -> Option<&'static str> {
    scan(line).filter(|(_, _, quote)| *quote == Some('"')).find_map(|(_, c, _)| match c {
        '$' => Some("$"),
        '`' => Some("`"),
        _ => None,
    })
}

/// Walks over a line; each character comes with the quote it stands in. Escaped characters are left out.
fn scan(line: &str) -> impl Iterator<Item = (usize, char, Option<char>)> + '_ {
    let mut quote: Option<char> = None;
    let mut escaped = false;
    line.char_indices().filter_map(move |(at, c)| {
        if std::mem::take(&mut escaped) {
            return None;
        }
        match (quote, c) {
            (None | Some('"'), '\\') => {
                escaped = true;
                None
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                None
            }
            (Some(open), close) if open == close => {
                quote = None;
                None
            }
            (inside, other) => Some((at, other, inside)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(line: &str) -> String {
        match CommandLine::from_agent(line) {
            Ok(command) => format!("{:?} {:?}", command.env, command.argv),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn agents_get_one_program_with_its_arguments() {
        assert_eq!(agent("node --trace-warnings index.js"), r#"[] ["node", "--trace-warnings", "index.js"]"#);
        assert_eq!(agent("time npm run build"), r#"[] ["npm", "run", "build"]"#);
        assert_eq!(agent("CI=1 npm run test:verbose"), r#"[("CI", "1")] ["npm", "run", "test:verbose"]"#);
        assert_eq!(agent("grep 'a;b|c' x"), r#"[] ["grep", "a;b|c", "x"]"#);
        assert_eq!(agent(r#"echo "a && b""#), r#"[] ["echo", "a && b"]"#);
        assert_eq!(agent("npm run a#b"), r#"[] ["npm", "run", "a#b"]"#);
    }

    #[test]
    fn agents_get_no_shell() {
        for line in [
            "rm -rf x; echo hi",
            "a && b",
            "a | b",
            "a > b",
            "echo $(id)",
            "echo `id`",
            "echo $HOME",
            r#"echo "$(id)""#,
            "a\nb",
            "a & b",
        ] {
            assert!(agent(line).contains("uses shell syntax"), "{line}: {}", agent(line));
        }
        assert_eq!(agent("echo 'a"), "the command `echo 'a` has a quote that is not closed");
        assert_eq!(agent("  "), "the command is empty");
        assert_eq!(agent("CI=1"), "the command is empty");
        assert_eq!(agent("''"), "the command is empty");
    }

    #[test]
    fn users_get_a_shell_only_where_they_wrote_one() {
        let user = |line: &str| CommandLine::from_user(line).map(|c| (c.shell, c.argv));
        assert_eq!(user("npm test"), Ok((false, vec!["npm".into(), "test".into()])));
        assert_eq!(
            user("npm test && npm run lint"),
            Ok((true, vec!["sh".into(), "-c".into(), "npm test && npm run lint".into()]))
        );
        assert_eq!(user("node --test test/*.mjs").map(|(shell, _)| shell), Ok(true));
        assert_eq!(user("pytest -k 'a and b*'").map(|(shell, _)| shell), Ok(false));
    }
}
