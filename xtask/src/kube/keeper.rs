//! Ties a cluster's life to a process: however that process ends (return, panic, Ctrl-C, SIGKILL), the cluster goes.
//! A helper outside the terminal's reach waits for its standard input to close, which the kernel does in every case.

use std::io::{self, Read};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result};

use super::remove;
use crate::workspace;

/// While this lives, so does the cluster.
#[derive(Debug)]
pub(crate) struct Keeper {
    helper: Child,
    line: Option<ChildStdin>,
}

impl Keeper {
    pub(crate) fn of(name: &str) -> Result<Self> {
        let mut helper = Command::new("setsid")
            .arg(workspace::this_program()?)
            .args(["kube", "keep", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("start the keeper with setsid (package util-linux)")?;
        let line = helper.stdin.take();
        Ok(Self { helper, line })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.line.take());
        // A failed removal was printed by the helper; a destructor has nobody to tell.
        let _ = self.helper.wait();
    }
}

/// The helper's side.
pub(crate) fn keep(name: &str) -> Result<()> {
    io::stdin()
        .read_to_end(&mut Vec::new())
        .context("wait for the end of the process that needs the cluster")?;
    remove::remove(name)
}
