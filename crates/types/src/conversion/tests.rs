//! Round trips over arbitrary objects, edits through either version, and objects that other implementations stored.

use std::collections::BTreeMap;

use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Version, convert};
use crate::annotations::{v1alpha1_state, v1beta1_state};
use crate::{v1alpha1, v1beta1};

fn up(object: &Value) -> Value {
    convert(object.clone(), Version::V1beta1).expect("converts to v1beta1")
}

fn down(object: &Value) -> Value {
    convert(object.clone(), Version::V1alpha1).expect("converts to v1alpha1")
}

fn object(group: &str, version: &str, kind: &str, spec: Value, status: Option<Value>) -> Value {
    let mut object = json!({
        "apiVersion": format!("{group}/{version}"), "kind": kind,
        "metadata": {"name": "demo", "labels": {"team": "a"}, "annotations": {"note": "mine"}}, "spec": spec,
    });
    if let Some(status) = status {
        object["status"] = status;
    }
    object
}

/// Where somebody may have put something in an object's annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    /// An annotation of the user's own.
    Note,
    /// The state of the kind that v1alpha1 left.
    Alpha,
    /// The state of the kind that v1beta1 left.
    Beta,
}

impl Slot {
    fn key(self, kind: &str) -> &'static str {
        match (self, kind) {
            (Self::Note, _) => "note",
            (Self::Alpha, "Sandbox") => v1alpha1_state::SANDBOX,
            (Self::Alpha, "SandboxClaim") => v1alpha1_state::CLAIM,
            (Self::Alpha, "SandboxTemplate") => v1alpha1_state::TEMPLATE,
            (Self::Alpha, _) => v1alpha1_state::POOL,
            (Self::Beta, "Sandbox") => v1beta1_state::SANDBOX,
            (Self::Beta, "SandboxClaim") => v1beta1_state::CLAIM,
            (Self::Beta, "SandboxTemplate") => v1beta1_state::TEMPLATE_VOLUME_CLAIM_TEMPLATES_POLICY,
            (Self::Beta, _) => v1beta1_state::POOL,
        }
    }
}

type Annotations = BTreeMap<Slot, &'static str>;

/// Nothing at all, a user's own, and states that mean nothing here because another object, an older write or somebody
/// with a grudge left them.
fn annotations() -> impl Strategy<Value = Annotations> {
    let texts = [
        "mine",
        "{}",
        r#"{"spec":{"volumeClaimTemplates":7},"status":{"nodeName":{},"observedGeneration":"x","replicas":-5}}"#,
        r#"{"spec":{"sandboxTemplateRef":{"name":"forged"},"warmPoolRef":{"name":"forged"}}}"#,
        r#"{"status":{"nodeName":"forged","observedGeneration":7,"replicas":1},"podHash":"0","statusHash":"0"}"#,
    ];
    let slots = proptest::sample::select(vec![Slot::Note, Slot::Alpha, Slot::Beta]);
    prop::collection::btree_map(slots, proptest::sample::select(texts.to_vec()), 0..4)
}

/// An object as if somebody had put these annotations on it, and no others.
fn annotated(mut object: Value, annotations: &Annotations) -> Value {
    let kind = object["kind"].as_str().expect("a kind").to_owned();
    let named: serde_json::Map<_, _> =
        annotations.iter().map(|(slot, text)| (slot.key(&kind).to_owned(), json!(text))).collect();
    object["metadata"].as_object_mut().expect("metadata").remove("annotations");
    if !named.is_empty() {
        object["metadata"]["annotations"] = named.into();
    }
    object
}

fn annotation(object: &Value, slot: Slot) -> &Value {
    &object["metadata"]["annotations"][slot.key(object["kind"].as_str().expect("a kind"))]
}

fn claim(version: &str, spec: Value) -> Value {
    object("extensions.agents.x-k8s.io", version, "SandboxClaim", spec, None)
}

fn sandbox(version: &str, spec: Value, status: Value) -> Value {
    object("agents.x-k8s.io", version, "Sandbox", spec, Some(status))
}

/// Fields left unset are absent, as on the wire.
fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    value
}

/// Names that mean something to the conversion, and one that does not.
fn pool_name() -> impl Strategy<Value = String> {
    let telling =
        ["default", "none", "python", "shadow-pool-python", "shadow-pool-", "shadow-pool-default", "pool-a"];
    proptest::sample::select(telling.to_vec()).prop_map(str::to_owned)
}

fn pod_template() -> Value {
    json!({"spec": {"containers": [{"name": "main", "image": "busybox", "futureField": {"kept": [1, null]}}]}, "metadata": {}})
}

