//! All that a shim holds, and what it does when it is asked or when something happens. Knows waiters by number only; how
//! they are reached is the server's.

mod requests;

use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

use super::container::{Container, Source, Stage, Waiter, ended_early};
use super::directory::Directory;
use super::execution::{Exec, Started};
use super::protocol::{Answer, Attempt, Reason, Request, Status};
use super::report::{Failure, NOT_STARTED};
use super::sandbox::Sandbox;
use requests::{refused, setup};

/// An answer and whom it is for, with the descriptors that go with it.
pub(super) struct Reply {
    pub(super) to: Waiter,
    pub(super) answer: Answer,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// What can be heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Container(Attempt, Source),
    Exec(u64),
}

pub(super) struct Pod {
    directory: Directory,
    sandbox: Option<Sandbox>,
    containers: BTreeMap<Attempt, Container>,
    execs: BTreeMap<u64, Exec>,
    /// Children that ended before anybody said whose they are: whoever enters a container tells of the process that it leaves
    /// there a moment after that has begun.
    early: Early,
    next_exec: u64,
    revision: u64,
    watchers: Vec<(Waiter, u64)>,
    replies: Vec<Reply>,
    ending: Option<Waiter>,
}

/// How processes ended, by their numbers.
type Early = BTreeMap<i32, Status>;

/// Processes that ended and were not asked for. More of them push the oldest out.
const REMEMBERED: usize = 256;

impl Pod {
    pub(super) fn new(directory: Directory) -> Self {
        Self {
            directory,
            sandbox: None,
            containers: BTreeMap::new(),
            execs: BTreeMap::new(),
            early: Early::default(),
            next_exec: 1,
            revision: 1,
            watchers: Vec::new(),
            replies: Vec::new(),
            ending: None,
        }
    }

    pub(super) fn handle(&mut self, from: Waiter, request: Request, descriptors: Vec<OwnedFd>) {
        let outcome = self.outcome(from, request, descriptors);
        match outcome {
            Ok(None) => {}
            Ok(Some((answer, descriptors))) => self.replies.push(Reply { to: from, answer, descriptors }),
            Err(failure) => self.fail(from, failure),
        }
    }

    /// Everything that is to be waited for.
    pub(super) fn descriptors(&self) -> Vec<(Token, BorrowedFd<'_>)> {
        let containers = self.containers.iter().flat_map(|(attempt, container)| {
            let heard = container.descriptors().into_iter();
            heard.map(|(source, descriptor)| (Token::Container(attempt.clone(), source), descriptor))
        });
        let execs = self.execs.iter().flat_map(|(number, exec)| {
            exec.descriptors().into_iter().map(|descriptor| (Token::Exec(*number), descriptor))
        });
        containers.chain(execs).collect()
    }

    /// Something was heard.
    pub(super) fn ready(&mut self, token: &Token) {
        match token {
            Token::Container(attempt, Source::Output(number)) => {
                if let Some(container) = self.containers.get_mut(attempt) {
                    container.pump(*number);
                }
            }
            Token::Container(attempt, Source::Launcher | Source::Start) => self.hear_container(attempt),
            Token::Exec(number) => self.hear_exec(*number),
        }
    }

    fn hear_container(&mut self, attempt: &Attempt) {
        let Some(container) = self.containers.get_mut(attempt) else { return };
        match container.hear() {
            Some((waiter, Ok(pid))) => self.answer(waiter, Answer::Created { pid }),
            Some((waiter, Err(message))) => self.not_built(attempt, waiter, message),
            None => {}
        }
        let Some(container) = self.containers.get_mut(attempt) else { return };
        match container.check_start() {
            Some((waiter, None)) => self.answer(waiter, Answer::Done),
            Some((waiter, Some(failure))) => {
                let message = failure.message.clone();
                container.end(&self.directory, attempt, Status::Code(NOT_STARTED), Some(message));
                self.fail(waiter, failure);
            }
            None => return,
        }
        self.changed();
    }

