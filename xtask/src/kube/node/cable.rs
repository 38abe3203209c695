//! The link between this machine and a node in its own network namespace. Routes over it let the host reach Pods and
//! Services by address. All of it goes when the namespace goes.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::tool;
use crate::kube::census;
use crate::kube::description::{Description, Home};

/// The host's side, done by `up` once the namespace exists.
pub(crate) fn lay(cluster: &Description) -> Result<()> {
    let home = cluster.home;
    let pid = wait(|| inhabitant(&cluster.directory)).context("no process entered the node's namespaces")?;
    let (link, node) = (home.link(), home.address().to_string());
    ip(&["link", "add", &link, "type", "veth", "peer", "name", "eth0", "netns", &pid.to_string()])?;
    ip(&["address", "add", &format!("{}/30", home.gateway()), "dev", &link])?;
    ip(&["link", "set", &link, "up"])?;
    for range in [home.pod_range(), home.service_range()] {
        ip(&["route", "add", &range, "via", &node])?;
    }
    Ok(())
}

/// The node's side.
pub(super) fn plug_in(cluster: &Description) -> Result<()> {
    let home = cluster.home;
    wait(|| has_link("eth0").then_some(())).context("nobody connected the node's network namespace")?;
    ip(&["link", "set", "lo", "up"])?;
    ip(&["address", "add", &format!("{}/30", home.address()), "dev", "eth0"])?;
    ip(&["link", "set", "eth0", "up"])?;
    ip(&["route", "add", "default", "via", &home.gateway().to_string()])?;
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("let the node forward packets of Pods")
}

/// Only the host's side of a namespace that outlived its processes is left to remove, and usually not even that.
pub(crate) fn pull(home: Home) -> Result<()> {
    if matches!(home, Home::Node { .. }) && Path::new("/sys/class/net").join(home.link()).exists() {
        // The kernel removes it at the same time, and may win.
        let removed = ip(&["link", "delete", &home.link()]);
        ensure!(removed.is_ok() || !Path::new("/sys/class/net").join(home.link()).exists(), "{removed:?}");
    }
    Ok(())
}

/// A process of the cluster that is in another network namespace than this one.
fn inhabitant(directory: &Path) -> Option<u32> {
    let here = fs::read_link("/proc/self/ns/net").ok()?;
    let elsewhere = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/net")).is_ok_and(|there| there != here);
    census::processes(directory).ok()?.into_iter().map(|process| process.pid).find(|pid| elsewhere(*pid))
}

/// `/sys/class/net` shows the namespace that mounted it; `/proc` shows the reader's.
fn has_link(name: &str) -> bool {
    let devices = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    devices.lines().any(|line| line.trim().starts_with(&format!("{name}:")))
}

fn wait<T>(look: impl Fn() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if let Some(found) = look() {
            return Some(found);
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

fn ip(arguments: &[&str]) -> Result<()> {
    tool("ip", arguments)
}
