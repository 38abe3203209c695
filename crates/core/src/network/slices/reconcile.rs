//! From the slices there are to those there should be, with as few writes as the limits allow.

use std::collections::{BTreeMap, BTreeSet};

use asb_types::hash::fnv1a_hex;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::desired::Group;
use super::{CONTROLLER, HEADLESS, MANAGED_BY, Plan, SERVICE_NAME};
use crate::network::selector::Labels;
use crate::network::services;
use crate::object::Key;

/// How many endpoints a slice holds.
const MOST: usize = 100;

pub(super) fn plan(service: &Service, key: &Key, groups: Vec<Group>, slices: Vec<EndpointSlice>) -> Plan {
    let mut writer =
        Writer { service, key, labels: labels(service, key), taken: names(&slices), plan: Plan::default() };
    let groups = if groups.is_empty() { vec![nobody()] } else { groups };
    let mut left = slices;
    for group in groups {
        let (same, others) = left.into_iter().partition(|slice| has_ports(slice, &group.ports));
        writer.group(group, same);
        left = others;
    }
    writer.plan.delete.extend(left.iter().map(|slice| writer.key.sibling(name(slice))));
    writer.plan
}

/// A Service that selects nobody has one slice that says so.
fn nobody() -> Group {
    Group { ports: Vec::new(), endpoints: Vec::new() }
}

fn has_ports(slice: &EndpointSlice, ports: &[EndpointPort]) -> bool {
    slice.ports.as_deref().unwrap_or_default() == ports
}

fn names(slices: &[EndpointSlice]) -> BTreeSet<String> {
    slices.iter().map(|slice| name(slice).to_owned()).collect()
}

fn name(slice: &EndpointSlice) -> &str {
    slice.metadata.name.as_deref().unwrap_or_default()
}

fn uid(endpoint: &Endpoint) -> Option<&str> {
    endpoint.target_ref.as_ref()?.uid.as_deref()
}

/// The Service's own labels, and ours over them.
fn labels(service: &Service, key: &Key) -> Labels {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.remove(HEADLESS);
    if service.spec.as_ref().is_none_or(|spec| services::cluster_addresses(spec).is_empty()) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels.insert(SERVICE_NAME.to_owned(), key.name.to_string());
    labels.insert(MANAGED_BY.to_owned(), CONTROLLER.to_owned());
    labels
}

struct Writer<'a> {
    service: &'a Service,
    key: &'a Key,
    labels: Labels,
    taken: BTreeSet<String>,
    plan: Plan,
}

impl Writer<'_> {
    fn group(&mut self, group: Group, slices: Vec<EndpointSlice>) {
        let mut wanted: BTreeMap<_, _> = group
            .endpoints
            .into_iter()
            .map(|endpoint| (uid(&endpoint).unwrap_or_default().to_owned(), endpoint))
            .collect();
        let is_placeholder = wanted.is_empty();
        let mut kept: Vec<_> = slices.into_iter().map(|slice| keep(slice, &mut wanted)).collect();
        let mut new = wanted.into_values();
        for (_, slice) in &mut kept {
            let endpoints = slice.endpoints.get_or_insert_default();
            let room = MOST.saturating_sub(endpoints.len());
            endpoints.extend(new.by_ref().take(room));
        }
        let rest: Vec<_> = new.collect();
        for endpoints in rest.chunks(MOST) {
            self.create(group.ports.clone(), endpoints.to_vec());
        }
        let mut has_one = false;
        for (before, mut slice) in kept {
            let is_needed = slice.endpoints.as_ref().is_some_and(|endpoints| !endpoints.is_empty())
                || is_placeholder && !has_one;
            has_one |= is_needed;
            slice.metadata.labels = Some(self.labels.clone());
            if !is_needed {
                self.plan.delete.push(self.key.sibling(name(&slice)));
            } else if slice != before {
                self.plan.update.push(slice);
            }
        }
        if is_placeholder && !has_one {
            self.create(group.ports, Vec::new());
        }
    }

    fn create(&mut self, ports: Vec<EndpointPort>, endpoints: Vec<Endpoint>) {
        let name = self.free_name();
        let metadata = ObjectMeta {
            namespace: Some(self.key.namespace.to_string()),
            name: Some(name),
            labels: Some(self.labels.clone()),
            owner_references: Some(vec![self.owner()]),
            ..ObjectMeta::default()
        };
        self.plan.create.push(EndpointSlice {
            metadata,
            address_type: "IPv4".to_owned(),
            ports: Some(ports),
            endpoints: Some(endpoints),
        });
    }

    /// The same each time, so that a create whose answer was lost meets itself when it is tried again.
    fn free_name(&mut self) -> String {
        let uid = self.service.metadata.uid.as_deref().unwrap_or_default();
        let candidate = |number: usize| {
            let hash = fnv1a_hex(&format!("{uid}/{number}"));
            format!("{}-{}", self.key.name, &hash[..5])
        };
        let name = (0..usize::MAX).map(candidate).find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(name.clone());
        name
    }

    fn owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Service".to_owned(),
            name: self.key.name.to_string(),
            uid: self.service.metadata.uid.clone().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }
}

/// The slice as it was, and with what is still wanted of it; that is then no longer looked for.
fn keep(mut slice: EndpointSlice, wanted: &mut BTreeMap<String, Endpoint>) -> (EndpointSlice, EndpointSlice) {
    // No list is as good as an empty one, and no reason to write.
    slice.endpoints.get_or_insert_default();
    let mut kept = slice.clone();
    let still = slice.endpoints.iter().flatten().filter_map(|endpoint| wanted.remove(uid(endpoint)?));
    kept.endpoints = Some(still.collect());
    (slice, kept)
}
