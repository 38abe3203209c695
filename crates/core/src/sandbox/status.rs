//! What a Sandbox's status says, given what is there after a plan was carried out and what went wrong on the way.

use asb_types::conditions::{FINISHED, POD_SCHEDULED, READY, SUSPENDED};
use asb_types::names;
use asb_types::v1beta1::{OperatingMode, SandboxStatus};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::at_hand::AtHand;
use super::expiry::Expiry;
use super::observed::Observed;
use super::trouble::{Class, Trouble};
use super::{conditions as pod_conditions, phase, ready, service};
use crate::conditions::{self, Verdict};
use crate::patch::difference;
use crate::views::SandboxView;
use crate::write::{Kind, Write};

#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub reported: SandboxStatus,
}

impl Status {
    /// The least that makes the Sandbox's status this one.
    pub fn write(&self, sandbox: &SandboxView) -> Option<Write> {
        let change = difference(&json!(sandbox.status), &self.value())?;
        Some(Write::patch_status(Kind::Sandbox, &sandbox.metadata, json!({"status": change})))
    }

    pub fn value(&self) -> Value {
        json!(self.reported)
    }
}

/// Observed *after* the plan was carried out; the troubles are the plan's own and those met.
pub fn status(after: &Observed, troubles: &[Trouble], now: Timestamp) -> Status {
    let mut reported = after.sandbox.status.clone();
    if !after.sandbox.metadata.is_deleting() {
        match Expiry::of(&after.sandbox, now) {
            Expiry::Ahead(_) => live(&mut reported, after, troubles, now),
            Expiry::Unannounced => expire(&mut reported, after, now),
            Expiry::Announced => {
                if troubles.is_empty() {
                    reported = SandboxStatus { conditions: reported.conditions, ..SandboxStatus::default() };
                }
                expire(&mut reported, after, now);
            }
        }
    }
    reported.phase = Some(phase::of(after, &reported, now));
    Status { reported }
}

fn live(reported: &mut SandboxStatus, after: &Observed, troubles: &[Trouble], now: Timestamp) {
    let pod = AtHand::of(after).ours();
    reported.pod_ips = pod.map(|pod| pod.ips.clone()).unwrap_or_default();
    reported.node_name = pod.map(|pod| pod.node.clone()).unwrap_or_default();
    if has_pod(after) {
        reported.selector = names::sandbox_selector(after.name());
    }
    if !troubles.iter().any(|trouble| hides_service(trouble.class)) {
        report_service(reported, after);
    }
    let verdicts = [
        (SUSPENDED, Some(pod_conditions::suspended(after, troubles))),
        (FINISHED, pod_conditions::finished(after)),
        (POD_SCHEDULED, pod_conditions::pod_scheduled(after, troubles)),
        (READY, Some(ready::ready(after, troubles, now))),
    ];
    for (type_, verdict) in verdicts {
        settle(reported, after, type_, verdict, now);
    }
}

/// Suspended and Finished stay: how it ended is worth knowing.
fn expire(reported: &mut SandboxStatus, after: &Observed, now: Timestamp) {
    settle(reported, after, POD_SCHEDULED, None, now);
    settle(reported, after, READY, Some(ready::expired()), now);
}

fn settle(
    reported: &mut SandboxStatus,
    after: &Observed,
    type_: &str,
    verdict: Option<Verdict>,
    now: Timestamp,
) {
    let generation = after.sandbox.metadata.generation;
    match verdict {
        Some(verdict) => conditions::set(&mut reported.conditions, type_, verdict, generation, now),
        None => conditions::remove(&mut reported.conditions, type_),
    }
}

/// Whether there is a Pod that the selector could be about. One that is refused is none of the Sandbox's business, but
/// one that keeps it from being suspended is.
fn has_pod(after: &Observed) -> bool {
    match AtHand::of(after) {
        AtHand::Ours(_) => true,
        AtHand::Nobodys(_) | AtHand::Anothers(..) => after.sandbox.operating_mode == OperatingMode::Suspended,
        AtHand::Nothing | AtHand::Several(_) => false,
    }
}

/// In these cases nothing is done about the Service, and nothing is said.
fn hides_service(class: Class) -> bool {
    matches!(class, Class::MultiplePods | Class::NameHashCollision)
}

fn report_service(reported: &mut SandboxStatus, after: &Observed) {
    let namespace = &after.sandbox.metadata.key.namespace;
    let name = service::in_use(after).map(|service| service.metadata.name());
    name.unwrap_or_default().clone_into(&mut reported.service);
    reported.service_fqdn = name
        .map(|name| names::service_fqdn(name, namespace, &after.settings.cluster_domain))
        .unwrap_or_default();
}
