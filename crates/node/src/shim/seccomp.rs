//! The filter of system calls that every process of a container runs under: its first, those executed in it later, probes
//! and hooks alike. A list of what is allowed, in the spirit of the container engines' defaults, and somewhat shorter.
//!
//! What is not on the list fails with EPERM. What the kernel may learn after this list was made, and the calls of the x32
//! ABI, fail with ENOSYS, as on a kernel that lacks them; programs of another ABI (i386) are killed.

mod allowed;

use std::collections::BTreeMap;
use std::io;

use rustix::thread::{CapabilitySet, SecureComputingMode};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use serde_json::{Value, json};

use crate::sys::processes as sys;

/// The last call that this list was made with: `file_setattr`. Numbers of new calls are the same on every machine.
const NEWEST: u32 = 469;

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot compile the filter of system calls")]
    Compile(#[from] BackendError),
    #[error("cannot install the filter of system calls")]
    Install(#[source] io::Error),
    #[error("the filter of system calls is not in force")]
    NotInForce,
}

/// Puts the filter in force, for good.
///
/// Needs either no-new-privileges or CAP_SYS_ADMIN in this user namespace.
pub(super) fn confine(capabilities: CapabilitySet) -> Result<(), Error> {
    sys::install_filter(&allow_list(capabilities)?).map_err(Error::Install)?;
    // Of two refusals the one of the filter that came last counts.
    sys::install_filter(&missing_calls()).map_err(Error::Install)?;
    match rustix::thread::secure_computing_mode() {
        Ok(SecureComputingMode::Filter) => Ok(()),
        _ => Err(Error::NotInForce),
    }
}

/// The same list for a runtime of another's making, without what capabilities would add to it.
pub(super) fn specification() -> Value {
    let equal = |index: u8, value: u64| json!({ "index": index, "value": value, "op": "SCMP_CMP_EQ" });
    let unequal = |value: u64| json!({ "index": 1, "value": value, "op": "SCMP_CMP_NE" });
    let allow = |names: &[&str], arguments: Vec<Value>| json!({ "names": names, "action": "SCMP_ACT_ALLOW", "args": arguments });
    let no_namespaces = json!({ "index": 0, "value": NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ" });
    let mut calls = vec![
        allow(allowed::NAMES, vec![]),
        allow(&["clone"], vec![no_namespaces]),
        allow(&["ioctl"], vec![unequal(libc::TIOCSTI), unequal(libc::TIOCLINUX)]),
        allow(&["socket"], vec![equal(0, libc::AF_NETLINK as u64), equal(2, libc::NETLINK_ROUTE as u64)]),
        json!({ "names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": libc::ENOSYS }),
    ];
    let families = [libc::AF_UNIX as u64, libc::AF_INET as u64, libc::AF_INET6 as u64];
    calls.extend(families.map(|family| allow(&["socket", "socketpair"], vec![equal(0, family)])));
    calls.extend(PERSONALITIES.iter().map(|value| allow(&["personality"], vec![equal(0, *value)])));
    json!({ "defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": libc::EPERM, "syscalls": calls })
}

fn allow_list(capabilities: CapabilitySet) -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let plain = allowed::ALWAYS.iter().chain(allowed::ON_THIS_MACHINE).copied();
    let earned = allowed::WITH.iter().filter(|(needed, _)| capabilities.contains(*needed));
    for call in plain.chain(earned.flat_map(|(_, calls)| calls.iter().copied())) {
        rules.insert(call, Vec::new());
    }
    for (call, conditions) in conditional(capabilities)? {
        rules.entry(call).or_insert(conditions);
    }
    let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, machine())?.try_into()
}

/// Calls that are allowed for some arguments; any one of the rules suffices.
fn conditional(capabilities: CapabilitySet) -> Result<Vec<(i64, Vec<SeccompRule>)>, BackendError> {
    Ok(vec![
        (libc::SYS_clone, vec![all(&[(0, MaskedEq(NAMESPACES), 0)])?]),
        (libc::SYS_ioctl, vec![all(&[(1, Ne, libc::TIOCSTI), (1, Ne, libc::TIOCLINUX)])?]),
        (libc::SYS_personality, any(0, PERSONALITIES)?),
        (libc::SYS_socket, sockets(capabilities)?),
        (libc::SYS_socketpair, any(0, &[libc::AF_UNIX as u64])?),
    ])
}

/// Namespaces that a clone would make.
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Linux, with 32 bits, with the version of long ago, both; and the question which it is.
const PERSONALITIES: &[u64] = &[0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

/// Local, internet, and the questions about addresses and routes that every C library asks. Not AF_VSOCK, which reaches
/// the hypervisor; not AF_ALG and the many more that are seldom used and often broken.
fn sockets(capabilities: CapabilitySet) -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = any(0, &[libc::AF_UNIX as u64, libc::AF_INET as u64, libc::AF_INET6 as u64])?;
    let netlink = (0, Eq, libc::AF_NETLINK as u64);
    if capabilities.contains(CapabilitySet::NET_ADMIN) {
        rules.push(all(&[netlink])?);
    } else {
        rules.push(all(&[netlink, (2, Eq, libc::NETLINK_ROUTE as u64)])?);
    }
    if capabilities.contains(CapabilitySet::NET_RAW) {
        rules.push(all(&[(0, Eq, libc::AF_PACKET as u64)])?);
    }
    Ok(rules)
}

fn any(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, BackendError> {
    values.iter().map(|value| all(&[(argument, Eq, *value)])).collect()
}

/// The kernel reads 32 bits of all these arguments; bits above them must not hide what they are.
fn all(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, BackendError> {
    let conditions = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

/// ENOSYS for calls beyond the list, x32 among them, and for clone3, whose flags a filter cannot see: C libraries then
/// fall back to clone.
fn missing_calls() -> [sock_filter; 5] {
    const LOAD_NUMBER: u16 = 0x20;
    const IF_GREATER: u16 = 0x25;
    const IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let clone3 = u32::try_from(libc::SYS_clone3).expect("call numbers are small");
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    [
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: IF_GREATER, jt: 2, jf: 0, k: NEWEST },
        sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: clone3 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: missing },
    ]
}

#[cfg(target_arch = "x86_64")]
fn machine() -> TargetArch {
    TargetArch::x86_64
}

#[cfg(target_arch = "aarch64")]
fn machine() -> TargetArch {
    TargetArch::aarch64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_fits_into_a_filter_with_and_without_capabilities() {
        for capabilities in [CapabilitySet::empty(), CapabilitySet::all()] {
            let filter = allow_list(capabilities).unwrap();
            assert!(filter.len() > 300 && filter.len() < 4096, "{}", filter.len());
        }
    }

    #[test]
    fn what_reaches_the_kernel_beyond_the_container_needs_a_capability() {
        for call in [
            libc::SYS_mount,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_open_by_handle_at,
            libc::SYS_init_module,
            libc::SYS_chroot,
        ] {
            assert!(!allowed::ALWAYS.contains(&call), "{call}");
            assert!(allowed::WITH.iter().any(|(_, calls)| calls.contains(&call)), "{call}");
        }
    }

    #[test]
    fn the_names_are_those_of_the_numbers() {
        let always = allowed::ALWAYS.len() + allowed::ON_THIS_MACHINE.len();
        // clone3 is on the list of numbers only to be refused in its own way.
        assert!(cfg!(not(target_arch = "x86_64")) || allowed::NAMES.len() == always - 1);
    }

    #[test]
    fn keys_and_rings_are_allowed_to_nobody() {
        for call in [libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_io_uring_setup, libc::SYS_userfaultfd] {
            assert!(!allowed::ALWAYS.contains(&call), "{call}");
            assert!(!allowed::WITH.iter().any(|(_, calls)| calls.contains(&call)), "{call}");
        }
    }
}
