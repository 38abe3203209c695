//! What a real kube-apiserver said about objects, and what is said here. Each case is an object that it takes as it is, some
//! edits, and the causes that it named; a case of an update has the object as the server held it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

const BASES: &str = include_str!("cases/bases.json");
const CASES: [&str; 8] = [
    include_str!("cases/metadata.json"),
    include_str!("cases/containers.json"),
    include_str!("cases/pods.json"),
    include_str!("cases/volumes.json"),
    include_str!("cases/pod_updates.json"),
    include_str!("cases/services.json"),
    include_str!("cases/others.json"),
    include_str!("cases/statuses.json"),
];
/// All kinds that have rules.
const KINDS: [(&str, &str); 26] = [
    ("", "Binding"),
    ("", "ConfigMap"),
    ("", "Endpoints"),
    ("", "Event"),
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "Secret"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("authentication.k8s.io", "TokenRequest"),
    ("autoscaling", "Scale"),
    ("coordination.k8s.io", "Lease"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("events.k8s.io", "Event"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("node.k8s.io", "RuntimeClass"),
    ("policy", "Eviction"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "StorageClass"),
];
const SUBRESOURCES: [Option<&str>; 3] = [None, Some("status"), Some("finalize")];

fn bases() -> BTreeMap<String, Value> {
    serde_json::from_str(BASES).expect("the bases are JSON")
}

fn kind_of(object: &Value) -> GroupKind {
    let (group, _) = crate::identity::group_version(object["apiVersion"].as_str().unwrap());
    GroupKind::new(group, object["kind"].as_str().unwrap())
}

/// The object with other values at some places; null takes one away.
fn edited(object: &Value, edits: &Value) -> Value {
    let mut object = object.clone();
    for (pointer, value) in edits.as_object().into_iter().flatten() {
        set(&mut object, pointer, expanded(value));
    }
    object
}

fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut steps: Vec<String> = pointer.split('/').skip(1).map(crate::pointer::unescaped).collect();
    let last = steps.pop().expect("a pointer has steps");
    let mut place = object;
    for step in steps {
        place = match place {
            Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
            Value::Object(map) => map.entry(step).or_insert_with(|| json!({})),
            other => panic!("{other} has no {step}"),
        };
    }
    match place {
        Value::Array(items) if last == "-" || last == items.len().to_string() => items.push(value),
        Value::Array(items) if value.is_null() => drop(items.remove(last.parse().unwrap())),
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        Value::Object(map) if value.is_null() => drop(map.remove(&last)),
        Value::Object(map) => drop(map.insert(last, value)),
        other => panic!("{other} has no {last}"),
    }
}

/// Long texts are kept as a character and a number. What is null is not there, as it is when objects arrive.
fn expanded(value: &Value) -> Value {
    match value {
        Value::Object(map) if map.contains_key("repeat") => {
            let times = usize::try_from(map["times"].as_u64().unwrap()).unwrap();
            map["repeat"].as_str().unwrap().repeat(times).into()
        }
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), expanded(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(expanded).collect(),
        other => other.clone(),
    }
}

fn said(case: &Value, base: &Value) -> Vec<String> {
    let object = edited(base, &case["set"]);
    let errors = match case["update"].as_str() {
        None => create(&kind_of(base), &object),
        Some("whole") => update(&kind_of(base), None, &object, base),
        subresource => update(&kind_of(base), subresource, &object, base),
    };
    errors
        .iter()
        .map(|error| format!("{} {}: {}", error.problem.reason(), error.field, error.body()))
        .collect()
}

#[test]
fn objects_are_refused_for_the_causes_that_kubernetes_names() {
    let bases = bases();
    let mut wrong = Vec::new();
    for case in CASES.iter().flat_map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap()) {
        let expected: Vec<String> =
            serde_json::from_value(case.get("causes").cloned().unwrap_or(json!([]))).unwrap();
        let said = said(&case, &bases[case["base"].as_str().unwrap()]);
        if said != expected {
            wrong.push(format!("{}:\n  expected {expected:#?}\n  but said {said:#?}", case["it"]));
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_valid_object_stays_valid_when_nothing_changes() {
    for (name, base) in bases().iter().filter(|(name, _)| name.starts_with("live ")) {
        assert_eq!(update(&kind_of(base), None, base, base), [], "of {name}");
    }
}

#[test]
fn requests_that_are_no_objects_have_rules_too() {
    let errors = create(&GroupKind::new("", "Binding"), &json!({"target": {"kind": "Pod"}}));
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected = r#"target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>""#;
    assert_eq!(texts, [expected, "target.name: Required value"]);
    let token = json!({"spec": {"expirationSeconds": 5}});
    let errors = create(&GroupKind::new("authentication.k8s.io", "TokenRequest"), &token);
    let expected =
        "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes";
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
}

#[test]
fn nothing_is_asked_of_kinds_that_are_not_kubernetes_own() {
    let kind = GroupKind::new("example.com", "Widget");
    assert_eq!(create(&kind, &json!({})), []);
    assert_eq!(update(&kind, None, &json!({}), &json!({})), []);
    let errors = metadata::create(&json!({"metadata": {"name": "A"}}), true, NameRule::Dns1123Subdomain);
    assert_eq!(
        errors.iter().map(|error| error.field.as_str()).collect::<Vec<_>>(),
        ["metadata.name", "metadata.namespace"]
    );
}

#[test]
fn finalizers_are_not_added_to_what_is_being_deleted() {
    let old = json!({"metadata": {"name": "a", "namespace": "b", "resourceVersion": "1", "finalizers": ["a/b"],
                                  "deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!(["a/b", "c/d"]);
    let errors = metadata::update(&new, &old);
    let expected = "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
                    finalizers []string{\"c/d\"}";
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
}

/// JSON of any shape, under names that the rules know.
fn any_json() -> impl Strategy<Value = Value> {
    let names = known_names();
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["", "-", "..", "1Gi", "-1", "10.0.0.1", "a/b", "Localhost", "None", "é"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        let name = prop::sample::select(names.clone());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<String, Value>>())),
        ]
    })
}

/// The names of all fields in the cases.
fn known_names() -> Vec<String> {
    fn collect(value: &Value, names: &mut std::collections::BTreeSet<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(name, value)| {
                names.extend(name.split('/').map(str::to_owned));
                collect(value, names);
            }),
            Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
            _ => {}
        }
    }
    let mut names = std::collections::BTreeSet::new();
    for base in bases().values() {
        collect(base, &mut names);
    }
    for text in CASES {
        collect(&serde_json::from_str(text).unwrap(), &mut names);
    }
    names.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn nothing_makes_the_rules_panic(object in any_json(), old in any_json(), kind in prop::sample::select(&KINDS[..])) {
        let kind = GroupKind::new(kind.0, kind.1);
        create(&kind, &object);
        for subresource in SUBRESOURCES {
            update(&kind, subresource, &object, &old);
        }
    }

    #[test]
    fn nothing_inside_a_good_object_makes_the_rules_panic(
        value in any_json(),
        base in prop::sample::select(bases().into_values().collect::<Vec<_>>()),
        place in any::<prop::sample::Index>(),
    ) {
        let mut pointers = Vec::new();
        all_pointers(&base, String::new(), &mut pointers);
        let mut object = base.clone();
        *object.pointer_mut(place.get::<String>(&pointers)).unwrap() = value;
        create(&kind_of(&base), &object);
        for subresource in SUBRESOURCES {
            update(&kind_of(&base), subresource, &object, &base);
        }
    }
}

fn all_pointers(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            let name = crate::pointer::escaped(name);
            all_pointers(value, format!("{pointer}/{name}"), pointers);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| {
            all_pointers(value, format!("{pointer}/{index}"), pointers);
        }),
        _ => {}
    }
    if !pointer.is_empty() {
        pointers.push(pointer);
    }
}
