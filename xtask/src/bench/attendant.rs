//! A program that runs beside what is measured, and ends with this value, or with this process however that ends.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

pub(super) struct Attendant(pub(super) Child);

impl Attendant {
    /// Its standard input is piped, and ends with this process at the latest; what it says goes to a log.
    pub(super) fn start(program: &Path, log: &Path, set: impl FnOnce(&mut Command)) -> Result<Self> {
        let log = File::create(log).with_context(|| format!("creating {}", log.display()))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(program);
        command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        set(&mut command);
        let child = command.spawn().context("starting a program with setpriv (package util-linux)")?;
        Ok(Self(child))
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// An address where nobody listens at the moment, for one that is about to.
pub(super) fn free() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("finding a free port")?;
    listener.local_addr().context("finding a free port")
}
