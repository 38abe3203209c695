//! The Pod of a Sandbox that runs.

use std::sync::Arc;

use serde_json::json;

use super::super::fixtures::{NOON, World, pod, sandbox, seconds_after};
use super::super::{Plan, Refusal, RuntimeDelivery, RuntimeSource, Unfit};
use super::{created, ready, said, summary};
use crate::write::Kind;

#[test]
fn a_sandbox_without_a_pod_gets_one() {
    let world = sandbox("demo")
        .with_template(json!({
            "labels": {"app": "web", "agents.x-k8s.io/sandbox-name-hash": "forged"},
            "annotations": {"team": "blue", "opentelemetry.io/trace-context": "{}"},
        }))
        .with_labels(json!({"agents.x-k8s.io/created-by": "my-fork"}))
        .with_spec(json!({"podTemplate": {"spec": {"volumes": [
            {"name": "scratch", "emptyDir": {}}, {"name": "work", "emptyDir": {}},
        ]}}}))
        .with_volume_template("work");
    insta::assert_yaml_snapshot!(created(&world.plan().pod.writes));
}

#[test]
fn a_pod_without_metadata_and_volumes_is_the_template_as_it_is() {
    insta::assert_yaml_snapshot!(created(&sandbox("demo").plan().pod.writes));
}

#[test]
fn a_pooled_pod_bears_its_pool_and_template() {
    let labels = json!({"agents.x-k8s.io/warm-pool-sandbox": "244dc158",
        "agents.x-k8s.io/sandbox-template-ref-hash": "aeae83fc", "agents.x-k8s.io/sandbox-template-hash": "12345678"});
    let world = sandbox("demo").with_labels(labels).owned_by(Kind::SandboxWarmPool, "my-pool");
    insta::assert_yaml_snapshot!(created(&world.plan().pod.writes)["metadata"]["labels"]);
}

#[test]
fn a_claimed_pod_bears_its_claim_and_template_and_no_pool() {
    let labels = json!({"agents.x-k8s.io/warm-pool-sandbox": "244dc158",
        "agents.x-k8s.io/sandbox-template-ref-hash": "aeae83fc"});
    let world = sandbox("demo").with_labels(labels).owned_by(Kind::SandboxClaim, "mine");
    insta::assert_yaml_snapshot!(created(&world.plan().pod.writes)["metadata"]["labels"]);
}

#[test]
fn labels_of_a_sandbox_that_no_pool_or_claim_owns_stay_off_its_pod() {
    let world = sandbox("demo").with_labels(json!({"agents.x-k8s.io/sandbox-template-ref-hash": "aeae83fc"}));
    let plan = world.plan();
    let labels = &created(&plan.pod.writes)["metadata"]["labels"];
    assert_eq!(labels.as_object().unwrap().len(), 1);
}

#[test]
fn the_name_of_a_new_pod_is_noted_on_the_sandbox() {
    let patch = r#"patch Sandbox demo {"metadata":{"annotations":{"agents.x-k8s.io/pod-name":"demo"}}}"#;
    assert_eq!(summary(&sandbox("demo").plan().pod_name.writes), [patch]);
    assert_eq!(sandbox("demo").with_pod_name("demo").plan().pod_name.writes, []);
}

#[test]
fn a_trace_is_noted_beside_the_name_of_the_pod_unless_the_sandbox_has_one() {
    let traced = |mut world: World| {
        world.trace = Some("{}");
        summary(&world.plan().pod_name.writes)
    };
    let both = r#"patch Sandbox demo {"metadata":{"annotations":{"agents.x-k8s.io/pod-name":"demo","opentelemetry.io/trace-context":"{}"}}}"#;
    assert_eq!(traced(sandbox("demo")), [both]);
    let named = sandbox("demo").with_pod_name("demo");
    let trace = r#"patch Sandbox demo {"metadata":{"annotations":{"opentelemetry.io/trace-context":"{}"}}}"#;
    assert_eq!(traced(named.clone()), [trace]);
    let own = json!({"metadata": {"annotations": {"opentelemetry.io/trace-context": "its own"}}});
    assert_eq!(traced(named.with(own)), [""; 0]);
}

