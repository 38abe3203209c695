//! One attempt at a container as the shim sees it, from its building to its removal.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use jiff::Timestamp;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::cgroups::{self, Cgroup};
use super::child::{Birth, spawn};
use super::directory::Directory;
use super::launcher::{Launch, Report};
use super::logs::LogFile;
use super::output::{Output, give};
use super::plan::{ContainerPlan, Stdin};
use super::protocol::{Attempt, ContainerState, Exit, Inbox, Phase, Reason, Status};
use super::report::{self, Failure};
use super::sandbox::Sandbox;
use crate::sys::processes::Offspring;

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot {0}")]
    Step(&'static str, #[source] io::Error),
    #[error(transparent)]
    Cgroup(#[from] cgroups::Error),
}

/// Who waits for an answer.
pub(super) type Waiter = u64;

pub(super) struct Container {
    pub(super) plan: ContainerPlan,
    pub(super) cgroup: Cgroup,
    pub(super) stage: Stage,
    pub(super) frozen: bool,
    /// Its first process.
    pub(super) init: Option<Offspring>,
    outputs: Vec<Output>,
    log: LogFile,
    stdin: Option<OwnedFd>,
    terminal: Option<OwnedFd>,
}

/// How far it is. Those who wait for the next stage are remembered in the one before.
pub(super) enum Stage {
    Building { launcher: Pid, control: Control, report: OwnedFd, waiter: Waiter },
    Created { start: OwnedFd, report: OwnedFd },
    Starting { report: Inquiry, waiter: Waiter },
    Running { started_at: Timestamp },
    Exited { exit: Exit },
    Removing { exit: Exit, remover: Pid, waiter: Waiter },
}

/// The shim's end of what a fork of it tells.
pub(super) struct Control {
    socket: OwnedFd,
    inbox: Inbox,
}

impl Control {
    /// Both ends.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok((Self { socket: ours, inbox: Inbox::default() }, theirs))
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// All that has arrived.
    pub(super) fn receive(&mut self) -> Vec<(Report, Vec<OwnedFd>)> {
        while matches!(self.inbox.receive(&self.socket), Ok(true)) {}
        let messages = std::iter::from_fn(|| self.inbox.take::<Report>().ok().flatten());
        messages.map(|message| (message.body, message.descriptors)).collect()
    }
}

/// The other end of a process that is about to become a program: it closes when it has, and says why when it has not.
pub(super) struct Inquiry {
    descriptor: File,
    text: Vec<u8>,
}

/// What became of a program that was to run.
pub(super) enum Outcome {
    Undecided,
    Runs,
    Failed(Failure),
}

impl Inquiry {
    pub(super) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&descriptor, true)?;
        Ok(Self { descriptor: File::from(descriptor), text: Vec::new() })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    pub(super) fn outcome(&mut self) -> Outcome {
        match self.descriptor.read_to_end(&mut self.text) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Outcome::Undecided,
            _ => report::read(&self.text).map_or(Outcome::Runs, Outcome::Failed),
        }
    }
}

impl Container {
    /// Starts to build it.
    pub(super) fn build(
        directory: &Directory,
        sandbox: &Sandbox,
        attempt: &Attempt,
        plan: ContainerPlan,
        waiter: Waiter,
    ) -> Result<Self, Error> {
        let cgroup = sandbox.hierarchies().create(&sandbox.container_cgroup(attempt))?;
        let failed = |error: io::Error| Error::Step("make the pipes of a container", error);
        let (control, theirs) = Control::pair().map_err(failed)?;
        let (read_report, report) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        let streams = if plan.process.tty {
            None
        } else {
            Some(Streams::new(plan.stdin, sandbox.on_machine(plan.process.user.uid)).map_err(failed)?)
        };
        let (outputs, stdin, inner) = Streams::split(streams);
        let birthplace = cgroup.birthplace()?;
        let launch = Launch {
            directory,
            sandbox,
            attempt,
            plan: &plan,
            cgroup: &cgroup,
            control: theirs,
            report,
            stdio: inner,
        };
        let birth =
            Birth { cgroup: cgroups::borrowed(birthplace.as_ref()), keep: launch.keep(), ..Birth::default() };
        let launcher = spawn(&birth, || launch.run()).map_err(|error| Error::Step("fork", error))?;
        Ok(Self {
            log: LogFile::new(plan.log.clone()),
            plan,
            cgroup,
            stage: Stage::Building { launcher: launcher.pid, control, report: read_report, waiter },
            frozen: false,
            init: None,
            outputs,
            stdin,
            terminal: None,
        })
    }

