//! The chart: it says what the release says, and its values get where they belong.

use anyhow::Result;
use asb_tests::helm::{chart, helm};
use serde_json::json;

use crate::objects::Objects;
use crate::{accepted, place};

/// Everything that can be set, set to something else.
const EVERYTHING: &str = "
namespace: {name: sandboxes}
image: {repository: registry.example.com/operator, tag: v9, pullPolicy: Always}
imagePullSecrets: [{name: registry}]
replicaCount: 2
crds: {install: false}
documentKinds: {enabled: true}
podAnnotations: {note: kept}
podLabels: {team: blue}
runtime: {image: registry.example.com/sandboxd}
router:
  enabled: true
  replicaCount: 2
  tunnel: {enabled: false}
  previewDomain: boxes.example.com
  tlsSecret: router-tls
  service: {type: LoadBalancer, annotations: {reach: internal}}
  extraArgs: [--access-log=false]
  podAnnotations: {note: router}
  podLabels: {team: red}
  resources: {limits: {memory: 1Gi}}
controller:
  extensions: true
  leaderElectionNamespace: leases
  clusterDomain: example.local
  kubeApiQps: -1.0
  sandboxConcurrentWorkers: 1000000
  enableWarmPoolEviction: false
  enableTracing: true
  sandboxWarmPoolReplenishDelay: 5s
  extraArgs: [--log=debug]
