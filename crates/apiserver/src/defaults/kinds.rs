//! The table of kinds that have defaults, and the defaults of those that need little more than a table.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::rounding::Amounts;
use super::rule::Constant::Text;
use super::rule::{self, Rule, missing, unsaid};
use super::{Defaults, pod, service, text, volume};
use crate::identity::GroupKind;

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn find(kind: &GroupKind) -> Option<&'static Defaults> {
    KINDS.iter().find(|defaults| defaults.group == kind.group && defaults.kind == kind.kind)
}

/// The groups and kinds that have defaults.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().map(|defaults| (defaults.group, defaults.kind))
}

/// A kind without anything; entries say what is different.
const NOTHING: Defaults =
    Defaults { group: "", kind: "", rules: &[], amounts: &[], before: nothing_more, after: nothing_more };

const KINDS: &[Defaults] = &[
    Defaults {
        kind: "Pod",
        rules: pod::RULES,
        amounts: pod::AMOUNTS,
        before: pod::before,
        after: pod::after,
        ..NOTHING
    },
    Defaults { kind: "Service", rules: service::RULES, after: service::after, ..NOTHING },
    Defaults { kind: "PersistentVolumeClaim", rules: CLAIM, amounts: CLAIM_AMOUNTS, ..NOTHING },
    Defaults {
        kind: "PersistentVolume",
        rules: VOLUME,
        amounts: VOLUME_AMOUNTS,
        after: volume::apply_sources,
        ..NOTHING
    },
    Defaults { kind: "Namespace", rules: NAMESPACE, after: label_with_name, ..NOTHING },
    Defaults { kind: "Node", amounts: NODE_AMOUNTS, before: allocate_all, after: agree_on_range, ..NOTHING },
    Defaults { kind: "Secret", rules: SECRET, after: encode_text, ..NOTHING },
    Defaults { kind: "Endpoints", rules: ENDPOINTS, ..NOTHING },
    Defaults { group: "discovery.k8s.io", kind: "EndpointSlice", rules: ENDPOINT_SLICE, ..NOTHING },
    Defaults {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        rules: NETWORK_POLICY,
        after: default_policy_types,
        ..NOTHING
    },
    Defaults { group: "scheduling.k8s.io", kind: "PriorityClass", rules: PRIORITY_CLASS, ..NOTHING },
    Defaults { group: "storage.k8s.io", kind: "StorageClass", rules: STORAGE_CLASS, ..NOTHING },
    Defaults { group: RBAC, kind: "RoleBinding", rules: BINDING, after: default_subjects, ..NOTHING },
    Defaults { group: RBAC, kind: "ClusterRoleBinding", rules: BINDING, after: default_subjects, ..NOTHING },
];

const CLAIM: &[Rule] =
    &[missing("spec", "volumeMode", Text("Filesystem")), unsaid("status", "phase", Text("Pending"))];
const CLAIM_AMOUNTS: &[Amounts] = &[
    ("spec.resources", "limits"),
    ("spec.resources", "requests"),
    ("status", "capacity"),
    ("status", "allocatedResources"),
];

const VOLUME: &[Rule] = &[
    unsaid("status", "phase", Text("Pending")),
    unsaid("spec", "persistentVolumeReclaimPolicy", Text("Retain")),
    missing("spec", "volumeMode", Text("Filesystem")),
];
const VOLUME_AMOUNTS: &[Amounts] = &[("spec", "capacity")];

const NAMESPACE: &[Rule] = &[unsaid("status", "phase", Text("Active"))];

const NODE_AMOUNTS: &[Amounts] = &[("status", "capacity"), ("status", "allocatable")];

const SECRET: &[Rule] = &[unsaid("", "type", Text("Opaque"))];

const ENDPOINTS: &[Rule] = &[unsaid("subsets[].ports[]", "protocol", Text("TCP"))];

const ENDPOINT_SLICE: &[Rule] =
    &[missing("ports[]", "name", Text("")), missing("ports[]", "protocol", Text("TCP"))];

const NETWORK_POLICY: &[Rule] = &[
    missing("spec.ingress[].ports[]", "protocol", Text("TCP")),
    missing("spec.egress[].ports[]", "protocol", Text("TCP")),
];

const PRIORITY_CLASS: &[Rule] = &[missing("", "preemptionPolicy", Text("PreemptLowerPriority"))];

const STORAGE_CLASS: &[Rule] =
    &[missing("", "reclaimPolicy", Text("Delete")), missing("", "volumeBindingMode", Text("Immediate"))];

const BINDING: &[Rule] = &[unsaid("roleRef", "apiGroup", Text("rbac.authorization.k8s.io"))];

fn nothing_more(_: &mut Value) {}

/// What was written as text is kept as any other data, and wins over it.
fn encode_text(secret: &mut Value) {
    let Some(secret) = secret.as_object_mut() else { return };
    let is_text = |value: &Value| value.as_object().is_some_and(|map| map.values().all(Value::is_string));
    if !secret.get("stringData").is_some_and(is_text) {
        return;
    }
    let Some(Value::Object(texts)) = secret.remove("stringData") else { return };
    let data = secret.entry("data").or_insert(Value::Null);
    if data.is_null() {
        *data = json!({});
    }
    let Some(data) = data.as_object_mut() else { return };
    for (key, text) in texts {
        data.insert(key, STANDARD.encode(text.as_str().unwrap_or_default()).into());
    }
}

/// Every namespace can be selected by its name. One whose name is still to be generated gets its label later.
pub(crate) fn label_with_name(namespace: &mut Value) {
    let name = text(&namespace["metadata"], "name").to_owned();
    if name.is_empty() {
        return;
    }
    rule::each(namespace, "metadata", &mut |metadata| {
        let labels = metadata.entry("labels").or_insert(Value::Null);
        if labels.is_null() {
            *labels = json!({});
        }
        if let Some(labels) = labels.as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".into(), name.as_str().into());
        }
    });
}

/// A node can give away all it has, unless it says otherwise.
fn allocate_all(node: &mut Value) {
    rule::each(node, "status", &mut |status| {
        let capacity = status.get("capacity").filter(|capacity| capacity.is_object()).cloned();
        if let (None | Some(Value::Null), Some(capacity)) = (status.get("allocatable"), capacity) {
            status.insert("allocatable".into(), capacity);
        }
    });
}

fn agree_on_range(node: &mut Value) {
    let agree = |spec: &mut Map<String, Value>| {
        pod::agree_on_first(spec, "podCIDR", "podCIDRs", Value::clone, |range| range);
    };
    rule::each(node, "spec", &mut { agree });
}

/// A policy is about what comes in, and about what goes out if it says anything on that.
fn default_policy_types(policy: &mut Value) {
    rule::each(policy, "spec", &mut |spec| {
        let is_empty = |field: &str| match spec.get(field) {
            None | Some(Value::Null) => true,
            Some(value) => value.as_array().is_some_and(Vec::is_empty),
        };
        if is_empty("policyTypes") {
            let types = if is_empty("egress") { json!(["Ingress"]) } else { json!(["Ingress", "Egress"]) };
            spec.insert("policyTypes".into(), types);
        }
    });
}

fn default_subjects(binding: &mut Value) {
    rule::each(binding, "subjects[]", &mut |subject| {
        let is_person = matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group"));
        if is_person && subject.get("apiGroup").is_none_or(rule::is_zero) {
            subject.insert("apiGroup".into(), RBAC.into());
        }
    });
}
