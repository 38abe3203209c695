//! What is asked of the server: objects in one namespace, as small as sandboxes that are usual.

use serde_json::{Value, json};

use crate::connection::Call;

pub(crate) const NAMESPACE: &str = "race";

/// Who binds the Pods: our kubelet, and no scheduler of the cluster's.
pub(crate) const SCHEDULER: &str = "race";

const TEMPLATE: &str = "race";
const EXTENSIONS: &str = "extensions.agents.x-k8s.io";

pub(crate) fn namespace() -> Call {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    Call::create("/api/v1/namespaces", body.to_string())
}

pub(crate) fn service_account() -> Call {
    Call::get(format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"))
}

pub(crate) fn template() -> Call {
    extension("SandboxTemplate", "sandboxtemplates", TEMPLATE, json!({"podTemplate": pod_template()}))
}

pub(crate) fn pool(name: &str, size: u64) -> Call {
    let spec = json!({"replicas": size, "sandboxTemplateRef": {"name": TEMPLATE}});
    extension("SandboxWarmPool", "sandboxwarmpools", name, spec)
}

pub(crate) fn claim(name: &str, pool: &str) -> Call {
    extension("SandboxClaim", "sandboxclaims", name, json!({"warmPoolRef": {"name": pool}}))
}

pub(crate) fn sandbox(name: &str) -> Call {
    let spec = json!({"podTemplate": pod_template()});
    let body = json!({
        "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": name}, "spec": spec,
    });
    Call::create(&sandboxes(), body.to_string())
}

pub(crate) fn pools() -> String {
    extensions("sandboxwarmpools")
}

pub(crate) fn claims() -> String {
    extensions("sandboxclaims")
}

pub(crate) fn sandboxes() -> String {
    format!("/apis/agents.x-k8s.io/v1beta1/namespaces/{NAMESPACE}/sandboxes")
}

pub(crate) fn config_maps() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/configmaps")
}

fn extensions(plural: &str) -> String {
    format!("/apis/{EXTENSIONS}/v1beta1/namespaces/{NAMESPACE}/{plural}")
}

fn extension(kind: &str, plural: &str, name: &str, spec: Value) -> Call {
    let api_version = format!("{EXTENSIONS}/v1beta1");
    let body = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec});
    Call::create(&extensions(plural), body.to_string())
}

fn pod_template() -> Value {
    let container = json!({
        "name": "main",
        "image": "registry.example/agents/runtime:1.2.3",
        "command": ["/usr/bin/agent", "--listen", ":8080"],
        "env": [{"name": "HOME", "value": "/work"}, {"name": "MODE", "value": "interactive"}],
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "volumeMounts": [{"name": "work", "mountPath": "/work"}],
    });
    let spec = json!({
        "schedulerName": SCHEDULER, "containers": [container], "volumes": [{"name": "work", "emptyDir": {}}],
    });
    json!({"metadata": {"labels": {"app": "race"}}, "spec": spec})
}