env: [{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: http://collector.observability:4317}]
allowedLabelDomains: [example.com, example.org]
resources: {requests: {cpu: 1}}
nodeSelector: {disk: fast}
tolerations: [{key: own, operator: Exists}]
affinity: {nodeAffinity: {}}
priorityClassName: system-cluster-critical
podSecurityContext: null
containerSecurityContext: {readOnlyRootFilesystem: true}
podDisruptionBudget: {maxUnavailable: 50%}
networkPolicy: {metricsFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}
webhookServiceName: converter
service: {name: numbers}
metrics:
  serviceMonitor: {enabled: true, additionalLabels: {release: prometheus}, interval: 10s, scrapeTimeout: 5s}
  prometheusRule: {enabled: true, additionalLabels: {release: prometheus}, rules: [{name: mine, rules: []}]}
";

async fn rendered(more: &[&str]) -> Result<String> {
    let chart = chart().display().to_string();
    helm(&[&["template", "agent-sandbox", &chart], more].concat()).await
}

async fn with_everything() -> Result<String> {
    let folder = tempfile::tempdir()?;
    let values = folder.path().join("values.yaml");
    std::fs::write(&values, EVERYTHING)?;
    rendered(&["--values", &values.display().to_string()]).await
}

#[tokio::test]
async fn the_chart_with_extensions_is_the_release() -> Result<()> {
    let chart = Objects::of(&rendered(&["--set", "controller.extensions=true"]).await?)?.without_helm();
    let differences = chart.differences(&Objects::of_release("install.yaml")?);
    assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

#[tokio::test]
async fn the_chart_without_extensions_may_and_does_no_more_than_that() -> Result<()> {
    let chart = Objects::of(&rendered(&["--set", "crds.install=false"]).await?)?.without_helm();
    let release = Objects::of_release("sandbox.yaml")?;
    let differences = chart.differences(&release);
    assert_eq!(differences.len(), 1, "all but the definition: {differences:#?}");
    Ok(())
}

#[tokio::test]
async fn the_chart_with_document_kinds_is_both_releases() -> Result<()> {
    let values = ["--set", "controller.extensions=true,documentKinds.enabled=true"];
    let chart = Objects::of(&rendered(&values).await?)?.without_helm();
    let releases = Objects::of_release("install.yaml")?.and(Objects::of_release("documents.yaml")?);
    let differences = chart.differences(&releases);
    assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

#[tokio::test]
async fn the_chart_with_a_router_is_both_releases() -> Result<()> {
    let values = ["--set", "controller.extensions=true,router.enabled=true"];
    let chart = Objects::of(&rendered(&values).await?)?.without_helm();
    let releases = Objects::of_release("install.yaml")?.and(Objects::of_release("router.yaml")?);
    let differences = chart.differences(&releases);
    assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

#[tokio::test]
async fn document_kinds_without_what_they_stand_for_are_refused() -> Result<()> {
    let error = rendered(&["--set", "documentKinds.enabled=true"]).await.unwrap_err().to_string();
    assert!(error.contains("it needs controller.extensions=true"), "{error}");
    Ok(())
}

#[tokio::test]
async fn definitions_stay_when_the_release_goes() -> Result<()> {
    let objects = Objects::of(&rendered(&[]).await?)?;
    let definition = objects.take("CustomResourceDefinition", "sandboxes.agents.x-k8s.io")?;
    assert_eq!(definition["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    Ok(())
}

#[tokio::test]
async fn definitions_name_the_service_where_the_operator_is() -> Result<()> {
    let set = ["--set", "namespace.name=elsewhere,webhookServiceName=converter"];
    let objects = Objects::of(&rendered(&set).await?)?;
    let definition = objects.take("CustomResourceDefinition", "sandboxclaims.extensions.agents.x-k8s.io")?;
    let service = &definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
    assert_eq!((&service["namespace"], &service["name"]), (&json!("elsewhere"), &json!("converter")));
    Ok(())
}

#[tokio::test]
async fn the_namespace_of_the_release_is_not_made_again() -> Result<()> {
    let objects = Objects::of(&rendered(&["--namespace", "agent-sandbox-system"]).await?)?;
    assert!(objects.get("Namespace", "agent-sandbox-system").is_none());
    Ok(())
}

#[tokio::test]
async fn every_value_gets_where_it_belongs() -> Result<()> {
    let objects = Objects::of(&with_everything().await?)?.without_helm();
    insta::assert_yaml_snapshot!("names", objects.names());
    for (kind, name) in [
        ("Deployment", "agent-sandbox-controller"),
        ("NetworkPolicy", "agent-sandbox-controller"),
        ("PodDisruptionBudget", "agent-sandbox-controller"),
        ("ConfigMap", "agent-sandbox-config"),
        ("ServiceMonitor", "agent-sandbox-controller"),
        ("PrometheusRule", "agent-sandbox-controller"),
    ] {
        insta::assert_yaml_snapshot!(kind, objects.take(kind, name)?);
    }
    for (kind, name) in [("Deployment", "sandbox-router"), ("Service", "sandbox-router-svc")] {
        insta::assert_yaml_snapshot!(format!("router_{kind}"), objects.take(kind, name)?);
    }
    Ok(())
}

#[tokio::test]
async fn the_chart_is_sound() -> Result<()> {
    let chart = chart().display().to_string();
    for set in ["controller.extensions=true", "replicaCount=2", "crds.install=false", "router.enabled=true"] {
        helm(&["lint", "--strict", &chart, "--set", set]).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_value_that_the_chart_does_not_know_is_refused() -> Result<()> {
    for (set, what) in [("replicas=2", "replicas"), ("image.pullPolicy=Sometimes", "pullPolicy")] {
        let refusal = rendered(&["--set", set]).await.expect_err("it is not known").to_string();
        assert!(refusal.contains(what), "{refusal}");
    }
    Ok(())
}

#[tokio::test]
async fn the_api_server_accepts_what_the_chart_renders() -> Result<()> {
    let cluster = place().await?;
    accepted(&cluster, &rendered(&["--set", "controller.extensions=true,replicaCount=2"]).await?).await?;
    Ok(())
}

/// Its version is that of the operator that it installs.
#[tokio::test]
async fn the_chart_has_the_version_of_the_program() -> Result<()> {
    let said = helm(&["show", "chart", &chart().display().to_string()]).await?;
    let version = env!("CARGO_PKG_VERSION");
    assert!(said.contains(&format!("version: {version}\n")), "{said}");
    assert!(said.contains(&format!("appVersion: v{version}\n")), "{said}");
    Ok(())
}
