//! Counts what is on the machine of a data directory: processes, mounts, links, rules, cgroups and files. Looks at the kernel
//! and at the disk, and uses nothing of the code that ought to have removed it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use asb_tests::wait;
use serde_json::Value;

use crate::registry::debian;

pub(crate) struct Census {
    directory: PathBuf,
    tag: String,
}

impl Census {
    pub(crate) fn of(directory: &Path) -> Result<Self> {
        let text = fs::read(directory.join("node/identity.json")).context("read who the node is")?;
        let identity: Value = serde_json::from_slice(&text)?;
        let tag = identity["tag"].as_str().context("the node has no tag")?.to_owned();
        Ok(Self { directory: directory.to_owned(), tag })
    }

    /// What sandboxes have goes with them; what they take a moment to leave is waited for.
    pub(crate) async fn must_find_no_pods(&self) -> Result<()> {
        self.wait("what sandboxes left", || self.of_pods()).await
    }

    /// After `asb down` only files are left.
    pub(crate) async fn must_find_nothing(&self) -> Result<()> {
        self.wait("what the node left", || Ok([self.of_pods()?, self.of_node()?].concat())).await
    }

    /// The same while sandboxes have their files still, as after a reboot.
    pub(crate) async fn must_find_no_trace(&self) -> Result<()> {
        let look = || Ok([self.processes(), self.mounts(), self.links(), self.of_node()?].concat());
        self.wait("what the machine had", look).await
    }

    async fn wait(&self, what: &str, look: impl Fn() -> Result<Vec<String>>) -> Result<()> {
        let mut last = Vec::new();
        let gone = wait::until(wait::DEADLINE, what, || {
            let found = look();
            if let Ok(found) = &found {
                last.clone_from(found);
            }
            std::future::ready(match found {
                Ok(found) => found.is_empty().then_some(Ok(())),
                Err(error) => Some(Err(error)),
            })
        });
        let gone = gone.await;
        ensure!(gone.is_ok(), "left behind: {}", last.join(", "));
        gone?
    }

    fn of_pods(&self) -> Result<Vec<String>> {
        let cgroups = self.cgroups().into_iter().flat_map(|path| folders(&path));
        let cgroups = cgroups.map(|path| path.display().to_string()).collect::<Vec<_>>();
        Ok([self.files(), self.processes(), self.mounts(), self.links(), cgroups, self.elements()?].concat())
    }

    fn of_node(&self) -> Result<Vec<String>> {
        let cgroups: Vec<_> = self.cgroups().iter().map(|path| path.display().to_string()).collect();
        let list = Path::new("/run/agent-sandbox");
        let entries = [self.tag.clone(), format!(".{}", self.tag)].map(|name| list.join(name));
        let entries = entries.iter().filter(|path| path.exists()).map(|path| path.display().to_string());
        let tables = nft(&["list", "tables"])?;
        let tables = tables.lines().filter(|line| line.contains(&self.table())).map(str::to_owned);
        Ok([cgroups, entries.collect(), tables.collect()].concat())
    }

    /// How much there was to look at, when nothing of it was the node's.
    pub(crate) fn extent(&self) -> Result<String> {
        let (processes, mounts) = (everybody().count(), mount_table().lines().count());
        let links = entries(Path::new("/sys/class/net")).len();
        let top = folders(Path::new("/sys/fs/cgroup"));
        let cgroups: usize = top.iter().map(|hierarchy| folders(hierarchy).len()).sum();
        let rules = nft(&["list", "ruleset"])?.lines().count();
        Ok(format!(
            "census: none of {processes} processes, {mounts} mounts, {links} links, {cgroups} cgroups and {rules} lines of \
             rules is of node {}",
            self.tag
        ))
    }

    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    pub(crate) fn table(&self) -> String {
        format!("agent-sandbox-{}", self.tag)
    }

    /// Images stay, with the server; what belongs to Pods and claims goes with them, and so does what was on its way.
    fn files(&self) -> Vec<String> {
        let node = self.directory.join("node");
        let folders = ["pods", "logs", "volumes", "images/pins", "images/scratch"];
        let left = folders.iter().flat_map(|folder| entries(&node.join(folder)));
        let spooled = entries(&self.directory).into_iter().filter(|path| path.contains("/load-"));
        left.chain(spooled).collect()
    }

