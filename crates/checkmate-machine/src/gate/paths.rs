//! Which paths a change may touch and an agent may read.
//!
//! These rules see names only. Whether a name leads through a symbolic link is found out where files are opened.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::event::Change;

/// Names that no allowlist opens, at any depth: they decide what Checkmate itself does.
const PROTECTED: [&str; 5] =
    [".dualagent.json", ".orchestration", ".checkmate", ".checkmate-apply", ".intentignore"];

/// Files whose whole name says that they hold a secret.
const SECRET_NAMES: [&str; 22] = [
    ".env",
    ".envrc",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    ".pgpass",
    "kubeconfig",
    "terraform.tfvars",
    ".my.cnf",
    "credentials",
    "credentials.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "secrets.json",
];

/// Endings of files that hold keys.
const SECRET_ENDINGS: [&str; 10] =
    [".tfstate", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".mobileprovision"];

/// Endings of files that show the form of a secret file without its secrets.
const SAMPLE_ENDINGS: [&str; 3] = [".example", ".sample", ".template"];

/// The longest path from the repository's root, in bytes: whole paths of 4096 have to hold where the repository lies as
/// well.
const LONGEST_PATH: usize = 2048;

/// The longest name of a file or folder that usual file systems take, in bytes.
const LONGEST_PART: usize = 255;

/// Why a path is refused whatever the configuration says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing in it.
    #[error("A path is empty. Name a file from the repository's root.")]
    Empty,
    /// It starts at the file system's root or at a drive.
    #[error("The path `{0}` is absolute. Paths start at the repository's root.")]
    Absolute(String),
    /// `.` or `..` in it.
    #[error(
        "The path `{0}` has a `.` or `..` in it. Write the path from the repository's root without them."
    )]
    Dots(String),
    /// `//` in it or `/` at its end.
    #[error("The path `{0}` has an empty part. Write it with single slashes and without one at the end.")]
    EmptyPart(String),
    /// It leads into git's own files, perhaps by a name that only some file systems take for `.git`.
    #[error("The path `{0}` leads into git's own files, which no agent may touch or read.")]
    Git(String),
    /// A backslash in it.
    #[error("The path `{0}` has a backslash in it. Write it with `/`.")]
    Backslash(String),
    /// Longer than file systems take.
    #[error("The path `{0}` is too long for a file system. Use shorter names.")]
    Long(String),
    /// A control character in it.
    #[error("The path `{0}` has a control character in it. Use another name.")]
    Control(String),
}

/// Checks the rules that hold for every path, from the repository's root and with `/`.
pub fn check_path(path: &str) -> Result<(), PathError> {
    let shown = || shown(path);
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.len() > LONGEST_PATH || path.split('/').any(|part| part.len() > LONGEST_PART) {
        return Err(PathError::Long(crate::excerpt::line(&shown(), 100)));
    }
    if path.chars().any(char::is_control) {
        return Err(PathError::Control(shown()));
    }
    if path.contains('\\') {
        return Err(PathError::Backslash(shown()));
    }
    let drive = path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && path[1..].starts_with(':');
    if path.starts_with('/') || drive {
        return Err(PathError::Absolute(shown()));
    }
    for part in path.split('/') {
        let folded = folded(part);
        if part.is_empty() {
            return Err(PathError::EmptyPart(shown()));
        }
        // A part of dots and spaces only is `.` or `..` to some file systems.
        if part == "." || part == ".." || folded.is_empty() {
            return Err(PathError::Dots(shown()));
        }
        if folded == ".git" || folded == "git~1" {
            return Err(PathError::Git(shown()));
        }
    }
    Ok(())
}

