//! Bare names. kubectl takes the first group in discovery that has a plural or a singular. Singulars and short names are those of
//! extensions.agents.x-k8s.io alone. Plurals are shared: our own API server lists that group first, and kube-apiserver lists
//! groups of definitions by name.

use anyhow::Result;
use asb_tests::wait;
use asb_types::v1beta1::{SandboxClaim, SandboxTemplate, SandboxWarmPool};
use asb_types::{EXTENSIONS_GROUP, GROUP, shorthand};
use kube::Client;
use serde_json::{Value, json};

use crate::stage::Stage;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Which of the two groups comes first in a form of discovery.
async fn first(client: &Client, accept: &str) -> Result<String> {
    let request = http::Request::get("/apis").header("Accept", accept).body(Vec::new())?;
    let answer: Value = client.request(request).await?;
    let groups = answer["groups"].as_array().or(answer["items"].as_array()).into_iter().flatten();
    let names = groups.filter_map(|it| it["name"].as_str().or(it["metadata"]["name"].as_str()));
    Ok(names
        .filter(|name| [GROUP, EXTENSIONS_GROUP].contains(name))
        .map(str::to_owned)
        .next()
        .unwrap_or_default())
}

/// A folder without anything that kubectl remembers.
async fn fresh(stage: &Stage, arguments: &[&str]) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let cache = folder.path().display().to_string();
    stage.kubectl(&[&["--cache-dir", &cache], arguments].concat(), None).await
}

#[tokio::test]
async fn both_forms_of_discovery_list_the_groups_in_one_order() -> Result<()> {
    let stage = Stage::set().await?;
    let expected = if stage.cluster.is_original().await { GROUP } else { EXTENSIONS_GROUP };
    for accept in ["application/json", AGGREGATED] {
        assert_eq!(first(&stage.cluster.client(), accept).await?, expected, "{accept}");
    }
    stage.finish().await
}

#[tokio::test]
async fn bare_names_mean_the_kinds_of_extensions() -> Result<()> {
    let stage = Stage::set().await?;
    let pod = json!({"spec": {"containers": [{"name": "main", "image": "demo"}]}});
    stage.create::<SandboxTemplate>("canonical", json!({"podTemplate": pod})).await?;
    stage.create::<shorthand::SandboxTemplate>("short", json!({"template": pod})).await?;
    let reference = json!({"name": "canonical"});
    stage
        .create::<SandboxWarmPool>("canonical", json!({"replicas": 1, "sandboxTemplateRef": reference}))
        .await?;
    stage.create::<shorthand::SandboxWarmPool>("short", json!({"size": 0, "template": "short"})).await?;
    stage.create::<SandboxClaim>("canonical", json!({"warmPoolRef": reference})).await?;
    stage.create::<shorthand::SandboxClaim>("short", json!({"template": "short"})).await?;
    stage.ready::<SandboxClaim>("canonical").await?;
    stage.ready::<shorthand::SandboxClaim>("short").await?;
    // The kinds that are meant are listed whole, those that were made for short spellings among them.
    let listed =
        fresh(&stage, &["get", "sandboxtemplate,sandboxwarmpool,sandboxclaim", "-o", "name"]).await?;
    let is_canonical = |line: &str| line.contains(&format!(".{EXTENSIONS_GROUP}/"));
    assert!(listed.lines().count() == 6 && listed.lines().all(is_canonical), "{listed}");
    let listed =
        fresh(&stage, &["get", "sandboxtemplates,sandboxwarmpools,sandboxclaims", "-o", "name"]).await?;
    let is_short = |line: &str| line.contains(&format!(".{GROUP}/short")) && !is_canonical(line);
    if stage.cluster.is_original().await {
        assert!(listed.lines().count() == 3 && listed.lines().all(is_short), "{listed}");
    } else {
        assert!(listed.lines().count() == 6 && listed.lines().all(is_canonical), "{listed}");
    }
    for bare in ["sandboxtemplate", "sandboxwarmpool", "sandboxclaim", "swp"] {
        let named = fresh(&stage, &["get", bare, "canonical", "-o", "jsonpath={.apiVersion}"]).await?;
        assert_eq!(named, format!("{EXTENSIONS_GROUP}/v1beta1"), "{bare}");
    }
    fresh(&stage, &["scale", "sandboxwarmpool", "canonical", "--replicas", "2"]).await?;
    fresh(&stage, &["label", "sandboxclaim", "canonical", "seen=yes"]).await?;
    let described = fresh(&stage, &["describe", "sandboxclaim", "canonical"]).await?;
    assert!(described.contains("seen=yes") && described.contains("Warm Pool Ref"), "{described}");
    // A claim in a short spelling goes by its bare name too: the two are one.
    fresh(&stage, &["delete", "sandboxclaim", "canonical", "short"]).await?;
    let short = stage.api::<shorthand::SandboxClaim>();
    wait::until(wait::DEADLINE, "both spellings to be gone", || async {
        short.get_opt("short").await.ok().filter(Option::is_none)
    })
    .await?;
    stage.finish().await
}
