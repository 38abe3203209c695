//! The fields that an endpoint resets to what they were: nobody comes to own them by sending them there.

use super::field_set::FieldSet;

/// By the endpoints of a custom resource.
pub fn reset_by_custom_resource(subresource: &str, has_status: bool) -> FieldSet {
    match subresource {
        "status" => FieldSet::of_fields(&[&["metadata"], &["spec"]]),
        _ if has_status => FieldSet::of_fields(&[&["status"]]),
        _ => FieldSet::default(),
    }
}

/// By the endpoints of a kind of Kubernetes itself, which goes by the name of its resource. Subresources that are about
/// a part of the object, such as `pods/ephemeralcontainers`, reset nothing by this rule.
pub fn reset_by_built_in(resource: &str, subresource: &str) -> FieldSet {
    let has_status = matches!(
        resource,
        "pods"
            | "services"
            | "nodes"
            | "namespaces"
            | "persistentvolumes"
            | "persistentvolumeclaims"
            | "customresourcedefinitions"
    );
    match (resource, subresource) {
        ("pods", "status") => FieldSet::of_fields(&[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ]),
        (_, "status") if has_status => FieldSet::of_fields(&[&["spec"]]),
        (_, "") if has_status => FieldSet::of_fields(&[&["status"]]),
        ("namespaces", "finalize") => FieldSet::of_fields(&[&["status"]]),
        _ => FieldSet::default(),
    }
}
