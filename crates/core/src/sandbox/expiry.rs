//! The end of a Sandbox whose time has come: announced first, then the Pod and the Service go, and the Sandbox too
//! where its policy says so.

use asb_types::conditions::{READY, sandbox_ready};
use asb_types::lifecycle::ShutdownPolicy;
use jiff::Timestamp;

use super::at_hand;
use super::observed::Observed;
use super::plan::{Plan, Step, after};
use super::termination;
use crate::conditions;
use crate::views::SandboxView;
use crate::write::{Deleting, Kind, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    /// It lives on, perhaps until then.
    Ahead(Option<Timestamp>),
    /// It has expired, and its status does not say so yet.
    Unannounced,
    /// It has expired, and whoever watches could see it.
    Announced,
}

impl Expiry {
    pub(super) fn of(sandbox: &SandboxView, now: Timestamp) -> Self {
        let ready = conditions::find(&sandbox.status.conditions, READY);
        match sandbox.shutdown_time {
            Some(end) if now < end => Self::Ahead(Some(end)),
            None => Self::Ahead(None),
            Some(_) if ready.is_some_and(|ready| ready.reason == sandbox_ready::EXPIRED) => Self::Announced,
            Some(_) => Self::Unannounced,
        }
    }

    /// When the passing of time alone makes a difference next.
    pub(super) fn next(sandbox: &SandboxView, now: Timestamp) -> Option<Timestamp> {
        match Self::of(sandbox, now) {
            Self::Ahead(end) => end,
            Self::Unannounced => Some(now),
            Self::Announced => removal_time(sandbox).filter(|removal| now < *removal),
        }
    }
}

/// When a Sandbox that has expired is to be deleted.
fn removal_time(sandbox: &SandboxView) -> Option<Timestamp> {
    let end = sandbox.shutdown_time?;
    match sandbox.shutdown_policy {
        ShutdownPolicy::Delete => Some(end),
        ShutdownPolicy::Retain => sandbox.ttl_after_expired.map(|ttl| after(end, ttl)),
    }
}

/// Volumes stay: they go with the Sandbox, if at all.
pub(super) fn teardown(observed: &Observed, now: Timestamp) -> Plan {
    let metadata = &observed.sandbox.metadata;
    let service = observed.service.as_deref().map(|service| &service.metadata);
    let service = service.filter(|service| service.is_owned_by(&metadata.uid) && !service.is_deleting());
    let is_over = removal_time(&observed.sandbox).is_some_and(|removal| removal <= now);
    Plan {
        pod: pods(observed, now),
        service: service.map(|service| Write::delete(Kind::Service, service, Deleting::Background)).into(),
        sandbox: is_over.then(|| Write::delete(Kind::Sandbox, metadata, Deleting::Background)).into(),
        ..Plan::default()
    }
    .looking_again(observed, now)
}

fn pods(observed: &Observed, now: Timestamp) -> Step {
    let steps: Vec<_> = at_hand::owned(observed).map(|pod| termination::remove(pod, observed, now)).collect();
    Step {
        look_again: steps.iter().filter_map(|step| step.look_again).min(),
        writes: steps.into_iter().flat_map(|step| step.writes).collect(),
        ..Step::default()
    }
}
