//! Who owns the number of replicas after somebody scaled. Kubernetes settles that on the Scale, which shows no more than
//! this one field, and leaves it out where it is 0.

use serde_json::Value;

use crate::object::Object;
use crate::resource::Resource;

/// The object with its owners as a scale leaves them: whoever scales to 0 owns nothing, and where nobody owned the
/// number before, nobody is recorded. Kubernetes does not say when somebody scaled.
pub(super) fn settled(
    live: Option<&Value>,
    mut object: Value,
    resource: &Resource,
    versions: &[&Resource],
    manager: &str,
) -> Value {
    let is_there = replicas(&object, resource).is_some_and(|replicas| replicas != 0);
    let is_recorded = is_there && live.is_some_and(|live| is_owned(live, versions));
    let Some(Value::Array(entries)) = object.meta_mut().get_mut("managedFields") else { return object };
    entries.retain(|entry| is_recorded || !is_of_scale(entry) || entry["manager"] != manager);
    for entry in entries.iter_mut().filter(|entry| is_of_scale(entry)).filter_map(Value::as_object_mut) {
        entry.remove("time");
    }
    object
}

fn is_of_scale(entry: &Value) -> bool {
    entry["subresource"] == "scale"
}

fn replicas(object: &Value, resource: &Resource) -> Option<i64> {
    let fields = replicas_path(resource)?.trim_start_matches('.').split('.');
    fields.into_iter().try_fold(object, |value, field| value.get(field))?.as_i64()
}

/// Whether somebody owns the number, in a version that has one.
fn is_owned(live: &Value, versions: &[&Resource]) -> bool {
    let entries = live.meta("managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().any(|entry| {
        let version = versions.iter().find(|version| entry["apiVersion"] == version.api_version());
        version.and_then(|version| replicas_path(version)).is_some_and(|path| holds(&entry["fieldsV1"], path))
    })
}

fn holds(set: &Value, path: &str) -> bool {
    let mut fields = path.trim_start_matches('.').split('.');
    fields.try_fold(set, |set, field| set.get(format!("f:{field}"))).is_some()
}

fn replicas_path(resource: &Resource) -> Option<&str> {
    Some(&resource.defined()?.version().scale.as_ref()?.spec_replicas)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_set_holds_a_path_of_fields() {
        let set = json!({"f:spec": {"f:replicas": {}, "f:other": {}}});
        assert!(holds(&set, ".spec.replicas"));
        assert!(!holds(&set, ".spec.size"));
        assert!(!holds(&json!({}), ".spec.replicas"));
    }
}
