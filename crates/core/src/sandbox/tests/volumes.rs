//! The volumes of a Sandbox.

use serde_json::json;

use super::super::fixtures::{World, sandbox, volume};
use super::{created, ready, summary};

fn retaining(world: World) -> World {
    world.with_spec(json!({"volumeClaimRetentionPolicy": {"whenDeleted": "Retain"}}))
}

#[test]
fn every_template_makes_a_claim() {
    let template = json!([{"metadata": {"name": "work", "labels": {"tier": "fast"}, "annotations": {"note": "x"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]);
    let world = sandbox("demo").with_spec(json!({"volumeClaimTemplates": template}));
    insta::assert_yaml_snapshot!(created(&world.plan().volumes.writes));
}

#[test]
fn volumes_are_made_for_a_suspended_sandbox_too() {
    let plan = sandbox("demo").suspended().with_volume_template("a").with_volume_template("b").plan();
    let expected = ["create PersistentVolumeClaim a-demo", "create PersistentVolumeClaim b-demo"];
    assert_eq!(summary(&plan.volumes.writes), expected);
}

#[test]
fn a_volume_that_is_owned_is_left_alone() {
    let bare = volume("work", "demo").owned_through("agents.x-k8s.io/v1alpha1");
    assert_eq!(sandbox("demo").with_volume_template("work").having(bare).plan().volumes.writes, []);
}

#[test]
fn two_templates_of_one_name_make_one_claim() {
    let plan = sandbox("demo").with_volume_template("a").with_volume_template("a").plan();
    assert_eq!(plan.volumes.writes.len(), 1);
}

#[test]
fn an_unowned_volume_is_adopted_if_it_says_so_or_was_made_for_the_sandbox() {
    for found in [volume("work", "demo").adoptable(), volume("work", "demo").tracked("demo")] {
        let mut world = sandbox("demo").with_volume_template("work").having(found);
        assert_eq!(world.settle().volumes.writes.len(), 1);
        assert!(world.observed().volumes["work-demo"].metadata.is_owned_by(&"sandbox-uid".into()));
    }
}

#[test]
fn the_first_volume_that_is_refused_ends_the_step_and_nothing_else() {
    let world = sandbox("demo")
        .with_volume_template("a")
        .with_volume_template("b")
        .with_volume_template("c")
        .having(volume("b", "demo").foreign());
    let plan = world.plan();
    assert_eq!(summary(&plan.volumes.writes), ["create PersistentVolumeClaim a-demo"]);
    assert_eq!(plan.pod.writes.len(), 1);
    let message = r#"PVC "b-demo" is owned by ReplicaSet/web (UID: web-uid), not by sandbox "demo""#;
    assert_eq!(ready(&world), format!("False/ReconcilerError: Error seen: {message}"));
}

#[test]
fn an_unowned_volume_without_a_label_is_refused() {
    let world = sandbox("demo").with_volume_template("work").having(volume("work", "demo")).with_ready_pod();
    assert_eq!(
        ready(&world),
        "False/ReconcilerError: Error seen: cannot adopt unowned PVC \"work-demo\": missing required pool \
         authorization label (\"agents.x-k8s.io/adoptable\") or sandbox tracking label \
         (\"agents.x-k8s.io/sandbox-name-hash\")"
    );
}

#[test]
fn a_volume_that_is_to_be_kept_has_no_owner() {
    let world = retaining(sandbox("demo").with_volume_template("work"));
    insta::assert_yaml_snapshot!(created(&world.plan().volumes.writes)["metadata"]);
}

#[test]
fn a_change_of_mind_about_keeping_a_volume_moves_the_owner() {
    let mut world = sandbox("demo").with_volume_template("work");
    let is_owned = |world: &World| world.observed().volumes["work-demo"].metadata.owner.is_some();
    world.settle();
    assert!(is_owned(&world));
    world = retaining(world);
    world.settle();
    assert!(!is_owned(&world));
    world = world.with_spec(json!({"volumeClaimRetentionPolicy": null}));
    world.settle();
    assert!(is_owned(&world));
}

#[test]
fn a_volume_given_back_is_labelled_for_the_next_sandbox_of_the_name() {
    let bare = volume("work", "demo").owned_through("agents.x-k8s.io/v1beta1");
    let mut world = retaining(sandbox("demo").with_volume_template("work").having(bare));
    world.settle();
    let volume = world.observed().volumes["work-demo"].metadata.clone();
    assert_eq!((volume.owner, volume.labels.len()), (None, 1));
    assert_eq!(world.plan().volumes.writes, []);
}

#[test]
fn an_adoptable_volume_that_is_to_be_kept_is_labelled_and_not_owned() {
    let found = volume("work", "demo").adoptable();
    let mut world = retaining(sandbox("demo").with_volume_template("work").having(found));
    world.settle();
    assert_eq!(world.observed().volumes["work-demo"].metadata.owner, None);
    assert_eq!(world.plan().volumes.writes, []);
}
