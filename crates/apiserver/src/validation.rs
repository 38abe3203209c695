//! The rules that objects of Kubernetes' own kinds and the metadata of all kinds obey, with the fields, problems, words and
//! order of kube-apiserver. Objects come decoded and with defaults; what is no object of its kind breaks rules but nothing
//! else. Definitions of resources and the objects of such kinds have rules of their own elsewhere.

mod access;
mod address;
mod at;
mod claim;
mod config_map;
mod declared;
mod difference;
mod endpoint_slice;
mod endpoints;
mod event;
mod labels;
mod lease;
pub mod metadata;
mod namespace;
mod network_policy;
mod node;
mod node_selector;
pub mod options;
mod paths;
mod persistent_volume;
mod pod;
pub(crate) mod priority_class;
mod requests;
mod runtime_class;
mod secret;
mod service;
mod storage_class;
#[cfg(test)]
mod tests;
mod volume_sources;
mod warnings;

use serde_json::Value;

use crate::field::Error;
use crate::identity::GroupKind;
use access::Scope;
use at::{At, examine};
use event::Group;
use labels::Values;
use metadata::NameRule;
pub use warnings::warnings;

/// What is wrong with a new object, or with the body of a request that makes none. Of kinds that are not Kubernetes' own
/// nothing is known here; their metadata has [`metadata::create`].
pub fn create(kind: &GroupKind, object: &Value) -> Vec<Error> {
    let errors = examine(object, |object| new(kind, object));
    match is_namespaced(kind) {
        // Any name that can stand in a path is asked of all kinds, last.
        Some(namespaced) if errors.is_empty() => metadata::create(object, namespaced, NameRule::PathSegment),
        _ => errors,
    }
}

/// What is wrong with an object that is to replace another one, through a subresource or as a whole. Of kinds that are not
/// Kubernetes' own nothing is known here; their metadata has [`metadata::common_update`].
pub fn update(kind: &GroupKind, subresource: Option<&str>, new: &Value, old: &Value) -> Vec<Error> {
    let Some(namespaced) = is_namespaced(kind) else { return Vec::new() };
    let mut errors = metadata::common_update(new, old, namespaced);
    errors.extend(examine(new, |object| changed(kind, subresource, object, old)));
    errors
}

fn new(kind: &GroupKind, object: &At) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Binding") => requests::binding(object),
        ("", "ConfigMap") => config_map::create(object),
        ("", "Endpoints") => endpoints::create(object),
        ("", "Event") => event::create(object, Group::Core),
        ("", "Namespace") => namespace::create(object),
        ("", "Node") => node::create(object),
        ("", "PersistentVolume") => persistent_volume::create(object),
        ("", "PersistentVolumeClaim") => claim::create(object),
        ("", "Pod") => pod::create(object),
        ("", "Secret") => secret::create(object),
        ("", "Service") => service::create(object),
        ("", "ServiceAccount") => service_account(object),
        ("authentication.k8s.io", "TokenRequest") => requests::token(object),
        ("autoscaling", "Scale") => requests::scale(object),
        ("coordination.k8s.io", "Lease") => lease::create(object),
        ("discovery.k8s.io", "EndpointSlice") => endpoint_slice::create(object),
        ("events.k8s.io", "Event") => event::create(object, Group::Events),
        ("networking.k8s.io", "NetworkPolicy") => network_policy::create(object),
        ("node.k8s.io", "RuntimeClass") => runtime_class::create(object),
        ("policy", "Eviction") => requests::eviction(object),
        ("rbac.authorization.k8s.io", "ClusterRole") => access::cluster_role(object, Values::AsLabels),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => access::binding(object, Scope::Cluster),
        ("rbac.authorization.k8s.io", "Role") => access::role(object),
        ("rbac.authorization.k8s.io", "RoleBinding") => access::binding(object, Scope::Namespace),
        ("scheduling.k8s.io", "PriorityClass") => priority_class::create(object),
        ("storage.k8s.io", "StorageClass") => storage_class::create(object),
        _ => {}
    }
}

fn changed(kind: &GroupKind, subresource: Option<&str>, new: &At, old: &Value) {
    match (kind.group.as_str(), kind.kind.as_str(), subresource) {
        ("", "ConfigMap", _) => config_map::update(new, old),
        ("", "Endpoints", _) => endpoints::update(new, old),
        ("", "Event", _) => event::update(new, old, Group::Core),
        ("", "Namespace", Some("status")) => namespace::update_status(new, old),
        ("", "Namespace", Some("finalize")) => namespace::finalize(new, old),
        ("", "Namespace", _) => namespace::update(new, old),
        ("", "Node", Some("status")) => node::update_status(new, old),
        ("", "Node", _) => node::update(new, old),
        ("", "PersistentVolume", Some("status")) => persistent_volume::update_status(new, old),
        ("", "PersistentVolume", _) => persistent_volume::update(new, old),
        ("", "PersistentVolumeClaim", Some("status")) => claim::update_status(new, old),
        ("", "PersistentVolumeClaim", _) => claim::update(new, old),
        ("", "Pod", Some("status")) => pod::update_status(new, old),
        ("", "Pod", _) => pod::update(new, old),
        ("", "Secret", _) => secret::update(new, old),
        ("", "Service", Some("status")) => service::update_status(new, old),
        ("", "Service", _) => service::update(new, old),
        ("", "ServiceAccount", _) => update_service_account(new, old),
        ("coordination.k8s.io", "Lease", _) => lease::update(new, old),
        ("discovery.k8s.io", "EndpointSlice", _) => endpoint_slice::update(new, old),
        ("events.k8s.io", "Event", _) => event::update(new, old, Group::Events),
        ("networking.k8s.io", "NetworkPolicy", _) => network_policy::update(new, old),
        ("node.k8s.io", "RuntimeClass", _) => runtime_class::update(new, old),
        ("rbac.authorization.k8s.io", "ClusterRole", _) => access::update_cluster_role(new, old),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding", _) => {
            access::update_binding(new, old, Scope::Cluster);
        }
        ("rbac.authorization.k8s.io", "Role", _) => access::update_role(new, old),
        ("rbac.authorization.k8s.io", "RoleBinding", _) => access::update_binding(new, old, Scope::Namespace),
        ("scheduling.k8s.io", "PriorityClass", _) => priority_class::update(new, old),
        ("storage.k8s.io", "StorageClass", _) => storage_class::update(new, old),
        _ => {}
    }
}

/// Whether objects of a kind are in a namespace; nothing of kinds that have no objects or are not Kubernetes' own.
fn is_namespaced(kind: &GroupKind) -> Option<bool> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace" | "Node" | "PersistentVolume")
        | ("rbac.authorization.k8s.io", "ClusterRole" | "ClusterRoleBinding")
        | ("node.k8s.io", "RuntimeClass")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("storage.k8s.io", "StorageClass") => Some(false),
        (
            "",
            "ConfigMap"
            | "Endpoints"
            | "Event"
            | "PersistentVolumeClaim"
            | "Pod"
            | "Secret"
            | "Service"
            | "ServiceAccount",
        )
        | ("autoscaling", "Scale")
        | ("coordination.k8s.io", "Lease")
        | ("discovery.k8s.io", "EndpointSlice")
        | ("events.k8s.io", "Event")
        | ("networking.k8s.io", "NetworkPolicy")
        | ("rbac.authorization.k8s.io", "Role" | "RoleBinding") => Some(true),
        _ => None,
    }
}

fn service_account(account: &At) {
    metadata::new_of_kubernetes(&account.field("metadata"), true, NameRule::Dns1123Subdomain);
}

fn update_service_account(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    service_account(new);
}
