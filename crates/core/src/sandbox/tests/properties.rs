//! What holds for every Sandbox in every surrounding.

use asb_types::v1beta1::OperatingMode;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::fixtures::{NOON, Object, UID, World, pod, sandbox, seconds_after, service, volume};
use super::super::{Node, Plan};
use crate::write::{Deleting, Kind, Part, Write};

fn any_object(object: Object) -> impl Strategy<Value = Object> {
    let ownership = prop_oneof![
        Just(object.clone().owned()),
        Just(object.clone().owned_through("agents.x-k8s.io/v1alpha1")),
        Just(object.clone().foreign()),
        Just(object.clone().foreign().adoptable()),
        Just(object.clone().adoptable()),
        Just(object.clone().tracked("demo")),
        Just(object),
    ];
    let labels = prop_oneof![
        Just(json!({})),
        Just(json!({"a": "old", "agents.x-k8s.io/warm-pool-sandbox": "1", "agents.x-k8s.io/claim-uid": "2"})),
    ];
    let annotations = prop_oneof![
        Just(json!({})),
        Just(json!({"agents.x-k8s.io/propagated-labels": "a,z,agents.x-k8s.io/sandbox-name-hash"})),
    ];
    (ownership, labels, annotations)
        .prop_map(|(object, labels, annotations)| object.with_labels(labels).with_annotations(annotations))
}

fn any_pod(name: &'static str) -> impl Strategy<Value = Object> {
    let state = prop_oneof![
        Just(pod(name)),
        Just(pod(name).ready()),
        Just(pod(name).in_phase("Failed")),
        Just(pod(name).ready().terminating(seconds_after(NOON, 5), 30)),
        Just(pod(name).ready().terminating(seconds_after(NOON, -500), 30)),
        Just(pod(name).ready().terminating(seconds_after(NOON, -500), 0)),
    ];
    state.prop_flat_map(any_object)
}

fn any_service() -> impl Strategy<Value = Object> {
    let spec = prop_oneof![
        Just(json!({})),
        Just(json!({"clusterIP": "10.0.0.1"})),
        Just(json!({"selector": {"app": "x"}, "ports": [{"port": 1}]})),
    ];
    spec.prop_flat_map(|spec| any_object(service("demo").with(json!({"spec": spec}))))
}

fn any_spec() -> impl Strategy<Value = Value> {
    let service = prop_oneof![Just(json!(null)), Just(json!(true)), Just(json!(false))];
    let end = prop_oneof![
        Just(json!(null)),
        Just(json!("2030-01-01T11:59:00Z")),
        Just(json!("2030-01-01T12:30:00Z"))
    ];
    let mode = prop_oneof![Just("Running"), Just("Suspended")];
    let policy = prop_oneof![Just("Retain"), Just("Delete")];
    let ttl = prop_oneof![Just(json!(null)), Just(json!(0)), Just(json!(3600))];
    (service, end, mode, policy.clone(), policy, ttl).prop_map(
        |(service, end, mode, shutdown, volumes, ttl)| {
            json!({
                "service": service, "shutdownTime": end, "operatingMode": mode, "shutdownPolicy": shutdown,
                "ttlSecondsAfterExpired": ttl, "volumeClaimRetentionPolicy": {"whenDeleted": volumes},
                "podTemplate": {"metadata": {"labels": {"a": "1"}}},
            })
        },
    )
}

fn any_sandbox() -> impl Strategy<Value = World> {
    let owner = prop_oneof![Just(None), Just(Some(Kind::SandboxClaim)), Just(Some(Kind::SandboxWarmPool))];
    let noted = prop_oneof![Just(None), Just(Some("demo")), Just(Some("other")), Just(Some("gone"))];
    (any_spec(), owner, noted, any::<bool>()).prop_map(|(spec, owner, noted, has_twin)| {
        let world = sandbox("demo").with_spec(spec).with_volume_template("a").with_volume_template("b");
        let world = owner.into_iter().fold(world, |world, kind| world.owned_by(kind, "boss"));
        let world = noted.into_iter().fold(world, World::with_pod_name);
        if has_twin { world.with_older_twin("first") } else { world }
    })
}

