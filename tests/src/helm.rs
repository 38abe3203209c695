//! Helm, as a person runs it, with our chart. It talks to the cluster under test and no other.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

/// What Helm printed, or an error with its complaint.
pub async fn helm(arguments: &[&str]) -> Result<String> {
    let program = env::var_os("ASB_TEST_HELM").filter(|value| !value.is_empty());
    let program = program.unwrap_or_else(|| "helm".into());
    let kubeconfig = env::var_os("ASB_TEST_KUBECONFIG").context("the suite has a cluster")?;
    // Settings and caches of its own: what the user has set for Helm is not part of the test.
    let place = Path::new(&kubeconfig).with_file_name("helm");
    let mut command = Command::new(&program);
    command.args(arguments).env("KUBECONFIG", &kubeconfig).stdin(Stdio::null()).kill_on_drop(true);
    for (variable, folder) in
        [("HELM_CACHE_HOME", "cache"), ("HELM_CONFIG_HOME", "config"), ("HELM_DATA_HOME", "data")]
    {
        command.env(variable, place.join(folder));
    }
    let output = command.output().await.context("run helm; ASB_TEST_HELM says where it is")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "helm {}: {complaint}", arguments.join(" "));
    String::from_utf8(output.stdout).context("helm prints text")
}

/// The folder of the chart.
pub fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/agent-sandbox")
}
