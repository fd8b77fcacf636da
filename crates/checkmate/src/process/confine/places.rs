//! Which files a command may read and write.
//!
//! Outside of people's homes everything may be read: programs, libraries, headers, certificates, time zones. In the home
//! only what tools keep there may, without the keys that some of them keep beside. What lies elsewhere has to be named.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Where the homes of people lie.
const HOMES: [&str; 3] = ["/home", "/root", "/Users"];

/// What everybody writes to.
const SHARED: [&str; 2] = ["/tmp", "/dev/shm"];

/// Variables that say where a tool keeps what it needs.
const VARIABLES: [&str; 26] = [
    "ASDF_DATA_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "DENO_DIR",
    "DOTNET_ROOT",
    "FNM_DIR",
    "GEM_HOME",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "MISE_DATA_DIR",
    "NODE_PATH",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYTHONPATH",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "SDKMAN_DIR",
    "UV_PYTHON_INSTALL_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "XDG_CACHE_HOME",
];

/// What tools keep in a home and commands need.
const TOOLS: [&str; 62] = [
    ".asdf",
    ".asdfrc",
    ".bun",
    ".bundle",
    ".cabal",
    ".cache",
    ".cargo",
    ".composer",
    ".conda",
    ".config/git",
    ".config/mise",
    ".deno",
    ".dotnet",
    ".fnm",
    ".gem",
    ".ghcup",
    ".gitconfig",
    ".gitignore",
    ".goenv",
    ".gradle",
    ".ivy2",
    ".jenv",
    ".julia",
    ".juliaup",
    ".linuxbrew",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/pypoetry",
    ".local/share/rtx",
    ".local/share/uv",
    ".local/share/virtualenv",
    ".m2",
    ".mise",
    ".nix-defexpr",
    ".nix-profile",
    ".node-version",
    ".nodenv",
    ".npm",
    ".nuget",
    ".nvm",
    ".nvmrc",
    ".opam",
    ".pnpm-store",
    ".pyenv",
    ".python-version",
    ".rbenv",
    ".rustup",
    ".rye",
    ".sbt",
    ".sdkman",
    ".stack",
    ".tool-versions",
    ".volta",
    ".yarn",
    "anaconda3",
    "go",
    "miniconda3",
    "miniforge3",
];

/// What some of them keep there and nobody else may see.
const SECRETS: [&str; 30] = [
    ".bundle/config",
    ".cabal/config",
    ".cache/BraveSoftware",
    ".cache/chromium",
    ".cache/gh",
    ".cache/gnome-software",
    ".cache/google-chrome",
    ".cache/huggingface/stored_tokens",
    ".cache/huggingface/token",
    ".cache/keyring",
    ".cache/mozilla",
    ".cache/thumbnails",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".conda/.anaconda",
    ".config/git/credentials",
    ".gem/credentials",
    ".gradle/gradle.properties",
    ".ivy2/.credentials",
    ".local/share/uv/credentials",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".npm/_logs",
    ".nuget/NuGet",
    ".sbt/.credentials",
    ".sbt/1.0/credentials.sbt",
    ".stack/config.yaml",
    ".stack/pantry/hackage/credentials",
    ".yarn/berry/credentials",
];

/// What may be read and written beyond what a single command needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// Files and folders that may be read, and programs that may be started.
    pub read: Vec<PathBuf>,
    /// Files and folders that may be written as well.
    pub write: Vec<PathBuf>,
}

impl Places {
    /// Finds the places of this machine. `closed` are folders of Checkmate's own, `read` and `write` what the run and
    /// the user's configuration add.
    pub fn new(closed: &[PathBuf], read: Vec<PathBuf>, write: Vec<PathBuf>) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let named: Vec<PathBuf> = VARIABLES
            .iter()
            .filter_map(std::env::var_os)
            .flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>())
            .filter(|path| path.is_absolute())
            .collect();
        let mut found = readable(Path::new("/"), home.as_deref(), &path, &named, closed);
        found.extend(read.iter().filter_map(|path| path.canonicalize().ok()));
        found.sort();
        found.dedup();
        Self { read: found, write: write.into_iter().filter_map(|path| path.canonicalize().ok()).collect() }
    }
}

