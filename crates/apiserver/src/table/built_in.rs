//! Which of Kubernetes' own kinds has which columns. Their names and descriptions are those that kube-apiserver 1.36.3
//! sent; kinds whose cells take more than reading a field have modules of their own.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::reading::{fields, flag, name, text, text_or};
use super::{age, binding, endpoints, event, node, pod, selector, service, volume};
use crate::identity::GroupKind;

static COLUMNS: LazyLock<HashMap<String, Vec<Value>>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("columns.json")).expect("the file is part of this crate, and tested")
});

/// What fills the cells of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Printer {
    Generic,
    NameAndAge,
    Binding,
    ConfigMap,
    Endpoints,
    EndpointSlice,
    Event,
    Lease,
    Namespace,
    NetworkPolicy,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PriorityClass,
    RuntimeClass,
    Secret,
    Service,
    StorageClass,
}

pub(super) fn columns(kind: &GroupKind) -> (Vec<Value>, Printer) {
    match COLUMNS.get(&kind.to_string()) {
        Some(columns) => (columns.clone(), Printer::of(kind)),
        None => (generic().to_vec(), Printer::Generic),
    }
}

/// The columns of kinds that have none of their own: name and time of creation.
pub(super) fn generic() -> &'static [Value] {
    &COLUMNS["generic"]
}

impl Printer {
    fn of(kind: &GroupKind) -> Self {
        match kind.kind.as_str() {
            "ServiceAccount" => Self::NameAndAge,
            "RoleBinding" | "ClusterRoleBinding" => Self::Binding,
            "ConfigMap" => Self::ConfigMap,
            "Endpoints" => Self::Endpoints,
            "EndpointSlice" => Self::EndpointSlice,
            "Event" => Self::Event,
            "Lease" => Self::Lease,
            "Namespace" => Self::Namespace,
            "NetworkPolicy" => Self::NetworkPolicy,
            "Node" => Self::Node,
            "PersistentVolume" => Self::PersistentVolume,
            "PersistentVolumeClaim" => Self::PersistentVolumeClaim,
            "Pod" => Self::Pod,
            "PriorityClass" => Self::PriorityClass,
            "RuntimeClass" => Self::RuntimeClass,
            "Secret" => Self::Secret,
            "Service" => Self::Service,
            "StorageClass" => Self::StorageClass,
            _ => Self::Generic,
        }
    }

    pub(super) fn cells(self, object: &Value, now: Timestamp) -> Value {
        let (name, age) = (name(object), age::of(object, now));
        match self {
            Self::Generic => json!([name, created_at(object)]),
            Self::NameAndAge => json!([name, age]),
            Self::Binding => binding::cells(object, now),
            Self::ConfigMap => json!([name, count(object, "/data") + count(object, "/binaryData"), age]),
            Self::Endpoints => json!([name, endpoints::addresses(object), age]),
            Self::EndpointSlice => endpoints::slice_cells(object, now),
            Self::Event => event::cells(object, now),
            Self::Lease => json!([name, text(object, "/spec/holderIdentity"), age]),
            Self::Namespace => json!([name, text(object, "/status/phase"), age]),
            Self::NetworkPolicy => json!([name, selector::label_selector(object, "/spec/podSelector"), age]),
            Self::Node => node::cells(object, now),
            Self::PersistentVolume => volume::cells(object, now),
            Self::PersistentVolumeClaim => volume::claim_cells(object, now),
            Self::Pod => pod::cells(object, now),
            Self::PriorityClass => json!([
                name,
                object["value"].as_i64().unwrap_or_default(),
                flag(object, "/globalDefault"),
                age,
                text(object, "/preemptionPolicy")
            ]),
            Self::RuntimeClass => json!([name, text(object, "/handler"), age]),
            Self::Secret => json!([name, text(object, "/type"), count(object, "/data"), age]),
            Self::Service => service::cells(object, now),
            Self::StorageClass => storage_class_cells(object, &age),
        }
    }
}

fn created_at(object: &Value) -> &str {
    text_or(object, "/metadata/creationTimestamp", "0001-01-01T00:00:00Z")
}

fn count(object: &Value, pointer: &str) -> usize {
    fields(object, pointer).map_or(0, serde_json::Map::len)
}

fn storage_class_cells(object: &Value, age: &str) -> Value {
    const DEFAULT_ANNOTATIONS: [&str; 2] = [
        "/metadata/annotations/storageclass.kubernetes.io~1is-default-class",
        "/metadata/annotations/storageclass.beta.kubernetes.io~1is-default-class",
    ];
    let is_default = DEFAULT_ANNOTATIONS.iter().any(|annotation| text(object, annotation) == "true");
    json!([
        format!("{}{}", name(object), if is_default { " (default)" } else { "" }),
        text(object, "/provisioner"),
        text_or(object, "/reclaimPolicy", "Delete"),
        text_or(object, "/volumeBindingMode", "Immediate"),
        flag(object, "/allowVolumeExpansion"),
        age,
    ])
}
