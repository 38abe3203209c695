//! A cgroup around `asb up` that leaves it short of something. Those whom it starts are in it too, but containers have their
//! own. Goes with this value.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use asb_tests::program;
use tokio::process::Command;

use crate::daemon::Daemon;
use crate::home::Home;

pub(crate) struct Fence {
    path: PathBuf,
}

impl Fence {
    /// Of one controller, in whichever version it is here.
    pub(crate) fn around(controller: &str) -> Result<Self> {
        let top = Path::new("/sys/fs/cgroup");
        let parent = if top.join(controller).is_dir() { top.join(controller) } else { top.to_owned() };
        let path = parent.join(format!("asb-torture-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("make {}", path.display()))?;
        Ok(Self { path })
    }

    /// Sets the first of these files that there is: their names are other ones in each version.
    pub(crate) fn set(&self, files: &[&str], value: &str) -> Result<()> {
        let file = files.iter().map(|name| self.path.join(name)).find(|path| path.exists());
        let file = file.with_context(|| format!("none of {files:?} is there"))?;
        fs::write(&file, value).with_context(|| format!("write {value} to {}", file.display()))
    }

    pub(crate) fn get(&self, files: &[&str]) -> Result<u64> {
        let file = files.iter().map(|name| self.path.join(name)).find(|path| path.exists());
        let file = file.with_context(|| format!("none of {files:?} is there"))?;
        Ok(fs::read_to_string(&file)?.trim().parse()?)
    }

    /// `asb up`, which joins it before it begins.
    pub(crate) fn command(&self, home: &Home) -> Result<Command> {
        let join = "echo $$ > \"$0\"/cgroup.procs && exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", join]).arg(&self.path).arg(program()?);
        Daemon::instruct(&mut command, home)?;
        Ok(command)
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        // Those who are left go to where they would have been.
        let procs = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        if let Some(parent) = self.path.parent() {
            for process in procs.lines() {
                let _ = fs::write(parent.join("cgroup.procs"), process);
            }
        }
        let _ = fs::remove_dir(&self.path);
    }
}
