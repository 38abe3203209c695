//! What `asb fsck` finds where somebody else has been at work on the machine, and what it mends.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::census::{Census, nft};
use crate::daemon::Daemon;
use crate::home::Home;
use crate::reach::Reach;
use crate::sandbox::{Sandbox, spec};

/// Ends with this value.
struct Stranger(Child);

impl Stranger {
    /// A process whose words are those of one that holds a Pod.
    fn holding(pod: &Path, folder: &Path) -> Result<Self> {
        fs::write(folder.join("shim"), "read line")?;
        let mut command = Command::new("sh");
        command.arg("shim").arg(pod).current_dir(folder).stdin(Stdio::piped());
        Ok(Self(command.spawn()?))
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        // It may have been ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ip(arguments: &[&str]) -> Result<()> {
    let output = Command::new("ip").args(arguments).output()?;
    ensure!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_belongs_to_nobody_is_found_and_mended() -> Result<()> {
    let home = Home::new()?;
    let (daemon, client) = Daemon::start(&home).await?;
    let reach = Reach::to(client);
    let mut sandbox = Sandbox::create(&reach, "box", spec(json!({}))).await?;
    sandbox.ready(&reach).await?;
    home.must_be_sound().await?;
    let census = Census::of(home.path())?;
    let node = home.path().join("node");
    let link = format!("a{}0123456789", census.tag());
    let other = format!("x{}0123456789", census.tag());
    ip(&["link", "add", &link, "type", "veth", "peer", "name", &other])?;
    let cgroup = census.cgroups().first().context("the node has a cgroup")?.join("ghost");
    fs::create_dir(&cgroup)?;
    fs::write(node.join("images/pins/ghost.main.json"), "{}")?;
    fs::create_dir_all(node.join("logs/default_ghost_ghost"))?;
    let element = format!("{{ \"{link}\" . 10.255.255.1 comment \"ghost\" }}");
    nft(&["add", "element", "inet", &census.table(), "sources", &element])?;
    let folder = tempfile::tempdir()?;
    let mut stranger = Stranger::holding(&node.join("pods/ghost"), folder.path())?;
    let found = home.asb(&["fsck"]).await?;
    assert_eq!(found.code, Some(1), "{found:?}");
    let process = format!("process {}, which held Pod ghost", stranger.0.id());
    let wanted = [
        "the link a",
        "/ghost",
        "the image that is kept for ghost.main",
        "the logs default_ghost_ghost",
        "what rules for packets say of Pod ghost",
        &process,
    ];
    for wanted in wanted {
        assert!(found.stdout.contains(wanted), "{wanted}: {}", found.stdout);
    }
    let mended = home.asb(&["fsck", "--repair"]).await?;
    assert_eq!(mended.code, Some(0), "{mended:?}");
    assert!(!stranger.0.wait()?.success(), "it was ended");
    // Nothing was taken from one who belongs.
    sandbox.write(&reach).await?;
    sandbox.verify(&reach, 0).await?;
    sandbox.delete(&reach).await?;
    census.must_find_no_pods().await?;
    home.finish(daemon).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_lacks_something_is_found() -> Result<()> {
    let home = Home::new()?;
    let (daemon, client) = Daemon::start(&home).await?;
    let reach = Reach::to(client);
    let sandbox = Sandbox::create(&reach, "box", spec(json!({}))).await?;
    sandbox.ready(&reach).await?;
    home.must_be_sound().await?;
    let census = Census::of(home.path())?;
    nft(&["flush", "set", "inet", &census.table(), "sources"])?;
    let found = home.asb(&["fsck"]).await?;
    assert!(
        found.stdout.contains("default/box is said to run, and has no rules for its packets"),
        "{found:?}"
    );
    for link in census.links() {
        ip(&["link", "delete", link.trim_start_matches("/sys/class/net/")])?;
    }
    let found = home.asb(&["fsck"]).await?;
    assert!(found.stdout.contains("default/box is said to run, and has no link to the network"), "{found:?}");
    assert_eq!(found.code, Some(1));
    sandbox.delete(&reach).await?;
    home.finish(daemon).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_left_whose_directory_is_gone_is_cleared_by_the_next() -> Result<()> {
    let (lost, home) = (Home::new()?, Home::new()?);
    let (daemon, client) = Daemon::start(&lost).await?;
    let reach = Reach::to(client);
    Sandbox::create(&reach, "box", spec(json!({}))).await?.ready(&reach).await?;
    let census = Census::of(lost.path())?;
    daemon.kill().await?;
    fs::remove_dir_all(lost.path().join("node"))?;
    let (daemon, _) = Daemon::start(&home).await?;
    census.must_find_nothing().await?;
    home.finish(daemon).await
}
