//! Round trips over arbitrary objects, and edits through either version.

use std::collections::BTreeMap;

use proptest::option::of;
use proptest::prelude::*;

use super::ours::with_our_fields;
use super::*;
use crate::{v1alpha1, v1beta1};

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
    fn beta_template()(policy in prop_oneof!["Disallowed", "Allowed", "Overrides"], seen in any::<bool>()) -> Value {
        let spec = json!({"podTemplate": pod_template(), "volumeClaimTemplatesPolicy": policy});
        object("extensions.agents.x-k8s.io", "v1beta1", "SandboxTemplate", spec, seen.then(|| json!({})))
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
    any::<bool>().prop_map(|seen| {
        let spec = json!({"podTemplate": pod_template()});
        object("extensions.agents.x-k8s.io", "v1alpha1", "SandboxTemplate", spec, seen.then(|| json!({})))
    })
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
    perhaps_with_ours(prop_oneof![beta_sandbox(), beta_claim(), beta_template(), beta_pool()])
}

fn alpha() -> impl Strategy<Value = Value> {
    perhaps_with_ours(prop_oneof![alpha_sandbox(), alpha_claim(), alpha_template(), alpha_pool()])
}

fn perhaps_with_ours(objects: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    (objects, any::<bool>()).prop_map(|(object, ours)| if ours { with_our_fields(object) } else { object })
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
