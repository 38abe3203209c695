//! The Python that is printed for claims and their status, with the official client.

use std::env;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_types::shorthand;
use asb_types::v1beta1::Sandbox;
use tokio::process::Command;
use tokio::time::timeout;

use crate::stage::Stage;

const RUNNER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/orchestrator.py");
const DEADLINE: Duration = Duration::from_mins(2);

/// The functions put everything into the namespace `default`, whence the name of the task must be of this run alone.
#[tokio::test]
async fn the_orchestrator_makes_a_sandbox_and_polls_its_phase() -> Result<()> {
    let stage = Stage::within("default").await?;
    stage.apply("analysis-template").await?;
    let task = format!("t{}", std::process::id());
    let phases = run(&task).await?;
    assert_eq!(phases.lines().last(), Some("Running"), "{phases}");
    let name = format!("task-{task}");
    let claim: shorthand::SandboxClaim = stage.ready(&name).await?;
    assert_eq!(claim.metadata.labels.unwrap_or_default().get("task-id"), Some(&task));
    let sandbox: Sandbox = stage.ready(&name).await?;
    let env = sandbox.spec.pod_template.spec.containers[0].env.clone().unwrap_or_default();
    let names: Vec<_> = env.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["REPO_URL", "TASK_DESCRIPTION", "BASE_BRANCH", "NEW_BRANCH"]);
    stage.kubectl(&["delete", "sandboxclaim", &name], None).await?;
    stage.kubectl(&["delete", "sandboxtemplate", "coding-agent-template"], None).await?;
    stage.finish().await
}

async fn run(task: &str) -> Result<String> {
    let python =
        env::var_os("ASB_TEST_PYTHON").context("ASB_TEST_PYTHON is not set; `cargo xtask test` does it")?;
    let kubeconfig = env::var_os("ASB_TEST_KUBECONFIG").context("the cluster was found by it")?;
    let mut command = Command::new(python);
    command.args([RUNNER, task]).env("KUBECONFIG", kubeconfig).kill_on_drop(true);
    let output = timeout(DEADLINE, command.output()).await.context("it ends in time")??;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
