//! RuntimeClass: what a class costs, and where its Pods can run.

use std::collections::BTreeMap;

use asb_types::quantity::Quantity;
use serde_json::{Map, Value};

use super::{Target, forbidden, toleration};
use crate::field::Quoted;
use crate::identity::GroupKind;
use crate::pointer;
use crate::status::Status;
use crate::strategy::Cluster;

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const UNCALLED: &str = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

pub(super) fn mutate(target: Target<'_>, pod: &mut Value, cluster: &dyn Cluster) -> Result<(), Status> {
    let Some(class) = find(target, pod, cluster)? else { return Ok(()) };
    set_overhead(target, pod, &class)?;
    if pointer::said(&class, "/scheduling").is_some() {
        select_nodes(target, pod, &class)?;
        let (own, given) =
            (pointer::list(pod, "/spec/tolerations"), pointer::list(&class, "/scheduling/tolerations"));
        let merged = toleration::merged(own, given);
        if !merged.is_empty() {
            pointer::set(pod, "/spec/tolerations", merged);
        }
    }
    Ok(())
}

pub(super) fn check(target: Target<'_>, pod: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    let class = find(target, pod, cluster)?;
    let given = class.as_ref().and_then(overhead);
    let own = pod["spec"]["overhead"].as_object();
    match (given, own) {
        (Some(given), own) if own.is_none_or(|own| !is_same(given, own)) => {
            Err(forbidden(target, pod, MISMATCH))
        }
        (None, Some(_)) => Err(forbidden(target, pod, UNCALLED)),
        _ => Ok(()),
    }
}

fn find(target: Target<'_>, pod: &Value, cluster: &dyn Cluster) -> Result<Option<Value>, Status> {
    let Some(name) = pod["spec"]["runtimeClassName"].as_str() else { return Ok(None) };
    let class = cluster.get(&GroupKind::new("node.k8s.io", "RuntimeClass"), "", name);
    let missing =
        || forbidden(target, pod, &format!("pod rejected: RuntimeClass {} not found", Quoted(name)));
    class.map(Some).ok_or_else(missing)
}

fn overhead(class: &Value) -> Option<&Map<String, Value>> {
    class.pointer("/overhead/podFixed").and_then(Value::as_object)
}

fn set_overhead(target: Target<'_>, pod: &mut Value, class: &Value) -> Result<(), Status> {
    let Some(given) = overhead(class) else { return Ok(()) };
    let own = pod["spec"]["overhead"].as_object().filter(|own| !own.is_empty());
    if own.is_some_and(|own| !is_same(given, own)) {
        return Err(forbidden(target, pod, MISMATCH));
    }
    pointer::set(pod, "/spec/overhead", given.clone());
    Ok(())
}

/// The same amounts, however they are written.
fn is_same(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let amounts = |map: &Map<String, Value>| -> BTreeMap<String, Option<Quantity>> {
        map.iter().map(|(name, amount)| (name.clone(), Quantity::read(amount))).collect()
    };
    amounts(one) == amounts(other)
}

fn select_nodes(target: Target<'_>, pod: &mut Value, class: &Value) -> Result<(), Status> {
    let Some(given) = class.pointer("/scheduling/nodeSelector").and_then(Value::as_object) else {
        return Ok(());
    };
    let mut selector = pod["spec"]["nodeSelector"].as_object().cloned().unwrap_or_default();
    for (key, value) in given {
        if let Some(own) = selector.get(key).filter(|own| *own != value) {
            let (value, own) = (value.as_str().unwrap_or_default(), own.as_str().unwrap_or_default());
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            );
            return Err(forbidden(target, pod, &why));
        }
        selector.insert(key.clone(), value.clone());
    }
    pointer::set(pod, "/spec/nodeSelector", selector);
    Ok(())
}
