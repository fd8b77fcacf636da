//! The only place that starts `git`, and the rules under which it runs.
//!
//! An agent may have written the repository's `.git/config`, so nothing in it may get code run by our own calls: hooks,
//! file-system monitors, filters, merge drivers, external diffs and transports are off. What the user configured for
//! all repositories (`git-lfs`, for instance) stays.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::WorkspaceError;

/// The oldest git that has `merge-tree --write-tree`.
pub(crate) const OLDEST: (u32, u32) = (2, 38);

/// Configuration that every call overrides, whatever a configuration file says.
const CONFIG: &[(&str, &str)] = &[
    // Nothing runs a program that the repository names.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.alternateRefsCommand", "false"),
    ("credential.helper", ""),
    ("interactive.diffFilter", ""),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "all"),
    // Trees are taken and made whole, and what a file's metadata says is not taken on trust.
    ("core.sparseCheckout", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.safecrlf", "false"),
    // What is pinned is on disk before a journal names it.
    ("core.fsync", "committed,reference"),
    ("core.fsyncMethod", "batch"),
    // Output is the same for everybody.
    ("core.quotePath", "false"),
    ("color.ui", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("advice.addEmbeddedRepo", "false"),
];

/// Variables that choose the user's own configuration rather than a repository; they survive the clearing.
const KEPT: &[&str] = &["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// The environment that git runs in.
#[derive(Debug, Clone)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// Takes this process's environment without what would redirect git: every `GIT_*` variable but those that choose
    /// the user's own configuration.
    pub fn inherited() -> Self {
        Self::of(std::env::vars_os())
    }

    /// Takes the given variables, under the same rule.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let keep = |name: &OsStr| {
            let name = name.to_string_lossy();
            !name.starts_with("GIT_") || KEPT.contains(&name.as_ref())
        };
        Self(variables.into_iter().filter(|(name, _)| keep(name)).collect())
    }

    /// Finds git on the PATH; parts of it that depend on the current folder are passed over.
    fn program(&self) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.0.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let programs = path.iter().flat_map(std::env::split_paths).map(|folder| folder.join("git"));
        let runs = |file: &PathBuf| {
            file.is_absolute()
                && file
                    .metadata()
                    .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        programs.into_iter().find(runs).unwrap_or_else(|| "/no/git/on/PATH".into())
    }
}

/// A git process that answers one question after the other; it ends with this.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// Where it reads from.
    pub(crate) input: ChildStdin,
    /// What it writes.
    pub(crate) output: BufReader<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What a git process answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Everything it wrote to its standard output.
    pub(crate) stdout: Vec<u8>,
    /// What it complained about.
    pub(crate) stderr: String,
}

/// A way of calling git: where, and on which repository, work tree and index.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    /// Where the program is; looked up once, because every call would search the whole PATH.
    program: PathBuf,
    environment: Environment,
    directory: PathBuf,
    places: BTreeMap<&'static str, OsString>,
    drivers: Vec<(String, String)>,
    /// What the configuration says of `core`, as it was found.
    core: BTreeMap<String, String>,
}

impl Git {
    /// Calls git in `directory` and lets it find the repository.
    pub(crate) fn at(directory: &Path, environment: &Environment) -> Self {
        Self {
            program: environment.program(),
            environment: environment.clone(),
            directory: directory.to_owned(),
            places: BTreeMap::new(),
            drivers: Vec::new(),
            core: BTreeMap::new(),
        }
    }

    /// Calls git in another directory, in the same environment, and lets it find the repository.
    pub(crate) fn elsewhere(&self, directory: &Path) -> Self {
        Self::at(directory, &self.environment)
    }

    /// Calls git on exactly this repository and work tree, with the drivers of its own configuration off.
    pub(crate) fn on(&self, git_dir: &Path, work_tree: &Path) -> Result<Self, WorkspaceError> {
        let mut git = self.clone().with_git_dir(git_dir).with_work_tree(work_tree);
        let listing = git.read(&["config", "-z", "--show-scope", "--list"])?;
        git.drivers = disabled_drivers(&listing);
        git.core = core_settings(&listing);
        Ok(git)
    }