    /// Shims have the directory of their Pod among their arguments; everybody else is in a cgroup of ours.
    pub(crate) fn processes(&self) -> Vec<String> {
        let (pods, cgroup) = (self.directory.join("node/pods").display().to_string(), self.table());
        let is_ours = |process: &String| {
            let says = |file: &str, what: &str| {
                fs::read(Path::new(process).join(file))
                    .is_ok_and(|text| String::from_utf8_lossy(&text).contains(what))
            };
            says("cmdline", &pods) || says("cgroup", &cgroup)
        };
        everybody().filter(is_ours).collect()
    }

    fn mounts(&self) -> Vec<String> {
        let node = self.directory.join("node/").display().to_string();
        mount_table().lines().filter(|line| line.contains(&node)).map(str::to_owned).collect()
    }

    pub(crate) fn links(&self) -> Vec<String> {
        let beginning = format!("/sys/class/net/a{}", self.tag);
        entries(Path::new("/sys/class/net")).into_iter().filter(|link| link.starts_with(&beginning)).collect()
    }

    /// The node's own, in each hierarchy.
    pub(crate) fn cgroups(&self) -> Vec<PathBuf> {
        let top = PathBuf::from("/sys/fs/cgroup");
        let hierarchies = folders(&top).into_iter().chain([top]);
        hierarchies.map(|hierarchy| hierarchy.join(self.table())).filter(|path| path.is_dir()).collect()
    }

    /// The host's address among Pods, which is on its loopback.
    pub(crate) fn node_address(&self) -> Result<String> {
        let text = fs::read(self.directory.join("node/identity.json"))?;
        let identity: Value = serde_json::from_slice(&text)?;
        let range = identity["pods"].as_str().context("the node has no range")?;
        let (base, _) = range.split_once('/').context("a range has a length")?;
        let base: std::net::Ipv4Addr = base.parse()?;
        Ok(format!("{}/32", std::net::Ipv4Addr::from_bits(base.to_bits() + 1)))
    }

    pub(crate) fn forget_rules(&self) -> Result<()> {
        nft(&["delete", "table", "inet", &self.table()]).map(drop)
    }

    /// On the list of this machine's nodes.
    pub(crate) fn forget_entry(&self) -> Result<()> {
        Ok(fs::remove_file(Path::new("/run/agent-sandbox").join(&self.tag))?)
    }

    /// Links that rules speak of.
    fn elements(&self) -> Result<Vec<String>> {
        let table = self.table();
        if !nft(&["list", "tables"])?.lines().any(|line| line.ends_with(&table)) {
            return Ok(Vec::new());
        }
        let rules = nft(&["list", "table", "inet", &table])?;
        let beginning = format!("\"a{}", self.tag);
        let named = rules.lines().filter(|line| line.contains(&beginning) && !line.contains('*'));
        Ok(named.map(|line| format!("rule {}", line.trim())).collect())
    }
}

/// The directories of all processes.
fn everybody() -> impl Iterator<Item = String> {
    let all = entries(Path::new("/proc")).into_iter();
    all.filter(|path| path[6..].bytes().all(|byte| byte.is_ascii_digit()))
}

fn mount_table() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()
}

/// The program that everybody else uses.
pub(crate) fn nft(arguments: &[&str]) -> Result<String> {
    let debian = debian()?;
    let libraries = ["lib", "usr/lib"].map(|folder| debian.join(folder));
    let libraries = libraries.iter().flat_map(|folder| folders(folder)).collect::<Vec<_>>();
    let mut command = Command::new(debian.join("usr/sbin/nft"));
    command.args(arguments).env("LD_LIBRARY_PATH", std::env::join_paths(libraries)?);
    let output = command.output().context("run nft")?;
    ensure!(output.status.success(), "nft {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn entries(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path().display().to_string()).collect()
}

pub(crate) fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().map(PathBuf::from).filter(|path| path.is_dir()).collect()
}
