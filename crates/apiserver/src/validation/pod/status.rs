//! What the node's agent may report about a pod.

use std::collections::BTreeSet;

use asb_types::quantity::Quantity;
use serde_json::Value;

use super::super::address::Before;
use super::super::at::At;
use super::super::{address, declared, metadata};
use super::allowances::Allowances;
use super::{annotations, transitions};
use crate::names;

const LISTS: [&str; 3] = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];

pub(in super::super) fn update(new: &At, old: &Value) {
    let (metadata, spec, status) = (new.field("metadata"), new.field("spec"), new.field("status"));
    metadata::changed_of_kubernetes(&metadata, &old["metadata"]);
    let allowances = Allowances::of(old);
    annotations::changes(&metadata.field("annotations"), &old["metadata"]["annotations"]);
    annotations::all(&metadata.field("annotations"), &spec, &allowances);
    conditions(&status.field("conditions"));
    let node = old["spec"]["nodeName"].as_str().unwrap_or_default();
    if spec.text_of("nodeName") != node {
        status.field("nodeName").forbidden("may not be changed directly");
    }
    nominated_node(&status.field("nominatedNodeName"), old, node);
    not_negative(&status.field("observedGeneration"));
    let class = status.field("qosClass");
    if class.text() != old["status"]["qosClass"].as_str().unwrap_or_default() {
        class.invalid(class.text(), "field is immutable");
    }
    for name in LISTS {
        transitions::of(name, &status.field(name), &old["status"][name], &old["spec"]);
    }
    claims(&status, &spec);
    addresses(&status, &old["status"]);
    users(&status, &spec);
    allocated(&status, &spec);
}

fn nominated_node(nominated: &At, old: &Value, node: &str) {
    let changed = nominated.text() != old["status"]["nominatedNodeName"].as_str().unwrap_or_default();
    if !changed || nominated.text().is_empty() {
        return;
    }
    nominated.must(names::dns_subdomain);
    if !node.is_empty() {
        nominated.forbidden("may not be set on pods that are already bound to a node");
    }
}

fn not_negative(generation: &At) {
    if generation.integer() < 0 {
        generation.invalid(generation.integer(), "must be a non-negative integer");
    }
}

fn conditions(conditions: &At) {
    for condition in conditions.items() {
        not_negative(&condition.field("observedGeneration"));
        if !["PodScheduled", "Ready", "Initialized"].contains(&condition.text_of("type")) {
            condition.field_shown_as("type", "Type").must(names::qualified_name);
        }
    }
}

fn claims(status: &At, spec: &At) {
    let mut seen = BTreeSet::new();
    let known: BTreeSet<&str> =
        spec.field("resourceClaims").items().map(|claim| claim.text_of("name")).collect();
    for claim in status.field("resourceClaimStatuses").items() {
        let name = claim.field("name");
        if !known.contains(name.text()) {
            name.invalid(name.text(), "must match the name of an entry in `spec.resourceClaims`");
        }
        if !seen.insert(name.text()) {
            name.duplicate(name.text());
        }
        if let Some(name) = claim.field("resourceClaimName").given() {
            name.must(names::dns_subdomain);
        }
    }
    if let Some(extended) = status.field("extendedResourceClaimStatus").given() {
        extended_claim(&extended, spec);
    }
    status
        .field("nodeAllocatableResourceClaimStatuses")
        .items()
        .for_each(|claim| node_claim(&claim, status, spec));
}

fn extended_claim(claim: &At, spec: &At) {
    let mappings = claim.field("requestMappings");
    if mappings.is_empty() {
        mappings.required("at least one request mapping is required");
    }
    let mut seen = BTreeSet::new();
    for mapping in mappings.items() {
        let [container, resource, request] =
            ["containerName", "resourceName", "requestName"].map(|name| mapping.field(name));
        let own = ["containers", "initContainers"].into_iter().find_map(|list| {
            let list = spec.value.get(list)?.as_array()?;
            list.iter().rev().find(|it| it["name"] == container.text())
        });
        match own {
            None => {
                let detail =
                    "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                container.invalid(container.text(), detail);
            }
            Some(own) if own["resources"]["requests"].get(resource.text()).is_none() => {
                let detail = "must match the extended resource name of an entry in \
                              spec.initContainers.resources.requests or spec.containers.resources.requests";
                resource.invalid(resource.text(), detail);
            }
            Some(_) => {}
        }
        claim.field("requestName").holding(request.value).must(names::dns_label);
        if !seen.insert([container.text(), resource.text(), request.text()]) {
            for part in [container, resource, request] {
                part.duplicate(part.text());
            }
        }
    }
    claim.field("resourceClaimName").must_be_given_and(names::dns_subdomain);
}

