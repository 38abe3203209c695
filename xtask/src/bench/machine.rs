//! `asb up` with its node, in a directory of its own. What it has started ends with the value.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use super::embedded::{Embedded, Extent};
use crate::kube::images::{BUSYBOX, shell};
use crate::terminal;

pub(super) struct Machine {
    asb: PathBuf,
    pub(super) data: PathBuf,
    server: Option<Embedded>,
}

impl Machine {
    pub(super) fn start(asb: &Path, data: &Path) -> Result<Self> {
        let server = Embedded::start(asb, data, Extent::Node)?;
        Ok(Self { asb: asb.into(), data: data.into(), server: Some(server) })
    }

    pub(super) fn server(&self) -> &Embedded {
        self.server.as_ref().expect("it is there between its end and its next start, which nobody sees")
    }

    /// Killed, and started on what it left.
    pub(super) fn restart(&mut self) -> Result<()> {
        drop(self.server.take());
        self.server = Some(Embedded::start(&self.asb, &self.data, Extent::Node)?);
        Ok(())
    }

    /// The image that Sandboxes are made of.
    pub(super) fn load_image(&self, debian: &Path, folder: &Path) -> Result<()> {
        let archive = folder.join("image.tar");
        shell(BUSYBOX, debian)?.command(&["/bin/sh"]).save(File::create(&archive)?)?;
        let mut load = self.command(&["image", "load"]);
        ensure!(
            load.arg(&archive).stdout(Stdio::null()).status()?.success(),
            "the node does not take the image"
        );
        Ok(())
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.asb);
        // What the user has elsewhere is not meant.
        command.args(arguments).env_remove("KUBECONFIG").env("ASB_DATA_DIR", &self.data);
        command
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let down = self.command(&["down"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !down.is_ok_and(|status| status.success()) {
            terminal::note(&format!("the node of {} could not be stopped", self.data.display()));
        }
    }
}
