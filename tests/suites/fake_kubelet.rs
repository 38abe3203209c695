//! The fake kubelet against a real API server: what it writes is accepted, and Pods live as their scripts say.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use asb_fake_kubelet::{Builder, FakeKubelet, Match, Script};
use asb_tests::cluster::{Cluster, Namespace};
use asb_tests::wait;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Node, Pod, PodCondition};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

/// Who schedules the Pods here. The cluster may have a real scheduler, which would have its say about Pods of its own.
const SCHEDULER: &str = "fake-scheduler";

/// A namespace, its Pods, and a kubelet that cares for them alone.
struct Stage {
    cluster: Cluster,
    namespace: Namespace,
    pods: Api<Pod>,
    kubelet: FakeKubelet,
}

impl Stage {
    async fn set() -> Result<Self> {
        Self::with(|kubelet| kubelet).await
    }

    async fn with(settings: impl FnOnce(Builder) -> Builder) -> Result<Self> {
        let cluster = Cluster::connect().await?;
        let namespace = cluster.namespace().await?;
        let kubelet = FakeKubelet::builder(cluster.client()).namespace(namespace.name()).scheduler(SCHEDULER);
        let kubelet = settings(kubelet).spawn().await?;
        Ok(Self { pods: namespace.api(), cluster, namespace, kubelet })
    }

    async fn create(&self, name: &str, change: Value) -> Result<Pod> {
        let mut pod = json!({
            "metadata": { "name": name },
            "spec": {
                "containers": [{ "name": "main", "image": "demo:1" }],
                "automountServiceAccountToken": false,
                "schedulerName": SCHEDULER,
            },
        });
        merge(&mut pod, change);
        Ok(self.pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?)
    }

    async fn scripted(&self, name: &str, annotations: &[(&str, &str)]) -> Result<Pod> {
        let annotations: serde_json::Map<_, _> = annotations
            .iter()
            .map(|(key, value)| (format!("fake-kubelet.test/{key}"), json!(value)))
            .collect();
        self.create(name, json!({ "metadata": { "annotations": annotations } })).await
    }

    async fn wait(&self, name: &str, what: &str, wanted: impl Fn(&Pod) -> bool) -> Result<Pod> {
        Ok(wait::for_object(&self.pods, name, what, wanted).await?)
    }

    async fn patch(&self, name: &str, patch: Value) -> Result<Pod> {
        Ok(self.pods.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?)
    }

    /// Ends the test: the kubelet made no write that the API server refused.
    async fn finish(self) -> Result<()> {
        let tally = self.kubelet.shutdown().await;
        self.namespace.finish().await;
        anyhow::ensure!(tally.errors.is_empty(), "the fake kubelet met errors: {:?}", tally.errors);
        Ok(())
    }
}

fn merge(into: &mut Value, change: Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (key, value) in change {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change,
    }
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    pod.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == kind)
}

fn ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|condition| condition.status == "True")
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

fn exit_code(pod: &Pod) -> Option<i32> {
    let containers = pod.status.as_ref()?.container_statuses.as_ref()?;
    Some(containers.first()?.state.as_ref()?.terminated.as_ref()?.exit_code)
}

fn address(pod: &Pod) -> Option<&str> {
    pod.status.as_ref()?.pod_ip.as_deref()
}

#[tokio::test]
async fn a_pod_becomes_ready_with_an_address_in_one_binding_and_one_status() -> Result<()> {
    let stage = Stage::set().await?;
    stage.create("demo", json!({})).await?;
    let pod = stage.wait("demo", "ready", ready).await?;
    assert!(address(&pod).unwrap().starts_with("10.244."));
    assert_eq!(pod.spec.unwrap().node_name.as_deref(), Some(stage.kubelet.node()));

    let tally = stage.kubelet.shutdown().await;
    stage.namespace.finish().await;
    assert_eq!((tally.bindings, tally.statuses, tally.errors), (1, 1, vec![]));
    Ok(())
}

#[tokio::test]
async fn a_pod_that_gets_ready_later_loses_the_reason_it_was_not() -> Result<()> {
    let stage = Stage::set().await?;
    stage.scripted("demo", &[("start-after", "20ms"), ("ready-after", "60ms")]).await?;
    let pod = stage.wait("demo", "ready", ready).await?;
    let condition = condition(&pod, "Ready").unwrap();
    assert_eq!((&condition.reason, &condition.message), (&None, &None));
    stage.finish().await
}

#[tokio::test]
async fn a_pod_succeeds() -> Result<()> {
    let stage = Stage::with(|kubelet| kubelet.rule(Match::name_prefix("job-"), Script::succeed())).await?;
    stage.create("job-1", json!({})).await?;
    let pod = stage.wait("job-1", "succeeded", |pod| phase(pod) == "Succeeded").await?;
    assert_eq!(exit_code(&pod), Some(0));
    stage.finish().await
}

