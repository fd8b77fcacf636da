//! What a command sees of the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use checkmate_machine::command::CommandLine;

use super::pytest::Plan;

/// Words that make a name secret, wherever they stand in it.
const SECRET_WORDS: [&str; 8] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH"];
/// Parts between underscores that make a name secret.
const SECRET_PARTS: [&str; 7] = ["PASS", "PWD", "CREDS", "COOKIE", "JWT", "DSN", "PAT"];
/// Words that contain a secret word and mean something else.
const HARMLESS_WORDS: [&str; 8] =
    ["KEYBOARD", "KEYMAP", "KEYTIMEOUT", "KEYWORD", "MONKEY", "TOKENIZER", "AUTHOR_", "HOTKEY"];
/// Families of variables of services that hold accounts.
const SECRET_PREFIXES: [&str; 17] = [
    "AWS_",
    "AZURE_",
    "ARM_",
    "GCP_",
    "GCLOUD_",
    "OPENAI_",
    "ANTHROPIC_",
    "CLAUDE_",
    "GEMINI_",
    "MISTRAL_",
    "OPENROUTER_",
    "GITHUB_",
    "GH_",
    "GITLAB_",
    "VAULT_",
    "SLACK_",
    "STRIPE_",
];
/// Ways to an agent or a file that holds secrets.
const SECRET_NAMES: [&str; 6] =
    ["GPG_AGENT_INFO", "SSH_AGENT_PID", "KRB5CCNAME", "DBUS_SESSION_BUS_ADDRESS", "NETRC", "KUBECONFIG"];
/// How values of widely used secrets begin, whatever the variable is called.
const SECRET_VALUES: [&str; 9] =
    ["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "AKIA", "-----BEGIN "];

/// Variables that make a runner behave as a part of the program that started Checkmate, or colour its output.
const FOREIGN: [&str; 11] = [
    // Build folders that several trees share give results of one for another.
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "NODE_TEST_CONTEXT",
    "MAKEFLAGS",
    "MFLAGS",
    "CARGO_MAKEFLAGS",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "PY_COLORS",
    "OLDPWD",
    "PYTEST_CURRENT_TEST",
];

/// Variables that are another in every shell or terminal and change nothing about a test.
pub(super) const CHANGING: [&str; 11] = [
    "_",
    "SHLVL",
    "COLUMNS",
    "LINES",
    "WINDOWID",
    "TERM_SESSION_ID",
    "STY",
    "TMUX",
    "TMUX_PANE",
    "SSH_CLIENT",
    "SSH_CONNECTION",
];

/// Returns the environment of a command: what is inherited without secrets, what Checkmate sets, what the command sets.
pub(super) fn of(
    command: &CommandLine,
    directory: &Path,
    room: &Path,
    temporary: &Path,
    keep: &[String],
    junit_plan: Plan,
) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> =
        std::env::vars_os().filter(|(name, value)| is_inherited(name, value, keep)).collect();
    let own: [(&str, OsString); 7] = [
        ("CI", "true".into()),
        ("NO_COLOR", "1".into()),
        ("TERM", "dumb".into()),
        ("PWD", directory.into()),
        ("PYTHONPYCACHEPREFIX", bytecode(room).into()),
        ("TMPDIR", temporary.into()),
        // Two runs of the same tree say the same, unless something is varied on purpose.
        ("PYTHONHASHSEED", "0".into()),
    ];
    environment.extend(own.map(|(name, value)| (name.into(), value)));
    environment.extend(command.env.iter().map(|(name, value)| (name.into(), value.into())));
    if junit_plan != Plan::Text {
        let file = junit(room);
        let file = shell_words::quote(&file.to_string_lossy()).into_owned();
        let options = environment.entry("PYTEST_ADDOPTS".into()).or_default();
        options.push(format!(" --junitxml={file} -o junit_family=xunit2"));
    }
    environment
}

/// Gives tools that cannot work without a cache one of the run's own, where the user's may not be written.
pub(super) fn keep_caches(
    environment: &mut BTreeMap<OsString, OsString>,
    scratch: &Path,
) -> std::io::Result<()> {
    let go = scratch.join("cache/go-build");
    std::fs::create_dir_all(&go)?;
    environment.insert("GOCACHE".into(), go.into());
    Ok(())
}

/// Returns where Python keeps its compiled files; one place for several trees would serve stale ones.
pub(super) fn bytecode(room: &Path) -> PathBuf {
    room.join("pycache")
}

/// Returns where pytest writes its report.
pub(super) fn junit(room: &Path) -> PathBuf {
    room.join("junit.xml")
}