fn node_claim(claim: &At, status: &At, spec: &At) {
    let name = claim.field("resourceClaimName");
    if name.text().is_empty() {
        name.required("must not be empty");
    }
    let known = |list: At| {
        list.items().any(|it| it.has("resourceClaimName") && it.text_of("resourceClaimName") == name.text())
    };
    if !known(spec.field("resourceClaims")) && !known(status.field("resourceClaimStatuses")) {
        name.invalid(name.text(), "no mapping found in pod reference");
    }
    for list in ["containers", "resources"] {
        if claim.field(list).is_empty() {
            claim.field(list).required("must not be empty");
        }
    }
    for (resource, amount) in claim.field("resources").entries() {
        if resource.contains('/') && !resource.contains("kubernetes.io/") {
            amount.invalid(resource, "must be a node allocatable resource name");
        }
        if let Some(quantity) = amount.quantity().filter(Quantity::is_negative) {
            amount.invalid(quantity.to_string(), "must be non-negative");
        }
    }
}

fn addresses(status: &At, old: &Value) {
    let before = |name: &str| -> Before {
        old[name].as_array().into_iter().flatten().filter_map(|it| it["ip"].as_str()).collect()
    };
    one_of_each_family(&status.field("podIPs"), &before("podIPs"), "[]PodIP");
    let hosts = status.field("hostIPs");
    if hosts.is_empty() {
        return;
    }
    let first = hosts.index(0);
    if first.text_of("ip") != status.text_of("hostIP") {
        first.field("ip").invalid(first.text_of("ip"), "must be equal to `hostIP`");
    }
    one_of_each_family(&hosts, &before("hostIPs"), "[]HostIP");
}

fn one_of_each_family(list: &At, before: &Before, kind: &str) {
    for item in list.items() {
        item.holding(item.field("ip").value).must_be_an_address(before);
    }
    if list.len() < 2 {
        return;
    }
    let bad = list.items().find(|item| address::family(item.text_of("ip")).is_none());
    if let Some(bad) = bad {
        let text = bad.text_of("ip");
        list.internal(format!("failed to check for dual stack with error:invalid IP: {text}"));
    }
    if bad.is_some()
        || list.len() > 2
        || !address::is_dual_stack(list.items().map(|it| address::family(it.text_of("ip"))))
    {
        let shown = declared::shown(kind, list.value);
        list.invalid_shown(shown, "may specify no more than one IP for each IP family");
    }
}

fn users(status: &At, spec: &At) {
    let windows = spec.field("os").text_of("name") == "windows";
    for name in LISTS {
        for container in status.field(name).items() {
            let user = container.field("user");
            let Some(linux) = user.field("linux").given() else { continue };
            if windows {
                linux.forbidden("cannot be set for a windows pod");
                continue;
            }
            let most = i64::from(i32::MAX);
            linux.field("uid").must_be_within(0, most);
            linux.field("gid").must_be_within(0, most);
            linux.field("supplementalGroups").items().for_each(|group| group.must_be_within(0, most));
        }
    }
}

/// The health of devices that a container got.
fn allocated(status: &At, spec: &At) {
    for (list, containers) in
        [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")]
    {
        for container in status.field(list).items() {
            let all = spec.value.get(containers).and_then(Value::as_array).into_iter().flatten();
            let own = all.into_iter().find(|it| it["name"] == container.text_of("name"));
            for resource in container.field("allocatedResourcesStatus").items() {
                if let Some(own) = own {
                    requested(&resource.field("name"), own);
                }
                health(&resource.field("resources"));
            }
        }
    }
    for container in status.field("ephemeralContainerStatuses").items() {
        let resources = container.field("allocatedResourcesStatus");
        if !resources.is_empty() {
            resources.forbidden("must not be specified in container status");
        }
    }
}

fn requested(name: &At, container: &Value) {
    let resources = &container["resources"];
    let Some(wanted) = name.text().strip_prefix("claim:") else {
        if resources["requests"].get(name.text()).is_none() {
            name.invalid(name.text(), "must match one of the container's resource requests");
        }
        return;
    };
    let found = resources["claims"].as_array().into_iter().flatten().any(|claim| {
        let (claim, request) = (claim["name"].as_str().unwrap_or_default(), claim["request"].as_str());
        match request {
            None | Some("") => wanted == claim,
            Some(request) => wanted.split_once('/') == Some((claim, request)),
        }
    });
    if !found {
        let detail = "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or \
                      'claim:<claimName>' if request is empty";
        name.invalid(name.text(), detail);
    }
}

fn health(resources: &At) {
    const MOST_OF_MESSAGE: usize = 1024;
    let mut seen = BTreeSet::new();
    for resource in resources.items() {
        resource.field("health").must_be_one_of(&["Healthy", "Unhealthy", "Unknown"]);
        if let Some(message) = resource.field("message").given() {
            if message.text().is_empty() {
                message.required("must be non-empty if specified");
            } else if message.text().len() > MOST_OF_MESSAGE {
                message.too_long(MOST_OF_MESSAGE);
            }
        }
        let id = resource.field("resourceID");
        if !seen.insert(id.text()) {
            id.duplicate(id.text());
        }
    }
}
