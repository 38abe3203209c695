//! Where Pods may run, as it applies to one node: those that fit run, and the others stay Pending and say why.

use anyhow::{Context, Result};
use asb_tests::wait;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::spec::{With, idle, once, sh};
use crate::stage::{Stage, condition, phase};

/// Those of the first list run, those of the second wait for a node that does not come.
async fn sort(stage: &Stage, fitting: &[(&str, Value)], others: &[(&str, Value)]) -> Result<()> {
    for (name, more) in fitting.iter().chain(others) {
        let metadata = json!({"name": name, "labels": {"app": "sorted", "name": name}});
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

fn required(expression: Value) -> Value {
    let terms = json!([{"matchExpressions": [expression]}]);
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

#[tokio::test]
async fn nodes_are_selected_by_labels_and_names() -> Result<()> {
    let stage = Stage::set().await?;
    let fields = |name: &str| {
        let terms = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}]);
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
    };
    let preferred = json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}}]}}});
    let fitting = [
        ("selected", json!({"nodeSelector": {"kubernetes.io/os": "linux"}})),
        ("expressed", required(json!({"key": HOST, "operator": "Exists"}))),
        ("absent", required(json!({"key": "gpu", "operator": "DoesNotExist"}))),
        ("field", fields("localhost")),
        ("preferred", preferred),
        ("named", json!({"nodeName": "localhost"})),
    ];
    let others = [
        ("unselected", json!({"nodeSelector": {"kubernetes.io/os": "plan9"}})),
        ("elsewhere", required(json!({"key": HOST, "operator": "NotIn", "values": ["localhost"]}))),
        ("other-field", fields("another")),
    ];
    sort(&stage, &fitting, &others).await?;
    stage.finish().await
}

#[tokio::test]
async fn pods_are_kept_together_and_apart() -> Result<()> {
    let stage = Stage::set().await?;
    let metadata = json!({"name": "first", "labels": {"role": "first", "team": "a"}});
    stage.put::<Pod>("first", json!({"metadata": metadata, "spec": once(idle())})).await?;
    stage.until("first", "ready", crate::stage::is_ready).await?;
    let term = |label: &str| json!({"topologyKey": HOST, "labelSelector": {"matchLabels": {"role": label}}});
    let expression = |operator: &str| {
        json!({"topologyKey": HOST, "namespaces": [stage.namespace.name()],
        "labelSelector": {"matchExpressions": [{"key": "role", "operator": operator, "values": ["first"]}]}})
    };
    let everywhere = |label: &str| json!({"topologyKey": HOST, "namespaceSelector": {}, "labelSelector": {"matchLabels": {"role": label}}});
    let must = |kind: &str, term: Value| json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}});
    let may = |kind: &str, term: Value| json!({"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}]}}});
    let same = term("first").with(json!({"matchLabelKeys": ["missing"]}));
    let fitting = [
        ("together", must("podAffinity", term("first"))),
        ("expressed", must("podAffinity", expression("In"))),
        ("anywhere", must("podAffinity", everywhere("first"))),
        ("keyed", must("podAffinity", same)),
        ("apart", must("podAntiAffinity", term("nobody"))),
        ("rather", may("podAffinity", term("nobody"))),
        ("rather-not", may("podAntiAffinity", term("first"))),
    ];
    let others = [
        ("lonely", must("podAffinity", term("nobody"))),
        ("shy", must("podAntiAffinity", term("first"))),
        ("shy-expressed", must("podAntiAffinity", expression("In"))),
        ("shy-anywhere", must("podAntiAffinity", everywhere("first"))),
        ("nowhere", must("podAffinity", term("first").with(json!({"topologyKey": "no/such-label"})))),
    ];
    sort(&stage, &fitting, &others).await?;
    stage.finish().await
}

#[tokio::test]
async fn pods_are_spread_as_far_as_one_node_goes() -> Result<()> {
    let stage = Stage::set().await?;
    let metadata = json!({"name": "first", "labels": {"app": "sorted"}});
    stage.put::<Pod>("first", json!({"metadata": metadata, "spec": once(idle())})).await?;
    stage.until("first", "ready", crate::stage::is_ready).await?;
    let spread = |more: Value| {
        let constraint = json!({"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "sorted"}}});
        json!({"topologySpreadConstraints": [constraint.with(more)]})
    };
    let fitting = [
        ("alone", spread(json!({"nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}))),
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

/// Other tests' Pods wait meanwhile.
#[tokio::test]
async fn taints_are_borne_by_those_who_say_so() -> Result<()> {
    let stage = Stage::set().await?;
    let nodes: Api<Node> = Api::all(stage.cluster.client());
    let taint = |taints: Value| Patch::Merge(json!({"spec": {"taints": taints}}));
    let key = format!("asb.test/{}", stage.namespace.name());
    let taints = json!([{"key": key, "value": "yes", "effect": "NoSchedule"}]);
    nodes.patch("localhost", &PatchParams::default(), &taint(taints)).await?;
    let toleration =
        |more: Value| json!({"tolerations": [json!({"key": key, "effect": "NoSchedule"}).with(more)]});
    let fitting = [
        ("equal", toleration(json!({"operator": "Equal", "value": "yes"}))),
        ("exists", toleration(json!({"operator": "Exists"}))),
        ("all", json!({"tolerations": [{"operator": "Exists"}]})),
    ];
    let others = [("plain", json!({})), ("unequal", toleration(json!({"operator": "Equal", "value": "no"})))];
    let sorted = sort(&stage, &fitting, &others).await;
    nodes.patch("localhost", &PatchParams::default(), &taint(json!(null))).await?;
    sorted?;
    stage.until("plain", "ended", crate::stage::has_ended).await?;
    stage.finish().await
}

/// Two that do not fit beside each other; the Pods of other tests are small enough to stay.
#[tokio::test]
async fn who_matters_more_makes_others_leave() -> Result<()> {
    let stage = Stage::set().await?;
    let node = Api::<Node>::all(stage.cluster.client()).get("localhost").await?;
    let memory =
        node.status.and_then(|status| status.allocatable?.get("memory").cloned()).context("memory")?;
    let kibibytes: u64 = memory.0.trim_end_matches("Ki").parse().context("a number of Ki")?;
    let most = json!({"resources": {"requests": {"memory": format!("{}Ki", kibibytes / 10 * 6)}}});
    let spec = || once(idle().with(most.clone())).with(json!({"terminationGracePeriodSeconds": 1}));
    let low = stage.start("low", spec()).await?;
    stage.create("equal", spec()).await?;
    let is_told = |pod: &Pod| condition(pod, "PodScheduled") == Some(("False", "Unschedulable"));
    stage.until("equal", "Pending", is_told).await?;
    let class = "system-cluster-critical";
    let urgent = stage.create("urgent", spec().with(json!({"priorityClassName": class}))).await?;
    assert_eq!(urgent.spec.as_ref().and_then(|spec| spec.priority), Some(2_000_000_000));
    wait::for_gone(&stage.pods(), &low).await?;
    stage.until("urgent", "ready", crate::stage::is_ready).await?;
    stage.finish().await
}
