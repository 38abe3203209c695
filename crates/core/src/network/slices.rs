//! The EndpointSlices of a Service, as kube-controller-manager writes them: from its selector and the Pods that match.
//!
//! Slices that somebody else manages are left alone, and so are Services without a selector. Endpoints stay in the slice
//! they are in, so that a change of one Pod is a change of one object.

mod desired;
mod reconcile;
#[cfg(test)]
mod tests;
mod touched;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::services;
use crate::object::Key;

pub use touched::Seen;

/// Who manages a slice.
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const CONTROLLER: &str = "endpointslice-controller.k8s.io";
const SERVICE_NAME: &str = "kubernetes.io/service-name";
const HEADLESS: &str = "service.kubernetes.io/headless";

/// What makes the slices say what the Pods say. Changed ones carry the version they were read at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub create: Vec<EndpointSlice>,
    pub update: Vec<EndpointSlice>,
    pub delete: Vec<Key>,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.create.is_empty() && self.update.is_empty() && self.delete.is_empty()
    }
}

/// `pods` and `slices` may hold those of others too.
pub fn plan<'a>(
    service: &Service,
    pods: impl Iterator<Item = &'a Pod>,
    slices: impl Iterator<Item = &'a EndpointSlice>,
) -> Plan {
    let Some(key) = services::key(service) else { return Plan::default() };
    let Some(groups) = desired::groups(service, &key, pods) else { return Plan::default() };
    let ours = slices.filter(|slice| services::belongs(slice, &key) && is_ours(slice));
    reconcile::plan(service, &key, groups, ours.cloned().collect())
}

fn is_ours(slice: &EndpointSlice) -> bool {
    let manager = slice.metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY));
    manager.is_some_and(|manager| manager == CONTROLLER)
}
