//! What holds for patches of all kinds. `recorded.json` has patches with what the libraries that kube-apiserver 1.36.3
//! patches with made of them; `panics` are those that they do not survive.

use std::fs;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json as object};

use super::*;
use crate::schema::{Published, Schema};

fn pod_schema() -> Arc<Schema> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/kubernetes/definitions.json");
    let definitions: Map<String, Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    Published::new(definitions).schema("io.k8s.api.core.v1.Pod").unwrap()
}

fn apply(form: &Value, original: Value, patch: &Value, schema: &Schema) -> Result<Value, Status> {
    match form.as_str() {
        Some("json") => json(original, patch),
        Some("merge") => merge(original, patch),
        _ => strategic(original, patch, schema),
    }
}

/// Which operation of a JSON patch failed is not told, and schemas do not know the names of Go's structs.
fn same_refusal(form: &Value, ours: &str, theirs: &str) -> bool {
    ours == theirs || form == "json" || theirs.replace("struct PodSpec", "struct") == ours
}

#[test]
fn recorded_patches_come_out_as_they_did_in_kubernetes() {
    let schema = pod_schema();
    let recorded: Vec<Value> = serde_json::from_str(include_str!("recorded.json")).unwrap();
    for case in &recorded {
        let outcome = apply(&case["form"], case["object"].clone(), &case["patch"], &schema);
        match (outcome, case["error"].as_str()) {
            _ if case["panics"] == true => {}
            (Ok(patched), None) => assert_eq!(patched, case["result"], "{case}"),
            (Err(ours), Some(theirs)) => {
                assert!(same_refusal(&case["form"], &ours.message, theirs), "{ours} in {case}");
            }
            (outcome, _) => panic!("{outcome:?} from {case}"),
        }
    }
}

fn refusal(outcome: Result<Value, Status>) -> (u16, &'static str, String) {
    let status = outcome.unwrap_err();
    (status.code, status.reason, status.message)
}

#[test]
fn bodies_that_are_no_patches_are_refused_in_the_words_of_go() {
    let bad_request = |message: &str| (400, "BadRequest", message.to_owned());
    let (pod, schema) = (object!({}), Schema::default());
    let decoding = "error decoding patch: json: cannot unmarshal";
    assert_eq!(
        refusal(json(pod.clone(), &object!({"op": "add"}))),
        bad_request(&format!("{decoding} object into Go value of type []handlers.jsonPatchOp"))
    );
    assert_eq!(
        refusal(json(pod.clone(), &object!([{"op": "add", "path": 5}]))),
        bad_request(&format!("{decoding} number into Go struct field jsonPatchOp.path of type string"))
    );
    assert_eq!(
        refusal(merge(pod.clone(), &object!([]))),
        bad_request(&format!("{decoding} array into Go value of type map[string]interface {{}}"))
    );
    assert_eq!(refusal(merge(pod.clone(), &Value::Null)), bad_request("Invalid JSON Patch"));
    assert_eq!(
        refusal(strategic(pod.clone(), &object!("x"), &schema)),
        bad_request("json: cannot unmarshal string into Go value of type map[string]interface {}")
    );
    assert_eq!(json(pod.clone(), &Value::Null), Ok(pod.clone()));
    assert_eq!(strategic(pod.clone(), &Value::Null, &schema), Ok(pod));
}

#[test]
fn an_operation_that_does_not_apply_is_refused_without_saying_which() {
    let outcome = json(object!({}), &object!([{"op": "remove", "path": "/a"}])).unwrap_err();
    let expected = object!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 422,
        "reason": "Invalid", "details": {},
        "message": "the server rejected our request due to an error in our request",
    });
    assert_eq!(outcome.to_json(), expected);
}

#[test]
fn a_json_patch_has_at_most_ten_thousand_operations() {
    let patch = |count| Value::from(vec![object!({"op": "test", "path": "/a", "value": 1}); count]);
    assert!(json(object!({"a": 1}), &patch(10_000)).is_ok());
    let message =
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert_eq!(
        refusal(json(object!({"a": 1}), &patch(10_001))),
        (413, "RequestEntityTooLarge", message.into())
    );
}

#[test]
fn copies_add_at_most_three_mebibytes() {
    let original = object!({"a": "x".repeat(1024 * 1024 - 2)});
    let copies = |count: usize| {
        let copy = |index| object!({"op": "copy", "from": "/a", "path": format!("/b{index}")});
        Value::from((0..count).map(copy).collect::<Vec<_>>())
    };
    assert!(json(original.clone(), &copies(3)).is_ok());
    assert_eq!(refusal(json(original, &copies(4))).0, 422);
}

#[test]
fn operations_cannot_build_an_object_too_deep_to_read_back() {
    let deepest = "/a".repeat(91);
    let nest = |path: &str| object!({"op": "copy", "from": "/a", "path": path});
    let mut original = object!({});
    for _ in 0..90 {
        original = object!({"a": original});
    }
    assert!(json(original.clone(), &object!([nest("/a/b")])).is_ok());
    assert_eq!(refusal(json(original.clone(), &object!([nest(&deepest)]))).0, 422);
    let doubling: Vec<Value> = (0..8).map(|round| nest(&"/a".repeat(90 << round))).collect();
    assert_eq!(refusal(json(original, &doubling.into())).0, 422);
}

