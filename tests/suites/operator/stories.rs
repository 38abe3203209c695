//! What Sandboxes and claims tell about themselves: their phase, how they were launched, when.

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::annotations::{CLAIM_FIRST_READY_AT, CONTROLLER_FIRST_OBSERVED_AT};
use asb_types::v1beta1::SandboxClaim;
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::roles::{Role, Roles};
use crate::stage::{Stage, patch};

async fn phase(stage: &Stage, name: &str) -> Result<Value> {
    Ok(json!(stage.sandboxes.get(name).await?.status.unwrap_or_default().phase))
}

#[tokio::test]
async fn a_sandbox_has_a_phase() -> Result<()> {
    let named = &[("job", Role::Succeed), ("bad", Role::Fail(1))];
    let stage = Stage::with(Roles { others: Role::Run, named }).await?;
    for name in ["demo", "job", "bad"] {
        stage.sandbox(name, json!({})).await?;
    }
    stage.ready_sandbox("demo").await?;
    assert_eq!(phase(&stage, "demo").await?, "Running");
    stage.sandbox_with("job", "Ready", "PodSucceeded").await?;
    assert_eq!(phase(&stage, "job").await?, "Succeeded");
    stage.sandbox_with("bad", "Ready", "PodFailed").await?;
    assert_eq!(phase(&stage, "bad").await?, "Failed");
    patch(&stage.sandboxes, "demo", json!({"spec": {"operatingMode": "Suspended"}})).await?;
    stage.sandbox_with("demo", "Suspended", "PodTerminated").await?;
    assert_eq!(phase(&stage, "demo").await?, "Suspended");
    stage.finish().await
}

fn launch(claim: &SandboxClaim) -> Result<Value> {
    Ok(json!(claim.status.clone().context("it is Ready")?.launch))
}

#[tokio::test]
async fn a_claim_tells_how_it_got_its_sandbox() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    stage.pool("off", "pool", 0).await?;
    stage.claim("warm", "pool", json!({})).await?;
    stage.claim("cold", "off", json!({})).await?;
    let warm = launch(&stage.ready_claim("warm").await?)?;
    let told = |launch: &Value| (launch["type"].clone(), launch["reason"].clone(), launch["pool"].clone());
    assert_eq!(told(&warm), (json!("Warm"), json!("WarmSandboxReady"), json!("pool")));
    let cold = launch(&stage.ready_claim("cold").await?)?;
    assert_eq!(told(&cold), (json!("Cold"), json!("WarmPoolSizeZero"), json!("off")));
    for launch in [warm, cold] {
        let time = |field: &str| launch[field].as_str().unwrap_or_default().parse::<Timestamp>();
        let (observed, bound, ready) = (time("observedAt")?, time("boundAt")?, time("readyAt")?);
        assert!(observed <= bound && bound <= ready, "{launch}");
    }
    stage.finish().await
}

#[tokio::test]
async fn a_claim_is_stamped_to_a_part_of_a_second_and_its_adoption_is_an_event() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    stage.claim("mine", "pool", json!({})).await?;
    let is_stamped = |claim: &SandboxClaim| claim.annotations().contains_key(CLAIM_FIRST_READY_AT);
    let claim = wait::for_object(&stage.claims, "mine", "stamped", is_stamped).await?;
    for stamp in [CONTROLLER_FIRST_OBSERVED_AT, CLAIM_FIRST_READY_AT] {
        let text = &claim.annotations()[stamp];
        text.parse::<Timestamp>()?;
        assert!(text.contains('.'), "{stamp}: {text}");
    }
    let event = event(&stage, "Adoption").await?;
    let name = claim.status.context("it is Ready")?.sandbox.name;
    assert_eq!(event.reason.as_deref(), Some("SandboxAdopted"));
    assert_eq!(event.note, Some(format!("Adopted warm pool Sandbox {name:?}")));
    assert_eq!(event.reporting_controller.as_deref(), Some("sandboxclaim-controller"));
    stage.finish().await
}

/// The event that tells of an action.
async fn event(stage: &Stage, action: &str) -> Result<Event> {
    let events: Api<Event> = stage.namespace.api();
    let find = || async {
        let list = events.list(&ListParams::default()).await.ok()?;
        list.items.into_iter().find(|event| event.action.as_deref() == Some(action))
    };
    Ok(wait::until(wait::DEADLINE, &format!("the event of {action}"), find).await?)
}

#[tokio::test]
async fn the_life_of_a_claim_is_told_in_events() -> Result<()> {
    let stage = Stage::set().await?;
    stage.template("template", json!({})).await?;
    stage.pool("off", "template", 0).await?;
    stage.claim("mine", "off", json!({})).await?;
    stage.ready_claim("mine").await?;
    let end = json!({"shutdownTime": "2020-01-01T00:00:00Z", "shutdownPolicy": "DeleteForeground"});
    patch(&stage.claims, "mine", json!({"spec": {"lifecycle": end}})).await?;
    for (action, reason, note) in [
        ("Provisioning", "SandboxProvisioned", "Created Sandbox \"mine\""),
        ("Claim Expired", "ClaimExpired", "Claim expired"),
        ("Deleting", "ClaimExpired", "Deleting Claim (ShutdownPolicy=DeleteForeground)"),
    ] {
        let event = event(&stage, action).await?;
        assert_eq!((event.reason.as_deref(), event.note.as_deref()), (Some(reason), Some(note)));
        assert_eq!(event.type_.as_deref(), Some("Normal"));
    }
    stage.finish().await
}
