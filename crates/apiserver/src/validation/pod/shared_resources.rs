//! Resources that the containers of a pod share, which are enough for all of them.

use super::super::at::At;
use super::resources::{HUGE_PAGES, name_in_pod, requirements};
use super::{Context, claims};
use crate::defaults::needed_by_containers;

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
        let sums = needed_by_containers(spec.value, list);
        let own = resources.field(list);
        for (name, sum) in sums {
            if list == "limits" && !name.starts_with(HUGE_PAGES) {
                continue;
            }
            let amount = own.key(&name);
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
