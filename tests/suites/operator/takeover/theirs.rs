//! Objects as upstream's controller leaves them: its labels, annotations, owners, hashes and statuses.

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::hash::fnv1a_hex;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::roles::Runner;
use crate::stage::Stage;

/// What upstream hashes for its labels: the template as Go writes it. Ours is written differently, so that the hashes differ
/// and what they stand for has to be compared.
const GO_POD_TEMPLATE: &str = concat!(
    r#"{"spec":{"containers":[{"name":"main","image":"demo:1","ports":[{"containerPort":8080}],"resources":{}}],"#,
    r#""schedulerName":"fake-scheduler"},"metadata":{"labels":{"team":"blue"}}}"#,
);

pub(super) struct Theirs {
    /// The Sandboxes that their pool keeps warm.
    pub(super) members: [String; 2],
}

impl Theirs {
    /// A template with its policy, a pool with two members, two claims that were served, and a Sandbox of its own.
    pub(super) async fn make(stage: &Stage) -> Result<Self> {
        let template = make(stage, &template()).await?;
        make(stage, &owned(policy(), &template)).await?;
        let pool = make(stage, &pool()).await?;
        let members = ["pool-x7k2p", "pool-q9d4m"].map(str::to_owned);
        for name in &members {
            let sandbox = make(stage, &owned(member(name), &pool)).await?;
            run(stage, &sandbox, json!({"agents.x-k8s.io/warm-pool-sandbox": fnv1a_hex("pool")})).await?;
        }
        for (claim, sandbox, launch) in [("warm", "pool-claimed", "warm"), ("cold", "cold", "cold")] {
            let claim = make(stage, &request(claim, sandbox)).await?;
            let sandbox = make(stage, &owned(claimed(sandbox, launch, &claim), &claim)).await?;
            run(stage, &sandbox, json!({})).await?;
            tell(stage, &claim, &sandbox).await?;
        }
        let alone = make(stage, &alone()).await?;
        make(stage, &owned(service(), &alone)).await?;
        make(stage, &owned(volume(), &alone)).await?;
        run(stage, &alone, json!({})).await?;
        Ok(Self { members })
    }
}

fn template() -> Value {
    let labels = json!({"agents.x-k8s.io/sandbox-template-ref-hash": fnv1a_hex("python")});
    json!({
        "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxTemplate",
        "metadata": {"name": "python", "labels": labels},
        "spec": {"podTemplate": {"metadata": {"labels": {"team": "blue"}}, "spec": pod(json!({}))}},
    })
}

fn policy() -> Value {
    let router = json!({
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "agent-sandbox-system"}},
        "podSelector": {"matchLabels": {"app": "sandbox-router"}},
    });
    let private = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"];
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": "python-network-policy"},
        "spec": {
            "podSelector": {"matchLabels": {"agents.x-k8s.io/sandbox-template-ref-hash": fnv1a_hex("python")}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [router]}],
            "egress": [{"to": [
                {"ipBlock": {"cidr": "0.0.0.0/0", "except": private}},
                {"ipBlock": {"cidr": "::/0", "except": ["fc00::/7", "fe80::/10"]}},
            ]}],
        },
    })
}

/// The stricter strategy: what does not match is deleted at once.
fn pool() -> Value {
    json!({
        "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxWarmPool", "metadata": {"name": "pool"},
        "spec": {
            "replicas": 2, "sandboxTemplateRef": {"name": "python"}, "updateStrategy": {"type": "Recreate"},
        },
    })
}

fn member(name: &str) -> Value {
    let hashes = json!({
        "agents.x-k8s.io/warm-pool-sandbox": fnv1a_hex("pool"),
        "agents.x-k8s.io/sandbox-template-ref-hash": fnv1a_hex("python"),
        "agents.x-k8s.io/sandbox-template-hash": fnv1a_hex(&format!("{{\"podTemplate\":{GO_POD_TEMPLATE}}}")),
        "agents.x-k8s.io/sandbox-pod-template-hash": fnv1a_hex(GO_POD_TEMPLATE),
    });
    let labels = merged(
        &hashes,
        &json!({"agents.x-k8s.io/launch-type": "warm", "agents.x-k8s.io/created-by": "controller"}),
    );
    let metadata = json!({
        "labels": merged(&hashes, &json!({"team": "blue"})),
        "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
    });
    sandbox(name, labels, metadata)
}

fn request(name: &str, sandbox: &str) -> Value {
    json!({
        "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim",
        "metadata": {
            "name": name,
            "labels": {"agents.x-k8s.io/created-by": "python-client"},
            "annotations": {
                "agents.x-k8s.io/sandbox-name": sandbox,
                "agents.x-k8s.io/controller-first-observed-at": "2026-08-22T10:00:00.123456789Z",
                "agents.x-k8s.io/claim-first-ready-at": "2026-08-22T10:00:01.123456789Z",
            },
        },
        "spec": {"warmPoolRef": {"name": "pool"}},
    })
}

fn claimed(name: &str, launch: &str, claim: &DynamicObject) -> Value {
    let labels = json!({
        "agents.x-k8s.io/claim-uid": claim.uid(),
        "agents.x-k8s.io/created-by": "python-client",
        "agents.x-k8s.io/sandbox-template-ref-hash": fnv1a_hex("python"),
    });
    let metadata = json!({"labels": merged(&labels, &json!({"team": "blue"}))});
    sandbox(name, merged(&labels, &json!({"agents.x-k8s.io/launch-type": launch})), metadata)
}

