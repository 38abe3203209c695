//! The Lease by which others see that the node lives.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, OwnerReference};
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

const NAMESPACE: &str = "kube-node-lease";
const SECONDS: i32 = 40;

pub(super) struct Renewal {
    leases: Api<Lease>,
    node: String,
    uid: String,
}

impl Renewal {
    pub(super) fn new(client: Client, node: &Node) -> Self {
        let leases = Api::namespaced(client, NAMESPACE);
        Self { leases, node: node.name_any(), uid: node.uid().unwrap_or_default() }
    }

    /// A Node that was deleted and made anew owns the Lease from then on.
    pub(super) fn adopt(&mut self, node: &Node) {
        self.uid = node.uid().unwrap_or_default();
    }

    /// The Lease outlives three that fail.
    pub(super) async fn renew(&self) -> Result<(), kube::Error> {
        let lease = lease(&self.node, &self.uid, Timestamp::now());
        let patch =
            json!({"metadata": {"ownerReferences": lease.metadata.owner_references}, "spec": lease.spec});
        match self.leases.patch(&self.node, &PatchParams::default(), &Patch::Merge(patch)).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                self.leases.create(&PostParams::default(), &lease).await.map(drop)
            }
            other => other.map(drop),
        }
    }
}

fn lease(node: &str, uid: &str, now: Timestamp) -> Lease {
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node.to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    };
    let metadata = ObjectMeta {
        name: Some(node.to_owned()),
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    };
    let spec = LeaseSpec {
        holder_identity: Some(node.to_owned()),
        lease_duration_seconds: Some(SECONDS),
        renew_time: Some(MicroTime(now)),
        ..LeaseSpec::default()
    };
    Lease { metadata, spec: Some(spec) }
}