    /// Takes what its launcher says. An answer is due when it says that it is done.
    pub(super) fn hear(&mut self) -> Option<(Waiter, Result<i32, String>)> {
        let Stage::Building { control, waiter, .. } = &mut self.stage else { return None };
        let waiter = *waiter;
        for (report, mut descriptors) in control.receive() {
            match report {
                Report::Terminal => self.take_terminal(descriptors.pop()),
                Report::Failed { message } => return Some((waiter, Err(message))),
                Report::Built { pid } => {
                    let built = self.built(pid, descriptors);
                    return Some((waiter, built.map(|()| pid).map_err(|error| error.to_string())));
                }
            }
        }
        None
    }

    fn take_terminal(&mut self, master: Option<OwnedFd>) {
        let Some(master) = master else { return };
        let taken = master.try_clone().and_then(|copy| Output::new(copy, "stdout"));
        if let Ok(output) = taken {
            self.outputs.push(output);
            self.terminal = Some(master);
        }
    }

    fn built(&mut self, pid: i32, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        let (Some(pid), Ok([pidfd, start])) = (Pid::from_raw(pid), <[OwnedFd; 2]>::try_from(descriptors))
        else {
            return Err(io::Error::other("the launcher did not hand the process over"));
        };
        self.init = Some(Offspring { pid, pidfd });
        // Only now: the launcher and its kin count too.
        self.cgroup.limit(&self.plan.limits).map_err(|error| io::Error::other(crate::error::full(&error)))?;
        let never = Stage::Running { started_at: Timestamp::now() };
        if let Stage::Building { report, .. } = std::mem::replace(&mut self.stage, never) {
            self.stage = Stage::Created { start, report };
        }
        Ok(())
    }

    /// Lets its program run.
    pub(super) fn start(&mut self, waiter: Waiter) -> Result<(), Error> {
        let never = Stage::Running { started_at: Timestamp::now() };
        match std::mem::replace(&mut self.stage, never) {
            Stage::Created { start, report } => {
                let report = Inquiry::new(report).map_err(|error| Error::Step("watch the start", error))?;
                self.stage = Stage::Starting { report, waiter };
                // The process goes on when this connection is closed.
                // One that has died meanwhile is told of by its end.
                let _ = rustix::io::write(&start, b"start");
                Ok(())
            }
            other => {
                self.stage = other;
                let why = io::Error::other("it is not in the state to be started");
                Err(Error::Step("start the container", why))
            }
        }
    }

    /// Whether the program runs, once that is known.
    pub(super) fn check_start(&mut self) -> Option<(Waiter, Option<Failure>)> {
        let Stage::Starting { report, waiter } = &mut self.stage else { return None };
        let waiter = *waiter;
        match report.outcome() {
            Outcome::Undecided => None,
            Outcome::Failed(failure) => Some((waiter, Some(failure))),
            Outcome::Runs => {
                self.stage = Stage::Running { started_at: Timestamp::now() };
                Some((waiter, None))
            }
        }
    }

    /// All that there is to be heard from it: the launcher, the start, and the output.
    pub(super) fn descriptors(&self) -> Vec<(Source, BorrowedFd<'_>)> {
        let mut found: Vec<_> = match &self.stage {
            Stage::Building { control, .. } => vec![(Source::Launcher, control.socket())],
            Stage::Starting { report, .. } => vec![(Source::Start, report.descriptor())],
            _ => Vec::new(),
        };
        for (number, output) in self.outputs.iter().enumerate() {
            found.extend(output.source().map(|source| (Source::Output(number), source)));
        }
        found
    }

    pub(super) fn pump(&mut self, number: usize) {
        if let Some(output) = self.outputs.get_mut(number) {
            output.pump(&mut self.log);
        }
    }

    /// Records the end of its first process, and ends what it left behind.
    pub(super) fn end(
        &mut self,
        directory: &Directory,
        attempt: &Attempt,
        status: Status,
        failure: Option<String>,
    ) -> Exit {
        // A cgroup that is gone has nobody left.
        let _ = self.cgroup.kill_once();
        for mut output in self.outputs.drain(..) {
            output.drain(&mut self.log);
        }
        (self.stdin, self.terminal, self.init, self.frozen) = (None, None, None, false);
        let started_at = match &self.stage {
            Stage::Running { started_at } if failure.is_none() => Some(*started_at),
            _ => None,
        };
        let exit = Exit {
            status,
            oom_killed: self.cgroup.oom_kills().is_ok_and(|kills| kills > 0),
            started_at,
            finished_at: Timestamp::now(),
            message: last_words(directory, attempt),
            failure,
        };
        // A disk that is full loses the record and not the answer: it is still told to those who ask.
        let _ = directory.save_exit(attempt, &exit);
        self.stage = Stage::Exited { exit: exit.clone() };
        exit
    }

