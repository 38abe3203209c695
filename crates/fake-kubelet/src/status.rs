//! The status a kubelet writes at each stage of a Pod.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{HostIP, Pod, PodIP, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::Sight;
use super::stage::{Ending, Stage};
use super::{conditions, containers};

/// The status of a Pod on this node.
pub(super) fn at(stage: &Stage, sight: Sight<'_>) -> PodStatus {
    let ips = pod_ips(stage, sight);
    let verdict = ending(stage).and_then(|ending| ending.verdict.as_ref());
    PodStatus {
        phase: Some(phase(stage).to_owned()),
        reason: verdict.map(|verdict| verdict.reason.clone()),
        message: verdict.map(|verdict| verdict.message.clone()),
        observed_generation: sight.pod.metadata.generation,
        conditions: Some(conditions::at(stage, sight)),
        host_ip: Some(sight.place.host.to_string()),
        host_ips: Some(vec![HostIP { ip: sight.place.host.to_string() }]),
        pod_ip: ips.first().map(ToString::to_string),
        pod_ips: (!ips.is_empty()).then(|| ips.iter().map(|ip| PodIP { ip: ip.to_string() }).collect()),
        start_time: Some(Time(sight.bound())),
        init_container_statuses: containers::init(stage, sight),
        container_statuses: Some(containers::main(stage, sight)),
        ..PodStatus::default()
    }
}

/// The status of a Pod that no node suits.
pub(super) fn refused(sight: Sight<'_>) -> PodStatus {
    PodStatus { conditions: Some(vec![conditions::unschedulable(sight)]), ..PodStatus::default() }
}

/// Whether a Pod's status says already what is wanted, as far as others act on it.
pub(super) fn shows(pod: &Pod, wanted: &PodStatus) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_ref());
    (wanted.phase.is_none() || wanted.phase.as_ref() == phase) && conditions::shown(pod, wanted)
}

/// The addresses a Pod has.
pub(super) fn addresses(pod: &Pod) -> Vec<IpAddr> {
    let ips = pod.status.iter().flat_map(|status| status.pod_ips.iter().flatten());
    ips.filter_map(|pod_ip| pod_ip.ip.parse().ok()).collect()
}

fn phase(stage: &Stage) -> &'static str {
    match stage {
        Stage::Waiting => "Pending",
        Stage::Started | Stage::Ready => "Running",
        Stage::Ended(ending) => ending.phase,
    }
}

fn ending(stage: &Stage) -> Option<&Ending> {
    match stage {
        Stage::Ended(ending) => Some(ending),
        Stage::Waiting | Stage::Started | Stage::Ready => None,
    }
}

fn pod_ips(stage: &Stage, sight: Sight<'_>) -> Vec<IpAddr> {
    let host_network = sight.pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or(false);
    match stage {
        Stage::Waiting => Vec::new(),
        _ if host_network => vec![sight.place.host],
        _ => sight.memory.addresses.clone(),
    }
}
