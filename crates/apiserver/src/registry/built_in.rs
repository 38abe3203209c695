//! Kubernetes' own kinds that are served here, as data.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::identity::GroupKind;
use crate::resource::{Origin, Resource, Subresource, Verb};
use crate::schema::{Published, Schema};
use crate::selector::SelectableFields;
use crate::table::Columns;

/// What Kubernetes publishes about them, with all they refer to.
const DEFINITIONS: &str = include_str!("../../kubernetes/definitions.json");

struct Row {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    scope: Scope,
    verbs: &'static [Verb],
    subresources: &'static [Subresource],
    selectable: &'static [&'static str],
    /// Where its definition stands among the published ones.
    package: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Cluster,
    Namespace,
}

const CREATE: &[Verb] = &[Verb::Create];
const READ_WRITE: &[Verb] = &[Verb::Get, Verb::Patch, Verb::Update];
const ALL_BUT_COLLECTION: &[Verb] =
    &[Verb::Create, Verb::Delete, Verb::Get, Verb::List, Verb::Patch, Verb::Update, Verb::Watch];

const STATUS: Subresource = Subresource { name: "status", kind: None, verbs: READ_WRITE };

const fn stream(name: &'static str, kind: &'static str) -> Subresource {
    Subresource { name, kind: Some(("", "v1", kind)), verbs: &[Verb::Create, Verb::Get] }
}

/// A plain resource in namespaces; the rows below change what differs.
const PLAIN: Row = Row {
    group: "",
    kind: "",
    plural: "",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespace,
    verbs: Verb::ALL,
    subresources: &[],
    selectable: &[],
    package: "io.k8s.api.core.v1",
};

/// A question that is answered and not stored.
const REVIEW: Row = Row { scope: Scope::Cluster, verbs: CREATE, ..PLAIN };
const RBAC: Row = Row { group: "rbac.authorization.k8s.io", package: "io.k8s.api.rbac.v1", ..PLAIN };

const POD_SUBRESOURCES: &[Subresource] = &[
    stream("attach", "PodAttachOptions"),
    Subresource { name: "binding", kind: Some(("", "v1", "Binding")), verbs: CREATE },
    Subresource { name: "eviction", kind: Some(("policy", "v1", "Eviction")), verbs: CREATE },
    stream("exec", "PodExecOptions"),
    Subresource { name: "log", kind: None, verbs: &[Verb::Get] },
    stream("portforward", "PodPortForwardOptions"),
    STATUS,
];

