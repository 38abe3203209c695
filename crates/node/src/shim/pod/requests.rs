//! What a shim does when it is asked.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{Signal, pidfd_send_signal};

use super::Pod;
use crate::shim::child::{Birth, spawn};
use crate::shim::container::{Container, Stage, Waiter};
use crate::shim::directory::Directory;
use crate::shim::execution::Exec;
use crate::shim::plan::{ContainerPlan, Process, SandboxPlan, VERSION};
use crate::shim::protocol::{Answer, Attempt, Reason, Request, State};
use crate::shim::report::Failure;
use crate::shim::sandbox::Sandbox;
use crate::shim::{cgroups, oci};
use crate::volumes::removal;

/// Now, or later by a reply.
pub(super) type Outcome = Result<Option<(Answer, Vec<OwnedFd>)>, Failure>;

impl Pod {
    pub(super) fn outcome(&mut self, from: Waiter, request: Request, descriptors: Vec<OwnedFd>) -> Outcome {
        match request {
            Request::Hello { version } => hello(version),
            Request::CreateSandbox { plan } => self.create_sandbox(*plan),
            Request::Network => self.network(),
            Request::CreateContainer { attempt, plan } => self.create_container(from, attempt, *plan),
            Request::StartContainer { attempt } => later(self.container(&attempt)?.start(from)),
            Request::Signal { attempt, signal } => self.signal(&attempt, signal),
            Request::Kill { attempt } => done(self.container(&attempt)?.cgroup.kill_once().map(|_| ())),
            Request::Exec { attempt, process } => self.exec(from, &attempt, &process, descriptors),
            Request::SignalExec { exec, signal } => self.signal_exec(exec, signal),
            Request::WaitExec { exec } => self.wait_exec(from, exec),
            Request::Resize { attempt, rows, columns } => {
                done(self.container(&attempt)?.resize(rows, columns))
            }
            Request::Attach { attempt, stdin } => self.attach(&attempt, stdin),
            Request::State { after } => Ok(self.state_after(from, after)),
            Request::Freeze { attempt } => self.freeze(attempt.as_ref(), true),
            Request::Thaw { attempt } => self.freeze(attempt.as_ref(), false),
            Request::Usage => self.usage(),
            Request::RemoveContainer { attempt } => self.remove(from, &attempt),
            Request::Shutdown => self.shutdown(from),
        }
    }

    fn create_sandbox(&mut self, plan: SandboxPlan) -> Outcome {
        if let Some(sandbox) = &self.sandbox {
            if *sandbox.plan() != plan {
                return Err(refused("there is a sandbox of another plan already"));
            }
        } else {
            self.directory.save_sandbox(&plan).map_err(setup)?;
            self.sandbox = Some(Sandbox::create(&self.directory, plan).map_err(setup)?);
            self.changed();
        }
        self.network()
    }

    fn network(&self) -> Outcome {
        let network = self.sandbox.as_ref().and_then(Sandbox::network);
        let network = network.map(|network| network.try_clone_to_owned()).transpose().map_err(setup)?;
        Ok(Some((Answer::Done, network.into_iter().collect())))
    }

    fn create_container(&mut self, from: Waiter, attempt: Attempt, plan: ContainerPlan) -> Outcome {
        let sandbox = self.sandbox.as_ref().ok_or_else(|| refused("there is no sandbox yet"))?;
        if self.containers.contains_key(&attempt) {
            return Err(refused("there is such an attempt already"));
        }
        if !is_a_name(&attempt.container) {
            return Err(refused("that is no name for a container"));
        }
        self.directory.save_container(&attempt, &plan).map_err(setup)?;
        let built = Container::build(&self.directory, sandbox, &attempt, plan, from).map_err(setup)?;
        self.containers.insert(attempt, built);
        self.changed();
        Ok(None)
    }

    fn signal(&mut self, attempt: &Attempt, signal: i32) -> Outcome {
        let init = self.container(attempt)?.init.as_ref().ok_or_else(|| refused("it does not run"))?;
        done(send(init.pidfd.as_fd(), signal))
    }

    fn exec(
        &mut self,
        from: Waiter,
        attempt: &Attempt,
        process: &Process,
        descriptors: Vec<OwnedFd>,
    ) -> Outcome {
        let stdio = match (process.tty, <[OwnedFd; 3]>::try_from(descriptors)) {
            (true, _) => None,
            (false, Ok(stdio)) => Some(stdio),
            (false, Err(_)) => return Err(refused("stdin, stdout and stderr are to come with the request")),
        };
        let sandbox = self.sandbox.as_ref().ok_or_else(unknown)?;
        let container = self.containers.get(attempt).ok_or_else(unknown)?;
        if !matches!(container.stage, Stage::Running { .. }) {
            return Err(refused("the container does not run"));
        }
        if container.frozen {
            return Err(refused("the container is frozen"));
        }
        let begun =
            Exec::begin(container, attempt, sandbox, &self.directory, process, stdio, from).map_err(setup)?;
        self.execs.insert(self.next_exec, begun);
        self.next_exec += 1;
        Ok(None)
    }

    fn signal_exec(&mut self, number: u64, signal: i32) -> Outcome {
        let process = self.execs.get(&number).and_then(|exec| exec.process.as_ref()).ok_or_else(unknown)?;
        done(send(process.pidfd.as_fd(), signal))
    }

