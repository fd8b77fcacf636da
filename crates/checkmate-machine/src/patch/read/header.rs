//! The lines before and at the start of hunks: which files, which modes, which numbers.

use super::super::Action;
use crate::gate::paths::shown;

/// What the lines before the first hunk of a section say.
pub(super) struct Header {
    pub(super) action: Action,
    pub(super) executable: Option<bool>,
}

/// What a `@@` line says; models leave out parts of it.
#[derive(Default)]
pub(super) struct HunkHeader {
    pub(super) old_start: Option<usize>,
    pub(super) old_count: Option<usize>,
    pub(super) new_start: Option<usize>,
    pub(super) new_count: Option<usize>,
    /// The line above the hunk that says what it is in.
    pub(super) heading: Option<String>,
}

impl HunkHeader {
    /// Reads a line that starts a hunk: `@@ -1,2 +1,3 @@`, or the same without counts or numbers.
    pub(super) fn read(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("@@").filter(|rest| !rest.starts_with('@'))?;
        let mut words = rest.split_whitespace();
        let (old_start, old_count) = words.next().and_then(|word| range(word, '-')).unzip();
        let (new_start, new_count) =
            old_start.and_then(|_| words.next()).and_then(|word| range(word, '+')).unzip();
        let heading = match old_start {
            Some(_) => rest.split_once("@@").map_or("", |(_, heading)| heading),
            None => rest,
        };
        Some(Self {
            old_start,
            old_count: old_count.flatten(),
            new_start,
            new_count: new_count.flatten(),
            heading: bare_heading(heading),
        })
    }
}

/// Takes away what stands around a heading: a second `@@`, or `...` in place of numbers.
fn bare_heading(text: &str) -> Option<String> {
    let mut text = text.trim();
    loop {
        let less = text.trim_matches('@').trim().trim_start_matches("...").trim();
        if less == text {
            return (!text.is_empty()).then(|| text.to_owned());
        }
        text = less;
    }
}

/// Reads `-12,3`; a count that is left out is 1.
fn range(word: &str, sign: char) -> Option<(usize, Option<usize>)> {
    let (start, count) = match word.strip_prefix(sign)?.split_once(',') {
        Some((start, count)) => (start, number(count)),
        None => (word.strip_prefix(sign)?, Some(1)),
    };
    Some((number(start)?, count))
}

/// Reads a line number or a count; no file has more lines than fit into 32 bits.
fn number(word: &str) -> Option<usize> {
    usize::try_from(word.parse::<u32>().ok()?).ok()
}

/// Tells whether a file's section starts here.
pub(super) fn starts_section(lines: &[&str], at: usize) -> bool {
    starts_git_section(lines, at) || is_plain_header(lines, at)
}

/// Tells whether a section of git starts here; models leave out the `diff --git` line, or the two lines after it.
pub(super) fn starts_git_section(lines: &[&str], at: usize) -> bool {
    let starts = |at: usize, prefix: &str| lines.get(at).is_some_and(|line: &&str| line.starts_with(prefix));
    starts(at, "diff --git ")
        || STARRED.iter().any(|(prefix, _)| starts(at, prefix))
        || starts(at, "rename from ") && starts(at + 1, "rename to ")
        || starts(at, "copy from ") && starts(at + 1, "copy to ")
        || starts(at, "Binary files ") && lines[at].trim_end().ends_with(" differ")
        || ["old mode 1", "new mode 1", "new file mode 1", "deleted file mode 1", "GIT binary patch"]
            .iter()
            .any(|prefix| starts(at, prefix))
}

/// The headers and ends of the `*** Begin Patch` format, and whether a file is new or goes.
const STARRED: [(&str, Option<(bool, bool)>); 7] = [
    ("*** Update File: ", Some((false, false))),
    ("*** Add File: ", Some((true, false))),
    ("*** Delete File: ", Some((false, true))),
    ("*** Move to: ", None),
    ("*** Begin Patch", None),
    ("*** End Patch", None),
    ("*** End of File", None),
];

/// Tells whether a section without git's own lines starts here: `---` and `+++`, or one of them and then a hunk.
pub(super) fn is_plain_header(lines: &[&str], at: usize) -> bool {
    let starts = |at: usize, prefix: &str| lines.get(at).is_some_and(|line: &&str| line.starts_with(prefix));
    let hunk = |at: usize| lines.get(at).is_some_and(|line| HunkHeader::read(line).is_some());
    starts(at, "--- ") && (starts(at + 1, "+++ ") && (hunk(at + 2) || !is_prose(lines[at])) || hunk(at + 1))
        || starts(at, "+++ ") && hunk(at + 1)
}