    /// Descriptors for one who attaches.
    pub(super) fn attach(&mut self, stdin: bool) -> io::Result<Vec<OwnedFd>> {
        let mut descriptors = Vec::new();
        if stdin {
            descriptors.push(self.attach_stdin()?);
        }
        for output in &mut self.outputs {
            descriptors.push(output.attach()?);
        }
        Ok(descriptors)
    }

    fn attach_stdin(&mut self) -> io::Result<OwnedFd> {
        let refused = || io::Error::other("its stdin is not open");
        match self.plan.stdin {
            Stdin::Closed => Err(refused()),
            _ if self.plan.process.tty => self.terminal.as_ref().ok_or_else(refused)?.try_clone(),
            // Whoever takes it closes it for good.
            Stdin::Once => self.stdin.take().ok_or_else(refused),
            Stdin::Open => self.stdin.as_ref().ok_or_else(refused)?.try_clone(),
        }
    }

    pub(super) fn resize(&self, rows: u16, columns: u16) -> io::Result<()> {
        let terminal = self.terminal.as_ref().ok_or_else(|| io::Error::other("it has no terminal"))?;
        super::terminal::resize(terminal, rows, columns)
    }

    pub(super) fn state(&self, attempt: &Attempt) -> ContainerState {
        ContainerState {
            attempt: attempt.clone(),
            phase: match &self.stage {
                Stage::Building { .. } => Phase::Building,
                Stage::Created { .. } | Stage::Starting { .. } => Phase::Created,
                Stage::Running { started_at } => Phase::Running { started_at: *started_at },
                Stage::Exited { exit } | Stage::Removing { exit, .. } => Phase::Exited(exit.clone()),
            },
            pid: self.init.as_ref().map(|init| init.pid.as_raw_nonzero().get()),
            frozen: self.frozen,
            lost_output: self.log.lost(),
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Exited { .. } | Stage::Removing { .. })
    }

    /// Who is to be told when it ends before it was built or started.
    pub(super) fn waiter(&self) -> Option<Waiter> {
        match &self.stage {
            Stage::Building { waiter, .. } | Stage::Starting { waiter, .. } => Some(*waiter),
            _ => None,
        }
    }
}

/// Where something can be heard from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Launcher,
    Start,
    Output(usize),
}

/// The failure of what ended before anybody said why.
pub(super) fn ended_early(status: Status) -> Failure {
    let how = match status {
        Status::Code(code) => format!("code {code}"),
        Status::Signal(signal) => format!("signal {signal}"),
    };
    Failure {
        reason: Reason::Internal,
        message: format!("the process ended with {how} before its program ran"),
    }
}

/// What Kubernetes shows of a termination message.
fn last_words(directory: &Directory, attempt: &Attempt) -> String {
    const LIMIT: u64 = 4096;
    let mut words = Vec::new();
    // No file, no words.
    let _ = File::open(directory.termination_message(attempt))
        .and_then(|file| file.take(LIMIT).read_to_end(&mut words));
    String::from_utf8_lossy(&words).into_owned()
}

/// Both ends of the standard streams.
struct Streams {
    outputs: Vec<Output>,
    stdin: Option<OwnedFd>,
    theirs: [OwnedFd; 3],
}

impl Streams {
    fn new(stdin: Stdin, user: u32) -> io::Result<Self> {
        let (stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        let (their_stdin, stdin) = match stdin {
            Stdin::Closed => (File::open("/dev/null")?.into(), None),
            Stdin::Once | Stdin::Open => {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
                (read, Some(write))
            }
        };
        let theirs = [their_stdin, their_stdout, their_stderr];
        theirs.iter().try_for_each(|pipe| give(pipe, user))?;
        let outputs = vec![Output::new(stdout, "stdout")?, Output::new(stderr, "stderr")?];
        Ok(Self { outputs, stdin, theirs })
    }

    fn split(streams: Option<Self>) -> (Vec<Output>, Option<OwnedFd>, Option<[OwnedFd; 3]>) {
        match streams {
            Some(Self { outputs, stdin, theirs }) => (outputs, stdin, Some(theirs)),
            None => (Vec::new(), None, None),
        }
    }
}