#[test]
fn operations_at_the_front_of_a_very_long_list_are_not_done_forever() {
    let patch: Value = vec![object!({"op": "add", "path": "/a/0", "value": 1}); 5_000].into();
    assert!(json(object!({"a": vec![0; 10_000]}), &patch).is_ok());
    assert_eq!(refusal(json(object!({"a": vec![0; 100_000]}), &patch)).0, 422);
}

#[test]
fn moving_many_values_deeper_is_no_reason_to_refuse() {
    let labels: Map<String, Value> = (0..1_000).map(|index| (index.to_string(), "x".into())).collect();
    let deeper =
        |name: &String| object!({"op": "move", "from": format!("/a/{name}"), "path": format!("/b/c/{name}")});
    let patch: Value = labels.keys().map(deeper).collect();
    let patched = json(object!({"a": labels, "b": {"c": {}}}), &patch);
    assert_eq!(patched, Ok(object!({"a": {}, "b": {"c": labels}})));
}

#[test]
fn operations_have_four_fields() {
    let patch =
        object!([{"op": "add", "path": "/a", "value": 1, "foo": 2}, {"op": "move", "from": "/a", "x": 1}]);
    let unknown = ["json patch unknown field \"[0].foo\"", "json patch unknown field \"[1].x\""];
    assert_eq!(unknown_fields(&patch), unknown);
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        "[a-c]".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Names that mean something to patches of pods.
fn name() -> impl Strategy<Value = String> {
    let names = [
        "metadata",
        "spec",
        "containers",
        "name",
        "env",
        "finalizers",
        "labels",
        "volumes",
        "emptyDir",
        "op",
        "path",
        "value",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/env",
        "$deleteFromPrimitiveList/finalizers",
    ];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

/// What turns one object into another: a field that is gone becomes null.
fn difference(from: &Value, to: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (from, to) else { return to.clone() };
    let gone = old.keys().filter(|name| !new.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let set = new.iter().map(|(name, value)| {
        (name.clone(), old.get(name).map_or_else(|| value.clone(), |old| difference(old, value)))
    });
    Value::Object(gone.chain(set).collect())
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

proptest! {
    #[test]
    fn merging_a_difference_gives_the_other_object(from in any_value(), to in any_value()) {
        let (from, to) = (without_nulls(object!({"a": from})), without_nulls(object!({"a": to})));
        prop_assert_eq!(merge(from.clone(), &difference(&from, &to)), Ok(to));
    }

    #[test]
    fn merging_twice_changes_nothing_more(original in any_value(), patch in any_value()) {
        if let Ok(once) = merge(original, &patch) {
            prop_assert_eq!(merge(once.clone(), &patch), Ok(once));
        }
    }

    #[test]
    fn tests_never_change_an_object(original in any_value(), path in "(/[a-z0-9~-]{0,3}){0,3}", value in any_value()) {
        let patch = object!([{"op": "test", "path": path, "value": value}]);
        if let Ok(patched) = json(original.clone(), &patch) {
            prop_assert_eq!(patched, original);
        }
    }

    #[test]
    fn what_was_added_can_be_tested_and_removed(original in any_value(), value in any_value()) {
        let original = object!({"a": original});
        let patch = object!([
            {"op": "add", "path": "/new~1~0", "value": value},
            {"op": "test", "path": "/new~1~0", "value": value},
            {"op": "remove", "path": "/new~1~0"},
        ]);
        prop_assert_eq!(json(original.clone(), &patch), Ok(original));
    }
}

#[test]
fn any_patch_is_applied_or_refused() {
    let schema = pod_schema();
    let values = (any_value(), any_value(), prop::sample::select(vec!["json", "merge", "strategic"]));
    let mut runner = TestRunner::default();
    let outcome = runner.run(&values, |(original, patch, form)| {
        let _ = apply(&form.into(), original, &patch, &schema);
        Ok(())
    });
    outcome.unwrap();
}

fn distinct_names() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(vec!["a", "b", "c", "d"], 0..=4).prop_shuffle()
}

/// A pod, or a patch of one without directives.
fn any_pod() -> impl Strategy<Value = Value> {
    let insides = prop::collection::vec((distinct_names(), prop::collection::vec("[xy]", 0..3)), 4);
    let labels = prop::collection::btree_map("[a-c]", prop::option::of("[xy]"), 0..3);
    (distinct_names(), insides, distinct_names(), labels).prop_map(|(names, insides, finalizers, labels)| {
        let containers = names.iter().zip(insides).map(|(name, (env, args))| {
            let env: Value = env.iter().map(|name| object!({"name": name})).collect();
            object!({"name": name, "env": env, "args": args})
        });
        let metadata = object!({"finalizers": finalizers, "labels": labels});
        object!({"metadata": metadata, "spec": {"containers": containers.collect::<Value>()}})
    })
}

#[test]
fn a_strategic_merge_without_directives_done_twice_changes_nothing_more() {
    let schema = pod_schema();
    let mut runner = TestRunner::default();
    let outcome = runner.run(&(any_pod(), any_pod()), |(original, patch)| {
        let once = strategic(original, &patch, &schema).unwrap();
        prop_assert_eq!(strategic(once.clone(), &patch, &schema), Ok(once));
        Ok(())
    });
    outcome.unwrap();
}
