//! Stopping one container: its hook, its signal, its kill, within its grace.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodSpec;

use super::{Action, Plan, name};
use crate::pod::clock;
use crate::pod::member::Member;
use crate::pod::observed::{Attempt, Hook, Stop, StopCause};
use crate::pod::probe::ProbeKind;

/// What every container gets between its signal and its kill, however late it is.
pub(super) const LEAST: Duration = Duration::from_secs(2);
/// How long after a kill that had no effect it is tried again.
const AGAIN: Duration = Duration::from_secs(10);
const DEFAULT_GRACE: i64 = 30;

/// The time a container has to end: that of the probe that failed, else the Pod's.
pub(super) fn grace(spec: &PodSpec, member: Member<'_>, cause: StopCause) -> Duration {
    let probe = match cause {
        StopCause::Liveness => ProbeKind::Liveness.of(member.container),
        StopCause::Startup => ProbeKind::Startup.of(member.container),
        StopCause::PostStart | StopCause::Pod => None,
    };
    let own = probe.and_then(|probe| probe.termination_grace_period_seconds);
    clock::seconds(own.or(spec.termination_grace_period_seconds).unwrap_or(DEFAULT_GRACE))
}

/// A container that is being stopped, at one moment.
#[derive(Clone, Copy)]
pub(super) struct Stopping<'a> {
    pub(super) member: Member<'a>,
    pub(super) attempt: &'a Attempt,
    pub(super) stop: &'a Stop,
    /// When it is killed at the latest, but for what every container gets.
    pub(super) deadline: Timestamp,
    /// Whether nobody has to stop before it.
    pub(super) turn: bool,
    pub(super) now: Timestamp,
}

impl Stopping<'_> {
    /// Writes down that it begins, and takes the first step.
    pub(super) fn begin(self, plan: &mut Plan) {
        let Stop { cause, grace, .. } = *self.stop;
        plan.push(Action::BeginStop {
            container: name(self.member),
            attempt: self.attempt.number,
            cause,
            grace,
        });
        self.steps(plan);
    }

    /// The next step. A container whose turn it is not waits for it until the deadline, its hook apart.
    pub(super) fn steps(self, plan: &mut Plan) {
        self.stop_probes(plan);
        let is_late = self.now >= self.deadline || self.now < self.stop.begun;
        if !is_late && (self.waits_for_hook(plan) || !self.turn) {
            plan.look(self.deadline);
            return;
        }
        match self.stop.signalled {
            None => {
                plan.push(Action::Signal { container: name(self.member), attempt: self.attempt.number });
                plan.look(self.deadline.max(clock::later(self.now, LEAST)));
            }
            Some(signalled) => self.kill(signalled, plan),
        }
    }

    /// A container on its way out may still say that it is not ready.
    fn stop_probes(self, plan: &mut Plan) {
        for kind in self.attempt.probing.iter().filter(|kind| **kind != ProbeKind::Readiness) {
            let (container, attempt) = (name(self.member), self.attempt.number);
            plan.push(Action::StopProbe { container, attempt, kind: *kind });
        }
    }

    fn waits_for_hook(self, plan: &mut Plan) -> bool {
        let has_hook = self.member.has_pre_stop() && self.attempt.is_running();
        if has_hook && self.stop.pre_stop == Hook::Waiting {
            let within = Duration::try_from(self.deadline.duration_since(self.now)).unwrap_or_default();
            plan.push(Action::RunPreStop {
                container: name(self.member),
                attempt: self.attempt.number,
                within,
            });
        }
        has_hook && matches!(self.stop.pre_stop, Hook::Waiting | Hook::Running)
    }

    fn kill(self, signalled: Timestamp, plan: &mut Plan) {
        let due = self.deadline.max(clock::later(signalled, LEAST));
        let patience = match self.stop.killed {
            Some(killed) => clock::remaining(killed, AGAIN, self.now),
            None => (signalled <= self.now && self.now < due).then_some(due),
        };
        match patience {
            Some(then) => plan.look(then),
            None => plan.push(Action::Kill { container: name(self.member), attempt: self.attempt.number }),
        }
    }
}
