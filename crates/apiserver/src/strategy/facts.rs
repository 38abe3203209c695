//! What is different from kind to kind, as a table.

use serde_json::Value;

use crate::identity::GroupKind;

pub struct Facts {
    pub group: &'static str,
    pub kind: &'static str,
    pub resource: &'static str,
    pub namespaced: bool,
    pub creates_on_update: bool,
    pub updates_unconditionally: bool,
    pub generation: Generation,
}

/// What counts as a new generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    Never,
    /// Another spec
    Spec,
    /// Anything else than metadata, and labels
    ContentAndLabels,
}

/// None for kinds that are not Kubernetes' own.
pub fn facts(kind: &GroupKind) -> Option<&'static Facts> {
    FACTS.iter().find(|facts| facts.group == kind.group && facts.kind == kind.kind)
}

/// Every kind that there are facts about.
#[cfg(test)]
pub(crate) fn all_kinds() -> impl Iterator<Item = GroupKind> {
    FACTS.iter().map(|facts| GroupKind::new(facts.group, facts.kind))
}

/// What most kinds are.
const PLAIN: Facts = Facts {
    group: "",
    kind: "",
    resource: "",
    namespaced: true,
    creates_on_update: false,
    updates_unconditionally: true,
    generation: Generation::Never,
};
const DISCOVERY: &str = "discovery.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const FACTS: &[Facts] = &[
    Facts { kind: "Namespace", resource: "namespaces", namespaced: false, ..PLAIN },
    Facts { kind: "Node", resource: "nodes", namespaced: false, ..PLAIN },
    Facts { kind: "PersistentVolume", resource: "persistentvolumes", namespaced: false, ..PLAIN },
    Facts { kind: "Pod", resource: "pods", generation: Generation::Spec, ..PLAIN },
    Facts { kind: "Service", resource: "services", creates_on_update: true, ..PLAIN },
    Facts { kind: "Endpoints", resource: "endpoints", creates_on_update: true, ..PLAIN },
    Facts { kind: "Event", resource: "events", creates_on_update: true, ..PLAIN },
    Facts { kind: "PersistentVolumeClaim", resource: "persistentvolumeclaims", ..PLAIN },
    Facts { kind: "ConfigMap", resource: "configmaps", ..PLAIN },
    Facts { kind: "Secret", resource: "secrets", ..PLAIN },
    Facts { kind: "ServiceAccount", resource: "serviceaccounts", ..PLAIN },
    Facts {
        group: DISCOVERY,
        kind: "EndpointSlice",
        resource: "endpointslices",
        generation: Generation::ContentAndLabels,
        ..PLAIN
    },
    Facts { group: "events.k8s.io", kind: "Event", resource: "events", creates_on_update: true, ..PLAIN },
    Facts {
        group: "coordination.k8s.io",
        kind: "Lease",
        resource: "leases",
        creates_on_update: true,
        updates_unconditionally: false,
        ..PLAIN
    },
    Facts {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        resource: "networkpolicies",
        generation: Generation::Spec,
        ..PLAIN
    },
    Facts {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        resource: "runtimeclasses",
        namespaced: false,
        creates_on_update: true,
        updates_unconditionally: false,
        ..PLAIN
    },
    Facts {
        group: "storage.k8s.io",
        kind: "StorageClass",
        resource: "storageclasses",
        namespaced: false,
        ..PLAIN
    },
    Facts { group: RBAC, kind: "Role", resource: "roles", creates_on_update: true, ..PLAIN },
    Facts { group: RBAC, kind: "RoleBinding", resource: "rolebindings", creates_on_update: true, ..PLAIN },
    Facts {
        group: RBAC,
        kind: "ClusterRole",
        resource: "clusterroles",
        namespaced: false,
        creates_on_update: true,
        ..PLAIN
    },
    Facts {
        group: RBAC,
        kind: "ClusterRoleBinding",
        resource: "clusterrolebindings",
        namespaced: false,
        creates_on_update: true,
        ..PLAIN
    },
    Facts {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        resource: "customresourcedefinitions",
        namespaced: false,
        updates_unconditionally: false,
        generation: Generation::Spec,
        ..PLAIN
    },
];

impl Generation {
    pub(super) fn follows(self, subresource: Option<&str>, new: &Value, old: &Value) -> bool {
        match (self, subresource) {
            (Self::Never, _) | (_, Some("status")) => false,
            (Self::Spec, _) => new.get("spec") != old.get("spec"),
            (Self::ContentAndLabels, _) => {
                content(new).ne(content(old)) || new["metadata"]["labels"] != old["metadata"]["labels"]
            }
        }
    }
}

fn content(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(field, _)| !matches!(field.as_str(), "metadata" | "kind" | "apiVersion"))
}
