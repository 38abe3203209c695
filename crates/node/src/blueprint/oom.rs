//! How readily the kernel ends a container's processes when memory runs out, as kubelets compute it: last what is
//! guaranteed, first what asks for nothing, and the others by what they ask for.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

use super::containers;
use super::limits::{is_sidecar, requests, total};
use crate::quantity::counted;

const GUARANTEED: i32 = -997;
const BEST_EFFORT: i32 = 1000;
/// Of `system-node-critical`.
const CRITICAL: i32 = 2_000_001_000;

pub(super) fn score(pod: &Pod, container: &Container, capacity: u64) -> i32 {
    let Some(spec) = &pod.spec else { return BEST_EFFORT };
    let class = pod.status.as_ref().and_then(|status| status.qos_class.as_deref());
    match class {
        _ if spec.priority.is_some_and(|priority| priority >= CRITICAL) => GUARANTEED,
        Some("Guaranteed") => GUARANTEED,
        Some("Burstable") => burstable(spec, container, capacity),
        _ => BEST_EFFORT,
    }
}

fn burstable(spec: &PodSpec, container: &Container, capacity: u64) -> i32 {
    let share = share(spec);
    let score = |request: u64| {
        let thousandths = (u128::from(request + share) * 1000) / u128::from(capacity.max(1));
        1000 - i32::try_from(thousandths.min(2000)).expect("it is small")
    };
    let mut own = score(memory(container));
    if is_sidecar(container) {
        // No sidecar goes before the containers that depend on it.
        let least = spec.containers.iter().map(memory).min().unwrap_or_default();
        own = own.min(score(least));
    }
    own.clamp(1000 + GUARANTEED, BEST_EFFORT - 1)
}

/// What the Pod asks for beyond its containers, divided among them.
fn share(spec: &PodSpec) -> u64 {
    let pod = counted(requests(spec.resources.as_ref()), "memory");
    if pod == 0 {
        return 0;
    }
    let mut alone = spec.clone();
    (alone.resources, alone.overhead) = (None, None);
    let asked = total(&alone, requests, "memory");
    let count = u64::try_from(containers(spec).count()).unwrap_or(u64::MAX).max(1);
    pod.saturating_sub(asked) / count
}

fn memory(container: &Container) -> u64 {
    counted(requests(container.resources.as_ref()), "memory")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::blueprint::fixtures::Case;

    fn asking(memory: &str) -> Value {
        json!({"resources": {"requests": {"memory": memory}}})
    }

    fn scored(case: &Case) -> i32 {
        score(&case.pod, case.container(), 1000)
    }

    #[test]
    fn classes_are_ended_in_their_order() {
        assert_eq!(scored(&Case::with(asking("100")).class("Guaranteed")), -997);
        assert_eq!(scored(&Case::with(asking("100")).class("Burstable")), 900);
        assert_eq!(scored(&Case::with(json!({})).class("BestEffort")), 1000);
    }

    #[test]
    fn the_burstable_stay_between_the_others() {
        assert_eq!(scored(&Case::with(asking("999")).class("Burstable")), 3);
        assert_eq!(scored(&Case::with(asking("5000")).class("Burstable")), 3);
        assert_eq!(scored(&Case::with(json!({})).class("Burstable")), 999);
    }

    #[test]
    fn what_the_pod_asks_for_beyond_its_containers_is_divided() {
        let case = Case::with(asking("100")).class("Burstable");
        let case = case.spec("resources", json!({"requests": {"memory": "500"}}));
        assert_eq!(scored(&case), 500);
    }

    #[test]
    fn a_sidecar_is_not_ended_before_those_it_serves() {
        let mut main = asking("300");
        main["name"] = json!("main");
        let sidecar = json!({"name": "c", "restartPolicy": "Always"});
        let case = Case::with(json!({})).class("Burstable").spec("containers", json!([main]));
        let case = case.spec("initContainers", json!([sidecar]));
        assert_eq!(scored(&case), 700);
    }

    #[test]
    fn a_critical_pod_is_ended_last() {
        let case = Case::with(json!({})).class("BestEffort").spec("priority", json!(2_000_001_000));
        assert_eq!(scored(&case), -997);
    }
}
