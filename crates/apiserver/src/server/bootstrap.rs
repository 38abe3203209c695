//! What every cluster has from its first moment: the namespaces that Kubernetes reserves, its roles, and our definitions.

use asb_types::crd;
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::api::{self, Api};
use crate::security::authorization::bootstrap;
use crate::status::Status;
use crate::store::Key;

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
const RULES: &str = "rbac.authorization.k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";
const DEFINITIONS: &str = "customresourcedefinitions";

/// Writes that wait for each other only where they must, so that they reach the disk together. Definitions are large, and
/// are made one after the other, so that the memory of one serves for the next.
pub(super) async fn run(api: &Api) -> Result<(), Status> {
    try_join_all(NAMESPACES.map(|name| api.ensure("namespaces", "", namespace(name)))).await?;
    let rules = bootstrap::objects().into_iter().map(|it| api.ensure(plural(&it), RULES, it));
    try_join_all(rules).await?;
    for definition in missing_definitions(api) {
        api.ensure(DEFINITIONS, EXTENSIONS, definition).await?;
    }
    Ok(())
}

/// Deriving definitions takes longer than all the rest of a start, and is for nothing where they are there.
fn missing_definitions(api: &Api) -> Vec<Value> {
    let is_there = |name: &str| api.store().get(&Key::new(api::DEFINITIONS, None, name)).is_some();
    if crd::DOCUMENTS.iter().all(|(name, _)| is_there(name)) { Vec::new() } else { crd::crds() }
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
