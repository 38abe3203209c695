//! A Pod as its kubelet reports it: phase, conditions, containers and addresses. Leaves writing it to `node`.

mod conditions;
mod containers;
pub mod events;
mod phase;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{HostIP, Pod, PodIP, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::lifecycle::Sight;
use super::observed::Cause;
use super::resources;
use crate::conditions::whole_seconds;

pub use phase::Phase;

/// The status of a Pod on this node, whose addresses are given with the primary one first.
pub fn report(sight: Sight<'_>, host: &[String]) -> PodStatus {
    let Some(spec) = sight.pod.spec.as_ref() else { return PodStatus::default() };
    let phase = phase::phase(spec, sight);
    let (reason, message) = told(sight, phase).unzip();
    let ips = addresses(spec, sight, host);
    let is_refused = is_refused(sight);
    let (main, init) = (containers::main(spec, sight), containers::init(spec, sight));
    PodStatus {
        phase: Some(phase.as_str().to_owned()),
        reason,
        message,
        observed_generation: sight.pod.metadata.generation,
        conditions: Some(conditions::conditions(spec, sight, phase, &main, &init)),
        host_ip: host.first().cloned(),
        host_ips: (!host.is_empty()).then(|| host.iter().map(|ip| HostIP { ip: ip.clone() }).collect()),
        pod_ip: ips.first().cloned(),
        pod_ips: (!ips.is_empty()).then(|| ips.into_iter().map(|ip| PodIP { ip }).collect()),
        qos_class: Some(resources::class(spec).as_str().to_owned()),
        start_time: Some(start_time(sight.pod, sight.now)),
        container_statuses: (!is_refused).then_some(main),
        init_container_statuses: (!is_refused && !init.is_empty()).then_some(init),
        ..PodStatus::default()
    }
}

/// A Pod that was refused has no containers to speak of.
fn is_refused(sight: Sight<'_>) -> bool {
    matches!(sight.observed.ending.as_ref().map(|ending| &ending.cause), Some(Cause::Refused { .. }))
}

/// Once it has one it keeps it.
fn start_time(pod: &Pod, now: Timestamp) -> Time {
    let known = pod.status.as_ref().and_then(|status| status.start_time.clone());
    known.unwrap_or_else(|| whole_seconds(now))
}

const DEADLINE: &str = "Pod was active on the node longer than the specified deadline";

/// Reason and message that go with the phase.
fn told(sight: Sight<'_>, phase: Phase) -> Option<(String, String)> {
    let old = sight.pod.status.as_ref().filter(|status| status.phase.as_deref() == Some(phase.as_str()));
    let kept =
        old.and_then(|status| Some((status.reason.clone()?, status.message.clone().unwrap_or_default())));
    let ending = sight.observed.ending.as_ref().filter(|_| phase == Phase::Failed);
    kept.or_else(|| match &ending?.cause {
        Cause::DeadlineExceeded => Some(("DeadlineExceeded".to_owned(), DEADLINE.to_owned())),
        Cause::Refused { reason, message } => Some((reason.clone(), format!("Pod was rejected: {message}"))),
        Cause::Evicted { reason, message } => Some((reason.clone(), message.clone())),
        Cause::Completed | Cause::Deleted => None,
    })
}

/// Those of its sandbox, or the host's on the host's network. A Pod that has ended keeps them for whoever asks.
fn addresses(spec: &PodSpec, sight: Sight<'_>, host: &[String]) -> Vec<String> {
    let sandbox = sight.observed.sandbox.as_ref();
    let known = sight.pod.status.iter().flat_map(|status| status.pod_ips.iter().flatten());
    match sandbox {
        Some(_) if spec.host_network == Some(true) => host.to_vec(),
        Some(sandbox) if !sandbox.addresses.is_empty() => sandbox.addresses.clone(),
        _ if sight.observed.ending.is_some() => known.map(|known| known.ip.clone()).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
