//! What a template needs, case by case.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::report::Failure;
use crate::views::read;

const HASH: &str = "aeae83fc";

fn template(spec: Value) -> TemplateView {
    let mut spec = spec;
    spec["podTemplate"] = json!({"spec": {"containers": []}});
    let metadata = json!({"namespace": "team", "name": "my-template", "uid": "t", "resourceVersion": "1",
        "generation": 3, "labels": {labels::TEMPLATE_REF_HASH: HASH}});
    read(&json!({"metadata": metadata, "spec": spec})).unwrap().unwrap()
}

fn managed() -> TemplateView {
    template(json!({}))
}

fn policy(owner: &str, spec: Value) -> NetworkPolicyView {
    let reference = json!({"apiVersion": "extensions.agents.x-k8s.io/v1alpha1", "kind": "SandboxTemplate",
        "name": "my-template", "uid": owner, "controller": true});
    let metadata = json!({"namespace": "team", "name": "my-template-network-policy", "uid": "n",
        "resourceVersion": "7", "ownerReferences": [reference]});
    read(&json!({"metadata": metadata, "spec": spec})).unwrap().unwrap()
}

fn planned(template: &TemplateView, policy: Option<&NetworkPolicyView>) -> Plan {
    plan(&Observed { template, policy, collision: None })
}

fn stored_spec(template: &TemplateView) -> Value {
    match planned(template, None).writes.pop() {
        Some(Write::Create { object, .. }) => object["spec"].clone(),
        other => panic!("{other:?}"),
    }
}

