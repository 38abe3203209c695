//! What the server itself does to an object of one of Kubernetes' kinds between admission and validation: parts that
//! the writer cannot set, parts that belong to another subresource, addresses that are given out. Metadata that all
//! kinds have in common (names, uids, timestamps, generations) is set by the caller, who asks here when.

mod affinity;
mod allocation;
mod binding;
mod claim;
mod cluster;
mod disabled;
mod event;
mod facts;
mod families;
mod pod;
mod quality;
mod service;
mod writes;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::defaults;
use crate::identity::GroupKind;
use crate::object::time;
use crate::pointer;
use crate::status::Status;
use facts::{Generation, facts};

pub use allocation::{AddressRange, Claims};
pub use binding::bind;
pub use cluster::Cluster;
pub use event::{to_core as event_to_core, to_v1 as event_to_v1};
pub use pod::set_condition as set_pod_condition;

/// Prepares a new object for validation. Its name is final.
///
/// Services get their addresses here, from those that no other Service of the cluster has as far as `cluster` knows:
/// whoever stores one makes sure that nobody else has its [`Claims`] meanwhile.
pub fn prepare_create(
    kind: &GroupKind,
    object: &mut Value,
    cluster: &dyn Cluster,
    now: Timestamp,
) -> Result<(), Status> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::prepare_create(object, now),
        ("", "Service") => service::prepare_create(object, cluster)?,
        ("", "Namespace") => activate(object),
        ("", "PersistentVolumeClaim") => {
            pointer::set(object, "/status", json!({}));
            claim::settle_sources(object, None);
        }
        ("", "PersistentVolume") => {
            let status = json!({"phase": "Pending", "lastPhaseTransitionTime": time(now)});
            pointer::set(object, "/status", status);
        }
        ("", "Node") => forget_config(object),
        _ => prepare_either(kind, object),
    }
    // What was reset has its defaults like everything else.
    defaults::apply_again(kind, object);
    Ok(())
}

/// Prepares the next state of an object for validation: what this subresource (none is the object itself) does not
/// write stays as it was.
pub fn prepare_update(
    kind: &GroupKind,
    subresource: Option<&str>,
    new: &mut Value,
    old: &Value,
    cluster: &dyn Cluster,
    now: Timestamp,
) -> Result<(), Status> {
    let is_main = subresource.is_none();
    if (kind.group.as_str(), kind.kind.as_str(), is_main) == ("", "Service", true) {
        service::allocate_update(new, old, cluster)?;
    }
    writes::keep(kind, subresource, new, old);
    match (kind.group.as_str(), kind.kind.as_str(), subresource) {
        ("", "Pod", subresource) => pod::prepare_update(subresource, new, old),
        ("", "Service", None) => service::forget_unused(new, old),
        ("", "PersistentVolumeClaim", None) => claim::settle_sources(new, Some(old)),
        ("", "PersistentVolume", Some("status")) => claim::note_phase(new, old, &time(now)),
        ("", "Node", _) => forget_config(new),
        (_, _, None) => prepare_either(kind, new),
        _ => {}
    }
    defaults::apply_again(kind, new);
    Ok(())
}

/// Whether a write counts as a new generation of what is wanted. Kinds that count none answer no.
pub fn generation_follows(kind: &GroupKind, subresource: Option<&str>, new: &Value, old: &Value) -> bool {
    facts(kind).generation.follows(subresource, new, old)
}

/// Whether an object of this kind has a generation at all; a new one is of the first.
pub fn has_generation(kind: &GroupKind) -> bool {
    facts(kind).generation != Generation::Never
}

/// Whether a PUT to a name that nobody has makes an object. Asked of Kubernetes' own kinds only, as the next.
pub fn allows_create_on_update(kind: &GroupKind) -> bool {
    facts(kind).creates_on_update
}

/// Whether an update without a resourceVersion overwrites whatever is there.
pub fn allows_unconditional_update(kind: &GroupKind) -> bool {
    facts(kind).updates_unconditionally
}

/// What happens on creation and on update alike.
fn prepare_either(kind: &GroupKind, object: &mut Value) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ServiceAccount") => name_secrets_only(object),
        ("discovery.k8s.io", "EndpointSlice") => disabled::forget_topology(object),
        ("coordination.k8s.io", "Lease") => disabled::forget_election(object),
        _ => {}
    }
}

/// A namespace begins its life active, and ends it only when its content is gone.
fn activate(namespace: &mut Value) {
    pointer::set(namespace, "/status", json!({"phase": "Active"}));
    if !pointer::list(namespace, "/spec/finalizers").contains(&"kubernetes".into()) {
        pointer::push(namespace, "/spec/finalizers", "kubernetes");
    }
}

/// Nodes once took their configuration from the API.
fn forget_config(node: &mut Value) {
    pointer::remove(node, "/spec/configSource");
    pointer::remove(node, "/status/config");
}

fn name_secrets_only(account: &mut Value) {
    for secret in pointer::list_mut(account, "/secrets").iter_mut().filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod world;
