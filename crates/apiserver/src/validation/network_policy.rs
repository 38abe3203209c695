//! NetworkPolicies: who may talk to a pod, and to whom it may.

use serde_json::Value;

use super::address::{Before, sloppy_network};
use super::at::{At, examine};
use super::labels::{self, Values};
use super::metadata::{self, NameRule};
use crate::names;

/// What an old policy was and may stay.
struct Allowances<'v> {
    selectors: Values,
    networks: Before<'v>,
}

pub(super) fn create(policy: &At) {
    metadata::new_of_kubernetes(&policy.field("metadata"), true, NameRule::Dns1123Subdomain);
    spec(&policy.field("spec"), &Allowances { selectors: Values::AsLabels, networks: Before::new() });
}

pub(super) fn update(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    let selector = &old["spec"]["podSelector"];
    let bad = !examine(selector, |selector| labels::selector(selector, Values::AsLabels)).is_empty();
    let selectors = if bad { Values::Anything } else { Values::AsLabels };
    spec(&new.field("spec"), &Allowances { selectors, networks: networks(&old["spec"]) });
}

fn networks(spec: &Value) -> Before<'_> {
    fn list(value: &Value) -> impl Iterator<Item = &Value> {
        value.as_array().into_iter().flatten()
    }
    let mut networks = Before::new();
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for peer in list(&spec[rules]).flat_map(|rule| list(&rule[peers])) {
            networks.extend(peer["ipBlock"]["cidr"].as_str());
            networks.extend(list(&peer["ipBlock"]["except"]).filter_map(Value::as_str));
        }
    }
    networks
}

fn spec(spec: &At, allowances: &Allowances) {
    labels::selector(&spec.field("podSelector"), allowances.selectors);
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.field(rules).items() {
            rule.field("ports").items().for_each(|it| port(&it));
            rule.field(peers).items().for_each(|it| peer(&it, allowances));
        }
    }
    let types = spec.field("policyTypes");
    if types.len() > 2 {
        return types.invalid(types.value.clone(), "may not specify more than two policyTypes");
    }
    types.items().for_each(|it| it.must_be_one_of(&["Ingress", "Egress"]));
}

fn port(port: &At) {
    port.field("protocol").may_be_one_of(&["TCP", "UDP", "SCTP"]);
    let (first, last) = (port.field("port"), port.field("endPort"));
    match first.value {
        Value::Null => {
            if last.exists() {
                last.invalid(last.integer(), "may not be specified when `port` is not specified");
            }
        }
        Value::String(_) => {
            if last.exists() {
                last.invalid(last.integer(), "may not be specified when `port` is non-numeric");
            }
            first.must(names::port_name);
        }
        _ => {
            first.must_be_a_port();
            if last.exists() {
                if last.integer() < first.integer() {
                    last.invalid(first.integer(), "must be greater than or equal to `port`");
                }
                last.must_be_a_port();
            }
        }
    }
}

fn peer(peer: &At, allowances: &Allowances) {
    let mut selects = false;
    for name in ["podSelector", "namespaceSelector"] {
        if let Some(selector) = peer.field(name).given() {
            selects = true;
            labels::selector(&selector, allowances.selectors);
        }
    }
    match peer.field("ipBlock").given() {
        None if !selects => peer.required("must specify a peer"),
        None => {}
        Some(range) => {
            block(&range, allowances);
            if selects {
                peer.forbidden("may not specify both ipBlock and another peer");
            }
        }
    }
}

fn block(block: &At, allowances: &Allowances) {
    let network = block.field("cidr");
    if !network.must_be_given() {
        return;
    }
    network.must_be_a_network(&allowances.networks);
    let Some(all) = sloppy_network(network.text()) else { return };
    for except in block.field("except").items() {
        except.must_be_a_network(&allowances.networks);
        if sloppy_network(except.text()).is_some_and(|part| !all.strictly_contains(part)) {
            except.invalid(except.text(), "must be a strict subset of `cidr`");
        }
    }
}
