//! Names of one short hash: who came first is served, and the other says why it is not.

use anyhow::Result;
use asb_tests::wait;
use asb_types::v1beta1::{SandboxTemplate, SandboxWarmPool};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use crate::stage::{Stage, ready, sandbox_conditions};

/// Two names of one hash. Which of two that are made at once is looked at first, and served, is not known before.
const TWINS: [&str; 2] = ["costarring", "liquid"];
const REASON: &str = "NameHashCollision";

fn is_refused(conditions: &[Condition]) -> bool {
    ready(conditions).is_some_and(|ready| ready.reason == REASON)
}

#[tokio::test]
async fn of_two_sandboxes_of_one_hash_one_is_served_and_the_other_when_that_is_gone() -> Result<()> {
    let stage = Stage::set().await?;
    for name in TWINS {
        stage.sandbox(name, json!({"service": true})).await?;
    }
    let one_refused = |sandboxes: &[&asb_types::v1beta1::Sandbox]| {
        let refused = sandboxes.iter().filter(|it| is_refused(sandbox_conditions(it))).count();
        let served = sandboxes
            .iter()
            .filter(|it| ready(sandbox_conditions(it)).is_some_and(|ready| ready.status == "True"));
        refused == 1 && served.count() == 1
    };
    let sandboxes = wait::for_objects(&stage.sandboxes, "", "one served, one refused", one_refused).await?;
    let (refused, served): (Vec<_>, Vec<_>) =
        sandboxes.into_iter().partition(|sandbox| is_refused(sandbox_conditions(sandbox)));
    let (refused, served) = (refused[0].metadata.name.clone().unwrap_or_default(), &served[0]);
    let name = served.metadata.name.clone().unwrap_or_default();
    stage.sandboxes.delete(&name, &DeleteParams::default()).await?;
    stage.ready_sandbox(&refused).await?;
    stage.finish().await
}

#[tokio::test]
async fn of_two_templates_of_one_hash_one_gets_a_network_policy() -> Result<()> {
    let stage = Stage::set().await?;
    for name in TWINS {
        stage.template(name, json!({})).await?;
    }
    let conditions = |template: &SandboxTemplate| {
        template.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default()
    };
    let one_refused = |templates: &[&SandboxTemplate]| {
        let refused = templates.iter().filter(|it| is_refused(&conditions(it))).count();
        let served = templates
            .iter()
            .filter(|it| ready(&conditions(it)).is_some_and(|ready| ready.reason == "NetworkPolicyReady"));
        refused == 1 && served.count() == 1
    };
    let templates = wait::for_objects(&stage.templates, "", "one refused", one_refused).await?;
    let policies: Api<NetworkPolicy> = stage.namespace.api();
    for template in templates {
        let name = format!("{}-network-policy", template.metadata.name.clone().unwrap_or_default());
        assert_eq!(policies.get_opt(&name).await?.is_none(), is_refused(&conditions(&template)), "{name}");
    }
    stage.finish().await
}

#[tokio::test]
async fn of_two_pools_of_one_hash_one_is_filled() -> Result<()> {
    let stage = Stage::set().await?;
    stage.template("template", json!({})).await?;
    for name in TWINS {
        stage.pool(name, "template", 1).await?;
    }
    let conditions = |pool: &SandboxWarmPool| {
        pool.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default()
    };
    let one_refused = |pools: &[&SandboxWarmPool]| {
        let refused = pools.iter().filter(|it| is_refused(&conditions(it))).count();
        let full = pools.iter().filter(|it| ready(&conditions(it)).is_some_and(|it| it.reason == "Full"));
        refused == 1 && full.count() == 1
    };
    wait::for_objects(&stage.pools, "", "one full, one refused", one_refused).await?;
    stage.finish().await
}
