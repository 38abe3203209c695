//! What a container may do: capabilities, set-user-id, the filter of system calls, kernel files.

use k8s_openapi::api::core::v1::{Container, PodSpec, SecurityContext};

use crate::shim::capabilities::DEFAULT;
use crate::shim::plan::Seccomp;

/// All that the kernel knows, for those who ask for all.
const ALL: &[&str] = &[
    "AUDIT_CONTROL",
    "AUDIT_READ",
    "AUDIT_WRITE",
    "BLOCK_SUSPEND",
    "BPF",
    "CHECKPOINT_RESTORE",
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "IPC_LOCK",
    "IPC_OWNER",
    "KILL",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "MKNOD",
    "NET_ADMIN",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_RAW",
    "PERFMON",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYSLOG",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_CHROOT",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "WAKE_ALARM",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grants {
    pub(super) capabilities: Vec<String>,
    pub(super) no_new_privileges: bool,
    pub(super) seccomp: Seccomp,
    /// Kernel files are shown and can be written.
    pub(super) is_unmasked: bool,
    pub(super) read_only_root: bool,
}

/// What is granted here was allowed before: see the table of supported fields.
pub(super) fn of(spec: &PodSpec, container: &Container) -> Grants {
    let own = container.security_context.as_ref();
    let is_privileged = own.and_then(|own| own.privileged) == Some(true);
    Grants {
        capabilities: if is_privileged { names(ALL) } else { capabilities(own) },
        // Where nothing is said: see `Process::no_new_privileges`.
        no_new_privileges: !is_privileged && own.and_then(|own| own.allow_privilege_escalation) != Some(true),
        seccomp: if is_privileged { Seccomp::Unconfined } else { seccomp(spec, own) },
        is_unmasked: is_privileged || own.and_then(|own| own.proc_mount.as_deref()) == Some("Unmasked"),
        read_only_root: own.and_then(|own| own.read_only_root_filesystem) == Some(true),
    }
}

/// Additions win over what is dropped by name, and both over what containers have anyway, as with other runtimes.
fn capabilities(own: Option<&SecurityContext>) -> Vec<String> {
    let changes = own.and_then(|own| own.capabilities.as_ref());
    let bare = |list: Option<&Vec<String>>| -> Vec<String> {
        list.into_iter().flatten().map(|name| plain(name)).collect()
    };
    let added = bare(changes.and_then(|changes| changes.add.as_ref()));
    let dropped = bare(changes.and_then(|changes| changes.drop.as_ref()));
    let has_all = |list: &[String]| list.iter().any(|name| name == "ALL");
    let mut set = if has_all(&added) {
        names(ALL)
    } else if has_all(&dropped) {
        Vec::new()
    } else {
        names(DEFAULT)
    };
    set.retain(|name| !dropped.contains(name));
    set.extend(added.into_iter().filter(|name| name != "ALL"));
    set.sort_unstable();
    set.dedup();
    set
}

fn seccomp(spec: &PodSpec, own: Option<&SecurityContext>) -> Seccomp {
    let own = own.and_then(|own| own.seccomp_profile.as_ref());
    let pod = spec.security_context.as_ref().and_then(|context| context.seccomp_profile.as_ref());
    match own.or(pod).map(|profile| profile.type_.as_str()) {
        Some("Unconfined") => Seccomp::Unconfined,
        _ => Seccomp::Default,
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn plain(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    upper.strip_prefix("CAP_").unwrap_or(&upper).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::blueprint::fixtures::Case;
    use crate::shim::capabilities;

    fn privileges(container: Value) -> Grants {
        let case = Case::with(json!({"securityContext": container}));
        of(case.resolved().spec().unwrap(), case.container())
    }

    fn set(add: &[&str], drop: &[&str]) -> Vec<String> {
        privileges(json!({"capabilities": {"add": add, "drop": drop}})).capabilities
    }

    #[test]
    fn a_container_that_says_nothing_has_the_least() {
        let nothing = privileges(json!({}));
        assert_eq!(nothing.capabilities, names(DEFAULT));
        assert!(nothing.no_new_privileges && !nothing.is_unmasked && !nothing.read_only_root);
        assert_eq!(nothing.seccomp, Seccomp::Default);
    }

    #[test]
    fn capabilities_are_added_and_dropped_by_name_or_all() {
        assert_eq!(set(&[], &["ALL"]), [""; 0]);
        assert_eq!(set(&["NET_BIND_SERVICE"], &["ALL"]), ["NET_BIND_SERVICE"]);
        assert!(set(&["CAP_net_raw"], &[]).contains(&"NET_RAW".to_owned()));
        assert!(!set(&[], &["CAP_CHOWN"]).contains(&"CHOWN".to_owned()));
        let most = set(&["ALL"], &["SYS_ADMIN"]);
        assert_eq!(most.len(), ALL.len() - 1);
        assert!(!most.contains(&"SYS_ADMIN".to_owned()));
    }

    #[test]
    fn all_are_known_to_the_shim() {
        assert_eq!(capabilities::set(&names(ALL)).unwrap().bits().count_ones() as usize, ALL.len());
    }

    #[test]
    fn what_was_allowed_is_granted() {
        let escalating = privileges(json!({"allowPrivilegeEscalation": true, "procMount": "Unmasked"}));
        assert!(!escalating.no_new_privileges && escalating.is_unmasked);
        let privileged = privileges(json!({"privileged": true}));
        assert_eq!(privileged.capabilities, names(ALL));
        assert_eq!(privileged.seccomp, Seccomp::Unconfined);
        assert!(privileges(json!({"readOnlyRootFilesystem": true})).read_only_root);
    }

    #[test]
    fn the_containers_filter_goes_before_the_pods() {
        let filter = |own: Value| {
            let pod = json!({"seccompProfile": {"type": "Unconfined"}});
            let case = Case::with(json!({"securityContext": own})).spec("securityContext", pod);
            of(case.resolved().spec().unwrap(), case.container()).seccomp
        };
        assert_eq!(filter(json!({})), Seccomp::Unconfined);
        assert_eq!(filter(json!({"seccompProfile": {"type": "RuntimeDefault"}})), Seccomp::Default);
    }
}
