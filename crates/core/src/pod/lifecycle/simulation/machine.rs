//! A machine that carries out plans, badly as long as its luck is bad.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::rules::Rules;
use crate::pod::backoff::Backoff;
use crate::pod::clock::later;
use crate::pod::lifecycle::fixtures::{Case, attempt, case};
use crate::pod::lifecycle::{Action, Plan};
use crate::pod::member::{Member, Role, members};
use crate::pod::observed::{
    Attempt, Container, Exit, ExitReason, Failure, Hook, Image, PullFailure, PullReason, Sandbox,
    SandboxState, State, Stop, Volumes,
};
use crate::pod::probe::{Outcome, ProbeKind, Terms};
use crate::pod::status::{Phase, report};

pub(super) struct Machine {
    pub(super) case: Case,
    pub(super) is_deleted: bool,
    /// Whether time passes only as plans ask for, so that they can be held to it.
    pub(super) keeps_time: bool,
    luck: std::vec::IntoIter<u8>,
    rules: Rules,
    story: Vec<String>,
}

impl Machine {
    pub(super) fn new(spec: Value, luck: Vec<u8>) -> Self {
        let (luck, rules) = (luck.into_iter(), Rules::default());
        Self { case: case(spec), is_deleted: false, keeps_time: false, luck, rules, story: Vec::new() }
    }

    pub(super) fn luck_left(&self) -> usize {
        self.luck.len()
    }

    pub(super) fn story(&self) -> String {
        let tail = self.story.len().saturating_sub(60);
        format!("{}\n{:#?}", self.story[tail..].join("\n"), self.case.observed)
    }

    pub(super) fn delete(&mut self, grace: i64) {
        self.case = self.case.clone().deleted(grace);
        self.story.push(format!("{}: deleted with {grace} s", self.case.now));
    }

    pub(super) fn jump(&mut self, seconds: i64) {
        let target = self.case.now.as_second().saturating_add(seconds).max(1);
        self.case.now = Timestamp::from_second(target).unwrap();
    }

    pub(super) fn phase(&self) -> Phase {
        let phase =
            self.case.pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
        Phase::ALL.into_iter().find(|known| known.as_str() == phase).unwrap()
    }

    pub(super) fn is_ready(&self) -> bool {
        let conditions = self.case.pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
        ready.any(|ready| ready.status == "True")
    }

