//! What a default kube-apiserver adds to and refuses in objects on their way in, beyond their schema. One module for
//! each of its admission plugins that has something to say about the kinds served here, run in its order:
//! NamespaceLifecycle, ServiceAccount, TaintNodesByCondition, Priority, DefaultTolerationSeconds, DefaultStorageClass,
//! StorageObjectInUseProtection, PersistentVolumeClaimResize, RuntimeClass, PodTopologyLabels.
//!
//! Mutation comes after defaulting and before [`crate::strategy`]; the checks come after validation, last of all.
//! Who may do something at all is for authorization.

mod namespace;
mod node;
mod priority;
mod runtime_class;
mod secret_reference;
mod service_account;
mod storage;
mod toleration;
mod topology;

use serde_json::Value;

use crate::identity::{GroupKind, GroupResource};
use crate::pointer;
use crate::status::Status;
use crate::strategy::Cluster;

/// What a request writes to.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub kind: &'a GroupKind,
    pub resource: &'a GroupResource,
    /// Empty for kinds without namespaces
    pub namespace: &'a str,
    pub subresource: Option<&'a str>,
}

/// Admits a new object, and changes it on the way. `random` makes five characters for a name.
pub fn mutate_create(
    target: Target<'_>,
    object: &mut Value,
    cluster: &dyn Cluster,
    random: &mut dyn FnMut() -> String,
) -> Result<(), Status> {
    namespace::check_create(target, object, cluster)?;
    match (target.kind.group.as_str(), target.kind.kind.as_str(), target.subresource) {
        ("", "Pod", None) => {
            service_account::mutate(target, object, cluster, random)?;
            priority::mutate_create(target, object, cluster)?;
            toleration::add_defaults(object);
            runtime_class::mutate(target, object, cluster)?;
            topology::label_pod(object, cluster);
        }
        ("", "Node", None) => node::taint(object),
        ("", "PersistentVolumeClaim", None) => {
            storage::choose_class(object, cluster);
            storage::protect(object, "kubernetes.io/pvc-protection");
        }
        ("", "PersistentVolume", None) => storage::protect(object, "kubernetes.io/pv-protection"),
        ("", "Binding", _) | ("", "Pod", Some("binding")) => topology::label_binding(object, cluster),
        _ => {}
    }
    Ok(())
}

/// Admits a new state of an object, and changes it on the way.
pub fn mutate_update(
    target: Target<'_>,
    new: &mut Value,
    old: &Value,
    cluster: &dyn Cluster,
) -> Result<(), Status> {
    namespace::check_update(target, cluster)?;
    if is(target, "Pod") && target.subresource.is_none() {
        priority::mutate_update(new, old);
        toleration::add_defaults(new);
    }
    Ok(())
}

/// Has the last word on a new object.
pub fn check_create(target: Target<'_>, object: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    match (target.kind.group.as_str(), target.kind.kind.as_str(), target.subresource) {
        ("", "Pod", None) => {
            service_account::check(target, object, cluster)?;
            runtime_class::check(target, object, cluster)
        }
        ("scheduling.k8s.io", "PriorityClass", None) => priority::check_class(target, object, cluster),
        _ => Ok(()),
    }
}

/// Has the last word on a new state of an object.
pub fn check_update(
    target: Target<'_>,
    new: &Value,
    old: &Value,
    cluster: &dyn Cluster,
) -> Result<(), Status> {
    match (target.kind.group.as_str(), target.kind.kind.as_str(), target.subresource) {
        ("", "PersistentVolumeClaim", None) => storage::check_resize(target, new, old, cluster),
        ("scheduling.k8s.io", "PriorityClass", None) => priority::check_class(target, new, cluster),
        _ => Ok(()),
    }
}

/// Whether an object may be deleted.
pub fn check_delete(target: Target<'_>, name: &str) -> Result<(), Status> {
    if is(target, "Namespace") { namespace::check_delete(target, name) } else { Ok(()) }
}

fn is(target: Target<'_>, core_kind: &str) -> bool {
    target.kind.group.is_empty() && target.kind.kind == core_kind
}

/// A refusal that names the object as well as it can: it may not have got its name yet.
fn forbidden(target: Target<'_>, object: &Value, why: &str) -> Status {
    let names =
        [pointer::text(object, "/metadata/name"), pointer::text(object, "/metadata/generateName"), "Unknown"];
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    Status::forbidden(target.resource, name, why)
}

#[cfg(test)]
mod tests;
