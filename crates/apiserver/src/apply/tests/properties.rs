//! What holds for all objects, configurations and managers.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c<&\"\\\\é]{0,3}".prop_map(Value::from),
    ]
}

/// Names that schemas and paths give a meaning, among others.
fn name() -> impl Strategy<Value = String> {
    let known = [
        "metadata",
        "spec",
        "status",
        "parts",
        "ports",
        "tags",
        "values",
        "deep",
        "free",
        "open",
        "name",
        "port",
        "managedFields",
        "finalizers",
        "annotations",
        "color",
        "f:spec",
        "f:parts",
        "k:{\"name\":\"a\"}",
        "v:1",
        ".",
        "containers",
        "env",
        "i:0",
        "kubectl.kubernetes.io/last-applied-configuration",
        "size",
        "labels",
    ];
    prop_oneof![4 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "[a-b]{0,2}"]
}

fn anything() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(name(), inner, 0..5).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Something like an object, with hostile entries.
fn object() -> impl Strategy<Value = Value> {
    let entry = (anything(), prop::sample::select(vec!["Apply", "Update", "Nope"]), anything()).prop_map(
        |(manager, operation, fields)| {
            json!({"manager": manager, "operation": operation, "apiVersion": WIDGET, "fieldsType": "FieldsV1",
                "fieldsV1": fields, "time": "2020-01-01T00:00:00Z"})
        },
    );
    (anything(), anything(), vec(prop_oneof![entry, anything()], 0..4), any::<bool>()).prop_map(
        |(spec, annotations, managed, is_managed)| {
            let mut object = widget(spec);
            object["metadata"]["annotations"] = annotations;
            if is_managed {
                object["metadata"]["managedFields"] = managed.into();
            }
            object
        },
    )
}

fn element() -> impl Strategy<Value = Element> {
    let whole = || scalar().prop_filter("not a float", |value| !value.is_f64());
    prop_oneof![
        "[a-c.:<\"]{0,3}".prop_map(Element::Field),
        btree_map("[a-b<]{1,2}", whole(), 0..3).prop_map(|key| Element::Key(key.into_iter().collect())),
        whole().prop_map(Element::Value),
        any::<i64>().prop_map(Element::Index),
    ]
}

fn field_set() -> impl Strategy<Value = FieldSet> {
    vec(vec(element(), 1..4), 0..8).prop_map(|paths| {
        let mut set = FieldSet::default();
        for path in &paths {
            set.insert(path);
        }
        set
    })
}

/// A configuration of a widget that says something about everything it mentions.
fn config() -> impl Strategy<Value = Value> {
    let letter = || "[a-d]";
    let part = (letter(), prop::option::of(letter()), prop::option::of(letter())).prop_map(|(name, a, b)| {
        let optional =
            [("a", a), ("b", b)].into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
        let part: Map<String, Value> =
            [("name".to_owned(), name.into())].into_iter().chain(optional).collect();
        Value::Object(part)
    });
    let unique = |items: Vec<Value>, key: fn(&Value) -> String| -> Vec<Value> {
        let mut seen = std::collections::BTreeSet::new();
        items.into_iter().filter(|item| seen.insert(key(item))).collect()
    };
    let fields = (
        prop::option::of(0..3_i64),
        prop::option::of(letter()),
        vec(letter().prop_map(Value::from), 0..4),
        vec(part, 0..4),
        btree_map(letter(), letter(), 0..3),
        prop::option::of(vec(letter(), 1..3)),
    );
    fields.prop_map(move |(size, label, tags, parts, values, steps)| {
        let mut spec = Map::new();
        let mut put = |name: &str, value: Value, is_there: bool| {
            if is_there {
                spec.insert(name.into(), value);
            }
        };
        put("size", size.into(), size.is_some());
        put("label", label.clone().into(), label.is_some());
        put("tags", unique(tags.clone(), Value::to_string).into(), !tags.is_empty());
        put("parts", unique(parts.clone(), |part| part["name"].to_string()).into(), !parts.is_empty());
        put("values", json!(values), !values.is_empty());
        put("steps", json!(steps), steps.is_some());
        Value::Object(spec)
    })
}

/// A configuration that shares nothing with others of another letter.
fn own_config(letter: char) -> impl Strategy<Value = Value> {
    let names = move || {
        vec(0..4_u8, 1..4).prop_map(move |numbers| {
            numbers.into_iter().map(|n| format!("{letter}{n}")).collect::<std::collections::BTreeSet<_>>()
        })
    };
    (names(), names(), names()).prop_map(|(tags, parts, values)| {
        let parts: Vec<Value> = parts.into_iter().map(|name| json!({"name": name, "a": "1"})).collect();
        let values: Map<String, Value> = values.into_iter().map(|name| (name, "1".into())).collect();
        json!({"tags": tags, "parts": parts, "values": values})
    })
}

