//! The Node object: what it says of the machine, in a kubelet's words, and what has to be written for it to do so. Pure.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, NodeStatus, NodeSystemInfo, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use super::conditions::{OWN, conditions, timeless};
use super::machine::{MEMORY_KEPT, Machine};
use crate::quantity::List;

/// More than other kubelets': Pods have routed links, and no bridge that could be full.
const PODS: u32 = 1100;
const HEARTBEAT: SignedDuration = SignedDuration::from_mins(5);
/// What says that nobody looks after the node.
const ABSENCE: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// All that the Node says.
pub(super) struct Described<'a> {
    pub(super) name: &'a str,
    pub(super) machine: &'a Machine,
    pub(super) addresses: &'a [String],
}

impl Described<'_> {
    pub(super) fn node(&self, now: Timestamp) -> Node {
        let metadata = ObjectMeta {
            name: Some(self.name.to_owned()),
            labels: Some(self.labels()),
            ..ObjectMeta::default()
        };
        Node { metadata, spec: None, status: Some(self.status(&[], now)) }
    }

    /// What has to change of labels and taints. Those of others are kept.
    pub(super) fn upkeep(&self, found: &Node) -> Option<Value> {
        let labels = found.metadata.labels.clone().unwrap_or_default();
        let has_labels = self.labels().iter().all(|(name, value)| labels.get(name) == Some(value));
        let taints = found.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
        let borne: Vec<&Taint> =
            taints.iter().filter(|taint| !ABSENCE.contains(&taint.key.as_str())).collect();
        if has_labels && borne.len() == taints.len() {
            return None;
        }
        Some(json!({
            "metadata": {"labels": self.labels(), "resourceVersion": found.metadata.resource_version},
            "spec": {"taints": borne},
        }))
    }

    /// What has to change of the status, be it only that somebody looked.
    pub(super) fn report(&self, found: &Node, now: Timestamp) -> Option<Value> {
        let said = found.status.clone().unwrap_or_default();
        let known = said.conditions.clone().unwrap_or_default();
        let status = self.status(&known, now);
        let is_said = includes(said.capacity.as_ref(), status.capacity.as_ref())
            && includes(said.allocatable.as_ref(), status.allocatable.as_ref())
            && said.addresses == status.addresses
            && said.node_info == status.node_info
            && timeless(&known) == timeless(status.conditions.as_deref().unwrap_or_default());
        let is_fresh = known.iter().filter(|known| OWN.contains(&known.type_.as_str())).all(|known| {
            // A time that is yet to come was told by a clock that has been set since.
            let age = known.last_heartbeat_time.as_ref().map(|time| now.duration_since(time.0));
            age.is_some_and(|age| !age.is_negative() && age < HEARTBEAT)
        });
        let metadata = json!({"resourceVersion": found.metadata.resource_version});
        (!is_said || !is_fresh).then(|| json!({"metadata": metadata, "status": status}))
    }

    fn labels(&self) -> BTreeMap<String, String> {
        let architecture = self.machine.system.architecture.as_str();
        let labels = [
            ("kubernetes.io/hostname", self.name),
            ("kubernetes.io/arch", architecture),
            ("kubernetes.io/os", "linux"),
            ("beta.kubernetes.io/arch", architecture),
            ("beta.kubernetes.io/os", "linux"),
        ];
        labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn status(&self, known: &[NodeCondition], now: Timestamp) -> NodeStatus {
        NodeStatus {
            capacity: Some(capacity(self.machine)),
            allocatable: Some(allocatable(self.machine)),
            addresses: Some(self.addresses()),
            conditions: Some(conditions(self.machine, known, now)),
            node_info: Some(self.system()),
            ..NodeStatus::default()
        }
    }

    fn addresses(&self) -> Vec<NodeAddress> {
        let address =
            |type_: &str, address: &str| NodeAddress { type_: type_.to_owned(), address: address.to_owned() };
        let internal = self.addresses.iter().map(|text| address("InternalIP", text));
        internal.chain([address("Hostname", self.name)]).collect()
    }

    fn system(&self) -> NodeSystemInfo {
        let system = &self.machine.system;
        NodeSystemInfo {
            architecture: system.architecture.clone(),
            boot_id: system.boot_id.clone(),
            container_runtime_version: concat!("agent-sandbox://", env!("CARGO_PKG_VERSION")).to_owned(),
            kernel_version: system.kernel.clone(),
            kubelet_version: concat!("v1.36.3+asb-", env!("CARGO_PKG_VERSION")).to_owned(),
            machine_id: system.machine_id.clone(),
            operating_system: "linux".to_owned(),
            os_image: system.distribution.clone(),
            system_uuid: system.product_id.clone(),
            ..NodeSystemInfo::default()
        }
    }
}

