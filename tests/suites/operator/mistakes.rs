//! Objects with mistakes in them: each says what is wrong, is not tried again and again, and disturbs nobody else.

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::v1beta1::{Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool};
use jiff::SignedDuration;
use k8s_openapi::NamespaceResourceScope;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, Resource};
use serde_json::{Value, json};

use crate::roles::pod_template;
use crate::stage::{Stage, claim_conditions, patch, ready, sandbox_conditions};

/// Other people's work goes on, and meanwhile nothing is written about these names over and over.
async fn nobody_is_disturbed(stage: &Stage, names: &[&str]) -> Result<()> {
    stage.template("good", json!({})).await?;
    stage.pool("good", "good", 1).await?;
    stage.pool_with("good", 1).await?;
    for number in 0..3 {
        stage.claim(&format!("good-{number}"), "good", json!({})).await?;
        stage.ready_claim(&format!("good-{number}")).await?;
    }
    for name in names {
        let writes = stage.ledger.about(name);
        let most = writes.iter().map(|write| writes.iter().filter(|other| *other == write).count()).max();
        assert!(most.unwrap_or_default() <= 3, "{name}: {writes:?}");
    }
    Ok(())
}

/// Objects of a kind that need not make sense.
fn dynamic<K>(stage: &Stage) -> Api<DynamicObject>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    let resource = ApiResource::erase::<K>(&());
    Api::namespaced_with(stage.cluster.client(), stage.namespace.name(), &resource)
}

/// An object as JSON, which need not make sense to anybody but the API server.
async fn create<K>(stage: &Stage, name: &str, spec: Value) -> Result<()>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    let resource = ApiResource::erase::<K>(&());
    let api = dynamic::<K>(stage);
    let object = json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec});
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

/// What the condition Ready of such an object comes to say.
async fn told<K>(stage: &Stage, name: &str) -> Result<(String, String)>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    let api = dynamic::<K>(stage);
    let look = || async {
        let object = api.get(name).await.ok()?;
        let conditions = object.data["status"]["conditions"].as_array()?.clone();
        let ready = conditions.into_iter().find(|it| it["type"] == "Ready" && it["status"] == "False")?;
        let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
        Some((text("reason"), text("message")))
    };
    Ok(wait::until(wait::DEADLINE, &format!("{name} to say what is wrong"), look).await?)
}

#[tokio::test]
async fn a_time_that_nobody_can_tell_is_said_to_be_wrong() -> Result<()> {
    let stage = Stage::set().await?;
    // The schema's format looks no further than a second T.
    let time = "2030-01-02T03:04:05ZTomorrow";
    let sandbox = json!({"podTemplate": pod_template(), "shutdownTime": time});
    create::<Sandbox>(&stage, "sandbox", sandbox).await?;
    let claim = json!({"warmPoolRef": {"name": "good"}, "lifecycle": {"shutdownTime": time}});
    create::<SandboxClaim>(&stage, "claim", claim).await?;
    for ((reason, message), field) in [
        (told::<Sandbox>(&stage, "sandbox").await?, "spec.shutdownTime: "),
        (told::<SandboxClaim>(&stage, "claim").await?, "spec.lifecycle.shutdownTime: "),
    ] {
        assert_eq!(reason, "InvalidConfiguration");
        assert!(message.starts_with(field), "{message}");
    }
    nobody_is_disturbed(&stage, &["sandbox", "claim"]).await?;
    assert_eq!(stage.ledger.about("sandbox"), ["PATCH sandboxes/status"]);
    assert_eq!(stage.ledger.about("claim"), ["PATCH sandboxclaims/status"]);
    stage.finish().await
}

