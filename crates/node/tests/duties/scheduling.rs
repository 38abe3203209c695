//! Pods get their node, or hear why not.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::cluster::{Cluster, NODE, gone};

/// A class that every cluster has.
const URGENT: &str = "system-cluster-critical";

fn asking(cpu: &str) -> Value {
    json!([{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}])
}

fn processors() -> Result<i64> {
    Ok(i64::try_from(std::thread::available_parallelism()?.get())?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_fits_is_bound_and_people_are_told() -> Result<()> {
    let cluster = Cluster::start().await?;
    let _running = cluster.scheduled().await?;
    cluster.pod("p", json!({})).await?;
    let pod = cluster.bound("p").await?;
    let conditions = pod.status.context("a status")?.conditions.context("conditions")?;
    assert!(conditions.iter().any(|known| known.type_ == "PodScheduled" && known.status == "True"));
    let event = cluster.told("p", "Scheduled").await?.remove(0);
    assert_eq!(event.message.as_deref(), Some("Successfully assigned default/p to here"));
    let source = event.source.as_ref().context("a source")?;
    assert_eq!(source.component.as_deref(), Some("default-scheduler"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_pods_are_bound_soon_and_no_more_than_fit() -> Result<()> {
    let cluster = Cluster::start().await?;
    let _running = cluster.scheduled().await?;
    let room = processors()? * 10;
    let mut fastest = Duration::MAX;
    for number in 0..room {
        let name = format!("p{number}");
        cluster.pod(&name, json!({"containers": asking("100m")})).await?;
        let created = Instant::now();
        cluster.bound(&name).await?;
        fastest = fastest.min(created.elapsed());
    }
    assert!(fastest < Duration::from_millis(50), "{fastest:?}");
    cluster.pod("more", json!({"containers": asking("100m")})).await?;
    let message = "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No \
                   preemption victims found for incoming pod.";
    assert_eq!(cluster.refusal("more").await?, message);
    let events = cluster.told("more", "FailedScheduling").await?;
    assert_eq!(events.len(), 1);
    cluster.api::<Pod>().delete("p0", &DeleteParams::default().grace_period(0)).await?;
    cluster.bound("more").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn gates_and_selectors_hold_a_pod_back_until_they_do_not() -> Result<()> {
    let cluster = Cluster::start().await?;
    let _running = cluster.scheduled().await?;
    cluster.pod("gated", json!({"schedulingGates": [{"name": "example.com/wait"}]})).await?;
    cluster.pod("choosy", json!({"nodeSelector": {"disk": "fast"}})).await?;
    let refusal = cluster.refusal("gated").await?;
    assert_eq!(refusal, "SchedulingGated: Scheduling is blocked due to non-empty scheduling gates");
    let refusal = cluster.refusal("choosy").await?;
    assert!(refusal.contains("1 node(s) didn't match Pod's node affinity/selector."), "{refusal}");
    let open = json!({"spec": {"schedulingGates": null}});
    cluster.api::<Pod>().patch("gated", &PatchParams::default(), &Patch::Merge(open)).await?;
    cluster.bound("gated").await?;
    let label = json!({"metadata": {"labels": {"disk": "fast"}}});
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    nodes.patch(NODE, &PatchParams::default(), &Patch::Merge(label)).await?;
    cluster.bound("choosy").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn more_priority_makes_room_and_takes_it() -> Result<()> {
    let cluster = Cluster::start().await?;
    let _running = cluster.scheduled().await?;
    let all = processors()?.to_string();
    cluster.pod("low", json!({"containers": asking(&all), "terminationGracePeriodSeconds": 7})).await?;
    cluster.bound("low").await?;
    cluster.pod("high", json!({"containers": asking(&all), "priorityClassName": URGENT})).await?;
    let low = cluster.until("low", |pod: &Pod| pod.metadata.deletion_timestamp.is_some()).await?;
    assert_eq!(low.metadata.deletion_grace_period_seconds, Some(7));
    let conditions = low.status.clone().context("a status")?.conditions.context("conditions")?;
    assert!(conditions.iter().any(|known| known.type_ == "DisruptionTarget" && known.status == "True"));
    let high = cluster.until("high", |pod: &Pod| {
        pod.status.as_ref().is_some_and(|status| status.nominated_node_name.as_deref() == Some(NODE))
    });
    let uid = high.await?.uid().context("a uid")?;
    let event = cluster.told("low", "Preempted").await?;
    let message = format!("Preempted by pod {uid} on node here");
    assert!(event.iter().any(|event| event.message.as_ref() == Some(&message)), "{event:?}");
    // What its kubelet does when the containers have ended.
    cluster.api::<Pod>().delete("low", &DeleteParams::default().grace_period(0)).await?;
    gone(cluster.api(), &low).await?;
    cluster.bound("high").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_waited_are_bound_by_their_priority_and_age() -> Result<()> {
    let cluster = Cluster::start().await?;
    let all = processors()?.to_string();
    for (name, class) in [("first", ""), ("second", ""), ("urgent", URGENT)] {
        cluster.pod(name, json!({"containers": asking(&all), "priorityClassName": class})).await?;
    }
    let _running = cluster.scheduled().await?;
    cluster.bound("urgent").await?;
    assert!(cluster.refusal("first").await?.contains("Insufficient cpu"));
    assert!(cluster.refusal("second").await?.contains("Insufficient cpu"));
    Ok(())
}
