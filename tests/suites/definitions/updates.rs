//! What may change after creation, and what a client that insists on known fields is told.

use asb_tests::{Cluster, Namespace};
use asb_types::v1beta1::Sandbox;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

fn sandbox(volumes: Value) -> Sandbox {
    serde_json::from_value(json!({
        "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": "demo"},
        "spec": {"podTemplate": {"spec": {"containers": [{"name": "main"}]}}, "volumeClaimTemplates": volumes},
    }))
    .expect("a Sandbox")
}

fn volume(size: &str) -> Value {
    json!([{"metadata": {"name": "work"}, "spec": {"resources": {"requests": {"storage": size}}}}])
}

/// Creates a Sandbox with these volumes and merges `change` into its spec.
async fn changed(namespace: &Namespace, volumes: Value, change: Value) -> kube::Result<Sandbox> {
    let api = namespace.api::<Sandbox>();
    api.create(&PostParams::default(), &sandbox(volumes)).await?;
    api.patch("demo", &PatchParams::default(), &Patch::Merge(json!({"spec": change}))).await
}

macro_rules! volumes_are_immutable {
    ($($name:ident: $before:expr => $after:expr;)*) => {$(
        #[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            let namespace = Cluster::connect().await?.namespace().await?;
            let refusal = changed(&namespace, $before, json!({"volumeClaimTemplates": $after})).await.unwrap_err();
            let message = refusal.to_string();
            assert!(message.contains("volumeClaimTemplates is immutable"), "{message}");
            namespace.finish().await;
            Ok(())
        }
    )*};
}

volumes_are_immutable! {
    a_volume_cannot_be_added_later: json!([]) => volume("1Gi");
    a_volume_cannot_be_removed: volume("1Gi") => Value::Null;
    a_volume_cannot_be_resized: volume("1Gi") => volume("2Gi");
}

#[tokio::test]
async fn a_sandbox_with_volumes_can_change_in_every_other_way() -> anyhow::Result<()> {
    let namespace = Cluster::connect().await?.namespace().await?;
    let change =
        json!({"operatingMode": "Suspended", "volumeClaimTemplates": volume("1Gi"), "service": true});
    let suspended = changed(&namespace, volume("1Gi"), change).await?;
    assert_eq!(suspended.metadata.generation, Some(2));
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn a_label_changes_no_generation() -> anyhow::Result<()> {
    let namespace = Cluster::connect().await?.namespace().await?;
    let api = namespace.api::<Sandbox>();
    api.create(&PostParams::default(), &sandbox(json!([]))).await?;
    let label = json!({"metadata": {"labels": {"team": "a"}}});
    let labelled = api.patch("demo", &PatchParams::default(), &Patch::Merge(label)).await?;
    assert_eq!((labelled.labels()["team"].as_str(), labelled.metadata.generation), ("a", Some(1)));
    namespace.finish().await;
    Ok(())
}

/// kubectl asks for strict validation: a typing error is refused and not dropped.
#[tokio::test]
async fn kubectl_refuses_fields_that_nobody_knows() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let namespace = cluster.namespace().await?;
    let mut object = serde_json::to_value(sandbox(json!([])))?;
    object["spec"]["operatingmode"] = "Suspended".into();
    object["spec"]["podTemplate"]["spec"]["containers"][0]["imgae"] = "busybox".into();
    let output = cluster.kubectl(&["create", "-n", &namespace, "-f", "-"], Some(&object.to_string())).await?;
    assert!(!output.status.success(), "accepted: {}", output.stdout);
    insta::assert_snapshot!(output.stderr.trim_end());
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn kubectl_apply_merges_containers_by_name() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let namespace = cluster.namespace().await?;
    let applied = |manager: &'static str, container: Value| {
        let object = json!({
            "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": "demo"},
            "spec": {"podTemplate": {"spec": {"containers": [container]}}},
        });
        let (cluster, namespace) = (&cluster, namespace.name());
        async move {
            let arguments =
                ["apply", "--server-side", "--field-manager", manager, "-n", namespace, "-f", "-"];
            cluster.kubectl(&arguments, Some(&object.to_string())).await?.success()
        }
    };
    applied("one", json!({"name": "main", "image": "a"})).await?;
    applied("two", json!({"name": "helper", "image": "b"})).await?;
    let both = namespace.api::<Sandbox>().get("demo").await?;
    let names: Vec<_> = both.spec.pod_template.spec.containers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["main", "helper"]);
    namespace.finish().await;
    Ok(())
}