#[tokio::test]
async fn a_claim_whose_sandbox_cannot_be_understood_says_so_and_keeps_it() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    stage.claim("mine", "pool", json!({"lostSandboxPolicy": "Replace"})).await?;
    let name = stage.ready_claim("mine").await?.status.context("it is Ready")?.sandbox.name;
    patch(
        &dynamic::<Sandbox>(&stage),
        &name,
        json!({"spec": {"shutdownTime": "2030-01-02T03:04:05ZTomorrow"}}),
    )
    .await?;
    let claim = stage.claim_with("mine", "InvalidConfiguration").await?;
    assert_eq!(claim.status.context("just seen")?.sandbox.name, name);
    nobody_is_disturbed(&stage, &["mine", &name]).await?;
    patch(&dynamic::<Sandbox>(&stage), &name, json!({"spec": {"shutdownTime": null}})).await?;
    let claim = stage.ready_claim("mine").await?;
    assert_eq!(claim.status.context("it is Ready")?.sandbox.name, name);
    stage.finish().await
}

#[tokio::test]
async fn a_sandbox_until_the_end_of_time_lives() -> Result<()> {
    let stage = Stage::set().await?;
    stage.sandbox("demo", json!({"shutdownTime": "9999-12-31T23:59:59Z"})).await?;
    stage.ready_sandbox("demo").await?;
    stage.finish().await
}