/// Returns what may be read below `root`. `named` are folders of tools by the user's environment.
fn readable(
    root: &Path,
    home: Option<&Path>,
    path: &OsStr,
    named: &[PathBuf],
    closed: &[PathBuf],
) -> Vec<PathBuf> {
    let real = |path: &Path| path.canonicalize().ok();
    let home = home.and_then(real).filter(|home| home.parent().is_some());
    let below = |name: &&str| real(&root.join(name.trim_start_matches('/')));
    let mut shut: BTreeSet<PathBuf> = HOMES.iter().chain(&SHARED).filter_map(below).collect();
    shut.extend(home.clone());
    let mut secrets: BTreeSet<PathBuf> = closed.iter().filter_map(|path| real(path)).collect();
    let mut open = Vec::new();
    without(root, &shut.union(&secrets).cloned().collect(), &mut open);
    let homes = shut.iter().cloned();
    secrets.extend(homes.flat_map(|home| SECRETS.map(|name| home.join(name))));
    let mut tools: Vec<PathBuf> = programs(&shut.union(&secrets).cloned().collect(), path);
    tools.extend(named.iter().cloned());
    if let Some(home) = &home {
        tools.extend(TOOLS.iter().map(|name| home.join(name)));
    }
    for tool in tools.iter().filter_map(|tool| real(tool)) {
        // Nobody names a whole home, nor what a home lies in.
        if !shut.iter().any(|one| one.starts_with(&tool)) {
            without(&tool, &secrets, &mut open);
        }
    }
    open
}

/// Returns the folders below closed ones that the search path names, each with what lies beside its programs.
fn programs(shut: &BTreeSet<PathBuf>, path: &OsStr) -> Vec<PathBuf> {
    let entries = std::env::split_paths(path).filter_map(|entry| entry.canonicalize().ok());
    let inside = |entry: &Path| shut.iter().any(|one| entry.starts_with(one) && entry != one);
    entries
        .filter(|entry| inside(entry))
        .map(|entry| {
            let named = ["bin", "shims", "sbin"].iter().any(|name| entry.ends_with(name));
            match entry.parent().filter(|parent| named && inside(parent)) {
                // `~/.local/bin` and the like: what lies beside it is not the tool's alone.
                Some(parent) if !parent.ends_with(".local") => parent.to_owned(),
                Some(_) | None => entry,
            }
        })
        .collect()
}

/// Adds a place without those that are closed.
fn without(place: &Path, closed: &BTreeSet<PathBuf>, open: &mut Vec<PathBuf>) {
    if closed.contains(place) {
        return;
    }
    if !closed.iter().any(|one| one.starts_with(place)) {
        open.push(place.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        let below = entry.path();
        // Where a link leads is allowed by itself, or not at all.
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => {}
            Ok(_) => without(&below, closed, open),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn homes_are_closed_but_for_their_tools() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let home = root.join("home/me");
        for file in [
            "usr/bin/python3",
            "etc/passwd",
            "opt/tool/run",
            "home/you/notes",
            "home/me/.ssh/id_ed25519",
            "home/me/.cargo/bin/cargo",
            "home/me/.cargo/credentials.toml",
            "home/me/.pyenv/versions/3/bin/python",
            "home/me/work/app/bin/app",
            "home/me/work/secret",
            "home/me/.local/share/keyrings/login",
            "home/me/.local/state/checkmate/runs/1/journal.jsonl",
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        std::os::unix::fs::symlink(home.join(".ssh"), root.join("opt/keys")).unwrap();
        fs::create_dir_all(home.join(".local/bin")).unwrap();
        let path = std::env::join_paths([
            home.join(".local/bin"),
            home.join("work/app/bin"),
            home.join(".pyenv/versions/3/bin"),
            home.join("missing"),
        ]);
        let open = readable(&root, Some(&home), &path.unwrap(), &[], &[home.join(".local/state/checkmate")]);
        let told: BTreeSet<String> =
            open.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        assert_eq!(
            told,
            [
                "etc",
                "home/me/.cargo/bin",
                "home/me/.local/bin",
                "home/me/.pyenv",
                "home/me/.pyenv/versions/3",
                "home/me/work/app",
                "opt",
                "usr",
            ]
        );
    }
}
