//! The addresses of a service, of one or both families, and how they may change.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::address;
use super::super::at::At;

const FIXED: &str = "may not change once set";
/// There is one address of each family. Each error shows all of them, so there are not more errors than that.
const MOST: usize = 2;

/// A service without an address of its own.
pub(super) fn is_headless(spec: &Value) -> bool {
    texts(&spec["clusterIPs"]) == ["None"]
}

fn is_external_name(spec: &Value) -> bool {
    spec["type"] == "ExternalName"
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

pub(super) fn cluster(spec: &At, old: &Value) {
    if is_external_name(spec.value) {
        return;
    }
    let (addresses, first) = (spec.field("clusterIPs"), spec.text_of("clusterIP"));
    let shown = || addresses.value.clone();
    match (first.is_empty(), texts(addresses.value).first()) {
        (false, None) => addresses.required(""),
        (false, Some(other)) if *other != first => {
            addresses.invalid(shown(), "first value must match `clusterIP`");
        }
        (true, Some(_)) => addresses.invalid(shown(), "must be empty when `clusterIP` is not specified"),
        _ => {}
    }
    families(spec);
    let before = addresses.reported();
    let known = texts(&old["clusterIPs"]).into_iter().collect();
    for (index, address) in addresses.items().enumerate() {
        if index > 0 || address.text() != "None" {
            address.must_be_an_address(&known);
        } else if addresses.len() > 1 {
            addresses.invalid(shown(), "'None' must be the first and only value");
        }
    }
    let sound = addresses.reported() == before;
    if addresses.len() > 2 {
        addresses.invalid(shown(), "may only hold up to 2 values");
    }
    if sound {
        families_match(spec, &addresses);
    }
}

fn families(spec: &At) {
    let mut seen = BTreeSet::new();
    for family in spec.field("ipFamilies").items() {
        family.must_be_one_of(&["IPv4", "IPv6"]);
        if !seen.insert(family.text()) {
            family.duplicate(family.text());
        }
    }
    spec.field("ipFamilyPolicy").may_be_one_of(&["PreferDualStack", "RequireDualStack", "SingleStack"]);
}

fn families_match(spec: &At, addresses: &At) {
    if addresses.len() > 1 && !address::is_dual_stack(addresses.texts().map(address::family)) {
        let detail = "may specify no more than one IP for each IP family";
        addresses.invalid(addresses.value.clone(), detail);
    }
    if is_headless(spec.value) {
        return;
    }
    for (index, (address, family)) in addresses.items().zip(spec.field("ipFamilies").items()).enumerate() {
        let v6 = address::is_v6(address.text());
        if family.text() == "IPv4" && v6 || family.text() == "IPv6" && !v6 {
            let detail = format!("expected an {} value as indicated by `ipFamilies[{index}]`", family.text());
            address.invalid(address.text(), detail);
        }
    }
}

pub(super) fn external(spec: &At, old: &Value) {
    let known = texts(&old["externalIPs"]).into_iter().collect();
    for address in spec.field("externalIPs").items() {
        let before = address.reported();
        address.must_be_an_address(&known);
        if address.reported() == before {
            address.must_be_an_endpoint();
        }
    }
}

pub(super) fn changes(spec: &At, old: &Value) {
    if is_external_name(spec.value) || is_external_name(old) {
        return;
    }
    let (headless, was_headless) = (is_headless(spec.value), is_headless(old));
    if !(headless && was_headless) {
        addresses_stay(spec, &texts(&old["clusterIPs"]));
    }
    if !headless && !was_headless {
        families_stay(spec, &texts(&old["ipFamilies"]));
    }
}

/// The second address comes and goes; the first one stays.
fn addresses_stay(spec: &At, old: &[&str]) {
    let addresses = spec.field("clusterIPs");
    let new = texts(addresses.value);
    let shown = || addresses.value.clone();
    if new.len() == old.len() {
        for index in (0..old.len()).filter(|index| old[*index] != new[*index]).take(MOST) {
            addresses.index(index).invalid(shown(), FIXED);
        }
        return;
    }
    let shrunk = old.len() > new.len();
    if shrunk && new.is_empty() {
        addresses.index(0).invalid(shown(), "primary clusterIP can not be unset");
    }
    if let (Some(first), Some(before)) = (new.first(), old.first())
        && first != before
    {
        addresses.index(0).invalid(shown(), FIXED);
    }
    if shrunk && new.len() == 1 {
        single_stack(spec, "clusterIP");
    }
}

fn families_stay(spec: &At, old: &[&str]) {
    let (families, addresses) = (spec.field("ipFamilies"), spec.field("clusterIPs"));
    let new = texts(families.value);
    if new.len() == old.len() {
        for _ in (0..old.len()).filter(|index| old[*index] != new[*index]).take(MOST) {
            families.index(0).invalid(families.value.clone(), FIXED);
        }
        return;
    }
    let shrunk = old.len() > new.len();
    if shrunk && addresses.is_empty() {
        families.index(0).invalid(families.value.clone(), "primary ipFamily can not be unset");
    }
    if let (Some(first), Some(before)) = (new.first(), old.first())
        && first != before
    {
        families.index(0).invalid(addresses.value.clone(), FIXED);
    }
    if shrunk && new.len() == 1 {
        single_stack(spec, "ipFamily");
    }
}

fn single_stack(spec: &At, what: &str) {
    let policy = spec.field("ipFamilyPolicy");
    if policy.text() != "SingleStack" {
        let detail = format!("must be set to 'SingleStack' when releasing the secondary {what}");
        policy.invalid(policy.value.clone(), detail);
    }
}