    fn not_built(&mut self, attempt: &Attempt, waiter: Waiter, message: String) {
        if let Some(container) = self.containers.get_mut(attempt) {
            container.end(&self.directory, attempt, Status::Code(NOT_STARTED), Some(message.clone()));
        }
        self.fail(waiter, Failure { reason: Reason::Setup, message });
        self.changed();
    }

    fn hear_exec(&mut self, number: u64) {
        let Some(exec) = self.execs.get_mut(&number) else { return };
        let heard = exec.hear();
        let pid = exec.process.as_ref().map(|process| process.pid.as_raw_nonzero().get());
        if let Some(status) = pid.and_then(|pid| self.early.remove(&pid)) {
            exec.ended(status);
        }
        let Some(started) = heard else { return };
        let first_waiter = exec.starter.take();
        exec.failed = started.is_err();
        if exec.failed && (exec.process.is_none() || exec.status.is_some()) {
            self.execs.remove(&number);
        }
        if let Some(to) = first_waiter {
            self.exec_started(to, number, started);
        }
    }

    fn exec_started(&mut self, to: Waiter, exec: u64, started: Started) {
        match started {
            Ok((pid, terminal)) => self.replies.push(Reply {
                to,
                answer: Answer::Executed { exec, pid },
                descriptors: terminal.into_iter().collect(),
            }),
            Err(failure) => self.fail(to, failure),
        }
    }

