//! System calls that no test needs and that reach beyond files, processes and networks.
//!
//! This is the second fence: namespaces and Landlock are the first. What is refused fails with EPERM, as it does for
//! somebody without the right to it.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// Refused whatever their arguments are.
const REFUSED: [libc::c_long; 32] = [
    // Keys of the user's session.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_perf_event_open,
    libc::SYS_reboot,
    libc::SYS_syslog,
    // Clocks, swap, accounting, quotas, names of the machine.
    libc::SYS_acct,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_quotactl,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    // Other views of the file system.
    libc::SYS_fanotify_init,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
];

/// Kinds of sockets that no namespace holds: machines beside this one, Bluetooth.
const SOCKETS: [libc::c_int; 2] = [libc::AF_VSOCK, libc::AF_BLUETOOTH];

/// Puts words into a terminal as if somebody had typed them.
const TIOCSTI: u64 = 0x5412;
/// The same by way of the console's selection.
const TIOCLINUX: u64 = 0x541C;

/// Refuses the calls for this process and all that it starts.
pub(super) fn apply() -> io::Result<()> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let is = |argument: u8, value: u64| {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
            .map_err(io::Error::other)?;
        SeccompRule::new(vec![condition]).map_err(io::Error::other)
    };
    let sockets = SOCKETS.iter().filter_map(|kind| u64::try_from(*kind).ok()).map(|kind| is(0, kind));
    rules.insert(libc::SYS_socket, sockets.collect::<io::Result<_>>()?);
    rules.insert(libc::SYS_ioctl, vec![is(1, TIOCSTI)?, is(1, TIOCLINUX)?]);
    let refused = SeccompAction::Errno(u32::try_from(libc::EPERM).map_err(io::Error::other)?);
    let machine = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, refused, machine).map_err(io::Error::other)?;
    let program: BpfProgram = filter.try_into().map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}