#[tokio::test]
async fn a_running_pod_fails_when_its_annotation_says_so() -> Result<()> {
    let stage = Stage::set().await?;
    stage.create("demo", json!({})).await?;
    stage.wait("demo", "ready", ready).await?;
    let fail = json!({ "fake-kubelet.test/outcome": "fail", "fake-kubelet.test/exit-code": "137" });
    stage.patch("demo", json!({ "metadata": { "annotations": fail } })).await?;
    let pod = stage.wait("demo", "failed", |pod| phase(pod) == "Failed").await?;
    assert_eq!(exit_code(&pod), Some(137));
    assert!(!ready(&pod));
    stage.finish().await
}

#[tokio::test]
async fn a_pod_told_never_to_be_ready_runs_unready() -> Result<()> {
    let stage = Stage::set().await?;
    stage.scripted("demo", &[("outcome", "never-ready")]).await?;
    let pod = stage.wait("demo", "running", |pod| phase(pod) == "Running").await?;
    assert_eq!(condition(&pod, "Ready").unwrap().reason.as_deref(), Some("ContainersNotReady"));
    stage.finish().await
}

#[tokio::test]
async fn an_unschedulable_pod_says_so_and_is_bound_once_it_no_longer_is() -> Result<()> {
    let stage = Stage::set().await?;
    stage.scripted("demo", &[("outcome", "unschedulable")]).await?;
    let refused = |pod: &Pod| {
        condition(pod, "PodScheduled").is_some_and(|condition| {
            condition.status == "False" && condition.reason.as_deref() == Some("Unschedulable")
        })
    };
    let pod = stage.wait("demo", "refused", refused).await?;
    assert_eq!(pod.spec.unwrap().node_name, None);
    stage
        .patch("demo", json!({ "metadata": { "annotations": { "fake-kubelet.test/outcome": "run" } } }))
        .await?;
    stage.wait("demo", "ready", ready).await?;
    stage.finish().await
}

#[tokio::test]
async fn a_gated_pod_is_bound_when_its_gate_opens_and_not_before() -> Result<()> {
    let stage = Stage::set().await?;
    stage
        .create("gated", json!({ "spec": { "schedulingGates": [{ "name": "example.test/wait" }] } }))
        .await?;
    stage.create("later", json!({})).await?;
    stage.wait("later", "ready", ready).await?;
    let gated = stage.pods.get("gated").await?;
    assert_eq!(gated.spec.unwrap().node_name, None);
    stage.patch("gated", json!({ "spec": { "schedulingGates": [] } })).await?;
    stage.wait("gated", "ready", ready).await?;
    stage.finish().await
}

#[tokio::test]
async fn a_pod_of_another_scheduler_is_left_alone() -> Result<()> {
    let stage = Stage::set().await?;
    stage.create("theirs", json!({ "spec": { "schedulerName": "theirs" } })).await?;
    stage.create("later", json!({})).await?;
    stage.wait("later", "ready", ready).await?;
    assert_eq!(stage.pods.get("theirs").await?.spec.unwrap().node_name, None);
    stage.finish().await
}

#[tokio::test]
async fn deletion_takes_as_long_as_the_script_says_and_the_grace_allows() -> Result<()> {
    let stage = Stage::set().await?;
    stage.scripted("slow", &[("terminate-after", "1h")]).await?;
    let slow = stage.wait("slow", "ready", ready).await?;
    stage.create("quick", json!({})).await?;
    let quick = stage.wait("quick", "ready", ready).await?;

    let deleted = std::time::Instant::now();
    stage.pods.delete("slow", &DeleteParams::default().grace_period(1)).await?;
    stage.pods.delete("quick", &DeleteParams::default()).await?;
    wait::for_gone(&stage.pods, &quick).await?;
    wait::for_gone(&stage.pods, &slow).await?;
    assert!(deleted.elapsed() >= Duration::from_secs(1));
    stage.finish().await
}

#[tokio::test]
async fn a_foreign_finalizer_holds_a_stopped_pod() -> Result<()> {
    let stage = Stage::set().await?;
    stage.create("held", json!({ "metadata": { "finalizers": ["example.test/hold"] } })).await?;
    let pod = stage.wait("held", "ready", ready).await?;
    stage.pods.delete("held", &DeleteParams::default()).await?;
    let removed =
        |pod: &Pod| exit_code(pod) == Some(0) && pod.metadata.deletion_grace_period_seconds == Some(0);
    let held = stage.wait("held", "stopped, and let go by its kubelet", removed).await?;
    assert_eq!(held.finalizers(), ["example.test/hold"]);
    stage.patch("held", json!({ "metadata": { "finalizers": null } })).await?;
    wait::for_gone(&stage.pods, &pod).await?;
    stage.finish().await
}

