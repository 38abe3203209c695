//! Takes the few parts that are not Go, or would take long to build, from Debian packages, unpacked into the cache; nothing
//! is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::terminal;

/// Packages that belong together.
pub(crate) struct Packages {
    names: &'static [&'static str],
    /// What is wanted of them.
    programs: &'static [&'static str],
    extent: Extent,
    need: &'static str,
}

/// Whether a package is worth anything without those that it depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    WithDependencies,
    Alone,
}

/// What a node needs and no Go module gives: runc and nft want C, busybox is C.
pub(crate) const NODE: Packages = Packages {
    names: &["busybox-static", "containernetworking-plugins", "nftables", "runc"],
    programs: &["bin/busybox", "usr/lib/cni/ptp", "usr/sbin/nft", "usr/sbin/runc"],
    extent: Extent::WithDependencies,
    need: "a node needs runc, nftables, busybox and the CNI plugins from Debian packages, so it needs apt-get and root; \
           without --node none of them is needed",
};

/// Prometheus' own reader of rules.
pub(crate) const PROMTOOL: Packages = Packages {
    names: &["prometheus"],
    programs: &["usr/bin/promtool"],
    extent: Extent::Alone,
    need: "promtool comes from a Debian package, so it needs apt-get",
};

/// What people put before their servers.
pub(crate) const NGINX: Packages = Packages {
    names: &["nginx"],
    programs: &["usr/sbin/nginx"],
    extent: Extent::WithDependencies,
    need: "the router is measured beside the nginx of a Debian package, which needs apt-get and root",
};

/// A registry to pull images from.
pub(crate) const REGISTRY: Packages = Packages {
    names: &["docker-registry"],
    programs: &["usr/bin/docker-registry"],
    extent: Extent::WithDependencies,
    need: "pulling images is tried with the registry of a Debian package, which needs apt-get and root",
};

impl Packages {
    /// A folder that looks like `/` and holds the unpacked packages, downloaded now if no earlier run did.
    pub(crate) fn obtain(&self) -> Result<PathBuf> {
        let name = format!("debian-{}-{}", release(), super::fingerprint(self.names));
        let folder = super::folder()?.join(&name);
        if self.are_in(&folder) {
            return Ok(folder);
        }
        let _lock = super::lock(&name)?;
        if !self.are_in(&folder) {
            let title = format!("fetch Debian packages: {}", self.names.join(", "));
            terminal::step(&title, || self.fetch(&folder))?;
        }
        Ok(folder)
    }

    fn are_in(&self, folder: &Path) -> bool {
        self.programs.iter().all(|program| folder.join(program).is_file())
    }

    fn fetch(&self, folder: &Path) -> Result<()> {
        let scratch = folder.with_extension(format!("building-{}", std::process::id()));
        let fetched = self.download(&scratch).and_then(|()| unpack(&scratch)).and_then(|root| {
            ensure!(self.are_in(&root), "the packages lack one of {}", self.programs.join(", "));
            if folder.exists() {
                fs::remove_dir_all(folder).context("remove the incomplete packages")?;
            }
            fs::rename(&root, folder).context("keep the unpacked packages")
        });
        fs::remove_dir_all(&scratch).with_context(|| format!("remove {}", scratch.display()))?;
        fetched
    }

    /// The packages, perhaps with those of their dependencies that this machine lacks. The lists are renewed only when they
    /// are too old.
    fn download(&self, scratch: &Path) -> Result<()> {
        fs::create_dir_all(scratch.join("archives/partial")).context("make room for packages")?;
        if self.apt_get(scratch).is_ok() {
            return Ok(());
        }
        terminal::note("the package lists are missing or old: apt-get update");
        terminal::watched(Command::new("apt-get").args(["update", "-q"])).context(self.need)?;
        self.apt_get(scratch)
    }

    fn apt_get(&self, scratch: &Path) -> Result<()> {
        let archives = scratch.join("archives");
        let mut command = Command::new("apt-get");
        match self.extent {
            Extent::Alone => command.current_dir(&archives).args(["download", "--quiet"]),
            Extent::WithDependencies => command
                .args([
                    "install",
                    "--yes",
                    "--quiet",
                    "--reinstall",
                    "--download-only",
                    "--no-install-recommends",
                ])
                .arg("-o")
                .arg(format!("Dir::Cache::archives={}", archives.display())),
        };
        let output = command.args(self.names).output().context("run apt-get")?;
        if !output.status.success() {
            bail!("apt-get could not download: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }
}

/// A release of Debian keeps its packages at one version but for fixes, so it is the pin.
fn release() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let codename = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    codename.unwrap_or("unknown").trim_matches('"').to_owned()
}

fn unpack(scratch: &Path) -> Result<PathBuf> {
    let root = scratch.join("root");
    for entry in fs::read_dir(scratch.join("archives"))? {
        let package = entry?.path();
        if package.extension().is_some_and(|extension| extension == "deb") {
            let status = Command::new("dpkg-deb").arg("--extract").args([&package, &root]).status()?;
            ensure!(status.success(), "dpkg-deb could not unpack {}", package.display());
        }
    }
    Ok(root)
}
