//! The Sandbox that a pool makes of its template.

use std::collections::BTreeMap;

use asb_types::hash::fnv1a_hex;
use asb_types::{annotations, labels, names};
use serde_json::Value;

use super::{Blueprint, metadata, sandbox};
use crate::object::Metadata;
use crate::write::Kind;

/// Whether the cluster autoscaler may take the Pods of unclaimed Sandboxes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eviction {
    #[default]
    Safe,
    Unsaid,
}

impl Blueprint<'_> {
    /// A member of the pool under a name of the caller's choice. The Pod's name is known beforehand and need not be
    /// written later.
    pub fn member(&self, pool: &Metadata, name: &str, eviction: Eviction) -> Value {
        let mut annotations = self.annotations();
        annotations.insert(annotations::POD_NAME.to_owned(), names::pod(name));
        let mut spec = self.spec();
        spec["podTemplate"]["metadata"] = self.member_pod_metadata(pool, eviction);
        let owner = pool.controller_reference(Kind::SandboxWarmPool);
        sandbox(&pool.key.sibling(name), &self.member_labels(pool), &annotations, &owner, spec)
    }

    fn member_labels(&self, pool: &Metadata) -> BTreeMap<String, String> {
        let mut own = self.membership(pool);
        own.insert(labels::LAUNCH_TYPE.to_owned(), labels::LAUNCH_WARM.to_owned());
        own.insert(labels::CREATED_BY.to_owned(), labels::CREATED_BY_CONTROLLER.to_owned());
        own
    }

    fn member_pod_metadata(&self, pool: &Metadata, eviction: Eviction) -> Value {
        let mut labels = self.template.pod.labels.clone();
        labels.extend(self.membership(pool));
        let mut annotations = self.template.pod.annotations.clone();
        if eviction == Eviction::Safe {
            annotations.entry(annotations::SAFE_TO_EVICT.to_owned()).or_insert_with(|| "true".to_owned());
        }
        metadata(&labels, &annotations)
    }

    /// The labels of a member and of its podTemplate alike.
    fn membership(&self, pool: &Metadata) -> BTreeMap<String, String> {
        let labels = [
            (labels::WARM_POOL, fnv1a_hex(pool.name())),
            (labels::TEMPLATE_REF_HASH, self.ref_hash.clone()),
            (labels::TEMPLATE_HASH, self.hash.clone()),
            (labels::POD_TEMPLATE_HASH, self.pod_template_hash.clone()),
        ];
        labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}
