//! The rules of strategic merge patches, one by one.

use serde_json::json;

use super::*;
use crate::schema::from_open_api;

/// As much of a pod as shows every rule.
fn schema() -> Schema {
    let container = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "image": {"type": "string"},
        "args": {"type": "array", "items": {"type": "string"}},
        "env": {
            "type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name",
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}},
        },
    }});
    from_open_api(&json!({"type": "object", "properties": {
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {
            "type": "array", "x-kubernetes-patch-strategy": "merge", "items": {"type": "string"},
        },
        "containers": {
            "type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name",
            "items": container,
        },
    }}))
}

fn patched(original: Value, patch: &Value) -> Value {
    strategic(original, patch, &schema()).unwrap()
}

fn refusal(original: Value, patch: &Value) -> (u16, String) {
    let status = strategic(original, patch, &schema()).unwrap_err();
    (status.code, status.message)
}

fn containers(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

#[test]
fn null_deletes_a_field_and_is_no_value_of_a_new_one() {
    let original = json!({"labels": {"a": "1", "b": "2"}});
    assert_eq!(patched(original, &json!({"labels": {"a": null, "c": null}})), json!({"labels": {"b": "2"}}));
    assert_eq!(patched(json!({}), &json!({"labels": {"a": null, "b": "1"}})), json!({"labels": {"b": "1"}}));
}

#[test]
fn items_merge_by_their_key_and_other_lists_are_replaced() {
    let original = json!({"containers": [
        {"name": "a", "image": "old", "args": ["x"], "env": [{"name": "k", "value": "1"}]},
        {"name": "b"},
    ]});
    let patch = json!({"containers": [
        {"name": "a", "image": "new", "args": ["y"], "env": [{"name": "l", "value": "2"}]},
    ]});
    let expected = json!({"containers": [
        {"name": "a", "image": "new", "args": ["y"], "env": [
            {"name": "l", "value": "2"}, {"name": "k", "value": "1"},
        ]},
        {"name": "b"},
    ]});
    assert_eq!(patched(original, &patch), expected);
}

#[test]
fn plain_values_merge_as_a_set() {
    let original = json!({"finalizers": ["a", "b"]});
    assert_eq!(
        patched(original.clone(), &json!({"finalizers": ["c", "a"]}))["finalizers"],
        json!(["c", "a", "b"])
    );
    let patch = json!({"$deleteFromPrimitiveList/finalizers": ["b", "z"]});
    assert_eq!(patched(original, &patch)["finalizers"], json!(["a"]));
}

#[test]
fn directives_delete_and_replace_objects_and_items() {
    let original = json!({"labels": {"a": "1"}, "containers": containers(&["a", "b"])});
    let labels =
        |directive: Value| patched(original.clone(), &json!({"labels": directive}))["labels"].clone();
    assert_eq!(labels(json!({"$patch": "delete"})), json!({}));
    assert_eq!(labels(json!({"$patch": "replace", "b": "2"})), json!({"b": "2"}));
    let items = |patch: Value| patched(original.clone(), &json!({"containers": patch}))["containers"].clone();
    assert_eq!(items(json!([{"name": "a", "$patch": "delete"}])), containers(&["b"]));
    assert_eq!(items(json!([{"name": "c"}, {"$patch": "replace"}])), containers(&["c"]));
    assert_eq!(patched(json!({}), &json!({"labels": {"$patch": "delete"}})), json!({}));
}

#[test]
fn retained_keys_are_all_that_is_left() {
    let original = json!({"labels": {"a": "1", "b": "2", "c": "3"}});
    let patch = json!({"labels": {"$retainKeys": ["a", "d"], "d": "4"}});
    assert_eq!(patched(original.clone(), &patch)["labels"], json!({"a": "1", "d": "4"}));
    let contradiction = json!({"labels": {"$retainKeys": ["a"], "d": "4"}});
    assert_eq!(refusal(original, &contradiction), (400, "invalid patch format of retainKeys".into()));
}

#[test]
fn items_are_ordered_by_directive_then_by_patch_then_as_they_were() {
    let ordered = |live: &[&str], patch: &[&str], order: &[&str]| {
        let patch =
            json!({"containers": containers(patch), "$setElementOrder/containers": containers(order)});
        patched(json!({"containers": containers(live)}), &patch)["containers"].clone()
    };
    assert_eq!(ordered(&["a", "b", "c"], &["c"], &["c", "b", "a"]), containers(&["c", "b", "a"]));
    assert_eq!(ordered(&["x", "a", "y", "b"], &["b"], &["b", "a"]), containers(&["x", "y", "b", "a"]));
    assert_eq!(ordered(&["a", "x"], &["n", "a"], &["n", "a"]), containers(&["n", "a", "x"]));
    let patch = json!({"$setElementOrder/finalizers": ["b", "a"]});
    assert_eq!(patched(json!({"finalizers": ["a", "z", "b"]}), &patch)["finalizers"], json!(["z", "b", "a"]));
}

#[test]
fn refusals_are_worded_as_kubernetes_words_them() {
    let original = json!({"labels": {"a": "1"}, "finalizers": ["f"], "containers": containers(&["a"])});
    let cases = [
        (
            json!({"containers": [{"image": "x"}]}),
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (json!({"labels": {"$patch": "zap"}}), 500, "unknown patch type: zap in map: map[$patch:zap]"),
        (json!({"labels": {"$patch": 5}}), 500, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
        (
            json!({"containers": [{"$patch": "merge"}]}),
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        (json!({"finalizers": [{"x": 1}]}), 500, "list element types are not identical: [[f] [map[x:1]]]"),
        (json!({"finalizers": [null]}), 500, "list element types are not identical: [[f] [<nil>]]"),
        (
            json!({"containers": containers(&["a"]), "$setElementOrder/containers": containers(&["b"])}),
            500,
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
        (
            json!({"$setElementOrder/containers": "x"}),
            500,
            "expected a []interface {}, but received a string",
        ),
        (json!({"$setElementOrder/containers": ["a"]}), 500, "value for key 0 is not a map"),
        (json!({"$setElementOrder": []}), 400, "invalid patch format of setElementOrder list"),
        (json!({"$deleteFromPrimitiveList": []}), 400, "invalid patch format of primitive list"),
    ];
    for (patch, code, message) in cases {
        assert_eq!(refusal(original.clone(), &patch), (code, message.to_owned()), "{patch}");
    }
}

#[test]
fn long_lists_merge_in_little_time() {
    let names: Vec<String> = (0..20_000).map(|index| index.to_string()).collect();
    let items = |names: &mut dyn Iterator<Item = &String>| -> Value {
        names.map(|name| json!({"name": name, "image": "x"})).collect()
    };
    let original = json!({"containers": items(&mut names.iter()), "finalizers": names});
    let patch = json!({
        "containers": items(&mut names.iter().rev()),
        "finalizers": names.iter().rev().collect::<Vec<_>>(),
        "$setElementOrder/containers": items(&mut names.iter().rev()),
    });
    let merged = patched(original, &patch);
    assert_eq!(merged["containers"], patch["containers"]);
    assert_eq!(merged["finalizers"], patch["finalizers"]);
}
