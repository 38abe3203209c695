//! Pods: what a new one must be, and in which order its rules are asked. The rules themselves stand by subject below.

mod allowances;
mod annotations;
mod claims;
mod containers;
mod environment;
mod handlers;
mod mounts;
mod network;
mod operating_system;
mod projections;
pub(super) mod resources;
mod scheduling;
mod security;
mod security_match;
mod shared_resources;
mod spread;
mod status;
mod transitions;
mod update;
mod volumes;
mod windows;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::at::At;
use super::labels;
use super::metadata::{self, NameRule};
use crate::names;
use allowances::Allowances;
pub(super) use handlers::port;
pub(super) use scheduling::{taint_effect, tolerations};
pub(super) use status::update as update_status;
pub(super) use update::update;

/// What the rules for a part of a pod need to know of the rest of it.
struct Context<'v> {
    /// The sources of the volumes that have no errors, by name.
    volumes: BTreeMap<&'v str, &'v Value>,
    claims: BTreeSet<&'v str>,
    grace_period: Option<i64>,
    operating_system: Option<&'v str>,
    restart_policy: &'v str,
    host_users: bool,
    allowances: &'v Allowances,
}

pub(super) fn create(pod: &At) {
    metadata_and_spec(pod, &Allowances::default());
    let spec = pod.field("spec");
    if !spec.field("ephemeralContainers").is_empty() {
        spec.field("ephemeralContainers").forbidden("cannot be set on create");
    }
    if !spec.text_of("nodeName").is_empty() && !spec.field("schedulingGates").is_empty() {
        spec.field("nodeName").forbidden("cannot be set until all schedulingGates have been cleared");
    }
    let metadata = pod.field("metadata");
    security_match::seccomp(&spec, &metadata.field("annotations"));
    security_match::app_armor(&spec, &metadata.field("annotations"));
}

fn metadata_and_spec(pod: &At, allowances: &Allowances) {
    let (metadata, spec) = (pod.field("metadata"), pod.field("spec"));
    metadata::new_of_kubernetes(&metadata, true, NameRule::Dns1123Subdomain);
    annotations::all(&metadata.field("annotations"), &spec, allowances);
    self::spec(&spec, &metadata, allowances);
    projections::tokens_need_an_account(&spec);
    for list in ["containers", "initContainers"] {
        spec.field(list).items().for_each(|container| containers::image_without_padding(&container));
    }
}

fn spec(spec: &At, metadata: &At, allowances: &Allowances) {
    if !spec.has("terminationGracePeriodSeconds") {
        spec.field("terminationGracePeriodSeconds").required("");
    }
    let context = Context {
        volumes: volumes::all(&spec.field("volumes"), metadata.text_of("name"), allowances),
        claims: spec.field("resourceClaims").items().map(|claim| claim.text_of("name")).collect(),
        grace_period: spec.field("terminationGracePeriodSeconds").value.as_i64(),
        operating_system: spec.field("os").given().map(|os| os.text_of("name")),
        restart_policy: spec.text_of("restartPolicy"),
        host_users: uses_host_users(spec),
        allowances,
    };
    claims::of_pod(&spec.field("resourceClaims"), metadata);
    containers::all(spec, &context);
    shared_resources::all(spec, &context);
    network::host_ports(spec);
    spec.field("restartPolicy").must_be_given_and_one_of(&["Always", "OnFailure", "Never"]);
    let dns_policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    spec.field("dnsPolicy").must_be_given_and_one_of(&dns_policies);
    labels::labels(&spec.field("nodeSelector"));
    security::of_pod(spec, allowances);
    scheduling::affinity(&spec.field("affinity"), allowances);
    network::dns(spec);
    readiness_gates(&spec.field("readinessGates"));
    scheduling::gates(&spec.field("schedulingGates"));
    spread::constraints(&spec.field("topologySpreadConstraints"), allowances);
    windows::host_processes(spec);
    user_namespaces(spec, allowances);
    network::host_name_override(spec);
    names_in(spec);
    rest(spec, &context);
}

fn names_in(spec: &At) {
    let account =
        if spec.text_of("serviceAccountName").is_empty() { "serviceAccount" } else { "serviceAccountName" };
    spec.field_shown_as(account, "serviceAccountName").may(names::dns_subdomain);
    spec.field("nodeName").may(names::dns_subdomain);
    spec.field("activeDeadlineSeconds").may_be_within(1, i64::from(i32::MAX));
    spec.field("hostname").may(names::dns_label);
    spec.field("subdomain").may(names::dns_label);
}

fn rest(spec: &At, context: &Context) {
    tolerations(&spec.field("tolerations"));
    network::host_aliases(&spec.field("hostAliases"));
    spec.field("priorityClassName").may(names::dns_subdomain);
    if let Some(class) = spec.field("runtimeClassName").given() {
        class.must(names::dns_subdomain);
    }
    if let Some(policy) = spec.field("preemptionPolicy").given() {
        policy.must_be_given_and_one_of(&["PreemptLowerPriority", "Never"]);
    }
    resources::overhead(&spec.field("overhead"), context.allowances);
    operating_system::rules(spec);
    if let Some(group) = spec.field("schedulingGroup").given() {
        scheduling::group(&group);
    }
    environment::files_come_from_empty_directories(spec);
}

fn readiness_gates(gates: &At) {
    gates.items().for_each(|gate| gate.field("conditionType").must(names::qualified_name));
}

/// A pod with users of its own shares no other namespaces with the host.
fn user_namespaces(spec: &At, allowances: &Allowances) {
    if uses_host_users(spec) {
        return;
    }
    for (name, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.flag_of(name) {
            spec.field_shown_as(name, shown).forbidden("when `hostUsers` is false");
        }
    }
    if allowances.devices_with_user_namespaces {
        return;
    }
    containers::visit(spec, |container| {
        if !container.field("volumeDevices").is_empty() {
            container.field("volumeDevices").forbidden("when `hostUsers` is false");
        }
    });
}

fn uses_host_users(spec: &At) -> bool {
    spec.field("hostUsers").value.as_bool().unwrap_or(true)
}
