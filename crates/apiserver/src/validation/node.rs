//! Nodes, and what they report about themselves.

use std::collections::BTreeSet;

use serde_json::Value;

use super::at::At;
use super::metadata::{self, NameRule};
use super::{address, declared, pod};
use crate::field::Quoted;
use crate::names;

const TAINTS: &str = "scheduler.alpha.kubernetes.io/taints";
const MOST_OF_FEATURE: usize = 253;

pub(super) fn create(node: &At) {
    let (metadata, spec, status) = (node.field("metadata"), node.field("spec"), node.field("status"));
    metadata::new_of_kubernetes(&metadata, false, NameRule::Dns1123Subdomain);
    annotated_taints(&metadata.field("annotations"));
    taints(&metadata.field("taints").holding(spec.field("taints").value));
    resources(&status);
    swap(&metadata, &status);
    features(&status.field("declaredFeatures"));
    networks(&spec.field("podCIDRs"));
}

pub(super) fn update(new: &At, old: &Value) {
    create(new);
    update_status(new, old);
}

pub(super) fn update_status(new: &At, old: &Value) {
    let (metadata, spec, status) = (new.field("metadata"), new.field("spec"), new.field("status"));
    metadata::changed_of_kubernetes(&metadata, &old["metadata"]);
    annotated_taints(&metadata.field("annotations"));
    resources(&status);
    features(&status.field("declaredFeatures"));
    unique_addresses(&status.field("addresses"));
    fixed(&spec, &old["spec"]);
    if let Some(source) = spec.field("configSource").given() {
        kubelet_config(&source, Place::Spec);
    }
    let config = status.field("config");
    for name in ["assigned", "active", "lastKnownGood"] {
        if let Some(source) = config.field(name).given() {
            kubelet_config(&source, Place::Status);
        }
    }
    taints(&metadata.field("taints").holding(spec.field("taints").value));
    if spec.text_of("externalID") != old["spec"]["externalID"].as_str().unwrap_or_default() {
        spec.field("externalID").forbidden("may not be updated");
    }
}

fn annotated_taints(annotations: &At) {
    let text = annotations.text_of(TAINTS);
    if text.is_empty() {
        return;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(parsed) => taints(&annotations.shown_under(TAINTS).holding(&parsed)),
        Err(problem) => annotations.invalid(TAINTS, problem.to_string()),
    }
}

fn taints(taints: &At) {
    let mut seen = BTreeSet::new();
    for taint in taints.items() {
        let (value, effect) = (taint.field("value"), taint.field("effect"));
        taint.field("key").must(names::qualified_name);
        let messages = names::label_value(value.text());
        if !messages.is_empty() {
            value.invalid(value.text(), messages.join(";"));
        }
        if effect.must_be_given() {
            pod::taint_effect(&effect);
        }
        if !seen.insert((effect.text(), taint.text_of("key"))) {
            let detail = "taints must be unique by key and effect pair";
            taint.duplicate_shown(declared::shown("Taint", taint.value), detail);
        }
    }
}

fn resources(status: &At) {
    for list in ["capacity", "allocatable"] {
        let list = status.field(list);
        for (name, amount) in list.entries() {
            pod::resources::amount(&list.field(name).holding(amount.value), name);
        }
    }
}

fn swap(metadata: &At, status: &At) {
    let info = status.field("nodeInfo");
    let capacity = info.field("swap");
    let capacity = capacity.field("capacity");
    let place = metadata.field("nodeSwapStatus");
    if capacity.exists() {
        place.field("capacity").holding(capacity.value).must_be_positive();
    }
}

fn features(features: &At) {
    let mut before: Option<&str> = None;
    for feature in features.items() {
        match before {
            Some(before) if before == feature.text() => feature.duplicate(feature.text()),
            Some(before) if before > feature.text() => {
                feature.invalid(feature.text(), "list must be sorted alphabetically");
            }
            _ => {}
        }
        feature_name(&feature);
        before = Some(feature.text());
    }
}

fn feature_name(feature: &At) {
    let name = feature.text();
    let refuse = |why: &str| feature.invalid(name, format!("invalid feature name {}: {why}", Quoted(name)));
    let fits = |segment: &str| {
        segment.starts_with(|first: char| first.is_ascii_alphabetic())
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    if name.len() > MOST_OF_FEATURE {
        refuse("must be no more than 253 characters");
    } else if !name.starts_with(|first: char| first.is_ascii_uppercase()) || !name.split('/').all(fits) {
        refuse(
            "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or \
             MyFeature/mySubFeature), and contain only alphanumeric characters and slashes",
        );
    }
}

/// The ranges that the addresses of a node's pods come from.
fn networks(networks: &At) {
    networks.items().for_each(|network| network.must_be_a_network(&address::Before::new()));
    if networks.len() < 2 {
        return;
    }
    let family = |text| address::sloppy_network(text).map(address::Network::is_v6);
    if let Some(bad) = networks.texts().find(|text| family(text).is_none()) {
        networks.internal(format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR address: {bad}"
        ));
    }
    if networks.len() > 2 || !address::is_dual_stack(networks.texts().map(family)) {
        let detail = "may specify no more than one CIDR for each IP family";
        networks.invalid(networks.value.clone(), detail);
    }
}

fn unique_addresses(addresses: &At) {
    let mut seen = BTreeSet::new();
    for address in addresses.items() {
        if !seen.insert((address.text_of("type"), address.text_of("address"))) {
            address.duplicate_shown(declared::shown("NodeAddress", address.value), "");
        }
    }
}

/// What is said once about a node stays.
fn fixed(spec: &At, old: &Value) {
    let networks = spec.field("podCIDRs");
    let before: Vec<&str> =
        old["podCIDRs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let after: Vec<&str> = networks.texts().collect();
    let detail = "node updates may not change podCIDR except from \"\" to valid";
    if !before.is_empty() && before.len() != after.len() {
        networks.forbidden(detail);
    } else if !before.is_empty() {
        before
            .iter()
            .zip(&after)
            .filter(|(before, after)| before != after)
            .for_each(|_| networks.forbidden(detail));
    }
    let provider = spec.field("providerID");
    let before = old["providerID"].as_str().unwrap_or_default();
    if !before.is_empty() && before != provider.text() {
        provider.forbidden("node updates may not change providerID except from \"\" to valid");
    }
}

/// Where a reference to a node agent's configuration stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Spec,
    Status,
}

fn kubelet_config(source: &At, place: Place) {
    let Some(map) = source.field("configMap").given() else {
        let shown = declared::shown("NodeConfigSource", source.value);
        return source.invalid_shown(shown, "exactly one reference subfield must be non-nil");
    };
    for name in ["uid", "resourceVersion"] {
        let field = map.field(name);
        match place {
            Place::Spec if !field.text().is_empty() => {
                field.forbidden(format!("{name} must not be set in spec"));
            }
            Place::Spec => {}
            Place::Status => {
                field.must_be_given();
            }
        }
    }
    map.field("namespace").must_be_given_and(names::dns_label);
    map.field("name").must_be_given_and(names::dns_subdomain);
    map.field("kubeletConfigKey").must_be_given_and(names::config_key);
}
