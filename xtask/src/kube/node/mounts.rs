//! Gives the node its own `/run`, `/tmp`, `/var/lib` and `/var/log` in its mount namespace, so that nothing it writes
//! stays on the host, and shares mounts between kubelet and containers as a real node does.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path};

use anyhow::{Context, Result};

use super::{text, tool};
use crate::kube::description::Description;

/// Kernel settings that the kubelet insists on. They are not per namespace, so it is shown the values it wants instead
/// of changing the host's.
const SETTINGS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

pub(super) fn arrange(cluster: &Description) -> Result<()> {
    tool("mount", &["-t", "tmpfs", "-o", "mode=755", "run", "/run"])?;
    own_tmp(cluster)?;
    own(cluster, "var-lib", "/var/lib")?;
    own(cluster, "var-log", "/var/log")?;
    SETTINGS.iter().try_for_each(|(name, value)| pretend(cluster, name, value))?;
    // The namespace began private, so from here on mounts are shared within the node and hidden from the host.
    tool("mount", &["--make-rshared", "/"])
}

/// Programs may lie under the host's `/tmp`; those parts of it stay visible.
fn own_tmp(cluster: &Description) -> Result<()> {
    fs::create_dir("/run/host-tmp").context("make a place for the host's /tmp")?;
    tool("mount", &["--bind", "/tmp", "/run/host-tmp"])?;
    own(cluster, "tmp", "/tmp")?;
    let programs = cluster.programs.values().chain(&cluster.debian);
    let used: BTreeSet<_> = programs.filter_map(|path| under_tmp(path)).collect();
    for name in used {
        symlink(Path::new("/run/host-tmp").join(&name), Path::new("/tmp").join(&name))
            .context("show a part of /tmp")?;
    }
    tool("chmod", &["1777", "/tmp"])
}

fn under_tmp(path: &Path) -> Option<String> {
    let rest = path.strip_prefix("/tmp").ok()?;
    match rest.components().next()? {
        Component::Normal(name) => name.to_str().map(str::to_owned),
        _ => None,
    }
}

fn own(cluster: &Description, name: &str, place: &str) -> Result<()> {
    let source = cluster.directory.join(name);
    fs::create_dir_all(&source).with_context(|| format!("create {}", source.display()))?;
    tool("mount", &["--bind", &text(&source), place])
}

fn pretend(cluster: &Description, name: &str, value: &str) -> Result<()> {
    let place = Path::new("/proc/sys").join(name);
    if !place.exists() {
        return Ok(());
    }
    let file = cluster.directory.join(format!("sysctl-{}", name.replace('/', ".")));
    fs::write(&file, format!("{value}\n")).with_context(|| format!("write {}", file.display()))?;
    tool("mount", &["--bind", &text(&file), &text(&place)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_under_tmp_need_the_hosts_tmp() {
        assert_eq!(under_tmp(Path::new("/tmp/cache/parts/kubelet")), Some("cache".to_owned()));
        assert_eq!(under_tmp(Path::new("/var/cache/parts/kubelet")), None);
    }
}