#[tokio::test]
async fn a_pod_that_the_api_server_refuses_is_not_tried_again_and_again() -> Result<()> {
    let stage = Stage::set().await?;
    let bad = json!({"podTemplate": {"spec": {"containers": [{"name": "Not A Name", "image": "demo:1"}]}}});
    stage.sandbox("sandbox", bad.clone()).await?;
    stage.template("bad", bad).await?;
    stage.pool("off", "bad", 0).await?;
    stage.claim("claim", "off", json!({})).await?;
    let refused = stage.sandbox_with("sandbox", "Ready", "InvalidConfiguration").await?;
    let message = &ready(sandbox_conditions(&refused)).context("just seen")?.message;
    assert!(message.contains("containers[0].name"), "{message}");
    stage.claim_with("claim", "InvalidConfiguration").await?;
    stage.pool("warm", "bad", 1).await?;
    stage.sandboxes_in_number(3).await?;
    nobody_is_disturbed(&stage, &["sandbox", "claim", "warm", "bad"]).await?;
    let tries = || stage.ledger.about("sandbox").iter().filter(|write| *write == "POST pods").count();
    assert!((1..=2).contains(&tries()), "{} tries", tries());

    let mended =
        json!({"spec": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": "demo:1"}]}}}});
    patch(&stage.sandboxes, "sandbox", mended).await?;
    stage.ready_sandbox("sandbox").await?;
    stage.finish().await
}

/// A quota is raised some day, so that the Pod is tried again; a policy that objects to it is not expected to change.
#[tokio::test]
async fn a_pod_that_admission_forbids_is_tried_again_after_a_while_and_not_at_every_look() -> Result<()> {
    let stage = Stage::set().await?;
    stage.clock.stop();
    let quota =
        "pods \"full\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1";
    stage.ledger.refuse("POST pods", "full", 403, quota);
    stage.ledger.refuse(
        "POST pods",
        "denied",
        403,
        "admission webhook \"policy\" denied the request: not today",
    );
    for (name, reason) in [("full", "ReconcilerError"), ("denied", "InvalidConfiguration")] {
        stage.sandbox(name, json!({"service": true})).await?;
        let told = stage.sandbox_with(name, "Ready", reason).await?;
        let message = &ready(sandbox_conditions(&told)).context("just seen")?.message;
        assert!(message.contains("exceeded quota") || message.contains("not today"), "{message}");
        let tries = || stage.ledger.about(name).iter().filter(|write| *write == "POST pods").count();
        for round in 0..5 {
            stage.nudge(&stage.sandboxes, name).await?;
            stage.canary(&format!("{name}-{round}")).await?;
        }
        assert_eq!(tries(), 1, "{name}");
    }
    stage.ledger.relent();
    stage.clock.advance(SignedDuration::from_mins(2));
    for name in ["full", "denied"] {
        stage.nudge(&stage.sandboxes, name).await?;
        stage.ready_sandbox(name).await?;
    }
    stage.finish().await
}

#[tokio::test]
async fn wishes_that_no_template_can_grant_are_refused_with_a_reason() -> Result<()> {
    let stage = Stage::set().await?;
    stage.template("template", json!({"envVarsInjectionPolicy": "Allowed"})).await?;
    stage.pool("pool", "template", 1).await?;
    let env = |container: &str, name: &str| json!({"env": [{"containerName": container, "name": name, "value": "x"}]});
    let label = |key: &str, value: &str| json!({"additionalPodMetadata": {"labels": {key: value}}});
    let annotation = |key: &str, value: &str| json!({"additionalPodMetadata": {"annotations": {key: value}}});
    for (name, spec, reason) in [
        ("container", env("nobody", "KEY"), "EnvVarsInjectionRejected"),
        ("domain", label("example.com/a", "b"), "InvalidMetadata"),
        ("value", label("sandbox.users.io/a", "not valid"), "InvalidMetadata"),
        ("conflict", annotation("note", "another"), "InvalidMetadata"),
        ("reserved", annotation("agents.x-k8s.io/a", "b"), "InvalidMetadata"),
    ] {
        stage.claim(name, "pool", spec).await?;
        let claim = stage.claim_with(name, reason).await?;
        assert_eq!(json!(claim.status.clone().context("just seen")?.phase), json!("Failed"), "{name}");
        let message = &ready(claim_conditions(&claim)).context("just seen")?.message;
        assert!(!message.is_empty(), "{name}");
    }
    stage.claim("variable", "pool", env("main", "NOT=A=NAME")).await?;
    stage.claim_with("variable", "InvalidConfiguration").await?;
    nobody_is_disturbed(&stage, &["container", "domain", "value", "conflict", "reserved", "variable"])
        .await?;
    stage.finish().await
}

#[tokio::test]
async fn a_promise_that_cannot_be_a_name_keeps_no_claim_waiting() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    let annotations = json!({"agents.x-k8s.io/sandbox-name": "not a name/../x"});
    let claim = json!({"metadata": {"name": "mine", "annotations": annotations}, "spec": {"warmPoolRef": {"name": "pool"}}});
    stage.claims.create(&PostParams::default(), &serde_json::from_value(claim)?).await?;
    stage.ready_claim("mine").await?;
    stage.finish().await
}

#[tokio::test]
async fn pools_that_cannot_be_renewed_as_they_say_are_left_as_they_are() -> Result<()> {
    let stage = Stage::set().await?;
    stage.template("template", json!({})).await?;
    let pool =
        |strategy: Value| json!({"sandboxTemplateRef": {"name": "template"}, "updateStrategy": strategy});
    let countless = json!({"type": "Recreate", "maxSurge": "99999999999999999999%"});
    create::<SandboxWarmPool>(&stage, "countless", pool(countless)).await?;
    create::<SandboxWarmPool>(&stage, "idle", pool(json!({"type": "OnReplenish", "maxSurge": 1}))).await?;
    for name in ["countless", "idle"] {
        let (reason, message) = told::<SandboxWarmPool>(&stage, name).await?;
        assert_eq!(reason, "InvalidConfiguration", "{message}");
    }
    nobody_is_disturbed(&stage, &["countless", "idle"]).await?;
    stage.finish().await
}

#[tokio::test]
async fn objects_close_to_the_limit_are_served() -> Result<()> {
    let stage = Stage::set().await?;
    let note = "x".repeat(200_000);
    let env: Vec<_> =
        (0..50).map(|number| json!({"name": format!("KEY_{number}"), "value": "y".repeat(15_000)})).collect();
    let large = json!({"podTemplate": {
        "metadata": {"annotations": {"note": note}},
        "spec": {"containers": [{"name": "main", "image": "demo:1", "env": env}]},
    }});
    stage.template("large", large.clone()).await?;
    stage.pool("large", "large", 1).await?;
    stage.pool_with("large", 1).await?;
    stage.claim("mine", "large", json!({})).await?;
    stage.ready_claim("mine").await?;
    let _: SandboxTemplate = stage.templates.get("large").await?;
    stage.finish().await
}
