//! Reads files for agents, straight from a tree: no symlink and no `..` leads anywhere.

use checkmate_machine::event::FileText;
use checkmate_machine::ids::TreeId;

use super::listing::{Listing, Place, SUBMODULE, SYMLINK};
use super::{Workspace, WorkspaceError};

/// Larger files are not shown, in bytes.
const LARGEST: u64 = 256 * 1024;

impl Workspace {
    /// Reads files of a tree, one answer per path in the order asked: the text, or one sentence that says why there is
    /// none.
    ///
    /// Text that is not UTF-8 is decoded with replacement characters and ends with a line that says so.
    pub fn read(&self, tree: &TreeId, paths: &[String]) -> Result<Vec<FileText>, WorkspaceError> {
        let listing = self.listing(tree)?;
        let found: Vec<Result<&str, String>> = paths.iter().map(|path| find(&listing, path)).collect();
        let ids: Vec<&str> = found.iter().filter_map(|found| found.as_deref().ok()).collect();
        let sizes = self.sizes(&ids)?;
        let small: Vec<&str> =
            ids.iter().zip(&sizes).filter(|(_, size)| **size <= LARGEST).map(|(id, _)| *id).collect();
        let mut blobs = self.blobs(&small)?.into_iter();
        let mut sizes = sizes.into_iter();
        let mut text = |path: &str, found: Result<&str, String>| {
            found?;
            match sizes.next().unwrap_or(0) {
                size if size > LARGEST => Err(format!(
                    "`{path}` has {size} bytes; files over {LARGEST} bytes are not shown. Ask for a smaller file."
                )),
                _ => decode(path, blobs.next().flatten()),
            }
        };
        let answers = paths.iter().zip(found).map(|(path, found)| {
            let text = text(path, found);
            FileText { path: path.clone(), text }
        });
        Ok(answers.collect())
    }
}

/// Finds the blob of a path as an agent wrote it.
fn find<'a>(listing: &'a Listing, asked: &str) -> Result<&'a str, String> {
    let path = normalise(asked)?;
    match listing.at(&path) {
        Place::Entry(entry) if entry.mode == SYMLINK => {
            Err(format!("`{asked}` is a symbolic link, which is not followed. Ask for the file it leads to."))
        }
        Place::Entry(entry) if entry.mode == SUBMODULE => {
            Err(format!("`{asked}` is a submodule, whose files are not part of this repository."))
        }
        Place::Entry(entry) => Ok(&entry.id),
        Place::Directory => Err(format!("`{asked}` is a directory. Ask for a file in it.")),
        Place::Beyond(entry) if entry.mode == SYMLINK => {
            Err(format!("`{asked}` lies behind a symbolic link, which is not followed."))
        }
        Place::Beyond(entry) if entry.mode == SUBMODULE => {
            Err(format!("`{asked}` lies in a submodule, whose files are not part of this repository."))
        }
        Place::Beyond(_) => Err(format!("There is no file `{asked}`: a part of the path is a file.")),
        Place::Absent => Err(absent(listing, asked, &path)),
    }
}

fn normalise(asked: &str) -> Result<String, String> {
    if asked.starts_with('/') {
        return Err(format!("`{asked}` is an absolute path. Use a path from the repository's root."));
    }
    let parts: Vec<&str> = asked.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") || parts.is_empty() {
        return Err(format!(
            "`{asked}` is not a path inside the repository. Use a path from its root without `..`."
        ));
    }
    Ok(parts.join("/"))
}

/// Says that a file is missing and where one of that name is.
fn absent(listing: &Listing, asked: &str, path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let same = |(found, _): (&[u8], _)| {
        let found = std::str::from_utf8(found).ok()?;
        let last = found.rsplit('/').next().unwrap_or(found);
        (last.to_lowercase() == name).then(|| format!("`{found}`"))
    };
    let near: Vec<String> = listing.iter().filter_map(same).take(3).collect();
    if near.is_empty() {
        format!("There is no file `{asked}`.")
    } else {
        format!("There is no file `{asked}`; there is {}.", near.join(", "))
    }
}

fn decode(path: &str, blob: Option<Vec<u8>>) -> Result<String, String> {
    let blob =
        blob.ok_or_else(|| format!("The content of `{path}` is not on this machine (a partial clone)."))?;
    if blob.contains(&0) {
        return Err(format!("`{path}` is a binary file of {} bytes.", blob.len()));
    }
    Ok(String::from_utf8(blob).unwrap_or_else(|error| {
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        format!("{text}\n[`{path}` is not UTF-8: bytes that could not be read are shown as \u{fffd}.]\n")
    }))
}
