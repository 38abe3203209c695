//! RBAC: roles, and bindings of roles to subjects.

use serde_json::Value;

use super::at::At;
use super::declared;
use super::labels::{self, Values};
use super::metadata::{self, NameRule};
use crate::names;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Whether a role or binding is of one namespace or of the whole cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Namespace,
    Cluster,
}

pub(super) fn role(role: &At) {
    metadata::new_of_kubernetes(&role.field("metadata"), true, NameRule::PathSegment);
    role.field("rules").items().for_each(|it| rule(&it, Scope::Namespace));
}

pub(super) fn cluster_role(role: &At, values: Values) {
    metadata::new_of_kubernetes(&role.field("metadata"), false, NameRule::PathSegment);
    role.field("rules").items().for_each(|it| rule(&it, Scope::Cluster));
    let Some(aggregation) = role.field("aggregationRule").given() else { return };
    let selectors = aggregation.field("clusterRoleSelectors");
    if selectors.is_empty() {
        selectors.required("at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    for selector in selectors.items() {
        let before = selector.reported();
        labels::selector(&selector, values);
        if selector.reported() > before {
            selector.invalid(Value::Null, "invalid label selector.");
        }
    }
}

pub(super) fn update_role(new: &At, old: &Value) {
    role(new);
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
}

pub(super) fn update_cluster_role(new: &At, old: &Value) {
    let selectors = super::at::examine(old, |old| cluster_role(old, Values::AsLabels));
    let had_bad_values = selectors.iter().any(|error| error.field.contains("].values["));
    cluster_role(new, if had_bad_values { Values::Anything } else { Values::AsLabels });
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
}

fn rule(rule: &At, scope: Scope) {
    if rule.field("verbs").is_empty() {
        rule.field("verbs").required("verbs must contain at least one value");
    }
    let (urls, groups, resources) =
        (rule.field("nonResourceURLs"), rule.field("apiGroups"), rule.field("resources"));
    if !urls.is_empty() {
        let shown = || urls.value.clone();
        if scope == Scope::Namespace {
            urls.invalid(shown(), "namespaced rules cannot apply to non-resource URLs");
        }
        if !(groups.is_empty() && resources.is_empty() && rule.field("resourceNames").is_empty()) {
            urls.invalid(shown(), "rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    if groups.is_empty() {
        groups.required("resource rules must supply at least one api group");
    }
    if resources.is_empty() {
        resources.required("resource rules must supply at least one resource");
    }
}

pub(super) fn binding(binding: &At, scope: Scope) {
    let namespaced = scope == Scope::Namespace;
    metadata::new_of_kubernetes(&binding.field("metadata"), namespaced, NameRule::PathSegment);
    let role = binding.field("roleRef");
    role.field("apiGroup").must_be_one_of(&[GROUP]);
    role.field("kind").must_be_one_of(if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] });
    role.field("name").must_be_given_and(names::path_segment);
    binding.field("subjects").items().for_each(|it| subject(&it, scope));
}

pub(super) fn update_binding(new: &At, old: &Value, scope: Scope) {
    binding(new, scope);
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    let role = new.field("roleRef");
    let shown = |value| declared::shown("RoleRef", value);
    if shown(role.value) != shown(&old["roleRef"]) {
        role.invalid_shown(shown(role.value), "cannot change roleRef");
    }
}

fn subject(subject: &At, scope: Scope) {
    let (name, group) = (subject.field("name"), subject.field("apiGroup"));
    name.must_be_given();
    match subject.text_of("kind") {
        "ServiceAccount" => {
            name.may(names::dns_subdomain);
            group.must_be_one_of(&[""]);
            if scope == Scope::Cluster {
                subject.field("namespace").must_be_given();
            }
        }
        "User" | "Group" => group.must_be_one_of(&[GROUP]),
        other => subject.field("kind").not_supported(other, &["ServiceAccount", "User", "Group"]),
    }
}