    fn wait_exec(&mut self, from: Waiter, number: u64) -> Outcome {
        let exec = self.execs.get_mut(&number).ok_or_else(unknown)?;
        let Some(status) = exec.status else {
            exec.waiter = Some(from);
            return Ok(None);
        };
        self.execs.remove(&number);
        Ok(Some((Answer::ExecEnded { status }, Vec::new())))
    }

    fn attach(&mut self, attempt: &Attempt, stdin: bool) -> Outcome {
        let container = self.container(attempt)?;
        if container.has_ended() {
            return Err(refused("it has ended"));
        }
        let descriptors = container.attach(stdin).map_err(|error| refused(&error.to_string()))?;
        Ok(Some((Answer::Done, descriptors)))
    }

    fn state_after(&mut self, from: Waiter, after: Option<u64>) -> Option<(Answer, Vec<OwnedFd>)> {
        if let Some(after) = after.filter(|after| *after >= self.revision) {
            self.watchers.push((from, after));
            return None;
        }
        Some((Answer::State { state: self.state() }, Vec::new()))
    }

    pub(super) fn state(&self) -> State {
        let containers =
            self.containers.iter().map(|(attempt, container)| container.state(attempt)).collect();
        State { revision: self.revision, sandbox: self.sandbox.is_some(), containers }
    }

    fn freeze(&mut self, attempt: Option<&Attempt>, frozen: bool) -> Outcome {
        let chosen = |known: &Attempt| attempt.is_none_or(|wanted| wanted == known);
        if let Some(wanted) = attempt {
            self.container(wanted)?;
        }
        for (_, container) in self.containers.iter_mut().filter(|(known, _)| chosen(known)) {
            if !container.has_ended() && container.frozen != frozen {
                let changed = if frozen { container.cgroup.freeze() } else { container.cgroup.thaw() };
                changed.map_err(setup)?;
                container.frozen = frozen;
            }
        }
        self.changed();
        Ok(Some((Answer::Done, Vec::new())))
    }

    fn usage(&mut self) -> Outcome {
        let sandbox = self.sandbox.as_ref().ok_or_else(|| refused("there is no sandbox yet"))?;
        let pod = sandbox.cgroup().usage().map_err(setup)?;
        let living = self.containers.iter().filter(|(_, container)| !container.has_ended());
        let containers = living.map(|(attempt, container)| Ok((attempt.clone(), container.cgroup.usage()?)));
        let containers = containers.collect::<Result<_, cgroups::Error>>().map_err(setup)?;
        Ok(Some((Answer::Usage { pod, containers }, Vec::new())))
    }

    /// The directory may be large: a fork removes it while everybody else is served.
    fn remove(&mut self, from: Waiter, attempt: &Attempt) -> Outcome {
        let container = self.container(attempt)?;
        let Stage::Exited { exit } = &container.stage else { return Err(refused("it has not ended")) };
        let exit = exit.clone();
        container.cgroup.remove().map_err(setup)?;
        let sandbox = self.sandbox.as_ref().ok_or_else(unknown)?;
        let work = || i32::from(remove_attempt(&self.directory, sandbox.plan(), attempt).is_err());
        let remover = spawn(&Birth::default(), work).map_err(setup)?;
        let container = self.container(attempt)?;
        container.stage = Stage::Removing { exit, remover: remover.pid, waiter: from };
        Ok(None)
    }

    fn shutdown(&mut self, from: Waiter) -> Outcome {
        for container in self.containers.values().filter(|container| !container.has_ended()) {
            container.cgroup.kill_once().map_err(setup)?;
        }
        self.ending = Some(from);
        Ok(None)
    }

    fn container(&mut self, attempt: &Attempt) -> Result<&mut Container, Failure> {
        self.containers.get_mut(attempt).ok_or_else(unknown)
    }
}

fn hello(version: u32) -> Outcome {
    if version != VERSION {
        return Err(refused(&format!("this shim speaks version {VERSION}, not {version}")));
    }
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    Ok(Some((Answer::Hello { version: VERSION, pid }, Vec::new())))
}

fn remove_attempt(directory: &Directory, plan: &SandboxPlan, attempt: &Attempt) -> std::io::Result<()> {
    if let Some(program) = oci::Program::of(plan, directory) {
        program.delete(attempt)?;
    }
    removal::clear(&directory.attempt(attempt))
}

/// It becomes a directory and a cgroup.
fn is_a_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.len() <= 63 && name.bytes().all(allowed)
}

fn send(process: BorrowedFd<'_>, signal: i32) -> Result<(), rustix::io::Errno> {
    let signal = Signal::from_named_raw(signal).ok_or(rustix::io::Errno::INVAL)?;
    pidfd_send_signal(process, signal)
}

fn done<E: std::error::Error>(result: Result<(), E>) -> Outcome {
    result.map(|()| Some((Answer::Done, Vec::new()))).map_err(setup)
}

fn later<E: std::error::Error>(result: Result<(), E>) -> Outcome {
    result.map(|()| None).map_err(setup)
}

pub(super) fn setup(error: impl std::error::Error) -> Failure {
    Failure { reason: Reason::Setup, message: crate::error::full(&error) }
}

pub(super) fn refused(why: &str) -> Failure {
    Failure { reason: Reason::Refused, message: why.to_owned() }
}

fn unknown() -> Failure {
    refused("there is no such container or process")
}