fn ready(template: &TemplateView, policy: Option<&NetworkPolicyView>, failure: Option<&Failure>) -> String {
    let observed = Observed { template, policy, collision: None };
    match status(&observed, &plan(&observed), failure, Timestamp::UNIX_EPOCH) {
        Some(Write::Patch { body, .. }) => {
            let condition = &body["status"]["conditions"][0];
            assert_eq!(body["status"]["observedGeneration"], 3);
            ["status", "reason", "message"].map(|field| condition[field].as_str().unwrap()).join(" | ")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_pod_is_made_before_the_policy_is_as_the_template_asks() {
    let template = managed();
    assert!(exposure(&template, None).unwrap().contains("\"my-template-network-policy\""));
    let mut spec = stored_spec(&template);
    assert_eq!(exposure(&template, Some(&policy("t", spec.clone()))), None);
    assert!(exposure(&template, Some(&policy("another", spec.clone()))).is_some());
    spec["egress"] = json!([{}]);
    assert!(exposure(&template, Some(&policy("t", spec))).is_some());
}

#[test]
fn whoever_looks_after_the_network_alone_is_not_waited_for() {
    assert_eq!(exposure(&template(json!({"networkPolicyManagement": "Unmanaged"})), None), None);
}

#[test]
fn a_template_gets_a_policy_that_is_secure_by_default() {
    insta::assert_yaml_snapshot!(planned(&managed(), None).writes);
}

#[test]
fn the_template_bears_the_hash_of_its_name() {
    let mut template = managed();
    template.metadata.labels.clear();
    let writes = planned(&template, Some(&policy("t", stored_spec(&managed())))).writes;
    let body = json!({"metadata": {"labels": {labels::TEMPLATE_REF_HASH: HASH}}});
    assert_eq!(writes, [Write::patch(Kind::SandboxTemplate, &template.metadata, body)]);
}

#[test]
fn rules_of_the_template_are_taken_as_they_are() {
    let rules = json!({"networkPolicy": {"egress": [{"ports": [{"port": 443}]}]}});
    let spec = stored_spec(&template(rules.clone()));
    assert_eq!((&spec["egress"], &spec["ingress"]), (&rules["networkPolicy"]["egress"], &Value::Null));
    let nothing = stored_spec(&template(json!({"networkPolicy": {}})));
    assert_eq!((&nothing["egress"], &nothing["policyTypes"]), (&Value::Null, &json!(["Ingress", "Egress"])));
}

#[test]
fn a_policy_that_says_the_same_is_left_alone() {
    let template =
        template(json!({"networkPolicy": {"egress": [{"ports": [{"port": 443}], "to": []}], "ingress": []}}));
    let mut spec = stored_spec(&template);
    spec["egress"] = json!([{"ports": [{"port": 443, "protocol": "TCP"}]}]);
    spec.as_object_mut().unwrap().remove("ingress");
    assert_eq!(planned(&template, Some(&policy("t", spec))).writes, []);
}

#[test]
fn a_policy_that_was_changed_is_corrected() {
    let template = managed();
    let mut spec = stored_spec(&template);
    spec["ingress"] = json!([{}]);
    let existing = policy("t", spec);
    let body = json!({"spec": {"ingress": stored_spec(&template)["ingress"]}});
    assert_eq!(
        planned(&template, Some(&existing)).writes,
        [Write::patch(Kind::NetworkPolicy, &existing.metadata, body)]
    );
}

#[test]
fn a_policy_of_somebody_else_is_neither_changed_nor_deleted() {
    let foreign = policy("other", json!({}));
    assert_eq!(planned(&managed(), Some(&foreign)).writes, []);
    let unmanaged = template(json!({"networkPolicyManagement": "Unmanaged"}));
    assert_eq!(planned(&unmanaged, Some(&foreign)).writes, []);
}

#[test]
fn an_unmanaged_template_withdraws_its_policy() {
    let unmanaged = template(json!({"networkPolicyManagement": "Unmanaged"}));
    let own = policy("t", json!({}));
    let delete = Write::delete(Kind::NetworkPolicy, &own.metadata, Deleting::Background);
    assert_eq!(planned(&unmanaged, Some(&own)).writes, [delete]);
    assert_eq!(planned(&unmanaged, None).writes, []);
}

#[test]
fn a_template_whose_name_has_the_hash_of_an_elder_is_refused() {
    let (younger, own) = (managed(), policy("t", json!({})));
    let plan =
        plan(&Observed { template: &younger, policy: Some(&own), collision: Some("of another's hash") });
    assert!(matches!(plan.verdict, Outlook::Collides(_)));
    assert_eq!(
        plan.writes.last(),
        Some(&Write::delete(Kind::NetworkPolicy, &own.metadata, Deleting::Background))
    );
}

#[test]
fn a_template_that_is_being_deleted_is_left_to_the_garbage_collector() {
    let mut template = managed();
    template.metadata.labels.clear();
    template.metadata.deletion =
        Some(crate::object::Deletion { due: Timestamp::UNIX_EPOCH, grace: jiff::SignedDuration::ZERO });
    assert_eq!(planned(&template, None), Plan { writes: vec![], verdict: Outlook::Gone });
}

#[test]
fn the_status_says_how_the_network_stands() {
    let (foreign, mut dying) = (policy("other", json!({})), policy("t", json!({})));
    dying.metadata.deletion =
        Some(crate::object::Deletion { due: Timestamp::UNIX_EPOCH, grace: jiff::SignedDuration::ZERO });
    let unmanaged = template(json!({"networkPolicyManagement": "Unmanaged"}));
    let (lost, refused) = (Failure::Transient("no answer".into()), Failure::Permanent("no such port".into()));
    insta::assert_snapshot!(
        [
            ready(&managed(), None, None),
            ready(&unmanaged, None, None),
            ready(&managed(), Some(&foreign), None),
            ready(&managed(), Some(&dying), None),
            ready(&managed(), None, Some(&lost)),
            ready(&managed(), None, Some(&refused)),
        ]
        .join("\n")
    );
}

#[test]
fn a_status_that_says_it_already_is_not_written_again() {
    let mut template = managed();
    let observed = Observed { template: &template.clone(), policy: None, collision: None };
    let Some(Write::Patch { body, .. }) = status(&observed, &plan(&observed), None, Timestamp::UNIX_EPOCH)
    else {
        panic!("the first status is due");
    };
    template.status = serde_json::from_value(body["status"].clone()).unwrap();
    let observed = Observed { template: &template, policy: None, collision: None };
    let later = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(1);
    assert_eq!(status(&observed, &plan(&observed), None, later), None);
}
