//! Defaults of Pods as a whole.

use serde_json::{Map, Value, json};

use super::rule::Constant::{Flag, Null, Number, Object, Text};
use super::rule::{self, Rule, missing, unsaid};
use super::spelling::Form::{Quantity, Resources, Time};
use super::spelling::Spelling;
use super::{container, resources, volume};

pub(super) const RULES: &[Rule] = &[
    missing("", "spec", Object),
    missing("", "status", Object),
    unsaid("spec", "dnsPolicy", Text("ClusterFirst")),
    unsaid("spec", "restartPolicy", Text("Always")),
    missing("spec", "securityContext", Object),
    missing("spec", "terminationGracePeriodSeconds", Number(30)),
    unsaid("spec", "schedulerName", Text("default-scheduler")),
    missing("spec", "enableServiceLinks", Flag(true)),
    missing("status.conditions[]", "lastProbeTime", Null),
    missing("status.conditions[]", "lastTransitionTime", Null),
];

const CONTAINER_STATUS: &[Rule] = &[
    missing("", "state", Object),
    missing("", "lastState", Object),
    missing("", "ready", Flag(false)),
    missing("", "restartCount", Number(0)),
    missing("", "image", Text("")),
    missing("", "imageID", Text("")),
    missing("state.running", "startedAt", Null),
    missing("state.terminated", "exitCode", Number(0)),
    missing("state.terminated", "startedAt", Null),
    missing("state.terminated", "finishedAt", Null),
    missing("lastState.running", "startedAt", Null),
    missing("lastState.terminated", "exitCode", Number(0)),
    missing("lastState.terminated", "startedAt", Null),
    missing("lastState.terminated", "finishedAt", Null),
];

const CONTAINER_STATUSES: [&str; 3] =
    ["status.initContainerStatuses[]", "status.containerStatuses[]", "status.ephemeralContainerStatuses[]"];

pub(super) const SPELLINGS: &[Spelling] = &[
    ("spec.containers[].resources", "limits", Resources),
    ("spec.containers[].resources", "requests", Resources),
    ("spec.initContainers[].resources", "limits", Resources),
    ("spec.initContainers[].resources", "requests", Resources),
    ("spec.ephemeralContainers[].resources", "limits", Resources),
    ("spec.ephemeralContainers[].resources", "requests", Resources),
    ("spec.containers[].env[].valueFrom.resourceFieldRef", "divisor", Quantity),
    ("spec.initContainers[].env[].valueFrom.resourceFieldRef", "divisor", Quantity),
    ("spec.ephemeralContainers[].env[].valueFrom.resourceFieldRef", "divisor", Quantity),
    ("spec.resources", "limits", Resources),
    ("spec.resources", "requests", Resources),
    ("spec", "overhead", Resources),
    ("spec.volumes[].emptyDir", "sizeLimit", Quantity),
    ("spec.volumes[].downwardAPI.items[].resourceFieldRef", "divisor", Quantity),
    ("spec.volumes[].projected.sources[].downwardAPI.items[].resourceFieldRef", "divisor", Quantity),
    ("spec.volumes[].ephemeral.volumeClaimTemplate.spec.resources", "limits", Resources),
    ("spec.volumes[].ephemeral.volumeClaimTemplate.spec.resources", "requests", Resources),
    ("status", "startTime", Time),
    ("status", "allocatedResources", Resources),
    ("status.resources", "limits", Resources),
    ("status.resources", "requests", Resources),
    ("status.conditions[]", "lastProbeTime", Time),
    ("status.conditions[]", "lastTransitionTime", Time),
    ("status.containerStatuses[]", "allocatedResources", Resources),
    ("status.containerStatuses[].resources", "limits", Resources),
    ("status.containerStatuses[].resources", "requests", Resources),
    ("status.containerStatuses[].state.running", "startedAt", Time),
    ("status.containerStatuses[].state.terminated", "startedAt", Time),
    ("status.containerStatuses[].state.terminated", "finishedAt", Time),
    ("status.containerStatuses[].lastState.terminated", "startedAt", Time),
    ("status.containerStatuses[].lastState.terminated", "finishedAt", Time),
    ("status.initContainerStatuses[]", "allocatedResources", Resources),
    ("status.initContainerStatuses[].resources", "limits", Resources),
    ("status.initContainerStatuses[].resources", "requests", Resources),
];

/// Annotations of a past in which init containers were written there.
const FORGOTTEN: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

pub(super) fn before(pod: &mut Value) {
    resources::apply(pod);
}

pub(super) fn after(pod: &mut Value) {
    container::open_host_ports(pod);
    volume::apply(pod);
    container::apply(pod);
    for list in CONTAINER_STATUSES {
        rule::apply(pod, list, CONTAINER_STATUS);
    }
    rule::each(pod, "spec", &mut agree_on_account);
    rule::each(pod, "spec", &mut |spec| {
        if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|it| it < 0) {
            spec.insert("terminationGracePeriodSeconds".into(), 1.into());
        }
    });
    rule::each(pod, "status", &mut |status| {
        agree_on_first(status, "podIP", "podIPs", |ip| json!({"ip": ip}), |it| &it["ip"]);
    });
    rule::each(pod, "metadata.annotations", &mut |annotations| {
        annotations.retain(|name, _| !FORGOTTEN.contains(&name.as_str()));
    });
}

/// The account has an old name and a new one; the new one wins, and readers of both find it.
fn agree_on_account(spec: &mut Map<String, Value>) {
    let (old, new) = ("serviceAccount", "serviceAccountName");
    let said = |name: &str| spec.get(name).filter(|value| !rule::is_zero(value)).cloned();
    if let Some(account) = said(new).or_else(|| said(old)) {
        spec.insert(old.into(), account.clone());
        spec.insert(new.into(), account);
    }
}

/// A field for one value that later became a list: where the two do not agree, the one value wins.
pub(super) fn agree_on_first(
    object: &mut Map<String, Value>,
    one: &str,
    many: &str,
    wrap: fn(&Value) -> Value,
    unwrap: fn(&Value) -> &Value,
) {
    let single = object.get(one).filter(|value| !rule::is_zero(value)).cloned();
    let first = object.get(many).and_then(|list| list.get(0)).map(unwrap).cloned();
    match (single, first) {
        (Some(single), first) if first.as_ref() != Some(&single) => {
            object.insert(many.into(), Value::Array(vec![wrap(&single)]));
        }
        (None, Some(first)) => {
            object.insert(one.into(), first);
        }
        _ => {}
    }
}
