//! Defaults next to those of the real server are tested with admission, on the whole way of an object; here is what
//! holds for any input.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Names that defaults look at, so that arbitrary objects have something to be found in.
const NAMES: &[&str] = &[
    "metadata",
    "annotations",
    "labels",
    "name",
    "spec",
    "status",
    "containers",
    "initContainers",
    "ephemeralContainers",
    "env",
    "valueFrom",
    "fieldRef",
    "resourceFieldRef",
    "divisor",
    "resources",
    "limits",
    "requests",
    "cpu",
    "memory",
    "hugepages-2Mi",
    "image",
    "imagePullPolicy",
    "ports",
    "protocol",
    "port",
    "targetPort",
    "hostNetwork",
    "containerPort",
    "livenessProbe",
    "httpGet",
    "volumes",
    "projected",
    "sources",
    "secret",
    "conditions",
    "containerStatuses",
    "podIP",
    "podIPs",
    "ip",
    "podCIDR",
    "podCIDRs",
    "capacity",
    "allocatable",
    "stringData",
    "data",
    "type",
    "sessionAffinity",
    "sessionAffinityConfig",
    "subjects",
    "kind",
    "roleRef",
    "policyTypes",
    "egress",
    "ingress",
    "endpoints",
    "serviceAccount",
    "serviceAccountName",
    "restartPolicy",
    "eventTime",
    "series",
];

const TEXTS: &[&str] = &[
    "",
    "0",
    "1",
    "500m",
    "1.5Gi",
    "1e3",
    "LoadBalancer",
    "ClientIP",
    "None",
    "busybox",
    "a:latest",
    "User",
    "Always",
    "2024-01-01T00:00:00+02:00",
    "1.2.3.4",
];

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(0)),
        prop::sample::select(TEXTS).prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(7, 96, 6, |inner| {
        let fields = prop::collection::vec((prop::sample::select(NAMES), inner.clone()), 0..6);
        let object = fields.prop_map(|fields| {
            Value::Object(
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
            )
        });
        prop_oneof![prop::collection::vec(inner, 0..4).prop_map(Value::Array), object]
    })
}

fn any_kind() -> impl Strategy<Value = GroupKind> {
    prop::sample::select(kinds::all().map(|(group, kind)| GroupKind::new(group, kind)).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn defaults_of_anything_are_the_same_the_second_time(kind in any_kind(), object in anything()) {
        let mut once = object;
        for apply in [apply, apply_again] {
            apply(&kind, &mut once);
            let mut twice = once.clone();
            apply(&kind, &mut twice);
            prop_assert_eq!(&once, &twice);
        }
    }
}

#[test]
fn wrong_types_are_left_alone() {
    for object in [json!(null), json!("x"), json!([1]), json!({"spec": "x", "status": 7, "metadata": []})] {
        for (group, kind) in kinds::all() {
            let mut defaulted = object.clone();
            apply(&GroupKind::new(group, kind), &mut defaulted);
            for field in ["spec", "status", "metadata"] {
                assert_eq!(defaulted.get(field), object.get(field).or(defaulted.get(field)), "{kind}");
            }
        }
    }
}

#[test]
fn other_kinds_have_no_defaults() {
    let mut object = json!({"spec": {}});
    apply(&GroupKind::new("example.com", "Pod"), &mut object);
    assert_eq!(object, json!({"spec": {}}));
}