/// `--- ` before several words is hardly a file name.
fn is_prose(line: &str) -> bool {
    line.split('\t').next().unwrap_or_default().split_whitespace().count() > 2
}

/// The header lines of one section as they were found.
#[derive(Default)]
struct Found {
    git: Option<(String, String)>,
    old: Option<String>,
    new: Option<String>,
    rename: (Option<String>, Option<String>),
    created: bool,
    deleted: bool,
    executable: Option<bool>,
}

const NOTHING: &str = "/dev/null";

impl Header {
    /// Reads a section's header and returns it with the number of the line after it; the error is a sentence.
    pub(super) fn read(lines: &[&str], start: usize) -> Result<(Self, usize), String> {
        let mut found = Found::default();
        let mut at = start;
        if let Some((path, (created, deleted))) = starred(lines[at]) {
            at += 1;
            let path = path.to_owned();
            let action =
                match (created, deleted, lines.get(at).and_then(|line| line.strip_prefix("*** Move to: "))) {
                    (true, _, None) => Action::Create { path },
                    (_, true, None) => Action::Delete { path },
                    (false, false, None) => Action::Edit { path },
                    (false, false, Some(to)) => {
                        at += 1;
                        Action::Rename { from: path, to: to.trim_end().to_owned() }
                    }
                    (_, _, Some(_)) => {
                        return Err(
                            "A file that is new or goes away cannot be moved too. Use `*** Update File:`."
                                .to_owned(),
                        );
                    }
                };
            return Ok((Self { action, executable: None }, at));
        }
        if let Some(names) = lines[at].strip_prefix("diff --git ") {
            found.git = git_names(names);
            at += 1;
        }
        while let Some(line) = lines.get(at) {
            // A second rename is another section's.
            let renamed = line.starts_with("rename from ") && found.rename.0.is_some();
            if renamed || !found.extended(line.trim_end())? {
                break;
            }
            at += 1;
        }
        if found.is_of_another(lines, at)? {
            let executable = found.executable;
            return Ok((Self { action: found.action()?, executable }, at));
        }
        for (sign, slot) in [("--- ", &mut found.old), ("+++ ", &mut found.new)] {
            if let Some(rest) = lines.get(at).and_then(|line| line.strip_prefix(sign)) {
                *slot = Some(name(rest)?);
                at += 1;
            }
        }
        if lines
            .get(at)
            .is_some_and(|line| line.starts_with("Binary files ") || line.starts_with("GIT binary patch"))
        {
            return Err(BINARY.to_owned());
        }
        let executable = found.executable;
        Ok((Self { action: found.action()?, executable }, at))
    }

    /// The path that rejections name.
    pub(super) fn name(&self) -> &str {
        self.action.target()
    }
}

/// Reads a header of the `*** Begin Patch` format: the path, and whether the file is new or goes.
fn starred(line: &str) -> Option<(&str, (bool, bool))> {
    STARRED.iter().find_map(|(prefix, what)| Some((line.strip_prefix(prefix)?.trim_end(), (*what)?)))
}

/// Tells whether a line belongs to the `*** Begin Patch` format and says nothing by itself.
pub(super) fn is_frame(line: &str) -> bool {
    STARRED.iter().any(|(prefix, what)| what.is_none() && line.starts_with(prefix))
}

const BINARY: &str = "Binary files cannot be patched. Change text files only.";

