//! The resources that containers and pods ask for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::at::At;
use super::super::names;
use super::super::quantity::Quantity;
use super::allowances::Allowances;
use super::{Context, annotations};
use crate::validation::declared;

const HUGE_PAGES: &str = "hugepages-";
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
    claimed(&resources.field("claims"), claims);
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

fn requirements(limits: &At, requests: &At, all: &At, name_rule: fn(&At, &str), allowances: &Allowances) {
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
    let quantity = amount.quantity().unwrap_or(Quantity::ZERO);
    let limit = limits.key(name);
    if !limit.exists() {
        if !shareable {
            limits.required("Limit must be set for non overcommitable resources");
        }
        return;
    }
    let most = limit.quantity().unwrap_or(Quantity::ZERO);
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
    let quantity = amount.quantity().unwrap_or(Quantity::ZERO);
    let size = Quantity::parse(size).filter(|size| size.value() > 0 && size.is_whole());
    if size.is_none_or(|size| quantity.value() % size.value() != 0) {
        let shown = quantity.to_string();
        let detail = format!("{shown} is not positive integer multiple of {name}");
        amount.invalid(shown, detail);
    }
}

/// An amount of a resource; `amount` may not be there.
pub(in super::super) fn amount(amount: &At, name: &str) {
    let quantity = amount.quantity().unwrap_or(Quantity::ZERO);
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

fn name_in_pod(place: &At, name: &str) {
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

/// Claims that a container makes use of, which are among those of its pod.
fn claimed(claims: &At, of_pod: &BTreeSet<&str>) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for claim in claims.items() {
        let (name, request) = (claim.text_of("name"), claim.field("request"));
        if name.is_empty() {
            claim.required("");
            continue;
        }
        if seen.contains(name) {
            claim.duplicate(name);
        } else {
            request.may(names::dns_label);
            let key = if request.text().is_empty() {
                name.to_owned()
            } else {
                format!("{name}/{}", request.text())
            };
            if seen.contains(&key) {
                claim.duplicate(key.clone());
            } else if request.text().is_empty() {
                let parts =
                    seen.iter().filter(|seen| seen.split_once('/').is_some_and(|(part, _)| part == name));
                parts.for_each(|_| claim.duplicate(name));
            }
            seen.insert(key);
        }
        if !of_pod.contains(name) {
            let known: Vec<&str> = of_pod.iter().filter(|name| !name.is_empty()).copied().collect();
            let known =
                if known.is_empty() { " which is empty".into() } else { format!(": {}", known.join(", ")) };
            claim.not_found(name, format!("must be one of the names in pod.spec.resourceClaims{known}"));
        }
    }
}

pub(super) fn claims_of_pod(claims: &At, metadata: &At) {
    let mut seen = BTreeSet::new();
    for claim in claims.items() {
        if metadata.field("annotations").has(annotations::MIRROR) {
            claims.root().forbidden("static pods do not support resource claims");
            continue;
        }
        let name = claim.field("name");
        if name.must_be_given() {
            if seen.contains(name.text()) {
                name.duplicate(name.text());
            } else {
                name.must(names::dns_label);
                seen.insert(name.text());
            }
        }
        let (direct, template) = (claim.field("resourceClaimName"), claim.field("resourceClaimTemplateName"));
        let shown = || declared::shown("PodResourceClaim", claim.value);
        let both = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
        match (direct.exists(), template.exists()) {
            (true, true) => claim.invalid_shown(shown(), both),
            (false, false) => claim.invalid_shown(
                shown(),
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            ),
            _ => {}
        }
        for place in [direct, template].into_iter().filter_map(At::given) {
            place.must(names::dns_subdomain);
        }
    }
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

/// Resources that a pod's containers share.
pub(super) fn of_pod(spec: &At, context: &Context) {
    let Some(resources) = spec.field("resources").given() else { return };
    if context.operating_system == Some("windows") {
        return resources.forbidden("may not be set for a windows pod");
    }
    if resources.has("claims") {
        resources.field("claims").forbidden("claims may not be set for Resources at pod-level");
    }
    let (limits, requests) = (resources.field("limits"), resources.field("requests"));
    requirements(&limits, &requests, &resources, name_in_pod, context.allowances);
    claimed(&resources.field("claims"), &context.claims);
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
