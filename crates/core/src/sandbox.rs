//! Decides what one Sandbox needs next: its volumes, its Pod, its Service, its end, and what its status says.
//!
//! Leaves watching and doing to `operator`: it observes, carries out the [`Plan`], observes again and writes the
//! [`Status`] that follows from what it then sees and from what went wrong. Never writes a Sandbox's spec, and never
//! changes or deletes what the Sandbox does not own by UID, except to adopt it where a label says so.

mod adoption;
mod at_hand;
mod conditions;
mod due;
mod expiry;
mod memory;
mod observed;
mod phase;
mod plan;
mod pod;
mod pod_metadata;
mod pod_name;
mod pod_object;
mod ready;
mod refusal;
mod runtime;
mod service;
mod service_ports;
mod setback;
mod status;
mod termination;
mod trouble;
mod turns;
mod volumes;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;

use jiff::Timestamp;

pub use due::{Due, status_is_due};
pub use memory::Memory;
pub use observed::{Node, Observed, Settings};
pub use plan::{Plan, Step, Warning};
pub use refusal::{Refusal, Thing};
pub use runtime::{Delivery as RuntimeDelivery, Source as RuntimeSource, Unfit};
pub use setback::Setbacks;
pub use status::{Status, status};
pub use trouble::{Class, Part, Trouble};
pub use turns::{Turn, turns};

use expiry::Expiry;

/// Total and deterministic: every snapshot has a plan, and the same one at the same time.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let mut plan = needed(observed, now);
    observed.memory.setbacks.hold_back(&mut plan, now);
    plan
}

/// What is needed, whatever became of it when it was tried before.
fn needed(observed: &Observed, now: Timestamp) -> Plan {
    if observed.sandbox.metadata.is_deleting() {
        return Plan::default();
    }
    match Expiry::of(&observed.sandbox, now) {
        Expiry::Ahead(_) if observed.older_twin.is_some() => collided(observed, now),
        Expiry::Ahead(_) => live(observed, now),
        // The status says so first, so that whoever watches sees the end before the Pod goes.
        Expiry::Unannounced => Plan { look_again: Some(now), ..Plan::default() },
        Expiry::Announced => expiry::teardown(observed, now),
    }
}

fn live(observed: &Observed, now: Timestamp) -> Plan {
    let pod = pod::plan(observed, now);
    // Whose Service it would be cannot be said while several Pods claim to be the one.
    let is_settled = !matches!(pod.refusal, Some(Refusal::MultiplePods(_)));
    Plan {
        volumes: volumes::plan(observed),
        pod_name: pod_name::plan(observed),
        service: if is_settled { service::plan(observed) } else { Step::default() },
        warnings: plan::warnings(observed, &pod),
        pod,
        ..Plan::default()
    }
    .looking_again(observed, now)
}

/// Another Sandbox owns the label value that everything here is found by: nothing is made or taken over, and what
/// there is can still be suspended.
fn collided(observed: &Observed, now: Timestamp) -> Plan {
    let mut pod = pod::plan_suspension(observed, now);
    pod.refusal = observed.older_twin.as_deref().map(|twin| Refusal::collision(&observed.sandbox, twin));
    // The other Sandbox may go without this one being told.
    pod.look_again = pod.look_again.into_iter().chain([plan::after(now, plan::PATIENCE)]).min();
    Plan { pod, ..Plan::default() }.looking_again(observed, now)
}
