//! What containers may do, and as whom.

use super::super::kind::{allowed, holding, honoured, kind, only, refused};
use super::super::{Allowance, Field, Kind, Verdict};

const NO_SELINUX: &str = "containers are not labelled for SELinux on this node";
const WINDOWS: &str = "this node runs Linux";

/// What container runtimes grant by default. In the Pod's own user namespace none of them reaches the host.
const USUAL: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Those that reach no further than the Pod, as Kubernetes lists them.
const SAFE_SYSCTLS: &[&str] = &[
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];

pub(super) const KINDS: &[Kind] = &[
    kind(
        "PodSecurityContext",
        &[
            holding("appArmorProfile", "AppArmorProfile", "only Unconfined"),
            honoured("fsGroup", "owns the Pod's volumes, and is a group of every process"),
            only("fsGroupChangePolicy", &["Always", "OnRootMismatch"], "no such policy"),
            honoured("runAsGroup", "the group of every process"),
            honoured("runAsNonRoot", "a container that would run as root is not started"),
            honoured("runAsUser", "the user of every process"),
            refused("seLinuxChangePolicy", NO_SELINUX),
            refused("seLinuxOptions", NO_SELINUX),
            holding("seccompProfile", "SeccompProfile", "the filter of every process"),
            honoured("supplementalGroups", "further groups of every process"),
            only("supplementalGroupsPolicy", &["Merge", "Strict"], "no such policy"),
            holding("sysctls", "Sysctl", "set in the Pod's namespaces"),
            refused("windowsOptions", WINDOWS),
        ],
    ),
    kind(
        "SecurityContext",
        &[
            allowed(
                "allowPrivilegeEscalation",
                &["false"],
                Allowance::PrivilegeEscalation,
                "programs could gain privileges by set-user-ID; unset means false here",
            ),
            holding("appArmorProfile", "AppArmorProfile", "only Unconfined"),
            holding("capabilities", "Capabilities", "within the Pod's user namespace"),
            allowed(
                "privileged",
                &["false"],
                Allowance::Privileged,
                "it takes all isolation but the namespaces away",
            ),
            allowed(
                "procMount",
                &["Default"],
                Allowance::UnmaskedProc,
                "it shows kernel files that are masked",
            ),
            honoured("readOnlyRootFilesystem", "only volumes can be written"),
            honoured("runAsGroup", "the group of every process"),
            honoured("runAsNonRoot", "a container that would run as root is not started"),
            honoured("runAsUser", "the user of every process"),
            refused("seLinuxOptions", NO_SELINUX),
            holding("seccompProfile", "SeccompProfile", "the filter of every process"),
            refused("windowsOptions", WINDOWS),
        ],
    ),
    kind(
        "AppArmorProfile",
        &[
            refused("localhostProfile", "AppArmor profiles are not loaded by this node"),
            only("type", &["Unconfined"], "AppArmor profiles are not enforced by this node"),
        ],
    ),
    kind(
        "Capabilities",
        &[
            allowed(
                "add",
                USUAL,
                Allowance::Capabilities,
                "it reaches more of the kernel than programs need",
            ),
            honoured("drop", "taken away, ALL for every one"),
        ],
    ),
    kind(
        "SeccompProfile",
        &[
            refused("localhostProfile", "the node has one filter of its own and loads no others"),
            Field {
                name: "type",
                verdict: Verdict::Allow {
                    freely: &["RuntimeDefault"],
                    allowance: Allowance::SeccompUnconfined,
                    refused: &["Localhost"],
                },
                holds: None,
                note: "the node has one filter, and without it all of the kernel is in reach",
            },
        ],
    ),
    kind(
        "Sysctl",
        &[
            allowed("name", SAFE_SYSCTLS, Allowance::UnsafeSysctls, "it may reach further than the Pod"),
            honoured("value", "what it is set to"),
        ],
    ),
];
