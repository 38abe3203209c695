//! The resources that containers and pods ask for.

use std::collections::BTreeSet;

use asb_types::quantity::Quantity;
use serde_json::Value;

use super::super::at::At;
use super::allowances::Allowances;
use super::claims;
use crate::names;

pub(super) const HUGE_PAGES: &str = "hugepages-";
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];
/// Of these there are only whole ones.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

pub(super) fn of_container(resources: &At, claims: &BTreeSet<&str>, allowances: &Allowances) {
    requirements(
        &resources.field("limits"),
        &resources.field("requests"),
        resources,
        name_in_container,
        allowances,
    );
    claims::used(&resources.field("claims"), claims);
}

/// What a pod takes beyond its containers.
pub(super) fn overhead(overhead: &At, allowances: &Allowances) {
    if overhead.exists() {
        let limits = overhead.shown_under("limits");
        requirements(
            &limits,
            &overhead.field("requests").holding(&Value::Null),
            overhead,
            name_in_container,
            allowances,
        );
    }
}

/// The overhead of a class of runtimes.
pub(in super::super) fn fixed_overhead(overhead: &At) {
    let limits = overhead.field_shown_as("podFixed", "limits");
    let requests = overhead.field("requests");
    let requests = requests.holding(&Value::Null);
    requirements(&limits, &requests, overhead, name_in_container, &Allowances::default());
}

pub(super) fn requirements(
    limits: &At,
    requests: &At,
    all: &At,
    name_rule: fn(&At, &str),
    allowances: &Allowances,
) {
    let divisible = |name: &str, amount: &At| {
        if !allowances.indivisible_huge_pages {
            huge_page_is_divisible(name, amount);
        }
    };
    for (name, amount) in limits.entries() {
        name_rule(&amount, name);
        self::amount(&amount, name);
        divisible(name, &amount);
    }
    for (name, amount) in requests.entries() {
        name_rule(&amount, name);
        self::amount(&amount, name);
        within_limit(&amount, name, limits, requests);
        divisible(name, &amount);
    }
    let names = || limits.entries().chain(requests.entries()).map(|(name, _)| name);
    if names().any(|name| name.starts_with(HUGE_PAGES))
        && !names().any(|name| ["cpu", "memory"].contains(&name))
    {
        all.forbidden("HugePages require cpu or memory");
    }
}

/// What can be shared may be promised more often than it is there; all else is requested as it is limited.
fn within_limit(amount: &At, name: &str, limits: &At, requests: &At) {
    let shareable = is_native(name) && !name.starts_with(HUGE_PAGES);
    let quantity = amount.quantity().unwrap_or_default();
    let limit = limits.key(name);
    if !limit.exists() {
        if !shareable {
            limits.required("Limit must be set for non overcommitable resources");
        }
        return;
    }
    let most = limit.quantity().unwrap_or_default();
    if quantity != most && !shareable {
        requests.invalid(quantity.to_string(), format!("must be equal to {name} limit of {most}"));
    } else if quantity > most {
        requests
            .invalid(quantity.to_string(), format!("must be less than or equal to {name} limit of {most}"));
    }
}

pub(super) fn huge_pages_are_divisible(container: &At) {
    let resources = container.field("resources");
    for list in ["limits", "requests"] {
        resources.field(list).entries().for_each(|(name, amount)| huge_page_is_divisible(name, &amount));
    }
}

fn huge_page_is_divisible(name: &str, amount: &At) {
    let Some(size) = name.strip_prefix(HUGE_PAGES) else { return };
    let quantity = amount.quantity().unwrap_or_default();
    let size = Quantity::parse(size).filter(|size| size.whole() > 0 && size.is_whole());
    if size.is_none_or(|size| quantity.whole() % size.whole() != 0) {
        let shown = quantity.to_string();
        let detail = format!("{shown} is not positive integer multiple of {name}");
        amount.invalid(shown, detail);
    }
}

/// An amount of a resource; `amount` may not be there.
pub(in super::super) fn amount(amount: &At, name: &str) {
    let quantity = amount.quantity().unwrap_or_default();
    if quantity.is_negative() {
        amount.invalid(quantity.to_string(), "must be greater than or equal to 0");
    }
    if (COUNTED.contains(&name) || is_extended(name)) && !quantity.is_whole() {
        amount.invalid(quantity.to_string(), "must be an integer");
    }
}

fn name_of_resource(place: &At, name: &str) -> bool {
    let before = place.reported();
    place.must_hold(name, names::qualified_name);
    let huge = name.starts_with(HUGE_PAGES) || name.starts_with("requests.hugepages-");
    if place.reported() == before && !name.contains('/') && !STANDARD.contains(&name) && !huge {
        place.invalid(name, "must be a standard resource type or fully qualified");
    }
    place.reported() == before
}

fn name_in_container(place: &At, name: &str) {
    name_of_resource(place, name);
    let of_containers =
        ["cpu", "memory", "ephemeral-storage"].contains(&name) || name.starts_with(HUGE_PAGES);
    if !name.contains('/') && !of_containers {
        place.invalid(name, "must be a standard resource for containers");
    } else if !is_native(name) && !is_extended(name) {
        place.invalid(name, "doesn't follow extended resource name standard");
    }
}

pub(super) fn name_in_pod(place: &At, name: &str) {
    let supported = ["cpu", "memory"].contains(&name) || name.starts_with(HUGE_PAGES);
    if name_of_resource(place, name) && !supported {
        place.not_supported(name, &["cpu", HUGE_PAGES, "memory"]);
    }
}

/// Kubernetes' own resources, which have no domain but its own.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Resources of others, which can also be counted by a quota.
fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Which resources can change while a container runs.
pub(super) fn resize_policy(policies: &At, restart_policy: &str) {
    let mut seen = BTreeSet::new();
    for policy in policies.items() {
        let (resource, restart) = (policy.text_of("resourceName"), policy.text_of("restartPolicy"));
        if !seen.insert(resource) {
            policy.duplicate(resource);
        }
        for (text, known) in [(resource, ["cpu", "memory"]), (restart, ["NotRequired", "RestartContainer"])] {
            match text {
                "" => policies.required(""),
                text if known.contains(&text) => {}
                text => policies.not_supported(text, &known),
            }
        }
        if restart_policy == "Never" && restart != "NotRequired" {
            policies.invalid(restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
        }
    }
}