prop_compose! {
    fn conditions()(scheduled in of(proptest::sample::select(vec!["True", "False", "Unknown"])), ready in any::<bool>()) -> Value {
        let condition = |kind: &str, status: &str| json!({
            "type": kind, "status": status, "reason": "R", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z",
        });
        let mut list = vec![condition("Ready", if ready { "True" } else { "False" })];
        list.extend(scheduled.map(|status| condition("PodScheduled", status)));
        list.into()
    }
}

prop_compose! {
    fn status(node: bool, replicas: bool)(
        conditions in of(conditions()), ips in any::<bool>(), on in any::<bool>(), counted in any::<bool>(),
    ) -> Value {
        without_nulls(json!({
            "conditions": conditions,
            "podIPs": ips.then(|| json!(["10.0.0.7"])),
            "nodeName": (node && on).then_some("node-1"),
            "replicas": (replicas && counted).then_some(1),
        }))
    }
}

prop_compose! {
    fn beta_sandbox()(mode in prop_oneof!["Running", "Suspended"], status in of(status(true, false))) -> Value {
        let spec = json!({"podTemplate": pod_template(), "shutdownPolicy": "Retain", "operatingMode": mode});
        object("agents.x-k8s.io", "v1beta1", "Sandbox", spec, status)
    }
}

prop_compose! {
    fn alpha_sandbox()(replicas in 0..=1, status in of(status(false, true))) -> Value {
        let spec = json!({"podTemplate": pod_template(), "shutdownPolicy": "Retain", "replicas": replicas});
        object("agents.x-k8s.io", "v1alpha1", "Sandbox", spec, status)
    }
}

