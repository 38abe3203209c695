//! The kustomization and the component for two replicas, as `kubectl kustomize` builds them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::objects::Objects;
use crate::{accepted, place};

const OWN: &str = "
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [deploy/release]
components: [deploy/two-replicas]
images: [{name: agent-sandbox-controller, newName: registry.example.com/mine}]
";

#[tokio::test]
async fn the_kustomization_is_the_release() -> Result<()> {
    let cluster = place().await?;
    let folder = crate::release("").display().to_string();
    let built = Objects::of(&cluster.kubectl(&["kustomize", &folder], None).await?.success()?)?;
    let differences = built.differences(&Objects::of_release("install.yaml")?);
    assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

#[tokio::test]
async fn a_kustomization_of_ones_own_has_two_replicas_and_another_image() -> Result<()> {
    let cluster = place().await?;
    let folder = tempfile::tempdir()?;
    symlink(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").canonicalize()?,
        folder.path().join("deploy"),
    )?;
    fs::write(folder.path().join("kustomization.yaml"), OWN)?;
    let folder = folder.path().display().to_string();
    let manifest = cluster.kubectl(&["kustomize", &folder], None).await?.success()?;
    let built = Objects::of(&manifest)?;
    let deployment = built.take("Deployment", "agent-sandbox-controller")?;
    assert_eq!(deployment["spec"]["replicas"], 2);
    let image = deployment["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    assert_eq!(image, concat!("registry.example.com/mine:v", env!("CARGO_PKG_VERSION")));
    let budget = built.take("PodDisruptionBudget", "agent-sandbox-controller")?;
    assert_eq!(budget["spec"]["maxUnavailable"], json!(1));
    accepted(&cluster, &manifest).await?;
    Ok(())
}
