//! What is different from kind to kind, as a table. Names and scopes are [`crate::registry`]'s.

use serde_json::Value;

use crate::identity::GroupKind;

pub(super) struct Facts {
    pub group: &'static str,
    pub kind: &'static str,
    pub creates_on_update: bool,
    pub updates_unconditionally: bool,
    pub generation: Generation,
}

/// What counts as a new generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    Never,
    /// Nothing: it stays the first
    First,
    /// Another spec
    Spec,
    /// Anything else than metadata, and labels
    ContentAndLabels,
}

pub(super) fn facts(kind: &GroupKind) -> &'static Facts {
    FACTS.iter().find(|facts| facts.group == kind.group && facts.kind == kind.kind).unwrap_or(&PLAIN)
}

/// What most kinds are.
const PLAIN: Facts = Facts {
    group: "",
    kind: "",
    creates_on_update: false,
    updates_unconditionally: true,
    generation: Generation::Never,
};
const DISCOVERY: &str = "discovery.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const FACTS: &[Facts] = &[
    Facts { kind: "Pod", generation: Generation::Spec, ..PLAIN },
    Facts { kind: "Service", creates_on_update: true, ..PLAIN },
    Facts { kind: "Endpoints", creates_on_update: true, ..PLAIN },
    Facts { kind: "Event", creates_on_update: true, ..PLAIN },
    Facts { group: DISCOVERY, kind: "EndpointSlice", generation: Generation::ContentAndLabels, ..PLAIN },
    Facts { group: "events.k8s.io", kind: "Event", creates_on_update: true, ..PLAIN },
    Facts {
        group: "coordination.k8s.io",
        kind: "Lease",
        creates_on_update: true,
        updates_unconditionally: false,
        ..PLAIN
    },
    Facts { group: "networking.k8s.io", kind: "NetworkPolicy", generation: Generation::Spec, ..PLAIN },
    Facts {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        creates_on_update: true,
        updates_unconditionally: false,
        ..PLAIN
    },
    Facts { group: "scheduling.k8s.io", kind: "PriorityClass", generation: Generation::First, ..PLAIN },
    Facts { group: RBAC, kind: "Role", creates_on_update: true, ..PLAIN },
    Facts { group: RBAC, kind: "RoleBinding", creates_on_update: true, ..PLAIN },
    Facts { group: RBAC, kind: "ClusterRole", creates_on_update: true, ..PLAIN },
    Facts { group: RBAC, kind: "ClusterRoleBinding", creates_on_update: true, ..PLAIN },
    Facts {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        updates_unconditionally: false,
        generation: Generation::Spec,
        ..PLAIN
    },
];

impl Generation {
    pub(super) fn follows(self, subresource: Option<&str>, new: &Value, old: &Value) -> bool {
        match (self, subresource) {
            (Self::Never | Self::First, _) | (_, Some("status")) => false,
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
