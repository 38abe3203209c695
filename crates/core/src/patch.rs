//! Merge patches (RFC 7386) from a comparison: the least that turns one value into another.

use serde_json::{Map, Value};

/// The merge patch that turns `old` into `new`, if they differ. What is null in `new` counts as absent.
pub fn difference(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let removed =
                old.keys().filter(|key| new.get(*key).is_none_or(Value::is_null) && !old[*key].is_null());
            let mut patch: Map<_, _> = removed.map(|key| (key.clone(), Value::Null)).collect();
            for (key, value) in new.iter().filter(|(_, value)| !value.is_null()) {
                patch.extend(
                    difference(old.get(key).unwrap_or(&Value::Null), value)
                        .map(|change| (key.clone(), change)),
                );
            }
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        _ => (old != new).then(|| new.clone()),
    }
}

/// The patch as an API server applies it.
#[cfg(test)]
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let fields = target.as_object_mut().expect("made an object above");
    for (key, change) in changes {
        if change.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_in_the_patch() {
        let old = json!({"a": 1, "b": {"c": 2, "d": 3}, "e": [1]});
        let new = json!({"a": 1, "b": {"c": 4}, "e": [1, 2], "f": {}});
        let expected = json!({"b": {"c": 4, "d": null}, "e": [1, 2], "f": {}});
        assert_eq!(difference(&old, &new), Some(expected));
        assert_eq!(difference(&old, &old), None);
    }

    fn any_object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<bool>().prop_map(Value::from), (0..3).prop_map(Value::from)];
        let value = leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| json!(map)),
            ]
        });
        prop::collection::btree_map("[a-c]", value, 0..4).prop_map(|map| json!(map))
    }

    proptest! {
        #[test]
        fn the_patch_makes_the_one_into_the_other(old in any_object(), new in any_object()) {
            let mut patched = old.clone();
            if let Some(patch) = difference(&old, &new) {
                merge(&mut patched, &patch);
            }
            prop_assert_eq!(patched, new);
        }
    }
}
