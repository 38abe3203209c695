//! Where Pods may run, as it applies to one node: those that fit run, and the others stay Pending and say why.

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::spec::{With, idle, once, sh};
use crate::stage::{Stage, condition, phase};

/// Those of the first list run, those of the second wait for a node that does not come.
pub(crate) async fn sort(stage: &Stage, fitting: &[(&str, Value)], others: &[(&str, Value)]) -> Result<()> {
    for (name, more) in fitting.iter().chain(others) {
        let labels = json!({"app": "sorted", "name": name, "team": "b", "side": "left"});
        let metadata = json!({"name": name, "labels": labels});
        let spec = once(sh("echo ran")).with(more.clone());
        stage.put::<Pod>(name, json!({"metadata": metadata, "spec": spec})).await?;
    }
    for (name, _) in fitting {
        let pod = stage.until(name, "ended", crate::stage::has_ended).await?;
        assert_eq!(phase(&pod), "Succeeded", "{name}");
    }
    for (name, _) in others {
        let is_told = |pod: &Pod| condition(pod, "PodScheduled").is_some_and(|it| it.0 == "False");
        let pod = stage.until(name, "Pending with a reason", is_told).await?;
        assert_eq!(condition(&pod, "PodScheduled"), Some(("False", "Unschedulable")), "{name}");
        assert_eq!(phase(&pod), "Pending", "{name}");
    }
    Ok(())
}

const HOST: &str = "kubernetes.io/hostname";