    /// Calls git on this repository; drivers stay as they were found.
    pub(crate) fn with_git_dir(mut self, git_dir: &Path) -> Self {
        self.places.insert("GIT_DIR", git_dir.into());
        self
    }

    /// Calls git with this work tree, from its root: attributes are read from there.
    pub(crate) fn with_work_tree(mut self, work_tree: &Path) -> Self {
        self.directory = work_tree.to_owned();
        self.places.insert("GIT_WORK_TREE", work_tree.into());
        self
    }

    /// Calls git with this index.
    pub(crate) fn with_index(mut self, index: &Path) -> Self {
        self.places.insert("GIT_INDEX_FILE", index.into());
        self
    }

    /// Calls git with pathspecs taken literally.
    pub(crate) fn literally(mut self) -> Self {
        self.places.insert("GIT_LITERAL_PATHSPECS", "1".into());
        self
    }

    /// Calls git for writing the user's own index: what git keeps in it beside the entries stays.
    pub(crate) fn on_users_index(mut self) -> Self {
        self.drivers.push(("core.untrackedCache".to_owned(), "keep".to_owned()));
        self
    }

    /// Calls git with Checkmate's own identity.
    pub(crate) fn with_own_identity(mut self) -> Self {
        for (name, value) in [
            ("GIT_AUTHOR_NAME", "Checkmate"),
            ("GIT_AUTHOR_EMAIL", "checkmate@localhost"),
            ("GIT_COMMITTER_NAME", "Checkmate"),
            ("GIT_COMMITTER_EMAIL", "checkmate@localhost"),
        ] {
            self.places.insert(name, value.into());
        }
        self
    }

    /// Returns a setting of the section `core` as it was when the repository was found, such as `autocrlf`.
    pub(crate) fn core_setting(&self, name: &str) -> Option<&str> {
        self.core.get(name).map(String::as_str)
    }

    /// Returns the names of the drivers of the repository's own configuration that are not run.
    pub(crate) fn disabled(&self) -> impl Iterator<Item = &str> {
        self.drivers.iter().filter(|(_, value)| value.is_empty()).filter_map(|(key, _)| {
            let key = key.strip_prefix("filter.")?;
            key.strip_suffix(".clean").or_else(|| key.strip_suffix(".process"))
        })
    }

    /// Runs git and returns its output; any exit code but 0 is an error.
    pub(crate) fn read(&self, arguments: &[&str]) -> Result<Vec<u8>, WorkspaceError> {
        self.feed(arguments, b"")
    }

