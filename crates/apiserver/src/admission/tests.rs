//! The way of an object from the wire to the store, next to what the real server did with the same.

use std::sync::LazyLock;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::decode::{self, Expected};
use crate::defaults;
use crate::registry::Registry;
use crate::strategy;
use crate::strategy::world::{World, kind_of};

/// What was sent in place of nothing, and what came of it.
#[derive(Deserialize)]
struct Creation {
    name: String,
    #[serde(default = "home")]
    namespace: String,
    input: Value,
    stored: Option<Value>,
    refused: Option<Value>,
}

/// What was sent in place of something, and what came of it.
#[derive(Deserialize)]
struct Change {
    name: String,
    subresource: Option<String>,
    old: Value,
    new: Value,
    stored: Value,
    generation: [i64; 2],
}

fn home() -> String {
    "asb-defaults".to_owned()
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::new);
static WORLD: LazyLock<World> = LazyLock::new(|| World::parse(include_str!("cases/world.yaml")));

fn world() -> World {
    WORLD.clone()
}

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

/// The resource and namespace of a write, and the kind as the rest of the code names it.
fn addressed(object: &Value, namespace: &str) -> (GroupKind, GroupResource, String) {
    let kind = kind_of(object);
    let resource = REGISTRY.find_kind(&kind.group, &kind.kind).unwrap();
    let namespace = if resource.is_namespaced { namespace.to_owned() } else { String::new() };
    (kind, resource.group_resource(), namespace)
}

/// As it comes out of the body of a request.
fn decoded(object: &Value) -> Value {
    let (version, kind) = (pointer::text(object, "/apiVersion"), pointer::text(object, "/kind"));
    decode::value(object.clone(), Expected { api_version: version, kind }).unwrap().object
}

fn create(input: &Value, namespace: &str) -> Result<Value, Status> {
    let (world, mut object) = (world(), input.clone());
    let (kind, resource, namespace) = addressed(input, namespace);
    let target = Target { kind: &kind, resource: &resource, namespace: &namespace, subresource: None };
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.as_str().into();
    }
    defaults::apply(&kind, &mut object);
    mutate_create(target, &mut object, &world, &mut || "xxxxx".to_owned())?;
    strategy::prepare_create(&kind, &mut object, &world, now())?;
    check_create(target, &object, &world)?;
    Ok(object)
}

fn update(change: &Change) -> Result<Value, Status> {
    let (world, mut new) = (world(), change.new.clone());
    let (kind, resource, namespace) = addressed(&new, &home());
    let subresource = change.subresource.as_deref();
    let target = Target { kind: &kind, resource: &resource, namespace: &namespace, subresource };
    defaults::apply(&kind, &mut new);
    mutate_update(target, &mut new, &change.old, &world)?;
    strategy::prepare_update(&kind, subresource, &mut new, &change.old, &world, now())?;
    check_update(target, &new, &change.old, &world)?;
    Ok(new)
}

/// Replaces addresses and node ports that the server chose, since it does so at random.
fn without_chosen(mut object: Value, asked: &Value) -> Value {
    if pointer::text(asked, "/spec/clusterIP").is_empty() && object["spec"]["clusterIP"].is_string() {
        object["spec"]["clusterIP"] = "chosen".into();
        object["spec"]["clusterIPs"] = json!(["chosen"]);
    }
    let asked = asked.to_string();
    let was_chosen = |port: &Value| port.is_number() && !asked.contains(&port.to_string());
    for port in pointer::list_mut(&mut object, "/spec/ports") {
        if was_chosen(&port["nodePort"].clone()) {
            port["nodePort"] = "chosen".into();
        } else if port["nodePort"].is_null() {
            pointer::remove(port, "/nodePort");
        }
    }
    if pointer::said(&object, "/spec/healthCheckNodePort").is_some_and(was_chosen) {
        pointer::set(&mut object, "/spec/healthCheckNodePort", "chosen");
    }
    pointer::remove(&mut object, "/metadata/generation");
    object
}

fn created_as_recorded(cases: &str) {
    let cases: Vec<Creation> = serde_saphyr::from_str(cases).unwrap();
    for case in cases {
        let result = create(&decoded(&case.input), &case.namespace);
        match (result, case.stored, case.refused) {
            (Ok(object), Some(stored), None) => {
                let (ours, theirs) =
                    (without_chosen(object, &case.input), without_chosen(stored, &case.input));
                assert_eq!(pretty(&ours), pretty(&theirs), "{}", case.name);
            }
            (Err(status), None, Some(refused)) => assert_eq!(status.to_json(), refused, "{}", case.name),
            (result, ..) => panic!("{}: {result:?}", case.name),
        }
    }
}

