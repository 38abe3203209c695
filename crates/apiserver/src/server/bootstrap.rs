//! What every cluster has from its first moment: the namespaces that Kubernetes reserves, its roles and classes of
//! priority, and our definitions.
//! Every start brings them up to date. Each object is decided by itself from what is stored, so that a start that was cut off
//! is completed by the next one.

mod definitions;
mod roles;

use futures::future::{try_join_all, try_join3};
use serde_json::{Value, json};

use crate::api::Api;
use crate::status::Status;
use crate::validation::priority_class::SYSTEM;

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

const SCHEDULING: &str = "scheduling.k8s.io";

/// Writes that wait for each other only where they must, so that they reach the disk together.
pub(super) async fn run(api: &Api) -> Result<(), Status> {
    try_join_all(NAMESPACES.map(|name| api.ensure("namespaces", "", namespace(name)))).await?;
    let classes =
        try_join_all(SYSTEM.map(|class| api.ensure("priorityclasses", SCHEDULING, priority(class))));
    try_join3(roles::keep(api), definitions::keep(api), classes).await.map(drop)
}

fn priority((name, value, description): (&str, i64, &str)) -> Value {
    json!({
        "apiVersion": format!("{SCHEDULING}/v1"), "kind": "PriorityClass", "metadata": {"name": name},
        "value": value, "description": description,
    })
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

#[cfg(test)]
mod tests;
