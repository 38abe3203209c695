//! Defaults of Pods as a whole.

use serde_json::{Map, Value, json};

use super::rounding::Amounts;
use super::rule::Constant::{Flag, Number, Object, Text};
use super::rule::{self, Rule, missing, unsaid};
use super::{container, resources, volume};

pub(super) const RULES: &[Rule] = &[
    unsaid("spec", "dnsPolicy", Text("ClusterFirst")),
    unsaid("spec", "restartPolicy", Text("Always")),
    missing("spec", "securityContext", Object),
    missing("spec", "terminationGracePeriodSeconds", Number(30)),
    unsaid("spec", "schedulerName", Text("default-scheduler")),
    missing("spec", "enableServiceLinks", Flag(true)),
];

pub(super) const AMOUNTS: &[Amounts] = &[
    ("spec.containers[].resources", "limits"),
    ("spec.containers[].resources", "requests"),
    ("spec.initContainers[].resources", "limits"),
    ("spec.initContainers[].resources", "requests"),
    ("spec.ephemeralContainers[].resources", "limits"),
    ("spec.ephemeralContainers[].resources", "requests"),
    ("spec.resources", "limits"),
    ("spec.resources", "requests"),
    ("spec", "overhead"),
    ("spec.volumes[].ephemeral.volumeClaimTemplate.spec.resources", "limits"),
    ("spec.volumes[].ephemeral.volumeClaimTemplate.spec.resources", "requests"),
    ("status", "allocatedResources"),
    ("status.resources", "limits"),
    ("status.resources", "requests"),
    ("status.containerStatuses[]", "allocatedResources"),
    ("status.containerStatuses[].resources", "limits"),
    ("status.containerStatuses[].resources", "requests"),
    ("status.initContainerStatuses[]", "allocatedResources"),
    ("status.initContainerStatuses[].resources", "limits"),
    ("status.initContainerStatuses[].resources", "requests"),
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