fn pretty(object: &Value) -> String {
    serde_json::to_string_pretty(object).unwrap()
}

#[test]
fn pods_are_created_as_on_the_real_server() {
    created_as_recorded(include_str!("cases/pods.yaml"));
}

#[test]
fn other_kinds_are_created_as_on_the_real_server() {
    created_as_recorded(include_str!("cases/others.yaml"));
}

#[test]
fn objects_are_updated_as_on_the_real_server() {
    let changes: Vec<Change> = serde_saphyr::from_str(include_str!("cases/updates.yaml")).unwrap();
    for change in changes {
        let change = Change { new: decoded(&change.new), ..change };
        let updated = update(&change).unwrap();
        let kind = kind_of(&updated);
        let [before, after] = change.generation;
        let follows =
            strategy::generation_follows(&kind, change.subresource.as_deref(), &updated, &change.old);
        assert_eq!(follows, before != after, "{}", change.name);
        let asked = &change.new;
        let (ours, theirs) = (without_chosen(updated, asked), without_chosen(change.stored, asked));
        assert_eq!(pretty(&ours), pretty(&theirs), "{}", change.name);
    }
}

/// What the real server stored in all cases.
fn all_stored() -> impl Iterator<Item = (String, Value)> {
    let cases = [include_str!("cases/pods.yaml"), include_str!("cases/others.yaml")];
    let cases = cases.into_iter().flat_map(|cases| serde_saphyr::from_str::<Vec<Creation>>(cases).unwrap());
    cases.filter_map(|case| Some((case.name, case.stored?)))
}

#[test]
fn what_the_real_server_stored_needs_no_defaults() {
    for (name, stored) in all_stored() {
        let mut defaulted = stored.clone();
        defaults::apply_again(&kind_of(&stored), &mut defaulted);
        assert_eq!(pretty(&defaulted), pretty(&stored), "{name}");
    }
}

#[test]
fn an_update_that_changes_nothing_changes_nothing() {
    for (name, stored) in all_stored() {
        let (old, new) = (stored.clone(), stored.clone());
        let change = Change { name, subresource: None, old, new, stored: stored.clone(), generation: [1, 1] };
        let updated = update(&change).unwrap();
        assert_eq!(pretty(&updated), pretty(&stored), "{}", change.name);
        assert!(!strategy::generation_follows(&kind_of(&stored), None, &updated, &stored), "{}", change.name);
    }
}

#[test]
fn namespaces_that_the_cluster_needs_are_not_deleted() {
    let (kind, resource) = (GroupKind::new("", "Namespace"), GroupResource::new("", "namespaces"));
    let target = Target { kind: &kind, resource: &resource, namespace: "", subresource: None };
    let refused = check_delete(target, "kube-system").unwrap_err();
    assert_eq!(refused.message, "namespaces \"kube-system\" is forbidden: this namespace may not be deleted");
    assert_eq!(check_delete(target, "kube-node-lease"), Ok(()));
}

#[test]
fn objects_of_other_kinds_need_their_namespace_too() {
    let (kind, resource) =
        (GroupKind::new("example.com", "Thing"), GroupResource::new("example.com", "things"));
    let target = Target { kind: &kind, resource: &resource, namespace: "asb-leaving", subresource: None };
    let mut thing = json!({"metadata": {"name": "a"}});
    let refused = mutate_create(target, &mut thing, &world(), &mut String::new).unwrap_err();
    let why = "unable to create new content in namespace asb-leaving because it is being terminated";
    assert_eq!(refused.message, format!("things.example.com \"a\" is forbidden: {why}"));
}

fn claim(size: &str, phase: &str, class: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "status": {"phase": phase},
           "spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}}})
}

fn grown(old: &Value, size: &str) -> Result<(), Status> {
    let mut world = world();
    world.0.push(
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "elastic"},
                        "allowVolumeExpansion": true}),
    );
    let (kind, resource, namespace) = addressed(old, &home());
    let target = Target { kind: &kind, resource: &resource, namespace: &namespace, subresource: None };
    let mut new = old.clone();
    new["spec"]["resources"]["requests"]["storage"] = size.into();
    check_update(target, &new, old, &world)
}

