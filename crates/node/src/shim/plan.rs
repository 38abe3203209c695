//! What a Pod's shim is asked to run, as data: everything is decided by then, and the shim has no choices left.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The version of the plans and of the protocol. A daemon talks to shims of its own version only.
pub const VERSION: u32 = 1;

/// What all containers of a Pod share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SandboxPlan {
    /// The Pod's UID.
    pub uid: String,
    pub hostname: String,
    pub ids: IdRange,
    pub namespaces: Sharing,
    /// Of the Pod's network and IPC namespaces, by dotted name.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// The Pod's cgroup, relative to the root of each hierarchy. Containers are its children.
    pub cgroup: PathBuf,
    #[serde(default)]
    pub limits: Limits,
    /// Volumes in memory: they live as long as the shim, and containers that restart find them again.
    #[serde(default)]
    pub memory_volumes: Vec<MemoryVolume>,
    #[serde(default)]
    pub runtime: Runtime,
}

/// The ids of the Pod on this machine: its 0 is `first` here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IdRange {
    pub first: u32,
    pub count: u32,
}

/// Which namespaces are not the container's own. User namespaces are always the Pod's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sharing {
    /// Network and host name of the machine, not of the Pod.
    #[serde(default)]
    pub host_network: bool,
    #[serde(default)]
    pub host_ipc: bool,
    /// One pid namespace for all containers (`shareProcessNamespace`).
    #[serde(default)]
    pub pod_processes: bool,
}

/// Limits as cgroups know them; none means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Bytes.
    pub memory: Option<u64>,
    pub cpu: Option<CpuQuota>,
    /// Relative weight as cgroup v1 counts it: 1024 for one CPU.
    pub cpu_shares: Option<u64>,
    pub pids: Option<u64>,
}

/// So many microseconds of CPU in each period of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CpuQuota {
    pub quota: u64,
    pub period: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryVolume {
    pub name: String,
    /// Bytes.
    pub size: Option<u64>,
    pub mode: u32,
    /// The owning group, as the container sees it.
    #[serde(default)]
    pub gid: u32,
}

/// Who runs the containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Runtime {
    #[default]
    Builtin,
    /// An OCI runtime program. It isolates in its own way, so ids are not mapped for it.
    Oci { binary: PathBuf, arguments: Vec<String> },
}

/// One attempt at one container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContainerPlan {
    pub root: Root,
    pub process: Process,
    /// In the order in which they are mounted.
    #[serde(default)]
    pub mounts: Vec<Mount>,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub oom_score_adj: i32,
    /// Kernel files that read as empty.
    pub masked_paths: Vec<PathBuf>,
    pub read_only_paths: Vec<PathBuf>,
    pub stdin: Stdin,
    pub log: Option<Log>,
    /// Where in the container its last words are written to.
    pub termination_message: Option<PathBuf>,
}

/// The root file system: layers of an image under a writable layer of the attempt's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Root {
    /// Lowest first.
    pub layers: Vec<PathBuf>,
    /// Further overlays below it, for what cannot be a layer of the root because it is a mount of its own.
    #[serde(default)]
    pub overlays: Vec<Overlay>,
    #[serde(default)]
    pub read_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Overlay {
    pub target: PathBuf,
    /// Lowest first.
    pub layers: Vec<PathBuf>,
}

/// A process of a container: its first, or one that is executed in it later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Process {
    pub args: Vec<String>,
    /// `NAME=value`.
    pub env: Vec<String>,
    pub cwd: PathBuf,
    pub user: User,
    /// Without the `CAP_`. See [`crate::shim::capabilities::DEFAULT`].
    pub capabilities: Vec<String>,
    /// No gain by set-user-id programs. Kubernetes' default for Pods that say nothing is to allow it. Ours is to forbid it:
    /// agents run code that nobody read, and a Pod that wants `sudo` can say `allowPrivilegeEscalation: true`. The gain is
    /// then that of the container's root, in the Pod's user namespace and within the bounding set; never the machine's.
    pub no_new_privileges: bool,
    pub seccomp: Seccomp,
    #[serde(default)]
    pub rlimits: Vec<Rlimit>,
    #[serde(default)]
    pub tty: bool,
}

/// Ids as the container sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    #[serde(default)]
    pub groups: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Seccomp {
    #[default]
    Default,
    Unconfined,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rlimit {
    /// As `setrlimit` numbers it.
    pub resource: u32,
    pub soft: u64,
    pub hard: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mount {
    pub source: Source,
    pub target: PathBuf,
    #[serde(default)]
    pub read_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Source {
    /// A directory or file of this machine. `sub_path` is followed inside it and nowhere else, and made if it is missing.
    #[serde(rename_all = "camelCase")]
    Path { path: PathBuf, sub_path: Option<PathBuf>, recursive: bool },
    /// One of the Pod's volumes in memory.
    #[serde(rename_all = "camelCase")]
    Memory { volume: String, sub_path: Option<PathBuf> },
    /// Empty at each start.
    Tmpfs { size: Option<u64>, mode: u32 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stdin {
    /// There is nothing to read.
    #[default]
    Closed,
    /// Ends when the first who attached to it leaves.
    Once,
    /// Stays open.
    Open,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Log {
    pub path: PathBuf,
    /// A file that would grow beyond it is put aside.
    pub max_bytes: u64,
    /// Files that are kept, the current one included.
    pub max_files: u32,
}

/// What runtimes hide by default: what tells of the machine and cannot be shared.
pub const MASKED_PATHS: &[&str] = &[
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
];

/// Kernel files with an effect when they are written. Those of pressure are open to everybody: who writes there has the kernel
/// watch the whole machine for him.
pub const READ_ONLY_PATHS: &[&str] =
    &["/proc/bus", "/proc/fs", "/proc/irq", "/proc/pressure", "/proc/sys", "/proc/sysrq-trigger"];
