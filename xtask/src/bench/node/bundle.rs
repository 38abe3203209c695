//! The files of the image, unpacked for runc and runsc, and how these are told to run a command in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::kube::images::shell;

pub(super) struct Bundle {
    folder: PathBuf,
    runc: PathBuf,
    runsc: PathBuf,
}

impl Bundle {
    pub(super) fn make(folder: &Path, debian: &Path, runsc: &Path) -> Result<Self> {
        let files = folder.join("rootfs");
        fs::create_dir_all(&files).with_context(|| format!("create {}", files.display()))?;
        shell("files", debian)?.unpack(&files)?;
        let bundle =
            Self { folder: folder.to_owned(), runc: debian.join("usr/sbin/runc"), runsc: runsc.to_owned() };
        bundle.configure()?;
        Ok(bundle)
    }

    /// As runc writes it by itself, but for the command and that nobody types.
    fn configure(&self) -> Result<()> {
        let mut spec = Command::new(&self.runc);
        let made = spec.arg("spec").arg("--bundle").arg(&self.folder).stdout(Stdio::null()).status()?;
        ensure!(made.success(), "`runc spec` failed");
        let path = self.folder.join("config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&path)?).context("reading config.json")?;
        config["process"]["terminal"] = json!(false);
        config["process"]["args"] = json!(["echo", "hi"]);
        config["process"]["env"] = json!(["PATH=/bin"]);
        config["root"] = json!({"path": "rootfs", "readonly": false});
        Ok(fs::write(&path, config.to_string())?)
    }

    pub(super) fn runc(&self, name: &str) -> Command {
        let mut command = Command::new(&self.runc);
        command.arg("--root").arg(self.folder.join("runc")).args(["run", "--bundle"]);
        command.arg(&self.folder).arg(name);
        command
    }

    /// Without a network and outside of cgroups, as it is quickest.
    pub(super) fn runsc(&self, name: &str) -> Command {
        let mut command = Command::new(&self.runsc);
        command.arg("--root").arg(self.folder.join("runsc"));
        command.args(["--platform=systrap", "--network=none", "--ignore-cgroups", "run", "--bundle"]);
        command.arg(&self.folder).arg(name);
        command
    }
}

impl Drop for Bundle {
    /// runsc keeps an empty network namespace mounted for its next containers.
    fn drop(&mut self) {
        let kept = self.folder.join("runsc/null-netns");
        let _ = Command::new("umount").arg(kept).stderr(Stdio::null()).status();
    }
}
