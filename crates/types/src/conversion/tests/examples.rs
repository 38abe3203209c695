//! Objects with one thing about them, and objects that other implementations stored.

use super::*;

#[test]
fn replicas_and_operating_mode_are_the_same_switch() {
    let stopped = up(&sandbox("v1alpha1", json!({"replicas": 0}), json!({})));
    assert_eq!(stopped["spec"], json!({"operatingMode": "Suspended"}));
    assert_eq!(down(&stopped)["spec"], json!({"replicas": 0}));
    assert_eq!(
        up(&sandbox("v1alpha1", json!({}), json!({})))["spec"],
        json!({}),
        "the API server has defaults"
    );
}

#[test]
fn the_replica_count_follows_the_pod() {
    let count = |status| {
        down(&sandbox("v1beta1", json!({"operatingMode": "Running"}), status))["status"]["replicas"].clone()
    };
    assert_eq!(count(json!({"podIPs": ["10.0.0.7"]})), 1);
    assert_eq!(count(json!({"nodeName": "node-1"})), 1);
    assert_eq!(count(json!({"podIPs": [], "nodeName": ""})), Value::Null);
    assert_eq!(count(json!({"conditions": [{"type": "PodScheduled", "status": "False"}]})), 1);
    assert_eq!(count(json!({"conditions": [{"type": "PodScheduled", "status": "Unknown"}]})), Value::Null);
    assert_eq!(count(json!({"selector": "a=b"})), Value::Null);
}

#[test]
fn a_replica_count_saved_with_one_status_is_not_shown_with_another() {
    let mut stored = up(&sandbox("v1alpha1", json!({"replicas": 1}), json!({"replicas": 1})));
    assert_eq!(down(&stored)["status"]["replicas"], 1);
    stored["status"] = json!({"conditions": [{"type": "Ready", "status": "False"}]});
    assert_eq!(down(&stored)["status"].get("replicas"), None);
}

