//! Waits until a cluster can be used, and says why when it never will be.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::description::Description;
use super::kubectl::Kubectl;
use super::node::addons;

const PATIENCE: Duration = Duration::from_mins(3);

/// Until the API server is ready and the controllers made the account that every Pod needs.
pub(crate) fn control_plane(cluster: &Description, supervisor: &mut Child) -> Result<()> {
    let kubectl = Kubectl::of(cluster)?;
    until(cluster, supervisor, "a ready API server", || kubectl.is_ready())?;
    until(cluster, supervisor, "working controllers", || {
        kubectl.answers(&["get", "serviceaccount", "default"])
    })
}

/// Until the node takes Pods, runs one (DNS), and Services lead to it.
pub(crate) fn node(cluster: &Description, supervisor: &mut Child) -> Result<()> {
    let kubectl = Kubectl::of(cluster)?;
    let patient = ["wait", "--for=condition=Ready", "--timeout=1s", "node", &cluster.name];
    until(cluster, supervisor, "a ready node", || kubectl.answers(&patient))?;
    until(cluster, supervisor, "an answer from the cluster's DNS", || addons::resolves(cluster))
}

fn until(
    cluster: &Description,
    supervisor: &mut Child,
    what: &str,
    condition: impl Fn() -> bool,
) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        if let Some(trouble) = trouble(cluster, supervisor)? {
            bail!("while waiting for {what}: {trouble}");
        }
        if Instant::now() > deadline {
            bail!("waited {} s in vain for {what}; logs are in {}", PATIENCE.as_secs(), cluster.file("logs"));
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// A component that exited, or a supervisor that is gone: a start that has failed.
fn trouble(cluster: &Description, supervisor: &mut Child) -> Result<Option<String>> {
    let exits = fs::read_to_string(cluster.directory.join("exits")).unwrap_or_default();
    if let Some(first) = exits.lines().next() {
        let component = first.split(':').next().unwrap_or_default();
        return Ok(Some(format!("{first}\n{}", end_of_log(cluster, component))));
    }
    if let Some(status) = supervisor.try_wait().context("ask whether the supervisor runs")? {
        return Ok(Some(format!("the supervisor ended ({status})\n{}", end_of_log(cluster, "supervisor"))));
    }
    Ok(None)
}

fn end_of_log(cluster: &Description, component: &str) -> String {
    let path = cluster.directory.join(format!("logs/{component}.log"));
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