fn is_inherited(name: &OsString, value: &OsString, keep: &[String]) -> bool {
    let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
    if name.starts_with("GIT_") || name.starts_with("CHECKMATE_") || FOREIGN.contains(&&*name) {
        return false;
    }
    keep.iter().any(|kept| *kept == name) || !(is_secret_name(&name) || is_secret_value(&value))
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_uppercase();
    if matches!(name.as_str(), "PWD" | "OLDPWD") {
        return false;
    }
    let listed = SECRET_NAMES.contains(&name.as_str())
        || SECRET_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let rest = HARMLESS_WORDS.iter().fold(name.clone(), |rest, word| rest.replace(word, ""));
    listed
        || SECRET_WORDS.iter().any(|word| rest.contains(word))
        || rest.split('_').any(|part| SECRET_PARTS.contains(&part))
        || rest.ends_with("SSHPASS")
}

/// Returns the values that must not be written down anywhere: those of secret names, and secrets by their form.
///
/// Paths are left out, because a name like `SSH_AUTH_SOCK` or `SSL_KEY_FILE` says only where a secret is.
pub(super) fn secret_values() -> Vec<String> {
    let by_name = |name: &str| {
        let name = name.to_uppercase();
        let rest = HARMLESS_WORDS.iter().fold(name, |rest, word| rest.replace(word, ""));
        SECRET_WORDS.iter().any(|word| rest.contains(word))
            || rest.split('_').any(|part| SECRET_PARTS.contains(&part) && rest.contains('_'))
    };
    std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .filter(|(name, value)| {
            is_secret_value(value)
                || (by_name(name) && value.len() >= 8 && !value.starts_with(['/', '~', '.']))
        })
        .map(|(_, value)| value)
        .collect()
}

/// Returns whether a value is a well-known kind of secret, or an address with a password in it.
fn is_secret_value(value: &str) -> bool {
    let password = value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    });
    password || SECRET_VALUES.iter().any(|start| value.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_the_rest_by_name() {
        let secret = [
            "OPENAI_API_KEY",
            "ANTHROPIC_BASE_URL",
            "AWS_PROFILE",
            "GITHUB_TOKEN",
            "GH_HOST",
            "HF_TOKEN",
            "npm_config__authToken",
            "SSH_AUTH_SOCK",
            "DB_PASSWORD",
            "MYSQL_PWD",
            "PGPASSWORD",
            "SMTP_PASS",
            "SSHPASS",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SENTRY_DSN",
            "KEY",
            "apikey",
            "KUBECONFIG",
            "DOCKER_AUTH_CONFIG",
            "XAUTHORITY",
            "GPG_PASSPHRASE",
            "KEYBOARD_SECRET",
            "AZURE_DEVOPS_EXT_PAT",
        ];
        let harmless = [
            "PATH",
            "HOME",
            "SSH_TTY",
            "SSH_CONNECTION",
            "KEYBOARD",
            "KEYBOARD_LAYOUT",
            "KEYTIMEOUT",
            "TOKENIZERS_PARALLELISM",
            "PWD",
            "OLDPWD",
            "LANG",
            "CARGO_TARGET_DIR",
            "COMPASS",
            "PATHEXT",
            "HF_HOME",
            "AUTHOR_NAME",
            "PYTHONPATH",
            "MONKEYPATCH",
            "EDITOR",
            "PASSENGER_COUNT",
        ];
        for name in secret {
            assert!(is_secret_name(name), "{name} is secret");
        }
        for name in harmless {
            assert!(!is_secret_name(name), "{name} is harmless");
        }
    }

    #[test]
    fn secrets_are_told_from_the_rest_by_value() {
        for value in ["postgres://me:pw@db/x", "sk-abc", "ghp_abc", "-----BEGIN PRIVATE KEY-----"] {
            assert!(is_secret_value(value), "{value} is secret");
        }
        for value in
            ["http://proxy:3128", "http://me@proxy:3128/a:b", "a:b@c", "skill", "https://x.y/?a=b:c@d"]
        {
            assert!(!is_secret_value(value), "{value} is harmless");
        }
    }

    #[test]
    fn what_the_user_allows_is_inherited_but_never_what_steers_git_or_checkmate() {
        let inherited =
            |name: &str| is_inherited(&name.into(), &"x".into(), &["API_KEY".into(), "GIT_DIR".into()]);
        assert!(inherited("API_KEY"));
        assert!(!inherited("OTHER_API_KEY"));
        assert!(!inherited("GIT_DIR"));
        assert!(!inherited("CHECKMATE_STATE"));
    }
}
