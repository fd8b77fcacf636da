//! What can commands do on this machine although they should not?

use std::fs;
use std::path::Path;

use super::{Finding, Subject};
use crate::journal::Sandbox;
use crate::process::confine::{self, Gap, Part};

const CHECK: &str = "sandbox";

pub(super) fn check(subject: &mut Subject) -> Vec<Finding> {
    // Without a configuration the usual confinement is looked at.
    let sandbox = match &subject.loaded {
        Some(loaded) => match &loaded.config.sandbox {
            Some(sandbox) => sandbox.clone(),
            None => {
                return vec![Finding::warn(
                    CHECK,
                    "Commands are not confined: `sandbox` is off in the configuration.",
                    "Leave `sandbox` out, unless you trust every command and test that agents write.",
                )];
            }
        },
        None => Sandbox::default(),
    };
    let sandbox = Sandbox { support: confine::support(), ..sandbox };
    let gaps = sandbox.gaps();
    if gaps.is_empty() {
        let network =
            if sandbox.network { "may use the network" } else { "have no network but the loopback" };
        return vec![Finding::ok(
            CHECK,
            format!("Commands are confined to the run's tree, see no other process, and {network}."),
        )];
    }
    gaps.into_iter()
        .map(|gap| Finding::warn(CHECK, sentence(gap), remedy(gap.lacks)).about(gap.lacks.name()))
        .collect()
}

fn sentence(gap: Gap) -> String {
    let said = gap.said();
    let mut letters = said.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// Says how the missing part comes to be, by what the system says of itself.
fn remedy(part: Part) -> String {
    if !cfg!(target_os = "linux") {
        return "Confinement needs Linux, or `sandbox-exec` on macOS; run Checkmate in a Linux container elsewhere.".into();
    }
    match part {
        Part::Namespaces => namespaces(&|path| fs::read_to_string(path).ok(), in_container()),
        Part::Files if in_container() => {
            "Landlock needs Linux 5.13 or later with `landlock` in /sys/kernel/security/lsm on the host, and a container \
             that may use it: start it with `--security-opt seccomp=unconfined`, or with a newer Docker or Podman."
                .into()
        }
        Part::Files => {
            "Landlock needs Linux 5.13 or later; if the kernel has it, add `landlock` to its parameter `lsm=` and start \
             again (/sys/kernel/security/lsm lists what is on)."
                .into()
        }
        Part::Calls => "seccomp needs a kernel with CONFIG_SECCOMP_FILTER; use your distribution's kernel.".into(),
    }
}

/// Says what keeps user namespaces from being made; `read` reads a file of the system.
fn namespaces(read: &dyn Fn(&str) -> Option<String>, container: bool) -> String {
    let is = |path: &str, value: &str| read(path).is_some_and(|text| text.trim() == value);
    if is("/proc/sys/user/max_user_namespaces", "0") {
        return "User namespaces are switched off: `sudo sysctl user.max_user_namespaces=15000` enables them (for good: in \
                /etc/sysctl.d)."
            .into();
    }
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return "User namespaces are for root only here: `sudo sysctl kernel.unprivileged_userns_clone=1` enables them (for \
                good: in /etc/sysctl.d)."
            .into();
    }
    if container {
        return "This is a container that may make no namespaces: start it with `--security-opt seccomp=unconfined \
                --security-opt apparmor=unconfined` (Docker, Podman), or `seccompProfile: {type: Unconfined}` (Kubernetes)."
            .into();
    }
    if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "AppArmor restricts user namespaces here: give `checkmate` a profile with `userns,`, or run `sudo sysctl \
                kernel.apparmor_restrict_unprivileged_userns=0`."
            .into();
    }
    "Something on this machine forbids user namespaces; `unshare --user --net true` shows the system's reason.".into()
}

fn in_container() -> bool {
    let marked = ["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"];
    marked.iter().any(|path| Path::new(path).exists()) || std::env::var_os("container").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_for_what_is_in_the_way() {
        for (path, value, container, expected) in [
            ("/proc/sys/user/max_user_namespaces", "0\n", true, "sysctl user.max_user_namespaces=15000"),
            (
                "/proc/sys/kernel/unprivileged_userns_clone",
                "0\n",
                false,
                "kernel.unprivileged_userns_clone=1",
            ),
            (
                "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                "1\n",
                false,
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            ("/proc/sys/user/max_user_namespaces", "1000\n", true, "--security-opt seccomp=unconfined"),
            ("/proc/sys/user/max_user_namespaces", "1000\n", false, "unshare --user"),
        ] {
            let read = |wanted: &str| (wanted == path).then(|| value.to_owned());
            let said = namespaces(&read, container);
            assert!(said.contains(expected), "{said}");
        }
    }
}