#[tokio::test]
async fn no_two_pods_share_an_address_and_each_has_one_of_either_family() -> Result<()> {
    let stage = Stage::with(|kubelet| kubelet.pod_ranges(["10.1.0.0/16", "fd00:1::/64"])).await?;
    let names: Vec<_> = (0..20).map(|number| format!("demo-{number}")).collect();
    try_join_all(names.iter().map(|name| stage.create(name, json!({})))).await?;
    let pods = try_join_all(names.iter().map(|name| stage.wait(name, "ready", ready))).await?;
    let addresses = pods.iter().flat_map(|pod| pod.status.as_ref().unwrap().pod_ips.as_ref().unwrap());
    let different: HashSet<_> = addresses.map(|address| &address.ip).collect();
    assert_eq!(different.len(), 2 * names.len());
    stage.finish().await
}

#[tokio::test]
async fn init_containers_and_sidecars_are_reported_as_the_api_server_allows() -> Result<()> {
    let stage = Stage::set().await?;
    let init = json!([
        { "name": "setup", "image": "demo:1" },
        { "name": "sidecar", "image": "demo:1", "restartPolicy": "Always" },
    ]);
    stage.create("demo", json!({ "spec": { "initContainers": init, "restartPolicy": "Never" } })).await?;
    stage.wait("demo", "ready", ready).await?;
    stage
        .patch("demo", json!({ "metadata": { "annotations": { "fake-kubelet.test/outcome": "succeed" } } }))
        .await?;
    stage.wait("demo", "succeeded", |pod| phase(pod) == "Succeeded").await?;
    stage.finish().await
}

#[tokio::test]
async fn a_kubelet_that_binds_nothing_runs_the_pods_others_bind_to_it() -> Result<()> {
    let stage = Stage::with(|kubelet| kubelet.bound_only().unregistered()).await?;
    stage.create("bound", json!({ "spec": { "nodeName": stage.kubelet.node() } })).await?;
    stage.wait("bound", "ready", ready).await?;
    let tally = stage.kubelet.shutdown().await;
    stage.namespace.finish().await;
    assert_eq!((tally.bindings, tally.errors), (0, vec![]));
    Ok(())
}

#[tokio::test]
async fn a_new_kubelet_of_the_same_node_takes_over_where_the_old_one_ended() -> Result<()> {
    let stage = Stage::set().await?;
    stage.create("old", json!({})).await?;
    let old = stage.wait("old", "ready", ready).await?;
    stage.kubelet.shutdown().await;

    let again =
        FakeKubelet::builder(stage.cluster.client()).namespace(stage.namespace.name()).scheduler(SCHEDULER);
    let stage = Stage { kubelet: again.spawn().await?, ..stage };
    stage.create("new", json!({})).await?;
    let new = stage.wait("new", "ready", ready).await?;
    assert_ne!(address(&old), address(&new));
    stage.pods.delete("old", &DeleteParams::default()).await?;
    wait::for_gone(&stage.pods, &old).await?;
    stage.finish().await
}

#[tokio::test]
async fn its_node_is_ready_while_it_works_and_gone_afterwards() -> Result<()> {
    let stage = Stage::set().await?;
    let nodes = Api::<Node>::all(stage.cluster.client());
    let node = nodes.get(stage.kubelet.node()).await?;
    let conditions = node.status.as_ref().unwrap().conditions.as_ref().unwrap();
    assert!(conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"));
    stage.finish().await?;
    wait::for_gone(&nodes, &node).await?;
    Ok(())
}

#[tokio::test]
async fn kubectl_sees_what_the_kubelet_did() -> Result<()> {
    let stage = Stage::set().await?;
    let manifest = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "demo" },
        "spec": { "containers": [{ "name": "main", "image": "demo:1" }], "schedulerName": SCHEDULER },
    });
    let namespace = ["--namespace", stage.namespace.name()];
    let apply = [&["apply", "-f", "-"], &namespace[..]].concat();
    stage.cluster.kubectl(&apply, Some(&manifest.to_string())).await?.success()?;
    stage.wait("demo", "ready", ready).await?;
    let table = stage.cluster.kubectl(&[&["get", "pods"], &namespace[..]].concat(), None).await?.success()?;
    assert!(table.contains("1/1     Running"), "{table}");
    stage.finish().await
}

#[tokio::test]
async fn many_pods_are_ready_with_two_writes_each() -> Result<()> {
    let stage = Stage::with(|kubelet| kubelet.concurrency(8)).await?;
    let names: Vec<_> = (0..200).map(|number| format!("demo-{number}")).collect();
    try_join_all(names.iter().map(|name| stage.create(name, json!({})))).await?;
    let all_ready = |pods: &[&Pod]| pods.iter().filter(|pod| ready(pod)).count() == names.len();
    wait::for_objects(&stage.pods, "", "all ready", all_ready).await?;
    let tally = stage.kubelet.shutdown().await;
    stage.namespace.finish().await;
    assert_eq!((tally.bindings, tally.statuses, tally.errors), (200, 200, vec![]));
    Ok(())
}
