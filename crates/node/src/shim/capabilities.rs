//! Capabilities by their Kubernetes names, and which of them containers have when nobody says anything.

use rustix::thread::CapabilitySet;

/// What package managers, web servers and build tools cannot do without, and no more. Of the set that container engines
/// give, these are left out:
/// - `NET_RAW`: forges packets of neighbours;
/// - `MKNOD`, `SYS_CHROOT`: nothing that a user namespace or our filter would let them do;
/// - `AUDIT_WRITE`: writes to the log of the machine, which has no namespaces;
/// - `SETFCAP`, `SETPCAP`: hand capabilities on to files and children; who needs that can ask for it.
pub const DEFAULT: &[&str] =
    &["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID"];

/// All that the kernel may know, by number.
const NAMES: &[&str] = &[
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
];

#[derive(Debug, thiserror::Error)]
#[error("there is no capability {0:?}")]
pub struct Unknown(pub String);

/// The set of the named capabilities. `CAP_` and case do not matter, as with Kubernetes' runtimes.
pub fn set(names: &[String]) -> Result<CapabilitySet, Unknown> {
    names.iter().try_fold(CapabilitySet::empty(), |set, name| Ok(set | one(name)?))
}

fn one(name: &str) -> Result<CapabilitySet, Unknown> {
    let upper = name.to_ascii_uppercase();
    let bare = upper.strip_prefix("CAP_").unwrap_or(&upper);
    let number = NAMES.iter().position(|known| *known == bare).ok_or_else(|| Unknown(name.to_owned()))?;
    Ok(CapabilitySet::from_bits_retain(1 << number))
}

/// As runtimes spell it.
pub(super) fn full_name(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    if upper.starts_with("CAP_") { upper } else { format!("CAP_{upper}") }
}

/// Every capability that the kernel may know, one by one.
pub(super) fn each() -> impl Iterator<Item = CapabilitySet> {
    (0..NAMES.len()).map(|number| CapabilitySet::from_bits_retain(1 << number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_as_the_kernel_numbers_them() {
        for (name, expected) in [
            ("CHOWN", CapabilitySet::CHOWN),
            ("NET_ADMIN", CapabilitySet::NET_ADMIN),
            ("cap_sys_admin", CapabilitySet::SYS_ADMIN),
            ("CAP_CHECKPOINT_RESTORE", CapabilitySet::CHECKPOINT_RESTORE),
        ] {
            assert_eq!(set(&[name.to_owned()]).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused() {
        assert_eq!(
            set(&["CHOWN".into(), "FLY".into()]).unwrap_err().to_string(),
            "there is no capability \"FLY\""
        );
    }
}
