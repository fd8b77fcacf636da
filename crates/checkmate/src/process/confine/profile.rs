//! The same places in the words of macOS's `sandbox-exec`.

use std::path::Path;

use super::Confinement;

/// The program that starts another one under a profile.
#[cfg_attr(not(target_os = "macos"), expect(dead_code, reason = "it is there on macOS only"))]
pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Writes the profile: what is not allowed is denied.
pub(super) fn of(confinement: &Confinement, write: &[&Path]) -> String {
    let mut lines = vec![
        "(version 1)".to_owned(),
        "(deny default)".to_owned(),
        "(allow process-fork process-exec* process-info* (target same-sandbox))".to_owned(),
        "(allow signal (target same-sandbox))".to_owned(),
        "(allow sysctl-read mach-lookup ipc-posix* file-ioctl)".to_owned(),
        "(allow file-read-metadata)".to_owned(),
    ];
    let mut allow = |what: &str, path: &Path| {
        let text = path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        lines.push(format!("(allow {what} (subpath \"{text}\"))"));
    };
    for path in &confinement.places.read {
        allow("file-read*", path);
    }
    let own = write.iter().copied().chain(confinement.places.write.iter().map(std::path::PathBuf::as_path));
    for path in own {
        allow("file-read* file-write*", path);
    }
    allow("file-write-data", Path::new("/dev"));
    lines.push(
        if confinement.network {
            "(allow network*)"
        } else {
            "(allow network* (local ip \"localhost:*\") (remote ip \"localhost:*\") (remote unix-socket))"
        }
        .to_owned(),
    );
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::{Confinement, Places, Support};
    use super::*;

    #[test]
    fn a_profile_names_what_is_allowed() {
        let confinement = Confinement {
            support: Support::default(),
            network: false,
            places: Places { read: vec!["/usr".into()], write: vec!["/a \"b\"".into()] },
            memory: None,
            processes: None,
        };
        assert_snapshot!(of(&confinement, &[Path::new("/tree")]), @r#"
        (version 1)
        (deny default)
        (allow process-fork process-exec* process-info* (target same-sandbox))
        (allow signal (target same-sandbox))
        (allow sysctl-read mach-lookup ipc-posix* file-ioctl)
        (allow file-read-metadata)
        (allow file-read* (subpath "/usr"))
        (allow file-read* file-write* (subpath "/tree"))
        (allow file-read* file-write* (subpath "/a \"b\""))
        (allow file-write-data (subpath "/dev"))
        (allow network* (local ip "localhost:*") (remote ip "localhost:*") (remote unix-socket))
        "#);
    }
}
