//! Which commands of agents may run.

use crate::command::{CommandError, CommandLine};
use crate::spec::Policy;

/// The gate's answer about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandVerdict {
    /// It may run.
    Allow(CommandLine),
    /// It is the test command, which runs anyway.
    TestCommand,
    /// A person decides; only where one is there.
    Ask(CommandLine),
    /// It may not run; the sentence goes to the agent.
    Deny(String),
}

/// Variables that make a permitted program run something else, in upper case: npm reads its own in any case.
const DANGEROUS: [&str; 37] = [
    "PATH",
    "SHELL",
    "ENV",
    "BASH*",
    "ZDOTDIR",
    "IFS",
    "HOME",
    "XDG_*",
    "LD_*",
    "DYLD_*",
    "GIT_*",
    "*PAGER",
    "*EDITOR",
    "VISUAL",
    "LESSOPEN",
    "MAKE*",
    "CC",
    "CXX",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NPM_CONFIG_*",
    "YARN_*",
    "PNPM_*",
    "BUN_*",
    "DENO_*",
    "PIP_*",
    "UV_*",
    "PYTHON*",
    "PYTEST_*",
    "PERL5*",
    "RUBY*",
    "RIPGREP_CONFIG_PATH",
    "*JAVA*OPTIONS",
    "*_OPTS",
    "RUST*",
    "CARGO*",
    "GO*",
];

/// Decides about a command that an agent wants to have run.
///
/// The test command always may run. Others need a pattern in `allow_commands`: words as in a command, where `*`
/// inside a word stands for any characters and a last word `*` for any further words. Without a pattern a person is
/// asked where one is there; elsewhere the command is refused.
pub fn judge(line: &str, policy: &Policy) -> CommandVerdict {
    if line.trim() == policy.test_command.text {
        return CommandVerdict::TestCommand;
    }
    let command = match CommandLine::from_agent(line) {
        Ok(command) => command,
        Err(error @ (CommandError::Empty | CommandError::Quote(_) | CommandError::Shell { .. })) => {
            return CommandVerdict::Deny(format!("Refused: {error}."));
        }
    };
    if let Some((name, _)) =
        command.env.iter().find(|(name, _)| DANGEROUS.iter().any(|rule| word(rule, &name.to_uppercase())))
    {
        return CommandVerdict::Deny(format!(
            "Refused: `{line}` sets {name}, which can make another program run. Leave it out."
        ));
    }
    if policy.allow_commands.iter().any(|pattern| matches(pattern, &command.argv)) {
        return CommandVerdict::Allow(command);
    }
    if policy.interactive {
        return CommandVerdict::Ask(command);
    }
    CommandVerdict::Deny(format!(
        "Refused: `{line}` is not permitted. Only the test command `{}` and what `allow_commands` in \
         .dualagent.json lists may run.",
        policy.test_command.text
    ))
}

/// Matches a whole command against a pattern, word by word.
fn matches(pattern: &str, argv: &[String]) -> bool {
    // As in a command of an agent, a leading `time` and assignments are not part of what runs.
    let Ok(CommandLine { argv: words, .. }) = CommandLine::from_pattern(pattern) else { return false };
    match words.split_last() {
        None => false,
        Some((last, first)) if last == "*" => {
            argv.len() >= first.len() && first.iter().zip(argv).all(|(rule, arg)| word(rule, arg))
        }
        Some(_) => words.len() == argv.len() && words.iter().zip(argv).all(|(rule, arg)| word(rule, arg)),
    }
}

/// Matches one word, where `*` stands for any characters.
fn word(rule: &str, text: &str) -> bool {
    let Some((head, rest)) = rule.split_once('*') else { return rule == text };
    let Some(text) = text.strip_prefix(head) else { return false };
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| word(rest, &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_make_another_program_run_are_known_in_any_case() {
        let dangerous = |name: &str| DANGEROUS.iter().any(|rule| word(rule, &name.to_uppercase()));
        for name in [
            "Npm_Config_script_shell",
            "RIPGREP_CONFIG_PATH",
            "MAKEFLAGS",
            "MAVEN_OPTS",
            "JDK_JAVA_OPTIONS",
            "GH_PAGER",
        ] {
            assert!(dangerous(name), "{name}");
        }
        for name in ["CI", "VERBOSE", "NODE_ENV", "SEED", "DEBUG", "HOMEPAGE"] {
            assert!(!dangerous(name), "{name}");
        }
    }

    #[test]
    fn words_and_patterns() {
        let argv = |line: &str| shell_words::split(line).unwrap();
        for (pattern, line, expected) in [
            ("npm run *", "npm run build", true),
            ("npm run *", "npm run build -- --fast", true),
            ("npm run *", "npm install", false),
            ("npm run test:*", "npm run test:verbose", true),
            ("npm run test:*", "npm run test:verbose -- -x", false),
            ("node --trace-warnings index.js", "node --trace-warnings index.js", true),
            ("node --trace-warnings index.js", "node --trace-warnings index.js x", false),
            ("", "ls", false),
            ("*", "ls -l", true),
            ("cargo", "cargo", true),
            ("time npm run build", "npm run build", true),
        ] {
            assert_eq!(matches(pattern, &argv(line)), expected, "{pattern} on {line}");
        }
        assert!(word("a*b*c", "a--b--b-c") && !word("a*b*c", "a--c"));
    }
}
