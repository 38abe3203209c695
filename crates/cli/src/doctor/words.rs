//! What people call a check, and what helps where it fails.

use asb_node::doctor::Check;

pub(super) fn title(check: Check) -> &'static str {
    match check {
        Check::Root => "rights",
        Check::Kernel => "kernel",
        Check::Namespaces => "user namespaces",
        Check::Layers => "root file systems",
        Check::Cgroups => "limits",
        Check::Seccomp => "system calls",
        Check::Pidfds => "processes",
        Check::Network => "network",
        Check::Settings => "forwarding",
        Check::Quotas => "volume sizes",
        Check::Gvisor => "gVisor",
        Check::Kata => "Kata Containers",
        Check::Runc => "runc",
        Check::Disk => "disk",
        Check::Memory => "memory",
        Check::Clock => "clock",
    }
}

pub(super) fn remedy(check: Check) -> &'static str {
    match check {
        Check::Root => {
            "run it with sudo, which also tries the rest; inside a container, that must be a privileged one"
        }
        Check::Kernel => {
            "boot a newer kernel: Debian 12, Ubuntu 22.04 with its newer kernel, or any later system has one"
        }
        Check::Namespaces => {
            "allow user namespaces: `sysctl user.max_user_namespaces=15000`; inside a container, that must be a privileged one"
        }
        Check::Layers => "choose a data directory on ext4, xfs, btrfs or tmpfs with --data-dir",
        Check::Cgroups => {
            "mount cgroups with cpu, memory and pids, as systemd does; inside a container, writable"
        }
        Check::Seccomp => "use a kernel with CONFIG_SECCOMP_FILTER",
        Check::Pidfds => "use a kernel from 5.3 on, and a container whose filter knows pidfd_open",
        Check::Network => "load the modules: `modprobe -a nf_tables nft_chain_nat nft_ct nf_conntrack veth`",
        Check::Settings => "make /proc/sys/net writable; inside a container, that must be a privileged one",
        Check::Quotas => {
            "mount the file system of the data directory with the option prjquota, if sizes shall be enforced"
        }
        Check::Gvisor | Check::Kata | Check::Runc => {
            "install it, or name it with `asb up --runtime NAME=PATH`"
        }
        Check::Disk => {
            "make room, or choose another data directory with --data-dir; `asb image prune` removes unused images"
        }
        Check::Memory => "end something else, or suspend sandboxes with `asb suspend`",
        Check::Clock => "set the clock: certificates are for a time that this machine believes is not now",
    }
}
