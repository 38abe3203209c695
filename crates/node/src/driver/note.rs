//! Outcomes, taken into what is known of the Pod.

use std::net::Ipv4Addr;

use asb_core::pod::backoff::Backoff;
use asb_core::pod::member::members;
use asb_core::pod::observed::{
    Attempt, Cause, Ending, Exit, ExitReason, Failure, Hook, Image, PullFailure, PullReason, Pulled,
    SandboxState, State, Trouble, Volumes,
};
use asb_core::pod::probe::{Outcome as Answer, Terms};
use asb_core::pod::status::events;
use jiff::Timestamp;

use super::keeper::Keeper;
use super::last_words;
use super::outcome::{Outcome, Probed};
use crate::shim::protocol::{ContainerState, Exit as ShimExit, Phase, State as ShimState, Status};

/// What a container that could not be started is said to have ended with.
const NOT_STARTED: i32 = 128;

impl Keeper {
    pub(super) fn note(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Volumes(result) => self.note_volumes(result),
            Outcome::VolumesReleased(result) => self.note_release(result),
            Outcome::Sandbox(result) => self.note_sandbox(result),
            Outcome::SandboxRemoved(result) => self.note_removal(result),
            Outcome::Pulling { container } => self.container(&container).image = Image::Pulling,
            Outcome::Image { container, attempt, result } => self.note_image(&container, attempt, result),
            Outcome::Created { container, attempt, result: Ok(user) } => {
                self.attempt(&container, attempt, |attempt| attempt.user = Some(user));
            }
            Outcome::Created { container, attempt, result: Err((reason, message)) } => {
                self.undo_start(&container, attempt);
                self.container(&container).trouble = Some(Trouble { at: Timestamp::now(), reason, message });
            }
            Outcome::Shim(state) => self.note_shim(&state),
            Outcome::ShimLost { sandbox } => self.note_loss(sandbox),
            Outcome::PostStart { container, attempt, result } => {
                self.attempt(&container, attempt, |attempt| attempt.post_start = hook(result));
            }
            Outcome::PreStop { container, attempt, result } => {
                self.stop(&container, attempt, |stop| stop.pre_stop = hook(result));
            }
            Outcome::Probed(probed) => self.note_probe(&probed),
            Outcome::Removed { container, attempt, result } => self.note_removed(&container, attempt, result),
            Outcome::Measured(excess) => self.note_measured(excess),
            Outcome::Told(result) => self.note_told(result),
            Outcome::Reread(result) => self.note_reread(result),
            Outcome::Deleted(result) => self.note_deleted(result),
        }
    }

    /// Nothing for volumes that are to go by now.
    fn note_volumes(&mut self, result: Result<(), String>) {
        if self.journal.observed.volumes != Volumes::Preparing {
            return;
        }
        self.failures.volumes = if result.is_ok() { 0 } else { self.failures.volumes.saturating_add(1) };
        let times = self.failures.volumes;
        self.observed().volumes = match result {
            Ok(()) => Volumes::Ready,
            Err(message) => Volumes::Failed(failure(times, message)),
        };
    }

    /// What could not be removed is tried again.
    fn note_release(&mut self, result: Result<(), String>) {
        self.observed().volumes = match result {
            Ok(()) => Volumes::Absent,
            Err(message) => Volumes::Failed(failure(1, message)),
        };
    }

    /// Nothing for a sandbox that is to go by now.
    fn note_sandbox(&mut self, result: Result<Option<Ipv4Addr>, String>) {
        self.failures.sandbox = if result.is_ok() { 0 } else { self.failures.sandbox.saturating_add(1) };
        let times = self.failures.sandbox;
        let Some(sandbox) = self.observed().sandbox.as_mut().filter(|it| it.state == SandboxState::Creating)
        else {
            return;
        };
        let number = sandbox.attempt;
        match result {
            Ok(address) => {
                sandbox.state = SandboxState::Ready;
                sandbox.addresses = address.iter().map(ToString::to_string).collect();
                self.journal.address = address;
                self.follow_shim(number);
            }
            Err(message) => sandbox.state = SandboxState::Failed(failure(times, message)),
        }
    }

    fn note_removal(&mut self, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.sandbox(SandboxState::Gone);
                self.journal.address = None;
            }
            Err(message) => {
                tracing::warn!(pod = %self.journal.name, message, "a sandbox is not cleared away yet");
                self.sandbox(SandboxState::Dead);
            }
        }
    }

    fn note_image(
        &mut self,
        name: &str,
        attempt: u32,
        result: Result<(String, Option<Pulled>), (PullReason, String)>,
    ) {
        let now = Timestamp::now();
        self.container(name).image = match result {
            Ok((id, pulled)) => Image::Ready { id, attempt, pulled },
            Err((reason, message)) => {
                let backoff = Backoff::next(self.failures.pulls.remove(name), now, now);
                self.failures.pulls.insert(name.to_owned(), backoff);
                Image::Failed(PullFailure { at: now, reason, message, backoff })
            }
        };
    }

    /// An attempt that came to nothing was none.
    pub(super) fn undo_start(&mut self, name: &str, number: u32) {
        let container = self.container(name);
        let Some(failed) = container.current.take_if(|attempt| attempt.number == number) else { return };
        let Some(exit) = container.last.take() else { return };
        let before = container.leftover.pop().unwrap_or(number.saturating_sub(1));
        container.current =
            Some(Attempt { number: before, id: exit.id.clone(), state: State::Exited(exit), ..failed });
    }

    pub(super) fn note_shim(&mut self, state: &ShimState) {
        for container in &state.containers {
            let name = container.attempt.container.as_str();
            let mut ended = false;
            self.attempt(name, container.attempt.number, |attempt| ended = advance(attempt, container));
            if ended {
                self.end_probes(name);
                self.take_last_words(name);
            }
        }
    }

    /// A container that failed without a word speaks by the end of its log, where it wants that.
    fn take_last_words(&mut self, name: &str) {
        let spec = self.pod.spec.as_ref();
        let mut members = spec.into_iter().flat_map(members);
        let wants = members.any(|member| {
            let policy = member.container.termination_message_policy.as_deref();
            member.name() == name && policy == Some("FallbackToLogsOnError")
        });
        let directory = self.directory();
        let Some(attempt) = self.container(name).current.as_mut().filter(|_| wants) else { return };
        let key = crate::shim::protocol::Attempt { container: name.to_owned(), number: attempt.number };
        if let State::Exited(exit) = &mut attempt.state
            && exit.code != 0
            && exit.message.is_empty()
        {
            exit.message = last_words::of(&directory, &key).unwrap_or_default();
        }
    }

    fn end_probes(&mut self, name: &str) {
        let ended: Vec<_> = self.probes.keys().filter(|(container, ..)| container == name).cloned().collect();
        for key in ended {
            if let Some(handle) = self.probes.remove(&key) {
                handle.abort();
            }
        }
    }

    /// Processes end with the one who holds them.
    pub(super) fn note_loss(&mut self, sandbox: u32) {
        let is_it = self.journal.observed.sandbox.as_ref().is_some_and(|it| {
            it.attempt == sandbox && matches!(it.state, SandboxState::Ready | SandboxState::Creating)
        });
        if !is_it {
            return;
        }
        self.unfollow();
        self.sandbox(SandboxState::Dead);
        let directory = self.directory();
        let names: Vec<String> = self.journal.observed.containers.keys().cloned().collect();
        for name in names {
            let Some(attempt) = self.container(&name).current.as_mut().filter(|attempt| attempt.is_live())
            else {
                continue;
            };
            let key = crate::shim::protocol::Attempt { container: name.clone(), number: attempt.number };
            let known = directory.exit(&key).ok().flatten();
            attempt.state = State::Exited(known.map_or_else(|| lost(attempt), |exit| ended(attempt, &exit)));
            attempt.probing.clear();
            self.end_probes(&name);
        }
    }

    fn note_probe(&mut self, probed: &Probed) {
        let Probed { container, attempt, kind, began, answer, output } = probed;
        let pod = std::sync::Arc::clone(&self.pod);
        let mut members = pod.spec.iter().flat_map(members);
        let Some(member) = members.find(|member| member.name() == container) else { return };
        let Some(terms) = kind.of(member.container).map(Terms::read) else { return };
        self.attempt(container, *attempt, |attempt| {
            let record = attempt.probes.get(kind).copied().unwrap_or_default();
            attempt.probes.insert(*kind, record.noting(*kind, &terms, *answer, *began));
        });
        if *answer == Answer::Failure {
            self.tools.events.tell(&self.pod, events::unhealthy(member, *kind, output));
        }
    }

    fn note_measured(&mut self, excess: Option<String>) {
        self.is_measuring = false;
        let Some(message) = excess else { return };
        let cause = Cause::Evicted { reason: "Evicted".to_owned(), message };
        self.observed().ending.get_or_insert_with(|| Ending { cause, since: Timestamp::now() });
    }

    fn note_removed(&mut self, name: &str, number: u32, result: Result<(), String>) {
        self.leaving.remove(&(name.to_owned(), number));
        if let Err(message) = result {
            tracing::warn!(pod = %self.journal.name, container = name, message, "an attempt is not cleared away yet");
            return;
        }
        let container = self.container(name);
        container.leftover.retain(|left| *left != number);
        container.current.take_if(|attempt| attempt.number == number);
    }
}

