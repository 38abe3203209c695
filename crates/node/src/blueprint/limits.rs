//! Requests and limits as cgroups know them.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements};

use super::containers;
use crate::quantity::{List, counted};
use crate::shim::plan::{CpuQuota, Limits};

/// Microseconds.
const PERIOD: u64 = 100_000;
const LEAST_QUOTA: u64 = 1000;
const LEAST_SHARES: u64 = 2;
const MOST_SHARES: u64 = 262_144;

/// A container without limits has those of its Pod, so that programs which look at their own cgroup see them.
pub(super) fn of_container(spec: &PodSpec, container: &Container) -> Limits {
    let (own, pod) = (container.resources.as_ref(), spec.resources.as_ref());
    let limit = |name| match counted(limits(own), name) {
        0 => counted(limits(pod), name),
        own => own,
    };
    let cpu = limit("cpu");
    let is_requested = requests(own).is_some_and(|requests| requests.contains_key("cpu"));
    let weight = if is_requested { counted(requests(own), "cpu") } else { cpu };
    Limits {
        memory: some(limit("memory")),
        cpu: some(cpu).map(quota),
        cpu_shares: Some(shares(weight)),
        pids: None,
    }
}

/// The Pod's own figures, or the sum of its containers' where every one of them has a limit.
pub(super) fn of_pod(pod: &Pod, spec: &PodSpec, pids: Option<u64>) -> Limits {
    if is_best_effort(pod) {
        return Limits { cpu_shares: Some(LEAST_SHARES), pids, ..Limits::default() };
    }
    let limit = |name| some(total(spec, limits, name)).filter(|_| is_limited(spec, name));
    Limits {
        memory: limit("memory"),
        cpu: limit("cpu").map(quota),
        cpu_shares: Some(shares(total(spec, requests, "cpu"))),
        pids,
    }
}

/// As the API server wrote it.
fn is_best_effort(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|status| status.qos_class.as_deref()) == Some("BestEffort")
}

pub(super) fn requests(resources: Option<&ResourceRequirements>) -> Option<&List> {
    resources?.requests.as_ref()
}

fn limits(resources: Option<&ResourceRequirements>) -> Option<&List> {
    resources?.limits.as_ref()
}

fn is_limited(spec: &PodSpec, name: &str) -> bool {
    let own = counted(limits(spec.resources.as_ref()), name) > 0;
    own || containers(spec).all(|container| counted(limits(container.resources.as_ref()), name) > 0)
}

/// What a Pod needs at its worst moment: all containers and sidecars, or one init container beside the sidecars before it.
pub(super) fn total(
    spec: &PodSpec,
    list: fn(Option<&ResourceRequirements>) -> Option<&List>,
    name: &str,
) -> u64 {
    let own = counted(list(spec.resources.as_ref()), name);
    let overhead = counted(spec.overhead.as_ref(), name);
    if own > 0 {
        return own + overhead;
    }
    let of = |container: &Container| counted(list(container.resources.as_ref()), name);
    let (mut beside, mut most) = (0, 0);
    for container in spec.init_containers.iter().flatten() {
        most = u64::max(most, beside + of(container));
        if is_sidecar(container) {
            beside += of(container);
        }
    }
    let running = beside + spec.containers.iter().map(of).sum::<u64>();
    match running.max(most) {
        0 => 0,
        needed => needed + overhead,
    }
}

pub(super) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn some(amount: u64) -> Option<u64> {
    (amount > 0).then_some(amount)
}

fn quota(thousandths: u64) -> CpuQuota {
    CpuQuota { quota: (thousandths.saturating_mul(PERIOD) / 1000).max(LEAST_QUOTA), period: PERIOD }
}

fn shares(thousandths: u64) -> u64 {
    (thousandths.saturating_mul(1024) / 1000).clamp(LEAST_SHARES, MOST_SHARES)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::blueprint::fixtures::Case;

    fn container(resources: Value, pod: Value) -> Limits {
        let case = Case::with(json!({"resources": resources})).spec("resources", pod);
        of_container(case.resolved().spec().unwrap(), case.container())
    }

    fn pod(case: &Case) -> Limits {
        of_pod(&case.pod, case.resolved().spec().unwrap(), Some(99))
    }

    #[test]
    fn a_containers_limits_become_quota_bytes_and_weight() {
        let limits = container(json!({"limits": {"cpu": "250m", "memory": "64Mi"}}), json!({}));
        assert_eq!(limits.memory, Some(64 << 20));
        assert_eq!(limits.cpu, Some(CpuQuota { quota: 25_000, period: 100_000 }));
        assert_eq!(limits.cpu_shares, Some(256));
    }

    #[test]
    fn weight_follows_the_request_and_is_never_nothing() {
        let shares = |resources| container(resources, json!({})).cpu_shares.unwrap();
        assert_eq!(shares(json!({"limits": {"cpu": "2"}, "requests": {"cpu": "500m"}})), 512);
        assert_eq!(shares(json!({})), 2);
        assert_eq!(shares(json!({"requests": {"cpu": "1000000"}})), 262_144);
        assert_eq!(container(json!({"limits": {"cpu": "1m"}}), json!({})).cpu.unwrap().quota, 1000);
        assert_eq!(container(json!({}), json!({})), Limits { cpu_shares: Some(2), ..Limits::default() });
    }

    #[test]
    fn a_container_without_limits_has_its_pods() {
        let of_pod = json!({"limits": {"cpu": "2", "memory": "1Gi"}});
        let limits = container(json!({"limits": {"cpu": "1"}}), of_pod);
        assert_eq!((limits.memory, limits.cpu.unwrap().quota), (Some(1 << 30), 100_000));
    }

    #[test]
    fn a_pods_limits_are_the_sum_where_all_have_one() {
        let limited = |cpu: &str| json!({"name": cpu, "resources": {"limits": {"cpu": cpu, "memory": "1Mi"}, "requests": {"cpu": cpu}}});
        let mut sidecar = limited("4");
        sidecar["restartPolicy"] = json!("Always");
        let case = Case::with(json!({}))
            .spec("containers", json!([limited("1"), limited("2")]))
            .spec("initContainers", json!([sidecar, limited("5")]))
            .spec("overhead", json!({"cpu": "1"}));
        assert_eq!(pod(&case).cpu.unwrap().quota, 1_000_000);
        assert_eq!(pod(&case).cpu_shares, Some(10_240));
        assert_eq!((pod(&case).memory, pod(&case).pids), (Some(3 << 20), Some(99)));
        let open = case.spec("containers", json!([limited("1"), {"name": "open"}]));
        assert_eq!((pod(&open).cpu, pod(&open).memory), (None, None));
    }

    #[test]
    fn the_pods_own_figures_go_before_the_sum() {
        let case = Case::with(json!({"resources": {"requests": {"cpu": "3"}}}))
            .spec("resources", json!({"limits": {"cpu": "2", "memory": "9"}, "requests": {"cpu": "1"}}));
        let limits = pod(&case);
        assert_eq!(
            (limits.cpu.unwrap().quota, limits.memory, limits.cpu_shares),
            (200_000, Some(9), Some(1024))
        );
    }

    #[test]
    fn a_pod_that_asks_for_nothing_yields_to_all_others() {
        let case = Case::with(json!({})).class("BestEffort");
        assert_eq!(pod(&case), Limits { cpu_shares: Some(2), pids: Some(99), ..Limits::default() });
    }
}
