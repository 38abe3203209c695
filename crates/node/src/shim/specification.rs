//! The container in the words of the OCI runtime specification, for libcontainer and for other runtimes.

use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::plan::{ContainerPlan, Mount, Seccomp, Sharing, Source};
use super::rootfs::CGROUPS;
use super::{oci, seccomp};

/// What the specification refers to beyond the plan.
pub(super) struct Surroundings<'a> {
    pub(super) cgroup: &'a Path,
    pub(super) rootfs: &'a Path,
    pub(super) namespaces: &'a [(&'static str, Option<RawFd>)],
    pub(super) sharing: Sharing,
    /// Where the source of each mount is found, in the order of the plan's mounts; none for those in memory.
    pub(super) sources: &'a [Option<PathBuf>],
    /// Further binds: source, target, read-only.
    pub(super) binds: &'a [(PathBuf, PathBuf)],
    /// The container's own cgroups: source and target.
    pub(super) cgroups: &'a [(PathBuf, PathBuf)],
}

/// Ids, groups, capabilities and the filter are left out: see `confinement`, which does them for every process alike.
pub(super) fn builtin(plan: &ContainerPlan, around: &Surroundings<'_>) -> Value {
    json!({
        "ociVersion": "1.2.0",
        "root": { "path": around.rootfs, "readonly": plan.root.read_only },
        "process": {
            "terminal": false,
            "user": { "uid": 0, "gid": 0 },
            "args": ["-"],
            "env": ["PATH=/"],
            "cwd": "/",
        },
        "mounts": mounts(plan, around),
        "linux": {
            "namespaces": namespaces(around.namespaces),
            "cgroupsPath": Path::new("/").join(around.cgroup),
            "maskedPaths": plan.masked_paths,
            "readonlyPaths": plan.read_only_paths,
            "rootfsPropagation": "private",
        },
    })
}

/// For a runtime that does all of it by itself. It joins the Pod's network; the rest is its own.
pub(super) fn foreign(plan: &ContainerPlan, around: &Surroundings<'_>, hostname: &str) -> Value {
    let shim = std::os::unix::process::parent_id();
    let joined = around.namespaces.iter().find(|(kind, _)| *kind == "network").and_then(|(_, held)| *held);
    let network = joined.map(|held| json!({ "type": "network", "path": format!("/proc/{shim}/fd/{held}") }));
    let own = ["pid", "mount", "ipc", "uts"].map(|kind| json!({ "type": kind }));
    let filter = (plan.process.seccomp == Seccomp::Default).then(seccomp::specification);
    json!({
        "ociVersion": "1.0.2",
        "root": { "path": around.rootfs, "readonly": plan.root.read_only },
        "hostname": hostname,
        "process": oci::process(&plan.process),
        "mounts": mounts(plan, around),
        "linux": {
            "namespaces": own.into_iter().chain(network).collect::<Vec<_>>(),
            "cgroupsPath": Path::new("/").join(around.cgroup).join("runtime"),
            "maskedPaths": plan.masked_paths,
            "readonlyPaths": plan.read_only_paths,
            "rootfsPropagation": "private",
            "seccomp": filter,
        },
    })
}

/// Those of the Pod are joined by their descriptors, which processes inherit; the others are made.
fn namespaces(wanted: &[(&'static str, Option<RawFd>)]) -> Vec<Value> {
    let value = |(kind, descriptor): &(&str, Option<RawFd>)| match descriptor {
        Some(descriptor) => json!({ "type": kind, "path": format!("/proc/self/fd/{descriptor}") }),
        None => json!({ "type": kind }),
    };
    wanted.iter().map(value).collect()
}

fn mounts(plan: &ContainerPlan, around: &Surroundings<'_>) -> Vec<Value> {
    let mut mounts = kernel_mounts(around);
    let asked = plan.mounts.iter().zip(around.sources);
    mounts.extend(asked.map(|(mount, source)| match source {
        Some(place) => bind(place, &mount.target),
        None => tmpfs(mount),
    }));
    mounts.extend(around.binds.iter().map(|(source, target)| bind(source, target)));
    mounts
}

fn kernel_mounts(around: &Surroundings<'_>) -> Vec<Value> {
    let quiet = ["nosuid", "noexec", "nodev"];
    let mut mounts = vec![
        mount("/proc", "proc", &quiet),
        mount("/dev", "tmpfs", &["nosuid", "noexec", "mode=755", "size=64k"]),
        mount(
            "/dev/pts",
            "devpts",
            &["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
        ),
        // The container's own; a volume in memory at the same place makes it the Pod's.
        mount("/dev/shm", "tmpfs", &["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]),
    ];
    // The machine's own belong to it, and the kernel refuses to mount them for a Pod.
    if !around.sharing.host_ipc {
        mounts.push(mount("/dev/mqueue", "mqueue", &quiet));
    }
    // The network's part of it belongs to the machine then, and the kernel refuses the whole.
    if !around.sharing.host_network {
        mounts.push(mount("/sys", "sysfs", &["nosuid", "noexec", "nodev", "ro"]));
        // Those of version 1 are several, and need a directory.
        if around.cgroups.len() > 1 {
            mounts.push(mount(CGROUPS, "tmpfs", &["nosuid", "noexec", "nodev", "mode=755", "size=16k"]));
        }
        mounts.extend(around.cgroups.iter().map(|(source, target)| bind(source, target)));
    }
    mounts
}

fn mount(target: &str, kind: &str, options: &[&str]) -> Value {
    json!({ "destination": target, "type": kind, "source": kind, "options": options })
}

/// Its options are those that the source was given on the stage.
fn bind(source: &Path, target: &Path) -> Value {
    json!({ "destination": target, "type": "bind", "source": source, "options": ["rbind"] })
}

fn tmpfs(mount: &Mount) -> Value {
    let mut options = vec!["nosuid".to_owned(), "nodev".to_owned()];
    if let Source::Tmpfs { size, mode } = &mount.source {
        options.push(format!("mode={mode:o}"));
        options.extend(size.map(|size| format!("size={size}")));
    }
    if mount.read_only {
        options.push("ro".to_owned());
    }
    json!({ "destination": mount.target, "type": "tmpfs", "source": "tmpfs", "options": options })
}