/// Returns a path for people to read: what would not show, or would act on a terminal, is escaped.
pub(crate) fn shown(path: &str) -> String {
    let mut shown = String::new();
    for c in path.chars() {
        if c.is_control() || is_ignorable(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// Returns the name that the most forgiving file systems take a part of a path for.
///
/// HFS+ ignores some code points, NTFS ignores dots and spaces at the end and what follows a colon; both ignore case.
fn folded(part: &str) -> String {
    let stream = part.split(':').next().unwrap_or_default();
    let seen: String = stream.chars().filter(|c| !is_ignorable(*c)).flat_map(char::to_lowercase).collect();
    seen.trim_end_matches(['.', ' ']).to_owned()
}

/// Tells whether a code point shows nothing; those that HFS+ ignores are among them.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Checks whether an agent may read a file; the error is a sentence for the agent.
pub fn check_read(path: &str) -> Result<(), String> {
    check_path(path).map_err(|error| error.to_string())?;
    let name = folded(path.rsplit('/').next().unwrap_or(path));
    let sample = SAMPLE_ENDINGS.iter().any(|ending| name.ends_with(ending));
    let secret = SECRET_NAMES.contains(&name.as_str())
        || name.starts_with(".env.") && !sample
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending));
    if secret {
        return Err(format!(
            "`{}` is a file that holds secrets, and agents are not shown it. Work from an example of it, or from the \
             code that reads it.",
            shown(path)
        ));
    }
    Ok(())
}

/// Why a pattern of `allow_paths` is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Nothing in it.
    #[error("An entry of `allow_paths` is empty. Remove it, or write `**` to allow every path.")]
    Empty,
    /// It names something outside the repository.
    #[error(
        "The entry `{0}` of `allow_paths` leads out of the repository. Patterns start at the repository's root."
    )]
    Outside(String),
    /// A leading `!`.
    #[error(
        "The entry `{0}` of `allow_paths` starts with `!`, but entries only allow. List what may be changed."
    )]
    Negated(String),
    /// Not a glob.
    #[error("The entry `{pattern}` of `allow_paths` is not a valid glob: {reason}.")]
    Glob {
        /// The entry.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The paths that the user lets agents change.
#[derive(Debug, Clone)]
pub struct Allowlist {
    /// `None` allows everything that is not protected.
    globs: Option<GlobSet>,
    patterns: Vec<String>,
}

impl Allowlist {
    /// Reads the entries of `allow_paths`; no entries allow everything that is not protected.
    ///
    /// `*` stays within one directory, `**` does not, and an entry that names a directory allows all below it.
    pub fn new(patterns: &[String]) -> Result<Self, PatternError> {
        if patterns.is_empty() {
            return Ok(Self { globs: None, patterns: Vec::new() });
        }
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            for glob in expand(pattern)? {
                set.add(glob);
            }
        }
        let globs = set.build().map_err(|error| PatternError::Glob {
            pattern: patterns.join("`, `"),
            reason: error.kind().to_string(),
        })?;
        Ok(Self { globs: Some(globs), patterns: patterns.to_vec() })
    }

    /// Decides about one changed path; the error is made for an agent and for a person.
    pub fn verdict(&self, change: &Change) -> Result<(), String> {
        check_path(&change.path).map_err(|error| error.to_string())?;
        let path = shown(&change.path);
        for mode in [&change.old_mode, &change.new_mode] {
            match mode.as_str() {
                "000000" | "100644" | "100664" | "100755" => {}
                "120000" => {
                    return Err(format!(
                        "`{path}` is a symbolic link, and agents may not make, change or remove one. Use a regular file."
                    ));
                }
                "160000" => {
                    return Err(format!(
                        "`{path}` is a submodule, and agents may not add, move or remove one. Leave it as it is."
                    ));
                }
                other => {
                    return Err(format!(
                        "`{path}` has the mode {}, but only regular files may be changed.",
                        other.escape_debug()
                    ));
                }
            }
        }
        if is_protected(&change.path) {
            return Err(format!(
                "Path is not in allowlist: `{path}`. It decides what Checkmate does, so no entry of `allow_paths` opens \
                 it; a person has to change it by hand."
            ));
        }
        match &self.globs {
            Some(globs) if !globs.is_match(&change.path) => Err(format!(
                "Path is not in allowlist: `{path}`. Allowed: `{}`. To allow it, the user has to add a glob for it to \
                 `allow_paths`.",
                self.patterns.join("`, `")
            )),
            Some(_) | None => Ok(()),
        }
    }
}

fn is_protected(path: &str) -> bool {
    path.split('/').any(|part| PROTECTED.contains(&folded(part).as_str()))
}

/// Turns an entry into globs: itself, and everything below it in case it names a directory.
fn expand(entry: &str) -> Result<Vec<Glob>, PatternError> {
    let pattern = entry.trim();
    if pattern.is_empty() {
        return Err(PatternError::Empty);
    }
    if pattern.starts_with('!') {
        return Err(PatternError::Negated(entry.to_owned()));
    }
    if pattern.starts_with('/') {
        return Err(PatternError::Outside(entry.to_owned()));
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            // What `**` stands for has no fixed parent.
            ".." => match parts.pop() {
                Some(parent) if parent != "**" => {}
                Some(_) | None => return Err(PatternError::Outside(entry.to_owned())),
            },
            named => parts.push(named),
        }
    }
    let normal = parts.join("/");
    if normal.is_empty() {
        return Ok(vec![glob(entry, "**")?]);
    }
    let below = glob(entry, &format!("{normal}/**"))?;
    if pattern.ends_with('/') {
        return Ok(vec![below]);
    }
    let itself = glob(entry, &normal)?;
    let literal = !normal.contains(['*', '?', '[', '{']);
    Ok(if literal { vec![itself, below] } else { vec![itself] })
}

fn glob(entry: &str, pattern: &str) -> Result<Glob, PatternError> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|error| PatternError::Glob { pattern: entry.to_owned(), reason: error.kind().to_string() })
}

#[cfg(test)]
mod tests;
