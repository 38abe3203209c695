//! What one Pod needs next on its node, as a kubelet decides it: pure, total and deterministic. Leaves the doing to `node`,
//! and what is reported meanwhile to `status`.

mod ending;
mod image;
mod keeping;
mod starting;
mod stopping;
mod winding_down;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodSpec};

use super::backoff::Backoff;
use super::member::{Member, members};
use super::observed::{Ending, Observed, StopCause};
use super::probe::ProbeKind;
use super::scheduler::Rejection;

/// A Pod bound to this node, at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    pub pod: &'a Pod,
    pub observed: &'a Observed,
    /// What keeps this node from running it, if it does not run yet.
    pub rejection: Option<&'a Rejection>,
    /// Set when the node goes down, and everything on it is to stop for now.
    pub halt: Option<Halt>,
    pub now: Timestamp,
}

/// The node goes down: containers stop, and whoever comes next starts again what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halt {
    pub since: Timestamp,
    /// The most that any container gets to end by itself.
    pub grace: Duration,
}

/// What to do, in this order, and when to look again if nothing happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub actions: Vec<Action>,
    pub next_look: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Writes down that the Pod ends.
    End(Ending),
    PrepareVolumes,
    ReleaseVolumes,
    CreateSandbox {
        attempt: u32,
    },
    RemoveSandbox {
        attempt: u32,
    },
    /// Makes sure that the image is here, as the container's pull policy says, for an attempt.
    PrepareImage {
        container: String,
        attempt: u32,
    },
    /// The back-off is kept with the attempt.
    Start {
        container: String,
        attempt: u32,
        backoff: Option<Backoff>,
    },
    RunPostStart {
        container: String,
        attempt: u32,
    },
    /// Writes down that an attempt is being stopped.
    BeginStop {
        container: String,
        attempt: u32,
        cause: StopCause,
        grace: Duration,
    },
    RunPreStop {
        container: String,
        attempt: u32,
        within: Duration,
    },
    /// The image's signal to stop, or SIGTERM.
    Signal {
        container: String,
        attempt: u32,
    },
    Kill {
        container: String,
        attempt: u32,
    },
    StartProbe {
        container: String,
        attempt: u32,
        kind: ProbeKind,
    },
    StopProbe {
        container: String,
        attempt: u32,
        kind: ProbeKind,
    },
    /// Clears away an attempt that has ended, with what it wrote.
    Remove {
        container: String,
        attempt: u32,
    },
    /// Takes the Pod out of the API: nothing of it is left here.
    DeletePod,
}

/// The next steps of a Pod.
pub fn plan(sight: Sight<'_>) -> Plan {
    let Some(spec) = sight.pod.spec.as_ref() else { return Plan::default() };
    let mut plan = Plan::default();
    let ending = sight.observed.ending.clone().or_else(|| begin_ending(spec, sight, &mut plan));
    match (ending, sight.halt) {
        (Some(ending), _) => winding_down::steps(spec, sight, &ending, &mut plan),
        (None, Some(halt)) => winding_down::rest(spec, sight, halt, &mut plan),
        (None, None) => live(spec, sight, &mut plan),
    }
    plan
}

fn begin_ending(spec: &PodSpec, sight: Sight<'_>, plan: &mut Plan) -> Option<Ending> {
    let ending = Ending { cause: ending::cause(spec, sight, plan)?, since: sight.now };
    plan.actions.push(Action::End(ending.clone()));
    Some(ending)
}

fn live(spec: &PodSpec, sight: Sight<'_>, plan: &mut Plan) {
    starting::volumes(sight, plan);
    starting::sandbox(sight, plan);
    if let Some(sandbox) = sight.observed.ready_sandbox() {
        for member in starting::due(spec, sight.observed, sandbox) {
            keeping::steps(spec, member, sight, sandbox, plan);
        }
    } else {
        keeping::without_sandbox(spec, sight, plan);
    }
    for member in members(spec) {
        keeping::tidy(member, sight, plan);
    }
}

impl Plan {
    fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// To be looked at again by then.
    fn look(&mut self, at: Timestamp) {
        self.next_look = Some(self.next_look.map_or(at, |next| next.min(at)));
    }
}

fn name(member: Member<'_>) -> String {
    member.name().to_owned()
}

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
