//! A machine that was rebooted, as far as a test can have it: everything goes that a reboot takes away, and files stay.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use asb_tests::wait;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use serde_json::json;

use crate::census::{Census, folders, nft};
use crate::daemon::Daemon;
use crate::home::Home;
use crate::reach::Reach;
use crate::sandbox::{self, Sandbox, spec};

/// Takes away processes, links, addresses, rules, cgroups and what is in `/run`. The daemon must be gone.
async fn reboot(home: &Home) -> Result<()> {
    let census = Census::of(home.path())?;
    let dead = || {
        let left = census.processes();
        for process in &left {
            // It may have ended with another.
            let _ = Command::new("kill").args(["-9", &process["/proc/".len()..]]).output();
        }
        std::future::ready(left.is_empty().then_some(()))
    };
    wait::until(wait::DEADLINE, "everybody to end", dead).await?;
    for link in census.links() {
        let name = Path::new(&link).file_name().context("a name")?.to_owned();
        // One whose other end went with its namespace is gone by now.
        let _ = Command::new("ip").args(["link", "delete"]).arg(name).output()?;
    }
    census.forget_rules()?;
    let address = census.node_address()?;
    let removed = Command::new("ip").args(["address", "delete", &address, "dev", "lo"]).output()?;
    ensure!(removed.status.success(), "{address}: {}", String::from_utf8_lossy(&removed.stderr));
    census.cgroups().iter().try_for_each(|path| remove(path))?;
    census.forget_entry()?;
    census.must_find_no_trace().await
}

fn remove(cgroup: &Path) -> Result<()> {
    folders(cgroup).iter().try_for_each(|path| remove(path))?;
    fs::remove_dir(cgroup).with_context(|| format!("remove {}", cgroup.display()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_should_run_runs_again_after_a_reboot_and_nothing_else_does() -> Result<()> {
    let home = Home::new()?;
    let (daemon, client) = Daemon::start(&home).await?;
    let reach = Reach::to(client.clone());
    let mut running = Sandbox::create(&reach, "running", spec(json!({}))).await?;
    let mut suspended = Sandbox::create(&reach, "suspended", spec(json!({}))).await?;
    for sandbox in [&mut running, &mut suspended] {
        sandbox.ready(&reach).await?;
        sandbox.write(&reach).await?;
    }
    suspended.suspend(&reach).await?;
    let once = once("once")?;
    sandbox::pods(client.clone()).create(&PostParams::default(), &once).await?;
    let is_ready = |pod: &Pod| phase(pod) == "Running";
    wait::for_object(&sandbox::pods(client), "once", "running", is_ready).await?;
    daemon.kill().await?;
    reboot(&home).await?;

    let (daemon, client) = Daemon::start(&home).await?;
    let reach = Reach::to(client.clone());
    // It was the reboot that ended it.
    running.verify(&reach, 1).await?;
    let pods = sandbox::pods(client.clone());
    let is_over = |pod: &Pod| phase(pod) == "Failed";
    wait::for_object(&pods, "once", "failed, for it is tried once", is_over).await?;
    assert!(pods.get_opt("suspended").await?.is_none(), "nobody resumed it");
    suspended.verify(&reach, 0).await?;
    home.must_be_sound().await?;
    pods.delete("once", &kube::api::DeleteParams::default()).await?;
    running.delete(&reach).await?;
    suspended.delete(&reach).await?;
    home.finish(daemon).await
}

fn once(name: &str) -> Result<Pod> {
    let container =
        json!({"name": "main", "image": "asb.local/host", "command": ["sh", "-c", "sleep 1000 & wait"]});
    let spec =
        json!({"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 1});
    Ok(serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec}))?)
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// A machine on which `nft` sees nothing would pass for rebooted.
#[test]
fn rules_of_others_are_seen() -> Result<()> {
    let name = format!("asb-torture-{}", std::process::id());
    nft(&["add", "table", "inet", &name])?;
    let listed = nft(&["list", "tables"]);
    nft(&["delete", "table", "inet", &name])?;
    assert!(listed?.contains(&name));
    Ok(())
}