#[test]
fn the_name_of_a_pod_that_is_gone_gives_way_to_that_of_the_new_one() {
    let plan = sandbox("demo").with_pod_name("adopted").plan();
    assert_eq!(summary(&plan.pod.writes), ["create Pod demo"]);
    assert!(summary(&plan.pod_name.writes)[0].contains(r#""demo""#));
}

#[test]
fn ownership_beats_the_annotation() {
    let world =
        sandbox("demo").with_pod_name("other").having(pod("other").foreign()).having(pod("mine").owned());
    let plan = world.plan();
    assert_eq!(plan.pod.writes, []);
    assert!(summary(&plan.pod_name.writes)[0].contains(r#""agents.x-k8s.io/pod-name":"mine""#));
}

#[test]
fn a_pod_that_an_older_version_made_is_known_by_its_uid() {
    let world = sandbox("demo")
        .having(pod("demo").owned_through("agents.x-k8s.io/v1alpha1").tracked("demo").ready())
        .with_pod_name("demo");
    assert_eq!(world.plan().writes().count(), 0);
}

#[test]
fn a_pod_of_another_owner_is_refused_and_its_name_forgotten() {
    let world = sandbox("demo").having(pod("demo").foreign().adoptable()).with_pod_name("demo");
    let message =
        r#"Error seen: pod "demo" is owned by ReplicaSet/web (UID: web-uid), not by sandbox "demo""#;
    assert_eq!(ready(&world), format!("False/ReconcilerError: {message}"));
    let plan = world.plan();
    assert_eq!(plan.pod.writes, []);
    assert!(summary(&plan.pod_name.writes)[0].contains("null"));
}

#[test]
fn an_annotation_that_names_a_pod_of_another_owner_is_out_of_date() {
    let plan = sandbox("demo").having(pod("other").foreign()).with_pod_name("other").plan();
    assert_eq!(summary(&plan.pod.writes), ["create Pod demo"]);
    assert!(summary(&plan.pod_name.writes)[0].contains(r#""demo""#));
}

#[test]
fn an_unowned_pod_without_a_label_is_refused() {
    let world = sandbox("demo").having(pod("demo"));
    assert_eq!(world.plan().writes().count(), 0);
    assert_eq!(
        ready(&world),
        "False/ReconcilerError: Error seen: cannot adopt unowned pod \"demo\": missing required pool authorization \
         label (\"agents.x-k8s.io/adoptable\") or sandbox tracking label (\"agents.x-k8s.io/sandbox-name-hash\")"
    );
    assert_eq!(
        said(&world, "PodScheduled").as_deref(),
        Some("Unknown/PodSchedulingUnknown: Pod state is unknown. Pod scheduling cannot be determined")
    );
}

#[test]
fn an_unowned_pod_is_adopted_if_it_says_so_or_was_made_for_the_sandbox() {
    let bystander = json!({"metadata": {"ownerReferences": [{"kind": "ConfigMap", "uid": "other"}]}});
    for found in [pod("demo").adoptable(), pod("demo").tracked("demo")] {
        let mut world = sandbox("demo").having(found.with(bystander.clone()));
        assert_eq!(world.settle().pod.writes.len(), 1);
        let pod = &world.observed().pods[0];
        assert_eq!(pod.metadata.bystanders.len(), 1);
        assert_eq!(pod.metadata.labels["agents.x-k8s.io/sandbox-name-hash"], world.observed().name_hash());
        assert_eq!(world.plan().writes().count(), 0);
    }
}

#[test]
fn a_pod_on_its_way_out_is_not_adopted() {
    let plan = sandbox("demo").having(pod("demo").adoptable().terminating(NOON, 30)).plan();
    assert_eq!((plan.writes().count(), plan.look_again), (0, Some(seconds_after(NOON, 60))));
}

#[test]
fn an_adoption_fails_if_the_pod_has_changed() {
    let plan = sandbox("demo").having(pod("demo").adoptable()).plan();
    insta::assert_yaml_snapshot!(plan.pod);
}

#[test]
fn a_finished_pod_is_kept_and_not_replaced() {
    for phase in ["Succeeded", "Failed"] {
        let world = sandbox("demo").having(pod("demo").owned().in_phase(phase)).with_pod_name("demo");
        assert_eq!(world.plan().writes().count(), 0);
    }
}

#[test]
fn a_pod_on_its_way_out_is_waited_for() {
    let due = seconds_after(NOON, 20);
    let world =
        sandbox("demo").having(pod("demo").owned().ready().terminating(due, 30)).with_pod_name("demo");
    let plan = world.plan();
    assert_eq!((plan.writes().count(), plan.look_again), (0, Some(due)));
    assert_eq!(ready(&world), "False/DependenciesNotReady: Pod is terminating");
}

#[test]
fn with_several_pods_nothing_is_chosen_made_or_deleted() {
    let world =
        sandbox("demo").with_service(true).having(pod("demo").owned().ready()).having(pod("other").owned());
    let plan = world.plan();
    assert_eq!(plan.writes().count(), 0);
    let message = "multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod";
    assert_eq!(ready(&world), format!("False/MultiplePods: {message}"));
    assert_eq!(world.status().reported.pod_ips, [""; 0]);
    insta::assert_yaml_snapshot!(plan);
}

#[test]
fn several_pods_are_told_of_once() {
    let mut world = sandbox("demo").having(pod("demo").owned()).having(pod("other").owned());
    assert_eq!(world.settle().warnings.len(), 1);
    assert_eq!(world.settle().warnings, []);
}

#[test]
fn a_sandbox_that_is_being_deleted_is_left_to_the_garbage_collector() {
    let deleted = json!({"metadata": {"deletionTimestamp": "2030-01-01T12:00:00Z"}});
    let world = sandbox("demo").with_service(true).with(deleted);
    assert_eq!(world.plan(), Plan::default());
    assert_eq!(world.status().value()["phase"], "Terminating");
}

#[test]
fn a_sandbox_that_asks_for_sandboxd_has_a_pod_with_it() {
    let mut world = sandbox("demo").with_spec(json!({"runtime": {"access": "Open"}}));
    let refused = world.plan();
    assert_eq!(refused.pod.refusal, Some(Refusal::Runtime(Unfit::NoSource)));
    assert!(refused.pod.writes.is_empty());
    let delivery = RuntimeDelivery::ImageVolume;
    let source = RuntimeSource { image: "asb".to_owned(), delivery, public_keys: Vec::new() };
    world.runtime = Some(Arc::new(source));
    let plan = world.plan();
    let pod = created(&plan.pod.writes);
    assert_eq!(pod["spec"]["containers"][0]["command"][0], "/.agent-sandbox/sandboxd");
}