fn required(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

/// Gives the node a label of the test's own, with a number in it.
async fn label(stage: &Stage, value: Value) -> Result<String> {
    let key = format!("asb.test/{}", stage.namespace.name());
    let change = Patch::Merge(json!({"metadata": {"labels": {&key: value}}}));
    Api::<Node>::all(stage.cluster.client()).patch("localhost", &PatchParams::default(), &change).await?;
    Ok(key)
}

#[tokio::test]
async fn nodes_are_selected_by_labels_and_names() -> Result<()> {
    let stage = Stage::set().await?;
    let key = label(&stage, json!("5")).await?;
    let says = |operator: &str, values: Value| {
        required(json!([{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]))
    };
    let name = |operator: &str, name: &str| {
        required(json!([{"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]}]))
    };
    let has = |key: &str| json!({"matchExpressions": [{"key": key, "operator": "Exists"}]});
    let preferred = json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": has("gpu")}]}}});
    let fitting = [
        ("selected", json!({"nodeSelector": {"kubernetes.io/os": "linux"}})),
        ("in", says("In", json!(["4", "5"]))),
        ("not-in", says("NotIn", json!(["4"]))),
        ("exists", says("Exists", json!(null))),
        ("absent", required(json!([{"matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}]}]))),
        ("more", says("Gt", json!(["4"]))),
        ("less", says("Lt", json!(["6"]))),
        ("either", required(json!([has("gpu"), has(HOST)]))),
        ("field", name("In", "localhost")),
        ("preferred", preferred),
        ("named", json!({"nodeName": "localhost"})),
    ];
    let others = [
        ("unselected", json!({"nodeSelector": {"kubernetes.io/os": "plan9"}})),
        ("out", says("In", json!(["4"]))),
        ("excluded", says("NotIn", json!(["4", "5"]))),
        ("no-gpu", required(json!([has("gpu")]))),
        ("present", says("DoesNotExist", json!(null))),
        ("not-more", says("Gt", json!(["5"]))),
        ("not-less", says("Lt", json!(["5"]))),
        ("other-field", name("In", "another")),
        ("not-field", name("NotIn", "localhost")),
    ];
    let sorted = sort(&stage, &fitting, &others).await;
    label(&stage, json!(null)).await?;
    sorted?;
    stage.finish().await
}

/// One that runs, for the others to be near to or away from.
async fn first(stage: &Stage, labels: Value) -> Result<()> {
    let metadata = json!({"name": "first", "labels": labels});
    stage.put::<Pod>("first", json!({"metadata": metadata, "spec": once(idle())})).await?;
    stage.until("first", "ready", crate::stage::is_ready).await?;
    Ok(())
}

fn near(kind: &str, term: Value) -> Value {
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
}

fn rather(kind: &str, term: Value) -> Value {
    let weighted = json!([{"weight": 5, "podAffinityTerm": term}]);
    json!({"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}})
}

fn role(role: &str) -> Value {
    json!({"topologyKey": HOST, "labelSelector": {"matchLabels": {"role": role}}})
}

#[tokio::test]
async fn pods_are_kept_together_and_apart() -> Result<()> {
    let stage = Stage::set().await?;
    first(&stage, json!({"role": "first", "team": "a", "side": "left"})).await?;
    let keyed = |field: &str, key: &str| near("podAffinity", role("first").with(json!({field: [key]})));
    let fitting = [
        ("together", near("podAffinity", role("first"))),
        ("apart", near("podAntiAffinity", role("nobody"))),
        ("same-side", keyed("matchLabelKeys", "side")),
        ("other-team", keyed("mismatchLabelKeys", "team")),
        ("rather", rather("podAffinity", role("nobody"))),
        ("rather-not", rather("podAntiAffinity", role("first"))),
    ];
    let others = [
        ("lonely", near("podAffinity", role("nobody"))),
        ("shy", near("podAntiAffinity", role("first"))),
        ("same-team", keyed("matchLabelKeys", "team")),
        ("other-side", keyed("mismatchLabelKeys", "side")),
        ("nowhere", near("podAffinity", role("first").with(json!({"topologyKey": "no/such-label"})))),
    ];
    sort(&stage, &fitting, &others).await?;
    stage.finish().await
}

/// Only the first is of team a, so that none of those that are sorted counts.
#[tokio::test]
async fn other_pods_are_found_by_expressions() -> Result<()> {
    let stage = Stage::set().await?;
    first(&stage, json!({"role": "first", "team": "a"})).await?;
    let says = |key: &str, operator: &str, values: Value| {
        let expressions = json!([{"key": key, "operator": operator, "values": values}]);
        let selector = json!({"matchLabels": {"team": "a"}, "matchExpressions": expressions});
        near("podAffinity", json!({"topologyKey": HOST, "labelSelector": selector}))
    };
    let fitting = [
        ("in", says("role", "In", json!(["first", "second"]))),
        ("not-in", says("role", "NotIn", json!(["second"]))),
        ("exists", says("role", "Exists", json!(null))),
        ("does-not", says("gone", "DoesNotExist", json!(null))),
    ];
    let others = [
        ("out", says("role", "In", json!(["second"]))),
        ("excluded", says("role", "NotIn", json!(["first"]))),
        ("missing", says("gone", "Exists", json!(null))),
        ("present", says("role", "DoesNotExist", json!(null))),
    ];
    sort(&stage, &fitting, &others).await?;
    stage.finish().await
}

#[tokio::test]
async fn other_pods_are_looked_for_in_the_namespaces_that_are_named() -> Result<()> {
    let stage = Stage::set().await?;
    first(&stage, json!({"role": "first"})).await?;
    let own = stage.namespace.name();
    let listed = |name: &str| near("podAffinity", role("first").with(json!({"namespaces": [name]})));
    let labelled = |name: &str| {
        let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": name}});
        near("podAffinity", role("first").with(json!({"namespaceSelector": selector})))
    };
    let everywhere = near("podAffinity", role("first").with(json!({"namespaceSelector": {}})));
    let fitting = [("listed", listed(own)), ("labelled", labelled(own)), ("everywhere", everywhere)];
    let others = [("not-listed", listed("default")), ("not-labelled", labelled("default"))];
    sort(&stage, &fitting, &others).await?;
    stage.finish().await
}

/// Two domains are asked for where there is one, so each Pod that is counted makes the skew larger by one.
#[tokio::test]
async fn pods_are_spread_as_far_as_one_node_goes() -> Result<()> {
    let stage = Stage::set().await?;
    first(&stage, json!({"app": "sorted"})).await?;
    let spread = |more: Value| {
        let constraint = json!({"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "sorted"}}});
        json!({"topologySpreadConstraints": [constraint.with(more)]})
    };
    let policies = |affinity: &str, taints: &str| {
        spread(json!({"nodeAffinityPolicy": affinity, "nodeTaintsPolicy": taints}))
    };
    let nobody = json!({"matchLabels": {"app": "nobody"}});
    let fitting = [
        ("alone", spread(json!({}))),
        ("honour", policies("Honor", "Honor")),
        ("ignore", policies("Ignore", "Ignore")),
        ("wide", spread(json!({"minDomains": 2, "maxSkew": 100}))),
        ("uncounted", spread(json!({"minDomains": 2, "labelSelector": nobody}))),
        ("keyed", spread(json!({"minDomains": 2, "matchLabelKeys": ["name"]}))),
        ("rather", spread(json!({"topologyKey": "no/such-label", "whenUnsatisfiable": "ScheduleAnyway"}))),
    ];
    let others = [
        ("skewed", spread(json!({"minDomains": 2}))),
        ("nowhere", spread(json!({"topologyKey": "no/such-label"}))),
    ];
    sort(&stage, &fitting, &others).await?;
    stage.finish().await
}

#[tokio::test]
async fn what_a_pod_requests_has_to_be_there() -> Result<()> {
    let stage = Stage::set().await?;
    let pod = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
    let own = |cpu: &str| json!({"containers": [sh("true").with(pod(cpu))]});
    let fitting = [("small", own("10m")), ("small-pod", pod("10m"))];
    let others = [("huge", own("4096")), ("huge-pod", pod("4096"))];
    sort(&stage, &fitting, &others).await?;
    stage.finish().await
}

#[tokio::test]
async fn gates_and_other_schedulers_are_waited_for() -> Result<()> {
    let stage = Stage::set().await?;
    let gated = once(sh("true")).with(json!({"schedulingGates": [{"name": "example.com/wait"}]}));
    stage.create("gated", gated).await?;
    stage.create("other", once(sh("true")).with(json!({"schedulerName": "somebody"}))).await?;
    let is_gated = |pod: &Pod| condition(pod, "PodScheduled") == Some(("False", "SchedulingGated"));
    stage.until("gated", "gated", is_gated).await?;
    let open = json!({"spec": {"schedulingGates": null}});
    stage.pods().patch("gated", &PatchParams::default(), &Patch::Merge(open)).await?;
    stage.until("gated", "ended", crate::stage::has_ended).await?;
    let other = stage.pods().get("other").await?;
    assert_eq!(other.spec.and_then(|spec| spec.node_name), None);
    stage.finish().await
}
