//! The Node object a fake kubelet stands behind, and the Lease that shows it alive.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{
    Namespace, Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::plan::{Place, Scheduling};

const LEASES: &str = "kube-node-lease";
const LEASE_SECONDS: i32 = 40;
const RENEW: Duration = Duration::from_secs(10);

/// A Node that is registered, until it is withdrawn.
pub(super) struct Registration {
    client: Client,
    node: String,
}

impl Registration {
    /// Registers the Node; one left by an earlier kubelet of this name is taken over.
    pub(super) async fn register(client: Client, place: &Place) -> Result<Self, kube::Error> {
        let nodes = Api::<Node>::all(client.clone());
        let node = node(place, Timestamp::now());
        if !made(nodes.create(&PostParams::default(), &node).await)? {
            let patch = Patch::Merge(json!({ "status": node.status }));
            nodes.patch_status(&place.node, &PatchParams::default(), &patch).await?;
        }
        let this = Self { client, node: place.node.clone() };
        this.lease().await?;
        Ok(this)
    }

    /// Renews the Lease for ever. A renewal that fails is made up for by the next; the Lease outlives three.
    pub(super) async fn keep_alive(&self) {
        let mut ticks = tokio::time::interval(RENEW);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            if let Err(error) = self.renew().await {
                tracing::warn!(node = self.node, %error, "cannot renew the node's lease");
            }
        }
    }

    pub(super) async fn withdraw(self) -> Result<(), kube::Error> {
        let parameters = DeleteParams::default();
        self.leases().delete(&self.node, &parameters).await?;
        Api::<Node>::all(self.client.clone()).delete(&self.node, &parameters).await?;
        Ok(())
    }

    async fn lease(&self) -> Result<(), kube::Error> {
        let namespace = Namespace { metadata: named(LEASES), ..Namespace::default() };
        let namespaces = Api::<Namespace>::all(self.client.clone());
        // A Kubernetes that has only just started may not have made it yet.
        made(namespaces.create(&PostParams::default(), &namespace).await)?;
        let lease = lease(&self.node, Timestamp::now());
        if !made(self.leases().create(&PostParams::default(), &lease).await)? {
            self.renew().await?;
        }
        Ok(())
    }

    async fn renew(&self) -> Result<(), kube::Error> {
        let patch = Patch::Merge(json!({ "spec": { "renewTime": MicroTime(Timestamp::now()) } }));
        self.leases().patch(&self.node, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), LEASES)
    }
}

/// Whether an object was made, or was there already.
fn made<K>(result: Result<K, kube::Error>) -> Result<bool, kube::Error> {
    match result {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(false),
        Err(error) => Err(error),
    }
}

fn node(place: &Place, now: Timestamp) -> Node {
    Node {
        metadata: ObjectMeta { labels: Some(place.labels.clone()), ..named(&place.node) },
        spec: Some(NodeSpec { taints: taints(place), ..NodeSpec::default() }),
        status: Some(status(place, now)),
    }
}

/// Where this kubelet binds its own Pods, a scheduler of the cluster should bring it none of another test's.
fn taints(place: &Place) -> Option<Vec<Taint>> {
    let taint = Taint {
        key: "fake-kubelet.test/binds-its-own".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    };
    (place.scheduling != Scheduling::Foreign).then(|| vec![taint])
}

fn status(place: &Place, now: Timestamp) -> NodeStatus {
    let resources = [("cpu", "10000"), ("memory", "64Ti"), ("ephemeral-storage", "64Ti"), ("pods", "100000")];
    let resources: BTreeMap<_, _> =
        resources.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned()))).into();
    NodeStatus {
        capacity: Some(resources.clone()),
        allocatable: Some(resources),
        addresses: Some(vec![
            address("InternalIP", &place.host.to_string()),
            address("Hostname", &place.node),
        ]),
        conditions: Some(vec![ready(now)]),
        node_info: Some(system()),
        ..NodeStatus::default()
    }
}

fn address(type_: &str, address: &str) -> NodeAddress {
    NodeAddress { type_: type_.to_owned(), address: address.to_owned() }
}

fn ready(now: Timestamp) -> NodeCondition {
    NodeCondition {
        type_: "Ready".to_owned(),
        status: "True".to_owned(),
        reason: Some("KubeletReady".to_owned()),
        message: Some("the fake kubelet is ready".to_owned()),
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    }
}

fn system() -> NodeSystemInfo {
    NodeSystemInfo {
        architecture: "amd64".to_owned(),
        operating_system: "linux".to_owned(),
        container_runtime_version: "fake://1".to_owned(),
        kubelet_version: "v1.36.0-fake".to_owned(),
        ..NodeSystemInfo::default()
    }
}

fn lease(node: &str, now: Timestamp) -> Lease {
    let spec = LeaseSpec {
        holder_identity: Some(node.to_owned()),
        lease_duration_seconds: Some(LEASE_SECONDS),
        renew_time: Some(MicroTime(now)),
        ..LeaseSpec::default()
    };
    Lease { metadata: named(node), spec: Some(spec) }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}
