//! Resources that the containers of a pod share, which are enough for all of them.

use std::collections::BTreeMap;

use super::super::at::At;
use super::super::quantity::Quantity;
use super::resources::{HUGE_PAGES, name_in_pod, requirements};
use super::{Context, claims};

/// Resources that a pod's containers share.
pub(super) fn all(spec: &At, context: &Context) {
    let Some(resources) = spec.field("resources").given() else { return };
    if context.operating_system == Some("windows") {
        return resources.forbidden("may not be set for a windows pod");
    }
    if resources.has("claims") {
        resources.field("claims").forbidden("claims may not be set for Resources at pod-level");
    }
    let (limits, requests) = (resources.field("limits"), resources.field("requests"));
    requirements(&limits, &requests, &resources, name_in_pod, context.allowances);
    claims::used(&resources.field("claims"), &context.claims);
    enough_for_containers(spec, &resources);
}

fn enough_for_containers(spec: &At, resources: &At) {
    let exceeding = |list: &str| {
        let sums = aggregate(spec, list);
        let own = resources.field(list);
        for (name, sum) in sums {
            if list == "limits" && !name.starts_with(HUGE_PAGES) {
                continue;
            }
            let amount = own.key(name);
            let Some(quantity) = amount.quantity().filter(|quantity| sum > *quantity) else { continue };
            let detail = format!("must be greater than or equal to aggregate container {list} of {sum}");
            amount.invalid(quantity.to_string(), detail);
        }
    };
    exceeding("requests");
    exceeding("limits");
    let limits = resources.field("limits");
    let containers = spec.field("containers");
    let shown = resources.field("containers");
    for (index, container) in containers.items().enumerate() {
        let own = container.field("resources");
        for (name, amount) in own.field("limits").entries() {
            let (Some(limit), Some(most)) = (amount.quantity(), limits.key(name).quantity()) else {
                continue;
            };
            if limit > most {
                let place = shown.index(index);
                let place = place.key(name);
                let detail = format!("must be less than or equal to pod limits of {most}");
                place.field("limits").invalid(limit.to_string(), detail);
            }
        }
    }
}

/// What all containers take together: those that run side by side, or those of a moment of the start if that is more.
fn aggregate<'v>(spec: &At<'v, '_>, list: &str) -> BTreeMap<&'v str, Quantity> {
    let of = |container: At<'v, '_>| -> Vec<(&'v str, Quantity)> {
        let resources = container.field("resources");
        let list = resources.field(list);
        list.entries().filter_map(|(name, amount)| Some((name, amount.quantity()?))).collect()
    };
    let mut sums = BTreeMap::new();
    spec.field("containers").items().for_each(|container| add(&mut sums, of(container)));
    let (mut lasting, mut peaks) = (BTreeMap::new(), BTreeMap::new());
    for container in spec.field("initContainers").items() {
        let mut moment = BTreeMap::new();
        let lasts = container.text_of("restartPolicy") == "Always";
        let amounts = of(container);
        add(&mut moment, amounts.clone());
        if lasts {
            add(&mut sums, amounts.clone());
            add(&mut lasting, amounts);
            moment.clone_from(&lasting);
        } else {
            add(&mut moment, lasting.iter().map(|(name, quantity)| (*name, *quantity)).collect());
        }
        raise(&mut peaks, moment);
    }
    raise(&mut sums, peaks);
    sums
}

fn add<'v>(sums: &mut BTreeMap<&'v str, Quantity>, amounts: Vec<(&'v str, Quantity)>) {
    for (name, quantity) in amounts {
        let sum = sums.entry(name).or_insert(Quantity::ZERO);
        *sum = sum.plus(quantity);
    }
}

fn raise<'v>(most: &mut BTreeMap<&'v str, Quantity>, amounts: BTreeMap<&'v str, Quantity>) {
    for (name, quantity) in amounts {
        let known = most.entry(name).or_insert(quantity);
        if quantity > *known {
            *known = quantity;
        }
    }
}
