//! The condition Ready of a Sandbox. Trouble comes first, then what the user asked for, then how the Pod does.

use asb_types::conditions::sandbox_ready;
use asb_types::v1beta1::OperatingMode;
use jiff::Timestamp;

use super::at_hand::AtHand;
use super::conditions::ended;
use super::observed::Observed;
use super::service;
use super::termination::{Hold, Termination};
use super::trouble::{Class, Trouble};
use crate::conditions::Verdict;
use crate::views::PodView;

pub(super) fn ready(observed: &Observed, troubles: &[Trouble], now: Timestamp) -> Verdict {
    let pod = AtHand::of(observed);
    if let Some(verdict) = troubled(troubles) {
        return verdict;
    }
    if let Some(verdict) = pod.ours().and_then(|pod| stuck(pod, observed, now)) {
        return verdict;
    }
    if observed.sandbox.operating_mode == OperatingMode::Suspended {
        let is_gone = matches!(pod, AtHand::Nothing);
        let message = if is_gone { "Sandbox is suspended" } else { "Sandbox is suspending" };
        return Verdict::new(false, sandbox_ready::SUSPENDED, message);
    }
    if let Some((reason, message)) = pod.ours().and_then(ended) {
        return Verdict::new(false, reason, message);
    }
    dependencies(observed, pod.ours())
}

pub(super) fn expired() -> Verdict {
    Verdict::new(false, sandbox_ready::EXPIRED, "Sandbox has expired")
}

/// The most telling reason counts. What cannot succeed is called so only if nothing else is wrong that might pass.
fn troubled(troubles: &[Trouble]) -> Option<Verdict> {
    let of = |class| troubles.iter().find(move |trouble| trouble.class == class);
    let telling = [
        (Class::MultiplePods, sandbox_ready::MULTIPLE_PODS),
        (Class::NameHashCollision, sandbox_ready::NAME_HASH_COLLISION),
    ];
    for (class, reason) in telling {
        if let Some(trouble) = of(class) {
            return Some(Verdict::new(false, reason, trouble.message.as_str()));
        }
    }
    let text = troubles.iter().map(|trouble| trouble.message.as_str()).collect::<Vec<_>>().join("\n");
    if troubles.is_empty() {
        None
    } else if troubles.iter().all(|trouble| trouble.class == Class::Invalid) {
        Some(Verdict::new(false, sandbox_ready::INVALID_CONFIGURATION, text))
    } else {
        Some(Verdict::new(false, sandbox_ready::RECONCILER_ERROR, format!("Error seen: {text}")))
    }
}

fn stuck(pod: &PodView, observed: &Observed, now: Timestamp) -> Option<Verdict> {
    let name = pod.metadata.name();
    let message = match Termination::of(pod, observed, now) {
        Termination::Stuck(Hold::Node(node)) => format!(
            "Pod {name:?} should have ended and node {node:?} does not confirm it. It is removed by force once \
             the Node is deleted or has the taint node.kubernetes.io/out-of-service"
        ),
        Termination::Stuck(Hold::Finalizers) => {
            format!("Pod {name:?} has ended and is kept by its finalizers")
        }
        _ => return None,
    };
    Some(Verdict::new(false, sandbox_ready::POD_STUCK_TERMINATING, message))
}

fn dependencies(observed: &Observed, pod: Option<&PodView>) -> Verdict {
    let (is_pod_ready, mut message) = pod_readiness(pod);
    let is_service_there = service::in_use(observed).is_some();
    let is_required = service::is_required(observed);
    if is_required {
        message += if is_service_there { "; Service Exists" } else { "; Service does not exist" };
    }
    if is_pod_ready && (is_service_there || !is_required) {
        Verdict::new(true, sandbox_ready::DEPENDENCIES_READY, message)
    } else {
        Verdict::new(false, sandbox_ready::DEPENDENCIES_NOT_READY, message)
    }
}

/// A Pod that was asked to go is of no use to anybody, whatever it still says of itself.
fn pod_readiness(pod: Option<&PodView>) -> (bool, String) {
    let waiting = |message: &str| (false, message.to_owned());
    match pod {
        None => waiting("Pod does not exist"),
        Some(pod) if pod.metadata.is_deleting() => waiting("Pod is terminating"),
        Some(pod) if pod.phase != PodView::RUNNING => {
            (false, format!("Pod exists with phase: {}", pod.phase))
        }
        Some(pod) if !pod.is_ready => waiting("Pod is Running but not Ready"),
        Some(pod) if pod.ips.is_empty() => waiting("Pod is Ready but has no podIPs yet"),
        Some(_) => (true, "Pod is Ready".to_owned()),
    }
}
