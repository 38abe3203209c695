//! The fork of the shim that runs one more process in a container: it joins the container's cgroups, then all of its
//! namespaces at once, and leaves a sibling behind that becomes the program under the same confinement as the first.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::process::{DumpableBehavior, set_dumpable_behavior, setsid};
use rustix::thread::{
    Gid, ThreadNameSpaceType, Uid, move_into_thread_name_spaces, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use super::cgroups::{self, Cgroup};
use super::launcher::{self, Report, set_oom_score};
use super::plan::{Process, Sharing};
use super::protocol::{Attempt, Reason, send_whole};
use super::terminal::{self, Terminal};
use super::{confinement, oci, report};
use crate::sys::processes::{self as sys, Forked, Offspring};

/// What there is to execute, and where.
pub(super) struct Execution<'a> {
    /// A descriptor of the container's first process.
    pub(super) init: BorrowedFd<'a>,
    pub(super) cgroup: &'a Cgroup,
    pub(super) sharing: Sharing,
    pub(super) oom_score_adj: i32,
    pub(super) process: &'a Process,
    /// A runtime other than ours, with the file that describes the process.
    pub(super) runtime: Option<(oci::Program<'a>, PathBuf)>,
    pub(super) attempt: &'a Attempt,
    pub(super) control: OwnedFd,
    pub(super) report: OwnedFd,
    /// None with a terminal.
    pub(super) stdio: Option<[OwnedFd; 3]>,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot {0}")]
    Step(&'static str, #[source] io::Error),
    #[error(transparent)]
    Cgroup(#[from] cgroups::Error),
    #[error(transparent)]
    Launcher(#[from] launcher::Error),
}

impl Execution<'_> {
    /// The descriptors that it needs.
    pub(super) fn keep(&self) -> Vec<i32> {
        let stdio = self.stdio.iter().flatten().map(AsFd::as_fd);
        let own = [self.init, self.control.as_fd(), self.report.as_fd()];
        super::child::numbers(own.into_iter().chain(stdio))
    }

    /// Runs in the fork, and says how it ends.
    pub(super) fn run(self) -> i32 {
        let reported = match self.enter() {
            Ok(process) => {
                let pid = process.pid.as_raw_nonzero().get();
                send_whole(&self.control, &Report::Built { pid }, &[process.pidfd.as_fd()])
            }
            Err(error) => {
                send_whole(&self.control, &Report::Failed { message: crate::error::full(&error) }, &[])
            }
        };
        i32::from(reported.is_err())
    }

    fn enter(&self) -> Result<Offspring, Error> {
        // Half way in, nobody in there may look at us.
        step("become undumpable", set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
        set_oom_score(self.oom_score_adj)?;
        self.cgroup.join()?;
        if let Some((_, file)) = &self.runtime {
            oci::write_process(file, self.process)
                .map_err(|error| Error::Step("describe the process", error))?;
            return self.leave_sibling(None);
        }
        step("enter the container", move_into_thread_name_spaces(self.init, self.namespaces()))?;
        step("set the group", set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT))?;
        step("set the groups", set_thread_groups(&[]))?;
        step("become root of the Pod", set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT))?;
        let made = self.process.tty.then(terminal::make).transpose();
        let made = made.map_err(|error| Error::Step("make a terminal", error))?;
        if let Some(terminal) = &made {
            send_whole(&self.control, &Report::Terminal, &[terminal.master.as_fd()])
                .map_err(|error| Error::Step("hand the terminal over", error))?;
        }
        self.leave_sibling(made)
    }

    fn namespaces(&self) -> ThreadNameSpaceType {
        let mut wanted = ThreadNameSpaceType::USER
            | ThreadNameSpaceType::MOUNT
            | ThreadNameSpaceType::PROCESS_ID
            | ThreadNameSpaceType::CONTROL_GROUP;
        if !self.sharing.host_network {
            wanted |= ThreadNameSpaceType::NETWORK | ThreadNameSpaceType::HOST_NAME_AND_NIS_DOMAIN_NAME;
        }
        if !self.sharing.host_ipc {
            wanted |= ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION;
        }
        wanted
    }

    /// In the container's pid namespace, which only children enter, and the shim's child, which only siblings are.
    fn leave_sibling(&self, made: Option<Terminal>) -> Result<Offspring, Error> {
        match sys::fork(libc::CLONE_PARENT, None).map_err(|error| Error::Step("fork", error))? {
            Forked::Parent(offspring) => Ok(offspring),
            Forked::Child => {
                if let Some((program, file)) = &self.runtime {
                    self.become_runtime(program, file);
                }
                let (error, descriptor) = match self.connect(made) {
                    Ok(()) => confinement::become_program(self.process, &self.report),
                    Err(error) => {
                        (confinement::Error::Step("connect the process", error), self.report.try_clone().ok())
                    }
                };
                report::failure(descriptor, &error);
                sys::exit(report::NOT_STARTED)
            }
        }
    }

    fn become_runtime(&self, program: &oci::Program<'_>, file: &Path) -> ! {
        let tell = |master: &OwnedFd| send_whole(&self.control, &Report::Terminal, &[master.as_fd()]);
        let failure = match oci::connect(self.stdio.as_ref(), tell) {
            Ok(()) => {
                program.await_running(self.attempt, self.init);
                program.exec(self.attempt, file)
            }
            Err(error) => {
                report::Failure { reason: Reason::Setup, message: format!("cannot connect: {error}") }
            }
        };
        report::tell(self.report.try_clone().ok(), &failure);
        sys::exit(report::NOT_STARTED)
    }

    fn connect(&self, made: Option<Terminal>) -> io::Result<()> {
        setsid()?;
        if let Some(terminal) = made {
            return terminal::adopt(&terminal.slave, self.process.user.uid);
        }
        let stdio = self.stdio.iter().flatten().zip(0..);
        stdio
            .into_iter()
            .try_for_each(|(descriptor, number)| sys::install_descriptor(descriptor.as_fd(), number))
    }
}

fn step<T>(what: &'static str, result: Result<T, rustix::io::Errno>) -> Result<T, Error> {
    result.map_err(|error| Error::Step(what, error.into()))
}