fn hook(result: Result<(), String>) -> Hook {
    result.map_or_else(Hook::Failed, |()| Hook::Done)
}

fn failure(times: u32, message: String) -> Failure {
    Failure { at: Timestamp::now(), times, message }
}

/// Whether it has ended with this.
fn advance(attempt: &mut Attempt, seen: &ContainerState) -> bool {
    match (&attempt.state, &seen.phase) {
        (State::Creating, Phase::Running { started_at }) => {
            attempt.state = State::Running { since: *started_at };
            false
        }
        (State::Creating | State::Running { .. }, Phase::Exited(exit)) => {
            attempt.state = State::Exited(ended(attempt, exit));
            attempt.probing.clear();
            true
        }
        _ => false,
    }
}

fn ended(attempt: &Attempt, exit: &ShimExit) -> Exit {
    let (code, signal) = match exit.status {
        _ if exit.failure.is_some() => (NOT_STARTED, None),
        Status::Signal(signal) => (exit.status.code(), Some(signal)),
        Status::Code(code) => (code, None),
    };
    let reason = match exit {
        ShimExit { failure: Some(_), .. } => ExitReason::StartError,
        ShimExit { oom_killed: true, .. } => ExitReason::OutOfMemory,
        _ => ExitReason::Ended,
    };
    Exit {
        id: attempt.id.clone(),
        code,
        signal,
        reason,
        message: exit.failure.clone().unwrap_or_else(|| exit.message.clone()),
        started: exit.started_at.filter(|_| exit.failure.is_none()),
        finished: exit.finished_at,
    }
}

fn lost(attempt: &Attempt) -> Exit {
    let started = match attempt.state {
        State::Running { since } => Some(since),
        _ => None,
    };
    Exit::lost(attempt.id.clone(), started, Timestamp::now())
}