#[test]
fn claims_grow_where_their_class_can() {
    assert_eq!(grown(&claim("1Gi", "Bound", "elastic"), "2Gi"), Ok(()));
    assert_eq!(grown(&claim("1Gi", "Pending", "standard"), "1024Mi"), Ok(()));
    let message = |old: &Value| grown(old, "2Gi").unwrap_err().message;
    let early =
        "persistentvolumeclaims \"a\" is forbidden: Only bound persistent volume claims can be expanded";
    assert_eq!(message(&claim("1Gi", "Pending", "elastic")), early);
    let rigid = "persistentvolumeclaims \"a\" is forbidden: only dynamically provisioned pvc can be resized and the \
                 storageclass that provisions the pvc must support resize";
    assert_eq!(message(&claim("1Gi", "Bound", "standard")), rigid);
}

#[test]
fn the_newest_default_class_wins() {
    let class = |name: &str, made: &str| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
               "metadata": {"name": name, "creationTimestamp": made,
                            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}})
    };
    let classes =
        [("old", "2024-01-01T00:00:00Z"), ("z", "2025-01-01T00:00:00Z"), ("new", "2025-01-01T00:00:00Z")];
    let world = World(classes.map(|(name, made)| class(name, made)).to_vec());
    let mut object = json!({"metadata": {}, "spec": {}});
    storage::choose_class(&mut object, &world);
    assert_eq!(object["spec"]["storageClassName"], "new");
}

#[test]
fn an_update_keeps_the_priority_that_the_class_gave() {
    let old = json!({"spec": {"priority": 7, "preemptionPolicy": "Never"}});
    let mut new = json!({"spec": {"priority": null}});
    priority::mutate_update(&mut new, &old);
    assert_eq!(new, old);
}

#[test]
fn a_binding_brings_the_zone_of_its_node() {
    let (kind, resource) = (GroupKind::new("", "Pod"), GroupResource::new("", "pods"));
    let namespace = home();
    let target =
        Target { kind: &kind, resource: &resource, namespace: &namespace, subresource: Some("binding") };
    let mut binding = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "asb-zoned"}});
    mutate_create(target, &mut binding, &world(), &mut String::new).unwrap();
    let labels = json!({"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1"});
    assert_eq!(binding["metadata"]["labels"], labels);
}

#[test]
fn hostile_objects_are_refused_or_left_alone() {
    let shapes = [json!("x"), json!([{}]), json!(7), json!({"a": 1})];
    for (kind, shape) in
        REGISTRY.stored().flat_map(|it| shapes.iter().map(move |shape| (it.group_kind(), shape)))
    {
        let object = json!({"apiVersion": crate::identity::api_version(&kind.group, "v1"), "kind": kind.kind,
                            "metadata": {"labels": shape, "annotations": shape, "finalizers": shape},
                            "spec": shape, "status": shape, "endpoints": shape, "secrets": shape});
        let _ = create(&object, &home());
        let nested = json!({"apiVersion": object["apiVersion"], "kind": kind.kind, "metadata": {"name": "a"},
                            "spec": {"containers": shape, "initContainers": shape, "volumes": shape,
                                     "ports": shape, "tolerations": shape, "affinity": shape, "type": "NodePort"}});
        let _ = create(&nested, &home());
        for subresource in [None, Some("status"), Some("finalize")] {
            let change = Change {
                name: String::new(),
                subresource: subresource.map(ToOwned::to_owned),
                old: nested.clone(),
                new: object.clone(),
                stored: Value::Null,
                generation: [0, 0],
            };
            let _ = update(&change);
        }
    }
}

#[test]
fn tolerations_that_others_cover_are_left_out() {
    let short = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
    let long = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9});
    let value = json!({"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"});
    let other = json!({"key": "b", "operator": "Equal", "value": "x"});
    let number = json!({"key": "a", "operator": "Lt", "value": "7"});
    let any = json!({"operator": "Exists"});
    let merged = |first: &[&Value], second: &[&Value]| {
        let owned = |list: &[&Value]| list.iter().map(|value| (*value).clone()).collect::<Vec<_>>();
        toleration::merged(&owned(first), &owned(second))
    };
    assert_eq!(merged(&[&short, &other], &[&long]), [other.clone(), long.clone()]);
    assert_eq!(merged(&[&long, &long], &[&short, &value]), [long.clone(), value.clone()]);
    assert_eq!(merged(&[&number, &other], &[&number]), [number.clone(), other.clone()]);
    assert_eq!(merged(&[&short, &value, &other, &number], &[&any, &long]), [any]);
}

#[test]
fn very_many_tolerations_are_merged_in_little_time() {
    let many: Vec<Value> = (0..50_000)
        .map(|seconds| json!({"key": "a", "operator": "Equal", "value": "x", "tolerationSeconds": seconds}))
        .collect();
    assert_eq!(toleration::merged(&many, &[]).len(), 1);
}
