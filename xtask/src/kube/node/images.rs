//! The images a cluster starts with. No registry is needed: they are made from programs at hand and imported.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{containerd, text, tool};
use crate::kube::description::Description;
use crate::kube::image::Image;

pub(crate) const PAUSE: &str = "asb.test/pause:1";
pub(crate) const BUSYBOX: &str = "asb.test/busybox:1";
pub(crate) const KUBECTL: &str = "asb.test/kubectl:1";
pub(crate) const COREDNS: &str = "asb.test/coredns:1";

/// Holds a Pod's namespaces open and reaps what is left in them, until it is asked to end.
pub(crate) const HOLD: &str = "trap 'exit 0' TERM INT; while :; do sleep 2147483647 & wait; done";

/// Writes the archives into the cluster's directory.
pub(crate) fn make(cluster: &Description) -> Result<()> {
    let folder = folder(cluster);
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let debian = cluster.debian.as_ref().context("a node needs the Debian packages")?;
    let images = [
        shell(PAUSE, debian)?.command(&["/bin/sh", "-c", HOLD]),
        shell(BUSYBOX, debian)?.command(&["/bin/sh"]),
        shell(KUBECTL, debian)?.program("bin/kubectl", cluster.program("kubectl")?)?.command(&["/bin/sh"]),
        Image::new(COREDNS).program("coredns", cluster.program("coredns")?)?.command(&["/coredns"]),
    ];
    for (number, image) in images.into_iter().enumerate() {
        let path = folder.join(format!("{number}.tar"));
        image.save(File::create(&path)?).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

pub(crate) fn import_all(cluster: &Description) -> Result<()> {
    for entry in fs::read_dir(folder(cluster)).context("list the images")? {
        import(cluster, &entry?.path())?;
    }
    Ok(())
}

/// Also works from the host, since containerd's socket is a file of the cluster's.
pub(crate) fn import(cluster: &Description, archive: &Path) -> Result<()> {
    let ctr = text(cluster.program("ctr")?);
    let socket = containerd::socket(cluster);
    tool(&ctr, &["--address", &socket, "--namespace", "k8s.io", "images", "import", &text(archive)])
}

fn folder(cluster: &Description) -> PathBuf {
    cluster.directory.join("images")
}

/// An image with the busybox of the Debian packages.
pub(crate) fn shell(name: &str, debian: &Path) -> Result<Image> {
    let busybox = debian.join("bin/busybox");
    Image::new(name).program("bin/busybox", &busybox)?.links(&applets(&busybox)?)
}

/// The commands that this busybox can be.
fn applets(busybox: &Path) -> Result<Vec<String>> {
    let output = Command::new(busybox).arg("--list").output().context("ask busybox what it can be")?;
    ensure!(output.status.success(), "busybox --list failed");
    let names = String::from_utf8(output.stdout).context("read busybox' list")?;
    Ok(names.lines().filter(|name| *name != "busybox").map(|name| format!("bin/{name}")).collect())
}
