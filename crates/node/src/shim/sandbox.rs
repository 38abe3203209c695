//! What a Pod's containers share: its user namespace and, made inside it, its network, IPC and host name; held by
//! descriptors, so that they live as long as the shim or any process in them.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount};
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::cgroups::{self, Cgroup, Hierarchies};
use super::child::{Birth, numbers, spawn};
use super::directory::Directory;
use super::pause;
use super::plan::{MemoryVolume, Runtime, SandboxPlan, Sharing};
use super::protocol::Attempt;
use super::rootfs::{self, Mapping};
use crate::sys::processes::Offspring;

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot {0}")]
    Step(&'static str, #[source] io::Error),
    #[error("cannot set {name} to {value:?} in the Pod")]
    Sysctl { name: String, value: String, source: io::Error },
    #[error("containers could change the program at {0}: others than its owner may write it")]
    ProgramWritable(PathBuf),
    #[error("an id range of {0} ids cannot hold the Pod's users")]
    Ids(u32),
    #[error(transparent)]
    Cgroup(#[from] cgroups::Error),
    #[error(transparent)]
    Rootfs(#[from] rootfs::Error),
}

/// A Pod as it exists on this machine.
pub(super) struct Sandbox {
    plan: SandboxPlan,
    hierarchies: Hierarchies,
    cgroup: Cgroup,
    user: OwnedFd,
    network: Option<OwnedFd>,
    uts: Option<OwnedFd>,
    ipc: Option<OwnedFd>,
    /// Of a pid namespace that all containers share, with its first process.
    processes: Option<(OwnedFd, Offspring)>,
}

impl Sandbox {
    /// Makes all of it. The calling process must not have made one before.
    pub(super) fn create(directory: &Directory, plan: SandboxPlan) -> Result<Self, Error> {
        if plan.ids.count < 1 || plan.ids.first.checked_add(plan.ids.count).is_none() {
            return Err(Error::Ids(plan.ids.count));
        }
        check_program(&plan)?;
        rootfs::withdraw()?;
        let hierarchies = Hierarchies::discover()?;
        let cgroup = hierarchies.create(&plan.cgroup)?;
        cgroup.limit(&plan.limits)?;
        for volume in &plan.memory_volumes {
            let root = if plan.runtime == Runtime::Builtin { plan.ids.first } else { 0 };
            mount_memory(&directory.memory(&volume.name), volume, root)?;
        }
        let (pod, namespaces) = make_namespaces(&plan, &hierarchies)?;
        Ok(Self {
            user: namespaces.open("user")?,
            network: (!plan.namespaces.host_network).then(|| namespaces.open("net")).transpose()?,
            uts: (!plan.namespaces.host_network).then(|| namespaces.open("uts")).transpose()?,
            ipc: (!plan.namespaces.host_ipc).then(|| namespaces.open("ipc")).transpose()?,
            processes: namespaces.release(pod, plan.namespaces.pod_processes)?,
            plan,
            hierarchies,
            cgroup,
        })
    }

    pub(super) fn plan(&self) -> &SandboxPlan {
        &self.plan
    }

    pub(super) fn cgroup(&self) -> &Cgroup {
        &self.cgroup
    }

    pub(super) fn hierarchies(&self) -> &Hierarchies {
        &self.hierarchies
    }

    pub(super) fn network(&self) -> Option<BorrowedFd<'_>> {
        self.network.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn mapping(&self) -> Mapping<'_> {
        Mapping { namespace: self.user.as_fd(), root: self.plan.ids.first }
    }

    /// Who a user of the container is on this machine.
    pub(super) fn on_machine(&self, user: u32) -> u32 {
        match self.plan.runtime {
            Runtime::Builtin => self.plan.ids.first.saturating_add(user),
            Runtime::Oci { .. } => user,
        }
    }

    pub(super) fn container_cgroup(&self, attempt: &Attempt) -> PathBuf {
        self.plan.cgroup.join(format!("{}.{}", attempt.container, attempt.number))
    }

    /// Which namespaces a container joins, and which it gets for itself.
    pub(super) fn namespaces(&self) -> Vec<(&'static str, Option<RawFd>)> {
        let number = |descriptor: &OwnedFd| Some(descriptor.as_raw_fd());
        let mut wanted = vec![("user", number(&self.user)), ("mount", None), ("cgroup", None)];
        wanted.push(("pid", self.processes.as_ref().and_then(|(namespace, _)| number(namespace))));
        let shared = [("network", &self.network), ("uts", &self.uts), ("ipc", &self.ipc)];
        wanted.extend(
            shared.into_iter().filter_map(|(kind, held)| held.as_ref().map(|held| (kind, number(held)))),
        );
        wanted
    }

    /// What a child that joins them needs.
    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let held = [Some(&self.user), self.network.as_ref(), self.uts.as_ref(), self.ipc.as_ref()];
        let processes = self.processes.as_ref().map(|(namespace, _)| namespace);
        held.into_iter().chain([processes]).flatten().map(AsFd::as_fd).collect()
    }
}

/// A container can have its kernel execute this program, and find it in /proc. It cannot write it, because its owner is
/// nobody that the Pod's user namespace knows: unless the file itself lets others.
fn check_program(plan: &SandboxPlan) -> Result<(), Error> {
    let program = PathBuf::from("/proc/self/exe");
    let failed = |error| Error::Step("look at this program", error);
    let metadata = fs::metadata(&program).map_err(failed)?;
    let range = plan.ids.first..plan.ids.first + plan.ids.count;
    if metadata.mode() & 0o002 != 0 || range.contains(&metadata.uid()) || range.contains(&metadata.gid()) {
        return Err(Error::ProgramWritable(fs::read_link(&program).map_err(failed)?));
    }
    Ok(())
}

