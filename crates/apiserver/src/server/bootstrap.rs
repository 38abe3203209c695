//! What every cluster has from its first moment: the namespaces that Kubernetes reserves, its roles, and our definitions.
//! Every start brings them up to date. Each object is decided by itself from what is stored, so that a start that was cut off
//! is completed by the next one.

mod definitions;
mod roles;

use futures::future::{try_join, try_join_all};
use serde_json::{Value, json};

use crate::api::Api;
use crate::status::Status;

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Writes that wait for each other only where they must, so that they reach the disk together.
pub(super) async fn run(api: &Api) -> Result<(), Status> {
    try_join_all(NAMESPACES.map(|name| api.ensure("namespaces", "", namespace(name)))).await?;
    try_join(roles::keep(api), definitions::keep(api)).await.map(drop)
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

#[cfg(test)]
mod tests;