/// With the defaults that upstream applies to what is made from a template.
fn sandbox(name: &str, labels: Value, pod_metadata: Value) -> Value {
    let defaults = json!({
        "automountServiceAccountToken": false, "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["8.8.8.8", "1.1.1.1"]},
    });
    let annotations =
        json!({"agents.x-k8s.io/sandbox-template-ref": "python", "agents.x-k8s.io/pod-name": name});
    json!({
        "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {
            "podTemplate": {"metadata": pod_metadata, "spec": pod(defaults)}, "operatingMode": "Running",
        },
    })
}

fn alone() -> Value {
    let volumes = json!([{"metadata": {"name": "work"}, "spec": storage()}]);
    json!({
        "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox",
        "metadata": {"name": "alone", "annotations": {"agents.x-k8s.io/pod-name": "alone"}},
        "spec": {
            "podTemplate": {"metadata": {"labels": {"team": "blue"}}, "spec": pod(json!({}))},
            "service": true, "volumeClaimTemplates": volumes, "operatingMode": "Running",
        },
    })
}

fn service() -> Value {
    let hash = json!({"agents.x-k8s.io/sandbox-name-hash": fnv1a_hex("alone")});
    let port = json!({"name": "port-8080", "port": 8080, "protocol": "TCP", "targetPort": 8080});
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "alone", "labels": hash},
        "spec": {"clusterIP": "None", "selector": hash, "ports": [port]},
    })
}

fn volume() -> Value {
    let hash = json!({"agents.x-k8s.io/sandbox-name-hash": fnv1a_hex("alone")});
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "work-alone", "labels": hash},
        "spec": storage(),
    })
}

fn storage() -> Value {
    json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}})
}

fn pod(more: Value) -> Value {
    let container = json!({"name": "main", "image": "demo:1", "ports": [{"containerPort": 8080}]});
    merged(&json!({"containers": [container], "schedulerName": Runner::here().scheduler()}), &more)
}

/// The Pod of a Sandbox, which runs.
async fn run(stage: &Stage, sandbox: &DynamicObject, more: Value) -> Result<()> {
    let name = sandbox.name_any();
    let mut labels = json!({"agents.x-k8s.io/sandbox-name-hash": fnv1a_hex(&name), "team": "blue"});
    let mut annotations = json!({"agents.x-k8s.io/propagated-labels": "team"});
    let evictable = &sandbox.data["spec"]["podTemplate"]["metadata"]["annotations"];
    if !evictable.is_null() {
        annotations = merged(&annotations, evictable);
        let keys = "cluster-autoscaler.kubernetes.io/safe-to-evict";
        annotations["agents.x-k8s.io/propagated-annotations"] = keys.into();
    }
    for key in ["agents.x-k8s.io/sandbox-template-ref-hash", "agents.x-k8s.io/created-by"] {
        if let Some(value) = sandbox.labels().get(key) {
            labels[key] = value.as_str().into();
        }
    }
    let mut spec = sandbox.data["spec"]["podTemplate"]["spec"].clone();
    if name == "alone" {
        spec["volumes"] = json!([{"name": "work", "persistentVolumeClaim": {"claimName": "work-alone"}}]);
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": merged(&labels, &more), "annotations": annotations}, "spec": spec,
    });
    make(stage, &owned(pod, sandbox)).await?;
    let is_ready = |pod: &Pod| {
        let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    wait::for_object(&stage.pods, &name, "running", is_ready).await?;
    Ok(())
}

/// That the claim has its Sandbox, as upstream tells it.
async fn tell(stage: &Stage, claim: &DynamicObject, sandbox: &DynamicObject) -> Result<()> {
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "DependenciesReady", "message": "Pod is Ready",
        "observedGeneration": 1, "lastTransitionTime": "2026-08-22T10:00:01Z",
    });
    let ips = stage.pods.get(&sandbox.name_any()).await?.status.and_then(|status| status.pod_ip);
    let status = json!({"conditions": [ready], "sandbox": {"name": sandbox.name_any(), "podIPs": [ips]}});
    let patch = Patch::Merge(json!({"status": status}));
    stage.claims.patch_status(&claim.name_any(), &PatchParams::default(), &patch).await?;
    Ok(())
}

fn owned(mut object: Value, owner: &DynamicObject) -> Value {
    let types = owner.types.as_ref().expect("objects that were created say what they are");
    object["metadata"]["ownerReferences"] = json!([{
        // Written by an upstream that knew no other version; the group and the kind are what counts.
        "apiVersion": types.api_version.replace("v1beta1", "v1alpha1"), "kind": types.kind,
        "name": owner.name_any(), "uid": owner.uid(), "controller": true, "blockOwnerDeletion": true,
    }]);
    object
}

async fn make(stage: &Stage, object: &Value) -> Result<DynamicObject> {
    let text = |field: &str| object[field].as_str().context("an object says what it is");
    let (version, kind) = (text("apiVersion")?, text("kind")?);
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> =
        Api::namespaced_with(stage.cluster.client(), stage.namespace.name(), &resource);
    Ok(api.create(&PostParams::default(), &serde_json::from_value(object.clone())?).await?)
}

fn merged(base: &Value, over: &Value) -> Value {
    let mut merged = base.clone();
    for (key, value) in over.as_object().into_iter().flatten() {
        merged[key] = value.clone();
    }
    merged
}
