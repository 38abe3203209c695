//! Requests that follow from limits, and resources of a Pod that follow from those of its containers.

use std::collections::BTreeMap;

use asb_types::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::container::is_sidecar;
use super::rule;

pub(crate) type Amounts = BTreeMap<String, Quantity>;

pub(super) fn apply(pod: &mut Value) {
    for list in ["spec.initContainers[].resources", "spec.containers[].resources"] {
        rule::each(pod, list, &mut request_limits);
    }
    if let Some(resources) = pod.pointer("/spec/resources").filter(|resources| resources.is_object()) {
        let limits = default_limits(pod, resources);
        insert(pod, "limits", limits);
        let requests = pod.pointer("/spec/resources").map(|resources| default_requests(pod, resources));
        insert(pod, "requests", requests.flatten());
    }
}

/// What is limited and not requested is requested as far as it is limited.
fn request_limits(resources: &mut Map<String, Value>) {
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    let requests = resources.entry("requests").or_insert(Value::Null);
    if requests.is_null() {
        *requests = json!({});
    }
    if let Some(requests) = requests.as_object_mut() {
        limits.into_iter().for_each(|(name, limit)| {
            requests.entry(name).or_insert(limit);
        });
    }
}

/// The Pod is limited to the huge pages that its containers may have, unless it requests some itself.
fn default_limits(pod: &Value, resources: &Value) -> Option<Value> {
    let (limits, requests) = (amounts_said(resources, "limits")?, amounts_said(resources, "requests")?);
    if limits.is_empty() && requests.is_empty() {
        return None;
    }
    let mut defaulted = limits.clone();
    for (name, amount) in needed_by_containers(&pod["spec"], "limits") {
        if is_huge_page(&name) && !requests.contains_key(&name) {
            defaulted.entry(name).or_insert_with(|| amount.to_string().into());
        }
    }
    Some(defaulted).filter(|defaulted| !defaulted.is_empty()).map(Value::from)
}

/// The Pod requests what its containers do, and what none of them does as far as it is limited.
fn default_requests(pod: &Value, resources: &Value) -> Option<Value> {
    let (limits, mut requests) = (amounts_said(resources, "limits")?, amounts_said(resources, "requests")?);
    if limits.is_empty() {
        return None;
    }
    for (name, amount) in needed_by_containers(&pod["spec"], "requests") {
        if is_counted_for_pods(&name) && !is_huge_page(&name) {
            requests.entry(name).or_insert_with(|| amount.to_string().into());
        }
    }
    for (name, limit) in limits {
        if is_counted_for_pods(&name) {
            requests.entry(name).or_insert(limit);
        }
    }
    Some(requests).filter(|requests| !requests.is_empty()).map(Value::from)
}

/// An empty map where nothing is said; none where it is no map.
fn amounts_said(resources: &Value, field: &str) -> Option<Map<String, Value>> {
    match resources.get(field) {
        None | Some(Value::Null) => Some(Map::new()),
        Some(value) => value.as_object().cloned(),
    }
}

fn insert(pod: &mut Value, field: &str, amounts: Option<Value>) {
    let Some(amounts) = amounts else { return };
    rule::each(pod, "spec.resources", &mut |resources| {
        resources.insert(field.to_owned(), amounts.clone());
    });
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_counted_for_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_page(name)
}

/// What the containers of a Pod need at the worst moment: all regular ones and sidecars together, or one init
/// container with the sidecars that were started before it.
pub(crate) fn needed_by_containers(spec: &Value, field: &str) -> Amounts {
    let mut running = Amounts::new();
    containers(spec, "containers").for_each(|container| add(&mut running, &amounts(container, field)));
    let (mut sidecars, mut starting) = (Amounts::new(), Amounts::new());
    for container in containers(spec, "initContainers") {
        let mut needed = amounts(container, field);
        if is_sidecar(container) {
            add(&mut running, &needed);
            add(&mut sidecars, &needed);
            needed.clone_from(&sidecars);
        } else {
            add(&mut needed, &sidecars);
        }
        raise(&mut starting, needed);
    }
    raise(&mut running, starting);
    running
}

fn containers<'a>(spec: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    spec[list].as_array().into_iter().flatten()
}

fn amounts(container: &Value, field: &str) -> Amounts {
    read(&container["resources"][field])
}

fn read(list: &Value) -> Amounts {
    let list = list.as_object().into_iter().flatten();
    list.filter_map(|(name, value)| Some((name.clone(), Quantity::read(value)?))).collect()
}

fn add(total: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = total.get(name).map_or_else(|| amount.clone(), |sum| sum.plus(amount));
        total.insert(name.clone(), sum);
    }
}

fn raise(total: &mut Amounts, other: Amounts) {
    for (name, amount) in other {
        if total.get(&name).is_none_or(|current| amount > *current) {
            total.insert(name, amount);
        }
    }
}
