//! Takes the few parts that are not Go from Debian packages, unpacked into the cache; nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::terminal;

/// Packages whose programs a node needs and no Go module gives: runc and nft want C, busybox is C.
const PACKAGES: [&str; 4] = ["busybox-static", "containernetworking-plugins", "nftables", "runc"];
const PROGRAMS: [&str; 4] = ["bin/busybox", "usr/lib/cni/ptp", "usr/sbin/nft", "usr/sbin/runc"];

/// A folder that looks like `/` and holds the unpacked packages, downloaded now if no earlier run did.
pub(crate) fn obtain() -> Result<PathBuf> {
    let name = format!("debian-{}-{}", release(), super::fingerprint(&PACKAGES));
    let folder = super::folder()?.join(&name);
    if complete(&folder) {
        return Ok(folder);
    }
    let _lock = super::lock(&name)?;
    if !complete(&folder) {
        terminal::step(&format!("fetch Debian packages: {}", PACKAGES.join(", ")), || fetch(&folder))?;
    }
    Ok(folder)
}

/// A release of Debian keeps its packages at one version but for fixes, so it is the pin.
fn release() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let codename = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    codename.unwrap_or("unknown").trim_matches('"').to_owned()
}

fn complete(folder: &Path) -> bool {
    PROGRAMS.iter().all(|program| folder.join(program).is_file())
}

fn fetch(folder: &Path) -> Result<()> {
    let scratch = folder.with_extension(format!("building-{}", std::process::id()));
    let fetched = download(&scratch).and_then(|()| unpack(&scratch)).and_then(|root| {
        ensure!(complete(&root), "the packages lack one of {}", PROGRAMS.join(", "));
        if folder.exists() {
            fs::remove_dir_all(folder).context("remove the incomplete packages")?;
        }
        fs::rename(&root, folder).context("keep the unpacked packages")
    });
    fs::remove_dir_all(&scratch).with_context(|| format!("remove {}", scratch.display()))?;
    fetched
}

/// The packages and those of their dependencies this machine lacks. The lists are renewed only when they are too old.
fn download(scratch: &Path) -> Result<()> {
    fs::create_dir_all(scratch.join("archives/partial")).context("make room for packages")?;
    if apt_get(scratch).is_ok() {
        return Ok(());
    }
    terminal::note("the package lists are missing or old: apt-get update");
    terminal::watched(Command::new("apt-get").args(["update", "-q"])).context(
        "a node needs runc, nftables, busybox and the CNI plugins from Debian packages, so it needs apt-get and root; \
         without --node none of them is needed",
    )?;
    apt_get(scratch)
}

fn apt_get(scratch: &Path) -> Result<()> {
    let archives = scratch.join("archives");
    let mut command = Command::new("apt-get");
    command
        .args(["install", "--yes", "--quiet", "--reinstall", "--download-only", "--no-install-recommends"])
        .arg("-o")
        .arg(format!("Dir::Cache::archives={}", archives.display()))
        .args(PACKAGES);
    let output = command.output().context("run apt-get")?;
    if !output.status.success() {
        bail!("apt-get could not download: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
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