/// In the order in which discovery shows them.
const ROWS: &[Row] = &[
    Row { kind: "Binding", plural: "bindings", verbs: CREATE, ..PLAIN },
    Row { kind: "ConfigMap", plural: "configmaps", short_names: &["cm"], ..PLAIN },
    Row { kind: "Endpoints", plural: "endpoints", short_names: &["ep"], ..PLAIN },
    Row {
        kind: "Event",
        plural: "events",
        short_names: &["ev"],
        selectable: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ..PLAIN
    },
    Row {
        kind: "Namespace",
        plural: "namespaces",
        short_names: &["ns"],
        scope: Scope::Cluster,
        verbs: ALL_BUT_COLLECTION,
        subresources: &[Subresource { name: "finalize", kind: None, verbs: &[Verb::Update] }, STATUS],
        selectable: &["status.phase"],
        ..PLAIN
    },
    Row {
        kind: "Node",
        plural: "nodes",
        short_names: &["no"],
        scope: Scope::Cluster,
        subresources: &[STATUS],
        selectable: &["spec.unschedulable"],
        ..PLAIN
    },
    Row {
        kind: "PersistentVolumeClaim",
        plural: "persistentvolumeclaims",
        short_names: &["pvc"],
        subresources: &[STATUS],
        ..PLAIN
    },
    Row {
        kind: "PersistentVolume",
        plural: "persistentvolumes",
        short_names: &["pv"],
        scope: Scope::Cluster,
        subresources: &[STATUS],
        ..PLAIN
    },
    Row {
        kind: "Pod",
        plural: "pods",
        short_names: &["po"],
        categories: &["all"],
        subresources: POD_SUBRESOURCES,
        selectable: &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ..PLAIN
    },
    Row { kind: "Secret", plural: "secrets", selectable: &["type"], ..PLAIN },
    Row {
        kind: "ServiceAccount",
        plural: "serviceaccounts",
        short_names: &["sa"],
        subresources: &[Subresource {
            name: "token",
            kind: Some(("authentication.k8s.io", "v1", "TokenRequest")),
            verbs: CREATE,
        }],
        ..PLAIN
    },
    Row {
        kind: "Service",
        plural: "services",
        short_names: &["svc"],
        categories: &["all"],
        subresources: &[STATUS],
        selectable: &["spec.clusterIP", "spec.type"],
        ..PLAIN
    },
    Row {
        group: "events.k8s.io",
        kind: "Event",
        plural: "events",
        short_names: &["ev"],
        selectable: &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        package: "io.k8s.api.events.v1",
        ..PLAIN
    },
    Row {
        group: "authentication.k8s.io",
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        package: "io.k8s.api.authentication.v1",
        ..REVIEW
    },
    Row {
        group: "authentication.k8s.io",
        kind: "TokenReview",
        plural: "tokenreviews",
        package: "io.k8s.api.authentication.v1",
        ..REVIEW
    },
    Row {
        group: "authorization.k8s.io",
        kind: "LocalSubjectAccessReview",
        plural: "localsubjectaccessreviews",
        scope: Scope::Namespace,
        package: "io.k8s.api.authorization.v1",
        ..REVIEW
    },
    Row {
        group: "authorization.k8s.io",
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        package: "io.k8s.api.authorization.v1",
        ..REVIEW
    },
    Row {
        group: "authorization.k8s.io",
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        package: "io.k8s.api.authorization.v1",
        ..REVIEW
    },
    Row {
        group: "authorization.k8s.io",
        kind: "SubjectAccessReview",
        plural: "subjectaccessreviews",
        package: "io.k8s.api.authorization.v1",
        ..REVIEW
    },
    Row {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        plural: "networkpolicies",
        short_names: &["netpol"],
        package: "io.k8s.api.networking.v1",
        ..PLAIN
    },
    Row { kind: "ClusterRoleBinding", plural: "clusterrolebindings", scope: Scope::Cluster, ..RBAC },
    Row { kind: "ClusterRole", plural: "clusterroles", scope: Scope::Cluster, ..RBAC },
    Row { kind: "RoleBinding", plural: "rolebindings", ..RBAC },
    Row { kind: "Role", plural: "roles", ..RBAC },
    Row {
        group: "storage.k8s.io",
        kind: "StorageClass",
        plural: "storageclasses",
        short_names: &["sc"],
        scope: Scope::Cluster,
        package: "io.k8s.api.storage.v1",
        ..PLAIN
    },
    Row {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        scope: Scope::Cluster,
        subresources: &[STATUS],
        package: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
        ..PLAIN
    },
    Row {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        plural: "priorityclasses",
        short_names: &["pc"],
        scope: Scope::Cluster,
        package: "io.k8s.api.scheduling.v1",
        ..PLAIN
    },
    Row {
        group: "coordination.k8s.io",
        kind: "Lease",
        plural: "leases",
        package: "io.k8s.api.coordination.v1",
        ..PLAIN
    },
    Row {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        plural: "runtimeclasses",
        scope: Scope::Cluster,
        package: "io.k8s.api.node.v1",
        ..PLAIN
    },
    Row {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        plural: "endpointslices",
        package: "io.k8s.api.discovery.v1",
        ..PLAIN
    },
];

pub(super) fn load() -> Vec<Arc<Resource>> {
    let mut published = Published::new(definitions());
    ROWS.iter().map(|row| Arc::new(resource(row, &mut published))).collect()
}

pub(super) fn definitions() -> Map<String, Value> {
    serde_json::from_str(DEFINITIONS).expect("the vendored definitions are JSON, as a test shows")
}

fn resource(row: &Row, published: &mut Published) -> Resource {
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let schema = schema(row, published);
    Resource {
        group: row.group.to_owned(),
        version: "v1".to_owned(),
        kind: row.kind.to_owned(),
        plural: row.plural.to_owned(),
        singular: row.kind.to_lowercase(),
        list_kind: format!("{}List", row.kind),
        short_names: own(row.short_names),
        categories: own(row.categories),
        is_namespaced: row.scope == Scope::Namespace,
        verbs: row.verbs,
        subresources: row.subresources.to_vec(),
        selectable: SelectableFields::of(row.selectable),
        columns: Columns::built_in(&GroupKind::new(row.group, row.kind)),
        managed_schema: Arc::clone(&schema),
        schema,
        origin: Origin::BuiltIn(row.package),
        deprecation: deprecation(row),
    }
}

fn schema(row: &Row, published: &mut Published) -> Arc<Schema> {
    let name = format!("{}.{}", row.package, row.kind);
    published.schema(&name).expect("every row has its definition, as a test shows")
}

fn deprecation(row: &Row) -> Option<String> {
    (row.kind == "Endpoints")
        .then(|| "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_schema_with_metadata() {
        for resource in load() {
            assert!(resource.schema.field("metadata").is_some(), "{}", resource.kind);
        }
    }
}
