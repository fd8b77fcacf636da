//! Is there room for runs?

use std::path::{Path, PathBuf};

use super::{Finding, Fix, Subject};
use crate::state;

const CHECK: &str = "state";
/// With less room than this a run is likely to fail, in bytes.
const TOO_LITTLE: u64 = 100 << 20;
/// With less than this one may.
const LITTLE: u64 = 1 << 30;

pub(super) fn check(_: &mut Subject) -> Vec<Finding> {
    let folder = match state::folder() {
        Ok(folder) => folder,
        Err(error) => return vec![Finding::of_error(CHECK, &error)],
    };
    let Some(there) = folder.ancestors().find(|place| place.exists()) else {
        return vec![Finding::fail(
            CHECK,
            format!("Nothing of {} exists.", folder.display()),
            "Set XDG_STATE_HOME to a folder that you may write.",
        )];
    };
    // The room is asked of the file system, the permission by trying.
    if let Err(error) = tempfile::Builder::new().prefix(".doctor-").tempfile_in(there) {
        return vec![Finding::fail(
            CHECK,
            format!(
                "Runs are kept in {}, but nothing can be written to {}: {error}.",
                folder.display(),
                there.display()
            ),
            "Make it writable, or set XDG_STATE_HOME to another folder.",
        )];
    }
    vec![room(&folder, there)]
}

fn room(folder: &Path, there: &Path) -> Finding {
    let place = if there == folder {
        format!("{} is writable", folder.display())
    } else {
        format!("The first run makes {}", folder.display())
    };
    let finding = match free(there) {
        Some(bytes) if bytes < TOO_LITTLE => Finding::fail(
            CHECK,
            format!("The disk of {} has {} left.", folder.display(), size(bytes)),
            "Make room: each run keeps a copy of the repository's files there. Or set XDG_STATE_HOME to a folder of \
             another disk.",
        ),
        Some(bytes) if bytes < LITTLE => Finding::warn(
            CHECK,
            format!("The disk of {} has {} left.", folder.display(), size(bytes)),
            "Make room: each run keeps a copy of the repository's files there, and what its builds make.",
        ),
        Some(bytes) => Finding::ok(CHECK, format!("{place}; its disk has {} left.", size(bytes))),
        None => Finding::ok(CHECK, format!("{place}.")),
    };
    if there == folder { finding } else { finding.mended_by(Fix::MakeFolder { path: PathBuf::from(folder) }) }
}

fn free(place: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(place).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        megabytes @ 0..2048 => format!("{megabytes} MB"),
        megabytes => format!("{} GB", megabytes >> 10),
    }
}
