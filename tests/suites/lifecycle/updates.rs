//! A data directory that an older or a newer `asb` left, or that its users changed, after a kill and a start.

use anyhow::{Context, Result};
use asb_tests::embedded::Server;
use asb_tests::wait;
use asb_types::annotations::{AUTO_UPDATE, DEFINITION_REVISION};
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Where the router is published, beside everything else.
const ROUTER: &str = "agent-sandbox-system";
const SANDBOXES: &str = "sandboxes.agents.x-k8s.io";
const CLAIMS: &str = "sandboxclaims.extensions.agents.x-k8s.io";
const POOLS: &str = "sandboxwarmpools.extensions.agents.x-k8s.io";
const TEMPLATES: &str = "sandboxtemplates.extensions.agents.x-k8s.io";

/// A server that was killed and started again after some changes.
struct Case {
    directory: TempDir,
    server: Server,
}

impl Case {
    async fn begin() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let server = Server::start(directory.path()).await?;
        Ok(Self { directory, server })
    }

    async fn restart(mut self) -> Result<Self> {
        self.server.process.kill().await?;
        let server = Server::start(self.directory.path()).await?;
        Ok(Self { server, ..self })
    }

    fn definitions(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.server.client.clone())
    }

    fn roles(&self) -> Api<ClusterRole> {
        Api::all(self.server.client.clone())
    }

    /// Gives a definition another short name, and these annotations.
    async fn alter(&self, definition: &str, annotations: Value) -> Result<()> {
        let change =
            json!({"metadata": {"annotations": annotations}, "spec": {"names": {"shortNames": ["altered"]}}});
        self.definitions().patch(definition, &PatchParams::default(), &Patch::Merge(change)).await?;
        Ok(())
    }

    async fn short_names(&self, definition: &str) -> Result<Vec<String>> {
        Ok(self.definitions().get(definition).await?.spec.names.short_names.unwrap_or_default())
    }

    async fn change_role(&self, name: &str, change: Value) -> Result<()> {
        self.roles().patch(name, &PatchParams::default(), &Patch::Merge(change)).await?;
        Ok(())
    }

    async fn rules(&self, role: &str) -> Result<Vec<PolicyRule>> {
        Ok(self.roles().get(role).await?.rules.unwrap_or_default())
    }

    /// The last things that a first start leads to.
    async fn settle(&self) -> Result<()> {
        let client = || self.server.client.clone();
        for namespace in ["kube-system", ROUTER] {
            let maps = Api::<ConfigMap>::namespaced(client(), namespace);
            wait::for_object(&maps, "kube-root-ca.crt", "there", |_| true).await?;
        }
        let services = Api::<Service>::namespaced(client(), ROUTER);
        wait::for_object(&services, "sandbox-router-svc", "there", |_| true).await?;
        Ok(())
    }

    /// The revision of everything that is stored.
    async fn revision(&self) -> Result<String> {
        let listed = self.definitions().list(&ListParams::default()).await?;
        listed.metadata.resource_version.context("lists have one")
    }
}

#[tokio::test]
async fn a_start_with_nothing_to_change_writes_nothing() -> Result<()> {
    let case = Case::begin().await?;
    case.settle().await?;
    let before = case.revision().await?;
    assert_eq!(case.restart().await?.revision().await?, before);
    Ok(())
}

#[tokio::test]
async fn definitions_are_updated_unless_they_are_newer_or_marked() -> Result<()> {
    let case = Case::begin().await?;
    let shipped = (case.short_names(SANDBOXES).await?, case.short_names(TEMPLATES).await?);
    case.alter(SANDBOXES, json!({DEFINITION_REVISION: "0", "example.com/mine": "kept"})).await?;
    case.alter(TEMPLATES, json!({})).await?;
    case.alter(POOLS, json!({DEFINITION_REVISION: "1000000"})).await?;
    case.alter(CLAIMS, json!({AUTO_UPDATE: "false"})).await?;
    let case = case.restart().await?;
    assert_eq!((case.short_names(SANDBOXES).await?, case.short_names(TEMPLATES).await?), shipped);
    for left in [POOLS, CLAIMS] {
        assert_eq!(case.short_names(left).await?, ["altered"], "{left}");
    }
    let annotations = case.definitions().get(SANDBOXES).await?.metadata.annotations.unwrap_or_default();
    assert_eq!(annotations.get("example.com/mine").map(String::as_str), Some("kept"));
    Ok(())
}

#[tokio::test]
async fn roles_get_what_they_lack_and_keep_what_was_added() -> Result<()> {
    let case = Case::begin().await?;
    let added = json!({"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]});
    case.change_role("system:discovery", json!({"rules": [added]})).await?;
    let marked = json!({"rbac.authorization.kubernetes.io/autoupdate": "false"});
    case.change_role("system:basic-user", json!({"metadata": {"annotations": marked}, "rules": [added]}))
        .await?;
    let case = case.restart().await?;
    let rules = case.rules("system:discovery").await?;
    assert_eq!(serde_json::to_value(&rules[0])?, added);
    let urls = rules.iter().flat_map(|rule| rule.non_resource_urls.iter().flatten());
    assert!(urls.into_iter().any(|url| url == "/apis"), "{rules:?}");
    assert_eq!(case.rules("system:basic-user").await?.len(), 1, "it is marked to be left alone");
    Ok(())
}
