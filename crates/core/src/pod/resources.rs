//! What a Pod takes of a node, and the class of service that follows from it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::quantity;

/// Amounts by name: processors in thousandths, everything else in whole units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources(BTreeMap<String, i64>);

impl Resources {
    pub fn read(list: Option<&BTreeMap<String, Quantity>>) -> Self {
        let counted = |(name, amount): (&String, &Quantity)| (name.clone(), quantity::counted(name, amount));
        Self(list.into_iter().flatten().map(counted).collect())
    }

    pub fn get(&self, name: &str) -> i64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    pub fn set(&mut self, name: &str, amount: i64) {
        self.0.insert(name.to_owned(), amount);
    }

    pub fn amounts(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), *amount))
    }

    pub fn add(&mut self, other: &Self) {
        for (name, amount) in other.amounts() {
            let sum = self.0.entry(name.to_owned()).or_default();
            *sum = sum.saturating_add(amount);
        }
    }

    fn raise_to(&mut self, other: &Self) {
        for (name, amount) in other.amounts() {
            let most = self.0.entry(name.to_owned()).or_default();
            *most = amount.max(*most);
        }
    }
}

/// What the scheduler counts for a Pod: the sum of its containers and sidecars, or what its init containers need at their
/// worst moment; the Pod's own figures before both; and the overhead.
pub fn requests(spec: &PodSpec) -> Resources {
    let mut total = Resources::default();
    for container in spec.containers.iter().chain(sidecars(spec)) {
        total.add(&requested(container));
    }
    total.raise_to(&initialization(spec));
    total.0.extend(of_pod(spec));
    total.add(&Resources::read(spec.overhead.as_ref()));
    total
}

/// Whether an init container runs on beside the containers proper.
pub fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn sidecars(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().flatten().filter(|container| is_sidecar(container))
}

fn requested(container: &Container) -> Resources {
    Resources::read(container.resources.as_ref().and_then(|resources| resources.requests.as_ref()))
}

/// The most that is needed while init containers run, each beside the sidecars before it.
fn initialization(spec: &PodSpec) -> Resources {
    let (mut most, mut beside) = (Resources::default(), Resources::default());
    for container in spec.init_containers.iter().flatten() {
        let mut needed = beside.clone();
        needed.add(&requested(container));
        most.raise_to(&needed);
        if is_sidecar(container) {
            beside = needed;
        }
    }
    most
}

/// What the Pod says for all of its containers together.
fn of_pod(spec: &PodSpec) -> BTreeMap<String, i64> {
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let mut requests = Resources::read(requests).0;
    requests.retain(|name, _| name == "cpu" || name == "memory" || name.starts_with("hugepages-"));
    requests
}

/// How readily a Pod gives way when memory runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Guaranteed,
    Burstable,
    BestEffort,
}

impl Class {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guaranteed => "Guaranteed",
            Self::Burstable => "Burstable",
            Self::BestEffort => "BestEffort",
        }
    }
}

type Demand = (Option<BTreeMap<String, Quantity>>, Option<BTreeMap<String, Quantity>>);

/// Guaranteed is a Pod that may use what it requests and no more, of processors and memory alike.
pub fn class(spec: &PodSpec) -> Class {
    let demands = demands(spec);
    let (mut requests, mut limits, mut is_guaranteed) = (Resources::default(), Resources::default(), true);
    for (requested, limit) in &demands {
        let limit = essential(limit.as_ref());
        is_guaranteed &= limit.0.len() == 2;
        requests.add(&essential(requested.as_ref()));
        limits.add(&limit);
    }
    if requests.0.is_empty() && limits.0.is_empty() {
        Class::BestEffort
    } else if is_guaranteed && requests == limits {
        Class::Guaranteed
    } else {
        Class::Burstable
    }
}

/// Requests and limits that count: the Pod's own, else those of every container.
fn demands(spec: &PodSpec) -> Vec<Demand> {
    if let Some(resources) = &spec.resources {
        return vec![(resources.requests.clone(), resources.limits.clone())];
    }
    let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let resources = containers.map(|container| container.resources.clone().unwrap_or_default());
    resources.map(|resources| (resources.requests, resources.limits)).collect()
}

/// Processors and memory, where anything of them is named.
fn essential(list: Option<&BTreeMap<String, Quantity>>) -> Resources {
    let mut resources = Resources::read(list);
    resources.0.retain(|name, amount| (name == "cpu" || name == "memory") && *amount > 0);
    resources
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(value: serde_json::Value) -> PodSpec {
        serde_json::from_value(value).unwrap()
    }

    fn with(cpu: &str) -> serde_json::Value {
        json!({"name": "c", "resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn containers_add_up_and_the_largest_init_container_counts() {
        let spec = spec(
            json!({"containers": [with("100m"), with("200m")], "initContainers": [with("1"), with("2")]}),
        );
        assert_eq!(requests(&spec).get("cpu"), 2000);
    }

    #[test]
    fn sidecars_count_beside_containers_and_beside_later_init_containers() {
        let mut sidecar = with("1");
        sidecar["restartPolicy"] = json!("Always");
        let before = spec(json!({"containers": [with("2")], "initContainers": [sidecar, with("4")]}));
        let after = spec(json!({"containers": [with("2")], "initContainers": [with("4"), sidecar]}));
        assert_eq!(requests(&before).get("cpu"), 5000);
        assert_eq!(requests(&after).get("cpu"), 4000);
    }

    #[test]
    fn the_pods_own_figure_comes_first_and_overhead_is_added() {
        let spec = spec(json!({
            "containers": [with("2")], "overhead": {"cpu": "100m", "memory": "1Mi"},
            "resources": {"requests": {"cpu": "1"}},
        }));
        assert_eq!(requests(&spec).get("cpu"), 1100);
        assert_eq!(requests(&spec).get("memory"), 1 << 20);
    }

    #[test]
    fn classes_follow_from_requests_and_limits() {
        let both = |limits: serde_json::Value, requests: serde_json::Value| {
            let resources = json!({"limits": limits, "requests": requests});
            class(&spec(json!({"containers": [{"name": "c", "resources": resources}]})))
        };
        let all = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(both(json!({}), json!({})), Class::BestEffort);
        assert_eq!(both(all.clone(), all.clone()), Class::Guaranteed);
        assert_eq!(both(all.clone(), json!({"cpu": "500m", "memory": "1Gi"})), Class::Burstable);
        assert_eq!(both(json!({"cpu": "1"}), json!({"cpu": "1"})), Class::Burstable);
    }
}
