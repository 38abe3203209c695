//! What every cluster has from its first moment: the namespaces that Kubernetes reserves, its roles, and our definitions.

use serde_json::{Value, json};

use crate::api::Api;
use crate::security::authorization::bootstrap;
use crate::status::Status;

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

pub(super) async fn run(api: &Api) -> Result<(), Status> {
    for name in NAMESPACES {
        api.ensure("namespaces", "", namespace(name)).await?;
    }
    for object in bootstrap::objects() {
        let plural = plural(&object);
        api.ensure(plural, "rbac.authorization.k8s.io", object).await?;
    }
    for definition in asb_types::crd::crds() {
        api.ensure("customresourcedefinitions", "apiextensions.k8s.io", definition).await?;
    }
    Ok(())
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn plural(object: &Value) -> &'static str {
    match object["kind"].as_str() {
        Some("ClusterRole") => "clusterroles",
        Some("ClusterRoleBinding") => "clusterrolebindings",
        Some("Role") => "roles",
        _ => "rolebindings",
    }
}