prop_compose! {
    fn beta_claim()(pool in pool_name(), volumes in any::<bool>(), bound in of(pool_name())) -> Value {
        let volumes = volumes.then(|| json!([{"metadata": {"name": "work"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]));
        let spec = without_nulls(json!({"warmPoolRef": {"name": pool}, "volumeClaimTemplates": volumes}));
        let status = bound.map(|pool| json!({"sandbox": {"name": format!("{pool}-x7k2p")}}));
        object("extensions.agents.x-k8s.io", "v1beta1", "SandboxClaim", spec, status)
    }
}

prop_compose! {
    fn alpha_claim()(template in pool_name(), warmpool in pool_name(), bound in of(pool_name())) -> Value {
        let spec = json!({"sandboxTemplateRef": {"name": template}, "warmpool": warmpool, "env": [{"name": "A", "value": "1"}]});
        let status = bound.map(|pool| json!({"sandbox": {"name": format!("{pool}-x7k2p")}}));
        object("extensions.agents.x-k8s.io", "v1alpha1", "SandboxClaim", spec, status)
    }
}

prop_compose! {
    fn beta_template()(policy in prop_oneof!["Disallowed", "Allowed", "Overrides"]) -> Value {
        let spec = json!({"podTemplate": pod_template(), "volumeClaimTemplatesPolicy": policy});
        object("extensions.agents.x-k8s.io", "v1beta1", "SandboxTemplate", spec, None)
    }
}

prop_compose! {
    fn beta_pool()(replicas in 0..5, status in of((0..3, of(1..9)))) -> Value {
        let spec = json!({"replicas": replicas, "sandboxTemplateRef": {"name": "python"}});
        let status = status.map(|(ready, observed)| without_nulls(json!({"readyReplicas": ready, "observedGeneration": observed})));
        object("extensions.agents.x-k8s.io", "v1beta1", "SandboxWarmPool", spec, status)
    }
}

fn alpha_template() -> impl Strategy<Value = Value> {
    Just(object(
        "extensions.agents.x-k8s.io",
        "v1alpha1",
        "SandboxTemplate",
        json!({"podTemplate": pod_template()}),
        None,
    ))
}

fn alpha_pool() -> impl Strategy<Value = Value> {
    (0..5).prop_map(|replicas| {
        let spec = json!({"replicas": replicas, "sandboxTemplateRef": {"name": "python"}});
        object(
            "extensions.agents.x-k8s.io",
            "v1alpha1",
            "SandboxWarmPool",
            spec,
            Some(json!({"replicas": replicas})),
        )
    })
}

fn beta() -> impl Strategy<Value = Value> {
    prop_oneof![beta_sandbox(), beta_claim(), beta_template(), beta_pool()]
}

fn alpha() -> impl Strategy<Value = Value> {
    prop_oneof![alpha_sandbox(), alpha_claim(), alpha_template(), alpha_pool()]
}

/// Whether an object can be read as the Rust type of its kind and version.
fn is_well_typed(object: &Value) -> bool {
    let object = object.clone();
    match (
        object["kind"].as_str(),
        object["apiVersion"].as_str().is_some_and(|version| version.ends_with("v1beta1")),
    ) {
        (Some("Sandbox"), true) => serde_json::from_value::<v1beta1::Sandbox>(object).is_ok(),
        (Some("Sandbox"), false) => serde_json::from_value::<v1alpha1::Sandbox>(object).is_ok(),
        (Some("SandboxClaim"), true) => serde_json::from_value::<v1beta1::SandboxClaim>(object).is_ok(),
        (Some("SandboxClaim"), false) => serde_json::from_value::<v1alpha1::SandboxClaim>(object).is_ok(),
        (Some("SandboxTemplate"), true) => serde_json::from_value::<v1beta1::SandboxTemplate>(object).is_ok(),
        (Some("SandboxTemplate"), false) => {
            serde_json::from_value::<v1alpha1::SandboxTemplate>(object).is_ok()
        }
        (_, true) => serde_json::from_value::<v1beta1::SandboxWarmPool>(object).is_ok(),
        (_, false) => serde_json::from_value::<v1alpha1::SandboxWarmPool>(object).is_ok(),
    }
}

proptest! {
    #[test]
    fn what_v1beta1_says_survives_v1alpha1(object in beta()) {
        prop_assert_eq!(up(&down(&object)), object);
    }

    #[test]
    fn what_v1alpha1_says_survives_v1beta1(object in alpha()) {
        prop_assert_eq!(down(&up(&object)), object);
    }

    #[test]
    fn reading_v1beta1_as_v1alpha1_never_fails_whatever_its_annotations(object in beta(), annotations in annotations()) {
        let stored = annotated(object, &annotations);
        let shown = down(&stored);
        prop_assert!(is_well_typed(&shown), "{}", shown);
        prop_assert_eq!(annotation(&shown, Slot::Note), annotation(&stored, Slot::Note));
        prop_assert_eq!(annotation(&shown, Slot::Alpha), &Value::Null);
    }

    #[test]
    fn writing_through_v1alpha1_is_refused_or_gives_a_sound_object(object in alpha(), annotations in annotations()) {
        let written = annotated(object, &annotations);
        if let Ok(stored) = convert(written.clone(), Version::V1beta1) {
            prop_assert!(is_well_typed(&stored), "{}", stored);
            prop_assert_eq!(annotation(&stored, Slot::Note), annotation(&written, Slot::Note));
            prop_assert_eq!(annotation(&stored, Slot::Beta), &Value::Null);
        }
    }

    #[test]
    fn states_that_no_conversion_of_this_object_left_change_nothing(object in beta(), annotations in annotations()) {
        let (with, without) = (up(&down(&annotated(object.clone(), &annotations))), up(&down(&object)));
        prop_assert_eq!(&with["status"], &without["status"]);
        prop_assert_eq!(&with["spec"], &without["spec"]);
    }

    #[test]
    fn a_writer_of_v1alpha1_does_not_get_to_write_its_saved_state(object in alpha(), text in annotations()) {
        let state = text.into_iter().filter(|(slot, _)| *slot == Slot::Alpha).collect();
        let (with, without) = (up(&annotated(object.clone(), &state)), up(&annotated(object, &BTreeMap::new())));
        prop_assert_eq!(with, without);
    }

    #[test]
    fn an_object_that_is_not_whole_gains_nothing(object in prop_oneof![beta(), alpha()], spec in any::<bool>()) {
        let mut object = object;
        if spec { object["spec"] = json!({}); } else { object.as_object_mut().expect("an object").remove("spec"); }
        let to = if object["apiVersion"].as_str().is_some_and(|it| it.ends_with("v1beta1")) { Version::V1alpha1 } else { Version::V1beta1 };
        let converted = convert(object.clone(), to).expect("converts");
        let gained = converted.get("spec").and_then(Value::as_object).map_or(0, serde_json::Map::len);
        let policy = usize::from(spec && object["kind"] == "SandboxTemplate" && to == Version::V1beta1);
        prop_assert_eq!(gained, policy, "{}", converted);
    }

    #[test]
    fn a_pool_edited_through_v1beta1_is_the_pool_that_counts(stored in alpha_claim(), pool in pool_name()) {
        let mut edited = up(&stored);
        edited["spec"]["warmPoolRef"]["name"] = pool.as_str().into();
        prop_assert_eq!(&up(&down(&edited))["spec"], &edited["spec"]);
    }

    #[test]
    fn a_request_edited_through_v1alpha1_is_the_request_that_counts(stored in beta_claim(), request in alpha_claim()) {
        let mut edited = down(&stored);
        for field in ["sandboxTemplateRef", "warmpool"] {
            edited["spec"][field] = request["spec"][field].clone();
        }
        prop_assert_eq!(&down(&up(&edited))["spec"], &edited["spec"]);
    }
}

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
