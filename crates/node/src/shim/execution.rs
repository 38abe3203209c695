//! One process that was executed in a container, as the shim sees it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::cgroups;
use super::child::{Birth, spawn};
use super::container::{Container, Control, Error, Inquiry, Outcome, Waiter, ended_early};
use super::directory::Directory;
use super::exec::Execution;
use super::launcher::Report;
use super::oci;
use super::output::give;
use super::plan::Process;
use super::protocol::{Attempt, Reason, Status};
use super::report::Failure;
use super::sandbox::Sandbox;
use crate::sys::processes::Offspring;

pub(super) struct Exec {
    /// The fork that enters the container.
    pub(super) enterer: Pid,
    /// Both until it is known whether the program runs.
    control: Option<Control>,
    report: Option<Inquiry>,
    /// Until it has ended.
    pub(super) process: Option<Offspring>,
    terminal: Option<OwnedFd>,
    /// Who waits for the start.
    pub(super) starter: Option<Waiter>,
    /// Who waits for the end.
    pub(super) waiter: Option<Waiter>,
    pub(super) status: Option<Status>,
    /// Its program never ran.
    pub(super) failed: bool,
}

/// What became of a start.
pub(super) type Started = Result<(i32, Option<OwnedFd>), Failure>;

impl Exec {
    pub(super) fn begin(
        container: &Container,
        attempt: &Attempt,
        sandbox: &Sandbox,
        directory: &Directory,
        process: &Process,
        stdio: Option<[OwnedFd; 3]>,
        starter: Waiter,
    ) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::Step("make the pipes of a process", error);
        let refused = || Error::Step("execute a process", io::Error::other("the container does not run"));
        let (control, theirs) = Control::pair().map_err(failed)?;
        let (read_report, report) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        let user = sandbox.on_machine(process.user.uid);
        stdio.iter().flatten().try_for_each(|pipe| give(pipe, user)).map_err(failed)?;
        let described = directory.attempt(attempt).join(format!("process-{starter}.json"));
        let birthplace = container.cgroup.birthplace()?;
        let execution = Execution {
            init: container.init.as_ref().ok_or_else(refused)?.pidfd.as_fd(),
            cgroup: &container.cgroup,
            sharing: sandbox.plan().namespaces,
            oom_score_adj: container.plan.oom_score_adj,
            process,
            runtime: oci::Program::of(sandbox.plan(), directory).map(|program| (program, described)),
            attempt,
            control: theirs,
            report,
            stdio,
        };
        let birth = Birth {
            cgroup: cgroups::borrowed(birthplace.as_ref()),
            keep: execution.keep(),
            ..Birth::default()
        };
        let enterer = spawn(&birth, || execution.run()).map_err(|error| Error::Step("fork", error))?;
        Ok(Self {
            enterer: enterer.pid,
            control: Some(control),
            report: Some(Inquiry::new(read_report).map_err(failed)?),
            process: None,
            terminal: None,
            starter: Some(starter),
            waiter: None,
            status: None,
            failed: false,
        })
    }

    /// What can be heard from, until it runs.
    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let report = self.report.as_ref().map(Inquiry::descriptor);
        let control = self.control.as_ref().filter(|_| self.process.is_none() && self.report.is_some());
        report.into_iter().chain(control.map(Control::socket)).collect()
    }

    /// Takes what there is, and says what became of the start when that is known.
    pub(super) fn hear(&mut self) -> Option<Started> {
        // Asked first: the enterer says who the process is before it lets go of the report.
        let outcome = self.report.as_mut().map(Inquiry::outcome);
        if let Some(message) = self.hear_enterer() {
            self.decided();
            return Some(Err(Failure { reason: Reason::Setup, message }));
        }
        let started = match (outcome?, &self.process) {
            (Outcome::Undecided, _) => return None,
            (Outcome::Failed(failure), _) => Err(failure),
            (Outcome::Runs, Some(process)) => Ok((process.pid.as_raw_nonzero().get(), self.terminal.take())),
            (Outcome::Runs, None) => Err(ended_early(Status::Code(0))),
        };
        self.decided();
        Some(started)
    }

    /// Whether nobody has said yet who the process is.
    pub(super) fn is_entering(&self) -> bool {
        self.process.is_none() && self.status.is_none() && self.report.is_some()
    }

    fn decided(&mut self) {
        (self.report, self.control) = (None, None);
        self.let_go();
    }

    pub(super) fn ended(&mut self, status: Status) {
        self.status = Some(status);
        self.let_go();
    }

    /// Of one that has ended only the status is kept: nobody may ever ask for it.
    fn let_go(&mut self) {
        if self.status.is_some() && self.report.is_none() {
            (self.process, self.terminal) = (None, None);
        }
    }

    fn hear_enterer(&mut self) -> Option<String> {
        let received = self.control.as_mut().map(Control::receive);
        for (report, mut descriptors) in received.into_iter().flatten() {
            match report {
                Report::Terminal => self.terminal = descriptors.pop(),
                Report::Failed { message } => return Some(message),
                Report::Built { pid } => {
                    let handed = Pid::from_raw(pid).zip(descriptors.pop());
                    self.process = handed.map(|(pid, pidfd)| Offspring { pid, pidfd });
                }
            }
        }
        None
    }
}
