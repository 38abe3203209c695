//! Where clusters live: one directory each under one per user, ports and subnets chosen by name.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::description::{Description, Home};
use crate::parts;

/// Held while a cluster of this name starts. Names share sixteen locks, so that the cache does not collect them.
pub(crate) fn lock_name(name: &str) -> Result<File> {
    parts::lock(&format!("kube-{:x}", spread(name) % 16))
}

/// Held while a place is taken or given back.
pub(crate) fn lock() -> Result<File> {
    parts::lock("kube-places")
}

pub(crate) fn require_root() -> Result<()> {
    ensure!(user()? == 0, "a node makes namespaces, links and cgroups, so --node needs root");
    Ok(())
}

fn user() -> Result<u32> {
    Ok(fs::metadata("/proc/self").context("look up who runs this")?.uid())
}

/// `/var/tmp`, because it is on a disk (benchmarks measure fsync), survives no `down`, and keeps socket paths short.
pub(crate) fn root() -> Result<PathBuf> {
    Ok(PathBuf::from(format!("/var/tmp/asb-kube-{}", user()?)))
}

pub(crate) fn directory(name: &str) -> Result<PathBuf> {
    ensure!(
        valid(name),
        "`{name}` is no cluster name: use up to 20 of a-z, 0-9 and -, starting with a letter"
    );
    Ok(root()?.join(name))
}

/// Makes the empty directory of a new cluster, closed to other users because it holds keys.
pub(crate) fn create(name: &str) -> Result<PathBuf> {
    let directory = directory(name)?;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(root()?)
        .context("create the clusters' directory")?;
    require_ownership(&root()?)?;
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700).create(&directory).with_context(|| format!("create {}", directory.display()))?;
    Ok(directory)
}

/// `/var/tmp` is everybody's: a directory that somebody else made there could have us run their programs.
fn require_ownership(root: &Path) -> Result<()> {
    let metadata = fs::symlink_metadata(root).with_context(|| format!("look at {}", root.display()))?;
    let ours = metadata.is_dir() && metadata.uid() == user()? && metadata.mode() & 0o777 == 0o700;
    ensure!(ours, "{} is not a directory of yours that is closed to others; remove it", root.display());
    Ok(())
}

/// Names of all clusters that have a directory, whole or not.
pub(crate) fn names() -> Result<Vec<String>> {
    let Ok(entries) = fs::read_dir(root()?) else { return Ok(Vec::new()) };
    require_ownership(&root()?)?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| valid(name))
        .collect();
    names.sort();
    Ok(names)
}

pub(crate) fn home(name: &str, node: bool) -> Result<Home> {
    let taken = homes()?;
    if !node {
        return Ok(Home::Loopback { port: choose_port(name, |port| free(port, &taken))? });
    }
    let routes = Command::new("ip").args(["-4", "route"]).output().context("run ip (package iproute2)")?;
    let routes = String::from_utf8_lossy(&routes.stdout).into_owned();
    Ok(Home::Node {
        slot: choose_slot(name, |slot| !taken.contains(&Home::Node { slot }) && !crosses(&routes, slot))?,
    })
}

fn homes() -> Result<Vec<Home>> {
    let root = root()?;
    let loaded = names()?.into_iter().filter_map(|name| Description::load(&root.join(name)).ok());
    Ok(loaded.map(|description| description.home).collect())
}

fn free(port: u16, taken: &[Home]) -> bool {
    !taken.contains(&Home::Loopback { port }) && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn crosses(routes: &str, slot: u8) -> bool {
    [213, 214, 215].iter().any(|range| routes.contains(&format!("10.{range}.{slot}.")))
}

fn choose_port(name: &str, usable: impl Fn(u16) -> bool) -> Result<u16> {
    let wished = u16::try_from(spread(name) % 10_000).context("a remainder under 10,000 fits")?;
    let ports = (0..10_000).map(|step| 20_000 + (wished + step) % 10_000);
    ports.into_iter().find(|port| usable(*port)).context("no port from 20000 to 29999 is free")
}

fn choose_slot(name: &str, usable: impl Fn(u8) -> bool) -> Result<u8> {
    let wished = u8::try_from(spread(name) % 250).context("a remainder under 250 fits")?;
    let slots = (0..250_u16).filter_map(|step| u8::try_from((u16::from(wished) + step) % 250).ok());
    slots.into_iter().find(|slot| usable(*slot)).context("all subnets for nodes are taken")
}

/// FNV-1a: the same name gets the same numbers on every machine and in every release.
fn spread(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn valid(name: &str) -> bool {
    let fits = (1..=20).contains(&name.len()) && name.starts_with(|first: char| first.is_ascii_lowercase());
    fits && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_port() {
        assert_eq!(choose_port("main", |_| true).unwrap(), choose_port("main", |_| true).unwrap());
        assert_ne!(choose_port("main", |_| true).unwrap(), choose_port("other", |_| true).unwrap());
    }

    #[test]
    fn a_taken_port_gives_way_to_the_next() {
        let wished = choose_port("main", |_| true).unwrap();
        assert_eq!(
            choose_port("main", |port| port != wished).unwrap(),
            20_000 + (wished - 20_000 + 1) % 10_000
        );
    }

    #[test]
    fn slots_run_out_with_a_reason() {
        assert!(choose_slot("main", |_| false).unwrap_err().to_string().contains("taken"));
        assert_eq!(choose_slot("main", |slot| slot == 3).unwrap(), 3);
    }

    #[test]
    fn a_subnet_in_use_is_noticed() {
        assert!(crosses("10.214.9.0/24 dev tun0 scope link", 9));
        assert!(!crosses("10.214.9.0/24 dev tun0 scope link", 90));
    }

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for name in ["", "..", "a/b", "Main", "-x", "a-name-that-is-far-too-long"] {
            assert!(!valid(name), "{name}");
        }
        assert!(valid("ci-2"));
    }
}
