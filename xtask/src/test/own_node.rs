//! What the suites on our own node need: the images that their Pods have.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::own_package;
use crate::kube::images::{BUSYBOX, HOLD, shell};
use crate::parts::debian;
use crate::workspace;

/// What the Pods of the operator's suite run, before and after a change.
const DEMOS: [&str; 2] = ["demo:1", "demo:2"];

const EXECD: &str = "asb.test/execd:1";

/// Obtains what the images are made from.
pub(super) fn prepare() -> Result<()> {
    let user = Command::new("id").arg("--user").output().context("run id")?;
    ensure!(user.stdout.trim_ascii() == b"0", "only root can run containers");
    debian::NODE.obtain().map(drop)
}

/// Gives them to the node, which must be running.
pub(super) fn load_images(program: &Path, directory: &Path) -> Result<()> {
    let debian = debian::NODE.obtain()?;
    let archive = directory.join("image.tar");
    for name in DEMOS {
        load(program, directory, &save(name, &["/bin/sh", "-c", HOLD], &debian, &archive)?)?;
    }
    load(program, directory, &save(BUSYBOX, &["/bin/sh"], &debian, &archive)?)?;
    std::fs::remove_file(&archive).context("remove the archive of an image")
}

/// Gives it the image that `OpenSandbox` would take its daemon from.
pub(super) fn load_execd(program: &Path, directory: &Path) -> Result<()> {
    let (archive, debian) = (directory.join("image.tar"), debian::NODE.obtain()?);
    let script = workspace::root().join("tests/clients/opensandbox/bootstrap.sh");
    let file = File::create(&archive).with_context(|| format!("create {}", archive.display()))?;
    let image = shell(EXECD, &debian)?.program("bootstrap.sh", &script)?.program("execd", &script)?;
    image.save(file).with_context(|| format!("write the image {EXECD}"))?;
    load(program, directory, &archive)?;
    std::fs::remove_file(&archive).context("remove the archive of an image")
}

/// Gives it the image in which Pods use our own Python package.
pub(super) fn load_package(program: &Path, directory: &Path) -> Result<()> {
    let archive = directory.join("image.tar");
    own_package::write(&archive)?;
    load(program, directory, &archive)?;
    std::fs::remove_file(&archive).context("remove the archive of an image")
}

fn save(name: &str, command: &[&str], debian: &Path, archive: &Path) -> Result<PathBuf> {
    let file = File::create(archive).with_context(|| format!("create {}", archive.display()))?;
    shell(name, debian)?.command(command).save(file).with_context(|| format!("write the image {name}"))?;
    Ok(archive.to_owned())
}

fn load(program: &Path, directory: &Path, archive: &Path) -> Result<()> {
    let mut command = Command::new(program);
    command.args(["image", "load"]).arg(archive).arg("--data-dir").arg(directory).stdout(Stdio::null());
    ensure!(command.status().context("run asb image load")?.success(), "the node does not take the images");
    Ok(())
}