impl Found {
    /// Reads one of git's lines between `diff --git` and `---`; false if it is none.
    fn extended(&mut self, line: &str) -> Result<bool, String> {
        if line.starts_with("similarity index ") || line.starts_with("dissimilarity index ") {
            return Ok(true);
        }
        if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
            return Err(BINARY.to_owned());
        }
        if line.starts_with("copy from ") || line.starts_with("copy to ") {
            return Err("Copies cannot be applied. Give the new file with all its lines.".to_owned());
        }
        if let Some(rest) = line.strip_prefix("index ") {
            if let Some((_, mode)) = rest.split_once(' ') {
                mode_is_executable(mode)?;
            }
        } else if let Some(mode) = line.strip_prefix("old mode ") {
            mode_is_executable(mode)?;
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            self.deleted = true;
            mode_is_executable(mode)?;
        } else if let Some(mode) = line.strip_prefix("new file mode ") {
            self.created = true;
            self.executable = Some(mode_is_executable(mode)?);
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            self.executable = Some(mode_is_executable(mode)?);
        } else if let Some(path) = line.strip_prefix("rename from ") {
            self.rename.0 = Some(name(path)?);
        } else if let Some(path) = line.strip_prefix("rename to ") {
            self.rename.1 = Some(name(path)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Tells whether the names after `---` and `+++` belong to a section of their own, because git's lines before them
    /// name other files.
    fn is_of_another(&self, lines: &[&str], at: usize) -> Result<bool, String> {
        let named = |at: usize, sign: &str| {
            lines.get(at).and_then(|line| line.strip_prefix(sign)).map(name).transpose()
        };
        let old = named(at, "--- ")?;
        let new = named(at + usize::from(old.is_some()), "+++ ")?;
        let (old, new) = strip_prefixes(old, new);
        let (git_old, git_new) =
            self.git.clone().map_or((None, None), |(old, new)| strip_prefixes(Some(old), Some(new)));
        let known = [git_old, git_new, self.rename.0.clone(), self.rename.1.clone()];
        let known: Vec<&String> = known.iter().flatten().filter(|name| *name != NOTHING).collect();
        let names: Vec<&String> =
            [&old, &new].into_iter().flatten().filter(|name| *name != NOTHING).collect();
        Ok(!known.is_empty() && !names.is_empty() && !names.iter().any(|name| known.contains(name)))
    }

    fn action(self) -> Result<Action, String> {
        let git = self.git.map(|(old, new)| strip_prefixes(Some(old), Some(new)));
        let named = self.old.is_some() || self.new.is_some();
        let (old, new) = match (strip_prefixes(self.old, self.new), &git) {
            (names, _) if named => names,
            (_, Some(names)) => names.clone(),
            (_, None) if self.rename.0.is_some() => (None, None),
            (_, None) => {
                return Err("It names no file. Put `--- a/PATH` and `+++ b/PATH` after it.".to_owned());
            }
        };
        if self.rename.0.is_some() != self.rename.1.is_some() {
            return Err("It has one of `rename from` and `rename to`. Give both.".to_owned());
        }
        if let (Some(from), Some(to)) = self.rename {
            if let Some(other) = new.filter(|new| named && *new != to) {
                return Err(format!(
                    "It renames to `{}`, but names `{}` after `+++`.",
                    shown(&to),
                    shown(&other)
                ));
            }
            return Ok(if from == to { Action::Edit { path: to } } else { Action::Rename { from, to } });
        }
        // One name alone stands for both.
        let (old, new) = match (old, new) {
            (Some(old), Some(new)) => (old, new),
            (Some(one), None) | (None, Some(one)) => (one.clone(), one),
            (None, None) => return Err("It names no file.".to_owned()),
        };
        match (old == NOTHING, new == NOTHING, old == new) {
            (true, true, _) => Err("It creates and deletes nothing: both names are `/dev/null`.".to_owned()),
            (true, false, _) if self.deleted => Err(CONTRADICTION.to_owned()),
            (false, true, _) if self.created => Err(CONTRADICTION.to_owned()),
            (true, false, _) => Ok(Action::Create { path: new }),
            (false, true, _) => Ok(Action::Delete { path: old }),
            (false, false, true) if self.created && self.deleted => Err(CONTRADICTION.to_owned()),
            (false, false, true) if self.created => Ok(Action::Create { path: new }),
            (false, false, true) if self.deleted => Ok(Action::Delete { path: old }),
            (false, false, true) => Ok(Action::Edit { path: new }),
            // All that `git diff` says twice is believed, though `rename from` is missing.
            (false, false, false) if git == Some((Some(old.clone()), Some(new.clone()))) => {
                Ok(Action::Rename { from: old, to: new })
            }
            (false, false, false) => Err(format!(
                "It names two paths, `{}` and `{}`. Give `rename from` and `rename to`, or the same path twice.",
                shown(&old),
                shown(&new)
            )),
        }
    }
}

const CONTRADICTION: &str = "It says both that the file is new and that it is deleted. Say one of them.";

/// Reads a git mode that a patch may give a file.
fn mode_is_executable(mode: &str) -> Result<bool, String> {
    match mode.trim() {
        "100644" | "100664" => Ok(false),
        "100755" => Ok(true),
        "120000" => {
            Err("Symbolic links (mode 120000) cannot be made or changed. Use a regular file.".to_owned())
        }
        "160000" => {
            Err("Submodules (mode 160000) cannot be added or changed. Leave them as they are.".to_owned())
        }
        other => Err(format!("The mode `{}` is none of 100644 and 100755.", shown(other))),
    }
}

/// Reads the name after `---` or `+++`: quoted by git, or plain up to a tab and its timestamp.
fn name(rest: &str) -> Result<String, String> {
    let rest = rest.trim_end_matches(['\r', '\n']);
    if rest.trim_start().starts_with('"') {
        return match unquote(rest.trim_start()) {
            Some((name, _)) => Ok(name),
            None => Err(format!("The quoted name {} cannot be read.", shown(rest))),
        };
    }
    Ok(rest.split('\t').next().unwrap_or_default().trim_end().to_owned())
}

/// Undoes git's quoting at the start of `text` and returns what stands behind it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let bytes = text.as_bytes();
    let mut name = Vec::new();
    let mut at = 1;
    loop {
        match *bytes.get(at)? {
            b'"' => return Some((String::from_utf8(name).ok()?, text.get(at + 1..)?)),
            b'\\' => {
                at += 1;
                let plain = match *bytes.get(at)? {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    other @ (b'"' | b'\\') => other,
                    b'0'..=b'3' => {
                        let octal = u8::from_str_radix(text.get(at..at + 3)?, 8).ok()?;
                        at += 2;
                        octal
                    }
                    _ => return None,
                };
                name.push(plain);
            }
            other => name.push(other),
        }
        at += 1;
    }
}

/// No system has paths of half this length, and every space in them is tried.
const LONGEST_NAMES: usize = 16 * 1024;

/// Splits the two names of a `diff --git` line, which are not separated clearly when they hold spaces.
fn git_names(rest: &str) -> Option<(String, String)> {
    let rest = rest.trim();
    if rest.len() > LONGEST_NAMES {
        return None;
    }
    if rest.starts_with('"') {
        let (old, rest) = unquote(rest)?;
        return Some((old, name(rest.trim_start()).ok()?));
    }
    if let Some((old, quoted)) = rest.split_once(" \"") {
        return Some((old.to_owned(), unquote(&format!("\"{quoted}"))?.0));
    }
    let splits = || rest.match_indices(' ').map(|(at, _)| (&rest[..at], &rest[at + 1..]));
    let same = |(old, new): &(&str, &str)| {
        let bare = |name: &str, prefix: &str| name.strip_prefix(prefix).map(str::to_owned);
        old == new || bare(old, "a/").is_some_and(|old| bare(new, "b/") == Some(old))
    };
    let (old, new) = splits().find(same).or_else(|| {
        let mut two = splits().filter(|(old, new)| old.starts_with("a/") && new.starts_with("b/"));
        two.next().filter(|_| two.next().is_none())
    })?;
    Some((old.to_owned(), new.to_owned()))
}

/// Takes `a/` and `b/` away where they are prefixes and not directories, and `./` everywhere.
fn strip_prefixes(old: Option<String>, new: Option<String>) -> (Option<String>, Option<String>) {
    let prefixed = |name: &Option<String>, prefix: &str| {
        name.as_ref().is_none_or(|name| name == NOTHING || name.starts_with(prefix))
    };
    // Models leave one of the two prefixes out, and the slash before `dev/null`.
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) if old != new && (old == "dev/null" || old == "a/dev/null") => {
            (Some(NOTHING.to_owned()), Some(new))
        }
        (Some(old), Some(new)) if old != new && (new == "dev/null" || new == "b/dev/null") => {
            (Some(old), Some(NOTHING.to_owned()))
        }
        (Some(old), Some(new)) if old.strip_prefix("a/") == Some(&new) => (Some(new.clone()), Some(new)),
        (Some(old), Some(new)) if new.strip_prefix("b/") == Some(&old) => (Some(old.clone()), Some(old)),
        names => names,
    };
    let both = prefixed(&old, "a/") && prefixed(&new, "b/");
    let strip = |name: Option<String>, prefix: &str| {
        name.map(|name| {
            let bare = if both { name.strip_prefix(prefix).unwrap_or(&name) } else { &name };
            bare.strip_prefix("./").unwrap_or(bare).to_owned()
        })
    };
    (strip(old, "a/"), strip(new, "b/"))
}
