//! Reads a command line as the simple commands it is made of.

use std::path::Path;

use checkmate_machine::command::CommandLine;

/// Programs that run the program that follows, after options of their own.
const WRAPPERS: [&str; 22] = [
    "env", "timeout", "nice", "nohup", "time", "exec", "command", "xvfb-run", "npx", "bunx", "pnpx", "uv",
    "uvx", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle", "stdbuf", "setsid", "coverage",
];

/// Returns the simple commands of a command: itself, or for `sh -c LINE` those of the line.
///
/// The line is read roughly. Its words are right unless quotes hold operators, which only makes more words.
pub(super) fn simple_commands(command: &CommandLine) -> Vec<Vec<String>> {
    let commands = match shell_line(command) {
        Some(line) => line
            .split(['\n', ';', '&', '|', '(', ')'])
            .map(|part| {
                shell_words::split(part)
                    .unwrap_or_else(|_| part.split_whitespace().map(str::to_owned).collect())
            })
            .collect(),
        None => vec![command.argv.clone()],
    };
    commands.into_iter().map(|words| words.into_iter().skip_while(|word| is_prefix(word)).collect()).collect()
}

/// Returns the line of `sh -c LINE`.
pub(super) fn shell_line(command: &CommandLine) -> Option<&str> {
    match command.argv.as_slice() {
        [shell, option, line, ..] if is_shell(base(shell)) && is_line_option(option) => Some(line),
        _ => None,
    }
}

/// Returns whether a program is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    matches!(program, "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash")
}

/// Returns whether a shell does something itself, or what stands there is no plain name at all.
pub(super) fn is_of_shell(word: &str) -> bool {
    const OWN: [&str; 36] = [
        "!", ".", ":", "[", "[[", "break", "case", "cd", "command", "continue", "do", "done", "echo", "elif",
        "else", "esac", "eval", "exec", "exit", "export", "false", "fi", "for", "if", "printf", "read",
        "return", "set", "shift", "source", "test", "then", "trap", "true", "unset", "while",
    ];
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+/~".contains(c);
    OWN.contains(&word) || !word.chars().all(plain) || word.starts_with('~')
}

/// `-c`, `-ec`, `-lc`
fn is_line_option(option: &str) -> bool {
    option
        .strip_prefix('-')
        .is_some_and(|flags| flags.ends_with('c') && flags.chars().all(|c| c.is_ascii_lowercase()))
}

/// Returns the file name of a program.
pub(super) fn base(program: &str) -> &str {
    Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program)
}

/// Returns the words that may name the program: the first, and behind wrappers all up to the first that is none.
pub(super) fn programs(words: &[String]) -> Vec<(&str, &[String])> {
    let wrapped = words.first().is_some_and(|word| WRAPPERS.contains(&base(word)));
    let candidates = if wrapped { words.len() } else { 1.min(words.len()) };
    (0..candidates).map(|at| (base(&words[at]), &words[at + 1..])).collect()
}

/// Words in front of a command: variables, and what opens a block of the shell.
fn is_prefix(word: &str) -> bool {
    let variable = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    variable || matches!(word, "then" | "do" | "else" | "if" | "while" | "!" | "{")
}
