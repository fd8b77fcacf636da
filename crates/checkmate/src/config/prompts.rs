//! Prompt files of a workspace that replace the shipped ones.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use checkmate_machine::effect;
use checkmate_machine::gate::paths;
use checkmate_machine::spec::PromptText;
use thiserror::Error;

/// The most that a prompt file may hold, in bytes.
const LARGEST: u64 = 100_000;

/// Why a prompt file cannot be used; each fits behind "`prompts.NAME`: ".
#[derive(Debug, Error)]
pub(super) enum PromptError {
    #[error("{0}")]
    Path(#[from] paths::PathError),
    #[error("the file `{path}` cannot be read ({error}). Paths start at the repository's root.")]
    Read { path: String, error: std::io::Error },
    #[error("`{0}` leads out of the repository. Put a copy of the file into it.")]
    Outside(String),
    #[error("`{0}` is not a regular file. Name a text file.")]
    NotAFile(String),
    #[error("the file `{0}` is larger than 100 kB. Shorten it: it is sent with every call.")]
    TooLarge(String),
    #[error("the file `{0}` is not UTF-8 text. Save it as UTF-8.")]
    NotText(String),
    #[error("the file `{0}` is empty. Write the prompt into it, or leave the key out for the shipped one.")]
    Empty(String),
}

/// Reads the file that replaces the prompt `name`; its version tells which text it was.
pub(super) fn read(name: &str, path: &str, root: &Path) -> Result<PromptText, PromptError> {
    paths::check_path(path)?;
    let failed = |error| PromptError::Read { path: path.to_owned(), error };
    let root = root.canonicalize().map_err(failed)?;
    let file = root.join(path).canonicalize().map_err(failed)?;
    if !file.starts_with(&root) {
        return Err(PromptError::Outside(path.to_owned()));
    }
    // A pipe would wait for a writer, so the kind is looked at before anything is opened.
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(PromptError::NotAFile(path.to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(&file).map_err(failed)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(PromptError::TooLarge(path.to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|_| PromptError::NotText(path.to_owned()))?;
    if text.trim().is_empty() {
        return Err(PromptError::Empty(path.to_owned()));
    }
    let mut hash = effect::hash(&text);
    hash.truncate(12);
    Ok(PromptText { version: format!("{name}@file:{hash}"), text })
}