    /// Runs git on an input and returns its output; any exit code but 0 is an error.
    pub(crate) fn feed(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, WorkspaceError> {
        let answer = self.ask(arguments, input)?;
        match answer.code {
            Some(0) => Ok(answer.stdout),
            Some(_) | None => Err(failed(arguments, &answer)),
        }
    }

    /// Runs git and returns its output as one line without the line end.
    pub(crate) fn line(&self, arguments: &[&str]) -> Result<String, WorkspaceError> {
        self.feed_line(arguments, b"")
    }

    /// Runs git on an input and returns its output as one line without the line end.
    pub(crate) fn feed_line(&self, arguments: &[&str], input: &[u8]) -> Result<String, WorkspaceError> {
        let mut text = String::from_utf8_lossy(&self.feed(arguments, input)?).into_owned();
        if text.ends_with('\n') {
            text.pop();
        }
        Ok(text)
    }

    /// Runs git and returns its output as a path.
    pub(crate) fn path(&self, arguments: &[&str]) -> Result<PathBuf, WorkspaceError> {
        use std::os::unix::ffi::OsStringExt as _;
        let mut bytes = self.read(arguments)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(PathBuf::from(OsString::from_vec(bytes)))
    }

    /// Runs git on an input and returns whatever came of it.
    pub(crate) fn ask(&self, arguments: &[&str], input: &[u8]) -> Result<Answer, WorkspaceError> {
        let mut command = self.command(arguments);
        if input.is_empty() {
            command.stdin(Stdio::null());
        }
        let mut child = self.spawn(command)?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            let Some(mut pipe) = stdin else { return child.wait_with_output() };
            // A thread feeds it, because git may answer before it has read everything.
            scope.spawn(move || {
                // A git that ends early closes the pipe; its exit code says why.
                pipe.write_all(input)
            });
            child.wait_with_output()
        });
        let output = output.map_err(|source| WorkspaceError::io("run git in", &self.directory, source))?;
        Ok(Answer {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// Starts git and leaves it running; what it complains about is lost.
    pub(crate) fn start(&self, arguments: &[&str]) -> Result<Running, WorkspaceError> {
        let mut command = self.command(arguments);
        command.stderr(Stdio::null());
        let mut child = self.spawn(command)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| WorkspaceError::Git {
            command: arguments.first().copied().unwrap_or_default().to_owned(),
            said: "it has no pipes.".to_owned(),
        })?;
        Ok(Running { child, input, output: BufReader::new(output) })
    }

    fn spawn(&self, mut command: Command) -> Result<Child, WorkspaceError> {
        command.spawn().map_err(|source| {
            // A folder that does not exist gives the same error as a program that does not.
            if source.kind() == std::io::ErrorKind::NotFound && self.directory.is_dir() {
                return WorkspaceError::GitMissing;
            }
            WorkspaceError::io("start git in", &self.directory, source)
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.directory).env_clear();
        command.envs(self.environment.0.iter().map(|(name, value)| (name, value)));
        command.envs([
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            // Before 2.45 a missing object would be fetched: no transport has this name.
            ("GIT_ALLOW_PROTOCOL", "none"),
        ]);
        command.envs(&self.places);
        // Not `-c`: a driver's name may hold the `=` at which `-c` would split.
        let overrides =
            CONFIG.iter().copied().chain(self.drivers.iter().map(|(k, v)| (k.as_str(), v.as_str())));
        let mut count = 0;
        for (key, value) in overrides {
            command
                .env(format!("GIT_CONFIG_KEY_{count}"), key)
                .env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Whoever kills our process group must not kill a git that holds a lock in the user's repository: it would stay.
        // It also keeps Ctrl-C for us, who end things in order.
        command.process_group(0);
        command
    }
}

/// Turns a failure into an error, in git's own words where it is not one that we know better.
pub(crate) fn failed(arguments: &[&str], answer: &Answer) -> WorkspaceError {
    let command = arguments.first().copied().unwrap_or_default().to_owned();
    let said = match (answer.stderr.is_empty(), answer.code) {
        (false, _) => answer.stderr.replace('\n', " "),
        (true, Some(code)) => format!("it ended with exit code {code}"),
        (true, None) => "a signal ended it".to_owned(),
    };
    let said = if said.ends_with(['.', '!', '?']) { said } else { said + "." };
    if let Some(lock) = lock_in_the_way(&said) {
        return WorkspaceError::Locked { lock };
    }
    if ["No space left on device", "Out of diskspace", "Disk quota exceeded"]
        .iter()
        .any(|sign| said.contains(sign))
    {
        return WorkspaceError::DiskFull { command, said };
    }
    let writing = ["unable to write", "couldn't write"].iter().any(|sign| said.contains(sign));
    let hint = if writing { " Check permissions and the room on the disk." } else { "" };
    WorkspaceError::Git { command, said: said + hint }
}

/// Finds the lock of another git process in git's own words.
fn lock_in_the_way(said: &str) -> Option<PathBuf> {
    let (_, rest) = said.split_once("Unable to create '")?;
    let (path, rest) = rest.split_once("': ")?;
    (path.ends_with(".lock") && rest.starts_with("File exists")).then(|| PathBuf::from(path))
}

/// Collects the settings of the section `core`; of several the last counts. What calls override is not among them.
fn core_settings(listing: &[u8]) -> BTreeMap<String, String> {
    let listing = String::from_utf8_lossy(listing);
    let mut fields = listing.split_terminator('\0');
    let mut settings = BTreeMap::new();
    while let (Some(_), Some(entry)) = (fields.next(), fields.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        if let Some(name) = key.strip_prefix("core.") {
            settings.insert(name.to_owned(), value.to_owned());
        }
    }
    settings
}

/// Finds the filters and merge drivers of the repository's own configuration and says what replaces each of their
/// keys: the value that the user configured for all repositories, else one that runs nothing.
fn disabled_drivers(listing: &[u8]) -> Vec<(String, String)> {
    let listing = String::from_utf8_lossy(listing);
    let mut fields = listing.split_terminator('\0');
    let mut wide: BTreeMap<String, String> = BTreeMap::new();
    let mut own: BTreeMap<String, String> = BTreeMap::new();
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let harmless = match (key.split_once('.'), key.rsplit_once('.')) {
            (Some(("filter", _)), Some((_, "clean" | "smudge" | "process"))) => "",
            (Some(("filter", _)), Some((_, "required"))) => "false",
            // A driver that fails leaves a conflict, which is the careful answer.
            (Some(("merge", _)), Some((_, "driver"))) => "false",
            (_, _) => continue,
        };
        if matches!(scope, "system" | "global") {
            wide.insert(key.to_owned(), value.to_owned());
        } else {
            own.insert(key.to_owned(), harmless.to_owned());
        }
    }
    own.into_iter().map(|(key, harmless)| (key.clone(), wide.remove(&key).unwrap_or(harmless))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_of_the_repository_are_replaced_and_those_of_the_user_stay() {
        let listing = b"global\0filter.lfs.clean\ngit-lfs clean\0global\0filter.lfs.required\ntrue\0\
            local\0filter.lfs.clean\nevil\0local\0filter.a=b.smudge\nevil\0local\0filter.x.required\0\
            worktree\0merge.m.driver\nevil %A\0local\0merge.m.name\nx\0local\0core.bare\nfalse\0";
        let expected = [
            ("filter.a=b.smudge", ""),
            ("filter.lfs.clean", "git-lfs clean"),
            ("filter.x.required", "false"),
            ("merge.m.driver", "false"),
        ];
        assert_eq!(disabled_drivers(listing), expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }

    #[test]
    fn what_git_complains_of_is_told_apart() {
        let failure = |stderr: &str| {
            let answer = Answer { code: Some(128), stdout: Vec::new(), stderr: stderr.to_owned() };
            failed(&["update-ref"], &answer).to_string()
        };
        let lock = "fatal: cannot lock ref 'HEAD': Unable to create '/r/.git/HEAD.lock': File exists.\n\nAnother git";
        assert!(failure(lock).starts_with("Another git process is at work: /r/.git/HEAD.lock exists."));
        assert!(
            failure("fatal: Unable to create '/r/.git/HEAD.lock': No space left on device")
                .contains("is full")
        );
        assert!(
            failure("fatal: sha1 file '/x/index.lock' write error. Out of diskspace").contains("is full")
        );
        assert_eq!(
            failure("fatal: bad object"),
            "`git update-ref` failed: fatal: bad object. Run it by hand in the repository to see more."
        );
    }

    #[test]
    fn variables_that_redirect_git_are_dropped() {
        let given = [("GIT_DIR", "/evil"), ("GIT_CONFIG_GLOBAL", "/mine"), ("HOME", "/home/me")];
        let kept = Environment::of(given.map(|(k, v)| (k.into(), v.into())));
        assert_eq!(
            kept.0,
            [("GIT_CONFIG_GLOBAL", "/mine"), ("HOME", "/home/me")].map(|(k, v)| (k.into(), v.into()))
        );
    }
}
