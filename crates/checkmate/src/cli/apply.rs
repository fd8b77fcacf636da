//! `checkmate apply`: the patch applier alone.

use std::io::Read as _;
use std::path::PathBuf;

use super::{Place, print, read};
use crate::error::CommandError;
use crate::exit_code;
use crate::state;
use crate::workspace::{DirectoryApply, DirectoryWish, Repository, apply_to_directory};

/// Apply a patch to the files, all of it or nothing
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The patch file, or `-` for standard input
    patch: PathBuf,
    /// Only say what would happen
    #[arg(long)]
    check: bool,
    /// Draw each hunk beside the file's lines: where it goes, or where it comes nearest
    #[arg(long)]
    explain: bool,
}

pub(super) fn main(place: &Place, args: &Args) -> Result<u8, CommandError> {
    let patch = if args.patch.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(|error| {
            CommandError::usage(format!("Standard input cannot be read as text: {error}."))
        })?;
        text
    } else {
        read("patch", &args.patch)?
    };
    let root = match &place.repo {
        Some(_) => place.directory()?,
        // Outside of a repository the current directory is as good a root as any.
        None => {
            let here = place.directory()?;
            Repository::discover(&here).map_or(here, |repository| repository.root().to_owned())
        }
    };
    let wish = DirectoryWish { check_only: args.check, pictures: args.explain };
    let (applied, pictures) = apply_to_directory(&root, &patch, wish, &state::applies()?)?;
    let pictures: String = pictures.iter().map(|picture| format!("\n{picture}")).collect();
    match applied {
        DirectoryApply::Applied { files, placements } => {
            let placements = placements.iter().map(|placement| format!("  {placement}\n"));
            let lines: String = files.iter().map(|file| format!("{file}\n")).chain(placements).collect();
            print(&(lines + &pictures));
            Ok(exit_code::DONE)
        }
        DirectoryApply::Rejected(reasons) => {
            for reason in reasons {
                anstream::eprintln!("{reason}");
            }
            anstream::eprint!("{pictures}");
            Ok(exit_code::NOT_APPROVED)
        }
    }
}
