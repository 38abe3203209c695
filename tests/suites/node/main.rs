//! A real node: Pods that really run, and what a chart expects around them. Needs `cargo xtask kube up --node`.

mod commands;
mod network;
mod runtime;
mod volumes;
mod webhooks;

use anyhow::Result;
use asb_tests::{Cluster, Namespace, wait};
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use serde_json::{Value, json};

const BUSYBOX: &str = "asb.test/busybox:1";
const KUBECTL: &str = "asb.test/kubectl:1";

/// A cluster and a namespace in it.
async fn place() -> Result<(Cluster, Namespace)> {
    let cluster = Cluster::connect().await?;
    let namespace = cluster.namespace().await?;
    Ok((cluster, namespace))
}

/// A Pod with one container that runs a shell script.
fn pod(name: &str, image: &str, script: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": image, "imagePullPolicy": "Never", "command": ["sh", "-ec", script]}],
        },
    })
}

async fn create(namespace: &Namespace, pod: Value) -> Result<Pod> {
    Ok(namespace.api::<Pod>().create(&PostParams::default(), &serde_json::from_value(pod)?).await?)
}

/// Creates a Pod and waits until it is Ready.
async fn start(namespace: &Namespace, pod: Value) -> Result<Pod> {
    let name = create(namespace, pod).await?.metadata.name.unwrap_or_default();
    Ok(wait::for_object(&namespace.api::<Pod>(), &name, "ready", is_ready).await?)
}

/// Creates a Pod, waits until it has ended, and returns what it printed.
async fn run(cluster: &Cluster, namespace: &Namespace, pod: Value) -> Result<String> {
    let name = create(namespace, pod).await?.metadata.name.unwrap_or_default();
    let ended = |pod: &Pod| matches!(phase(pod), "Succeeded" | "Failed");
    let pod = wait::for_object(&namespace.api::<Pod>(), &name, "ended", ended).await?;
    let said = cluster.kubectl(&["logs", &name, "-n", namespace], None).await?.success()?;
    assert_eq!(phase(&pod), "Succeeded", "{name} said: {said}");
    Ok(said.trim_end().to_owned())
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.filter(|it| it.status == "True").any(|it| it.type_ == "Ready")
}
