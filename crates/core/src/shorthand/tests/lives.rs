//! How the two objects live and die together.

use super::*;

/// The claim with its counterpart, and the status that follows.
fn settled() -> (Value, Value) {
    let mut short = claim();
    let other = created(&planned(&short, &[]).writes, Kind::SandboxClaim);
    short["status"] = told(&short, &[&other]).expect("the first status is due");
    (short, other)
}

fn ready(generation: i64) -> Value {
    json!({"type": "Ready", "status": "True", "reason": "DependenciesReady", "message": "", "observedGeneration": generation,
        "lastTransitionTime": "2030-01-01T00:00:00Z"})
}

#[test]
fn a_claim_is_made_under_the_same_name_and_labels_and_belongs_to_the_short_one() {
    let plan = planned(&claim(), &[]);
    assert_eq!(plan.outlook, Outlook::Changing);
    insta::assert_yaml_snapshot!(plan.writes);
}

#[test]
fn a_pool_that_brings_its_template_gets_both_the_template_first() {
    let writes = planned(&pool(inline()), &[]).writes;
    let made: Vec<_> = writes.iter().map(|write| write.target().kind).collect();
    assert_eq!(made, [Kind::SandboxTemplate, Kind::SandboxWarmPool]);
    assert_eq!(created(&writes, Kind::SandboxWarmPool)["spec"]["sandboxTemplateRef"]["name"], "pool");
}

#[test]
fn a_pool_that_names_a_template_instead_loses_its_own_after_it_has_moved() {
    let writes = planned(&pool(inline()), &[]).writes;
    let others = [Kind::SandboxTemplate, Kind::SandboxWarmPool].map(|kind| created(&writes, kind));
    let writes = planned(&pool(json!("python")), &[&others[0], &others[1]]).writes;
    assert!(matches!(&writes[0], Write::Patch { target, .. } if target.kind == Kind::SandboxWarmPool));
    assert!(matches!(&writes[1], Write::Delete { target, .. } if target.kind == Kind::SandboxTemplate));
}

#[test]
fn somebody_elses_object_of_the_name_is_not_touched_and_said_to_be_in_the_way() {
    let mut foreign = created(&planned(&claim(), &[]).writes, Kind::SandboxClaim);
    foreign["metadata"]["ownerReferences"] = Value::Null;
    assert_eq!(planned(&claim(), &[&foreign]).writes, []);
    let status = told(&claim(), &[&foreign]).unwrap();
    assert_eq!((&status["phase"], &status["canonicalUID"]), (&json!("Failed"), &Value::Null));
    insta::assert_yaml_snapshot!(status["conditions"][0]);
}

#[test]
fn somebody_elses_template_keeps_a_pool_from_bringing_its_own() {
    let foreign = json!({"kind": "SandboxTemplate", "metadata": {"namespace": "team", "name": "pool", "uid": "t",
        "resourceVersion": "1"}, "spec": {"podTemplate": {"spec": {"containers": []}}}});
    let plan = planned(&pool(inline()), &[&foreign]);
    assert!(matches!(plan.outlook, Outlook::Taken(_)) && plan.writes.is_empty(), "{plan:?}");
}

#[test]
fn what_was_settled_stays_untouched() {
    let (short, other) = settled();
    assert_eq!(planned(&short, &[&other]), Plan::nothing(Outlook::Following));
    assert_eq!(told(&short, &[&other]), None);
}

#[test]
fn an_edit_of_the_short_one_is_passed_on_with_what_is_no_longer_there() {
    let (mut short, other) = settled();
    short["spec"] = json!({"template": "go", "env": [{"name": "A", "value": "1"}]});
    short["metadata"]["labels"] = json!({"task-id": "8"});
    short["metadata"]["annotations"] = json!({});
    short["metadata"]["generation"] = json!(4);
    let plan = planned(&short, &[&other]);
    assert_eq!(plan.event, None);
    insta::assert_yaml_snapshot!(plan.writes);
}

#[test]
fn a_change_of_the_others_spec_is_put_back_and_told() {
    let (mut short, mut other) = settled();
    short["status"]["conditions"] = json!([ready(3)]);
    other["spec"]["warmPoolRef"]["name"] = json!("elsewhere");
    other["metadata"]["labels"]["theirs"] = json!("stays");
    let plan = planned(&short, &[&other]);
    let [Write::Patch { body, .. }] = &plan.writes[..] else { panic!("{plan:?}") };
    assert_eq!(*body, json!({"spec": {"warmPoolRef": {"name": "shadow-pool-python"}}}));
    insta::assert_snapshot!(plan.event.unwrap().note, @r#"its spec is what SandboxClaim.agents.x-k8s.io "mine" says; change that one"#);
}

#[test]
fn who_deletes_the_other_deletes_both() {
    let (short, other) = settled();
    let mut going = other.clone();
    going["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
    assert_eq!(planned(&short, &[&going]), Plan::nothing(Outlook::Following));
    let plan = planned(&short, &[]);
    assert_eq!(plan.outlook, Outlook::Abandoned);
    let [Write::Delete { target, uid, version, .. }] = &plan.writes[..] else { panic!("{plan:?}") };
    assert_eq!((target.kind, uid.as_str(), version.unwrap().0), (Kind::ShorthandClaim, "short", 5));
}

#[test]
fn what_is_being_deleted_is_left_to_the_garbage_collector() {
    let (mut short, other) = settled();
    short["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
    assert_eq!(planned(&short, &[&other]), Plan::nothing(Outlook::Gone));
    assert_eq!(planned(&short, &[]), Plan::nothing(Outlook::Gone));
}

#[test]
fn the_status_is_the_others_seen_through_the_own_generation() {
    let (short, mut other) = settled();
    other["metadata"]["generation"] = json!(2);
    other["status"] = json!({"phase": "Running", "sandbox": {"name": "mine"}, "conditions": [ready(2)]});
    let status = told(&short, &[&other]).unwrap();
    assert_eq!((&status["phase"], &status["sandbox"]["name"]), (&json!("Running"), &json!("mine")));
    assert_eq!(status["conditions"][0]["observedGeneration"], 3);
    other["status"]["conditions"] = json!([ready(1)]);
    assert_eq!(told(&short, &[&other]).unwrap()["conditions"][0]["observedGeneration"], 2);
}

#[test]
fn a_spec_that_cannot_be_meant_leaves_the_other_as_it_is() {
    let (mut short, other) = settled();
    short["spec"] = json!({"template": ""});
    assert_eq!(planned(&short, &[&other]).writes, []);
    let status = told(&short, &[&other]).unwrap();
    assert_eq!(status["conditions"][0]["reason"], "InvalidConfiguration");
    assert_eq!(status["phase"], "Failed");
}
