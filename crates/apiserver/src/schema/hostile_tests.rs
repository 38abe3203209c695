//! Schemas and objects that nobody means well with: nothing panics, hangs or grows without bound.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Compiled, from_open_api};

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![Just("a".to_owned()), Just("name".to_owned()), "\\PC{0,8}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e3..1e3).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let fields = prop::collection::btree_map(field_name(), inner.clone(), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Value::from),
            fields.prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn field_name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("name".to_owned()),
        Just("metadata".to_owned()),
        Just("kind".to_owned()),
        "[a-z.-]{1,3}",
    ]
}

/// Schemas as definitions have them, sensible or not.
fn any_schema() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec!["string", "integer", "number", "boolean", "object", "array"]);
    let leaf = (kind, keywords()).prop_map(|(kind, keywords)| merged(json!({"type": kind}), keywords));
    leaf.prop_recursive(4, 40, 4, |inner| {
        let fields = prop::collection::btree_map(field_name(), inner.clone(), 0..4);
        prop_oneof![
            (fields, keywords()).prop_map(|(fields, keywords)| {
                let fields: Map<String, Value> = fields.into_iter().collect();
                merged(json!({"type": "object", "properties": fields}), keywords)
            }),
            (inner.clone(), keywords()).prop_map(|(others, keywords)| merged(
                json!({"type": "object", "additionalProperties": others}),
                keywords
            )),
            (inner.clone(), list_type(), keywords()).prop_map(|(items, list, keywords)| {
                merged(merged(json!({"type": "array", "items": items}), list), keywords)
            }),
            (inner.clone(), prop::sample::select(vec!["anyOf", "oneOf", "allOf"]))
                .prop_map(|(part, name)| json!({"x-kubernetes-preserve-unknown-fields": true, name: [part]})),
            inner.prop_map(|part| json!({"x-kubernetes-int-or-string": true, "not": part})),
        ]
    })
}

fn list_type() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"x-kubernetes-list-type": "set"}),
        json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "a"]}),
    ])
}

fn keywords() -> impl Strategy<Value = Value> {
    let some = prop::sample::select(vec![
        json!({}),
        json!({"nullable": true}),
        json!({"default": {"a": {"b": null}}}),
        json!({"default": "x", "minLength": 2, "pattern": "^a+$"}),
        json!({"enum": [1, "a", null, {"a": 1}]}),
        json!({"format": "int32", "minimum": 1.5, "maximum": -3, "multipleOf": 0.1}),
        json!({"format": "date-time", "maxLength": 3}),
        json!({"required": ["a", "zz"], "minProperties": 1, "maxProperties": 1}),
        json!({"minItems": 1, "maxItems": 2}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
        json!({"x-kubernetes-embedded-resource": true}),
        json!({"x-kubernetes-validations": [{"rule": "self == oldSelf"}, {"rule": "self.a.b[0] / 0 > size(self)"}]}),
        json!({"x-kubernetes-validations": [{"rule": "self.all(x, x.a == 1)", "messageExpression": "'a' + self"}]}),
    ]);
    (some.clone(), some).prop_map(|(one, other)| merged(one, other))
}

fn merged(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}

fn compiled(schema: &Value) -> Compiled {
    Compiled::new(Arc::new(from_open_api(schema))).unwrap()
}

proptest! {
    // Compiling the rules of a schema takes long without optimization.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_value_can_be_validated_by_any_schema(schema in any_schema(), new in any_json(), old in any_json()) {
        let compiled = compiled(&schema);
        compiled.validate(&new, None);
        compiled.validate(&new, Some(&old));
        compiled.validate_status(&new, &old);
    }

    #[test]
    fn defaulting_twice_is_defaulting_once(schema in any_schema(), value in any_json()) {
        let compiled = compiled(&schema);
        let mut once = value;
        compiled.default(&mut once).unwrap();
        let mut twice = once.clone();
        compiled.default(&mut twice).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn what_was_pruned_once_has_nothing_unknown_left(schema in any_schema(), value in any_json()) {
        let compiled = compiled(&schema);
        let mut pruned = value;
        compiled.prune(&mut pruned);
        let once = pruned.clone();
        prop_assert_eq!(compiled.prune(&mut pruned), Vec::<String>::new());
        prop_assert_eq!(once, pruned);
    }

    #[test]
    fn any_json_can_be_judged_as_a_definition(mut schema in any_json(), spec in any_json()) {
        for mut crd in [schema.take(), json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": spec}}]}}), json!({"spec": spec})] {
            crate::definition::default(&mut crd);
            crate::definition::prepare_for_create(&mut crd);
            crate::definition::validate_create(&crd);
            crate::definition::validate_update(&crd, &crd);
            crate::definition::statuses(&[crd.clone(), crd.clone()], "now");
            let _ = crate::definition::Definition::compile(&crd);
        }
    }

    #[test]
    fn any_text_can_be_compiled_as_a_rule(rule in "\\PC{0,40}", object in any_json()) {
        let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule, "message": "m"}]});
        compiled(&schema).validate(&object, Some(&object));
    }
}

