//! Rules of server-side apply, one by one.

use serde_json::{Value, json};

use super::super::comparison::{Comparison, compare};
use super::super::{field_set, merge, owned};
use super::*;

fn small(schema: Value) -> Schema {
    from_open_api(&json!({"type": "object", "properties": {"a": schema}}))
}

fn paths(set: &FieldSet) -> Vec<String> {
    set.paths().iter().map(|path| field_set::shown(path)).collect()
}

fn set(text: Value) -> FieldSet {
    FieldSet::from_fields_v1(&text).expect("a set")
}

fn keyed() -> Value {
    json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
        "type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}, "w": {"type": "integer"}},
    }})
}

fn plain_set() -> Value {
    json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}})
}

fn map() -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}})
}

fn structure() -> Value {
    json!({"type": "object", "properties": {"x": {"type": "string"}, "y": map()}})
}

fn untyped() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

fn atomic(mut schema: Value) -> Value {
    schema["x-kubernetes-map-type"] = "atomic".into();
    schema
}

#[test]
fn an_object_sets_its_leaves_its_items_and_its_entries() {
    let cases: [(Value, Value, &[&str]); 14] = [
        (json!({"type": "string"}), json!("x"), &[".a"]),
        (map(), json!({"k": "v"}), &[".a.k"]),
        (map(), json!({}), &[".a"]),
        (structure(), json!({"x": "1"}), &[".a.x"]),
        (structure(), json!({"x": null, "y": {}}), &[".a.x", ".a.y"]),
        (structure(), json!(null), &[".a"]),
        (atomic(structure()), json!({"x": "1"}), &[".a"]),
        (plain_set(), json!(["p", "q"]), &[r#".a[="p"]"#, r#".a[="q"]"#]),
        (plain_set(), json!([]), &[]),
        (keyed(), json!([{"k": "1", "v": 2}]), &[r#".a[k="1"]"#, r#".a[k="1"].k"#, r#".a[k="1"].v"#]),
        (keyed(), json!([{"k": "1", "v": 2}, {"k": "1"}]), &[r#".a[k="1"]"#]),
        (json!({"type": "array", "items": {"type": "string"}}), json!([]), &[".a"]),
        (untyped(), json!({"p": {"q": [1]}, "r": 5}), &[".a.p", ".a.r", ".a.p.q"]),
        (untyped(), json!([{"x": 1}]), &[".a"]),
    ];
    for (schema, value, expected) in cases {
        let schema = small(schema);
        let fields = owned::fields(Type::of(&schema), &json!({ "a": value }));
        let mut fields = paths(&fields);
        // An untyped value is owned by its own name besides.
        fields.retain(|path| expected.contains(&path.as_str()) || path != ".a");
        assert_eq!(fields, expected, "{value}");
    }
}

#[test]
fn changes_are_told_apart() {
    // Removed, modified, added.
    type Expected = [&'static [&'static str]; 3];
    let cases: [(Value, Value, Value, Expected); 12] = [
        (json!({"type": "integer"}), json!(1), json!(1.0), [&[], &[], &[]]),
        (json!({"type": "integer"}), json!(1), json!(2), [&[], &[".a"], &[]]),
        (map(), json!({"p": "1"}), json!({"q": "1"}), [&[".a.p"], &[], &[".a.q"]]),
        (map(), json!({"p": "1"}), json!({}), [&[".a.p"], &[], &[]]),
        (map(), json!(null), json!({}), [&[], &[".a"], &[]]),
        (atomic(map()), json!({"p": "1"}), json!({"q": "1"}), [&[], &[".a"], &[]]),
        (plain_set(), json!(["p", "q"]), json!(["q", "r"]), [&[r#".a[="p"]"#], &[], &[r#".a[="r"]"#]]),
        (plain_set(), json!(["p", "q"]), json!(["q", "p"]), [&[], &[], &[]]),
        (keyed(), json!([{"k": "1", "v": 1}]), json!([{"k": "1", "v": 2}]), [&[], &[r#".a[k="1"].v"#], &[]]),
        (
            keyed(),
            json!([{"k": "1"}, {"k": "1", "v": 1}]),
            json!([{"k": "1"}]),
            [&[r#".a[k="1"]"#], &[], &[r#".a[k="1"]"#, r#".a[k="1"].k"#]],
        ),
        (
            keyed(),
            json!([{"k": "1"}, {"k": "1", "v": 1}]),
            json!([{"k": "1"}, {"k": "1", "v": 2}]),
            [&[], &[r#".a[k="1"]"#], &[]],
        ),
        (untyped(), json!({"p": 1}), json!(5), [&[".a.p"], &[".a"], &[]]),
    ];
    for (schema, old, new, expected) in cases {
        let schema = small(schema);
        let Comparison { removed, modified, added } =
            compare(Type::of(&schema), &json!({ "a": old }), &json!({ "a": new }));
        assert_eq!(
            [removed, modified, added].map(|set| paths(&set)),
            expected.map(<[_]>::to_vec),
            "{old} {new}"
        );
    }
}

#[test]
fn lists_keep_the_order_of_the_configuration_among_what_it_names() {
    let cases = [
        ("", "abc", "abc"),
        ("abc", "", "abc"),
        ("abc", "cba", "cba"),
        ("abcd", "dxa", "bcdxa"),
        ("abcd", "bxd", "abcxd"),
        ("abc", "xyz", "abcxyz"),
        ("axb", "ab", "axb"),
        ("axb", "ba", "xba"),
        ("aab", "b", "aab"),
        ("aab", "a", "ab"),
    ];
    let list = |text: &str| json!({"a": text.chars().map(String::from).collect::<Vec<_>>()});
    let schema = small(plain_set());
    for (live, config, expected) in cases {
        let merged = merge::merge(Type::of(&schema), &list(live), &list(config));
        assert_eq!(merged, list(expected), "{live} + {config}");
    }
}

#[test]
fn items_that_both_have_are_merged() {
    let schema = small(keyed());
    let live = json!({"a": [{"k": "1", "v": 1, "w": 1}, {"k": "2", "v": 2}]});
    let config = json!({"a": [{"k": "2", "w": 5}, {"k": "1", "v": 7}]});
    let merged = merge::merge(Type::of(&schema), &live, &config);
    assert_eq!(merged, json!({"a": [{"k": "2", "v": 2, "w": 5}, {"k": "1", "v": 7, "w": 1}]}));
}

#[test]
fn what_has_become_atomic_is_owned_as_a_whole() {
    let before = set(json!({"f:a": {".": {}, "f:x": {}, "f:y": {"f:z": {}}}, "f:gone": {}}));
    let granular = small(structure());
    assert_eq!(owned::reconciled(&before, Type::of(&granular)), before);
    let atomic = small(atomic(structure()));
    let expected = set(json!({"f:a": {}, "f:gone": {}}));
    assert_eq!(owned::reconciled(&before, Type::of(&atomic)), expected);
    let list = small(json!({"type": "array", "items": {"type": "string"}}));
    assert_eq!(
        owned::reconciled(&set(json!({"f:a": {"v:1": {}}})), Type::of(&list)),
        set(json!({"f:a": {}}))
    );
}

#[test]
fn sets_are_subtracted_with_and_without_what_is_below() {
    let all = set(json!({"f:a": {".": {}, "f:b": {}, "f:c": {"f:d": {}}}, "f:e": {}}));
    let some = set(json!({"f:a": {}, "f:e": {}}));
    assert_eq!(paths(&all.difference(&some)), [".a.b", ".a.c.d"]);
    assert!(all.without(&some).is_empty());
    assert_eq!(paths(&all.intersection(&some)), [".a", ".e"]);
    assert_eq!(paths(&all.leaves()), [".e", ".a.b", ".a.c.d"]);
    assert!(all.contains(&[Element::field("a"), Element::field("b")]));
    assert!(!all.contains(&[Element::field("a"), Element::field("c")]) && !all.contains(&[]));
}

#[test]
fn entries_are_sorted_and_duplicates_are_one() {
    let entry = |manager: &str, operation: &str, time: Option<&str>| {
        let mut entry = json!({"manager": manager, "operation": operation, "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}});
        if let Some(time) = time {
            entry["time"] = time.into();
        }
        entry
    };
    let entries = json!([
        entry("b", "Update", Some("2020-01-01T00:00:00Z")),
        entry("a", "Update", Some("2021-01-01T00:00:00Z")),
        entry("z", "Apply", Some("2022-01-01T00:00:00Z")),
        entry("c", "Update", None),
        entry("y", "Apply", Some("2022-01-01T00:00:00Z")),
        entry("y", "Apply", Some("2022-01-01T00:00:00Z")),
    ]);
    let encoded = Managed::decode(Some(&entries)).unwrap().encode().unwrap();
    let order: Vec<&str> =
        encoded.as_array().unwrap().iter().filter_map(|entry| entry["manager"].as_str()).collect();
    assert_eq!(order, ["y", "z", "c", "b", "a"]);
}

#[test]
fn the_times_of_managers_are_no_change() {
    let object = |time: &str, value: i32| json!({"metadata": {"name": "x", "managedFields": [{"manager": "m", "time": time}]}, "spec": value});
    assert!(same_but_for_times(&object("a", 1), &object("b", 1)));
    assert!(!same_but_for_times(&object("a", 1), &object("a", 2)));
    assert!(!same_but_for_times(&object("a", 1), &json!({"metadata": {"name": "x"}, "spec": 1})));
}

#[test]
fn an_embedded_object_has_the_metadata_of_any() {
    let metadata = schema(METADATA);
    let definition = from_open_api(&json!({"type": "object", "properties": {
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
    }}));
    let kind = Kind::custom(&Arc::new(with_metadata(&definition, &metadata)), FieldSet::default());
    let config = |template: Value| json!({"apiVersion": WIDGET, "kind": "Widget", "metadata": {"name": "w"}, "template": template});
    let applied = kind.apply(
        None,
        &config(json!({"kind": "Pod", "any": 1, "metadata": {"finalizers": ["a/b"]}})),
        "me",
    );
    assert_eq!(
        paths(&owned_by(&applied.unwrap(), "me")),
        [".template.any", ".template.kind", r#".template.metadata.finalizers[="a/b"]"#]
    );
    let refused = kind.apply(None, &config(json!({"metadata": {"nope": 1}})), "me").unwrap_err();
    assert!(refused.message.ends_with(".template.metadata.nope: field not declared in schema"), "{refused}");
}

#[test]
fn managers_are_recorded_as_kubernetes_writes_them() {
    let kind = Kind::widget();
    let applied =
        kind.apply(None, &widget(json!({"size": 1, "ports": [{"port": 80}], "tags": ["x"]})), "one").unwrap();
    let mut changed = applied.clone();
    changed["spec"]["size"] = 2.into();
    changed["metadata"]["labels"] = json!({"a": "b"});
    insta::assert_json_snapshot!(kind.update(Some(&applied), changed, "two")["metadata"]["managedFields"]);
}

#[test]
fn fields_owned_in_a_version_that_is_gone_are_forgotten() {
    let kind = Kind::widget();
    let mut live = widget(json!({"size": 1, "label": "x"}));
    live["metadata"]["managedFields"] = json!([
        {"manager": "gone", "operation": "Apply", "apiVersion": "example.com/v0", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:size": {}}}},
        {"manager": "beta", "operation": "Apply", "apiVersion": "example.com/v1beta1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:label": {}}}},
    ]);
    let applied = kind.apply(Some(&live), &widget(json!({"size": 2})), "one").unwrap();
    assert!(owned_by(&applied, "gone").is_empty() && !owned_by(&applied, "beta").is_empty());
    let refused = kind.apply(Some(&live), &widget(json!({"label": "y"})), "one").unwrap_err();
    assert_eq!(refused.message, "Apply failed with 1 conflict: conflict with \"beta\": .spec.label");
}

#[test]
fn stored_entries_that_cannot_be_read_refuse_an_apply_and_are_replaced_by_an_update() {
    let kind = Kind::widget();
    let mut live = widget(json!({"size": 1}));
    live["metadata"]["managedFields"] = json!([{"manager": "m", "operation": "Apply"}]);
    let refused = kind.apply(Some(&live), &widget(json!({"size": 2})), "one").unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (500, "failed to decode managed fields: apiVersion must not be empty")
    );
    let updated = kind.update(Some(&live), widget(json!({"size": 2})), "two");
    assert_eq!(entries(&updated), None);
}
