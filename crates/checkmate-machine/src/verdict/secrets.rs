//! No secret goes into a repository.

use super::GateName;
use super::evidence::{Evidence, Opinion, added_lines, listed};

/// How well-known secrets begin, and how many characters of their alphabet follow at least.
const BEGINNINGS: [(&str, usize); 22] = [
    ("AKIA", 16),
    ("ASIA", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("ghu_", 30),
    ("github_pat_", 30),
    ("glpat-", 18),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xapp-", 20),
    ("sk-ant-", 20),
    ("sk-proj-", 20),
    ("sk-", 32),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("AIza", 30),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 30),
    ("SG.", 30),
];
/// Names of what is secret; a literal of some length and disorder beside one is taken for one.
const NAMES: [&str; 9] = [
    "password",
    "passwd",
    "secret",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "auth_token",
    "access_token",
];

pub(super) fn opinion(evidence: &Evidence<'_>) -> Opinion {
    let found: Vec<String> = added_lines(&evidence.candidate.diff)
        .into_iter()
        .filter_map(|(path, line, text)| Some(format!("{} in {path}:{line}", secret(text)?)))
        .collect();
    // The shell cuts a very long diff, and says so in its last line.
    let cut =
        evidence.candidate.diff.lines().next_back().is_some_and(|line| line.starts_with("[The diff has "));
    if found.is_empty() && cut {
        let text = "The change is too long to be looked through for secrets. Make it smaller, or say what the rest of it is.";
        return Opinion::Objected(vec![evidence.objection(GateName::Secrets, "cut", text.into())]);
    }
    if found.is_empty() {
        return Opinion::Passed("No secret among the added lines.".into());
    }
    Opinion::Blocked(format!(
        "The change adds what looks like a secret: {}. Read it from the environment instead; in tests, use a value that \
         cannot be mistaken for one.",
        listed(found.iter().map(String::as_str))
    ))
}

/// Names the kind of secret in a line, never the secret itself.
fn secret(line: &str) -> Option<&'static str> {
    if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY") {
        return Some("a private key");
    }
    for (start, least) in BEGINNINGS {
        let known = line.match_indices(start).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let tail: Vec<char> = line[at + start.len()..]
                .chars()
                .take(200)
                .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
                .collect();
            before.is_none_or(|c| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
                && tail.len() >= least
                && is_disordered(&tail)
        });
        if known {
            return Some("a key or token of a known service");
        }
    }
    let lower = line.to_lowercase();
    let named = NAMES.iter().filter_map(|name| lower.find(name).map(|at| at + name.len())).min()?;
    let literal = literal_after(line.get(named..)?)?;
    let chars: Vec<char> = literal.chars().collect();
    let dense = chars.iter().all(|c| c.is_ascii_graphic());
    (chars.len() >= 16 && dense && is_disordered(&chars)).then_some("a literal beside the name of a secret")
}

/// Returns the string that is assigned right behind a name: `= "…"`, `: '…'`.
fn literal_after(rest: &str) -> Option<&str> {
    let rest = rest
        .trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | ']' | ')' | ' '));
    let rest = rest
        .strip_prefix([':', '='])
        .or_else(|| rest.strip_prefix("=>"))?
        .trim_start_matches([' ', '=', '>']);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    rest[1..].split(quote).next()
}

/// Tells whether text mixes digits and letters and repeats itself little, as keys do and words do not.
fn is_disordered(text: &[char]) -> bool {
    let kinds = [
        text.iter().any(char::is_ascii_digit),
        text.iter().any(char::is_ascii_lowercase),
        text.iter().any(char::is_ascii_uppercase),
    ];
    let distinct: std::collections::BTreeSet<&char> = text.iter().collect();
    kinds.iter().filter(|kind| **kind).count() >= 2 && distinct.len() * 3 >= text.len().min(40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_names() {
        // Put together here, so that no scanner takes this file for a leak.
        let key = |start: &str| format!("{start}{}", "9fK2mQ7xT4bV8nZ1cR6wL3pD5sH0jG2y");
        for line in [
            format!("KEY = \"{}\"", key("AKIA")),
            format!("token: {}", key("ghp_")),
            format!("api_key = '{}'", key("")),
            format!("  \"password\": \"{}\",", key("")),
            "-----BEGIN RSA PRIVATE KEY-----".to_owned(),
        ] {
            assert!(secret(&line).is_some(), "{line}");
        }
        for line in [
            "password = os.environ[\"PASSWORD\"]",
            "api_key = \"test\"",
            "def check_password(secret): return secret == \"correct horse battery\"",
            "sk-learn-pipeline = 1",
            "password: \"xxxxxxxxxxxxxxxxxxxxxxxx\"",
            "AKIA",
        ] {
            assert_eq!(secret(line), None, "{line}");
        }
    }
}
