//! The way of an object from the wire to the store, next to what the real server did with the same.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::defaults;
use crate::strategy::world::{World, kind_of};
use crate::strategy::{self, facts};

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

fn world() -> World {
    World::parse(include_str!("cases/world.yaml"))
}

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

/// The resource and namespace of a write, and the kind as the rest of the code names it.
fn addressed(object: &Value, namespace: &str) -> (GroupKind, GroupResource, String) {
    let kind = kind_of(object);
    let facts = facts(&kind).unwrap();
    let namespace = if facts.namespaced { namespace.to_owned() } else { String::new() };
    (kind, GroupResource::new(facts.group, facts.resource), namespace)
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
    if asked["spec"]["clusterIP"].is_null() && object["spec"]["clusterIP"].is_string() {
        object["spec"]["clusterIP"] = "chosen".into();
        object["spec"]["clusterIPs"] = json!(["chosen"]);
    }
    let asked = asked.to_string();
    let was_chosen = |port: &Value| port.is_number() && !asked.contains(&port.to_string());
    for port in fields::list_mut(&mut object, "/spec/ports") {
        if was_chosen(&port["nodePort"].clone()) {
            port["nodePort"] = "chosen".into();
        } else if port["nodePort"].is_null() {
            fields::remove(port, "/nodePort");
        }
    }
    if fields::said(&object, "/spec/healthCheckNodePort").is_some_and(was_chosen) {
        fields::set(&mut object, "/spec/healthCheckNodePort", "chosen");
    }
    fields::remove(&mut object, "/metadata/generation");
    object
}

fn created_as_recorded(cases: &str) {
    let cases: Vec<Creation> = serde_saphyr::from_str(cases).unwrap();
    for case in cases {
        let result = create(&case.input, &case.namespace);
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
