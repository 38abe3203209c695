//! How a Pod's labels and annotations follow its Sandbox.

use jiff::SignedDuration;
use serde_json::json;

use super::super::fixtures::{NOON, World, pod, sandbox, seconds_after};
use super::summary;
use crate::write::Kind;

fn with_pod(world: World, labels: serde_json::Value, annotations: serde_json::Value) -> World {
    let found = pod("demo").owned().with_labels(labels).with_annotations(annotations);
    world.having(found).with_pod_name("demo")
}

fn patch(world: &World) -> serde_json::Value {
    match &world.plan().pod.writes[..] {
        [crate::write::Write::Patch { body, .. }] => body["metadata"].clone(),
        other => panic!("one patch was expected, not {other:?}"),
    }
}

#[test]
fn a_new_label_reaches_the_pod_and_is_noted() {
    let world = with_pod(
        sandbox("demo").with_template(json!({"labels": {"b": "2", "a": "1"}})),
        json!({"a": "0"}),
        json!({}),
    );
    let expected =
        json!({"labels": {"a": "1", "b": "2"}, "annotations": {"agents.x-k8s.io/propagated-labels": "a,b"}});
    assert_eq!(patch(&world), expected);
}

#[test]
fn a_label_that_is_no_longer_asked_for_goes_and_others_stay() {
    let noted = json!({"agents.x-k8s.io/propagated-labels": "gone,never-there"});
    let world = with_pod(sandbox("demo"), json!({"gone": "1", "somebodys": "2"}), noted);
    let expected =
        json!({"labels": {"gone": null}, "annotations": {"agents.x-k8s.io/propagated-labels": ""}});
    assert_eq!(patch(&world), expected);
}

#[test]
fn annotations_follow_in_the_same_patch() {
    let noted = json!({"old": "1", "agents.x-k8s.io/propagated-annotations": "old"});
    let world =
        with_pod(sandbox("demo").with_template(json!({"annotations": {"new": "2"}})), json!({}), noted);
    let expected =
        json!({"annotations": {"old": null, "new": "2", "agents.x-k8s.io/propagated-annotations": "new"}});
    assert_eq!(patch(&world), expected);
}

#[test]
fn system_keys_that_were_once_propagated_are_scrubbed() {
    let noted = json!({
        "agents.x-k8s.io/propagated-labels": "agents.x-k8s.io/sandbox-name-hash,agents.x-k8s.io/sandbox-template-hash",
        "agents.x-k8s.io/propagated-annotations": "agents.x-k8s.io/propagated-labels,opentelemetry.io/trace-context",
        "opentelemetry.io/trace-context": "{}",
    });
    let world = with_pod(sandbox("demo"), json!({"agents.x-k8s.io/sandbox-template-hash": "1"}), noted);
    let expected = json!({
        "labels": {"agents.x-k8s.io/sandbox-template-hash": null},
        "annotations": {"opentelemetry.io/trace-context": null, "agents.x-k8s.io/propagated-labels": "",
            "agents.x-k8s.io/propagated-annotations": ""},
    });
    assert_eq!(patch(&world), expected);
}

#[test]
fn a_pod_leaves_its_pool_when_a_claim_takes_the_sandbox() {
    let labels = json!({"agents.x-k8s.io/warm-pool-sandbox": "244dc158",
        "agents.x-k8s.io/sandbox-template-ref-hash": "aeae83fc"});
    let claimed = sandbox("demo")
        .owned_by(Kind::SandboxClaim, "mine")
        .with_labels(json!({"agents.x-k8s.io/sandbox-template-ref-hash": "aeae83fc",
            "agents.x-k8s.io/created-by": "python-client"}));
    let expected = json!({"labels": {"agents.x-k8s.io/warm-pool-sandbox": null,
        "agents.x-k8s.io/claim-uid": "mine-uid", "agents.x-k8s.io/created-by": "python-client"}});
    assert_eq!(patch(&with_pod(claimed, labels, json!({}))), expected);
}

#[test]
fn a_label_by_which_the_pod_is_found_is_restored() {
    let world = with_pod(sandbox("demo"), json!({"agents.x-k8s.io/sandbox-name-hash": "forged"}), json!({}));
    let expected = json!({"labels": {"agents.x-k8s.io/sandbox-name-hash": world.observed().name_hash()}});
    assert_eq!(patch(&world), expected);
}

#[test]
fn an_empty_note_is_worth_no_write() {
    assert_eq!(with_pod(sandbox("demo"), json!({}), json!({})).plan().writes().count(), 0);
}

#[test]
fn changes_are_gathered_for_as_long_as_is_set() {
    let mut world =
        with_pod(sandbox("demo").with_template(json!({"labels": {"a": "1"}})), json!({}), json!({}));
    world.write_behind = SignedDuration::from_secs(2);
    let plan = world.plan();
    assert_eq!(plan.writes().count(), 0);
    assert_eq!((plan.pod.put_off_since, plan.look_again), (Some(NOON), Some(seconds_after(NOON, 2))));

    world.memory.put_off_since = Some(seconds_after(NOON, -2));
    assert_eq!(summary(&world.plan().pod.writes).len(), 1);

    world.memory.put_off_since = Some(seconds_after(NOON, 86_400));
    assert_eq!(world.plan().look_again, Some(seconds_after(NOON, 2)), "the clock was set back");
}
