//! Brings `lo` up in a network namespace of its own: tests start servers and talk to them.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// The number of `lo`, which is the first interface of every network namespace.
const LO: i32 = 1;
/// `RTM_NEWLINK`: makes or changes an interface.
const NEW_LINK: u16 = 16;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const REQUEST_AND_ACK: u16 = 1 | 4;
/// `IFF_UP`, as the flag and as the mask of what changes.
const UP: u32 = 1;

/// Brings `lo` up.
pub(super) fn up() -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    // `struct nlmsghdr` and `struct ifinfomsg`, in the byte order of the machine.
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACK.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(LO.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 64];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    // `struct nlmsgerr` behind the header: zero, or an error number below zero.
    match answer.get(16..20).filter(|_| length >= 20).and_then(|bytes| bytes.try_into().ok()) {
        Some(error) if i32::from_ne_bytes(error) == 0 => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-i32::from_ne_bytes(error))),
        None => Err(io::Error::other("the answer of the kernel is too short")),
    }
}
