//! EndpointSlices: the addresses behind a service, in parts.

use std::collections::BTreeSet;

use serde_json::Value;

use super::address::Before;
use super::at::{At, Report};
use super::metadata::{self, NameRule};
use super::{address, labels};
use crate::names;

const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;
const MOST_PORTS: usize = 20000;
const MOST_LABELS: usize = 16;
const MOST_HINTS: usize = 8;

pub(super) fn create(slice: &At) {
    whole(slice, &Value::Null);
}

pub(super) fn update(new: &At, old: &Value) {
    whole(new, &old["endpoints"]);
    let silent = Report::default();
    let before = new.other(old, &silent);
    metadata::immutable_text(&new.field("addressType"), &before.field("addressType"));
}

/// Endpoints that are as they were are not looked at again.
fn whole(slice: &At, old: &Value) {
    metadata::new_of_kubernetes(&slice.field("metadata"), true, NameRule::Dns1123Subdomain);
    slice.field("addressType").must_be_given_and_one_of(&["FQDN", "IPv4", "IPv6"]);
    ports(&slice.field("ports"));
    let endpoints = slice.field("endpoints");
    if endpoints.value != old {
        self::endpoints(&endpoints, slice.text_of("addressType"));
    }
}

fn ports(ports: &At) {
    if ports.len() > MOST_PORTS {
        ports.too_many(ports.len(), MOST_PORTS);
    }
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let (name, protocol) = (port.field("name"), port.field("protocol"));
        name.may(names::dns_label);
        if !seen.insert(name.text()) {
            name.duplicate(name.text());
        }
        if protocol.exists() {
            protocol.must_be_one_of(&["SCTP", "TCP", "UDP"]);
        } else {
            protocol.required("");
        }
        if let Some(protocol) = port.field("appProtocol").given() {
            protocol.must(names::qualified_name);
        }
    }
}

fn endpoints(endpoints: &At, kind: &str) {
    if endpoints.len() > MOST_ENDPOINTS {
        endpoints.too_many(endpoints.len(), MOST_ENDPOINTS);
    }
    for endpoint in endpoints.items() {
        let addresses = endpoint.field("addresses");
        if addresses.is_empty() {
            addresses.required("must contain at least 1 address");
        } else if addresses.len() > MOST_ADDRESSES {
            addresses.too_many(addresses.len(), MOST_ADDRESSES);
        }
        addresses.items().for_each(|it| address(&it, &addresses, kind));
        if let Some(node) = endpoint.field("nodeName").given() {
            node.must(names::dns_subdomain);
        }
        let topology = endpoint.field("deprecatedTopology");
        if topology.len() > MOST_LABELS {
            topology.too_many(topology.len(), MOST_LABELS);
        }
        labels::labels(&topology);
        if let Some(host) = endpoint.field("hostname").given() {
            host.must(names::dns_label);
        }
        hints(&endpoint.field("hints"));
    }
}

fn address(address: &At, addresses: &At, kind: &str) {
    let before = address.reported();
    let (fits, family): (fn(&str) -> bool, _) = match kind {
        "IPv4" => {
            address.must_be_an_address(&Before::new());
            (address::is_v4, "an IPv4")
        }
        "IPv6" => {
            address.must_be_a_canonical_address();
            (address::is_v6, "an IPv6")
        }
        "FQDN" => return domain(address),
        _ => return,
    };
    if address.reported() == before {
        if !fits(address.text()) {
            addresses.invalid(address.text(), format!("must be {family} address"));
        }
        address.must_be_an_endpoint();
    }
}

fn domain(address: &At) {
    if address.must_be_given()
        && let Some((text, message)) = names::full_domain_name(address.text())
    {
        address.invalid(text, message);
    }
}

fn hints(hints: &At) {
    for (list, rule) in [("forZones", names::label_value as names::Rule), ("forNodes", names::dns_subdomain)]
    {
        let list = hints.field(list);
        if list.len() > MOST_HINTS {
            list.too_many(list.len(), MOST_HINTS);
        }
        let mut seen = BTreeSet::new();
        for hint in list.items() {
            let name = hint.field("name");
            if !seen.insert(name.text()) {
                name.duplicate(name.text());
            }
            name.must(rule);
        }
    }
}