    /// Takes note of every child that has ended.
    pub(super) fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            // A process can end before we were told that it began.
            self.hear_all();
            self.ended(pid, status_of(status));
        }
        if !self.execs.values().any(Exec::is_entering) {
            self.early.clear();
        }
    }

    fn hear_all(&mut self) {
        let tokens = self.descriptors().into_iter().map(|(token, _)| token);
        let waiting: Vec<Token> =
            tokens.filter(|token| !matches!(token, Token::Container(_, Source::Output(_)))).collect();
        for token in &waiting {
            self.ready(token);
        }
    }

    fn ended(&mut self, pid: Pid, status: Status) {
        let mut containers = self.containers.iter();
        let concerned = containers.find_map(|(attempt, container)| Some((attempt, concern(container, pid)?)));
        match concerned.map(|(attempt, concern)| (attempt.clone(), concern)) {
            Some((attempt, Concern::Init)) => self.init_ended(&attempt, status),
            Some((attempt, Concern::Launcher(waiter))) => {
                self.not_built(&attempt, waiter, ended_early(status).message);
            }
            Some((attempt, Concern::Remover(waiter))) => self.removed(&attempt, waiter, status),
            None => self.exec_ended(pid, status),
        }
    }

    fn init_ended(&mut self, attempt: &Attempt, status: Status) {
        let Some(container) = self.containers.get_mut(attempt) else { return };
        let waiter = container.waiter();
        let failure = waiter.map(|_| ended_early(status));
        let message = failure.as_ref().map(|failure| failure.message.clone());
        container.end(&self.directory, attempt, status, message);
        if let Some((waiter, failure)) = waiter.zip(failure) {
            self.fail(waiter, failure);
        }
        self.changed();
    }

    fn removed(&mut self, attempt: &Attempt, waiter: Waiter, status: Status) {
        if status == Status::Code(0) {
            self.containers.remove(attempt);
            self.answer(waiter, Answer::Done);
        } else {
            if let Some(container) = self.containers.get_mut(attempt)
                && let Stage::Removing { exit, .. } = &container.stage
            {
                container.stage = Stage::Exited { exit: exit.clone() };
            }
            self.fail(waiter, refused("its directory could not be removed"));
        }
        self.changed();
    }

    fn exec_ended(&mut self, pid: Pid, status: Status) {
        let is_its = |exec: &&mut Exec| exec.process.as_ref().is_some_and(|process| process.pid == pid);
        if let Some((number, exec)) =
            self.execs.iter_mut().map(|(number, exec)| (*number, exec)).find(|(_, exec)| is_its(exec))
        {
            exec.ended(status);
            // Nobody waits for the end of what could not start.
            let waiter = exec.waiter.take();
            if exec.failed || waiter.is_some() {
                self.execs.remove(&number);
            }
            if let Some(waiter) = waiter {
                self.answer(waiter, Answer::ExecEnded { status });
            }
            self.forget_old_execs();
            return;
        }
        let is_entering = |exec: &Exec| exec.process.is_none() && exec.status.is_none();
        let entering = self.execs.iter().find(|(_, exec)| exec.enterer == pid && is_entering(exec));
        let Some(number) = entering.map(|(number, _)| *number) else {
            if self.execs.values().any(Exec::is_entering) {
                self.early.insert(pid.as_raw_nonzero().get(), status);
            }
            return;
        };
        if let Some(starter) = self.execs.remove(&number).and_then(|mut exec| exec.starter.take()) {
            self.fail(starter, ended_early(status));
        }
    }

    fn forget_old_execs(&mut self) {
        let ended: Vec<u64> =
            self.execs.iter().filter(|(_, exec)| exec.status.is_some()).map(|(number, _)| *number).collect();
        for number in ended.iter().take(ended.len().saturating_sub(REMEMBERED)) {
            self.execs.remove(number);
        }
    }

    /// Whether it was told to end and has: the last answer is due then, and nothing of it is left but its directory.
    pub(super) fn finish(&mut self) -> bool {
        let Some(waiter) = self.ending else { return false };
        if self.containers.values().any(|container| !container.has_ended()) {
            return false;
        }
        let removed = self.sandbox.as_ref().map_or(Ok(()), |sandbox| {
            sandbox.cgroup().kill()?;
            sandbox.cgroup().remove()
        });
        match removed {
            Ok(()) => self.answer(waiter, Answer::Done),
            Err(error) => self.fail(waiter, setup(error)),
        }
        self.ending = None;
        true
    }

    /// Nothing was made, and nobody is there who could ask for it.
    pub(super) fn is_empty(&self) -> bool {
        self.sandbox.is_none() && self.containers.is_empty()
    }

    /// A connection is gone, and with it whoever waited there.
    pub(super) fn forget(&mut self, waiter: Waiter) {
        self.watchers.retain(|(watcher, _)| *watcher != waiter);
        for exec in self.execs.values_mut().filter(|exec| exec.waiter == Some(waiter)) {
            exec.waiter = None;
        }
    }

    pub(super) fn take_replies(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.replies)
    }

    fn changed(&mut self) {
        self.revision += 1;
        let state = self.state();
        for (watcher, _) in std::mem::take(&mut self.watchers) {
            self.answer(watcher, Answer::State { state: state.clone() });
        }
    }

    fn answer(&mut self, to: Waiter, answer: Answer) {
        self.replies.push(Reply { to, answer, descriptors: Vec::new() });
    }

    fn fail(&mut self, to: Waiter, Failure { reason, message }: Failure) {
        self.answer(to, Answer::Failed { reason, message });
    }
}

/// What a process is to a container.
enum Concern {
    Init,
    Launcher(Waiter),
    Remover(Waiter),
}

fn concern(container: &Container, pid: Pid) -> Option<Concern> {
    match &container.stage {
        Stage::Building { launcher, waiter, .. } if *launcher == pid => Some(Concern::Launcher(*waiter)),
        Stage::Removing { remover, waiter, .. } if *remover == pid => Some(Concern::Remover(*waiter)),
        _ if container.init.as_ref().is_some_and(|init| init.pid == pid) => Some(Concern::Init),
        _ => None,
    }
}

fn status_of(status: WaitStatus) -> Status {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Status::Code(code),
        (None, Some(signal)) => Status::Signal(signal),
        (None, None) => Status::Code(-1),
    }
}
