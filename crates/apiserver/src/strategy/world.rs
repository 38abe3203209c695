//! A cluster for tests: the objects that somebody put into it.

use serde_json::Value;

use super::{AddressRange, Cluster};
use crate::identity::{GroupKind, group_version};

#[derive(Clone, Default)]
pub(crate) struct World(pub Vec<Value>);

impl World {
    pub(crate) fn parse(yaml: &str) -> Self {
        Self(serde_saphyr::from_str(yaml).unwrap())
    }
}

impl Cluster for World {
    fn get(&self, kind: &GroupKind, namespace: &str, name: &str) -> Option<Value> {
        let is_it = |object: &&Value| {
            let metadata = &object["metadata"];
            kind_of(object) == *kind
                && metadata["name"] == name
                && metadata["namespace"].as_str().unwrap_or_default() == namespace
        };
        self.0.iter().find(is_it).cloned()
    }

    fn each(&self, kind: &GroupKind, visit: &mut dyn FnMut(&Value)) {
        self.0.iter().filter(|object| kind_of(object) == *kind).for_each(visit);
    }

    fn service_addresses(&self) -> AddressRange {
        AddressRange::parse("10.215.0.0/24").unwrap()
    }
}

pub(crate) fn kind_of(object: &Value) -> GroupKind {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    GroupKind::new(group_version(version).0, object["kind"].as_str().unwrap_or_default())
}