    /// Whether all that is to run does so and is ready.
    pub(super) fn is_settled(&self) -> bool {
        let spec = self.case.pod.spec.as_ref().unwrap();
        let settled = |member: &Member<'_>| {
            let attempt = self.case.observed.attempt(member.name());
            attempt.is_some_and(|attempt| match attempt.exit() {
                Some(_) => !member.restarts(spec, attempt),
                None => member.is_ready(attempt),
            })
        };
        members(spec).iter().all(settled)
    }

    /// Whether nothing is left but what readers of logs want.
    pub(super) fn is_cleared(&self) -> bool {
        let observed = &self.case.observed;
        let gone = |sandbox: &Sandbox| matches!(sandbox.state, SandboxState::Gone | SandboxState::Failed(_));
        observed.volumes == Volumes::Absent && observed.sandbox.as_ref().is_none_or(gone)
    }

    /// One look, what it asks for, and what else happens meanwhile.
    pub(super) fn step(&mut self) {
        if self.is_deleted {
            return;
        }
        let plan = self.case.plan();
        assert_eq!(plan, self.case.plan(), "the same sight has the same plan");
        for action in &plan.actions {
            self.story.push(format!("{}: {action:?}", self.case.now));
            self.rules.check(action, &self.case, self.keeps_time);
            self.carry_out(action);
        }
        self.happen();
        self.tell();
        self.pass_time(&plan);
    }

    fn tell(&mut self) {
        let before = self.phase();
        self.case.pod.status = Some(report(self.case.sight(), &["192.0.2.1".to_owned()]));
        assert!(self.phase() >= before, "a phase goes on, never back");
        self.rules.watch(&self.case);
    }

    /// Up to the next look and not beyond it, so that whoever waits is held to his time.
    fn pass_time(&mut self, plan: &Plan) {
        let quiet = plan.actions.is_empty();
        let step = if quiet { Duration::from_secs(7) } else { Duration::from_millis(100) };
        let next = later(self.case.now, step);
        let due = plan.next_look.filter(|due| *due > self.case.now);
        self.case.now = due.map_or(next, |due| due.min(next));
    }

    /// Whether something goes wrong, once in so many times.
    fn is_unlucky(&mut self, times: u8) -> bool {
        self.luck.next().is_some_and(|luck| luck % times == 0 && luck != 0)
    }

    fn container(&mut self, name: &str) -> &mut Container {
        self.case.observed.containers.entry(name.to_owned()).or_default()
    }

    fn attempt(&mut self, name: &str) -> &mut Attempt {
        self.container(name).current.as_mut().expect("the plan speaks of an attempt")
    }

    fn carry_out(&mut self, action: &Action) {
        let now = self.case.now;
        match action {
            Action::End(ending) => self.case.observed.ending = Some(ending.clone()),
            Action::PrepareVolumes => self.case.observed.volumes = Volumes::Preparing,
            Action::ReleaseVolumes => self.case.observed.volumes = Volumes::Releasing,
            Action::CreateSandbox { attempt } => {
                let (attempt, state) = (*attempt, SandboxState::Creating);
                self.case.observed.sandbox = Some(Sandbox { attempt, state, addresses: Vec::new() });
            }
            Action::RemoveSandbox { .. } => self.sandbox(SandboxState::Removing),
            Action::PrepareImage { container, .. } => self.container(container).image = Image::Preparing,
            Action::Start { container, attempt, backoff } => self.start(container, *attempt, *backoff),
            Action::RunPostStart { container, .. } => self.attempt(container).post_start = Hook::Running,
            Action::BeginStop { container, cause, grace, .. } => {
                self.attempt(container).stop = Some(Stop::begin(*cause, *grace, now));
            }
            Action::RunPreStop { container, .. } => self.stop(container).pre_stop = Hook::Running,
            Action::Signal { container, .. } => self.stop(container).signalled = Some(now),
            Action::Kill { container, .. } => self.kill(container),
            Action::StartProbe { container, kind, .. } => {
                self.attempt(container).probing.insert(*kind);
            }
            Action::StopProbe { container, kind, .. } => {
                self.attempt(container).probing.remove(kind);
            }
            Action::Remove { container, attempt } => self.remove(container, *attempt),
            Action::DeletePod => self.is_deleted = true,
        }
    }

    fn sandbox(&mut self, state: SandboxState) {
        self.case.observed.sandbox.as_mut().expect("the plan speaks of a sandbox").state = state;
    }

    fn stop(&mut self, name: &str) -> &mut Stop {
        self.attempt(name).stop.as_mut().expect("a stop begins before its steps")
    }

    fn start(&mut self, name: &str, number: u32, backoff: Option<Backoff>) {
        let sandbox = self.case.observed.ready_sandbox().expect("containers start in a sandbox");
        let container = self.container(name);
        if let Some(old) = container.current.take() {
            container.last = old.exit().cloned();
            container.leftover.push(old.number);
        }
        container.backoff = backoff.or(container.backoff);
        container.trouble = None;
        container.current = Some(Attempt { sandbox, ..attempt(number, State::Creating) });
    }

    fn kill(&mut self, name: &str) {
        let now = self.case.now;
        if let Some(stop) = &mut self.attempt(name).stop {
            stop.killed = Some(now);
        }
        if self.keeps_time || !self.is_unlucky(3) {
            self.exit(name, 137, ExitReason::Ended);
        }
    }

    fn exit(&mut self, name: &str, code: i32, reason: ExitReason) {
        let now = self.case.now;
        let attempt = self.attempt(name);
        let started = match attempt.state {
            State::Running { since } => Some(since),
            _ => None,
        };
        let id = attempt.id.clone();
        attempt.probing.clear();
        attempt.state = State::Exited(Exit {
            id,
            code,
            signal: None,
            reason,
            message: String::new(),
            started,
            finished: now,
        });
    }

    fn remove(&mut self, name: &str, number: u32) {
        let container = self.container(name);
        container.leftover.retain(|left| *left != number);
        if container.current.as_ref().is_some_and(|attempt| attempt.number == number) {
            container.current = None;
        }
    }

    /// What was begun comes to its end, and what runs lives its life.
    fn happen(&mut self) {
        self.happen_to_volumes();
        self.happen_to_sandbox();
        let spec = self.case.pod.spec.clone().unwrap();
        for member in members(&spec) {
            let name = member.name().to_owned();
            self.happen_to_image(&name);
            self.happen_to_attempt(&name, member.role);
            self.probe(&name, &member.container.clone());
        }
    }

    fn failure(&self, before: u32) -> Failure {
        Failure { at: self.case.now, times: before + 1, message: "bad luck".to_owned() }
    }

    fn happen_to_volumes(&mut self) {
        match self.case.observed.volumes.clone() {
            Volumes::Preparing if self.is_unlucky(4) => {
                self.case.observed.volumes = Volumes::Failed(self.failure(0));
            }
            Volumes::Preparing => self.case.observed.volumes = Volumes::Ready,
            Volumes::Releasing if !self.is_unlucky(4) => self.case.observed.volumes = Volumes::Absent,
            _ => {}
        }
    }

    fn happen_to_sandbox(&mut self) {
        let state = self.case.observed.sandbox.as_ref().map(|sandbox| sandbox.state.clone());
        match state {
            Some(SandboxState::Creating) if self.is_unlucky(4) => {
                self.sandbox(SandboxState::Failed(self.failure(0)));
            }
            Some(SandboxState::Creating) => self.sandbox(SandboxState::Ready),
            Some(SandboxState::Removing) if !self.is_unlucky(4) => self.sandbox(SandboxState::Gone),
            Some(SandboxState::Ready) if self.is_unlucky(60) => self.lose_sandbox(),
            _ => {}
        }
    }

    fn lose_sandbox(&mut self) {
        self.story.push(format!("{}: the sandbox is lost", self.case.now));
        self.sandbox(SandboxState::Dead);
        let live = self.case.observed.containers.iter().filter(|(_, container)| container.live().is_some());
        let names: Vec<_> = live.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.exit(&name, 137, ExitReason::Lost);
        }
    }

    fn happen_to_image(&mut self, name: &str) {
        let image = self.container(name).image.clone();
        let next = self.container(name).current.as_ref().map_or(0, |attempt| attempt.number + 1);
        self.container(name).image = match image {
            Image::Preparing if self.is_unlucky(2) => Image::Pulling,
            Image::Pulling if self.is_unlucky(3) => {
                let (at, reason) = (self.case.now, PullReason::Pull);
                let backoff = Backoff::next(None, at, at);
                Image::Failed(PullFailure { at, reason, message: "bad luck".to_owned(), backoff })
            }
            Image::Preparing | Image::Pulling => {
                Image::Ready { id: "sha256:1".to_owned(), attempt: next, pulled: None }
            }
            other => other,
        };
    }

    fn happen_to_attempt(&mut self, name: &str, role: Role) {
        let Some(attempt) = self.container(name).current.clone() else { return };
        match attempt.state {
            State::Creating if self.is_unlucky(9) => self.exit(name, 128, ExitReason::StartError),
            State::Creating if self.is_unlucky(3) => {}
            State::Creating => self.attempt(name).state = State::Running { since: self.case.now },
            State::Running { .. } => self.live_on(name, role, &attempt),
            State::Exited(_) => {}
        }
    }

    fn live_on(&mut self, name: &str, role: Role, attempt: &Attempt) {
        let hook = |bad: bool| if bad { Hook::Failed("bad luck".to_owned()) } else { Hook::Done };
        if attempt.post_start == Hook::Running {
            self.attempt(name).post_start = hook(self.luck.clone().next().is_some_and(|luck| luck % 5 == 1));
        }
        if let Some(stop) = &attempt.stop {
            if stop.pre_stop == Hook::Running && !self.is_unlucky(2) {
                self.stop(name).pre_stop = Hook::Done;
            }
            if stop.signalled.is_some() && !self.is_unlucky(2) {
                self.exit(name, 0, ExitReason::Ended);
            }
        } else if self.is_unlucky(12) {
            let code = i32::from(self.is_unlucky(2));
            self.exit(name, code, ExitReason::Ended);
        } else if role == Role::Init && !matches!(self.attempt(name).post_start, Hook::Running) {
            self.exit(name, 0, ExitReason::Ended);
        }
    }

    fn probe(&mut self, name: &str, container: &k8s_openapi::api::core::v1::Container) {
        let now = self.case.now;
        let Some(attempt) = self.container(name).current.clone().filter(Attempt::is_running) else { return };
        let State::Running { since } = attempt.state else { return };
        for kind in ProbeKind::ALL.into_iter().filter(|kind| attempt.probing.contains(kind)) {
            let terms = Terms::read(kind.of(container).expect("only probes that there are are made"));
            let record = attempt.probes.get(&kind).copied().unwrap_or_default();
            if record.due(kind, &terms, since, now).is_some_and(|due| due <= now) {
                let outcome = if self.is_unlucky(3) { Outcome::Failure } else { Outcome::Success };
                let record = record.noting(kind, &terms, outcome, now);
                self.attempt(name).probes.insert(kind, record);
            }
        }
    }
}
