//! Our router, as it is started on a cluster.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::proxies::{Doors, Identity, wait_for};
use crate::bench::attendant::{Attendant, free};

const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// What is different from how it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Whoever comes shows a token, and every request is logged.
    Shipped,
    /// Everybody is let in.
    Unguarded,
    Unlogged,
}

pub(super) struct Router {
    program: Attendant,
    pub(super) doors: Doors,
}

/// What every router is started with.
pub(super) struct Surroundings<'a> {
    pub(super) asb: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) kubeconfig: &'a Path,
    pub(super) identity: &'a Identity,
    pub(super) public_key: &'a str,
}

impl Router {
    pub(super) fn start(around: &Surroundings<'_>, manner: Manner) -> Result<Self> {
        let (doors, health) = (Doors { plain: free()?, secure: free()? }, free()?);
        let keys = around.folder.join("router.keys");
        fs::write(&keys, around.public_key).context("writing the router's key")?;
        let log = around.folder.join(format!("router-{manner:?}.log"));
        let program = Attendant::start(around.asb, &log, |command| {
            command.arg("router").args(manner.arguments()).arg("--kubeconfig").arg(around.kubeconfig);
            command.arg("--authz-public-key-file").arg(keys);
            command.arg("--tls-cert-file").arg(&around.identity.certificate);
            command.arg("--tls-key-file").arg(&around.identity.key);
            command.arg(format!("--http-bind-address={}", doors.plain));
            command.arg(format!("--https-bind-address={}", doors.secure));
            command.arg(format!("--health-probe-bind-address={health}")).arg("--metrics-bind-address=0");
        })?;
        let router = Self { program, doors };
        wait_until_ready(health)
            .with_context(|| format!("the router did not start; see {}", log.display()))?;
        Ok(router)
    }

    pub(super) fn id(&self) -> u32 {
        self.program.id()
    }
}

impl Manner {
    pub(super) const ALL: [Self; 3] = [Self::Shipped, Self::Unguarded, Self::Unlogged];

    fn arguments(self) -> [&'static str; 2] {
        match self {
            Self::Shipped => ["--authz-mode=scoped-token", "--access-log=true"],
            Self::Unguarded => ["--authz-mode=allow-all", "--access-log=true"],
            Self::Unlogged => ["--authz-mode=scoped-token", "--access-log=false"],
        }
    }
}

/// It knows all Sandboxes then.
fn wait_until_ready(health: SocketAddr) -> Result<()> {
    wait_for(health)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut stream = TcpStream::connect_timeout(&health, PATIENCE)?;
        write!(stream, "GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut said = String::new();
        stream.read_to_string(&mut said)?;
        if said.contains(" 200 ") {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "it is not ready: {said}");
        sleep(PAUSE);
    }
}
