//! What the rules may see of the rest of the cluster while one object is written.

use serde_json::Value;

use super::Api;
use crate::identity::GroupKind;
use crate::strategy::{AddressRange, Cluster};

/// Where Services get their addresses. Nothing routes them yet; clients see that there are some.
const SERVICE_ADDRESSES: &str = "10.96.0.0/16";

pub(crate) struct Surroundings<'a>(&'a Api);

impl Api {
    pub(crate) fn surroundings(&self) -> Surroundings<'_> {
        Surroundings(self)
    }
}

impl Cluster for Surroundings<'_> {
    fn get(&self, kind: &GroupKind, namespace: &str, name: &str) -> Option<Value> {
        let registry = self.0.registry();
        let resource = registry.find_kind(&kind.group, &kind.kind)?;
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        self.0.store().get(&resource.key(namespace, name)).map(|entry| entry.value())
    }

    fn each(&self, kind: &GroupKind, visit: &mut dyn FnMut(&Value)) {
        let registry = self.0.registry();
        let Some(resource) = registry.find_kind(&kind.group, &kind.kind) else { return };
        let entries = self.0.store().list(&resource.scope(None)).entries;
        self.0.trees.of(&resource.stored_as(), &entries).iter().for_each(|object| visit(object));
    }

    fn service_addresses(&self) -> AddressRange {
        AddressRange::parse(SERVICE_ADDRESSES).expect("a constant that a test reads")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_services_are_a_range() {
        assert!(AddressRange::parse(SERVICE_ADDRESSES).is_some());
    }
}
