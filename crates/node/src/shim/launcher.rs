//! The fork of the shim that builds one container with libcontainer, hands its first process over, and ends. It joins the
//! container's cgroups before it does anything, so that all that comes of it is in them from birth.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use libcontainer::container::builder::ContainerBuilder;
use libcontainer::error::LibcontainerError;
use libcontainer::syscall::syscall::SyscallType;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};

use super::cgroups::{self, Cgroup};
use super::diagnostics::Diagnostics;
use super::directory::Directory;
use super::executor::Confined;
use super::plan::{ContainerPlan, Mount, Overlay, Runtime, Source};
use super::protocol::{Attempt, send_whole};
use super::rootfs::{self, Layers, Mapping, Stage};
use super::sandbox::Sandbox;
use super::specification::{self, Surroundings};
use super::{oci, report};
use crate::sys::processes as sys;

/// What a child of the shim tells it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// With the terminal's descriptor.
    Terminal,
    /// With a descriptor of the process and, for a container, of the connection that starts it.
    Built {
        pid: i32,
    },
    Failed {
        message: String,
    },
}

/// What there is to build.
pub(super) struct Launch<'a> {
    pub(super) directory: &'a Directory,
    pub(super) sandbox: &'a Sandbox,
    pub(super) attempt: &'a Attempt,
    pub(super) plan: &'a ContainerPlan,
    pub(super) cgroup: &'a Cgroup,
    pub(super) control: OwnedFd,
    pub(super) report: OwnedFd,
    /// Those of the container; none with a terminal.
    pub(super) stdio: Option<[OwnedFd; 3]>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot {0}")]
    Step(&'static str, #[source] io::Error),
    #[error(transparent)]
    Cgroup(#[from] cgroups::Error),
    #[error(transparent)]
    Rootfs(#[from] rootfs::Error),
    #[error("the Pod has no volume {0:?} in memory")]
    NoVolume(String),
    #[error("cannot build the container: {cause}: {said}")]
    Libcontainer { cause: Box<LibcontainerError>, said: String },
}

/// The name that libcontainer knows it by, in a place where there is no other.
const NAME: &str = "container";

impl Launch<'_> {
    /// The descriptors that it needs.
    pub(super) fn keep(&self) -> Vec<i32> {
        let stdio = self.stdio.iter().flatten().map(AsFd::as_fd);
        let own = [self.control.as_fd(), self.report.as_fd()];
        super::child::numbers(own.into_iter().chain(stdio).chain(self.sandbox.descriptors()))
    }

    /// Runs in the fork, and says how it ends.
    pub(super) fn run(self) -> i32 {
        let Ok(control) = self.control.try_clone() else { return 1 };
        if let Some(program) = oci::Program::of(self.sandbox.plan(), self.directory) {
            return match self.become_runtime(&program) {
                Ok(()) => 0,
                Err(error) => i32::from(
                    send_whole(&control, &Report::Failed { message: crate::error::full(&error) }, &[])
                        .is_err(),
                ),
            };
        }
        let reported = match self.build() {
            Ok((pid, pidfd, start)) => {
                let descriptors = [pidfd.as_fd(), start.as_fd()];
                let reported =
                    send_whole(&control, &Report::Built { pid: pid.as_raw_nonzero().get() }, &descriptors);
                if reported.is_err() {
                    // Nobody is left who would start it.
                    let _ = kill_process(pid, Signal::KILL);
                }
                reported
            }
            Err(error) => send_whole(&control, &Report::Failed { message: crate::error::full(&error) }, &[]),
        };
        i32::from(reported.is_err())
    }

    fn build(self) -> Result<(Pid, OwnedFd, UnixStream), Error> {
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|error| Error::Step("depend on the shim", error.into()))?;
        self.withdraw()?;
        let views = self.cgroup.places().into_iter().map(|(name, at)| Ok((name, rootfs::view(at)?)));
        let cgroups = views.collect::<Result<Vec<_>, rootfs::Error>>()?;
        let stage = Stage::instead_of_cgroups()?;
        self.write_bundle(&stage, cgroups)?;
        let said = Diagnostics::collect().map_err(|error| Error::Step("collect diagnostics", error))?;
        let pid = self
            .call_libcontainer(&stage)
            .map_err(|cause| Error::Libcontainer { cause, said: said.text() })?;
        hand_over(&stage, pid)
    }

    /// Into the container's cgroups, and out of everybody's sight.
    fn withdraw(&self) -> Result<(), Error> {
        set_oom_score(self.plan.oom_score_adj)?;
        self.cgroup.join()?;
        Ok(rootfs::withdraw()?)
    }

    /// Makes the bundle and waits; then becomes the runtime. Returns if nobody starts it.
    fn become_runtime(self, program: &oci::Program<'_>) -> Result<(), Error> {
        self.withdraw()?;
        let stage = Stage::at(&self.directory.attempt(self.attempt).join("stage"))?;
        self.write_bundle(&stage, Vec::new())?;
        let failed = |error| Error::Step("connect the runtime", error);
        let (mut waiting, start) = UnixStream::pair().map_err(failed)?;
        let pid = rustix::process::getpid();
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
        oci::connect(self.stdio.as_ref(), |master| {
            send_whole(&self.control, &Report::Terminal, &[master.as_fd()])
        })
        .map_err(failed)?;
        let report = Report::Built { pid: pid.as_raw_nonzero().get() };
        send_whole(&self.control, &report, &[pidfd.as_fd(), start.as_fd()]).map_err(failed)?;
        drop(start);
        // Closed without a word when the shim is gone or has changed its mind.
        if io::Read::read(&mut waiting, &mut [0; 8]).map_err(failed)? > 0 {
            let failure = program.run(self.attempt, &stage.path("bundle"));
            report::tell(Some(self.report), &failure);
            sys::exit(report::NOT_STARTED);
        }
        Ok(())
    }

    /// None for runtimes that map ids themselves or not at all.
    fn mapping(&self) -> Option<Mapping<'_>> {
        let builtin = self.sandbox.plan().runtime == Runtime::Builtin;
        builtin.then(|| self.sandbox.mapping())
    }

    /// The owner of what is made for the container.
    fn root(&self) -> u32 {
        self.mapping().map_or(0, |mapping| mapping.root)
    }

    /// All that is mounted, and the specification that names it.
    fn write_bundle(&self, stage: &Stage, cgroups: Vec<(PathBuf, OwnedFd)>) -> Result<(), Error> {
        let root = stage.path("rootfs");
        self.mount_root(stage, &root)?;
        let sources = self.stage_mounts(stage)?;
        let binds: Vec<_> = self.stage_message(stage)?.into_iter().collect();
        let cgroups = stage.cgroups(cgroups)?;
        let namespaces = self.sandbox.namespaces();
        let around = Surroundings {
            cgroup: &self.sandbox.container_cgroup(self.attempt),
            rootfs: &root,
            namespaces: &namespaces,
            sharing: self.sandbox.plan().namespaces,
            sources: &sources,
            binds: &binds,
            cgroups: &cgroups,
        };
        let specification = match self.sandbox.plan().runtime {
            Runtime::Builtin => specification::builtin(self.plan, &around),
            Runtime::Oci { .. } => specification::foreign(self.plan, &around, &self.sandbox.plan().hostname),
        };
        fs::write(stage.path("bundle").join("config.json"), specification.to_string())
            .map_err(|error| Error::Step("write the container's specification", error))
    }

    fn mount_root(&self, stage: &Stage, root: &Path) -> Result<(), Error> {
        let writable = self.directory.attempt(self.attempt);
        let mapping = self.mapping();
        let plan = &self.plan.root;
        stage.overlay(
            &Layers { lowest_first: &plan.layers, writable: &writable, number: 0 },
            root,
            mapping,
        )?;
        for (number, overlay) in plan.overlays.iter().enumerate() {
            let Overlay { layers, .. } = overlay;
            let writable = writable.join("overlays").join(number.to_string());
            let layers = Layers { lowest_first: layers, writable: &writable, number: number + 1 };
            stage.sub_overlay(root, overlay, &layers, mapping, plan.read_only)?;
        }
        // As engines do with a working directory that the image lacks.
        rootfs::inside(root, &self.plan.process.cwd, self.root())?;
        Ok(())
    }

    fn stage_mounts(&self, stage: &Stage) -> Result<Vec<Option<PathBuf>>, Error> {
        let mounts = self.plan.mounts.iter().enumerate();
        mounts.map(|(number, mount)| self.stage_mount(stage, number, mount)).collect()
    }

    fn stage_mount(&self, stage: &Stage, number: usize, mount: &Mount) -> Result<Option<PathBuf>, Error> {
        let attributes = rootfs::volume_attributes(&mount.source, mount.read_only, self.mapping());
        let (path, sub_path) = match &mount.source {
            Source::Path { path, sub_path, .. } => (path.clone(), sub_path),
            Source::Memory { volume, sub_path } => (self.memory_volume(volume)?, sub_path),
            Source::Tmpfs { .. } => return Ok(None),
        };
        Ok(Some(stage.volume(number, &path, sub_path.as_deref(), attributes)?))
    }

    fn memory_volume(&self, name: &str) -> Result<PathBuf, Error> {
        let known = self.sandbox.plan().memory_volumes.iter().any(|volume| volume.name == name);
        if known { Ok(self.directory.memory(name)) } else { Err(Error::NoVolume(name.to_owned())) }
    }

    /// The file for the container's last words, which anyone in it may write.
    fn stage_message(&self, stage: &Stage) -> Result<Option<(PathBuf, PathBuf)>, Error> {
        let Some(target) = &self.plan.termination_message else { return Ok(None) };
        let file = self.directory.termination_message(self.attempt);
        let failed = |error| Error::Step("make the file for the termination message", error);
        fs::write(&file, "").map_err(failed)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).map_err(failed)?;
        chown(&file, Some(self.root()), Some(self.root())).map_err(failed)?;
        let number = self.plan.mounts.len();
        let place = stage.volume(number, &file, None, sys::MountAttributes::default())?;
        Ok(Some((place, target.clone())))
    }

    fn call_libcontainer(self, stage: &Stage) -> Result<Pid, Box<LibcontainerError>> {
        let executor = Confined {
            process: Rc::new(self.plan.process.clone()),
            control: Rc::new(self.control),
            report: Rc::new(self.report),
        };
        let mut builder = ContainerBuilder::new(NAME.to_owned(), SyscallType::default())
            .with_executor(executor)
            .with_root_path(stage.path("state"))?;
        if let Some([stdin, stdout, stderr]) = self.stdio {
            builder = builder.with_stdin(stdin).with_stdout(stdout).with_stderr(stderr);
        }
        let container =
            builder.as_init(stage.path("bundle")).with_systemd(false).with_detach(true).build()?;
        let pid = container.pid().and_then(|pid| Pid::from_raw(pid.as_raw()));
        Ok(pid.ok_or_else(|| LibcontainerError::Other("it has no first process".to_owned()))?)
    }
}

/// Opens what the shim needs of a process that waits for its start.
fn hand_over(stage: &Stage, pid: Pid) -> Result<(Pid, OwnedFd, UnixStream), Error> {
    let handed = || {
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        let start = UnixStream::connect(stage.path("state").join(NAME).join("notify.sock"))?;
        Ok((pid, pidfd, start))
    };
    handed().map_err(|error| Error::Step("reach the container's first process", error))
}

/// Without the right to lower it, it stays where it is: a container that is killed sooner than it asked for still runs.
pub(super) fn set_oom_score(score: i32) -> Result<(), Error> {
    match fs::write("/proc/self/oom_score_adj", score.to_string()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other.map_err(|error| Error::Step("set the OOM score", error)),
    }
}
