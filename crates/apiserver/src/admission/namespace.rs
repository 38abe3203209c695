//! NamespaceLifecycle: nothing is made in a namespace that does not exist or goes away, and some namespaces never go.

use serde_json::Value;

use super::{Target, forbidden, is};
use crate::identity::{GroupKind, GroupResource};
use crate::pointer;
use crate::status::{Cause, Status};
use crate::strategy::Cluster;

/// Without these there is no cluster.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub(super) fn check_create(target: Target<'_>, object: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    let Some(namespace) = find(target, cluster)? else { return Ok(()) };
    if pointer::text(&namespace, "/status/phase") != "Terminating" {
        return Ok(());
    }
    let name = target.namespace;
    let why = format!("unable to create new content in namespace {name} because it is being terminated");
    let cause = Cause {
        reason: "NamespaceTerminating".into(),
        message: format!("namespace {name} is being terminated"),
        field: "metadata.namespace".into(),
    };
    Err(forbidden(target, object, &why).with_causes(vec![cause]))
}

pub(super) fn check_update(target: Target<'_>, cluster: &dyn Cluster) -> Result<(), Status> {
    find(target, cluster).map(drop)
}

pub(super) fn check_delete(target: Target<'_>, name: &str) -> Result<(), Status> {
    if IMMORTAL.contains(&name) {
        return Err(Status::forbidden(target.resource, name, "this namespace may not be deleted"));
    }
    Ok(())
}

/// None for what is in no namespace.
fn find(target: Target<'_>, cluster: &dyn Cluster) -> Result<Option<Value>, Status> {
    if target.namespace.is_empty() || is(target, "Namespace") {
        return Ok(None);
    }
    let namespace = cluster.get(&GroupKind::new("", "Namespace"), "", target.namespace);
    let missing = || Status::not_found(&GroupResource::new("", "namespaces"), target.namespace);
    namespace.map(Some).ok_or_else(missing)
}
