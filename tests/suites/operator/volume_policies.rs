//! Claims that bring volumes, under each policy of their template.

use anyhow::{Context, Result};
use asb_types::v1beta1::SandboxClaim;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::Api;
use serde_json::{Value, json};

use crate::stage::{Stage, claim_conditions, ready};

fn volume(name: &str, size: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}})
}

/// A pool of a template that has a volume `work` of 1Gi and this policy.
async fn pool(stage: &Stage, name: &str, policy: &str) -> Result<()> {
    let spec = json!({"volumeClaimTemplates": [volume("work", "1Gi")], "volumeClaimTemplatesPolicy": policy});
    stage.template(name, spec).await?;
    stage.pool(name, name, 0).await?;
    Ok(())
}

async fn size(stage: &Stage, volume: &str) -> Result<String> {
    let volumes: Api<PersistentVolumeClaim> = stage.namespace.api();
    let spec = volumes.get(volume).await?.spec.context("it has a spec")?;
    let requests = spec.resources.and_then(|resources| resources.requests).unwrap_or_default();
    Ok(requests["storage"].0.clone())
}

async fn refused(stage: &Stage, claim: &str, why: &str) -> Result<()> {
    let claim: SandboxClaim = stage.claim_with(claim, "VolumeClaimTemplatesError").await?;
    let message = &ready(claim_conditions(&claim)).context("just seen")?.message;
    assert!(message.contains(why), "{message}");
    Ok(())
}

#[tokio::test]
async fn a_claim_may_add_volumes_where_the_template_allows_it() -> Result<()> {
    let stage = Stage::set().await?;
    for (pool_name, policy) in [("no", "Disallowed"), ("add", "Allowed"), ("over", "Overrides")] {
        pool(&stage, pool_name, policy).await?;
    }
    let brings = |volumes: Value| json!({"volumeClaimTemplates": volumes});
    stage.claim("plain", "no", json!({})).await?;
    stage.claim("denied", "no", brings(json!([volume("more", "2Gi")]))).await?;
    stage.claim("added", "add", brings(json!([volume("more", "2Gi")]))).await?;
    stage.claim("clash", "add", brings(json!([volume("work", "2Gi")]))).await?;
    stage.claim("replaced", "over", brings(json!([volume("work", "2Gi"), volume("more", "3Gi")]))).await?;
    stage.claim("twice", "over", brings(json!([volume("more", "2Gi"), volume("more", "3Gi")]))).await?;
    stage.claim("nameless", "over", brings(json!([{"spec": volume("", "1Gi")["spec"]}]))).await?;
    stage.template("bare", json!({"volumeClaimTemplatesPolicy": "Allowed"})).await?;
    stage.pool("bare", "bare", 0).await?;
    stage.claim("first", "bare", brings(json!([volume("own", "4Gi")]))).await?;
    stage.template("unsaid", json!({})).await?;
    stage.pool("unsaid", "unsaid", 0).await?;
    stage.claim("unheard", "unsaid", brings(json!([volume("own", "4Gi")]))).await?;

    for name in ["plain", "added", "replaced", "first"] {
        stage.ready_claim(name).await?;
    }
    assert_eq!(size(&stage, "work-plain").await?, "1Gi");
    assert_eq!(
        (size(&stage, "work-added").await?, size(&stage, "more-added").await?),
        ("1Gi".into(), "2Gi".into())
    );
    assert_eq!(size(&stage, "work-replaced").await?, "2Gi");
    assert_eq!(size(&stage, "more-replaced").await?, "3Gi");
    assert_eq!(size(&stage, "own-first").await?, "4Gi");
    refused(&stage, "denied", "disallowed by the template").await?;
    refused(&stage, "unheard", "disallowed by the template").await?;
    refused(&stage, "clash", "overriding volume claim templates is forbidden by the template").await?;
    refused(&stage, "twice", "invalid volume claim templates").await?;
    refused(&stage, "nameless", "invalid volume claim templates").await?;
    stage.finish().await
}
