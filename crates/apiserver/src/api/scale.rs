//! The scale of an object: how many replicas it wants and has, wherever its definition says they are.

use serde_json::{Map, Value, json};

use crate::definition::Scale;
use crate::object::{Object, child};
use crate::status::Status;

/// What somebody makes of a scale.
pub(crate) type Change<'a> = dyn Fn(&Value) -> Result<Value, Status> + Send + Sync + 'a;

/// The scale of an object, which must say how many replicas it wants.
pub(crate) fn of(object: &Value, paths: &Scale) -> Result<Value, Status> {
    if at(object, &paths.spec_replicas).is_none() {
        let path = crate::field::Quoted(&paths.spec_replicas);
        return Err(Status::internal(&format!("the spec replicas field {path} does not exist")));
    }
    Ok(of_any(object, paths))
}

/// The scale of an object as it is.
pub(crate) fn of_any(object: &Value, paths: &Scale) -> Value {
    let kept = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: Map<String, Value> =
        kept.into_iter().filter_map(|field| Some((field.to_owned(), object.meta(field)?.clone()))).collect();
    let number = |path: &str| at(object, path).and_then(Value::as_i64);
    let mut spec = Map::new();
    if let Some(replicas) = number(&paths.spec_replicas).filter(|replicas| *replicas != 0) {
        spec.insert("replicas".to_owned(), replicas.into());
    }
    let mut status = json!({"replicas": number(&paths.status_replicas).unwrap_or_default()});
    let selector = paths.label_selector.as_deref().and_then(|path| at(object, path)).and_then(Value::as_str);
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        status["selector"] = selector.into();
    }
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status})
}

/// The object with the replicas that a scale wants. A scale that names a version is meant for that version.
pub(crate) fn applied(object: &Value, wanted: &Value, paths: &Scale) -> Value {
    let replicas = wanted["spec"]["replicas"].as_i64().unwrap_or_default();
    let mut changed = object.clone();
    set(&mut changed, &paths.spec_replicas, replicas.into());
    if !wanted.resource_version().is_empty() {
        changed.set_meta("resourceVersion", wanted.resource_version());
    }
    changed
}

/// `.spec.replicas` and the like.
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.trim_start_matches('.').split('.').try_fold(object, |value, field| value.get(field))
}

fn set(object: &mut Value, path: &str, value: Value) {
    let mut fields = path.trim_start_matches('.').split('.').peekable();
    let mut place = object;
    while let Some(field) = fields.next() {
        if fields.peek().is_none() {
            if let Some(parent) = place.as_object_mut() {
                parent.insert(field.to_owned(), value);
            }
            return;
        }
        child(place, field);
        place = &mut place[field];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> Scale {
        Scale {
            spec_replicas: ".spec.size".into(),
            status_replicas: ".status.size".into(),
            label_selector: Some(".status.selector".into()),
        }
    }

    #[test]
    fn a_scale_shows_and_sets_what_the_definition_points_at() {
        let object = json!({
            "metadata": {"name": "a", "uid": "1", "labels": {"x": "y"}},
            "spec": {"size": 2}, "status": {"size": 1, "selector": "a=b"},
        });
        let scale = of(&object, &paths()).unwrap();
        assert_eq!(
            (&scale["spec"]["replicas"], &scale["status"]),
            (&json!(2), &json!({"replicas": 1, "selector": "a=b"}))
        );
        assert_eq!(scale["metadata"], json!({"name": "a", "uid": "1"}));
        let wanted = json!({"spec": {"replicas": 5}});
        assert_eq!(applied(&object, &wanted, &paths())["spec"]["size"], 5);
        assert_eq!(applied(&json!({}), &wanted, &paths())["spec"]["size"], 5);
    }
}