fn strings(rule: &str) -> Compiled {
    compiled(&json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "string"}}, "text": {"type": "string"},
    }, "x-kubernetes-validations": [{"rule": rule}, {"rule": "true"}]}))
}

fn refusal_of(rule: &str, object: &Value) -> String {
    let compiled = strings(rule);
    let start = Instant::now();
    let errors = compiled.validate(object, None).errors;
    assert!(start.elapsed() < Duration::from_secs(20), "{rule} took {:?}", start.elapsed());
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].to_string()
}

#[test]
fn a_rule_with_nested_loops_is_cut_off() {
    let list: Vec<String> = (0..5_000).map(|number| number.to_string()).collect();
    let rule = "self.list.all(a, self.list.all(b, self.list.all(c, a + b != c + 'x')))";
    let refusal = refusal_of(rule, &json!({"list": list}));
    assert!(refusal.contains("operation cancelled: actual cost limit exceeded"), "{refusal}");
}

#[test]
fn a_rule_that_doubles_text_again_and_again_is_cut_off() {
    let doubling = ".map(x, x + x)".repeat(40);
    let refusal = refusal_of(&format!("[self.text]{doubling}.size() == 0"), &json!({"text": "a"}));
    assert!(refusal.contains("cost limit exceeded"), "{refusal}");
    let text = "a".repeat(1 << 20);
    let refusal = refusal_of("self.text.replace('a', self.text).size() == 0", &json!({"text": text}));
    assert!(refusal.contains("cost limit exceeded"), "{refusal}");
}

#[test]
fn expressions_that_nest_too_deeply_are_no_rules() {
    let deep = [
        format!("{}true{}", "(".repeat(20_000), ")".repeat(20_000)),
        format!("{}true", "!".repeat(20_000)),
        format!("1{} == 1", " + 1".repeat(10_000)),
        format!("self.text{}.size() == 0", ".trim()".repeat(5_000)),
        format!("true{}", " ? true : true".repeat(3_000)),
    ];
    for rule in deep {
        let refusal = refusal_of(&rule, &json!({"text": "a"}));
        assert!(refusal.contains("rule compile error"), "{refusal}");
    }
}

#[test]
fn a_long_chain_is_still_a_rule() {
    let rule = format!("self.text == 'b'{}", " || self.text == 'c'".repeat(100));
    assert!(refusal_of(&rule, &json!({"text": "a"})).contains("failed rule"));
}

#[test]
fn many_errors_take_no_more_than_linear_time() {
    let compiled = compiled(&json!({"type": "object", "properties": {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 1}},
    }}));
    let list: Vec<String> = (0..20_000).map(|number| format!("x{}", number % 10_000)).collect();
    let object = json!({"set": list});
    let start = Instant::now();
    assert_eq!(compiled.validate(&object, Some(&json!({}))).errors.len(), 30_000);
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn definitions_that_nest_too_deeply_are_refused() {
    let mut schema = json!({"type": "string"});
    for _ in 0..2_000 {
        schema = json!({"type": "array", "items": schema});
    }
    let crd = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
    let errors = crate::definition::validate_create(&crd);
    assert_eq!(errors[0].to_string(), "spec: Invalid value: must not be nested deeper than 256 levels");
    // The value drops itself level by level, which is no business of ours.
    std::mem::forget(crd);
}

#[test]
fn a_compiled_schema_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Compiled>();
    is_shared::<crate::definition::Definition>();
}

#[test]
fn a_long_list_cannot_ask_for_a_large_default_in_every_item() {
    let items =
        json!({"type": "object", "properties": {"d": {"type": "string", "default": "x".repeat(100_000)}}});
    let schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": items}}});
    let compiled = compiled(&schema);
    let mut object = json!({"l": vec![json!({}); 1000]});
    assert!(compiled.default(&mut object).is_err());
    assert!(object.to_string().len() < 5_000_000);
    assert!(compiled.default(&mut json!({"l": [{}, {}]})).is_ok());
}