#[test]
fn claims_by_template_are_claims_on_its_shadow_pool() {
    let by_template = up(&claim("v1alpha1", json!({"sandboxTemplateRef": {"name": "python"}})));
    assert_eq!(by_template["spec"], json!({"warmPoolRef": {"name": "shadow-pool-python"}}));
    assert_eq!(by_template["metadata"]["annotations"], json!({"note": "mine"}), "nothing to save");

    let cold = up(&claim("v1alpha1", json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": "none"})));
    assert_eq!(cold["spec"], json!({"warmPoolRef": {"name": "shadow-pool-python"}}));
    assert_eq!(
        cold["metadata"]["annotations"][v1alpha1_state::CLAIM],
        r#"{"spec":{"sandboxTemplateRef":{"name":"python"},"warmpool":"none"}}"#
    );
}

/// As another implementation stores a v1alpha1 object: all of it, as JSON, in the state annotation.
fn stored_elsewhere(mut v1beta1: Value, key: &str, v1alpha1: &Value) -> Value {
    v1beta1["metadata"]["annotations"][key] = v1alpha1.to_string().into();
    v1beta1
}

#[test]
fn a_claim_stored_with_the_whole_original_shows_that_original() {
    let original = claim("v1alpha1", json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": "pool-a"}));
    let stored = claim("v1beta1", json!({"warmPoolRef": {"name": "pool-a"}}));
    assert_eq!(down(&stored_elsewhere(stored, v1alpha1_state::CLAIM, &original))["spec"], original["spec"]);
}

#[test]
fn a_claim_stored_with_a_pool_guessed_from_its_sandbox_shows_the_template_and_keeps_the_pool() {
    let original =
        claim("v1alpha1", json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": "default"}));
    let mut stored = claim("v1beta1", json!({"warmPoolRef": {"name": "pool-a"}}));
    stored["status"] = json!({"sandbox": {"name": "pool-a-x7k2p"}});
    let stored = stored_elsewhere(stored, v1alpha1_state::CLAIM, &original);
    let shown = down(&stored);
    assert_eq!(shown["spec"], original["spec"]);
    assert_eq!(up(&shown)["spec"], stored["spec"]);
}

#[test]
fn a_sandbox_stored_with_a_frozen_replica_count_shows_the_live_one() {
    let original = sandbox("v1alpha1", json!({"replicas": 1}), json!({"replicas": 0}));
    let live = sandbox(
        "v1beta1",
        json!({"operatingMode": "Running"}),
        json!({"podIPs": ["10.0.0.7"], "nodeName": "node-1"}),
    );
    let shown = down(&stored_elsewhere(live, v1alpha1_state::SANDBOX, &original));
    assert_eq!(shown["status"], json!({"podIPs": ["10.0.0.7"], "replicas": 1}));
    assert_eq!(shown["metadata"]["annotations"].get(v1alpha1_state::SANDBOX), None);
}

#[test]
fn a_template_policy_that_cannot_be_is_refused_by_name() {
    let mut template = object("extensions.agents.x-k8s.io", "v1alpha1", "SandboxTemplate", json!({}), None);
    template["metadata"]["annotations"][v1beta1_state::TEMPLATE_VOLUME_CLAIM_TEMPLATES_POLICY] =
        "Maybe".into();
    let error = convert(template, Version::V1beta1).expect_err("Maybe is no policy");
    insta::assert_snapshot!(error, @r#"annotation api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy is "Maybe"; it must be Disallowed, Allowed or Overrides"#);
}

#[test]
fn malformed_objects_are_refused_and_never_panic() {
    let refusal = |object: Value| convert(object, Version::V1beta1).expect_err("not convertible").to_string();
    insta::assert_snapshot!(refusal(json!(7)), @"cannot convert an object without an apiVersion");
    insta::assert_snapshot!(refusal(json!({"apiVersion": "agents.x-k8s.io/v1alpha1"})), @"cannot convert an object without a kind");
    insta::assert_snapshot!(refusal(json!({"apiVersion": "agents.x-k8s.io/v1alpha1", "kind": "Sandbox", "spec": 7})), @"cannot convert an object whose /spec is not an object");
    insta::assert_snapshot!(refusal(json!({"apiVersion": "v1", "kind": "Pod", "spec": {}})), @"cannot convert Pod of v1: no such kind is served here");
    insta::assert_snapshot!(refusal(json!({"apiVersion": "agents.x-k8s.io/v2", "kind": "Sandbox", "spec": {}})), @"cannot convert from or to agents.x-k8s.io/v2: no such version is served here");
    insta::assert_snapshot!(refusal(json!({"apiVersion": "agents.x-k8s.io/v1alpha1", "kind": "Sandbox", "spec": {}, "metadata": "x"})), @"cannot convert an object whose /metadata is not an object");
}

/// A controller of the old version that takes the Pod away leaves no node behind.
#[test]
fn a_node_goes_with_its_pod() {
    let running = json!({"podIPs": ["10.0.0.7"], "nodeName": "node-1"});
    let mut shown = down(&sandbox("v1beta1", json!({"operatingMode": "Running"}), running));
    shown["status"]["service"] = "demo".into();
    assert_eq!(up(&shown)["status"]["nodeName"], "node-1", "the same Pod");
    shown["status"] = json!({});
    assert_eq!(up(&shown)["status"].get("nodeName"), None);
}

/// Other implementations look for `spec.replicas` in the state.
#[test]
fn a_saved_count_comes_with_the_replicas_that_were_asked_for() {
    let stored = up(&sandbox("v1alpha1", json!({"replicas": 0}), json!({"replicas": 1})));
    let state: Value = serde_json::from_str(
        stored["metadata"]["annotations"][v1alpha1_state::SANDBOX].as_str().expect("a state"),
    )
    .expect("JSON");
    assert_eq!((&state["spec"]["replicas"], &state["status"]["replicas"]), (&json!(0), &json!(1)));
}

#[test]
fn volumes_too_large_for_an_annotation_show_without_them_and_cannot_be_written_over() {
    let volumes: Vec<_> = (0..3000).map(|n| json!({"metadata": {"name": format!("volume-{n}"), "labels": {"pad": "x".repeat(60)}}, "spec": {}})).collect();
    let stored =
        claim("v1beta1", json!({"warmPoolRef": {"name": "pool-a"}, "volumeClaimTemplates": volumes}));
    let shown = down(&stored);
    assert!(
        shown["metadata"]["annotations"].to_string().len() < 1024,
        "it would be refused by the API server"
    );
    let refusal = convert(shown, Version::V1beta1).expect_err("the volumes would be lost").to_string();
    insta::assert_snapshot!(refusal, @"spec.volumeClaimTemplates does not fit this version's view of the object; write the object as v1beta1");
}

#[test]
fn a_claim_moved_to_another_templates_shadow_pool_shows_that_template() {
    let mut stored =
        up(&claim("v1alpha1", json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": "none"})));
    stored["spec"]["warmPoolRef"]["name"] = "shadow-pool-ruby".into();
    assert_eq!(down(&stored)["spec"], json!({"sandboxTemplateRef": {"name": "ruby"}, "warmpool": "default"}));
}

#[test]
fn a_claim_bound_to_a_sandbox_of_its_pools_very_name_is_a_claim_by_template_too() {
    let original = claim("v1alpha1", json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": "none"}));
    let mut stored = claim("v1beta1", json!({"warmPoolRef": {"name": "pool"}}));
    stored["status"] = json!({"sandbox": {"name": "pool"}});
    assert_eq!(down(&stored_elsewhere(stored, v1alpha1_state::CLAIM, &original))["spec"], original["spec"]);
}

/// A claim on a named pool whose Sandbox happens to look like another pool's was edited, not guessed.
#[test]
fn only_claims_by_template_have_guessed_pools() {
    let original = claim("v1alpha1", json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": "pool-b"}));
    let mut stored = claim("v1beta1", json!({"warmPoolRef": {"name": "pool-a"}}));
    stored["status"] = json!({"sandbox": {"name": "pool-a-x7k2p"}});
    let shown = down(&stored_elsewhere(stored, v1alpha1_state::CLAIM, &original));
    assert_eq!(shown["spec"], json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": "pool-a"}));
}

#[test]
fn a_claim_with_an_empty_warmpool_is_one_by_template() {
    let stored = up(&claim("v1alpha1", json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": ""})));
    assert_eq!(stored["spec"]["warmPoolRef"]["name"], "shadow-pool-python");
}

/// Null is how some clients leave a field out.
#[test]
fn nulls_count_as_absent() {
    let mut object = sandbox("v1alpha1", json!({"replicas": null}), Value::Null);
    object["metadata"]["annotations"] = Value::Null;
    let stored = up(&object);
    assert_eq!((&stored["spec"], &stored["status"]), (&json!({}), &Value::Null));
}

#[test]
fn a_map_of_annotations_goes_with_the_last_of_them() {
    let mut object = sandbox("v1alpha1", json!({"replicas": 1}), json!({}));
    object["metadata"]["annotations"] = json!({v1beta1_state::SANDBOX: "{}"});
    assert_eq!(up(&object)["metadata"].get("annotations"), None);
}

/// Annotations as large as the API server takes them, but for so many bytes.
fn full_but_for(mut object: Value, bytes: usize) -> Value {
    object["metadata"]["annotations"] = json!({"note": "x".repeat(256 * 1024 - "note".len() - bytes)});
    object
}

#[test]
fn a_pool_that_cannot_be_carried_cannot_be_written_over() {
    let stored = full_but_for(claim("v1beta1", json!({"warmPoolRef": {"name": "default"}})), 100);
    let refusal =
        convert(down(&stored), Version::V1beta1).expect_err("the pool would become another").to_string();
    insta::assert_snapshot!(refusal, @"spec.warmPoolRef does not fit this version's view of the object; write the object as v1beta1");
}

#[test]
fn a_request_that_cannot_be_saved_is_refused() {
    let cold = claim("v1alpha1", json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": "none"}));
    let refusal =
        convert(full_but_for(cold, 100), Version::V1beta1).expect_err("`none` would be lost").to_string();
    insta::assert_snapshot!(refusal, @"the annotations leave no room for what v1beta1 has no field for; shorten them");
}
