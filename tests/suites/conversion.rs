//! Conversion through a real API server: written in one version, read, edited and stored through the other.

use anyhow::Result;
use asb_tests::conversion::serve_conversion;
use asb_tests::objects::{create, object, pod_template};
use asb_tests::{Cluster, Namespace};
use asb_types::{annotations, v1alpha1, v1beta1};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

async fn place() -> Result<(Cluster, Namespace)> {
    let cluster = Cluster::connect().await?;
    serve_conversion(&cluster).await?;
    let namespace = cluster.namespace().await?;
    Ok((cluster, namespace))
}

fn volumes() -> Value {
    json!([{"metadata": {"name": "work"}, "spec": {"accessModes": ["ReadWriteOnce"]}}])
}

async fn edit<K>(api: &Api<K>, change: Value) -> kube::Result<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
{
    api.patch("demo", &PatchParams::default(), &Patch::Merge(change)).await
}

#[tokio::test]
async fn a_sandbox_written_in_the_old_version_is_stored_in_the_new_one() -> Result<()> {
    let (_, namespace) = place().await?;
    let written: v1alpha1::Sandbox =
        create(&namespace, "demo", json!({"podTemplate": pod_template(), "replicas": 0})).await?;
    let stored = namespace.api::<v1beta1::Sandbox>().get("demo").await?;
    assert_eq!(stored.spec.operating_mode, v1beta1::OperatingMode::Suspended);
    assert_eq!(stored.annotations().len(), 0, "nothing was left over to keep");
    let read = namespace.api::<v1alpha1::Sandbox>().get("demo").await?;
    assert_eq!((read.spec, read.metadata.generation), (written.spec, written.metadata.generation));
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn a_claim_keeps_its_template_and_its_pool() -> Result<()> {
    let (_, namespace) = place().await?;
    let spec = json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": "pool-a"});
    let written: v1alpha1::SandboxClaim = create(&namespace, "demo", spec).await?;
    let stored = namespace.api::<v1beta1::SandboxClaim>().get("demo").await?;
    assert_eq!(stored.spec.warm_pool_ref.name, "pool-a");
    assert_eq!(namespace.api::<v1alpha1::SandboxClaim>().get("demo").await?.spec, written.spec);
    namespace.finish().await;
    Ok(())
}

/// The old client holds a struct without the field and writes the whole object back.
#[tokio::test]
async fn an_old_client_that_replaces_a_claim_does_not_lose_its_volumes() -> Result<()> {
    let (_, namespace) = place().await?;
    let spec = json!({"warmPoolRef": {"name": "pool-a"}, "volumeClaimTemplates": volumes()});
    let written: v1beta1::SandboxClaim = create(&namespace, "demo", spec).await?;

    let old = namespace.api::<v1alpha1::SandboxClaim>();
    let mut held = old.get("demo").await?;
    held.spec.env = serde_json::from_value(json!([{"name": "A", "value": "1"}]))?;
    old.replace("demo", &PostParams::default(), &held).await?;

    let stored = namespace.api::<v1beta1::SandboxClaim>().get("demo").await?;
    assert_eq!(stored.spec.volume_claim_templates, written.spec.volume_claim_templates);
    assert_eq!((stored.spec.warm_pool_ref.name.as_str(), stored.spec.env.len()), ("pool-a", 1));
    assert_eq!(stored.annotations().len(), 0, "the view's annotation stays in the view");
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn kubectl_edits_through_the_old_version_without_loss() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let spec = json!({"podTemplate": pod_template(), "volumeClaimTemplatesPolicy": "Overrides"});
    create::<v1beta1::SandboxTemplate>(&namespace, "demo", spec).await?;
    let resource = "sandboxtemplates.v1alpha1.extensions.agents.x-k8s.io/demo";
    let patch = r#"{"spec":{"envVarsInjectionPolicy":"Allowed"}}"#;
    cluster
        .kubectl(&["patch", resource, "--type=merge", "-p", patch, "-n", &namespace], None)
        .await?
        .success()?;
    cluster.kubectl(&["label", resource, "team=a", "-n", &namespace], None).await?.success()?;
    let stored = namespace.api::<v1beta1::SandboxTemplate>().get("demo").await?;
    let policies = (stored.spec.volume_claim_templates_policy, stored.spec.env_vars_injection_policy);
    assert_eq!(serde_json::to_value(policies)?, json!(["Overrides", "Allowed"]));
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn an_old_controller_that_writes_status_does_not_lose_the_node() -> Result<()> {
    let (_, namespace) = place().await?;
    create::<v1beta1::Sandbox>(&namespace, "demo", json!({"podTemplate": pod_template()})).await?;
    let new = namespace.api::<v1beta1::Sandbox>();
    let status = json!({"status": {"nodeName": "node-1", "podIPs": ["10.0.0.7"]}});
    new.patch_status("demo", &PatchParams::default(), &Patch::Merge(status)).await?;

    let old = namespace.api::<v1alpha1::Sandbox>();
    let mut held = old.get("demo").await?;
    let status = held.status.as_mut().expect("a status");
    assert_eq!(status.replicas, 1, "the Pod shows by its address");
    status.service = "demo".to_owned();
    old.replace_status("demo", &PostParams::default(), &held).await?;

    let stored = new.get("demo").await?.status.expect("a status");
    assert_eq!((stored.node_name.as_str(), stored.service.as_str()), ("node-1", "demo"));
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn the_replica_count_is_live_after_a_write_in_the_old_version() -> Result<()> {
    let (_, namespace) = place().await?;
    create::<v1alpha1::Sandbox>(&namespace, "demo", json!({"podTemplate": pod_template(), "replicas": 1}))
        .await?;
    let (old, new) = (namespace.api::<v1alpha1::Sandbox>(), namespace.api::<v1beta1::Sandbox>());
    let count = async || old.get("demo").await.map(|it| it.status.unwrap_or_default().replicas);
    let reported = Patch::Merge(json!({"status": {"replicas": 1}}));
    old.patch_status("demo", &PatchParams::default(), &reported).await?;
    assert_eq!(count().await?, 1, "as reported");

    for (addresses, expected) in [(json!(["10.0.0.7"]), 1), (Value::Null, 0)] {
        let seen = json!({"status": {"podIPs": addresses, "selector": "a=b"}});
        new.patch_status("demo", &PatchParams::default(), &Patch::Merge(seen)).await?;
        assert_eq!(count().await?, expected);
    }
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn a_pool_keeps_its_observed_generation() -> Result<()> {
    let (_, namespace) = place().await?;
    create::<v1beta1::SandboxWarmPool>(&namespace, "demo", json!({"sandboxTemplateRef": {"name": "t"}}))
        .await?;
    let new = namespace.api::<v1beta1::SandboxWarmPool>();
    let status = json!({"status": {"observedGeneration": 1, "selector": "a=b"}});
    new.patch_status("demo", &PatchParams::default(), &Patch::Merge(status)).await?;
    edit(&namespace.api::<v1alpha1::SandboxWarmPool>(), json!({"spec": {"replicas": 4}})).await?;
    let stored = new.get("demo").await?;
    assert_eq!((stored.spec.replicas, stored.status.expect("a status").observed_generation), (4, 1));
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn the_old_version_writes_and_keeps_the_fields_of_ours() -> Result<()> {
    let (_, namespace) = place().await?;
    let spec = json!({"sandboxTemplateRef": {"name": "t"}, "replicas": 1, "minSize": 2, "maxSize": 5});
    create::<v1alpha1::SandboxWarmPool>(&namespace, "demo", spec).await?;
    let stored = namespace.api::<v1beta1::SandboxWarmPool>().get("demo").await?;
    assert_eq!((stored.spec.min_size, stored.spec.max_size), (Some(2), Some(5)));

    create::<v1beta1::SandboxTemplate>(&namespace, "demo", json!({"podTemplate": pod_template()})).await?;
    let new = namespace.api::<v1beta1::SandboxTemplate>();
    let status = json!({"status": {"observedGeneration": 1}});
    new.patch_status("demo", &PatchParams::default(), &Patch::Merge(status)).await?;
    let changed = json!({"spec": {"service": true}, "status": {"observedGeneration": 7}});
    edit(&namespace.api::<v1alpha1::SandboxTemplate>(), changed).await?;
    let stored = new.get("demo").await?;
    assert_eq!((stored.spec.service, stored.metadata.generation), (Some(true), Some(2)));
    assert_eq!(stored.status.expect("a status").observed_generation, 1, "a status has its own door");
    namespace.finish().await;
    Ok(())
}

/// As upstream stores a claim by template that has its Sandbox: the whole original in the annotation, a guessed pool.
#[tokio::test]
async fn what_upstream_stored_reads_as_it_was_written() -> Result<()> {
    let (_, namespace) = place().await?;
    let original = json!({
        "apiVersion": "extensions.agents.x-k8s.io/v1alpha1", "kind": "SandboxClaim",
        "metadata": {"name": "demo", "creationTimestamp": null},
        "spec": {"sandboxTemplateRef": {"name": "python"}, "warmpool": "default"}, "status": {"sandbox": {}},
    });
    let mut stored: v1beta1::SandboxClaim = object("demo", json!({"warmPoolRef": {"name": "pool-a"}}));
    stored.annotations_mut().insert(annotations::v1alpha1_state::CLAIM.to_owned(), original.to_string());
    let new = namespace.api::<v1beta1::SandboxClaim>();
    new.create(&PostParams::default(), &stored).await?;
    let bound = json!({"status": {"sandbox": {"name": "pool-a-x7k2p"}}});
    new.patch_status("demo", &PatchParams::default(), &Patch::Merge(bound)).await?;

    let old = namespace.api::<v1alpha1::SandboxClaim>();
    assert_eq!(serde_json::to_value(old.get("demo").await?.spec)?, original["spec"]);
    edit(&old, json!({"metadata": {"labels": {"team": "a"}}})).await?;
    assert_eq!(new.get("demo").await?.spec.warm_pool_ref.name, "pool-a");
    namespace.finish().await;
    Ok(())
}

/// Applies a manifest as `kubectl apply --server-side` does, always as the same manager.
async fn apply(cluster: &Cluster, namespace: &Namespace, manifest: Value) -> Result<()> {
    let arguments = ["apply", "--server-side", "-n", namespace.name(), "-f", "-"];
    cluster.kubectl(&arguments, Some(&manifest.to_string())).await?.success()?;
    Ok(())
}

/// The manifest in Git moves to the new version: the API server takes the old version's fields away first.
#[tokio::test]
async fn a_manifest_can_move_to_the_new_version_by_server_side_apply() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let sandbox = |version: &str, mut spec: Value| {
        spec["podTemplate"] = pod_template();
        json!({"apiVersion": format!("agents.x-k8s.io/{version}"), "kind": "Sandbox", "metadata": {"name": "demo"}, "spec": spec})
    };
    apply(&cluster, &namespace, sandbox("v1alpha1", json!({"replicas": 0}))).await?;
    apply(&cluster, &namespace, sandbox("v1beta1", json!({}))).await?;
    let stored = namespace.api::<v1beta1::Sandbox>().get("demo").await?;
    assert_eq!(
        stored.spec.operating_mode,
        v1beta1::OperatingMode::Running,
        "nobody asks for Suspended any more"
    );

    let claim = |version: &str, spec: Value| json!({"apiVersion": format!("extensions.agents.x-k8s.io/{version}"), "kind": "SandboxClaim", "metadata": {"name": "demo"}, "spec": spec});
    let by_template = json!({"sandboxTemplateRef": {"name": "python"}, "warmpool": "none"});
    apply(&cluster, &namespace, claim("v1alpha1", by_template)).await?;
    apply(&cluster, &namespace, claim("v1beta1", json!({"warmPoolRef": {"name": "pool-a"}}))).await?;
    apply(
        &cluster,
        &namespace,
        claim("v1alpha1", json!({"sandboxTemplateRef": {"name": "ruby"}, "warmpool": "pool-b"})),
    )
    .await?;
    assert_eq!(namespace.api::<v1beta1::SandboxClaim>().get("demo").await?.spec.warm_pool_ref.name, "pool-b");
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn an_annotation_cannot_smuggle_in_what_the_schema_forbids() -> Result<()> {
    let (_, namespace) = place().await?;
    let mut forged: v1alpha1::SandboxClaim =
        object("demo", json!({"sandboxTemplateRef": {"name": "python"}}));
    let state = json!({"spec": {"volumeClaimTemplates": 7}}).to_string();
    forged.annotations_mut().insert(annotations::v1beta1_state::CLAIM.to_owned(), state);
    let refusal = namespace.api::<v1alpha1::SandboxClaim>().create(&PostParams::default(), &forged).await;
    let refusal = refusal.unwrap_err().to_string();
    assert!(refusal.contains("v1beta1-sandboxclaim-state does not hold the saved state"), "{refusal}");
    namespace.finish().await;
    Ok(())
}

/// Otherwise one object would hide all of its kind from clients of the old version.
#[tokio::test]
async fn a_spoilt_annotation_hides_nothing() -> Result<()> {
    let (_, namespace) = place().await?;
    let mut stored: v1beta1::SandboxClaim = object("demo", json!({"warmPoolRef": {"name": "pool-a"}}));
    stored.annotations_mut().insert(annotations::v1alpha1_state::CLAIM.to_owned(), "{".to_owned());
    namespace.api::<v1beta1::SandboxClaim>().create(&PostParams::default(), &stored).await?;
    let listed = namespace.api::<v1alpha1::SandboxClaim>().list(&ListParams::default()).await?;
    assert_eq!(listed.items[0].spec.warmpool, "pool-a");
    namespace.finish().await;
    Ok(())
}

/// More than the API server lets the annotations of a view hold.
#[tokio::test]
async fn a_claim_of_many_volumes_can_be_read_but_not_overwritten_in_the_old_version() -> Result<()> {
    let (_, namespace) = place().await?;
    let volume = |n: u32| json!({"metadata": {"name": format!("volume-{n}"), "labels": {"pad": "x".repeat(60)}}, "spec": {}});
    let volumes: Vec<_> = (0..2500).map(volume).collect();
    create::<v1beta1::SandboxClaim>(
        &namespace,
        "demo",
        json!({"warmPoolRef": {"name": "pool-a"}, "volumeClaimTemplates": volumes}),
    )
    .await?;
    let old = namespace.api::<v1alpha1::SandboxClaim>();
    old.list(&ListParams::default()).await?;
    let refusal = edit(&old, json!({"metadata": {"labels": {"team": "a"}}})).await.unwrap_err().to_string();
    assert!(refusal.contains("write the object as v1beta1"), "{refusal}");
    namespace.finish().await;
    Ok(())
}
