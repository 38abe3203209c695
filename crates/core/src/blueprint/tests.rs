//! Sandboxes of templates, and whether they are still what their template says.

use serde_json::{Value, json};

use super::*;
use crate::views::read;

fn template(spec: Value) -> TemplateView {
    let metadata = json!({"namespace": "team", "name": "python", "uid": "t", "resourceVersion": "1"});
    read(&json!({"metadata": metadata, "spec": spec})).unwrap().unwrap()
}

fn simple() -> Value {
    json!({"podTemplate": {
        "metadata": {"labels": {"app": "agent"}, "annotations": {"note": "kept"}},
        "spec": {"containers": [{"name": "main", "image": "python", "resources": {"limits": {"cpu": "500m"}}}]},
    }})
}

fn pool() -> crate::object::Metadata {
    let metadata = json!({"namespace": "team", "name": "my-pool", "uid": "p", "resourceVersion": "1"});
    crate::object::Metadata::read(&json!({"metadata": metadata})).unwrap()
}

fn stored(object: &Value) -> SandboxView {
    let mut object = object.clone();
    object["metadata"]["uid"] = "s".into();
    object["metadata"]["resourceVersion"] = "2".into();
    read(&object).unwrap().unwrap()
}

fn member_of(spec: Value) -> Value {
    Blueprint::of(&template(spec)).member(&pool(), "my-pool-x2z4b", Eviction::Safe)
}

#[test]
fn a_member_of_a_pool_bears_everything_from_the_start() {
    insta::assert_yaml_snapshot!(member_of(simple()));
}

#[test]
fn a_member_has_the_volumes_and_the_service_of_the_template() {
    let mut spec = simple();
    spec["service"] = true.into();
    spec["runtime"] = json!({"access": "Open"});
    spec["volumeClaimTemplates"] =
        json!([{"metadata": {"name": "work"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]);
    let member = member_of(spec.clone());
    assert_eq!(member["spec"]["service"], true);
    assert_eq!(member["spec"]["runtime"], json!({"access": "Open"}));
    assert_eq!(member["spec"]["volumeClaimTemplates"], spec["volumeClaimTemplates"]);
}

/// Those of members hold nothing of anybody; a claim that takes one over asks for it then.
#[test]
fn a_member_does_not_retain_its_volumes_and_is_none_the_staler_for_it() {
    let mut retaining = simple();
    retaining["volumeClaimRetentionPolicy"] = json!({"whenDeleted": "Retain"});
    let member = member_of(retaining.clone());
    assert_eq!(member, member_of(simple()));
    assert!(Blueprint::of(&template(retaining)).is_fresh(&stored(&member)));
}

#[test]
fn what_a_template_says_about_eviction_counts() {
    let mut spec = simple();
    let safe = |spec: Value, eviction| {
        let member = Blueprint::of(&template(spec)).member(&pool(), "m", eviction);
        member["spec"]["podTemplate"]["metadata"]["annotations"][annotations::SAFE_TO_EVICT].clone()
    };
    assert_eq!(safe(spec.clone(), Eviction::Safe), "true");
    assert_eq!(safe(spec.clone(), Eviction::Unsaid), Value::Null);
    spec["podTemplate"]["metadata"]["annotations"] = json!({annotations::SAFE_TO_EVICT: "false"});
    assert_eq!(safe(spec, Eviction::Safe), "false");
}

#[test]
fn the_secure_defaults_fill_only_what_is_unsaid() {
    let secured = |changes: &[(&str, Value)]| {
        let mut spec = simple();
        for (pointer, value) in changes {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            spec.pointer_mut(parent).unwrap()[field] = value.clone();
        }
        let pod = Blueprint::of(&template(spec)).pod_spec;
        json!([pod["automountServiceAccountToken"], pod["dnsPolicy"], pod["dnsConfig"]["nameservers"]])
    };
    let public = json!(["8.8.8.8", "1.1.1.1"]);
    let custom = json!({"nameservers": ["10.0.0.1"]});
    assert_eq!(secured(&[]), json!([false, "None", public]));
    assert_eq!(secured(&[("/podTemplate/spec/dnsConfig", custom)]), json!([false, "None", public]));
    assert_eq!(
        secured(&[("/podTemplate/spec/dnsPolicy", json!("Default"))]),
        json!([false, "Default", null])
    );
    assert_eq!(secured(&[("/networkPolicy", json!({}))]), json!([false, null, null]));
    assert_eq!(secured(&[("/networkPolicyManagement", json!("Unmanaged"))]), json!([false, null, null]));
    let mounted = [("/podTemplate/spec/automountServiceAccountToken", json!(true))];
    assert_eq!(secured(&mounted), json!([true, "None", public]));
}

#[test]
fn a_member_is_fresh_until_its_template_changes_in_substance() {
    let made = stored(&member_of(simple()));
    let fresh = |change: fn(&mut Value)| {
        let mut spec = simple();
        change(&mut spec);
        Blueprint::of(&template(spec)).is_fresh(&made)
    };
    assert!(fresh(|_| {}));
    assert!(fresh(|spec| spec["podTemplate"]["metadata"] = json!({})), "metadata does not count");
    assert!(fresh(
        |spec| spec["podTemplate"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!(0.5)
    ));
    assert!(!fresh(|spec| spec["podTemplate"]["spec"]["containers"][0]["image"] = "node".into()));
    assert!(!fresh(|spec| spec["service"] = false.into()));
    assert!(!fresh(|spec| spec["runtime"] = json!({})), "it has no sandboxd");
    assert!(!fresh(|spec| spec["networkPolicy"] = json!({})), "it has another DNS");
    let volumes = json!([{"metadata": {"name": "work"}, "spec": {}}]);
    assert!(
        !Blueprint::of(&template(
            json!({"podTemplate": simple()["podTemplate"], "volumeClaimTemplates": volumes})
        ))
        .same(&made)
    );
}

/// A cluster that another implementation ran is taken over without making every pool anew.
#[test]
fn a_hash_of_another_implementation_does_not_make_a_member_stale() {
    let mut member = member_of(simple());
    member["metadata"]["labels"][labels::TEMPLATE_HASH] = "deadbeef".into();
    member["spec"]["podTemplate"]["spec"]["containers"][0]["tty"] = false.into();
    let template = template(simple());
    assert!(Blueprint::of(&template).is_fresh(&stored(&member)));
    member["metadata"]["labels"][labels::TEMPLATE_REF_HASH] = "deadbeef".into();
    assert!(!Blueprint::of(&template).is_fresh(&stored(&member)), "it is of another template");
}

#[test]
fn the_hashes_tell_templates_apart() {
    let mut other = simple();
    other["podTemplate"]["metadata"]["labels"]["app"] = "other".into();
    let (one, other) = (template(simple()), template(other));
    let (one, other) = (Blueprint::of(&one), Blueprint::of(&other));
    assert_eq!((one.ref_hash(), one.hash()), (other.ref_hash(), other.hash()));
    assert_ne!(one.pod_template_hash(), other.pod_template_hash());
}