fn sorted(mut spec: Value) -> Value {
    for list in ["tags", "parts"] {
        if let Some(items) = spec[list].as_array_mut() {
            items.sort_by_key(Value::to_string);
        }
    }
    spec
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn sets_survive_being_written(set in field_set()) {
        prop_assert_eq!(FieldSet::from_fields_v1(&set.to_fields_v1()), Ok(set.clone()));
        let text: Value = serde_json::from_str(&set.to_fields_v1_text()).unwrap();
        prop_assert_eq!(text, set.to_fields_v1());
    }

    #[test]
    fn sets_add_and_subtract(a in field_set(), b in field_set()) {
        let (union, common) = (a.union(&b), a.intersection(&b));
        prop_assert_eq!(&a.difference(&b).union(&common), &a);
        prop_assert_eq!(&union.difference(&b), &a.difference(&b));
        prop_assert_eq!(&common, &b.intersection(&a));
        prop_assert!(union.paths().iter().all(|path| a.contains(path) || b.contains(path)));
        prop_assert!(a.without(&b).difference(&a).is_empty() && a.without(&b).intersection(&b).is_empty());
    }

    #[test]
    fn applying_twice_changes_nothing(first in config(), second in config()) {
        let kind = Kind::widget();
        let live = kind.apply(None, &widget(first), "one").unwrap();
        let config = widget(second);
        let once = kind.force(&live, &config, "two");
        prop_assert_eq!(kind.apply(Some(&once), &config, "two").unwrap(), once);
    }

    #[test]
    fn a_manager_owns_what_it_applies_and_the_object_holds_it(first in config(), second in config()) {
        let kind = Kind::widget();
        let live = kind.apply(None, &widget(first), "one").unwrap();
        let config = widget(second);
        let applied = kind.force(&live, &config, "two");
        let version = &kind.versions[WIDGET];
        let nobodys = FieldSet::of_fields(&[&["apiVersion"], &["kind"], &["metadata"]]);
        let fields = owned::fields(Type::of(&version.schema), &config).without(&nobodys);
        prop_assert_eq!(owned_by(&applied, "two"), fields);
        let compared = comparison::compare(Type::of(&version.schema), &config, &without_entries(applied));
        prop_assert!(compared.removed.is_empty() && compared.modified.is_empty());
    }

    #[test]
    fn managers_of_different_fields_do_not_mind_each_other(a in own_config('a'), b in own_config('b')) {
        let kind = Kind::widget();
        let (a, b) = (widget(a), widget(b));
        let after_a = kind.apply(None, &a, "a").unwrap();
        let ab = kind.apply(Some(&after_a), &b, "b").unwrap();
        let after_b = kind.apply(None, &b, "b").unwrap();
        let ba = kind.apply(Some(&after_b), &a, "a").unwrap();
        prop_assert_eq!(sorted(ab["spec"].clone()), sorted(ba["spec"].clone()));
        prop_assert_eq!(entries(&ab), entries(&ba));
    }

    #[test]
    fn who_applies_nothing_gives_up_exactly_what_is_only_theirs(a in config(), b in config()) {
        let kind = Kind::widget();
        let after_a = kind.apply(None, &widget(a), "a").unwrap();
        let both = kind.force(&after_a, &widget(b.clone()), "b");
        let left = kind.apply(Some(&both), &json!({"apiVersion": WIDGET, "kind": "Widget"}), "a").unwrap();
        prop_assert!(owned_by(&left, "a").is_empty());
        prop_assert_eq!(owned_by(&left, "b"), owned_by(&both, "b"));
        let alone = kind.apply(None, &widget(b), "b").unwrap();
        let spec = |object: &Value| object.get("spec").filter(|spec| !spec.is_null() && **spec != json!({})).cloned();
        prop_assert_eq!(spec(&left), spec(&alone));
    }

    #[test]
    fn an_update_owns_what_it_changes_and_nothing_else(a in config(), b in config()) {
        let kind = Kind::widget();
        let live = kind.update(None, widget(a), "a");
        let same = kind.update(Some(&live), live.clone(), "b");
        prop_assert_eq!(&same, &live);
        let changed = kind.update(Some(&live), widget(b), "b");
        let schema = &kind.versions[WIDGET].schema;
        let changes = comparison::compare(Type::of(schema), &without_entries(live), &without_entries(changed.clone()));
        prop_assert_eq!(owned_by(&changed, "b"), changes.written());
        prop_assert!(owned_by(&changed, "a").intersection(&changes.written().union(&changes.removed)).is_empty());
    }

    #[test]
    fn no_input_is_too_odd(live in object(), config in prop_oneof![object(), anything()], name in "kubectl|a") {
        let kind = Kind::widget();
        for live in [None, Some(&live)] {
            for force in [false, true] {
                let manager = Manager { name: name.clone(), ..applier("") };
                if let Ok(applied) = apply(live, &config, &manager, force, &kind.context()) {
                    prop_assert!(Managed::decode(entries(&applied)).is_ok());
                }
            }
            let updated = kind.update(live, config.clone(), &name);
            prop_assert!(Managed::decode(entries(&updated)).is_ok());
        }
    }

    #[test]
    fn no_pod_is_too_odd(live in object(), config in object()) {
        let version = Version { schema: schema("io.k8s.api.core.v1.Pod"), reset: reset_by_built_in("pods", "") };
        let kind = Kind { name: "Widget", origin: Origin::BuiltIn, versions: [(WIDGET.to_owned(), version)].into() };
        let _: Result<Value, Status> = kind.apply(Some(&live), &config, "kubectl");
        kind.update(Some(&live), config, "a");
    }
}
