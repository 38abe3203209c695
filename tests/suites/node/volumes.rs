//! PersistentVolumeClaims are provisioned, and keep what was written when the Pod goes.

use anyhow::Result;
use asb_tests::wait;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::{BUSYBOX, place, pod, run};

fn mounting(name: &str, script: &str) -> Value {
    let mut pod = pod(name, BUSYBOX, script);
    pod["spec"]["volumes"] = json!([{"name": "work", "persistentVolumeClaim": {"claimName": "work"}}]);
    pod["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "work", "mountPath": "/data"}]);
    pod
}

#[tokio::test]
async fn a_volume_outlives_the_pod_that_wrote_to_it() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let claim: PersistentVolumeClaim = serde_json::from_value(json!({
        "metadata": {"name": "work"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }))?;
    namespace.api::<PersistentVolumeClaim>().create(&PostParams::default(), &claim).await?;
    run(&cluster, &namespace, mounting("writer", "echo kept > /data/file")).await?;
    let pods = namespace.api::<Pod>();
    let writer = pods.get("writer").await?;
    pods.delete("writer", &DeleteParams::default()).await?;
    wait::for_gone(&pods, &writer).await?;
    assert_eq!(run(&cluster, &namespace, mounting("reader", "cat /data/file")).await?, "kept");
    namespace.finish().await;
    Ok(())
}
