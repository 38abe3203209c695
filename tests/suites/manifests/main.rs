//! The manifests, the kustomization and the chart that the operator is installed with, as kubectl, Helm and a real API
//! server read them. Nothing is installed: they are tried.

mod chart;
mod kustomize;
mod objects;

use std::path::{Path, PathBuf};

use anyhow::Result;
use asb_tests::{Cluster, account};
use asb_types::crd;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use objects::Objects;

const RELEASES: [&str; 6] = [
    "sandbox.yaml",
    "extensions.yaml",
    "sandbox-with-extensions.yaml",
    "manifest.yaml",
    "install.yaml",
    "router.yaml",
];

fn release(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/release").join(name)
}

static READY: OnceCell<()> = OnceCell::const_new();

/// The cluster, with the namespace in it: where nothing is stored, nothing can be put into a namespace that only would be.
async fn place() -> Result<Cluster> {
    let cluster = Cluster::connect().await?;
    READY.get_or_try_init(|| prepare(&cluster)).await?;
    Ok(cluster)
}

/// Other suites have the definitions converted at an address, which no manifest can turn into a Service.
async fn prepare(cluster: &Cluster) -> Result<()> {
    account::operator(cluster).await?;
    let definitions = Api::<CustomResourceDefinition>::all(cluster.client());
    let conversion = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    for (name, _) in crd::DOCUMENTS {
        definitions.patch(name, &PatchParams::default(), &Patch::Merge(&conversion)).await?;
    }
    Ok(())
}

async fn accepted(cluster: &Cluster, manifest: &str) -> Result<String> {
    let arguments =
        ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--field-manager=try", "-f", "-"];
    Ok(cluster.kubectl(&arguments, Some(manifest)).await?.success()?)
}

#[tokio::test]
async fn every_manifest_of_a_release_is_accepted() -> Result<()> {
    let cluster = place().await?;
    for name in RELEASES {
        let said = accepted(&cluster, &std::fs::read_to_string(release(name))?).await?;
        let deployment = if name == "router.yaml" { "sandbox-router" } else { "agent-sandbox-controller" };
        assert!(said.contains(&format!("deployment.apps/{deployment} serverside-applied")), "{name}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn the_operators_pod_passes_the_strictest_level_of_pod_security() -> Result<()> {
    let cluster = place().await?;
    let namespace = cluster.namespace().await?;
    let strict = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    let namespaces = Api::<Namespace>::all(cluster.client());
    namespaces.patch(&namespace, &PatchParams::default(), &Patch::Merge(strict)).await?;
    let deployment = Objects::of_release("install.yaml")?.take("Deployment", "agent-sandbox-controller")?;
    let mut pod = deployment["spec"]["template"].clone();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "try".into();
    // The account is in another namespace, and no part of the question.
    pod["spec"]["serviceAccountName"] = Value::Null;
    let arguments = ["create", "--dry-run=server", "--namespace", &namespace, "-f", "-"];
    cluster.kubectl(&arguments, Some(&pod.to_string())).await?.success()?;
    let mut careless = pod;
    careless["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = true.into();
    let refusal = cluster.kubectl(&arguments, Some(&careless.to_string())).await?.stderr;
    assert!(refusal.contains("violates PodSecurity"), "{refusal}");
    namespace.finish().await;
    Ok(())
}
