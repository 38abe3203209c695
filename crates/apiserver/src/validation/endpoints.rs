//! Endpoints: the older list of addresses behind a service.

use serde_json::Value;

use super::address::Before;
use super::at::At;
use super::metadata::{self, NameRule};
use crate::names;

pub(super) fn create(endpoints: &At) {
    metadata::new_of_kubernetes(&endpoints.field("metadata"), true, NameRule::Dns1123Subdomain);
    subsets(&endpoints.field("subsets"));
}

/// Addresses that are as they were are not looked at again.
pub(super) fn update(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    metadata::new_of_kubernetes(&new.field("metadata"), true, NameRule::Dns1123Subdomain);
    if new.field("subsets").value != &old["subsets"] {
        subsets(&new.field("subsets"));
    }
}

fn subsets(subsets: &At) {
    for subset in subsets.items() {
        if subset.field("addresses").is_empty() && subset.field("notReadyAddresses").is_empty() {
            subset.required("must specify `addresses` or `notReadyAddresses`");
        }
        for list in ["addresses", "notReadyAddresses"] {
            subset.field(list).items().for_each(|it| address(&it));
        }
        let ports = subset.field("ports");
        ports.items().for_each(|it| port(&it, ports.len() > 1));
    }
}

fn address(address: &At) {
    let ip = address.field("ip");
    ip.must_be_an_address(&Before::new());
    address.field("hostname").may(names::dns_label);
    if let Some(node) = address.field("nodeName").given() {
        node.must(names::dns_subdomain);
    }
    ip.must_be_an_endpoint();
}

fn port(port: &At, among_others: bool) {
    let name = port.field("name");
    if among_others {
        name.must_be_given();
    }
    name.may(names::dns_label);
    port.field("port").must_be_a_port();
    port.field("protocol").must_be_given_and_one_of(&["SCTP", "TCP", "UDP"]);
    if let Some(protocol) = port.field("appProtocol").given() {
        protocol.must(names::qualified_name);
    }
}