fn mount_memory(place: &Path, volume: &MemoryVolume, root: u32) -> Result<(), Error> {
    let failed = |error: io::Error| Error::Step("mount a volume in memory", error);
    fs::create_dir_all(place).map_err(failed)?;
    let size = volume.size.map(|size| format!(",size={size}")).unwrap_or_default();
    let options = format!("mode={:o},uid={root},gid={}{size}", volume.mode, root + volume.gid);
    let options = std::ffi::CString::new(options).map_err(|error| failed(error.into()))?;
    mount("tmpfs", place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(options.as_c_str()))
        .map_err(|error| failed(error.into()))
}

/// The process that is in the namespaces before anybody else, and the pipe whose end it waits for.
struct Made {
    proc: PathBuf,
    go: File,
}

impl Made {
    fn open(&self, name: &str) -> Result<OwnedFd, Error> {
        let opened = File::open(self.proc.join("ns").join(name));
        opened.map(OwnedFd::from).map_err(|error| Error::Step("hold a namespace of the Pod", error))
    }

    /// Lets the process go, or stay as the first of a shared pid namespace.
    fn release(mut self, pod: Offspring, stays: bool) -> Result<Option<(OwnedFd, Offspring)>, Error> {
        if !stays {
            return Ok(None);
        }
        let namespace = self.open("pid")?;
        self.go.write_all(b"s").map_err(|error| Error::Step("keep the first process of the Pod", error))?;
        Ok(Some((namespace, pod)))
    }
}

fn make_namespaces(plan: &SandboxPlan, hierarchies: &Hierarchies) -> Result<(Offspring, Made), Error> {
    let failed = |error: io::Error| Error::Step("make the namespaces of the Pod", error);
    let (theirs, go) = io::pipe().map_err(failed)?;
    let (mut answer, tell) = io::pipe().map_err(failed)?;
    // Only a process that stays has to be found again.
    let pause = plan.cgroup.join("pause");
    let cgroup = plan.namespaces.pod_processes.then(|| hierarchies.create(&pause)).transpose()?;
    let birthplace = cgroup.as_ref().map(Cgroup::birthplace).transpose()?.flatten();
    let birth = Birth {
        flags: flags(plan.namespaces),
        cgroup: cgroups::borrowed(birthplace.as_ref()),
        keep: numbers([theirs.as_fd(), tell.as_fd()]),
    };
    let pod = spawn(&birth, || inhabit(plan, cgroup.as_ref(), file(theirs), file(tell))).map_err(failed)?;
    let proc = PathBuf::from(format!("/proc/{}", pod.pid.as_raw_nonzero()));
    let mut made = Made { proc, go: file(go) };
    let map = format!("0 {} {}", plan.ids.first, plan.ids.count);
    let mapped =
        fs::write(made.proc.join("uid_map"), &map).and_then(|()| fs::write(made.proc.join("gid_map"), &map));
    mapped.map_err(|error| Error::Step("map the ids of the Pod", error))?;
    made.go.write_all(b"g").map_err(failed)?;
    let mut said = String::new();
    // One byte for success, so as not to wait for the end; a sentence otherwise.
    let mut first = [0];
    answer.read_exact(&mut first).map_err(failed)?;
    if first == *b"!" {
        return Ok((pod, made));
    }
    answer.read_to_string(&mut said).map_err(failed)?;
    Err(failed(io::Error::other(said)))
}

fn file(pipe: impl Into<OwnedFd>) -> File {
    File::from(pipe.into())
}

fn flags(sharing: Sharing) -> libc::c_int {
    let mut flags = libc::CLONE_NEWUSER;
    if !sharing.host_network {
        flags |= libc::CLONE_NEWNET | libc::CLONE_NEWUTS;
    }
    if !sharing.host_ipc {
        flags |= libc::CLONE_NEWIPC;
    }
    if sharing.pod_processes {
        flags |= libc::CLONE_NEWPID;
    }
    flags
}

/// In the new namespaces: sets them up, tells, and waits to be let go.
fn inhabit(plan: &SandboxPlan, cgroup: Option<&Cgroup>, mut go: File, mut tell: File) -> i32 {
    let told = match set_up(plan, cgroup, &mut go) {
        Ok(()) => tell.write_all(b"!"),
        Err(error) => tell.write_all(format!("?{}", crate::error::full(&error)).as_bytes()),
    };
    drop(tell);
    let mut stay = [0];
    match (told, go.read(&mut stay)) {
        (Ok(()), Ok(1)) => pause::wait_for_ever(),
        (Ok(()), _) => 0,
        _ => 1,
    }
}

fn set_up(plan: &SandboxPlan, cgroup: Option<&Cgroup>, go: &mut File) -> Result<(), Error> {
    // By itself, while it still may.
    if let Some(cgroup) = cgroup {
        cgroup.join()?;
    }
    go.read_exact(&mut [0]).map_err(|error| Error::Step("wait for the mapping of ids", error))?;
    let root = || {
        set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT)?;
        set_thread_groups(&[])?;
        set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT)
    };
    root().map_err(|error| Error::Step("become root of the Pod", error.into()))?;
    if !plan.namespaces.host_network {
        rustix::system::sethostname(plan.hostname.as_bytes())
            .map_err(|error| Error::Step("set the host name", error.into()))?;
    }
    plan.sysctls.iter().try_for_each(|(name, value)| set_sysctl(name, value))
}

/// Only what has namespaces: the others are the machine's, and the kernel refuses them to the Pod's root.
fn set_sysctl(name: &str, value: &str) -> Result<(), Error> {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    let written =
        File::options().write(true).open(path).and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|source| Error::Sysctl { name: name.to_owned(), value: value.to_owned(), source })
}
