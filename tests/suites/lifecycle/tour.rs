//! What somebody sees who starts `asb up --fake-kubelet` and types kubectl commands.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use asb_tests::Cluster;
use asb_tests::embedded::{Server, up};
use jiff::Timestamp;
use serde_json::{Value, json};

const TEMPLATE: &str = r#"{
  "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxTemplate", "metadata": {"name": "python"},
  "spec": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": "python"}]}}}
}"#;
const POOL: &str = r#"{
  "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxWarmPool", "metadata": {"name": "pool"},
  "spec": {"replicas": 3, "sandboxTemplateRef": {"name": "python"}}
}"#;
const CLAIM: &str = r#"{
  "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim", "metadata": {"name": "mine"},
  "spec": {"warmPoolRef": {"name": "pool"}}
}"#;

/// Somebody at a shell.
struct Visitor(Cluster);

impl Visitor {
    async fn arrive(directory: &Path) -> Result<(Server, Self)> {
        let mut command = up(directory, "127.0.0.1:0")?;
        command.arg("--fake-kubelet");
        let server = Server::run(directory, command).await?;
        Ok((server, Self(Cluster::at(&directory.join("kubeconfig")).await?)))
    }

    async fn kubectl(&self, line: &str) -> Result<String> {
        let words = line.split_whitespace().collect::<Vec<_>>();
        Ok(self.0.kubectl(&words, None).await?.success()?)
    }

    async fn apply(&self, manifest: &str) -> Result<()> {
        self.0.kubectl(&["apply", "-f", "-"], Some(manifest)).await?.success()?;
        Ok(())
    }

    async fn wait(&self, object: &str, condition: &str) -> Result<()> {
        self.kubectl(&format!("wait {object} --timeout=50s --for={condition}")).await.map(drop)
    }

    /// Whether the description of an object has all these words of its story.
    async fn reads(&self, object: &str, story: &[&str]) -> Result<()> {
        let told = self.kubectl(&format!("describe {object}")).await?;
        let missing = story.iter().find(|words| !told.contains(**words));
        ensure!(missing.is_none(), "{missing:?} is missing in:\n{told}");
        Ok(())
    }

    /// A claim that has its Sandbox out of a full pool, and the name of that Sandbox.
    async fn claim(&self) -> Result<String> {
        for manifest in [TEMPLATE, POOL] {
            self.apply(manifest).await?;
        }
        self.wait("sandboxwarmpool/pool", "jsonpath={.status.readyReplicas}=3").await?;
        self.apply(CLAIM).await?;
        self.wait("sandboxclaim/mine", "condition=Ready").await?;
        self.kubectl("get sandboxclaim mine -o jsonpath={.status.sandbox.name}").await
    }

    async fn change(&self, object: &str, spec: Value) -> Result<()> {
        let change = json!({ "spec": spec }).to_string();
        self.kubectl(&format!("patch {object} --type=merge --patch={change}")).await.map(drop)
    }
}

#[tokio::test]
async fn a_pool_fills_a_claim_takes_one_of_it_and_tells_how() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (_server, visitor) = Visitor::arrive(directory.path()).await?;
    let sandbox = visitor.claim().await?;
    visitor.wait("sandboxclaim/mine", "jsonpath={.status.launch.readyAt}").await?;
    let adopted = format!("Adopted warm pool Sandbox \"{sandbox}\"");
    visitor.kubectl("wait --for=create event --field-selector=reason=SandboxAdopted --timeout=50s").await?;
    let story = [
        "Observed At:",
        "Bound At:",
        "Ready At:",
        "WarmSandboxReady",
        "Type:         Warm",
        adopted.as_str(),
    ];
    visitor.reads("sandboxclaim mine", &story).await?;
    visitor.wait("sandboxwarmpool/pool", "jsonpath={.status.readyReplicas}=3").await?;
    visitor.reads("sandboxwarmpool pool", &["3 of 3 Sandboxes are ready"]).await
}

#[tokio::test]
async fn a_claimed_sandbox_is_suspended_and_resumed() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (_server, visitor) = Visitor::arrive(directory.path()).await?;
    let sandbox = format!("sandbox/{}", visitor.claim().await?);
    visitor.change(&sandbox, json!({"operatingMode": "Suspended"})).await?;
    visitor.wait(&sandbox, "condition=Suspended").await?;
    visitor.reads(&sandbox, &["PodTerminated", "Sandbox is suspended", "Phase:", "Suspended"]).await?;
    visitor.change(&sandbox, json!({"operatingMode": "Running"})).await?;
    visitor.wait(&sandbox, "condition=Ready").await?;
    visitor.wait("sandboxclaim/mine", "condition=Ready").await
}

#[tokio::test]
async fn a_claim_whose_time_is_up_says_so() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (_server, visitor) = Visitor::arrive(directory.path()).await?;
    let sandbox = format!("sandbox/{}", visitor.claim().await?);
    let now = Timestamp::now().to_string();
    visitor.change("sandboxclaim/mine", json!({"lifecycle": {"shutdownTime": now}})).await?;
    visitor.wait(&sandbox, "delete").await?;
    visitor.wait("sandboxclaim/mine", "condition=Ready=false").await?;
    visitor.reads("sandboxclaim mine", &["ClaimExpired"]).await
}

#[tokio::test]
async fn what_was_pretended_goes_on_after_a_kill() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (mut server, visitor) = Visitor::arrive(directory.path()).await?;
    let sandbox = visitor.claim().await?;
    let of_pod = format!("get pod {sandbox} -o jsonpath={{.metadata.uid}}");
    let before = visitor.kubectl(&of_pod).await?;
    server.process.kill().await.context("it runs")?;
    let (_server, visitor) = Visitor::arrive(directory.path()).await?;
    visitor.wait("sandboxclaim/mine", "condition=Ready").await?;
    assert_eq!(visitor.kubectl(&of_pod).await?, before);
    Ok(())
}