fn any_world() -> impl Strategy<Value = World> {
    let around = (
        prop::option::of(any_pod("demo")),
        prop::option::of(any_pod("other")),
        prop::option::of(any_service()),
        prop::option::of(any_object(volume("a", "demo"))),
        prop::option::of(any_object(volume("b", "demo"))),
    );
    let node = prop::option::of(prop_oneof![Just(Node::There), Just(Node::Gone), Just(Node::OutOfService)]);
    (any_sandbox(), around, node).prop_map(|(world, (first, second, service, a, b), node)| {
        let found = [first, second, service, a, b].into_iter().flatten();
        let world = found.fold(world, World::having);
        node.into_iter().fold(world, |world, node| world.on_node("node-1", node))
    })
}

/// Pods that were forced away, and an end that was only announced, leave more to do.
fn leaves_more_to_do(plan: &Plan) -> bool {
    let is_force = |write: &Write| matches!(write, Write::Delete { how: Deleting::Force, .. });
    plan.writes().any(is_force) || plan.look_again == Some(NOON)
}

fn find<'a>(world: &'a World, kind: Kind, name: &str) -> &'a Value {
    match kind {
        Kind::Sandbox => &world.sandbox,
        Kind::Pod => world.pods.iter().find(|pod| pod["metadata"]["name"] == name).unwrap(),
        Kind::Service => world.service.as_ref().unwrap(),
        Kind::PersistentVolumeClaim => &world.volumes[name],
        kind => panic!("{kind:?} is none of a Sandbox's business"),
    }
}

fn is_ours(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    object["kind"] == "Sandbox" || owners.is_some_and(|owners| owners[0]["uid"] == UID)
}

/// Nobody's, and labelled for adoption.
fn is_adoptable(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let hash = sandbox("demo").observed().name_hash();
    metadata["ownerReferences"].is_null()
        && (metadata["labels"]["agents.x-k8s.io/adoptable"] == "true"
            || metadata["labels"]["agents.x-k8s.io/sandbox-name-hash"] == hash)
}

proptest! {
    #[test]
    fn a_plan_carried_out_leaves_nothing_to_do(mut world in any_world()) {
        let first = world.settle();
        let second = world.plan();
        if !leaves_more_to_do(&first) {
            prop_assert_eq!(second.writes().collect::<Vec<_>>(), Vec::<&Write>::new());
        }
    }

    #[test]
    fn every_sandbox_comes_to_rest(mut world in any_world()) {
        for _ in 0..4 {
            world.settle();
        }
        prop_assert_eq!(world.settle().writes().count(), 0);
        prop_assert_eq!(world.status().write(&world.observed().sandbox), None);
    }

    #[test]
    fn only_what_is_ours_is_deleted_and_only_what_is_ours_or_adoptable_is_changed(mut world in any_world()) {
        for _ in 0..3 {
            let plan = world.plan();
            for write in plan.writes() {
                let (kind, name) = (write.target().kind, &*write.target().key.name);
                match write {
                    Write::Create { .. } => {}
                    Write::Delete { .. } => prop_assert!(is_ours(find(&world, kind, name))),
                    Write::Patch { .. } => {
                        let object = find(&world, kind, name);
                        prop_assert!(is_ours(object) || is_adoptable(object));
                    }
                }
            }
            world.settle();
        }
    }

    #[test]
    fn a_pod_is_made_only_where_there_is_none(world in any_world()) {
        let observed = world.observed();
        let makes_pod = world.plan().pod.writes.iter().any(|write| matches!(write, Write::Create { .. }));
        if makes_pod {
            prop_assert!(observed.pods.is_empty() && !world.pods.iter().any(|pod| pod["metadata"]["name"] == "demo"));
            prop_assert_eq!(observed.sandbox.operating_mode, OperatingMode::Running);
        }
    }

    #[test]
    fn a_sandbox_is_never_patched_beyond_its_annotations(world in any_world()) {
        for write in world.plan().writes().filter(|write| write.target().kind == Kind::Sandbox) {
            if let Write::Patch { part, body, .. } = write {
                prop_assert_eq!(*part, Part::Object);
                prop_assert_eq!(body.as_object().unwrap().len(), 1);
                prop_assert_eq!(body["metadata"].as_object().unwrap().keys().collect::<Vec<_>>(), ["annotations"]);
            }
        }
    }

    #[test]
    fn the_next_look_is_never_in_the_past(world in any_world()) {
        prop_assert!(world.plan().look_again.is_none_or(|at| at >= NOON));
    }
}