fn capacity(machine: &Machine) -> List {
    amounts(machine, format!("{}Ki", machine.memory / 1024), format!("{}Ki", machine.disk.bytes / 1024))
}

/// What is left for Pods when the machine keeps what it needs before there is pressure.
pub(super) fn allocatable(machine: &Machine) -> List {
    let memory = machine.memory.saturating_sub(MEMORY_KEPT) / 1024;
    amounts(machine, format!("{memory}Ki"), (machine.disk.bytes / 10 * 9).to_string())
}

fn amounts(machine: &Machine, memory: String, storage: String) -> List {
    let all = [
        ("cpu", machine.processors.to_string()),
        ("memory", memory),
        ("ephemeral-storage", storage),
        ("pods", PODS.to_string()),
    ];
    all.map(|(name, amount)| (name.to_owned(), Quantity(amount))).into()
}

fn includes(said: Option<&List>, wanted: Option<&List>) -> bool {
    wanted.into_iter().flatten().all(|(name, amount)| said.and_then(|said| said.get(name)) == Some(amount))
}

#[cfg(test)]
mod tests {
    use super::super::machine::fixture::machine;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn describe<T>(machine: &Machine, read: impl Fn(&Described<'_>) -> T) -> T {
        read(&Described { name: "here", machine, addresses: &["10.0.0.1".to_owned()] })
    }

    fn made() -> Node {
        describe(&machine(), |described| described.node(at(100)))
    }

    #[test]
    fn a_node_is_described_as_a_kubelet_does() {
        insta::assert_yaml_snapshot!(made());
    }

    #[test]
    fn what_users_set_is_kept_and_a_sign_of_absence_is_not() {
        let mut node = made();
        assert_eq!(describe(&machine(), |described| described.upkeep(&node)), None);
        node.metadata.labels = Some([("disk".to_owned(), "fast".to_owned())].into());
        node.spec = Some(
            serde_json::from_value(json!({"unschedulable": true, "taints": [
                {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}, {"key": "mine", "effect": "NoSchedule"},
            ]}))
            .unwrap(),
        );
        let patch = describe(&machine(), |described| described.upkeep(&node)).unwrap();
        assert_eq!(patch["spec"], json!({"taints": [{"key": "mine", "effect": "NoSchedule"}]}));
        assert_eq!(patch["metadata"]["labels"]["kubernetes.io/hostname"], "here");
    }

    #[test]
    fn the_status_is_written_when_it_changes_and_now_and_then() {
        let report =
            |machine: &Machine, second| describe(machine, |described| described.report(&made(), at(second)));
        assert_eq!(report(&machine(), 399), None);
        assert!(report(&machine(), 400).is_some());
        assert!(report(&machine(), 99).is_some(), "the clock was set back");
        assert!(report(&Machine { processors: 4, ..machine() }, 101).is_some());
        assert!(report(&Machine { available: 1 << 20, ..machine() }, 101).is_some());
        assert_eq!(report(&Machine { available: 3 << 30, ..machine() }, 101), None);
    }
}
