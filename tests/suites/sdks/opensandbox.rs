//! OpenSandbox' server, whose provider for agent-sandbox makes Sandboxes without claims and pools.

use anyhow::Result;
use tokio::process::Command;

use crate::stage::{BUSYBOX, Stage, given, run};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/opensandbox.py");

/// Where its sandboxes get their daemon from.
const EXECD: &str = "asb.test/execd:1";

#[tokio::test]
async fn every_operation_of_its_provider_works() -> Result<()> {
    let stage = Stage::empty().await?;
    let mut command = Command::new(given("ASB_TEST_OPENSANDBOX")?);
    command.args([SCRIPT, BUSYBOX, EXECD, stage.namespace.name()]);
    command.env("KUBECONFIG", given("KUBECONFIG")?).env("PYTHONDONTWRITEBYTECODE", "1");
    run(command).await?;
    stage.namespace.finish().await;
    Ok(())
}
