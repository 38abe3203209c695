//! What there is to know of the rest of the cluster while one object is written.

use serde_json::Value;

use super::AddressRange;
use crate::identity::GroupKind;

/// A view of the cluster at one moment.
pub trait Cluster {
    /// The namespace of what has none is empty.
    fn get(&self, kind: &GroupKind, namespace: &str, name: &str) -> Option<Value>;

    /// Shows every object of a kind, in all namespaces.
    fn each(&self, kind: &GroupKind, visit: &mut dyn FnMut(&Value));

    /// Where the addresses of Services come from.
    fn service_addresses(&self) -> AddressRange;
}
